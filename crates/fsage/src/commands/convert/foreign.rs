//! Snapshots of foreign formats into Parquet.

use super::{Args, From};
use crate::commands::inspect::Progress;
use crate::summary;
use crate::ui::{self, Ui, go_on};
use anyhow::{Context, bail};
use clap::ValueEnum;
use fsage_core::snapshot::{Inode, SnapshotInfo};
use fsage_core::{SinkError, SnapshotSink, Verb};
use fsage_data::snapshot::{Form, SnapshotCounts, SnapshotOutput};
use fsage_data::stream::{self, ReadProgress};
use fsage_import::playback;
use fsage_import::snapshots::{self, Format, Importer, Input, Repair, Summary};
use serde_json::json;
use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// So many bytes tell a format, and when its first snapshot was taken.
const HEAD_BYTES: u64 = 1 << 16;

/// What concerns snapshots only.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Every row of every snapshot, or only what changed since the one before.
    #[arg(long, value_enum, default_value = "full")]
    form: FormName,
    /// When the snapshot was taken, in seconds since 1970 UTC, where the input does not say it [default: when
    /// the input was written].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    taken_at: Option<i64>,
    /// The byte between the fields of a GUFI trace, as a character or as 0x1E.
    #[arg(long, value_name = "BYTE", default_value = "0x1E", value_parser = byte)]
    delimiter: u8,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormName {
    Full,
    Delta,
}

impl Options {
    /// The form of the table that is written.
    pub fn form(&self) -> Form {
        match self.form {
            FormName::Full => Form::Full,
            FormName::Delta => Form::Delta,
        }
    }
}

fn seconds(text: &str) -> Result<i64, String> {
    snapshots::parse_seconds(text)
        .ok_or_else(|| "expected seconds since 1970, as `date +%s` prints them".to_owned())
}

fn byte(text: &str) -> Result<u8, String> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match (hex, text.as_bytes()) {
        (Some(digits), _) => u8::from_str_radix(digits, 16).ok(),
        (None, [only]) => Some(*only),
        _ => None,
    }
    .ok_or_else(|| "expected one character, or a byte as in 0x1E".to_owned())
}

/// What inputs turned out to be.
pub enum Inputs {
    Snapshots(Vec<Found>),
    Playback,
    Ops,
}

/// A foreign snapshot, or series, that was looked into.
pub struct Found {
    path: PathBuf,
    format: Format,
    /// When its first snapshot was taken, or else when it was written.
    time_ns: Option<i64>,
    modified_ns: Option<i64>,
    bytes: u64,
    /// Standard input cannot be opened again.
    opened: Option<Opened>,
}

struct Opened {
    input: Box<dyn BufRead + Send>,
    progress: ReadProgress,
}

/// Looks into the inputs; the format that was asked for wins over what they look like.
pub fn recognize(from: &[PathBuf], args: &Args) -> anyhow::Result<Inputs> {
    if args.from == Some(From::Playback) {
        return Ok(Inputs::Playback);
    }
    let mut found: Vec<Found> = Vec::new();
    for path in from {
        go_on()?;
        let (opened, head) = open(path)?;
        let name = path.to_string_lossy();
        let format = match args.from {
            Some(from) => from.snapshots(),
            None => Format::recognize(&head, &name, args.foreign.delimiter),
        };
        let Some(format) = format else {
            if playback::starts_like(&head) || name.ends_with(".playback") {
                return Ok(Inputs::Playback);
            }
            if looks_like_ops(&head) || name.contains(".ops") {
                return Ok(Inputs::Ops);
            }
            bail!(
                "{name}: in none of the formats that are known: workloads in Parquet, .ops text or playback; \
                 snapshots by find -printf (NUL-terminated), in a table with a header (csv), by fs-hasher, by \
                 GUFI; name it with --from: find, csv, fs-hasher, gufi, gufi-old, playback or ops"
            );
        };
        if let Some(first) = found.first()
            && first.format != format
        {
            bail!(
                "{name}: is of the format {}, and {} of {}: convert them one by one",
                format.as_str(),
                first.path.display(),
                first.format.as_str()
            );
        }
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        let modified = metadata.as_ref().and_then(|m| m.modified().ok());
        let modified_ns = modified.and_then(|t| {
            let since = t.duration_since(UNIX_EPOCH).ok()?;
            i64::try_from(since.as_nanos()).ok()
        });
        found.push(Found {
            path: path.clone(),
            format,
            time_ns: format.time_ns(&head).or(modified_ns),
            modified_ns,
            bytes: metadata.map_or(0, |m| m.len()),
            opened: (from.len() == 1).then_some(opened),
        });
    }
    Ok(Inputs::Snapshots(found))
}

/// Opens an input, which is decompressed, and shows how it starts.
fn open(path: &Path) -> anyhow::Result<(Opened, Vec<u8>)> {
    let name = path.display();
    let (mut input, progress) =
        stream::open(path).with_context(|| format!("{name}: cannot open"))?;
    let mut head = Vec::new();
    (&mut input)
        .take(HEAD_BYTES)
        .read_to_end(&mut head)
        .with_context(|| format!("{name}: cannot read"))?;
    let input = Box::new(Cursor::new(head.clone()).chain(input));
    Ok((Opened { input, progress }, head))
}

