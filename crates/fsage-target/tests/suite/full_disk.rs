//! File systems that are filled to the last block, over and over: runs go on, and the tables say what is on disk.
//!
//! Expected values: sizes and contents as the standard library sees them; outcomes counted one by one; the plan as a
//! table of lengths that knows no disk.

use crate::tree::{Mounted, check, create, delete, mkdir, open, skip};
use fsage_core::{
    Event, EventSource, FileId, Op, OpCounts, Outcome, Rng, SinkError, WorkloadHeader,
};
use fsage_real::directory::{
    Data, Directory, Journal, Options, PlainDirectory, UNSAID, Volume, verify,
};
use fsage_real::loop_image::{self, Kind, LoopImage, LoopOptions};
use fsage_real::{Real, programs};
use fsage_target::{Aging, Target, replay};
use rustix::fs::{FallocateFlags, fallocate};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const DIRS: u64 = 6;

/// Makes operations that fill what is free several times over, and the lengths that files should have.
struct Overfill {
    room: u64,
    rng: Rng,
    next: u64,
    planned: BTreeMap<u64, u64>,
}

impl Overfill {
    fn new(room: u64) -> Overfill {
        Overfill {
            room,
            rng: Rng::new(5),
            next: 1,
            planned: BTreeMap::new(),
        }
    }

    fn bytes(&mut self) -> u64 {
        match self.rng.below(10) {
            0 => 0,
            1..=5 => self.rng.below(20_000),
            6..=8 => self.rng.below(self.room / 50),
            _ => self.rng.below(self.room / 20),
        }
    }

    fn any_file(&mut self) -> FileId {
        let at = self.rng.below(self.planned.len() as u64) as usize;
        FileId(*self.planned.keys().nth(at).expect("a file"))
    }

    fn operation(&mut self) -> Event {
        let bytes = self.bytes();
        if self.planned.len() < 10 || self.rng.chance(0.6) {
            let file = self.next;
            self.next += 1;
            self.planned.insert(file, bytes);
            return create(file, 1 + self.rng.below(DIRS), bytes);
        }
        let file = self.any_file();
        let planned = self.planned.get_mut(&file.0).expect("a file");
        let size = *planned;
        Event::new(match self.rng.below(6) {
            0 | 1 => {
                *planned += bytes;
                Op::Append { file, bytes }
            }
            2 => {
                *planned = bytes;
                Op::Rewrite { file, bytes }
            }
            3 => {
                let offset = self.rng.below(size + 1);
                if bytes > 0 {
                    *planned = size.max(offset + bytes);
                }
                Op::Write {
                    file,
                    offset,
                    bytes,
                }
            }
            4 => Op::Overwrite { file, range: None },
            _ => {
                self.planned.remove(&file.0);
                Op::Delete { file }
            }
        })
    }

    fn planned_bytes(&self, block_bytes: u64) -> u64 {
        let lengths = self.planned.values();
        lengths
            .map(|bytes| bytes.next_multiple_of(block_bytes))
            .sum()
    }

    /// Operations up to where half as much again as there is room is planned, and back to half of it; so many times.
    fn events(&mut self, times: usize) -> Vec<Event> {
        let room = self.room;
        let mut events: Vec<Event> = (1..=DIRS).map(|dir| mkdir(dir, None)).collect();
        for _ in 0..times {
            while self.planned_bytes(4096) < room / 2 * 3 {
                events.push(self.operation());
            }
            events.push(Event::day("full"));
            while self.planned_bytes(4096) > room / 2 {
                let file = self.any_file();
                self.planned.remove(&file.0);
                events.push(delete(file.0));
            }
            events.push(Event::day("half"));
        }
        while self.planned_bytes(4096) < room / 2 * 3 {
            events.push(self.operation());
        }
        events
    }
}

/// A folder for images of 300 MB at most: in memory, if there is such a place.
fn folder() -> TempDir {
    TempDir::new_in("/dev/shm")
        .or_else(|_| TempDir::new())
        .unwrap()
}

/// Path by which the standard library comes to what is mounted nowhere.
fn path_of(directory: BorrowedFd<'_>) -> PathBuf {
    format!("/proc/self/fd/{}/.", directory.as_raw_fd()).into()
}

