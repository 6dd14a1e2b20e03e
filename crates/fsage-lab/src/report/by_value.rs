//! Charts over a number: how full a file system is, or what an experiment varies.

use super::bench::slug;
use super::words::list;
use crate::experiment::manifest::Manifest;
use crate::experiment::over::{self, Curve, Metric, OfMetric, Sweep};
use fsage_report::charts::{Point, Series};
use fsage_report::{Axis, Chart, Exhibit, Finding, Lines, Section, Tone};
use std::collections::HashSet;
use std::path::Path;

/// Ratios lie close together where the least is no less than this part of the largest.
const CLOSE: f64 = 0.6;

/// What numbers do that an experiment varies.
#[derive(Default)]
pub struct ByValue {
    /// A sentence a target.
    pub findings: Vec<Finding>,
    /// A section a number.
    pub sections: Vec<Section>,
}

/// A chart over a number, a curve a target; none without a point.
pub fn chart(
    id: String,
    title: String,
    description: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
) -> Option<Chart> {
    let is_any = series.iter().any(|series| !series.points.is_empty());
    let lines = Lines {
        id,
        title,
        description,
        x,
        y,
        series,
        published: Vec::new(),
    };
    is_any.then(|| lines.into_chart())
}

/// A point of such a chart.
pub fn point(x: f64, y: f64, interval: Option<(f64, f64)>) -> Point {
    Point {
        x,
        y: Some(y),
        interval,
    }
}

/// Where a mean lies of so many lives, in words: what brackets and bands are.
pub fn interval_over(lives: usize) -> String {
    match lives {
        0 | 1 => "the 99 % interval of the repetitions of the benchmark".to_owned(),
        2 => "the range of two lives".to_owned(),
        lives => format!("Student's 95 % interval of the mean over {lives} lives"),
    }
}

/// Of an experiment; `place` is that of a target on the page, which gives it its color.
///
/// # Errors
/// Results of a cell cannot be read.
pub fn of_experiment(
    path: &Path,
    manifest: &Manifest,
    place: impl Fn(&str) -> Option<usize>,
) -> crate::Result<ByValue> {
    if !over::are_there(manifest) {
        return Ok(ByValue::default());
    }
    let rows = crate::experiment::rows(path, manifest)?;
    Ok(of_sweeps(&over::sweeps(manifest, &rows), place))
}

fn of_sweeps(sweeps: &[Sweep], place: impl Fn(&str) -> Option<usize>) -> ByValue {
    let mut of_all = ByValue::default();
    let mut taken = HashSet::new();
    for sweep in sweeps {
        let mut id = format!("over-{}", slug(&sweep.parameter));
        while !taken.insert(id.clone()) {
            id.push_str("-x");
        }
        of_all
            .findings
            .extend(sweep.sentences().into_iter().map(|text| Finding {
                text,
                tone: Tone::Neutral,
                section: Some(id.clone()),
            }));
        let charts = sweep
            .metrics
            .iter()
            .filter_map(|of| of_metric(&id, sweep, of, &place));
        let exhibits = charts.map(Exhibit::Chart).collect();
        of_all.sections.push(Section {
            title: format!("Over {}", sweep.parameter),
            lead: lead(sweep),
            exhibits,
            id,
        });
    }
    of_all
}

fn lead(sweep: &Sweep) -> String {
    let over = match sweep.lives() {
        (0 | 1, 1) => {
            "Each point is one life: other seeds show how far another one would lie from it."
                .to_owned()
        }
        (least, most) if least < most => {
            format!("Each point is the mean of {least} to {most} lives.")
        }
        (_, lives) => format!("Each point is the mean of {lives} lives."),
    };
    let other = match sweep.of_other_lives() {
        Some(_) => " Each value is lived by other lives.",
        None => "",
    };
    let pooled = if sweep.pooled.is_empty() {
        String::new()
    } else {
        format!(" They are means over {} too.", list(&sweep.pooled))
    };
    let left_out = match sweep.left_out {
        0 => String::new(),
        n => format!(" {n} more curves are left out; `fsage results EXP --csv means` has all."),
    };
    format!(
        "How the targets change with {}, a curve a target. {over}{other}{pooled}{left_out}",
        sweep.parameter
    )
}

fn of_metric(
    id: &str,
    sweep: &Sweep,
    of: &OfMetric,
    place: impl Fn(&str) -> Option<usize>,
) -> Option<Chart> {
    // A target has its color, where curves are of different targets.
    let targets: HashSet<&str> = of
        .curves
        .iter()
        .map(|curve| curve.target.as_str())
        .collect();
    let is_of_targets = targets.len() == of.curves.len();
    let series = of.curves.iter().enumerate().map(|(number, curve)| Series {
        name: curve.name.clone(),
        target: place(&curve.target)
            .filter(|_| is_of_targets)
            .unwrap_or(number),
        dashed: false,
        points: points(curve, sweep),
    });
    let (metric, what, is_ratio) = match &of.metric {
        Metric::LayoutScore => ("layout-score".to_owned(), "At the end.", false),
        Metric::PiecesPerFile => ("pieces-per-file".to_owned(), "At the end.", false),
        Metric::Ratio((suite, phase)) => (
            slug(&format!("{suite} {phase}")),
            "1 is a fresh copy of the same files; below 1 the aged file system is the slower one.",
            true,
        ),
    };
    let counts = of
        .curves
        .iter()
        .flat_map(|curve| &curve.points)
        .map(|at| at.over.count);
    let bands = match (counts.clone().min(), counts.max()) {
        (_, Some(most)) if most < 3 || !sweep.pooled.is_empty() => String::new(),
        (Some(least), Some(most)) if least == most => {
            format!(" A band is {}.", interval_over(most))
        }
        _ => " A band is Student's 95 % interval of the mean, of three lives or more.".to_owned(),
    };
    chart(
        format!("{id}-{metric}"),
        format!(
            "{} over {}{}",
            sentence_case(&of.metric.short_name()),
            sweep.parameter,
            if is_ratio { ", aged / control" } else { "" }
        ),
        format!("{what}{bands}{}", skipped(of)),
        sweep.axis(),
        if is_ratio {
            let points = of.curves.iter().flat_map(|curve| &curve.points);
            axis_of_ratios(points.map(|at| at.over.mean))
        } else {
            Axis {
                label: of.metric.name(),
                ..Axis::default()
            }
        },
        series.collect(),
    )
}

