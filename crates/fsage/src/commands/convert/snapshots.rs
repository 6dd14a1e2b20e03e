//! Snapshots of ours between full and delta form, and many files into one series.

use super::Args;
use crate::summary;
use crate::ui::{self, Ui, go_on};
use anyhow::bail;
use fsage_data::snapshot::{SeriesOutput, SnapshotSeries};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes all inputs as one series. That of a single file keeps the numbers of its snapshots and its free map;
/// otherwise snapshots are numbered anew, in order of time.
pub fn convert(from: &[PathBuf], to: &Path, args: &Args, ui: Ui) -> anyhow::Result<()> {
    if to
        .extension()
        .is_none_or(|extension| extension != "parquet")
    {
        bail!(
            "{}: snapshots are written as Parquet: name a file that ends in .parquet",
            to.display()
        );
    }
    let mut series = SnapshotSeries::open(from)?;
    let mut output = SeriesOutput::create(to, args.foreign.form(), args.force)?;
    if let [file] = from
        && file.is_file()
    {
        series = series.with_own_numbers();
        output.take_free_map_of(file);
    }
    for note in series.notes() {
        ui.note(note);
    }
    let bar = ui.bar_count(Some(series.rows_read().1), "converting");
    while let Some(night) = series.next_night()? {
        go_on()?;
        output.write(night, &series)?;
        bar.set_position(series.rows_read().0);
    }
    bar.finish_and_clear();
    let (read, _) = series.rows_read();
    let counts = output.finish()?;
    let rows = [
        ("snapshots", "snapshots", counts.snapshots),
        ("rows read", "rows_read", read),
        ("rows written", "rows_written", counts.rows),
        ("of these, tombstones", "tombstones", counts.tombstones),
        (
            "further names of inodes",
            "further_names",
            counts.further_names,
        ),
    ];
    let mut out = ui::stdout();
    if args.json {
        let facts: serde_json::Map<_, _> = rows
            .iter()
            .map(|(_, key, count)| ((*key).to_owned(), (*count).into()))
            .collect();
        let all = json!({
            "snapshots": to.to_string_lossy(),
            "form": args.foreign.form().as_str(),
            "inputs": from.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            "summary": facts,
        });
        summary::print_json(&mut out, &all)?;
    } else {
        let mut table = summary::table(&["", ""]);
        for (what, _, count) in rows {
            table.add_row([what, &count.to_string()]);
        }
        writeln!(out, "{table}")?;
    }
    Ok(out.flush()?)
}
