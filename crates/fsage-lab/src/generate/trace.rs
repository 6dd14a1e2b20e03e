//! What the subcommands for traces share: where logs come from, what is taken from them, the short-lived files.

use super::copies::write_copies;
use super::git::MOST_CLONES;
use super::output::{Generated, Output, Row, Temporary, row, write};
use super::profile_pool;
use crate::error::{Context, bail, error};
use crate::interrupt;
use crate::watch::Progress;
use crate::watch::Watch;
use clap::ValueEnum;
use fsage_core::{Event, EventSink, SinkError, WorkloadHeader};
use fsage_data::stream::{self, ReadProgress};
use fsage_import::trace::{Log, TraceOptions as ImportOptions, TraceSummary};
use fsage_workload::clones::Clones;
use fsage_workload::short_lived::{Extractor, ExtractorOptions, Window};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

/// What every trace can be asked for.
#[derive(Clone, Debug, Default, clap::Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceOptions {
    /// Leave out the files that existed before the trace, instead of making them at the start.
    #[arg(long)]
    pub only_new: bool,
    /// Merge writes to a file across writes to others, within so many milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(i64).range(0..=MOST_MERGE_MS))]
    pub merge_ms: i64,
    /// Local time minus UTC, as +02:00 or -5: where days end.
    #[arg(long, value_name = "HH:MM", default_value = "0", value_parser = utc_offset, allow_hyphen_values = true)]
    #[serde(
        deserialize_with = "utc_offset_text",
        serialize_with = "utc_offset_as_text"
    )]
    pub utc_offset: i32,
    /// Also store profiles of the short-lived files: a pool for `generate snapshots`.
    #[arg(long, value_name = "POOL")]
    pub profiles: Option<PathBuf>,
    /// What the profiles come from, as a kind of use [default: the name of the first log].
    #[arg(long, value_name = "NAME", requires = "profiles")]
    pub profile_source: Option<String>,
    /// Within what a file must be made and deleted to be short-lived; `trace` for traces shorter than a day.
    #[arg(long, value_enum, default_value = "day")]
    pub window: WindowName,
    /// Keep the growth of short-lived files, instead of making them with their last size.
    #[arg(long, requires = "profiles")]
    pub keep_appends: bool,
    /// So many copies side by side, each in its own directory [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_CLONES))]
    pub clones: Option<u64>,
    /// Move each copy but the first by 0 to this many days, at random [default: 0].
    #[arg(long, value_name = "DAYS", requires = "clones")]
    pub stagger: Option<u64>,
    /// Seed of the days by which copies are moved, or of the sizes that `--vary` draws [default: 1].
    #[arg(long, value_name = "SEED")]
    pub seed: Option<u64>,
    /// The trace again and again, so many times, each in a directory of its own: a nightly build, an installation.
    #[arg(long, value_name = "N", conflicts_with = "clones")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MOST_CLONES))]
    pub repeat: Option<u64>,
    /// Days from one repetition to the next [default: 1].
    #[arg(long, value_name = "DAYS", requires = "repeat", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Repetitions that stay: the oldest is removed when another begins [default: 1].
    #[arg(long, value_name = "N", requires = "repeat", value_parser = clap::value_parser!(u64).range(1..))]
    pub keep: Option<u64>,
    /// Draw other sizes in every repetition but the first: each file up to so many percent smaller or larger.
    #[arg(long, value_name = "PERCENT", requires = "repeat", value_parser = clap::value_parser!(u32).range(1..=90))]
    pub vary: Option<u32>,
}

/// The longest time within which writes are merged: a day.
const MOST_MERGE_MS: i64 = 86_400_000;

