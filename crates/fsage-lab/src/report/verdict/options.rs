//! Which of several options of one file system matters most to the layout, and which change nothing.
//!
//! **Rule.** Each target is set beside its [base](crate::bases), by its pieces per file, or by its layout score where
//! these are not known. Room for large extents, which may be a few or none, and speeds have sentences of their own.
//! What differs by less than [`report` of several runs](crate::report::write_several) calls a difference, or over lives
//! by no more than chance, is no change.

use super::consequences::shortened;
use super::{Sample, finding, skipped_too_many};
use crate::bases;
use crate::clock::is_drawn;
use crate::report::sides::{self, Change, Changes, Difference};
use crate::report::subject::{Group, Life, Over, Subject};
use crate::report::words::list;
use fsage_metrics::{METRICS, free_space, layout_score, pieces};
use fsage_report::{Finding, Tone};
use fsage_target::TargetSpec;
use std::fmt::Write as _;

/// From so many targets on nobody sees at a glance which matters.
const LEAST: usize = 3;

/// Whether the targets are one file system with several options, the first among them.
pub fn are_options(group: &Group) -> bool {
    let subjects = counted(group);
    let is_first = |(first, subject): (&Subject, &&Subject)| first.name == subject.name;
    subjects.len() >= LEAST
        && group
            .subjects
            .first()
            .zip(subjects.first())
            .is_some_and(is_first)
        && is_one_system(&subjects)
}

/// The targets that hold the files of the workload.
fn counted(group: &Group) -> Vec<&Subject> {
    let subjects = group.subjects.iter();
    subjects.filter(|s| !skipped_too_many(s)).collect()
}

