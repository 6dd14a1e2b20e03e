//! Profiles of short-lived files, from hand-written workloads: what is in them follows from the definition.

use fsage_core::short_lived::{Profile, ProfileVerb};
use fsage_core::{DirId, Event, FileId, Op, Origin, TQuality};
use fsage_workload::short_lived::{Extractor, ExtractorOptions, Window};

const S: i64 = 1_000_000_000;
const DAY: Window = Window::Day { utc_offset_s: 0 };

fn profiles(window: Window, keep_appends: bool, events: &[(i64, Op, &str)]) -> Vec<Profile> {
    let mut extractor = Extractor::new(ExtractorOptions {
        source: "test".to_owned(),
        window,
        keep_appends,
    });
    for (t_s, op, name) in events {
        let event = Event::new(*op).at(t_s * S).named(name.as_bytes());
        extractor.event(&event.from_source(Origin::Trace, TQuality::Exact));
    }
    extractor.finish()
}

fn mkdir(dir: u64) -> Op {
    Op::Mkdir {
        dir: DirId(dir),
        parent: None,
    }
}

fn create(file: u64, dir: u64, bytes: u64) -> Op {
    Op::Create {
        file: FileId(file),
        dir: DirId(dir),
        bytes,
    }
}

fn append(file: u64, bytes: u64) -> Op {
    Op::Append {
        file: FileId(file),
        bytes,
    }
}

fn delete(file: u64) -> Op {
    Op::Delete { file: FileId(file) }
}

/// Time, verb, file, bytes.
fn ops(profile: &Profile) -> Vec<(i64, &'static str, u64, u64)> {
    let ops = profile.ops.iter();
    ops.map(|op| (op.t_rel_ns / S, op.verb.as_str(), op.local_id, op.bytes))
        .collect()
}

#[test]
fn a_file_has_its_last_size_and_the_directory_it_was_made_in() {
    let events = [
        (10, mkdir(1), "d"),
        (11, create(0, 1, 100), "a"),
        (12, append(0, 50), ""),
        (
            13,
            Op::Rename {
                file: FileId(0),
                dir: DirId(0),
                replaced: None,
            },
            "b",
        ),
        (14, delete(0), ""),
        (15, create(1, 0, 7), "lives"),
    ];
    let found = profiles(DAY, false, &events);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].dir, "/d");
    assert_eq!(found[0].start_ns, S);
    assert_eq!(found[0].names, [Box::from("a")]);
    assert_eq!(ops(&found[0]), [(0, "create", 0, 150), (3, "delete", 0, 0)]);
}

#[test]
fn replacement_is_deletion_and_links_live_until_the_last_name() {
    let events = [
        (0, create(0, 0, 1), "old"),
        (1, create(1, 0, 2), "new"),
        (
            2,
            Op::Link {
                file: FileId(2),
                existing: FileId(1),
                dir: DirId(0),
            },
            "link",
        ),
        (
            3,
            Op::Rename {
                file: FileId(1),
                dir: DirId(0),
                replaced: Some(FileId(0)),
            },
            "old",
        ),
        (4, delete(1), ""),
        (9, delete(2), ""),
    ];
    let found = profiles(Window::Trace, false, &events);
    let expected = [
        (0, "create", 0, 1),
        (1, "create", 1, 2),
        (3, "delete", 0, 0),
        (9, "delete", 1, 0),
    ];
    assert_eq!(ops(&found[0]), expected);
}

#[test]
fn days_end_at_local_midnight() {
    // Made at 23:00 UTC, deleted at 01:00 UTC of the next day.
    let events = [(82_800, create(0, 0, 1), "a"), (90_000, delete(0), "")];
    assert!(profiles(DAY, false, &events).is_empty());
    let east = Window::Day { utc_offset_s: 7200 };
    assert_eq!(profiles(east, false, &events).len(), 1);
    assert_eq!(profiles(Window::Trace, false, &events).len(), 1);
    let next_day = [
        (0, create(0, 0, 1), "x"),
        (90_000, create(1, 0, 1), "b"),
        (90_001, delete(1), ""),
    ];
    assert_eq!(profiles(DAY, false, &next_day)[0].day, 1);
}

#[test]
fn growth_is_kept_on_demand_and_its_sum_is_the_size() {
    let cut = Op::Truncate {
        file: FileId(0),
        bytes: 120,
    };
    let events = [
        (0, create(0, 0, 100), "a"),
        (1, append(0, 50), ""),
        (2, cut, ""),
        (3, append(0, 5), ""),
        (4, delete(0), ""),
    ];
    let found = profiles(DAY, true, &events);
    let expected = [
        (0, "create", 0, 100),
        (1, "append", 0, 20),
        (3, "append", 0, 5),
        (4, "delete", 0, 0),
    ];
    assert_eq!(ops(&found[0]), expected);
    assert_eq!(profiles(DAY, false, &events)[0].bytes(), found[0].bytes());
}

#[test]
fn files_from_before_are_not_short_lived() {
    let mut extractor = Extractor::new(ExtractorOptions {
        source: String::new(),
        window: Window::Trace,
        keep_appends: false,
    });
    let before = Event::new(create(0, 0, 1)).at(0);
    extractor.event(&before.from_source(Origin::Initial, TQuality::Bounded));
    extractor.event(&Event::new(delete(0)).at(1));
    assert!(extractor.finish().is_empty());
}

#[test]
fn clocks_that_go_back_keep_every_profile_in_order() {
    let events = [
        (100, create(0, 0, 1), "a"),
        (50, append(0, 1), ""),
        (40, delete(0), ""),
        (10, create(1, 0, 1), "b"),
        (200, delete(1), ""),
    ];
    for profile in profiles(Window::Trace, true, &events) {
        assert!(profile.ops.is_sorted_by_key(|op| op.t_rel_ns));
        let of = |verb| profile.ops.iter().filter(move |op| op.verb == verb).count();
        assert_eq!(of(ProfileVerb::Create), of(ProfileVerb::Delete));
    }
}
