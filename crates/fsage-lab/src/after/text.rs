//! What treatments made of targets, as a table and in sentences.

use super::{Cost, Outcome, Speed, Stage};
use crate::benching::{digits, with_ends};
use crate::fullness;
use crate::report::words::{counted, size, thousands};
use crate::table;
use fsage_bench::Says;
use std::io::{self, Write};

/// Layout scores that differ by less are the same.
const SAME_SCORE: f64 = 0.005;
/// What makes reads less than so many times as fast hardly pays.
const HARDLY: f64 = 1.05;

/// A table, and sentences for each target.
///
/// # Errors
/// `out` fails.
pub fn print(out: &mut impl Write, outcomes: &[Outcome]) -> io::Result<()> {
    for outcome in outcomes {
        let phase = phase(outcome);
        let mut header = vec!["", "layout", "pieces\na file", "free in runs\nof 1 MiB"];
        let title = phase
            .as_ref()
            .map(|(suite, phase)| format!("{suite}\n{phase}"));
        if let Some(title) = &title {
            header.extend([title.as_str(), "by\nuntreated"]);
        }
        let mut table = table::table(&header);
        table::align_left(&mut table, &[0]);
        for stage in &outcome.stages {
            let mut row = vec![
                name(stage, outcome),
                table::digits(stage.layout_score),
                stage.pieces_per_file.map_or_else(|| "-".to_owned(), digits),
                stage
                    .free_in_1m_runs_bytes
                    .map_or_else(|| "-".to_owned(), |b| size(b as u64)),
            ];
            if let Some(phase) = &phase {
                let speed = speed(stage, phase);
                row.push(speed.map_or_else(
                    || "-".to_owned(),
                    |speed| format!("{} {}", digits(speed.speed), speed.unit),
                ));
                let beside = speed.and_then(|speed| stage.beside_untreated(speed));
                row.push(beside.map_or_else(
                    || "-".to_owned(),
                    |beside| with_ends(beside.ratio, beside.interval.into()),
                ));
            }
            table.add_row(row);
        }
        writeln!(out, "\n{}, before and after:\n\n{table}", outcome.target)?;
    }
    Ok(())
}

/// What a stage is called.
pub(crate) fn name(stage: &Stage, outcome: &Outcome) -> String {
    let more = || counted(outcome.days_more, "day");
    match (&stage.treatment, stage.lived_on) {
        (None, false) => "aged".to_owned(),
        (None, true) => format!("aged, {} more", more()),
        (Some(treatment), false) => treatment.clone(),
        (Some(treatment), true) => format!("{treatment}, {} more", more()),
    }
}

/// The phase by which stages are compared, as sizes are by `--fill`.
pub(crate) fn phase(outcome: &Outcome) -> Option<fullness::Phase> {
    let speeds = outcome.before()?.speeds.iter();
    let phases: Vec<(&str, &str)> = speeds
        .map(|speed| (speed.suite.as_str(), speed.phase.as_str()))
        .collect();
    fullness::phase(&phases)
}

/// The speed of a stage in a phase.
pub(crate) fn speed<'a>(stage: &'a Stage, phase: &fullness::Phase) -> Option<&'a Speed> {
    let mut speeds = stage.speeds.iter();
    speeds.find(|speed| (&speed.suite, &speed.phase) == (&phase.0, &phase.1))
}

/// What each treatment did, in sentences.
pub fn sentences(outcome: &Outcome) -> Vec<String> {
    let treatments = outcome.treatments();
    treatments
        .filter_map(|treatment| sentence(outcome, treatment))
        .collect()
}

/// Which treatments pay, in one sentence. Without a benchmark: those that change nothing.
pub fn answer(outcome: &Outcome) -> Option<String> {
    let Some(phase) = phase(outcome) else {
        return answer_of_layout(outcome);
    };
    let treatments = outcome.treatments();
    let answers = treatments.filter_map(|treatment| {
        let beside = speed(outcome.stage(Some(treatment), false)?, &phase)?.by_before?;
        let later = outcome
            .stage(Some(treatment), true)
            .and_then(|stage| speed(stage, &phase)?.by_untreated);
        let gone = later.is_some_and(|later| later.ratio - 1.0 < (beside.ratio - 1.0) / 4.0);
        let later = later.map_or_else(String::new, |later| {
            let more = counted(outcome.days_more, "day");
            format!(", {:.2} times {more} later", later.ratio)
        });
        let ratio = beside.ratio;
        Some(match beside.says {
            Says::Faster if ratio < HARDLY => {
                format!("{treatment} hardly ({ratio:.2} times as fast{later})")
            }
            // What is left of the gain after as long again is under a quarter of it.
            Says::Faster if gone => {
                format!("{treatment} for a while ({ratio:.2} times as fast{later})")
            }
            Says::Faster => format!("{treatment} yes ({ratio:.2} times as fast{later})"),
            Says::Same | Says::Slower => {
                format!("{treatment} no ({ratio:.2} times as fast{later})")
            }
            Says::Inconclusive => {
                let [low, high] = beside.interval;
                format!("{treatment} is open ({low:.2} to {high:.2} times as fast)")
            }
        })
    });
    let answers: Vec<String> = answers.collect();
    (!answers.is_empty()).then(|| {
        let (suite, what) = &phase;
        format!(
            "{}, does it pay for {suite} {what}? {}.",
            outcome.target,
            answers.join("; ")
        )
    })
}

