//! Trees on disk, made and read back by the standard library.

use fsage_core::{DirId, FileId};
use fsage_real::directory::{
    Content, Data, DirKey, Expected, ExpectedFile, History, Occupant, RepairError, Repaired,
    Reread, Verification, What, repair, verify,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

pub fn file(name: &str, inode: u64, size_bytes: u64, zeros: &[Range<u64>]) -> ExpectedFile {
    ExpectedFile {
        path: name.into(),
        inode,
        what: What::File {
            content: Content::of(FileId(inode)),
            size_bytes,
            zeros: zeros.to_vec(),
        },
    }
}

pub fn link(name: &str, inode: u64, target: &str) -> ExpectedFile {
    ExpectedFile {
        path: name.into(),
        inode,
        what: What::Symlink {
            target: target.into(),
        },
    }
}

pub fn expected(directories: &[&str], files: Vec<ExpectedFile>) -> Expected {
    let mut expected = Expected {
        directories: directories.iter().map(|d| d.as_bytes().to_vec()).collect(),
        files,
    };
    expected.directories.sort();
    expected.files.sort_by(|a, b| a.path.cmp(&b.path));
    expected
}

/// The bytes that a file should hold.
pub fn bytes_of(content: Content, size_bytes: u64, zeros: &[Range<u64>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < size_bytes {
        let at = bytes.len() as u64;
        bytes.extend_from_slice(content.bytes(at, size_bytes - at));
    }
    for range in zeros {
        bytes[range.start as usize..range.end as usize].fill(0);
    }
    bytes
}

/// Makes a tree of what is expected.
pub fn build(root: &Path, expected: &Expected) {
    for directory in &expected.directories {
        fs::create_dir(root.join(path(directory))).unwrap();
    }
    let mut inodes: BTreeMap<u64, PathBuf> = BTreeMap::new();
    for file in &expected.files {
        let at = root.join(path(&file.path));
        if let Some(first) = inodes.get(&file.inode) {
            fs::hard_link(first, &at).unwrap();
            continue;
        }
        match &file.what {
            What::Symlink { target } => symlink(path(target), &at).unwrap(),
            What::File {
                content,
                size_bytes,
                zeros,
            } => fs::write(&at, bytes_of(*content, *size_bytes, zeros)).unwrap(),
        }
        inodes.insert(file.inode, at);
    }
}

/// A tree as the standard library sees it: kind and content of each path, and which of them are one inode.
pub type Seen = (BTreeMap<PathBuf, (char, Vec<u8>)>, BTreeSet<Vec<PathBuf>>);

pub fn see(root: &Path) -> Seen {
    let mut entries = BTreeMap::new();
    let mut inodes: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            let (at, meta) = (entry.path(), entry.metadata().unwrap());
            let name = at.strip_prefix(root).unwrap().to_owned();
            if meta.is_dir() {
                entries.insert(name, ('d', Vec::new()));
                pending.push(at);
                continue;
            }
            let seen = if meta.is_symlink() {
                (
                    'l',
                    fs::read_link(&at).unwrap().as_os_str().as_bytes().to_vec(),
                )
            } else {
                ('f', fs::read(&at).unwrap())
            };
            entries.insert(name.clone(), seen);
            inodes.entry(meta.ino()).or_default().push(name);
        }
    }
    let mut links: BTreeSet<_> = inodes.into_values().collect();
    links = links
        .into_iter()
        .map(|mut names| {
            names.sort();
            names
        })
        .collect();
    (entries, links)
}

/// What [`see`] gives for a tree that is as it should be.
pub fn wanted(expected: &Expected) -> Seen {
    let mut entries = BTreeMap::new();
    for directory in &expected.directories {
        entries.insert(path(directory).to_owned(), ('d', Vec::new()));
    }
    let mut inodes: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    for file in &expected.files {
        let seen = match &file.what {
            What::Symlink { target } => ('l', target.clone()),
            What::File {
                content,
                size_bytes,
                zeros,
            } => ('f', bytes_of(*content, *size_bytes, zeros)),
        };
        entries.insert(path(&file.path).to_owned(), seen);
        let names = inodes.entry(file.inode).or_default();
        names.push(path(&file.path).to_owned());
        names.sort();
    }
    (entries, inodes.into_values().collect())
}

