//! `fsage measure`: layout and free-space metrics of a run or a snapshot.

use crate::aging::real;
use crate::collect::collect_layout;
use crate::days::{self, DayRow};
use crate::layout_table::print_layout;
use crate::run_folder::{Manifest, State};
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::bail;
use fsage_core::Layout;
use fsage_data::SnapshotFile;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Shows the layout of a run, a snapshot, a directory or an image.
///
/// Files, layout score and pieces, how files lie in directory order, and free space; of a run the decay over its days
/// too, with the unaged control and the ratio where it has one.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A run (the folder that `fsage age -o` made), a snapshot (Parquet), a directory of a mounted file system, or an
    /// unmounted ext2, ext3 or ext4 image.
    path: PathBuf,
    /// Of a series of snapshots, the one with this number [default: the last].
    #[arg(long, value_name = "N")]
    snap_id: Option<u32>,
    /// Print everything as JSON: of a run every day, of a snapshot its metrics.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RunJson {
    workload: crate::run_folder::WorkloadFacts,
    targets: Vec<TargetJson>,
}

#[derive(Serialize)]
struct TargetJson {
    target: String,
    days: Vec<DayRow>,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    if args.path.is_dir() {
        if args.snap_id.is_some() {
            bail!(
                "--snap-id chooses among snapshots; {} is a folder",
                args.path.display()
            );
        }
        if Manifest::is_run(&args.path) {
            return measure_run(&args.path, args.json, ui);
        }
        return measure_path(args, ui);
    }
    if !fsage_data::is_parquet(&args.path)? {
        return measure_path(args, ui);
    }
    let snapshot = match args.snap_id {
        Some(snap_id) => SnapshotFile::open_snapshot(&args.path, snap_id)?,
        None => SnapshotFile::open(&args.path)?,
    };
    let name = args.path.file_name().unwrap_or(args.path.as_os_str());
    measure_layout(&snapshot, &name.to_string_lossy(), args.json)
}

/// Measures a directory or an image as it is now.
fn measure_path(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let (layout, report) = collect_layout(&args.path, ui)?;
    for warning in &report.warnings {
        ui.warn(warning);
    }
    measure_layout(&layout, &args.path.to_string_lossy(), args.json)
}

/// Measures a layout, wherever it comes from, and prints it under this name.
fn measure_layout(layout: &dyn Layout, name: &str, json: bool) -> anyhow::Result<()> {
    let row = DayRow::of_layout(&fsage_metrics::measure(layout));
    let mut out = ui::stdout();
    if json {
        summary::print_json(&mut out, &row)?;
    } else {
        print_layout(&mut out, name, &row)?;
    }
    Ok(out.flush()?)
}

fn measure_run(run: &Path, json: bool, ui: Ui) -> anyhow::Result<()> {
    let manifest = Manifest::read(run)?;
    if manifest.state == State::Incomplete {
        ui.warn(&format!(
            "{}: the run goes on or was interrupted: these are the days of its real targets so far; \
             `fsage age ... --resume` goes on with it",
            run.display()
        ));
    }
    let targets = read_days(run, &manifest)?;
    let mut out = ui::stdout();
    if json {
        let targets = targets
            .into_iter()
            .map(|(target, days)| TargetJson { target, days })
            .collect();
        let workload = manifest.workload;
        summary::print_json(&mut out, &RunJson { workload, targets })?;
        return Ok(out.flush()?);
    }
    for (name, days) in &targets {
        if let Some(last) = days.last() {
            print_layout(&mut out, name, last)?;
            writeln!(out)?;
        }
    }
    summary::print_decay(&mut out, &targets)?;
    let rows: Vec<summary::Row> = targets
        .iter()
        .map(|(name, days)| summary::Row::new(name, days))
        .collect();
    writeln!(out)?;
    summary::print_table(&mut out, &rows)?;
    Ok(out.flush()?)
}

/// The days of every target of a run.
fn read_days(run: &Path, manifest: &Manifest) -> anyhow::Result<Vec<(String, Vec<DayRow>)>> {
    manifest
        .targets
        .iter()
        .map(|target| {
            let folder = run.join(&target.folder);
            let path = folder.join("days.parquet");
            let days = if manifest.state == State::Complete || path.exists() {
                days::read(&path)?
            } else {
                real::days_so_far(&folder)?
            };
            Ok((target.spec.clone(), days))
        })
        .collect()
}
