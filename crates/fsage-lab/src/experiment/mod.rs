//! Experiments: one file that says what is aged on what, and the folder of its results.
//!
//! A plan is a list of cells: a workload with a seed on a target, once. Each is an ordinary run, and stands for itself:
//! cells of models run side by side, those of real file systems one after another, and what is done is not done again.

mod at_work;
mod beside;
mod cells;
mod estimate;
mod file;
mod home;
pub mod job_array;
pub mod manifest;
mod matched;
pub(crate) mod over;
mod pace;
mod plan;
pub(crate) mod results;
mod room;
mod status;
mod steps;
pub mod tables;
mod template;
pub(crate) mod treated;
mod vary;
mod verdict;
mod workloads;

pub use at_work::AtWork;
pub use estimate::{Amount, Estimate, estimate};
pub use file::Text;
pub use home::{Home, text};
pub use matched::{Both, Compared, Matched, print as print_matched};
pub use over::{Sweep, sweeps};
pub use plan::Plan;
pub use results::{Row, print_table as print_results, rows, too_few};
pub use status::Status;
pub use steps::{Bench, MadeOf, Steps};
pub use verdict::{Verdict, print_table as print_verdict};

use crate::build::Build;
use crate::error::{Context, bail};
use crate::interrupt;
use crate::report::words::lasting;
use crate::run_folder::way;
use crate::watch::Progress;
use crate::watch::{Unwatched, Watch};
use cells::{Outcome, Place};
use fsage_durable::{FileError, TemporaryFolder, make_folders};
use manifest::Manifest;
use pace::Pace;
use plan::CellPlan;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use workloads::Readied;

/// The rules that the experiment must keep to, in its folder.
const RULES: &str = "rules.toml";

/// One machine's share of the cells of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 0.
    number: u64,
    /// Of how many.
    of: u64,
}

impl Shard {
    /// Whether it has the cell of this name. A cell belongs to the same shard whatever other cells there are.
    fn has(self, id: &str) -> bool {
        let hash = fsage_data::hash_bytes(id.as_bytes());
        let first = hash.bytes().take(15);
        let number = first.fold(0, |number, digit| {
            number * 16 + u64::from(char::from(digit).to_digit(16).unwrap_or(0))
        });
        number % self.of == self.number
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/');
        let numbers =
            parts.and_then(|(i, n)| Some((i.parse::<u64>().ok()?, n.parse::<u64>().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard {
                number: number - 1,
                of,
            }),
            _ => Err("expected I/N, as in 1/4 to 4/4".to_owned()),
        }
    }
}

/// How to run an experiment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Cells of models that run at the same time; none for one a core.
    pub threads: Option<usize>,
    /// Only these cells.
    pub shard: Option<Shard>,
    /// No cell begins after so long; what is left goes on with the next run.
    pub budget: Option<Duration>,
}

impl Options {
    /// Whether the cell of this name is among those to run.
    pub fn has(&self, id: &str) -> bool {
        self.shard.is_none_or(|shard| shard.has(id))
    }
}

/// What came of running an experiment.
pub struct Ran {
    /// All cells as they stand now, those of other shards included.
    pub manifest: Manifest,
    /// Cells that were done before.
    pub skipped: usize,
    /// The highest exit status of a cell that failed now; none if none did.
    pub failed: Option<u8>,
    /// Nobody else works on it until the report is written, too.
    _at_work: AtWork,
}

impl Ran {
    /// Whether there is something to report: a share of the cells is not until the last one is there.
    pub fn is_over(&self) -> bool {
        self.manifest.is_over()
    }
}

/// The experiment as it stands in its folder, which need not be there.
///
/// # Errors
/// The folder holds another experiment, or cannot be read.
pub fn standing(plan: &Plan, folder: &Path, options: &Options) -> crate::Result<Manifest> {
    let hashes = plan
        .workloads
        .iter()
        .map(|workload| workloads::known(workload, folder));
    let hashes: Vec<Option<String>> = hashes.collect();
    let hashes: Vec<Option<&str>> = hashes.iter().map(Option::as_deref).collect();
    let mut manifest = manifest(plan, folder, &hashes)?;
    manifest.cells.retain(|cell| options.has(&cell.id));
    Ok(manifest)
}

