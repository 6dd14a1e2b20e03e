//! Days, the trees that they leave at every moment, and what a power failure makes of these.

use crate::tree::{self, check, create, mkdir};
use fsage_core::{DirId, Event, EventSource, EventsInMemory, FileId, Op, OpCounts, Rng};
use fsage_real::Real;
use fsage_real::directory::{
    Directory, Expected, Journal, Options, PlainDirectory, Verification, What, verify,
};
use fsage_target::{Aging, Target, replay};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// An operation as numbers, of which any make sense.
pub type Word = (u8, u8, u8, u8, u8);

const DIRS: u8 = 7;
const FILES: u8 = 10;

/// Few directories and files, and fewer names and lengths, so that they get into each other's way.
fn event((verb, a, b, c, name): Word) -> Event {
    let dir = |n: u8| DirId(u64::from(n % DIRS));
    let file = |n: u8| FileId(u64::from(n % FILES));
    let bytes = [0, 100, 100, 5000][usize::from(c % 4)];
    let op = match verb % 16 {
        0 | 1 => Op::Mkdir {
            dir: DirId(1 + u64::from(a % (DIRS - 1))),
            parent: Some(dir(b)),
        },
        2..=4 => Op::RenameDir {
            dir: dir(a),
            parent: dir(b),
        },
        5 => Op::Rmdir { dir: dir(a) },
        6 | 7 => Op::Create {
            file: file(a),
            dir: dir(b),
            bytes,
        },
        8 | 9 => Op::Rename {
            file: file(a),
            dir: dir(b),
            replaced: None,
        },
        10 => Op::Rename {
            file: file(a),
            dir: dir(b),
            replaced: Some(file(c)),
        },
        11 | 12 => Op::Delete { file: file(a) },
        13 => Op::Link {
            file: file(a),
            existing: file(c),
            dir: dir(b),
        },
        14 => Op::Symlink {
            file: file(a),
            dir: dir(b),
            bytes: 20,
        },
        _ => Op::Write {
            file: file(a),
            offset: u64::from(c) * 30,
            bytes: 700,
        },
    };
    let mut event = Event::new(op);
    let makes_a_name = matches!(verb % 16, 0..=4 | 6..=10 | 13 | 14);
    if makes_a_name && name % 3 > 0 {
        event.name = Some([b"x", b"y"][usize::from(name % 3 - 1)][..].into());
    }
    event
}

/// A tree at a moment: what each directory holds, by numbers, and what files hold.
#[derive(Clone, Default)]
pub struct Moment {
    expected: Expected,
    /// Entries of directories; the root is `None`.
    entries: BTreeMap<Option<u64>, BTreeMap<Vec<u8>, Entry>>,
}

#[derive(Clone, PartialEq)]
pub enum Entry {
    Directory(u64),
    File(What),
}

impl Moment {
    fn of(directory: &Directory) -> Moment {
        let expected = directory.expected();
        let known = (0..u64::from(DIRS)).filter_map(|id| {
            let path = directory.path_of_dir(DirId(id))?;
            Some((path, id))
        });
        let ids: BTreeMap<Vec<u8>, u64> = known.filter(|(path, _)| !path.is_empty()).collect();
        let mut entries: BTreeMap<Option<u64>, BTreeMap<Vec<u8>, Entry>> = BTreeMap::new();
        let mut add = |path: &[u8], entry: Entry| {
            let slash = path.iter().rposition(|byte| *byte == b'/');
            let (parent, name) =
                slash.map_or((None, path), |at| (Some(ids[&path[..at]]), &path[at + 1..]));
            let names = entries.entry(parent).or_default();
            names.insert(name.to_vec(), entry);
        };
        for path in &expected.directories {
            add(path, Entry::Directory(ids[path]));
        }
        for file in &expected.files {
            add(&file.path, Entry::File(file.what.clone()));
        }
        Moment { expected, entries }
    }
}

/// A day that is safe, and the day that was cut.
pub struct Case {
    before: Vec<Event>,
    pub day: Vec<Event>,
    /// The tree before each event of the day, and behind the last.
    pub moments: Vec<Moment>,
    deviations: Vec<fsage_real::directory::Deviation>,
}

pub fn fast_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        return tempfile::tempdir_in(memory).unwrap();
    }
    tempfile::tempdir().unwrap()
}

impl Case {
    pub fn new(before: Vec<Event>, day: Vec<Event>) -> Case {
        let folder = fast_folder();
        let mut directory = tree::open(folder.path(), Options::default());
        let mut counts = OpCounts::default();
        directory.apply(&before, &mut counts, true).unwrap();
        directory.end_day().unwrap();
        let mut moments = vec![Moment::of(&directory)];
        for event in &day {
            let event = std::slice::from_ref(event);
            directory.apply(event, &mut counts, true).unwrap();
            moments.push(Moment::of(&directory));
        }
        let deviations = directory.take_deviations();
        Case {
            before,
            day,
            moments,
            deviations,
        }
    }

