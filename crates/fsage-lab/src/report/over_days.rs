//! How fast targets were over the days of their lives, where benchmarks were asked for it.

use super::bench::slug;
use super::subject::{Group, Over, Subject};
use super::words::list;
use crate::benching::PhaseRatio;
use crate::benching::over_days::Course;
use fsage_bench::Better;
use fsage_report::charts::{Point, Series};
use fsage_report::{Axis, Exhibit, Lines, Section};
use std::collections::BTreeMap;

/// Ratios that differ by less over all days say that age did nothing.
const FLAT: f64 = 0.02;

/// The id of the section, without what tells workloads apart.
pub const SECTION: &str = "over-days";

/// What a sentence on the days begins with.
pub const OVER_DAYS: &str = "Over the days, ";

/// The section; none where only the last day was measured.
pub fn section(group: &Group) -> Option<Section> {
    let exhibits: Vec<Exhibit> = phases(group)
        .into_iter()
        .map(|phase| chart(group, phase))
        .collect();
    (!exhibits.is_empty()).then(|| Section {
        id: format!("{SECTION}{}", group.suffix),
        title: group.titled("Speed over the days"),
        lead: "How fast each target was as it grew older, and, dashed, a fresh copy of the files that it held on that \
               day: where the gap widens, age costs speed; where both fall, the files did it, not their layout."
            .to_owned(),
        exhibits,
    })
}

/// Of each phase and target how the ratio to a fresh copy went, in words.
pub fn sentences(group: &Group) -> impl Iterator<Item = String> {
    phases(group).into_iter().map(move |(suite, phase)| {
        let texts = group.subjects.iter().filter_map(|subject| {
            let ratios = over_lives(subject, (suite, phase), |ratio| ratio.aged_by_control);
            let (first, last) = (ratios.first_key_value()?, ratios.last_key_value()?);
            let by_mean = |a: &(&u64, &Over), b: &(&u64, &Over)| a.1.mean.total_cmp(&b.1.mean);
            let (least, most) = (
                ratios.iter().min_by(by_mean)?,
                ratios.iter().max_by(by_mean)?,
            );
            if most.1.mean - least.1.mean < FLAT {
                let (least, most) = (least.1.mean, most.1.mean);
                let (low, high) = (format!("{least:.2}"), format!("{most:.2}"));
                let span = match (low == high, &*low) {
                    (true, "1.00") => "as fast".to_owned(),
                    (true, _) => format!("{low} times as fast"),
                    (false, _) => format!("{low} to {high} times as fast"),
                };
                return Some(format!("{} {span} on every day", subject.name));
            }
            let shown = |over: &Over| format!("{:.2}", over.mean);
            let lowest = shown(least.1);
            let low = if shown(first.1) == lowest || shown(last.1) == lowest {
                String::new()
            } else {
                format!(", least on day {} ({lowest} times)", least.0)
            };
            Some(format!(
                "{} {:.2} times as fast on day {} and {:.2} times on day {}{low}",
                subject.name, first.1.mean, first.0, last.1.mean, last.0
            ))
        });
        let texts: Vec<String> = texts.collect();
        format!(
            "{OVER_DAYS}{suite} {phase} beside a fresh copy of the files of the day: {}.",
            list(&texts)
        )
    })
}

/// Suites and phases with a course, in the order in which targets have them.
fn phases(group: &Group) -> Vec<(&str, &str)> {
    let mut phases = Vec::new();
    for course in group.subjects.iter().flat_map(courses) {
        if !phases.contains(&course.of()) {
            phases.push(course.of());
        }
    }
    phases
}

fn courses(subject: &Subject) -> impl Iterator<Item = &Course> {
    subject.lives.iter().flat_map(|life| &life.courses)
}

/// A value by day: over lives the mean of those that have the day.
fn over_lives(
    subject: &Subject,
    of: (&str, &str),
    value: impl Fn(&PhaseRatio) -> f64,
) -> BTreeMap<u64, Over> {
    let mut values: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (day, ratio) in courses(subject)
        .filter(|course| course.of() == of)
        .flat_map(|course| &course.days)
    {
        values.entry(*day).or_default().push(value(ratio));
    }
    let overs = values.into_iter();
    overs
        .filter_map(|(day, values)| Some((day, Over::of(values)?)))
        .collect()
}

fn chart(group: &Group, (suite, phase): (&str, &str)) -> Exhibit {
    let mut series = Vec::new();
    for subject in &group.subjects {
        let aged = over_lives(subject, (suite, phase), |ratio| ratio.aged);
        let control = over_lives(subject, (suite, phase), |ratio| ratio.control);
        for (days, dashed) in [(aged, false), (control, true)] {
            let points: Vec<Point> = days
                .into_iter()
                .map(|(day, over)| Point {
                    x: day as f64,
                    y: Some(over.mean),
                    interval: over.interval(),
                })
                .collect();
            if points.is_empty() {
                continue;
            }
            let fresh = if dashed { ", control" } else { "" };
            series.push(Series {
                name: format!("{}{fresh}", subject.name),
                target: subject.place,
                dashed,
                points,
            });
        }
    }
    let first = group
        .subjects
        .iter()
        .flat_map(courses)
        .find(|course| course.of() == (suite, phase))
        .and_then(|course| course.days.first());
    let (unit, better) = first.map_or(("", Better::Higher), |(_, ratio)| {
        (ratio.unit.as_str(), ratio.better)
    });
    let less = match better {
        Better::Higher => "",
        Better::Lower => " Less is better.",
    };
    let lines = Lines {
        id: format!("over-days-{}-{}{}", slug(suite), slug(phase), group.suffix),
        title: format!("Benchmark {suite}: {phase}, by day"),
        description: format!(
            "Measured at the end of these days. Dashed: a fresh copy of the files of that day.{less}"
        ),
        x: Axis {
            label: "day".to_owned(),
            ..Axis::default()
        },
        y: Axis {
            label: unit.to_owned(),
            from_zero: true,
            ..Axis::default()
        },
        series,
        published: Vec::new(),
    };
    Exhibit::Chart(lines.into_chart())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::subject::Life;
    use fsage_bench::Says;

    fn with(name: &str, ratios: &[f64]) -> Subject {
        let days = (1..).zip(ratios).map(|(day, &aged_by_control)| {
            let ratio = PhaseRatio {
                suite: "read-tree".to_owned(),
                phase: "read".to_owned(),
                unit: "MB/s".to_owned(),
                better: Better::Higher,
                aged: aged_by_control,
                control: 1.0,
                aged_by_control,
                interval: [aged_by_control; 2],
                says: Says::Same,
            };
            (day, ratio)
        });
        Subject {
            name: name.to_owned(),
            lives: vec![Life {
                courses: vec![Course {
                    days: days.collect(),
                }],
                ..Life::default()
            }],
            ..Subject::default()
        }
    }

    #[test]
    fn a_course_that_does_not_move_is_one_number() {
        let subjects = vec![
            with("ext4", &[1.0, 0.9, 0.95]),
            with("xfs", &[1.001, 1.0, 0.999]),
            with("ffs", &[1.01, 1.02, 1.01]),
        ];
        let group = Group {
            subjects,
            ..Group::default()
        };
        assert_eq!(
            sentences(&group).collect::<Vec<_>>(),
            [
                "Over the days, read-tree read beside a fresh copy of the files of the day: ext4 1.00 times as fast on \
                 day 1 and 0.95 times on day 3, least on day 2 (0.90 times), xfs as fast on every day and ffs 1.01 to \
                 1.02 times as fast on every day."
            ]
        );
    }
}
