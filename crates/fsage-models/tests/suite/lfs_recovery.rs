//! Crashes of a log-structured file system at any of its writes, and what roll-forward finds again.

use crate::crash::Run;
use crate::crash::world::{Step, step};
use crate::steps::cases;
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome, Rng};
use fsage_models::lfs::{Disk, Lfs, Params, Variant};
use proptest::prelude::*;

/// Small disks of both variants with roll-forward: 40 or 64 segments, with and without fragments.
fn params(netbsd: bool, fragments: bool) -> Params {
    let variant = if netbsd {
        Variant::NetBsd
    } else {
        Variant::Lite2
    };
    let common = Params {
        roll_forward: true,
        segment_bytes: 256 << 10,
        frag_bytes: if fragments { 512 } else { 4096 },
        reserve_segments: 2,
        write_threshold_blocks: 40,
        ..Params::of_variant(variant)
    };
    if netbsd {
        Params {
            size_bytes: 16 << 20,
            min_clean: 12,
            segs_per_clean: 6,
            poll_operations: 10,
            ..common
        }
    } else {
        Params {
            size_bytes: (10 << 20) + 8192,
            max_active: 4,
            ..common
        }
    }
}

/// A run on such a disk; so many percent of it are full at first.
fn run(netbsd: bool, fragments: bool, percent: u64) -> Run {
    // NetBSD's cleaner makes hardly any progress where there is little space.
    let most_percent = if netbsd { 72 } else { 82 };
    Run::new(&params(netbsd, fragments), percent, most_percent)
}

fn fill() -> impl Strategy<Value = u64> {
    prop_oneof![Just(5_u64), Just(45), Just(70)]
}

/// Steps, and what they are done on: variant, fragments, how full the disk is.
fn setup(steps: std::ops::Range<usize>) -> impl Strategy<Value = (bool, bool, u64, Vec<Step>)> {
    (
        any::<bool>(),
        any::<bool>(),
        fill(),
        prop::collection::vec(step(), steps),
    )
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn after_a_crash_at_any_write_everything_synced_is_there_and_nothing_is_half_done(
        (netbsd, fragments, percent, steps) in setup(1..50),
    ) {
        let mut run = run(netbsd, fragments, percent);
        for step in &steps {
            run.step(step, &mut || true)?;
        }
    }
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn after_a_crash_in_a_long_run_everything_synced_is_there_and_nothing_is_half_done(
        (netbsd, fragments, percent, steps) in setup(300..600),
        seed in any::<u64>(),
    ) {
        let mut run = run(netbsd, fragments, percent);
        let mut rng = Rng::new(seed);
        for step in &steps {
            run.step(step, &mut || rng.below(20) == 0)?;
        }
    }
}

/// The crashes above are worth something: the cleaner works, partial segments are found behind checkpoints, unfinished
/// directory operations are dropped, deletions leave inodes without names.
#[test]
fn crashes_meet_all_that_recovery_is_for() {
    for netbsd in [false, true] {
        let mut run = run(netbsd, true, 60);
        let mut rng = Rng::new(1).stream("crashes", u64::from(netbsd));
        let mut pick = || rng.below(256) as u8;
        for i in 0..600_u64 {
            let step = match i % 6 {
                0 => Step::Create(pick(), u64::from(pick()) * 900),
                1 => Step::Write(pick(), u64::from(pick()) * 1000, 30_000),
                2 => Step::Delete(pick()),
                3 => Step::Replace(pick(), pick()),
                4 => Step::Create(pick(), 5000),
                _ => Step::Fsync(pick()),
            };
            let mut write = i;
            let judged = run.step(&step, &mut || {
                write += 1;
                write.is_multiple_of(9)
            });
            assert!(judged.is_ok(), "{netbsd}, {i}: {judged:?}");
        }
        let seen = run.seen;
        assert!(seen.crashes > 100 && seen.adopted > 100, "{seen:?}");
        assert!(seen.dropped > 0 && seen.nameless > 0, "{seen:?}");
        assert!(seen.cleaned > 10, "{seen:?}");
    }
}

const FILE: FileId = FileId(1);

/// A recording file system with one synced file of so many blocks.
fn with_file(params: Params, blocks: u64) -> Lfs {
    let mut fs = Lfs::recorded(params).expect("the sizes work");
    let create = Op::Create {
        file: FILE,
        dir: DirId::ROOT,
        bytes: blocks * 4096,
    };
    for op in [create, Op::Sync] {
        assert_eq!(fs.apply(&op), Ok(Outcome::Done));
    }
    fs
}

