//! Models do what the kernel of this machine does, on workloads that were drawn: every inode, every extent and all free
//! space are equal. Expected values come from the kernel alone. Needs root and loop devices.
//!
//! `FSAGE_SEEDS=20-40` draws others, compares them whole, and keeps what differs as `differs-SEED.ops` in the folder
//! for temporary files. What is known to differ after thousands of operations stands in `docs/ext4.md` and
//! `docs/xfs.md`.

use fsage_core::{DirId, Event, FileId, Op, Rng, WorkloadHeader};
use fsage_lab::verify_model::{Request, Verdict, verify_model};
use fsage_lab::{TargetSpec, Unwatched};
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file system that is drawn for, and what is done to it.
struct Case {
    spec: &'static str,
    megabytes: u64,
    operations: u64,
    /// Percent of the file system that files take, about.
    percent: u64,
    /// Operations, days among them, after which both sides are known to differ with the first seed of the case, or the
    /// kernel from itself.
    equal: usize,
}

const fn case(spec: &'static str, megabytes: u64, operations: u64, percent: u64) -> Case {
    Case {
        spec,
        megabytes,
        operations,
        percent,
        equal: usize::MAX,
    }
}

impl Case {
    const fn equal_until(self, equal: usize) -> Case {
        Case { equal, ..self }
    }
}

/// The kernel whose rules the models follow.
const KERNEL: &str = "6.18.";
/// Times that a workload is tried: other programs of the machine may sync at any time.
const TRIES: u32 = 2;

const EXT4: [Case; 10] = [
    case("ext4:size=256M,regime=a", 256, 4000, 60),
    case("ext4:size=256M,regime=a", 256, 8000, 100),
    case("ext4:size=256M,bsize=1K,regime=a", 256, 8000, 90),
    case(
        "ext4:size=512M,bsize=2K,regime=a,stream_req=64",
        512,
        6000,
        75,
    ),
    case("ext4:size=1G,flex=4,regime=a", 1024, 10_000, 95),
    case("ext4:size=1G,flex=1,regime=a", 1024, 20_000, 40),
    case("ext4:size=2560M,regime=a", 2560, 2000, 100),
    case("ext4:size=8G,regime=a", 8192, 3000, 30),
    case("ext4:size=300M,regime=c", 300, 5000, 85),
    case("ext4:size=256M,regime=a,sync=each", 256, 2000, 98),
];

const XFS: [Case; 10] = [
    case("xfs:size=128M", 128, 4000, 60),
    case("xfs:size=300M", 300, 8000, 100).equal_until(5000),
    case("xfs:size=300M,features=plain", 300, 8000, 90),
    case("xfs:size=512M,agcount=1", 512, 6000, 75),
    case("xfs:size=2G,agcount=16", 2048, 10_000, 50),
    case("xfs:size=1G", 1024, 20_000, 40),
    case("xfs:size=2560M", 2560, 2000, 100),
    case("xfs:size=8G", 8192, 3000, 30),
    case("xfs:size=512M,agcount=2,features=plain", 512, 5000, 85),
    case("xfs:size=400M,log=80M", 400, 2000, 98),
];

/// What a workload has at a moment, as far as drawing the next operation needs it.
struct Drawn {
    rng: Rng,
    files: Vec<(FileId, DirId, u64)>,
    links: Vec<FileId>,
    directories: Vec<DirId>,
    next: u64,
    live_bytes: u64,
    most_bytes: u64,
    /// The model of XFS knows no folios: which blocks are written back with those of a hole.
    punches: bool,
}

impl Drawn {
    fn below(&mut self, end: u64) -> u64 {
        self.rng.below(end)
    }

    /// Most files are small, few are large.
    fn size(&mut self) -> u64 {
        let bits = match self.below(20) {
            0 => return 0,
            1..=9 => 14,
            10..=15 => 17,
            16..=18 => 21,
            _ => 24,
        };
        let most = (1 << bits).min(self.most_bytes / 8);
        let least = self.below(most) + 1;
        self.below(least) + 1
    }

    fn new_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn any_directory(&mut self) -> DirId {
        let at = self.below(self.directories.len() as u64);
        self.directories[at as usize]
    }

    fn any_file(&mut self) -> usize {
        // Files that are new change more often.
        let length = self.files.len() as u64;
        let recent = if self.below(2) == 0 {
            length.min(20)
        } else {
            length
        };
        (length - 1 - self.below(recent)) as usize
    }

