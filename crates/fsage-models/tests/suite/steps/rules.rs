//! A file system that is the rules of `fsage_core::operations` and nothing else: names, lengths, and no disk. How an
//! operation ends that may be done it is told, so that it can follow any file system.

use fsage_core::operations::{
    self, Action, Decision, DirIds, Namespace, ROOT, Shortfall, planned_length,
};
use fsage_core::{DirId, FileId, Op, Outcome, StateError};
use std::collections::BTreeMap;

/// How an operation ends.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub outcome: Outcome,
    /// Length that it leaves, where that is not what was asked for; `None` also of a file that was not made.
    pub bytes: Option<u64>,
}

impl End {
    /// As asked.
    pub const DONE: End = End {
        outcome: Outcome::Done,
        bytes: None,
    };

    /// Nothing was done.
    pub fn nothing(outcome: Outcome) -> End {
        End {
            outcome,
            bytes: None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Name {
    inode: usize,
    dir: u32,
}

#[derive(Clone, Copy, Debug)]
struct Inode {
    bytes: u64,
    links: u32,
    symlink: bool,
}

/// The file system.
#[derive(Clone, Debug)]
pub struct Rules {
    names: BTreeMap<FileId, Name>,
    inodes: Vec<Inode>,
    /// Parent and number of entries of every directory that ever was.
    dirs: Vec<(u32, u64)>,
    dir_ids: DirIds,
    shortfall: Shortfall,
    /// Whether the targets of symbolic links can be written to, as on models, but not on Linux.
    pub links_take_data: bool,
}

impl Rules {
    /// Nothing but the root.
    pub fn new() -> Rules {
        Rules {
            names: BTreeMap::new(),
            inodes: Vec::new(),
            dirs: vec![(ROOT, 0)],
            dir_ids: DirIds::default(),
            shortfall: Shortfall::default(),
            links_take_data: true,
        }
    }

    /// Length of a file.
    pub fn file_size(&self, id: FileId) -> Option<u64> {
        Some(self.inodes[self.names.get(&id)?.inode].bytes)
    }

    /// Whether a name is that of a symbolic link.
    pub fn is_symlink(&self, id: FileId) -> bool {
        let name = self.names.get(&id);
        name.is_some_and(|name| self.inodes[name.inode].symlink)
    }

    /// Applies an operation that ends as it is told to, if it is one that may be done.
    pub fn apply(&mut self, op: &Op, end: impl FnOnce() -> End) -> Result<Outcome, StateError> {
        let outcome = match operations::decide(self, op)? {
            Decision::Absent => Outcome::Absent,
            Decision::Ignored => return Ok(Outcome::Ignored),
            Decision::Do(action) => {
                self.dir_ids.used_by(op);
                let end = match (action, end()) {
                    // No file system is asked for anything.
                    (Action::Nothing, _) => End::DONE,
                    (_, end) => end,
                };
                self.perform(op, action, end);
                end.outcome
            }
        };
        let names = operations::names_there(self, op);
        self.shortfall.note(op, outcome, names);
        Ok(outcome)
    }

    fn perform(&mut self, op: &Op, action: Action<usize>, end: End) {
        let done = end.outcome == Outcome::Done;
        match action {
            Action::Create { id, dir, bytes } | Action::Symlink { id, dir, bytes } => {
                if let Some(bytes) = if done { Some(bytes) } else { end.bytes } {
                    self.inodes.push(Inode {
                        bytes,
                        links: 0,
                        symlink: matches!(action, Action::Symlink { .. }),
                    });
                    self.enter(id, self.inodes.len() - 1, dir);
                }
            }
            Action::Write { file, .. }
            | Action::Rewrite { file, .. }
            | Action::Truncate { file, .. }
            | Action::Fallocate { file, .. } => {
                let bytes = &mut self.inodes[file].bytes;
                *bytes = if done {
                    planned_length(op, *bytes)
                } else {
                    end.bytes.unwrap_or(*bytes)
                };
            }
            Action::Delete { id, .. } if done => self.leave(id),
            Action::Rename {
                id,
                file,
                to,
                replaced,
            } if done => {
                if let Some((gone, _)) = replaced {
                    self.leave(gone);
                }
                let from = self.names[&id].dir;
                self.dirs[from as usize].1 -= 1;
                self.dirs[to as usize].1 += 1;
                self.names.insert(
                    id,
                    Name {
                        inode: file,
                        dir: to,
                    },
                );
            }
            Action::Link { id, file, dir, .. } if done => self.enter(id, file, dir),
            Action::Mkdir { id, parent } if done => {
                self.dir_ids.insert(id, self.dirs.len() as u32);
                self.dirs.push((parent, 0));
                self.dirs[parent as usize].1 += 1;
            }
            Action::Rmdir { id, dir } if done => {
                self.dir_ids.remove(id);
                let parent = self.dirs[dir as usize].0;
                self.dirs[parent as usize].1 -= 1;
            }
            Action::RenameDir { dir, to, .. } if done => {
                let from = std::mem::replace(&mut self.dirs[dir as usize].0, to);
                self.dirs[from as usize].1 -= 1;
                self.dirs[to as usize].1 += 1;
            }
            _ => {}
        }
    }

    fn enter(&mut self, id: FileId, inode: usize, dir: u32) {
        self.inodes[inode].links += 1;
        self.dirs[dir as usize].1 += 1;
        self.names.insert(id, Name { inode, dir });
    }

    fn leave(&mut self, id: FileId) {
        let name = self.names[&id];
        let links = self.inodes[name.inode].links;
        self.shortfall.before_unlink(id, links);
        self.inodes[name.inode].links -= 1;
        self.dirs[name.dir as usize].1 -= 1;
        self.names.remove(&id);
    }
}

impl Namespace for Rules {
    type File = usize;

    fn find_file(&self, id: FileId) -> Option<usize> {
        self.names.get(&id).map(|name| name.inode)
    }

    fn size_bytes(&self, file: usize) -> u64 {
        self.inodes[file].bytes
    }

    fn takes_no_data(&self, file: usize) -> bool {
        self.inodes[file].symlink && !self.links_take_data
    }

    fn links(&self, file: usize) -> u32 {
        self.inodes[file].links
    }

    fn place_of(&self, id: FileId, _file: usize) -> u32 {
        self.names[&id].dir
    }

    fn dir_ids(&self) -> &DirIds {
        &self.dir_ids
    }

    fn parent_of(&self, dir: u32) -> u32 {
        self.dirs[dir as usize].0
    }

    fn is_removable(&self, dir: u32) -> bool {
        self.dirs[dir as usize].1 == 0
    }

    fn shortfalls(&self) -> impl Iterator<Item = &Shortfall> {
        std::iter::once(&self.shortfall)
    }
}

/// A workload that never breaks a rule, as long as everything that it asks for is done. Ids are given again and again.
pub struct Sound {
    rng: fsage_core::Rng,
    rules: Rules,
    ids: u64,
}

impl Sound {
    /// Draws from so many ids of files, and as many of directories.
    pub fn new(seed: u64, ids: u64) -> Sound {
        Sound {
            rng: fsage_core::Rng::new(seed),
            rules: Rules::new(),
            ids,
        }
    }

    /// The next operation.
    pub fn next(&mut self) -> Op {
        loop {
            let op = self.any();
            if self.rules.apply(&op, || End::DONE).is_ok() {
                return op;
            }
        }
    }

    fn any(&mut self) -> Op {
        let ids = self.ids;
        let mut id = || self.rng.below(ids);
        let (file, other, dir, parent) = (FileId(id()), FileId(id()), DirId(id()), DirId(id()));
        let bytes = self.rng.below(60_000);
        let size = self.rules.file_size(file).unwrap_or(0);
        let offset = self.rng.below(size + 1);
        match self.rng.below(28) {
            0..=7 => Op::Create { file, dir, bytes },
            8 => Op::Symlink {
                file,
                dir,
                bytes: 1 + bytes % 50,
            },
            9 | 10 => Op::Mkdir {
                dir,
                parent: Some(parent),
            },
            11 => Op::Mkdir { dir, parent: None },
            12 | 13 => Op::Rmdir { dir },
            14 => Op::RenameDir { dir, parent },
            15 | 16 => Op::Rename {
                file,
                dir,
                replaced: None,
            },
            17 | 18 => Op::Rename {
                file,
                dir,
                replaced: Some(other),
            },
            19 | 20 => Op::Link {
                file,
                existing: other,
                dir,
            },
            21..=26 if self.rules.is_symlink(file) => Op::Delete { file },
            21 => Op::Append { file, bytes },
            22 => Op::Rewrite { file, bytes },
            23 => Op::Truncate { file, bytes },
            24 => Op::Overwrite {
                file,
                range: Some((offset, size - offset)),
            },
            25 => Op::Write {
                file,
                offset,
                bytes,
            },
            _ => Op::Delete { file },
        }
    }
}
