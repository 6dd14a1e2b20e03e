//! Ext4 with little space left: what Linux 6.18.44 did with the same operations in the same regime, on an image of
//! 256 MB, with blocks of 1 KB, on a device that rotates.

use fsage_core::io::Hosted;
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome, Rng};
use fsage_models::ext4::{Entry, Ext4, Params};

/// A file system with a directory, 1.
fn small() -> Ext4 {
    let params = Params {
        size_bytes: 256 << 20,
        rotational: true,
        ..Params::default()
    };
    let mut fs = Ext4::new(params).expect("mkfs takes it");
    let dir = DirId(1);
    done(&mut fs, &[Op::Mkdir { dir, parent: None }]);
    fs
}

fn done(fs: &mut Ext4, ops: &[Op]) {
    for op in ops {
        assert_eq!(fs.apply(op), Ok(Outcome::Done), "{op:?}");
    }
}

fn create(file: u64, bytes: u64) -> Op {
    let (file, dir) = (FileId(file), DirId(1));
    Op::Create { file, dir, bytes }
}

/// More than there is space for.
fn fill(fs: &mut Ext4, file: u64) {
    assert_eq!(fs.apply(&create(file, 300_000_000)), Ok(Outcome::NoSpace));
    done(fs, &[Op::Day]);
}

/// Some 20 blocks may be taken. A write of 64 KiB needs 63 in its folio of 16 pages, then 31 in one of 8, then 15 in
/// one of 4: the kernel tries again with what the folio before would have held.
#[test]
fn a_write_without_space_tries_again_with_smaller_folios() {
    let mut fs = small();
    done(&mut fs, &[create(2, 10_000), create(3, 0), Op::Sync]);
    fill(&mut fs, 4);
    let file = FileId(2);
    done(&mut fs, &[Op::Delete { file }, Op::Sync]);
    let file = FileId(3);
    let write = Op::Write {
        file,
        offset: 1448,
        bytes: 65_536,
    };
    assert_eq!(fs.apply(&write), Ok(Outcome::NoSpace));
    done(&mut fs, &[Op::Day]);
    assert_eq!(fs.file_size(file), Some(16_384));
    let extents = fs.extents(file).expect("it is there");
    assert_eq!(extents, [Entry::new(1, 139_787, 15, false)]);
}

/// No run is longer than 20 blocks, so that none of 64 is found for what small files are to share. Then 9 are searched
/// for, which the file needs, and no longer the longest run.
#[test]
fn without_long_runs_a_small_file_takes_what_it_needs() {
    let mut fs = small();
    fill(&mut fs, 2);
    for hole in 0..230 {
        let punch = Op::Punch {
            file: FileId(2),
            offset: (1000 + hole * 40) << 10,
            bytes: 20 << 10,
        };
        done(&mut fs, &[punch]);
    }
    let file = FileId(4);
    let filled = create(3, 4 << 20);
    done(&mut fs, &[Op::Day, filled, Op::Day, Op::Remount]);
    done(&mut fs, &[create(4, 9000), Op::Day]);
    let extents = fs.extents(file).expect("it is there");
    assert_eq!(extents, [Entry::new(0, 8179, 9, false)]);
}

/// On a full file system an append to a file that ends within a page fills that page, and what else there is space for:
/// the try that failed leaves only that page in the cache. Sizes are those of the kernel with blocks of 1 and 4 KB.
#[test]
fn an_append_without_space_fills_the_page_that_the_file_ends_in() {
    let (file, dir) = (FileId(1), DirId(0));
    for (block_bytes, by_append) in [(1024, [24_576, 24_576]), (4096, [19_448, 20_480])] {
        let mut fs = Ext4::new(Params {
            size_bytes: 256 << 20,
            block_bytes: Some(block_bytes),
            rotational: true,
            ..Params::default()
        })
        .expect("mkfs takes it");
        done(
            &mut fs,
            &[Op::Create {
                file,
                dir,
                bytes: 19_448,
            }],
        );
        let rest = Op::Create {
            file: FileId(2),
            dir,
            bytes: 1 << 30,
        };
        assert_eq!(fs.apply(&rest), Ok(Outcome::NoSpace));
        done(&mut fs, &[Op::Remount]);
        for (bytes, size) in [19_799, 50_000].into_iter().zip(by_append) {
            assert_eq!(fs.apply(&Op::Append { file, bytes }), Ok(Outcome::NoSpace));
            assert_eq!(fs.file_size(file), Some(size), "blocks of {block_bytes}");
        }
        fs.check().expect("a sound file system");
    }
}

