//! How layouts of a target differ from those of its [base](crate::bases), life by life: what chance does to a life it
//! does to both, so that differences are known that means over lives hide.

use super::results::{Row, are_beside_first, values};
use super::verdict::Verdict;
use crate::clusters;
use crate::life::{self, Life};
use crate::report::verdict::UNLIKE_BLOCKS;
use crate::table;
use fsage_bench::Summary;
use fsage_metrics::{Metric, free_space, layout_score, pieces};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// What is compared.
pub const METRICS: [&Metric; 4] = [
    &layout_score::SCORE,
    &pieces::PER_FILE,
    &free_space::RUNS,
    &free_space::PLACEABLE_1M,
];

/// Lives under which an interval says nothing.
pub(super) const LEAST: usize = 3;

/// A metric in which the lives of a target differ from those of its base.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Beside {
    /// Its id.
    metric: &'static str,
    /// The mean of the differences.
    difference: f64,
    /// Where that lies with a confidence of 0.95, by Student's t. It does not hold 0.
    interval: (f64, f64),
    /// Lives that both lived.
    lives: usize,
}

/// The metrics in which they differ.
pub(super) fn of(lives: &[&Verdict], base: &[&Verdict]) -> Vec<Beside> {
    let is_unlike = blocks_are_unlike(lives.iter().chain(base).copied());
    let differing = METRICS.iter().enumerate().filter_map(|(place, metric)| {
        if is_unlike && metric.id == layout_score::SCORE.id {
            return None;
        }
        let end = |verdict: &Verdict| verdict.ends[place];
        let (difference, (low, high), lives) = difference(values(lives, end), values(base, end))?;
        (low > 0.0 || high < 0.0).then_some(Beside {
            metric: metric.id,
            difference,
            interval: (low, high),
            lives,
        })
    });
    differing.collect()
}

/// Whether a break weighs less in some of these layout scores than in others, since their blocks are smaller, or since
/// they have clusters.
pub(super) fn blocks_are_unlike<'a>(
    of: impl IntoIterator<Item = &'a Verdict, IntoIter: Clone>,
) -> bool {
    let of = of.into_iter();
    let targets = of.clone().map(|verdict| verdict.target.as_str());
    if clusters::warning(targets.map(|target| (target, target))).is_some() {
        return true;
    }
    let scored = of.filter_map(|verdict| verdict.scored_per_byte);
    let (least, most) = scored.fold((f64::INFINITY, 0.0_f64), |(least, most), scored| {
        (least.min(scored), most.max(scored))
    });
    most > least * UNLIKE_BLOCKS
}

/// How a metric differs between two sides, in words.
pub(super) struct Differs {
    /// Of lives that both lived the mean of the differences, of other lives on each side the difference of the means,
    /// with its 95 % interval.
    pub words: String,
    /// The same in short, as `+0.012 (+0.010 to +0.014)`.
    pub short: String,
    /// Whether it rises from one to the other; none where the interval holds 0.
    pub rises: Option<bool>,
}

/// How a metric differs between two sides. None of fewer than three lives.
pub(super) fn differs(from: &[(Life, f64)], to: &[(Life, f64)]) -> Option<Differs> {
    let (how, mean, (low, high)) = if life::are_others(from, to) {
        let side = |of: &[(Life, f64)]| {
            let lives = life::by_life(of.iter().cloned());
            let means: Vec<f64> = lives.into_iter().map(|(_, mean)| mean).collect();
            Summary::of(&means).filter(|summary| summary.count >= LEAST)
        };
        let (from, to) = (side(from)?, side(to)?);
        let interval = to.difference_interval(&from)?;
        let ends = (interval.low, interval.high);
        ("of other lives", to.mean - from.mean, ends)
    } else {
        let (mean, ends, _) = difference(to.iter().cloned(), from.iter().cloned())?;
        ("life by life", mean, ends)
    };
    let half = (high - low) / 2.0;
    let rises = (low > 0.0 || high < 0.0).then_some(low > 0.0);
    let [mean, low, high] = [mean, low, high].map(|value| signed(value, half));
    Some(Differs {
        words: format!("{how} {mean}, 95 % interval {low} to {high}"),
        short: format!("{mean} ({low} to {high})"),
        rises,
    })
}

/// The mean of the differences of lives that both lived, its interval, and how many lives that are.
fn difference(
    of: impl IntoIterator<Item = (Life, f64)>,
    than: impl IntoIterator<Item = (Life, f64)>,
) -> Option<(f64, (f64, f64), usize)> {
    let pairs = life::pairs(of, than);
    let differences: Vec<f64> = pairs.iter().map(|(of, than)| of - than).collect();
    let summary = Summary::of(&differences).filter(|summary| summary.count >= LEAST)?;
    let interval = summary.mean_interval()?;
    Some((summary.mean, (interval.low, interval.high), summary.count))
}

