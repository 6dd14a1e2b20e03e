//! `fsage verify-method`: how well workloads made from snapshots stand for the ones that made the snapshots.

use crate::preset::Preset;
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::bail;
use fsage_core::size::human;
use fsage_data::table::{Column, ColumnKind, TableWriter, Value};
use fsage_lab::compare::Workload;
use fsage_lab::generate::{GrowthName, Source, may_write};
use fsage_lab::table::wrapped;
use fsage_lab::verify::{
    Attempt, DEFAULT_WAY, LEAST_DECAY, Life, Loss, Lost, MOST_LIVES, Request, Verdict, set_against,
    verify_method,
};
use fsage_report::chart::{self, Series};
use fsage_target::TargetSpec;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Checks the method: ages a model with a known workload, takes nightly snapshots, makes workloads from these
/// alone, ages fresh models with them, and compares.
///
/// Every rule of delete times is tried without short-lived files and with profiles of them, drawn as in 1997
/// (`profiles`), as in 1996 (`days`), and as in 1996 with busy days for busy days (`matched`). A difference is the
/// layout score of the remade file system less that of the true one. The second table tells what the truth itself
/// loses if only one thing is guessed or unseen, and what that leaves unexplained. Last comes whether the remade
/// workload puts the targets in the order of the truth.
///
/// One truth is one life. Of several (`--preset NAME --lives 5`, or several workloads) each counts once, and intervals
/// say how other lives would differ.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage verify-method --preset home-1996 --lives 5\n  \
                  fsage generate git linux -o linux.parquet && fsage verify-method linux.parquet --on ext4:size=8G"
)]
pub struct Args {
    /// The truth: a workload with times and days, Parquet or .ops text. Several are lives of one kind, and differences
    /// are means over them.
    #[arg(
        required_unless_present = "preset",
        conflicts_with = "preset",
        value_name = "WORKLOAD"
    )]
    workloads: Vec<PathBuf>,
    #[command(flatten)]
    preset: Preset,
    /// Lives of the preset, each with a seed of its own; differences are means over them, with intervals of three or
    /// more [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_LIVES)))]
    lives: Option<u32>,
    /// A model to try it on; may be given several times. Without a size it takes that of the truth's file system.
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
    /// Seed of what is guessed and of the first life of the preset; the others follow. Models with a clock that is
    /// drawn (regime=default) have another one for each life and seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of seeds of what is guessed, one after another; differences of a life are means over them.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Also write a table: a row for each target, life, way to remake and day, with the truth and the remade score.
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
        let read = args.profiles.iter().chain(&args.workloads);
        may_write(path, args.force, read)?;
    }
    if let Some(file) = args.workloads.first() {
        args.preset.is_not_asked_of(file)?;
        if let Some(lives) = args.lives {
            bail!(
                "--lives {lives}: a workload file is one life; name several files, or live a preset (--preset NAME)"
            );
        }
    }
    let made = (0..u64::from(args.lives.unwrap_or(1)))
        .filter_map(|life| args.preset.life(args.seed.wrapping_add(life)));
    let made: Vec<Source> = made.collect();
    let files = args.workloads.iter().map(|file| Workload::File(file));
    let truths: Vec<Workload<'_>> = files.chain(made.iter().map(Workload::Made)).collect();
    let mut verdicts = Vec::new();
    for text in &args.on {
        let target = TargetSpec::parse(text)?;
        let request = Request {
            profiles: &args.profiles,
            profiles_a_day: args.profiles_a_day,
            growth: args.growth,
            seed: args.seed,
            seeds: args.seeds,
            ..Request::new(&truths, &target)
        };
        let verdict = verify_method(&request, &ui)?;
        for doubt in &verdict.doubts {
            ui.warn(doubt);
        }
        verdicts.push(verdict);
    }
    set_against(&mut verdicts);
    if let Some(path) = &args.output {
        write_scores(path, &verdicts, args.force)?;
    }
    let mut out = ui::stdout();
    if args.json {
        summary::print_json(&mut out, &verdicts)?;
    } else {
        for verdict in &verdicts {
            print(&mut out, verdict, args.profiles.is_empty())?;
        }
        writeln!(out, "\n{}", wrapped(&what_it_is_for(&verdicts), "", ""))?;
    }
    Ok(out.flush()?)
}