    fn set_size(&mut self, at: usize, bytes: u64) {
        let before = std::mem::replace(&mut self.files[at].2, bytes);
        self.live_bytes = self.live_bytes + bytes - before;
    }

    fn name(&mut self, id: u64) -> Option<Box<[u8]>> {
        match self.below(12) {
            0 => Some(format!("{id:0200}").into_bytes().into()),
            1 => Some(
                format!("a rather long name of file {id}.txt")
                    .into_bytes()
                    .into(),
            ),
            // Taken already, as often as not.
            2 => Some(format!("n{}", self.below(200)).into_bytes().into()),
            _ => None,
        }
    }

    fn create(&mut self) -> Event {
        let (id, dir, bytes) = (self.new_id(), self.any_directory(), self.size());
        let file = FileId(id);
        self.files.push((file, dir, bytes));
        self.live_bytes += bytes;
        self.named(id, Op::Create { file, dir, bytes })
    }

    fn named(&mut self, id: u64, op: Op) -> Event {
        Event {
            name: self.name(id),
            ..Event::new(op)
        }
    }

    fn delete(&mut self) -> Event {
        let at = self.any_file();
        self.set_size(at, 0);
        let (file, ..) = self.files.remove(at);
        Event::new(Op::Delete { file })
    }

    fn change(&mut self) -> Event {
        let at = self.any_file();
        let (file, _, size) = self.files[at];
        let bytes = self.size();
        let offset = if size == 0 {
            0
        } else {
            self.below(size + size / 4 + 1)
        };
        let op = match self.below(11) {
            0..=3 => {
                self.set_size(at, size + bytes);
                Op::Append { file, bytes }
            }
            4 | 5 => {
                self.set_size(at, size.max(offset + bytes));
                Op::Write {
                    file,
                    offset,
                    bytes,
                }
            }
            6 => {
                self.set_size(at, bytes);
                Op::Rewrite { file, bytes }
            }
            7 => {
                self.set_size(at, offset);
                Op::Truncate {
                    file,
                    bytes: offset,
                }
            }
            8 => {
                self.set_size(at, size.max(offset + bytes));
                Op::Fallocate {
                    file,
                    offset,
                    bytes,
                }
            }
            9 if self.punches => Op::Punch {
                file,
                offset,
                bytes,
            },
            _ => {
                let offset = offset.min(size);
                let bytes = bytes.min(size - offset);
                Op::Overwrite {
                    file,
                    range: Some((offset, bytes)),
                }
            }
        };
        Event::new(op)
    }

    fn move_something(&mut self) -> Event {
        let at = self.any_file();
        let (file, from, _) = self.files[at];
        let to = self.any_directory();
        match self.below(8) {
            0 => {
                let id = self.new_id();
                self.links.push(FileId(id));
                let (file, existing) = (FileId(id), file);
                self.named(
                    id,
                    Op::Link {
                        file,
                        existing,
                        dir: to,
                    },
                )
            }
            1 => {
                let id = self.new_id();
                self.links.push(FileId(id));
                let bytes = [10, 59, 60, 500, 2000][self.below(5) as usize];
                let file = FileId(id);
                self.named(
                    id,
                    Op::Symlink {
                        file,
                        dir: to,
                        bytes,
                    },
                )
            }
            2 if !self.links.is_empty() => {
                let at = self.below(self.links.len() as u64) as usize;
                Event::new(Op::Delete {
                    file: self.links.swap_remove(at),
                })
            }
            3 => {
                // Over another one of the same directory.
                let others = self
                    .files
                    .iter()
                    .position(|other| other.1 == to && other.0 != file);
                let replaced = others.map(|other| self.files[other].0);
                if let Some(other) = others {
                    self.set_size(other, 0);
                    self.files.remove(other);
                }
                let at = self.files.iter().position(|known| known.0 == file);
                if let Some(at) = at {
                    self.files[at].1 = to;
                }
                Event::new(Op::Rename {
                    file,
                    dir: to,
                    replaced,
                })
            }
            4 => self.named(
                file.0,
                Op::Rename {
                    file,
                    dir: from,
                    replaced: None,
                },
            ),
            _ => {
                self.files[at].1 = to;
                self.named(
                    file.0,
                    Op::Rename {
                        file,
                        dir: to,
                        replaced: None,
                    },
                )
            }
        }
    }

