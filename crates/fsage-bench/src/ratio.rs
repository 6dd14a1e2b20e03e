//! One speed as a multiple of another: the ratio of the medians of repetitions, and where it lies.

use crate::measurement::Better;
use crate::statistics::median_of;
use fsage_core::rng::Rng;
use serde::{Deserialize, Serialize};

/// How often repetitions are drawn anew.
const RESAMPLES: usize = 4000;
/// The share of the ratios drawn that lies in the interval. A report makes several claims, each of which may be chance;
/// with 0.99 five of them are right together in 0.95 of all reports.
const CONFIDENCE: f64 = 0.99;
/// Repetitions of each side that differences between separate measurements need: of fewer, all of one side are faster
/// than all of the other by chance alone more often than once in a hundred times (2 in 70 of four against four).
pub const LEAST_APART: usize = 5;
/// A ratio that is as near to 1 as this is no difference, however well it is known.
const SAME: f64 = 0.01;
/// Where an interval around 1 ends at most so far from it, both are as fast.
const NEAR: f64 = 0.05;
/// On real file systems a ratio within this of 1 is no difference either: what disturbs a machine comes in stretches,
/// which strike one side more often than repetitions that are drawn each for itself know.
pub const STRETCHES: f64 = 0.02;
/// Where the interval ends at most this share of the ratio from it, more repetitions would not say much more.
const NARROW: f64 = 0.05;

/// The speeds of repetitions of one case on two file systems.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    sides: Sides,
    /// Where the lower value is better, a speed is its inverse, and the medians that count are those of the values.
    better: Better,
    /// What other files would change on either side, as a share: see [`error_of_files`](crate::error_of_files).
    errors: (f64, f64),
}

/// How the repetitions of both belong together.
#[derive(Clone, Debug, PartialEq)]
enum Sides {
    /// Each with one of the other under the same conditions: on simulated disks, with the spindle at the same angle.
    InPairs(Vec<(f64, f64)>),
    /// Each for itself: on real file systems, where what disturbs one has no counterpart in the other.
    Apart(Vec<f64>, Vec<f64>),
}

/// The ratio of two medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Repetitions on the side that has fewer.
    pub count: usize,
    /// The median of the first divided by that of the second; over several cases, the geometric mean of their ratios.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval; that of one repetition is the ratio itself.
    pub high: f64,
    /// Share of the ratios, from repetitions drawn anew, that lies between them.
    pub confidence: f64,
    /// Whether both sides were measured each for itself, on real file systems.
    is_apart: bool,
    /// The interval of the repetitions alone, whatever files other than these would be like.
    #[serde(skip)]
    of_repetitions: (f64, f64),
}

/// What a ratio says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Says {
    /// The first is faster than the second.
    Faster,
    /// It is slower.
    Slower,
    /// It is as fast.
    Same,
    /// Repetitions differ too much, or are too few.
    Inconclusive,
}

impl Says {
    /// What a ratio says that lies in an interval, of repetitions or of lives.
    pub fn of(ratio: f64, (low, high): (f64, f64)) -> Says {
        let is_around_1 = low <= 1.0 && 1.0 <= high;
        if is_around_1 && low >= 1.0 - NEAR && high <= 1.0 + NEAR {
            Says::Same
        } else if is_around_1 {
            Says::Inconclusive
        } else if (ratio - 1.0).abs() < SAME {
            Says::Same
        } else if ratio < 1.0 {
            Says::Slower
        } else {
            Says::Faster
        }
    }
}

impl Repeated {
    /// Each with one of the other under the same conditions: on simulated disks, with the spindle at the same angle.
    pub fn in_pairs(speeds: Vec<(f64, f64)>, better: Better) -> Repeated {
        Repeated {
            sides: Sides::InPairs(speeds),
            better,
            errors: (0.0, 0.0),
        }
    }

    /// Each for itself: on real file systems, where what disturbs one has no counterpart in the other.
    pub fn apart(firsts: Vec<f64>, seconds: Vec<f64>, better: Better) -> Repeated {
        Repeated {
            sides: Sides::Apart(firsts, seconds),
            better,
            errors: (0.0, 0.0),
        }
    }

