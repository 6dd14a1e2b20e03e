//! `fsage compare`: one workload on several targets, aged, benchmarked and reported on.

use crate::summary;
use crate::ui::{self, Ui};
use anyhow::{Context, anyhow, bail};
use fsage_lab::aging::{Options, Start};
use fsage_lab::benching;
use fsage_lab::experiment::{Bench, MadeOf, Steps, Verdict, print_verdict};
use fsage_lab::generate::{Output, Profile, Source, generate};
use fsage_lab::report;
use fsage_lab::run_folder::{Manifest, State};
use fsage_papers::Papers;
use fsage_target::{SpecError, TargetSpec};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Compares targets: ages a workload on each, benchmarks them beside their unaged controls, and writes a report.
///
/// The run is an ordinary one: what `fsage age` and `fsage bench` make, with report.html in it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage compare w.parquet --on ffs --on ffs:policy=realloc -o run\n  \
                  fsage compare --preset fileserver --on loop:ext4,size=4G --on loop:xfs,size=4G -o run\n\n\
                  `fsage age --help` tells what a SPEC may say."
)]
pub struct Args {
    /// The workload: Parquet, or .ops text (plain, gzip or zstd).
    #[arg(required_unless_present = "preset", conflicts_with = "preset")]
    workload: Option<PathBuf>,
    /// A synthetic workload instead, by the name of a preset of `fsage generate profile` or a TOML file; it is kept
    /// beside the run, as RUN-workload.parquet.
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Seed of the preset, and of where the spindle of a simulated disk stands.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Days of the preset [default: as it says].
    #[arg(long, value_name = "DAYS", requires = "preset")]
    days: Option<u64>,
    /// A target, KIND[:KEY=VALUE|FLAG,...]; give it several times.
    #[arg(long = "on", value_name = "SPEC", required = true)]
    on: Vec<String>,
    /// Folder to make for the results.
    #[arg(short, long, value_name = "RUN")]
    output: PathBuf,
    /// Suites of `fsage bench`, separated by commas, or `all`.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "sequential,hot-files"
    )]
    suite: Vec<String>,
    /// Sizes of files instead of the suites' own, separated by commas, or `all` for those of the suites.
    #[arg(long, value_name = "SIZE", default_value = "16K,1M")]
    size: String,
    /// Age and report only.
    #[arg(long)]
    no_bench: bool,
    /// Disk below simulated targets: a name of `fsage device list`, or a TOML file.
    #[arg(long, value_name = "DRIVE", default_value = benching::DEVICE)]
    device: String,
    /// Machine of simulated targets: as `fsage bench --host`.
    #[arg(long, value_name = "HOST", default_value = benching::HOST)]
    host: String,
    /// Repetitions of every case [default: 10 of simulated targets, 5 of real ones].
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(benching::MAX_REPETITIONS)))]
    repetitions: Option<u32>,
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
    targets: &'a [Verdict],
    left_out: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let specs = args
        .on
        .iter()
        .map(|text| TargetSpec::parse(text))
        .collect::<Result<Vec<_>, SpecError>>()?;
    let bench = bench(args)?;
    let may_begin = args.start.force || args.start.resume || !args.output.exists();
    if !may_begin {
        bail!("{}", how_to_go_on(&args.output));
    }
    let workload = workload(args, ui)?;
    let made_of = MadeOf {
        fsage: env!("CARGO_PKG_VERSION").to_owned(),
        workload: fsage_data::hash_file(&workload)?,
        targets: specs.iter().map(ToString::to_string).collect(),
        repetition: 1,
        lenient: args.options.lenient,
        check: args.options.check,
        snapshots: args.options.snapshots,
        control: args.options.control,
        map: args.options.map,
        bench,
    };
    let steps = Steps {
        workload: &workload,
        specs: &specs,
        run: &args.output,
        made_of: &made_of,
        start: args.start,
    };
    let step = |number: u32, what: &str| ui.note(&format!("Step {number} of 3: {what}"));
    step(1, "aging");
    steps.age(&ui)?;
    made_of.keep(&args.output)?;
    step(2, "benchmarks");
    let left_out = steps.measure(&ui).map_err(|error| match ui::go_on() {
        Err(_) => error.context("stopped; the same command with --resume goes on"),
        Ok(()) => error,
    })?;
    let suites = made_of.bench.map(|bench| bench.suites).unwrap_or_default();
    step(3, "report");
    let verdicts = Verdict::of_run(&args.output, &suites)?;
    let page = args.output.join(report::PAGE);
    report::write(&args.output, &page, Some(&Papers), &ui)?;
    let mut out = ui::stdout();
    if args.json {
        let json = Json {
            run: args.output.display().to_string(),
            report: page.display().to_string(),
            targets: &verdicts,
            left_out,
        };
        summary::print_json(&mut out, &json)?;
    } else {
        print_verdict(&mut out, &verdicts)?;
    }
    out.flush()?;
    ui.note(&format!("\nThe report is {}.", page.display()));
    Ok(())
}

/// What is benchmarked; the names are checked before any work.
fn bench(args: &Args) -> anyhow::Result<Option<Bench>> {
    let suites = benching::suites(&args.suite)?;
    benching::Machine::named(&args.device, &args.host)?;
    let sizes = match args.size.as_str() {
        "all" => Vec::new(),
        sizes => sizes
            .split(',')
            .map(|size| benching::file_size(size).map_err(|why| anyhow!("--size {size}: {why}")))
            .collect::<anyhow::Result<_>>()?,
    };
    if args.no_bench {
        return Ok(None);
    }
    Ok(Some(Bench {
        suites: suites.iter().map(|suite| suite.name().to_owned()).collect(),
        sizes,
        repetitions: args.repetitions,
        device: args.device.clone(),
        host: args.host.clone(),
        files: Bench::hashes([&args.device, &args.host])?,
        seed: args.seed,
    }))
}

/// The workload that is named, or that of the preset, which is made if it is not there.
fn workload(args: &Args, ui: Ui) -> anyhow::Result<PathBuf> {
    let Some(preset) = &args.preset else {
        return args
            .workload
            .clone()
            .context("a workload is needed: a file, or --preset NAME");
    };
    let Some(name) = args.output.file_name() else {
        bail!(
            "{}: expected the name of a folder to make",
            args.output.display()
        );
    };
    let mut file = name.to_owned();
    file.push("-workload.parquet");
    let path = args.output.with_file_name(file);
    if path.exists() && args.start.resume {
        return Ok(path);
    }
    if path.exists() && !args.start.force {
        bail!(
            "{}: exists already (--force replaces it, --resume takes it)",
            path.display()
        );
    }
    let source = Source::Profile(Profile {
        profile: preset.clone(),
        seed: Some(args.seed),
        days: args.days,
        ..Profile::default()
    });
    source.check()?;
    generate(&source, &Output::replacing(&path), &ui)?;
    ui.note(&format!("The workload is {}.", path.display()));
    Ok(path)
}

/// What to say of a folder that is there.
fn how_to_go_on(run: &Path) -> String {
    let shown = run.display();
    match Manifest::read(run) {
        Ok(manifest) if manifest.state == State::Incomplete => {
            format!("{shown}: an interrupted run: --resume goes on with it, --force starts anew")
        }
        Ok(_) => format!(
            "{shown}: a run already: --resume benchmarks and reports on it, --force starts anew"
        ),
        Err(_) => format!("{shown}: exists and is no run; name another folder"),
    }
}
