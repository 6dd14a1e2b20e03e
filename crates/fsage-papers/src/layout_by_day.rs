//! The aggregate layout score at the end of every day.

use super::aged::Aged;
use super::figure::{Curve, Figure, Published};
use fsage_report::svg::Axis;

/// A published score: of which target, after which day, counted from 1; `None` is the last.
pub struct Score<'a> {
    /// The target.
    pub target: &'a str,
    /// The day.
    pub day: Option<u32>,
    /// The score.
    pub value: f64,
}

/// The figure.
pub fn figure(title: &str, aged: &[&Aged], published: &[Score<'_>]) -> Figure {
    let days = aged.iter().map(|aged| aged.scores.len()).max().unwrap_or(0);
    let curves = aged.iter().map(|aged| {
        let scores = aged.scores.iter().enumerate();
        let points = scores.map(|(day, &score)| ((day + 1) as f64, score));
        Curve::exact(aged.state.name.clone(), points)
    });
    Figure {
        slug: "layout-by-day",
        title: title.to_owned(),
        text: "The share of blocks that directly follow their predecessor, at the end of every day. The workload is \
               ours: it meets the published statistics of the authors' one, and is not the same."
            .to_owned(),
        axis: Axis::Linear,
        x_label: "day",
        y_label: "layout score",
        curves: curves.collect(),
        published: published
            .iter()
            .map(|p| Published {
                curve: p.target.to_owned(),
                x: p.day.map_or(days as f64, f64::from),
                y: p.value,
            })
            .collect(),
    }
}