    /// With what other files would change on either side, as a share of its speed.
    #[must_use]
    pub fn with_errors_of_files(self, errors: (f64, f64)) -> Repeated {
        Repeated { errors, ..self }
    }

    /// The first of one beside the first of another: pairs where both have pairs.
    pub fn firsts_of(one: &Repeated, other: &Repeated) -> Repeated {
        if let (Sides::InPairs(a), Sides::InPairs(b)) = (&one.sides, &other.sides) {
            let pairs = a.iter().zip(b).map(|(a, b)| (a.0, b.0));
            return Repeated::in_pairs(pairs.collect(), one.better);
        }
        Repeated::apart(one.firsts(), other.firsts(), one.better)
            .with_errors_of_files((one.errors.0, other.errors.0))
    }

    /// The second of one beside the second of another, in the same way.
    pub fn seconds_of(one: &Repeated, other: &Repeated) -> Repeated {
        Repeated::firsts_of(&one.turned(), &other.turned())
    }

    /// The second beside the first.
    fn turned(&self) -> Repeated {
        let sides = match &self.sides {
            Sides::InPairs(pairs) => Sides::InPairs(pairs.iter().map(|(a, b)| (*b, *a)).collect()),
            Sides::Apart(firsts, seconds) => Sides::Apart(seconds.clone(), firsts.clone()),
        };
        Repeated {
            sides,
            better: self.better,
            errors: (self.errors.1, self.errors.0),
        }
    }

    fn has_errors(&self) -> bool {
        self.errors != (0.0, 0.0)
    }

    fn count(&self) -> usize {
        match &self.sides {
            Sides::InPairs(pairs) => pairs.len(),
            Sides::Apart(a, b) => a.len().min(b.len()),
        }
    }

    /// Whether there is a ratio of it: both sides were repeated, and every speed is a positive number.
    pub fn has_ratio(&self) -> bool {
        let is_speed = |speed: &f64| speed.is_finite() && *speed > 0.0;
        let are_speeds = match &self.sides {
            Sides::InPairs(pairs) => pairs.iter().all(|(a, b)| is_speed(a) && is_speed(b)),
            Sides::Apart(a, b) => a.iter().chain(b).all(is_speed),
        };
        self.count() > 0 && are_speeds
    }

    /// Speeds of the first.
    fn firsts(&self) -> Vec<f64> {
        match &self.sides {
            Sides::InPairs(pairs) => pairs.iter().map(|pair| pair.0).collect(),
            Sides::Apart(firsts, _) => firsts.clone(),
        }
    }

    /// What other files would make of the ratio, drawn at random: a factor around 1.
    fn other_files(&self, rng: &mut Rng) -> f64 {
        let error = self.errors.0.hypot(self.errors.1);
        if error > 0.0 {
            (error * rng.normal()).exp()
        } else {
            1.0
        }
    }

    /// The ratio of the medians of repetitions, which `draw` chooses.
    fn ratio(&self, mut draw: impl FnMut(usize, usize) -> usize) -> f64 {
        let (mut a, mut b): (Vec<f64>, Vec<f64>) = match &self.sides {
            Sides::InPairs(pairs) => (0..pairs.len())
                .map(|place| pairs[draw(place, pairs.len())])
                .unzip(),
            Sides::Apart(a, b) => {
                let mut drawn = |of: &[f64]| -> Vec<f64> {
                    (0..of.len())
                        .map(|place| of[draw(place, of.len())])
                        .collect()
                };
                (drawn(a), drawn(b))
            }
        };
        match self.better {
            Better::Higher => median_of(&mut a) / median_of(&mut b),
            Better::Lower => {
                let inverse = |speeds: &mut [f64]| speeds.iter_mut().for_each(|s| *s = s.recip());
                inverse(&mut a);
                inverse(&mut b);
                median_of(&mut b) / median_of(&mut a)
            }
        }
    }
}

impl Ratio {
    /// Of repetitions of one or more cases, which weigh the same: see [`Ratio::weighed`].
    pub fn of(cases: &[Repeated]) -> Option<Ratio> {
        let cases: Vec<(&Repeated, f64)> = cases.iter().map(|case| (case, 1.0)).collect();
        Ratio::weighed(&cases)
    }

