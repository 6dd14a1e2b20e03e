//! What C-FFS has to keep whatever is asked of it: the file system check after every operation, with all switches.

mod steps;

use fsage_core::{DirId, FileId, FileSystem, Layout, Op, Outcome};
use fsage_models::cffs::{Cffs, InodeId, OpenFile, Params, Randomize, Start};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::fmt::Write as _;
use steps::any_op::any_op;
use steps::cases;

/// Every switch; the disk has `blocks` blocks.
fn params(blocks: u64) -> impl Strategy<Value = Params> {
    let switches = prop::array::uniform5(any::<bool>());
    let id = prop::sample::select(vec![InodeId::Locator, InodeId::Physical]);
    let start = prop::sample::select(vec![Start::CylinderGroup, Start::Random]);
    let rest = (1_u64..20, 0_u64..9, any::<u64>());
    (switches, id, start, rest).prop_map(move |(on, inode_id, start, rest)| Params {
        size_bytes: blocks * 4096,
        cg_blocks: 90,
        embed: on[0],
        group: on[1],
        dir_steal: on[2],
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
        ..Params::default()
    })
}

/// What can be seen of a state.
fn looks(fs: &Cffs) -> String {
    let mut out = format!("{}\n", fs.free_blocks());
    fs.visit_files(&mut |file| {
        writeln!(out, "{file:?}").expect("a String takes everything");
    });
    fs.visit_free(&mut |run| {
        write!(out, "{run:?} ").expect("a String takes everything");
    });
    fs.visit_further_names(&mut |name| {
        write!(out, "{name:?} ").expect("a String takes everything");
    });
    out
}

fn checked(fs: &Cffs, what: &dyn std::fmt::Debug) -> Result<(), TestCaseError> {
    fs.check()
        .map_err(|e| TestCaseError::fail(format!("{what:?}: {:?}", e.findings)))
}

/// A step on what is there: ids are taken by their rank among the living.
#[derive(Clone, Debug)]
enum Step {
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

fn step() -> impl Strategy<Value = Step> {
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
struct World {
    files: Vec<(FileId, DirId)>,
    dirs: Vec<DirId>,
    open: Vec<OpenFile>,
    next: u64,
}

impl World {
    fn dir(&self, pick: u8) -> DirId {
        let n = usize::from(pick) % (self.dirs.len() + 1);
        self.dirs.get(n).copied().unwrap_or(DirId::ROOT)
    }

    fn file(&self, pick: u8) -> Option<(FileId, DirId)> {
        let n = usize::from(pick).checked_rem(self.files.len())?;
        Some(self.files[n])
    }

    fn new_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn ops(&mut self, step: &Step) -> Option<Vec<Op>> {
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

    fn note(&mut self, op: &Op, fs: &Cffs) {
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

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn every_verb_with_any_arguments_is_answered_and_an_error_changes_nothing(
        params in params(400),
        ops in prop::collection::vec(any_op(), 1..100),
    ) {
        let mut fs = Cffs::new(params).expect("the sizes work");
        let mut again = fs.clone();
        for op in &ops {
            let before = looks(&fs);
            let got = fs.apply(op);
            checked(&fs, op)?;
            prop_assert_eq!(again.apply(op), got, "the second time, {:?}", op);
            let changes_nothing = matches!(
                got,
                Err(_) | Ok(Outcome::Ignored | Outcome::Absent | Outcome::NoInode)
            ) || matches!(op, Op::Read { .. } | Op::Fsync { .. } | Op::Sync | Op::Remount);
            if changes_nothing || op.verb().is_probe() {
                prop_assert_eq!(&before, &looks(&fs), "{:?}: {:?}", op, got);
            }
        }
        prop_assert_eq!(looks(&fs), looks(&again));
    }

    /// Small disks, which fill up; links, moves and open files; in the end everything goes, and all space is free.
    #[test]
    fn it_is_consistent_after_every_operation(
        params in params(300),
        steps in prop::collection::vec(step(), 1..90),
    ) {
        let mut fs = Cffs::new(params).expect("the sizes work");
        let mut world = World::default();
        for step in &steps {
            match step {
                Step::Open(pick) => {
                    if let Some((file, _)) = world.file(*pick) {
                        world.open.extend(fs.open(file));
                    }
                }
                Step::Close(pick) => {
                    if let Some(n) = usize::from(*pick).checked_rem(world.open.len()) {
                        fs.close(world.open.swap_remove(n));
                    }
                }
                _ => {}
            }
            checked(&fs, step)?;
            for op in world.ops(step).unwrap_or_default() {
                let _ = fs.apply(&op);
                checked(&fs, &op)?;
                world.note(&op, &fs);
            }
        }
        for file in std::mem::take(&mut world.open) {
            fs.close(file);
            checked(&fs, &"close")?;
        }
        for (file, _) in std::mem::take(&mut world.files) {
            prop_assert_eq!(fs.apply(&Op::Delete { file }), Ok(Outcome::Done));
            checked(&fs, &file)?;
        }
        let mut left = 0;
        fs.visit_files(&mut |file| left += u64::from(file.kind == fsage_core::FileKind::Regular));
        prop_assert_eq!(left, 0);
    }
}
