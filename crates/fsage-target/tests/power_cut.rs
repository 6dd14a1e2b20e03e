//! What a power failure may leave of tree and journal, made by hand, and runs that go on from there.
//!
//! Nothing here cuts a power line. A file system that commits its metadata in order leaves the tree as it was at some
//! moment since the last sync. One that does not may leave each directory, and each file, as it was at a moment of its
//! own. The journal may be behind any of that, or ahead of it.

mod tree;

use fsage_core::{DirId, Event, EventSource, EventsInMemory, FileId, Op, Rng};
use fsage_target::directory::{
    Directory, Expected, Journal, Options, PlainDirectory, Verification, What, verify,
};
use fsage_target::{Aging, OpCounts, Real, Target, replay};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tree::{check, create, delete, mkdir};

/// An operation as numbers, of which any make sense.
type Word = (u8, u8, u8, u8, u8);

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
struct Moment {
    expected: Expected,
    /// Entries of directories; the root is `None`.
    entries: BTreeMap<Option<u64>, BTreeMap<Vec<u8>, Entry>>,
}

#[derive(Clone, PartialEq)]
enum Entry {
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
struct Case {
    before: Vec<Event>,
    day: Vec<Event>,
    /// The tree before each event of the day, and behind the last.
    moments: Vec<Moment>,
    deviations: Vec<fsage_target::directory::Deviation>,
}

fn fast_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        return tempfile::tempdir_in(memory).unwrap();
    }
    tempfile::tempdir().unwrap()
}

