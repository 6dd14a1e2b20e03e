//! What treatments made of targets, as a table and in sentences.

use super::{Cost, Outcome, Speed, Stage};
use crate::benching::{digits, with_ends};
use crate::fullness;
use crate::report::words::{counted, percent, size, thousands};
use crate::table;
use fsage_bench::Says;
use std::io::{self, Write};
use std::iter;

/// Layout scores that differ by less are the same.
const SAME_SCORE: f64 = 0.005;
/// What makes reads less than so many times as fast hardly pays.
pub(crate) const HARDLY: f64 = 1.05;
/// Less than this part of the room for large extents is a loss worth a word.
const ROOM_KEPT: f64 = 0.9;
/// Files that are so many times larger in the mean are others.
const LARGER: f64 = 1.1;
/// What is less full by this share of the space is so by a word's worth.
const LESS_FULL: f64 = 0.02;
/// What is as full to this share of the space is so for every comparison.
const AS_FULL: f64 = 0.03;
/// Extents from which on it is one: two more or less mean nothing.
const FEWEST_LOST: f64 = 3.0;

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
        .chain(why_better(outcome).or_else(|| of_another(outcome)))
        .collect()
}

/// Bytes of a file, in the mean.
fn mean_bytes(stage: &Stage) -> Option<f64> {
    Some(stage.file_bytes? / stage.files.filter(|&n| n > 0.0)?)
}

/// How full the later state is, and of what files, where either is another than before: what is left of a gain is that
/// of another population.
fn of_another(outcome: &Outcome) -> Option<String> {
    let (was, is) = (outcome.before()?, outcome.stage(None, true)?);
    let (full, later) = (was.utilization?, is.utilization?);
    let (small, large) = (mean_bytes(was)?, mean_bytes(is)?);
    let is_other =
        (full - later).abs() >= AS_FULL || large >= LARGER * small || small >= LARGER * large;
    is_other.then(|| {
        format!(
            "{}, {} more: it was {} full with {} of {} in the mean, and is {} full with {} of {}: what is left of a \
             gain then was measured on these files, and not on those before.",
            outcome.target,
            counted(outcome.days_more, "day"),
            percent(full),
            counted(was.files.unwrap_or_default() as u64, "file"),
            size(small as u64),
            percent(later),
            thousands(is.files.unwrap_or_default() as u64),
            size(large as u64),
        )
    })
}

/// Why a file system is better than it was after days more without treatment, where it is: what else changed.
fn why_better(outcome: &Outcome) -> Option<String> {
    let (was, is) = (outcome.before()?, outcome.stage(None, true)?);
    let mut better = Vec::new();
    if let (Some(was), Some(is)) = (was.layout_score, is.layout_score)
        && is - was >= SAME_SCORE
    {
        better.push(format!("the layout score goes from {was:.3} to {is:.3}"));
    }
    if let Some(phase) = phase(outcome)
        && let Some(beside) = speed(is, &phase).and_then(|speed| speed.by_before)
        && beside.says == Says::Faster
        && beside.ratio >= HARDLY
    {
        let (suite, phase) = phase;
        better.push(format!(
            "{suite} {phase} is {:.2} times as fast",
            beside.ratio
        ));
    }
    if better.is_empty() {
        return None;
    }
    let (full, fuller) = (was.utilization?, is.utilization?);
    let (small, large) = (mean_bytes(was)?, mean_bytes(is)?);
    let mut whys = Vec::new();
    if large >= LARGER * small {
        whys.push("larger files have fewer breaks to a block and are read faster");
    }
    if full - fuller >= LESS_FULL {
        whys.push("on a file system that is less full what is written finds longer runs");
    }
    if whys.is_empty() {
        whys.push("that does not explain it");
    }
    Some(format!(
        "{}, {} more without treatment: {}. It was {} full and is {}, without what files keep behind \
         their ends; it held {} of {} in the mean and holds {} of {}: {}.",
        outcome.target,
        counted(outcome.days_more, "day"),
        better.join(", "),
        percent(full),
        percent(fuller),
        counted(was.files? as u64, "file"),
        size(small as u64),
        thousands(is.files? as u64),
        size(large as u64),
        whys.join(", and ")
    ))
}

