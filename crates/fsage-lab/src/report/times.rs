//! How many times as fast one file system is as another, over the lives that both lived.

use super::subject::Over;
use crate::life::{self, Life};
use fsage_bench::{Ratio, Says};

/// A ratio over two lives that differs from 1 by less is no difference.
const SAME: f64 = 0.01;

/// A ratio of speeds: of one life that of its repetitions, of several lives the mean of theirs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// The ratio, or the mean over lives.
    pub mean: f64,
    /// Where it lies: its interval; over several lives see [`Over::ends`].
    pub ends: (f64, f64),
    /// What it says of the first.
    pub says: Says,
    /// Lives that it is the mean of.
    pub lives: usize,
}

impl Times {
    /// Of the ratio in each life: each life counts once; none of no life.
    pub fn of(ratios: &[(Life, Ratio)]) -> Option<Times> {
        let medians = ratios
            .iter()
            .map(|(life, ratio)| (life.clone(), ratio.median));
        let over = Over::of(life::independent(medians))?;
        let (ends, says) = match ratios {
            [(_, one)] => ((one.low, one.high), one.says()),
            _ => (over.ends(), over_lives(over)),
        };
        Some(Times {
            mean: over.mean,
            ends,
            says,
            lives: over.count,
        })
    }
}

/// What the ratios of several lives say: each is one of the same kind. Two are too few to decide anything, unless they
/// are alike.
fn over_lives(over: Over) -> Says {
    if over.mean_interval.is_some() {
        Says::of(over.mean, over.ends())
    } else if (over.mean - 1.0).abs() < SAME {
        Says::Same
    } else {
        Says::Inconclusive
    }
}

/// What both have in the lives that both lived: of repetitions of a life those with the same number.
pub fn in_same_lives<'a, T>(
    of: &'a [(Life, T)],
    than: &'a [(Life, T)],
) -> impl Iterator<Item = (&'a Life, &'a T, &'a T)> {
    of.iter().enumerate().filter_map(|(place, (life, one))| {
        let is_same = |(other, _): &&(Life, T)| other == life;
        let same = than.get(place).filter(is_same);
        let (_, other) = same.or_else(|| than.iter().find(is_same))?;
        Some((life, one, other))
    })
}
