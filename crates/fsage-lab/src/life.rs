//! What counts as one observation: a life, which is a workload that a file system lived through.
//!
//! Repetitions of one workload say how much a machine varies, and nothing of how much another life would differ. A mean
//! over lives therefore counts each of them once, however often it was repeated.

use crate::run_folder::WorkloadFacts;
use std::path::Path;

/// Which life it is: two runs of one workload lived the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Life(String);

impl Life {
    /// The life of a workload, by its hash; where that is not known, the run at `run` is a life of its own.
    pub(crate) fn of(workload: Option<&WorkloadFacts>, run: &Path) -> Life {
        let hash = workload.and_then(|workload| workload.blake3.as_deref());
        Life::of_hash(hash, &run.display().to_string())
    }

    /// The life of the workload with this hash; where that is not known, one of its own by another name.
    pub(crate) fn of_hash(workload: Option<&str>, otherwise: &str) -> Life {
        Life(workload.unwrap_or(otherwise).to_owned())
    }

    /// A life by any name.
    #[cfg(test)]
    pub(crate) fn named(name: &impl ToString) -> Life {
        Life(name.to_string())
    }
}

/// The mean of each life, in the order in which lives first come.
pub(crate) fn by_life(values: impl IntoIterator<Item = (Life, f64)>) -> Vec<(Life, f64)> {
    let mut lives: Vec<(Life, Vec<f64>)> = Vec::new();
    for (life, value) in values {
        match lives.iter_mut().find(|(known, _)| *known == life) {
            Some((_, of_life)) => of_life.push(value),
            None => lives.push((life, vec![value])),
        }
    }
    let means = lives.into_iter().map(|(life, values)| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (life, mean)
    });
    means.collect()
}

/// Values that do not depend on each other: the mean of each life; where all are of one life, its repetitions.
pub(crate) fn independent(values: impl IntoIterator<Item = (Life, f64)>) -> Vec<f64> {
    let values: Vec<(Life, f64)> = values.into_iter().collect();
    let lives = by_life(values.iter().cloned());
    let kept = if lives.len() > 1 { lives } else { values };
    kept.into_iter().map(|(_, value)| value).collect()
}

/// The means of lives that both lived, in the order of the first.
pub(crate) fn pairs(
    of: impl IntoIterator<Item = (Life, f64)>,
    than: impl IntoIterator<Item = (Life, f64)>,
) -> Vec<(f64, f64)> {
    let than = by_life(than);
    let pairs = by_life(of).into_iter().filter_map(|(life, value)| {
        let (_, other) = than.iter().find(|(known, _)| *known == life)?;
        Some((value, *other))
    });
    pairs.collect()
}

/// Whether no life of one side was lived on the other one too, so that what differs is of the lives as well.
pub(crate) fn are_others(of: &[(Life, f64)], than: &[(Life, f64)]) -> bool {
    let is_known = |(life, _): &(Life, f64)| than.iter().any(|(known, _)| known == life);
    !of.is_empty() && !than.is_empty() && !of.iter().any(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: &[(u32, f64)]) -> Vec<(Life, f64)> {
        let named = of.iter().map(|&(life, value)| (Life::named(&life), value));
        named.collect()
    }

    /// By hand: life 1 was repeated three times, with the mean 2.
    #[test]
    fn a_life_counts_once_however_often_it_was_repeated() {
        let repeated = values(&[(1, 1.0), (2, 8.0), (1, 2.0), (1, 3.0)]);
        assert_eq!(independent(repeated.clone()), [2.0, 8.0]);
        let than = values(&[(2, 4.0), (3, 0.0), (1, 1.0)]);
        assert_eq!(pairs(repeated, than), [(2.0, 1.0), (8.0, 4.0)]);
    }

    #[test]
    fn of_a_single_life_its_repetitions_count() {
        let repeated = values(&[(1, 1.0), (1, 2.0), (1, 3.0)]);
        assert_eq!(independent(repeated), [1.0, 2.0, 3.0]);
        assert_eq!(independent([]), Vec::<f64>::new());
    }

    #[test]
    fn a_workload_that_is_not_known_is_a_life_of_its_own() {
        let of = |run: &str| Life::of(None, Path::new(run));
        assert_ne!(of("a"), of("b"));
        assert_eq!(of("a"), of("a"));
    }
}