/// The answer where no speed is known.
fn answer_of_layout(outcome: &Outcome) -> Option<String> {
    let before = outcome.before()?;
    let was = before.layout_score?;
    let answers = outcome.treatments().filter_map(|treatment| {
        let is = outcome.stage(Some(treatment), false)?.layout_score?;
        Some(if (is - was).abs() >= SAME_SCORE {
            format!("of {treatment} it is not known: nothing was benchmarked (--no-bench)")
        } else if was >= 1.0 - SAME_SCORE {
            format!("{treatment} no (there was nothing to gain)")
        } else {
            format!("{treatment} no (the layout hardly changes)")
        })
    });
    let answers: Vec<String> = answers.collect();
    (!answers.is_empty())
        .then(|| format!("{}, does it pay? {}.", outcome.target, answers.join("; ")))
}

fn sentence(outcome: &Outcome, treatment: &str) -> Option<String> {
    let before = outcome.before()?;
    let after = outcome.stage(Some(treatment), false)?;
    let mut parts = Vec::new();
    if let (Some(was), Some(is)) = (before.layout_score, after.layout_score) {
        parts.push(if (is - was).abs() < SAME_SCORE {
            format!("the layout score hardly changes ({was:.3} before, {is:.3} after)")
        } else {
            format!("the layout score goes from {was:.3} to {is:.3}")
        });
    }
    let phase = phase(outcome);
    let faster = phase.as_ref().and_then(|phase| {
        let beside = speed(after, phase)?.by_before?;
        let [low, high] = beside.interval;
        let (what, ratio) = (
            format!("{} {}", phase.0, phase.1),
            with_ends(beside.ratio, (low, high)),
        );
        parts.push(match beside.says {
            Says::Same => format!("{what} is as fast as before, so that it does not pay"),
            Says::Inconclusive => {
                format!("whether {what} is faster is open: {ratio} times as fast")
            }
            Says::Faster | Says::Slower => format!("{what} is {ratio} times as fast"),
        });
        Some(beside.says == Says::Faster)
    });
    let cost = after.cost.as_ref()?;
    parts.push(cost_words(cost));
    if let (Some(was), Some(is)) = (before.free_in_1m_runs_bytes, after.free_in_1m_runs_bytes)
        && was > 0.0
        && is <= 0.0
    {
        parts.push(format!(
            "but no free run of 1 MiB is left ({} lay in such runs before)",
            size(was as u64)
        ));
    }
    if let (Some(true), Some(phase)) = (faster, &phase)
        && let Some(bytes) = paid_back_bytes(before, after, cost, phase)
    {
        parts.push(format!(
            "that time is won back after {} of such reads",
            size(bytes)
        ));
    }
    if let (Some(with), Some(without)) = (
        outcome.stage(Some(treatment), true),
        outcome.stage(None, true),
    ) {
        parts.push(later_words(outcome, with, without, phase.as_ref()));
    }
    Some(format!(
        "{}, {treatment}: {}.",
        outcome.target,
        parts.join("; ")
    ))
}

/// What it took.
fn cost_words(cost: &Cost) -> String {
    let mut words = vec![format!(
        "{} read and {} written",
        size(cost.read_bytes),
        size(cost.written_bytes)
    )];
    if let Some(seconds) = cost.seconds {
        words.push(format!(" in {} s", digits(seconds)));
    }
    if let Some(device) = &cost.device {
        words.push(format!(" on {device}"));
    }
    if let (Some(moved), Some(tried)) = (cost.moved_files, cost.tried_files) {
        words.push(if moved == tried {
            format!(", for {}", counted(tried, "file"))
        } else {
            format!(
                ", {} of {} copies are better and stay",
                thousands(moved),
                thousands(tried)
            )
        });
    }
    words.concat()
}

/// Bytes that have to be read until the time that a treatment took is won back; nothing where no time was taken, or
/// speeds are no bytes.
fn paid_back_bytes(
    before: &Stage,
    after: &Stage,
    cost: &Cost,
    phase: &fullness::Phase,
) -> Option<u64> {
    let (was, is) = (speed(before, phase)?, speed(after, phase)?);
    if was.unit != "MB/s" {
        return None;
    }
    let won_s = 1.0 / was.speed - 1.0 / is.speed;
    (won_s > 0.0).then_some((cost.seconds? / won_s * 1e6) as u64)
}

/// What is left of it later.
fn later_words(
    outcome: &Outcome,
    with: &Stage,
    without: &Stage,
    phase: Option<&fullness::Phase>,
) -> String {
    let more = counted(outcome.days_more, "day");
    let layout = match (with.layout_score, without.layout_score) {
        (Some(with), Some(without)) if (with - without).abs() < SAME_SCORE => {
            format!("the layout is as it is without it ({with:.3}, {without:.3} without)")
        }
        (Some(with), Some(without)) => {
            format!("the layout score is {with:.3}, and {without:.3} without it")
        }
        _ => "no layout score is known".to_owned(),
    };
    let beside = phase.and_then(|phase| Some((phase, speed(with, phase)?.by_untreated?)));
    let speed = beside.map(|(phase, beside)| {
        let ratio = with_ends(beside.ratio, beside.interval.into());
        let says = match beside.says {
            Says::Same => "as fast as without it".to_owned(),
            Says::Inconclusive => format!("{ratio} times as fast as without it, which is open"),
            Says::Faster | Says::Slower => format!("{ratio} times as fast as without it"),
        };
        format!(", {} {} {says}", phase.0, phase.1)
    });
    format!("after {more} more {layout}{}", speed.unwrap_or_default())
}
