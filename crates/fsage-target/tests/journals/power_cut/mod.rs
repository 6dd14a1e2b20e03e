//! What a power failure may leave of tree and journal, made by hand, and runs that go on from there.
//!
//! Nothing here cuts a power line. A file system that commits its metadata in order leaves the tree as it was at some
//! moment since the last sync. One that does not may leave each directory, and each file, as it was at a moment of its
//! own. The journal may be behind any of that, or ahead of it.

mod case;

use crate::tree::{create, delete, mkdir};
use case::{Built, Case, Word, fast_folder, named, some_tree};
use fsage_core::{DirId, Event, FileId, Op, Rng};
use proptest::prelude::*;
use std::fs;

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
