//! Small workloads whose repetition is known by hand.

use super::random::{DAY, HOUR};
use super::repeat;
use fsage_core::{DirId, Event, EventSink, FileId, Op, Origin, TQuality, WorkloadHeader};
use fsage_workload::repeat::{Repeat, RepeatError, days_of_years};

fn create(file: u64, dir: u64, bytes: u64) -> Event {
    Event::new(Op::Create {
        file: FileId(file),
        dir: DirId(dir),
        bytes,
    })
}

fn delete(file: u64) -> Event {
    Event::new(Op::Delete { file: FileId(file) })
}

fn mkdir(dir: u64, parent: u64) -> Event {
    Event::new(Op::Mkdir {
        dir: DirId(dir),
        parent: Some(DirId(parent)),
    })
}

fn day(n: i64) -> Event {
    Event::day(&n.to_string()).at((n + 1) * DAY - HOUR)
}

/// What was added, a word an operation, with the hour of its day.
fn added(events: &[Event], days: u64) -> Vec<String> {
    let (all, _) = repeat(events, days, 1).unwrap();
    let lines = all[events.len()..].iter().map(|e| {
        let hour = e.t_ns.unwrap().rem_euclid(DAY) / HOUR;
        let name = String::from_utf8_lossy(e.name.as_deref().unwrap_or_default());
        let what = match e.op {
            Op::Mkdir { dir, parent } => format!("mkdir {dir} {}", parent.unwrap()),
            Op::Rmdir { dir } => format!("rmdir {dir}"),
            Op::Create { file, dir, bytes } => format!("create {file} {dir} {bytes}"),
            Op::Append { file, bytes } => format!("append {file} {bytes}"),
            Op::Rewrite { file, bytes } => format!("rewrite {file} {bytes}"),
            Op::Overwrite { file, range } => format!("overwrite {file} {range:?}"),
            Op::Delete { file } => format!("delete {file}"),
            Op::Day => "day".to_owned(),
            other => panic!("{other:?}"),
        };
        format!("{hour}h {what} {name}").trim_end().to_owned()
    });
    lines.collect()
}

/// Files of 10, 20, ... KB in directories 1 and 2, and so much more that they hardly count; block size 1 KB.
fn initial() -> Vec<Event> {
    let large = create(21, 0, 100 << 20).at(0);
    let mut events = vec![mkdir(1, 0).at(0), mkdir(2, 0).at(0), large];
    for n in 1..=10 {
        events.push(create(n, 1, n * 10_240).at(0));
        events.push(create(n + 10, 2, n * 10_240).at(0));
    }
    for event in &mut events {
        *event = event
            .clone()
            .from_source(Origin::Initial, TQuality::Exact)
            .named(b"a name");
    }
    events.push(day(0));
    events
}

#[test]
fn a_file_of_the_day_stays_one_of_the_day() {
    let mut events = initial();
    events.push(create(30, 1, 5).at(DAY + 3 * HOUR));
    let append = Op::Append {
        file: FileId(30),
        bytes: 9,
    };
    events.push(Event::new(append).at(DAY + 4 * HOUR));
    events.push(delete(30).at(DAY + 5 * HOUR));
    events.push(day(1));
    assert_eq!(
        added(&events, 2),
        [
            "3h create 31 1 5 .repeat-31",
            "4h append 31 9",
            "5h delete 31",
            "23h day 2009-03-24",
            "3h create 32 1 5 .repeat-32",
            "4h append 32 9",
            "5h delete 32",
            "23h day 2009-03-25",
        ]
    );
}

#[test]
fn other_files_are_those_of_the_same_directory_and_nearest_size() {
    let mut events = initial();
    // 50 KB of directory 2 go and come; then 40 and 60 KB are nearest, and 60 KB is not the oldest.
    events.push(delete(15).at(DAY + HOUR));
    events.push(create(30, 2, 50_000).at(DAY + 2 * HOUR));
    let rewrite = Op::Rewrite {
        file: FileId(3),
        bytes: 30_000,
    };
    events.push(Event::new(rewrite).at(DAY + 3 * HOUR));
    let range = Some((10_000, 20_000));
    let file = FileId(3);
    events.push(Event::new(Op::Overwrite { file, range }).at(DAY + 4 * HOUR));
    events.push(day(1));
    assert_eq!(
        added(&events, 1),
        [
            "1h delete 30", // 50,000 is nearest to 51,200
            "2h create 31 2 50000 .repeat-31",
            "3h rewrite 3 30000",
            "4h overwrite 3 Some((10000, 20000))",
            "23h day 2009-03-24",
        ]
    );
}

