//! Benchmarking targets: those of a run, aged and beside their unaged controls, or empty ones.

pub(crate) mod causes;
mod exec;
pub(crate) mod flash;
mod grounds;
mod in_turn;
mod lane;
mod options;
mod others;
pub mod over_days;
mod ratios;
mod report;
pub(crate) mod results;
mod rows;
mod why;

pub use exec::Exec;
pub(crate) use grounds::RunFiles;
pub(crate) use lane::Lane;
pub use options::Options;
pub(crate) use ratios::are_too_few;
pub use ratios::{PhaseRatio, between, between_rows, ratios, speed, words};
pub(crate) use report::LEFT_OUT;
pub use report::{Line, Report, TargetJson, beside, digits, lines, ratio_over, spread, with_ends};
pub use results::{State, measured_suites, path as results_path};
// What a command as a benchmark is made of.
pub use fsage_bench::{Command, Wanted};

use crate::aging::again::{self, AgedModel, Asked, WorkloadFiles};
use crate::device::disk;
use crate::error::{Context, bail};
use crate::interrupt;
use crate::report::words::shell;
use crate::run_folder::{Manifest, State as RunState, TargetFacts};
use crate::seals;
use crate::watch::Watch;
use clap::ValueEnum;
use fsage_bench::real::may_drop_all;
use fsage_bench::{
    Benchmark, Case, DriveTooSmall, GoesOver, LeftOut, Repetitions, Site, benchmarks, device_below,
};
use fsage_core::io::Hosted;
use fsage_core::keys;
use fsage_core::size;
use fsage_disk::{Device, Disk, FlashDevice, FlashDrive};
use fsage_durable::{FolderLock, make_folders};
use fsage_host::{Host, HostParams, presets};
use fsage_target::TargetSpec;
use lane::Suited;
use std::collections::BTreeSet;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Repetitions of simulated targets where none are asked for.
const SIMULATED_REPETITIONS: u32 = 10;
/// Repetitions of real targets where none are asked for: at least and at most so many.
const LEAST_REAL_REPETITIONS: u32 = 6;
const MOST_REAL_REPETITIONS: u32 = 30;
/// Repetitions of a case, at most.
const MAX_REPETITIONS: u32 = 10_000;

/// The simulated machine and its disk.
pub struct Machine {
    device: String,
    disk: Disk,
    host: String,
    params: HostParams,
}

impl Machine {
    /// A drive and a machine by the names of presets, or of TOML files.
    ///
    /// # Errors
    /// There is no such disk or machine.
    pub fn named(device: &str, host: &str) -> crate::Result<Machine> {
        Ok(Machine {
            device: device.to_owned(),
            disk: disk(device)?,
            host: host.to_owned(),
            params: host_params(host)?,
        })
    }

    /// The name of the disk.
    pub(crate) fn device_name(&self) -> &str {
        &self.device
    }

    /// That a file system of so many bytes fits the disk.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn check_fits(&self, fs_bytes: u64) -> Result<(), DriveTooSmall> {
        DriveTooSmall::check(&self.disk, fs_bytes)
    }

    /// A machine with the disk, and a file system as it stands on that, or on the flash device that it has `lived` on;
    /// nothing if it does not fit.
    pub(crate) fn host_below(
        &self,
        fs: &dyn Hosted,
        lived: Option<FlashDevice>,
    ) -> Option<Host<Box<dyn Device + Send>>> {
        self.check_fits(fs.geometry().size_bytes).ok()?;
        let partition = self.disk.partition();
        let mut params = self.params.clone();
        params.tail_alone &= fs.reads_tail_alone();
        let device = match lived {
            Some(device) => Box::new(device),
            None => device_below(&self.disk, fs),
        };
        let mut host = Host::new(&params, device, partition.first_sector, fs.block_bytes());
        let mut superblock = Vec::new();
        fs.superblock(&mut superblock);
        host.set_superblock(superblock);
        Some(host)
    }

    /// The flash device, if the disk is one, and the host above it.
    pub(crate) fn flash(&self) -> Option<(&FlashDrive, &HostParams)> {
        match &self.disk {
            Disk::Flash(drive) => Some((drive, &self.params)),
            Disk::Rotating(_) | Disk::Null => None,
        }
    }
}

