//! The aggregate layout score at the end of every day.

use super::aged::Aged;
use super::figure::{Curve, Figure, Published};
use super::words;
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

/// The figure. Of a run of fewer days than the paper's, scores of the last day are left out: it is another day.
pub fn figure(title: &str, aged: &[&Aged], published: &[Score<'_>], is_cut: bool) -> Figure {
    let days = aged.iter().map(|aged| aged.scores.len()).max().unwrap_or(0);
    let curves = aged.iter().map(|aged| {
        let scores = aged.scores.iter().enumerate();
        let points = scores.map(|(day, &score)| ((day + 1) as f64, score));
        Curve::exact(aged.state.name.clone(), points)
    });
    Figure {
        slug: "layout-by-day",
        title: title.to_owned(),
        text: format!(
            "The share of blocks that directly follow their predecessor, at the end of every day. The workload is \
             ours: it meets the published statistics of the authors' one, and is not the same.{}",
            if is_cut {
                " The paper's last day is later than the last one here, and not shown."
            } else {
                ""
            }
        ),
        axis: Axis::Linear,
        x_label: "day",
        y_label: "layout score",
        curves: curves.collect(),
        published: published
            .iter()
            .filter(|p| p.day.is_some() || !is_cut)
            .map(|p| Published {
                curve: p.target.to_owned(),
                x: p.day.map_or(days as f64, f64::from),
                y: p.value,
            })
            .collect(),
    }
}

/// Days of a month.
const MONTH: usize = 30;

/// Whether the mean score of a month is lower than that of the month before, nearly always. Days that make no whole
/// month are left out.
pub fn falls_steadily(scores: &[f64]) -> Option<(bool, String)> {
    let months = scores
        .chunks_exact(MONTH)
        .map(|month| month.iter().sum::<f64>() / MONTH as f64);
    let months: Vec<f64> = months.collect();
    let lower = months.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let steps = months.len().checked_sub(1).filter(|&steps| steps > 0)?;
    let text = format!("in {lower} of {steps} months");
    Some((words::is_nearly_all(lower as f64 / steps as f64), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_paper_is_not_drawn_on_an_earlier_day() {
        let score = |day, value| Score {
            target: "orig",
            day,
            value,
        };
        let published = [score(Some(1), 0.92), score(None, 0.77)];
        let drawn = |is_cut| figure("", &[], &published, is_cut).published.len();
        assert_eq!((drawn(false), drawn(true)), (2, 1));
    }

    #[test]
    fn a_month_that_rises_is_no_steady_fall() {
        let months = |means: &[f64]| {
            means
                .iter()
                .flat_map(|&mean| [mean; MONTH])
                .collect::<Vec<_>>()
        };
        let falls = falls_steadily(&months(&[0.9, 0.8, 0.7]));
        assert_eq!(falls, Some((true, "in 2 of 2 months".to_owned())));
        let rises = falls_steadily(&months(&[0.9, 0.8, 0.85]));
        assert_eq!(rises, Some((false, "in 1 of 2 months".to_owned())));
        assert_eq!(falls_steadily(&months(&[0.9])), None);
    }
}
