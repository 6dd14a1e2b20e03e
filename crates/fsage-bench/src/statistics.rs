//! What repeated measurements say: their middle, their spread, and how well the middle is known.

use serde::Serialize;

/// The confidence that an interval of the median must reach.
const CONFIDENCE: f64 = 0.95;

/// The quantile 0.975 of Student's t with 1, 2, 3, ... degrees of freedom. Source: its closed form, Abramowitz and
/// Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4.
const STUDENT_T: [f64; 30] = [
    12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004,
    2.262_157, 2.228_139, 2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905,
    2.109_816, 2.100_922, 2.093_024, 2.085_963, 2.079_614, 2.073_873, 2.068_658, 2.063_899,
    2.059_539, 2.055_529, 2.051_831, 2.048_407, 2.045_230, 2.042_272,
];

/// The same with any number of degrees, 1 or more; from 31 on by the expansion 26.7.5 of that book.
fn student_t(freedom: usize) -> f64 {
    /// The quantile of the normal distribution.
    const Z: f64 = 1.959_964;
    STUDENT_T.get(freedom - 1).copied().unwrap_or_else(|| {
        let n = freedom as f64;
        let second = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
        let third = (3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z) / 384.0;
        Z + (Z.powi(3) + Z) / 4.0 / n + second / n.powi(2) + third / n.powi(3)
    })
}

/// Values of repeated measurements in short.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many there are, at least 1.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the population that they are a sample of (divisor n - 1); `None` for a single value.
    pub standard_deviation: Option<f64>,
    /// The middle value, or the mean of the two middle ones.
    pub median: f64,
    /// Where the median of the population lies; `None` for fewer than six values.
    pub median_interval: Option<Interval>,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// Where a value lies with some confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The confidence, at least 0.95.
    pub confidence: f64,
}

impl Summary {
    /// Sums up values; `None` if there are none, or one is no number.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        if sorted.iter().any(|value| value.is_nan()) {
            return None;
        }
        let count = sorted.len();
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Summary {
            count,
            mean,
            standard_deviation: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            median: middle_of(&sorted),
            median_interval: median_ranks(count).map(|(rank, confidence)| Interval {
                low: sorted[rank - 1],
                high: sorted[count - rank],
                confidence,
            }),
            min,
            max,
        })
    }

    /// Standard deviation as a share of the mean, as the papers state it; `None` for a single value or a mean of 0.
    pub fn variation(&self) -> Option<f64> {
        (self.mean != 0.0)
            .then_some(self.standard_deviation)?
            .map(|deviation| deviation / self.mean.abs())
    }

    /// Where the mean of the population lies with a confidence of 0.95, if its values are normally distributed:
    /// Student's interval. `None` for a single value.
    pub fn mean_interval(&self) -> Option<Interval> {
        let freedom = self.count.checked_sub(1).filter(|&n| n > 0)?;
        let half = student_t(freedom) * self.standard_deviation? / (self.count as f64).sqrt();
        Some(Interval {
            low: self.mean - half,
            high: self.mean + half,
            confidence: CONFIDENCE,
        })
    }

    /// Where the mean of this population less that of another one lies with a confidence of 0.95, if the values of both
    /// are normally distributed and nothing pairs them: Welch's interval, its degrees of freedom (Welch 1947) rounded
    /// down. `None` where one is a single value.
    pub fn difference_interval(&self, other: &Summary) -> Option<Interval> {
        let of_mean = |of: &Summary| Some(of.standard_deviation?.powi(2) / of.count as f64);
        let (a, b) = (of_mean(self)?, of_mean(other)?);
        let degrees = (self.count - 1, other.count - 1);
        let parts = a.powi(2) / degrees.0 as f64 + b.powi(2) / degrees.1 as f64;
        // Of values that are all alike there is no such number, and the interval is a point. A whole number stays one.
        let freedom = ((a + b).powi(2) / parts + 1e-9).max(1.0) as usize;
        let half = student_t(freedom) * (a + b).sqrt();
        let difference = self.mean - other.mean;
        Some(Interval {
            low: difference - half,
            high: difference + half,
            confidence: CONFIDENCE,
        })
    }

    /// Distance from the smallest to the largest value.
    pub fn spread(&self) -> f64 {
        self.max - self.min
    }
}