/// What becomes of results that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// They are refused, before any work.
    Refused,
    /// They are replaced.
    Replaced,
    /// They stay, and are not measured again.
    Kept,
}

/// A benchmark that is run.
#[derive(Clone)]
pub enum Suite {
    /// One of fsage's own.
    Known(&'static dyn Benchmark),
    /// A command of the user's.
    Command(Arc<Command>),
}

impl Deref for Suite {
    type Target = dyn Benchmark;

    fn deref(&self) -> &(dyn Benchmark + 'static) {
        match self {
            Suite::Known(suite) => *suite,
            Suite::Command(command) => &**command,
        }
    }
}

/// What is measured, and how.
pub struct Plan {
    /// The suites, in this order.
    pub suites: Vec<Suite>,
    /// Below simulated targets.
    pub machine: Machine,
    /// Sizes of files instead of the suites' own.
    pub sizes: Vec<u64>,
    /// Of every case; none for as many as suit the target.
    pub repetitions: Option<u32>,
    /// For so many minutes a suite goes on repeating on real targets, once each case ran as often as it must.
    pub minutes: u32,
    /// Which states; none for those that a run, or an empty target, has.
    pub states: Vec<State>,
    /// Seed of where the spindle stands when a repetition begins.
    pub seed: u64,
    /// Hot files are those that were changed so many days before the workload ends, or later.
    pub hot_days: u32,
    /// Where the workload of a run is, if it has moved.
    pub workload: Option<PathBuf>,
    /// Threads that share the repetitions of simulated targets.
    pub threads: usize,
    /// Drop all caches of this machine where a directory is measured.
    pub drop_caches: bool,
    /// Split what aged file systems lose on flash into causes.
    pub causes: bool,
    /// Models are also measured on earlier days, these and the last together so many; none for the last alone.
    pub over_days: Option<u32>,
    /// What becomes of results of these suites.
    pub existing: Existing,
}

impl Plan {
    /// What was asked for, of targets that say what machine is the usual one; everything else is as usual.
    ///
    /// # Errors
    /// There is no such suite, disk or machine.
    pub fn new(options: &Options, targets: &[TargetSpec]) -> crate::Result<Plan> {
        let suites = options.suites()?.into_iter();
        Plan::of(suites.map(Suite::Known).collect(), options, targets)
    }

    /// The widest set of files that a suite asks for.
    fn asks_for(&self) -> Option<GoesOver> {
        self.suites.iter().map(|suite| suite.asks_for()).max()
    }

    /// What the suites ask of a workload that is lived to its end.
    pub(crate) fn asked(&self) -> Asked {
        Asked {
            hot_days: self.hot_days,
            tree: self.asks_for() == Some(GoesOver::Tree),
            last_day: None,
        }
    }

    /// The suites that were asked for, if any, and a command.
    ///
    /// # Errors
    /// As for [`new`](Plan::new).
    fn with_command(
        command: Command,
        options: &Options,
        targets: &[TargetSpec],
    ) -> crate::Result<Plan> {
        let mut all = Vec::new();
        if !options.suites.is_empty() {
            all.extend(options.suites()?.into_iter().map(Suite::Known));
        }
        all.push(Suite::Command(Arc::new(command)));
        Plan::of(all, options, targets)
    }

