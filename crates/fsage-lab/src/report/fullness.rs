//! How full a file system may get, where a page has one target in several sizes.

use super::bench;
use super::by_value;
use super::subject::{Group, Life, Over, Subject};
use crate::days::{self, DayRow};
use crate::fullness::{Fullness, Left, Level, Phase, are_sizes, by_what_limits};
use fsage_bench::Better;
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
    let phases: Vec<(&str, &str)> = phases.collect();
    let level = |subject: &Subject, phase: Option<&Phase>| {
        let of_phase = phase.and_then(|(suite, phase)| {
            let mut compared = compared.iter();
            compared.find(|compared| (&compared.suite, &compared.phase) == (suite, phase))
        });
        let mut ratios = of_phase.into_iter().flat_map(|compared| &compared.ratios);
        let ratio = ratios
            .find(|(name, _)| *name == subject.name)
            .map(|(_, ratio)| ratio);
        let (left, by_life) = if phase.is_some() {
            let left = ratio.map(|ratio| Left {
                ratio: ratio.mean,
                interval: ratio.ends.into(),
                says: ratio.says,
                lives: ratio.lives,
            });
            let by_life = ratio.map(|ratio| ratio.by_life.clone());
            (left, by_life.unwrap_or_default())
        } else {
            let ratio = |life: &Life| life.last()?.ratio(&layout_score::SCORE);
            let left = subject.over(ratio).map(Left::of_layouts);
            (left, subject.values(ratio).collect())
        };
        let is_speed = of_phase.is_some_and(|compared| compared.better == Better::Higher);
        let full: Over = subject.over(|life| days::fullest(&life.days))?;
        Some(Level {
            target: subject.spec.clone(),
            utilization: full.mean,
            skipped: subject.total(|day: &DayRow| day.skipped),
            placeable_1m: subject
                .at_end(|day| day.value(&free_space::PLACEABLE_1M))
                .map(|extents| extents.mean),
            left,
            aged: ratio.filter(|_| is_speed).map(|ratio| ratio.aged),
            by_life,
            kept: None,
        })
    };
    by_what_limits(&phases, |phase| {
        let subjects = group.subjects.iter();
        subjects
            .filter_map(|subject| level(subject, phase))
            .collect()
    })
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
    let levels = || all.iter().flat_map(|of| &of.levels);
    let lives = levels()
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
    let of_speed = chart(
        "by-fullness",
        format!("{what}, aged over fresh, by how full it was"),
        format!(
            "1 is a fresh copy of the same files. A band is {}.",
            by_value::interval_over(lives.unwrap_or(1))
        ),
        by_value::axis_of_ratios(levels().filter_map(|level| Some(level.left?.ratio))),
        &|level| {
            let left = level.left?;
            Some((left.ratio, Some(left.interval.into())))
        },
    );
    let of_room = chart(
        "room-by-fullness",
        "Room for 1 MiB extents by how full it was".to_owned(),
        "How many extents of 1 MiB fit into free space in the end, the mean over lives.".to_owned(),
        Axis {
            label: "extents of 1 MiB".to_owned(),
            from_zero: true,
            ..Axis::default()
        },
        &|level| Some((level.placeable_1m?, None)),
    );
    Some(Section {
        id: format!("fullness{}", group.suffix),
        title: group.titled("How full it may get"),
        lead: "The same life on file systems of several sizes. The verdict says what limits each."
            .to_owned(),
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
    let kept = all
        .iter()
        .flat_map(|of| &of.levels)
        .filter_map(|level| level.kept);
    let lives = kept
        .filter(|kept| kept.interval.is_some())
        .map(|kept| kept.lives)
        .max();
    let mut header = vec![
        "target",
        "size",
        "full",
        "skipped",
        "aged / control",
        "low",
        "high",
        "room for 1 MiB extents",
    ];
    if lives.is_some() {
        header.extend(["kept", "kept, low", "kept, high"]);
    }
    let mut data = DataTable::new(&header);
    for fullness in all {
        for level in &fullness.levels {
            let [low, high] = match level.left {
                Some(left) => left.interval.map(Cell::from),
                None => [Cell::Null, Cell::Null],
            };
            let mut row: Vec<Cell> = vec![
                fullness.name.as_str().into(),
                level.size().map_or(Cell::Null, |size| size.as_str().into()),
                level.utilization.into(),
                (level.skipped as f64).into(),
                level.left.map(|left| left.ratio).into(),
                low,
                high,
                level.placeable_1m.into(),
            ];
            if lives.is_some() {
                let interval = level.kept.and_then(|kept| kept.interval);
                row.push(level.kept.map(|kept| kept.ratio).into());
                row.extend([0, 1].map(|end| Cell::from(interval.map(|ends| ends[end]))));
            }
            data.rows.push(row);
        }
    }
    Exhibit::Table(Sheet {
        id: format!("fullness-table{}", group.suffix),
        title: "Size by size".to_owned(),
        description: lives.map_or_else(String::new, |lives| {
            format!(
                "Kept is aged / control beside that of the emptiest size in the same life; low and high are {}.",
                by_value::interval_over(lives)
            )
        }),
        data,
    })
}

#[cfg(test)]
mod tests {
    use super::super::subject::Subject;
    use super::*;
    use crate::life;
    use fsage_metrics::files;

    /// A target of one layout score a life, beside a control with a score of 1.
    fn subject(size: &str, full: f64, scores: [f64; 3]) -> Subject {
        let life = |(number, score): (usize, f64)| {
            let day = DayRow::default().with(&files::UTILIZATION, full);
            let mut day = day.with(&layout_score::SCORE, score);
            day.control.set(&layout_score::SCORE, 1.0);
            Life {
                life: life::Life::named(&number),
                days: vec![day],
                ..Life::default()
            }
        };
        Subject {
            name: format!("ext4:size={size}"),
            spec: format!("ext4:size={size}"),
            lives: scores.into_iter().enumerate().map(life).collect(),
            ..Subject::default()
        }
    }

    /// By hand: 0.97, 0.98 and 0.96 are kept; their deviation is 0.01, and Student's t 4.303, over the root of 3 2.484.
    #[test]
    fn the_same_life_is_compared_in_two_sizes() {
        let group = Group {
            subjects: vec![
                subject("160M", 0.6, [0.6, 0.8, 1.0]),
                subject("120M", 0.8, [0.582, 0.784, 0.96]),
            ],
            ..Group::default()
        };
        let kept = levels(&group)[0].levels[1].kept.expect("kept");
        let [low, high] = kept.interval.expect("an interval");
        assert!((kept.ratio - 0.97).abs() < 1e-9 && kept.lives == 3);
        assert!((low - 0.945_16).abs() < 1e-4 && (high - 0.994_84).abs() < 1e-4);
        let section = section(&group).expect("a section");
        let [Exhibit::Chart(chart), Exhibit::Table(sheet)] = &section.exhibits[..] else {
            panic!("a chart of ratios and a table");
        };
        assert!(chart.svg().is_some());
        let names = sheet.data.columns[8..]
            .iter()
            .map(|column| column.name.as_str());
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["kept", "kept, low", "kept, high"]
        );
        assert_eq!(sheet.data.rows[1].len(), sheet.data.columns.len());
    }
}
