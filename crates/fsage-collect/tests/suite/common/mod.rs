//! What the tests of this crate share: file systems in images that are mounted for a while, and a snapshot at once.

use fsage_collect::{Memory, Report, WalkOptions, walk_path};
use fsage_core::LayoutInMemory;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Says on stderr that a test was skipped, and why. Not `eprintln!`, which the test harness would swallow.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Whether this process may mount; says so if not.
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skipped("not root");
    }
    root
}

/// Runs a program and gives its standard output.
pub fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    let output = output.unwrap_or_else(|e| panic!("{program}: {e}"));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {message}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// An image with a file system, mounted until it is dropped.
pub struct Mounted {
    folder: TempDir,
}

impl Mounted {
    /// Makes an image of `megabytes` with `mkfs.KIND` and mounts it with `options`; `None`, and a line that says why,
    /// where that is not possible.
    pub fn new(kind: &str, mkfs: &[&str], megabytes: u64, options: &str) -> Option<Mounted> {
        if !is_root() {
            return None;
        }
        let folder = TempDir::new().expect("a temporary folder");
        let mounted = Mounted { folder };
        let image = mounted.image();
        let file = File::create(&image).expect("an image");
        file.set_len(megabytes << 20).expect("a sparse image");
        fs::create_dir(mounted.root()).expect("a mount point");
        let image = image.to_str().expect("UTF-8");
        let root = mounted.root();
        let root = root.to_str().expect("UTF-8");
        let program = format!("mkfs.{kind}");
        let options = format!("loop,{options}");
        let steps: [(&str, Vec<&str>); 2] = [
            (&program, [mkfs, &["-q", image]].concat()),
            ("mount", vec!["-t", kind, "-o", &options, image, root]),
        ];
        for (program, args) in steps {
            let done = Command::new(program).args(&args).output();
            let error = match done {
                Ok(output) if output.status.success() => continue,
                Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
                Err(e) => e.to_string(),
            };
            skipped(&format!("{program} {args:?}: {error}"));
            return None;
        }
        Some(mounted)
    }

    /// Unmounts it and mounts it again.
    pub fn remount(&self) {
        let (image, root) = (self.image(), self.root());
        let root = root.to_str().expect("UTF-8");
        run("umount", &[root]);
        run(
            "mount",
            &["-o", "loop", image.to_str().expect("UTF-8"), root],
        );
    }

    /// The root of the mounted file system.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// The image.
    pub fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // It is not mounted if something failed before. The loop device goes with the mount.
        unmount(&self.root());
    }
}

/// Unmounts what is mounted there, if something is. A program that another test starts right now has our descriptors
/// for a moment, and then the mount is busy.
pub fn unmount(at: &Path) {
    let is_mounted = || {
        let mounts = fsage_linux::mounts::mounts().unwrap_or_default();
        mounts
            .iter()
            .any(|mount| mount.at == at.as_os_str().as_bytes())
    };
    for _ in 0..100 {
        if !is_mounted() {
            return;
        }
        // Whether it worked is seen in the table of mounts.
        let _ = Command::new("umount").arg(at).output();
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = Command::new("umount").arg("--lazy").arg(at).output();
}

/// A snapshot in memory.
pub fn snapshot(path: &Path) -> (LayoutInMemory, Report) {
    snapshot_with(path, &WalkOptions::default())
}

/// The same of a tree on the file system of the temporary folder, which may have much to write out.
pub fn snapshot_unsynced(path: &Path) -> (LayoutInMemory, Report) {
    snapshot_with(path, &unsynced())
}

/// Options of a walk that writes nothing out first, and does not ask for free space.
pub fn unsynced() -> WalkOptions {
    WalkOptions {
        sync: false,
        free_map: false,
        ..WalkOptions::default()
    }
}

fn snapshot_with(path: &Path, options: &WalkOptions) -> (LayoutInMemory, Report) {
    let mut memory = Memory::default();
    let report = walk_path(path, options, &mut memory, &mut |_, _| Ok(()));
    let report = report.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    (memory.layout(&report), report)
}
