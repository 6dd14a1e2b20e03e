//! Flash: where the pages of files lie on dies and in flash pages, and what the life of the device cost.

use super::subject::{Group, Life, Over, Subject};
use super::words::list;
use crate::benching::State;
use crate::benching::causes::{self, CauseRow, CauseTime, SHARES, Split};
use crate::benching::flash::{FlashRow, VALUES, Value};
use fsage_bench::FlashFacts;
use fsage_report::chart::size_text;
use fsage_report::charts::{Point, Series};
use fsage_report::{Axis, Cell, DataTable, Exhibit, Lines, Section, Sheet};
use std::collections::BTreeSet;

/// The section; none where nothing was benchmarked on flash.
pub fn section(group: &Group) -> Option<Section> {
    let devices: BTreeSet<String> = rows(&group.subjects)
        .map(|row| row.device.clone())
        .collect();
    let mut exhibits = Vec::new();
    for (at, device) in devices.iter().enumerate() {
        exhibits.extend(
            VALUES
                .iter()
                .filter_map(|value| by_day(group, (at, device), value)),
        );
    }
    (!devices.is_empty()).then(|| {
        exhibits.push(table(group, &devices));
        exhibits.extend(losses(group));
        Section {
            id: format!("flash{}", group.suffix),
            title: group.titled("Flash"),
            lead: "A flash device deals pages to dies in the order in which they are written, and reads that meet on \
                   one die wait for each other. The device of the aged file system has lived its life too; that of the \
                   control was written once, in the order of addresses."
                .to_owned(),
            exhibits,
        }
    })
}

fn rows(subjects: &[Subject]) -> impl Iterator<Item = &FlashRow> {
    let lives = subjects.iter().flat_map(|subject| &subject.lives);
    lives.flat_map(|life| &life.flash)
}

