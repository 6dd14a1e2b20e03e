//! `fsage bench`: how fast aged file systems are beside their unaged controls and empty ones.

mod grounds;
mod lane;
mod report;
mod results;

use super::device;
use crate::aging::again::{self, AgedModel};
use crate::run_folder::{Manifest, State as RunState, TargetFacts};
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::{Context, bail};
use clap::ValueEnum;
use fsage_bench::real::may_drop_all;
use fsage_bench::{Benchmark, benchmarks};
use fsage_core::size;
use fsage_disk::Disk;
use fsage_host::{HostParams, presets};
use fsage_target::TargetSpec;
use grounds::RunFiles;
use lane::Lane;
use results::State;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Repetitions where none are asked for.
const SIMULATED_REPETITIONS: u32 = 10;
const REAL_REPETITIONS: u32 = 5;

/// Benchmarks each target of a run: aged, and its unaged control beside it.
///
/// Simulated targets run on a simulated machine and disk: their models are aged again from the workload of the run.
/// Real images are copied, and the copies are measured. Results go to RUN/TARGET/bench/SUITE.parquet and .svg.
#[derive(Debug, clap::Args)]
// Every flag of the command line is one.
#[allow(clippy::struct_excessive_bools)]
#[command(
    after_help = "Examples:\n  fsage bench run\n  fsage bench run --suite sequential --size 16K,64K,1M --on ffs\n  \
                  fsage bench --on loop:ext4,size=1G --suite small-file -o empty\n  fsage bench --list"
)]
pub struct Args {
    /// The run: the folder that `fsage age -o` made. Without one, targets named with --on are measured empty.
    #[arg(required_unless_present_any = ["on", "list"])]
    run: Option<PathBuf>,
    /// Suites, separated by commas, or `all`.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "sequential,hot-files"
    )]
    suite: Vec<String>,
    /// Print the suites, a line each.
    #[arg(long)]
    list: bool,
    /// Of a run only this target; without a run, a target to make. May be given several times.
    #[arg(long = "on", value_name = "SPEC")]
    on: Vec<String>,
    /// Folder for the results, where there is no run.
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "run")]
    output: Option<PathBuf>,
    /// Disk below simulated targets: a name of `fsage device list`, or a TOML file.
    #[arg(long, value_name = "DRIVE", default_value = "st32430n")]
    device: String,
    /// Machine of simulated targets: pentium-120, pentium-120-cffs, pentium-pro-200, sparcstation-1 or
    /// sparcstation-2, or a TOML file.
    #[arg(long, value_name = "HOST", default_value = "pentium-120")]
    host: String,
    /// Sizes of files instead of the suite's own, separated by commas: 16K,1M.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = file_size)]
    size: Vec<u64>,
    /// Repetitions of every case [default: 10 of simulated targets, 5 of real ones].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repetitions: Option<u32>,
    /// States to measure, separated by commas [default: aged,control; without a run empty].
    #[arg(long, value_enum, value_name = "STATE", value_delimiter = ',')]
    state: Vec<State>,
    /// Seed of where the spindle stands when a repetition begins.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the workload of the run is, if it has moved.
    #[arg(long, value_name = "FILE", requires = "run")]
    workload: Option<PathBuf>,
    /// Hot files are those that were changed so many days before the workload ends, or later.
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    hot_days: u32,
    /// Threads that share the repetitions of simulated targets [default: one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Where a directory is measured, drop all caches of this machine, those of other file systems too (root).
    #[arg(long)]
    drop_caches: bool,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
    /// Replace results of these suites.
    #[arg(long)]
    force: bool,
}

/// The simulated machine and its disk.
pub struct Machine {
    device: String,
    disk: Disk,
    host: String,
    params: HostParams,
}

/// How to run the suites.
pub struct Plan {
    machine: Machine,
    sizes: Vec<u64>,
    repetitions: Option<u32>,
    seed: u64,
    threads: usize,
    drop_caches: bool,
}

impl Plan {
    /// Repetitions of every case.
    fn repetitions(&self, is_real: bool) -> u32 {
        let default = if is_real {
            REAL_REPETITIONS
        } else {
            SIMULATED_REPETITIONS
        };
        self.repetitions.unwrap_or(default)
    }
}

#[derive(Serialize)]
struct Json {
    seed: u64,
    suites: Vec<SuiteJson>,
}

