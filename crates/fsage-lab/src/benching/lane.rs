//! A target of a run with the states that are measured, and how a suite runs on it.

use super::causes::CauseTime;
use super::flash::FlashDay;
use super::grounds::{self, Files, Ground, Known, RunFiles};
use super::results::{Row, State};
use super::{Machine, Plan};
use crate::aging::again::AgedModel;
use crate::aging::life::Lived;
use crate::error::{Context, bail};
use crate::interrupt;
use crate::watch::Watch;
use fsage_bench::benchmarks::free_space::FREE_SPACE;
use fsage_bench::real::{ExistingFile, RealPlace};
use fsage_bench::{
    BenchError, Benchmark, Cause, FlashFacts, LeftOut, Progress, Results, SimulatedStand, Site,
};
use fsage_core::io::AnyHosted;
use fsage_data::SnapshotFile;
use fsage_models::MODELS;
use fsage_target::{Target, TargetSpec};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Numbers of the files of a benchmark where nothing else has any.
const FIRST_ID: u64 = 1;

/// A target in one or more states.
pub struct Lane {
    /// Its specification.
    pub spec: String,
    /// The folder of its results.
    pub folder: PathBuf,
    /// All files of the aged file system, where its hot ones may be asked for.
    pub all_files: Option<Files>,
    is_real: bool,
    /// Of a model, its specification.
    model: Option<TargetSpec>,
    grounds: Vec<(State, Ground)>,
    first_own_id: u64,
}

/// A case that was not run.
#[derive(Serialize)]
pub struct NotRun {
    /// On what.
    pub state: State,
    /// The size of its files; none where all cases of the suite are meant.
    pub file_bytes: Option<u64>,
    /// Why not.
    pub why: String,
}

/// What a suite gave on a target.
#[derive(Default)]
pub struct Suited {
    /// Every measurement, by state.
    pub rows: Vec<Row>,
    /// Cases that were not run.
    pub left_out: Vec<NotRun>,
    /// How the caches of a real file system were emptied.
    pub caches: Option<&'static str>,
    /// How far a copied free map of a real file system is from the one that was to be copied, in percent.
    pub free_map_off_percent: BTreeMap<State, f64>,
    /// Where the pages of files lie on a flash device.
    pub flash: BTreeMap<State, FlashFacts>,
    /// The same of the aged file system at the end of every day of its life.
    pub flash_days: Vec<FlashDay>,
    /// How long phases take without some causes of their time, where that is asked for.
    pub causes: Vec<CauseTime>,
}

/// The same in one state.
#[derive(Default)]
pub(super) struct Outcome {
    pub results: Results,
    /// Cases that do not suit.
    pub left_out: Vec<LeftOut>,
    pub caches: Option<&'static str>,
    pub free_map_off_percent: Option<f64>,
    pub flash: Option<FlashFacts>,
    /// The same at the end of every day of its life.
    pub flash_days: Vec<FlashDay>,
    /// How long phases take without some causes of their time, where that is asked for.
    pub causes: Vec<CauseTime>,
}

impl Lane {
    /// A model in some states; `lived` is the one that a run aged.
    pub fn model(
        spec: &TargetSpec,
        folder: &Path,
        states: &[State],
        lived: Option<AgedModel>,
    ) -> crate::Result<Lane> {
        let Some(empty) = Target::make(spec)?.into_hosted() else {
            bail!(
                "`{spec}`: there is nothing to benchmark; expected a model or a real file system"
            );
        };
        let mut lane = Lane {
            spec: spec.to_string(),
            folder: folder.to_owned(),
            all_files: lived.as_ref().map(|model| Files::of(&*model.aged)),
            is_real: false,
            model: Some(spec.clone()),
            grounds: Vec::new(),
            first_own_id: lived.as_ref().map_or(FIRST_ID, |model| model.first_free_id),
        };
        let (mut aged, mut control) = (None, None);
        if let Some(model) = lived {
            let known = Known::of(&model.files);
            aged = Some(Ground::Model(model.aged, known, model.lived));
            let known = Known::of(&model.control_files);
            control = Some(Ground::Model(model.control, known, None));
        }
        let mut empty = Some(Ground::Model(empty, Known::default(), None));
        for &state in states {
            let ground = match state {
                State::Aged => aged.take(),
                State::Control => control.take(),
                State::Empty => empty.take(),
            };
            lane.grounds.extend(ground.map(|ground| (state, ground)));
        }
        Ok(lane)
    }