/// The median of values, of which there is at least one; sorts them.
pub fn median_of(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    middle_of(values)
}

/// The middle one of sorted values, or the mean of the two middle ones.
fn middle_of(sorted: &[f64]) -> f64 {
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

/// The interval of the median by order statistics: the largest rank r, from 1, so that the median lies between the
/// r-th smallest and the r-th largest of `count` values with a confidence of at least 0.95, and that confidence.
/// `None` for fewer than six values: even from the smallest to the largest it is less (0.9375 for five).
///
/// Each value lies below the median with probability 1/2, so that the number of those that do is binomial; the median
/// lies outside when fewer than r do, or more than count - r. No distribution is assumed (Conover, "Practical
/// Nonparametric Statistics", section 3.2).
pub fn median_ranks(count: usize) -> Option<(usize, f64)> {
    // Binomial coefficients in proportion to the middle one, so that no size overflows.
    let middle = count / 2;
    let mut coefficients = vec![1.0; middle + 1];
    for k in (0..middle).rev() {
        coefficients[k] = coefficients[k + 1] * (k + 1) as f64 / (count - k) as f64;
    }
    let half: f64 = coefficients.iter().sum();
    // An even count has a middle coefficient of its own; otherwise both halves are alike.
    let all = if count.is_multiple_of(2) {
        2.0 * half - 1.0
    } else {
        2.0 * half
    };
    let mut outside = 0.0;
    let mut best = None;
    for (k, coefficient) in coefficients.iter().enumerate() {
        outside += 2.0 * coefficient / all;
        let confidence = 1.0 - outside;
        if confidence < CONFIDENCE {
            break;
        }
        best = Some((k + 1, confidence));
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_the_median_are_those_of_the_binomial_table() {
        // By hand: with n fair coins, P(B < r) = (C(n,0) + ... + C(n,r-1)) / 2^n, and the confidence is 1 - 2 P.
        let table = [
            (6, 1, 1.0 - 2.0 * 1.0 / 64.0),
            (7, 1, 1.0 - 2.0 * 1.0 / 128.0),
            (8, 1, 1.0 - 2.0 * 1.0 / 256.0),
            (9, 2, 1.0 - 2.0 * (1.0 + 9.0) / 512.0),
            (10, 2, 1.0 - 2.0 * (1.0 + 10.0) / 1024.0),
            (11, 2, 1.0 - 2.0 * (1.0 + 11.0) / 2048.0),
            (12, 3, 1.0 - 2.0 * (1.0 + 12.0 + 66.0) / 4096.0),
            (15, 4, 1.0 - 2.0 * (1.0 + 15.0 + 105.0 + 455.0) / 32768.0),
            (
                20,
                6,
                1.0 - 2.0 * (1.0 + 20.0 + 190.0 + 1140.0 + 4845.0 + 15504.0) / 1_048_576.0,
            ),
        ];
        for (count, rank, confidence) in table {
            let (r, c) = median_ranks(count).expect("six values or more");
            assert_eq!(r, rank, "{count} values");
            assert!((c - confidence).abs() < 1e-12, "{count} values: {c}");
        }
        // 1 - 2/2^5 = 0.9375.
        for count in 0..6 {
            assert_eq!(median_ranks(count), None, "{count} values");
        }
    }

    /// By hand: 1, 2, 3 and 4, 8, 12 have variances 1 and 16, of their means 1/3 and 16/3; degrees of freedom
    /// (17/3)^2 / ((1/9 + 256/9) / 2) = 2.249, so 2: half is 4.302653 * sqrt(17/3) = 10.242416.
    #[test]
    fn the_interval_of_a_difference_is_that_of_welch() {
        let of = |values: &[f64]| Summary::of(values).expect("values");
        let (few, far) = (of(&[1.0, 2.0, 3.0]), of(&[4.0, 8.0, 12.0]));
        let found = far.difference_interval(&few).expect("an interval");
        assert!((found.low - (6.0 - 10.242_416)).abs() < 1e-4, "{found:?}");
        assert!((found.high - (6.0 + 10.242_416)).abs() < 1e-4, "{found:?}");
        let alike = of(&[2.0, 2.0]);
        let point = alike.difference_interval(&alike).expect("an interval");
        assert_eq!((point.low, point.high), (0.0, 0.0));
        assert_eq!(few.difference_interval(&of(&[1.0])), None);
    }

    #[test]
    fn many_degrees_of_freedom_come_near_the_normal_distribution() {
        // By the closed form.
        for (freedom, expected) in [
            (30, 2.042_272),
            (40, 2.021_075),
            (60, 2.000_298),
            (120, 1.979_930),
        ] {
            assert!((student_t(freedom) - expected).abs() < 5e-6, "{freedom}");
        }
    }

    /// By hand: 1, 2, 3 have mean 2 and standard deviation 1; t with two degrees of freedom is 4.302653, and
    /// 4.302653 / sqrt(3) is 2.4841. Darwin's differences of 15 plants (Fisher, "The Design of Experiments", section
    /// 16, in eighths of an inch) have the mean 20.933 and the interval 0.03 to 41.84.
    #[test]
    fn the_interval_of_a_mean_is_that_of_student() {
        let interval = |values: &[f64]| {
            let summary = Summary::of(values).expect("values");
            summary.mean_interval().map(|i| (i.low, i.high))
        };
        let close = |found: Option<(f64, f64)>, low: f64, high: f64, within: f64| {
            let (l, h) = found.expect("an interval");
            assert!(
                (l - low).abs() < within && (h - high).abs() < within,
                "{l} {h}"
            );
        };
        close(interval(&[1.0, 2.0, 3.0]), -0.4841, 4.4841, 1e-4);
        let darwin = [
            49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0,
            -48.0,
        ];
        close(interval(&darwin), 0.03, 41.84, 0.01);
        assert_eq!(interval(&[5.0]), None);
    }

    #[test]
    fn many_values_have_the_rank_of_the_normal_approximation() {
        // Conover: r = n/2 - 1.96 sqrt(n)/2, rounded; 500 - 30.99 = 469.01 and 50,000 - 309.9 = 49,690.1.
        for (count, rank) in [(1000, 469), (100_000, 49_690)] {
            let (r, confidence) = median_ranks(count).expect("many values");
            assert!(r.abs_diff(rank) <= 1, "{count} values: {r}");
            assert!((0.95..0.955).contains(&confidence), "{confidence}");
        }
    }

    #[test]
    fn a_summary_is_what_one_computes_by_hand() {
        // 2 4 4 4 5 5 7 9: mean 5, squares 9+1+1+1+0+0+4+16 = 32, so the deviation is sqrt(32/7).
        let summary = Summary::of(&[9.0, 4.0, 2.0, 5.0, 4.0, 7.0, 5.0, 4.0]).expect("eight values");
        assert_eq!(summary.count, 8);
        assert_eq!((summary.mean, summary.median), (5.0, 4.5));
        assert_eq!(
            (summary.min, summary.max, summary.spread()),
            (2.0, 9.0, 7.0)
        );
        let deviation = summary.standard_deviation.expect("more than one value");
        assert!((deviation * deviation - 32.0 / 7.0).abs() < 1e-12);
        assert!((summary.variation().expect("a mean") - deviation / 5.0).abs() < 1e-12);
        let interval = summary.median_interval.expect("six values or more");
        assert_eq!((interval.low, interval.high), (2.0, 9.0));
    }

    #[test]
    fn the_interval_leaves_out_outliers_where_there_are_enough_values() {
        let values = [1.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 99.0];
        let summary = Summary::of(&values).expect("ten values");
        let interval = summary.median_interval.expect("ten values");
        assert_eq!((interval.low, interval.high), (10.0, 17.0));
        assert_eq!(
            (summary.median, summary.min, summary.max),
            (13.5, 1.0, 99.0)
        );
    }

    #[test]
    fn few_values_and_none_have_no_more_than_they_say() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
        let one = Summary::of(&[3.0]).expect("a value");
        assert_eq!((one.standard_deviation, one.median_interval), (None, None));
        assert_eq!((one.median, one.variation()), (3.0, None));
    }
}
