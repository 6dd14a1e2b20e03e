//! Random file systems and random operations on them, made so that a failing case shrinks to a few lines.
//!
//! A case is a [`Setup`] and a list of [`Step`]s. A step holds small numbers and is interpreted against what
//! is alive when its turn comes ([`Live`]): taking steps out of the list leaves a list that still makes sense,
//! which is what lets proptest shrink it.

mod any_op;
pub mod cffs;
pub mod rules;

pub use any_op::any_op_of;

use fsage_core::{DirId, FileId, FileSystem, Op, Outcome, StateError};
use fsage_models::ffs::{Ffs, Optim, Params, policy};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError};

/// The configuration of a test with that many cases; the environment variable `PROPTEST_CASES` multiplies
/// by its value over 256, proptest's own default.
pub fn cases(default: u32) -> Config {
    let wanted = std::env::var("PROPTEST_CASES");
    let factor = wanted.ok().and_then(|n| n.parse().ok()).unwrap_or(256.0);
    Config {
        cases: (f64::from(default) * factor / 256.0).ceil() as u32,
        max_shrink_iters: 4000,
        // A case that failed becomes a test of its own, readable, instead of a line in a file of seeds.
        failure_persistence: None,
        ..Config::default()
    }
}

/// Everything that a file system is made of. The first value of every choice below is the plain one.
#[derive(Clone, Debug)]
// Each is a switch of the original.
#[allow(clippy::struct_excessive_bools)]
pub struct Setup {
    /// Sectors, tracks, sectors per track.
    pub shape: (u64, u64, u64),
    /// Block and fragment size.
    pub sizes: (u64, u64),
    pub bytes_per_inode: Option<u64>,
    pub maxcontig: u64,
    pub rotdelay_ms: u64,
    pub maxbpg: Option<u64>,
    pub nrpos: u64,
    pub minfree_percent: u64,
    pub optim: Optim,
    pub interleave: u64,
    pub trackskew: u64,
    /// Physical sectors per track beyond the logical ones.
    pub spare_sectors: u64,
    pub write_chunk: u64,
    pub dirent_bytes: u64,
    pub superuser: bool,
    pub strict_switch: bool,
    pub direct_clusters: bool,
    pub keep_clusters: bool,
    /// Index in `policy::ALL`.
    pub policy: usize,
}

impl Setup {
    /// The parameters of the model.
    pub fn params(&self) -> Params {
        let (sectors, tracks, sectors_per_track) = self.shape;
        Params {
            sectors,
            tracks,
            sectors_per_track,
            bsize: self.sizes.0,
            fsize: self.sizes.1,
            bytes_per_inode: self.bytes_per_inode,
            maxcontig: self.maxcontig,
            rotdelay_ms: self.rotdelay_ms,
            maxbpg: self.maxbpg,
            nrpos: self.nrpos,
            minfree_percent: self.minfree_percent,
            optim: self.optim,
            interleave: self.interleave,
            trackskew: self.trackskew,
            physical_sectors: Some(sectors_per_track + self.spare_sectors),
            write_chunk: self.write_chunk,
            dirent_bytes: self.dirent_bytes,
            superuser: self.superuser,
            strict_switch: self.strict_switch,
            direct_clusters: self.direct_clusters,
            keep_clusters: self.keep_clusters,
            policy: policy::ALL[self.policy],
            ..Params::preset("tiny").expect("a preset")
        }
    }
}