/// Prints all of a verdict; its profiles may be those of the truth.
fn print(out: &mut impl Write, verdict: &Verdict, of_truth: bool) -> anyhow::Result<()> {
    print_truths(out, verdict)?;
    print_attempts(out, verdict)?;
    let said = [
        missed(verdict),
        main_cause(verdict),
        cancelled(verdict),
        nearer(verdict, of_truth),
        Some(what_is_shown(verdict)),
    ];
    for said in said.iter().flatten() {
        writeln!(out, "{}\n", wrapped(said, "", ""))?;
    }
    print_operations(out, verdict)?;
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
        wrapped(
            &format!("{} {LOSSES_ACT}", what_losses_are(verdict)),
            "",
            ""
        )
    )?;
    print_curves(out, verdict)
}

/// The target, and what lived on it.
fn print_truths(out: &mut impl Write, verdict: &Verdict) -> anyhow::Result<()> {
    let full = full_at_most(verdict).map_or_else(String::new, |used| {
        format!(", {:.0} % full at most", used * 100.0)
    });
    let on = format!("{} ({}{full})", verdict.target, human(verdict.size_bytes));
    let hidden =
        |life: &Life| 100.0 * life.hidden_operations as f64 / life.operations.max(1) as f64;
    let end = |life: &Life| life.truth.last().copied().unwrap_or(1.0);
    if let [life] = &verdict.lives[..] {
        let rate = life.profiles_a_day.map_or_else(
            || "one a day for each 40 MB".to_owned(),
            |n| format!("{n} a day"),
        );
        let text = format!(
            "{on}: {} days of {}, {} operations on files, of which snapshots cannot show {} ({:.1} %). Layout score at \
             the end {:.4}. {} profiles of short-lived files, {rate}.",
            life.days,
            life.workload,
            life.operations,
            life.hidden_operations,
            hidden(life),
            end(life),
            life.profiles
        );
        writeln!(out, "{}\n", wrapped(&text, "", ""))?;
        return Ok(());
    }
    let text = format!(
        "{on}: {} lives. Hidden are operations that snapshots cannot show.",
        verdict.lives.len()
    );
    writeln!(out, "{}\n", wrapped(&text, "", ""))?;
    let mut table = summary::table(&[
        "life",
        "days",
        "operations\non files",
        "hidden",
        "layout\nend",
        "lost since\nday 0",
    ]);
    for life in &verdict.lives {
        table.add_row([
            life.workload.clone(),
            life.days.to_string(),
            life.operations.to_string(),
            format!("{:.1} %", hidden(life)),
            format!("{:.4}", end(life)),
            format!("{:.4}", life.decay),
        ]);
    }
    Ok(writeln!(out, "{table}\n")?)
}

/// How far every way ends from the truth.
fn print_attempts(out: &mut impl Write, verdict: &Verdict) -> anyhow::Result<()> {
    let has_share = verdict.attempts.iter().any(|a| a.missed.is_some());
    let is_paired = is_paired(verdict);
    let mut header = vec!["delete\ntimes", "short-lived\nfiles", "at the\nend", "±"];
    if has_share {
        header.extend(["missed", "±"]);
    }
    // Side by side they are wider than a terminal; `--json` has all of them.
    header.extend(if is_paired {
        ["nearer\nby", "±"]
    } else {
        ["largest", "mean"]
    });
    let mut table = summary::table(&header);
    let share =
        |share: Option<f64>| share.map_or("-".to_owned(), |of| format!("{:.0} %", of * 100.0));
    for a in &verdict.attempts {
        let mut row = vec![
            a.delete_times.to_owned(),
            a.short_lived.to_owned(),
            format!("{:+.4}", a.end_difference),
            half(a.end_half_interval),
        ];
        if has_share {
            row.extend([share(a.missed), share(a.missed_half_interval)]);
        }
        row.extend(if is_paired {
            // Not as -0.0000.
            let by = a
                .nearer_by
                .map(|by| format!("{:+.4}", (by * 1e4).round() / 1e4 + 0.0));
            [by.unwrap_or("-".to_owned()), half(a.nearer_half_interval)]
        } else {
            [
                format!("{:+.4}", a.largest_difference),
                format!("{:.4}", a.mean_distance),
            ]
        });
        table.add_row(row);
    }
    Ok(writeln!(out, "{table}\n")?)
}

