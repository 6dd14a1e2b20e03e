//! `fsage diff`: what happened between two snapshots.

mod layout;

use crate::summary::{print_json, table};
use crate::ui::{self, Ui, go_on};
use anyhow::bail;
use clap::ValueEnum;
use fsage_data::DataError;
use fsage_data::snapshot::SnapshotSeries;
use fsage_data::snapshot::diff::{
    ChangeKind, Counts, DiffReport, FoundChange, Identity, SeriesDiff, Side, SnapshotRef,
    diff_snapshots,
};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Compares two snapshots, or every snapshot of a series with the one before it.
///
/// A file is told from another one that had its inode number before by its generation, else by its birth time. Where
/// snapshots have neither, a changed file may be another one: such changes are counted as guessed, never as
/// replaced.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage diff monday.parquet tuesday.parquet\n  fsage diff nightly.parquet#0 \
                  nightly.parquet --list\n  fsage diff nightly/ --json\n  fsage diff run/ext4 aged.img \
                  --layout"
)]
pub struct Args {
    /// The earlier snapshot: FILE, or FILE#N for number N of a series [default: the last]. Alone, or a folder: a
    /// series, of which all neighbors are compared.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The later snapshot.
    #[arg(value_name = "AFTER")]
    after: Option<PathBuf>,
    /// Number of the earlier snapshot.
    #[arg(long, value_name = "N", requires = "after")]
    snap_a: Option<u32>,
    /// Number of the later snapshot.
    #[arg(long, value_name = "N", requires = "after")]
    snap_b: Option<u32>,
    /// What tells a file from another one that had its inode number before.
    #[arg(long, value_enum, default_value = "auto")]
    identity: IdentityName,
    /// Compare where the data of files lie instead, inode by inode, and exit with 1 where they lie elsewhere. BEFORE
    /// and AFTER may also be unmounted images, directories and RUN/TARGET.
    #[arg(long, requires = "after", conflicts_with_all = ["snap_a", "snap_b", "identity"])]
    layout: bool,
    /// Print every change: a line each, with --json a JSON object each.
    #[arg(long)]
    list: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum IdentityName {
    /// The best that both inodes have.
    Auto,
    /// Generation numbers.
    Generation,
    /// Birth times.
    Birth,
    /// Inode numbers alone.
    Ino,
}

impl From<IdentityName> for Identity {
    fn from(name: IdentityName) -> Identity {
        match name {
            IdentityName::Auto => Identity::Auto,
            IdentityName::Generation => Identity::Generation,
            IdentityName::Birth => Identity::Birth,
            IdentityName::Ino => Identity::Ino,
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let Some(after) = &args.after else {
        return series(args, ui);
    };
    if args.layout {
        return layout::run(&args.before, after, args.list, args.json, ui);
    }
    let (before, after) = (
        snapshot(&args.before, args.snap_a)?,
        snapshot(after, args.snap_b)?,
    );
    let mut out = ui::stdout();
    let report = diff_snapshots(&before, &after, args.identity.into(), &mut |change| {
        list(&mut out, change, None, args)
    })?;
    if args.json {
        let value = json!({
            "before": before.path.display().to_string(),
            "after": after.path.display().to_string(),
            "diff": report,
        });
        print_report_json(&mut out, args, &value)?;
    } else if !args.list {
        let name = |snapshot: &SnapshotRef, id: u32| format!("{}#{id}", snapshot.path.display());
        let before = name(&before, report.before_snap_id);
        writeln!(out, "{before} to {}", name(&after, report.after_snap_id))?;
        print(&mut out, &report)?;
    }
    out.flush()?;
    warn(&report, ui);
    Ok(())
}

/// FILE or FILE#N.
fn snapshot(path: &Path, snap_id: Option<u32>) -> anyhow::Result<SnapshotRef> {
    let text = path.to_string_lossy();
    let numbered = text.rsplit_once('#').filter(|_| !path.exists());
    let (path, number) = match numbered {
        Some((file, number)) => match number.parse() {
            Ok(number) => (PathBuf::from(file), Some(number)),
            Err(_) => bail!("{text}: {number:?} is no number of a snapshot; write FILE#N"),
        },
        None => (path.to_owned(), None),
    };
    if number.is_some() && snap_id.is_some() {
        bail!("{text}: the snapshot is named twice, after # and by an option");
    }
    if path.is_dir() {
        bail!(
            "{text}: is a folder; name two snapshots, or the folder alone for all neighbors in it"
        );
    }
    Ok(SnapshotRef {
        path,
        snap_id: number.or(snap_id),
    })
}

/// All neighbors of a series, and their sum.
fn series(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let series = SnapshotSeries::open(std::slice::from_ref(&args.before))?;
    for note in series.notes() {
        ui.note(note);
    }
    let bar = ui.bar_count(Some(series.rows_read().1), "comparing");
    let mut diff = SeriesDiff::new(series, args.identity.into())?;
    let mut out = ui::stdout();
    let mut reports: Vec<DiffReport> = Vec::new();
    loop {
        go_on()?;
        let pair = reports.len() as u64 + 1;
        let report = diff.next_diff(&mut |change| list(&mut out, change, Some(pair), args))?;
        bar.set_position(diff.series().rows_read().0);
        match report {
            Some(report) => reports.push(report),
            None => break,
        }
    }
    bar.finish_and_clear();
    let Some(mut total) = reports.first().copied() else {
        bail!(
            "{}: there is only one snapshot in it, nothing to compare it with; name a second file",
            args.before.display()
        );
    };
    for report in &reports[1..] {
        total += report;
    }
    if args.json {
        let value = json!({
            "series": args.before.display().to_string(),
            "snapshots": reports.len() + 1,
            "total": total,
            "pairs": reports,
        });
        print_report_json(&mut out, args, &value)?;
    } else if !args.list {
        let pairs = reports.len();
        writeln!(out, "{}: {pairs} pairs of snapshots", args.before.display())?;
        print(&mut out, &total)?;
    }
    out.flush()?;
    warn(&total, ui);
    Ok(())
}

/// The numbers as JSON; on one line behind a list of changes, which are one line each.
fn print_report_json(out: &mut impl Write, args: &Args, value: &Value) -> io::Result<()> {
    if args.list {
        writeln!(out, "{value}")
    } else {
        print_json(out, value)
    }
}

/// One of the numbers.
type Number = fn(&Counts) -> u64;

fn print(out: &mut impl Write, report: &DiffReport) -> io::Result<()> {
    let mut numbers = table(&["", "regular files", "all inodes"]);
    let rows: [(&str, Number); 16] = [
        ("before", |c| c.before),
        ("created", |c| c.create),
        ("deleted", |c| c.delete),
        ("  replaced: both of these", |c| c.replace),
        ("modified", |c| c.modify),
        ("  attributes only", |c| c.modified.attributes),
        ("  overwritten in place", |c| c.modified.overwrite),
        ("  appended to", |c| c.modified.append),
        ("  truncated", |c| c.modified.truncate),
        ("  rewritten", |c| c.modified.rewrite),
        ("  unknown", |c| c.modified.unknown),
        ("  guessed: may be replaced", |c| c.maybe_replaced),
        ("    of these, may be renamed", |c| c.maybe_renamed),
        ("renamed", |c| c.rename),
        ("unchanged", |c| c.unchanged),
        ("after", |c| c.after),
    ];
    for (name, count) in rows {
        let (regular, all) = (count(&report.regular), count(&report.all));
        numbers.add_row([name.to_owned(), regular.to_string(), all.to_string()]);
    }
    writeln!(out, "{numbers}")?;
    let judged = report.judged;
    writeln!(
        out,
        "\nSame inode number and not unchanged, judged by generation: {}, birth time: {}, a number never used \
         again: {}, number alone: {}",
        judged.generation, judged.birth, judged.lasting_ino, judged.ino
    )
}

fn warn(report: &DiffReport, ui: Ui) {
    for line in report.warnings.lines() {
        ui.warn(&line);
    }
    let unknown = report.all.maybe_replaced;
    if unknown > 0 {
        ui.warn(&format!(
            "{unknown} changed inodes may be other files that got the same number: the snapshots have neither \
             generations nor birth times for them"
        ));
    }
}

/// Prints a change, if changes are asked for.
fn list(
    out: &mut impl Write,
    change: &FoundChange<'_>,
    pair: Option<u64>,
    args: &Args,
) -> Result<(), DataError> {
    let failed = |source| DataError::Io {
        path: PathBuf::from("-"),
        action: "cannot list the changes",
        source,
    };
    go_on().map_err(failed)?;
    if !args.list {
        return Ok(());
    }
    let written = if args.json {
        list_json(out, change, pair)
    } else {
        list_text(out, change, pair)
    };
    written.map_err(failed)
}

/// One word for the kind; of a modification the finer one.
fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Modify(what) => what.as_str(),
        other => other.as_str(),
    }
}

fn list_text(out: &mut impl Write, change: &FoundChange<'_>, pair: Option<u64>) -> io::Result<()> {
    if let Some(pair) = pair {
        write!(out, "{pair}\t")?;
    }
    let kind = match change.kind {
        ChangeKind::Modify(what) => format!("modify:{}", what.as_str()),
        other => other.as_str().to_owned(),
    };
    let guessed = if change.guessed { "?" } else { "" };
    write!(out, "{kind}{guessed}")?;
    let Some(side) = change.after.or(change.before) else {
        return Ok(());
    };
    write!(out, "\t{}\t{}", side.facts.kind.letter(), side.facts.ino)?;
    let size = |side: Option<Side<'_>>| {
        side.map_or_else(|| "-".to_owned(), |side| side.facts.size_bytes.to_string())
    };
    write!(out, "\t{}\t{}", size(change.before), size(change.after))?;
    write!(out, "\t{}", side.path.unwrap_or("-"))?;
    if let (true, Some(old)) = (change.renamed, change.before.and_then(|side| side.path)) {
        write!(out, "\tfrom {old}")?;
    }
    writeln!(out)
}

fn list_json(out: &mut impl Write, change: &FoundChange<'_>, pair: Option<u64>) -> io::Result<()> {
    let side = |side: Option<Side<'_>>| {
        side.map(|side| {
            json!({
                "ino": side.facts.ino,
                "gen": side.facts.generation,
                "type": side.facts.kind.letter().to_string(),
                "size_bytes": side.facts.size_bytes,
                "ctime_ns": side.facts.ctime_ns,
                "mtime_ns": side.facts.mtime_ns,
                "path": side.path,
            })
        })
    };
    let mut line = json!({
        "change": change.kind.as_str(),
        "what": word(change.kind),
        "renamed": change.renamed,
        "guessed": change.guessed,
        "before": side(change.before),
        "after": side(change.after),
    });
    if let (Some(pair), Value::Object(fields)) = (pair, &mut line) {
        fields.insert("snap_id".to_owned(), pair.into());
    }
    writeln!(out, "{line}")
}