impl TraceOptions {
    /// That the options make sense.
    pub(super) fn check(&self) -> crate::Result<()> {
        if !(0..=MOST_MERGE_MS).contains(&self.merge_ms) {
            bail!("merge_ms: expected 0 to {MOST_MERGE_MS}");
        }
        for (key, count) in [("clones", self.clones), ("repeat", self.repeat)] {
            if count.is_some_and(|count| !(1..=MOST_CLONES).contains(&count)) {
                bail!("{key}: expected 1 to {MOST_CLONES}");
            }
        }
        if self.clones.is_some() && self.repeat.is_some() {
            bail!("clones and repeat: expected one of them");
        }
        if self
            .vary
            .is_some_and(|percent| !(1..=90).contains(&percent))
        {
            bail!("vary: expected 1 to 90 percent");
        }
        if self.seed.is_some() && self.clones.is_none() && self.vary.is_none() {
            bail!("seed: nothing is drawn without clones or vary");
        }
        Ok(())
    }

    /// The copies that are asked for, if any are.
    fn copies(&self) -> Option<Clones> {
        match (self.repeat, self.clones) {
            (Some(count), _) => {
                let (every, keep) = (self.every.unwrap_or(1), self.keep.unwrap_or(1));
                let (vary, seed) = (self.vary.unwrap_or(0), self.seed.unwrap_or(1));
                Some(Clones::repeated(count, every, keep).varied(vary, seed))
            }
            (None, Some(count)) => {
                let (stagger, seed) = (self.stagger.unwrap_or(0), self.seed.unwrap_or(1));
                Some(Clones::new(count, stagger, seed))
            }
            (None, None) => None,
        }
    }

    /// The pool of profiles that is written beside the workload.
    pub fn pool(&self) -> Option<&Path> {
        self.profiles.as_deref()
    }

    /// Whether a log is standard input that is not kept.
    pub fn reads_once_from(&self, log: &Path) -> bool {
        self.only_new && log.as_os_str() == "-"
    }
}

/// In what a file is short-lived.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum WindowName {
    // No more to say of them: what it would be, `--window` says in its help.
    #[default]
    Day,
    Trace,
}

/// What differs between formats.
pub struct Kind<'a> {
    /// The subcommand.
    pub name: &'static str,
    /// The logs.
    pub logs: &'a [PathBuf],
    /// Directories that count.
    pub roots: &'a [PathBuf],
    /// Whether to guess.
    pub guess: bool,
}

/// What asks whether to go on.
pub type GoOn<'a> = &'a mut dyn FnMut() -> io::Result<()>;