/// A follower is told of every block, so the model looks at each; without one it writes what is behind all others at
/// once. Both lead to the same outcomes and extents, from an empty file system to a full one.
#[test]
fn writes_at_once_are_writes_block_by_block() {
    for (seed, block_bytes) in [(1, 1024), (2, 4096), (3, 2048)] {
        let params = Params {
            size_bytes: 64 << 20,
            block_bytes: Some(block_bytes),
            ..Params::default()
        };
        let new = || Ext4::new(params.clone()).expect("mkfs takes it");
        let (mut at_once, mut by_blocks) = (new(), new());
        by_blocks.emit_to_follower();
        let mut rng = Rng::new(seed);
        let mut full = 0;
        for n in 0..3000 {
            let file = FileId(1 + rng.below(40));
            let size = at_once.file_size(file);
            let bytes = match rng.below(4) {
                0 => 4096 * rng.below(600),
                1 => 65_536 * rng.below(40),
                _ => rng.below(3_000_000),
            };
            let dir = DirId(0);
            let op = match (size, rng.below(12)) {
                (None, _) => Op::Create { file, dir, bytes },
                (Some(_), 0..=1) => Op::Delete { file },
                (Some(_), 2) => Op::Truncate { file, bytes },
                (Some(_), 3) => Op::Rewrite { file, bytes },
                (Some(_), 4) => Op::Fsync { file },
                (Some(_), 5) if n % 7 == 0 => Op::Day,
                (Some(size), 6..=7) => {
                    let offset = rng.below(size + 200_000);
                    Op::Write {
                        file,
                        offset,
                        bytes,
                    }
                }
                (Some(_), 8) => {
                    let offset = 0;
                    Op::Fallocate {
                        file,
                        offset,
                        bytes: bytes.max(1),
                    }
                }
                (Some(_), _) => Op::Append { file, bytes },
            };
            let outcome = at_once.apply(&op);
            assert_eq!(outcome, by_blocks.apply(&op), "{seed} {n} {op:?}");
            by_blocks.emitted().clear();
            full += u32::from(outcome == Ok(Outcome::NoSpace));
            assert_eq!(
                at_once.file_size(file),
                by_blocks.file_size(file),
                "{seed} {n} {op:?}"
            );
            assert_eq!(
                at_once.extents(file),
                by_blocks.extents(file),
                "{seed} {n} {op:?}"
            );
        }
        for fs in [&mut at_once, &mut by_blocks] {
            done(fs, &[Op::Day]);
            fs.check().expect("a sound file system");
        }
        for file in (1..=40).map(FileId) {
            assert_eq!(
                at_once.extents(file),
                by_blocks.extents(file),
                "{seed} {file:?}"
            );
        }
        assert!((20..2500).contains(&full), "{full} of 3000 without space");
    }
}

const TWO: FileId = FileId(2);

const fn punch(offset: u64, bytes: u64) -> Op {
    Op::Punch {
        file: TWO,
        offset,
        bytes,
    }
}

/// What a file has, what is done to it, a day on, and the extents of both files then.
type Recorded = (u64, Vec<Op>, u32, (Entry, Entry));

/// Holes in a folio of four pages take the last block from it that was dirty. The file is written back first then, day
/// after day, if it is the last one that becomes dirty. A single page leaves nothing, nor does what is cut away.
#[test]
fn a_file_stays_listed_whose_folio_lost_its_last_dirty_block() {
    let at = |logical, block, blocks| Entry::new(logical, block, blocks, false);
    let cut = |bytes| Op::Truncate { file: TWO, bytes };
    let first = (at(0, 139_298, 399), at(0, 139_697, 1263));
    let last = (at(0, 140_561, 399), at(0, 139_298, 1263));
    let cases: [Recorded; 4] = [
        (
            16_384,
            vec![punch(6144, 10_240), punch(0, 6144), Op::Day],
            16,
            first,
        ),
        (
            4096,
            vec![punch(1024, 3072), punch(0, 1024), Op::Day],
            4,
            last,
        ),
        (
            16_384,
            vec![cut(6144), punch(0, 6144), Op::Day, Op::Day],
            6,
            first,
        ),
        (
            16_384,
            vec![
                punch(6144, 10_240),
                punch(0, 6144),
                Op::Day,
                cut(0),
                Op::Day,
            ],
            0,
            last,
        ),
    ];
    for (bytes, ops, logical, (two, three)) in cases {
        let mut fs = small();
        done(&mut fs, &[create(2, bytes)]);
        done(&mut fs, &ops);
        let bytes = 408_099;
        done(
            &mut fs,
            &[
                create(3, 1_292_508),
                Op::Append { file: TWO, bytes },
                Op::Day,
            ],
        );
        let two = Entry::new(logical, two.block, two.blocks(), false);
        assert_eq!(fs.extents(TWO), Some(vec![two]), "{ops:?}");
        assert_eq!(fs.extents(FileId(3)), Some(vec![three]), "{ops:?}");
        assert_eq!(fs.check(), Ok(()), "{ops:?}");
    }
}

