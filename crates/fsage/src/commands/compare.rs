//! `fsage compare`: one workload on several targets, aged, benchmarked and reported on.

use super::run::{Place, Said, run_cells, warn_of_room};
use crate::preset::Preset;
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::{Context, bail};
use fsage_lab::Unwatched;
use fsage_lab::after;
use fsage_lab::aging::{self, Options, Start};
use fsage_lab::benching;
use fsage_lab::compare::{Lives, Request, Workload, compare, experiment_text};
use fsage_lab::experiment::{self, Plan, Verdict, print_verdict};
use fsage_lab::fullness::{self, Fullness};
use fsage_lab::generate::{Output, Source, generate};
use fsage_lab::images;
use fsage_lab::report::print_findings;
use fsage_papers::Papers;
use fsage_target::{SpecError, TargetSpec};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// What is measured where nobody says what.
const SUITES: &str = "Suites, separated by commas, or `all`; `fsage bench --list` names them [default: \
    sequential,hot-files; delivery,hot-files where the workload delivers its files, as the preset maildir does]";
const SIZES: &str = "Sizes of files, separated by commas: 16K,1M; `all` for those of the suites [default: 16K,1M, \
    which say what a comparison wants to know; with the suite delivery 4K,16K,64K, as mail has]";

/// Compares targets: ages a workload on each, benchmarks them beside their unaged controls, and writes a report.
///
/// The run is an ordinary one: what `fsage age` and `fsage bench` make, with report.html in it.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage compare w.parquet --on ffs --on ffs:policy=realloc -o run\n  \
                  fsage compare --preset fileserver --on loop:ext4,size=4G --on loop:xfs,size=4G -o run\n  \
                  fsage compare --preset mail-spool --on ext4 --on xfs --seeds 5 -o lives\n  \
                  fsage compare w.parquet --on ext4 --on xfs --fill 60,80,90,95 -o run\n  \
                  fsage compare w.parquet --on ext4 --after defrag:file --after-again -o run\n\n\
                  `fsage age --help` shows what a SPEC may say.",
    mut_arg("suites", |suites| suites.default_value(None).help(SUITES)),
    mut_arg("sizes", |sizes| sizes.help(SIZES))
)]
pub struct Args {
    /// The workload: Parquet, or .ops text (plain, gzip or zstd).
    #[arg(required_unless_present = "preset", conflicts_with = "preset")]
    workload: Option<PathBuf>,
    #[command(flatten)]
    preset: Preset,
    /// Seed of the preset, and of where the spindle of a simulated disk stands.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Live N lives of the preset, with seeds 1 to N, and say what holds for all of them, with intervals: the folder is
    /// that of an experiment, as `fsage run` makes it, and the same command resumes it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    #[arg(conflicts_with_all = ["seed", "force"])]
    seeds: Option<u32>,
    /// A target, KIND[:KEY=VALUE|FLAG,...]; give it several times.
    #[arg(long = "on", value_name = "SPEC", required = true)]
    on: Vec<String>,
    /// Shares of the data space, separated by commas as in 60,80,90,95: each target is made in the sizes in which the
    /// workload takes so much of it when it keeps the most, and the page says how full it may get.
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    #[arg(value_parser = percent)]
    fill: Vec<u8>,
    /// Folder to make for the results. The workload of a preset is kept beside it, as RUN-workload.parquet.
    #[arg(short, long, value_name = "RUN")]
    output: PathBuf,
    #[command(flatten)]
    bench: benching::Options,
    /// Age and report only.
    #[arg(long)]
    no_bench: bool,
    #[command(flatten)]
    after: after::Options,
    #[command(flatten)]
    options: Options,
    /// Print the verdict as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    start: Start,
}

#[derive(Serialize)]
struct Json<'a> {
    run: String,
    report: String,
    verdict: Vec<&'a str>,
    targets: &'a [Verdict],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fullness: Vec<Fullness>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<after::Outcome>,
    left_out: Vec<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    failed: &'a [String],
}

/// What simulated targets were benchmarked on, if any were.
fn simulated_machine(args: &Args, specs: &[TargetSpec]) -> anyhow::Result<Option<String>> {
    let simulated = specs.iter().any(|spec| matches!(spec.real(), Ok(None)));
    if args.no_bench || !simulated {
        return Ok(None);
    }
    let options = args.bench.below(specs)?;
    let another = if options.is_of_papers() {
        ": a drive and a machine of 1996.\nOf today: --device nvme_a (flash), --device st4000nm0033 (disk)"
    } else if args.bench.device.is_none() && specs.iter().any(TargetSpec::is_of_today) {
        ", flash.\nA disk of today: --device st4000nm0033"
    } else {
        return Ok(Some(format!("{}.", machine(&options))));
    };
    Ok(Some(format!(
        "{}{another}; more: `fsage device list`.",
        machine(&options)
    )))
}

fn machine(options: &benching::Options) -> String {
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    format!(
        "Simulated targets ran on --device {} --host {}",
        name(&options.device),
        name(&options.host)
    )
}