    fn directory(&mut self) -> Event {
        let at = self.below(self.directories.len() as u64) as usize;
        let dir = self.directories[at];
        match self.below(6) {
            0 if self.directories.len() > 2 => Event::new(Op::Rmdir { dir }),
            1 => {
                let parent = self.any_directory();
                self.named(dir.0, Op::RenameDir { dir, parent })
            }
            more => {
                let id = self.new_id();
                let parent = (more > 3).then_some(dir);
                self.directories.push(DirId(id));
                self.named(
                    id,
                    Op::Mkdir {
                        dir: DirId(id),
                        parent,
                    },
                )
            }
        }
    }

    fn next(&mut self) -> Event {
        let fullness = self.live_bytes * 100 / self.most_bytes.max(1);
        if self.files.is_empty() || self.directories.len() < 3 {
            if self.directories.len() < 4 {
                let id = self.new_id();
                self.directories.push(DirId(id));
                return Event::new(Op::Mkdir {
                    dir: DirId(id),
                    parent: None,
                });
            }
            return self.create();
        }
        match self.below(100) {
            0..=1 => self.directory(),
            2..=11 => self.move_something(),
            12 => {
                let at = self.any_file();
                Event::new(Op::Fsync {
                    file: self.files[at].0,
                })
            }
            13 if self.below(20) == 0 => Event::new(Op::Remount),
            13 if self.below(4) == 0 => Event::new(Op::Sync),
            13..=44 => self.change(),
            45..=69 if fullness > 40 => self.delete(),
            70..=89 if fullness >= 100 => self.delete(),
            _ => self.create(),
        }
    }
}

fn draw(case: &Case, seed: u64) -> Vec<Event> {
    let most_bytes = (case.megabytes << 20) * case.percent / 100;
    let mut drawn = Drawn {
        rng: Rng::new(seed),
        files: Vec::new(),
        links: Vec::new(),
        directories: Vec::new(),
        next: 0,
        live_bytes: 0,
        most_bytes,
        punches: !case.spec.starts_with("xfs"),
    };
    let mut events = Vec::new();
    for operation in 1..=case.operations {
        events.push(drawn.next());
        if operation % (case.operations / 20) == 0 {
            events.push(Event::day(&(operation * 20 / case.operations).to_string()));
        }
    }
    events
}

fn verify(case: &Case, seed: u64, most: usize, reduce: Option<&Path>) -> Option<Verdict> {
    let folder = tempfile::tempdir().expect("a folder");
    let workload = folder.path().join("w.ops");
    let output = fsage_data::create_workload(&workload, &WorkloadHeader::default(), false);
    let mut output = output.expect("a workload");
    for event in draw(case, seed).into_iter().take(most) {
        output.write(&event).expect("written");
    }
    output.finish().expect("finished");
    verify_workload(case.spec, &workload, reduce)
}