/// Reads logs, writes the workload and the profiles, reports. `header` and `import` are the format's own.
pub fn run(
    kind: &Kind<'_>,
    args: &TraceOptions,
    output: &Output,
    ui: &dyn Watch,
    header: impl FnOnce(&[String], &mut [Log<'_>]) -> crate::Result<WorkloadHeader>,
    import: impl FnOnce(
        &mut [Log<'_>],
        &ImportOptions,
        &mut dyn EventSink,
        GoOn<'_>,
    ) -> crate::Result<(TraceSummary, Vec<Row>)>,
) -> crate::Result<Generated> {
    output.check(kind.logs)?;
    if let Some(pool) = &args.profiles {
        // Before the logs are read, which may take long.
        profile_pool::check(pool, output.force, kind.logs)?;
    }
    let options = ImportOptions {
        roots: kind.roots.iter().map(|r| bytes_of(r)).collect(),
        only_new: args.only_new,
        merge_ns: args.merge_ms * 1_000_000,
        guess: kind.guess,
        utc_offset_s: args.utc_offset,
    };
    let names: Vec<String> = kind.logs.iter().map(|p| file_name(p)).collect();
    let inputs = Inputs::open(kind.logs, args, output, ui)?;
    let mut logs = inputs.logs();
    let generator = parameters(kind, &names, args).to_string();
    let mut header = header(&names, &mut logs)?;
    let source = args.profile_source.clone();
    let extractor = Extractor::new(ExtractorOptions {
        source: source.unwrap_or_else(|| stem(&names[0])),
        window: match args.window {
            WindowName::Day => Window::Day {
                utc_offset_s: args.utc_offset,
            },
            WindowName::Trace => Window::Trace,
        },
        keep_appends: args.keep_appends,
    });
    let read = |sink: &mut dyn EventSink| {
        let mut both = Both { sink, extractor };
        let mut go_on = || inputs.go_on();
        let (trace, rows) = import(&mut logs, &options, &mut both, &mut go_on)?;
        if trace.lines == 0 {
            bail!(
                "{}: empty; a log of {} was expected",
                names.join(", "),
                kind.name
            );
        }
        Ok((trace, rows, both.extractor))
    };
    let ((trace, own_rows, mut extractor), copies, tally) = if let Some(clones) = args.copies() {
        let (read, copies, tally) = write_copies(output, &header, generator, &clones, ui, read)?;
        (read, Some(copies), tally)
    } else {
        header.generator = Some(generator);
        let (read, tally) = write(output, &header, ui, None, read)?;
        (read, None, tally)
    };
    drop(logs);
    drop(inputs);
    if args.repeat.is_some_and(|rounds| rounds > 1) && args.vary.is_none() {
        ui.warn(
            "all rounds have files of the same sizes, so that each fits where an older one was, and little ages: \
             --vary 10 draws other sizes",
        );
    }
    for bad in &trace.first_bad {
        ui.warn(&bad.to_string());
    }
    if let Some(start_ns) = trace.first_t_ns {
        extractor.start_at(start_ns);
    }
    let profiles = extractor.finish();
    if let Some(pool) = &args.profiles {
        profile_pool::write(pool, &profiles, output.force)?;
    }
    let files = profiles.iter().map(fsage_core::short_lived::Profile::files);
    let bytes = profiles.iter().map(fsage_core::short_lived::Profile::bytes);
    let mut rows = trace_rows(&trace);
    rows.extend(own_rows);
    if let Some(copies) = copies {
        rows.push(row("copies", "copies", copies.shifts_days.len() as u64));
        rows.push(row("days of all copies", "copies_days", copies.days));
    }
    rows.extend(short_lived_rows(
        &trace,
        files.sum(),
        profiles.len() as u64,
        bytes.fold(0, u64::saturating_add),
    ));
    Ok(Generated::new(rows, tally))
}

/// Everything that makes this workload again from the same logs.
fn parameters(kind: &Kind<'_>, names: &[String], args: &TraceOptions) -> Value {
    json!({
        "name": kind.name,
        "version": env!("CARGO_PKG_VERSION"),
        "logs": names,
        "roots": kind.roots.iter().map(|r| r.to_string_lossy()).collect::<Vec<_>>(),
        "only_new": args.only_new,
        "merge_ms": args.merge_ms,
        "utc_offset_s": args.utc_offset,
        "guess": kind.guess,
        "clones": args.clones,
        "stagger_days": args.stagger,
        "seed": args.seed,
        "repeat": args.repeat,
        "every_days": args.every,
        "keep": args.keep,
        "vary_percent": args.vary,
    })
}

fn trace_rows(s: &TraceSummary) -> Vec<Row> {
    vec![
        row("lines", "lines", s.lines),
        row("bad lines", "bad_lines", s.bad_lines),
        row("calls used", "calls_used", s.calls_used),
        row("calls ignored", "calls_ignored", s.calls_ignored),
        row("calls that failed", "calls_failed", s.calls_failed),
        row("files made", "creates", s.creates),
        row("of them symbolic links", "symlinks", s.symlinks),
        row("files made and deleted", "deletes", s.deletes),
        row("names removed", "unlinks", s.unlinks),
        row("renames", "renames", s.renames),
        row("replaced files of the trace", "replaced", s.replaced),
        row(
            "replaced files from before",
            "replaced_before",
            s.replaced_before,
        ),
        row("hard links", "links", s.links),
        row("directories made", "mkdirs", s.mkdirs),
        row("directories removed", "rmdirs", s.rmdirs),
        row("unknown deletes", "unknown_deletes", s.unknown_deletes),
        row("survivors", "survivors", s.survivors),
        row("bytes of survivors", "survivor_bytes", s.survivor_bytes),
        row("bytes written", "bytes_written", s.bytes_written),
        row(
            "of them absorbed by merging",
            "bytes_absorbed",
            s.bytes_absorbed,
        ),
        row("files from before", "initial_files", s.initial_files),
        row("bytes of these", "initial_bytes", s.initial_bytes),
        row("directories from before", "initial_dirs", s.initial_dirs),
        row("times that go down", "times_going_down", s.times_going_down),
        row(
            "guessed: files from before of unknown size",
            "guessed_initial_sizes",
            s.initial_sizes_unknown,
        ),
        row(
            "guessed: files that appeared",
            "guessed_appeared",
            s.appeared,
        ),
        row(
            "guessed: deletes not in the log",
            "guessed_deletes_implied",
            s.implied_deletes,
        ),
        row(
            "guessed: sizes corrected later",
            "guessed_sizes_corrected",
            s.sizes_corrected,
        ),
        row(
            "left out: contradictions",
            "contradictions",
            s.contradictions,
        ),
        row(
            "left out: calls on files from before",
            "left_out_before",
            s.left_out_before,
        ),
    ]
}

fn short_lived_rows(s: &TraceSummary, files: u64, profiles: u64, bytes: u64) -> Vec<Row> {
    const DAY_NS: f64 = 86_400e9;
    let span_ns = match (s.first_t_ns, s.last_t_ns) {
        (Some(first), Some(last)) => last.saturating_sub(first).max(1),
        _ => 1,
    };
    let a_day = bytes as f64 * (DAY_NS / span_ns as f64).min(1.0);
    let share = if s.bytes_written == 0 {
        0.0
    } else {
        bytes as f64 * 100.0 / s.bytes_written as f64
    };
    vec![
        row("short-lived files", "short_lived_files", files),
        row("profiles of them", "profiles", profiles),
        row("short-lived bytes", "short_lived_bytes", bytes),
        (
            "short-lived bytes a day".to_owned(),
            format!("{a_day:.0}"),
            "short_lived_bytes_a_day",
            json!(a_day.round()),
        ),
        (
            "short-lived share of bytes written".to_owned(),
            format!("{share:.1} %"),
            "short_lived_percent",
            json!(share),
        ),
    ]
}

/// The logs of a run, read once or twice.
struct Inputs {
    paths: Vec<PathBuf>,
    names: Vec<String>,
    reading: Reading,
    /// What came from standard input, when it is read twice.
    _copy: Option<Temporary>,
}

impl Inputs {
    fn open(
        logs: &[PathBuf],
        args: &TraceOptions,
        output: &Output,
        ui: &dyn Watch,
    ) -> crate::Result<Inputs> {
        let is_stdin = |p: &PathBuf| p.as_os_str() == "-";
        if logs.iter().filter(|p| is_stdin(p)).count() > 1 {
            bail!("`-` can be given once: standard input is one log");
        }
        let mut copy = None;
        let mut paths = logs.to_vec();
        for path in &mut paths {
            if is_stdin(path) && !args.only_new {
                let made = copy_of_stdin(&output.path)?;
                made.path().clone_into(path);
                copy = Some(made);
            }
        }
        let mut total = Some(0);
        for path in &paths {
            let length = if is_stdin(path) {
                None
            } else {
                let found = fs::metadata(path);
                let found = found.with_context(|| format!("cannot read {}", path.display()))?;
                found.is_file().then_some(found.len())
            };
            total = total.zip(length).map(|(sum, length)| sum + length);
            if !args.only_new && length.is_none() {
                bail!(
                    "{} is no file that can be read twice: give --only-new, or a file",
                    path.display()
                );
            }
        }
        let passes = if args.only_new { 1 } else { 2 };
        Ok(Inputs {
            names: logs.iter().map(|p| file_name(p)).collect(),
            paths,
            reading: Reading {
                bar: ui.bar_bytes(total.map(|t| t * passes), "reading"),
                done: Cell::new(0),
                current: RefCell::new(None),
            },
            _copy: copy,
        })
    }

    fn logs(&self) -> Vec<Log<'_>> {
        let named = self.paths.iter().zip(&self.names);
        named
            .map(|(path, name)| Log::new(name.clone(), move || self.reading.open(path)))
            .collect()
    }

    fn go_on(&self) -> io::Result<()> {
        self.reading.show();
        interrupt::go_on()
    }
}

/// How much of all logs was read.
struct Reading {
    bar: Box<dyn Progress>,
    /// Bytes of the logs before.
    done: Cell<u64>,
    current: RefCell<Option<ReadProgress>>,
}

impl Reading {
    fn open(&self, path: &Path) -> io::Result<Box<dyn BufRead>> {
        let (input, progress) = stream::open(path)?;
        if let Some(before) = self.current.replace(Some(progress))
            && let Some((read, _)) = before.bytes()
        {
            self.done.set(self.done.get() + read);
        }
        Ok(input)
    }

    fn show(&self) {
        let current = self.current.borrow().as_ref().and_then(ReadProgress::bytes);
        if let Some((read, _)) = current {
            self.bar.set_position(self.done.get() + read);
        }
    }
}

/// Standard input in a file beside the output, so that it can be read twice.
fn copy_of_stdin(output: &Path) -> crate::Result<Temporary> {
    let copy = Temporary::beside(output, "stdin")?;
    let mut file = fs::File::create_new(copy.path())
        .with_context(|| format!("{}: cannot create it", copy.path().display()))?;
    io::copy(&mut fsage_input::stdin()?, &mut file).with_context(|| {
        format!(
            "{}: cannot copy standard input to it",
            copy.path().display()
        )
    })?;
    Ok(copy)
}

/// Writes the workload and takes the short-lived files from it.
struct Both<'a> {
    sink: &'a mut dyn EventSink,
    extractor: Extractor,
}

impl EventSink for Both<'_> {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        self.extractor.event(&event);
        self.sink.event(event)
    }
}