    fn of(suites: Vec<Suite>, options: &Options, targets: &[TargetSpec]) -> crate::Result<Plan> {
        let options = options.below(targets)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        options.may_split()?;
        Ok(Plan {
            suites,
            machine: options.machine()?,
            sizes: options.sizes()?,
            repetitions: options.repetitions,
            minutes: options.minutes,
            states: options.states.clone(),
            seed: 1,
            hot_days: options.hot_days,
            workload: None,
            threads: cores,
            drop_caches: options.drop_caches,
            causes: options.causes,
            over_days: options.over_days,
            existing: Existing::Refused,
        })
    }

    /// Whether the results of all suites on targets of a run are there.
    pub fn all_are_there(&self, run: &Path, specs: &[TargetSpec]) -> bool {
        let folders = specs.iter().map(|spec| run.join(spec.folder()));
        let mut pairs =
            folders.flat_map(|folder| self.suites.iter().map(move |s| (folder.clone(), s.name())));
        pairs.all(|(folder, suite)| results::are_there(&folder, suite))
            && over_days::are_there(run, specs, self)
    }

    /// Repetitions of every case of a suite on simulated targets. Flash has no spindle, and does the same every time.
    fn simulated_repetitions(&self, suite: &dyn Benchmark) -> u32 {
        let usual = if self.machine.flash().is_some() && !suite.draws() {
            1
        } else {
            SIMULATED_REPETITIONS
        };
        self.repetitions.unwrap_or(usual)
    }

    /// That results in the folder of a target are not in the way.
    fn may_write(&self, folder: &Path) -> crate::Result<()> {
        if self.existing != Existing::Refused {
            return Ok(());
        }
        let mut suites = self.suites.iter();
        suites.try_for_each(|suite| results::may_be_written(folder, suite.name()))
    }

    /// Repetitions of every case on real targets.
    fn real_repetitions(&self) -> Repetitions {
        match self.repetitions {
            Some(count) => Repetitions::exactly(count),
            None => Repetitions {
                least: LEAST_REAL_REPETITIONS,
                most: MOST_REAL_REPETITIONS,
                time: Some(Duration::from_secs(60 * u64::from(self.minutes))),
            },
        }
    }

    /// The cases of a suite that suit a file system, and those that do not.
    fn cases(&self, suite: &dyn Benchmark, site: &Site) -> (Vec<Case>, Vec<LeftOut>) {
        let mut cases = suite.default_cases();
        let has_sizes = cases.iter().all(|case| case.file_bytes.is_some());
        if has_sizes && !self.sizes.is_empty() {
            cases = self.sizes.iter().copied().map(Case::of_size).collect();
        }
        let mut left_out = Vec::new();
        cases.retain(|&case| match suite.suits(case, site) {
            Ok(()) => true,
            Err(why) => {
                left_out.push(LeftOut { case, why });
                false
            }
        });
        (cases, left_out)
    }
}

/// What came of measuring.
#[derive(Default)]
pub struct Measured {
    /// Folders with results.
    pub folders: BTreeSet<PathBuf>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
}

impl Measured {
    /// Writes and reports what a suite gave on a target.
    fn take(
        &mut self,
        lane: &Lane,
        suite: &Suite,
        suited: Suited,
        plan: &Plan,
        ui: &dyn Watch,
        reported: &mut Reported<'_>,
    ) -> crate::Result<()> {
        let report = Report::new(lane, suite, plan, suited);
        let why = report.left_out();
        for line in &why {
            ui.warn(line);
        }
        if !report.is_empty() {
            self.folders.insert(results::bench_folder(&lane.folder));
        } else if why.is_empty() {
            ui.warn(&format!(
                "{}: {}: nothing was measured, and no results are written",
                lane.spec,
                suite.name()
            ));
        }
        self.left_out.extend(why);
        report.write(&lane.folder, plan.seed, plan.existing != Existing::Refused)?;
        reported(report)
    }
}

/// Takes the report of a suite on a target as soon as it is written.
pub type Reported<'a> = dyn FnMut(Report) -> crate::Result<()> + 'a;

/// What is benchmarked.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Aged targets, or new ones.
    pub what: What<'a>,
    /// Of a run, these alone, or all that can be measured where none is named; without a run, what is made.
    pub targets: &'a [TargetSpec],
    /// Which suites, and how.
    pub plan: &'a Plan,
}

