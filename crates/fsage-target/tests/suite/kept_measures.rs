//! Measures that are kept as files change are those of the whole layout, and so is the block map: after every day of
//! random operations on every listed model, with every policy and under every layer, and of every preset.

use crate::any_op::any_op_of;
use crate::synthetic;
use crate::tree::Mounted;
use fsage_core::{DirId, Event, EventsInMemory, FileId, Op, Rng, Run};
use fsage_metrics::{Kept, Recorder, measure};
use fsage_models::MODELS;
use fsage_models::registry::{Entry, LAYERS};
use fsage_real::Real;
use fsage_real::directory::{Directory, Options, PlainDirectory};
use fsage_target::{Aging, Target, TargetSpec, replay};
use fsage_workload::preset::PRESETS;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::collections::BTreeMap;
use std::path::Path;

/// Forms of models that are not among the small ones of the list.
const MORE: [&str; 9] = [
    "ext3:size=16M,mode=ext2,bsize=4K",
    "lfs:size=16M,segment=512K,fsize=512,policy=greedy,roll_forward",
    "lfs:size=24M,segment=256K,variant=netbsd,poll=3,min_clean=40",
    "cffs:size=8M,cg_blocks=512,start=random,maxbpg=9",
    "cffs:size=8M,cg_blocks=512,embed=off",
    "cffs:size=8M,cg_blocks=512,dir_steal=on,group_blocks=5",
    "ext3:size=64M,rearrange=organ-pipe",
    "ext3:size=64M,rearrange=stef",
    "cffs:size=8M,cg_blocks=512,grouped_blocks=4,inode_id=table",
];

/// Every listed model in its small forms, which fill up so that operations fail too: with each of its policies, and in
/// each way of each layer.
fn targets() -> Vec<String> {
    let mut all: Vec<String> = MORE.map(str::to_owned).into();
    for entry in MODELS {
        for small in entry.small {
            let with = |keys: &str| format!("{}:{small},{keys}", entry.name);
            match entry.policy_key() {
                Some(key) => {
                    let policies = entry.policies().into_iter();
                    all.extend(
                        policies.map(|policy| with(&format!("{}={}", key.name, policy.name))),
                    );
                }
                None if small.is_empty() => all.push(entry.name.to_owned()),
                None => all.push(format!("{}:{small}", entry.name)),
            }
            all.extend(ways(entry).map(|way| with(&way)));
        }
    }
    all
}

fn ways(entry: &'static Entry) -> impl Iterator<Item = String> {
    let layers = LAYERS.iter().filter(|_| entry.layered.is_some());
    layers.flat_map(|layer| {
        let key = &layer.keys[0];
        let rest = "ra=25%,threshold=2,near=0,ra_inode=8K,cylinder=64K";
        key.words
            .iter()
            .map(move |word| format!("{}={word},{rest}", key.name))
    })
}

/// Random operations that may or may not fit, with a day after some of them.
struct Script {
    rng: Rng,
    files: BTreeMap<u64, u64>,
    directories: Vec<u64>,
    next: u64,
}

impl Script {
    fn new(seed: u64) -> Script {
        Script {
            rng: Rng::new(seed),
            files: BTreeMap::new(),
            directories: vec![0],
            next: 1,
        }
    }

    fn new_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn bytes(&mut self) -> u64 {
        match self.rng.below(12) {
            0 => 0,
            1 => self.rng.below(400_000),
            _ => self.rng.below(30_000),
        }
    }

    fn directory(&mut self) -> DirId {
        let at = self.rng.below(self.directories.len() as u64);
        DirId(self.directories[at as usize])
    }

    fn file(&mut self) -> Option<FileId> {
        let at = self.rng.below(self.files.len().max(1) as u64);
        let file = self.files.keys().nth(at as usize);
        file.map(|&id| FileId(id))
    }

    fn of_a_file(&mut self, file: FileId) -> Op {
        let (bytes, offset) = (self.bytes(), self.rng.below(60_000));
        match self.rng.below(14) {
            0 | 1 => Op::Append { file, bytes },
            2 => Op::Rewrite { file, bytes },
            3 => Op::Truncate { file, bytes },
            4 => Op::Write {
                file,
                offset,
                bytes,
            },
            5 => {
                let dir = self.directory();
                let replaced = self.file().filter(|_| self.rng.below(2) == 0);
                if let Some(FileId(gone)) = replaced {
                    self.files.remove(&gone);
                }
                Op::Rename {
                    file,
                    dir,
                    replaced,
                }
            }
            6 => {
                let (id, dir) = (self.new_id(), self.directory());
                self.files.insert(id, 0);
                Op::Link {
                    file: FileId(id),
                    existing: file,
                    dir,
                }
            }
            7 => Op::Overwrite {
                file,
                range: Some((offset, bytes)).filter(|_| self.rng.below(2) == 0),
            },
            8 => Op::Fallocate {
                file,
                offset,
                bytes,
            },
            9 => Op::Fsync { file },
            10 => Op::Read { file, range: None },
            _ => {
                self.files.remove(&file.0);
                Op::Delete { file }
            }
        }
    }

