//! What tests of real trees share: looking at a tree with the standard library alone, and making file systems.

use fsage_core::{DirId, Event, FileId, Op};
use fsage_real::directory::{Directory, Expected, Options, PlainDirectory, What};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub fn open(path: &Path, options: Options) -> Directory {
    let volume = PlainDirectory::open(path).expect("an empty directory");
    Directory::new(Box::new(volume), options).expect("a target")
}

pub fn create(file: u64, dir: u64, bytes: u64) -> Event {
    let (file, dir) = (FileId(file), DirId(dir));
    Event::new(Op::Create { file, dir, bytes })
}

pub fn mkdir(dir: u64, parent: Option<u64>) -> Event {
    Event::new(Op::Mkdir {
        dir: DirId(dir),
        parent: parent.map(DirId),
    })
}

pub fn delete(file: u64) -> Event {
    let file = FileId(file);
    Event::new(Op::Delete { file })
}

/// Every path below a directory, sorted, relative to it; a lone `lost+found` at the top left out.
pub fn paths(root: &Path) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut todo = vec![root.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).expect("a directory") {
            let entry = entry.expect("an entry");
            let path = entry.path();
            let relative = path.strip_prefix(root).expect("below the root");
            if relative == Path::new("lost+found") {
                continue;
            }
            all.push(relative.as_os_str().as_bytes().to_vec());
            if entry.file_type().expect("a type").is_dir() {
                todo.push(path);
            }
        }
    }
    all.sort_unstable();
    all
}

/// The tree is exactly what it should be: names, kinds, lengths, links, contents.
pub fn check(root: &Path, expected: &Expected) {
    let files = expected.files.iter().map(|file| &file.path);
    let mut names: Vec<Vec<u8>> = files.chain(&expected.directories).cloned().collect();
    names.sort_unstable();
    let show = |paths: &[Vec<u8>]| -> Vec<String> {
        let texts = paths.iter().map(|path| String::from_utf8_lossy(path));
        texts.map(std::borrow::Cow::into_owned).collect()
    };
    assert_eq!(show(&paths(root)), show(&names));
    let at = |path: &[u8]| root.join(OsStr::from_bytes(path));
    for dir in &expected.directories {
        assert!(fs::symlink_metadata(at(dir)).unwrap().is_dir());
    }
    let mut inodes: BTreeMap<u64, u64> = BTreeMap::new();
    let mut names: BTreeMap<u64, u64> = BTreeMap::new();
    for file in &expected.files {
        *names.entry(file.inode).or_default() += 1;
    }
    for file in &expected.files {
        let path = at(&file.path);
        let stat = fs::symlink_metadata(&path).unwrap();
        assert_eq!(stat.nlink(), names[&file.inode], "{}", path.display());
        assert_eq!(*inodes.entry(file.inode).or_insert(stat.ino()), stat.ino());
        match &file.what {
            What::Symlink { target } => {
                let found = fs::read_link(&path).unwrap().into_os_string().into_vec();
                assert_eq!(&found, target);
            }
            What::File {
                content,
                size_bytes,
                zeros,
            } => {
                let found = fs::read(&path).unwrap();
                assert_eq!(found.len() as u64, *size_bytes, "{}", path.display());
                let mut wanted = Vec::new();
                while (wanted.len() as u64) < *size_bytes {
                    let at = wanted.len() as u64;
                    wanted.extend_from_slice(content.bytes(at, size_bytes - at));
                }
                for range in zeros {
                    wanted[range.start as usize..range.end as usize].fill(0);
                }
                let differs = found
                    .iter()
                    .zip(&wanted)
                    .position(|(found, wanted)| found != wanted);
                let path = path.display();
                assert_eq!(
                    differs, None,
                    "{path} has other bytes there; zeros {zeros:?}"
                );
            }
        }
    }
    let distinct: std::collections::BTreeSet<_> = inodes.values().collect();
    assert_eq!(distinct.len(), inodes.len());
}

pub fn skip(why: &str) {
    // Straight to stderr, which the test runner does not capture.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// A file system that is unmounted when it goes.
pub struct Mounted {
    pub path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Mounted {
    fn mount(
        folder: tempfile::TempDir,
        arguments: &[&str],
        source: impl AsRef<OsStr>,
    ) -> Option<Mounted> {
        let path = folder.path().join("mounted");
        fs::create_dir(&path).ok()?;
        let mut mount = Command::new("mount");
        let done = mount
            .args(arguments)
            .arg(source.as_ref())
            .arg(&path)
            .output();
        if !done.is_ok_and(|output| output.status.success()) {
            skip("cannot mount a file system: this needs root");
            return None;
        }
        Some(Mounted {
            path,
            _folder: folder,
        })
    }

    /// A file system in memory.
    pub fn tmpfs(options: &str) -> Option<Mounted> {
        let folder = tempfile::tempdir().ok()?;
        Mounted::mount(folder, &["-t", "tmpfs", "-o", options], "tmpfs")
    }

    /// A file system in an image file, on a loop device that goes with the mount.
    pub fn image(mkfs: &[&str], megabytes: u64) -> Option<Mounted> {
        let folder = tempfile::tempdir().ok()?;
        let image = folder.path().join("image");
        fs::File::create(&image)
            .ok()?
            .set_len(megabytes << 20)
            .ok()?;
        let made = Command::new(mkfs[0]).args(&mkfs[1..]).arg(&image).output();
        if !made.is_ok_and(|output| output.status.success()) {
            skip(&format!("{} does not work here", mkfs[0]));
            return None;
        }
        Mounted::mount(folder, &["-o", "loop"], image)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A child that another test has forked holds our open files until it becomes its program.
        let done = (0..100).any(|again| {
            if again > 0 {
                std::thread::sleep(Duration::from_millis(50));
            }
            let done = Command::new("umount").arg(&self.path).output();
            done.is_ok_and(|output| output.status.success())
        });
        assert!(
            done || std::thread::panicking(),
            "{}: cannot be unmounted",
            self.path.display()
        );
    }
}
