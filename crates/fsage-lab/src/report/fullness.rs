//! How full a file system may get, where a page has one target in several sizes.

use super::bench;
use super::by_value;
use super::subject::{Group, Over};
use crate::days::{self, DayRow};
use crate::fullness::{Fullness, Left, Level, by_target, phase};
use fsage_metrics::{free_space, layout_score};
use fsage_report::charts::Series;
use fsage_report::{Axis, Exhibit, Format, Section};

/// The targets that are there in several sizes.
pub fn levels(group: &Group) -> Vec<Fullness> {
    let compared = bench::compared(group);
    let phases = compared.iter();
    let phases = phases.map(|compared| (compared.suite.as_str(), compared.phase.as_str()));
    let phase = phase(&phases.collect::<Vec<_>>());
    let levels = group.subjects.iter().filter_map(|subject| {
        let left = match &phase {
            None => {
                let ratio = subject.over(|life| life.last()?.ratio(&layout_score::SCORE));
                ratio.map(Left::of_layouts)
            }
            Some((suite, phase)) => {
                let mut compared = compared.iter();
                let of_phase =
                    compared.find(|compared| (&compared.suite, &compared.phase) == (suite, phase));
                let mut ratios = of_phase.into_iter().flat_map(|compared| &compared.ratios);
                ratios
                    .find(|(name, _)| *name == subject.name)
                    .map(|(_, ratio)| Left {
                        ratio: ratio.mean,
                        interval: ratio.ends.into(),
                        says: ratio.says,
                        lives: ratio.lives,
                    })
            }
        };
        let full: Over = subject.over(|life| days::fullest(&life.days))?;
        Some(Level {
            target: subject.spec.clone(),
            utilization: full.mean,
            skipped: subject.total(|day: &DayRow| day.skipped),
            placeable_1m: subject
                .at_end(|day| day.value(&free_space::PLACEABLE_1M))
                .map(|extents| extents.mean),
            left,
        })
    });
    by_target(phase.as_ref(), levels)
}

/// The section; none where every target has one size.
pub fn section(group: &Group) -> Option<Section> {
    let all = levels(group);
    let what = all.first()?.what();
    let place = |fullness: &Fullness| {
        let first = fullness.levels.first()?;
        let mut subjects = group.subjects.iter();
        subjects.find(|s| s.spec == first.target).map(|s| s.place)
    };
    let series = all.iter().filter_map(|fullness| {
        let points = fullness.levels.iter().filter_map(|level| {
            let left = level.left?;
            Some(by_value::point(
                level.utilization,
                left.ratio,
                Some(left.interval.into()),
            ))
        });
        Some(Series {
            name: fullness.name.clone(),
            target: place(fullness)?,
            dashed: false,
            points: points.collect(),
        })
    });
    let levels = all.iter().flat_map(|of| &of.levels);
    let lives = levels
        .filter_map(|level| level.left)
        .map(|left| left.lives)
        .max();
    let chart = by_value::chart(
        format!("by-fullness{}", group.suffix),
        format!("{what}, aged over fresh, by how full it was"),
        format!(
            "1 is a fresh copy of the same files. A band is {}.",
            by_value::interval_over(lives.unwrap_or(1))
        ),
        Axis {
            label: "utilization on the fullest day".to_owned(),
            format: Format::Percent,
            ..Axis::default()
        },
        Axis {
            label: "aged / control".to_owned(),
            from_zero: true,
            ..Axis::default()
        },
        series.collect(),
    );
    let sentences: Vec<String> = all.iter().filter_map(Fullness::sentence).collect();
    Some(Section {
        id: format!("fullness{}", group.suffix),
        title: group.titled("How full it may get"),
        lead: format!(
            "The same life on file systems of several sizes. {}",
            sentences.join(" ")
        ),
        exhibits: chart.map(Exhibit::Chart).into_iter().collect(),
    })
}
