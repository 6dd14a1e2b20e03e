//! Which of several options of one file system matters most, and which change nothing.
//!
//! **Rule.** Each target is set beside the first by what [`report` of several runs](crate::report::write_several) goes
//! by. The one with the largest change comes first. Over lives a metric that chance may have moved is no change, and
//! speeds are left to the sentences on benchmarks.

use super::{Sample, finding, skipped_too_many};
use crate::report::sides::{self, Change, Changes, Difference};
use crate::report::subject::{Group, Life, Subject};
use crate::report::words::list;
use fsage_metrics::{METRICS, layout_score};
use fsage_report::{Finding, Tone};
use fsage_target::TargetSpec;

/// From so many targets on nobody sees it at a glance.
const LEAST: usize = 3;

/// So many are told with what they change.
const TOLD: usize = 3;

/// The sentence; none of few targets, or of several file systems. `scores_compare` is false where layout scores do not.
pub fn sentence(group: &Group, scores_compare: bool) -> Option<Finding> {
    let subjects: Vec<&Subject> = group
        .subjects
        .iter()
        .filter(|s| !skipped_too_many(s))
        .collect();
    let (first, others) = subjects.split_first()?;
    if subjects.len() < LEAST || group.subjects[0].name != first.name || !is_one_system(&subjects) {
        return None;
    }
    let (mut changed, mut alike): (Vec<(&str, Change)>, Vec<&str>) = (Vec::new(), Vec::new());
    for other in others {
        match most(first, other, scores_compare) {
            Some(change) => changed.push((&other.name, change)),
            None => alike.push(&other.name),
        }
    }
    changed.sort_by(|(_, a), (_, b)| b.share.total_cmp(&a.share));
    let first = &first.name;
    let mut texts = changed
        .iter()
        .map(|(name, change)| (name, change.text.as_str()));
    let Some((most, what)) = texts.next() else {
        let text = format!(
            "No target differs from the first, {first}: layout scores by less than 0.005, all else by less than 2 %, \
             or by no more than chance."
        );
        return Some(finding(text, Tone::Neutral, "all-metrics"));
    };
    let next = texts.by_ref().take(TOLD - 1);
    let next: Vec<String> = next
        .map(|(name, what)| format!("; then {name}: {what}"))
        .collect();
    let next = next.concat();
    let more = match texts.count() {
        0 => String::new(),
        more => format!("; {more} more change less"),
    };
    let none = match &alike[..] {
        [] => String::new(),
        alike => format!(" No difference from {first}: {}.", list(alike)),
    };
    let text = format!("Beside {first}, {most} changes most: {what}{next}{more}.{none}");
    Some(finding(text, Tone::Neutral, "all-metrics"))
}

fn is_one_system(subjects: &[&Subject]) -> bool {
    let mut systems = subjects.iter().map(|subject| {
        let spec = TargetSpec::parse(&subject.spec).ok()?;
        Some((spec.system().to_owned(), spec.place))
    });
    let first = systems.next().flatten();
    first.is_some() && systems.all(|system| system == first)
}

/// What changed most in a target beside another; none where nothing did.
fn most(first: &Subject, other: &Subject, scores_compare: bool) -> Option<Change> {
    let mut layout = sides::differences(first, other);
    layout.retain(|line| {
        let counts = scores_compare || line.metric != layout_score::SCORE.id;
        counts && is_beyond_chance(first, other, line)
    });
    let is_one_life = [first, other]
        .iter()
        .all(|subject| subject.lives.len() == 1);
    let speeds = if is_one_life {
        sides::benchmarks(first, other)
    } else {
        Vec::new()
    };
    Changes::of(&layout, &speeds).changed.into_iter().next()
}

/// Whether the lives that both lived all say the same of a metric, where there are several.
fn is_beyond_chance(first: &Subject, other: &Subject, line: &Difference) -> bool {
    let Some(metric) = METRICS.iter().find(|metric| metric.id == line.metric) else {
        return true;
    };
    let of = |subject| Sample::of(subject, |life: &Life| life.last()?.value(metric));
    let apart = of(first)
        .zip(of(other))
        .and_then(|(first, other)| other.minus(&first));
    apart.is_none_or(|over| {
        let (low, high) = over.mean_interval.unwrap_or((over.low, over.high));
        low > 0.0 || high < 0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::days::DayRow;
    use fsage_metrics::free_space;

    /// A life of one day with this layout score and room for so many MiB in one piece.
    fn life(seed: u64, score: f64, room: u64) -> Life {
        let day = DayRow {
            operations: 10,
            ..DayRow::default()
        };
        let day = day.with(&layout_score::SCORE, score);
        let day = day.with(&layout_score::SCORED, 1000);
        Life {
            life: crate::life::Life::named(&seed),
            days: vec![day.with(&free_space::PLACEABLE_1M, room)],
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

    #[test]
    fn the_option_that_changes_most_is_named_and_those_that_change_nothing() {
        let of = |name: &str, score, room| {
            subject(name, &format!("ext4:{name}=1"), vec![life(1, score, room)])
        };
        let plain = || of("plain", 0.95, 100);
        let text = said(vec![
            plain(),
            of("a", 0.951, 101),
            of("b", 0.93, 100),
            of("c", 0.95, 50),
            of("d", 0.95, 100),
        ]);
        assert_eq!(
            text.as_deref(),
            Some(
                "Beside plain, c changes most: room for extents of 1 MiB 100 to 50 (-50.0 %, worse); then b: layout \
                 score 0.9500 to 0.9300 (-2.1 %, worse). No difference from plain: a and d."
            )
        );
        let text = said(vec![plain(), of("a", 0.951, 101), of("d", 0.95, 100)]);
        assert!(
            text.is_some_and(|text| text.starts_with("No target differs from the first, plain:"))
        );
        assert_eq!(said(vec![plain(), of("c", 0.95, 50)]), None);
        let other = subject("ffs", "ffs", vec![life(1, 0.5, 10)]);
        assert_eq!(said(vec![plain(), of("c", 0.95, 50), other]), None);
    }

    #[test]
    fn what_lives_do_not_agree_on_is_no_difference() {
        let of = |name: &str, rooms: [u64; 3]| {
            let lives = (1..).zip(rooms).map(|(seed, room)| life(seed, 0.95, room));
            subject(name, &format!("ext4:{name}=1"), lives.collect())
        };
        let text = said(vec![
            of("plain", [100, 110, 120]),
            of("chance", [140, 80, 170]),
            of("proven", [120, 131, 140]),
        ]);
        let text = text.expect("a sentence");
        assert!(
            text.starts_with("Beside plain, proven changes most: room for"),
            "{text}"
        );
        assert!(
            text.ends_with("No difference from plain: chance."),
            "{text}"
        );
    }
}