impl Case {
    fn new(before: Vec<Event>, day: Vec<Event>) -> Case {
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

    fn of_words(before: &[Word], day: &[Word]) -> Case {
        let mut tree = some_tree();
        tree.extend(before.iter().copied().map(event));
        Case::new(tree, day.iter().copied().map(event).collect())
    }

    fn random(seed: u64) -> Case {
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
    fn resume(&self, tree: &Path, folder: &Path, done: usize) {
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
        replay(source, &mut agings, 1, |_| true).unwrap_or_else(|e| panic!("{}: {e}", self.told()));
        let [aging] = agings;
        assert_eq!((aging.earlier_days(), aging.days().len()), (1, 1));
        let Target::Real(real) = aging.into_target() else {
            panic!("a real target");
        };
        let expected = real.directory().expected();
        let last = &self.moments.last().unwrap().expected;
        assert_eq!(expected, *last, "{}", self.told());
        let open = fs::File::open(tree).unwrap();
        let data = fsage_target::directory::Data::Write;
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
            self.told(),
            verification.problems
        );
        check(tree, &expected);
        fs::remove_file(path).unwrap();
    }

    fn told(&self) -> String {
        let events = |events: &[Event]| {
            let events = events.iter();
            let told = events
                .map(|e| format!("{:?} {:?}", e.op, e.name.as_deref().map(OsStr::from_bytes)));
            told.collect::<Vec<_>>().join("\n  ")
        };
        format!(
            "\n  {}\nday\n  {}\n",
            events(&self.before),
            events(&self.day)
        )
    }

    /// The tree as it was at a moment.
    fn in_order(&self, at: usize) -> Built {
        let all = |_: Option<u64>| at;
        self.build(&all, &|_| at, None)
    }

    /// Each directory as it was at a moment of its own, and so each file. Half of those that were written lack their
    /// end, or have zeros there.
    fn mixed(&self, seed: u64, last: usize) -> Built {
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
struct Built {
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
    fn on_disk(&self, root: &Path) {
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

/// Builds a state in a new folder and resumes.
fn goes_on(case: &Case, built: &Built, done: usize) {
    let folder = fast_folder();
    let root = folder.path().join("tree");
    fs::create_dir(&root).unwrap();
    built.on_disk(&root);
    case.resume(&root, folder.path(), done);
}

fn rename_dir(dir: u64, parent: u64) -> Event {
    Event::new(Op::RenameDir {
        dir: DirId(dir),
        parent: DirId(parent),
    })
}

fn named(event: Event, name: &str) -> Event {
    Event {
        name: Some(name.as_bytes().into()),
        ..event
    }
}

/// Every moment of the tree with every count of the journal.
fn all_in_order(case: &Case) {
    for at in 0..case.moments.len() {
        let built = case.in_order(at);
        for done in 0..=case.day.len() {
            goes_on(case, &built, done);
        }
    }
}

fn some_mixed(case: &Case, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut rng = Rng::new(seed).stream("count", 0);
        let last = rng.below(case.moments.len() as u64) as usize;
        let done = rng.below(case.day.len() as u64 + 1) as usize;
        goes_on(case, &case.mixed(seed, last), done);
    }
}

/// Four directories, with files of the same names and lengths.
fn some_tree() -> Vec<Event> {
    let mut events: Vec<Event> = [1, 2, 3].map(|dir| mkdir(dir, None)).to_vec();
    events.push(mkdir(4, Some(1)));
    for dir in 1..=4 {
        events.push(named(create(2 * dir, dir, 100), "x"));
        events.push(named(create(2 * dir + 1, dir, 100), "y"));
    }
    events
}

/// Directories and files that change places all the ways there are.
fn hard_days() -> Vec<Case> {
    let days = vec![
        // Into a directory that is made the same day: the smallest day that used to be lost.
        vec![mkdir(6, Some(3)), rename_dir(2, 6)],
        vec![
            mkdir(6, Some(3)),
            rename_dir(2, 6),
            delete(4),
            rename_dir(6, 1),
        ],
        // A swap, and there and back.
        vec![
            named(rename_dir(1, 0), "t"),
            named(rename_dir(2, 0), "d1"),
            named(rename_dir(1, 0), "d2"),
        ],
        vec![
            rename_dir(2, 3),
            rename_dir(2, 0),
            named(rename_dir(2, 0), "z"),
        ],
        // What was above is below.
        vec![rename_dir(4, 0), rename_dir(1, 4)],
        // A chain of names passed on.
        vec![
            named(rename_dir(3, 0), "new"),
            named(rename_dir(2, 0), "d3"),
            named(rename_dir(1, 0), "d2"),
        ],
        // Content moves out, the directory goes, and its name and number come again.
        vec![
            rename_dir(4, 0),
            named(rename_file(2, 2, None), "z"),
            rename_file(3, 0, None),
            Event::new(Op::Rmdir { dir: DirId(1) }),
            mkdir(1, Some(4)),
            rename_dir(2, 1),
        ],
        // Files over files.
        vec![
            rename_file(2, 2, Some(4)),
            rename_file(3, 2, Some(5)),
            named(create(0, 1, 100), "x"),
            rename_file(0, 2, Some(2)),
        ],
    ];
    days.into_iter()
        .map(|day| Case::new(some_tree(), day))
        .collect()
}

fn rename_file(file: u64, dir: u64, replaced: Option<u64>) -> Event {
    Event::new(Op::Rename {
        file: FileId(file),
        dir: DirId(dir),
        replaced: replaced.map(FileId),
    })
}

#[test]
fn a_directory_moved_into_one_that_was_made_the_same_day_goes_there_again() {
    let case = &hard_days()[0];
    let folder = fast_folder();
    let root = folder.path().join("tree");
    fs::create_dir(&root).unwrap();
    case.in_order(0).on_disk(&root);
    let inode = |path: &str| {
        use std::os::unix::fs::MetadataExt as _;
        fs::metadata(root.join(path)).unwrap().ino()
    };
    let before = inode("d2/x");
    case.resume(&root, folder.path(), 2);
    assert_eq!(inode("d3/d6/d2/x"), before);
}

#[test]
fn whatever_moved_in_a_day_every_moment_of_it_goes_on() {
    for case in hard_days() {
        all_in_order(&case);
    }
}

#[test]
fn whatever_moved_in_a_day_directories_of_different_moments_go_on() {
    for case in hard_days() {
        some_mixed(&case, 0..40);
    }
}

#[test]
fn random_days_go_on_from_every_moment() {
    for seed in 0..24 {
        all_in_order(&Case::random(seed));
    }
}

#[test]
fn random_days_go_on_from_directories_of_different_moments() {
    for seed in 0..60 {
        some_mixed(&Case::random(seed), 0..20);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_day_goes_on_from_anything_that_a_power_failure_leaves(
        before in prop::collection::vec(any::<Word>(), 0..6),
        day in prop::collection::vec(any::<Word>(), 1..12),
        seed in 0..1000_u64,
        mixed in any::<bool>(),
    ) {
        let case = Case::of_words(&before, &day);
        if mixed {
            some_mixed(&case, seed..seed + 4);
        } else {
            let at = seed as usize % case.moments.len();
            goes_on(&case, &case.in_order(at), (seed / 31) as usize % (day.len() + 1));
        }
    }
}
