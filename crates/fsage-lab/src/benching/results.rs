//! The measurements of a suite on a target: `bench/SUITE.parquet`, a row each.

use crate::error::{Context, bail};
use clap::ValueEnum;
use fsage_bench::{Benchmark, Better, Measurement, Reading, Requests};
use fsage_data::table::{Column, ColumnKind, Table, TableWriter, Value, read_table};
use fsage_durable::make_folders;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Name of the table in the file's metadata.
const SCHEMA: &str = "bench";
/// Key of the seed in the file's metadata.
const SEED: &str = "fsage.seed";
/// Key of the options of the command line that ask for the suite, as JSON.
const ASKED_BY: &str = "fsage.asked_by";

/// What a file system went through before it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The workload.
    Aged,
    /// Nothing but a copy of the files that the aged one ends with.
    Control,
    /// Nothing.
    Empty,
}

impl State {
    /// The state of that word.
    pub fn named(word: &str) -> Option<State> {
        let mut states = State::value_variants().iter().copied();
        states.find(|state| state.as_str() == word)
    }

    /// The word of the command line and of the tables.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Aged => "aged",
            State::Control => "control",
            State::Empty => "empty",
        }
    }
}

/// A measurement, and of what.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The target's specification.
    #[serde(skip)]
    pub target: String,
    /// What it went through.
    pub state: State,
    /// The simulated disk; none below a real file system.
    #[serde(skip)]
    pub device: Option<String>,
    /// The simulated machine; none of a real one.
    #[serde(skip)]
    pub host: Option<String>,
    /// What was measured.
    #[serde(flatten)]
    pub measurement: Measurement,
}

const COLUMNS: [(&str, ColumnKind); 26] = [
    ("target", ColumnKind::Text),
    ("state", ColumnKind::Text),
    ("device", ColumnKind::Text),
    ("host", ColumnKind::Text),
    ("benchmark", ColumnKind::Text),
    ("phase", ColumnKind::Text),
    ("file_bytes", ColumnKind::U64),
    ("repetition", ColumnKind::U64),
    ("files", ColumnKind::U64),
    ("bytes", ColumnKind::U64),
    ("elapsed_ns", ColumnKind::U64),
    ("cpu_ns", ColumnKind::U64),
    ("optimal", ColumnKind::U64),
    ("countable", ColumnKind::U64),
    ("layout_score", ColumnKind::F64),
    ("bytes_per_s", ColumnKind::F64),
    ("files_per_s", ColumnKind::F64),
    ("value", ColumnKind::F64),
    ("unit", ColumnKind::Text),
    ("better", ColumnKind::Text),
    ("device_reads", ColumnKind::U64),
    ("device_writes", ColumnKind::U64),
    ("device_sync_writes", ColumnKind::U64),
    ("device_read_bytes", ColumnKind::U64),
    ("device_written_bytes", ColumnKind::U64),
    ("files_error", ColumnKind::F64),
];

/// The columns.
pub fn columns() -> Vec<Column> {
    COLUMNS.map(|(name, kind)| Column::new(name, kind)).to_vec()
}

/// Whether measurements have a column of that name.
pub fn is_column(name: &str) -> bool {
    COLUMNS.iter().any(|(column, _)| *column == name)
}

impl Row {
    /// The repetition, and what is behind it and before it but the target: for a table that says elsewhere of which
    /// target it is, and has repetitions of its own.
    pub fn without_target(&self) -> (Value, Vec<Value>) {
        let values = COLUMNS.iter().zip(self.values());
        let others = values.filter(|((name, _), _)| !["target", "repetition"].contains(name));
        (
            u64::from(self.measurement.repetition).into(),
            others.map(|(_, value)| value).collect(),
        )
    }

    fn values(&self) -> [Value; COLUMNS.len()] {
        let measured = &self.measurement;
        let reading = measured.reading.as_ref();
        let requests = |of: fn(Requests) -> u64| measured.requests.map(of).into();
        [
            self.target.as_str().into(),
            self.state.as_str().into(),
            self.device.clone().into(),
            self.host.clone().into(),
            measured.benchmark.as_str().into(),
            measured.phase.as_str().into(),
            measured.file_bytes.into(),
            u64::from(measured.repetition).into(),
            measured.files.into(),
            measured.bytes.into(),
            measured.elapsed_ns.into(),
            measured.cpu_ns.into(),
            measured.optimal.into(),
            measured.countable.into(),
            measured.layout_score().into(),
            measured.throughput().into(),
            measured.file_rate().into(),
            reading.map(|reading| reading.value).into(),
            reading.map(|reading| reading.unit.as_str()).into(),
            reading.map(|reading| reading.better.as_str()).into(),
            requests(|r| r.reads),
            requests(|r| r.writes),
            requests(|r| r.sync_writes),
            requests(|r| r.read_bytes),
            requests(|r| r.written_bytes),
            measured.files_error.into(),
        ]
    }
}

/// A row of a table, by the names of its columns.
struct Read<'a>(&'a Table, &'a [Value]);