#[derive(Serialize)]
struct SuiteJson {
    suite: &'static str,
    targets: Vec<report::TargetJson>,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    if args.list {
        return list(args.json);
    }
    let suites = suites(&args.suite)?;
    let plan = plan(args)?;
    let specs = args
        .on
        .iter()
        .map(|text| TargetSpec::parse(text))
        .collect::<Result<Vec<_>, _>>()?;
    let lanes = match &args.run {
        Some(run) => aged_lanes(run, &specs, args, &suites, ui)?,
        None => empty_lanes(&specs, args)?,
    };
    // What would be refused in the end is refused before the work.
    if args.drop_caches {
        may_drop_caches(&lanes, ui)?;
    }
    for lane in &lanes {
        lane.check(&plan)?;
        for suite in &suites {
            results::may_be_written(&lane.folder, suite.name(), args.force)?;
        }
    }
    let measured = measure(&suites, &lanes, &plan, args, ui);
    if let (Err(_), Some(output)) = (&measured, &args.output) {
        // Folders that stayed empty go again; no other can be removed so.
        let folders = lanes.iter().map(|lane| lane.folder.as_path());
        for folder in folders.chain([output.as_path()]) {
            let _ = fs::remove_dir(folder);
        }
    }
    measured
}

/// That all caches of the machine may be dropped, where that makes a difference.
fn may_drop_caches(lanes: &[Lane], ui: Ui) -> anyhow::Result<()> {
    if lanes.iter().any(Lane::measures_directory) {
        return may_drop_all().context("--drop-caches takes root: become root, or leave it out");
    }
    ui.warn(
        "--drop-caches has no effect: caches of simulated targets and of images are always emptied, and no directory \
         is measured",
    );
    Ok(())
}