/// The sentences, one for each target that others are set beside; none where no file system has several options.
/// `scores_compare` is false where layout scores do not.
pub fn sentence(group: &Group, scores_compare: bool) -> Option<Finding> {
    let subjects = counted(group);
    let is_first_there = are_options(group) || !is_one_system(&subjects);
    if subjects.len() >= LEAST && !is_first_there {
        return None;
    }
    let specs: Vec<&str> = subjects.iter().map(|s| s.spec.as_str()).collect();
    let bases = bases::of(&specs);
    let texts = (0..subjects.len()).filter_map(|place| {
        let others = bases.iter().zip(&subjects);
        let others = others.filter(|(base, other)| {
            **base == Some(place) && is_one_system(&[subjects[place], other])
        });
        let others: Vec<&Subject> = others.map(|(_, other)| *other).collect();
        (!others.is_empty()).then(|| beside(subjects[place], &others, scores_compare))
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| finding(texts.join(" "), Tone::Neutral, "all-metrics"))
}

/// What options change in the layout of the target that lacks them.
fn beside(base: &Subject, others: &[&Subject], scores_compare: bool) -> String {
    let mut changed: Vec<(&str, Change)> = Vec::new();
    let (mut alike, mut same) = (Vec::new(), Vec::new());
    for other in others {
        let name = other.name.as_str();
        match most(base, other, scores_compare) {
            Some(change) => changed.push((name, change)),
            None if are_the_same(base, other) => same.push(name),
            None => alike.push(name),
        }
    }
    changed.sort_by(|(_, a), (_, b)| b.share.total_cmp(&a.share));
    let mut text = match &changed[..] {
        [] if others.len() == 1 => String::new(),
        [] => format!(
            "No target differs in layout from {} by 2 % or more, or by more than chance.",
            base.name
        ),
        [(only, what)] if others.len() == 1 => {
            format!("Beside {}, {only}: {}.", base.name, what.text)
        }
        changed => {
            // What is the same to the last figure is one change.
            let mut ranked: Vec<(Vec<&str>, &str)> = Vec::new();
            for (name, what) in changed {
                match ranked.last_mut() {
                    Some((names, text)) if *text == what.text => names.push(name),
                    _ => ranked.push((vec![name], &what.text)),
                }
            }
            let (most, rest) = ranked.split_at(1);
            let rest = rest
                .iter()
                .map(|(names, what)| format!("{}: {what}", list(names)));
            let rest = shortened(rest.collect());
            let then = if rest.is_empty() {
                String::new()
            } else {
                format!("; then {}", list(&rest))
            };
            let change = match &most[0].0[..] {
                [one] => format!("{one} changes"),
                alike => format!("{} change, alike,", list(alike)),
            };
            format!(
                "Beside {}, {change} the layout most: {}{then}.",
                base.name, most[0].1
            )
        }
    };
    if !changed.is_empty() && may_be_chance(base, others) {
        text += " Each is one draw of when it writes back, and another may differ as much: several lives tell \
                 (--seeds 5).";
    }
    // What files lose, free space may gain.
    if let Some((name, _)) = changed.first() {
        let most = others.iter().find(|other| other.name == *name);
        if let Some(room) = most.and_then(|most| room(base, most)) {
            let _ = write!(text, " And {name}: {}.", room.text);
        }
    }
    if !alike.is_empty() {
        let _ = write!(
            text,
            " No difference in pieces per file from {} beyond 2 % or chance: {}.",
            base.name,
            list(&alike)
        );
        let with_room = others
            .iter()
            .filter(|other| alike.contains(&other.name.as_str()));
        let room: Vec<String> = with_room
            .filter_map(|other| Some(format!("{}: {}", other.name, room(base, other)?.text)))
            .collect();
        if !room.is_empty() {
            let _ = write!(text, " Of these {}.", list(&room));
        }
    }
    if !same.is_empty() {
        let _ = write!(
            text,
            " The same layout as {} to the last figure: {}.",
            base.name,
            list(&same)
        );
    }
    text.trim_start().to_owned()
}

/// Whether single lives are compared of targets that do not lie alike twice: models that draw a clock, and kernels
/// outside of a regime.
fn may_be_chance(base: &Subject, others: &[&Subject]) -> bool {
    let differs_each_time = |subject: &Subject| {
        let spec = TargetSpec::parse(&subject.spec);
        subject.lives.len() == 1
            && spec.is_ok_and(|spec| match spec.real() {
                Ok(None) => is_drawn(&spec.without("seed")),
                _ => !spec.has("regime"),
            })
    };
    differs_each_time(base) || others.iter().any(|other| differs_each_time(other))
}

fn is_one_system(subjects: &[&Subject]) -> bool {
    let mut systems = subjects.iter().map(|subject| {
        let spec = TargetSpec::parse(&subject.spec).ok()?;
        Some((spec.system().to_owned(), spec.place))
    });
    let first = systems.next().flatten();
    first.is_some() && systems.all(|system| system == first)
}

/// What changed in the layout of a target beside another; none where nothing did.
fn most(first: &Subject, other: &Subject, scores_compare: bool) -> Option<Change> {
    let layout = sides::differences(first, other);
    let line = |id: &str| layout.iter().find(|line| line.metric == id);
    let score = || line(layout_score::SCORE.id).filter(|_| scores_compare);
    let line = line(pieces::PER_FILE.id).or_else(score)?;
    let is_change = is_beyond_chance(first, other, line);
    let line = is_change.then(|| line.clone())?;
    let by_life = life_by_life(first, other, &line);
    let mut changed = Changes::of(&[line], &[]).changed.into_iter();
    let mut change = changed.next()?;
    if let (Some((low, high)), Some(open)) = (by_life, change.text.strip_suffix(')')) {
        change.text = format!("{open}; life by life {low:+.3} to {high:+.3})");
    }
    Some(change)
}

/// What changed in the room for large extents; none where nothing did.
fn room(first: &Subject, other: &Subject) -> Option<Change> {
    let layout = sides::differences(first, other);
    let mut lines = layout.into_iter();
    let line = lines.find(|line| line.metric == free_space::PLACEABLE_1M.id)?;
    let is_change = is_beyond_chance(first, other, &line);
    let changes = Changes::of(&[line], &[]).changed;
    changes.into_iter().next().filter(|_| is_change)
}

/// Whether both end with the same value of every metric in every life, so that an option does nothing at all.
fn are_the_same(first: &Subject, other: &Subject) -> bool {
    let end = |life: &Life| -> Vec<Option<f64>> {
        let last = life.last();
        let values = METRICS.iter().map(|metric| last?.value(metric));
        values.collect()
    };
    let ends = |of: &Subject| -> Vec<_> { of.lives.iter().map(end).collect() };
    ends(first) == ends(other)
}

/// Whether the lives that both lived all say the same of a metric, where there are several.
fn is_beyond_chance(first: &Subject, other: &Subject, line: &Difference) -> bool {
    apart(first, other, line).is_none_or(|over| {
        let (low, high) = over.mean_interval.unwrap_or((over.low, over.high));
        low > 0.0 || high < 0.0
    })
}

/// The 95 % interval of the mean of the differences of a metric, in the lives that both lived.
fn life_by_life(first: &Subject, other: &Subject, line: &Difference) -> Option<(f64, f64)> {
    apart(first, other, line)?.mean_interval
}

/// The differences of a metric in the lives that both lived.
fn apart(first: &Subject, other: &Subject, line: &Difference) -> Option<Over> {
    let metric = METRICS.iter().find(|metric| metric.id == line.metric)?;
    let of = |subject| Sample::of(subject, |life: &Life| life.last()?.value(metric));
    of(other)?.minus(&of(first)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::days::DayRow;

    /// A life of one day with this layout score and so many pieces per file.
    fn life(seed: u64, score: f64, per_file: f64) -> Life {
        let day = DayRow {
            operations: 10,
            ..DayRow::default()
        };
        let day = day.with(&layout_score::SCORE, score);
        let day = day.with(&layout_score::SCORED, 1000);
        Life {
            life: crate::life::Life::named(&seed),
            days: vec![day.with(&pieces::PER_FILE, per_file)],
            ..Life::default()
        }
    }

    fn subject(name: &str, spec: &str, lives: Vec<Life>) -> Subject {
        Subject {
            name: name.to_owned(),
            spec: spec.to_owned(),
            lives,
            ..Subject::default()
        }
    }

    fn said(subjects: Vec<Subject>) -> Option<String> {
        let group = Group {
            subjects,
            ..Group::default()
        };
        sentence(&group, true).map(|finding| finding.text)
    }

    /// By hand: 2 to 1.5 is a quarter less, 2 to 2.1 a twentieth more.
    #[test]
    fn the_option_that_changes_most_is_named_and_those_that_change_nothing() {
        let of = |name: &str, score, per_file| {
            let spec = format!("ext4:{name}=1");
            subject(name, &spec, vec![life(1, score, per_file)])
        };
        let plain = || of("plain", 0.95, 2.0);
        let text = said(vec![
            plain(),
            of("a", 0.951, 2.01),
            of("b", 0.93, 2.1),
            of("c", 0.95, 1.5),
            of("d", 0.95, 2.0),
        ]);
        assert_eq!(
            text.as_deref(),
            Some(
                "Beside plain, c changes the layout most: pieces per file 2.000 to 1.500 (-25.0 %, better); then b: \
                 pieces per file 2.000 to 2.100 (+5.0 %, worse). No difference in pieces per file from plain beyond \
                 2 % or chance: a. The same layout as plain to the last figure: d."
            )
        );
        let text = said(vec![plain(), of("a", 0.951, 2.01), of("d", 0.95, 2.0)]);
        assert!(text.is_some_and(|text| text.starts_with("No target differs in layout")));
        assert_eq!(
            said(vec![plain(), of("c", 0.95, 1.5)]).as_deref(),
            Some("Beside plain, c: pieces per file 2.000 to 1.500 (-25.0 %, better).")
        );
        let text = said(vec![plain(), of("b", 0.93, 2.1), of("e", 0.93, 2.1)]);
        assert_eq!(
            text.as_deref(),
            Some(
                "Beside plain, b and e change, alike, the layout most: pieces per file 2.000 to 2.100 (+5.0 %, worse)."
            )
        );
        let other = subject("ffs", "ffs", vec![life(1, 0.5, 10.0)]);
        assert_eq!(
            said(vec![plain(), of("c", 0.95, 1.5), other]).as_deref(),
            Some("Beside plain, c: pieces per file 2.000 to 1.500 (-25.0 %, better).")
        );
    }

    /// By hand: 2 to 1.5 is a quarter less, 1.5 to 1.8 a fifth more.
    #[test]
    fn an_option_of_an_option_is_set_beside_that() {
        let of =
            |name: &str, spec: &str, per_file| subject(name, spec, vec![life(1, 0.9, per_file)]);
        let text = said(vec![
            of("plain", "ext4", 2.0),
            of("default", "ext4:regime=default", 1.5),
            of("both", "ext4:regime=default,stream_req=64K", 1.8),
        ]);
        assert_eq!(
            text.as_deref(),
            Some(
                "Beside plain, default: pieces per file 2.000 to 1.500 (-25.0 %, better). Each is one draw of when it \
                 writes back, and another may differ as much: several lives tell (--seeds 5). Beside default, both: \
                 pieces per file 1.500 to 1.800 (+20.0 %, worse). Each is one draw of when it writes back, and another \
                 may differ as much: several lives tell (--seeds 5)."
            )
        );
    }

    #[test]
    fn what_lives_do_not_agree_on_is_no_difference() {
        let of = |name: &str, pieces: [f64; 3]| {
            let lives = (1..)
                .zip(pieces)
                .map(|(seed, pieces)| life(seed, 0.95, pieces));
            subject(name, &format!("ext4:{name}=1"), lives.collect())
        };
        let text = said(vec![
            of("plain", [1.0, 1.1, 1.2]),
            of("chance", [1.4, 0.8, 1.7]),
            of("proven", [1.2, 1.31, 1.4]),
        ]);
        let text = text.expect("a sentence");
        assert!(
            text.starts_with("Beside plain, proven changes the layout most:"),
            "{text}"
        );
        assert!(
            text.ends_with(
                "No difference in pieces per file from plain beyond 2 % or chance: chance."
            ),
            "{text}"
        );
    }
}
