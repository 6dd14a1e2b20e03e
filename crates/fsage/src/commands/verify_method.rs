//! `fsage verify-method`: how well workloads made from snapshots stand for the ones that made the snapshots.

use crate::summary;
use crate::ui::{self, Ui};
use anyhow::bail;
use fsage_core::short_lived::Profile;
use fsage_data::open_workload;
use fsage_data::table::{Column, ColumnKind, TableWriter, Value};
use fsage_lab::generate::{GrowthName, may_write, read_pool};
use fsage_lab::verify::{self, Distance, Loss, Matches, Operations, Truth};
use fsage_models::ffs::Ffs;
use fsage_report::chart::{self, Series};
use fsage_target::{Target, TargetSpec};
use fsage_workload::from_snapshots::{DeleteTimes, Draws, Options, ShortLived};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Checks the method: ages a model with a known workload, takes nightly snapshots, makes workloads from these
/// alone, ages fresh models with them, and compares.
///
/// Every rule of delete times is tried without short-lived files and with profiles of them, drawn as in 1997
/// (`profiles`), as in 1996 (`days`), and as in 1996 with busy days for busy days (`matched`). A difference is the
/// layout score of the remade file system less that of the true one. The second table tells what the truth itself
/// loses if only one thing is guessed or unseen.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  fsage generate profile home-1996 -o home.parquet\n  fsage verify-method home.parquet"
)]
pub struct Args {
    /// The truth: a workload with times and days, Parquet or .ops text.
    workload: PathBuf,
    /// A model to try it on; may be given several times.
    #[arg(long = "on", value_name = "SPEC", default_values = ["ffs", "ffs:policy=realloc"])]
    on: Vec<String>,
    /// Profiles of short-lived files [default: those of a week in the middle of the truth].
    #[arg(long, value_name = "POOL")]
    profiles: Vec<PathBuf>,
    /// Profiles a day [default: as many as that week has; of a POOL one for each 40 MB].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=100_000))]
    profiles_a_day: Option<u64>,
    /// How a large new file is written.
    #[arg(long, value_enum, default_value = "stretched", value_name = "HOW")]
    growth: GrowthName,
    /// Seed of what is guessed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// So many seeds, one after another; differences are means over them.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Also write the layout scores of every day as a table.
    #[arg(short, long, value_name = "FILE.parquet")]
    output: Option<PathBuf>,
    /// Replace a file of that name.
    #[arg(long)]
    force: bool,
    /// Print JSON, with the scores of every day.
    #[arg(long)]
    json: bool,
}

/// One way to make a workload, and how far from the truth it is: means over the seeds.
#[derive(Serialize)]
struct Attempt {
    delete_times: &'static str,
    short_lived: &'static str,
    /// Layout score at the end less that of the truth, and its mean size.
    end_difference: f64,
    end_distance: f64,
    /// The largest difference of a day, of the seed with the largest, and which day.
    largest_difference: f64,
    largest_day: usize,
    mean_distance: f64,
    delete_error_hours: f64,
    precision: f64,
    recall: f64,
    skipped: u64,
    /// Layout scores by day, of the first seed.
    scores: Vec<f64>,
}

#[derive(Serialize)]
struct Lost {
    loss: String,
    end_difference: f64,
    largest_difference: f64,
    mean_distance: f64,
}

/// All that is known of one model.
#[derive(Serialize)]
struct Verdict {
    target: String,
    days: usize,
    operations: u64,
    hidden_operations: u64,
    profiles: usize,
    profiles_a_day: Option<u64>,
    truth: Vec<f64>,
    attempts: Vec<Attempt>,
    losses: Vec<Lost>,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    if let Some(path) = &args.output {
        may_write(
            path,
            args.force,
            args.profiles.iter().chain([&args.workload]),
        )?;
    }
    let mut verdicts = Vec::new();
    for text in &args.on {
        verdicts.push(verify_on(args, &TargetSpec::parse(text)?, ui)?);
    }
    if let Some(path) = &args.output {
        write_scores(path, &verdicts, args.force)?;
    }
    let mut out = ui::stdout();
    if args.json {
        summary::print_json(&mut out, &verdicts)?;
    } else {
        for verdict in &verdicts {
            print(&mut out, verdict)?;
        }
    }
    Ok(out.flush()?)
}

