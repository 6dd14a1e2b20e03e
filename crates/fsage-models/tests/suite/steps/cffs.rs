//! Random C-FFS and random steps on them: links, moves and open files.

use fsage_core::{DirId, FileId, FileSystem, Op};
use fsage_models::cffs::{Cffs, DirSteal, InodeId, OpenFile, Params, Randomize, Start};
use proptest::prelude::*;

/// Every switch; the disk has `blocks` blocks.
pub fn params(blocks: u64) -> impl Strategy<Value = Params> {
    let switches = prop::array::uniform5(any::<bool>());
    let steal = prop::sample::select(vec![DirSteal::Off, DirSteal::First, DirSteal::Last]);
    let id = prop::sample::select(vec![InodeId::Locator, InodeId::Physical]);
    let start = prop::sample::select(vec![Start::CylinderGroup, Start::Random]);
    let grouped = prop_oneof![2 => Just(1_u64), 1 => 2_u64..=15];
    let rest = (1_u64..20, 0_u64..9, any::<u64>(), grouped, 0_u64..=100);
    (switches, steal, id, start, rest).prop_map(move |(on, dir_steal, inode_id, start, rest)| {
        Params {
            size_bytes: blocks * 4096,
            cg_blocks: 90,
            embed: on[0],
            group: on[1],
            dir_steal,
            group_behind: on[2],
            randomize_first: if on[3] {
                Randomize::Always
            } else {
                Randomize::Never
            },
            softupdates: on[4],
            inode_id,
            start,
            group_blocks: rest.0,
            maxbpg: rest.1,
            seed: rest.2,
            grouped_blocks: rest.3,
            random_percent: rest.4,
            ..Params::default()
        }
    })
}

/// A step on what is there: ids are taken by their rank among the living.
#[derive(Clone, Debug)]
pub enum Step {
    Mkdir(u8),
    Rmdir(u8),
    MoveDir(u8, u8),
    Create(u8, u64),
    /// So many small files at once.
    Fill(u8, u8),
    Append(u8, u64),
    Write(u8, u64, u64),
    Truncate(u8, u64),
    Rewrite(u8, u64),
    Delete(u8),
    Rename(u8, u8),
    Replace(u8, u8),
    Link(u8, u8),
    Open(u8),
    Close(u8),
}

/// One step, by the weights of a busy file system.
pub fn step() -> impl Strategy<Value = Step> {
    let pick = any::<u8>;
    let bytes = || prop_oneof![4 => 0_u64..9000, 2 => 0_u64..90_000, 1 => 0_u64..400_000];
    prop_oneof![
        2 => pick().prop_map(Step::Mkdir),
        1 => pick().prop_map(Step::Rmdir),
        1 => (pick(), pick()).prop_map(|(d, p)| Step::MoveDir(d, p)),
        6 => (pick(), bytes()).prop_map(|(d, n)| Step::Create(d, n)),
        1 => (pick(), 1_u8..60).prop_map(|(d, n)| Step::Fill(d, n)),
        2 => (pick(), bytes()).prop_map(|(f, n)| Step::Append(f, n)),
        2 => (pick(), bytes(), bytes()).prop_map(|(f, at, n)| Step::Write(f, at, n)),
        2 => (pick(), bytes()).prop_map(|(f, n)| Step::Truncate(f, n)),
        2 => (pick(), bytes()).prop_map(|(f, n)| Step::Rewrite(f, n)),
        5 => pick().prop_map(Step::Delete),
        4 => (pick(), pick()).prop_map(|(f, d)| Step::Rename(f, d)),
        3 => (pick(), pick()).prop_map(|(f, g)| Step::Replace(f, g)),
        4 => (pick(), pick()).prop_map(|(f, d)| Step::Link(f, d)),
        2 => pick().prop_map(Step::Open),
        2 => pick().prop_map(Step::Close),
    ]
}

/// Files by id and directory, directories, and what is open.
#[derive(Default)]
pub struct World {
    pub files: Vec<(FileId, DirId)>,
    pub dirs: Vec<DirId>,
    pub open: Vec<OpenFile>,
    next: u64,
}