/// The tree is what the tables say, to the standard library and to `verify`.
fn check_tree(directory: &Directory) {
    let expected = directory.expected();
    check(&path_of(directory.root()), &expected);
    let found = verify(directory.root(), &expected, Data::Write, &mut |_| true).unwrap();
    assert!(found.is_sound(), "{:?}", found.problems);
    assert_eq!(found.files, expected.files.len() as u64);
}

/// Bytes that are free for root; of btrfs, space for metadata too.
fn available(root: BorrowedFd<'_>) -> u64 {
    let stat = rustix::fs::fstatvfs(root).unwrap();
    stat.f_bfree * stat.f_frsize
}

/// Waits until what a deleted file had is free. It is at once, but where another test of this process starts a program:
/// what is open here is open there too, from its fork until its exec.
fn wait_for_room(root: BorrowedFd<'_>, bytes: u64) {
    let until = Instant::now() + Duration::from_secs(30);
    while available(root) < bytes && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
}

/// A directory in an image in which so much room is left: the rest is taken by a file beside it.
#[derive(Debug)]
struct Tree {
    root: OwnedFd,
    _image: LoopImage,
}

impl Volume for Tree {
    fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    fn remount(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

impl Tree {
    fn make(kind: Kind, room: u64, folder: &Path) -> Option<Tree> {
        if let Err(error) = loop_image::is_possible(kind) {
            skip(&error.to_string());
            return None;
        }
        if programs::find(&kind.mkfs()).is_none() {
            skip(&format!("there is no {}", kind.mkfs()));
            return None;
        }
        let least = kind.min_bytes().unwrap_or_default();
        let options = LoopOptions {
            size_bytes: least.max(64 << 20),
            ..LoopOptions::new(kind)
        };
        let image = LoopImage::create(&options, &folder.join("image")).unwrap();
        let at = path_of(image.root());
        fs::create_dir(at.join("tree")).unwrap();
        let ballast = fs::File::create(at.join("ballast")).unwrap();
        let mut bytes = 0;
        // An image of btrfs is small enough as it is.
        while kind != Kind::Btrfs && available(image.root()) > room {
            let step = (available(image.root()) - room).min(4 << 20);
            let taken = fallocate(&ballast, FallocateFlags::empty(), bytes, step);
            if taken.is_err()
                && ballast
                    .write_all_at(&vec![1; step as usize], bytes)
                    .is_err()
            {
                break;
            }
            bytes += step;
        }
        ballast.sync_all().unwrap();
        let root = fs::File::open(at.join("tree")).unwrap().into();
        Some(Tree {
            root,
            _image: image,
        })
    }
}

/// Applies events one by one; the deviations and what was counted must tell the same.
fn overfill(directory: &mut Directory, events: &[Event]) -> OpCounts {
    let mut counts = OpCounts::default();
    let mut deviations = Vec::new();
    for event in events {
        if event.op == Op::Day {
            directory.end_day().unwrap();
        } else {
            let event = std::slice::from_ref(event);
            directory.apply(event, &mut counts, false).unwrap();
        }
        deviations.extend(directory.take_deviations());
    }
    let days = events.iter().filter(|event| event.op == Op::Day).count();
    assert_eq!(counts.operations(), (events.len() - days) as u64);
    let said = |outcome| {
        let such = deviations.iter().filter(|d| d.outcome == outcome);
        such.count() as u64
    };
    assert_eq!(said(Outcome::NoSpace), counts.no_space);
    assert_eq!(said(Outcome::NoInode), counts.no_inode);
    assert_eq!(
        (counts.too_large, counts.ignored, counts.invalid),
        (0, 0, 0)
    );
    counts
}

#[test]
fn a_disk_that_is_overfilled_many_times_is_what_the_tables_say() {
    for kind in [Kind::Ext2, Kind::Ext4, Kind::Xfs, Kind::Btrfs] {
        let folder = folder();
        let Some(tree) = Tree::make(kind, 16 << 20, folder.path()) else {
            continue;
        };
        let room = available(tree.root());
        let mut directory = Directory::new(Box::new(tree), Options::default()).unwrap();
        let mut plan = Overfill::new(room);
        let counts = overfill(&mut directory, &plan.events(3));
        assert!(counts.no_space > 20, "{kind}: {counts:?}");
        assert_eq!(counts.no_inode, 0, "{kind}");
        check_tree(&directory);
        assert_eq!(directory.planned_bytes(), plan.planned_bytes(4096));
        assert!(directory.live_bytes() < directory.planned_bytes(), "{kind}");
        // Filled, not given up early.
        let left = available(directory.root());
        assert!(
            left < room / 10 || kind == Kind::Btrfs,
            "{kind}: {left} of {room} are left"
        );
    }
}

#[test]
fn a_file_system_without_inodes_says_so() {
    let Some(mounted) = Mounted::image(&["mkfs.ext4", "-q", "-b", "4096", "-N", "64"], 16) else {
        return;
    };
    let mut directory = open(&mounted.path, Options::default());
    let free = rustix::fs::fstatvfs(directory.root()).unwrap().f_favail;
    let events: Vec<Event> = (0..free + 30).map(|file| create(file, 0, 5000)).collect();
    let counts = overfill(&mut directory, &events);
    assert_eq!((counts.done, counts.no_inode), (free, 30));
    assert_eq!(directory.live_bytes(), free * 8192);
    assert_eq!(directory.planned_bytes(), (free + 30) * 8192);
    // What was never made is skipped, and made anew where there is room again.
    let file = FileId(free + 3);
    let events = [
        Event::new(Op::Append {
            file,
            bytes: 10_000,
        }),
        delete(free + 4),
        delete(1),
        create(free + 5, 0, 100),
        create(free + 4, 0, 100),
    ];
    let counts = overfill(&mut directory, &events);
    assert_eq!((counts.done, counts.no_inode, counts.absent), (2, 1, 2));
    // 29 of 5000 bytes less one that went and two of other lengths, one of 15,000, one of 100 that could not be made.
    assert_eq!(directory.live_bytes(), (free - 1) * 8192 + 4096);
    let planned = (free - 1) * 8192 + 4096 + 27 * 8192 + 16_384 + 4096;
    assert_eq!(directory.planned_bytes(), planned);
    check_tree(&directory);
    drop(directory);
}

#[test]
fn partial_writes_keep_the_length_that_they_got() {
    let Some(mounted) = Mounted::tmpfs("size=1100k") else {
        return;
    };
    let mut directory = open(&mounted.path, Options::default());
    let file = FileId(1);
    let events = [
        create(1, 0, 600_000),
        create(2, 0, 900_000),
        Event::new(Op::Append {
            file,
            bytes: 70_000,
        }),
        Event::new(Op::Overwrite {
            file: FileId(2),
            range: Some((850_000, 10)),
        }),
        create(3, 0, 10),
    ];
    let counts = overfill(&mut directory, &events);
    let size = |id| directory.file_size(FileId(id)).unwrap();
    // 1100 KB are 275 blocks, and the names take none. The last of the first file's 147 blocks still had room.
    assert_eq!((size(1), size(2)), (147 * 4096, (275 - 147) * 4096));
    assert_eq!(size(3), 0);
    assert_eq!((counts.done, counts.no_space, counts.absent), (1, 3, 1));
    let planned = 670_000_u64.next_multiple_of(4096) + 900_000_u64.next_multiple_of(4096) + 4096;
    assert_eq!(directory.planned_bytes(), planned);
    check_tree(&directory);
    // Once there is room the plan is met again.
    let events = [
        delete(2),
        Event::new(Op::Rewrite { file, bytes: 5000 }),
        Event::new(Op::Rewrite {
            file: FileId(3),
            bytes: 10,
        }),
    ];
    overfill(&mut directory, &events);
    assert_eq!(directory.planned_bytes(), 8192 + 4096);
    assert_eq!(directory.live_bytes(), directory.planned_bytes());
    check_tree(&directory);
    drop(directory);
}

/// A rewrite that has room for as much as the file had before leaves no zeros of the file before.
#[test]
fn a_rewrite_that_ends_at_the_old_length_is_written_anew() {
    let Some(mounted) = Mounted::tmpfs("size=1100k") else {
        return;
    };
    let mut directory = open(&mounted.path, Options::default());
    let file = FileId(1);
    // Of 275 blocks one is left, in which file 1 begins behind a hole.
    let events = [
        create(2, 0, 274 * 4096),
        create(1, 0, 0),
        Event::new(Op::Write {
            file,
            offset: 605,
            bytes: 8000,
        }),
    ];
    let counts = overfill(&mut directory, &events);
    assert_eq!((counts.done, counts.no_space), (2, 1));
    assert_eq!(directory.file_size(file), Some(4096));
    check_tree(&directory);
    let rewrite = Event::new(Op::Rewrite { file, bytes: 8000 });
    let counts = overfill(&mut directory, &[rewrite]);
    assert_eq!((counts.done, counts.no_space), (0, 1));
    assert_eq!(directory.file_size(file), Some(4096));
    check_tree(&directory);
    drop(directory);
}

/// The plan belongs to the inode, whatever name it is changed by.
#[test]
fn a_short_file_that_is_changed_by_another_name_is_planned_right() {
    let Some(mounted) = Mounted::tmpfs("size=1100k") else {
        return;
    };
    let mut directory = open(&mounted.path, Options::default());
    let (one, other) = (FileId(1), FileId(2));
    let mut counts = OpCounts::default();
    let mut planned = |op: Op| {
        let event = [Event::new(op)];
        directory.apply(&event, &mut counts, false).unwrap();
        check(&mounted.path, &directory.expected());
        (directory.live_bytes(), directory.planned_bytes())
    };
    let room = 275 * 4096;
    let dir = fsage_core::DirId::ROOT;
    let bytes = 300 * 4096;
    let create = Op::Create {
        file: one,
        dir,
        bytes,
    };
    assert_eq!(planned(create), (room, bytes));
    let link = Op::Link {
        file: other,
        existing: one,
        dir,
    };
    assert_eq!(planned(link), (room, bytes));
    let bytes = 8192;
    let truncate = Op::Truncate { file: other, bytes };
    assert_eq!(planned(truncate), (8192, 8192));
    // What no file can be long is nobody's plan.
    let bytes = 1 << 63;
    assert_eq!(planned(Op::Append { file: one, bytes }), (8192, 8192));
    let truncate = Op::Truncate {
        file: one,
        bytes: 100,
    };
    assert_eq!(planned(truncate), (4096, 4096));
    let bytes = 400 * 4096;
    let append = Op::Append { file: other, bytes };
    assert_eq!(planned(append), (room, 401 * 4096));
    assert_eq!(planned(Op::Delete { file: one }), (room, 401 * 4096));
    let rewrite = Op::Rewrite {
        file: other,
        bytes: 5000,
    };
    assert_eq!(planned(rewrite), (8192, 8192));
    assert_eq!(planned(Op::Delete { file: other }), (0, 0));
    assert_eq!((counts.no_space, counts.too_large, counts.done), (2, 1, 6));
    drop(directory);
}

struct Script {
    header: WorkloadHeader,
    events: std::vec::IntoIter<Event>,
}

impl EventSource for Script {
    fn header(&self) -> &WorkloadHeader {
        &self.header
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        Ok(self.events.next())
    }
}

/// Applies events in pieces that are noted in the journal, but for the last: the process dies there. The journal and
/// the tables go; the tree stays.
fn begin_and_die(mut directory: Directory, journal: &Path, events: &[Event]) -> Box<dyn Volume> {
    let mut journal = Journal::create(journal, "test").unwrap();
    let mut pieces = events.chunks(UNSAID as usize).peekable();
    while let Some(piece) = pieces.next() {
        for event in piece {
            let event = std::slice::from_ref(event);
            let mut counts = OpCounts::default();
            directory.apply(event, &mut counts, false).unwrap();
        }
        let deviations = directory.take_deviations();
        if pieces.peek().is_some() {
            let done = directory.events_done();
            journal.progress(done, &deviations).unwrap();
        }
    }
    directory.finish().unwrap()
}

#[test]
fn a_run_that_dies_on_a_full_disk_goes_on() {
    for kind in [Kind::Ext2, Kind::Ext4, Kind::Xfs, Kind::Btrfs] {
        let folder = folder();
        let Some(tree) = Tree::make(kind, 8 << 20, folder.path()) else {
            continue;
        };
        let room = available(tree.root());
        let mut volume: Box<dyn Volume> = Box::new(tree);
        for part in [0.4, 0.7, 0.97] {
            let mut plan = Overfill::new(room);
            let events = plan.events(1);
            let events: Vec<Event> = events.into_iter().filter(|e| e.op != Op::Day).collect();
            let dies = (events.len() as f64 * part) as usize;
            let path = folder.path().join("journal");
            let directory = Directory::new(volume, Options::default()).unwrap();
            volume = begin_and_die(directory, &path, &events[..dies]);

            let directory = Directory::new(volume, Options::default()).unwrap();
            let (journal, recovered) = Journal::open(&path).unwrap();
            assert!(recovered.events_done < dies as u64);
            let real = Real::resume(directory, journal, recovered, Box::new(|| false));
            let mut agings = [Aging::new(Target::Real(Box::new(real)), false)];
            let mut script = Script {
                header: WorkloadHeader::default(),
                events: events.into_iter(),
            };
            replay(&mut script, &mut agings, 1, |_| true).unwrap();
            let [aging] = agings;
            assert!(aging.total().no_space > 0, "{kind}");
            let Target::Real(real) = aging.into_target() else {
                panic!("a real target");
            };
            assert!(real.repaired().is_some());
            let directory = real.into_directory();
            check_tree(&directory);
            assert_eq!(directory.planned_bytes(), plan.planned_bytes(4096));

            volume = directory.finish().unwrap();
            fs::remove_file(path).unwrap();
            for dir in 1..=DIRS {
                fs::remove_dir_all(path_of(volume.root()).join(format!("d{dir}"))).unwrap();
            }
        }
    }
}

/// Events that four threads share out, on a disk that is full half of the time.
#[test]
fn threads_on_a_full_disk_keep_the_tables_right() {
    let Some(mounted) = Mounted::tmpfs("size=8m") else {
        return;
    };
    let options = Options {
        threads: 4,
        ..Options::default()
    };
    let mut directory = open(&mounted.path, options);
    let mut plan = Overfill::new(available(directory.root()));
    let mut counts = OpCounts::default();
    let events = plan.events(10);
    for day in events.split(|event| event.op == Op::Day) {
        directory.apply(day, &mut counts, false).unwrap();
        directory.end_day().unwrap();
        check_tree(&directory);
    }
    assert!(counts.no_space > 20, "{counts:?}");
    assert_eq!(directory.planned_bytes(), plan.planned_bytes(4096));
    drop(directory);
}

#[test]
fn a_file_system_that_others_use_is_not_filled_to_the_last_block() {
    let Some(mounted) = Mounted::tmpfs("size=40m") else {
        return;
    };
    let huge = [create(1, 0, 1 << 40), create(2, 0, 1)];
    for (name, reserve_bytes, free) in [
        ("default", None, 2 << 20),
        ("more", Some(30 << 20), 30 << 20),
        ("none", Some(0), 0),
    ] {
        let path = mounted.path.join(name);
        fs::create_dir(&path).unwrap();
        let options = Options {
            reserve_bytes,
            ..Options::default()
        };
        let mut directory = open(&path, options);
        let counts = overfill(&mut directory, &huge);
        assert_eq!(counts.no_space, 2);
        assert_eq!(available(directory.root()), free, "{name}");
        check_tree(&directory);
        overfill(&mut directory, &[delete(1)]);
        wait_for_room(directory.root(), free + 8192);
        overfill(&mut directory, &[create(3, 0, 5000)]);
        assert_eq!(directory.file_size(FileId(3)), Some(5000));
        // A run that has filled its disk is resumed.
        overfill(&mut directory, &[create(4, 0, 1 << 40)]);
        assert_eq!(available(directory.root()), free, "{name}");
        drop(directory);
        PlainDirectory::open_again(&path).unwrap();
        fs::remove_dir_all(path).unwrap();
    }
    // A file system of one's own may be full.
    let mut directory = open(&mounted.path, Options::default());
    overfill(&mut directory, &huge);
    assert_eq!(available(directory.root()), 0);
    drop(directory);
}