fn verify_on(args: &Args, spec: &TargetSpec, ui: Ui) -> anyhow::Result<Verdict> {
    let Some(fs) = Target::make(spec)?.into_model::<Ffs>() else {
        bail!("the method is verified on simulated file systems, not on `{spec}`");
    };
    let mut source = open_workload(&args.workload)?;
    let bar = ui.bar_count(None, "aging with the truth");
    let mut truth = verify::observe(source.as_mut(), *fs, &mut || {
        bar.inc(1);
        Ok(ui::go_on()?)
    })?;
    bar.finish_and_clear();
    let (pool, a_day) = pool(args, &truth)?;
    let draws = |draws| (!pool.is_empty()).then_some(ShortLived { pool: &pool, draws });
    let ways = [
        ("none", None),
        ("profiles", draws(Draws::Profiles { a_day })),
        ("days", draws(Draws::Days)),
        ("matched", draws(Draws::Matched)),
    ];
    let ways = ways
        .into_iter()
        .filter(|way| way.0 == "none" || way.1.is_some());
    let ways: Vec<_> = ways.collect();
    let total = ways.len() as u64 * DeleteTimes::ALL.len() as u64 * args.seeds + 4;
    let bar = ui.bar_count(Some(total), "making workloads and aging with them");
    let mut attempts = Vec::new();
    for (name, short_lived) in &ways {
        for rule in DeleteTimes::ALL {
            let mut tries = Vec::new();
            for n in 0..args.seeds {
                let options = options(args, rule, n);
                let remade = verify::remake(&mut truth, &options, *short_lived)?;
                let matches = truth.operations.match_with(&Operations::of(&remade));
                let distance = verify::compare(&truth, remade, spec, false)?;
                tries.push((matches, distance));
                bar.inc(1);
            }
            attempts.push(attempt(rule.as_str(), name, tries));
        }
    }
    let mut losses = Vec::new();
    let remade = verify::remake(&mut truth, &options(args, DeleteTimes::Reuse, 0), None)?;
    let single = Loss::ALL.map(|loss| (loss.as_str(), vec![loss]));
    for (name, lost) in single
        .into_iter()
        .chain([("all of these", Loss::ALL.to_vec())])
    {
        let events = verify::without(&truth, &remade, &lost);
        let distance = verify::compare(&truth, events, spec, true)?;
        losses.push(Lost {
            loss: name.to_owned(),
            end_difference: distance.at_end,
            largest_difference: distance.largest,
            mean_distance: distance.mean,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let matches = truth.operations.match_with(&Operations::default());
    Ok(Verdict {
        target: spec.to_string(),
        days: truth.days.len(),
        operations: matches.truth,
        hidden_operations: matches.hidden,
        profiles: pool.len(),
        profiles_a_day: a_day,
        truth: truth.days.iter().map(|day| day.layout.value()).collect(),
        attempts,
        losses,
    })
}

fn options(args: &Args, rule: DeleteTimes, n: u64) -> Options {
    Options {
        seed: args.seed.wrapping_add(n),
        delete_times: rule,
        growth: args.growth.growth(),
        ..Options::default()
    }
}

/// The profiles to draw from, and how many a day.
fn pool(args: &Args, truth: &Truth) -> anyhow::Result<(Vec<Profile>, Option<u64>)> {
    if args.profiles.is_empty() {
        let (pool, a_day) = verify::week_of_profiles(truth);
        return Ok((pool, args.profiles_a_day.or(Some(a_day))));
    }
    Ok((read_pool(&args.profiles)?, args.profiles_a_day))
}

fn attempt(
    delete_times: &'static str,
    short_lived: &'static str,
    tries: Vec<(Matches, Distance)>,
) -> Attempt {
    let n = tries.len().max(1) as f64;
    let mean = |f: &dyn Fn(&(Matches, Distance)) -> f64| tries.iter().map(f).sum::<f64>() / n;
    let largest = tries
        .iter()
        .map(|(_, d)| (d.largest, d.largest_day))
        .max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))
        .unwrap_or_default();
    Attempt {
        delete_times,
        short_lived,
        end_difference: mean(&|t| t.1.at_end),
        end_distance: mean(&|t| t.1.at_end.abs()),
        largest_difference: largest.0,
        largest_day: largest.1,
        mean_distance: mean(&|t| t.1.mean),
        delete_error_hours: mean(&|t| t.0.delete_error_hours),
        precision: mean(&|t| t.0.precision()),
        recall: mean(&|t| t.0.recall()),
        skipped: tries.iter().map(|t| t.1.skipped).sum(),
        scores: tries
            .into_iter()
            .next()
            .map(|t| t.1.scores)
            .unwrap_or_default(),
    }
}

fn print(out: &mut impl Write, verdict: &Verdict) -> anyhow::Result<()> {
    let hidden = verdict.hidden_operations as f64 / verdict.operations.max(1) as f64;
    writeln!(
        out,
        "{}: {} days, {} operations on files, of which snapshots cannot show {} ({:.1} %)",
        verdict.target,
        verdict.days,
        verdict.operations,
        verdict.hidden_operations,
        hidden * 100.0
    )?;
    let end = verdict.truth.last().copied().unwrap_or(1.0);
    let rate = verdict.profiles_a_day.map_or_else(
        || "one a day for each 40 MB".to_owned(),
        |n| format!("{n} a day"),
    );
    writeln!(
        out,
        "Layout score at the end {end:.4}. {} profiles of short-lived files, {rate}.\n",
        verdict.profiles
    )?;
    let mut table = summary::table(&[
        "delete\ntimes",
        "short-lived\nfiles",
        "at the\nend",
        "largest",
        "on\nday",
        "mean",
        "delete\nerror",
        "preci-\nsion",
        "recall",
        "not\ndone",
    ]);
    for a in &verdict.attempts {
        table.add_row([
            a.delete_times.to_owned(),
            a.short_lived.to_owned(),
            format!("{:+.4}", a.end_difference),
            format!("{:+.4}", a.largest_difference),
            a.largest_day.to_string(),
            format!("{:.4}", a.mean_distance),
            format!("{:.2} h", a.delete_error_hours),
            format!("{:.3}", a.precision),
            format!("{:.3}", a.recall),
            a.skipped.to_string(),
        ]);
    }
    writeln!(out, "{table}\n")?;
    let mut table = summary::table(&["only this is lost", "at the end", "largest", "mean"]);
    for lost in &verdict.losses {
        table.add_row([
            lost.loss.clone(),
            format!("{:+.4}", lost.end_difference),
            format!("{:+.4}", lost.largest_difference),
            format!("{:.4}", lost.mean_distance),
        ]);
    }
    writeln!(out, "{table}\n")?;
    let curve = |name: &str, scores: &[f64]| Series {
        name: name.to_owned(),
        points: scores
            .iter()
            .enumerate()
            .map(|(x, y)| (x as f64, *y))
            .collect(),
    };
    let mut curves = vec![curve("the truth", &verdict.truth)];
    for a in verdict
        .attempts
        .iter()
        .filter(|a| a.delete_times == "reuse")
    {
        let name = format!("reuse, short-lived files: {}", a.short_lived);
        curves.push(curve(&name, &a.scores));
    }
    writeln!(out, "{}", chart::curves(&curves, 72, "layout score by day"))?;
    Ok(())
}

/// One row a day: the truth and every attempt on every target.
fn write_scores(path: &Path, verdicts: &[Verdict], force: bool) -> anyhow::Result<()> {
    let mut columns = vec![Column::new("day", ColumnKind::U64)];
    let mut scores: Vec<&[f64]> = Vec::new();
    for verdict in verdicts {
        let mut add = |name: String, days| {
            columns.push(Column::new(name, ColumnKind::F64));
            scores.push(days);
        };
        add(format!("{} truth", verdict.target), &verdict.truth[..]);
        for a in &verdict.attempts {
            let name = format!("{} {} {}", verdict.target, a.delete_times, a.short_lived);
            add(name, &a.scores);
        }
    }
    let days = scores.iter().map(|days| days.len()).max().unwrap_or(0);
    let mut table = TableWriter::create(path, "verify_method", columns, &[], force)?;
    for day in 0..days {
        let values = scores
            .iter()
            .map(|days| Value::from(days.get(day).copied()));
        let row: Vec<Value> = std::iter::once(Value::from(day as u64))
            .chain(values)
            .collect();
        table.push_row(&row)?;
    }
    Ok(table.finish()?)
}