/// What is there to be benchmarked.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// The targets of this run, and their controls.
    Run(&'a Path),
    /// Targets that are made for it, and are empty; the folder is for the results.
    Empty(&'a Path),
}

impl What<'_> {
    /// All targets that are there: those of the run, whichever of them are benchmarked, or `named` ones.
    ///
    /// # Errors
    /// There is no run.
    pub fn targets(&self, named: &[TargetSpec]) -> crate::Result<Vec<TargetSpec>> {
        match self {
            What::Run(run) => {
                let targets = Manifest::read(run)?.targets;
                let targets = targets.iter().map(|of| TargetSpec::parse(&of.spec));
                Ok(targets.collect::<Result<_, _>>()?)
            }
            What::Empty(_) => Ok(named.to_vec()),
        }
    }
}

/// Benchmarks targets: the report of each suite on each of them, what was left out, and where results lie.
///
/// # Errors
/// As for [`bench_and`].
pub fn bench(request: &Request<'_>, ui: &dyn Watch) -> crate::Result<(Vec<Report>, Measured)> {
    let mut reports = Vec::new();
    let measured = bench_and(request, ui, &mut |report| {
        reports.push(report);
        Ok(())
    })?;
    Ok((reports, measured))
}

/// Benchmarks targets, and gives each report to `reported` as soon as its results are written.
///
/// # Errors
/// The run is not complete, or at work; a target cannot be made; a benchmark cannot run; the results cannot be written;
/// an interrupt.
pub fn bench_and(
    request: &Request<'_>,
    ui: &dyn Watch,
    reported: &mut Reported<'_>,
) -> crate::Result<Measured> {
    let Request {
        what,
        targets,
        plan,
    } = *request;
    match what {
        What::Run(run) => measure_run(run, targets, plan, ui, reported),
        What::Empty(output) => measure_empty(targets, output, plan, ui, reported),
    }
}

/// Runs every suite on targets of a run, on all that can be measured if `only` names none.
fn measure_run(
    run: &Path,
    only: &[TargetSpec],
    plan: &Plan,
    ui: &dyn Watch,
    reported: &mut Reported<'_>,
) -> crate::Result<Measured> {
    let _alone = Manifest::is_run(run)
        .then(|| FolderLock::alone(run))
        .transpose()?;
    let lanes = aged_lanes(run, only, plan, None, ui)?;
    let mut measured = measure(&lanes, plan, ui, reported)?;
    drop(lanes);
    if plan.over_days.is_some() {
        let earlier = over_days::measure(run, only, plan, &measured.left_out, ui)?;
        measured.left_out.extend(earlier);
    }
    Ok(measured)
}

/// Makes targets and runs every suite on them, empty as they are.
fn measure_empty(
    specs: &[TargetSpec],
    output: &Path,
    plan: &Plan,
    ui: &dyn Watch,
    reported: &mut Reported<'_>,
) -> crate::Result<Measured> {
    let lanes = empty_lanes(specs, output, plan)?;
    make_folders(output)?;
    let _alone = FolderLock::alone(output)?;
    let measured = measure(&lanes, plan, ui, reported);
    if !measured.as_ref().is_ok_and(|m| !m.folders.is_empty()) {
        // Folders that stayed empty go again; no other can be removed so.
        let folders = lanes.iter().map(|lane| lane.folder.as_path());
        for folder in folders.chain([output]) {
            let _ = fs::remove_dir(folder);
        }
    }
    measured
}

