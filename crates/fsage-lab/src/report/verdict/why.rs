//! Why: the metrics in which the target that decayed least differs from the one that decayed most.

use super::{Ranking, alike, finding};
use crate::days::DayRow;
use crate::report::again::{KIND, POLICY};
use crate::report::subject::{Group, Subject};
use crate::report::words::{list, percent, size};
use fsage_metrics::{directory_order, files, layout_score, pieces};

use fsage_report::{Finding, Tone};
use std::fmt::Write as _;
use std::ops::Range;

/// A metric that a difference of layout shows in.
struct Clue {
    value: fn(&DayRow) -> Option<f64>,
    /// Values that differ by less say nothing, nor do those of which age brought less.
    least: f64,
    /// Whether more of it is better.
    more_is_better: bool,
    /// What it is of a target, without the value.
    what: &'static str,
    text: fn(f64) -> String,
    /// Whether it is of free space, which slows down new data alone.
    is_of_room: bool,
}

const CLUES: [Clue; 4] = [
    Clue {
        value: |day| day.value(&pieces::PER_FILE),
        least: 0.02,
        more_is_better: false,
        what: "pieces per file",
        text: |pieces| format!("{pieces:.2}"),
        is_of_room: false,
    },
    Clue {
        value: broken_share,
        least: 0.01,
        more_is_better: false,
        what: "files in more than one piece",
        text: percent,
        is_of_room: false,
    },
    Clue {
        value: DayRow::free_in_1m_runs,
        least: 0.05,
        more_is_better: true,
        what: "free space in runs of 1 MiB or more",
        text: percent,
        is_of_room: true,
    },
    Clue {
        value: |day| day.value(&directory_order::ADJACENCY),
        least: 0.02,
        more_is_better: true,
        what: "files right behind the one before in their directory",
        text: percent,
        is_of_room: false,
    },
];

/// The share of files in more than one piece.
pub(super) fn broken_share(day: &DayRow) -> Option<f64> {
    let files = day.value(&files::FILES).filter(|&files| files > 0.0)?;
    Some(day.value(&pieces::FRAGMENTED_FILES)? / files)
}

/// What age made worse in a layout, beside a fresh copy of its files: `layout score 0.78 against 0.95`. Nothing where
/// it made nothing worse, or has no control. What is of free space counts only `with_room`.
pub(crate) fn aged_worse(day: &DayRow, with_room: bool) -> Vec<String> {
    let score = Clue {
        value: DayRow::score,
        least: super::ALIKE,
        more_is_better: true,
        what: "layout score",
        text: |score| format!("{score:.3}"),
        is_of_room: false,
    };
    let (clues, fresh) = ([&score].into_iter().chain(&CLUES), fresh(day));
    let clues = clues.filter(|clue| with_room || !clue.is_of_room);
    clues.filter_map(|clue| worse(clue, day, &fresh)).collect()
}

/// What is worse in the layout of a day than in another one: `pieces per file 1.10 against 1.05`, and the sizes of
/// files in which most of the difference lies. Nothing where nothing is.
pub(crate) fn between(better: &DayRow, day: &DayRow) -> Vec<String> {
    let worse = CLUES.iter().filter_map(|clue| worse(clue, day, better));
    let sizes = sizes(&broken([better].into_iter()), &broken([day].into_iter()));
    let sizes = sizes.map(|sizes| sizes.sentence(&sizes.contiguous.1, &sizes.contiguous.0));
    worse.chain(sizes).collect()
}

/// A fresh copy of the files of a day.
fn fresh(day: &DayRow) -> DayRow {
    let mut fresh = DayRow {
        metrics: day.control.clone(),
        ..DayRow::default()
    };
    // The copy has the same files, and as many blocks that are scored.
    for same in [&files::FILES, &layout_score::SCORED] {
        if let Some(count) = day.count(same) {
            fresh = fresh.with(same, count);
        }
    }
    fresh
}

/// A metric that is worse than that of a fresh copy, with both values.
fn worse(clue: &Clue, day: &DayRow, fresh: &DayRow) -> Option<String> {
    let (aged, fresh) = ((clue.value)(day)?, (clue.value)(fresh)?);
    let lost = if clue.more_is_better {
        fresh - aged
    } else {
        aged - fresh
    };
    let text = clue.text;
    (lost >= clue.least).then(|| format!("{} {} against {}", clue.what, text(aged), text(fresh)))
}