#[test]
fn new_directories_are_made_anew_and_what_is_in_them_follows() {
    let mut events = initial();
    events.push(mkdir(7, 1).named(b"seven").at(DAY + HOUR));
    events.push(create(30, 7, 1).at(DAY + HOUR));
    events.push(mkdir(8, 7).at(DAY + HOUR));
    events.push(day(1));
    assert_eq!(
        added(&events, 1),
        [
            "1h mkdir 31 1 .repeat-31",
            "1h create 32 31 1 .repeat-32",
            "1h mkdir 33 31 .repeat-33",
            "23h day 2009-03-24",
        ]
    );
    // Removed on a later day: the repetition then removes one of its own, when that is empty.
    let events = [
        &events[..events.len() - 1],
        &[
            delete(30).at(DAY + 2 * HOUR),
            Event::new(Op::Rmdir { dir: DirId(8) }).at(DAY + 2 * HOUR),
            Event::new(Op::Rmdir { dir: DirId(7) }).at(DAY + 3 * HOUR),
            day(1),
        ],
    ]
    .concat();
    assert_eq!(
        added(&events, 1),
        [
            "1h mkdir 31 1 .repeat-31",
            "1h create 32 31 1 .repeat-32",
            "1h mkdir 33 31 .repeat-33",
            "2h delete 32",
            "2h rmdir 33",
            "3h rmdir 31",
            "23h day 2009-03-24",
        ]
    );
}

#[test]
fn a_day_repeats_one_of_the_same_weekday() {
    let mut events = initial();
    for n in 1..=28 {
        // On the n-th day after Sunday at n hours modulo 7.
        let t = n * DAY + (n % 7) * HOUR;
        events.push(create(100 + n as u64, 1, 1).at(t));
        events.push(delete(100 + n as u64).at(t));
        events.push(day(n));
    }
    let lines = added(&events, 70);
    let creates = lines.iter().filter(|l| l.contains("create"));
    for (n, line) in creates.enumerate() {
        let weekday = (29 + n) % 7;
        assert!(line.starts_with(&format!("{weekday}h ")), "{n}: {line}");
    }
    assert_eq!(lines.len(), 3 * 70);
}

#[test]
fn a_date_without_a_day_of_its_own_is_a_day_too() {
    let mut events = initial();
    // Nothing is done on the first Monday; the operations of Tuesday are those of the 24 hours before its `day`.
    events.push(create(30, 1, 1).at(2 * DAY + HOUR));
    events.push(delete(30).at(2 * DAY + HOUR));
    events.push(day(2));
    // Six more days, and the week repeats.
    let lines = added(&events, 7);
    let (wednesday, rest) =
        lines.split_at(lines.iter().position(|l| l.contains("day")).unwrap() + 1);
    assert!(!wednesday.is_empty());
    let days: Vec<&[String]> = rest.split(|l| l.contains("day")).collect();
    // Wednesday to Sunday are drawn from any day; Monday is idle and Tuesday is not.
    assert_eq!(days[4].len(), 0, "{lines:?}");
    assert_eq!(days[5].len(), 2, "{lines:?}");
}

#[test]
fn names_of_the_workload_are_left_alone() {
    let mut events = initial();
    events.push(create(30, 1, 1).named(b".repeat-31").at(DAY));
    events.push(create(29, 1, 1).named(b".repeat-33").at(DAY));
    events.push(day(1));
    let lines = added(&events, 1);
    assert_eq!(lines[0], "0h create 32 1 1 .repeat-32");
    assert_eq!(lines[1], "0h create 34 1 1 .repeat-34");
}

#[test]
fn what_cannot_be_repeated_says_why() {
    let none = repeat(&[create(1, 0, 1).at(0)], 1, 1);
    assert!(matches!(none, Err(RepeatError::NoDays)));
    let only_initial = repeat(&initial(), 1, 1);
    assert!(matches!(only_initial, Err(RepeatError::NoDays)));
    let mut out = Vec::new();
    let mut timeless = Repeat::new(&WorkloadHeader::default(), 1, &mut out);
    let problem = timeless.event(Event {
        line: 3,
        ..create(1, 0, 1)
    });
    let problem = problem.unwrap_err().to_string();
    assert!(problem.starts_with("line 3: "), "{problem}");
    let late = [create(1, 0, 1).at(i64::MAX), Event::day("0")];
    assert!(matches!(
        repeat(&late, 1, 1),
        Err(RepeatError::TooLarge("times"))
    ));
    let large = [create(u64::MAX, 0, 1).at(0), Event::day("0")];
    assert!(matches!(
        repeat(&large, 1, 1),
        Err(RepeatError::TooLarge("ids"))
    ));
    assert_eq!(days_of_years(2.0), Some(731)); // 730.5
    assert_eq!(days_of_years(0.5), Some(183)); // 182.625
    assert_eq!(days_of_years(-1.0), None);
    assert_eq!(days_of_years(f64::NAN), None);
    assert_eq!(days_of_years(1e300), None);
}
