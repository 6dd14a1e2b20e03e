//! Free space by length of run, and whether an extent of 1 MiB can still be placed.

use super::decay::by_day;
use super::names;
use super::subject::{Group, Over, Subject};
use crate::days::DayRow;
use fsage_data::table::RunClass;
use fsage_metrics::{Metric, free_space};
use fsage_report::charts::Stack;
use fsage_report::{Axis, Cell, DataTable, Exhibit, Format, Section, Sheet, Stacks};

/// Lengths of runs, from good to bad: from how many bytes, and in words.
const LENGTHS: [(u64, &str); 5] = [
    (64 << 20, "64 MiB or more"),
    (1 << 20, "1 to 64 MiB"),
    (64 << 10, "64 KiB to 1 MiB"),
    (4 << 10, "4 to 64 KiB"),
    (0, "less than 4 KiB"),
];

/// What is free but in no run: dead blocks of a log, which its cleaner has to collect first.
const NOT_COLLECTED: &str = "dead blocks, not cleaned yet";

/// Parts of a bar: runs by length, and what is in no run.
const PARTS: usize = LENGTHS.len() + 1;

/// The section; none where no target tells its free space.
pub fn section(group: &Group) -> Option<Section> {
    let mut exhibits = Vec::new();
    exhibits.extend(classes(group));
    exhibits.extend(by_day(
        group,
        "room-for-1m",
        "Room for extents of 1 MiB by day",
        "How many extents of 1 MiB could be placed in the free space as it is. At 0 no file can get a whole MiB in one \
         piece any more.",
        Axis {
            label: "extents of 1 MiB".to_owned(),
            from_zero: true,
            ..Axis::default()
        },
        |day| day.value(&free_space::PLACEABLE_1M),
    ));
    exhibits.extend(table(group));
    (!exhibits.is_empty()).then(|| Section {
        id: format!("free-space{}", group.suffix),
        title: group.titled("Free space"),
        lead: "Whether large files can still be laid out well: free space in long runs takes them in one piece, free \
               space in short runs breaks them."
            .to_owned(),
        exhibits,
    })
}

fn classes(group: &Group) -> Option<Exhibit> {
    let mut stacks = Vec::new();
    for subject in &group.subjects {
        let is_log = names::is_log(&subject.spec);
        let aged = subject.lives.iter().filter_map(|life| life.last());
        stacks.extend(stack(subject.name.clone(), aged, is_log));
        let control = subject
            .lives
            .iter()
            .filter_map(|life| life.control.as_ref());
        stacks.extend(stack(format!("{}, control", subject.name), control, is_log));
    }
    let mut uncollected = stacks.iter().filter_map(|s| s.parts.get(LENGTHS.len()));
    if !uncollected.any(|(_, share)| *share > 0.0) {
        for stack in &mut stacks {
            stack.parts.truncate(LENGTHS.len());
        }
    }
    let chart = Stacks {
        id: format!("free-space-by-length{}", group.suffix),
        title: "Free space by length of run, at the end".to_owned(),
        description: "Shares of all free bytes. The control holds the same files, freshly written."
            .to_owned(),
        value: Axis {
            label: "free space".to_owned(),
            format: Format::Percent,
            from_zero: true,
            ..Axis::default()
        },
        stacks,
    };
    (!chart.stacks.is_empty()).then(|| Exhibit::Chart(chart.into_chart()))
}

/// Mean shares over the layouts that have free space.
fn stack<'a>(name: String, days: impl Iterator<Item = &'a DayRow>, is_log: bool) -> Option<Stack> {
    let shares: Vec<[f64; PARTS]> = days
        .filter_map(|day| {
            shares(
                &day.free_by_length,
                day.count(&free_space::BYTES).filter(|_| is_log),
            )
        })
        .collect();
    let names = LENGTHS.iter().map(|(_, length)| *length);
    let parts = names.chain([NOT_COLLECTED]).enumerate().map(|(i, part)| {
        let over = Over::of(shares.iter().map(|shares| shares[i]));
        (part.to_owned(), over.map_or(0.0, |over| over.mean))
    });
    (!shares.is_empty()).then(|| Stack {
        name,
        parts: parts.collect(),
    })
}

