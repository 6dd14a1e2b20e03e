//! `fsage bench`: how fast aged file systems are beside their unaged controls and empty ones.

use crate::summary;
use crate::ui::{self, Ui};
use anyhow::bail;
use clap::builder::ArgPredicate;
use fsage_bench::benchmarks;
use fsage_lab::benching::{self, Command, Exec, Existing, Plan, What, over_days};
use fsage_lab::experiment::MadeOf;
use fsage_target::TargetSpec;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Benchmarks each target of a run: aged, and its unaged control beside it.
///
/// Simulated targets run on a simulated machine and disk: their models are aged again from the workload of the run.
/// Real images are copied, and the copies are measured. Results go to RUN/TARGET/bench/SUITE.parquet and .svg.
#[derive(Debug, clap::Args)]
// Every flag of the command line is one.
#[allow(clippy::struct_excessive_bools)]
#[command(
    after_help = "Examples:\n  fsage bench run\n  fsage bench run --suite sequential --size 16K,64K,1M --on ffs\n  \
                  fsage bench --on loop:ext4,size=1G --suite small-file -o empty\n  \
                  fsage bench run --exec 'tar -C {mnt} -c . | wc -c'\n  \
                  fsage bench run --exec 'fio job.fio --directory={dir} --output-format=json' \\\n      \
                  --exec-value jobs.0.read.bw,KiB/s\n  fsage bench --list",
    // A command runs alone unless suites are named.
    mut_arg("suites", |suites| suites.default_value_if("line", ArgPredicate::IsPresent, None))
)]
pub struct Args {
    /// The run: the folder that `fsage age -o` made. Without one, targets named with --on are measured empty.
    #[arg(required_unless_present_any = ["on", "list"])]
    run: Option<PathBuf>,
    #[command(flatten)]
    options: benching::Options,
    #[command(flatten)]
    exec: Exec,
    /// Print the suites, a line each.
    #[arg(long)]
    list: bool,
    /// Of a run only this target; without a run, a target to make. May be given several times.
    #[arg(long = "on", value_name = "SPEC")]
    on: Vec<String>,
    /// Folder for the results, where there is no run.
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "run")]
    output: Option<PathBuf>,
    /// Seed of where the spindle stands when a repetition begins.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the workload of the run is, if it has moved.
    #[arg(long, value_name = "FILE", requires = "run")]
    workload: Option<PathBuf>,
    /// Threads that share the repetitions of simulated targets [default: one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
    /// Replace results of these suites.
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Json {
    seed: u64,
    suites: Vec<SuiteJson>,
}

#[derive(Serialize)]
struct SuiteJson {
    suite: String,
    targets: Vec<benching::TargetJson>,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    if args.list {
        return list(args.json);
    }
    let specs = args
        .on
        .iter()
        .map(|text| TargetSpec::parse(text))
        .collect::<Result<Vec<_>, _>>()?;
    let what = match (&args.run, &args.output) {
        (Some(run), _) => What::Run(run),
        (None, Some(output)) => What::Empty(output),
        (None, None) => {
            bail!("-o FOLDER is needed where there is no run: the folder for the results")
        }
    };
    let plan = plan(args, &what.targets(&specs)?, ui)?;
    let mut out = ui::stdout();
    let mut suites: Vec<SuiteJson> = Vec::new();
    let mut reported = |report: benching::Report| -> fsage_lab::Result<()> {
        if !args.json {
            report.print(&mut out)?;
            return Ok(out.flush()?);
        }
        let suite = report.suite().to_owned();
        if suites.last().is_none_or(|last| last.suite != suite) {
            let targets = Vec::new();
            suites.push(SuiteJson { suite, targets });
        }
        if let Some(last) = suites.last_mut() {
            last.targets.push(report.into_json());
        }
        Ok(())
    };
    let request = benching::Request {
        what,
        targets: &specs,
        plan: &plan,
    };
    let measured = benching::bench_and(&request, &ui, &mut reported);
    if let Ok(measured) = &measured
        && measured.folders.is_empty()
    {
        bail!("nothing was measured: {}", measured.left_out.join("; "));
    }
    // Where one target failed, the others have results.
    if args.json && !suites.is_empty() {
        let seed = plan.seed;
        summary::print_json(&mut out, &Json { seed, suites })?;
        out.flush()?;
        return Ok(measured.map(drop)?);
    }
    let measured = measured?;
    if args.run.is_some() && plan.over_days.is_some() {
        for folder in &measured.folders {
            over_days::print(&mut out, folder)?;
        }
        out.flush()?;
    }
    let folders = measured
        .folders
        .iter()
        .map(|path| path.display().to_string());
    let folders: Vec<String> = folders.collect();
    ui.note(&format!(
        "\nEvery measurement is in {}.",
        folders.join(", ")
    ));
    Ok(())
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

/// The options; of a run that was benchmarked before, its device and its host where none are named, so that results are
/// of one machine.
fn as_before(args: &Args, targets: &[TargetSpec], ui: Ui) -> benching::Options {
    let mut options = args.options.clone();
    let kept = args.run.as_deref().and_then(MadeOf::kept);
    let Some(before) = kept.and_then(|made_of| made_of.bench) else {
        return options;
    };
    let (before, files) = (before.options, before.files);
    // A file is looked for where this command is given.
    let is_known = |name: &String| files.is_empty() || Path::new(name).is_file();
    if options.device.is_none() && options.host.is_none() {
        options.device = before.device.filter(is_known);
        options.host = before.host.filter(is_known);
        let named = [("--device", &options.device), ("--host", &options.host)];
        let named = named.map(|(option, name)| Some(format!("{option} {}", name.as_ref()?)));
        let named: Vec<String> = named.into_iter().flatten().collect();
        // Real ones ran on what they lie on.
        let is_simulated = |spec: &TargetSpec| matches!(spec.real(), Ok(None));
        if !named.is_empty() && targets.iter().any(is_simulated) {
            ui.note(&format!(
                "On {}, as the run was benchmarked; --device NAME takes another one.",
                named.join(" ")
            ));
        }
    }
    options
}

fn plan(args: &Args, targets: &[TargetSpec], ui: Ui) -> anyhow::Result<Plan> {
    let options = as_before(args, targets, ui);
    let mut plan = args.exec.plan(&options, targets)?;
    if let Some(line) = &args.exec.line
        && !Command::names_place(line)
    {
        ui.warn(
            "--exec: the command has neither {dir} nor {mnt}, so that it may measure something else than the target",
        );
    }
    plan.seed = args.seed;
    plan.workload.clone_from(&args.workload);
    plan.threads = args.threads.map_or(plan.threads, usize::from);
    if args.force {
        plan.existing = Existing::Replaced;
    }
    Ok(plan)
}
