//! The measurements of a suite on a target: `bench/SUITE.parquet`, a row each.

use anyhow::{Context, bail};
use clap::ValueEnum;
use fsage_bench::Measurement;
use fsage_data::table::{Column, ColumnKind, TableWriter, Value};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the table in the file's metadata.
const SCHEMA: &str = "bench";

/// What a file system went through before it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
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

const COLUMNS: [(&str, ColumnKind); 17] = [
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
];

impl Row {
    fn values(&self) -> [Value; COLUMNS.len()] {
        let measured = &self.measurement;
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
        ]
    }
}

/// A file of a suite in the folder of a target.
pub fn path(folder: &Path, suite: &str, extension: &str) -> PathBuf {
    folder.join("bench").join(format!("{suite}.{extension}"))
}

/// That no result of a suite is there, or may be replaced.
pub fn may_be_written(folder: &Path, suite: &str, force: bool) -> anyhow::Result<()> {
    for extension in ["parquet", "svg"] {
        let path = path(folder, suite, extension);
        if !force && path.exists() {
            bail!("{}: exists already (--force replaces it)", path.display());
        }
    }
    Ok(())
}

/// Writes the measurements of a suite; the file gets its name when it is complete.
pub fn write(
    folder: &Path,
    suite: &str,
    seed: u64,
    rows: &[Row],
    force: bool,
) -> anyhow::Result<()> {
    let path = path(folder, suite, "parquet");
    if let Some(bench) = path.parent() {
        fs::create_dir_all(bench)
            .with_context(|| format!("{}: cannot make it", bench.display()))?;
    }
    let columns = COLUMNS.map(|(name, kind)| Column::new(name, kind)).to_vec();
    let metadata = [("fsage.seed".to_owned(), seed.to_string())];
    let mut table = TableWriter::create(&path, SCHEMA, columns, &metadata, force)?;
    for row in rows {
        table.push_row(&row.values())?;
    }
    Ok(table.finish()?)
}
