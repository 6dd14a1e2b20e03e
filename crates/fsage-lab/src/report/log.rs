//! Logs: how full their segments are, and what their cleaner costs.

use super::decay::by_day;
use super::subject::{Group, Life, Over, Subject};
use crate::days::DayRow;
use fsage_data::table::RunClass;
use fsage_metrics::{Metric, log};
use fsage_report::charts::Stack;
use fsage_report::{Axis, DataTable, Exhibit, Format, Section, Sheet, Stacks};

/// Segments by how much of them is alive, from those that can be written at once to those that cost most to clean.
const CLASSES: [&str; 5] = [
    "clean",
    "below 20 % live",
    "20 to 50 %",
    "50 to 80 %",
    "80 % or more",
];

/// The section; none where no target is a log.
pub fn section(group: &Group) -> Option<Section> {
    let subjects = group.subjects.iter();
    let logs = Group {
        subjects: subjects
            .filter(|subject| subject.at_end(segments).is_some())
            .cloned()
            .collect(),
        ..group.clone()
    };
    if logs.subjects.is_empty() {
        return None;
    }
    let mut exhibits = vec![by_live_share(&logs)];
    exhibits.extend(by_day(
        &logs,
        "write-cost",
        "Write cost by day",
        "Bytes that the log and its cleaner write, and those that the cleaner reads, for a byte written anew. 1 is a \
         log that never cleans.",
        Axis {
            label: "write cost".to_owned(),
            ..Axis::default()
        },
        |day| day.value(&log::WRITE_COST),
    ));
    exhibits.extend(by_day(
        &logs,
        "live-share",
        "Live share by day",
        "Live bytes as a share of all segments: the fuller the log, the more its cleaner must carry along.",
        Axis {
            label: "live share".to_owned(),
            format: Format::Percent,
            from_zero: true,
            ..Axis::default()
        },
        |day| day.value(&log::LIVE_SHARE),
    ));
    exhibits.push(table(&logs));
    Some(Section {
        id: format!("log{}", group.suffix),
        title: group.titled("Log and cleaner"),
        lead: "A log writes everything behind one another, and pays later: its cleaner reads segments, writes what is \
               alive of them again, and so makes room."
            .to_owned(),
        exhibits,
    })
}

fn segments(day: &DayRow) -> Option<f64> {
    day.value(&log::SEGMENTS)
}

fn by_live_share(logs: &Group) -> Exhibit {
    let stacks = logs.subjects.iter().map(|subject| {
        let shares: Vec<[f64; CLASSES.len()]> = subject
            .lives
            .iter()
            .filter_map(|l| shares(l.last()?))
            .collect();
        let parts = CLASSES.iter().enumerate().map(|(i, class)| {
            let over = Over::of(shares.iter().map(|shares| shares[i]));
            ((*class).to_owned(), over.map_or(0.0, |over| over.mean))
        });
        Stack {
            name: subject.name.clone(),
            parts: parts.collect(),
        }
    });
    let chart = Stacks {
        id: format!("segments{}", logs.suffix),
        title: "Segments by live share, at the end".to_owned(),
        description: "Shares of all segments. A good cleaner leaves segments that are nearly empty or nearly full."
            .to_owned(),
        value: Axis {
            label: "segments".to_owned(),
            format: Format::Percent,
            from_zero: true,
            ..Axis::default()
        },
        stacks: stacks.collect(),
    };
    Exhibit::Chart(chart.into_chart())
}

/// The share of segments in each class.
fn shares(day: &DayRow) -> Option<[f64; CLASSES.len()]> {
    let mut segments = [0.0; CLASSES.len()];
    segments[0] = day.value(&log::CLEAN_SEGMENTS)?;
    let tenths: &[RunClass] = &day.segments_by_live_bytes;
    for (tenth, class) in tenths.iter().enumerate() {
        let at = match tenth {
            0..2 => 1,
            2..5 => 2,
            5..8 => 3,
            _ => 4,
        };
        segments[at] += class.runs as f64;
    }
    let all: f64 = segments.iter().sum();
    (all > 0.0).then(|| segments.map(|count| count / all))
}