/// A value with its sign, and so many digits that one sees how well it is known.
fn signed(value: f64, half: f64) -> String {
    let digits = if half > 0.0 {
        (1.0 - half.log10().floor()).clamp(0.0, 6.0) as usize
    } else {
        4
    };
    format!("{value:+.digits$}")
}

/// Prints them, where there are any.
///
/// # Errors
/// `out` fails.
pub(super) fn print(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let is_first = are_beside_first(rows);
    let titles = ["metric", "target"].into_iter();
    let titles = titles.chain((!is_first).then_some("beside"));
    let titles = titles.chain(["difference", "95 % interval"]);
    let mut differing = table::table(&titles.collect::<Vec<_>>());
    table::align_left(&mut differing, if is_first { &[1] } else { &[1, 2] });
    let is_one_workload = rows.iter().all(|row| row.workload() == rows[0].workload());
    for row in rows {
        for beside in row.beside() {
            let (low, high) = beside.interval;
            let half = (high - low) / 2.0;
            let named = if is_one_workload {
                row.named().to_owned()
            } else {
                row.name()
            };
            let base = row.base().filter(|_| !is_first);
            let cells = [beside.metric.to_owned(), named].into_iter();
            let cells = cells.chain(base.map(str::to_owned)).chain([
                signed(beside.difference, half),
                format!("{} to {}", signed(low, half), signed(high, half)),
            ]);
            differing.add_row(cells.collect::<Vec<String>>());
        }
    }
    if differing.is_empty() {
        let most = rows.iter().map(Row::lives).max().unwrap_or(0);
        if rows.len() > 1 && most == LEAST - 1 {
            return writeln!(
                out,
                "\nTwo lives tell no difference from chance: three or more seeds do (--seeds 3)."
            );
        }
        return Ok(());
    }
    let unlike = rows.iter().filter(|row| row.has_unlike_blocks()).count();
    let left_out = if unlike == 0 {
        ""
    } else {
        " Layout scores of targets with\nblocks of another size are left out: they do not compare, pieces per file do."
    };
    writeln!(
        out,
        "\nBeside {}, life by life: what differs, however little, {} of {} comparisons. Each interval\nis for one \
         of them: of twenty expect one false difference.{left_out}\n\n{differing}",
        if !is_first {
            "the target that each adds options to"
        } else if is_one_workload {
            rows[0].named()
        } else {
            "the first target"
        },
        rows.iter().map(|row| row.beside().len()).sum::<usize>(),
        compared(rows) * METRICS.len() - unlike
    )
}

/// How many rows stand beside another one: all but the first of each workload.
fn compared(rows: &[Row]) -> usize {
    let workloads: BTreeSet<&str> = rows.iter().map(Row::workload).collect();
    rows.len() - workloads.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::life::Life;

    fn lives(scores: &[f64]) -> Vec<Verdict> {
        let lives = scores.iter().enumerate().map(|(life, score)| Verdict {
            life: Life::named(&life),
            ends: [Some(*score), None, None, Some(10.0)],
            ..Verdict::default()
        });
        lives.collect()
    }

    fn of(lives: &[Verdict], first: &[Verdict]) -> Vec<Beside> {
        let (lives, first): (Vec<_>, Vec<_>) = (lives.iter().collect(), first.iter().collect());
        super::of(&lives, &first)
    }

    /// By hand: differences 0.01, 0.02 and 0.03 have mean 0.02 and deviation 0.01; 4.302653 * 0.01 / sqrt(3) is
    /// 0.024841.
    /// Of 0.010, 0.011 and 0.012: mean 0.011, deviation 0.001, half 0.0024841.
    #[test]
    fn what_every_life_agrees_on_is_known_though_lives_differ() {
        let first = lives(&[0.5, 0.7, 0.9]);
        assert_eq!(of(&lives(&[0.51, 0.72, 0.93]), &first), []);
        let found = of(&lives(&[0.51, 0.711, 0.912]), &first);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].metric, layout_score::SCORE.id);
        let (low, high) = found[0].interval;
        assert!((low - 0.008_516).abs() < 1e-6 && (high - 0.013_484).abs() < 1e-6);
        assert_eq!(signed(found[0].difference, (high - low) / 2.0), "+0.0110");
        assert_eq!(of(&lives(&[0.51, 0.711]), &first), []);
        assert_eq!(
            (signed(-1.0, 0.0), signed(440.3, 102.0)),
            ("-1.0000".into(), "+440".into())
        );
    }
}