    fn op(&mut self) -> Op {
        match (self.rng.below(24), self.file()) {
            (0, _) => {
                let dir = self.new_id();
                let parent = Some(self.directory());
                self.directories.push(dir);
                Op::Mkdir {
                    dir: DirId(dir),
                    parent,
                }
            }
            (1, _) => Op::Rmdir {
                dir: self.directory(),
            },
            (2, _) => Op::RenameDir {
                dir: self.directory(),
                parent: self.directory(),
            },
            (3, _) => Op::Symlink {
                file: FileId(self.new_id()),
                dir: self.directory(),
                bytes: 1 + self.rng.below(900),
            },
            (4, _) if self.rng.below(4) == 0 => [Op::Sync, Op::Remount][self.rng.below(2) as usize],
            (4..=15, Some(file)) => self.of_a_file(file),
            _ => {
                let (id, dir, bytes) = (self.new_id(), self.directory(), self.bytes());
                self.files.insert(id, bytes);
                let file = FileId(id);
                Op::Create { file, dir, bytes }
            }
        }
    }

    /// Days of some operations, now and then of none.
    fn events(mut self, days: u64) -> Vec<Event> {
        let (mut events, mut t_ns) = (Vec::new(), 0);
        for day in 0..days {
            for _ in 0..[0, 1, 5, 40, 200][self.rng.below(5) as usize] {
                // Now and then the system is idle.
                t_ns += [1, 1_000_000_000, 90_000_000_000][self.rng.below(3) as usize];
                events.push(Event {
                    t_ns: Some(t_ns),
                    ..Event::new(self.op())
                });
            }
            events.push(Event::new(Op::Day).named(day.to_string().as_bytes()));
        }
        events
    }
}

fn target(spec: &str) -> Target {
    let spec = TargetSpec::parse(spec).expect("a specification");
    Target::make(&spec).expect("a model")
}

/// The days of a replay that compares what is kept with the whole layout, and its last frame with a frame by a walk.
fn aged(spec: &str, seed: u64) -> usize {
    let mut aging = Aging::new(target(spec), true);
    aging.check_every_day();
    aging.record_map(Recorder::with_frames(1000));
    let mut agings = [aging];
    let mut source = EventsInMemory::new(Script::new(seed).events(60));
    replay(&mut source, &mut agings, 1, |_| true)
        .unwrap_or_else(|error| panic!("{spec}, seed {seed}: {error}"));
    let [mut aging] = agings;
    let days = aging.days().len();
    let mut measures = aging.days()[days - 1].measures.clone();
    let whole = measure(aging.target().layout());
    // What a log transferred is counted from the end of the day on again.
    measures.log.clone_from(&whole.log);
    assert_eq!(measures, whole, "{spec}");
    let map = aging.take_map().expect("a map");
    let mut walk = Recorder::new();
    walk.offer(0, aging.target().layout());
    let walk = walk.into_recording().expect("a frame");
    let shown = |cells: &[fsage_metrics::block_map::Cell]| {
        let changed = fsage_metrics::block_map::Cell::CHANGED;
        cells.iter().map(|c| c.0 & !changed).collect::<Vec<_>>()
    };
    let last = map.frames.last().expect("a frame");
    assert_eq!(shown(&last.cells), shown(&walk.frames[0].cells), "{spec}");
    days
}

#[test]
fn what_is_kept_is_what_the_whole_layout_has() {
    for spec in targets() {
        // A layer is measured as a whole in any case.
        let seeds = if spec.contains("rearrange=") { 1 } else { 3 };
        for seed in 0..seeds {
            assert_eq!(aged(&spec, seed), 60);
        }
    }
}

/// Lengths around blocks and fragments, and some that fill a small file system.
fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..20_000,
        2 => (0_u64..80).prop_map(|blocks| blocks * 4096),
        1 => 100_000_u64..3_000_000,
    ]
}

