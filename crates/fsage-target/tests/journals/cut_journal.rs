//! A run whose journal was cut by a power failure, at every byte, goes on: with a tree that is as old as the last day
//! that the journal has, as new as the next end of a day, or in between.

use crate::tree;
use crate::tree::{check, create, delete, mkdir};
use fsage_core::{Event, EventsInMemory, FileId, Op, OpCounts, Rng};
use fsage_real::Real;
use fsage_real::directory::{
    Damage, Data, Directory, Expected, Journal, Options, PlainDirectory, Recovered, verify,
};
use fsage_target::{Aging, Target, replay};
use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::path::Path;

const DAYS: usize = 3;

/// Three days, and a last one that no `day` ends.
fn workload() -> Vec<Event> {
    let mut rng = Rng::new(5);
    let mut events = Vec::new();
    let mut alive: Vec<u64> = Vec::new();
    let mut next = 0;
    for day in 0..=DAYS as u64 {
        events.push(mkdir(day + 1, (day > 0).then_some(day)));
        for step in 0..90 {
            let at = rng.below(alive.len().max(1) as u64) as usize;
            match rng.below(6) {
                0 if !alive.is_empty() => events.push(delete(alive.swap_remove(at))),
                1 if !alive.is_empty() => events.push(Event::new(Op::Append {
                    file: FileId(alive[at]),
                    bytes: 300,
                })),
                2 if !alive.is_empty() => events.push(Event::new(Op::Rename {
                    file: FileId(alive[at]),
                    dir: fsage_core::DirId(rng.below(day + 2)),
                    replaced: None,
                })),
                _ => {
                    let mut new = create(next, rng.below(day + 2), rng.below(900));
                    // Every few names are taken, which the journal has to say.
                    if step % 9 == 0 {
                        new.name = Some(b"taken"[..].into());
                    }
                    events.push(new);
                    alive.push(next);
                    next += 1;
                }
            }
        }
        if day < DAYS as u64 {
            events.push(Event::day(&day.to_string()));
        }
    }
    events
}

fn fast_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        return tempfile::tempdir_in(memory).unwrap();
    }
    tempfile::tempdir().unwrap()
}

/// A tree with the first events done.
fn tree_after(root: &Path, events: &[Event]) {
    let mut directory = tree::open(root, Options::default());
    let events: Vec<Event> = events.iter().filter(|e| e.op != Op::Day).cloned().collect();
    directory
        .apply(&events, &mut OpCounts::default(), false)
        .unwrap();
}

fn go_on(root: &Path, journal: &Path, events: &[Event]) -> (usize, Expected) {
    let (journal, recovered) = Journal::open(journal).unwrap();
    let volume = PlainDirectory::open_again(root).unwrap();
    let directory = Directory::new(Box::new(volume), Options::default()).unwrap();
    let real = Real::resume(directory, journal, recovered, Box::new(|| false));
    run(real, events)
}

/// Replays all, and gives the number of days and what should be in the tree.
fn run(real: Real, events: &[Event]) -> (usize, Expected) {
    let mut agings = [Aging::new(Target::Real(Box::new(real)), false)];
    let mut source = EventsInMemory::new(events.to_vec());
    replay(&mut source, &mut agings, 1, |_| true).unwrap();
    let [aging] = agings;
    let days = aging.earlier_days() as usize + aging.days().len();
    let Target::Real(real) = aging.into_target() else {
        panic!("a real target");
    };
    (days, real.directory().expected())
}

/// The journal of a whole run, and what its tree is at the end.
fn whole(events: &[Event]) -> (Vec<u8>, Expected) {
    let folder = fast_folder();
    let root = folder.path().join("tree");
    fs::create_dir(&root).unwrap();
    let path = folder.path().join("journal");
    let journal = Journal::create(&path, "run").unwrap();
    let directory = tree::open(&root, Options::default());
    let real = Real::begin(directory, Some(journal), Box::new(|| false));
    let (days, expected) = run(real, events);
    assert_eq!(days, DAYS + 1);
    (fs::read(path).unwrap(), expected)
}

