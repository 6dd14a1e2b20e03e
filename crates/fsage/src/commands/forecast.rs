//! `fsage forecast`: when a file system breaks.

use crate::exit;
use crate::preset::Preset;
use crate::summary::{print_json, table};
use crate::ui::{self, Ui};
use anyhow::bail;
use fsage_core::size::human;
use fsage_lab::compare::Workload;
use fsage_lab::forecast::{Answer, Forecast, Limit, PAGE, Request, Variant, forecast, past_source};
use fsage_lab::generate::Source;
use fsage_lab::table::{keep_whole, wrapped};
use fsage_target::{SpecError, TargetSpec};
use fsage_workload::repeat::days_of_years;
use std::io::{self, Write};
use std::path::PathBuf;

/// Forecasts when a file system breaks: when space runs out, or room for large extents, or its layout is gone.
///
/// The past is lived on the target, and then many futures that are drawn from it, each with its own growth. What counts
/// as broken says --limit. What drives it, and what would help, is asked of more futures, each of which is lived too.
/// What was lived is kept in memory alone: a forecast that is stopped leaves nothing, and begins again.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage forecast nights/ --on ext4:size=100G -o forecast\n  \
                  fsage forecast --preset mail-spool --on xfs --years 2 --limit free=10% --limit 1m=100\n  \
                  fsage forecast history.parquet --on ext4 --try ext4:size=2G --try xfs\n  \
                  fsage forecast history.parquet --on ext4 --hold-out 1/3\n  \
                  fsage forecast nights/ --on ext4 --no-why --fail-within 30\n\n\
                  `fsage age --help` shows what a SPEC may say."
)]
#[allow(clippy::struct_excessive_bools)]
pub struct Args {
    /// The past: a workload (Parquet or .ops text), or snapshots of a file system: folders, files and series, or the
    /// folder RUN/TARGET of a run that took some.
    #[arg(
        required_unless_present = "preset",
        conflicts_with = "preset",
        value_name = "PAST"
    )]
    past: Vec<PathBuf>,
    #[command(flatten)]
    preset: Preset,
    /// The target, KIND[:KEY=VALUE|FLAG,...]: a model, or loop:TYPE as root.
    #[arg(long = "on", value_name = "SPEC", required = true)]
    on: Vec<String>,
    /// How far to look ahead [default: 1; of a preset, as many days as it lives].
    #[arg(long, value_name = "YEARS")]
    years: Option<f64>,
    /// What counts as broken, several times: free=5%, free=10G, 64k=1, 1m=1, 64m=1, inodes=1 (less room than for so
    /// many), layout=0.7, used=0.9, enospc (a write fails), or a metric with < or >, as in `free_runs>100000` [default:
    /// free=5%, 64k=1, 1m=1, inodes=1, layout=0.7, enospc].
    #[arg(long = "limit", value_name = "LIMIT")]
    limits: Vec<String>,
    /// Futures to live: 19 or more [default: 39, and 19 where they would be more than 40 million operations].
    #[arg(long, value_name = "N")]
    lives: Option<usize>,
    /// Seed of the preset and of the first future; the others follow.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Also ask whether this target would help; give it several times.
    #[arg(long = "try", value_name = "SPEC")]
    tries: Vec<String>,
    /// Ask what drives it and what would help, whatever it takes [default: where that is not long].
    #[arg(long)]
    why: bool,
    /// Do not ask what drives it and what would help: a sixth of the time.
    #[arg(long, conflicts_with_all = ["tries", "why"])]
    no_why: bool,
    /// Learn from all days but this share at the end, as in 1/3, and compare with what came then. Without --limit the
    /// limits are what it had come to in the middle of that time.
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with_all = ["years", "tries"])]
    hold_out: Option<f64>,
    /// Folder for forecast.html, forecast.json, limits.parquet and lives.parquet.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Replace the folder of another forecast.
    #[arg(long, requires = "output")]
    force: bool,
    /// Lives at the same time; each takes the memory of a model [default: one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Exit with status 1 where a limit is crossed already, or within so many days in half of the lives; without
    /// --years it looks as far ahead, and no further.
    #[arg(long, value_name = "DAYS", conflicts_with = "hold_out")]
    fail_within: Option<u64>,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