/// Runs the comparison as an experiment over seeds.
fn lives(args: &Args, specs: &[TargetSpec], seeds: u32, ui: Ui) -> anyhow::Result<()> {
    let (Some(preset), Some(first)) = (&args.preset.name, args.preset.life(1)) else {
        bail!(
            "--seeds lives several lives of a preset (--preset NAME); a workload file is one life"
        );
    };
    if seeds == 2 {
        ui.warn("two lives give no interval, so that no difference is proven; --seeds 3 or more gives one");
    }
    let name = args.output.file_name().unwrap_or_default();
    let targets = fitted(&first, specs, &args.filled(), ui)?;
    let text = experiment_text(&Lives {
        preset,
        days: args.preset.days,
        capacity: args.preset.capacity,
        seeds,
        targets: &targets,
        age: &args.options,
        bench: (!args.no_bench).then_some(&args.bench),
        after: (!args.after.after.is_empty()).then_some(&args.after),
    })?;
    let plan = Plan::parse("compare --seeds", &name.to_string_lossy(), &text)?;
    warn_of_room(&plan, args.json, ui);
    let options = experiment::Options {
        threads: args.start.threads,
        ..experiment::Options::default()
    };
    let place = Place {
        folder: &std::path::absolute(&args.output)?,
        shown: &args.output,
        start: &std::env::current_dir()?,
    };
    let said = Said {
        json: args.json,
        verdict: true,
    };
    run_cells(&plan, &options, &place, said, ui)?;
    if let Some(note) = simulated_machine(args, specs)?.filter(|_| !args.json) {
        writeln!(ui::stdout(), "{note}")?;
    }
    Ok(())
}

/// The targets in the sizes that the first life fills so far, the others a little more or less; without shares as they
/// are, or larger where one has no room for the first life.
fn fitted(
    first: &Source,
    specs: &[TargetSpec],
    fill: &[u8],
    ui: Ui,
) -> anyhow::Result<Vec<String>> {
    let folder = tempfile::tempdir().context("a folder for temporary files")?;
    let workload = folder.path().join("first.parquet");
    if !fill.is_empty() {
        ui.note("The life of seed 1 says the sizes.");
    }
    generate(first, &Output::replacing(&workload), &ui)?;
    let fitted = if fill.is_empty() {
        let sized = aging::sized(&workload, specs, &Unwatched)?;
        let roomy = aging::roomy(&workload, specs, sized.clone(), &ui)?;
        // Every life says its own capacity, which is that of the preset.
        if roomy == sized {
            specs.to_vec()
        } else {
            roomy
        }
    } else {
        aging::filled(&workload, specs, fill, &ui)?
    };
    Ok(fitted.iter().map(TargetSpec::to_string).collect())
}

impl Args {
    /// The percentages of `--fill`, each once.
    fn filled(&self) -> Vec<u8> {
        let mut fill = self.fill.clone();
        fill.sort_unstable();
        fill.dedup();
        fill
    }
}

fn percent(text: &str) -> Result<u8, String> {
    let percent = text.parse().ok().filter(|n| (1..=99).contains(n));
    percent.ok_or_else(|| {
        "expected percentages from 1 to 99, separated by commas, as in 60,75,90".to_owned()
    })
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let specs = args
        .on
        .iter()
        .map(|text| TargetSpec::parse(text))
        .collect::<Result<Vec<_>, SpecError>>()?;
    if let Some(file) = &args.workload {
        args.preset.is_not_asked_of(file)?;
    }
    let preset = args.preset.life(args.seed);
    let workload = match (&preset, &args.workload) {
        (Some(source), _) => Workload::Made(source),
        (None, Some(file)) => Workload::File(file),
        (None, None) => bail!("a workload is needed: a file, or --preset NAME"),
    };
    let args = &Args {
        bench: args.bench.in_comparison(workload.delivers()),
        ..args.clone()
    };
    args.bench.check()?;
    if let Some(seeds) = args.seeds {
        return lives(args, &specs, seeds, ui);
    }
    let fill = args.filled();
    let request = Request {
        fill: &fill,
        age: args.options,
        bench: (!args.no_bench).then_some(&args.bench),
        after: Some(&args.after),
        seed: args.seed,
        start: args.start,
        beside: Some(&Papers),
        ..Request::new(workload, &specs, &args.output)
    };
    let compared = compare(&request, &ui)?;
    let mut out = ui::stdout();
    if args.json {
        let json = Json {
            run: args.output.display().to_string(),
            report: compared.page.display().to_string(),
            verdict: compared.findings.iter().map(|f| f.text.as_str()).collect(),
            targets: &compared.verdicts,
            fullness: fullness::of_verdicts(&compared.verdicts),
            after: compared.after,
            left_out: compared.left_out,
            failed: &compared.failed,
        };
        summary::print_json(&mut out, &json)?;
    } else {
        print_verdict(&mut out, &compared.verdicts)?;
        if let Some(note) = simulated_machine(args, &specs)? {
            writeln!(out, "{note}")?;
        }
        fullness::print(&mut out, &fullness::of_verdicts(&compared.verdicts))?;
        after::print(&mut out, &compared.after)?;
        writeln!(out, "\nVerdict\n")?;
        print_findings(&mut out, &compared.findings)?;
    }
    out.flush()?;
    images::say_room(&args.output, [(args.output.clone(), &specs[..])], &ui);
    ui.note(&format!(
        "\nResults are in {}. Next: open {} in a browser.",
        args.output.display(),
        compared.page.display()
    ));
    if !compared.failed.is_empty() {
        bail!(
            "{}\n  the page is made without it; mend the command and repeat with --resume",
            compared.failed.join("\n  ")
        );
    }
    Ok(())
}
