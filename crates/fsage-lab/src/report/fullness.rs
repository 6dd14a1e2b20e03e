//! How full a file system may get, where a page has one target in several sizes.

use super::bench;
use super::by_value;
use super::subject::{Group, Over};
use crate::days::{self, DayRow};
use crate::fullness::{Fullness, Left, Level, are_sizes, by_target, phase};
use fsage_metrics::{free_space, layout_score};
use fsage_report::charts::Series;
use fsage_report::{Axis, Cell, DataTable, Exhibit, Format, Section, Sheet};

/// The targets that are there in several sizes.
pub fn levels(group: &Group) -> Vec<Fullness> {
    // Comparing takes thousands of drawings.
    if !are_sizes(group.subjects.iter().map(|subject| subject.spec.as_str())) {
        return Vec::new();
    }
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
    let levels = all.iter().flat_map(|of| &of.levels);
    let lives = levels
        .filter_map(|level| level.left)
        .map(|left| left.lives)
        .max();
    let chart = |slug: &str, title: String, description: String, y: Axis, of: &Value| {
        let series = all.iter().filter_map(|fullness| {
            let points = fullness.levels.iter().filter_map(|level| {
                let (value, ends) = of(level)?;
                Some(by_value::point(level.utilization, value, ends))
            });
            Some(Series {
                name: fullness.name.clone(),
                target: place(fullness)?,
                dashed: false,
                points: points.collect(),
            })
        });
        let x = Axis {
            label: "utilization on the fullest day".to_owned(),
            format: Format::Percent,
            ..Axis::default()
        };
        let id = format!("{slug}{}", group.suffix);
        by_value::chart(id, title, description, x, y, series.collect())
    };
    let from_zero = |label: &str| Axis {
        label: label.to_owned(),
        from_zero: true,
        ..Axis::default()
    };
    let of_speed = chart(
        "by-fullness",
        format!("{what}, aged over fresh, by how full it was"),
        format!(
            "1 is a fresh copy of the same files. A band is {}.",
            by_value::interval_over(lives.unwrap_or(1))
        ),
        from_zero("aged / control"),
        &|level| {
            let left = level.left?;
            Some((left.ratio, Some(left.interval.into())))
        },
    );
    let of_room = chart(
        "room-by-fullness",
        "Room for 1 MiB extents by how full it was".to_owned(),
        "How many extents of 1 MiB fit into free space in the end, the mean over lives.".to_owned(),
        from_zero("extents of 1 MiB"),
        &|level| Some((level.placeable_1m?, None)),
    );
    let sentences: Vec<String> = all.iter().filter_map(Fullness::sentence).collect();
    Some(Section {
        id: format!("fullness{}", group.suffix),
        title: group.titled("How full it may get"),
        lead: format!(
            "The same life on file systems of several sizes. {}",
            sentences.join(" ")
        ),
        exhibits: [of_speed, of_room]
            .into_iter()
            .flatten()
            .map(Exhibit::Chart)
            .chain([table(group, &all)])
            .collect(),
    })
}

/// A value of a level, and where it lies if that is known.
type Value = dyn Fn(&Level) -> Option<(f64, Option<(f64, f64)>)>;

/// Size by size, the numbers of the charts.
fn table(group: &Group, all: &[Fullness]) -> Exhibit {
    let mut data = DataTable::new(&[
        "target",
        "size",
        "full",
        "skipped",
        "aged / control",
        "low",
        "high",
        "room for 1 MiB extents",
    ]);
    for fullness in all {
        for level in &fullness.levels {
            let [low, high] = match level.left {
                Some(left) => left.interval.map(Cell::from),
                None => [Cell::Null, Cell::Null],
            };
            data.rows.push(vec![
                fullness.name.as_str().into(),
                level.size().map_or(Cell::Null, |size| size.as_str().into()),
                level.utilization.into(),
                (level.skipped as f64).into(),
                level.left.map(|left| left.ratio).into(),
                low,
                high,
                level.placeable_1m.into(),
            ]);
        }
    }
    Exhibit::Table(Sheet {
        id: format!("fullness-table{}", group.suffix),
        title: "Size by size".to_owned(),
        description: String::new(),
        data,
    })
}