impl World {
    /// A directory by its rank.
    pub fn dir(&self, pick: u8) -> DirId {
        let n = usize::from(pick) % (self.dirs.len() + 1);
        self.dirs.get(n).copied().unwrap_or(DirId::ROOT)
    }

    /// A file by its rank, and where it is.
    pub fn file(&self, pick: u8) -> Option<(FileId, DirId)> {
        let n = usize::from(pick).checked_rem(self.files.len())?;
        Some(self.files[n])
    }

    fn new_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The operations of a step; none if nothing fits.
    pub fn ops(&mut self, step: &Step) -> Option<Vec<Op>> {
        let one = |op| Some(vec![op]);
        let file = |pick: u8| self.file(pick).map(|(file, _)| file);
        match *step {
            Step::Mkdir(parent) => {
                let parent = Some(self.dir(parent));
                let dir = DirId(self.new_id());
                one(Op::Mkdir { dir, parent })
            }
            Step::Rmdir(dir) => one(Op::Rmdir { dir: self.dir(dir) }),
            Step::MoveDir(dir, parent) => one(Op::RenameDir {
                dir: self.dir(dir),
                parent: self.dir(parent),
            }),
            Step::Create(dir, bytes) => {
                let (dir, file) = (self.dir(dir), FileId(self.new_id()));
                one(Op::Create { file, dir, bytes })
            }
            Step::Fill(dir, n) => {
                let dir = self.dir(dir);
                let ops = (0..n).map(|i| Op::Create {
                    file: FileId(self.new_id()),
                    dir,
                    bytes: u64::from(i) * 97 % 5000,
                });
                Some(ops.collect())
            }
            Step::Append(pick, bytes) => one(Op::Append {
                file: file(pick)?,
                bytes,
            }),
            Step::Write(pick, offset, bytes) => one(Op::Write {
                file: file(pick)?,
                offset,
                bytes,
            }),
            Step::Truncate(pick, bytes) => one(Op::Truncate {
                file: file(pick)?,
                bytes,
            }),
            Step::Rewrite(pick, bytes) => one(Op::Rewrite {
                file: file(pick)?,
                bytes,
            }),
            Step::Delete(pick) => one(Op::Delete { file: file(pick)? }),
            Step::Rename(pick, dir) => one(Op::Rename {
                file: file(pick)?,
                dir: self.dir(dir),
                replaced: None,
            }),
            Step::Replace(pick, other) => {
                let (replaced, dir) = self.file(other)?;
                one(Op::Rename {
                    file: file(pick)?,
                    dir,
                    replaced: Some(replaced),
                })
            }
            Step::Link(pick, dir) => {
                let (existing, dir) = (file(pick)?, self.dir(dir));
                let file = FileId(self.new_id());
                one(Op::Link {
                    file,
                    existing,
                    dir,
                })
            }
            Step::Open(_) | Step::Close(_) => None,
        }
    }

    /// Keeps up with an operation.
    pub fn note(&mut self, op: &Op, fs: &Cffs) {
        match *op {
            Op::Mkdir { dir, .. } if fs.directory_inode(dir).is_some() => self.dirs.push(dir),
            Op::Rmdir { dir } if fs.directory_inode(dir).is_none() => {
                self.dirs.retain(|&d| d != dir);
            }
            Op::Create { file, dir, .. } | Op::Link { file, dir, .. }
                if fs.inode(file).is_some() =>
            {
                self.files.push((file, dir));
            }
            Op::Delete { file } => self.files.retain(|&(f, _)| f != file),
            _ => {}
        }
        if let Op::Rename {
            file,
            dir,
            replaced,
        } = *op
        {
            if replaced.is_some_and(|other| other != file && fs.inode(other).is_some()) {
                return;
            }
            self.files
                .retain(|&(f, _)| f == file || Some(f) != replaced);
            for known in self.files.iter_mut().filter(|(f, _)| *f == file) {
                known.1 = dir;
            }
        }
    }
}
