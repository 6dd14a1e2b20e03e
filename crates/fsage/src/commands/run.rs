//! `fsage run`: an experiment file, from its workloads to its report.

use crate::exit::No;
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::{Context, anyhow};
use fsage_core::size;
use fsage_lab::check::{self, Outcome};
use fsage_lab::experiment::job_array::{JobArray, Scheduler};
use fsage_lab::experiment::manifest::{self, Cell, Manifest, State};
use fsage_lab::experiment::{self, Estimate, Home, Options, Plan, Shard, Status};
use fsage_lab::fullness::{self, Fullness};
use fsage_lab::images;
use fsage_lab::report::{self, print_findings};
use fsage_lab::table::wrapped;
use fsage_papers::Papers;
use fsage_report::Finding;
use fsage_target::TargetSpec;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs an experiment: workloads on targets, over seeds, as a TOML file says.
///
/// Every workload with every seed on every target is a cell, an ordinary run below EXP/cells. Cells that are done are
/// not run again, so the same command resumes after an interruption, after an error, or with a file that was changed.
/// Paths in the file are relative to its folder.
#[derive(Debug, clap::Args)]
// Each is a switch of the command line.
#[allow(clippy::struct_excessive_bools)]
#[command(
    after_help = "Examples:\n  fsage run --show policies > policies.toml\n  fsage run policies.toml --dry-run\n  \
                  fsage run policies.toml -o results\n  fsage run policies.toml -o results --shard 1/4"
)]
pub struct Args {
    /// The experiment file, or the folder of an experiment that is there.
    #[arg(required_unless_present_any = ["list", "show"])]
    file: Option<PathBuf>,
    /// Folder for the results; one that is there is resumed [default: the name of the file, without its ending].
    #[arg(short, long, value_name = "EXP")]
    output: Option<PathBuf>,
    /// List the cells and how far they are, and run none.
    #[arg(long)]
    dry_run: bool,
    /// Only a share of the cells, as in 1/4 to 4/4: for several machines.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Cells of simulated targets that run at the same time [default: one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Begin no cell after so long, as in 2h or 30m; the same command resumes later.
    #[arg(long, value_name = "TIME", value_parser = time)]
    budget: Option<Duration>,
    /// Run a few cells, drawn from all, and say how long the others take, and how much space; with --budget, as many
    /// as that allows [default: 30s].
    #[arg(long, conflicts_with_all = ["dry_run", "shard", "status"])]
    estimate: bool,
    /// Say how far it is, and how long the rest takes; run nothing.
    #[arg(long, conflicts_with_all = ["dry_run", "shard", "threads", "budget"])]
    status: bool,
    /// Write a script for Slurm, EXP/slurm.sh: an array of N jobs, each with a share of the cells.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..),
          conflicts_with_all = ["dry_run", "shard", "threads", "budget", "status", "estimate"])]
    slurm: Option<u16>,
    /// Write one for any scheduler with arrays of jobs, EXP/array.sh.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..),
          conflicts_with_all = ["dry_run", "shard", "threads", "budget", "status", "estimate", "slurm"])]
    array: Option<u16>,
    /// Print the results, the cells, or the status as JSON.
    #[arg(long)]
    json: bool,
    /// List the experiments that come with fsage.
    #[arg(long, conflicts_with_all = ["file", "output", "dry_run", "shard"])]
    list: bool,
    /// Print the file of one of them: a start for one's own.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["file", "output", "dry_run", "shard", "json"])]
    show: Option<String>,
}

/// A time, as in `2h`, `30m` or `90s`.
fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => 0,
    };
    let seconds = digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit));
    match seconds.filter(|&seconds| seconds > 0) {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => Err("expected a number with s, m, h or d behind it, as in 30m".to_owned()),
    }
}

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../presets/experiments/", $name, ".toml")))),*]
    };
}

/// Name and TOML of the experiments that come with fsage.
const EXAMPLES: [(&str, &str); 3] = embedded!("policies", "ext4-xfs", "grouping-over-years");