/// File systems of 4 to 32 MB, all that `newfs` accepts.
pub fn setup() -> impl Strategy<Value = Setup> {
    let shape = select(vec![
        (16_384, 4, 32), // the preset tiny: 8 groups
        (65_536, 8, 64), // the preset small
        (20_011, 3, 37), // cylinders of no whole number of blocks or fragments
        (13_000, 5, 31),
        (15_000, 4, 32), // a short last group
        (9_000, 1, 64),  // one track: no rotational tables
        (33_333, 7, 48),
    ]);
    let sizes = select(vec![
        (8192, 1024),
        (4096, 512),
        (4096, 1024),
        (8192, 2048),
        (8192, 4096),
        (8192, 8192),
        (4096, 4096),
        (16_384, 2048),
    ]);
    let allocation = (
        select(vec![None, Some(65_536), Some(16_384), Some(1024)]),
        select(vec![7_u64, 1, 2, 3, 15, 30]),
        select(vec![0_u64, 0, 4, 1]),
        select(vec![None, None, Some(3), Some(17)]),
        select(vec![8_u64, 1, 3]),
        select(vec![10_u64, 0, 1, 5, 30]),
        select(vec![Optim::Time, Optim::Space]),
    );
    let disk = (
        select(vec![1_u64, 2]),
        select(vec![0_u64, 5]),
        select(vec![0_u64, 3]),
    );
    let use_of_it = (
        select(vec![4_u64 << 20, 8192, 3000, 600]),
        select(vec![0_u64, 24, 100, 488]),
        select(vec![false, false, true]),
        select(vec![false, false, true]),
        select(vec![false, false, true]),
        select(vec![false, false, true]),
        0..policy::ALL.len(),
    );
    (shape, sizes, allocation, disk, use_of_it)
        .prop_map(|(shape, sizes, allocation, disk, use_of_it)| {
            let (bytes_per_inode, maxcontig, rotdelay_ms, maxbpg, nrpos, minfree_percent, optim) =
                allocation;
            let (interleave, trackskew, spare_sectors) = disk;
            let (
                write_chunk,
                dirent_bytes,
                superuser,
                strict_switch,
                direct_clusters,
                keep_clusters,
                policy,
            ) = use_of_it;
            Setup {
                shape,
                sizes,
                bytes_per_inode,
                maxcontig,
                rotdelay_ms,
                maxbpg,
                nrpos,
                minfree_percent,
                optim,
                interleave,
                trackskew,
                spare_sectors,
                write_chunk,
                dirent_bytes,
                superuser,
                strict_switch,
                direct_clusters,
                keep_clusters,
                policy,
            }
        })
        .prop_filter("newfs refuses", |setup| Ffs::new(setup.params()).is_ok())
}

/// Sizes where an allocator has its edges: nothing, fragments, blocks, the first and the second indirect
/// block, each with its neighbors; and any size up to some megabytes.
pub fn bytes() -> impl Strategy<Value = u64> {
    let near = |unit: u64, most: u64| {
        (0..most, 0_u64..3).prop_map(move |(n, off)| (n * unit + off).saturating_sub(1))
    };
    prop_oneof![
        1 => Just(0_u64),
        5 => 1_u64..5000,
        4 => near(512, 34),
        4 => near(4096, 28),
        4 => 1_u64..100_000,
        3 => 100_000_u64..600_000,
        1 => (4_u64 << 20) + 40_000..6_000_000,
    ]
}

/// Any operation with any arguments, such lengths among them.
pub fn any_op() -> impl Strategy<Value = Op> {
    any_op_of(bytes())
}

/// Places to write at and lengths to stretch to: mostly near the file's beginning, sometimes behind the
/// second indirect block of a file system with 4 KB blocks.
fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![8 => bytes(), 1 => 0_u64..20_000_000]
}

/// One step, interpreted against what is alive. A pick is an index into the live files or directories; from
/// 250 on it is any id that was ever given out, dead, alive, or never made for lack of space.
#[derive(Clone, Debug)]
pub enum Step {
    Mkdir {
        parent: u8,
    },
    Rmdir {
        dir: u8,
    },
    Create {
        dir: u8,
        bytes: u64,
    },
    Append {
        file: u8,
        bytes: u64,
    },
    Write {
        file: u8,
        offset: u64,
        bytes: u64,
    },
    Overwrite {
        file: u8,
    },
    /// From and to, as parts of 255 of the file; all of them and one byte, which is refused.
    OverwriteRange {
        file: u8,
        from: u8,
        to: u8,
    },
    Rewrite {
        file: u8,
        bytes: u64,
    },
    /// To so many parts of 255 of its length.
    Shorten {
        file: u8,
        to: u8,
    },
    Stretch {
        file: u8,
        to: u64,
    },
    Delete {
        file: u8,
    },
    /// Creates an id that is alive, dead or absent.
    CreateAgain {
        file: u8,
        dir: u8,
        bytes: u64,
    },
    /// Fills what is free with about so many files, until an operation fails.
    Fill {
        dir: u8,
        files: u8,
    },
    /// Deletes all files but one in so many.
    Drain {
        keep: u8,
    },
    /// At whatever the fill level is: a file goes, another comes, a third one grows.
    Hover {
        rounds: u8,
        pick: u8,
        bytes: u64,
    },
    Remount,
}