/// Runs every suite on these.
pub(crate) fn measure(
    lanes: &[Lane],
    plan: &Plan,
    ui: &dyn Watch,
    reported: &mut Reported<'_>,
) -> crate::Result<Measured> {
    let on_real = lanes.iter().any(Lane::is_real);
    let _unfinished = on_real.then(interrupt::Unfinished::begin);
    // What would be refused in the end is refused before the work.
    if plan.drop_caches {
        may_drop_caches(lanes, ui)?;
    }
    let mut measured = Measured::default();
    for lane in lanes {
        lane.check(plan)?;
        plan.may_write(&lane.folder)?;
    }
    for suite in &plan.suites {
        let is_kept = |lane: &Lane| {
            plan.existing == Existing::Kept && results::are_there(&lane.folder, suite.name())
        };
        let (kept, lanes): (Vec<&Lane>, Vec<&Lane>) = lanes.iter().partition(|lane| is_kept(lane));
        for lane in kept {
            measured.folders.insert(results::bench_folder(&lane.folder));
        }
        let (real, models): (Vec<&Lane>, Vec<&Lane>) =
            lanes.iter().partition(|lane| lane.is_real());
        for lane in models {
            let suited = lane.run(&**suite, plan, ui)?;
            measured.take(lane, suite, suited, plan, ui, reported)?;
        }
        let suited = in_turn::run(&real, &**suite, plan, ui)?;
        let mut failures = Vec::new();
        for (lane, suited) in real.into_iter().zip(suited) {
            match suited {
                Ok(suited) => measured.take(lane, suite, suited, plan, ui, reported)?,
                Err(error) => failures.push(error),
            }
        }
        all_succeeded(failures, ui)?;
    }
    Ok(measured)
}

/// Fails with the first of these, and warns of the others.
fn all_succeeded(failures: Vec<crate::Error>, ui: &dyn Watch) -> crate::Result<()> {
    let mut failures = failures.into_iter();
    let Some(first) = failures.next() else {
        return Ok(());
    };
    for other in failures {
        ui.warn(&format!("{other:#}"));
    }
    Err(first)
}

/// A size of files, at least one byte.
///
/// # Errors
/// It is no size, or no file can have it.
fn file_size(text: &str) -> Result<u64, String> {
    match size::parse(text) {
        Ok(0) => Err("a file of 0 bytes has nothing to read or write".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(format!("{error}; expected a size, as in 16K or 1M")),
    }
}

/// Suites by name, each once, in the order in which they were named; `all` are all.
///
/// # Errors
/// There is no such suite.
fn suites(names: &[String]) -> crate::Result<Vec<&'static dyn Benchmark>> {
    let mut suites: Vec<&'static dyn Benchmark> = Vec::new();
    for name in names {
        let named: Vec<&'static dyn Benchmark> = if name == "all" {
            benchmarks::ALL.to_vec()
        } else {
            let suite = benchmarks::by_name(name).with_context(|| {
                let known = benchmarks::ALL.map(Benchmark::name);
                let (meant, known) = (keys::meant(name, known), known.join(", "));
                format!("no suite is called `{name}`; {meant}expected all, or some of {known}")
            })?;
            vec![suite]
        };
        for suite in named {
            if suites.iter().all(|known| known.name() != suite.name()) {
                suites.push(suite);
            }
        }
    }
    Ok(suites)
}

/// The machine of a preset's name, or of a TOML file, with other values for some of its keys: `NAME:key=value,...`.
///
/// # Errors
/// There is no such machine, or its file or options make no sense.
pub fn host_params(name: &str) -> crate::Result<HostParams> {
    let (plain, options) = match name.split_once(':') {
        Some(parts) if !Path::new(name).is_file() => parts,
        _ => (name, ""),
    };
    if let Some(text) = presets::toml_of(plain) {
        return Ok(HostParams::parse_with(plain, text, options)?);
    }
    if Path::new(plain).extension().is_none_or(|e| e != "toml") {
        let names = presets::PRESETS.map(|(name, _)| name);
        let (meant, names) = (keys::meant(plain, names), names.join(", "));
        bail!(
            "no host is called {plain}; {meant}expected one of {names}, or a file that ends in .toml"
        );
    }
    let text = fsage_input::text(Path::new(plain), fsage_input::TEXT_BYTES)
        .with_context(|| plain.to_owned())?;
    Ok(HostParams::parse_with(plain, &text, options)?)
}