#[derive(Serialize)]
struct Json<'a> {
    name: &'a str,
    folder: String,
    report: Option<String>,
    results: &'a [experiment::Row],
    check: Option<&'a Outcome>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verdict: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fullness: Vec<Fullness>,
    cells: &'a [Cell],
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    if args.list {
        return list(args.json);
    }
    if let Some(name) = &args.show {
        return Ok(ui::print(example(name)?)?);
    }
    let file = args
        .file
        .as_deref()
        .context("the experiment file is needed")?;
    let copy = file.join(manifest::FILE);
    let file = if Manifest::is_experiment(file) {
        copy.as_path()
    } else {
        file
    };
    let home = Home::of(file)?;
    let shown = args.output.clone().unwrap_or_else(|| home.output.clone());
    let (folder, whole_file) = (std::path::absolute(&shown)?, std::path::absolute(file)?);
    let start = std::env::current_dir()?;
    let plan = match home.plan(file) {
        Err(error) if args.status && Manifest::is_experiment(&folder) => {
            ui.warn(&format!(
                "{error:#}; what the cells left says how far it is"
            ));
            let left = experiment::as_left(&folder)?;
            return say_status(&Status::of(&folder, &left), args.json);
        }
        plan => plan?,
    };
    let options = Options {
        threads: args.threads.map(usize::from),
        shard: args.shard,
        budget: args.budget,
    };
    let mut out = ui::stdout();
    if args.status {
        let standing = experiment::standing(&plan, &folder, &options)?;
        return say_status(&Status::of(&folder, &standing), args.json);
    }
    if let Some((scheduler, jobs)) = array_of(args) {
        drop(experiment::begin(&plan, &folder, None)?);
        let array = JobArray {
            scheduler,
            jobs: u64::from(jobs),
            program: &std::env::current_exe()?,
            file: &whole_file,
            folder: &folder,
            name: &plan.name,
        };
        let script = array.write()?;
        writeln!(out, "{}", script.display())?;
        return Ok(out.flush()?);
    }
    if let Some(note) = plan.note().filter(|_| !args.json) {
        ui.note(&wrapped(&note, "", ""));
    }
    warn_of_room(&plan, args.json, ui);
    if args.dry_run {
        let standing = experiment::standing(&plan, &folder, &options)?;
        if args.json {
            summary::print_json(&mut out, &standing.cells)?;
        } else {
            print_cells(&mut out, &standing)?;
        }
        return Ok(out.flush()?);
    }
    if args.estimate {
        let estimate = experiment::estimate(&plan, &folder, &options, &ui)?;
        if args.json {
            summary::print_json(&mut out, &estimate)?;
        } else {
            print_estimate(&mut out, &estimate)?;
        }
        return Ok(out.flush()?);
    }
    drop(out);
    let place = Place {
        folder: &folder,
        shown: &shown,
        start: &start,
    };
    run_cells(
        &plan,
        &options,
        &place,
        Said {
            json: args.json,
            verdict: false,
        },
        ui,
    )
}

/// Warns of targets that are short of room, but where JSON is asked for.
pub fn warn_of_room(plan: &Plan, is_json: bool, ui: Ui) {
    if let Some(short) = plan.short_of_room().filter(|_| !is_json) {
        ui.warn(&wrapped(&short, "", ""));
    }
}

/// The folder of the results, how the user calls it, and where the command was given.
pub struct Place<'a> {
    pub folder: &'a Path,
    pub shown: &'a Path,
    pub start: &'a Path,
}

/// How an experiment that ran is reported.
#[derive(Clone, Copy)]
pub struct Said {
    /// As JSON; otherwise as text.
    pub json: bool,
    /// The verdict of the page, behind the rows of workloads and targets.
    pub verdict: bool,
}

/// What simulated targets are benchmarked on, if any are.
fn machines(plan: &Plan) -> Option<String> {
    let simulated = plan.cells.iter();
    let simulated = simulated.filter(|cell| matches!(cell.spec.real(), Ok(None)));
    let machines: BTreeSet<String> = simulated
        .filter_map(|cell| {
            let (device, host) = plan.ways[cell.way].bench.as_ref()?.machine_names();
            Some(format!("--device {device} --host {host}"))
        })
        .collect();
    let machines: Vec<String> = machines.into_iter().collect();
    (!machines.is_empty()).then(|| format!("Simulated targets ran on {}.", machines.join(", ")))
}

/// Says how much room the images of all cells take, where that is much.
fn say_room(folder: &Path, shown: &Path, manifest: &Manifest, ui: Ui) {
    let complete = manifest.cells.iter();
    let complete = complete.filter(|cell| cell.state == State::Complete);
    let runs = complete.filter_map(|cell| {
        let spec = TargetSpec::parse(&cell.target).ok()?;
        Some((folder.join(&cell.run), [spec]))
    });
    let runs: Vec<(PathBuf, [TargetSpec; 1])> = runs.collect();
    let runs = runs.iter().map(|(run, specs)| (run.clone(), &specs[..]));
    images::say_room(shown, runs, &ui);
}

/// What the page of an experiment concludes, as far as a terminal has it.
#[derive(Default)]
struct Concluded {
    page: Option<String>,
    verdict: Vec<Finding>,
    /// What a number does that is varied.
    by_value: Vec<Finding>,
    fullness: Vec<Fullness>,
    /// Whether the page says more.
    has_more: bool,
}

