//! What is said of a number that an experiment varies.

use super::{At, Curve, Metric, Sweep};
use crate::experiment::beside::{self, Differs};
use crate::life;
use crate::report::verdict::UNDONE;
use crate::report::words::{list, percent};

/// What lies farther than this outside of both ends of a curve is worth a word.
const FAR: f64 = 0.01;
/// A value that skipped more of its operations, as a share, is not compared.
const OTHER_FILES: f64 = 0.1;
/// So many steps from value to value are named.
const FEW_STEPS: usize = 4;
/// What the speeds of the suite begin with that writes new files and reads these.
const NEW_FILES: &str = "sequential ";
/// Speeds that move by less are not worth a word.
const MOVED: f64 = 0.02;
/// The key of a preset that says how full it fills a file system.
const FULLNESS: &str = "utilization";

impl Curve {
    /// Whether its ends are of other lives, so that what differs is of the lives as well.
    fn is_of_other_lives(&self) -> bool {
        let ends = self.points.first().zip(self.points.last());
        ends.is_some_and(|(low, high)| life::are_others(&low.lives, &high.lives))
    }

    /// Whether a value skipped so much that its layout says nothing of the workload.
    fn lacks_room(&self) -> bool {
        self.points.iter().any(|at| at.undone > OTHER_FILES)
    }

    /// How each value differs from the one before, where these are few and each is known.
    fn steps(&self) -> Option<String> {
        let steps = self.points.windows(2).take(FEW_STEPS + 1).map(|of| {
            let differs = beside::differs(&of[0].lives, &of[1].lives)?;
            Some(format!(
                "{} to {} {}",
                of[0].text, of[1].text, differs.short
            ))
        });
        let steps: Vec<String> = steps.collect::<Option<_>>()?;
        (steps.len() <= FEW_STEPS).then(|| list(&steps))
    }

    /// At which values operations were skipped, and what share of them; `None` where that is not worth a word.
    pub fn skipped(&self) -> Option<String> {
        let full = self.points.iter().filter(|at| at.undone > UNDONE);
        let full: Vec<String> = full
            .map(|at| format!("{} ({})", at.text, percent(at.undone)))
            .collect();
        (!full.is_empty()).then(|| list(&full))
    }
}

impl Sweep {
    /// A sentence a curve: how the first metric moves from the lowest value to the highest, and the speed that moves
    /// most. Before them, where each value is of other lives, that it is.
    pub fn sentences(&self) -> Vec<String> {
        let Some(first) = self.metrics.first() else {
            return Vec::new();
        };
        let sentences = first.curves.iter();
        let sentences = sentences.filter_map(|curve| {
            let sentence = self.sentence(&first.metric.name(), curve)?;
            let speed = match first.metric {
                Metric::Ratio(_) => None,
                _ => self.speed(&curve.name),
            };
            Some(sentence + &speed.unwrap_or_default())
        });
        self.of_other_lives().into_iter().chain(sentences).collect()
    }

    /// What is to be known where each value draws lives of its own, and how one life is asked instead.
    pub fn of_other_lives(&self) -> Option<String> {
        let curves = &self.metrics.first()?.curves;
        let curve = curves.iter().find(|curve| curve.is_of_other_lives())?;
        let parameter = &self.parameter;
        let (also, instead) = if parameter == FULLNESS {
            let values: Vec<&str> = curve.points.iter().map(|at| at.text.as_str()).collect();
            let instead = format!(
                "One life at each: `fsage compare --fill {}`, or targets of several sizes.",
                values.join(",")
            );
            let also = ", with more files at a higher one and as many operations,";
            (also, instead)
        } else {
            let keeps = "What is varied in the target alone, as `size={size}`, keeps the lives.";
            ("", keeps.to_owned())
        };
        Some(format!(
            "Each value of {parameter} is lived by other lives: what differs between values is what {parameter} \
             does{also} and how these lives were drawn, together. {instead}"
        ))
    }