/// Which treatments pay, in one sentence. Without a benchmark: those that change nothing.
pub fn answer(outcome: &Outcome) -> Option<String> {
    let answer = match phase(outcome) {
        Some(phase) => answer_of_speed(outcome, &phase),
        None => answer_of_layout(outcome),
    }?;
    let costs = outcome.treatments().filter_map(|treatment| {
        let (before, after) = (outcome.before()?, outcome.stage(Some(treatment), false)?);
        let room = lost_room(before.placeable_1m?, after.placeable_1m?)?;
        let packs = before.pieces_per_file > after.pieces_per_file;
        let packs = if packs { "packs files but " } else { "" };
        // Other numbers of the run are of the end of its last day.
        let again = if outcome.target.starts_with("loop:") {
            ", both of the image mounted again"
        } else {
            ""
        };
        Some(format!(" {treatment} {packs}{room}{again}."))
    });
    Some(iter::once(answer).chain(costs).collect())
}

/// That a treatment took much of the room for extents of 1 MiB, or all of it; none where it took little.
pub(crate) fn lost_room(before: f64, after: f64) -> Option<String> {
    let is_much = after < ROOM_KEPT * before && before - after >= FEWEST_LOST;
    let is_all = before >= 1.0 && after < 1.0;
    let was = thousands(before.round() as u64);
    match thousands(after.round() as u64) {
        _ if is_all => Some(format!("leaves no room for extents of 1 MiB, {was} before")),
        is if is_much => Some(format!(
            "leaves room for {is} extents of 1 MiB, {was} before"
        )),
        _ => None,
    }
}