/// How near every way comes to the operations of the truth.
fn print_operations(out: &mut impl Write, verdict: &Verdict) -> anyhow::Result<()> {
    let has_skipped = verdict.attempts.iter().any(|a| a.skipped > 0);
    let mut header = vec![
        "delete\ntimes",
        "short-lived\nfiles",
        "delete times\nwrong by",
        "precision",
        "recall",
    ];
    header.extend(has_skipped.then_some("not\ndone"));
    let mut table = summary::table(&header);
    for a in &verdict.attempts {
        let mut row = vec![
            a.delete_times.to_owned(),
            a.short_lived.to_owned(),
            format!("{:.2} h", a.delete_error_hours),
            format!("{:.3}", a.precision),
            format!("{:.3}", a.recall),
        ];
        row.extend(has_skipped.then(|| a.skipped.to_string()));
        table.add_row(row);
    }
    let text = "Precision is the share of the remade operations that the truth has, recall the share of the truth's \
                that were remade.";
    Ok(writeln!(out, "{table}\n\n{}\n", wrapped(text, "", ""))?)
}

/// Layout scores by day, of the first life and seed.
fn print_curves(out: &mut impl Write, verdict: &Verdict) -> anyhow::Result<()> {
    let Some(life) = verdict.lives.first() else {
        return Ok(());
    };
    let curve = |name: &str, scores: &[f64]| Series {
        name: name.to_owned(),
        points: scores
            .iter()
            .enumerate()
            .map(|(x, y)| (x as f64, *y))
            .collect(),
    };
    let mut curves = vec![curve("the truth", &life.truth)];
    for a in life.attempts.iter().filter(|a| a.delete_times == "reuse") {
        let name = format!("reuse, short-lived files: {}", a.short_lived);
        curves.push(curve(&name, &a.scores));
    }
    let below = match verdict.lives.len() {
        1 => "layout score by day",
        _ => "layout score by day, first life",
    };
    Ok(writeln!(out, "{}", chart::curves(&curves, 72, below))?)
}

/// So many of something.
fn count(n: u64, one: &str, many: &str) -> String {
    if n == 1 {
        format!("one {one}")
    } else {
        format!("{n} {many}")
    }
}

/// What the columns of the attempts are.
fn what_is_shown(verdict: &Verdict) -> String {
    let seeds = count(verdict.seeds, "seed", "seeds");
    let drawn = drawn(verdict);
    let (over, of, flag) = match verdict.lives.len() {
        1 => (format!("{seeds} of {drawn}"), "seeds", "--seeds 3"),
        lives => (
            format!("{lives} lives, of each the mean over {seeds} of {drawn}"),
            "lives",
            "--lives 3",
        ),
    };
    let has_interval = verdict
        .attempts
        .iter()
        .any(|a| a.end_half_interval.is_some());
    let interval = if has_interval {
        format!("± is half of Student's 95 % interval of that mean over {of}")
    } else {
        format!("no ± of fewer than three {of} ({flag})")
    };
    let one_life = if verdict.lives.len() == 1 {
        " The truth is one life: no ± here says how another one would differ. For that: --preset NAME --lives 5, or \
         several workloads."
    } else {
        ""
    };
    let days = if is_paired(verdict) {
        "nearer by, how much nearer to the truth a way ends than the default, the mean of the differences of each \
         life, negative where it ends farther"
    } else {
        "the largest difference of a day; the mean of all days without signs"
    };
    format!(
        "Layout scores less that of the truth: at the end the mean over {over}; {interval}; missed, the same as a \
         share of what the truth loses, negative where more is lost; {days}.{one_life}"
    )
}

/// What another seed draws anew.
fn drawn(verdict: &Verdict) -> &'static str {
    if verdict.has_drawn_clock {
        "what is guessed and of the model's clock"
    } else {
        "what is guessed"
    }
}