/// The experiment by its folder alone, for whoever has not what it is made of: cells as they left it.
///
/// # Errors
/// The folder has no manifest that can be read.
pub fn as_left(folder: &Path) -> crate::Result<Manifest> {
    let mut manifest = Manifest::read(folder)?;
    cells::as_left(folder, &mut manifest.cells);
    Ok(manifest)
}

/// Runs the cells that are not done, and writes the manifest. An interruption is an error; what is done stays.
///
/// # Errors
/// The folder holds another experiment, or is at work; a workload cannot be made; the system refused something; an
/// interrupt. A cell that fails is no error: it is told.
pub fn run(plan: &Plan, folder: &Path, options: &Options, ui: &dyn Watch) -> crate::Result<Ran> {
    let cells: Vec<&CellPlan> = plan
        .cells
        .iter()
        .filter(|cell| options.has(&cell.id))
        .collect();
    let at_work = begin(plan, folder, options.shard)?;
    let until = options.budget.map(|budget| Instant::now() + budget);
    let workloads = workloads(plan, &cells, folder, until, ui)?;
    let hashes: Vec<Option<&str>> = workloads
        .iter()
        .map(|workload| Some(workload.as_ref()?.as_ref().ok()?.blake3.as_str()))
        .collect();
    let before = manifest(plan, folder, &hashes)?.cells.into_iter();
    let before = before.filter(|cell| cell.state == manifest::State::Complete);
    let before: HashSet<String> = before.map(|cell| cell.id).collect();
    let work = Work {
        plan,
        workloads: &workloads,
        folder,
        threads: options.threads,
        until,
    };
    let ran = work.run(&cells, &before, ui);
    let manifest = manifest(plan, folder, &hashes)?;
    manifest.write(folder)?;
    let outcomes = ran?;
    interrupt::go_on().context("stopped; the same command resumes it")?;
    if manifest.is_over() {
        tables::write(folder, &manifest)?;
    }
    let failed = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Failed(status) => Some(*status),
        _ => None,
    });
    let skipped = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Outcome::Skipped));
    Ok(Ran {
        manifest,
        skipped: skipped.count(),
        failed: failed.max(),
        _at_work: at_work,
    })
}

/// Makes a workload of an experiment that was [begun](begin), if it is not there: for cells that are run by others.
///
/// # Errors
/// There is none of that name and seed; it cannot be made; an interrupt.
pub fn make_workload(plan: &Plan, folder: &Path, label: &str, ui: &dyn Watch) -> crate::Result<()> {
    let mut workloads = plan.workloads.iter();
    let workload = workloads.find(|workload| workload.label() == label);
    let workload =
        workload.with_context(|| format!("{}: no workload is called {label}", plan.name))?;
    workloads::ready(workload, folder, ui).map(drop)
}

/// Runs one cell of an experiment that was begun, if it is not done; how it ended. Whoever runs cells, processes or
/// machines beside each other, calls this: a cell that another one is at is an error, and nothing is written.
///
/// # Errors
/// There is no such cell; another process is at it; the system refused something; an interrupt. A cell that fails is no
/// error: it is kept why.
pub fn run_cell(
    plan: &Plan,
    folder: &Path,
    id: &str,
    ui: &dyn Watch,
) -> crate::Result<&'static str> {
    let cell = plan.cells.iter().find(|cell| cell.id == id);
    let cell = cell.with_context(|| format!("{}: no cell is called {id}", plan.name))?;
    let say = |line: &str| ui.note(line);
    let place = Place {
        plan,
        folder,
        say: &say,
    };
    let workload = workloads::ready(&plan.workloads[cell.workload], folder, ui);
    interrupt::go_on()?;
    Ok(match place.run(cell, &Some(workload), Some(1), ui)? {
        Outcome::Skipped => "skipped",
        Outcome::Done => "done",
        Outcome::Failed(_) => "failed",
        Outcome::Interrupted => bail!("{id}: stopped; run it again to resume"),
    })
}

/// Writes the manifest of what is there, and the tables of all complete cells.
///
/// # Errors
/// Results of a cell cannot be read; something cannot be written; an interrupt.
pub fn finish(plan: &Plan, folder: &Path) -> crate::Result<Manifest> {
    let manifest = manifest(plan, folder, &[])?;
    manifest.write(folder)?;
    tables::write(folder, &manifest)?;
    Ok(manifest)
}

