//! Holes, ranges that `fallocate` gives places, and names that are given twice, on a small XFS. Expected values follow
//! from `docs/spec/xfs.md`; `verify-model` compares the same operations with a kernel.

use fsage_core::{DirId, FileId, FileSystem, Layout, Op, Outcome};
use fsage_models::xfs::{Features, Params, State, Xfs};

const FILE: FileId = FileId(1);

fn small() -> Xfs {
    let params = Params {
        size_bytes: 64 << 20,
        ..Params::default()
    };
    Xfs::new(params).expect("a file system")
}

fn apply(fs: &mut Xfs, ops: &[Op]) {
    for op in ops {
        assert_eq!(fs.apply(op), Ok(Outcome::Done), "{op:?}");
        assert_eq!(fs.check(), Ok(()), "{op:?}");
    }
}

fn create(file: FileId, bytes: u64) -> Op {
    let dir = DirId::ROOT;
    Op::Create { file, dir, bytes }
}

/// Extents: first block in the file, length, state.
fn extents(fs: &Xfs) -> Vec<(u32, u32, State)> {
    let extents = fs.extents(FILE).expect("a file").iter();
    extents
        .map(|extent| (extent.logical, extent.blocks, extent.state()))
        .collect()
}

#[test]
fn a_hole_takes_whole_blocks_alone() {
    let mut fs = small();
    apply(&mut fs, &[create(FILE, 40_960), Op::Day]);
    assert_eq!(extents(&fs), [(0, 10, State::Written)]);
    let free = fs.free_blocks();
    let punch = |offset, bytes| Op::Punch {
        file: FILE,
        offset,
        bytes,
    };
    // From within block 2 to the end of block 3.
    apply(&mut fs, &[punch(8_197, 8_187)]);
    let holed = [(0, 3, State::Written), (4, 6, State::Written)];
    assert_eq!(extents(&fs), holed);
    assert_eq!(fs.free_blocks(), free + 1);
    // Within a block nothing goes; beyond the end there is nothing.
    apply(&mut fs, &[punch(5, 100), punch(50_000, 100), Op::Day]);
    assert_eq!(extents(&fs), holed);
    // What waited for its place gets it first, and all of the file is then taken away.
    let append = Op::Append {
        file: FILE,
        bytes: 8_192,
    };
    apply(&mut fs, &[append, punch(0, 49_152), Op::Day]);
    assert_eq!(extents(&fs), []);
    assert_eq!(fs.file_size(FILE), Some(49_152));
}

#[test]
fn a_range_gets_a_place_in_the_midst_of_what_waits_for_one() {
    let mut fs = small();
    let range = Op::Fallocate {
        file: FILE,
        offset: 91_430,
        bytes: 1_623,
    };
    apply(&mut fs, &[create(FILE, 96_008), range]);
    let states = [
        (0, 22, State::Delayed),
        (22, 1, State::Unwritten),
        (23, 1, State::Delayed),
    ];
    assert_eq!(extents(&fs), states);
    apply(&mut fs, &[Op::Day]);
    let blocks: u32 = extents(&fs).iter().map(|extent| extent.1).sum();
    assert!(extents(&fs).iter().all(|extent| extent.2 == State::Written));
    assert_eq!(blocks, 24);
}

#[test]
fn what_was_set_aside_on_purpose_stays_at_a_mount() {
    let mut fs = small();
    let append = Op::Append {
        file: FILE,
        bytes: 10_000,
    };
    let range = Op::Fallocate {
        file: FILE,
        offset: 0,
        bytes: 4_096,
    };
    // The file keeps a reserve, as it was closed before; that has its place once it is written back.
    let ops = [create(FILE, 100_000), append, Op::Day];
    apply(&mut fs, &ops);
    let reserve = extents(&fs)[1];
    assert_eq!((reserve.0, reserve.2), (27, State::Unwritten));
    apply(&mut fs, &[range, Op::Remount]);
    assert_eq!(extents(&fs)[1], reserve);
    let mut other = small();
    apply(&mut other, &ops);
    apply(&mut other, &[Op::Remount]);
    assert_eq!(extents(&other), [(0, 27, State::Written)]);
}

#[test]
fn a_name_that_is_taken_is_given_another_end() {
    let root_bytes = |fs: &Xfs| {
        let mut bytes = 0;
        fs.visit_files(&mut |file| {
            if file.ino == 128 {
                bytes = file.size_bytes;
            }
        });
        bytes
    };
    let named = |name: &[u8], op: Op, fs: &mut Xfs| {
        fs.name_next(name);
        apply(fs, &[op]);
    };
    let mut fs = small();
    // A header of 6 bytes, and 8 and the name for each entry.
    named(b"notes", create(FileId(1), 0), &mut fs);
    assert_eq!(root_bytes(&fs), 6 + 13);
    // `notes~f2`.
    named(b"notes", create(FileId(2), 0), &mut fs);
    assert_eq!(root_bytes(&fs), 6 + 13 + 16);
    // One is called as another one would be by its id, which then is `f4~f4`.
    named(b"f4", create(FileId(3), 0), &mut fs);
    assert_eq!(root_bytes(&fs), 6 + 13 + 16 + 10);
    apply(&mut fs, &[create(FileId(4), 0)]);
    assert_eq!(root_bytes(&fs), 6 + 13 + 16 + 10 + 13);
    // A name that has gone is free again.
    apply(&mut fs, &[Op::Delete { file: FileId(1) }]);
    named(b"notes", create(FileId(5), 0), &mut fs);
    assert_eq!(root_bytes(&fs), 6 + 13 + 16 + 10 + 13);
}