/// What becomes of a workload on both sides; nothing where this user may not mount, or mkfs is missing.
fn verify_workload(spec: &str, workload: &Path, reduce: Option<&Path>) -> Option<Verdict> {
    let target = TargetSpec::parse(spec).expect("a target");
    let request = Request {
        target: &target,
        workload,
        lenient: true,
        folder: workload.parent().expect("a folder"),
        reduce,
        force: true,
    };
    match verify_model(&request, &Unwatched) {
        Ok(verdict) => Some(verdict),
        Err(error)
            if ["root", "no mkfs."]
                .iter()
                .any(|why| format!("{error:#}").contains(why)) =>
        {
            say(&format!("skipped: {error:#}"));
            None
        }
        Err(error) => panic!("{} on {spec}: {error:#}", workload.display()),
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn seeds() -> Option<RangeInclusive<u64>> {
    let text = std::env::var("FSAGE_SEEDS").ok()?;
    let (from, to) = text.split_once('-').unwrap_or((&text, &text));
    Some(from.parse().ok()?..=to.parse().ok()?)
}

fn is_kernel() -> bool {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let is_it = kernel.starts_with(KERNEL);
    if !is_it {
        say(&format!(
            "skipped: the models are those of Linux {KERNEL}x, and this is {}",
            kernel.trim()
        ));
    }
    is_it
}

/// Workloads that once showed a difference, reduced.
const REDUCED: [(&str, &str); 16] = [
    // A file that is read from the disk while a transaction runs is part of it, and of no later one.
    (
        "ext4:size=256M,regime=a",
        "mkdir 1\ncreate 2 1 90000\nremount\nmkdir 3\nappend 2 0\ncreate 4 3 118478\ncreate 5 1 4731\nsync\n\
         append 5 68964\ndelete 4\nfsync 2\ncreate 6 3 100000\nday 1\n",
    ),
    // While none runs it is part of none; but the first file that is opened after a mount begins one.
    (
        "ext4:size=256M,regime=a",
        "mkdir 1\ncreate 2 1 90000\ncreate 3 1 90000\ncreate 4 1 118478\nremount\nread 2\nread 3\ndelete 4\n\
         fsync 2\ncreate 5 1 100000\nday 1\n",
    ),
    (
        "ext4:size=256M,regime=a",
        "mkdir 1\ncreate 2 1 90000\ncreate 3 1 90000\ncreate 4 1 118478\nremount\nread 2\nread 3\ndelete 4\n\
         fsync 3\ncreate 5 1 100000\nday 1\n",
    ),
    // A write that finds no space tries again with what its folio would have held, and so with a smaller one.
    (
        "ext4:size=256M,regime=a",
        "mkdir 1\ncreate 2 1 10000\ncreate 3 1 0\nsync\ncreate 4 1 300000000\nday 1\ndelete 2\nsync\n\
         write 3 1448 65536\nday 2\n",
    ),
    // Holes take the last dirty block from a folio of several pages, and the inode stays on the dirty list.
    (
        "ext4:size=256M,regime=a",
        "mkdir 1\ncreate 2 1 16384\npunch 2 6144 10240\npunch 2 0 6144\nday 1\ncreate 3 1 1292508\nappend 2 408099\n\
         day 2\n",
    ),
    // A folio that is split for a hole has dirty blocks only where parts of blocks were filled with zeros.
    (
        "ext4:size=256M,regime=a",
        "mkdir 1\ncreate 2 1 26208\nday 1\npunch 2 19092 1639\npunch 2 2855 17488\nday 2\ncreate 3 1 1292508\n\
         append 2 408099\nday 3\n",
    ),
    // A folio that reached behind the end of a file is split by a hole, and its pieces there go.
    (
        "ext4:size=300M,regime=a",
        "mkdir 1\ncreate 16 1 48263\ntruncate 16 1199\nsync\npunch 16 66 74536\nfallocate 16 557 11196\n\
         append 16 4886\nday 1\n",
    ),
    // A clean file has its pages in folios: a write into one, and a hole over what was written, split it.
    (
        "ext4:size=256M,bsize=1K,regime=a",
        "mkdir 1\ncreate 135 1 27148\nsync\ncreate 246 1 18215\nwrite 135 7253 2987\npunch 135 6966 86168\nsync\n\
         create 496 1 3208125\nwrite 135 14961 994\nday 1\n",
    ),
    // With a sync of each file everything goes to disk at the end of a day too, and so what was deleted is free.
    (
        "ext4:size=256M,regime=a,sync=each",
        "mkdir 2\ncreate 135 2 12577\nfallocate 135 3332 105748\nmkdir 351\ncreate 380 351 1488\n\
         write 380 1812 28065\ndelete 380\nday 1\nappend 135 2992\nday 2\n",
    ),
    // Of a hole that the kernel remembers `fallocate` asks for no more than it has: the cut left two blocks of it.
    (
        "ext4:size=200M,bsize=2K,regime=a",
        "mkdir 1\ncreate 451 1 19008\npunch 451 7114 119722\ntruncate 451 10249\nfallocate 451 8219 122437\n\
         day 1\n",
    ),
    // A call that wrote a part on a full disk is followed by one for the rest: it fills the page that the file ends in.
    (
        "ext4:size=256M,bsize=4K,regime=a",
        "mkdir 1\ncreate 2 1 19706\nday 1\nremount\ncreate 4 1 400000000\nday 2\nwrite 2 13393 13598\nday 3\n",
    ),
    // With a sync of each file one that could not be written in full is synced too, before it is closed.
    (
        "ext4:size=200M,bsize=2K,regime=a,sync=each",
        "mkdir 1\ncreate 2 1 100000000\ncreate 3 1 400000000\nday 1\n",
    ),
    // A file that goes to disk while its content is replaced is no longer one that was truncated.
    (
        "xfs:size=300M",
        "mkdir 1\ncreate 2 1 81000\ncreate 3 1 10000000\nday 1\ncreate 4 1 400000000\nrewrite 2 9000000\ndelete 3\n\
         day 2\nappend 2 374617\nday 3\n",
    ),
    // A symbolic link that finds no space trims memory and does not write it back.
    (
        "xfs:size=300M",
        "mkdir 1\ncreate 5 1 160000\ncreate 2 1 400000000\nday 1\ndelete 5\nday 2\ncreate 3 1 4000\n\
         create 4 1 4000\nsymlink 6 1 10\nappend 3 4000\nday 3\n",
    ),
    // A file that grew within its last block is in the log once it is on disk, and its `fsync` frees what is busy.
    (
        "xfs:size=300M",
        "mkdir 3\nmkdir 4\ncreate 318 4 430\nday 2\nwrite 318 414 930\ncreate 455 3 28611\nfsync 455\n\
         delete 455\ncreate 489 3 9490\ncreate 497 3 9766\nfsync 318\nday 3\n",
    ),
    // Over another name of the same file: that name stays, and stays taken when its id makes another file.
    (
        "xfs:size=300M",
        "mkdir 1\ncreate 2 1 5000\nlink 3 2 1\nrename 2 1 3\ncreate 3 1 100\nday 1\n",
    ),
];

/// What small files share is searched for no longer where free space is in small runs alone.
fn holes() -> (&'static str, String) {
    let punched = (0..230).map(|hole| format!("punch 2 {} 20480\n", (1000 + hole * 40) << 10));
    let text = format!(
        "mkdir 1\ncreate 2 1 300000000\nday 1\n{}day 2\ncreate 3 1 4194304\nday 3\nremount\ncreate 4 1 9000\nday 4\n",
        punched.collect::<String>()
    );
    ("ext4:size=256M,regime=a", text)
}

#[test]
fn models_do_what_this_kernel_did_in_reduced_workloads() {
    let _alone = alone();
    if !is_kernel() {
        return;
    }
    let texts = REDUCED.map(|(spec, text)| (spec, text.to_owned()));
    for (spec, text) in texts.into_iter().chain([holes()]) {
        let folder = tempfile::tempdir().expect("a folder");
        let workload = folder.path().join("w.ops");
        let written = fsage_durable::write(&workload, format!("#! fsage-ops 1\n{text}"), false);
        written.expect("a workload");
        let mut tried = 1;
        let difference = loop {
            let Some(verdict) = verify_workload(spec, &workload, None) else {
                return;
            };
            if verdict.difference.is_none() || tried == TRIES {
                break verdict.difference;
            }
            tried += 1;
        };
        assert!(difference.is_none(), "{text} on {spec}: {difference:#?}");
    }
}

/// Kept by the run that sets up the machine: two regimes at the same time disturb each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn ext4_does_what_this_kernel_does() {
    let _alone = alone();
    all_do_what_this_kernel_does(&EXT4, &[]);
}

#[test]
fn xfs_does_what_this_kernel_does() {
    let _alone = alone();
    // What lies behind the end of a file is allocated piece by piece up to where a write begins: only a full disk has
    // pieces so short, and these workloads differed by that and by symbolic links.
    all_do_what_this_kernel_does(&XFS, &[102, 103]);
}

fn all_do_what_this_kernel_does(cases: &[Case], once_differed: &[u64]) {
    if !is_kernel() {
        return;
    }
    let drawn = seeds();
    let seeds: Vec<u64> = match &drawn {
        Some(seeds) => seeds.clone().collect(),
        None => (1..=cases.len() as u64)
            .chain(once_differed.iter().copied())
            .collect(),
    };
    let mut differing = Vec::new();
    for seed in seeds {
        let case = &cases[(seed - 1) as usize % cases.len()];
        let most = if drawn.is_some() || once_differed.contains(&seed) {
            usize::MAX
        } else {
            case.equal
        };
        let kept = std::env::temp_dir().join(format!("differs-{seed}.ops"));
        let reduce = drawn.as_ref().map(|_| kept.as_path());
        let mut tried = 1;
        let verdict = loop {
            // The fewest operations are looked for once it is clear that they differ.
            let reduce = reduce.filter(|_| tried == TRIES);
            let Some(verdict) = verify(case, seed, most, reduce) else {
                return;
            };
            if verdict.difference.is_none() || tried == TRIES {
                break verdict;
            }
            tried += 1;
        };
        say(&format!(
            "seed {seed}, {}: {} operations ({} skipped), {} inodes, {} extents, tried {tried} times",
            case.spec, verdict.operations, verdict.skipped, verdict.inodes, verdict.extents
        ));
        if let Some(difference) = verdict.difference {
            differing.push(format!("seed {seed} on {}: {difference:#?}", case.spec));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
