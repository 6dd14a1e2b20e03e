//! Which target decayed least.

use super::{Lost, Ranking, Since, UNDONE, alike, finding, no_difference};
use crate::days::DayRow;
use crate::report::subject::{Life, Over, Subject};
use crate::report::words::{list, percent};
use fsage_report::{Finding, Tone};

/// The share of the operations that a target did not do.
fn undone(subject: &Subject) -> f64 {
    let not_done = subject.total(|day| day.skipped.saturating_add(day.ignored));
    not_done as f64 / subject.total(|day| day.operations).max(1) as f64
}

/// The sentence; none where no target has anything to be compared with.
pub fn sentence(ranking: &Ranking<'_>) -> Option<Finding> {
    let by_loss = ranking.by_loss();
    let ((least, lost), (most, most_lost)) = (by_loss.first()?, by_loss.last()?);
    let named = |name: &str, lost: &Lost| format!("{name}, {}", below(lost, ranking.since));
    let text = match by_loss.len() {
        1 => format!("{} is {}.", least.name, below(lost, ranking.since)),
        _ if alike(&lost.loss, &most_lost.loss) => format!(
            "No target decayed less than another: {}. {} is {}.",
            no_difference("what they lost differs", &lost.loss, &most_lost.loss),
            least.name,
            below(lost, ranking.since)
        ),
        _ => {
            let (second, second_lost) = &by_loss[1];
            let first = if alike(&lost.loss, &second_lost.loss) {
                format!(
                    "{} and {} decayed least and alike: {}",
                    least.name,
                    second.name,
                    named(&least.name, lost)
                )
            } else {
                format!(
                    "{} decayed least: {}",
                    least.name,
                    below(lost, ranking.since)
                )
            };
            format!(
                "{first}. {}{} decayed most: {}.{}",
                between(&by_loss, ranking.since),
                most.name,
                below(most_lost, ranking.since),
                though(ranking, &least.name)
            )
        }
    };
    let undone = undone(least);
    let text = if undone > UNDONE {
        format!(
            "{text} But {} did not do {} of the operations.",
            least.name,
            percent(undone)
        )
    } else {
        text
    };
    let tone = match lost.loss.over.mean {
        _ if undone > UNDONE => Tone::Neutral,
        loss if loss < 0.05 => Tone::Good,
        loss if loss > 0.2 => Tone::Bad,
        _ => Tone::Neutral,
    };
    Some(finding(text, tone, "decay"))
}

/// A life of fewer days says nothing of where it leads.
const LEAST_DAYS: usize = 12;
/// What is lost between two tenths of a life, from which on it is still falling.
const STILL_FALLS: f64 = 0.02;

/// That targets still lost when their lives ended: between the tenth before the last third of their days and the last
/// one. None where all are level.
pub fn still(ranking: &Ranking<'_>) -> Option<Finding> {
    let tenth = |life: &Life, from: usize| {
        let (all, days) = (life.days.len(), &life.days);
        let days = days.get(all * from / 10..all * (from + 1) / 10)?;
        let scores = days.iter().filter_map(DayRow::score);
        Over::of(scores).map(|over| over.mean)
    };
    let lost = |life: &Life| {
        let is_long = life.days.len() >= LEAST_DAYS;
        is_long.then(|| Some(tenth(life, 6)? - tenth(life, 9)?))?
    };
    let falling = ranking.scored.iter().filter_map(|s| {
        let lost = s.subject.over(lost)?.mean;
        (lost >= STILL_FALLS).then(|| format!("{} lost {}", s.subject.name, points(lost)))
    });
    let falling: Vec<String> = falling.collect();
    (!falling.is_empty()).then(|| {
        let text = format!(
            "Not level yet: in the last third of the days {}. A longer life says where that ends (--days \
             of a preset).",
            list(&falling)
        );
        finding(text, Tone::Neutral, "decay")
    })
}

/// The one between, where there are three and no two are named as alike.
fn between(by_loss: &[(&Subject, &Lost)], since: Since) -> String {
    match by_loss {
        [(_, least), (name, lost), _] if !alike(&least.loss, &lost.loss) => {
            format!("{} is {}. ", name.name, below(lost, since))
        }
        _ => String::new(),
    }
}

/// That another target ends with a better layout than the one that lost least.
fn though(ranking: &Ranking<'_>, least: &str) -> String {
    let best = ranking.scored.first();
    let least = ranking.scored.iter().find(|s| s.subject.name == least);
    match best.zip(least) {
        Some((best, least)) if !alike(&best.end, &least.end) => {
            format!(
                " {} had more to lose, and still ends with more.",
                best.subject.name
            )
        }
        _ => String::new(),
    }
}

/// `4.7 points below its unaged control (95 %)`.
fn below(lost: &Lost, since: Since) -> String {
    let what = match since {
        Since::Control => "the same files freshly written",
        Since::FirstDay => "its first day",
    };
    let before = percent(lost.before);
    match lost.loss.over.mean {
        loss if loss.abs() < super::ALIKE => format!("as contiguous as {what} ({before})"),
        loss if loss < 0.0 => format!("{} above {what} ({before})", points(-loss)),
        loss => format!("{} below {what} ({before})", points(loss)),
    }
}

/// Percentage points.
fn points(share: f64) -> String {
    let points = share * 100.0;
    if points < 9.95 {
        format!("{points:.1} points")
    } else {
        format!("{points:.0} points")
    }
}