/// A share as 1/3 or 0.33.
fn share(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.split_once('/') {
        Some((part, of)) => number(part).zip(number(of)).map(|(part, of)| part / of),
        None => number(text),
    };
    let share = share.filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "expected a share between 0 and 1, as in 1/3 or 0.25".to_owned())
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let [on] = &args.on[..] else {
        bail!(
            "--on: a forecast is of one target; `--try {}` asks whether another one would help",
            args.on[1]
        );
    };
    let target = TargetSpec::parse(on)?;
    let tries = args.tries.iter().map(|text| TargetSpec::parse(text));
    let tries = tries.collect::<Result<Vec<_>, SpecError>>()?;
    let limits = args.limits.iter().map(|text| text.parse());
    let limits = limits.collect::<Result<Vec<Limit>, fsage_lab::Error>>()?;
    if let (Some(years), Some(within)) = (args.years, args.fail_within)
        && let Some(days) = days_of_years(years).filter(|days| *days < within)
    {
        bail!(
            "--fail-within {within}: --years {years} looks {days} days ahead alone; leave --years out, or take more"
        );
    }
    let source = source(args)?;
    let workload = match &source {
        Some(source) => Workload::Made(source),
        None => Workload::File(&args.past[0]),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let request = Request {
        years: args.years,
        days: args.fail_within.map(|days| days.max(1)),
        lives: args.lives,
        seed: args.seed,
        why: match (args.no_why, args.why || !args.tries.is_empty()) {
            (true, _) => Some(false),
            (_, true) => Some(true),
            _ => None,
        },
        tries: &tries,
        hold_out: args.hold_out,
        threads: args.threads.map_or(cores, usize::from),
        output: args.output.as_deref(),
        force: args.force,
        ..Request::new(workload, &target, &limits)
    };
    if let Some(days) = args.preset.days {
        ui.warn(&format!(
            "--days {days}: all that the preset lives through happens in as many days, so that dates move with it; \
             without --days it has its own"
        ));
    }
    let found = forecast(&request, &ui)?;
    let mut out = ui::stdout();
    if args.json {
        print_json(&mut out, &found)?;
    } else {
        print(&mut out, &found)?;
    }
    out.flush()?;
    if let Some(output) = &args.output {
        ui.note(&format!(
            "\nResults are in {}. Next: open {} in a browser.",
            output.display(),
            output.join(PAGE).display()
        ));
    }
    if let Some(days) = args.fail_within {
        let soon: Vec<&str> = found
            .within(days)
            .map(|answer| answer.sentence.as_str())
            .collect();
        let soon = match &soon[..] {
            [] => None,
            // A line each, for the mail that cron makes of it.
            soon => Some(format!("within {days} days:\n{}", soon.join("\n"))),
        };
        let doubts = found.doubts_said().filter(|_| soon.is_some());
        let said = soon.iter().cloned().chain(found.stale()).chain(doubts);
        let said: Vec<String> = said.collect();
        if !said.is_empty() {
            return Err(exit::No(said.join("\n")).into());
        }
    } else if let Some(stale) = found.stale() {
        ui.warn(&stale);
    }
    Ok(())
}

/// What the past is made of, where it is no workload.
fn source(args: &Args) -> anyhow::Result<Option<Source>> {
    if let Some(first) = args.past.first() {
        args.preset.is_not_asked_of(first)?;
    }
    if let Some(life) = args.preset.life(args.seed) {
        return Ok(Some(life));
    }
    Ok(past_source(&args.past)?)
}

