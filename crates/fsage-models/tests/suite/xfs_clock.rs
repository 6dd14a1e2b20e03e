//! Regime `default`: what happens by the clock, and what a seed decides. Expected times are those of the kernel
//! (`vm.dirty_expire_centisecs`, `vm.dirty_writeback_centisecs`, `fs.xfs.speculative_prealloc_lifetime`,
//! `fs.xfs.xfssyncd_centisecs`); which files are trimmed was seen on a mounted XFS (docs/spec/xfs.md, sections 21 and
//! 27).

use fsage_core::{DirId, FileId, FileSystem, Layout, Op, Outcome};
use fsage_models::xfs::{Params, Xfs};

const SECOND: i64 = 1_000_000_000;
const MILLISECOND: i64 = 1_000_000;

fn made(keys: &str) -> Xfs {
    let all = format!("size=64M,regime=default,{keys}");
    let options = all
        .split(',')
        .filter_map(|option| option.split_once('='))
        .map(|(key, value)| (key, Some(value)));
    Xfs::new(Params::from_options(options).expect("keys")).expect("mkfs takes it")
}

fn apply_at(fs: &mut Xfs, t_ns: i64, op: &Op) {
    fs.set_time(t_ns);
    assert_eq!(fs.apply(op), Ok(Outcome::Done), "{op:?}");
    assert_eq!(fs.check(), Ok(()), "{op:?}");
}

fn apply(fs: &mut Xfs, seconds: i64, op: &Op) {
    apply_at(fs, seconds * SECOND, op);
}

fn create(file: u64, bytes: u64) -> Op {
    create_in(DirId::ROOT, file, bytes)
}

fn create_in(dir: DirId, file: u64, bytes: u64) -> Op {
    Op::Create {
        file: FileId(file),
        dir,
        bytes,
    }
}

fn append(file: u64, bytes: u64) -> Op {
    Op::Append {
        file: FileId(file),
        bytes,
    }
}

fn is_placed(fs: &Xfs, file: u64) -> bool {
    let extents = fs.extents(FileId(file)).expect("a file");
    extents.iter().all(fsage_models::xfs::Extent::is_real)
}

/// Blocks behind the end of a file.
fn behind(fs: &Xfs, file: u64) -> u64 {
    let extents = fs.extents(FileId(file)).expect("a file");
    let end = fs.file_size(FileId(file)).expect("a file").div_ceil(4096);
    let last = extents.last().map_or(0, |extent| u64::from(extent.end()));
    last.saturating_sub(end)
}