/// Lengths of the journal at which it is synced: behind each record of a day.
fn synced_lengths(journal: &[u8]) -> Vec<usize> {
    let days = |end: usize| Recovered::read(&journal[..end]).map_or(0, |r| r.days.len());
    let ends = 1..=journal.len();
    ends.filter(|&end| days(end) > days(end - 1)).collect()
}

#[test]
fn a_journal_that_ends_anywhere_goes_on() {
    let events = workload();
    let (journal, expected) = whole(&events);
    let synced = synced_lengths(&journal);
    assert_eq!(synced.len(), DAYS + 1);
    // Numbers of events behind which the tree is synced, from none to all.
    let days = events.iter().enumerate().filter(|(_, e)| e.op == Op::Day);
    let mut ends: Vec<usize> = days.map(|(at, _)| at + 1).collect();
    ends.insert(0, 0);
    ends.push(events.len());
    let mut rng = Rng::new(9);
    let mut headers = 0;
    for end in 0..=journal.len() {
        let cut = journal[..end].to_vec();
        let day = match Recovered::read(&cut) {
            Ok(recovered) => recovered.days.len(),
            Err(damage) => {
                assert_eq!(damage, Damage::Header, "cut at {end}");
                headers += 1;
                continue;
            }
        };
        let next = synced.get(day).copied().unwrap_or(journal.len());
        // What was not synced may come back as zeros, or with a hole in it.
        let mut zeros = journal[..next].to_vec();
        zeros[end..].fill(0);
        let mut hole = journal[..next].to_vec();
        let to = (end + 1 + rng.below(60) as usize).min(next);
        hole[end..to].fill(0);
        let oldest = ends[day];
        let newest = ends[(day + 1).min(DAYS + 1)];
        let between = oldest + rng.below((newest - oldest) as u64 + 1) as usize;
        for (kind, bytes) in [cut, zeros, hole].iter().enumerate() {
            let done = [newest, oldest, between][(end + kind) % 3];
            let folder = fast_folder();
            let root = folder.path().join("tree");
            fs::create_dir(&root).unwrap();
            tree_after(&root, &events[..done]);
            let path = folder.path().join("journal");
            fs::write(&path, bytes).unwrap();
            let what = format!("cut at {end} of {}, way {kind}, {done} done", journal.len());
            let (days, found) = go_on(&root, &path, &events);
            assert_eq!(days, DAYS + 1, "{what}");
            assert_eq!(found, expected, "{what}");
            let open = File::open(&root).unwrap();
            let verified = verify(open.as_fd(), &expected, Data::Write, &mut |_| true).unwrap();
            assert!(verified.is_sound(), "{what}: {:?}", verified.problems);
            check(&root, &expected);
            // Whoever resumes once more finds a run that is over.
            let (_, recovered) = Journal::open(&path).unwrap();
            assert_eq!(recovered.days.len(), DAYS + 1, "{what}");
            assert_eq!(recovered.events_done, events.len() as u64 + 1, "{what}");
        }
    }
    assert!(headers < 30, "{headers}");
}

/// A run that is stopped when a day has ended and before that is recorded measures it when it goes on.
#[test]
fn a_day_that_is_not_recorded_is_not_over() {
    let events = workload();
    let folder = fast_folder();
    let root = folder.path().join("tree");
    fs::create_dir(&root).unwrap();
    let path = folder.path().join("journal");
    let journal = Journal::create(&path, "run").unwrap();
    let directory = tree::open(&root, Options::default());
    let real = Real::begin(directory, Some(journal), Box::new(|| false));
    let mut aging = Aging::new(Target::Real(Box::new(real)), false);
    aging.take_real_snapshots(2, 0, Box::new(|_, _, _| Err("no room".into())));
    let mut agings = [aging];
    let mut source = EventsInMemory::new(events.clone());
    replay(&mut source, &mut agings, 1, |_| true).unwrap_err();
    drop(agings);
    let mut days = events.iter().enumerate().filter(|(_, e)| e.op == Op::Day);
    let (second_day, _) = days.nth(1).unwrap();
    let recovered = Recovered::read(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(recovered.days.len(), 1);
    assert_eq!(recovered.events_done, second_day as u64);
    let (days, expected) = go_on(&root, &path, &events);
    assert_eq!(days, DAYS + 1);
    check(&root, &expected);
}
