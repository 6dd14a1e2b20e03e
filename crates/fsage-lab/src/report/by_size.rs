//! The layout score by size of files.

use super::subject::{Group, Life, Over, Subject};
use fsage_data::table::SizeClass;
use fsage_report::charts::{Point, Series};
use fsage_report::{Axis, Exhibit, Format, Lines, Scale, Section};

/// The section; none where no file of any target has two blocks.
pub fn section(group: &Group) -> Option<Section> {
    let mut series = Vec::new();
    for subject in &group.subjects {
        let aged = |life: &Life| life.last().map(|last| last.layout_by_size.clone());
        series.extend(curve(subject, &subject.name, false, aged));
        let control = |life: &Life| Some(life.control.as_ref()?.layout_by_size.clone());
        let name = format!("{}, control", subject.name);
        series.extend(curve(subject, &name, true, control));
    }
    if series.is_empty() {
        return None;
    }
    let lines = Lines {
        id: format!("layout-by-size{}", group.suffix),
        title: "Layout score by file size, at the end".to_owned(),
        description: "Each point stands at the largest size of its class: to 16 KiB, to 32 KiB, and so on. Files of \
                      more than 16 MiB stand at 32 MiB. Dashed: the same files in the unaged control."
            .to_owned(),
        x: Axis {
            label: "file size".to_owned(),
            format: Format::Bytes,
            scale: Scale::Log,
            ..Axis::default()
        },
        y: Axis {
            label: "layout score".to_owned(),
            format: Format::Percent,
            ..Axis::default()
        },
        series,
        published: Vec::new(),
    };
    Some(Section {
        id: format!("by-size{}", group.suffix),
        title: group.titled("Layout by file size"),
        lead: "Small files break at their one boundary or not at all; large ones have many chances to break. Where a \
               curve is far below its control, files of that size suffer from age."
            .to_owned(),
        exhibits: vec![Exhibit::Chart(lines.into_chart())],
    })
}

/// A point for each class in which any life has a block that is scored.
fn curve(
    subject: &Subject,
    name: &str,
    dashed: bool,
    classes: impl Fn(&Life) -> Option<Vec<SizeClass>>,
) -> Option<Series> {
    let lives: Vec<Vec<SizeClass>> = subject.lives.iter().filter_map(classes).collect();
    let most = lives.iter().max_by_key(|classes| classes.len())?;
    let points: Vec<Point> = (0..most.len())
        .filter_map(|at| {
            let scored = lives.iter().filter_map(|classes| classes.get(at));
            let scores = scored
                .filter(|class| class.scored > 0)
                .map(|class| class.optimal as f64 / class.scored as f64);
            let over = Over::of(scores)?;
            Some(Point {
                x: place(most, at),
                y: Some(over.mean),
                interval: over.interval_of_share(),
            })
        })
        .collect();
    (!points.is_empty()).then(|| Series {
        name: name.to_owned(),
        target: subject.place,
        dashed,
        points,
    })
}

/// Where a class stands: at its largest size; the last, which has none, at twice that of the one before.
fn place(classes: &[SizeClass], at: usize) -> f64 {
    match (classes[at].max_bytes, at) {
        (u64::MAX, 1..) => classes[at - 1].max_bytes as f64 * 2.0,
        (bytes, _) => bytes as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::days::DayRow;

    fn class(max_bytes: u64, optimal: u64, scored: u64) -> SizeClass {
        SizeClass {
            max_bytes,
            files: scored,
            optimal,
            scored,
        }
    }

    #[test]
    fn classes_without_a_block_have_no_point_and_the_last_stands_behind_the_others() {
        let day = DayRow {
            layout_by_size: vec![
                class(16 << 10, 3, 4),
                class(32 << 10, 0, 0),
                class(u64::MAX, 1, 2),
            ],
            ..DayRow::default()
        };
        let subject = Subject {
            lives: vec![Life {
                days: vec![day],
                ..Life::default()
            }],
            ..Subject::default()
        };
        let group = Group {
            subjects: vec![subject.clone()],
            ..Group::default()
        };
        let aged = |life: &Life| life.last().map(|last| last.layout_by_size.clone());
        let curve = curve(&subject, "a", false, aged).expect("a curve");
        let points: Vec<_> = curve.points.iter().map(|p| (p.x, p.y)).collect();
        assert_eq!(points, [(16384.0, Some(0.75)), (65536.0, Some(0.5))]);
        assert_eq!(section(&group).expect("a section").exhibits.len(), 1);
        assert!(section(&Group::default()).is_none());
    }
}