/// That all caches of the machine may be dropped, where that makes a difference.
fn may_drop_caches(lanes: &[Lane], ui: &dyn Watch) -> crate::Result<()> {
    if lanes.iter().any(Lane::measures_directory) {
        return may_drop_all().context("--drop-caches takes root: become root, or leave it out");
    }
    ui.warn(
        "--drop-caches has no effect: caches of simulated targets and of images are always emptied, and no directory \
         is measured",
    );
    Ok(())
}

/// The targets of a run, in the states that are asked for: at the end of their life, or models at the end of a day.
fn aged_lanes(
    run: &Path,
    only: &[TargetSpec],
    plan: &Plan,
    last_day: Option<u64>,
    ui: &dyn Watch,
) -> crate::Result<Vec<Lane>> {
    let manifest = Manifest::read(run)?;
    if manifest.state == RunState::Incomplete {
        bail!(
            "{}: the run is not complete: `fsage age ... --resume` resumes it",
            run.display()
        );
    }
    let chosen = chosen(run, &manifest, only)?;
    let folder = |target: &TargetFacts| {
        let folder = run.join(&target.folder);
        match last_day {
            Some(day) => over_days::folder(&folder, day),
            None => folder,
        }
    };
    // Before anything is aged again.
    may_write(plan, &chosen, folder)?;
    let states = if plan.states.is_empty() {
        vec![State::Aged, State::Control]
    } else {
        distinct(&plan.states)
    };
    let mut specs = Vec::new();
    for target in &chosen {
        let spec = TargetSpec::parse(&target.spec)?;
        let is_real = spec.real()?.is_some();
        specs.push((spec, is_real));
    }
    let programs_alone = plan.suites.iter().all(|suite| suite.runs_programs());
    if programs_alone && specs.iter().all(|(_, is_real)| !is_real) {
        bail!("{}: {}", run.display(), lane::no_programs());
    }
    // Nothing runs on models, and none is aged for it.
    let lived = states.iter().any(|&state| state != State::Empty) && !programs_alone;
    let files_are_asked = plan.asks_for() > Some(GoesOver::Own);
    let asked = Asked {
        last_day,
        ..plan.asked()
    };
    let any_model = specs.iter().any(|(_, is_real)| !is_real);
    let needs_workload = lived && (any_model || files_are_asked);
    let workload = needs_workload
        .then(|| manifest.workload.find(run, plan.workload.as_deref()))
        .transpose()?;
    let mut models = Vec::new();
    let mut files = WorkloadFiles::default();
    if let Some(workload) = &workload {
        let facts: Vec<&TargetFacts> = chosen
            .iter()
            .zip(&specs)
            .filter(|(_, (_, is_real))| !is_real)
            .map(|(facts, _)| *facts)
            .collect();
        if facts.is_empty() {
            files = again::files_of(workload, asked, ui)?;
        } else {
            let again = again::models(
                run,
                &manifest,
                &facts,
                workload,
                asked,
                plan.machine.flash(),
                Some(plan.threads),
                ui,
            )?;
            models = again.models;
            files = again.files;
        }
    }
    let mut models = models.into_iter();
    let mut lanes = Vec::new();
    for (facts, (spec, is_real)) in chosen.into_iter().zip(specs) {
        if programs_alone && !is_real {
            ui.warn(&format!("{spec}: left out: {}", lane::no_programs()));
            continue;
        }
        let folder = folder(facts);
        if lived && last_day.is_none() {
            seals::warn_of_changed(&spec, &folder, facts, ui);
        }
        lanes.push(if is_real {
            let of_run = RunFiles {
                folder: &folder,
                files: files_are_asked.then_some(&files),
            };
            Lane::real(&spec, &folder, &states, Some(&of_run), ui)?
        } else {
            let model: Option<AgedModel> = if lived { models.next() } else { None };
            Lane::model(&spec, &folder, &states, model)?
        });
    }
    Ok(lanes)
}

