//! Measures that are kept as files change are those of the whole layout, after every day of random operations on every
//! kind of model, and so is the block map.

use fsage_core::{DirId, Event, EventsInMemory, FileId, Op, Rng};
use fsage_metrics::{Kept, Recorder, measure};
use fsage_target::{Aging, Target, TargetSpec, replay};
use std::collections::BTreeMap;

/// Small disks that fill up, so that operations fail too.
const TARGETS: [&str; 10] = [
    "ffs:preset=tiny",
    "ffs:preset=tiny,policy=realloc",
    "ffs:preset=tiny,policy=noswitch",
    "ffs:preset=tiny,policy=noswitch-seq",
    "ffs:preset=tiny,policy=smartfrag",
    "ext3:size=16M",
    "ext3:size=16M,mode=ext2,bsize=4K",
    "lfs:size=16M",
    "cffs:size=16M",
    "ext3:size=64M,rearrange=organ-pipe",
];

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
        match self.rng.below(10) {
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
            _ => {
                self.files.remove(&file.0);
                Op::Delete { file }
            }
        }
    }

    fn op(&mut self) -> Op {
        match (self.rng.below(20), self.file()) {
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
            (4..=11, Some(file)) => self.of_a_file(file),
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
        let mut events = Vec::new();
        for day in 0..days {
            for _ in 0..[0, 1, 5, 40, 200][self.rng.below(5) as usize] {
                events.push(Event::new(self.op()));
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
    aging.record_map(Recorder::with_frames(1000), None);
    let mut agings = [aging];
    let mut source = EventsInMemory::new(Script::new(seed).events(60));
    replay(&mut source, &mut agings, 1, |_| true)
        .unwrap_or_else(|error| panic!("{spec}, seed {seed}: {error}"));
    let [mut aging] = agings;
    let days = aging.days().len();
    let measures = &aging.days()[days - 1].measures;
    assert_eq!(measures, &measure(aging.target().layout()), "{spec}");
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
    for spec in TARGETS {
        for seed in 0..6 {
            assert_eq!(aged(spec, seed), 60);
        }
    }
}

/// The models of which a day is to cost what changed in it.
#[test]
fn models_say_what_changes() {
    for spec in ["ffs:preset=tiny", "ext3:size=16M"] {
        let Target::Model(mut fs) = target(spec) else {
            panic!("{spec} is a model");
        };
        assert!(Kept::begin(&mut *fs, true).is_some(), "{spec}");
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