    /// A real target in some states; `run` says what is known of it, if it was aged.
    pub fn real(
        spec: &TargetSpec,
        folder: &Path,
        states: &[State],
        run: Option<&RunFiles<'_>>,
        ui: &dyn Watch,
    ) -> crate::Result<Lane> {
        let Some(real) = spec.real()? else {
            bail!("`{spec}` is no real file system");
        };
        let mut lane = Lane {
            spec: spec.to_string(),
            folder: folder.to_owned(),
            all_files: None,
            is_real: true,
            model: None,
            grounds: Vec::new(),
            first_own_id: FIRST_ID,
        };
        if let Some(run) = run.filter(|run| run.files.is_some()) {
            let aged = SnapshotFile::open(run.folder.join("final.parquet"))?;
            lane.all_files = Some(Files::of(&aged));
        }
        let mut missing = None;
        for &state in states {
            match grounds::real(&real, folder, state, run)? {
                Ok(ground) => lane.grounds.push((state, ground)),
                Err(why) => {
                    let why = format!("{spec}: {}: {why}", state.as_str());
                    ui.warn(&why);
                    missing = Some(why);
                }
            }
        }
        if let (true, Some(why)) = (lane.grounds.is_empty(), missing) {
            bail!("{why}");
        }
        Ok(lane)
    }

    /// Whether it is a real file system.
    pub fn is_real(&self) -> bool {
        self.is_real
    }

    /// Whether the files of a directory are measured.
    pub fn measures_directory(&self) -> bool {
        let mut grounds = self.grounds.iter();
        grounds.any(|(_, ground)| match ground {
            Ground::Real(place, ..) => matches!(**place, RealPlace::Directory(_)),
            Ground::Model(..) => false,
        })
    }

    /// That a model fits the drive.
    pub fn check(&self, plan: &Plan) -> crate::Result<()> {
        for (_, ground) in &self.grounds {
            if let Ground::Model(fs, ..) = ground {
                self.stand(&**fs, &plan.machine, plan.seed)?;
            }
        }
        Ok(())
    }

    fn stand<'a>(
        &self,
        fs: &'a dyn AnyHosted,
        machine: &'a Machine,
        seed: u64,
    ) -> crate::Result<SimulatedStand<'a>> {
        SimulatedStand::new(fs, self.first_own_id, &machine.params, &machine.disk, seed)
            .with_context(|| self.spec.clone())
    }

    /// Runs a suite on a model, in every state.
    pub fn run(&self, suite: &dyn Benchmark, plan: &Plan, ui: &dyn Watch) -> crate::Result<Suited> {
        let mut suited = Suited::default();
        for (state, ground) in &self.grounds {
            let Ground::Model(fs, known, lived_on) = ground else {
                continue;
            };
            let model = (&**fs, known, lived_on.as_deref());
            let outcome = self.run_on(*state, model, suite, plan, ui)?;
            suited.take(self, *state, outcome, plan);
        }
        Ok(suited)
    }

    /// The places of a real file system, by state, with the files that are there.
    pub(super) fn places(
        &self,
    ) -> impl Iterator<Item = (State, &RealPlace, &[ExistingFile], &Known)> {
        self.grounds
            .iter()
            .filter_map(|(state, ground)| match ground {
                Ground::Real(place, existing, known) => {
                    Some((*state, &**place, &existing[..], known))
                }
                Ground::Model(..) => None,
            })
    }

    /// The reason if the suite is none for such a target.
    fn run_on(
        &self,
        state: State,
        (fs, known, lived_on): (&dyn AnyHosted, &Known, Option<&Lived>),
        suite: &dyn Benchmark,
        plan: &Plan,
        ui: &dyn Watch,
    ) -> crate::Result<Result<Outcome, String>> {
        if suite.runs_programs() {
            return Ok(Err(no_programs().to_owned()));
        }
        let only_free_map = suite.name() == FREE_SPACE.name;
        let mapped = match &self.model {
            Some(spec) if only_free_map => match with_free_map_of(fs, spec)? {
                Some(mapped) => Some(mapped),
                None => return Ok(Err(no_free_map())),
            },
            _ => None,
        };
        let fs = mapped.as_deref().unwrap_or(fs);
        let mut stand = self.stand(fs, &plan.machine, plan.seed)?;
        let mut flash_days = Vec::new();
        if let (Some(lived), None) = (lived_on, &mapped) {
            stand = stand.lived_on(&lived.device);
            flash_days.clone_from(&lived.days);
        }
        let flash = stand.flash_facts();
        let none = Known::default();
        let known = if only_free_map { &none } else { known };
        let site = Site {
            free_bytes: stand.free_bytes(),
            hot_files: known.hot.clone(),
            tree: known.tree.clone(),
        };
        let (cases, left_out) = plan.cases(suite, &site);
        let repetitions = plan.simulated_repetitions(suite);
        let total = cases.len() as u64 * u64::from(repetitions);
        let what = format!("{} {}", suite.name(), state.as_str());
        let bar = ui.bar_count(Some(total), &what);
        let go_on = |progress: Progress| {
            bar.set_position(progress.done as u64);
            interrupt::go_on().is_ok()
        };
        let mut stands = vec![stand.clone(); plan.threads];
        let results = fsage_bench::run(suite, &cases, &site, &mut stands, repetitions, &go_on);
        drop(bar);
        let results = results.map_err(failed)?;
        let mut causes = Vec::new();
        if plan.causes && plan.machine.flash().is_some() {
            causes.extend(CauseTime::all(state, 0, &results));
            for spared in 1..=Cause::ALL.len() {
                let what = Cause::ALL[spared - 1].as_str();
                let what = format!("{} {} without {what}", suite.name(), state.as_str());
                let bar = ui.bar_count(Some(cases.len() as u64), &what);
                let go_on = |progress: Progress| {
                    bar.set_position(progress.done as u64);
                    interrupt::go_on().is_ok()
                };
                let mut stands = vec![stand.clone().without(spared); plan.threads];
                let results = fsage_bench::run(suite, &cases, &site, &mut stands, 1, &go_on);
                causes.extend(CauseTime::all(state, spared, &results.map_err(failed)?));
            }
        }
        Ok(Ok(Outcome {
            results,
            left_out,
            flash,
            flash_days,
            causes,
            ..Outcome::default()
        }))
    }
}

