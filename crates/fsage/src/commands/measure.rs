//! `fsage measure`: layout and free-space metrics of a run or a snapshot.

use crate::directory_table;
use crate::layout_table::print_layout;
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::bail;
use fsage_core::names::unescape;
use fsage_core::{FileView, Layout};
use fsage_lab::days::DayRow;
use fsage_lab::measure::{self, MeasuredRun};
use fsage_lab::run_folder::{Manifest, OneTarget, State};
use fsage_metrics::DirectoryStatistics;
use fsage_metrics::directory_statistics::INODES_PER_BLOCK;
use serde::Serialize;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};

/// Shows the layout of a run, a snapshot, a directory or an image.
///
/// Files, layout score and pieces, how files lie in directory order, and free space; of a run the decay over its days
/// too, with the unaged control and the ratio where it has one.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A run (the folder that `fsage age -o` made) or RUN/TARGET, a snapshot (Parquet), a directory of a mounted file
    /// system, or an unmounted image with ext2, ext3, ext4 or XFS.
    path: PathBuf,
    /// Of a series of snapshots, the one with this number [default: the last].
    #[arg(long, value_name = "N")]
    snap_id: Option<u32>,
    /// Statistics of directories instead: sizes of files, entries and their inode blocks, and how files follow each
    /// other on disk in several orders of the entries. Of a run with several targets, give RUN/TARGET.
    #[arg(long)]
    directories: bool,
    /// With --directories: inodes of an inode block.
    #[arg(long, value_name = "N", default_value_t = INODES_PER_BLOCK, requires = "directories",
          value_parser = clap::value_parser!(u64).range(1..))]
    inodes_per_block: u64,
    /// Print everything as JSON: of a run every day, of a snapshot its metrics.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RunJson {
    workload: fsage_lab::run_folder::WorkloadFacts,
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
        if args.directories
            && let Some(last) = OneTarget::layout(&args.path)?
        {
            let name = args.path.to_string_lossy();
            return measure_layout(args, &measure::snapshot(&last, None)?, &name, &mut |_| None);
        }
        if Manifest::is_run(&args.path) {
            return measure_run(&args.path, None, args.json, ui);
        }
        if let Some(run) = args.path.parent().filter(|above| Manifest::is_run(above)) {
            return measure_run(run, args.path.file_name(), args.json, ui);
        }
        return measure_path(args, ui);
    }
    if !fsage_data::is_parquet(&args.path)? {
        return measure_path(args, ui);
    }
    let snapshot = measure::snapshot(&args.path, args.snap_id)?;
    let name = args.path.file_name().unwrap_or(args.path.as_os_str());
    measure_layout(args, &snapshot, &name.to_string_lossy(), &mut |_| None)
}

/// Measures a directory or an image as it is now.
fn measure_path(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let layout = measure::path(&args.path, &ui)?;
    let mut listing = |directory: &FileView<'_>| list(&args.path, directory);
    measure_layout(args, &layout, &args.path.to_string_lossy(), &mut listing)
}

/// The inode numbers of a directory's entries as the file system lists them; `None` if it cannot be read, or lies in
/// an image.
fn list(root: &Path, directory: &FileView<'_>) -> Option<Vec<u64>> {
    let path = match directory.path? {
        "." => root.to_owned(),
        path => root.join(OsStr::from_bytes(&unescape(path)?)),
    };
    let entries = fs::read_dir(path).ok()?;
    let inodes = entries.map_while(Result::ok).map(|entry| entry.ino());
    Some(inodes.collect())
}

/// Measures a layout, wherever it comes from, and prints it under this name. `listing` gives the inodes of a
/// directory's entries in the order in which they are listed.
fn measure_layout(
    args: &Args,
    layout: &dyn Layout,
    name: &str,
    listing: &mut dyn FnMut(&FileView<'_>) -> Option<Vec<u64>>,
) -> anyhow::Result<()> {
    let mut out = ui::stdout();
    if args.directories {
        let per_block = args.inodes_per_block;
        let statistics = DirectoryStatistics::of(layout, per_block, listing);
        if args.json {
            summary::print_json(
                &mut out,
                &directory_table::Summary::new(&statistics, per_block),
            )?;
        } else {
            directory_table::print(&mut out, name, &statistics, per_block)?;
        }
        return Ok(out.flush()?);
    }
    let row = DayRow::of_layout(&fsage_metrics::measure(layout));
    if args.json {
        summary::print_json(&mut out, &row)?;
    } else {
        print_layout(&mut out, name, &row)?;
    }
    Ok(out.flush()?)
}

/// Of a run every target, or the one with this folder.
fn measure_run(run: &Path, only: Option<&OsStr>, json: bool, ui: Ui) -> anyhow::Result<()> {
    let MeasuredRun {
        manifest,
        mut targets,
    } = measure::run(run)?;
    if let Some(only) = only {
        let mut folders = manifest
            .targets
            .iter()
            .map(|target| OsStr::new(&target.folder));
        targets.retain(|_| folders.next() == Some(only));
        if targets.is_empty() {
            bail!(
                "{}: no target of the run has its results there",
                run.join(only).display()
            );
        }
    }
    if manifest.state == State::Incomplete {
        ui.warn(&format!(
            "{}: the run goes on or was interrupted: these are the days of its real targets so far; \
             `fsage age ... --resume` resumes it",
            run.display()
        ));
    }
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
