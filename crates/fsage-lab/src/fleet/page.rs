//! The page of a fleet.

use super::alike::TRAITS;
use super::{Facts, Fleet};
use crate::report::words::counted;
use fsage_report::charts::{Point, Series};
use fsage_report::{Axis, Cell, DataTable, Exhibit, Finding, Lines, Report, Section, Sheet, Tone};

/// Curves that one can still tell apart.
const MOST_CURVES: usize = 10;

/// Columns of the table of hosts that are values.
const VALUES: [&str; 9] = [
    "files",
    "file_bytes",
    "created_files_per_day",
    "deleted_files_per_day",
    "changed_share_per_day",
    "used_share",
    "free_bytes_per_day",
    "layout_score",
    "layout_score_per_day",
];

/// What stands on the page.
pub(super) fn of(fleet: &Fleet) -> Report {
    let hosts = fleet.by_decay();
    let snapshots = hosts.iter().map(|host| host.snapshots).sum();
    let left_out = fleet.left_out.iter();
    Report {
        title: counted(hosts.len() as u64, "host"),
        subtitle: format!(
            "{}, {}; {}",
            counted(snapshots, "snapshot"),
            counted(fleet.groups.len() as u64, "group"),
            fleet.build
        ),
        missing: left_out
            .map(|out| format!("{} is left out: {}.", out.host, out.why))
            .collect(),
        verdict: verdict(fleet, &hosts),
        sections: vec![decay(&hosts), all(&hosts), groups(fleet)],
        ..Report::default()
    }
}

/// Slopes of the layout score nearer to none say nothing: a point in a year.
const LEAST_SLOPE: f64 = 0.01 / 365.0;

/// Who decays fastest, who runs full first, and how many kinds of hosts there are.
fn verdict(fleet: &Fleet, hosts: &[&Facts]) -> Vec<Finding> {
    let finding = |text, tone, section: &str| Finding {
        text,
        tone,
        section: Some(section.to_owned()),
    };
    let mut found = Vec::new();
    let slope = |host: &Facts| host.value("layout_score_per_day");
    match hosts.first().and_then(|host| Some((host, slope(host)?))) {
        Some((host, falls)) if falls < -LEAST_SLOPE => found.push(finding(
            format!(
                "{} decays fastest: its layout score falls by {:.2} points in 30 days{}.",
                host.host,
                -3000.0 * falls,
                host.value("layout_score")
                    .map_or_else(String::new, |score| format!(", and is {score:.3}"))
            ),
            Tone::Bad,
            "decay",
        )),
        Some(_) => found.push(finding(
            "No host decays by a point of the layout score in a year.".to_owned(),
            Tone::Good,
            "decay",
        )),
        None => {}
    }
    let days_left = hosts.iter().filter_map(|host| {
        let (free, slope) = (host.value("free_bytes")?, host.value("free_bytes_per_day")?);
        (slope < 0.0).then(|| (host, free / -slope))
    });
    if let Some((host, days)) = days_left.min_by(|a, b| a.1.total_cmp(&b.1)) {
        let (text, tone) = (
            format!(
                "{} is full first: in {days:.0} days, at its present rate.",
                host.host
            ),
            if days < 90.0 {
                Tone::Bad
            } else {
                Tone::Neutral
            },
        );
        found.push(finding(text, tone, "hosts"));
    }
    if let Some(group) = fleet.groups.first().filter(|group| group.hosts.len() > 1) {
        let text = format!(
            "{} of {} are alike; there are {}.",
            group.hosts.len(),
            counted(hosts.len() as u64, "host"),
            counted(fleet.groups.len() as u64, "group")
        );
        found.push(finding(text, Tone::Neutral, "groups"));
    }
    found
}

fn decay(hosts: &[&Facts]) -> Section {
    let fastest = hosts
        .iter()
        .filter(|host| !host.scores.is_empty())
        .take(MOST_CURVES);
    let series = fastest.enumerate().map(|(place, host)| Series {
        name: host.host.clone(),
        target: place,
        dashed: false,
        points: host
            .scores
            .iter()
            .map(|&(x, y)| Point {
                x,
                y: Some(y),
                interval: None,
            })
            .collect(),
    });
    let lines = Lines {
        id: "layout-by-day".to_owned(),
        title: "Layout score by day".to_owned(),
        description: format!("Of the {MOST_CURVES} hosts at most whose layout decays fastest."),
        x: Axis {
            label: "days since the first snapshot".to_owned(),
            ..Axis::default()
        },
        y: Axis {
            label: "layout score".to_owned(),
            ..Axis::default()
        },
        series: series.collect(),
        published: Vec::new(),
    };
    Section {
        id: "decay".to_owned(),
        title: "Who decays fastest".to_owned(),
        lead: "The change a day is the slope of the line that fits all snapshots of a host best."
            .to_owned(),
        exhibits: vec![Exhibit::Chart(lines.into_chart())],
    }
}

fn sheet(id: &str, title: &str, description: &str, data: DataTable) -> Section {
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        lead: description.to_owned(),
        exhibits: vec![Exhibit::Table(Sheet {
            id: format!("{id}-table"),
            title: title.to_owned(),
            description: String::new(),
            data,
        })],
    }
}

fn cell(value: Option<f64>) -> Cell {
    value.map_or(Cell::Null, Cell::Number)
}

fn all(hosts: &[&Facts]) -> Section {
    let mut data = DataTable::new(&[&["host", "group", "snapshots", "days"], &VALUES[..]].concat());
    data.rows.extend(hosts.iter().map(|host| {
        let mut row = vec![
            Cell::Text(host.host.clone()),
            Cell::Number(host.group as f64),
            Cell::Number(host.snapshots as f64),
            Cell::Number(host.days),
        ];
        row.extend(VALUES.map(|metric| cell(host.value(metric))));
        row
    }));
    sheet("hosts", "All hosts", "Who decays fastest first.", data)
}

fn groups(fleet: &Fleet) -> Section {
    let traits = TRAITS.each_ref().map(|t| t.name);
    let mut data = DataTable::new(&[&["group", "hosts"], &traits[..], &["names"]].concat());
    data.rows.extend(fleet.groups.iter().map(|group| {
        let mut row = vec![
            Cell::Number(group.group as f64),
            Cell::Number(group.hosts.len() as f64),
        ];
        row.extend(group.medians.map(cell));
        row.push(Cell::Text(group.hosts.join(", ")));
        row
    }));
    let lead =
        "No two hosts of a group differ by more than a step in any trait; shown are the medians.";
    sheet("groups", "Hosts that are alike", lead, data)
}
