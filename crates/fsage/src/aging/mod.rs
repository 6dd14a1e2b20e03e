//! Aging targets: from a workload and target specifications to a run.

mod real;
mod snapshots;

use crate::days::{self, DayRow};
use crate::exit;
use crate::run_folder::{Manifest, Run, State, TargetFacts, WorkloadFacts};
use crate::ui::{self, Ui};
use anyhow::bail;
use fsage_core::EventSource;
use fsage_target::{Aging, OpCounts, Progress, ReplayError, Target, TargetSpec, replay};
use snapshots::Store;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// How to age.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Skip and count what does not fit the state.
    pub lenient: bool,
    /// Check the target every day.
    pub check: bool,
    /// Threads; `None` is one a target, at most one a core.
    pub threads: Option<usize>,
    /// A snapshot every so many days.
    pub snapshots: Option<u32>,
    /// Replace an existing run.
    pub force: bool,
    /// Go on with an interrupted run.
    pub resume: bool,
    /// Do not measure the unaged control.
    pub no_control: bool,
}

/// A target that was aged.
#[derive(Debug)]
pub struct Aged {
    /// Its specification.
    pub spec: String,
    /// Its days.
    pub rows: Vec<DayRow>,
}

/// Replays `workload` on every target and writes the run.
pub fn age(
    workload: &Path,
    specs: &[TargetSpec],
    output: &Path,
    options: &Options,
    ui: Ui,
) -> anyhow::Result<Vec<Aged>> {
    let folders = folders(specs)?;
    let mut source = fsage_data::open_workload(workload)?;
    let mut manifest = begun(workload, &*source, specs, &folders, options)?;
    let mut run = Run::begin(output, options.force, options.resume, &manifest)?;
    let epoch_s = source.header().epoch_unix_s.unwrap_or(0);
    let epoch_ns = epoch_s.saturating_mul(1_000_000_000);

    let mut lanes = Vec::new();
    let mut agings = Vec::new();
    for (spec, folder) in specs.iter().zip(&folders) {
        let path = run.target(folder)?;
        let lane = if spec.is_real() {
            let identity = manifest.workload.blake3.clone();
            let (real, earlier) = real::begin(spec, &path, identity.as_deref(), run.is_resumed())?;
            // What is on a real file system now is there to stay.
            run.stay();
            agings.push(Aging::new(Target::Real(Box::new(real)), options.lenient));
            Lane::new(spec, path, earlier)
        } else {
            agings.push(Aging::new(Target::make(spec)?, options.lenient));
            Lane::new(spec, path, Vec::new())
        };
        lanes.push(lane);
    }
    for (lane, aging) in lanes.iter_mut().zip(&mut agings) {
        if options.check {
            aging.check_every_day();
        }
        if let Target::Real(_) = aging.target() {
            aging.when_day_ends(Box::new(days::to_json));
        }
        if let Some(every_days) = options.snapshots {
            lane.store = Store::start(aging, &lane.path, every_days, epoch_ns)?;
        }
    }
    warn_of_small_targets(&*source, &lanes, &agings, ui);
    match replay_all(workload, &mut *source, &mut agings, options, ui) {
        Err(error) if is_interrupt(&error) => {
            run.stay();
            return Err(error.context(format!(
                "stopped; the same command with --resume goes on with {}",
                output.display()
            )));
        }
        Err(error) if lanes.iter().any(|lane| lane.spec.is_real()) => {
            return Err(error.context(format!(
                "the run stopped; nothing is lost: the same command with --resume goes on with {}",
                output.display()
            )));
        }
        result => result?,
    }

    let mut aged = Vec::new();
    manifest.targets.clear();
    for ((lane, folder), aging) in lanes.into_iter().zip(&folders).zip(agings) {
        let (done, facts) = lane.finish(aging, epoch_ns, options, ui)?;
        manifest.targets.push(TargetFacts {
            spec: done.spec.clone(),
            folder: folder.clone(),
            days: done.rows.len() as u64,
            operations: done.rows.iter().map(|d| d.operations).sum(),
            skipped: done.rows.iter().map(|d| d.skipped).sum(),
            facts,
        });
        warn_of_skipped(&done, ui);
        aged.push(done);
    }
    manifest.state = State::Complete;
    run.finish(&manifest)?;
    Ok(aged)
}

/// A target of the run and where its results go.
struct Lane<'a> {
    spec: &'a TargetSpec,
    path: PathBuf,
    /// Days before an interruption.
    earlier: Vec<DayRow>,
    store: Option<Store>,
}
