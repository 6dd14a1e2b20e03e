//! Copies side by side: expected events by hand from the documentation of `fsage_workload::clones`.

use fsage_core::{
    DirId, Event, EventSource, FileId, Op, Origin, SinkError, TQuality, WorkloadHeader,
};
use fsage_workload::clones::{Clones, ClonesError, ClonesSummary};
use std::collections::{HashMap, HashSet};

const S: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * S;

struct Recorded<'a>(WorkloadHeader, std::slice::Iter<'a, Event>);

impl EventSource for Recorded<'_> {
    fn header(&self) -> &WorkloadHeader {
        &self.0
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        Ok(self.1.next().cloned())
    }
}

fn clone(clones: Clones, events: &[Event]) -> Result<(Vec<Event>, ClonesSummary), ClonesError> {
    let mut out = Vec::new();
    let open = || Ok(Recorded(WorkloadHeader::default(), events.iter()));
    let summary = clones.interleave(open, &mut out)?;
    Ok((out, summary))
}

fn create(file: u64, dir: u64, bytes: u64) -> Event {
    Event::new(Op::Create {
        file: FileId(file),
        dir: DirId(dir),
        bytes,
    })
    .named(b"name")
    .from_source(Origin::Trace, TQuality::Exact)
}

fn history() -> Vec<Event> {
    let mkdir = Event::new(Op::Mkdir {
        dir: DirId(1),
        parent: None,
    });
    let delete = Event::new(Op::Delete { file: FileId(0) });
    vec![
        create(0, 0, 10).at(5 * S),
        mkdir.at(5 * S),
        create(1, 1, 20).at(6 * S),
        Event::day("0").at(6 * S),
        delete.at(3 * DAY),
        create(2, 0, 30).at(2 * DAY), // the clock went back
        Event::day("3").at(2 * DAY),
    ]
}

/// A seed by which two copies are one day apart.
fn a_day_apart() -> Clones {
    (0..1000)
        .map(|seed| Clones::new(2, 3, seed))
        .find(|c| c.shift_days(1) == 1)
        .unwrap()
}

#[test]
fn copies_lie_in_their_own_directories_and_days_are_counted_anew() {
    let (events, summary) = clone(a_day_apart(), &history()).unwrap();
    let lines: Vec<String> = events
        .iter()
        .map(|e| {
            let text = match e.op {
                Op::Mkdir { dir, parent } => format!("mkdir {dir} {}", parent.unwrap()),
                Op::Create { file, dir, bytes } => format!("create {file} {dir} {bytes}"),
                Op::Delete { file } => format!("delete {file}"),
                Op::Day => "day".into(),
                other => panic!("{other:?}"),
            };
            let name = String::from_utf8_lossy(e.name.as_deref().unwrap_or_default());
            format!("@{} {text} {name}", e.t_ns.unwrap() / S)
        })
        .collect();
    assert_eq!(
        lines,
        [
            "@5 mkdir 1 0 clone-1",
            "@5 create 0 1 10 name",
            "@5 mkdir 5 1 ",
            "@6 create 2 5 20 name",
            "@6 day 0",
            "@86405 mkdir 2 0 clone-2",
            "@86405 create 1 2 10 name",
            "@86405 mkdir 6 2 ",
            "@86406 create 3 6 20 name",
            "@86406 day 1",
            "@259200 delete 0 ",
            "@172800 create 4 1 30 name",
            "@259200 day 3",
            "@345600 delete 1 ",
            "@259200 create 5 2 30 name",
            "@345600 day 4",
        ]
    );
    assert_eq!(summary.shifts_days, [0, 1]);
    assert_eq!(
        (
            summary.operations,
            summary.days,
            summary.days_with_operations
        ),
        (12, 5, 4)
    );
}

#[test]
fn times_of_a_copy_that_was_moved_are_no_longer_exact() {
    let (events, _) = clone(a_day_apart(), &history()).unwrap();
    let quality = |file: u64| {
        let made = |e: &&Event| matches!(e.op, Op::Create { file: f, .. } if f == FileId(file));
        events.iter().find(made).unwrap().t_quality
    };
    assert_eq!(quality(0), Some(TQuality::Exact));
    assert_eq!(quality(1), Some(TQuality::Shifted));
}