/// A file of 192 KiB with 48 blocks behind its end: it was appended to after its first close.
fn growing(fs: &mut Xfs, seconds: i64, dir: DirId, file: u64) {
    apply(fs, seconds, &create_in(dir, file, 128 << 10));
    apply(fs, seconds, &append(file, 64 << 10));
    assert_eq!(behind(fs, file), 48);
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

#[test]
fn what_lies_behind_ends_of_files_is_given_back_300_seconds_after_the_first_of_the_group_has_got_it()
 {
    let mut fs = made("seed=1");
    for dir in [1, 2] {
        let op = Op::Mkdir {
            dir: DirId(dir),
            parent: None,
        };
        apply(&mut fs, 1, &op);
    }
    growing(&mut fs, 10, DirId(1), 1);
    growing(&mut fs, 200, DirId(1), 2);
    // In another allocation group, which has a time of its own.
    growing(&mut fs, 200, DirId(2), 3);
    apply(&mut fs, 309, &create(10, 0));
    assert_eq!([1, 2, 3].map(|file| behind(&fs, file)), [48; 3]);
    let before = fs.free_blocks();
    apply(&mut fs, 311, &create(11, 0));
    assert_eq!([1, 2, 3].map(|file| behind(&fs, file)), [0, 0, 48]);
    assert_eq!(fs.free_blocks() - before, 96);
    apply(&mut fs, 499, &create(12, 0));
    assert_eq!(behind(&fs, 3), 48);
    apply(&mut fs, 501, &create(13, 0));
    assert_eq!(behind(&fs, 3), 0);
}

#[test]
fn a_file_that_is_dirty_is_trimmed_the_next_time() {
    let mut fs = made("seed=1");
    growing(&mut fs, 10, DirId::ROOT, 1);
    growing(&mut fs, 10, DirId::ROOT, 2);
    apply(&mut fs, 200, &Op::Sync);
    // Written to where it has blocks: dirty, and nothing more behind its end.
    let over = Op::Write {
        file: FileId(1),
        offset: 0,
        bytes: 4096,
    };
    apply(&mut fs, 305, &over);
    apply(&mut fs, 311, &create(10, 0));
    assert_eq!([1, 2].map(|file| behind(&fs, file)), [48, 0]);
    apply(&mut fs, 609, &create(11, 0));
    assert_eq!(behind(&fs, 1), 48);
    apply(&mut fs, 611, &create(12, 0));
    assert_eq!(behind(&fs, 1), 0);
    // It gets more when it grows again, which goes at the time after next.
    apply(&mut fs, 650, &append(1, 64 << 10));
    assert!(behind(&fs, 1) > 0);
    apply(&mut fs, 949, &create(13, 0));
    assert!(behind(&fs, 1) > 0);
    apply(&mut fs, 951, &create(14, 0));
    assert_eq!(behind(&fs, 1), 0);
}

#[test]
fn what_fallocate_has_given_stays() {
    let mut fs = made("seed=1");
    apply(&mut fs, 10, &create(1, 128 << 10));
    let op = Op::Fallocate {
        file: FileId(1),
        offset: 128 << 10,
        bytes: 64 << 10,
    };
    apply(&mut fs, 10, &op);
    apply(&mut fs, 11, &append(1, 64 << 10));
    let kept = behind(&fs, 1);
    assert!(kept > 0);
    apply(&mut fs, 12, &Op::Sync);
    apply(&mut fs, 2000, &create(2, 0));
    assert_eq!(behind(&fs, 1), kept);
}

/// The number of an inode that is made some time after another one has lost its name.
fn next_inode(after_ns: i64, seed: u64) -> (u64, u64) {
    let mut fs = made(&format!("seed={seed},cpus=1"));
    apply(&mut fs, 1, &create(1, 10_000));
    apply(&mut fs, 2, &Op::Sync);
    let gone = fs.inode(FileId(1)).expect("a file");
    apply(&mut fs, 3, &Op::Delete { file: FileId(1) });
    apply_at(&mut fs, 3 * SECOND + after_ns, &create(2, 0));
    (gone, fs.inode(FileId(2)).expect("a file"))
}

/// A timer of one jiffy, 4 ms, fires at the second tick.
#[test]
fn an_inode_without_a_name_is_free_some_milliseconds_later() {
    for seed in 1..=8 {
        let (gone, next) = next_inode(4 * MILLISECOND - 1, seed);
        assert_ne!(gone, next, "{seed}");
        let (gone, next) = next_inode(8 * MILLISECOND, seed);
        assert_eq!(gone, next, "{seed}");
    }
    let seen = (1..=20).map(|seed| {
        let (gone, next) = next_inode(6 * MILLISECOND, seed);
        gone == next
    });
    let seen: Vec<bool> = seen.collect();
    assert!(seen.contains(&true) && seen.contains(&false), "{seen:?}");
}

#[test]
fn as_long_as_deletions_go_on_a_cluster_of_inodes_waits() {
    let mut fs = made("seed=1,cpus=1");
    for file in 0..64 {
        apply(&mut fs, 1, &create(file, 0));
    }
    let free = |fs: &Xfs| fs.space().expect("space").free_inodes;
    let before = free(&fs);
    let delete = |fs: &mut Xfs, file: u64| {
        let at = 2 * SECOND + file as i64 * MILLISECOND;
        apply_at(fs, at, &Op::Delete { file: FileId(file) });
    };
    // With the next one more wait than a cluster has, and the worker does not wait for the timer, but perhaps for the
    // processor, for less than a tick.
    for file in 0..34 {
        delete(&mut fs, file);
        assert_eq!(free(&fs), before, "{file}");
    }
    for file in 34..38 {
        delete(&mut fs, file);
    }
    assert!(free(&fs) >= before + 34);
}

#[test]
fn what_waits_for_a_worker_goes_before_a_sync_ends_and_when_space_is_short() {
    let mut fs = made("seed=1,rate=100000");
    let done = |fs: &mut Xfs, op: &Op| assert_eq!(fs.apply(op), Ok(Outcome::Done), "{op:?}");
    let empty = fs.free_blocks();
    done(&mut fs, &create(1, 40 << 20));
    done(&mut fs, &Op::Sync);
    done(&mut fs, &Op::Delete { file: FileId(1) });
    assert!(fs.free_blocks() < empty - 10_000);
    // There is no room for both.
    done(&mut fs, &create(2, 40 << 20));
    done(&mut fs, &Op::Delete { file: FileId(2) });
    done(&mut fs, &Op::Sync);
    assert!(fs.free_blocks() > empty - 100);
    assert_eq!(fs.check(), Ok(()));
}

/// Where a file lies that is made and synced some time after the only free place was given back.
fn place_after(seconds: i64, file_deleted_at: i64) -> (u64, u64) {
    let mut fs = made("seed=3,agcount=1");
    apply(&mut fs, 1, &create(1, 1 << 20));
    apply(&mut fs, 1, &create(2, 1 << 20));
    apply(&mut fs, 2, &Op::Sync);
    let start = |fs: &Xfs, file| {
        let extent = fs.extents(FileId(file)).expect("a file")[0];
        fs.start_of(&extent).expect("it has a place")
    };
    let gone = start(&fs, 1);
    apply(&mut fs, file_deleted_at, &Op::Delete { file: FileId(1) });
    apply(&mut fs, file_deleted_at + seconds, &create(3, 1 << 20));
    let at = file_deleted_at + seconds;
    apply(&mut fs, at, &Op::Sync);
    (gone, start(&fs, 3))
}

#[test]
fn freed_blocks_are_taken_again_once_the_log_was_pushed_which_is_every_30_seconds() {
    // Of 30 moments a second apart, a file that is synced two seconds later sees a push at two or three of them.
    let seen = |seconds: i64| {
        let all = (0..30).map(|at| place_after(seconds, 100 + at));
        all.filter(|(gone, next)| gone == next).count()
    };
    assert!((1..=3).contains(&seen(2)), "{}", seen(2));
    assert_eq!(seen(31), 30);
}

/// Files and directories that come and go: where they lie in the end.
fn life(keys: &str) -> Vec<(u64, u64)> {
    let mut fs = made(keys);
    for round in 0..20 {
        for file in 0..40 {
            let op = create(round * 40 + file, 5000 + file * 3000);
            assert_eq!(fs.apply(&op), Ok(Outcome::Done));
            if file % 3 == 2 {
                let file = FileId(round * 40 + file - 1);
                assert_eq!(fs.apply(&Op::Delete { file }), Ok(Outcome::Done));
            }
        }
        assert_eq!(fs.apply(&Op::Day), Ok(Outcome::Done));
    }
    assert_eq!(fs.check(), Ok(()));
    let alive = (0..800).filter(|file| file % 40 % 3 != 1);
    let seen = alive.map(|file| {
        let extent = fs.extents(FileId(file)).expect("a file")[0];
        let inode = fs.inode(FileId(file)).expect("a file");
        (inode, fs.start_of(&extent).expect("it has a place"))
    });
    seen.collect()
}

#[test]
fn a_seed_decides_when_later_files_see_what_was_freed() {
    let one = life("seed=1,rate=500");
    assert_eq!(one, life("seed=1,rate=500"));
    assert_ne!(one, life("seed=2,rate=500"));
}