/// What age made worse in each target, where their scores do not compare; none where it made nothing worse.
pub fn of_each(group: &Group) -> Option<Finding> {
    let worse = group.subjects.iter().filter_map(|subject| {
        let last = subject.lives.first()?.last()?;
        let clues = CLUES
            .iter()
            .filter_map(|clue| worse(clue, last, &fresh(last)));
        let clues: Vec<String> = clues.collect();
        (!clues.is_empty()).then(|| format!("{}: {}", subject.name, list(&clues)))
    });
    let worse: Vec<String> = worse.collect();
    (!worse.is_empty()).then(|| {
        let of = if group.subjects.iter().any(|subject| subject.lives.len() > 1) {
            " in the first life"
        } else {
            ""
        };
        let text = format!(
            "What age made worse{of}, against fresh copies: {}.",
            worse.join("; ")
        );
        finding(text, Tone::Neutral, "pieces")
    })
}

/// The sentence; none where no target decayed less than another.
pub fn sentence(ranking: &Ranking<'_>) -> Option<Finding> {
    let by_loss = ranking.by_loss();
    let ((least, lost), (most, most_lost)) = (by_loss.first()?, by_loss.last()?);
    if alike(&lost.loss, &most_lost.loss) {
        return None;
    }
    let (mut with, mut against) = (Vec::new(), Vec::new());
    for clue in &CLUES {
        let values = least.at_end(clue.value).zip(most.at_end(clue.value));
        let Some((of_least, of_most)) = values.map(|(a, b)| (a.mean, b.mean)) else {
            continue;
        };
        // What a fresh file system has as well did not come with age: ext4 puts most files into other groups than
        // their inodes from the first day.
        let fresh = least
            .of_control(clue.value)
            .zip(most.of_control(clue.value));
        let fresh = fresh.map(|(a, b)| (a.mean, b.mean));
        let by_age = of_least - of_most - fresh.map_or(0.0, |(a, b)| a - b);
        if by_age.abs() < clue.least || (of_least - of_most).abs() < clue.least {
            continue;
        }
        let text = clue.text;
        if (by_age > 0.0) == clue.more_is_better {
            with.push(format!(
                "{} {} against {}",
                clue.what,
                text(of_least),
                text(of_most)
            ));
        } else {
            // What age did not make worse cost nothing, however much more of it the other one won.
            let lost = fresh.map(|(fresh, _)| {
                let more = of_least - fresh;
                if clue.more_is_better { -more } else { more }
            });
            if lost.is_some_and(|lost| lost < clue.least) {
                continue;
            }
            // How they stand would not say who lost more: a fresh one may be worse than the other is aged.
            let since = |fresh: f64, aged: f64| format!("from {} to {}", text(fresh), text(aged));
            let (of_least, of_most) = match fresh {
                Some((a, b)) => (since(a, of_least), since(b, of_most)),
                None => (text(of_least), text(of_most)),
            };
            against.push(format!(
                "{} ({of_least}; {} {of_most})",
                clue.what, most.name
            ));
        }
    }
    let sizes = sizes(&broken(lasts(least)), &broken(lasts(most)));
    if with.is_empty() && sizes.is_none() {
        return None;
    }
    let names = format!("{} against {}", least.name, most.name);
    let mut text = if with.is_empty() {
        format!("Where it differs, {names}:")
    } else {
        format!("Why, {names}: {}.", list(&with))
    };
    if let Some(sizes) = &sizes {
        let (of_least, of_most) = &sizes.contiguous;
        let _ = write!(text, " {}.", sizes.sentence(of_least, of_most));
    }
    if !against.is_empty() {
        let _ = write!(text, " Age cost {} more in {}.", least.name, list(&against));
    }
    let policies = policy(least).zip(policy(most)).filter(|(a, b)| a != b);
    let policies = policies.filter(|_| kind(least) == kind(most));
    if let Some((of_least, of_most)) = policies {
        let _ = write!(
            text,
            " What each does: {}: {of_least}; {}: {of_most}.",
            least.name, most.name
        );
    }
    Some(finding(text, Tone::Neutral, "by-size"))
}

/// What its policy does, in a line.
fn policy(subject: &Subject) -> Option<&str> {
    let (_, summary) = said(subject, POLICY)?.split_once(": ")?;
    Some(summary)
}

/// What it is.
fn kind(subject: &Subject) -> Option<&str> {
    said(subject, KIND)
}

