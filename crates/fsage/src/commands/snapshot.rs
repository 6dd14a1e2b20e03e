//! `fsage snapshot`: what is on a file system, and where.

mod timer;

use crate::summary;
use crate::ui::{self, Ui, go_on};
use anyhow::{Context, bail};
use fsage_collect::{Anonymous, Report, Salt};
use fsage_core::size::human;
use fsage_data::snapshot::{Form, SnapshotCounts, SnapshotOutput};
use fsage_lab::Watch;
use fsage_lab::collect::{How, collect};
use serde_json::json;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The file beside anonymized snapshots that holds their salt.
const SALT: &str = "fsage-anonymize.salt";

/// Takes a snapshot of a file system: inodes, generations, times, names, where the blocks of every file lie, and what
/// is free.
///
/// PATH is a directory of a mounted file system, which is walked as far as it stays on the same mount. No root is
/// needed, but files that cannot be opened then have no block lists. A walk is not atomic: what changed meanwhile is
/// marked. Dirty data are written out first.
///
/// Or PATH is an unmounted ext2, ext3, ext4 or XFS, as an image or a block device, which is read directly. No
/// root is needed where the file can be read. The snapshot then also has the blocks that hold block pointers.
#[derive(Debug, clap::Args)]
// Each is a switch of the command line.
#[allow(clippy::struct_excessive_bools)]
#[command(after_help = "Examples:\n  fsage snapshot / -o root.parquet\n  \
                  fsage snapshot /srv -o nights/monday.parquet --anonymize\n  \
                  fsage snapshot / -o nights --install-timer\n  fsage snapshot disk.img -o disk.parquet")]
pub struct Args {
    /// The directory to walk, or the image or device to read.
    path: PathBuf,
    /// STEM.parquet; tables beside it are STEM.snapshots.parquet, STEM.names.parquet (hard links) and
    /// STEM.free.parquet (free space). With --install-timer, the folder of the nightly snapshots.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Threads that read [default: one a processor].
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// Replace every name by a keyed hash, and leave out host and owners. The key is in fsage-anonymize.salt beside the
    /// output, and the same for all snapshots there: keep it secret. Sizes and times stay, and can still identify
    /// well-known files.
    #[arg(long)]
    anonymize: bool,
    /// Keep extensions: up to eight letters and digits behind the last dot of a name.
    #[arg(long, requires = "anonymize")]
    keep_extensions: bool,
    /// Read the image even if it is mounted, or its journal has to be replayed; results may be inconsistent: every row
    /// is marked as changed during the walk.
    #[arg(long)]
    stale: bool,
    /// Print a service and a timer of systemd that take a snapshot every night, and how to install them; do nothing
    /// else.
    #[arg(long)]
    install_timer: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
    /// Write over an existing snapshot.
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    if args.install_timer {
        return timer::print(args);
    }
    if args.output == Path::new("-") {
        bail!(
            "-o -: a snapshot is several tables, which standard output cannot take; name a file, STEM.parquet"
        );
    }
    if args.output.is_dir() {
        bail!(
            "{0}: a folder, and a snapshot needs the name of a file, as in -o {0}/monday.parquet",
            args.output.display().to_string().trim_end_matches('/')
        );
    }
    let started = Instant::now();
    let mut output = SnapshotOutput::create(&args.output, Form::Full, args.force)?;
    let how = How {
        threads: args.threads,
        stale: args.stale,
    };
    let report = if args.anonymize {
        let path = args.output.with_file_name(SALT);
        let salt = Salt::read_or_make(&path);
        let salt = salt.with_context(|| format!("{}: cannot use the salt", path.display()))?;
        let mut anonymous = Anonymous::new(&mut output, salt, args.keep_extensions);
        let mut report = collect(&args.path, how, &mut anonymous, &ui)?;
        report.info = Anonymous::info(report.info);
        report
    } else {
        collect(&args.path, how, &mut output, &ui)?
    };
    output.complete_snapshot(report.info.clone(), report.free.as_deref())?;
    let watch: &dyn Watch = &ui;
    let bar = watch.bar_count(Some(report.rows), "storing");
    let counts = output.finish_watched(&mut |rows| {
        bar.set_position(rows);
        go_on()
    })?;
    drop(bar);
    for warning in &report.warnings {
        ui.warn(warning);
    }
    print(args, &report, &counts, started.elapsed())
}

fn print(
    args: &Args,
    report: &Report,
    counts: &SnapshotCounts,
    took: Duration,
) -> anyhow::Result<()> {
    let info = &report.info;
    let mut out = ui::stdout();
    if args.json {
        let all = json!({
            "snapshot": args.output.to_string_lossy(),
            "path": args.path.to_string_lossy(),
            "fs_type": info.fs_type,
            "taken_at_ns": info.taken_at_ns,
            "walk_ns": info.walk_ns,
            "inodes": counts.rows,
            "further_names": counts.further_names,
            "bytes": counts.regular.bytes,
            "placed_files": counts.regular.placed,
            "extents": counts.regular.extents,
            "files_in_pieces": counts.regular.in_pieces,
            "free_runs": report.free.as_ref().map(Vec::len),
            "unreadable": report.unreadable,
            "vanished": report.vanished,
            "warnings": report.warnings,
        });
        summary::print_json(&mut out, &all)?;
    } else {
        let mut table = summary::table(&["", ""]);
        let fs_type = info.fs_type.as_deref().unwrap_or("unknown");
        table.add_row(["file system", fs_type]);
        table.add_row(["inodes", &counts.rows.to_string()]);
        table.add_row(["further names of inodes", &counts.further_names.to_string()]);
        table.add_row(["bytes in regular files", &human(counts.regular.bytes)]);
        table.add_row([
            "regular files with blocks",
            &counts.regular.placed.to_string(),
        ]);
        table.add_row([
            "of these, in several pieces",
            &counts.regular.in_pieces.to_string(),
        ]);
        table.add_row([
            "extents a file",
            &format!("{:.3}", counts.regular.extents_per_file()),
        ]);
        if let Some(free) = &report.free {
            table.add_row(["runs of free space", &free.len().to_string()]);
        }
        table.add_row(["could not be read", &report.unreadable.to_string()]);
        table.add_row(["vanished meanwhile", &report.vanished.to_string()]);
        table.add_row(["seconds", &format!("{:.2}", took.as_secs_f64())]);
        writeln!(out, "{table}")?;
        for line in counts.repairs.lines() {
            writeln!(out, "{line}")?;
        }
    }
    out.flush()?;
    Ok(())
}

/// A path from the root, without asking whether it exists.
fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{}: no path", path.display()))
}