/// How much of what the truth decayed the remade workloads miss.
fn missed(verdict: &Verdict) -> Option<String> {
    let lives = verdict.lives.len();
    let decay = verdict.lives.iter().map(|life| life.decay).sum::<f64>() / lives.max(1) as f64;
    let loses = match lives {
        1 => format!("The truth loses {decay:.4} from its first day to its last"),
        _ => format!(
            "The truths lose {decay:.4} from first day to last, the mean over {lives} lives"
        ),
    };
    let mut shares: Vec<(f64, &Attempt)> = verdict
        .attempts
        .iter()
        .filter_map(|attempt| Some((attempt.missed?, attempt)))
        .collect();
    if shares.is_empty() {
        return Some(format!(
            "{loses}: too little to judge the method by. More days, a fuller target (size=) or another workload say \
             more."
        ));
    }
    shares.sort_by(|(a, _), (b, _)| a.abs().total_cmp(&b.abs()));
    let said = |(share, attempt): &(f64, &Attempt)| {
        let within = attempt
            .missed_half_interval
            .map_or_else(String::new, |half| format!(" (± {:.0})", half * 100.0));
        let size = format!("{:.0} %{within} of that", share.abs() * 100.0);
        let (times, files) = (attempt.delete_times, attempt.short_lived);
        if *share < 0.0 {
            format!("loses {size} too much ({times}, {files})")
        } else {
            format!("misses {size} ({times}, {files})")
        }
    };
    let flat = verdict.lives.iter().filter(|life| life.decay < LEAST_DECAY);
    let flat = match flat.count() {
        0 => String::new(),
        flat => format!(
            " In {flat} of {lives} lives it is less than {LEAST_DECAY}, too little to judge by, so that what is missed \
             is of the others."
        ),
    };
    let is_default = |a: &Attempt| (a.delete_times, a.short_lived) == DEFAULT_WAY;
    let by_default = shares.iter().find(|(_, a)| is_default(a));
    let by_default = by_default.map_or_else(String::new, |way| {
        format!(" A workload remade by default {}.", said(way))
    });
    let (best, worst) = (shares.first()?, shares.last()?);
    let ways = shares.len();
    let others = if ways == 1 || is_paired(verdict) {
        String::new()
    } else {
        format!(
            " Picked afterwards among {ways} ways, the best {}, the worst {}.",
            said(best),
            said(worst)
        )
    };
    Some(format!("{loses}.{by_default}{others}{flat}"))
}

/// Whether lives set every way beside the default one.
fn is_paired(verdict: &Verdict) -> bool {
    verdict.attempts.iter().any(|a| a.nearer_by.is_some())
}

/// Whether a loss is more than what its interval leaves open.
fn is_sure(lost: &Lost) -> bool {
    lost.end_difference.abs() > lost.end_half_interval.unwrap_or(0.0)
}

/// What most of what the default way misses comes of, and what shows more of it.
fn main_cause(verdict: &Verdict) -> Option<String> {
    let [causes @ .., _, unexplained, remade] = &verdict.losses[..] else {
        return None;
    };
    // Of the sign of the whole, and at least a quarter of it.
    let share = |lost: &Lost| lost.end_difference / remade.end_difference;
    let counts = |lost: &&Lost| is_sure(lost) && share(lost) > 1.0 / CANCELS;
    let most = causes
        .iter()
        .filter(counts)
        .max_by(|a, b| share(a).total_cmp(&share(b)));
    let of = |lost: &Lost| {
        let half = lost.end_half_interval;
        let half = half.map_or_else(String::new, |half| format!(" ± {half:.4}"));
        format!("{:+.4}{half}", lost.end_difference)
    };
    if !is_sure(remade) {
        return None;
    }
    let whole = of(remade);
    match most {
        Some(cause) if share(cause) >= share(unexplained) => {
            let cure = if cause.loss == Loss::DeleteTimes.as_str() {
                "snapshots more often than nightly bound them more narrowly"
            } else if cause.loss == Loss::ShortLived.as_str() {
                "profiles of such files, from a trace of a similar kind of use, make up for them (--profiles)"
            } else {
                "snapshots more often than nightly show more of them"
            };
            Some(format!(
                "The main cause: {}. By that alone the truth ends {} away, the remade workload {whole}; {cure}.",
                cause.loss,
                of(cause)
            ))
        }
        _ if share(unexplained) > 0.5 => Some(format!(
            "Most of it, {} of the {whole}, is not explained by the causes that are counted below.",
            of(unexplained)
        )),
        _ => None,
    }
}