fn said<'a>(subject: &'a Subject, label: &str) -> Option<&'a str> {
    let fact = subject.facts.iter().find(|fact| fact.label == label)?;
    Some(&fact.value)
}

/// The sizes of files in which most of the difference lies: the fewest neighboring classes with half of it.
fn sizes(a: &[Broken], b: &[Broken]) -> Option<Sizes> {
    let gaps = a.iter().zip(b);
    let gaps: Vec<f64> = gaps
        .map(|(a, b)| b.breaks as f64 - a.breaks as f64)
        .collect();
    let all: f64 = gaps.iter().sum();
    let ranges = (1..=gaps.len()).flat_map(|length| {
        let starts = 0..=gaps.len() - length;
        starts.map(move |start| start..start + length)
    });
    let sum = |range: &Range<usize>| gaps[range.clone()].iter().sum::<f64>();
    let range = ranges.into_iter().find(|range| sum(range) * 2.0 >= all)?;
    let (of_least, of_most) = (score(&a[range.clone()])?, score(&b[range.clone()])?);
    (all > 0.0 && of_least > of_most).then(|| {
        let to = a[range.end - 1].max_bytes;
        let class = match range
            .start
            .checked_sub(1)
            .map(|below| size(a[below].max_bytes))
        {
            None => format!("up to {}", size(to)),
            Some(from) if to == u64::MAX => format!("over {from}"),
            Some(from) => format!("of {from} to {}", size(to)),
        };
        Sizes {
            share: (sum(&range) / all).min(1.0),
            class,
            contiguous: distinct(of_least, of_most),
        }
    })
}

/// Sizes of files in which most of a difference lies.
struct Sizes {
    share: f64,
    /// As `of 16 KiB to 32 KiB`.
    class: String,
    /// Their blocks that are contiguous, where more are and where fewer are.
    contiguous: (String, String),
}

impl Sizes {
    /// With how they stand in one of both, and then in the other.
    fn sentence(&self, one: &str, other: &str) -> String {
        format!(
            "{} of the difference lies in files {}: {one} of their blocks are contiguous against {other}",
            percent(self.share),
            self.class
        )
    }
}

/// Two shares that differ, in so many digits that one sees it.
fn distinct(a: f64, b: f64) -> (String, String) {
    let (short, other) = (percent(a), percent(b));
    if short != other {
        return (short, other);
    }
    let long = |share: f64| format!("{:.2} %", share * 100.0);
    (long(a), long(b))
}

/// Blocks of a size of files, over all lives.
struct Broken {
    max_bytes: u64,
    /// Blocks that do not follow their predecessor.
    breaks: u64,
    scored: u64,
}

/// Of several sizes together.
fn score(classes: &[Broken]) -> Option<f64> {
    let breaks: u64 = classes.iter().map(|class| class.breaks).sum();
    let scored: u64 = classes.iter().map(|class| class.scored).sum();
    (scored > 0).then(|| 1.0 - breaks as f64 / scored as f64)
}

/// The last day of each life.
fn lasts(subject: &Subject) -> impl Iterator<Item = &DayRow> {
    subject.lives.iter().filter_map(|life| life.last())
}

fn broken<'a>(lasts: impl Iterator<Item = &'a DayRow>) -> Vec<Broken> {
    let mut classes: Vec<Broken> = Vec::new();
    for last in lasts {
        for (at, class) in last.layout_by_size.iter().enumerate() {
            if at == classes.len() {
                classes.push(Broken {
                    max_bytes: class.max_bytes,
                    breaks: 0,
                    scored: 0,
                });
            }
            classes[at].breaks += class.scored.saturating_sub(class.optimal);
            classes[at].scored += class.scored;
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_blamed_for_what_it_made_worse_and_for_nothing_else() {
        let day = |pieces: f64| {
            DayRow::default()
                .with(&layout_score::SCORE, 0.78)
                .with(&layout_score::SCORED, 1000)
                .with(&pieces::PER_FILE, pieces)
        };
        let control = |day: DayRow, score: f64| {
            day.with_control(&layout_score::SCORE, score)
                .with_control(&pieces::PER_FILE, 1.1)
        };
        assert_eq!(
            aged_worse(&control(day(1.5), 0.95), true),
            [
                "layout score 0.780 against 0.950",
                "pieces per file 1.50 against 1.10"
            ]
        );
        assert!(aged_worse(&control(day(1.0), 0.78), true).is_empty());
        assert!(aged_worse(&day(1.5), true).is_empty(), "no control");
    }
}
