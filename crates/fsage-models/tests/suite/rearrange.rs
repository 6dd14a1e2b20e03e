//! What a layer has to keep whatever is asked of it: the file system check after every operation, what a plain file
//! system says, and the same state for the same operations.

use crate::steps::any_op;
use crate::steps::cases;
use fsage_core::io::Hosted;
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome, StateError};
use fsage_models::rearrange::{
    self, Migrate, Period, Placement, Rearranged, Settings, Technique, Third,
};
use fsage_models::{ext3, ffs};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use std::fmt::Write as _;

/// A kind of file system for the layer.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Ext3,
    Ext2,
    Ffs,
}

const DISK_BYTES: u64 = 24 << 20;

fn ext3_params(mode: ext3::Mode, size_bytes: u64) -> ext3::Params {
    ext3::Params {
        mode,
        size_bytes,
        block_bytes: 1024,
        journal_bytes: (mode == ext3::Mode::Ext3).then_some(0),
        ..ext3::Params::default()
    }
}

fn ffs_params(bytes: u64) -> ffs::Params {
    let mut params = ffs::Params::preset("tiny").expect("a preset");
    params.sectors = bytes / 512;
    params
}

fn layered(kind: Kind, settings: &Settings) -> Box<dyn Rearranged> {
    let mode = match kind {
        Kind::Ext3 => ext3::Mode::Ext3,
        Kind::Ext2 => ext3::Mode::Ext2,
        Kind::Ffs => {
            let make = |_, bytes| ffs::Ffs::new(ffs_params(bytes));
            return rearrange::over(settings, DISK_BYTES, make).expect("file systems");
        }
    };
    let make = |_, bytes| ext3::Ext3::new(ext3_params(mode, bytes));
    rearrange::over(settings, DISK_BYTES, make).expect("file systems")
}

/// A plain file system with room for all that the layer has room for.
fn plain(kind: Kind) -> Box<dyn Hosted> {
    match kind {
        Kind::Ext3 => Box::new(ext3::Ext3::new(ext3_params(ext3::Mode::Ext3, DISK_BYTES)).unwrap()),
        Kind::Ext2 => Box::new(ext3::Ext3::new(ext3_params(ext3::Mode::Ext2, DISK_BYTES)).unwrap()),
        Kind::Ffs => Box::new(ffs::Ffs::new(ffs_params(DISK_BYTES)).unwrap()),
    }
}

fn kinds() -> impl Strategy<Value = Kind> {
    select(vec![Kind::Ext3, Kind::Ext2, Kind::Ffs])
}

/// A layer in which much happens on few files.
fn settings() -> impl Strategy<Value = Settings> {
    let technique = select(vec![
        Technique::Files,
        Technique::Files,
        Technique::Files,
        Technique::Blocks,
        Technique::OrganPipe,
        Technique::Stef,
        Technique::None,
    ]);
    let files = (
        select(vec![Third::Unused, Third::Files]),
        0_u32..3,
        select(vec![0_u64, 200_000]),
        select(vec![None, Some(1), Some(3)]),
        select(vec![Migrate::AtOp, Migrate::Idle]),
    );
    let blocks = (
        select(vec![Period::Day, Period::Accesses(1), Period::Accesses(7)]),
        select(vec![
            Placement::OrganPipe,
            Placement::Interleaved,
            Placement::Serial,
        ]),
        select(vec![65_536_u64, 1 << 20]),
    );
    (technique, files, blocks).prop_map(|(technique, files, blocks)| Settings {
        reserved_ppm: 80_000,
        third: files.0,
        threshold: files.1,
        near_ppm: files.2,
        hot_entries: files.3,
        migrate: files.4,
        period: blocks.0,
        placement: blocks.1,
        cylinder_bytes: blocks.2,
        ..Settings::new(technique)
    })
}

