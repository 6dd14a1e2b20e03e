//! The workloads of an experiment: those that are there, and those that are made.

use super::manifest::write_json;
use super::plan::{Recipe, WorkloadPlan};
use crate::build::Build;
use crate::error::Context;
use crate::generate::{Output, Source, generate};
use crate::watch::Watch;
use fsage_durable::make_folders;
use fsage_input::TEXT_BYTES;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A workload that can be replayed.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Where it is.
    pub path: PathBuf,
    /// BLAKE3 hash of its content.
    pub blake3: String,
}

/// A workload, or why there is none; nothing where no cell needs it.
pub type Readied = Option<crate::Result<Workload>>;

/// What a workload was made of, beside it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    /// Who made it.
    #[serde(flatten)]
    build: Build,
    /// Its source, with all its options.
    generate: Value,
    /// The state of what it was made from, if it was made from anything: see [`Source::state_of_inputs`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inputs: Option<String>,
    /// BLAKE3 hash of what came out.
    blake3: String,
}

/// Finds a workload, or makes it in the folder of the experiment.
pub fn ready(plan: &WorkloadPlan, experiment: &Path, ui: &dyn Watch) -> crate::Result<Workload> {
    let source = match &plan.recipe {
        Recipe::File(path) => {
            let blake3 = fsage_data::hash_file(path)?;
            let path = path.clone();
            return Ok(Workload { path, blake3 });
        }
        Recipe::Make(source) => source,
    };
    let folder = experiment.join("workloads");
    make_folders(&folder)?;
    let path = folder.join(format!("{}.parquet", plan.label()));
    let facts = folder.join(format!("{}.json", plan.label()));
    if let Some(blake3) = as_it_was_made(source, &path, &facts) {
        return Ok(Workload { path, blake3 });
    }
    ui.note(&format!(
        "workload {}: fsage generate {}",
        plan.label(),
        source.name()
    ));
    let inputs = state_of_inputs(source);
    // Another shard may be making the same file at the same time: it gets its name when it is complete.
    let made = generate(source, &Output::replacing(&path), ui);
    made.with_context(|| format!("workload {}", plan.label()))?;
    let blake3 = fsage_data::hash_file(&path)?;
    let made = Made {
        build: Build::this(),
        generate: serde_json::to_value(source)?,
        inputs,
        blake3: blake3.clone(),
    };
    write_json(&facts, &made)?;
    Ok(Workload { path, blake3 })
}

/// The hash of a workload as it would be replayed now, where nothing has to be made to know it: that of no workload
/// where it was made of something else.
pub fn known(plan: &WorkloadPlan, experiment: &Path) -> Option<String> {
    match &plan.recipe {
        Recipe::File(path) => fsage_data::hash_file(path).ok(),
        Recipe::Make(source) => {
            let name = format!("{}.json", plan.label());
            let made = made(&experiment.join("workloads").join(name))?;
            Some(if made.is_of(source) {
                made.blake3
            } else {
                String::new()
            })
        }
    }
}

/// None of a source that reads nothing, or whose files cannot be seen from here.
fn state_of_inputs(source: &Source) -> Option<String> {
    (!source.inputs().is_empty())
        .then(|| source.state_of_inputs())
        .flatten()
}

fn made(facts: &Path) -> Option<Made> {
    serde_json::from_slice(&fsage_input::bytes(facts, TEXT_BYTES).ok()?).ok()
}

impl Made {
    /// Whether the same source gave it, of the same files as far as they can be seen.
    fn is_of(&self, source: &Source) -> bool {
        // Files are read last, where nothing else tells.
        let is_same = || state_of_inputs(source).is_none_or(|state| Some(state) == self.inputs);
        !self.build.differs_from(&Build::this())
            && serde_json::to_value(source).is_ok_and(|source| source == self.generate)
            && is_same()
    }
}

/// The hash of a workload that need not be made again: the same source gave it, and no file that may have changed since
/// had a part in it.
fn as_it_was_made(source: &Source, path: &Path, facts: &Path) -> Option<String> {
    let made = made(facts)?;
    if !source.inputs().is_empty() || !made.is_of(source) {
        return None;
    }
    let blake3 = fsage_data::hash_file(path).ok()?;
    (blake3 == made.blake3).then_some(blake3)
}