/// Runs every suite on every target; the results of each are written when it is done.
fn measure(
    suites: &[&'static dyn Benchmark],
    lanes: &[Lane],
    plan: &Plan,
    args: &Args,
    ui: Ui,
) -> anyhow::Result<()> {
    let mut out = ui::stdout();
    let mut json = Json {
        seed: plan.seed,
        suites: Vec::new(),
    };
    let mut measured = BTreeSet::new();
    let mut left_out = Vec::new();
    for &suite in suites {
        let mut targets = Vec::new();
        for lane in lanes {
            let suited = lane.run(suite, plan, ui)?;
            let report = report::Report::new(lane, suite.name(), plan, suited);
            let why = report.left_out();
            for line in &why {
                ui.warn(line);
            }
            if report.is_empty() {
                ui.warn(&format!(
                    "{}: {}: nothing was measured, and no results are written",
                    lane.spec,
                    suite.name()
                ));
                left_out.extend(why);
            } else {
                measured.insert(results::bench_folder(&lane.folder));
            }
            report.write(&lane.folder, plan.seed, args.force)?;
            if !args.json {
                report.print(&mut out)?;
                out.flush()?;
            }
            targets.push(report.into_json());
        }
        json.suites.push(SuiteJson {
            suite: suite.name(),
            targets,
        });
    }
    if measured.is_empty() {
        bail!("nothing was measured: {}", left_out.join("; "));
    }
    if args.json {
        summary::print_json(&mut out, &json)?;
        return Ok(out.flush()?);
    }
    let folders = measured.iter().map(|path| path.display().to_string());
    let folders: Vec<String> = folders.collect();
    ui.note(&format!(
        "\nEvery measurement is in {}.",
        folders.join(", ")
    ));
    Ok(())
}

/// A size of files, at least one byte.
fn file_size(text: &str) -> Result<u64, String> {
    match size::parse(text) {
        Ok(0) => Err("a file of 0 bytes has nothing to read or write".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(format!("{error}; expected a size, as in 16K or 1M")),
    }
}

fn list(json: bool) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Suite {
        suite: &'static str,
        summary: &'static str,
    }
    let suites = benchmarks::ALL.map(|benchmark| Suite {
        suite: benchmark.name(),
        summary: benchmark.summary(),
    });
    let mut out = ui::stdout();
    if json {
        summary::print_json(&mut out, &suites)?;
    } else {
        for suite in suites {
            writeln!(out, "{:16} {}", suite.suite, suite.summary)?;
        }
    }
    Ok(out.flush()?)
}

/// The suites of the command line, each once, in the order in which they were named.
fn suites(names: &[String]) -> anyhow::Result<Vec<&'static dyn Benchmark>> {
    let mut suites: Vec<&'static dyn Benchmark> = Vec::new();
    for name in names {
        let named: Vec<&'static dyn Benchmark> = if name == "all" {
            benchmarks::ALL.to_vec()
        } else {
            let suite = benchmarks::by_name(name).with_context(|| {
                let known = benchmarks::ALL.map(Benchmark::name).join(", ");
                format!("no suite is called `{name}`; expected all, or some of {known}")
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

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Plan {
        machine: Machine {
            device: args.device.clone(),
            disk: device::disk(&args.device)?,
            host: args.host.clone(),
            params: host(&args.host)?,
        },
        sizes: args.size.clone(),
        repetitions: args.repetitions,
        seed: args.seed,
        threads: args.threads.map_or(cores, usize::from),
        drop_caches: args.drop_caches,
    })
}

/// The machine of a preset's name, or of a TOML file.
fn host(name: &str) -> anyhow::Result<HostParams> {
    if let Some(params) = HostParams::preset(name) {
        return Ok(params);
    }
    if Path::new(name).extension().is_none_or(|e| e != "toml") {
        let names = presets::PRESETS.map(|(name, _)| name).join(", ");
        bail!("no host is called {name}; expected one of {names}, or a file that ends in .toml");
    }
    let text = fs::read_to_string(name).with_context(|| name.to_owned())?;
    Ok(HostParams::parse(name, &text)?)
}

/// The targets of a run, in the states that are asked for.
fn aged_lanes(
    run: &Path,
    only: &[TargetSpec],
    args: &Args,
    suites: &[&'static dyn Benchmark],
    ui: Ui,
) -> anyhow::Result<Vec<Lane>> {
    let manifest = Manifest::read(run)?;
    if manifest.state == RunState::Incomplete {
        bail!(
            "{}: the run is not complete: `fsage age ... --resume` goes on with it",
            run.display()
        );
    }
    let chosen = chosen(run, &manifest, only)?;
    let states = if args.state.is_empty() {
        vec![State::Aged, State::Control]
    } else {
        distinct(&args.state)
    };
    let mut specs = Vec::new();
    for target in &chosen {
        let spec = TargetSpec::parse(&target.spec)?;
        let is_real = spec.real()?.is_some();
        specs.push((spec, is_real));
    }
    let lived = states.iter().any(|&state| state != State::Empty);
    let hot_is_asked = suites.iter().any(|suite| suite.name() == HOT_FILES);
    let any_model = specs.iter().any(|(_, is_real)| !is_real);
    let needs_workload = lived && (any_model || hot_is_asked);
    let workload = needs_workload
        .then(|| manifest.workload.find(run, args.workload.as_deref()))
        .transpose()?;
    let mut models = Vec::new();
    let mut hot = Vec::new();
    if let Some(workload) = &workload {
        let facts: Vec<&TargetFacts> = chosen
            .iter()
            .zip(&specs)
            .filter(|(_, (_, is_real))| !is_real)
            .map(|(facts, _)| *facts)
            .collect();
        let threads = args.threads.map(usize::from);
        if facts.is_empty() {
            hot = again::hot_files(workload, args.hot_days, ui)?;
        } else {
            let again =
                again::models(run, &manifest, &facts, workload, args.hot_days, threads, ui)?;
            models = again.models;
            hot = again.hot_files;
        }
    }
    let mut models = models.into_iter();
    let mut lanes = Vec::new();
    for (facts, (spec, is_real)) in chosen.into_iter().zip(specs) {
        let folder = run.join(&facts.folder);
        lanes.push(if is_real {
            let files = RunFiles {
                folder: &folder,
                hot: hot_is_asked.then_some(&*hot),
            };
            Lane::real(&spec, &folder, &states, Some(&files), ui)?
        } else {
            let model: Option<AgedModel> = if lived { models.next() } else { None };
            Lane::model(&spec, &folder, &states, model)?
        });
    }
    Ok(lanes)
}

/// The suite that needs to know which files are hot.
const HOT_FILES: &str = "hot-files";

/// Whether benchmarks run on a target.
fn is_benchmarked(spec: &str) -> bool {
    let kind = spec.split(':').next();
    kind != Some("null")
}

/// The targets of a run that are asked for; all that have files if none is named.
fn chosen<'a>(
    run: &Path,
    manifest: &'a Manifest,
    only: &[TargetSpec],
) -> anyhow::Result<Vec<&'a TargetFacts>> {
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
fn empty_lanes(specs: &[TargetSpec], args: &Args) -> anyhow::Result<Vec<Lane>> {
    let Some(output) = &args.output else {
        bail!("-o FOLDER is needed where there is no run: the folder for the results");
    };
    if args.state.iter().any(|&state| state != State::Empty) {
        bail!(
            "without a run there is neither an aged file system nor its control; leave --state out"
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
            Lane::real(spec, &folder, &states, None, Ui { quiet: true })?
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