/// Plays operations, and compares every so many of them what is kept with the whole layout.
fn keeps_what_the_whole_has(spec: &str, ops: &[Op]) -> Result<(), TestCaseError> {
    let Target::Model(mut fs) = target(spec) else {
        panic!("{spec} is a model");
    };
    let Some(mut kept) = Kept::begin(&mut *fs, true) else {
        return Ok(());
    };
    for some in ops.chunks(16) {
        for op in some {
            // Not every one fits.
            let _ = fs.apply(op);
        }
        fs.end_day();
        kept.update(&mut *fs);
        prop_assert_eq!(kept.differs_from(&*fs), None, "{}", spec);
        fs.begin_day();
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn what_is_kept_of_any_operations_is_what_the_whole_layout_has(
        ops in prop::collection::vec(any_op_of(bytes()), 1..60),
    ) {
        for spec in targets() {
            keeps_what_the_whole_has(&spec, &ops)?;
        }
    }
}

/// A day of every model of the list costs what changed in it.
#[test]
fn models_say_what_changes() {
    for entry in MODELS.iter().filter(|entry| entry.keeps_files) {
        for small in entry.small {
            let spec = format!("{}:{small}", entry.name);
            let Target::Model(mut fs) = target(&spec) else {
                panic!("{spec} is a model");
            };
            assert!(Kept::begin(&mut *fs, true).is_some(), "{spec}");
        }
    }
}

/// Every preset on a model, each on the next one.
#[test]
fn what_is_kept_of_presets_is_what_the_whole_layout_has() {
    let targets = [
        "lfs:size=160M",
        "cffs:size=160M",
        "ext3:size=160M",
        "lfs:size=160M,variant=netbsd",
        "cffs:size=160M,embed=off,group=off",
        "ext4:size=160M",
        "xfs:size=160M",
        "ffs:size=160M",
    ];
    for ((name, _), spec) in PRESETS.iter().zip(targets.iter().cycle()) {
        let mut aging = Aging::new(target(spec), true);
        aging.check_every_day();
        let mut agings = [aging];
        let mut source = EventsInMemory::new(synthetic::events(name, 140 << 20));
        replay(&mut source, &mut agings, 1, |_| true)
            .unwrap_or_else(|error| panic!("{name} on {spec}: {error}"));
        assert!(agings[0].total().done > 300, "{name} on {spec}");
    }
}

/// A real directory with groups, whose free space is whatever the number of free blocks says: nobody has to be root.
fn real(path: &Path, threads: usize) -> Target {
    let volume = PlainDirectory::open(path).expect("an empty directory");
    let options = Options {
        threads,
        ..Options::default()
    };
    let mut directory = Directory::new(Box::new(volume), options).expect("a target");
    directory.adjust_geometry(|geometry| {
        (geometry.group_bytes, geometry.inodes_per_group) = (8 << 20, 512);
    });
    directory.read_free_space_by(Box::new(|root| {
        let free = rustix::fs::fstatvfs(root).ok()?.f_bfree;
        let runs = (0..20).filter(|i| free >> i & 1 == 1).map(|i| Run {
            start_bytes: i << 20,
            length_bytes: (1 + free % 97) << 12,
        });
        Some(runs.collect())
    }));
    let real = Real::begin(directory, None, Box::new(|| false));
    Target::Real(Box::new(real))
}

/// Random operations, with names and without, on a real directory, compared every day.
fn aged_for_real(path: &Path, threads: usize, seed: u64) {
    let mut events = Script::new(seed).events(40);
    let mut rng = Rng::new(seed);
    for event in &mut events {
        let takes_name = matches!(
            event.op,
            Op::Create { .. }
                | Op::Mkdir { .. }
                | Op::Rename { .. }
                | Op::RenameDir { .. }
                | Op::Link { .. }
        );
        if takes_name && rng.below(2) == 0 {
            let name = format!(
                "{}-\u{1}{}",
                ["b", "A", "z"][rng.below(3) as usize],
                rng.below(1 << 40)
            );
            *event = event.clone().named(name.as_bytes());
        }
    }
    let mut aging = Aging::new(real(path, threads), true);
    aging.check_every_day();
    aging.record_map(Recorder::with_frames(1000));
    let mut agings = [aging];
    replay(&mut EventsInMemory::new(events), &mut agings, 1, |_| true)
        .unwrap_or_else(|error| panic!("{}, seed {seed}: {error}", path.display()));
    let days = agings[0].days();
    assert!(days.len() >= 40);
    let last = &days[days.len() - 1].measures;
    assert_eq!(*last, measure(agings[0].target().layout()));
    assert!(last.sums.files.regular > 0 && last.free.is_some());
}

#[test]
fn what_is_kept_of_a_real_directory_is_what_the_whole_has() {
    for (seed, threads) in [(1, 1), (2, 1), (3, 3)] {
        let folder = tempfile::tempdir().expect("a folder");
        aged_for_real(folder.path(), threads, seed);
    }
    for mkfs in [["mkfs.ext4", "-q"], ["mkfs.xfs", "-q"]] {
        if let Some(mounted) = Mounted::image(&mkfs, 320) {
            aged_for_real(&mounted.path, 1, 4);
        }
    }
}

/// That the comparison can fail: a layout that changes and does not say so.
#[test]
fn a_change_that_is_not_told_is_found() {
    let Target::Model(mut fs) = target("ffs:preset=tiny") else {
        panic!("an FFS");
    };
    let mut kept = Kept::begin(&mut *fs, true).expect("an FFS says what changes");
    assert_eq!(kept.differs_from(&*fs), None);
    let (file, dir, bytes) = (FileId(1), DirId(0), 9000);
    fsage_core::FileSystem::apply(&mut *fs, &Op::Create { file, dir, bytes }).expect("a file");
    let difference = kept.differs_from(&*fs).expect("a difference");
    assert!(difference.contains("kept"), "{difference}");
    kept.update(&mut *fs);
    assert_eq!(kept.differs_from(&*fs), None);
}