fn utc_offset_text<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
    utc_offset(&String::deserialize(from)?).map_err(serde::de::Error::custom)
}

// A serializer of serde takes what it serializes so.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn utc_offset_as_text<S: Serializer>(seconds: &i32, to: S) -> Result<S::Ok, S::Error> {
    let sign = if *seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    to.serialize_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60))
}

/// `+02:00`, `-5` or `0`, as seconds.
fn utc_offset(text: &str) -> crate::Result<i32> {
    let expected = || error!("expected hours as +02:00 or -5, found `{text}`");
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let number = |text: &str, most: i32| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let value: Option<i32> = text.parse().ok().filter(|_| digits);
        value.filter(|v| *v <= most).ok_or_else(expected)
    };
    Ok(sign * (number(hours, 14)? * 3600 + number(minutes, 59)? * 60))
}

fn bytes_of(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    if name == "-" {
        "standard input".to_owned()
    } else {
        name.to_string_lossy().into_owned()
    }
}

/// A file name up to its first dot.
fn stem(name: &str) -> String {
    let stem = name.split('.').next().filter(|s| !s.is_empty());
    stem.unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_hours_and_minutes() {
        let table = [
            ("0", Some(0)),
            ("+02:00", Some(7200)),
            ("-5", Some(-18_000)),
            ("-03:30", Some(-12_600)),
            ("+15", None),
            ("1:60", None),
            ("", None),
            ("+-1", None),
            ("utc", None),
        ];
        for (text, expected) in table {
            assert_eq!(utc_offset(text).ok(), expected, "{text}");
        }
    }
}