fn table(logs: &Group) -> Exhibit {
    let mut data = DataTable::new(&[
        "target",
        "segments",
        "clean at the end",
        "written anew (bytes)",
        "written by the cleaner (bytes)",
        "read by the cleaner (bytes)",
        "segments cleaned",
        "write cost of all days",
        "the log came to its end on day",
    ]);
    for subject in &logs.subjects {
        let all = |metric: &Metric| {
            subject.over(|life| Some(life.total(|day| day.count(metric).unwrap_or(0)) as f64))
        };
        let mean = |over: Option<Over>| over.map(|over| over.mean);
        data.rows.push(vec![
            subject.name.as_str().into(),
            mean(subject.at_end(segments)).into(),
            mean(subject.at_end(|day| day.value(&log::CLEAN_SEGMENTS))).into(),
            mean(all(&log::NEW_BYTES)).into(),
            mean(all(&log::CLEANER_WRITTEN_BYTES)).into(),
            mean(all(&log::CLEANER_READ_BYTES)).into(),
            mean(all(&log::CLEANED_SEGMENTS)).into(),
            mean(subject.over(write_cost)).into(),
            ended(subject).into(),
        ]);
    }
    Exhibit::Table(Sheet {
        id: format!("log-table{}", logs.suffix),
        title: "What the log and its cleaner moved".to_owned(),
        description: "Over all days. A log that came to its end has no segment left to write to, and its cleaner \
                      finds none that it could empty."
            .to_owned(),
        data,
    })
}

/// All bytes moved for a byte written anew, over all days.
fn write_cost(life: &Life) -> Option<f64> {
    let total = |metric: &Metric| life.total(|day| day.count(metric).unwrap_or(0)) as f64;
    let new = total(&log::NEW_BYTES);
    let cleaner = total(&log::CLEANER_WRITTEN_BYTES) + total(&log::CLEANER_READ_BYTES);
    (new > 0.0).then(|| (new + cleaner) / new)
}

/// The first day, counted from 1, on which a log of this target had come to its end.
fn ended(subject: &Subject) -> Option<f64> {
    let days = subject.lives.iter().filter_map(|life| {
        let ended = life
            .days
            .iter()
            .find(|day| day.count(&log::ENDED) == Some(1))?;
        Some(ended.day + 1)
    });
    days.min().map(|day| day as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments: one clean, and one in each tenth but the last.
    fn day() -> DayRow {
        let class = |tenth: u64| RunClass {
            min_bytes: tenth * 100,
            runs: u64::from(tenth < 9),
            bytes: 0,
        };
        DayRow {
            segments_by_live_bytes: (0..10).map(class).collect(),
            ..DayRow::default()
        }
        .with(&log::SEGMENTS, 10)
        .with(&log::CLEAN_SEGMENTS, 1)
        .with(&log::NEW_BYTES, 400)
        .with(&log::CLEANER_WRITTEN_BYTES, 100)
        .with(&log::CLEANER_READ_BYTES, 300)
    }

    #[test]
    fn segments_stand_in_the_class_of_their_live_share() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        let shares = shares(&day()).expect("a log");
        let expected = [0.1, 0.2, 0.3, 0.3, 0.1];
        assert!(
            shares.iter().zip(expected).all(|(a, b)| near(*a, b)),
            "{shares:?}"
        );
        assert_eq!(super::shares(&DayRow::default()), None);
    }

    #[test]
    fn what_a_cleaner_moves_is_paid_by_what_is_new() {
        let ended = DayRow {
            day: 1,
            ..day().with(&log::ENDED, 1)
        };
        let life = Life {
            days: vec![day(), ended],
            ..Life::default()
        };
        // (800 + 200 + 600) / 800.
        assert_eq!(write_cost(&life), Some(2.0));
        let subject = Subject {
            lives: vec![life],
            ..Subject::default()
        };
        assert_eq!(super::ended(&subject), Some(2.0));
        let group = Group {
            subjects: vec![subject, Subject::default()],
            ..Group::default()
        };
        let section = section(&group).expect("a log");
        let Some(Exhibit::Table(table)) = section.exhibits.last() else {
            panic!("a table stands last");
        };
        assert_eq!(table.data.rows.len(), 1, "what is no log is left out");
    }
}