/// The suite that goes over the workload's own files, which are counted among all of them.
pub(crate) const HOT_FILES: &str = "hot-files";

/// Whether benchmarks run on a target.
pub fn is_benchmarked(spec: &str) -> bool {
    TargetSpec::parse(spec).map_or(true, |spec| spec.keeps_files())
}

/// The targets of a run that are asked for; all that have files if none is named.
fn chosen<'a>(
    run: &Path,
    manifest: &'a Manifest,
    only: &[TargetSpec],
) -> crate::Result<Vec<&'a TargetFacts>> {
    let mut chosen: Vec<&TargetFacts> = Vec::new();
    if only.is_empty() {
        let all = manifest.targets.iter();
        chosen.extend(all.filter(|target| is_benchmarked(&target.spec)));
        if chosen.is_empty() {
            bail!(
                "{}: no target of the run can be benchmarked; expected a model or a real file system",
                run.display()
            );
        }
    }
    for spec in only {
        let name = spec.to_string();
        let found = manifest.targets.iter().find(|target| target.spec == name);
        let found = found.with_context(|| {
            let known: Vec<&str> = manifest.targets.iter().map(|t| t.spec.as_str()).collect();
            format!(
                "{}: the run has no target `{name}`; it has {}",
                run.display(),
                known.join(" and ")
            )
        })?;
        if chosen.iter().all(|known| known.folder != found.folder) {
            chosen.push(found);
        }
    }
    Ok(chosen)
}

/// Targets that are made, and measured empty.
fn empty_lanes(specs: &[TargetSpec], output: &Path, plan: &Plan) -> crate::Result<Vec<Lane>> {
    if plan.states.iter().any(|&state| state != State::Empty) {
        bail!(
            "without a run there is neither an aged file system nor its control; leave --state out"
        );
    }
    if plan.over_days.is_some() {
        bail!(
            "--over-days: without a run there are no days; name the folder of a run, or leave it out"
        );
    }
    if plan.causes {
        bail!(
            "--causes: without a run there is no aged file system that could lose anything; name the folder of a run, \
             or leave it out"
        );
    }
    let states = [State::Empty];
    let mut lanes: Vec<Lane> = Vec::new();
    for spec in specs {
        let folder = output.join(spec.folder());
        if lanes.iter().any(|lane| lane.folder == folder) {
            bail!("target `{spec}` is named twice");
        }
        lanes.push(if spec.real()?.is_some() {
            Lane::real(spec, &folder, &states, None, &crate::Unwatched)?
        } else {
            Lane::model(spec, &folder, &states, None)?
        });
    }
    Ok(lanes)
}

fn distinct(states: &[State]) -> Vec<State> {
    let all = State::value_variants().iter().copied();
    all.filter(|state| states.contains(state)).collect()
}

/// That results of targets of a run are not in the way. Where only some have any, it says how to measure the others.
fn may_write(
    plan: &Plan,
    targets: &[&TargetFacts],
    folder: impl Fn(&TargetFacts) -> PathBuf,
) -> crate::Result<()> {
    let mut first_refused = None;
    let mut rest = Vec::new();
    for target in targets {
        match plan.may_write(&folder(target)) {
            Ok(()) => rest.push(format!("--on {}", shell(&target.spec))),
            Err(refused) => first_refused = first_refused.or(Some(refused)),
        }
    }
    let Some(refused) = first_refused else {
        return Ok(());
    };
    if rest.is_empty() {
        return Err(refused);
    }
    bail!(
        "{refused}; `{}` measures only what has no results yet",
        rest.join(" ")
    )
}