pub fn verified(root: &Path, expected: &Expected, data: Data) -> Verification {
    let root = File::open(root).unwrap();
    verify(root.as_fd(), expected, data, &mut |_| true).unwrap()
}

pub fn sentences(verification: &Verification) -> Vec<String> {
    let problems = verification.problems.iter();
    let mut sentences: Vec<_> = problems.map(ToString::to_string).collect();
    sentences.sort();
    sentences
}

pub fn repaired(
    root: &Path,
    expected: &Expected,
    left: &Left,
    reread: &Reread,
    data: Data,
) -> Result<Repaired, RepairError> {
    let root = File::open(root).unwrap();
    repair(
        root.as_fd(),
        expected,
        &left.history,
        reread,
        data,
        &mut |_| true,
    )
}

/// What a replay may have left, told by paths. Directories have numbers, by which a history knows them.
#[derive(Default)]
pub struct Left {
    pub history: History,
    ids: BTreeMap<Vec<u8>, u64>,
    files: u64,
}

impl Left {
    pub fn in_tree(expected: &Expected) -> Left {
        let mut left = Left::default();
        for path in &expected.directories {
            let id = left.new_id(path);
            left.history.directory_belongs_at(id, path);
        }
        left
    }

    fn new_id(&mut self, path: &[u8]) -> DirId {
        let id = self.ids.len() as u64 + 1;
        self.ids.insert(path.to_vec(), id);
        DirId(id)
    }

    fn place(&self, path: &[u8]) -> (DirKey, Vec<u8>) {
        match path.iter().rposition(|byte| *byte == b'/') {
            None => (None, path.to_vec()),
            Some(slash) => (
                Some(DirId(self.ids[&path[..slash]])),
                path[slash + 1..].to_vec(),
            ),
        }
    }

    /// The replay may have made something at this path.
    pub fn allow(&mut self, path: &[u8]) {
        let dir = self.new_id(path);
        let place = self.place(path);
        self.history.had(place.clone(), Occupant::Directory(dir));
        self.files += 1;
        self.history.had(place, Occupant::File(FileId(self.files)));
    }

    /// What belongs at one path may be at others.
    pub fn moved(&mut self, belongs_at: &[u8], found_at: &[&[u8]]) {
        let occupant = if let Some(id) = self.ids.get(belongs_at) {
            Occupant::Directory(DirId(*id))
        } else {
            self.files += 1;
            let id = FileId(self.files);
            self.history.file_belongs_at(id, belongs_at);
            Occupant::File(id)
        };
        for path in [&[belongs_at], found_at].concat() {
            self.history.had(self.place(path), occupant);
        }
    }
}

pub fn paths<'a>(expected: &Expected, paths: impl IntoIterator<Item = &'a str>) -> Left {
    let mut left = Left::in_tree(expected);
    for path in paths {
        left.allow(path.as_bytes());
    }
    left
}

/// A small tree with one of everything.
pub fn sample() -> Expected {
    expected(
        &["a", "a/b", "c"],
        vec![
            file("a/b/long", 1, 300_000, &[]),
            file("a/empty", 2, 0, &[]),
            file("a/holes", 3, 200_000, &[0..5000, 100_000..150_000]),
            file("c/one", 4, 5000, &[]),
            file("c/same", 4, 5000, &[]),
            file("same", 4, 5000, &[]),
            link("sym", 5, "a/b"),
            file("tail", 6, 90_000, &[1000..2000, 80_000..90_000]),
        ],
    )
}

/// A file system of its own, unmounted when dropped.
pub struct Small {
    pub at: PathBuf,
    /// Removed after the file system is unmounted.
    _folder: tempfile::TempDir,
}

impl Small {
    pub fn mount(bytes: u64) -> Option<Small> {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().to_owned();
        let mounted = mount(&at, bytes);
        if !mounted {
            let _ = writeln!(
                std::io::stderr(),
                "skipped: a small tmpfs cannot be mounted without root"
            );
        }
        mounted.then(|| Small {
            at,
            _folder: folder,
        })
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // What is mounted within goes with it.
        let _ = Command::new("umount").arg("-R").arg(&self.at).status();
    }
}

pub fn mount(at: &Path, bytes: u64) -> bool {
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "none"])
        .arg(at)
        .output();
    mounted.is_ok_and(|output| output.status.success())
}
