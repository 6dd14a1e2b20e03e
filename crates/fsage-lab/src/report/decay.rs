//! How the layout score decays, day by day, with the utilization below.

use super::Beside;
use super::subject::{Group, Life, Over, Subject, score};
use crate::days::{self, DayRow};
use crate::life;
use fsage_metrics::files;
use fsage_report::charts::{Point, Published, Series};
use fsage_report::{Axis, Exhibit, Format, Lines, Section};

/// Points of a curve, at most: more than a chart has columns of pixels for.
const POINTS: usize = 400;

/// The section.
pub fn section(group: &Group, beside: Option<&dyn Beside>) -> Option<Section> {
    let percent = |label: &str, from_zero| Axis {
        label: label.to_owned(),
        format: Format::Percent,
        from_zero,
        ..Axis::default()
    };
    let mut layout = curves(group, score);
    if !layout.is_empty() {
        layout.extend(group.subjects.iter().filter_map(control));
    }
    let exhibits: Vec<Exhibit> = [
        chart(
            group,
            "layout-by-day",
            "Layout score by day",
            "Of all blocks that have a block of their file before them, the share that lies directly behind it, at the \
             end of each day. Dashed: the same files, freshly written to an empty file system at the end (the \
             unaged control): one value, drawn across all days.",
            percent("layout score", false),
            layout,
            beside.map_or_else(Vec::new, |beside| beside.layout_by_day(group)),
        ),
        by_day(
            group,
            "utilization-by-day",
            "Utilization by day",
            "Used share of the data space. Layout decays faster on a full disk: where curves differ, targets did not \
             hold the same.",
            percent("utilization", true),
            |day| day.value(&files::UTILIZATION),
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    let several = group.subjects.iter().any(|subject| subject.lives.len() > 1);
    let band = if several {
        " Curves are means over lives; bands are Student's 95 % interval of the mean, of two lives their range."
    } else {
        ""
    };
    let long = |subject: &Subject| subject.lives.iter().any(|life| life.days.len() > POINTS);
    let mut lives = group.subjects.iter().flat_map(|subject| &subject.lives);
    let thinned = match lives.any(Life::has_table_of_days) {
        _ if !group.subjects.iter().any(long) => "",
        true => {
            " Of long runs each curve has the first, last, smallest and largest value of every hundredth of the days; \
             all days are in days.parquet."
        }
        false => {
            " Each curve has the first, last, smallest and largest value of every hundredth of the days."
        }
    };
    (!exhibits.is_empty()).then(|| Section {
        id: format!("decay{}", group.suffix),
        title: group.titled("Decay"),
        lead: format!(
            "How well files lie together, from the first day to the last.{band}{thinned}"
        ),
        exhibits,
    })
}

/// A chart of a value by day; none where it is not known on any.
pub fn by_day(
    group: &Group,
    id: &str,
    title: &str,
    description: &str,
    y: Axis,
    value: impl Fn(&DayRow) -> Option<f64>,
) -> Option<Exhibit> {
    chart(
        group,
        id,
        title,
        description,
        y,
        curves(group, value),
        Vec::new(),
    )
}

fn chart(
    group: &Group,
    id: &str,
    title: &str,
    description: &str,
    y: Axis,
    series: Vec<Series>,
    published: Vec<Published>,
) -> Option<Exhibit> {
    let lines = Lines {
        id: format!("{id}{}", group.suffix),
        title: title.to_owned(),
        description: description.to_owned(),
        x: Axis {
            label: "day".to_owned(),
            ..Axis::default()
        },
        y,
        series,
        published,
    };
    (!lines.series.is_empty()).then(|| Exhibit::Chart(lines.into_chart()))
}

/// A curve for each target that has a value on any day.
fn curves(group: &Group, value: impl Fn(&DayRow) -> Option<f64>) -> Vec<Series> {
    let curves = group.subjects.iter().map(|subject| Series {
        name: subject.name.clone(),
        target: subject.place,
        dashed: false,
        points: points(subject, &value),
    });
    curves
        .filter(|curve| curve.points.iter().any(|p| p.y.is_some()))
        .collect()
}

/// A value by day, by the calendar and counted from 1: the mean over the lives that have the day.
fn points(subject: &Subject, value: impl Fn(&DayRow) -> Option<f64>) -> Vec<Point> {
    // Of a life of which only the end is known nothing says which day that was.
    let lives = || subject.lives.iter().filter(|life| !life.only_end);
    let longest = lives().max_by_key(|life| life.days.len());
    let calendar = longest.map_or_else(Vec::new, |life| days::calendar(&life.days));
    let points: Vec<Point> = calendar
        .iter()
        .enumerate()
        .map(|(at, &day)| {
            let rows =
                lives().filter_map(|life| Some((life.life.clone(), value(life.days.get(at)?)?)));
            let values = life::independent(rows);
            // A mean of shares is a share.
            let are_shares = values.iter().all(|value| (0.0..=1.0).contains(value));
            let over = Over::of(values);
            let interval = over.and_then(|over| {
                if are_shares {
                    over.interval_of_share()
                } else {
                    over.interval()
                }
            });
            Point {
                x: day as f64,
                y: over.map(|over| over.mean),
                interval,
            }
        })
        .collect();
    thinned(&points, POINTS)
}

/// At most so many points: of every bucket the first, the last, the smallest and the largest.
fn thinned(points: &[Point], most: usize) -> Vec<Point> {
    if points.len() <= most {
        return points.to_vec();
    }
    let buckets = most / 4;
    let mut kept = Vec::with_capacity(most);
    for bucket in 0..buckets {
        let (from, to) = (
            bucket * points.len() / buckets,
            (bucket + 1) * points.len() / buckets,
        );
        let by_value = |&a: &usize, &b: &usize| {
            let y = |at: usize| points[at].y.unwrap_or(f64::NAN);
            y(a).total_cmp(&y(b))
        };
        let known = || (from..to).filter(|&at| points[at].y.is_some());
        let mut at = vec![from, to - 1];
        at.extend(known().min_by(by_value));
        at.extend(known().max_by(by_value));
        at.sort_unstable();
        at.dedup();
        kept.extend(at.into_iter().map(|at| points[at]));
    }
    kept
}

/// The score of the control, from the first day to the last: what the same files could have.
fn control(subject: &Subject) -> Option<Series> {
    let control = subject.over(Life::control_score)?;
    let lives = subject.lives.iter().filter(|life| !life.only_end);
    let last = lives.map(Life::last_day).max()?;
    let point = |x: u64| Point {
        x: x as f64,
        y: Some(control.mean),
        interval: control.interval_of_share(),
    };
    Some(Series {
        name: format!("{}, control", subject.name),
        target: subject.place,
        dashed: true,
        points: if last > 1 {
            vec![point(1), point(last)]
        } else {
            vec![point(last)]
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_metrics::layout_score;

    fn day(score: f64) -> DayRow {
        DayRow::default()
            .with(&layout_score::SCORE, score)
            .with(&layout_score::SCORED, 10)
    }

    fn subject(lives: &[&[f64]]) -> Subject {
        let life = |scores: &&[f64]| Life {
            days: scores.iter().map(|&score| day(score)).collect(),
            ..Life::default()
        };
        Subject {
            lives: lives.iter().map(life).collect(),
            ..Subject::default()
        }
    }

    #[test]
    fn a_long_curve_keeps_its_ends_and_every_peak() {
        let mut scores = vec![0.5; 3650];
        scores[1234] = 0.1;
        scores[2345] = 0.9;
        let points = points(&subject(&[&scores]), score);
        assert!(points.len() <= 400, "{}", points.len());
        let y = |day: u64| {
            let at = points.iter().find(|p| p.x as u64 == day);
            at.and_then(|p| p.y)
        };
        assert_eq!((y(1), y(3650)), (Some(0.5), Some(0.5)));
        assert_eq!((y(1235), y(2346)), (Some(0.1), Some(0.9)));
        assert!(points.windows(2).all(|p| p[0].x < p[1].x));
    }

    #[test]
    fn lives_become_a_mean_with_a_band() {
        // By hand: (0.5 + 1.0) / 2; the second day is there once.
        let points = points(&subject(&[&[0.5], &[1.0, 0.25]]), score);
        assert_eq!(points[0].y, Some(0.75));
        assert_eq!(points[0].interval, Some((0.5, 1.0)));
        assert_eq!((points[1].y, points[1].interval), (Some(0.25), None));
    }

    #[test]
    fn what_scores_no_block_has_no_curve() {
        let mut nothing = subject(&[&[1.0, 1.0]]);
        for day in &mut nothing.lives[0].days {
            day.metrics.set(&layout_score::SCORED, 0);
        }
        let group = Group {
            subjects: vec![nothing],
            ..Group::default()
        };
        assert!(section(&group, None).is_none());
    }
}