/// A group has 8,192 blocks here. What asks for more than that is sought as a whole group, not as something that no
/// group has, for which the first short runs would do.
#[test]
fn more_than_a_group_is_sought_group_by_group() {
    let params = Params {
        size_bytes: 300 << 20,
        rotational: true,
        ..Params::default()
    };
    let mut fs = Ext4::new(params).expect("mkfs takes it");
    let create = |file, bytes| Op::Create {
        file: FileId(file),
        dir: DirId::ROOT,
        bytes,
    };
    let small: Vec<Op> = (2..502).map(|file| create(file, 1024)).collect();
    done(&mut fs, &small);
    done(&mut fs, &[Op::Day]);
    for file in (2..502).step_by(2) {
        let file = FileId(file);
        done(&mut fs, &[Op::Delete { file }]);
    }
    let file = FileId(600);
    let reserve = Op::Fallocate {
        file,
        offset: 0,
        bytes: 20 << 20,
    };
    done(&mut fs, &[Op::Day, create(600, 0), reserve, Op::Day]);
    let extents = fs.extents(file).expect("it is there");
    let places: Vec<(u32, u32)> = extents.iter().map(|e| (e.block, e.blocks())).collect();
    assert_eq!(places, [(16_385, 8192), (32_769, 8192), (41_221, 4096)]);
}

/// A file cut to nothing has freed its blocks, which nobody takes before a commit. Where a file finds no inode, the
/// kernel commits and tries again: what is written then takes them.
#[test]
fn where_inodes_run_out_what_was_freed_is_committed() {
    let params = Params {
        size_bytes: 64 << 20,
        block_bytes: Some(4096),
        inodes: Some(128),
        rotational: true,
        ..Params::default()
    };
    let mut fs = Ext4::new(params).expect("mkfs takes it");
    let dir = DirId(1);
    done(&mut fs, &[Op::Mkdir { dir, parent: None }]);
    done(&mut fs, &[create(1, 400_000), create(2, 400_000)]);
    let free: Vec<Op> = (3..117).map(|file| create(file, 0)).collect();
    done(&mut fs, &free);
    let (file, bytes) = (FileId(1), 0);
    done(&mut fs, &[Op::Day, Op::Truncate { file, bytes }]);
    assert_eq!(fs.apply(&create(500, 0)), Ok(Outcome::NoInode));
    let file = FileId(2);
    let append = Op::Append {
        file,
        bytes: 300_000,
    };
    done(&mut fs, &[append, Op::Day]);
    let extents = fs.extents(file).expect("it is there");
    let places: Vec<(u32, u32)> = extents.iter().map(|e| (e.block, e.blocks())).collect();
    assert_eq!(places, [(1148, 98), (1050, 73)]);
}

/// `EXT4_LINK_MAX`; `e2fsck` finds a file with more at fault.
#[test]
fn a_file_has_no_more_than_65_000_names() {
    let mut fs = small();
    done(&mut fs, &[create(1, 5000)]);
    let link = |file| Op::Link {
        file: FileId(file),
        existing: FileId(1),
        dir: DirId(1),
    };
    let links: Vec<Op> = (2..=65_000).map(link).collect();
    done(&mut fs, &links);
    assert_eq!(fs.apply(&link(65_001)), Ok(Outcome::TooLarge));
    let file = FileId(65_000);
    done(&mut fs, &[Op::Delete { file }, link(65_001)]);
}

/// The goal of a block so far behind the others lies behind the end of the file system, however large the sum is: the
/// search begins at the first block.
#[test]
fn the_last_block_that_a_file_can_have_has_no_goal() {
    let params = Params {
        size_bytes: 256 << 20,
        block_bytes: Some(4096),
        rotational: true,
        ..Params::default()
    };
    let mut fs = Ext4::new(params).expect("mkfs takes it");
    let dir = DirId(1);
    let file = FileId(1);
    let write = Op::Write {
        file,
        offset: 17_592_186_036_224,
        bytes: 4096,
    };
    let ops = [
        Op::Mkdir { dir, parent: None },
        create(1, 5000),
        write,
        Op::Day,
    ];
    done(&mut fs, &ops);
    let extents = fs.extents(file).expect("it is there");
    let last = extents.last().expect("an extent");
    assert_eq!(
        (last.logical, last.block, last.blocks()),
        (4_294_967_294, 4140, 1)
    );
}