/// Writes the page, and picks what is printed of its verdict.
fn conclude(place: &Place<'_>, said: Said, ui: Ui) -> anyhow::Result<Concluded> {
    // The page and its warnings name the folder as the user does.
    std::env::set_current_dir(place.start)?;
    let path = place.shown.join(report::PAGE);
    let request = report::Request::new(place.shown, &path).beside(&Papers);
    let written = report::report(&request, &ui)?;
    let all = written.verdict.len();
    let (verdict, by_value) = match written.by_value {
        _ if said.verdict => (written.verdict, Vec::new()),
        none if none.is_empty() => (written.headlines, none),
        by_value => (Vec::new(), by_value),
    };
    Ok(Concluded {
        page: Some(path.display().to_string()),
        has_more: verdict.len() < all,
        verdict,
        by_value,
        fullness: written.fullness,
    })
}

/// Runs the cells, and writes and says what comes of them.
pub fn run_cells(
    plan: &Plan,
    options: &Options,
    place: &Place<'_>,
    said: Said,
    ui: Ui,
) -> anyhow::Result<()> {
    let &Place { folder, shown, .. } = place;
    let json = said.json;
    let mut out = ui::stdout();
    let resume = || format!("{}: the same command resumes it", shown.display());
    let ran = experiment::run(plan, folder, options, &ui).map_err(|error| {
        if Manifest::is_experiment(folder) {
            error.context(resume())
        } else {
            error
        }
    })?;
    let rows = experiment::rows(folder, &ran.manifest)?;
    if !json {
        experiment::print_results(&mut out, &rows)?;
        if let Some(machines) = machines(plan).filter(|_| !said.verdict) {
            writeln!(out, "{machines}")?;
        }
        out.flush()?;
    }
    let mut checked = None;
    if let Some(of) = plan.check.as_ref().filter(|_| ran.is_over()) {
        checked = Some(check::check(folder, &of.rules, of.baseline.as_deref())?);
    }
    let concluded = if plan.writes_report && ran.is_over() {
        conclude(place, said, ui)?
    } else {
        Concluded::default()
    };
    let Concluded {
        page,
        verdict,
        by_value,
        fullness,
        has_more,
    } = concluded;
    if json {
        let json = Json {
            name: &plan.name,
            folder: shown.display().to_string(),
            report: page.clone(),
            results: &rows,
            check: checked.as_ref(),
            verdict: verdict
                .iter()
                .chain(&by_value)
                .map(|finding| finding.text.as_str())
                .collect(),
            fullness,
            cells: &ran.manifest.cells,
        };
        summary::print_json(&mut out, &json)?;
    } else {
        fullness::print(&mut out, &fullness)?;
        if let Some(checked) = &checked {
            writeln!(out)?;
            checked.print(&mut out)?;
        }
    }
    if !by_value.is_empty() && !json {
        writeln!(out)?;
        print_findings(&mut out, &by_value)?;
    }
    if (said.verdict || !verdict.is_empty()) && !json {
        writeln!(out, "\nVerdict\n")?;
        print_findings(&mut out, &verdict)?;
    }
    out.flush()?;
    let left = ran
        .manifest
        .cells
        .iter()
        .filter(|cell| cell.state == State::Missing && options.has(&cell.id))
        .count();
    if left > 0 {
        ui.note(&format!(
            "{left} cells are left: the time was over. The same command resumes the rest."
        ));
    }
    if ran.skipped > 0 {
        ui.note(&format!("Cells that were done before: {}.", ran.skipped));
    }
    say_room(folder, shown, &ran.manifest, ui);
    ui.note(&where_it_is(page.as_deref(), shown, has_more));
    let own = ran
        .manifest
        .cells
        .iter()
        .filter(|cell| options.has(&cell.id));
    fail_if_any_failed(&own.collect::<Vec<_>>(), ran.failed)?;
    match checked {
        Some(checked) if !checked.passed => Err(No(checked.sentence()).into()),
        _ => Ok(()),
    }
}

/// Where the page is, and whether it says more than was printed, or else the experiment.
fn where_it_is(page: Option<&str>, shown: &Path, has_more: bool) -> String {
    let Some(page) = page else {
        return format!("\nThe experiment is {}.", shown.display());
    };
    let rest = if has_more {
        "; it has the rest of the verdict: what is said of each, and why"
    } else {
        ""
    };
    format!("\nThe report is {page}{rest}.")
}

/// The array of jobs that is asked for, if one is.
fn array_of(args: &Args) -> Option<(Scheduler, u16)> {
    let slurm = args.slurm.map(|jobs| (Scheduler::Slurm, jobs));
    slurm.or(args.array.map(|jobs| (Scheduler::Any, jobs)))
}

