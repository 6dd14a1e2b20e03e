//! Figures 5 to 8: elapsed time, and what lies in the center, by utilization.

use super::runs::{Mix, Outcome};
use super::{MODIFIED, ORIGINAL, Results};
use crate::figure::{Curve, Figure, Point};
use fsage_report::svg::Axis;

/// All of them.
pub fn all(results: &Results<'_>) -> Vec<Figure> {
    vec![
        elapsed(results, Mix::Reads, 5, false, "elapsed-75-reads"),
        elapsed(results, Mix::Writes, 6, false, "elapsed-65-reads"),
        elapsed(results, Mix::Reads, 5, true, "elapsed-75-reads-cached"),
        elapsed(results, Mix::Writes, 6, true, "elapsed-65-reads-cached"),
        center(results, Count::Operations),
        center(results, Count::Megabytes),
    ]
}

fn elapsed(
    results: &Results<'_>,
    mix: Mix,
    number: u32,
    cached: bool,
    slug: &'static str,
) -> Figure {
    let curves = results
        .study
        .targets(mix, cached)
        .into_iter()
        .map(|target| {
            let filled = results.study.plan.utilization.iter();
            let points = filled.map(|&percent| {
                let outcome = results.of(target, mix, percent, cached);
                Point {
                    x: percent as f64,
                    y: outcome.mean_s(),
                    deviation: outcome.deviation_s(),
                }
            });
            Curve {
                name: target.to_owned(),
                points: points.collect(),
            }
        });
    let (cache, text) = if cached {
        (
            ", write cache on",
            "The same on a drive that caches writes.",
        )
    } else {
        (
            "",
            "Time of all operations, the last sync included, on a drive without a write cache. The paper's curves have \
             no numbers in its text.",
        )
    };
    Figure {
        slug,
        title: format!("Elapsed time with {} (figure {number}{cache})", mix.text()),
        text: text.to_owned(),
        axis: Axis::Linear,
        x_label: "utilization before, percent",
        y_label: "elapsed time, s",
        curves: curves.collect(),
        published: Vec::new(),
    }
}

#[derive(Clone, Copy)]
enum Count {
    Operations,
    Megabytes,
}

fn center(results: &Results<'_>, count: Count) -> Figure {
    let mut curves = Vec::new();
    for target in [ORIGINAL, MODIFIED] {
        for mix in Mix::OF_FIGURES {
            let value = |outcome: &Outcome| match count {
                Count::Operations => outcome.center.0 as f64,
                Count::Megabytes => outcome.center.1 as f64 / 1e6,
            };
            let filled = results.study.plan.utilization.iter();
            let points = filled.map(|&percent| {
                let outcome = results.of(target, mix, percent, false);
                (percent as f64, value(outcome))
            });
            curves.push(Curve::exact(format!("{target}, {}", mix.text()), points));
        }
    }
    let (slug, title, y_label) = match count {
        Count::Operations => (
            "center-files",
            "Operations on files in the center (figure 7)",
            "operations",
        ),
        Count::Megabytes => (
            "center-bytes",
            "Bytes of files in the center (figure 8)",
            "MB",
        ),
    };
    Figure {
        slug,
        title: title.to_owned(),
        text: format!(
            "Of {} operations, those on articles that lie in the middle 2.5 % of the disk when they are read, written \
             or removed. All articles have 4 KB.",
            results.study.plan.operations
        ),
        axis: Axis::Linear,
        x_label: "utilization before, percent",
        y_label,
        curves,
        published: Vec::new(),
    }
}