    /// Of repetitions of one or more cases, each with what it weighs in the geometric mean of their ratios; `None`
    /// where one has no repetition, or a speed that is no positive number.
    ///
    /// The interval holds the middle of 4000 ratios from repetitions drawn anew, with replacement (the percentile
    /// bootstrap: Efron and Tibshirani, "An Introduction to the Bootstrap", chapter 13). Pairs are drawn as pairs.
    /// Several cases, as sizes of files, are drawn each for itself. Where files are few and unlike, as on real file
    /// systems, each draw is multiplied by what other files would make of it.
    pub fn weighed(cases: &[(&Repeated, f64)]) -> Option<Ratio> {
        let count = cases.iter().map(|(case, _)| case.count()).min()?;
        if !cases.iter().all(|(case, _)| case.has_ratio()) {
            return None;
        }
        let weights: f64 = cases.iter().map(|(_, weight)| weight).sum();
        let over = |ratio_of: &mut dyn FnMut(&Repeated) -> f64| match cases {
            [(one, _)] => ratio_of(one),
            all => {
                let logs = all
                    .iter()
                    .map(|(case, weight)| weight * ratio_of(case).ln());
                (logs.sum::<f64>() / weights).exp()
            }
        };
        let median = over(&mut |case| case.ratio(|place, _| place));
        let mut rng = Rng::new(1).stream("ratio of medians", 0);
        let mut ends_of = |with_other_files: bool| {
            let mut drawn: Vec<f64> = (0..RESAMPLES)
                .map(|_| {
                    over(&mut |case| {
                        let ratio = case.ratio(|_, of| rng.below(of as u64) as usize);
                        if with_other_files {
                            ratio * case.other_files(&mut rng)
                        } else {
                            ratio
                        }
                    })
                })
                .collect();
            drawn.sort_unstable_by(f64::total_cmp);
            let outside = ((1.0 - CONFIDENCE) / 2.0 * RESAMPLES as f64) as usize;
            let (low, high) = (drawn[outside], drawn[RESAMPLES - 1 - outside]);
            (low.min(median), high.max(median))
        };
        let of_repetitions = ends_of(false);
        let (low, high) = if cases.iter().any(|(case, _)| case.has_errors()) {
            ends_of(true)
        } else {
            of_repetitions
        };
        let is_apart = cases
            .iter()
            .any(|(case, _)| matches!(case.sides, Sides::Apart(..)));
        Some(Ratio {
            count,
            median,
            low,
            high,
            confidence: CONFIDENCE,
            is_apart,
            of_repetitions,
        })
    }

    /// Whether repetitions decide it, and only what other files would change leaves it open.
    pub fn is_open_by_files(&self) -> bool {
        let (low, high) = self.of_repetitions;
        let of_repetitions = Ratio { low, high, ..*self };
        self.says() == Says::Inconclusive && of_repetitions.says() != Says::Inconclusive
    }

    /// What it says.
    pub fn says(&self) -> Says {
        if self.low.total_cmp(&1.0).is_eq() && self.high.total_cmp(&1.0).is_eq() {
            // Every repetition gave the same value on both sides: a count, or a size, which no chance disturbs.
            Says::Same
        } else if !self.is_enough() {
            Says::Inconclusive
        } else if self.is_apart && self.low <= 1.0 + STRETCHES && self.high >= 1.0 - STRETCHES {
            // With 1 inside.
            Says::of(self.median, (self.low.min(1.0), self.high.max(1.0)))
        } else {
            Says::of(self.median, (self.low, self.high))
        }
    }

    /// Whether there are enough repetitions to tell a difference from chance.
    fn is_enough(&self) -> bool {
        !self.is_apart || self.count >= LEAST_APART
    }