fn print(out: &mut impl Write, found: &Forecast) -> io::Result<()> {
    let observed = &found.observed;
    let growth = observed.growth_bytes_per_day;
    writeln!(
        out,
        "{}: {} days observed, {}growth {}{} a day",
        found.target_shown(),
        observed.days,
        if observed.has_dates {
            format!("{} to {}, ", observed.first, observed.last)
        } else {
            String::new()
        },
        if growth < 0.0 { "-" } else { "+" },
        human(growth.abs() as u64)
    )?;
    writeln!(
        out,
        "{} days ahead in {} lives; days from the last one observed{}\n",
        found.horizon_days,
        found.lives,
        if found.answers.iter().any(|answer| answer.already) {
            "; already: on that day"
        } else {
            ""
        }
    )?;
    if found.held_out.is_empty() {
        writeln!(out, "{}\n", wrapped(&found.in_short(), "", ""))?;
    }
    let horizon = found.horizon_days;
    let mut answers = table(&["limit", "now", "median", "90 % of lives", "cross it"]);
    for answer in &found.answers {
        answers.add_row([
            answer.limit.text.clone(),
            answer
                .now
                .map_or_else(|| "-".to_owned(), |now| answer.limit.shown(now)),
            answer.median_shown(horizon),
            answer.interval_shown(horizon),
            format!("{} of {}", answer.reached, answer.lives),
        ]);
    }
    writeln!(out, "{answers}\n")?;
    let notes = found.premise.iter().chain(&found.now_is).cloned();
    for note in notes.chain(found.doubts_said()) {
        writeln!(out, "{}\n", wrapped(&note, "", ""))?;
    }
    let mut comes: Vec<&Answer> = found.answers.iter().collect();
    comes.retain(|answer| answer.reached > 0 && !answer.already);
    comes.sort_by_key(|answer| answer.day_led().unwrap_or(u64::MAX));
    for answer in comes {
        writeln!(out, "{}", wrapped(&answer.sentence, "", ""))?;
    }
    under_other_conditions(out, found)?;
    if !found.held_out.is_empty() {
        held_out(out, found)?;
    }
    Ok(())
}

/// Columns of a table of lives under other conditions: more would be wider than a terminal.
const MOST_LIMITS: usize = 4;
/// And so wide it is at most.
const WIDTH: u16 = 80;

/// What lives under other conditions say, of every limit that some of the lives cross.
fn under_other_conditions(out: &mut impl Write, found: &Forecast) -> io::Result<()> {
    let open = found.open_limits();
    if open.is_empty() || found.drivers.is_empty() && found.helps.is_empty() {
        return Ok(());
    }
    let lead = format!(
        "Median days under other conditions; in brackets the value on day {}, where most lives do not cross the limit:",
        found.horizon_days
    );
    writeln!(out, "\n{}", wrapped(&lead, "", ""))?;
    variants(out, found, "What drives it", &found.drivers, &open)?;
    variants(out, found, "What would help", &found.helps, &open)?;
    if let Some(sentence) = found.helps_most() {
        writeln!(out, "\n{}", wrapped(&sentence, "", ""))?;
    }
    Ok(())
}

fn variants(
    out: &mut impl Write,
    found: &Forecast,
    title: &str,
    variants: &[Variant],
    open: &[usize],
) -> io::Result<()> {
    if variants.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    for places in open.chunks(MOST_LIMITS) {
        let mut header = vec![""];
        header.extend(
            places
                .iter()
                .map(|&place| found.answers[place].limit.text.as_str()),
        );
        let mut rows = table(&header);
        rows.set_width(rows.width().unwrap_or(WIDTH).min(WIDTH));
        keep_whole(&mut rows, 0);
        let mut add = |name: &str, answers: &[Answer]| {
            let cells = places
                .iter()
                .map(|&place| answers[place].median_and_end_shown(found.horizon_days));
            rows.add_row(std::iter::once(name.to_owned()).chain(cells));
        };
        add("as it is", &found.answers);
        for variant in variants {
            add(&variant.name, &variant.answers);
        }
        writeln!(out, "\n{rows}")?;
    }
    Ok(())
}

fn held_out(out: &mut impl Write, found: &Forecast) -> io::Result<()> {
    let horizon = found.horizon_days;
    writeln!(
        out,
        "\nThe last {horizon} days were held out. What came in them:\n"
    )?;
    let mut rows = table(&["limit", "true day", "median", "90 % of lives", "holds"]);
    for case in &found.held_out {
        rows.add_row([
            case.answer.limit.text.clone(),
            case.true_day
                .map_or_else(|| format!("> {horizon}"), |day| day.to_string()),
            case.answer.median_shown(horizon),
            case.answer.interval_shown(horizon),
            case.shown().to_owned(),
        ]);
    }
    writeln!(out, "{rows}\n")?;
    if let Some(why) = &found.no_interval {
        return writeln!(out, "No interval is claimed: {why}.");
    }
    let hold = found
        .held_out
        .iter()
        .filter(|case| case.holds == Some(true))
        .count();
    writeln!(
        out,
        "The true day lies in the interval in {hold} of {} cases.",
        found.held_out.len()
    )
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_are_fractions_or_numbers() {
        assert_eq!(share("1/4"), Ok(0.25));
        assert_eq!(share("0.25"), Ok(0.25));
        for wrong in ["0", "1", "3/2", "1/0", "a third"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
