//! Regime `default`: what happens by the clock, and what a seed decides. Expected times: those of the kernel
//! (`commit=5`, `vm.dirty_expire_centisecs` and `vm.dirty_writeback_centisecs`; docs/spec/ext4.md, section 32).

use fsage_core::io::Hosted;
use fsage_core::{DirId, FileId, FileSystem, Op, Outcome};
use fsage_models::ext4::{Ext4, Params};

const SECOND: i64 = 1_000_000_000;

fn made(keys: &str) -> Ext4 {
    let all = format!("size=64M,bsize=4K,regime=default,{keys}");
    let options = all
        .split(',')
        .filter_map(|option| option.split_once('='))
        .map(|(key, value)| (key, Some(value)));
    Ext4::new(Params::from_options(options).expect("keys")).expect("mkfs takes it")
}

fn apply(fs: &mut Ext4, seconds: i64, op: &Op) {
    fs.set_time(seconds * SECOND);
    assert_eq!(fs.apply(op), Ok(Outcome::Done), "{op:?}");
}

fn create(file: u64, bytes: u64) -> Op {
    Op::Create {
        file: FileId(file),
        dir: DirId::ROOT,
        bytes,
    }
}

fn is_placed(fs: &Ext4, file: u64) -> bool {
    !fs.extents(FileId(file)).expect("a file").is_empty()
}

#[test]
fn a_file_is_written_back_once_it_was_dirty_for_30_seconds() {
    let mut fs = made("seed=1");
    apply(&mut fs, 1, &create(1, 10_000));
    apply(&mut fs, 20, &create(2, 10_000));
    apply(&mut fs, 30, &create(3, 10_000));
    assert!(!is_placed(&fs, 1));
    apply(&mut fs, 37, &create(4, 10_000));
    assert!(is_placed(&fs, 1) && !is_placed(&fs, 2));
    apply(&mut fs, 1000, &create(5, 10_000));
    assert!(is_placed(&fs, 4) && !is_placed(&fs, 5));
    assert_eq!(fs.check(), Ok(()));
}

#[test]
fn a_transaction_commits_5_seconds_after_it_began() {
    let mut fs = made("seed=1");
    apply(&mut fs, 1, &create(1, 100_000));
    apply(&mut fs, 2, &Op::Sync);
    apply(&mut fs, 10, &Op::Delete { file: FileId(1) });
    let before = fs.commits();
    apply(&mut fs, 14, &create(2, 0));
    assert_eq!(fs.commits(), before);
    apply(&mut fs, 15, &create(3, 0));
    assert_eq!(fs.commits(), before + 1);
}

#[test]
fn operations_without_times_are_a_second_apart_or_follow_the_rate() {
    for (keys, seconds) in [("seed=1", 1), ("rate=2", 2)] {
        let mut fs = made(keys);
        for file in 1..=29 * seconds {
            assert_eq!(fs.apply(&create(file, 5000)), Ok(Outcome::Done));
        }
        assert!(!is_placed(&fs, 1), "{keys}");
        for file in 1000..1000 + 8 * seconds {
            assert_eq!(fs.apply(&create(file, 5000)), Ok(Outcome::Done));
        }
        assert!(is_placed(&fs, 1) && !is_placed(&fs, 1000), "{keys}");
    }
}

#[test]
fn no_more_data_waits_than_may() {
    let mut fs = made("dirty=1M");
    apply(&mut fs, 1, &create(1, 900_000));
    assert!(!is_placed(&fs, 1));
    apply(&mut fs, 1, &create(2, 300_000));
    assert!(is_placed(&fs, 1));
}

/// Small files of twenty syncs: where they lie.
fn small_files(keys: &str) -> Vec<u32> {
    let mut fs = made(keys);
    for round in 0..20 {
        for file in 0..20 {
            assert_eq!(
                fs.apply(&create(round * 20 + file, 5000)),
                Ok(Outcome::Done)
            );
        }
        assert_eq!(fs.apply(&Op::Day), Ok(Outcome::Done));
    }
    assert_eq!(fs.check(), Ok(()));
    let first = |file| fs.extents(FileId(file)).expect("a file")[0].block;
    (0..400).map(first).collect()
}

#[test]
fn a_seed_decides_which_processor_places_small_files() {
    let one = small_files("seed=1,cpus=4");
    assert_eq!(one, small_files("seed=1,cpus=4"));
    assert_ne!(one, small_files("seed=2,cpus=4"));
    // With one processor there is nothing to decide.
    assert_eq!(small_files("seed=1,cpus=1"), small_files("seed=2,cpus=1"));
}

/// A new name changes a block of its directory, which is part of the transaction whether or not anybody follows: 500
/// directories in a journal of 1024 blocks, of which a transaction may fill a third.
#[test]
fn new_names_fill_a_transaction() {
    let (mut alone, mut followed) = (made("seed=1"), made("seed=1"));
    followed.emit_to_follower();
    for fs in [&mut alone, &mut followed] {
        for dir in 1..=500 {
            let dir = DirId(dir);
            apply(fs, 1, &Op::Mkdir { dir, parent: None });
        }
        apply(fs, 1, &create(1000, 100_000));
        apply(fs, 2, &Op::Sync);
        // Commits count that give blocks back.
        let before = fs.commits();
        let file = FileId(1000);
        apply(fs, 3, &Op::Delete { file });
        for file in 1..=500 {
            let (file, dir) = (FileId(file), DirId(file));
            let bytes = 0;
            apply(fs, 3, &Op::Create { file, dir, bytes });
        }
        assert_eq!(fs.commits(), before + 1);
    }
}
