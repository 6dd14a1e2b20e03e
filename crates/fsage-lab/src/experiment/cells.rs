//! The cells of an experiment: which are done, and doing the others.

use super::manifest::{Cell, Pattern, State, write_json};
use super::plan::{CellPlan, Plan};
use super::steps::{Bench, MadeOf, Steps};
use super::workloads::{Readied, Workload};
use crate::after;
use crate::aging::Start;
use crate::error::{Context, bail, ensure};
use crate::interrupt;
use crate::run_folder::Manifest;
use crate::watch::Watch;
use fsage_durable::{FolderLock, LockError, remove_folder};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// How far a cell came, beside the folder of its run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Mark {
    /// How far.
    pub state: State,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// What it is made of; none where its workload could not be made.
    pub made_of: Option<MadeOf>,
}

impl Mark {
    /// Whether this is the state of a cell that is made of something else, and why.
    fn is_of_another(&self, made_of: &MadeOf) -> Option<String> {
        made_of.differs_from(self.made_of.as_ref()?)
    }
}

/// What became of a cell.
pub enum Outcome {
    /// It was done before.
    Skipped,
    /// It is done now.
    Done,
    /// It failed, with this exit status.
    Failed(u8),
    /// An interrupt came: it can go on.
    Interrupted,
}

/// The folder of all cells, from that of the experiment.
pub(super) const FOLDER: &str = "cells";

/// The run of a cell, from the folder of the experiment.
pub(super) fn run_of(id: &str) -> String {
    format!("{FOLDER}/{id}")
}

/// The run of a cell.
pub fn run_folder(experiment: &Path, id: &str) -> PathBuf {
    experiment.join(FOLDER).join(id)
}

/// How far a cell came, beside its run.
pub(super) fn mark_path(experiment: &Path, id: &str) -> PathBuf {
    experiment.join(FOLDER).join(format!("{id}.json"))
}

/// A cell as it stands; `workload` is the hash of its workload, where that is known.
pub fn standing(
    plan: &Plan,
    cell: &CellPlan,
    workload: Option<&str>,
    experiment: &Path,
) -> crate::Result<Cell> {
    let of = &plan.workloads[cell.workload];
    let mut standing = Cell {
        id: cell.id.clone(),
        workload: of.name.clone(),
        seed: of.seed,
        repetition: cell.repetition,
        target: cell.spec.to_string(),
        parameters: cell.parameters.clone(),
        beside: cell.beside.clone(),
        pattern: (!cell.parameters.is_empty()).then(|| Pattern {
            workload: of.pattern.clone(),
            target: cell.pattern.clone(),
        }),
        run: run_of(&cell.id),
        state: State::Missing,
        error: None,
        again: None,
        left_out: Vec::new(),
    };
    let Some(mark) = mark(experiment, &cell.id) else {
        return Ok(standing);
    };
    if let Some(earlier) = &mark.made_of {
        let workload = workload.unwrap_or(&earlier.workload);
        if let Some(why) = mark.is_of_another(&made_of(plan, cell, workload)?) {
            standing.again = (mark.state == State::Complete).then_some(why);
            return Ok(standing);
        }
    }
    let is_treated = mark.made_of.is_some_and(|made_of| made_of.after.is_some());
    let run = run_folder(experiment, &cell.id);
    if mark.state != State::Complete || is_whole(&run, cell, is_treated) {
        standing.state = mark.state;
        standing.error = mark.error;
        standing.left_out = mark.left_out;
    }
    Ok(standing)
}

/// Whether what the tables are made of is there: somebody may have removed it.
fn is_whole(run: &Path, cell: &CellPlan, is_treated: bool) -> bool {
    let folder = run.join(cell.run_as.folder());
    let days = folder.join("days.parquet").is_file();
    Manifest::is_run(run) && days && (!is_treated || folder.join(after::FILE).is_file())
}

/// How far a cell came; none if it never began.
fn mark(experiment: &Path, id: &str) -> Option<Mark> {
    let mark = fsage_input::bytes(&mark_path(experiment, id), fsage_input::TEXT_BYTES);
    serde_json::from_slice(&mark.ok()?).ok()
}

/// Brings the cells of a manifest to what they left in the folder of the experiment, whatever they are made of.
pub(super) fn as_left(experiment: &Path, cells: &mut [Cell]) {
    for cell in cells {
        if let Some(mark) = mark(experiment, &cell.id) {
            cell.state = mark.state;
            cell.error = mark.error;
            cell.left_out = mark.left_out;
        }
    }
}

/// What a cell is made of.
fn made_of(plan: &Plan, cell: &CellPlan, workload: &str) -> crate::Result<MadeOf> {
    let seed = plan.workloads[cell.workload].seed.unwrap_or(1);
    let way = &plan.ways[cell.way];
    let bench = way
        .bench
        .as_ref()
        .map(|bench| Bench::new(bench, std::slice::from_ref(&cell.run_as), seed));
    let after = way.after.as_ref();
    let after = after.map(|options| options.suited_to(&cell.spec));
    Ok(MadeOf {
        after: after.transpose()?.flatten(),
        ..MadeOf::of(
            workload.to_owned(),
            std::slice::from_ref(&cell.run_as),
            cell.repetition,
            &way.age,
            bench.transpose()?,
        )
    })
}