/// Makes the folder of an experiment, or finds it, and locks it for this process, or for a shard.
///
/// # Errors
/// Another process is at work on it; the folder holds another experiment, or something else.
pub fn begin(plan: &Plan, folder: &Path, shard: Option<Shard>) -> crate::Result<AtWork> {
    if folder.symlink_metadata().is_err() {
        if let Some(parent) = folder.parent() {
            make_folders(parent)?;
        }
        let new = TemporaryFolder::create(folder)?;
        write_files(plan, new.path(), folder)?;
        match new.publish() {
            // Another process was quicker: both may be shards of it.
            Ok(_) | Err(FileError::Exists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let is_empty = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    let at_work = AtWork::begin(folder, shard)?;
    if Manifest::is_experiment(folder) {
        let begun = Manifest::read(folder)?;
        if begun.name != plan.name {
            bail!(
                "{}: holds the experiment `{}`, and this one is `{}`; name another folder with -o",
                folder.display(),
                begun.name,
                plan.name
            );
        }
    } else if !is_empty {
        bail!(
            "{}: exists and is no experiment, so it is left alone; name another folder with -o",
            folder.display()
        );
    }
    write_files(plan, folder, folder)?;
    Ok(at_work)
}

/// Writes what makes a folder that of an experiment, the manifest last; `folder` is where it will stand.
fn write_files(plan: &Plan, to: &Path, folder: &Path) -> crate::Result<()> {
    make_folders(&to.join("cells"))?;
    fsage_durable::write(&to.join(manifest::FILE), &plan.text, true)?;
    if let Some(check) = &plan.check {
        fsage_durable::write(&to.join(RULES), &check.text, true)?;
    }
    manifest(plan, folder, &[])?.write(to)
}

/// What there is; `hashes` are those of the workloads, where they are known.
fn manifest(plan: &Plan, folder: &Path, hashes: &[Option<&str>]) -> crate::Result<Manifest> {
    let cells = plan.cells.iter().map(|cell| {
        interrupt::go_on()?;
        let hash = hashes.get(cell.workload).copied().flatten();
        cells::standing(plan, cell, hash, folder)
    });
    Ok(Manifest {
        build: Build::this(),
        schema_version: manifest::SCHEMA_VERSION,
        name: plan.name.clone(),
        summary: plan.summary.clone(),
        blake3: fsage_data::hash_bytes(plan.text.as_bytes()),
        paths_from: way(folder, &std::env::current_dir()?)?
            .to_string_lossy()
            .into_owned(),
        suites: plan.suites()?,
        rules: plan.check.as_ref().map(|_| RULES.to_owned()),
        cells: cells.collect::<crate::Result<_>>()?,
    })
}

/// The workloads of these cells, by their place in the plan. One that cannot be made is no reason to stop. When the
/// time is over no more are made.
fn workloads(
    plan: &Plan,
    cells: &[&CellPlan],
    folder: &Path,
    until: Option<Instant>,
    ui: &dyn Watch,
) -> crate::Result<Vec<Readied>> {
    let needed: HashSet<usize> = cells.iter().map(|cell| cell.workload).collect();
    // A bar for each of several would say how long that one takes, and nothing of the others.
    let bar = ui.bar_count(Some(needed.len() as u64), "workloads");
    let quiet = Quiet { ui, bar: &*bar };
    let watch: &dyn Watch = if needed.len() > 1 { &quiet } else { ui };
    let mut pace = Pace::new(needed.len(), 1);
    let mut workloads = Vec::new();
    for (i, workload) in plan.workloads.iter().enumerate() {
        let is_needed = needed.contains(&i) && is_time(until);
        if is_needed {
            pace.begin(i, Instant::now());
        }
        let ready = is_needed.then(|| workloads::ready(workload, folder, watch));
        interrupt::go_on().context("stopped; the same command resumes it")?;
        if is_needed {
            over(&mut pace, i, &*bar);
        }
        workloads.push(ready);
    }
    Ok(workloads)
}

/// Another one of several is over.
fn over(pace: &mut Pace, piece: usize, bar: &dyn Progress) {
    let now = Instant::now();
    pace.end(piece, now);
    if let Some(left) = pace.left(now) {
        bar.expect(left);
    }
    bar.inc(1);
}

/// Shows warnings and remarks beside a bar, and no progress of a part.
struct Quiet<'a> {
    ui: &'a dyn Watch,
    bar: &'a dyn Progress,
}

impl Watch for Quiet<'_> {
    fn begin(&self, what: &str, total: Option<u64>, unit: crate::Unit) -> Box<dyn Progress> {
        Unwatched.begin(what, total, unit)
    }

    fn warn(&self, text: &str) {
        self.ui.warn(text);
    }

    fn note(&self, text: &str) {
        self.bar.note(text);
    }
}

/// Whether a cell may still begin.
fn is_time(until: Option<Instant>) -> bool {
    until.is_none_or(|until| Instant::now() < until)
}

/// What cells have in common.
struct Work<'a> {
    plan: &'a Plan,
    workloads: &'a [Readied],
    folder: &'a Path,
    threads: Option<usize>,
    until: Option<Instant>,
}

