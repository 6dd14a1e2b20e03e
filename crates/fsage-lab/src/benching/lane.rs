//! A target of a run with the states that are measured, and how a suite runs on it.

use super::grounds::{self, Files, Ground, RunFiles};
use super::results::{Row, State};
use super::{Machine, Plan};
use crate::aging::again::AgedModel;
use crate::error::{Context, bail};
use crate::interrupt;
use crate::watch::Watch;
use fsage_bench::benchmarks::free_space::FREE_SPACE;
use fsage_bench::real::{RealOptions, RealPlace, RealStand};
use fsage_bench::{
    BenchError, Benchmark, Case, FileKey, FlashFacts, LeftOut, Progress, Results, SimulatedStand,
    Site, Stand, Subject,
};
use fsage_core::FileId;
use fsage_core::io::AnyHosted;
use fsage_data::SnapshotFile;
use fsage_durable::make_folders;
use fsage_models::MODELS;
use fsage_target::{Target, TargetSpec};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
}

/// The same in one state.
struct Outcome {
    results: Results,
    left_out: Vec<LeftOut>,
    caches: Option<&'static str>,
    free_map_off_percent: Option<f64>,
    /// Where the pages of files lie on a flash device.
    flash: Option<FlashFacts>,
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
            aged = Some(Ground::Model(model.aged, model.hot_files, model.device));
            control = Some(Ground::Model(model.control, model.control_hot_files, None));
        }
        let mut empty = Some(Ground::Model(empty, Vec::new(), None));
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
        if let Some(run) = run.filter(|run| run.hot.is_some()) {
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
        grounds.any(|(_, ground)| matches!(ground, Ground::Real(RealPlace::Directory(_), _)))
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

    /// Runs a suite in every state.
    pub fn run(&self, suite: &dyn Benchmark, plan: &Plan, ui: &dyn Watch) -> crate::Result<Suited> {
        let mut suited = Suited {
            rows: Vec::new(),
            left_out: Vec::new(),
            caches: None,
            free_map_off_percent: BTreeMap::new(),
            flash: BTreeMap::new(),
        };
        for (state, ground) in &self.grounds {
            let outcome = match self.run_on(*state, ground, suite, plan, ui)? {
                Ok(outcome) => outcome,
                Err(why) => {
                    suited.left_out.push(NotRun {
                        state: *state,
                        file_bytes: None,
                        why,
                    });
                    continue;
                }
            };
            suited.caches = outcome.caches;
            if let Some(off) = outcome.free_map_off_percent {
                suited.free_map_off_percent.insert(*state, off);
            }
            suited
                .flash
                .extend(outcome.flash.map(|facts| (*state, facts)));
            let left_out = outcome.left_out.into_iter();
            let left_out = left_out.chain(outcome.results.left_out);
            suited.left_out.extend(left_out.map(|left| NotRun {
                state: *state,
                file_bytes: left.case.file_bytes,
                why: left.why.to_string(),
            }));
            let machine = (!self.is_real()).then_some(&plan.machine);
            let rows = outcome
                .results
                .measurements
                .into_iter()
                .map(|measurement| Row {
                    target: self.spec.clone(),
                    state: *state,
                    device: machine.map(|m| m.device.clone()),
                    host: machine.map(|m| m.host.clone()),
                    measurement,
                });
            suited.rows.extend(rows);
        }
        Ok(suited)
    }

    /// The reason if the suite is none for such a target.
    fn run_on(
        &self,
        state: State,
        ground: &Ground,
        suite: &dyn Benchmark,
        plan: &Plan,
        ui: &dyn Watch,
    ) -> crate::Result<Result<Outcome, String>> {
        let what = format!("{} {}", suite.name(), state.as_str());
        let only_free_map = suite.name() == FREE_SPACE.name;
        match ground {
            Ground::Model(fs, hot_files, lived_on) => {
                let mapped = match &self.model {
                    Some(spec) if only_free_map => match with_free_map_of(&**fs, spec)? {
                        Some(mapped) => Some(mapped),
                        None => return Ok(Err(no_free_map())),
                    },
                    _ => None,
                };
                let fs = match &mapped {
                    Some(mapped) => &**mapped,
                    None => &**fs,
                };
                let mut stand = self.stand(fs, &plan.machine, plan.seed)?;
                if let (Some(device), None) = (lived_on, &mapped) {
                    stand = stand.lived_on(device);
                }
                let flash = stand.flash_facts();
                let hot_files = if only_free_map { &[][..] } else { hot_files };
                let site = Site {
                    free_bytes: stand.free_bytes(),
                    hot_files: hot_files.iter().map(|&FileId(id)| FileKey(id)).collect(),
                };
                let mut stands = vec![stand; plan.threads];
                run(
                    suite,
                    &site,
                    &mut stands,
                    plan.repetitions(false),
                    plan,
                    &what,
                    ui,
                )
                .map(|outcome| Ok(Outcome { flash, ..outcome }))
            }
            Ground::Real(place, existing) => {
                let place = match (place, only_free_map) {
                    (RealPlace::Directory(_), true) => {
                        let why = "the free map of a directory is that of its whole file system, and is not copied";
                        return Ok(Err(why.to_owned()));
                    }
                    (RealPlace::CopyOf { image, options }, true) => RealPlace::FreeMapOf {
                        image: image.clone(),
                        options: options.clone(),
                    },
                    (place, _) => place.clone(),
                };
                let existing = if only_free_map { &[][..] } else { existing };
                make_folders(&self.folder)?;
                let options = RealOptions {
                    existing: existing.to_vec(),
                    drop_all: plan.drop_caches,
                    stop: Some(Arc::new(|| interrupt::go_on().is_err())),
                };
                let mut stand = RealStand::new(place, options, false);
                let subject = stand.ready().map_err(failed)?;
                let site = Site {
                    free_bytes: subject.free_bytes().map_err(failed)?,
                    hot_files: (0..existing.len() as u64).map(FileKey).collect(),
                };
                let caches = subject.cache_method();
                let deviation = subject.deviation();
                let free_map_off_percent = deviation.and_then(|deviation| deviation.percent());
                let mut stands = [stand];
                let outcome = run(
                    suite,
                    &site,
                    &mut stands,
                    plan.repetitions(true),
                    plan,
                    &what,
                    ui,
                )
                .with_context(|| self.spec.clone())?;
                let [stand] = stands;
                stand.close().map_err(failed)?;
                Ok(Ok(Outcome {
                    caches: Some(caches),
                    free_map_off_percent,
                    flash: None,
                    ..outcome
                }))
            }
        }
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

fn no_free_map() -> String {
    let models = MODELS.iter().filter(|entry| entry.with_free_map.is_some());
    let models: Vec<&str> = models.map(|entry| entry.name).collect();
    format!(
        "only {} models and real file systems take the free map of another one",
        models.join(", ")
    )
}

/// Runs the cases of a suite that suit, and tells which did not.
fn run<S: Stand + Send>(
    suite: &dyn Benchmark,
    site: &Site,
    stands: &mut [S],
    repetitions: u32,
    plan: &Plan,
    what: &str,
    ui: &dyn Watch,
) -> crate::Result<Outcome> {
    let mut cases = suite.default_cases();
    let has_sizes = cases.iter().all(|case| case.file_bytes.is_some());
    if has_sizes && !plan.sizes.is_empty() {
        cases = plan
            .sizes
            .iter()
            .map(|&bytes| Case::of_size(bytes))
            .collect();
    }
    let mut left_out = Vec::new();
    cases.retain(|&case| match suite.suits(case, site) {
        Ok(()) => true,
        Err(why) => {
            left_out.push(LeftOut { case, why });
            false
        }
    });
    let total = cases.len() as u64 * u64::from(repetitions);
    let bar = ui.bar_count(Some(total), what);
    let go_on = |progress: Progress| {
        bar.set_position(progress.done as u64);
        interrupt::go_on().is_ok()
    };
    let results = fsage_bench::run(suite, &cases, site, stands, repetitions, &go_on);
    drop(bar);
    Ok(Outcome {
        results: results.map_err(failed)?,
        left_out,
        caches: None,
        free_map_off_percent: None,
        flash: None,
    })
}

/// An interruption is that, whoever noticed it first.
fn failed(error: BenchError) -> crate::Error {
    match (error, interrupt::go_on()) {
        (BenchError::Interrupted, Err(interrupted)) => interrupted.into(),
        (error, _) => error.into(),
    }
}