impl Suited {
    /// Takes what a suite gave on a target in a state, or why it was not run.
    pub(super) fn take(
        &mut self,
        lane: &Lane,
        state: State,
        outcome: Result<Outcome, String>,
        plan: &Plan,
    ) {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(why) => {
                return self.left_out.push(NotRun {
                    state,
                    file_bytes: None,
                    why,
                });
            }
        };
        self.caches = outcome.caches;
        if let Some(off) = outcome.free_map_off_percent {
            self.free_map_off_percent.insert(state, off);
        }
        self.flash.extend(outcome.flash.map(|facts| (state, facts)));
        self.causes.extend(outcome.causes);
        if !outcome.flash_days.is_empty() {
            self.flash_days = outcome.flash_days;
        }
        let left_out = outcome.left_out.into_iter();
        let left_out = left_out.chain(outcome.results.left_out);
        self.left_out.extend(left_out.map(|left| NotRun {
            state,
            file_bytes: left.case.file_bytes,
            why: left.why.to_string(),
        }));
        let machine = (!lane.is_real()).then_some(&plan.machine);
        let measurements = outcome.results.measurements.into_iter();
        self.rows.extend(measurements.map(|measurement| Row {
            target: lane.spec.clone(),
            state,
            device: machine.map(|m| m.device.clone()),
            host: machine.map(|m| m.host.clone()),
            measurement,
        }));
    }
}

/// A file system without files on which only that is free that is free on another one; `None` if the model takes no
/// free map.
fn with_free_map_of(
    fs: &dyn AnyHosted,
    spec: &TargetSpec,
) -> crate::Result<Option<Box<dyn AnyHosted>>> {
    let Some((entry, make)) = spec
        .entry()
        .and_then(|entry| Some((entry, entry.with_free_map?)))
    else {
        return Ok(None);
    };
    let mut free = Vec::new();
    fs.visit_free(&mut |run| free.push(run));
    Ok(Some(make(&entry.own(&spec.pairs()), &free)?))
}

/// Why a command does not run on a model.
pub(super) fn no_programs() -> &'static str {
    "a command runs on real file systems only, and simulated ones have no files that programs see; age on a real one, \
     as in --on loop:ext4, or run a suite of `fsage bench --list`"
}

fn no_free_map() -> String {
    let models = MODELS.iter().filter(|entry| entry.with_free_map.is_some());
    let models: Vec<&str> = models.map(|entry| entry.name).collect();
    format!(
        "only {} models and real file systems take the free map of another one",
        models.join(", ")
    )
}

/// An interruption is that, whoever noticed it first.
pub(super) fn failed(error: BenchError) -> crate::Error {
    match (error, interrupt::go_on()) {
        (BenchError::Interrupted, Err(interrupted)) => interrupted.into(),
        (error, _) => error.into(),
    }
}