/// The share of free bytes in runs of each length, and, where all that is free is given, in none.
fn shares(runs: &[RunClass], free_bytes: Option<u64>) -> Option<[f64; PARTS]> {
    let mut bytes = [0.0; PARTS];
    for run in runs {
        let length = LENGTHS
            .iter()
            .position(|(least, _)| run.min_bytes >= *least);
        bytes[length?] += run.bytes as f64;
    }
    let in_runs: f64 = bytes.iter().sum();
    let free = free_bytes.map_or(in_runs, |free| in_runs.max(free as f64));
    bytes[LENGTHS.len()] = free - in_runs;
    let all: f64 = bytes.iter().sum();
    (all > 0.0).then(|| bytes.map(|bytes| bytes / all))
}

fn table(group: &Group) -> Option<Exhibit> {
    let mut data = DataTable::new(&[
        "target",
        "state",
        "free bytes",
        "runs",
        "longest run (bytes)",
        "room for 64 KiB",
        "room for 1 MiB",
        "room for 64 MiB",
    ]);
    for subject in &group.subjects {
        data.rows.extend(row(subject, "aged", |value| {
            subject.at_end(|day| day.value(value))
        }));
        data.rows.extend(row(subject, "control", |value| {
            subject.of_control(|day| day.value(value))
        }));
    }
    (!data.rows.is_empty()).then(|| {
        Exhibit::Table(Sheet {
            id: format!("free-space-table{}", group.suffix),
            title: "Free space at the end".to_owned(),
            description: "How many extents of each length could be placed: over all runs, how often it fits. Free \
                          bytes that are in no run cannot be written before they are cleaned, as the dead blocks of a \
                          log."
                .to_owned(),
            data,
        })
    })
}

fn row(
    subject: &Subject,
    state: &str,
    mean: impl Fn(&Metric) -> Option<Over>,
) -> Option<Vec<Cell>> {
    let values = [
        &free_space::BYTES,
        &free_space::RUNS,
        &free_space::LARGEST_RUN_BYTES,
        &free_space::PLACEABLE_64K,
        &free_space::PLACEABLE_1M,
        &free_space::PLACEABLE_64M,
    ];
    mean(values[0])?;
    let mut cells = vec![subject.name.as_str().into(), state.into()];
    cells.extend(values.map(|value| Cell::from(mean(value).map(|over| over.mean))));
    Some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_sorted_into_five_classes() {
        let run = |min_bytes, bytes| RunClass {
            min_bytes,
            runs: 1,
            bytes,
        };
        // By hand: 10 + 10 of 100 bytes below 64 KiB, 30 below 1 MiB, 50 from 64 MiB.
        let runs = [
            run(0, 10),
            run(4096, 10),
            run(512 << 10, 30),
            run(64 << 20, 50),
        ];
        assert_eq!(shares(&runs, None), Some([0.5, 0.0, 0.3, 0.1, 0.1, 0.0]));
        assert_eq!(shares(&[], None), None);
        assert_eq!(
            shares(&[run(0, 0)], Some(0)),
            None,
            "a full disk has no shares"
        );
        // A log with as many dead bytes in its segments as it has in clean ones.
        let log = shares(&runs, Some(200));
        assert_eq!(log, Some([0.25, 0.0, 0.15, 0.05, 0.05, 0.5]));
    }

    #[test]
    fn what_tells_no_free_space_has_no_section() {
        let subject = Subject {
            lives: vec![super::super::subject::Life {
                days: vec![DayRow::default()],
                ..Default::default()
            }],
            ..Subject::default()
        };
        let group = Group {
            subjects: vec![subject],
            ..Group::default()
        };
        assert!(section(&group).is_none());
    }
}
