//! Snapshots of a model have the times, generations and names that a kernel would have kept. Expected values: what
//! 4.4BSD does on each of these calls, by hand.

use fsage_core::snapshot::Inode;
use fsage_core::{DirId, Event, FileId, FileSystem, Op};
use fsage_models::cffs::Cffs;
use fsage_models::ffs::Ffs;
use fsage_target::{Stamps, Target, TargetSpec};
use std::collections::BTreeMap;

const S: i64 = 1_000_000_000;
/// The workload's 0.
const EPOCH: i64 = 1_000_000 * S;

/// Inodes by path after these operations, one a second.
fn after(ops: &[(Op, &str)]) -> (BTreeMap<String, Inode>, Vec<(u64, String)>) {
    let spec = TargetSpec::parse("ffs:preset=tiny,root").unwrap();
    let Some(mut fs) = Target::make(&spec).unwrap().into_model::<Ffs>() else {
        panic!("an ffs");
    };
    after_on(&mut *fs, ops)
}

fn after_on(
    fs: &mut dyn FileSystem,
    ops: &[(Op, &str)],
) -> (BTreeMap<String, Inode>, Vec<(u64, String)>) {
    let mut stamps = Stamps::new(fs, EPOCH);
    for (n, (op, name)) in ops.iter().enumerate() {
        let mut event = Event::new(*op).at((n as i64 + 1) * S);
        if !name.is_empty() {
            event = event.named(name.as_bytes());
        }
        let outcome = fs.apply(op).unwrap();
        stamps.applied(&event, outcome, fs);
    }
    let (inodes, names) = stamps.snapshot(fs);
    assert!(inodes.is_sorted_by_key(|inode| inode.ino));
    let by_path = inodes.into_iter();
    let by_path = by_path.map(|i| (i.path.as_deref().expect("a path").to_owned(), i));
    let names = names.into_iter().map(|n| (n.ino, n.name.into()));
    (by_path.collect(), names.collect())
}

fn create(file: u64, dir: u64, bytes: u64) -> Op {
    Op::Create {
        file: FileId(file),
        dir: DirId(dir),
        bytes,
    }
}

fn mkdir(dir: u64, parent: u64) -> Op {
    Op::Mkdir {
        dir: DirId(dir),
        parent: Some(DirId(parent)),
    }
}

/// Birth, modification and change, in seconds of the workload.
fn times(inode: &Inode) -> [i64; 3] {
    [inode.btime_ns, inode.mtime_ns, inode.ctime_ns].map(|t| (t.expect("a time") - EPOCH) / S)
}

#[test]
fn writing_and_naming_set_the_times_that_they_set() {
    let file = FileId(1);
    let (inodes, names) = after(&[
        (mkdir(1, 0), "home"),
        (mkdir(2, 1), ""),
        (create(1, 2, 5000), "a"),
        (Op::Append { file, bytes: 10 }, ""),
        (
            Op::Link {
                file: FileId(2),
                existing: file,
                dir: DirId(1),
            },
            "b",
        ),
        (
            Op::Rename {
                file,
                dir: DirId(1),
                replaced: None,
            },
            "z",
        ),
    ]);
    // The first name in byte order is the path, the other one a further name.
    let found = &inodes["home/b"];
    assert_eq!(names, [(found.ino, "z".to_owned())]);
    assert_eq!(times(found), [3, 4, 6]);
    assert_eq!((found.size_bytes, found.links), (5010, Some(2)));
    assert_eq!(found.parent_ino, Some(inodes["home"].ino));
    assert_eq!(times(&inodes["home"]), [1, 6, 6]);
    // The rename took the name away.
    assert_eq!(times(&inodes["home/d2"]), [2, 6, 6]);
    assert_eq!(times(&inodes["."]), [0, 1, 1]);
    // The root names itself.
    assert_eq!(inodes["."].parent_ino, Some(inodes["."].ino));
}

#[test]
fn an_inode_that_is_used_again_has_the_next_generation() {
    let (before, _) = after(&[(create(1, 0, 100), "a")]);
    let (inodes, _) = after(&[
        (create(1, 0, 100), "a"),
        (Op::Delete { file: FileId(1) }, ""),
        (create(2, 0, 100), "b"),
    ]);
    let (old, new) = (&before["a"], &inodes["b"]);
    assert_eq!(new.ino, old.ino);
    assert_eq!((old.generation, new.generation), (Some(1), Some(2)));
    assert_eq!(times(new), [3, 3, 3]);
    assert_eq!(inodes.len(), 2);
}

#[test]
fn a_directory_that_moves_takes_its_paths_along() {
    let (inodes, _) = after(&[
        (mkdir(1, 0), "one"),
        (mkdir(2, 0), "two"),
        (create(1, 1, 0), "f"),
        (
            Op::RenameDir {
                dir: DirId(1),
                parent: DirId(2),
            },
            "moved",
        ),
    ]);
    let paths: Vec<&str> = inodes.keys().map(String::as_str).collect();
    assert_eq!(paths, [".", "two", "two/moved", "two/moved/f"]);
    assert_eq!(times(&inodes["two/moved/f"]), [3, 3, 3]);
    assert_eq!(times(&inodes["two/moved"]), [1, 3, 4]);
}

/// Numbers by hand: directory of the inode << 16 | sector << 3 | place. The root is directory 1, `a` 2, `b` 3; number 8
/// is the first one of the external inode file.
#[test]
fn times_go_along_when_an_inode_of_c_ffs_moves() {
    let made = Target::make(&TargetSpec::parse("cffs").unwrap()).unwrap();
    let Some(mut fs) = made.into_model::<Cffs>() else {
        panic!("a cffs");
    };
    let rename = |file, dir| Op::Rename {
        file: FileId(file),
        dir: DirId(dir),
        replaced: None,
    };
    let link = |file, existing, dir| Op::Link {
        file: FileId(file),
        existing: FileId(existing),
        dir: DirId(dir),
    };
    let renamedir = Op::RenameDir {
        dir: DirId(2),
        parent: DirId(1),
    };
    let (files, further) = after_on(
        &mut *fs,
        &[
            (mkdir(1, 0), "a"),
            (mkdir(2, 0), "b"),
            (create(1, 1, 100), "f"),
            (create(2, 1, 100), "g"),
            (rename(1, 2), "h"),
            (link(3, 2, 2), "k"),
            (renamedir, "c"),
        ],
    );
    let moved = &files["a/c/h"];
    assert_eq!(
        (moved.ino, moved.parent_ino),
        (3 << 16 | 1, Some(2 << 16 | 1))
    );
    assert_eq!(
        (moved.mtime_ns, moved.ctime_ns),
        (Some(EPOCH + 3 * S), Some(EPOCH + 5 * S))
    );
    let linked = &files["a/c/k"];
    assert_eq!((linked.ino, linked.mtime_ns), (8, Some(EPOCH + 4 * S)));
    assert_eq!(further, [(8, "g".to_owned())]);
}
