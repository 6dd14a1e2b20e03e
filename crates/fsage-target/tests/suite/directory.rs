//! A workload on a real directory does what it does on a simulated file system, and the tree is what the tables say.
//!
//! Expected values: the outcomes, errors and lengths of the simulated FFS; the tree as the standard library sees it.

use crate::tree::{Mounted, check, create, delete, mkdir, open, paths, skip};
use fsage_core::{
    DirId, Event, FileId, FileSystem, FileView, Layout, Op, OpCounts, Outcome, StateError,
};
use fsage_models::ffs::{Ffs, Params};
use fsage_real::directory::{Data, Deviation, Directory, Options, PlainDirectory, Sync, Volume};
use fsage_real::{Real, RealError};
use fsage_target::{Aging, Target, replay};
use proptest::prelude::*;
use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// Ids from here on are symbolic links, which the model would let grow.
const SYMLINKS: u64 = 100;

fn file() -> impl Strategy<Value = FileId> {
    (0..12_u64).prop_map(FileId)
}

fn any_file() -> impl Strategy<Value = FileId> {
    prop_oneof![9 => 0..12_u64, 1 => SYMLINKS..SYMLINKS + 3].prop_map(FileId)
}

fn dir() -> impl Strategy<Value = DirId> {
    (0..6_u64).prop_map(DirId)
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..9_000_u64,
        2 => 60_000..70_000_u64,
        1 => 100_000..300_000_u64,
        1 => Just(0),
    ]
}

/// Beyond what any file system maps: less would be written until the disk is full.
fn huge() -> impl Strategy<Value = u64> {
    prop_oneof![Just(u64::MAX - 5), Just(1 << 63)]
}

fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![10 => bytes(), 1 => huge()]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (dir(), prop::option::of(dir())).prop_map(|(dir, parent)| Op::Mkdir { dir, parent }),
        1 => dir().prop_map(|dir| Op::Rmdir { dir }),
        1 => (dir(), dir()).prop_map(|(dir, parent)| Op::RenameDir { dir, parent }),
        6 => (file(), dir(), bytes()).prop_map(|(file, dir, bytes)| Op::Create { file, dir, bytes }),
        1 => (file(), dir()).prop_map(|(file, dir)| Op::Create { file, dir, bytes: 1 << 63 }),
        2 => (file(), bytes()).prop_map(|(file, bytes)| Op::Append { file, bytes }),
        3 => (file(), offset(), bytes())
            .prop_map(|(file, offset, bytes)| Op::Write { file, offset, bytes }),
        2 => (file(), prop::option::of((offset(), bytes())))
            .prop_map(|(file, range)| Op::Overwrite { file, range }),
        1 => (file(), offset()).prop_map(|(file, bytes)| Op::Rewrite { file, bytes }),
        2 => (file(), offset()).prop_map(|(file, bytes)| Op::Truncate { file, bytes }),
        1 => (file(), offset(), bytes())
            .prop_map(|(file, offset, bytes)| Op::Fallocate { file, offset, bytes }),
        2 => (file(), offset(), bytes())
            .prop_map(|(file, offset, bytes)| Op::Punch { file, offset, bytes }),
        2 => any_file().prop_map(|file| Op::Delete { file }),
        3 => (any_file(), dir(), prop::option::of(any_file()))
            .prop_map(|(file, dir, replaced)| Op::Rename { file, dir, replaced }),
        3 => (file(), file(), dir())
            .prop_map(|(file, existing, dir)| Op::Link { file, existing, dir }),
        1 => (SYMLINKS..SYMLINKS + 3, dir(), 1..300_u64).prop_map(|(file, dir, bytes)| Op::Symlink {
            file: FileId(file),
            dir,
            bytes,
        }),
        1 => (file(), prop::option::of((offset(), bytes())))
            .prop_map(|(file, range)| Op::Read { file, range }),
        1 => file().prop_map(|file| Op::Fsync { file }),
        1 => Just(Op::Remount),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let name = prop::option::weighted(
        0.4,
        prop::sample::select(&["a", "b", "f1", "d2", "c\u{fc}\n"]),
    );
    (op(), name).prop_map(|(op, name)| match name {
        Some(name) => Event::new(op).named(name.as_bytes()),
        None => Event::new(op),
    })
}