fn say_status(status: &Status, as_json: bool) -> anyhow::Result<()> {
    let mut out = ui::stdout();
    if as_json {
        summary::print_json(&mut out, status)?;
    } else {
        print_status(&mut out, status)?;
    }
    Ok(out.flush()?)
}

fn print_status(out: &mut impl Write, status: &Status) -> io::Result<()> {
    let Status {
        cells,
        complete,
        failed,
        begun,
        again,
        why_again,
        ..
    } = status;
    writeln!(
        out,
        "{complete} of {cells} cells are complete, {failed} failed, {begun} were begun"
    )?;
    if let Some(why) = why_again {
        writeln!(
            out,
            "{again} are done but will be run again; the first: {why}"
        )?;
    }
    match status.seconds_left {
        Some(0) | None => Ok(()),
        Some(seconds) => writeln!(
            out,
            "the rest takes {}, as fast as the last ones",
            words_of(seconds)
        ),
    }
}

fn print_estimate(out: &mut impl Write, estimate: &Estimate) -> io::Result<()> {
    let Estimate {
        cells,
        tried,
        failed,
        left,
        seconds,
        wall_seconds,
        threads,
        bytes,
        ..
    } = estimate;
    let time = |seconds: f64| words_of(seconds.round() as u64);
    let space = |bytes: f64| size::human(bytes as u64);
    writeln!(
        out,
        "{tried} of {cells} cells were tried in {}, and are done; {left} are left",
        time(estimate.seconds_tried)
    )?;
    for (cell, why) in failed {
        writeln!(out, "{cell} failed: {why}")?;
    }
    if *left == 0 {
        return Ok(());
    }
    if *tried < 3 {
        writeln!(
            out,
            "Fewer than three were tried: the interval says little. A larger --budget tries more"
        )?;
    }
    writeln!(
        out,
        "processor time  {} ({} to {})\nwith {threads:<9}  {}\nspace on disk   {} ({} to {})",
        time(seconds.expected),
        time(seconds.low),
        time(seconds.high),
        time(wall_seconds.expected),
        space(bytes.expected),
        space(bytes.low),
        space(bytes.high),
    )?;
    match estimate.free_bytes {
        Some(free) if (free as f64) < bytes.high => writeln!(
            out,
            "only {} are free there: name another folder with -o",
            size::human(free)
        ),
        Some(free) => writeln!(out, "free there      {}", size::human(free)),
        None => Ok(()),
    }
}

/// Seconds as people say it.
fn words_of(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} seconds"),
        120..=7199 => format!("{} minutes", seconds / 60),
        7200..=172_799 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// An error if cells failed; it names them.
fn fail_if_any_failed(cells: &[&Cell], status: Option<u8>) -> anyhow::Result<()> {
    let failed = cells.iter().filter(|cell| cell.state == State::Failed);
    let errors = failed.map(|cell| {
        let error = cell.error.as_deref().unwrap_or_default();
        format!("\n  {}: {error}", cell.id)
    });
    let errors: Vec<String> = errors.collect();
    if errors.is_empty() {
        return Ok(());
    }
    let text = format!(
        "{} of {} cells failed; the same command tries them again:{}",
        errors.len(),
        cells.len(),
        errors.concat()
    );
    if status == Some(3) {
        return Err(io::Error::other(text).into());
    }
    Err(No(text).into())
}

fn print_cells(out: &mut impl Write, standing: &Manifest) -> io::Result<()> {
    let mut table = summary::table(&["cell", "workload", "seed", "repetition", "state", "target"]);
    for cell in &standing.cells {
        table.add_row(vec![
            cell.id.clone(),
            cell.workload.clone(),
            cell.seed
                .map_or_else(|| "-".to_owned(), |seed| seed.to_string()),
            cell.repetition.to_string(),
            cell.state.as_str().to_owned(),
            cell.target.clone(),
        ]);
    }
    writeln!(out, "{table}")?;
    writeln!(out, "\n{} cells", standing.cells.len())
}

fn example(name: &str) -> anyhow::Result<&'static str> {
    let found = EXAMPLES.iter().find(|(example, _)| *example == name);
    found.map(|(_, text)| *text).ok_or_else(|| {
        let names = EXAMPLES.map(|(name, _)| name).join(", ");
        anyhow!("no experiment is called {name}; expected one of {names}")
    })
}

fn list(json: bool) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Example {
        name: &'static str,
        summary: String,
    }
    let mut examples = Vec::new();
    for (name, text) in EXAMPLES {
        let plan = Plan::parse(name, name, text)?;
        let summary = plan.summary;
        examples.push(Example { name, summary });
    }
    let mut out = ui::stdout();
    if json {
        summary::print_json(&mut out, &examples)?;
    } else {
        for example in examples {
            writeln!(out, "{:16} {}", example.name, example.summary)?;
        }
    }
    Ok(out.flush()?)
}