#[test]
fn many_copies_end_with_many_times_the_files_and_no_id_twice() {
    let clones = Clones::new(7, 100, 3);
    let (events, summary) = clone(clones, &history()).unwrap();
    assert_eq!(events, clone(clones, &history()).unwrap().0);
    assert_eq!(summary.shifts_days.len(), 7);
    let mut dirs = HashSet::from([DirId::ROOT]);
    let mut live = HashMap::new();
    for e in &events {
        match e.op {
            Op::Mkdir { dir, parent } => {
                assert!(dirs.contains(&parent.unwrap()));
                assert!(dirs.insert(dir));
            }
            Op::Create { file, dir, bytes } => {
                assert!(dirs.contains(&dir));
                assert!(live.insert(file, bytes).is_none());
            }
            Op::Delete { file } => assert!(live.remove(&file).is_some()),
            _ => {}
        }
    }
    assert_eq!((live.len(), live.values().sum::<u64>()), (14, 7 * 50));
    assert_eq!(dirs.len(), 1 + 7 + 7);
}

#[test]
fn a_directory_0_of_the_workload_is_no_root() {
    let make = Event::new(Op::Mkdir {
        dir: DirId(0),
        parent: None,
    });
    let (events, _) = clone(a_day_apart(), &[make.at(0), create(0, 0, 1).at(0)]).unwrap();
    let Op::Mkdir { dir, parent } = events[1].op else {
        panic!("{events:?}");
    };
    assert_eq!(parent, Some(DirId(1)));
    assert!(matches!(events[2].op, Op::Create { dir: d, .. } if d == dir && d != DirId(1)));
}

#[test]
fn what_cannot_be_copied_says_why() {
    let clones = a_day_apart();
    let none = Clones { count: 0, ..clones };
    assert!(matches!(
        clone(none, &history()),
        Err(ClonesError::NoClones)
    ));
    assert!(matches!(
        clone(clones, &[create(0, 0, 1)]),
        Err(ClonesError::NoTimes)
    ));
    let late = create(0, 0, 1).at(i64::MAX);
    assert!(matches!(
        clone(clones, &[late]),
        Err(ClonesError::TooLarge("times"))
    ));
    let large = create(u64::MAX, 0, 1).at(0);
    assert!(matches!(
        clone(clones, &[large]),
        Err(ClonesError::TooLarge("file ids"))
    ));
    let endless = Clones::new(2, u64::MAX, clones.seed);
    assert!(matches!(
        clone(endless, &history()),
        Err(ClonesError::TooLarge("times"))
    ));
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        let scaled = Clones::scaled(factor, 1);
        assert!(matches!(scaled, Err(ClonesError::BadFactor(_))), "{factor}");
    }
    let (events, summary) = clone(clones, &[]).unwrap();
    assert_eq!((events.len(), summary.days), (0, 0));
}

/// A trace that leaves a file, and a directory with a file and a directory in it.
fn trace() -> Vec<Event> {
    let mkdir = |dir, parent| {
        Event::new(Op::Mkdir {
            dir: DirId(dir),
            parent: Some(DirId(parent)),
        })
    };
    vec![
        mkdir(1, 0).at(S),
        mkdir(2, 1).at(S),
        create(0, 1, 10).at(2 * S),
        create(1, 2, 20).at(3 * S),
        Event::new(Op::Delete { file: FileId(1) }).at(4 * S),
        create(2, 0, 30).at(5 * S),
    ]
}

#[test]
fn a_repeated_trace_removes_its_oldest_round_before_another_begins() {
    let (events, summary) = clone(Clones::repeated(3, 7, 2), &trace()).unwrap();
    assert_eq!(summary.shifts_days, [0, 7, 14]);
    assert_eq!(summary.days, 15);
    // The third round, by hand: what the first left, files first, then directories from below; then its own.
    let third: Vec<Op> = events
        .iter()
        .filter(|event| event.t_ns >= Some(14 * DAY) && event.op != Op::Day)
        .map(|event| event.op)
        .take(6)
        .collect();
    // Id i of round r of 3 is 3 i + r; directory d is 1 + 3 (d + 1) + r, that of the round 1 + r.
    let (file, dir) = (|id: u64| FileId(3 * id), |id: u64| DirId(1 + 3 * (id + 1)));
    assert_eq!(
        third,
        [
            Op::Delete { file: file(0) },
            Op::Delete { file: file(2) },
            Op::Rmdir { dir: dir(2) },
            Op::Rmdir { dir: dir(1) },
            Op::Rmdir { dir: DirId(1) },
            Op::Mkdir {
                dir: DirId(3),
                parent: Some(DirId::ROOT)
            },
        ]
    );
    let days: Vec<_> = events
        .iter()
        .filter(|event| event.op == Op::Day)
        .map(|event| {
            String::from_utf8_lossy(event.name.as_deref().unwrap_or_default()).into_owned()
        })
        .collect();
    assert_eq!(days.len(), 3, "{days:?}");
}

