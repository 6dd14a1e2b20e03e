//! Trees that are deep, wide, or change while they are walked.

use crate::common::{snapshot_unsynced, unsynced};
use fsage_collect::{Memory, WalkOptions, walk_path};
use fsage_core::SinkError;
use fsage_core::snapshot::{Inode, SnapshotInfo, SnapshotSink};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, mkdirat, open, openat, renameat_with};
use std::fs::{self, File};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tempfile::TempDir;

/// Directories inside each other, with `beside` others in each.
fn deep(root: &Path, levels: usize, beside: &[&str]) {
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at: OwnedFd = open(root, directory, Mode::empty()).unwrap();
    for _ in 0..levels {
        for name in beside.iter().chain(&["d"]) {
            mkdirat(&at, *name, Mode::RWXU).unwrap();
        }
        at = openat(&at, "d", directory, Mode::empty()).unwrap();
    }
}

/// The standard library opens one directory inside the other.
fn remove(root: &Path) {
    let removed = Command::new("rm").arg("-rf").arg(root).status().unwrap();
    assert!(removed.success());
}

/// Counts rows, and remembers the longest path.
#[derive(Default)]
struct Longest {
    rows: u64,
    bytes: usize,
}

impl SnapshotSink for Longest {
    fn snapshot(&mut self, _: SnapshotInfo) -> Result<(), SinkError> {
        Ok(())
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        self.rows += 1;
        self.bytes = self.bytes.max(inode.path.map_or(0, |path| path.len()));
        Ok(())
    }
}

#[test]
fn a_tree_of_ten_thousand_levels_is_walked_with_few_descriptors() {
    // A chain, and one in which other directories wait at every level: they are opened again from the root.
    for (levels, beside) in [(10_000, &[][..]), (1_000, &["a", "z"][..])] {
        let folder = TempDir::new().unwrap();
        deep(folder.path(), levels, beside);
        let mut sink = Longest::default();
        let options = unsynced();
        let report = walk_path(folder.path(), &options, &mut sink, &mut |_, _| Ok(())).unwrap();
        remove(folder.path());
        assert_eq!(sink.rows, (levels * (1 + beside.len()) + 1) as u64);
        assert_eq!(sink.bytes, 2 * levels - 1);
        assert_eq!(
            (report.unreadable, report.vanished),
            (0, 0),
            "{:?}",
            report.warnings
        );
    }
}

#[test]
fn a_large_directory_is_walked_piece_by_piece() {
    let folder = TempDir::new().unwrap();
    for i in 0..50_000 {
        File::create(folder.path().join(format!("file number {i}"))).unwrap();
    }
    let (layout, report) = snapshot_unsynced(folder.path());
    assert_eq!((layout.inodes.len(), report.rows), (50_001, 50_001));
}

/// More directories than may wait, in two levels: those that were found come before the rest of what holds them.
#[test]
fn a_directory_of_many_directories_is_walked_whole() {
    let folder = TempDir::new().unwrap();
    for i in 0..6_000 {
        fs::create_dir(folder.path().join(format!("directory {i}"))).unwrap();
    }
    for i in 0..5_000 {
        fs::create_dir(folder.path().join(format!("directory 7/{i}"))).unwrap();
    }
    for threads in [1, 3] {
        let options = WalkOptions {
            threads: NonZero::new(threads).unwrap(),
            ..unsynced()
        };
        let mut memory = Memory::default();
        let report = walk_path(folder.path(), &options, &mut memory, &mut |_, _| Ok(())).unwrap();
        let layout = memory.layout(&report);
        assert_eq!((layout.inodes.len(), report.rows), (11_001, 11_001));
        let inside = |inode: &&Inode| {
            let path = inode.path.as_deref();
            path.is_some_and(|path| path.starts_with("directory 7/"))
        };
        assert_eq!(layout.inodes.iter().filter(inside).count(), 5_000);
    }
}

#[test]
fn files_that_vanish_are_passed_over() {
    /// Removes all files at the first row.
    struct Removing<'a>(&'a Path, u64);
    impl SnapshotSink for Removing<'_> {
        fn snapshot(&mut self, _: SnapshotInfo) -> Result<(), SinkError> {
            Ok(())
        }
        fn inode(&mut self, _: Inode) -> Result<(), SinkError> {
            if self.1 == 0 {
                for directory in fs::read_dir(self.0)? {
                    fs::remove_dir_all(directory?.path())?;
                }
            }
            self.1 += 1;
            Ok(())
        }
    }
    let folder = TempDir::new().unwrap();
    let (directories, files) = (40, 500);
    for directory in 0..directories {
        let path = folder.path().join(directory.to_string());
        fs::create_dir(&path).unwrap();
        for file in 0..files {
            fs::write(path.join(file.to_string()), "1").unwrap();
        }
    }
    let mut sink = Removing(folder.path(), 0);
    let options = unsynced();
    let report = walk_path(folder.path(), &options, &mut sink, &mut |_, _| Ok(())).unwrap();
    assert_eq!(report.unreadable, 0, "{:?}", report.warnings);
    assert_eq!(report.rows, sink.1);
    assert!(report.vanished > 0);
    assert!(report.rows + report.vanished <= 1 + directories * (1 + files));
}

#[test]
fn no_link_that_takes_the_place_of_a_directory_leads_out() {
    let folder = TempDir::new().unwrap();
    let outside = folder.path().join("outside");
    let inside = folder.path().join("inside");
    fs::create_dir_all(outside.join("sub/sub")).unwrap();
    fs::write(outside.join("sub/secret"), "1").unwrap();
    fs::create_dir_all(inside.join("sub/sub")).unwrap();
    fs::write(inside.join("sub/file"), "1").unwrap();
    symlink(outside.join("sub"), inside.join("link")).unwrap();
    let secret = fs::metadata(outside.join("sub/secret")).unwrap().ino();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (a, b) = (inside.join("sub"), inside.join("link"));
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for _ in 0..50 {
            let taken = std::panic::catch_unwind(|| snapshot_unsynced(&inside));
            let escaped = taken.map(|(layout, _)| layout.inodes.iter().any(|i| i.ino == secret));
            if !matches!(escaped, Ok(false)) {
                done.store(true, Ordering::Relaxed);
                panic!("{escaped:?}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}
