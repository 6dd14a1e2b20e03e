//! Random operations on small XFS that are full most of the time: the file system check finds nothing, whatever the
//! features, the regime and the number of AGs.

use fsage_core::{DirId, FileId, FileSystem, Op, Outcome, Rng};
use fsage_models::xfs::{Features, Params, Regime, Xfs};

/// Operations on files and directories that are there, and on new ones.
struct Ops {
    random: Rng,
    files: Vec<u64>,
    dirs: Vec<u64>,
    next: u64,
}

impl Ops {
    fn file(&mut self) -> Option<FileId> {
        let count = self.files.len() as u64;
        (count > 0).then(|| FileId(self.files[self.random.below(count) as usize]))
    }

    fn dir(&mut self) -> DirId {
        let at = self.random.below(self.dirs.len() as u64 + 1);
        self.dirs
            .get(at as usize)
            .map_or(DirId::ROOT, |dir| DirId(*dir))
    }

    fn bytes(&mut self) -> u64 {
        let most = [20_000, 20_000, 300_000, 3_000_000][self.random.below(4) as usize];
        self.random.below(most)
    }

    /// The next operation; more is made than removed while the file system `grows`.
    fn draw(&mut self, grows: bool) -> Option<Op> {
        self.next += 1;
        let (new, dir, bytes) = (FileId(self.next), self.dir(), self.bytes());
        Some(match self.random.below(20) {
            0 => Op::Mkdir {
                dir: DirId(self.next),
                parent: (dir != DirId::ROOT).then_some(dir),
            },
            1..=2 => Op::Create {
                file: new,
                dir,
                bytes,
            },
            3..=6 if grows => Op::Create {
                file: new,
                dir,
                bytes,
            },
            7..=9 => Op::Append {
                file: self.file()?,
                bytes,
            },
            10 => Op::Write {
                file: self.file()?,
                offset: self.random.below(2_000_000),
                bytes,
            },
            11 => Op::Truncate {
                file: self.file()?,
                bytes: self.random.below(500_000),
            },
            12 => Op::Rename {
                file: self.file()?,
                dir,
                replaced: None,
            },
            13 => Op::Fallocate {
                file: self.file()?,
                offset: self.random.below(300_000),
                bytes,
            },
            14 => Op::Link {
                file: new,
                existing: self.file()?,
                dir,
            },
            15 => Op::Fsync { file: self.file()? },
            16 => Op::Rewrite {
                file: self.file()?,
                bytes,
            },
            17 => Op::Symlink {
                file: new,
                dir,
                bytes: self.random.below(400),
            },
            18 if self.random.below(20) == 0 => Op::Remount,
            18 => Op::Day,
            _ => Op::Delete { file: self.file()? },
        })
    }

    /// Takes note of what an operation has made and removed.
    fn note(&mut self, fs: &Xfs, op: &Op) {
        match *op {
            Op::Create { file, .. } | Op::Link { file, .. } | Op::Symlink { file, .. }
                if fs.file_size(file).is_some() =>
            {
                self.files.push(file.0);
            }
            Op::Mkdir { dir, .. } if fs.directory_inode(dir).is_some() => self.dirs.push(dir.0),
            Op::Delete { file } => self.files.retain(|id| *id != file.0),
            _ => {}
        }
    }
}

#[test]
fn a_full_file_system_stays_sound() {
    let mut full = 0;
    for features in [Features::Default, Features::Plain, Features::Rmapbt] {
        for (seed, regime, megabytes, ags, rate) in [
            (1, Regime::Strict, 20, 1, None),
            (2, Regime::PerFile, 48, 2, None),
            (3, Regime::Strict, 64, 4, None),
            (4, Regime::Default, 48, 2, None),
            (5, Regime::Default, 48, 2, Some(2_000)),
        ] {
            let params = Params {
                size_bytes: megabytes << 20,
                ag_count: Some(ags),
                features,
                regime,
                rate,
                ..Params::default()
            };
            let mut fs = Xfs::new(params.clone()).expect("mkfs takes it");
            let mut ops = Ops {
                random: Rng::new(seed),
                files: Vec::new(),
                dirs: Vec::new(),
                next: 0,
            };
            for step in 0..6_000 {
                let Some(op) = ops.draw(step / 1_500 % 2 == 0) else {
                    continue;
                };
                let outcome = fs.apply(&op);
                ops.note(&fs, &op);
                full += u64::from(outcome == Ok(Outcome::NoSpace));
                if step % 50 == 0 {
                    assert_eq!(fs.check(), Ok(()), "{params:?}, step {step}: {op:?}");
                }
            }
            assert_eq!(fs.check(), Ok(()), "{params:?}");
        }
    }
    assert!(full > 1_000, "{full} operations found no space");
}

/// Expected: extents of Linux 6.18.44 after the same operations. A write behind the end of a file that finds no space
/// is begun again, so that the block with the end is dirty once more, and is written back before files made later.
#[test]
fn a_write_behind_the_end_without_space_is_begun_again() {
    let params = Params {
        size_bytes: 300 << 20,
        ..Params::default()
    };
    let mut fs = Xfs::new(params).expect("mkfs takes it");
    let dir = DirId(1);
    let create = |file, bytes| Op::Create {
        file: FileId(file),
        dir,
        bytes,
    };
    let append = |file, bytes| Op::Append {
        file: FileId(file),
        bytes,
    };
    let behind = Op::Write {
        file: FileId(1),
        offset: 1_000_000,
        bytes: 5 << 20,
    };
    let delete = Op::Delete { file: FileId(2) };
    let ops = [
        (Op::Mkdir { dir, parent: None }, Outcome::Done),
        (create(1, 10_001), Outcome::Done),
        (create(5, 20_000), Outcome::Done),
        (Op::Day, Outcome::Done),
        (create(2, 1 << 30), Outcome::NoSpace),
        (Op::Day, Outcome::Done),
        (behind, Outcome::NoSpace),
        (delete, Outcome::Done),
        (create(3, 5000), Outcome::Done),
        (append(1, 8000), Outcome::Done),
        (Op::Day, Outcome::Done),
    ];
    for (op, outcome) in ops {
        assert_eq!(fs.apply(&op), Ok(outcome), "{op:?}");
    }
    let places = |file| -> Vec<(u32, Option<u64>, u32)> {
        let extents = fs.extents(FileId(file)).expect("it is there");
        extents
            .iter()
            .map(|e| (e.logical, fs.start_of(e), e.blocks))
            .collect()
    };
    assert_eq!(places(1), [(0, Some(10), 5)]);
    assert_eq!(places(3), [(0, Some(17_987), 2)]);
}