/// Operations that fill a disk and use what is on it.
fn filling_op() -> impl Strategy<Value = Op> {
    let file = || (0_u64..40).prop_map(FileId);
    let dir = || (0_u64..4).prop_map(DirId);
    let bytes = || prop_oneof![2 => 0_u64..20_000, 3 => 0_u64..3_000_000];
    prop_oneof![
        1 => dir().prop_map(|dir| Op::Mkdir { dir, parent: None }),
        8 => (file(), dir(), bytes())
            .prop_map(|(file, dir, bytes)| Op::Create { file, dir, bytes }),
        3 => (file(), bytes()).prop_map(|(file, bytes)| Op::Append { file, bytes }),
        2 => (file(), bytes()).prop_map(|(file, bytes)| Op::Rewrite { file, bytes }),
        1 => (file(), bytes()).prop_map(|(file, bytes)| Op::Truncate { file, bytes }),
        8 => file().prop_map(|file| Op::Read { file, range: None }),
        2 => file().prop_map(|file| Op::Delete { file }),
        2 => (file(), dir(), prop::option::of(file()))
            .prop_map(|(file, dir, replaced)| Op::Rename { file, dir, replaced }),
        1 => (file(), file(), dir())
            .prop_map(|(file, existing, dir)| Op::Link { file, existing, dir }),
        1 => (dir(), dir()).prop_map(|(dir, parent)| Op::RenameDir { dir, parent }),
        1 => select(vec![Op::Sync, Op::Day, Op::Remount]),
    ]
}

fn checked(fs: &dyn Rearranged, what: &dyn std::fmt::Debug) -> Result<(), TestCaseError> {
    fs.check()
        .map_err(|e| TestCaseError::fail(format!("{what:?}: {:?}", e.findings)))
}

/// What can be seen of a state.
fn looks(fs: &dyn Rearranged) -> String {
    let mut out = format!("{:?} {:?}\n", fs.space(), fs.counters());
    fs.visit_files(&mut |file| writeln!(out, "{file:?}").expect("a String takes everything"));
    fs.visit_free(&mut |run| write!(out, "{run:?} ").expect("a String takes everything"));
    fs.visit_further_names(&mut |name| {
        write!(out, "{name:?} ").expect("a String takes everything");
    });
    out
}

/// Files and free space lie on the disk, apart from each other.
fn disjoint(fs: &dyn Rearranged) -> Result<(), TestCaseError> {
    let mut ranges = Vec::new();
    fs.visit_files(&mut |file| {
        let extents = file.extents.unwrap_or_default();
        ranges.extend(extents.iter().map(|e| (e.physical_bytes, e.length_bytes)));
    });
    let mut last = 0;
    let mut ascending = true;
    fs.visit_free(&mut |run| {
        ascending &= run.start_bytes >= last;
        last = run.start_bytes + run.length_bytes;
        ranges.push((run.start_bytes, run.length_bytes));
    });
    prop_assert!(ascending);
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        prop_assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{:?}", pair);
    }
    if let Some(&(start, length)) = ranges.last() {
        prop_assert!(start + length <= fs.geometry().size_bytes);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(96))]

    /// Any operation with any arguments: the layer, its tables and both file systems stay sound, with a host and
    /// without; the same operations give the same state.
    #[test]
    fn the_check_is_clean_after_every_operation(
        kind in kinds(),
        settings in settings(),
        hints in prop::collection::vec(0_u64..4, 0..2),
        ops in prop_oneof![
            prop::collection::vec(any_op(), 1..120),
            prop::collection::vec(filling_op(), 1..200),
        ],
    ) {
        let mut fs = layered(kind, &settings);
        let hints: Vec<_> = hints.into_iter().map(DirId).collect();
        for &dir in &hints {
            fs.hint(dir);
        }
        let mut again = fs.clone();
        let mut emitting = fs.clone();
        emitting.emit(true);
        for (i, op) in ops.iter().enumerate() {
            let at = i64::try_from(i).expect("few") * 400_000_000;
            fs.set_time(at);
            again.set_time(at);
            emitting.set_time(at);
            prop_assert_eq!(fs.apply(op), again.apply(op));
            checked(&*fs, op)?;
            // With a host files stay open, and blocks may lie elsewhere.
            let _ = emitting.apply(op);
            emitting.emitted().clear();
            checked(&*emitting, op)?;
        }
        disjoint(&*fs)?;
        disjoint(&*emitting)?;
        prop_assert_eq!(looks(&*fs), looks(&*again));
    }

    /// As long as there is space a workload sees no difference to a plain file system.
    #[test]
    fn a_workload_sees_the_plain_file_system(
        kind in kinds(),
        settings in settings(),
        ops in prop::collection::vec(any_op(), 1..120),
    ) {
        let mut fs = layered(kind, &settings);
        let mut plain = plain(kind);
        for op in &ops {
            let (here, there) = (fs.apply(op), plain.apply(op));
            let short = |outcome: &Result<Outcome, StateError>| {
                !matches!(outcome, Ok(Outcome::Done | Outcome::Ignored) | Err(_))
            };
            if short(&here) || short(&there) {
                break;
            }
            prop_assert_eq!(here, there, "{:?}", op);
            for id in 0..6 {
                let size = |fs: &dyn FileSystem| fs.file_size(FileId(id));
                prop_assert_eq!(size(&*fs), size(&*plain), "file {} after {:?}", id, op);
            }
        }
    }
}