    pub fn of_words(before: &[Word], day: &[Word]) -> Case {
        let mut tree = some_tree();
        tree.extend(before.iter().copied().map(event));
        Case::new(tree, day.iter().copied().map(event).collect())
    }

    pub fn random(seed: u64) -> Case {
        let mut rng = Rng::new(seed).stream("power cut", 0);
        let mut words = |most: u64| -> Vec<Word> {
            let count = 1 + rng.below(most);
            let words = (0..count).map(|_| rng.next_u64().to_le_bytes());
            words.map(|w| (w[0], w[1], w[2], w[3], w[4])).collect()
        };
        let (before, day) = (words(6), words(14));
        Case::of_words(&before, &day)
    }

    /// Goes on with a tree of which `done` events of the day are said to be done, and checks where that ends.
    pub fn resume(&self, tree: &Path, folder: &Path, done: usize) {
        let path = folder.join("journal");
        let mut journal = Journal::create(&path, "run").unwrap();
        let before = self.before.len() as u64;
        let (first, later): (Vec<_>, Vec<_>) = self
            .deviations
            .iter()
            .filter(|d| d.event_index < before + 1 + done as u64)
            .partition(|d| d.event_index < before);
        journal.progress(before, &first).unwrap();
        // Long ago by the clock of the tree: only what the events say is looked into.
        let later_than_all = SystemTime::now() + Duration::from_secs(3600);
        let stamp = later_than_all
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let stamp = (stamp.as_nanos() as i64).to_le_bytes();
        journal.day(0, before + 1, &stamp).unwrap();
        journal.progress(before + 1 + done as u64, &later).unwrap();
        journal.flush().unwrap();
        drop(journal);

        let (journal, recovered) = Journal::open(&path).unwrap();
        let volume = PlainDirectory::open_again(tree).unwrap();
        let directory = Directory::new(Box::new(volume), Options::default()).unwrap();
        let real = Real::resume(directory, journal, recovered, Box::new(|| false));
        let mut agings = [Aging::new(Target::Real(Box::new(real)), true)];
        let mut events = self.before.clone();
        events.push(Event::day("0"));
        events.extend(self.day.iter().cloned());
        events.push(Event::day("1"));
        let mut source = EventsInMemory::new(events);
        let source: &mut dyn EventSource = &mut source;
        replay(source, &mut agings, 1, |_| true)
            .unwrap_or_else(|e| panic!("{}: {e}", self.described()));
        let [aging] = agings;
        assert_eq!((aging.earlier_days(), aging.days().len()), (1, 1));
        let Target::Real(real) = aging.into_target() else {
            panic!("a real target");
        };
        let expected = real.directory().expected();
        let last = &self.moments.last().unwrap().expected;
        assert_eq!(expected, *last, "{}", self.described());
        let open = fs::File::open(tree).unwrap();
        let data = fsage_real::directory::Data::Write;
        let verification = verify(
            std::os::fd::AsFd::as_fd(&open),
            &expected,
            data,
            &mut |_| true,
        );
        let verification: Verification = verification.unwrap();
        assert!(
            verification.is_sound(),
            "{} {:?}",
            self.described(),
            verification.problems
        );
        check(tree, &expected);
        fs::remove_file(path).unwrap();
    }

    fn described(&self) -> String {
        let events = |events: &[Event]| {
            let events = events.iter();
            let lines = events
                .map(|e| format!("{:?} {:?}", e.op, e.name.as_deref().map(OsStr::from_bytes)));
            lines.collect::<Vec<_>>().join("\n  ")
        };
        format!(
            "\n  {}\nday\n  {}\n",
            events(&self.before),
            events(&self.day)
        )
    }

    /// The tree as it was at a moment.
    pub fn in_order(&self, at: usize) -> Built {
        let all = |_: Option<u64>| at;
        self.build(&all, &|_| at, None)
    }

    /// Each directory as it was at a moment of its own, and so each file. Half of those that were written lack their
    /// end, or have zeros there.
    pub fn mixed(&self, seed: u64, last: usize) -> Built {
        let moment = |kind: &str, id: u64| {
            let mut rng = Rng::new(seed).stream(kind, id);
            rng.below(last as u64 + 1) as usize
        };
        let of_dir = |dir: Option<u64>| moment("directory", dir.map_or(u64::MAX, |id| id));
        self.build(&of_dir, &|content| moment("file", content), Some(seed))
    }

