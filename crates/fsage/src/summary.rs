//! Tables of results: one row a target, and the decay over days.

use fsage_lab::days::DayRow;
pub use fsage_lab::table::{digits, number, percent, print_json, table, table_of_sentences};
use fsage_metrics::{files, layout_score};
use fsage_report::chart::{self, Series};
use serde::Serialize;
use std::io::{self, Write};

/// A target from its first day to its last.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The target.
    pub target: String,
    /// Days.
    pub days: usize,
    /// Operations, those skipped included.
    pub operations: u64,
    /// Operations that were not done, not counting those that the file system does not know.
    pub skipped: u64,
    /// Layout score at the end of the first day; `None` where no block is scored.
    pub layout_first_day: Option<f64>,
    /// The last day.
    pub last: DayRow,
}

impl Row {
    /// Sums up the days of a target.
    pub fn new(target: &str, days: &[DayRow]) -> Row {
        Row {
            target: target.to_owned(),
            days: days.len(),
            operations: days.iter().map(|d| d.operations).sum(),
            skipped: days.iter().map(|d| d.skipped).sum(),
            layout_first_day: days.first().and_then(DayRow::score),
            last: days.last().cloned().unwrap_or_default(),
        }
    }
}

/// One row a target, in 80 columns where specifications are short: what all targets have alike is left out.
pub fn print_table(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let controlled = rows
        .iter()
        .any(|row| row.last.of_control(&layout_score::SCORE).is_some());
    let any_skipped = rows.iter().any(|row| row.skipped > 0);
    let mut header = vec!["target", "days"];
    if any_skipped {
        header.push("skipped");
    }
    header.extend(["files", "used", "layout\nday 1", "layout\nend"]);
    if controlled {
        header.extend(["layout\ncontrol", "aged /\ncontrol"]);
    }
    let mut table = table(&header);
    for row in rows {
        let count = |metric| row.last.count(metric).unwrap_or_default().to_string();
        let mut cells = vec![row.target.clone(), row.days.to_string()];
        if any_skipped {
            cells.push(row.skipped.to_string());
        }
        cells.extend([
            count(&files::FILES),
            percent(row.last.value(&files::UTILIZATION)),
            digits(row.layout_first_day),
            digits(row.last.score()),
        ]);
        if controlled {
            cells.push(digits(row.last.of_control(&layout_score::SCORE)));
            cells.push(digits(row.last.ratio(&layout_score::SCORE)));
        }
        table.add_row(cells);
    }
    writeln!(out, "{table}")
}

/// The decay of the layout score over days: one curve a target, and one of its control where there is one.
pub fn print_decay(out: &mut impl Write, targets: &[(String, Vec<DayRow>)]) -> io::Result<()> {
    if targets.iter().all(|(_, days)| days.len() < 2) {
        return Ok(());
    }
    let mut series = Vec::new();
    for (name, days) in targets {
        series.push(curve(name.clone(), days, DayRow::score));
        let control = |day: &DayRow| day.of_control(&layout_score::SCORE);
        if days.iter().any(|day| control(day).is_some()) {
            let name = format!("{name}, control");
            series.push(curve(name, days, control));
        }
    }
    writeln!(out, "\nAggregate layout score by day")?;
    write!(out, "{}", chart::curves(&series, 72, "day"))
}

fn curve(name: String, days: &[DayRow], score: impl Fn(&DayRow) -> Option<f64>) -> Series {
    let points = days.iter().enumerate();
    let points = points.filter_map(|(i, day)| Some(((i + 1) as f64, score(day)?)));
    Series {
        name,
        points: points.collect(),
    }
}
