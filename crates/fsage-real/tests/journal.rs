//! The journal of a run: what is written comes back, whatever happens to the end of the file.

use fsage_core::{Outcome, Rng};
use fsage_real::directory::{Damage, Deviation, Journal, JournalError, Recovered, UNSAID};
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn deviation(event_index: u64) -> Deviation {
    let outcomes = [
        Outcome::Done,
        Outcome::Ignored,
        Outcome::NoSpace,
        Outcome::NoInode,
        Outcome::TooLarge,
        Outcome::Absent,
    ];
    Deviation {
        event_index,
        outcome: outcomes[event_index as usize % 6],
        size_bytes: (!event_index.is_multiple_of(5))
            .then(|| event_index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (event_index % 64)),
        written_bytes: event_index % 300,
        other_names: (event_index % 9) as u8,
    }
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    (folder, path)
}

/// What is in the file while the writer still has it open: what a kill would leave.
fn state(path: &Path) -> Recovered {
    Recovered::read(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn what_was_noted_comes_back() {
    let (_folder, path) = folder();
    let identity = "{\"workload\":\"\u{e4}\"}";
    let mut journal = Journal::create(&path, identity).unwrap();
    journal.progress(3, &[deviation(0), deviation(2)]).unwrap();
    journal.day(0, 3, b"first").unwrap();
    journal.progress(100, &[deviation(50)]).unwrap();
    journal.progress(101, &[deviation(100)]).unwrap();
    journal.day(1, 102, b"").unwrap();
    journal.progress(u64::MAX, &[]).unwrap();
    drop(journal);
    let (mut journal, recovered) = Journal::open(&path).unwrap();
    let expected = Recovered {
        identity: identity.to_owned(),
        events_done: u64::MAX,
        deviations: [0, 2, 50, 100].map(deviation).to_vec(),
        days: vec![b"first".to_vec(), Vec::new()],
        intact_bytes: fs::metadata(&path).unwrap().len(),
        torn_tail: false,
    };
    assert_eq!(recovered, expected);

    // A run that starts over from event 60, in day 1.
    journal.progress(60, &[deviation(59)]).unwrap();
    journal.day(1, 61, b"again").unwrap();
    let again = state(&path);
    assert_eq!(again.events_done, 61);
    assert_eq!(again.deviations, [0, 2, 50, 59].map(deviation));
    assert_eq!(again.days, [&b"first"[..], b"again"]);
}

#[test]
fn no_more_events_are_unsaid_than_the_limit_and_most_calls_write_nothing() {
    let (_folder, path) = folder();
    let mut journal = Journal::create(&path, "").unwrap();
    let mut lengths = std::collections::BTreeSet::new();
    for done in 1..=10 * UNSAID {
        journal.progress(done, &[]).unwrap();
        let said = state(&path).events_done;
        assert!(said <= done && done - said < UNSAID, "{said} of {done}");
        lengths.insert(fs::metadata(&path).unwrap().len());
    }
    assert_eq!(lengths.len(), 11);
    journal.progress(10 * UNSAID + 1, &[]).unwrap();
    journal.flush().unwrap();
    assert_eq!(state(&path).events_done, 10 * UNSAID + 1);
}

#[test]
fn a_run_is_one_process_at_a_time() {
    let (_folder, path) = folder();
    let journal = Journal::create(&path, "x").unwrap();
    assert!(matches!(
        Journal::create(&path, "x"),
        Err(JournalError::Io { .. })
    ));
    let busy = Journal::open(&path).unwrap_err();
    assert!(busy.to_string().contains("another fsage"), "{busy}");
    drop(journal);
    assert_eq!(Journal::open(&path).unwrap().1.identity, "x");
}

/// Steps of a run, and the state after each.
fn write_run(path: &Path, steps: &[(u64, bool, bool)]) -> Vec<Recovered> {
    let mut journal = Journal::create(path, "run").unwrap();
    let mut now = Recovered {
        identity: "run".to_owned(),
        ..Recovered::default()
    };
    let mut states = vec![now.clone()];
    for &(events, deviates, day) in steps {
        let before = now.events_done;
        now.events_done += events;
        let deviations: Vec<_> = (before..now.events_done)
            .filter(|n| deviates && n % 2 == 1)
            .map(deviation)
            .collect();
        now.deviations.extend(&deviations);
        journal.progress(now.events_done, &deviations).unwrap();
        states.push(now.clone());
        if day {
            let number = now.days.len() as u64;
            now.days
                .push(vec![number as u8; number as usize * 7 % 1000]);
            now.events_done += 1;
            journal
                .day(number, now.events_done, now.days.last().unwrap())
                .unwrap();
            states.push(now.clone());
        }
    }
    journal.flush().unwrap();
    states
}

fn assert_was_true(recovered: &Recovered, states: &[Recovered], torn: bool) {
    let recovered = Recovered {
        intact_bytes: 0,
        torn_tail: false,
        ..recovered.clone()
    };
    assert!(states.contains(&recovered), "torn {torn}: {recovered:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_prefix_is_a_state_that_was_true(
        steps in prop::collection::vec((0..100u64, any::<bool>(), prop::bool::weighted(0.2)), 0..20)
    ) {
        let (_folder, path) = folder();
        let states = write_run(&path, &steps);
        let bytes = fs::read(&path).unwrap();
        let whole = Recovered::read(&bytes).unwrap();
        prop_assert!(!whole.torn_tail);
        assert_was_true(&whole, &states[states.len() - 1..], false);
        let mut before = 0;
        for end in 0..bytes.len() {
            match Recovered::read(&bytes[..end]) {
                Ok(recovered) => {
                    prop_assert_eq!(recovered.torn_tail, recovered.intact_bytes < end as u64);
                    prop_assert!(recovered.events_done >= before);
                    before = recovered.events_done;
                    assert_was_true(&recovered, &states, true);
                }
                Err(damage) => prop_assert_eq!(damage, Damage::Header),
            }
        }
    }
}

/// Damage is cut off, or an error if it lies where the file had been safe; it is never believed.
#[test]
fn damage_never_passes_for_a_state() {
    let (_folder, path) = folder();
    let steps: Vec<_> = (0..40).map(|n| (70, n % 3 == 0, n % 10 == 9)).collect();
    let states = write_run(&path, &steps);
    let sound = fs::read(&path).unwrap();
    let mut rng = Rng::new(1).stream("damage", 0);
    let mut below = |n: usize| (rng.next_u64() % n as u64) as usize;
    let (mut cut, mut refused) = (0, 0);
    for _ in 0..3000 {
        let mut bytes = sound.clone();
        let at = below(bytes.len());
        match below(4) {
            0 => bytes[at] ^= 1 << below(8),
            1 => bytes[at..].fill(0),
            2 => {
                let to = (at + below(200)).min(bytes.len());
                bytes[at..to].fill(0);
            }
            _ => {
                bytes.drain(at..(at + 1 + below(50)).min(sound.len()));
            }
        }
        match Recovered::read(&bytes) {
            Ok(recovered) => {
                assert_was_true(&recovered, &states, true);
                cut += 1;
            }
            Err(Damage::Record { at, later }) => {
                assert!(at < later && later < bytes.len() as u64);
                refused += 1;
            }
            Err(_) => assert_ne!(bytes.get(..23), Some(&sound[..23])),
        }
    }
    assert!(
        cut > 300 && refused > 300,
        "{cut} cut off, {refused} refused"
    );
}

/// After a power failure, bytes written since the last day may be missing while later ones are there.
#[test]
fn damage_behind_the_last_day_is_cut_off_and_before_it_named() {
    let (_folder, path) = folder();
    let mut journal = Journal::create(&path, "run").unwrap();
    let length = || fs::metadata(&path).unwrap().len();
    let start = length();
    journal.progress(70, &[]).unwrap();
    journal.day(0, 71, b"d").unwrap();
    let day = length();
    journal.progress(140, &[]).unwrap();
    let lost = length();
    journal.progress(210, &[]).unwrap();
    drop(journal);
    let sound = fs::read(&path).unwrap();

    let mut bytes = sound.clone();
    bytes[day as usize..lost as usize].fill(0);
    fs::write(&path, &bytes).unwrap();
    let (mut journal, recovered) = Journal::open(&path).unwrap();
    assert_eq!((recovered.events_done, recovered.torn_tail), (71, true));
    assert_eq!((recovered.intact_bytes, length()), (day, day));
    journal.progress(150, &[deviation(100)]).unwrap();
    drop(journal);
    let (_, recovered) = Journal::open(&path).unwrap();
    assert_eq!((recovered.events_done, recovered.torn_tail), (150, false));
    assert_eq!(recovered.deviations, [deviation(100)]);

    let mut bytes = sound;
    bytes[start as usize + 9] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = Journal::open(&path).unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("damaged at byte {start}"))
    );
    assert!(error.to_string().contains("journal: "), "{error}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn what_is_no_journal_is_named() {
    let message = |bytes: &[u8]| Recovered::read(bytes).unwrap_err().to_string();
    assert!(message(b"PAR1 and more").contains("not the journal"));
    assert!(message(b"fsage").contains("header"));
    assert!(message(b"fsagejnl\x07\0\0\0\0\0\0\0").contains("version 7"));
    // A length that the file does not have costs nothing.
    assert!(message(b"fsagejnl\x02\0\0\0\xff\xff\xff\xffabc").contains("header"));
}

/// A file system of its own, unmounted when dropped.
struct Small(tempfile::TempDir);

impl Small {
    fn mount(bytes: u64) -> Option<Small> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "none"])
            .arg(folder.path())
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Small(folder)),
            _ => {
                let _ = writeln!(
                    std::io::stderr(),
                    "skipped: a small tmpfs cannot be mounted without root"
                );
                None
            }
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_leaves_the_journal_as_it_was() {
    let Some(small) = Small::mount(64 << 10) else {
        return;
    };
    let path = small.0.path().join("journal");
    let ballast = small.0.path().join("ballast");
    let mut journal = Journal::create(&path, "run").unwrap();
    journal.progress(100, &[deviation(7)]).unwrap();
    journal.day(0, 101, b"day").unwrap();
    let before = (state(&path), fs::metadata(&path).unwrap().len());
    // Whatever is left, this fills it.
    assert!(fs::write(&ballast, vec![1; 64 << 10]).is_err());

    let many: Vec<_> = (100..2100).map(deviation).collect();
    let error = journal.progress(2100, &many).unwrap_err();
    assert!(matches!(error, JournalError::Full { .. }), "{error:?}");
    assert!(error.to_string().contains("make room"));
    assert_eq!((state(&path), fs::metadata(&path).unwrap().len()), before);
    let error = journal.day(1, 2101, &[0; 9000]).unwrap_err();
    assert!(matches!(error, JournalError::Full { .. }), "{error:?}");
    assert_eq!(state(&path), before.0);

    // With room again, nothing is lost.
    fs::remove_file(&ballast).unwrap();
    journal.day(1, 2101, b"later").unwrap();
    drop(journal);
    let (_, recovered) = Journal::open(&path).unwrap();
    assert_eq!(recovered.events_done, 2101);
    assert_eq!(recovered.deviations.len(), 2001);
    assert_eq!(recovered.days, [&b"day"[..], b"later"]);
}
