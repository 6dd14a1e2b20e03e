//! `fsage verify-method`: how well workloads made from snapshots stand for the ones that made the snapshots.

use crate::summary;
use crate::ui::{self, Ui};
use fsage_data::table::{Column, ColumnKind, TableWriter, Value};
use fsage_lab::generate::{GrowthName, may_write};
use fsage_lab::table::wrapped;
use fsage_lab::verify::{Attempt, Request, Verdict, verify_method};
use fsage_report::chart::{self, Series};
use fsage_target::TargetSpec;
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
    /// Number of seeds, one after another; differences are means over them.
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
        let target = TargetSpec::parse(text)?;
        let verdict = verify_method(&request(args, &target), &ui)?;
        for doubt in &verdict.doubts {
            ui.warn(doubt);
        }
        verdicts.push(verdict);
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

fn request<'a>(args: &'a Args, target: &'a TargetSpec) -> Request<'a> {
    Request {
        profiles: &args.profiles,
        profiles_a_day: args.profiles_a_day,
        growth: args.growth,
        seed: args.seed,
        seeds: args.seeds,
        ..Request::new(&args.workload, target)
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
    let has_skipped = verdict.attempts.iter().any(|a| a.skipped > 0);
    let mut header = vec![
        "delete\ntimes",
        "short-lived\nfiles",
        "at the\nend",
        "±",
        "largest",
        "on\nday",
        "mean",
        "delete\nerror",
        "preci-\nsion",
        "recall",
    ];
    header.extend(has_skipped.then_some("not\ndone"));
    let mut table = summary::table(&header);
    for a in &verdict.attempts {
        let mut row = vec![
            a.delete_times.to_owned(),
            a.short_lived.to_owned(),
            format!("{:+.4}", a.end_difference),
            half(a.end_half_interval),
            format!("{:+.4}", a.largest_difference),
            a.largest_day.to_string(),
            format!("{:.4}", a.mean_distance),
            format!("{:.2} h", a.delete_error_hours),
            format!("{:.3}", a.precision),
            format!("{:.3}", a.recall),
        ];
        row.extend(has_skipped.then(|| a.skipped.to_string()));
        table.add_row(row);
    }
    writeln!(out, "{table}\n")?;
    if let Some(missed) = missed(verdict) {
        writeln!(out, "{}\n", wrapped(&missed, "", ""))?;
    }
    writeln!(out, "{}\n", wrapped(&what_is_shown(verdict), "", ""))?;
    let mut table = summary::table(&["only this is lost", "at the end", "±", "largest", "mean"]);
    for lost in &verdict.losses {
        table.add_row([
            lost.loss.clone(),
            format!("{:+.4}", lost.end_difference),
            half(lost.end_half_interval),
            format!("{:+.4}", lost.largest_difference),
            format!("{:.4}", lost.mean_distance),
        ]);
    }
    writeln!(
        out,
        "{table}\n\n{}\n",
        wrapped(&what_losses_are(verdict), "", "")
    )?;
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

/// What the columns of the attempts are.
fn what_is_shown(verdict: &Verdict) -> String {
    let first = verdict.attempts.first();
    let seeds = first.map_or(0, |a| a.by_seed.len());
    let has_interval = first.is_some_and(|a| a.end_half_interval.is_some());
    format!(
        "Layout scores less that of the truth: at the end the mean over {} of what is guessed{}; the largest \
         difference of a day; the mean of all days without signs.",
        if seeds == 1 {
            "one seed".to_owned()
        } else {
            format!("{seeds} seeds")
        },
        if has_interval {
            ", with half of Student's 95 % interval of that mean"
        } else {
            ", of which three or more have an interval (--seeds)"
        }
    )
}

/// How much of what the truth decayed the remade workloads miss.
fn missed(verdict: &Verdict) -> Option<String> {
    /// A decay of less is no measure.
    const LEAST: f64 = 0.005;
    let fell = verdict.truth.first()? - verdict.truth.last()?;
    if fell < LEAST {
        return Some(format!(
            "The truth loses {fell:.4} from its first day to its last: too little to judge the method by. More days, a \
             fuller target (size=) or another workload say more."
        ));
    }
    let mut shares: Vec<(f64, &Attempt)> = verdict
        .attempts
        .iter()
        .map(|attempt| (attempt.end_difference / fell, attempt))
        .collect();
    shares.sort_by(|(a, _), (b, _)| a.abs().total_cmp(&b.abs()));
    let said = |(share, attempt): &(f64, &Attempt)| {
        let (times, files) = (attempt.delete_times, attempt.short_lived);
        let (share, how) = (
            share * 100.0,
            if *share < 0.0 { "too much" } else { "missing" },
        );
        format!("{:.0} % of that {how} ({times}, {files})", share.abs())
    };
    let (best, worst) = (shares.first()?, shares.last()?);
    Some(format!(
        "The truth loses {fell:.4} from its first day to its last. At best a remade workload has {}, at worst {}.",
        said(best),
        said(worst)
    ))
}

fn half(interval: Option<f64>) -> String {
    interval.map_or_else(|| "-".to_owned(), |half| format!("{half:.4}"))
}

/// What the differences of the losses are, and what they cannot say.
fn what_losses_are(verdict: &Verdict) -> String {
    let most = verdict.losses.iter().map(|lost| lost.end_by_seed.len());
    let guessed = match most.max().unwrap_or(0) {
        0 | 1 => "Times of deletion are guessed with one seed (--seeds 3 gives an interval)".to_owned(),
        2 => "Where times of deletion are guessed, means over two seeds (--seeds 3 gives an interval)".to_owned(),
        seeds => format!(
            "Where times of deletion are guessed, means over {seeds} seeds, and ± is half of Student's 95 % interval"
        ),
    };
    format!(
        "{guessed}; nothing else is drawn, so that one try is all there is. No interval here says how another life \
         would differ: the truth is one. For that give other truths, as of `fsage generate profile NAME --seed 2`, \
         and take the mean over them."
    )
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