/// A host reads and writes what moves: everything that is emitted lies on the disk.
#[test]
fn everything_that_is_emitted_lies_on_the_disk() {
    use fsage_core::io::{Buffer, Io};
    for technique in [Technique::Files, Technique::Blocks, Technique::OrganPipe] {
        let settings = Settings {
            reserved_ppm: 80_000,
            threshold: 2,
            near_ppm: 0,
            period: Period::Accesses(20),
            ..Settings::new(technique)
        };
        let mut fs = layered(Kind::Ext3, &settings);
        fs.emit(true);
        let (mut transfers, mut moved) = (0, 0);
        for i in 0..400_u64 {
            let file = FileId(i % 20);
            let op = match i {
                0..20 => Op::Create {
                    file,
                    dir: DirId::ROOT,
                    bytes: 1000 * (i + 1),
                },
                _ if i % 7 == 0 => Op::Overwrite { file, range: None },
                _ if i % 50 == 0 => Op::Sync,
                _ => Op::Read { file, range: None },
            };
            assert_eq!(fs.apply(&op), Ok(Outcome::Done));
            for io in fs.emitted().drain(..) {
                let end = match io {
                    Io::Need(buffer)
                    | Io::Modify(buffer, _)
                    | Io::Fill(buffer, _)
                    | Io::Place(buffer)
                    | Io::Assign(buffer) => buffer.end_bytes(),
                    Io::NeedGroup(Buffer { start_bytes, .. }, (start, bytes)) => {
                        assert!((start..start + bytes).contains(&start_bytes));
                        start + bytes
                    }
                    Io::Raw {
                        start_bytes, bytes, ..
                    } => {
                        transfers += 1;
                        start_bytes + bytes
                    }
                    Io::Swapped { places, bytes } => {
                        moved += 1;
                        places[0].max(places[1]) + bytes
                    }
                    _ => 0,
                };
                assert!(end <= DISK_BYTES, "{io:?}");
            }
        }
        let counters = *fs.counters();
        assert!(
            counters.accesses > 350 && counters.copied_bytes > 0,
            "{counters:?}"
        );
        assert_eq!(moved > 0, technique != Technique::Files);
        // The journal of these file systems lies on another device.
        assert_eq!(transfers > 0, technique != Technique::Files);
        assert!(counters.center_bytes > 0, "{technique:?}: {counters:?}");
    }
}