/// Where the cells of an experiment are run.
pub struct Place<'a> {
    /// The experiment.
    pub plan: &'a Plan,
    /// Its folder.
    pub folder: &'a Path,
    /// Says a line, for people.
    pub say: &'a (dyn Fn(&str) + Sync),
}

impl Place<'_> {
    /// Runs a cell if it is not done. One whose workload could not be made has failed.
    pub fn run(
        &self,
        cell: &CellPlan,
        workload: &Readied,
        threads: Option<usize>,
        ui: &dyn Watch,
    ) -> crate::Result<Outcome> {
        match workload {
            Some(Ok(workload)) => self.run_with(cell, workload, threads, ui),
            Some(Err(error)) => self.failed(cell, error, None),
            None => bail!("{}: its workload was not made", cell.id),
        }
    }

    fn run_with(
        &self,
        cell: &CellPlan,
        workload: &Workload,
        threads: Option<usize>,
        ui: &dyn Watch,
    ) -> crate::Result<Outcome> {
        let made_of = made_of(self.plan, cell, &workload.blake3)?;
        let run = run_folder(self.folder, &cell.id);
        if let Some(mark) = mark(self.folder, &cell.id) {
            let changed = mark.is_of_another(&made_of);
            if changed.is_none()
                && mark.state == State::Complete
                && is_whole(&run, cell, made_of.after.is_some())
            {
                return Ok(Outcome::Skipped);
            }
            let gone = mark.state == State::Complete && changed.is_none();
            if let Some(why) = changed.or(gone.then(|| "its results are gone".to_owned())) {
                (self.say)(&format!("{}: run again: {why}", cell.id));
                forget(self.folder, &cell.id)?;
            }
        }
        let mark = |state| Mark {
            state,
            error: None,
            left_out: Vec::new(),
            made_of: Some(made_of.clone()),
        };
        self.write(cell, &mark(State::Missing))?;
        let steps = Steps {
            workload: &workload.path,
            specs: std::slice::from_ref(&cell.run_as),
            run: &run,
            made_of: &made_of,
            start: Start {
                threads,
                force: false,
                resume: true,
            },
        };
        match self.take(cell, &steps, ui) {
            Ok(left_out) => {
                for line in &left_out {
                    (self.say)(&format!("{}: {line}", cell.id));
                }
                let mark = Mark {
                    left_out,
                    ..mark(State::Complete)
                };
                self.write(cell, &mark)?;
                Ok(Outcome::Done)
            }
            Err(_) if interrupt::go_on().is_err() => Ok(Outcome::Interrupted),
            // Somebody else is at it: what becomes of it is his to say.
            Err(error) if is_taken(&error) => Err(error),
            Err(error) => self.failed(cell, &error, Some(made_of)),
        }
    }

    /// Takes all steps of a cell; gives what was left out, and why.
    fn take(
        &self,
        cell: &CellPlan,
        steps: &Steps<'_>,
        ui: &dyn Watch,
    ) -> crate::Result<Vec<String>> {
        steps.age(ui)?;
        let left_out = steps.measure(ui)?;
        if let Some(options) = &steps.made_of.after {
            let seed = self.plan.workloads[cell.workload].seed.unwrap_or(1);
            let treated = steps.treat(options, seed, ui)?;
            ensure!(treated.failed.is_empty(), "{}", treated.failed.join("; "));
        }
        steps.discard(ui)?;
        Ok(left_out)
    }

    /// Keeps why a cell failed.
    fn failed(
        &self,
        cell: &CellPlan,
        error: &crate::Error,
        made_of: Option<MadeOf>,
    ) -> crate::Result<Outcome> {
        let why = format!("{error:#}");
        (self.say)(&format!("{}: failed: {why}", cell.id));
        let mark = Mark {
            state: State::Failed,
            error: Some(why),
            left_out: Vec::new(),
            made_of,
        };
        self.write(cell, &mark)?;
        Ok(Outcome::Failed(error.kind().exit_status()))
    }

    fn write(&self, cell: &CellPlan, mark: &Mark) -> crate::Result<()> {
        write_json(&mark_path(self.folder, &cell.id), mark)
    }
}

/// Whether another process works on the run.
fn is_taken(error: &crate::Error) -> bool {
    error
        .chain()
        .any(|cause| matches!(cause.downcast_ref(), Some(LockError::Held { .. })))
}

/// Removes what there is of a cell: a mark without a run says nothing.
fn forget(experiment: &Path, id: &str) -> crate::Result<()> {
    let (mark, run) = (mark_path(experiment, id), run_folder(experiment, id));
    let _alone = run.is_dir().then(|| FolderLock::alone(&run)).transpose()?;
    remove_folder(&run)?;
    fs::remove_file(&mark).with_context(|| format!("{}: cannot remove it", mark.display()))
}