    fn sentence(&self, what: &str, curve: &Curve) -> Option<String> {
        let [low, between @ .., high] = &curve.points[..] else {
            return None;
        };
        let (a, b) = (low.over.mean, high.over.mean);
        let differ = beside::differs(&low.lives, &high.lives);
        // With an interval beside it a third digit says something.
        let digits = if differ.is_some() { 3 } else { 2 };
        let outside = |at: &&At| (a.min(b) - at.over.mean).max(at.over.mean - a.max(b));
        let farthest = between
            .iter()
            .filter(|at| outside(at) > FAR)
            .max_by(|one, other| outside(one).total_cmp(&outside(other)));
        let but = farthest.map_or_else(String::new, |at| {
            let extreme = if at.over.mean < a.min(b) {
                "lowest"
            } else {
                "highest"
            };
            format!(
                "; it is {extreme} at {}, {:.digits$}",
                at.text, at.over.mean
            )
        });
        let Curve { name, .. } = curve;
        let parameter = &self.parameter;
        let undone = curve.skipped();
        if let Some(at) = undone.as_ref().filter(|_| curve.lacks_room()) {
            return Some(format!(
                "{name}: nothing is said of {parameter}: operations were skipped at {at}, so that it holds other files \
                 than the workload's. A larger size= has room."
            ));
        }
        let undone = undone.map_or_else(String::new, |at| {
            format!("; operations were skipped at {at}")
        });
        let rises = differ.as_ref().and_then(|differ| differ.rises);
        let ages = rises.filter(|_| what == Metric::LayoutScore.name());
        let ages = ages.map_or_else(String::new, |rises| {
            let more = if rises { "less" } else { "more" };
            let mut steps = curve.points.windows(2);
            let is_steady = steps.all(|of| (of[1].over.mean > of[0].over.mean) == rises);
            let steady = if is_steady && !between.is_empty() {
                ", from each value to the next"
            } else {
                ""
            };
            let steps = curve.steps().filter(|_| !between.is_empty());
            let steps = steps.map_or_else(String::new, |steps| format!(" ({steps})"));
            format!(": it ages {more}{steady}{steps}")
        });
        let differ = differ.map_or_else(String::new, |differ| format!(" ({})", differ.words));
        let [a, b] = [a, b].map(|value| format!("{value:.digits$}"));
        Some(if a == b {
            format!(
                "{name}: {what} {a} both at {parameter} {} and at {}{differ}{but}{undone}.",
                low.text, high.text
            )
        } else {
            format!(
                "{name}: {what} from {a} at {parameter} {} to {b} at {}{differ}{ages}{but}{undone}.",
                low.text, high.text
            )
        })
    }

    /// How the speed beside a fresh copy moves that moves most, in a target; `None` where none moves by more than
    /// [`MOVED`].
    fn speed(&self, name: &str) -> Option<String> {
        let ratios = self.metrics.iter().filter_map(|of| {
            let Metric::Ratio(_) = of.metric else {
                return None;
            };
            let curve = of.curves.iter().find(|curve| curve.name == name)?;
            let (low, high) = curve.points.first().zip(curve.points.last())?;
            let moved = (high.over.mean - low.over.mean).abs();
            let differs = beside::differs(&low.lives, &high.lives);
            (moved > MOVED).then(|| (moved, of.metric.name(), low, high, differs))
        });
        // What chance may do is not said before what it does not do.
        let is_shown =
            |differs: &Option<Differs>| differs.as_ref().is_some_and(|of| of.rises.is_some());
        let (_, what, low, high, differ) = ratios.max_by(|one, other| {
            let shown = is_shown(&one.4).cmp(&is_shown(&other.4));
            shown.then(one.0.total_cmp(&other.0))
        })?;
        let differ = differ.map_or_else(String::new, |differ| format!(" ({})", differ.words));
        // Layouts are of the files that aged: the other way round is no contradiction.
        let new = if what.starts_with(NEW_FILES) {
            ": of files that are written after aging, as the suite does, not of those that aged (hot-files)"
        } else {
            ""
        };
        Some(format!(
            " Of the speeds {what} moves most, from {:.3} to {:.3}{differ}{new}.",
            low.over.mean, high.over.mean
        ))
    }
}