/// A value by day, a curve each target; none where only the end is known.
fn by_day(group: &Group, (at, device): (usize, &str), value: &Value) -> Option<Exhibit> {
    let series = group.subjects.iter().map(|subject| Series {
        name: subject.name.clone(),
        target: subject.place,
        dashed: false,
        points: points(subject, device, value.of),
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    let lines = Lines {
        id: format!("{}-{}{}", value.id.replace('_', "-"), at + 1, group.suffix),
        title: format!("{device}: {} by day", value.title),
        description: value.doc.to_owned(),
        x: Axis {
            label: "day".to_owned(),
            ..Axis::default()
        },
        y: Axis {
            label: value.title.to_owned(),
            // Write amplification is 1 for long; balance and use are shares whose differences count.
            from_zero: !value.is_more_better,
            ..Axis::default()
        },
        series,
        ..Lines::default()
    };
    (!lines.series.is_empty()).then(|| Exhibit::Chart(lines.into_chart()))
}

fn points(subject: &Subject, device: &str, value: fn(&FlashFacts) -> f64) -> Vec<Point> {
    let rows = || {
        rows(std::slice::from_ref(subject))
            .filter(|row| row.state == State::Aged && row.device == device)
    };
    let days: BTreeSet<u32> = rows().filter_map(|row| row.day).collect();
    let points = days.into_iter().map(|day| {
        let of_day = rows().filter(|row| row.day == Some(day));
        let over = Over::of(of_day.map(|row| value(&row.facts)));
        Point {
            x: day.into(),
            y: over.map(|over| over.mean),
            interval: over.and_then(|over| over.interval()),
        }
    });
    points.collect()
}

/// How it stood when benchmarks began: the mean over lives.
fn table(group: &Group, devices: &BTreeSet<String>) -> Exhibit {
    let mut data = DataTable::new(&[
        "device",
        "target",
        "state",
        "die balance",
        "page use",
        "write amplification",
    ]);
    for device in devices {
        for subject in &group.subjects {
            for state in [State::Aged, State::Control, State::Empty] {
                let of_state = rows(std::slice::from_ref(subject))
                    .filter(|row| row.day.is_none() && row.state == state && row.device == *device);
                let facts: Vec<FlashFacts> = of_state.map(|row| row.facts).collect();
                if facts.is_empty() {
                    continue;
                }
                let mut row: Vec<Cell> = vec![
                    device.as_str().into(),
                    subject.name.as_str().into(),
                    state.as_str().into(),
                ];
                row.extend(VALUES.iter().map(|value| {
                    let over = Over::of(facts.iter().map(value.of));
                    Cell::from(over.map(|over| over.mean))
                }));
                data.rows.push(row);
            }
        }
    }
    Exhibit::Table(Sheet {
        id: format!("flash-table{}", group.suffix),
        title: "Flash, when the benchmarks began".to_owned(),
        description: "From the page map of the device alone, without time; over windows of 1 MB in the order of files."
            .to_owned(),
        data,
    })
}

/// What a loss is known by.
type Phase<'a> = (&'a str, &'a str, &'a str, Option<u64>);

/// Losses below this, in percent of the time of the control, are no question.
const LITTLE: f64 = 2.0;
/// So many losses are said, the largest first, and so many causes of each.
const SAID: usize = 4;
const CAUSES: usize = 3;

/// What the largest losses on flash are due to, where they were split: a sentence.
pub(super) fn causes_of_losses(group: &Group) -> Option<String> {
    let mut losses: Vec<(f64, String)> = Vec::new();
    for phase in phases(group) {
        for subject in &group.subjects {
            let splits = splits(subject, phase);
            let mean = |of: &dyn Fn(&Split) -> f64| Some(Over::of(splits.iter().map(of))?.mean);
            let loss = mean(&|split| split.percent(split.loss_ns()));
            let Some(loss) = loss.filter(|&loss| loss >= LITTLE) else {
                continue;
            };
            let shares = causes::names().enumerate().filter_map(|(share, name)| {
                Some((mean(&|split| split.percent(split.shares_ns[share]))?, name))
            });
            let mut shares: Vec<(f64, &str)> = shares.filter(|(of, _)| *of >= 0.1).collect();
            shares.sort_by(|(one, _), (other, _)| other.total_cmp(one));
            let shares = shares.iter().take(CAUSES);
            let shares: Vec<String> = shares.map(|(of, name)| format!("{name} {of:.1}")).collect();
            let (_, suite, name, file_bytes) = phase;
            let of_size =
                file_bytes.map_or_else(String::new, |bytes| format!(" of {}", size_text(bytes)));
            losses.push((
                loss,
                format!(
                    "{} in {suite} {name}{of_size} {loss:.1} % ({})",
                    subject.name,
                    shares.join(", ")
                ),
            ));
        }
    }
    losses.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let said: Vec<String> = losses
        .into_iter()
        .take(SAID)
        .map(|(_, text)| text)
        .collect();
    (!said.is_empty()).then(|| {
        format!(
            "What age costs on flash, in time of the control, and in brackets by what: {}.",
            list(&said)
        )
    })
}

/// What losses were split of, in the order they were measured.
fn phases(group: &Group) -> Vec<Phase<'_>> {
    let mut phases: Vec<Phase> = Vec::new();
    let lives = group.subjects.iter().flat_map(|subject| &subject.lives);
    for row in lives.flat_map(|life| &life.causes) {
        let phase = phase_of(row);
        if !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    phases
}

/// How the losses of a target were split in a phase, life by life.
fn splits(subject: &Subject, phase: Phase<'_>) -> Vec<Split> {
    let split = |life: &Life| {
        let rows = life.causes.iter().filter(|row| phase_of(row) == phase);
        let times: Vec<CauseTime> = rows.map(|row| row.time.clone()).collect();
        causes::splits(&times).pop()
    };
    subject.lives.iter().filter_map(split).collect()
}

/// What aged file systems lose, by causes; none where no loss was split. The mean over lives.
fn losses(group: &Group) -> Option<Exhibit> {
    let mut columns = vec![
        "device",
        "benchmark",
        "phase",
        "size",
        "target",
        "control s",
        "loss %",
    ];
    let names: Vec<String> = causes::names().map(|name| format!("{name} %")).collect();
    columns.extend(names.iter().map(String::as_str));
    columns.extend(["aged MB", "control MB"]);
    let mut data = DataTable::new(&columns);
    for phase in phases(group) {
        for subject in &group.subjects {
            let splits = splits(subject, phase);
            let mean = |of: &dyn Fn(&Split) -> f64| {
                let over = Over::of(splits.iter().map(of));
                Cell::from(over.map(|over| over.mean))
            };
            if splits.is_empty() {
                continue;
            }
            let (device, suite, name, file_bytes) = phase;
            let mut row: Vec<Cell> = vec![
                device.into(),
                suite.into(),
                name.into(),
                file_bytes.map_or(Cell::Null, |bytes| size_text(bytes).into()),
                subject.name.as_str().into(),
                mean(&|split| split.control_ns as f64 / 1e9),
                mean(&|split| split.percent(split.loss_ns())),
            ];
            for share in 0..SHARES {
                row.push(mean(&|split| split.percent(split.shares_ns[share])));
            }
            row.push(mean(&|split| split.aged.bytes() as f64 / 1e6));
            row.push(mean(&|split| split.control.bytes() as f64 / 1e6));
            data.rows.push(row);
        }
    }
    if data.rows.iter().all(|row| row[3] == Cell::Null) {
        data.columns.remove(3);
        for row in &mut data.rows {
            row.remove(3);
        }
    }
    let sheet = Sheet {
        id: format!("flash-causes{}", group.suffix),
        title: "What aged file systems lose on flash, and why".to_owned(),
        description: "How much longer the aged file system takes, and what of it goes when a cause is taken away from \
                      device and host, one after the other from left to right; all in % of the time of the control. \
                      What is left without all of them is the rest: other requests, for more or other data. MB are \
                      all that went to and from the device, metadata and what a cleaner copies among them. A share \
                      is below 0 where the control owes more to the cause."
            .to_owned(),
        data,
    };
    (!sheet.data.rows.is_empty()).then_some(Exhibit::Table(sheet))
}

fn phase_of(row: &CauseRow) -> Phase<'_> {
    (
        &row.device,
        &row.suite,
        &row.time.phase,
        row.time.file_bytes,
    )
}