/// One step, by the weights of a busy file system.
pub fn step() -> impl Strategy<Value = Step> {
    let any = any::<u8>;
    prop_oneof![
        3 => any().prop_map(|parent| Step::Mkdir { parent }),
        1 => any().prop_map(|dir| Step::Rmdir { dir }),
        20 => (any(), bytes()).prop_map(|(dir, bytes)| Step::Create { dir, bytes }),
        7 => (any(), bytes()).prop_map(|(file, bytes)| Step::Append { file, bytes }),
        4 => (any(), offset(), bytes())
            .prop_map(|(file, offset, bytes)| Step::Write { file, offset, bytes }),
        2 => any().prop_map(|file| Step::Overwrite { file }),
        2 => (any(), any(), any())
            .prop_map(|(file, from, to)| Step::OverwriteRange { file, from, to }),
        4 => (any(), bytes()).prop_map(|(file, bytes)| Step::Rewrite { file, bytes }),
        4 => (any(), any()).prop_map(|(file, to)| Step::Shorten { file, to }),
        2 => (any(), offset()).prop_map(|(file, to)| Step::Stretch { file, to }),
        10 => any().prop_map(|file| Step::Delete { file }),
        1 => (any(), any(), bytes())
            .prop_map(|(file, dir, bytes)| Step::CreateAgain { file, dir, bytes }),
        1 => (any(), 1_u8..120).prop_map(|(dir, files)| Step::Fill { dir, files }),
        1 => (1_u8..12).prop_map(|keep| Step::Drain { keep }),
        2 => (1_u8..30, any(), bytes())
            .prop_map(|(rounds, pick, bytes)| Step::Hover { rounds, pick, bytes }),
        1 => Just(Step::Remount),
    ]
}

/// What operations are applied to: one file system, or two side by side.
pub trait Player {
    /// The model, to ask for sizes and free space.
    fn ffs(&self) -> &Ffs;

    /// Applies an operation and judges what came of it.
    fn apply(&mut self, op: Op) -> Result<Result<Outcome, StateError>, TestCaseError>;
}

/// Ids that are alive, and all that were ever given out.
#[derive(Debug)]
pub struct Live {
    pub files: Vec<u64>,
    /// The root is the first one and stays.
    pub dirs: Vec<u64>,
    issued_files: u64,
    issued_dirs: u64,
}

const ANY_ID: u8 = 250;

impl Live {
    /// Nothing but the root.
    pub fn new() -> Live {
        Live {
            files: Vec::new(),
            dirs: vec![0],
            issued_files: 0,
            issued_dirs: 0,
        }
    }

    fn file(&self, pick: u8) -> FileId {
        FileId(match self.files.len() {
            n if n > 0 && pick < ANY_ID => self.files[usize::from(pick) % n],
            _ => u64::from(pick) * 7 % (self.issued_files + 2),
        })
    }

    fn dir(&self, pick: u8) -> DirId {
        DirId(if pick < ANY_ID {
            self.dirs[usize::from(pick) % self.dirs.len()]
        } else {
            // Not 0: whether the root may be removed is for other tests.
            1 + u64::from(pick) * 7 % (self.issued_dirs + 2)
        })
    }

    fn new_file(&mut self) -> FileId {
        self.issued_files += 1;
        FileId(self.issued_files)
    }

    /// Applies an operation and keeps up what is alive.
    fn apply(&mut self, player: &mut impl Player, op: Op) -> Result<bool, TestCaseError> {
        let done = player.apply(op)? == Ok(Outcome::Done);
        match op {
            Op::Create { file, .. } | Op::Delete { file } => {
                self.files.retain(|&id| id != file.0);
                if player.ffs().file_size(file).is_some() {
                    self.files.push(file.0);
                }
            }
            Op::Mkdir { dir, .. } if done => self.dirs.push(dir.0),
            Op::Rmdir { dir } if done => self.dirs.retain(|&id| id != dir.0),
            _ => {}
        }
        Ok(done)
    }