/// What Linux 6.18.44 did on 300 MB, with both sets of features: a file whose content is being replaced goes to disk as
/// space runs out, and is then no longer one that was truncated. So its next close trims it no more, as closes since
/// its first one do not.
#[test]
fn a_file_that_was_written_back_while_its_content_was_replaced_keeps_what_is_behind_its_end() {
    for (features, fsb) in [(Features::Default, 17_996), (Features::Plain, 16)] {
        let params = Params {
            size_bytes: 300 << 20,
            features,
            ..Params::default()
        };
        let mut fs = Xfs::new(params).expect("a file system");
        let (dir, other, third) = (DirId(1), FileId(2), FileId(3));
        let made = |file, bytes| Op::Create { file, dir, bytes };
        let mkdir = Op::Mkdir { dir, parent: None };
        let files = [made(FILE, 81_000), made(other, 10_000_000)];
        apply(&mut fs, &[mkdir, files[0], files[1], Op::Day]);
        let rewrite = Op::Rewrite {
            file: FILE,
            bytes: 9_000_000,
        };
        for op in [made(third, 400_000_000), rewrite] {
            assert_eq!(fs.apply(&op), Ok(Outcome::NoSpace), "{op:?}");
        }
        assert_eq!(fs.file_size(FILE), Some(65_536));
        let append = Op::Append {
            file: FILE,
            bytes: 374_617,
        };
        apply(
            &mut fs,
            &[Op::Delete { file: other }, Op::Day, append, Op::Day],
        );
        let kept = [(0, 108, State::Written), (108, 4, State::Unwritten)];
        assert_eq!(extents(&fs), kept, "{features:?}");
        let mut places = Vec::new();
        fs.visit_files(&mut |file| {
            if file.size_bytes == 440_153 {
                let extents = file.extents.unwrap_or_default().iter();
                places.extend(extents.map(|extent| extent.physical_bytes / 4096));
            }
        });
        assert_eq!(places, [fsb, fsb + 108], "{features:?}");
    }
}

/// What Linux 6.18.44 did on 512 MB in one AG, and without the truncation did not: an empty file that is truncated to
/// nothing gets new times, which are logged. So its `fsync` forces the log, and what was freed may be used again.
#[test]
fn an_empty_file_that_is_truncated_to_nothing_is_logged() {
    for (is_truncated, block) in [(true, 16_394), (false, 16_396)] {
        let params = Params {
            size_bytes: 512 << 20,
            ag_count: Some(1),
            ..Params::default()
        };
        let mut fs = Xfs::new(params).expect("a file system");
        let (dir, other, empty) = (DirId(1), FileId(2), FileId(3));
        let made = |file, bytes| Op::Create { file, dir, bytes };
        let mkdir = Op::Mkdir { dir, parent: None };
        let first = [mkdir, made(other, 8000), made(empty, 0)];
        apply(&mut fs, &first);
        apply(&mut fs, &[Op::Fsync { file: other }, Op::Day]);
        apply(&mut fs, &[Op::Delete { file: other }]);
        if is_truncated {
            let (file, bytes) = (empty, 0);
            apply(&mut fs, &[Op::Truncate { file, bytes }]);
        }
        let last = [Op::Fsync { file: empty }, made(FILE, 8000), Op::Day];
        apply(&mut fs, &last);
        let mut places = Vec::new();
        fs.visit_files(&mut |file| {
            let extents = file.extents.unwrap_or_default().iter();
            places.extend(extents.map(|extent| extent.physical_bytes / 4096));
        });
        assert_eq!(places, [block]);
    }
}

/// What `statfs` of Linux 6.18.44 said on 512 MB in one AG, where nothing is kept for trees: blocks of the trees of
/// free space are not free, but after a mount nobody knows of them until an allocation or a free looks at the AG.
#[test]
fn blocks_of_trees_are_known_when_an_allocation_group_is_looked_at() {
    let params = Params {
        size_bytes: 512 << 20,
        ag_count: Some(1),
        features: Features::Plain,
        ..Params::default()
    };
    let mut fs = Xfs::new(params).expect("a file system");
    let mut live = |ops: &[Op]| {
        apply(&mut fs, ops);
        fs.free_blocks()
    };
    let delete = |file| Op::Delete { file: FileId(file) };
    let mut ops: Vec<Op> = (1..=1300).map(|file| create(FileId(file), 4096)).collect();
    ops.push(Op::Day);
    assert_eq!(live(&ops), 106_642);
    // So many runs that both trees have two levels.
    let mut ops: Vec<Op> = (1..1100).step_by(2).map(delete).collect();
    ops.push(Op::Day);
    assert_eq!(live(&ops), 107_190);
    assert_eq!(live(&[Op::Remount]), 107_194);
    assert_eq!(live(&[delete(2), Op::Day]), 107_191);
    assert_eq!(live(&[Op::Remount]), 107_195);
    let (file, bytes) = (FileId(2000), 4096);
    assert_eq!(live(&[create(file, 0), Op::Day]), 107_195);
    assert_eq!(
        live(&[Op::Append { file, bytes }, Op::Fsync { file }]),
        107_190
    );
}
