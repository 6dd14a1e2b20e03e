//! What the folder of an experiment holds.
//!
//! ```text
//! EXP/experiment.json     this manifest
//! EXP/experiment.toml     a copy of the experiment file
//! EXP/workloads/          workloads that were made for it
//! EXP/cells/<id>/         the run of a cell, with one target: an ordinary run
//! EXP/cells/<id>.json     how far this cell came, and what it was made of
//! EXP/rules.toml          what must hold, where something is checked
//! EXP/results.parquet     what came out at the end of each cell; days.parquet, bench.parquet, means.parquet beside it
//! EXP/report.html         the report of all cells
//! ```
//!
//! Nothing in it depends on the clock, on the number of threads, or on which shard ran a cell.

use super::cells;
use crate::build::Build;
use crate::error::{Context, bail};
use crate::run_folder::{inside, no_reproduction};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Component, Path};

/// The copy of the experiment file.
pub const FILE: &str = "experiment.toml";
/// Name of the manifest.
const MANIFEST: &str = "experiment.json";
/// Version of its form.
pub const SCHEMA_VERSION: u32 = 1;

/// What an experiment is made of, and how far it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Who ran it last.
    #[serde(flatten)]
    pub build: Build,
    /// Version of this form.
    pub schema_version: u32,
    /// Name of the experiment.
    pub name: String,
    /// What it asks, in a line; empty where its file says nothing.
    pub summary: String,
    /// BLAKE3 hash of the experiment file.
    pub blake3: String,
    /// The folder that paths in the experiment file are meant from, from the folder of the experiment.
    #[serde(default)]
    pub paths_from: String,
    /// Suites of benchmarks, by name; none where nothing is benchmarked.
    pub suites: Vec<String>,
    /// File with the thresholds, from the folder of the experiment; none where nothing is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// Every cell, those of other shards included, in the order of the experiment file: workload, seed, target,
    /// repetition.
    pub cells: Vec<Cell>,
}

/// One workload with one seed on one target, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Its name, unlike that of any other cell.
    pub id: String,
    /// Name of its workload.
    pub workload: String,
    /// Seed of the workload; none of a file, which is as it is.
    pub seed: Option<u64>,
    /// Which repetition it is, from 1. Models have one.
    pub repetition: u32,
    /// Specification of its target.
    pub target: String,
    /// Values of what the experiment varies, by name: of this cell those that it depends on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Value>,
    /// Those of them that neither the workload nor the target shows: how it is aged and benchmarked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub beside: BTreeMap<String, Value>,
    /// Its workload and its target before values were put in; none where nothing of it is varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Folder of its run, from the folder of the experiment.
    pub run: String,
    /// How far it came.
    pub state: State,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it is run again though it is done; none of one that is as it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// What was left out of a complete cell, and why: benchmarks that do not suit its target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// What a cell has in common with those of other values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// Name of the workload, without its values.
    pub workload: String,
    /// The target as the experiment file has it.
    pub target: String,
}

/// How far a cell came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is aged and benchmarked.
    Complete,
    /// It ended in an error.
    Failed,
    /// It was not run yet, or was interrupted.
    Missing,
}

impl State {
    /// The word of the manifest and of tables.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Complete => "complete",
            State::Failed => "failed",
            State::Missing => "missing",
        }
    }
}

impl Cell {
    /// The workload, with the values of what else is varied beside it and the target: cells of one such name are
    /// compared with each other.
    pub fn life(&self) -> String {
        if self.beside.is_empty() {
            return self.workload.clone();
        }
        let beside = self.beside.iter().map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        });
        let beside: Vec<String> = beside.collect();
        format!("{} ({})", self.workload, beside.join(", "))
    }
}

impl Manifest {
    /// Whether a folder is that of an experiment.
    pub fn is_experiment(folder: &Path) -> bool {
        folder.join(MANIFEST).is_file()
    }

    /// Whether no cell has still to be run.
    pub fn is_over(&self) -> bool {
        self.cells.iter().all(|cell| cell.state != State::Missing)
    }

    /// Reads the manifest of an experiment.
    ///
    /// # Errors
    /// It is not there, or no manifest of this version.
    pub fn read(folder: &Path) -> crate::Result<Manifest> {
        no_reproduction(folder)?;
        let path = folder.join(MANIFEST);
        let text = fsage_input::text(&path, fsage_input::MANIFEST_BYTES).with_context(|| {
            format!(
                "{}: not an experiment: cannot read {MANIFEST}; `fsage run experiment.toml` makes one",
                folder.display()
            )
        })?;
        let damaged = || format!("{}: damaged; run the experiment again", path.display());
        let manifest: Manifest = serde_json::from_str(&text).with_context(damaged)?;
        manifest.stays_inside(folder).with_context(damaged)?;
        Ok(manifest)
    }

    /// That what it names lies where an experiment has it.
    fn stays_inside(&self, folder: &Path) -> crate::Result<()> {
        inside(folder, Path::new(cells::FOLDER))?;
        let cells_folder = folder.join(cells::FOLDER);
        for cell in &self.cells {
            inside(&cells_folder, Path::new(&cell.id))?;
            let expected = cells::run_of(&cell.id);
            if cell.run != expected {
                bail!("the run `{}`: expected `{expected}`", cell.run);
            }
        }
        if let Some(rules) = &self.rules {
            inside(folder, Path::new(rules))?;
        }
        // The way to a folder, as `run_folder::way` writes it: up, and then down.
        let mut down = Path::new(&self.paths_from)
            .components()
            .skip_while(|part| matches!(part, Component::ParentDir));
        if !down.all(|part| matches!(part, Component::Normal(_))) {
            bail!(
                "the folder `{}`: expected the way to it from {}",
                self.paths_from,
                folder.display()
            );
        }
        Ok(())
    }

    /// Writes it, all of it or nothing.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, folder: &Path) -> crate::Result<()> {
        write_json(&folder.join(MANIFEST), self)
    }
}

/// Writes a file of JSON; it gets its name when it is complete. Two processes may do so at the same time.
///
/// # Errors
/// It cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> crate::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(fsage_durable::write(path, text, true)?)
}