/// Whether the first line is one of `.ops` text.
fn looks_like_ops(head: &[u8]) -> bool {
    let mut lines = head.split(|&c| c == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let word = first
        .split(u8::is_ascii_whitespace)
        .next()
        .unwrap_or_default();
    matches!(first.first(), Some(b'#' | b'@'))
        || str::from_utf8(word).is_ok_and(|word| Verb::parse(word).is_some())
}

impl From {
    fn snapshots(self) -> Option<Format> {
        match self {
            From::Find => Some(Format::Find),
            From::Csv => Some(Format::Csv),
            From::FsHasher => Some(Format::FsHasher),
            From::Gufi => Some(Format::Gufi),
            From::GufiOld => Some(Format::GufiOld),
            From::Playback | From::Ops => None,
        }
    }
}

/// Converts what was found into one series.
pub fn convert(mut inputs: Vec<Found>, to: &Path, args: &Args, ui: Ui) -> anyhow::Result<()> {
    let options = &args.foreign;
    let format = inputs[0].format;
    let one_snapshot = matches!(format, Format::Gufi | Format::GufiOld);
    if options.taken_at.is_some() {
        if format == Format::FsHasher {
            bail!("--taken-at: fs-hasher files say themselves when they were made; leave it out");
        }
        if inputs.len() > 1 && !one_snapshot {
            bail!(
                "--taken-at is for one snapshot: convert them one by one, or let the files' times count"
            );
        }
    }
    if to.as_os_str() == "-" {
        bail!("-: snapshots are written as Parquet: name a file");
    }
    if one_snapshot {
        let newest = inputs.iter().filter_map(|i| i.modified_ns).max();
        inputs.iter_mut().for_each(|i| i.modified_ns = newest);
    } else {
        inputs.sort_by_key(|i| i.time_ns);
    }
    let mut output = SnapshotOutput::create(to, options.form(), args.force)?;
    let reading = RefCell::new(Reading::default());
    let mut watched = Watched {
        output: &mut output,
        progress: Progress::new(ui, "converting"),
        reading: &reading,
    };
    let total = inputs.iter().map(|i| i.bytes).sum();
    let import_options = snapshots::Options {
        taken_at_ns: options.taken_at,
        gufi_delimiter: options.delimiter,
    };
    let mut importer = Importer::new(format, import_options, &mut watched);
    let mut names = Vec::new();
    let mut done = 0;
    for found in inputs {
        let mut opened = match found.opened {
            Some(opened) => opened,
            None => open(&found.path)?.0,
        };
        *reading.borrow_mut() = Reading {
            done,
            total,
            now: Some(opened.progress),
        };
        let name = found.path.to_string_lossy();
        importer.read(&mut Input {
            name: &name,
            modified_ns: found.modified_ns,
            bytes: opened.input.as_mut(),
        })?;
        done += found.bytes;
        names.push(name.into_owned());
    }
    let summary = importer.finish()?;
    watched.progress.done();
    let counts = output.finish()?;
    report(&names, format, to, &summary, &counts, args.json, ui)
}

/// How much of the inputs was read.
#[derive(Default)]
struct Reading {
    done: u64,
    total: u64,
    now: Option<ReadProgress>,
}

/// The output, which shows progress and stops at an interrupt.
struct Watched<'a> {
    output: &'a mut SnapshotOutput,
    progress: Progress<'a>,
    reading: &'a RefCell<Reading>,
}

impl SnapshotSink for Watched<'_> {
    fn snapshot(&mut self, info: SnapshotInfo) -> Result<(), SinkError> {
        self.output.snapshot(info)
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        go_on()?;
        let reading = self.reading;
        self.progress.step(|| {
            let reading = reading.borrow();
            let (at, _) = reading.now.as_ref()?.bytes()?;
            Some((reading.done + at, reading.total))
        });
        self.output.inode(inode)
    }
}

fn report(
    names: &[String],
    format: Format,
    to: &Path,
    summary: &Summary,
    counts: &SnapshotCounts,
    as_json: bool,
    ui: Ui,
) -> anyhow::Result<()> {
    if !summary.unknown_columns.is_empty() {
        ui.warn(&format!(
            "{}: unknown columns are ignored: {}",
            names[0],
            summary.unknown_columns.join(", ")
        ));
    }
    let found = Repair::ALL.map(|repair| (repair, summary.repaired(repair)));
    let mut out = ui::stdout();
    if as_json {
        let found: serde_json::Map<_, _> = found
            .iter()
            .map(|(repair, count)| (repair.key().to_owned(), (*count).into()))
            .collect();
        let repairs = &counts.repairs;
        let all = json!({
            "snapshots": to.to_string_lossy(),
            "format": format.as_str(),
            "inputs": names,
            "summary": {
                "snapshots": counts.snapshots,
                "rows_read": summary.rows,
                "rows_written": counts.rows,
                "tombstones": counts.tombstones,
                "further_names": counts.further_names,
            },
            "found": found,
            "repairs": {
                "duplicates": repairs.duplicates,
                "contradictions": repairs.contradictions,
                "disagreements": repairs.disagreements,
                "bad_extents": repairs.bad_extents,
                "lost_names": repairs.lost_names,
                "times_not_after": repairs.times_not_after,
            },
            "unknown_columns": summary.unknown_columns,
        });
        summary::print_json(&mut out, &all)?;
    } else {
        let mut table = summary::table(&["", ""]);
        let rows = [
            ("snapshots", counts.snapshots),
            ("rows read", summary.rows),
            ("rows written", counts.rows),
            ("of these, tombstones", counts.tombstones),
            ("further names of inodes", counts.further_names),
        ];
        for (what, count) in rows {
            table.add_row([what, &count.to_string()]);
        }
        for (repair, count) in found.into_iter().filter(|(_, count)| *count > 0) {
            table.add_row([repair.text(), &count.to_string()]);
        }
        writeln!(out, "{table}")?;
        for line in counts.repairs.lines() {
            writeln!(out, "{line}")?;
        }
    }
    out.flush()?;
    Ok(())
}
