//! What the models of ext4 and XFS write to their journals when `fsync` waits for it.
//!
//! Expected: ext4 as `fs/jbd2/commit.c` and `journal.c` of Linux have it: descriptors and blocks in a row, a flush, the
//! commit block; the first block of the journal is its superblock. XFS as `fs/xfs/xfs_log.c`: one record in whole
//! sectors of 512 bytes, once the data is on the media.

use fsage_core::io::{Flush, Hosted, Io};
use fsage_core::{DirId, FileId, FileSystem as _, Op, Outcome};
use fsage_models::{ext4, xfs};
use std::collections::BTreeSet;

fn made(file: u64) -> Op {
    Op::Create {
        file: FileId(file),
        dir: DirId(1),
        bytes: 10_000,
    }
}

const DIR: Op = Op::Mkdir {
    dir: DirId(1),
    parent: None,
};

/// What the device is asked for past the cache, and the flushes between: first byte and length.
fn commits(fs: &mut impl Hosted, ops: &[Op]) -> Vec<Option<(u64, u64)>> {
    for op in ops {
        assert_eq!(fs.apply(op), Ok(Outcome::Done));
    }
    let emitted = std::mem::take(fs.emitted());
    let raw = emitted.iter().filter_map(|io| match *io {
        Io::Raw {
            write: true,
            start_bytes,
            bytes,
            wait: true,
        } => Some(Some((start_bytes, bytes))),
        Io::Flush => Some(None),
        _ => None,
    });
    raw.collect()
}

fn fsync(file: u64) -> Op {
    let file = FileId(file);
    Op::Fsync { file }
}

#[test]
fn ext4_writes_what_has_changed_and_then_the_commit() {
    let params = ext4::Params::from_options([("size", Some("1G"))]).unwrap();
    let mut fs = ext4::Ext4::new(params).unwrap();
    fs.emit(true);
    assert!(commits(&mut fs, &[DIR, made(1)]).is_empty());
    assert_eq!(fs.apply(&Op::Sync), Ok(Outcome::Done));
    // What a sync has written waits for nothing.
    fs.emitted().clear();
    assert_eq!(fs.apply(&made(2)), Ok(Outcome::Done));
    let before = fs.emitted().len();
    assert_eq!(fs.apply(&fsync(2)), Ok(Outcome::Done));
    let ino = fs.inode(FileId(2));
    let changed: BTreeSet<u64> = fs
        .emitted()
        .iter()
        .filter_map(|io| match io {
            Io::Modify(buffer, Flush::Delayed) if buffer.id.ino() != ino => {
                Some(buffer.start_bytes)
            }
            _ => None,
        })
        .collect();
    assert!(before > 0 && changed.len() >= 4, "{changed:?}");
    let all = commits(&mut fs, &[]);
    let blocks = 1 + changed.len() as u64;
    let [Some((start, bytes)), None, Some(commit)] = all[..] else {
        panic!("{all:?}");
    };
    assert_eq!(bytes, blocks * 4096);
    assert_eq!(commit, (start + bytes, 4096));
    // The next one goes behind it.
    let next = commits(&mut fs, &[made(3), fsync(3)]);
    assert_eq!(next[0].map(|(at, _)| at), Some(commit.0 + 4096));
    // Nothing has changed since.
    assert!(commits(&mut fs, &[fsync(3)]).is_empty());
    // It begins anew when it is mounted, behind its superblock.
    let mounted = commits(&mut fs, &[Op::Remount, made(4), fsync(4)]);
    assert_eq!(mounted[0].map(|(at, _)| at), Some(start));
}

#[test]
fn xfs_writes_one_record_behind_the_data() {
    let params = xfs::Params::from_options([("size", Some("1G"))]).unwrap();
    let mut fs = xfs::Xfs::new(params).unwrap();
    fs.emit(true);
    let first = commits(&mut fs, &[DIR, made(1), fsync(1)]);
    let [None, Some((start, bytes))] = first[..] else {
        panic!("{first:?}");
    };
    assert!(
        bytes.is_multiple_of(512) && (1024..=8192).contains(&bytes),
        "{bytes}"
    );
    let next = commits(&mut fs, &[made(2), fsync(2)]);
    assert_eq!(next[1].map(|(at, _)| at), Some(start + bytes));
    assert!(commits(&mut fs, &[fsync(2)]).is_empty());
    // Nobody listens, or only follows: nothing is written.
    fs.emit(false);
    assert!(commits(&mut fs, &[made(3), fsync(3)]).is_empty());
    fs.emit_to_follower();
    assert!(commits(&mut fs, &[made(4), fsync(4)]).is_empty());
}