impl Work<'_> {
    /// Runs models, then real file systems one after the other.
    fn run(
        &self,
        cells: &[&CellPlan],
        before: &HashSet<String>,
        ui: &dyn Watch,
    ) -> crate::Result<Vec<Outcome>> {
        let (real, models): (Vec<&CellPlan>, Vec<&CellPlan>) =
            cells.iter().partition(|cell| cell.is_real);
        // Those that are done take no time, and say nothing of how long the others take.
        let (done, open): (Vec<&CellPlan>, Vec<&CellPlan>) =
            models.iter().partition(|cell| before.contains(&cell.id));
        let mut outcomes = self.run_models(&done, &Unwatched);
        let bar = ui.bar_count(Some(open.len() as u64), "cells");
        outcomes = outcomes.and_then(|mut all| {
            all.extend(self.run_models(&open, &*bar)?);
            Ok(all)
        });
        drop(bar);
        let say = |line: &str| ui.note(line);
        let place = self.place(&say);
        let open: Vec<&str> = real
            .iter()
            .map(|cell| cell.id.as_str())
            .filter(|id| !before.contains(*id))
            .collect();
        let mut pace = Pace::new(open.len(), 1);
        for (i, cell) in real.iter().enumerate() {
            if outcomes.is_err() || !is_time(self.until) || interrupt::go_on().is_err() {
                break;
            }
            let now = Instant::now();
            let left = pace
                .left(now)
                .map(|left| format!("; about {} left", lasting(left)));
            let left = left.unwrap_or_default();
            say(&format!(
                "cell {} of {}: {}{left}",
                i + 1,
                real.len(),
                cell.id
            ));
            let is_open = open.contains(&cell.id.as_str());
            if is_open {
                pace.begin(i, now);
            }
            let outcome = place.run(cell, &self.workloads[cell.workload], self.threads, ui);
            pace.end(i, Instant::now());
            outcomes = outcomes.and_then(|mut all| {
                all.push(outcome?);
                Ok(all)
            });
        }
        outcomes
    }

    fn place<'a>(&'a self, say: &'a (dyn Fn(&str) + Sync)) -> Place<'a> {
        Place {
            plan: self.plan,
            folder: self.folder,
            say,
        }
    }

    /// Cells that share nothing: threads take one after another.
    fn run_models(&self, cells: &[&CellPlan], bar: &dyn Progress) -> crate::Result<Vec<Outcome>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads.unwrap_or(cores).min(cells.len());
        let say = |line: &str| bar.note(line);
        let place = self.place(&say);
        let next = AtomicUsize::new(0);
        let pace = Mutex::new(Pace::new(cells.len(), threads));
        let pace = || pace.lock().unwrap_or_else(PoisonError::into_inner);
        let outcomes = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while is_time(self.until)
                        && interrupt::go_on().is_ok()
                        && let at = next.fetch_add(1, Ordering::Relaxed)
                        && let Some(cell) = cells.get(at)
                    {
                        pace().begin(at, Instant::now());
                        let workload = &self.workloads[cell.workload];
                        let outcome = place.run(cell, workload, Some(1), &Unwatched);
                        over(&mut pace(), at, bar);
                        outcomes
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(outcome);
                    }
                });
            }
        });
        let outcomes = outcomes
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        outcomes.into_iter().collect()
    }
}