    /// Runs one step.
    pub fn play(&mut self, player: &mut impl Player, step: &Step) -> Result<(), TestCaseError> {
        let part =
            |size: u64, of: u8| size / 255 * u64::from(of) + size % 255 * u64::from(of) / 255;
        let size = |player: &dyn Player, file| player.ffs().file_size(file).unwrap_or(0);
        let op = match *step {
            Step::Mkdir { parent } => {
                self.issued_dirs += 1;
                let parent = (parent % 4 > 0).then(|| self.dir(parent));
                let dir = DirId(self.issued_dirs);
                Op::Mkdir { dir, parent }
            }
            Step::Rmdir { dir } => match self.dir(dir) {
                DirId::ROOT => return Ok(()),
                dir => Op::Rmdir { dir },
            },
            Step::Create { dir, bytes } => {
                let (file, dir) = (self.new_file(), self.dir(dir));
                Op::Create { file, dir, bytes }
            }
            Step::CreateAgain { file, dir, bytes } => Op::Create {
                file: self.file(file | ANY_ID),
                dir: self.dir(dir),
                bytes,
            },
            Step::Append { file, bytes } => Op::Append {
                file: self.file(file),
                bytes,
            },
            Step::Write {
                file,
                offset,
                bytes,
            } => Op::Write {
                file: self.file(file),
                offset,
                bytes,
            },
            Step::Overwrite { file } => Op::Overwrite {
                file: self.file(file),
                range: None,
            },
            Step::OverwriteRange { file, from, to } => {
                let file = self.file(file);
                let size = size(player, file);
                let beyond = u64::from(to == u8::MAX);
                let (from, to) = (part(size, from.min(to)), part(size, to.max(from)) + beyond);
                let range = Some((from, to - from));
                Op::Overwrite { file, range }
            }
            Step::Rewrite { file, bytes } => Op::Rewrite {
                file: self.file(file),
                bytes,
            },
            Step::Shorten { file, to } => {
                let file = self.file(file);
                let bytes = part(size(player, file), to);
                Op::Truncate { file, bytes }
            }
            Step::Stretch { file, to } => Op::Truncate {
                file: self.file(file),
                bytes: to,
            },
            Step::Delete { file } => Op::Delete {
                file: self.file(file),
            },
            Step::Remount => Op::Remount,
            Step::Fill { dir, files } => return self.fill(player, dir, files),
            Step::Drain { keep } => {
                for (i, id) in self.files.clone().into_iter().enumerate() {
                    if i % usize::from(keep) != 0 {
                        self.apply(player, Op::Delete { file: FileId(id) })?;
                    }
                }
                return Ok(());
            }
            Step::Hover {
                rounds,
                pick,
                bytes,
            } => return self.hover(player, rounds, pick, bytes),
        };
        self.apply(player, op)?;
        Ok(())
    }

    fn fill(&mut self, player: &mut impl Player, dir: u8, files: u8) -> Result<(), TestCaseError> {
        let (totals, sizes) = (player.ffs().totals(), player.ffs().sizes());
        let free = (totals.nbfree * sizes.frag + totals.nffree) * sizes.fsize;
        let mean = free / u64::from(files);
        for i in 0..2 * u64::from(files) {
            let (file, dir) = (self.new_file(), self.dir(dir % ANY_ID));
            // A third to five thirds of the mean, never the same twice in a row.
            let bytes = mean / 3 + mean * (i * 5 % 16) / 12 + i * 331 % 5000;
            if !self.apply(player, Op::Create { file, dir, bytes })? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn hover(
        &mut self,
        player: &mut impl Player,
        rounds: u8,
        pick: u8,
        bytes: u64,
    ) -> Result<(), TestCaseError> {
        for i in 0..rounds {
            let at = |salt: u8| pick.wrapping_add(i.wrapping_mul(salt)) % ANY_ID;
            let file = self.file(at(17));
            self.apply(player, Op::Delete { file })?;
            let (file, dir) = (self.new_file(), self.dir(at(5)));
            let bytes = bytes * u64::from(i % 7 + 1) / 5;
            self.apply(player, Op::Create { file, dir, bytes })?;
            let (file, bytes) = (self.file(at(11)), bytes / 3 + u64::from(at(29)));
            self.apply(player, Op::Append { file, bytes })?;
        }
        Ok(())
    }
}