    fn build(
        &self,
        of_dir: &dyn Fn(Option<u64>) -> usize,
        of_file: &dyn Fn(u64) -> usize,
        torn: Option<u64>,
    ) -> Built {
        let mut built = Built::default();
        let mut pending = vec![(None, Vec::new())];
        let mut seen = BTreeSet::new();
        while let Some((dir, path)) = pending.pop() {
            let Some(entries) = self.moments[of_dir(dir)].entries.get(&dir) else {
                continue;
            };
            for (name, entry) in entries {
                let at = if path.is_empty() {
                    name.clone()
                } else {
                    [&path, &b"/"[..], name].concat()
                };
                match entry {
                    Entry::Directory(id) => {
                        // No directory is in two places.
                        if seen.insert(*id) {
                            built.directories.push(at.clone());
                            pending.push((Some(*id), at));
                        }
                    }
                    Entry::File(what) => {
                        let (inode, what, torn) = match what {
                            What::File { content, .. } => {
                                let id = content.0;
                                let torn = torn.filter(|_| self.is_written(id));
                                ((0, id), self.what(id, of_file(id), what), torn)
                            }
                            What::Symlink { .. } => {
                                ((1, built.files.len() as u64), what.clone(), None)
                            }
                        };
                        let path = at;
                        built.files.push(BuiltFile {
                            path,
                            inode,
                            what,
                            torn,
                        });
                    }
                }
            }
        }
        built
    }

    /// What a file held at a moment; what the entry says where it was not there then.
    fn what(&self, content: u64, at: usize, entry: &What) -> What {
        let files = self.moments[at].expected.files.iter();
        let mut whats = files.map(|file| &file.what);
        let found = whats.find(|w| matches!(w, What::File { content: c, .. } if c.0 == content));
        found.unwrap_or(entry).clone()
    }

    fn is_written(&self, content: u64) -> bool {
        let here = |moment: &Moment| {
            let files = moment.expected.files.iter();
            let mut whats = files.map(|file| &file.what);
            whats
                .find(|w| matches!(w, What::File { content: c, .. } if c.0 == content))
                .cloned()
        };
        let first = here(&self.moments[0]);
        self.moments.iter().any(|moment| {
            let now = here(moment);
            now.is_some() && now != first
        })
    }
}

/// What is to be on disk.
#[derive(Default)]
pub struct Built {
    directories: Vec<Vec<u8>>,
    files: Vec<BuiltFile>,
}

struct BuiltFile {
    path: Vec<u8>,
    inode: (u8, u64),
    what: What,
    torn: Option<u64>,
}

impl Built {
    pub fn on_disk(&self, root: &Path) {
        let at = |path: &[u8]| root.join(OsStr::from_bytes(path));
        for dir in &self.directories {
            fs::create_dir(at(dir)).unwrap();
        }
        let mut inodes: BTreeMap<(u8, u64), PathBuf> = BTreeMap::new();
        for BuiltFile {
            path,
            inode,
            what,
            torn,
        } in &self.files
        {
            let path = at(path);
            if let Some(first) = inodes.get(inode) {
                fs::hard_link(first, &path).unwrap();
                continue;
            }
            match what {
                What::Symlink { target } => symlink(OsStr::from_bytes(target), &path).unwrap(),
                What::File { .. } => fs::write(&path, bytes(what, *torn, inode.1)).unwrap(),
            }
            inodes.insert(*inode, path);
        }
    }
}

fn bytes(what: &What, torn: Option<u64>, id: u64) -> Vec<u8> {
    let What::File {
        content,
        size_bytes,
        zeros,
    } = what
    else {
        unreachable!("a file");
    };
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < *size_bytes {
        let at = bytes.len() as u64;
        bytes.extend_from_slice(content.bytes(at, size_bytes - at));
    }
    for range in zeros {
        bytes[range.start as usize..range.end as usize].fill(0);
    }
    if let Some(seed) = torn {
        let mut rng = Rng::new(seed).stream("torn", id);
        let from = rng.below(bytes.len() as u64 + 1) as usize;
        match rng.below(4) {
            0 => bytes.truncate(from),
            1 => bytes[from..].fill(0),
            _ => {}
        }
    }
    bytes
}

/// Four directories, with files of the same names and lengths.
pub fn some_tree() -> Vec<Event> {
    let mut events: Vec<Event> = [1, 2, 3].map(|dir| mkdir(dir, None)).to_vec();
    events.push(mkdir(4, Some(1)));
    for dir in 1..=4 {
        events.push(named(create(2 * dir, dir, 100), "x"));
        events.push(named(create(2 * dir + 1, dir, 100), "y"));
    }
    events
}

pub fn named(event: Event, name: &str) -> Event {
    Event {
        name: Some(name.as_bytes().into()),
        ..event
    }
}