/// Whether what the default way misses is small only because the causes and what they leave lie on both sides of it.
fn cancelled(verdict: &Verdict) -> Option<String> {
    let [.., all, unexplained, remade] = &verdict.losses[..] else {
        return None;
    };
    let smaller = all
        .end_difference
        .abs()
        .min(unexplained.end_difference.abs());
    let is_so = all.end_difference * unexplained.end_difference < 0.0
        && is_sure(all)
        && is_sure(unexplained)
        && smaller > remade.end_difference.abs() / CANCELS;
    is_so.then(|| {
        format!(
            "Two errors cancel in part: all causes that are counted end {:+.4} from the truth, what they leave \
             {:+.4}, and together {:+.4}. Where only one of them is as large, more is missed.",
            all.end_difference, unexplained.end_difference, remade.end_difference
        )
    })
}

/// Errors that cancel by less than this part of what is left of them are not worth a sentence.
const CANCELS: f64 = 4.0;

/// Which ways the lives show nearer to the truth than the default one, and which farther.
fn nearer(verdict: &Verdict, of_truth: bool) -> Option<String> {
    let paired = verdict
        .attempts
        .iter()
        .filter_map(|a| Some((a.nearer_by?, a.nearer_half_interval?, a)));
    let paired: Vec<(f64, f64, &Attempt)> = paired.collect();
    if paired.is_empty() {
        return None;
    }
    let all = paired.len();
    let far = paired.iter().filter(|(by, half, _)| -by > *half).count();
    let near = paired.iter().filter(|(by, half, _)| by > half);
    let near: Vec<&(f64, f64, &Attempt)> = near.collect();
    let (rule, files) = DEFAULT_WAY;
    let ways = |n: usize| {
        match n {
            0 => "none",
            1 => "one",
            n if n == all => "each",
            _ => return n.to_string(),
        }
        .to_owned()
    };
    let open = match all - near.len() - far {
        0 => String::new(),
        open => format!(", of {} the interval holds 0", ways(open)),
    };
    if near.is_empty() && far == 0 {
        return Some(format!(
            "Life by life, none of {all} other ways is shown nearer to the truth than the default ({rule}, {files}), \
             or farther from it: the interval of each holds 0."
        ));
    }
    let mut said = format!(
        "Life by life, beside the default ({rule}, {files}): of {all} other ways {} end nearer to the truth, {} \
         farther{open}.",
        ways(near.len()),
        ways(far)
    );
    let nearest = near.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((by, half, way)) = nearest {
        let remake = way.remade_by();
        let as_near = near
            .iter()
            .filter(|(other, ..)| other + half >= *by)
            .count()
            - 1;
        let as_near = match as_near {
            0 => String::new(),
            1 => ", and another way lies within that ±, which other lives may put first".to_owned(),
            n => format!(
                ", and {n} others lie within that ±, any of which other lives may put first"
            ),
        };
        let pool = if of_truth && way.short_lived != "none" {
            " The profiles here are of a week of the truth itself; a POOL is made of a trace of a similar kind of use \
             (`fsage generate strace TRACE --profiles POOL`), and does worse."
        } else {
            ""
        };
        let _ = write!(
            said,
            " Nearest is {}, {} by {by:.4} ± {half:.4}{as_near}: `{remake}`.{pool}",
            way.delete_times, way.short_lived
        );
    }
    said += " Of 20 ways that are as near as the default, one seems not to be by chance; lives with other seeds \
             (`--seed`) tell.";
    Some(said)
}

/// What a layout score cannot say, and whether it keeps the order of the targets.
fn what_it_is_for(verdicts: &[Verdict]) -> String {
    let mut said = String::new();
    for verdict in verdicts {
        for against in &verdict.against {
            let (one, other) = (&verdict.target, &against.target);
            if let Some(blocks) = against.block_bytes {
                let [one_block, other_block] = blocks.map(|bytes| human(bytes.into()));
                let _ = write!(
                    said,
                    "Blocks of {one} have {one_block} and those of {other} {other_block}: a break weighs less in the \
                     layout score of small blocks, so that scores, and what is missed of them, do not compare, and \
                     nothing is said of the order of the two. An ext4 below 512 MB has blocks of 1 KiB; \
                     bsize=4K,bytes_per_inode=16K has those of a larger one. "
                );
                continue;
            }
            let (first, second, truth, remade) = if against.ahead >= against.behind {
                (one, other, against.ahead, against.ahead_remade)
            } else {
                (other, one, against.behind, against.behind_remade)
            };
            let lives = count(against.lives as u64, "life", "lives");
            let full = full_at_most(verdict).zip(
                verdicts
                    .iter()
                    .find(|of| of.target == *other)
                    .and_then(full_at_most),
            );
            let unlike = full.filter(|(one, other)| (one - other).abs() >= UNLIKE_FULL);
            let unlike = unlike.map_or_else(String::new, |(a, b)| {
                format!(
                    "At most {one} is {:.0} % full and {other} {:.0} %, which weighs in that. ",
                    a * 100.0,
                    b * 100.0
                )
            });
            let _ = write!(
                said,
                "By layout score {first} ends ahead of {second} in {truth} of {lives}, remade by default in {remade}; \
                 {} of {lives} keep the order. {unlike}",
                against.same_order
            );
        }
    }
    said + "All of this is of layout alone: neither speed nor the order of targets by speed is measured. For that, \
            `fsage compare` the truth and a workload remade from its snapshots (`fsage age --snapshots 1`, `fsage \
            generate snapshots`) on the same targets, and set the ratios of the two side by side."
}