    /// Whether more repetitions would not say much more.
    pub fn is_narrow(&self) -> bool {
        let narrow = NARROW * self.median;
        self.is_enough() && self.median - self.low <= narrow && self.high - self.median <= narrow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(speeds: Vec<(f64, f64)>) -> Repeated {
        Repeated::in_pairs(speeds, Better::Higher)
    }

    fn apart(firsts: Vec<f64>, seconds: Vec<f64>) -> Repeated {
        Repeated::apart(firsts, seconds, Better::Higher)
    }

    fn ratio(case: Repeated) -> Ratio {
        Ratio::of(&[case]).expect("repetitions")
    }

    /// Speeds around `middle`, normally distributed with that share of it as standard deviation (Box and Muller).
    fn noisy(rng: &mut Rng, count: usize, middle: f64, share: f64) -> Vec<f64> {
        let draw = |_| {
            let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
            let normal = radius * (std::f64::consts::TAU * rng.unit()).cos();
            middle * (share * normal).exp()
        };
        (0..count).map(draw).collect()
    }

    /// By hand: medians 122.4 and 129.5 give 0.945, although the ratios of repetitions with the same number have the
    /// median 1.5.
    #[test]
    fn separate_repetitions_are_no_pairs() {
        let aged = vec![160.0, 122.4, 170.0, 80.0, 90.0];
        let control = vec![100.0, 60.0, 140.0, 129.5, 135.0];
        let ratio_apart = ratio(apart(aged, control));
        assert!((ratio_apart.median - 122.4 / 129.5).abs() < 1e-12);
        assert_eq!(
            (ratio_apart.count, ratio_apart.says()),
            (5, Says::Inconclusive)
        );
        assert!(
            ratio_apart.low < 0.8 && ratio_apart.high > 1.2,
            "{ratio_apart:?}"
        );
    }

    /// By hand: the interval of five values against five that are all 1 is that of the values.
    #[test]
    fn on_real_file_systems_a_difference_leaves_out_what_stretches_of_noise_make() {
        let says = |values: [f64; 5]| ratio(apart(values.to_vec(), vec![1.0; 5])).says();
        assert_eq!(says([1.015, 1.10, 1.10, 1.10, 1.16]), Says::Inconclusive);
        assert_eq!(says([1.025, 1.10, 1.10, 1.10, 1.16]), Says::Faster);
        assert_eq!(says([1.015, 1.02, 1.03, 1.03, 1.04]), Says::Same);
        assert_eq!(says([0.70, 0.80, 0.80, 0.80, 0.97]), Says::Slower);
        assert_eq!(says([0.70, 0.80, 0.80, 0.80, 0.985]), Says::Inconclusive);
        // In pairs nothing disturbs one side alone.
        let in_pairs = [1.015, 1.10, 1.10, 1.10, 1.16].map(|speed| (speed, 1.0));
        assert_eq!(ratio(paired(in_pairs.to_vec())).says(), Says::Faster);
    }

    /// By hand: a ratio of 1.2 in every repetition, and files that others would change by 0.15 on either side: 2.58
    /// times the root of 2 by 0.15 is 0.55, so that the interval goes from 0.7 to 2.1.
    #[test]
    fn files_that_lie_by_chance_leave_a_ratio_open_that_repetitions_decide() {
        let repeated = || apart(vec![1.2; 6], vec![1.0; 6]);
        let by_files = ratio(repeated().with_errors_of_files((0.15, 0.15)));
        assert!((0.6..0.8).contains(&by_files.low), "{by_files:?}");
        assert!((1.9..2.3).contains(&by_files.high), "{by_files:?}");
        assert_eq!(by_files.says(), Says::Inconclusive);
        assert!(by_files.is_open_by_files());
        let alike = ratio(repeated());
        assert_eq!(
            (alike.says(), alike.is_open_by_files()),
            (Says::Faster, false)
        );
        // Either side has its own, whichever is set beside which.
        let (a, b) = (repeated().with_errors_of_files((0.15, 0.0)), repeated());
        assert!(ratio(Repeated::firsts_of(&a, &b)).high > 1.3);
        assert!(ratio(Repeated::seconds_of(&a, &b)).high < 1.3);
    }

    /// By hand: 2/4, 3/6 and 5/10 are 0.5 each, whichever pairs are drawn.
    #[test]
    fn pairs_stay_together() {
        let pairs = vec![(2.0, 4.0), (3.0, 6.0), (5.0, 10.0)];
        let ratio_paired = ratio(paired(pairs));
        assert_eq!(
            (ratio_paired.low, ratio_paired.median, ratio_paired.high),
            (0.5, 0.5, 0.5)
        );
        assert_eq!(
            (ratio_paired.says(), ratio_paired.is_narrow()),
            (Says::Slower, true)
        );
    }

    /// By hand: two times each, the medians of which are 1.5 and 1.2 s. The inverses of the second pair, 1.67 and 0.56
    /// a second, have the median 1.11, beside 0.75 of 1 and 2 s: that would give 0.68.
    #[test]
    fn medians_of_times_are_those_that_count() {
        let speeds = |times: [f64; 2]| times.map(f64::recip).to_vec();
        let (aged, control) = (speeds([1.0, 2.0]), speeds([0.8, 1.6]));
        let times = ratio(Repeated::apart(aged, control, Better::Lower));
        assert!((times.median - 1.2 / 1.5).abs() < 1e-12, "{times:?}");
        let (aged, control) = (speeds([1.0, 2.0]), speeds([0.6, 1.8]));
        let times = ratio(Repeated::apart(aged, control, Better::Lower));
        assert!((times.median - 1.2 / 1.5).abs() < 1e-12, "{times:?}");
    }

    /// By hand: the cube root of 0.5 * 0.9 * 2.0 is 0.965489.
    #[test]
    fn cases_weigh_the_same() {
        let case = |a: f64, b: f64| paired(vec![(a, b); 4]);
        let over = Ratio::of(&[case(1.0, 2.0), case(9.0, 10.0), case(4.0, 2.0)]);
        let over = over.expect("repetitions");
        assert!((over.median - 0.965_489).abs() < 1e-6, "{over:?}");
        assert!((over.low - over.median).abs() < 1e-12, "{over:?}");
        // The third root of 0.5 by 2 by 2 is 1.259921.
        let weighed = Ratio::weighed(&[(&case(1.0, 2.0), 1.0), (&case(4.0, 2.0), 2.0)]);
        let weighed = weighed.expect("repetitions");
        assert!((weighed.median - 1.259_921).abs() < 1e-6, "{weighed:?}");
    }

    #[test]
    fn too_few_and_none_say_nothing() {
        let few = ratio(apart(vec![1.0; 4], vec![2.0; 4]));
        assert_eq!((few.median, few.says()), (0.5, Says::Inconclusive));
        assert!(!few.is_narrow());
        assert_eq!(Ratio::of(&[]), None);
        assert_eq!(Ratio::of(&[paired(Vec::new())]), None);
        assert_eq!(Ratio::of(&[apart(vec![1.0], vec![0.0])]), None);
    }

    /// Normal noise of 3 % and 15 %, eight repetitions each: the same file system is called faster or slower in at most
    /// 2 of 100 trials, and one that is a fifth slower is found in at least 90 of 100 where the noise is small.
    #[test]
    fn chance_is_seldom_taken_for_a_difference() {
        let mut rng = Rng::new(7);
        let mut says = |middle: f64, share: f64| {
            let mut claims = 0;
            for _ in 0..100 {
                let a = noisy(&mut rng, 8, middle, share);
                let b = noisy(&mut rng, 8, 100.0, share);
                let says = ratio(apart(a, b)).says();
                claims += usize::from(matches!(says, Says::Faster | Says::Slower));
            }
            claims
        };
        assert!(says(100.0, 0.03) <= 2);
        assert!(says(100.0, 0.15) <= 2);
        assert!(says(80.0, 0.03) >= 90);
    }

    /// As a command's count of files is: no repetition differs from any other.
    #[test]
    fn what_is_equal_in_every_repetition_is_the_same_however_few_there_are() {
        for count in [1, 2, 8] {
            let equal = ratio(apart(vec![7.0; count], vec![7.0; count]));
            assert_eq!(equal.says(), Says::Same, "{count}");
        }
        let differ = ratio(apart(vec![7.0, 7.0], vec![7.0, 7.5]));
        assert_eq!(differ.says(), Says::Inconclusive);
    }

    #[test]
    fn what_is_known_to_be_near_is_the_same() {
        let same = ratio(paired(vec![(100.5, 100.0); 3]));
        assert_eq!(same.says(), Says::Same);
        let same = ratio(paired(vec![(98.0, 100.0), (101.0, 100.0), (100.0, 100.0)]));
        assert_eq!(same.says(), Says::Same);
    }
}