/// The answer where speeds are known.
fn answer_of_speed(outcome: &Outcome, phase: &fullness::Phase) -> Option<String> {
    let treatments = outcome.treatments();
    let answers = treatments.filter_map(|treatment| {
        let beside = speed(outcome.stage(Some(treatment), false)?, phase)?.by_before?;
        let later = outcome
            .stage(Some(treatment), true)
            .and_then(|stage| speed(stage, phase)?.by_untreated);
        let gone = later.is_some_and(|later| later.ratio - 1.0 < (beside.ratio - 1.0) / 4.0);
        let later = later.map_or_else(String::new, |later| {
            let more = counted(outcome.days_more, "day");
            let half = half_gone(outcome, treatment);
            let half = half.map_or_else(String::new, |half| format!("; {}", half.words()));
            format!(", {:.2} times {more} later{half}", later.ratio)
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
            Says::Faster if later.is_empty() => format!(
                "{treatment} yes ({ratio:.2} times as fast; how long that lasts, --after-again says)"
            ),
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
        let (suite, what) = phase;
        format!(
            "{}, does it pay for {suite} {what}? {}.",
            outcome.target,
            answers.join("; ")
        )
    })
}

/// How long half of what a treatment won in layout lasts, beside living on without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Half {
    /// It is gone at the end of this day after the treatment, from 1.
    GoneAfter(u64),
    /// More than half is left at the end.
    Left,
}

impl Half {
    fn words(self) -> String {
        Half::of_lives(self, self)
    }

    /// Of lives between the first and the last to lose it.
    pub(crate) fn of_lives(first: Half, last: Half) -> String {
        const GONE: &str = "half of what it won in layout is gone after";
        match (first, last) {
            (Half::GoneAfter(first), Half::GoneAfter(last)) if first == last => {
                format!("{GONE} {}", counted(first, "day"))
            }
            (Half::GoneAfter(first), Half::GoneAfter(last)) => {
                format!("{GONE} {first} to {}", counted(last, "day"))
            }
            (Half::GoneAfter(first), Half::Left) => {
                format!(
                    "{GONE} {} at the earliest, and not in all lives",
                    counted(first, "day")
                )
            }
            (Half::Left, _) => "more than half of what it won in layout is left then".to_owned(),
        }
    }
}

/// None where it won little, or where the days of one are not known.
pub(crate) fn half_gone(outcome: &Outcome, treatment: &str) -> Option<Half> {
    /// A smaller gain is no layout that could be lost.
    const LEAST: f64 = 0.02;
    let [before, after] = [None, Some(treatment)].map(|of| outcome.stage(of, false));
    let won = after?.layout_score? - before?.layout_score?;
    let [without, with] = [None, Some(treatment)].map(|of| outcome.stage(of, true));
    let (without, with) = (&without?.layout_by_day, &with?.layout_by_day);
    if won < LEAST || with.is_empty() || with.len() != without.len() {
        return None;
    }
    let left = with
        .iter()
        .zip(without)
        .map(|(with, without)| Some((*with)? - (*without)?));
    let left: Option<Vec<f64>> = left.collect();
    let gone = left?.iter().position(|left| *left < won / 2.0);
    Some(gone.map_or(Half::Left, |day| Half::GoneAfter(day as u64 + 1)))
}

/// The answer where no speed is known.
fn answer_of_layout(outcome: &Outcome) -> Option<String> {
    let before = outcome.before()?;
    let was = before.layout_score?;
    let answers = outcome.treatments().filter_map(|treatment| {
        let is = outcome.stage(Some(treatment), false)?.layout_score?;
        Some(if (is - was).abs() >= SAME_SCORE {
            format!(
                "{treatment} changes the layout, and nothing was benchmarked (--no-bench) that says"
            )
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
pub(crate) fn paid_back_bytes(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::days::DayRow;
    use fsage_metrics::files;

    /// A tenth less is little, and so are two extents unless they are the last.
    #[test]
    fn much_of_the_room_for_large_extents_is_named_where_it_is_lost() {
        assert_eq!(
            lost_room(1200.0, 40.0).as_deref(),
            Some("leaves room for 40 extents of 1 MiB, 1,200 before")
        );
        let lost = |before, after| lost_room(before, after).is_some();
        assert!(lost(100.0, 89.0) && !lost(100.0, 91.0) && !lost(100.0, 150.0));
        assert!(lost(5.0, 2.0) && !lost(4.0, 2.0) && !lost(0.4, 0.0));
        assert_eq!(
            lost_room(1.0, 0.0).as_deref(),
            Some("leaves no room for extents of 1 MiB, 1 before")
        );
    }

    /// A file system of 100 files of 64 KiB, 83 % full, and then with so many of them for the same bytes, so full.
    fn lived_on(layout: f64, files: f64, full: f64) -> Outcome {
        let stage = |lived_on, layout_score, files, utilization| Stage {
            lived_on,
            layout_score: Some(layout_score),
            files: Some(files),
            file_bytes: Some(100.0 * 65_536.0),
            utilization: Some(utilization),
            ..Stage::new(None, &DayRow::default())
        };
        Outcome {
            target: "ext4".to_owned(),
            days_more: 60,
            stages: vec![
                stage(false, 0.7, 100.0, 0.83),
                stage(true, layout, files, full),
            ],
        }
    }

    /// By hand: 0.2 is won, and 0.16, 0.11 and 0.09 are left of it on three days; 0.1 is half.
    #[test]
    fn half_of_a_gain_is_gone_on_the_first_day_that_has_less() {
        let half = |with: [f64; 3]| {
            let stage = |treatment: Option<&str>, lived_on, layout_score, by_day: &[f64]| Stage {
                treatment: treatment.map(str::to_owned),
                lived_on,
                layout_score: Some(layout_score),
                layout_by_day: by_day.iter().copied().map(Some).collect(),
                ..Stage::new(None, &DayRow::default())
            };
            let outcome = Outcome {
                target: "ext4".to_owned(),
                days_more: 3,
                stages: vec![
                    stage(None, false, 0.7, &[]),
                    stage(None, true, 0.7, &[0.7, 0.7, 0.7]),
                    stage(Some("defrag"), false, 0.9, &[]),
                    stage(Some("defrag"), true, with[2], &with),
                ],
            };
            half_gone(&outcome, "defrag").expect("a gain")
        };
        assert_eq!(half([0.86, 0.81, 0.79]), Half::GoneAfter(3));
        assert_eq!(half([0.86, 0.85, 0.84]), Half::Left);
        let said = |first, last| Half::of_lives(first, last);
        let gone = "half of what it won in layout is gone after";
        assert_eq!(
            said(Half::GoneAfter(3), Half::GoneAfter(3)),
            format!("{gone} 3 days")
        );
        assert_eq!(
            said(Half::GoneAfter(3), Half::GoneAfter(9)),
            format!("{gone} 3 to 9 days")
        );
        assert!(said(Half::GoneAfter(3), Half::Left).ends_with("and not in all lives"));
    }

    /// 96 % of the space is in use, a tenth of it behind the ends of files: of two stages the same share is compared.
    #[test]
    fn stages_are_as_full_as_what_lasts() {
        let row = DayRow::default()
            .with(&files::UTILIZATION, 0.96)
            .with(&files::LASTING_UTILIZATION, 0.86);
        assert_eq!(Stage::new(None, &row).utilization, Some(0.86));
    }

    /// An image gives back what it kept when it is mounted again, so that its room is not that of the run's last day.
    #[test]
    fn room_of_an_image_is_said_to_be_that_after_a_mount() {
        let said = |target: &str| {
            let mut outcome = lived_on(0.7, 100.0, 0.83);
            outcome.target = target.to_owned();
            outcome.stages[0].placeable_1m = Some(28.0);
            outcome.stages.push(Stage {
                treatment: Some("fsr".to_owned()),
                layout_score: Some(0.7),
                placeable_1m: Some(12.0),
                ..Stage::new(None, &DayRow::default())
            });
            answer(&outcome).expect("an answer")
        };
        let room = "leaves room for 12 extents of 1 MiB, 28 before";
        assert!(
            said("xfs").ends_with(&format!("{room}.")),
            "{}",
            said("xfs")
        );
        let image = said("loop:xfs,size=1G");
        assert!(
            image.ends_with(&format!("{room}, both of the image mounted again.")),
            "{image}"
        );
    }

    #[test]
    fn what_improves_by_living_on_says_what_else_changed() {
        assert_eq!(
            sentences(&lived_on(0.75, 50.0, 0.83)),
            [
                "ext4, 60 days more without treatment: the layout score goes from 0.700 to 0.750. It was 83 % full and \
                 is 83 %, without what files keep behind their ends; it held 100 \
                 files of 64 KiB in the mean and holds 50 of 128 KiB: \
                 larger files have fewer breaks to a block and are read faster."
            ]
        );
        let ends = |files: f64, full: f64| {
            let said = sentences(&lived_on(0.75, files, full)).remove(0);
            said.rsplit(": ").next().expect("a reason").to_owned()
        };
        assert_eq!(
            ends(100.0, 0.7),
            "on a file system that is less full what is written finds longer runs."
        );
        assert_eq!(ends(100.0, 0.83), "that does not explain it.");
    }

    /// Half as many files for the same bytes are twice as large; 83 % and 50 % of a space are 33 points apart.
    #[test]
    fn a_later_state_of_other_files_or_another_fullness_says_so() {
        let said = sentences(&lived_on(0.65, 50.0, 0.5));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with(
                "ext4, 60 days more: it was 83 % full with 100 files of 64 KiB in the mean, and is 50 % full with \
                 50 of 128 KiB: what is left of a gain"
            ),
            "{said:?}"
        );
        assert_eq!(sentences(&lived_on(0.65, 100.0, 0.5)).len(), 1);
        assert_eq!(sentences(&lived_on(0.65, 50.0, 0.83)).len(), 1);
        assert!(sentences(&lived_on(0.65, 95.0, 0.82)).is_empty());
    }
}