/// An axis of ratios: from 0, where they do not lie so close together that this would show one line.
pub fn axis_of_ratios(ratios: impl Iterator<Item = f64>) -> Axis {
    let ends = |(low, high): (f64, f64), ratio: f64| (low.min(ratio), high.max(ratio));
    let (low, high) = ratios.fold((f64::INFINITY, 0.0), ends);
    Axis {
        label: "aged / control".to_owned(),
        from_zero: low < CLOSE * high,
        ..Axis::default()
    }
}

/// Which points are of file systems that hold other files than the workload's, because operations were skipped.
fn skipped(of: &OfMetric) -> String {
    let curves = of.curves.iter();
    let curves = curves.filter_map(|curve| Some(format!("{} at {}", curve.name, curve.skipped()?)));
    let curves: Vec<String> = curves.collect();
    if curves.is_empty() {
        String::new()
    } else {
        format!(" Operations were skipped: {}.", curves.join("; "))
    }
}

fn points(curve: &Curve, sweep: &Sweep) -> Vec<Point> {
    let points = curve.points.iter().map(|at| {
        let interval = at.over.mean_interval.map(|_| at.over.ends());
        let interval = interval.filter(|_| sweep.pooled.is_empty());
        point(at.x, at.over.mean, interval)
    });
    points.collect()
}

pub(crate) fn sentence_case(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::over::At;
    use crate::report::Over;

    fn sweep(parameter: &str, lives: usize) -> Sweep {
        let at = |x: u32| At {
            x: f64::from(x),
            text: x.to_string(),
            undone: 0.0,
            lives: Vec::new(),
            over: Over::of(
                (0..lives).map(|life| 0.9 - f64::from(x) / 1000.0 + life as f64 / 100.0),
            )
            .expect("lives"),
        };
        let curve = |name: &str| Curve {
            name: name.to_owned(),
            target: name.to_owned(),
            points: [60, 80].map(at).to_vec(),
        };
        let of = |metric| OfMetric {
            metric,
            curves: vec![curve("ffs"), curve("lfs")],
        };
        Sweep {
            parameter: parameter.to_owned(),
            is_bytes: false,
            pooled: Vec::new(),
            left_out: 0,
            metrics: vec![
                of(Metric::LayoutScore),
                of(Metric::Ratio(("hot-files".to_owned(), "read".to_owned()))),
            ],
        }
    }

    fn charts(section: &Section) -> Vec<&Chart> {
        let charts = section.exhibits.iter().filter_map(|exhibit| match exhibit {
            Exhibit::Chart(chart) => Some(chart),
            Exhibit::Table(_) => None,
        });
        charts.collect()
    }

    #[test]
    fn a_chart_a_metric_is_named_by_the_parameter_and_says_what_its_bands_are() {
        let place = |spec: &str| ["lfs", "ffs"].iter().position(|known| *known == spec);
        let made = of_sweeps(&[sweep("u_1", 3), sweep("u-1", 1)], place);
        let ids: Vec<&str> = made
            .sections
            .iter()
            .flat_map(charts)
            .map(|chart| chart.id.as_str())
            .collect();
        assert_eq!(
            ids,
            [
                "over-u-1-layout-score",
                "over-u-1-hot-files-read",
                "over-u-1-x-layout-score",
                "over-u-1-x-hot-files-read"
            ]
        );
        assert_eq!(made.findings.len(), 4);
        assert_eq!(made.findings[2].section.as_deref(), Some("over-u-1-x"));
        let of_three = charts(&made.sections[0]);
        assert_eq!(
            of_three[0].description,
            "At the end. A band is Student's 95 % interval of the mean over 3 lives."
        );
        let legend = &of_three[0].spec["usermeta"]["series"];
        assert_eq!(
            (&legend[0]["name"], &legend[0]["target"]),
            (&"ffs".into(), &1.into())
        );
        let of_one = charts(&made.sections[1]);
        assert_eq!(of_one[0].description, "At the end.");
        assert!(
            of_one[0]
                .svg()
                .is_some_and(|svg| !svg.contains("class=\"band\""))
        );
    }

    #[test]
    fn an_axis_of_ratios_begins_at_0_where_they_lie_far_apart() {
        let begins_at_0 = |ratios: &[f64]| axis_of_ratios(ratios.iter().copied()).from_zero;
        assert!(!begins_at_0(&[0.76, 1.0, 1.24]));
        assert!(!begins_at_0(&[0.20, 0.21, 0.18]));
        assert!(begins_at_0(&[0.55, 0.20]));
        assert!(begins_at_0(&[0.7, 1.24]));
    }
}
