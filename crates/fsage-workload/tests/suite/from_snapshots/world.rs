//! A small file system that knows nothing of the code under test: its users do anything at random, and it is
//! photographed.

use fsage_core::snapshot::{FurtherName, Inode, SnapshotInfo, SnapshotsInMemory, source_flags};
use fsage_core::{FileKind, Rng};
use std::collections::{BTreeMap, BTreeSet};

/// An inode of the first one.
#[derive(Clone, Debug)]
struct Node {
    generation: u32,
    kind: FileKind,
    size: u64,
    ctime: i64,
    mtime: i64,
    btime: i64,
}

/// What the rows of its snapshots tell.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // Any of them may be missing.
pub struct Recorded {
    pub generation: bool,
    pub birth: bool,
    pub paths: bool,
    pub names: bool,
    pub times: bool,
}

/// A file system of paths.
#[derive(Debug, Default)]
pub struct Source {
    nodes: BTreeMap<u64, Node>,
    /// Every name; the root has none.
    names: BTreeMap<String, u64>,
    generation: u32,
    now: i64,
}

const ROOT: u64 = 1;
pub const HOUR: i64 = 3_600_000_000_000;

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl Source {
    pub fn new() -> Source {
        let mut source = Source::default();
        source.node(FileKind::Directory, 0);
        source
    }

    /// The lowest free number, so that numbers are used again at once.
    fn node(&mut self, kind: FileKind, size: u64) -> u64 {
        let mut ino = ROOT;
        while self.nodes.contains_key(&ino) {
            ino += 1;
        }
        self.generation += 1;
        let node = Node {
            generation: self.generation,
            kind,
            size,
            ctime: self.now,
            mtime: self.now,
            btime: self.now,
        };
        self.nodes.insert(ino, node);
        ino
    }

    fn dir_of(&self, path: &str) -> u64 {
        self.names.get(parent(path)).copied().unwrap_or(ROOT)
    }

    fn touch(&mut self, ino: u64, content: bool) {
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.ctime = self.now;
            if content {
                node.mtime = self.now;
            }
        }
    }

    fn directories(&self) -> Vec<String> {
        let dirs = self.names.iter().filter(|(_, ino)| self.is_dir(**ino));
        let mut dirs: Vec<String> = dirs.map(|(path, _)| path.clone()).collect();
        dirs.push(String::new());
        dirs
    }

    fn is_dir(&self, ino: u64) -> bool {
        self.nodes[&ino].kind == FileKind::Directory
    }

    fn files(&self) -> Vec<String> {
        let files = self.names.iter().filter(|(_, ino)| !self.is_dir(**ino));
        files.map(|(path, _)| path.clone()).collect()
    }

    fn unlink(&mut self, path: &str) {
        let dir = self.dir_of(path);
        let ino = self.names.remove(path).unwrap();
        if self.names.values().any(|other| *other == ino) {
            self.touch(ino, false);
        } else {
            self.nodes.remove(&ino);
        }
        self.touch(dir, true);
    }

    fn enter(&mut self, path: &str, ino: u64) {
        self.names.insert(path.to_owned(), ino);
        let dir = self.dir_of(path);
        self.touch(dir, true);
    }

    /// A directory with all that is in it gets another path.
    fn move_directory(&mut self, moved: &str, path: &str) {
        let old = self.dir_of(moved);
        self.touch(old, true);
        let below = format!("{moved}/");
        let all: Vec<String> = self.names.keys().cloned().collect();
        for from in all {
            if from == moved || from.starts_with(&below) {
                let ino = self.names.remove(&from).unwrap();
                let to = format!("{path}{}", &from[moved.len()..]);
                self.names.insert(to, ino);
            }
        }
        let ino = self.names[path];
        self.touch(ino, false);
        let new = self.dir_of(path);
        self.touch(new, true);
    }

    /// Something that a user might do.
    #[allow(clippy::too_many_lines)] // One match.
    pub fn act(&mut self, rng: &mut Rng) {
        self.now += 1 + rng.below(HOUR as u64 / 4) as i64;
        let dirs = self.directories();
        let dir = dirs[rng.below(dirs.len() as u64) as usize].clone();
        // Few names, so that they meet.
        let name = format!("n{}", rng.below(6));
        let path = if dir.is_empty() {
            name
        } else {
            format!("{dir}/{name}")
        };
        let files = self.files();
        let file =
            (!files.is_empty()).then(|| files[rng.below(files.len() as u64) as usize].clone());
        let free = !self.names.contains_key(&path);
        match (rng.below(12), file) {
            (0..=2, _) if free => {
                let kind = match rng.below(12) {
                    0 => FileKind::Symlink,
                    1 => FileKind::Fifo,
                    _ => FileKind::Regular,
                };
                let size = if kind == FileKind::Fifo {
                    0
                } else {
                    rng.below(40_000)
                };
                let ino = self.node(kind, size);
                self.enter(&path, ino);
            }
            (3, _) if free && path.matches('/').count() < 4 => {
                let ino = self.node(FileKind::Directory, 4096);
                self.enter(&path, ino);
            }
            (4 | 5, Some(file)) => self.unlink(&file),
            (6, Some(file)) => {
                let ino = self.names[&file];
                if self.nodes[&ino].kind == FileKind::Regular {
                    self.nodes.get_mut(&ino).unwrap().size = rng.below(40_000);
                    self.touch(ino, true);
                }
            }
            (7, Some(file)) if free => {
                // Moved, under another name too.
                let ino = self.names.remove(&file).unwrap();
                let dir = self.dir_of(&file);
                self.touch(dir, true);
                self.touch(ino, false);
                self.enter(&path, ino);
            }
            (8, Some(file))
                if !free
                    && !self.is_dir(self.names[&path])
                    && self.names[&path] != self.names[&file] =>
            {
                // Moved over another one.
                self.unlink(&path);
                let ino = self.names.remove(&file).unwrap();
                let dir = self.dir_of(&file);
                self.touch(dir, true);
                self.touch(ino, false);
                self.enter(&path, ino);
            }
            (9, Some(file)) if free && self.nodes[&self.names[&file]].kind == FileKind::Regular => {
                let ino = self.names[&file];
                self.touch(ino, false);
                self.enter(&path, ino);
            }
            (10, _) if !dir.is_empty() && free => {
                let moved = dirs[rng.below(dirs.len() as u64) as usize].clone();
                // Not into itself.
                if !moved.is_empty() && !format!("{path}/").starts_with(&format!("{moved}/")) {
                    self.move_directory(&moved, &path);
                }
            }
            (11, _) if !dir.is_empty() => {
                // rm -r, now and then.
                let below = format!("{dir}/");
                let content: Vec<String> = self
                    .names
                    .keys()
                    .filter(|path| path.starts_with(&below))
                    .cloned()
                    .collect();
                if content.len() < 6 {
                    for path in content.into_iter().rev() {
                        self.unlink(&path);
                    }
                    self.unlink(&dir);
                }
            }
            _ => {}
        }
    }

    pub fn snapshot(
        &self,
        recorded: Recorded,
        taken_at_ns: i64,
        into: &mut SnapshotsInMemory,
        snap_id: u32,
    ) {
        let mut paths: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        paths.insert(ROOT, vec!["."]);
        for (path, ino) in &self.names {
            paths.entry(*ino).or_default().push(path);
        }
        let mut further = Vec::new();
        let mut inodes = Vec::new();
        for (ino, node) in &self.nodes {
            let first = paths[ino][0];
            for path in &paths[ino][1..] {
                further.push(FurtherName {
                    ino: *ino,
                    generation: recorded.generation.then_some(node.generation),
                    parent_ino: self.dir_of(path),
                    name: path.rsplit('/').next().unwrap().into(),
                });
            }
            inodes.push(Inode {
                ctime_ns: recorded.times.then_some(node.ctime),
                mtime_ns: recorded.times.then_some(node.mtime),
                btime_ns: recorded.birth.then_some(node.btime),
                parent_ino: (*ino != ROOT).then(|| self.dir_of(first)),
                path: recorded.paths.then(|| first.into()),
                source_flags: u32::from(recorded.generation) * source_flags::GEN_VALID,
                ..Inode::new(
                    *ino,
                    recorded.generation.then_some(node.generation),
                    node.kind,
                    node.size,
                )
            });
        }
        let info = SnapshotInfo {
            snap_id,
            taken_at_ns,
            source: "test".to_owned(),
            inodes_per_group: Some(8),
            first_ino: Some(1),
            size_bytes: Some(1 << 30),
            ..SnapshotInfo::default()
        };
        into.push(info, inodes, recorded.names.then_some(further));
    }

    pub fn inodes(&self) -> usize {
        self.nodes.len()
    }

    pub fn now(&self) -> i64 {
        self.now
    }

    /// Every path of a file with its length, as a workload makes it: a name a path, FIFOs empty.
    pub fn files_and_sizes(&self, only_first_names: bool) -> BTreeSet<(String, u64)> {
        let mut seen = BTreeSet::new();
        let mut files = BTreeSet::new();
        for (path, ino) in &self.names {
            if !self.is_dir(*ino) && (seen.insert(*ino) || !only_first_names) {
                files.insert((path.clone(), self.nodes[ino].size));
            }
        }
        files
    }

    pub fn directory_paths(&self) -> BTreeSet<String> {
        self.directories().into_iter().collect()
    }
}
