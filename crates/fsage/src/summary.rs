//! Tables of results: one row a target, or one layout in full.

use crate::chart::{self, Series};
use crate::days::DayRow;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};
use fsage_core::size::human;
use fsage_metrics::LayoutScore;
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
    /// Layout score at the end of the first day.
    pub layout_first_day: f64,
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
            layout_first_day: days.first().map_or(1.0, |d| d.layout_score),
            last: days.last().cloned().unwrap_or_default(),
        }
    }
}

/// A table with a line below its header and nothing else; numbers stand right.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─')
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header.to_vec());
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// One row a target.
pub fn print_table(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let mut table = table(&[
        "target",
        "days",
        "operations",
        "skipped",
        "files",
        "used",
        "layout\nday 1",
        "layout\nend",
        "split\nfiles",
        "free space\nin fragments",
    ]);
    for row in rows {
        table.add_row(vec![
            row.target.clone(),
            row.days.to_string(),
            row.operations.to_string(),
            row.skipped.to_string(),
            row.last.files.to_string(),
            percent(row.last.utilization),
            format!("{:.3}", row.layout_first_day),
            format!("{:.3}", row.last.layout_score),
            row.last.split_files.to_string(),
            percent(row.last.free_frag_share),
        ]);
    }
    writeln!(out, "{table}")
}

/// The same as JSON.
pub fn print_json(out: &mut impl Write, rows: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, rows)?;
    writeln!(out)
}

/// A share as percent; a dash where it is not known.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |s| format!("{:.1} %", s * 100.0))
}

/// A size for people; a dash where it is not known.
fn size(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), human)
}

/// One layout in full: a table, and the layout score by file size as bars.
pub fn print_layout(out: &mut impl Write, name: &str, day: &DayRow) -> io::Result<()> {
    let mut table = table(&["", name]);
    let inode_groups = day.split_files > 0 || day.utilization.is_some();
    let mut rows: Vec<(&str, String)> = vec![
        ("files", day.files.to_string()),
        ("directories", day.directories.to_string()),
        ("bytes in files", human(day.file_bytes)),
    ];
    if day.utilization.is_some() {
        rows.push(("utilization", percent(day.utilization)));
    }
    rows.push(("layout score", format!("{:.4}", day.layout_score)));
    rows.push((
        "  optimal blocks of those scored",
        format!("{} of {}", day.layout_optimal, day.layout_scored),
    ));
    rows.push((
        "files in more than one piece",
        day.fragmented_files.to_string(),
    ));
    rows.push(("pieces of all files", day.pieces.to_string()));
    if inode_groups {
        rows.push(("split files", day.split_files.to_string()));
        rows.push((
            "  of these one group away, under ten",
            format!("{}, {}", day.split_distance_1, day.split_distance_below_10),
        ));
    }
    rows.push(("free space", size(day.free_bytes)));
    if let (Some(blocks), Some(frags)) = (day.free_blocks, day.free_frags) {
        rows.push(("  free blocks", blocks.to_string()));
        let share = percent(day.free_frag_share);
        rows.push((
            "  free fragments",
            format!("{frags} ({share} of free space)"),
        ));
        rows.push((
            "  runs of free space",
            day.free_runs.unwrap_or(0).to_string(),
        ));
        rows.push(("  longest run", size(day.largest_free_run_bytes)));
        rows.push((
            "  in runs of 64 KiB, 1 MiB or more",
            format!(
                "{}, {}",
                size(day.free_bytes_in_64k_runs),
                size(day.free_bytes_in_1m_runs)
            ),
        ));
    }
    for (what, value) in rows {
        table.add_row(vec![what.to_owned(), value]);
    }
    writeln!(out, "{table}")?;
    print_by_size(out, day)
}

/// Layout score by file size.
fn print_by_size(out: &mut impl Write, day: &DayRow) -> io::Result<()> {
    if day.layout_scored == 0 {
        return Ok(());
    }
    writeln!(out, "\nLayout score by file size")?;
    for class in day.layout_by_size.iter().filter(|c| c.files > 0) {
        let label = if class.max_bytes == u64::MAX {
            "larger".to_owned()
        } else {
            format!("to {}", human(class.max_bytes))
        };
        let score = LayoutScore {
            optimal: class.optimal,
            scored: class.scored,
        }
        .value();
        writeln!(
            out,
            "  {label:>12}  {score:.3} {:<40} {:>8} files",
            chart::bar(score, 40),
            class.files
        )?;
    }
    Ok(())
}

/// The decay of the layout score over days, one curve a target.
pub fn print_decay(out: &mut impl Write, targets: &[(String, Vec<DayRow>)]) -> io::Result<()> {
    if targets.iter().all(|(_, days)| days.len() < 2) {
        return Ok(());
    }
    let series: Vec<Series> = targets
        .iter()
        .map(|(name, days)| Series {
            name: name.clone(),
            points: days
                .iter()
                .enumerate()
                .map(|(i, day)| ((i + 1) as f64, day.layout_score))
                .collect(),
        })
        .collect();
    writeln!(out, "\nAggregate layout score by day")?;
    write!(out, "{}", chart::curves(&series, 72, "day"))
}