/// The largest share of a target's data space that is in use at the end of a day.
fn full_at_most(verdict: &Verdict) -> Option<f64> {
    let used = verdict.lives.iter().filter_map(|life| life.most_used);
    used.max_by(f64::total_cmp)
}

/// Targets whose fullness differs by less are about as full.
const UNLIKE_FULL: f64 = 0.05;

fn half(interval: Option<f64>) -> String {
    interval.map_or_else(|| "-".to_owned(), |half| format!("{half:.4}"))
}

/// Why losses do not add up, and what else differs.
const LOSSES_ACT: &str = "Each is taken from the truth alone, and they act on each other, so that they need not add \
                          up to all of these: what changes little alone, as unseen short-lived files, may change more \
                          where others are lost, and a way that brings it back be nearer. What these do not explain, \
                          the remade workload (reuse, none) less all of these, is what else differs in it, and not \
                          measured apart: kinds of change are guessed from blocks, files are emptied once others have \
                          blocks of theirs, a file replaced by a rename is deleted and made anew, and large files are \
                          written in pieces (--growth).";

/// What the differences of the losses are, and what they cannot say.
fn what_losses_are(verdict: &Verdict) -> String {
    let has_interval = verdict
        .losses
        .iter()
        .any(|lost| lost.end_half_interval.is_some());
    let interval = |flag: &str| {
        if has_interval {
            "± is half of Student's 95 % interval of that".to_owned()
        } else {
            format!("three have an interval ({flag})")
        }
    };
    let lives = verdict.lives.len();
    if lives > 1 {
        return format!("Means over {lives} lives; {}.", interval("--lives 3"));
    }
    let over = match verdict.seeds {
        1 => "one seed".to_owned(),
        seeds => format!("the mean over {seeds} seeds"),
    };
    let interval = interval("--seeds 3");
    if verdict.has_drawn_clock {
        return format!("Each is {over} of the model's clock, and of guessed times; {interval}.");
    }
    format!(
        "Where times of deletion are guessed: {over}, and {interval}. Nothing else is drawn, so that one try is all \
         there is."
    )
}

/// One row for each target, life, way to remake and day: the score of the truth, and that of the remade workload.
fn write_scores(path: &Path, verdicts: &[Verdict], force: bool) -> anyhow::Result<()> {
    let texts = ["target", "life", "delete_times", "short_lived"];
    let texts = texts.map(|name| Column::new(name.to_owned(), ColumnKind::Text));
    let day = Column::new("day", ColumnKind::U64);
    let scores = ["truth", "score"].map(|name| Column::new(name.to_owned(), ColumnKind::F64));
    let columns = texts.into_iter().chain([day]).chain(scores).collect();
    let mut table = TableWriter::create(path, "verify_method", columns, &[], force)?;
    for verdict in verdicts {
        for life in &verdict.lives {
            for way in &life.attempts {
                for (day, truth) in life.truth.iter().enumerate() {
                    table.push_row(&[
                        Value::from(verdict.target.as_str()),
                        Value::from(life.workload.as_str()),
                        Value::from(way.delete_times),
                        Value::from(way.short_lived),
                        Value::from(day as u64),
                        Value::from(Some(*truth)),
                        Value::from(way.scores.get(day).copied()),
                    ])?;
                }
            }
        }
    }
    Ok(table.finish()?)
}