fn write_block(fs: &mut Lfs, block: u64) {
    let write = Op::Write {
        file: FILE,
        offset: block * 4096,
        bytes: 4096,
    };
    assert_eq!(fs.apply(&write), Ok(Outcome::Done), "{:?}", fs.ended());
}

fn recovered(fs: &Lfs, roll_forward: bool) -> Lfs {
    let params = Params {
        roll_forward,
        ..fs.params().clone()
    };
    let disk = fs.disk().expect("it records").clone();
    let (recovered, _) = Lfs::recover(params, disk).expect("a checkpoint");
    assert_eq!(recovered.check(), Ok(()));
    recovered
}

/// docs/spec/lfs.md, section 8.4: fsync writes no checkpoint; roll-forward finds the inode. The first ten writes are
/// those of the file's blocks.
#[test]
fn what_was_flushed_behind_the_checkpoint_is_there_with_roll_forward_only() {
    for netbsd in [false, true] {
        let mut fs = with_file(params(netbsd, false), 10);
        write_block(&mut fs, 3);
        // Not on disk yet.
        assert_eq!(recovered(&fs, true).data_of(FILE)[3], (3, 4));
        assert_eq!(fs.apply(&Op::Fsync { file: FILE }), Ok(Outcome::Done));
        assert_eq!(recovered(&fs, true).data_of(FILE)[3], (3, 11));
        assert_eq!(recovered(&fs, false).data_of(FILE)[3], (3, 4));
    }
}

/// docs/spec/lfs.md, sections 9.1 and 10: a file that is new has its name on disk when it was flushed.
#[test]
fn a_new_file_that_was_flushed_has_its_name() {
    let new = FileId(2);
    for netbsd in [false, true] {
        let mut fs = with_file(params(netbsd, false), 10);
        for op in [
            Op::Mkdir {
                dir: DirId(7),
                parent: None,
            },
            Op::Create {
                file: new,
                dir: DirId(7),
                bytes: 100,
            },
            Op::Fsync { file: new },
        ] {
            assert_eq!(fs.apply(&op), Ok(Outcome::Done));
        }
        let after = recovered(&fs, true);
        assert_eq!(after.inode(new), fs.inode(new));
        assert_eq!(
            after.directory_inode(DirId(7)),
            fs.directory_inode(DirId(7))
        );
        assert_eq!(after.file_size(new), Some(100));
        assert_eq!(recovered(&fs, false).inode(new), None);
    }
}

/// Crashes, of so many, behind which the last checkpoint is no longer whole, while blocks are overwritten at random.
fn lost_checkpoints(roll_forward: bool) -> (usize, usize) {
    let params = Params {
        roll_forward,
        max_active: 30,
        ..params(false, false)
    };
    let mut fs = with_file(params.clone(), 1200);
    let mut disk = Disk::default();
    let (mut crashes, mut lost) = (0, 0);
    let mut rng = Rng::new(2);
    for _ in 0..6000 {
        write_block(&mut fs, rng.below(1200));
        for write in fs.take_writes() {
            disk.write(&write);
            crashes += 1;
            if crashes % 4 == 0 {
                let whole = Lfs::recover(params.clone(), disk.clone())
                    .is_ok_and(|(fs, _)| fs.check().is_ok());
                lost += usize::from(!whole);
            }
        }
    }
    (crashes, lost)
}

/// The log of 4.4BSD takes a segment anew as soon as it was cleaned, before the checkpoint knows of it. With
/// roll-forward segments wait for the checkpoint.
#[test]
fn without_roll_forward_segments_are_taken_anew_before_the_checkpoint_knows() {
    let (crashes, lost) = lost_checkpoints(false);
    assert!(lost > 10, "{lost} of {crashes}");
    let (crashes, lost) = lost_checkpoints(true);
    assert!(crashes > 100, "{crashes}");
    assert_eq!(lost, 0, "of {crashes}");
}

#[test]
fn a_disk_without_a_superblock_or_of_another_size_is_refused() {
    let text = |params: Params, disk: Disk| match Lfs::recover(params, disk) {
        Ok(_) => panic!("there is nothing"),
        Err(error) => error.to_string(),
    };
    let none = text(params(false, false), Disk::default());
    assert!(none.contains("no superblock"), "{none}");
    let fs = with_file(params(false, false), 10);
    let other = text(params(true, false), fs.disk().expect("it records").clone());
    assert!(other.contains("parameters"), "{other}");
}
