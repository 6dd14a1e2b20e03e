//! Workloads made longer and larger: whatever the workload is, what comes out can be done, is the same every
//! time, and keeps what was promised. A naive file system does it.

mod examples;
mod random;
mod scale;

use crate::replay::Replay;
use fsage_core::{Event, EventSink, Op, Origin, TQuality, WorkloadHeader};
use fsage_workload::repeat::{Repeat, RepeatError, RepeatSummary};
use random::{DAY, Style, workload};

/// 2009-03-22 was a Sunday (`date -u -d @1237680000`).
const SUNDAY_S: i64 = 1_237_680_000;

fn header() -> WorkloadHeader {
    WorkloadHeader {
        epoch_unix_s: Some(SUNDAY_S),
        block_bytes: Some(1024),
        ..WorkloadHeader::default()
    }
}

fn repeat(
    events: &[Event],
    days: u64,
    seed: u64,
) -> Result<(Vec<Event>, RepeatSummary), RepeatError> {
    let mut out = Vec::new();
    let mut repeat = Repeat::new(&header(), seed, &mut out);
    for event in events {
        repeat.event(event.clone()).unwrap();
    }
    let summary = repeat.finish(days, &mut |_| {})?;
    Ok((out, summary))
}

/// Does everything; calls `at_day` with the file system at each `day`.
fn replay(events: &[Event], what: &str, mut at_day: impl FnMut(&Replay, usize)) -> Replay {
    let mut replay = Replay::new();
    for (at, event) in events.iter().enumerate() {
        if let Err(problem) = replay.apply(event) {
            panic!("{what}, event {at} {event:?}: {problem}");
        }
        if event.op == Op::Day {
            at_day(&replay, at);
        }
    }
    replay
}

fn blocks(replay: &Replay) -> u64 {
    let files = replay.files_and_sizes();
    files.iter().map(|(_, size)| size.div_ceil(1024)).sum()
}

fn style(seed: u64) -> Style {
    Style {
        seed,
        days: 3 + seed % 30,
        files: 30 + seed % 7 * 20,
        groups: seed.is_multiple_of(4).then_some(5),
        moves: !seed.is_multiple_of(3),
    }
}

#[test]
fn any_workload_can_be_repeated() {
    for seed in 0..60 {
        let events = workload(style(seed));
        let (all, summary) = repeat(&events, 50, seed).unwrap();
        assert_eq!(all[..events.len()], events, "seed {seed}");
        let added = &all[events.len()..];
        let end = replay(&all, &format!("seed {seed}"), |_, _| {});
        assert_eq!(end.files_and_sizes().len() as u64, summary.live_files.1);
        let days = added.iter().filter(|e| e.op == Op::Day).count();
        assert_eq!((days, summary.days, summary.unfit), (50, 50, 0));
        assert_eq!(summary.operations as usize + days, added.len());
        for event in added {
            assert_eq!(event.origin, Some(Origin::Generated));
            assert_eq!(event.t_quality, Some(TQuality::Random));
        }
        let days = added.iter().filter(|e| e.op == Op::Day);
        for (n, day) in days.enumerate() {
            // Every date once, in order, as `date` has them.
            let name = String::from_utf8(day.name.clone().unwrap().to_vec()).unwrap();
            let date = SUNDAY_S / 86_400 + style(seed).days as i64 + n as i64;
            assert_eq!(name, civil(date), "seed {seed}");
            assert_eq!(day.t_ns.unwrap() / DAY + SUNDAY_S / 86_400, date);
        }
        let (again, _) = repeat(&events, 50, seed).unwrap();
        assert!(again == all, "seed {seed}: not the same twice");
        let (other, _) = repeat(&events, 50, seed + 1000).unwrap();
        assert!(other != all, "seed {seed}: always the same");
    }
}

/// A date by counting days up from 2009-01-01, day 14,245.
fn civil(date: i64) -> String {
    let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let (mut day, mut year, mut month) = (date - 14_245, 2009, 0);
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
        if month == 12 {
            (year, month) = (year + 1, 0);
        }
    }
    format!("{year}-{:02}-{:02}", month + 1, day + 1)
}

#[test]
fn a_repetition_can_be_repeated() {
    let events = workload(style(7));
    let (once, _) = repeat(&events, 20, 1).unwrap();
    let (twice, summary) = repeat(&once, 20, 1).unwrap();
    assert_eq!(summary.unfit, 0);
    replay(&twice, "twice", |_, _| {});
}

#[test]
fn space_in_use_stays_for_years_what_it_was_in_the_last_month() {
    for (seed, groups) in [(1, None), (2, Some(6)), (3, None)] {
        let style = Style {
            seed,
            days: 60,
            files: 1500,
            groups,
            moves: false,
        };
        let events = workload(style);
        let (all, summary) = repeat(&events, 3 * 365, seed).unwrap();
        // The level by the replay: at each date, or at the next one with a `day`.
        let (mut used, mut last) = (Vec::new(), -1);
        replay(&events, "level", |fs, at| {
            let date = events[at].t_ns.unwrap() / DAY;
            used.extend((last..date).map(|_| blocks(fs) * 1024));
            last = date;
        });
        let month = &used[used.len() - 30..];
        let level = month.iter().sum::<u64>() / 30;
        assert_eq!(summary.level_bytes, level, "seed {seed}");
        let before = replay(&events, "before", |_, _| {});
        let dirs_before = before.directory_paths().len();
        let files_before = before.files_and_sizes().len() as u64;
        let days_before = events.iter().filter(|e| e.op == Op::Day).count();
        let (mut worst, mut sum, mut looks) = (0.0_f64, 0.0, 0.0);
        let mut fewest = u64::MAX;
        let mut most = 0;
        let end = replay(&all, &format!("seed {seed}"), |fs, at| {
            // It is reached in a month or two, and then held; looked at about once a week.
            if fs.days as usize > days_before + 60 && at % 7 == 0 {
                let off = (blocks(fs) * 1024) as f64 / level as f64 - 1.0;
                worst = worst.max(off.abs());
                sum += off.abs();
                looks += 1.0;
                let files = fs.files_and_sizes().len() as u64;
                (fewest, most) = (fewest.min(files), most.max(files));
            }
        });
        // The largest file alone may be some percent.
        assert!(
            sum / looks < 0.02,
            "seed {seed}: {sum} off in {looks} looks"
        );
        assert!(worst < 0.05, "seed {seed}: {worst} off, {summary:?}");
        assert!(
            fewest * 3 > files_before * 2 && most * 2 < files_before * 3,
            "seed {seed}: {files_before} files became {fewest} to {most}, {summary:?}"
        );
        let dirs = end.directory_paths().len();
        assert!(
            dirs < 4 * dirs_before,
            "seed {seed}: {dirs} directories, {summary:?}"
        );
    }
}
