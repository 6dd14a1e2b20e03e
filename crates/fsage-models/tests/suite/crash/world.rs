//! Random operations on what is alive, named by rank, so that a failing case shrinks to few lines.

use fsage_core::{DirId, FileId, FileSystem, Op};
use fsage_models::lfs::Lfs;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A step on what is there.
#[derive(Clone, Debug)]
pub enum Step {
    Mkdir(u8),
    Rmdir(u8),
    MoveDir(u8, u8),
    Create(u8, u64),
    Symlink(u8, u64),
    Append(u8, u64),
    Write(u8, u64, u64),
    Truncate(u8, u64),
    Rewrite(u8, u64),
    Delete(u8),
    Rename(u8, u8),
    Replace(u8, u8),
    Link(u8, u8),
    Fsync(u8),
    Sync,
    Day,
}

/// One step of a busy file system.
pub fn step() -> impl Strategy<Value = Step> {
    let pick = any::<u8>;
    let bytes = || prop_oneof![4 => 0_u64..9000, 3 => 0_u64..90_000, 1 => 0_u64..400_000];
    prop_oneof![
        2 => pick().prop_map(Step::Mkdir),
        1 => pick().prop_map(Step::Rmdir),
        1 => (pick(), pick()).prop_map(|(d, p)| Step::MoveDir(d, p)),
        8 => (pick(), bytes()).prop_map(|(d, n)| Step::Create(d, n)),
        1 => (pick(), 0_u64..200).prop_map(|(d, n)| Step::Symlink(d, n)),
        3 => (pick(), bytes()).prop_map(|(f, n)| Step::Append(f, n)),
        6 => (pick(), bytes(), bytes()).prop_map(|(f, at, n)| Step::Write(f, at, n)),
        2 => (pick(), bytes()).prop_map(|(f, n)| Step::Truncate(f, n)),
        3 => (pick(), bytes()).prop_map(|(f, n)| Step::Rewrite(f, n)),
        5 => pick().prop_map(Step::Delete),
        3 => (pick(), pick()).prop_map(|(f, d)| Step::Rename(f, d)),
        3 => (pick(), pick()).prop_map(|(f, g)| Step::Replace(f, g)),
        2 => (pick(), pick()).prop_map(|(f, d)| Step::Link(f, d)),
        5 => pick().prop_map(Step::Fsync),
        1 => Just(Step::Sync),
        1 => Just(Step::Day),
    ]
}

/// Files with their directories, directories, and the ids that were given.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub files: BTreeMap<u64, u64>,
    pub dirs: Vec<u64>,
    last: u64,
    /// Files up to this one stay: the disk is as full as they make it.
    kept: u64,
}

impl World {
    fn dir(&self, pick: u8) -> DirId {
        let n = usize::from(pick) % (self.dirs.len() + 1);
        DirId(self.dirs.get(n).copied().unwrap_or(DirId::ROOT.0))
    }

    fn file(&self, pick: u8) -> Option<FileId> {
        let n = usize::from(pick).checked_rem(self.files.len())?;
        self.files.keys().nth(n).map(|&file| FileId(file))
    }

    /// A file that may go or shrink.
    fn loose_file(&self, pick: u8) -> Option<FileId> {
        let loose = || self.files.range(self.kept + 1..).map(|(&file, _)| file);
        let n = usize::from(pick).checked_rem(loose().count())?;
        loose().nth(n).map(FileId)
    }

    /// The files of now stay.
    pub fn keep(&mut self) {
        self.kept = self.last;
    }

    fn new_id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The operation of a step; `None` if there is no file that it could be about. On a full disk files go instead of
    /// coming, and what is written is little.
    pub fn op(&mut self, step: &Step, full: bool) -> Option<Op> {
        let step = match *step {
            Step::Create(pick, _) if full => &Step::Delete(pick),
            Step::Append(pick, bytes) if full => &Step::Append(pick, bytes % 5000),
            Step::Write(pick, at, bytes) if full => &Step::Write(pick, at % 20_000, bytes % 20_000),
            Step::Rewrite(pick, bytes) if full => &Step::Rewrite(pick, bytes % 5000),
            _ => step,
        };
        let (file, loose) = (|pick: u8| self.file(pick), |pick: u8| self.loose_file(pick));
        Some(match *step {
            Step::Mkdir(parent) => Op::Mkdir {
                parent: Some(self.dir(parent)),
                dir: DirId(self.new_id()),
            },
            Step::Rmdir(dir) => Op::Rmdir { dir: self.dir(dir) },
            Step::MoveDir(dir, parent) => Op::RenameDir {
                dir: self.dir(dir),
                parent: self.dir(parent),
            },
            Step::Create(dir, bytes) => Op::Create {
                dir: self.dir(dir),
                file: FileId(self.new_id()),
                bytes,
            },
            Step::Symlink(dir, bytes) => Op::Symlink {
                dir: self.dir(dir),
                file: FileId(self.new_id()),
                bytes,
            },
            Step::Append(pick, bytes) => Op::Append {
                file: file(pick)?,
                bytes,
            },
            Step::Write(pick, offset, bytes) => Op::Write {
                file: file(pick)?,
                offset,
                bytes,
            },
            Step::Truncate(pick, bytes) => Op::Truncate {
                file: loose(pick)?,
                bytes,
            },
            Step::Rewrite(pick, bytes) => Op::Rewrite {
                file: loose(pick)?,
                bytes,
            },
            Step::Delete(pick) => Op::Delete { file: loose(pick)? },
            Step::Rename(pick, dir) => Op::Rename {
                file: file(pick)?,
                dir: self.dir(dir),
                replaced: None,
            },
            Step::Replace(pick, other) => {
                let replaced = loose(other)?;
                Op::Rename {
                    file: file(pick)?,
                    dir: DirId(self.files[&replaced.0]),
                    replaced: Some(replaced),
                }
            }
            Step::Link(pick, dir) => Op::Link {
                existing: file(pick)?,
                dir: self.dir(dir),
                file: FileId(self.new_id()),
            },
            Step::Fsync(pick) => Op::Fsync { file: file(pick)? },
            Step::Sync => Op::Sync,
            Step::Day => Op::Day,
        })
    }

    /// What is alive behind an operation.
    pub fn note(&mut self, op: &Op, done: bool, fs: &Lfs) {
        match *op {
            Op::Mkdir { dir, .. } if done => self.dirs.push(dir.0),
            Op::Rmdir { dir } if done => self.dirs.retain(|&d| d != dir.0),
            Op::Rename { file, dir, .. } if done => {
                self.files.insert(file.0, dir.0);
            }
            Op::Create { file, dir, .. }
            | Op::Symlink { file, dir, .. }
            | Op::Link { file, dir, .. } => {
                self.files.insert(file.0, dir.0);
            }
            _ => {}
        }
        self.files
            .retain(|&file, _| fs.inode(FileId(file)).is_some());
    }
}