#[test]
fn a_round_that_is_not_over_is_not_removed() {
    let mut long = trace();
    long.push(create(3, 0, 1).at(2 * DAY));
    let refused = clone(Clones::repeated(3, 1, 1), &long);
    assert!(
        matches!(refused, Err(ClonesError::NotOver(1))),
        "{refused:?}"
    );
    assert!(clone(Clones::repeated(3, 3, 1), &long).is_ok());
    for bad in [Clones::repeated(3, 0, 1), Clones::repeated(3, 1, 0)] {
        assert!(matches!(
            clone(bad, &trace()),
            Err(ClonesError::BadRepetition)
        ));
    }
}

/// What was recorded as one range of a file stays one, and a round is as large as its files are in it.
#[test]
fn rounds_of_other_sizes_do_the_same_within_each_file() {
    let file = FileId(0);
    let mut trace = vec![
        create(0, 0, 1000).at(S),
        Event::new(Op::Append { file, bytes: 500 }).at(2 * S),
        Event::new(Op::Write {
            file,
            offset: 1500,
            bytes: 300,
        })
        .at(3 * S),
        Event::new(Op::Overwrite {
            file,
            range: Some((1000, 800)),
        })
        .at(4 * S),
        create(1, 0, 1).at(5 * S),
    ];
    trace.extend((2..40).map(|id| create(id, 0, 1000).at(6 * S)));
    let rounds = 3;
    let varied = |seed| {
        clone(Clones::repeated(rounds, 1, rounds).varied(10, seed), &trace)
            .unwrap()
            .0
    };
    let ops = |seed, round: u64| -> Vec<Op> {
        let of_round = varied(seed)
            .into_iter()
            .map(|event| event.op)
            .filter(|op| match *op {
                Op::Create { file, .. }
                | Op::Append { file, .. }
                | Op::Write { file, .. }
                | Op::Overwrite { file, .. } => file.0 % rounds == round,
                _ => false,
            });
        of_round.collect()
    };
    let sizes = |seed, round| -> Vec<u64> {
        let made = ops(seed, round).into_iter().filter_map(|op| match op {
            Op::Create { bytes, .. } => Some(bytes),
            _ => None,
        });
        made.collect()
    };
    // The first round is the recorded one.
    assert!(sizes(1, 0)[2..].iter().all(|&bytes| bytes == 1000));
    for round in 1..rounds {
        let [
            Op::Create { bytes: first, .. },
            Op::Append { bytes: second, .. },
            Op::Write {
                offset,
                bytes: third,
                ..
            },
            Op::Overwrite {
                range: Some((from, over)),
                ..
            },
            Op::Create { bytes: one, .. },
            ..,
        ] = ops(1, round)[..]
        else {
            panic!("{:?}", ops(1, round))
        };
        assert_eq!(
            (offset, from, over),
            (first + second, first, second + third)
        );
        assert!(
            (1620..=1980).contains(&(offset + third)),
            "{offset} {third}"
        );
        assert_eq!(one, 1, "a byte stays one");
        let drawn = &sizes(1, round)[2..];
        assert!(
            drawn.iter().all(|bytes| (900..=1100).contains(bytes)),
            "{drawn:?}"
        );
        let (least, most) = (drawn.iter().min(), drawn.iter().max());
        assert!(least < Some(&930) && most > Some(&1070), "{drawn:?}");
    }
    assert_ne!(sizes(1, 1), sizes(1, 2));
    assert_ne!(sizes(1, 1), sizes(2, 1));
    assert_eq!(varied(1), varied(1));
}