/// Applies one event; its outcome by what was counted.
fn outcome(directory: &mut Directory, event: &Event) -> Result<Outcome, StateError> {
    let mut counts = OpCounts::default();
    match directory.apply(std::slice::from_ref(event), &mut counts, false) {
        Ok(()) => {}
        Err(RealError::State { error, .. }) => return Err(error),
        Err(error) => panic!("{event:?}: {error}"),
    }
    assert_eq!(counts.operations(), 1);
    Ok(match counts {
        OpCounts { done: 1, .. } => Outcome::Done,
        OpCounts { ignored: 1, .. } => Outcome::Ignored,
        OpCounts { no_space: 1, .. } => Outcome::NoSpace,
        OpCounts { no_inode: 1, .. } => Outcome::NoInode,
        OpCounts { too_large: 1, .. } => Outcome::TooLarge,
        _ => Outcome::Absent,
    })
}

/// A tree that something else has open and locked.
#[derive(Debug)]
struct SameTree(File);

impl Volume for SameTree {
    fn root(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn remount(&mut self) -> std::io::Result<bool> {
        Ok(false)
    }

    fn close(self: Box<Self>) -> std::io::Result<()> {
        Ok(())
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Brings fresh tables to where the events lead, without touching the disk.
fn known(root: &Path, events: &[Event], deviations: &[Deviation], options: Options) -> Directory {
    let volume = SameTree(File::open(root).unwrap());
    let mut directory = Directory::new(Box::new(volume), options).unwrap();
    let mut counts = OpCounts::default();
    let mut deviations = deviations.iter().peekable();
    for (index, event) in events.iter().enumerate() {
        let deviation = deviations.next_if(|d| d.event_index == index as u64);
        directory
            .replay_known(event, deviation, &mut counts, true)
            .unwrap();
    }
    directory
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_directory_does_what_the_model_does(events in prop::collection::vec(event(), 1..120)) {
        let folder = tempfile::tempdir().unwrap();
        let mut directory = open(folder.path(), Options::default());
        let mut model = Ffs::new(Params::preset("g502").unwrap()).unwrap();
        // An event that is refused ends a run: it is not one of those that are done.
        let mut done = Vec::new();
        for event in &events {
            let found = outcome(&mut directory, event);
            if found.is_ok() {
                done.push(event.clone());
            }
            let mut wanted = model.apply(&event.op);
            match event.op {
                Op::Punch { .. } => wanted = wanted.map(|_| Outcome::Done),
                // A directory that is there cannot be mounted anew.
                Op::Remount => wanted = Ok(Outcome::Ignored),
                _ => {}
            }
            if found == Ok(Outcome::Ignored) && matches!(event.op, Op::Punch { .. }) {
                // Not every file system has it.
                wanted = found;
            }
            prop_assert_eq!(found, wanted, "{:?}", event);
            for id in (0..12).chain(SYMLINKS..SYMLINKS + 3).map(FileId) {
                prop_assert_eq!(directory.file_size(id), model.file_size(id), "{:?}", event);
            }
        }
        let expected = directory.expected();
        check(folder.path(), &expected);
        prop_assert_eq!(directory.live_bytes(), directory.planned_bytes());
        let deviations = directory.take_deviations();
        let again = known(folder.path(), &done, &deviations, Options::default());
        prop_assert_eq!(again.expected(), expected);
        prop_assert_eq!(again.events_done(), done.len() as u64);
        prop_assert_eq!(again.live_bytes(), directory.live_bytes());
    }

    #[test]
    fn threads_change_neither_tree_nor_counts(events in prop::collection::vec(event(), 200..500)) {
        let results: Vec<_> = [1, 2, 3].into_iter().map(|threads| {
            let folder = tempfile::tempdir().unwrap();
            let options = Options { threads, ..Options::default() };
            let mut directory = open(folder.path(), options);
            let mut counts = OpCounts::default();
            directory.apply(&events, &mut counts, true).unwrap();
            check(folder.path(), &directory.expected());
            let sizes: Vec<_> = (0..12).map(|id| directory.file_size(FileId(id))).collect();
            let deviations = directory.take_deviations();
            let (live, planned) = (directory.live_bytes(), directory.planned_bytes());
            (counts, directory.expected(), sizes, deviations, live, planned)
        }).collect();
        prop_assert_eq!(&results[0], &results[1]);
        prop_assert_eq!(&results[0], &results[2]);
    }

    #[test]
    fn the_cached_layout_is_what_a_walk_finds(
        days in prop::collection::vec(prop::collection::vec(event(), 1..60), 1..5)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut directory = open(folder.path(), Options::default());
        for day in days {
            directory.apply(&day, &mut OpCounts::default(), true).unwrap();
            directory.end_day().unwrap();
        }
        compare_with_walk(&mut directory, folder.path());
    }
}

/// All that a layout says of its inodes, as text.
fn views(layout: &dyn Layout) -> Vec<String> {
    let mut views = Vec::new();
    layout.visit_files(&mut |view: &FileView<'_>| views.push(format!("{view:?}")));
    views
}

/// What the cache says is what asking for every file anew gives, and what the standard library sees.
fn compare_with_walk(directory: &mut Directory, root: &Path) {
    use std::os::unix::fs::MetadataExt as _;
    let cached = views(directory);
    let names = paths(root).len();
    let links: usize = {
        let mut further = 0;
        directory.visit_files(&mut |view| {
            further += view.links as usize - 1;
            let path = match view.path.unwrap() {
                "." => root.to_owned(),
                path => {
                    let bytes = fsage_core::names::unescape(path).unwrap();
                    root.join(std::str::from_utf8(&bytes).unwrap())
                }
            };
            let stat = fs::symlink_metadata(&path).unwrap();
            assert_eq!(stat.ino(), view.ino);
            assert_eq!(stat.len(), view.size_bytes);
            assert_eq!(Some(stat.blocks() * 512), view.alloc_bytes);
        });
        further
    };
    assert_eq!(cached.len() + links, names + 1);
    directory.forget_cache();
    directory.end_day().unwrap();
    assert_eq!(views(directory), cached);
}

/// Numbers of live files and their blocks: `vectors/linux/INDEX.md`.
#[test]
fn s2k_leaves_the_files_that_its_index_says() {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/linux/s2k.ops.gz");
    if !script.exists() {
        skip("no vectors beside the project");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut directory = open(folder.path(), Options::default());
    let mut counts = OpCounts::default();
    let text = std::process::Command::new("gzip")
        .arg("-dc")
        .arg(&script)
        .output();
    let text = String::from_utf8(text.expect("gzip").stdout).unwrap();
    let mut events = Vec::new();
    for line in text.lines() {
        let (verb, numbers) = line.split_once(' ').unwrap();
        let numbers: Vec<u64> = numbers.split(' ').map(|n| n.parse().unwrap()).collect();
        events.push(match (verb, &numbers[..]) {
            ("mkdir", &[dir]) => mkdir(dir, None),
            ("create", &[id, dir, bytes]) => create(id, dir, bytes),
            ("append", &[id, bytes]) => Event::new(Op::Append {
                file: FileId(id),
                bytes,
            }),
            ("truncate", &[id, bytes]) => Event::new(Op::Truncate {
                file: FileId(id),
                bytes,
            }),
            ("delete", &[id]) => delete(id),
            ("day", _) => {
                directory.apply(&events, &mut counts, false).unwrap();
                directory.end_day().unwrap();
                events.clear();
                continue;
            }
            _ => panic!("{line}"),
        });
    }
    directory.apply(&events, &mut counts, false).unwrap();
    directory.end_day().unwrap();
    assert_eq!(counts.done, 50 + 1543 + 252 + 10 + 195);
    assert_eq!(counts.operations(), counts.done);
    assert_eq!(directory.take_deviations(), []);
    let expected = directory.expected();
    assert_eq!(expected.files.len(), 1348);
    check(folder.path(), &expected);
    let mut blocks = 0;
    directory.visit_files(&mut |view| {
        if view.kind == fsage_core::FileKind::Regular {
            blocks += view.size_bytes.div_ceil(4096);
        }
    });
    assert_eq!(blocks, 7844);
    assert_eq!(directory.live_bytes(), blocks * 4096);
    compare_with_walk(&mut directory, folder.path());
}

fn error(directory: &mut Directory, event: Event) -> String {
    let mut event = event;
    event.line = 42;
    let error = directory.apply(&[event], &mut OpCounts::default(), false);
    error.unwrap_err().to_string()
}

#[test]
fn names_that_no_entry_can_have_are_errors_of_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut directory = open(folder.path(), Options::default());
    let long = [b'x'; 256];
    for name in [&b""[..], b".", b"..", b"a/b", b"../a", b"a\0b", &long] {
        let message = error(&mut directory, create(1, 0, 10).named(name));
        assert!(message.starts_with("line 42: create: `"), "{message}");
        let message = error(&mut directory, mkdir(1, None).named(name));
        assert!(message.starts_with("line 42: mkdir: `"), "{message}");
    }
    assert_eq!(paths(folder.path()), Vec::<Vec<u8>>::new());
    let good = create(1, 0, 10).named(&long[..255]);
    assert_eq!(outcome(&mut directory, &good), Ok(Outcome::Done));
    // The same name once more: the other name is cut to what fits.
    let again = create(2, 0, 10).named(&long[..255]);
    assert_eq!(outcome(&mut directory, &again), Ok(Outcome::Done));
    check(folder.path(), &directory.expected());
}

#[test]
fn an_entry_whose_name_is_taken_gets_another_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut directory = open(folder.path(), Options::default());
    let events = [
        create(1, 0, 10).named(b"a"),
        create(2, 0, 20).named(b"a"),
        mkdir(3, None).named(b"a"),
        create(4, 3, 5),
    ];
    directory
        .apply(&events, &mut OpCounts::default(), false)
        .unwrap();
    let found = paths(folder.path());
    assert_eq!(found, [&b"a"[..], b"a~d3", b"a~d3/f4", b"a~f2"]);
    let deviations = directory.take_deviations();
    let numbers: Vec<_> = deviations
        .iter()
        .map(|d| (d.event_index, d.other_names > 0))
        .collect();
    assert_eq!(numbers, [(1, true), (2, true)]);
    check(folder.path(), &directory.expected());
}

/// What takes the place of an entry keeps its name, so that another name may be taken too: file 3 lies at `a~f2` when
/// file 2, which is made anew, would.
#[test]
fn another_name_that_is_taken_too_gets_another() {
    let folder = tempfile::tempdir().unwrap();
    let mut directory = open(folder.path(), Options::default());
    let (root, dir, file) = (DirId::ROOT, DirId(1), |id| FileId(id));
    let create = |id| Op::Create {
        file: file(id),
        dir: root,
        bytes: 0,
    };
    let events = [
        Event::new(Op::Mkdir { dir, parent: None }).named(b"a"),
        Event::new(create(2)).named(b"a"),
        Event::new(create(3)).named(b"b"),
        Event::new(Op::Rename {
            file: file(3),
            dir: root,
            replaced: Some(file(2)),
        })
        .named(b"c"),
        Event::new(create(2)).named(b"a"),
    ];
    directory
        .apply(&events, &mut OpCounts::default(), false)
        .unwrap();
    let found = paths(folder.path());
    assert_eq!(found, [&b"a"[..], b"a~f2", b"a~f2~f2"]);
    let deviations = directory.take_deviations();
    let names: Vec<_> = deviations
        .iter()
        .map(|d| (d.event_index, d.other_names))
        .collect();
    assert_eq!(names, [(1, 1), (4, 2)]);
    check(folder.path(), &directory.expected());
    let again = known(folder.path(), &events, &deviations, Options::default());
    assert_eq!(again.expected(), directory.expected());
}

/// Holes are no shortfall: nothing was left out.
#[test]
fn a_file_with_holes_is_what_was_planned() {
    let folder = tempfile::tempdir().unwrap();
    let directory = open(folder.path(), Options::default());
    let real = Real::begin(directory, None, Box::new(|| false));
    let mut agings = [Aging::new(Target::Real(Box::new(real)), false)];
    let far = Op::Write {
        file: FileId(1),
        offset: 13_000 * 4096,
        bytes: 4096,
    };
    let events = vec![create(1, 0, 4096), Event::new(far), Event::day("0")];
    let mut source = fsage_core::EventsInMemory::new(events);
    replay(&mut source, &mut agings, 1, |_| true).unwrap();
    let day = &agings[0].days()[0];
    if day.measures.sums.pieces.files_with_extents == 0 {
        return skip("the file system here does not say where files lie");
    }
    assert_eq!(day.measures.sums.pieces.live_bytes, 8192);
    assert_eq!(day.planned_bytes, Some(8192));
}

/// A link that somebody puts where a directory was is not followed.
#[test]
fn nothing_is_written_through_a_link_that_was_planted() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir(&inside).unwrap();
    fs::create_dir(&outside).unwrap();
    let mut directory = open(&inside, Options::default());
    assert_eq!(outcome(&mut directory, &mkdir(1, None)), Ok(Outcome::Done));
    fs::remove_dir(inside.join("d1")).unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("d1")).unwrap();
    let message = error(&mut directory, create(1, 1, 10));
    assert!(message.contains("`d1/f1`"), "{message}");
    assert!(message.contains("resumed"), "{message}");
    // So are files.
    fs::write(outside.join("target"), "before").unwrap();
    assert_eq!(
        outcome(&mut directory, &create(2, 0, 10)),
        Ok(Outcome::Done)
    );
    fs::remove_file(inside.join("f2")).unwrap();
    std::os::unix::fs::symlink(outside.join("target"), inside.join("f2")).unwrap();
    let file = FileId(2);
    let message = error(&mut directory, Event::new(Op::Append { file, bytes: 5 }));
    assert!(message.contains("`f2`"), "{message}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fs::read(outside.join("target")).unwrap(), b"before");
}

#[test]
fn a_file_that_somebody_deletes_is_an_error_that_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut directory = open(folder.path(), Options::default());
    assert_eq!(
        outcome(&mut directory, &create(1, 0, 10)),
        Ok(Outcome::Done)
    );
    fs::remove_file(folder.path().join("f1")).unwrap();
    let before = directory.expected();
    let file = FileId(1);
    for event in [delete(1), Event::new(Op::Append { file, bytes: 1 })] {
        let message = error(&mut directory, event);
        assert!(message.contains("`f1`"), "{message}");
        assert!(
            message.contains("something else has changed the tree"),
            "{message}"
        );
        assert_eq!(directory.expected(), before);
        assert_eq!(directory.events_done(), 1);
    }
    assert!(directory.end_day().is_err());
}

#[test]
fn other_ways_to_store_data_keep_lengths() {
    for data in [Data::Fallocate, Data::Hole] {
        let Some(mounted) = Mounted::tmpfs("size=16m") else {
            return;
        };
        let options = Options {
            data,
            sync: Sync::Each,
            ..Options::default()
        };
        let mut directory = open(&mounted.path, options);
        let file = FileId(1);
        let events = [
            create(1, 0, 100_000),
            Event::new(Op::Append { file, bytes: 5000 }),
            Event::new(Op::Rewrite { file, bytes: 7000 }),
            Event::new(Op::Rewrite { file, bytes: 3000 }),
            Event::new(Op::Write {
                file,
                offset: 10_000,
                bytes: 1,
            }),
        ];
        for (event, size) in events.iter().zip([100_000, 105_000, 7000, 3000, 10_001]) {
            assert_eq!(outcome(&mut directory, event), Ok(Outcome::Done));
            assert_eq!(directory.file_size(file), Some(size));
            let bytes = fs::read(mounted.path.join("f1")).unwrap();
            assert_eq!(bytes.len() as u64, size);
            assert!(bytes.iter().all(|&byte| byte == 0));
        }
        directory.sync().unwrap();
        // All descriptors are closed before the file system is unmounted.
        drop(directory);
    }
}

fn refusal(path: &Path) -> String {
    PlainDirectory::open(path).unwrap_err().to_string()
}

#[test]
fn directories_that_are_no_targets_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    for system in ["/", "/usr", "/etc", "/proc", "/home"] {
        if Path::new(system).exists() {
            let message = refusal(Path::new(system));
            assert!(message.contains("running system"), "{message}");
        }
    }
    let missing: PathBuf = folder.path().join("missing");
    assert!(refusal(&missing).contains("make the directory"));
    let plain = folder.path().join("plain");
    fs::write(&plain, "").unwrap();
    assert!(refusal(&plain).contains("no directory"));
    let message = refusal(folder.path());
    assert!(
        message.contains("not empty: it has an entry `plain`"),
        "{message}"
    );
    let empty = folder.path().join("lost+found");
    fs::create_dir(&empty).unwrap();
    fs::remove_file(&plain).unwrap();
    // Only a file system's own `lost+found` is part of an empty tree.
    assert!(refusal(folder.path()).contains("lost+found"));
    PlainDirectory::open(&empty).unwrap();
    let Some(small) = Mounted::tmpfs("size=512k") else {
        return;
    };
    assert!(refusal(&small.path).contains("under 1 MiB"));
    let Some(read_only) = Mounted::tmpfs("size=4m,ro") else {
        return;
    };
    assert!(refusal(&read_only.path).contains("read-only"));
    let Some(fresh) = Mounted::image(&["mkfs.ext4", "-q"], 16) else {
        return;
    };
    PlainDirectory::open(&fresh.path).unwrap();
}
