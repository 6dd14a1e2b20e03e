//! Experiments: planned once, run cell by cell by whoever has time.

use crate::work::{raised, run};
use fsage_lab::experiment::{self, AtWork, Home, Options, Plan};
use fsage_lab::report;
use fsage_papers::Papers;
use pyo3::prelude::*;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The process works in one folder at a time: whose turn it is.
static FOLDER: Mutex<()> = Mutex::new(());

/// The folder of an experiment file as that of the process, as long as this lives.
struct In {
    before: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl In {
    fn begin(home: &Home) -> fsage_lab::Result<In> {
        let turn = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::env::current_dir()?;
        home.enter()?;
        Ok(In {
            before,
            _turn: turn,
        })
    }
}

impl Drop for In {
    fn drop(&mut self) {
        // A folder that is gone cannot be entered again, and nobody can do anything about it.
        let _ = std::env::set_current_dir(&self.before);
    }
}

/// An experiment that is planned, and the folder of its results.
#[pyclass(frozen, module = "fsage._native")]
pub struct Experiment {
    plan: Plan,
    home: Home,
    folder: PathBuf,
    /// While this process works on it.
    at_work: Mutex<Option<AtWork>>,
}

impl Experiment {
    /// Does something with the plan where its paths are meant from.
    fn at_home<T>(
        &self,
        work: impl FnOnce(&Plan, &Path) -> fsage_lab::Result<T>,
    ) -> fsage_lab::Result<T> {
        let _in = In::begin(&self.home)?;
        work(&self.plan, &self.folder)
    }
}

#[pymethods]
impl Experiment {
    /// Plans an experiment. `text` stands instead of the content of the file, whose folder is the one of its paths.
    #[new]
    #[pyo3(signature = (file, output=None, text=None))]
    fn new(
        py: Python<'_>,
        file: PathBuf,
        output: Option<PathBuf>,
        text: Option<String>,
    ) -> PyResult<Experiment> {
        run(py, None, move |_| {
            let file = std::path::absolute(file)?;
            let home = Home::of(&file)?;
            let folder = std::path::absolute(output.unwrap_or_else(|| home.output.clone()))?;
            let text = match text {
                Some(text) => text,
                None => experiment::text(&file)?,
            };
            let plan = {
                let _in = In::begin(&home)?;
                Plan::parse(&file.display().to_string(), &home.name, &text)?
            };
            let at_work = Mutex::new(None);
            Ok(Experiment {
                plan,
                home,
                folder,
                at_work,
            })
        })
    }

    /// Name of the experiment.
    #[getter]
    fn name(&self) -> &str {
        &self.plan.name
    }

    /// The folder of its results.
    #[getter]
    fn folder(&self) -> &Path {
        &self.folder
    }

    /// The text of its file.
    #[getter]
    fn text(&self) -> &str {
        &self.plan.text
    }

    /// Every cell as it stands, the workload that it needs, and whether it is of a real file system, as JSON.
    fn cells(&self, py: Python<'_>) -> PyResult<String> {
        run(py, None, |_| {
            self.at_home(|plan, folder| {
                let all = Options::default();
                let standing = experiment::standing(plan, folder, &all)?;
                let cells = standing.cells.iter().zip(&plan.cells);
                let cells = cells.map(|(cell, planned)| {
                    let mut cell = json!(cell);
                    cell["needs"] = plan.workloads[planned.workload].label().into();
                    cell["is_real"] = planned.is_real.into();
                    cell
                });
                Ok(json!(cells.collect::<Vec<_>>()).to_string())
            })
        })
    }

    /// Makes the folder, or finds it, and takes it for this process until `end`.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        let begun = run(py, None, |_| {
            self.at_home(|plan, folder| experiment::begin(plan, folder, None))
        })?;
        *self.at_work.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
        Ok(())
    }

    /// Others may work on it again.
    fn end(&self) {
        *self.at_work.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Makes a workload, if it is not there.
    #[pyo3(signature = (label, listener=None))]
    fn make_workload(
        &self,
        py: Python<'_>,
        label: String,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        run(py, listener, |ui| {
            self.at_home(|plan, folder| experiment::make_workload(plan, folder, &label, ui))
        })
    }

    /// Runs a cell, if it is not done; gives how it ended: `done`, `skipped` or `failed`.
    #[pyo3(signature = (id, listener=None))]
    fn run_cell(
        &self,
        py: Python<'_>,
        id: String,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<&'static str> {
        run(py, listener, |ui| {
            self.at_home(|plan, folder| experiment::run_cell(plan, folder, &id, ui))
        })
    }

    /// Runs all cells that are not done, and writes the tables and the report.
    #[pyo3(signature = (threads, listener=None))]
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        run(py, listener, |ui| {
            self.at_home(|plan, folder| {
                let options = Options {
                    threads,
                    ..Options::default()
                };
                let manifest = experiment::run(plan, folder, &options, ui)?.manifest;
                warn_and_report(plan, folder, &manifest, ui)
            })
        })
    }

    /// Runs a few cells, and judges by them what the others take, as JSON.
    #[pyo3(signature = (threads, budget_seconds=None, listener=None))]
    fn estimate(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        budget_seconds: Option<f64>,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        run(py, listener, |ui| {
            let budget = budget_seconds.map(|seconds| {
                Duration::try_from_secs_f64(seconds).map_err(|_| {
                    fsage_lab::Error::new(format!(
                        "budget_seconds: expected seconds from 0, found {seconds}"
                    ))
                })
            });
            let budget = budget.transpose()?;
            self.at_home(|plan, folder| {
                let options = Options {
                    threads,
                    budget,
                    ..Options::default()
                };
                let estimate = experiment::estimate(plan, folder, &options, ui)?;
                crate::calls::to_json(&estimate)
            })
        })
    }

    /// Writes the manifest, the tables and the report of what is there.
    #[pyo3(signature = (listener=None))]
    fn finish(&self, py: Python<'_>, listener: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        run(py, listener, |ui| {
            self.at_home(|plan, folder| {
                let manifest = experiment::finish(plan, folder)?;
                warn_and_report(plan, folder, &manifest, ui)
            })
        })
    }
}

/// Warns of operations that were not done, and writes the report where one is wanted.
fn warn_and_report(
    plan: &Plan,
    folder: &Path,
    manifest: &experiment::manifest::Manifest,
    ui: &dyn fsage_lab::Watch,
) -> fsage_lab::Result<()> {
    for row in experiment::rows(folder, manifest)? {
        if let Some(text) = row.left_out() {
            ui.warn(&text);
        }
    }
    if plan.writes_report {
        let page = folder.join(report::PAGE);
        report::report(&report::Request::new(folder, &page).beside(&Papers), ui)?;
    }
    Ok(())
}

/// The manifest of an experiment, as JSON.
#[pyfunction]
pub fn experiment_facts(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let facts = experiment::manifest::Manifest::read(&path)
        .and_then(|manifest| crate::calls::to_json(&manifest));
    facts.map_err(|error| raised(py, &error))
}