impl Read<'_> {
    fn value(&self, column: &str) -> &Value {
        let at = self.0.column(column);
        at.map_or(&Value::Null, |at| &self.1[at])
    }

    fn number(&self, column: &str) -> Option<u64> {
        match self.value(column) {
            Value::U64(number) => Some(*number),
            _ => None,
        }
    }

    fn float(&self, column: &str) -> Option<f64> {
        match self.value(column) {
            Value::F64(number) => Some(*number),
            _ => None,
        }
    }

    fn text(&self, column: &str) -> Option<String> {
        match self.value(column) {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn row(&self) -> Option<Row> {
        Some(Row {
            target: self.text("target")?,
            state: State::named(&self.text("state")?)?,
            device: self.text("device"),
            host: self.text("host"),
            measurement: Measurement {
                benchmark: self.text("benchmark")?,
                phase: self.text("phase")?,
                file_bytes: self.number("file_bytes"),
                repetition: u32::try_from(self.number("repetition")?).ok()?,
                files: self.number("files")?,
                bytes: self.number("bytes")?,
                elapsed_ns: self.number("elapsed_ns")?,
                cpu_ns: self.number("cpu_ns"),
                optimal: self.number("optimal"),
                countable: self.number("countable"),
                requests: self.requests(),
                reading: self.reading(),
                files_error: self.float("files_error"),
                ..Measurement::default()
            },
        })
    }

    /// Of commands alone.
    fn reading(&self) -> Option<Reading> {
        Some(Reading {
            value: self.float("value")?,
            unit: self.text("unit")?,
            better: Better::named(&self.text("better")?)?,
        })
    }

    /// None of what earlier versions measured.
    fn requests(&self) -> Option<Requests> {
        Some(Requests {
            reads: self.number("device_reads")?,
            writes: self.number("device_writes")?,
            sync_writes: self.number("device_sync_writes")?,
            read_bytes: self.number("device_read_bytes")?,
            written_bytes: self.number("device_written_bytes")?,
        })
    }
}

/// Reads the measurements of a suite on the target of a folder; none where it was not run.
pub fn read(folder: &Path, suite: &str) -> crate::Result<Vec<Row>> {
    if !are_there(folder, suite) {
        return Ok(Vec::new());
    }
    let path = path(folder, suite, "parquet");
    let table = read_table(&path)?;
    let rows = table.rows.iter().map(|row| Read(&table, row).row());
    rows.collect::<Option<_>>().with_context(|| {
        format!(
            "{}: not the measurements of a benchmark; measure again with `fsage bench --force`",
            path.display()
        )
    })
}

/// The seed with which a suite was measured on the target of a folder, where that can be read.
pub fn seed(folder: &Path, suite: &str) -> Option<String> {
    metadata(folder, suite, SEED)
}

/// The options of the command line that asked for a suite, with their values, where that can be read.
pub fn asked_by(folder: &Path, suite: &str) -> Option<Vec<(String, String)>> {
    serde_json::from_str(&metadata(folder, suite, ASKED_BY)?).ok()
}

fn metadata(folder: &Path, suite: &str, key: &str) -> Option<String> {
    let table = read_table(path(folder, suite, "parquet")).ok()?;
    let mut metadata = table.metadata.into_iter();
    metadata.find_map(|(known, value)| (known == key).then_some(value))
}

/// The folder of all results of a target, in that of the target.
pub fn bench_folder(folder: &Path) -> PathBuf {
    folder.join("bench")
}

/// Names of the suites that were measured in the folder of a target, in alphabetical order.
///
/// # Errors
/// The folder is there, and cannot be read.
pub fn measured_suites(folder: &Path) -> crate::Result<Vec<String>> {
    let folder = bench_folder(folder);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| folder.display().to_string()),
    };
    let mut suites = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| folder.display().to_string())?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "parquet")
        {
            suites.extend(
                path.file_stem()
                    .and_then(|name| name.to_str())
                    .map(str::to_owned),
            );
        }
    }
    suites.sort();
    Ok(suites)
}

/// A file of a suite in the folder of a target.
pub fn path(folder: &Path, suite: &str, extension: &str) -> PathBuf {
    bench_folder(folder).join(format!("{suite}.{extension}"))
}

/// Whether the results of a suite are there.
pub fn are_there(folder: &Path, suite: &str) -> bool {
    path(folder, suite, "parquet").is_file()
}

/// That no result of a suite is there.
pub fn may_be_written(folder: &Path, suite: &str) -> crate::Result<()> {
    for extension in ["parquet", "svg"] {
        let path = path(folder, suite, extension);
        if path.exists() {
            bail!(
                "{}: exists already (--force replaces it; another command of the same program goes beside it by \
                 --exec-name NAME, and several devices stand side by side in an experiment, as `device` of its \
                 [matrix])",
                path.display()
            );
        }
    }
    Ok(())
}

/// Writes the measurements of a suite; the file gets its name when it is complete.
pub fn write(
    folder: &Path,
    suite: &dyn Benchmark,
    seed: u64,
    rows: &[Row],
    force: bool,
) -> crate::Result<()> {
    let path = path(folder, suite.name(), "parquet");
    if let Some(bench) = path.parent() {
        make_folders(bench)?;
    }
    let asked_by = serde_json::to_string(&suite.asked_by())?;
    let metadata = [
        (SEED.to_owned(), seed.to_string()),
        (ASKED_BY.to_owned(), asked_by),
    ];
    let mut table = TableWriter::create(&path, SCHEMA, columns(), &metadata, force)?;
    for row in rows {
        table.push_row(&row.values())?;
    }
    Ok(table.finish()?)
}
