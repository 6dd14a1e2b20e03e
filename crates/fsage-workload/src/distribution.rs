//! Distributions of a profile, and the buckets in which a generator holds to them.

use crate::text_size;
use fsage_core::Rng;
use fsage_core::rng::AliasTable;
use serde::{Deserialize, Serialize};

/// Most rows of a table.
pub const MAX_ROWS: usize = 100;
/// Strata of equal probability that a bucket of a continuous distribution is drawn from.
const STRATA: usize = 16;

/// A distribution of sizes (bytes), ages or depths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Keys", into = "Keys")]
pub enum Distribution {
    /// Exactly these values, each with its weight. Ages: see [`Distribution::Points`].
    Table(Vec<(f64, f64)>),
    /// Up to each value, from the one before (the first from 0), with this weight, uniform in between.
    Points(Vec<(f64, f64)>),
    /// Log-normal.
    LogNormal {
        /// Median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Gamma.
    Gamma {
        /// Mean.
        mean: f64,
        /// Shape.
        shape: f64,
    },
    /// With probability `p` exponential with `mean1`, else with `mean2`.
    Hyperexponential {
        /// Probability of the first.
        p: f64,
        /// Mean of the first.
        mean1: f64,
        /// Mean of the second.
        mean2: f64,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Table,
    Points,
    LogNormal,
    Gamma,
    Hyperexponential,
}

/// A distribution as TOML has it: flat, so that an unknown key is found at its own line.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<(f64, f64)>>,
    #[serde(
        default,
        deserialize_with = "text_size::deserialize_number",
        skip_serializing_if = "Option::is_none"
    )]
    median: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sigma: Option<f64>,
    #[serde(
        default,
        deserialize_with = "text_size::deserialize_number",
        skip_serializing_if = "Option::is_none"
    )]
    mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p: Option<f64>,
    #[serde(
        default,
        deserialize_with = "text_size::deserialize_number",
        skip_serializing_if = "Option::is_none"
    )]
    mean1: Option<f64>,
    #[serde(
        default,
        deserialize_with = "text_size::deserialize_number",
        skip_serializing_if = "Option::is_none"
    )]
    mean2: Option<f64>,
}

impl Keys {
    fn of(kind: Kind) -> Keys {
        Keys {
            kind,
            rows: None,
            median: None,
            sigma: None,
            mean: None,
            shape: None,
            p: None,
            mean1: None,
            mean2: None,
        }
    }

    /// The keys that stand there, but for `rows`, with their values.
    fn numbers(&self) -> Vec<(&'static str, f64)> {
        let all = [
            ("median", self.median),
            ("sigma", self.sigma),
            ("mean", self.mean),
            ("shape", self.shape),
            ("p", self.p),
            ("mean1", self.mean1),
            ("mean2", self.mean2),
        ];
        all.into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }
}

impl TryFrom<Keys> for Distribution {
    type Error = String;

    fn try_from(keys: Keys) -> Result<Distribution, String> {
        let wanted: &[&str] = match keys.kind {
            Kind::Table | Kind::Points => &[],
            Kind::LogNormal => &["median", "sigma"],
            Kind::Gamma => &["mean", "shape"],
            Kind::Hyperexponential => &["p", "mean1", "mean2"],
        };
        let needs = if wanted.is_empty() {
            "rows".to_owned()
        } else {
            wanted.join(", ")
        };
        let wrong = || format!("a distribution of this kind has the keys: kind, {needs}");
        let numbers = keys.numbers();
        if numbers.iter().map(|n| n.0).ne(wanted.iter().copied())
            || keys.rows.is_some() != wanted.is_empty()
        {
            return Err(wrong());
        }
        for (key, value) in numbers {
            if !value.is_finite() || value <= 0.0 || value > 1e18 {
                return Err(format!("{key} = {value}: expected a number over 0"));
            }
        }
        let number = |value: Option<f64>| value.ok_or_else(wrong);
        let made = match keys.kind {
            Kind::Table => Distribution::Table(keys.rows.unwrap_or_default()),
            Kind::Points => Distribution::Points(keys.rows.unwrap_or_default()),
            Kind::LogNormal => Distribution::LogNormal {
                median: number(keys.median)?,
                sigma: number(keys.sigma)?,
            },
            Kind::Gamma => Distribution::Gamma {
                mean: number(keys.mean)?,
                shape: number(keys.shape)?,
            },
            Kind::Hyperexponential => Distribution::Hyperexponential {
                p: number(keys.p)?,
                mean1: number(keys.mean1)?,
                mean2: number(keys.mean2)?,
            },
        };
        made.check()?;
        Ok(made)
    }
}

impl From<Distribution> for Keys {
    fn from(distribution: Distribution) -> Keys {
        match distribution {
            Distribution::Table(rows) => Keys {
                rows: Some(rows),
                ..Keys::of(Kind::Table)
            },
            Distribution::Points(rows) => Keys {
                rows: Some(rows),
                ..Keys::of(Kind::Points)
            },
            Distribution::LogNormal { median, sigma } => Keys {
                median: Some(median),
                sigma: Some(sigma),
                ..Keys::of(Kind::LogNormal)
            },
            Distribution::Gamma { mean, shape } => Keys {
                mean: Some(mean),
                shape: Some(shape),
                ..Keys::of(Kind::Gamma)
            },
            Distribution::Hyperexponential { p, mean1, mean2 } => Keys {
                p: Some(p),
                mean1: Some(mean1),
                mean2: Some(mean2),
                ..Keys::of(Kind::Hyperexponential)
            },
        }
    }
}

/// A range of values with its share.
#[derive(Clone, Debug)]
struct Bucket {
    share: f64,
    /// Values between which all are equally likely; one value: exactly this.
    strata: Vec<f64>,
}

/// A distribution cut into ranges, from which values are drawn, and in which they are counted.
#[derive(Clone, Debug)]
pub struct Buckets {
    buckets: Vec<Bucket>,
    draw: AliasTable,
}

impl Distribution {
    /// Checks what may come from outside.
    ///
    /// # Errors
    /// Says what is wrong with which row or key.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Distribution::Table(rows) | Distribution::Points(rows) => check_rows(rows),
            Distribution::LogNormal { sigma, .. } if *sigma > 10.0 => {
                Err(format!("sigma = {sigma}: expected at most 10"))
            }
            Distribution::Gamma { shape, .. } if *shape > 100.0 => {
                Err(format!("shape = {shape}: expected at most 100"))
            }
            Distribution::Hyperexponential { p, .. } if *p > 1.0 => {
                Err(format!("p = {p}: expected a probability"))
            }
            _ => Ok(()),
        }
    }

    /// Share of the values that are at most `x`.
    pub fn at_most(&self, x: f64) -> f64 {
        if x < 0.0 {
            return 0.0;
        }
        match *self {
            Distribution::Table(ref rows) => {
                let total: f64 = rows.iter().map(|r| r.1).sum();
                rows.iter().filter(|r| r.0 <= x).map(|r| r.1).sum::<f64>() / total
            }
            Distribution::Points(ref rows) => {
                let total: f64 = rows.iter().map(|r| r.1).sum();
                let mut from = 0.0;
                let mut below = 0.0;
                for &(upto, weight) in rows {
                    if x >= upto {
                        below += weight;
                    } else if x > from {
                        below += weight * (x - from) / (upto - from);
                    }
                    from = upto;
                }
                below / total
            }
            Distribution::LogNormal { median, sigma } => {
                let z = libm::log(x / median) / sigma;
                0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
            }
            Distribution::Gamma { mean, shape } => gamma_at_most(shape, x * shape / mean),
            Distribution::Hyperexponential { p, mean1, mean2 } => {
                -p * libm::expm1(-x / mean1) - (1.0 - p) * libm::expm1(-x / mean2)
            }
        }
    }

    /// Mean of a table or of points; of the others as they are defined.
    pub fn mean(&self) -> f64 {
        match *self {
            Distribution::Table(ref rows) => {
                let total: f64 = rows.iter().map(|r| r.1).sum();
                rows.iter().map(|r| r.0 * r.1).sum::<f64>() / total
            }
            Distribution::Points(ref rows) => {
                let total: f64 = rows.iter().map(|r| r.1).sum();
                let from = std::iter::once(0.0).chain(rows.iter().map(|r| r.0));
                let sum: f64 = from
                    .zip(rows)
                    .map(|(a, r)| f64::midpoint(a, r.0) * r.1)
                    .sum();
                sum / total
            }
            Distribution::LogNormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
            Distribution::Gamma { mean, .. } => mean,
            Distribution::Hyperexponential { p, mean1, mean2 } => p * mean1 + (1.0 - p) * mean2,
        }
    }

    /// Cut into ranges, up to `largest`: a table by its values, points by theirs, the others at powers of two.
    /// What lies over `largest` is left out, and the rest takes its share.
    ///
    /// # Errors
    /// Nothing is at most `largest`.
    pub fn buckets(&self, largest: f64) -> Result<Buckets, String> {
        let mut buckets: Vec<Bucket> = match self {
            Distribution::Table(rows) => rows
                .iter()
                .filter(|r| r.0 <= largest)
                .map(|&(value, share)| Bucket {
                    share,
                    strata: vec![value],
                })
                .collect(),
            Distribution::Points(rows) => {
                let from = std::iter::once(0.0).chain(rows.iter().map(|r| r.0));
                from.zip(rows)
                    .filter(|(_, r)| r.0 <= largest)
                    .map(|(from, &(upto, share))| Bucket {
                        share,
                        strata: vec![from, upto],
                    })
                    .collect()
            }
            _ => self.by_powers_of_two(largest),
        };
        let total: f64 = buckets.iter().map(|b| b.share).sum();
        if total <= 0.0 {
            return Err(format!("no value with a weight is at most {largest}"));
        }
        for bucket in &mut buckets {
            bucket.share /= total;
        }
        let weights: Vec<u64> = buckets
            .iter()
            .map(|b| (b.share * f64::from(1 << 30)) as u64)
            .collect();
        Ok(Buckets {
            draw: AliasTable::new(&weights),
            buckets,
        })
    }

    fn by_powers_of_two(&self, largest: f64) -> Vec<Bucket> {
        /// Less than this is never met.
        const LEAST_SHARE: f64 = 1e-9;
        let mut buckets = Vec::new();
        let (mut lo, mut hi) = (0.0, 1.0_f64.min(largest));
        while lo < largest {
            let (below, upto) = (self.at_most(lo), self.at_most(hi));
            if upto - below > LEAST_SHARE {
                let at = |i: usize| below + (upto - below) * i as f64 / STRATA as f64;
                let inner = (1..STRATA).map(|i| self.quantile(at(i), lo, hi));
                let strata = std::iter::once(lo).chain(inner).chain([hi]).collect();
                buckets.push(Bucket {
                    share: upto - below,
                    strata,
                });
            }
            lo = hi;
            hi = (hi * 2.0).min(largest);
        }
        buckets
    }

    /// The value between `lo` and `hi` that a share of `below` is at most, by bisection.
    fn quantile(&self, below: f64, mut lo: f64, mut hi: f64) -> f64 {
        for _ in 0..40 {
            let mid = f64::midpoint(lo, hi);
            if self.at_most(mid) < below {
                lo = mid;
            } else {
                hi = mid;
            }
        }
        hi
    }
}

impl Buckets {
    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    /// Never: a distribution has a value.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Share of a range.
    pub fn share(&self, bucket: usize) -> f64 {
        self.buckets[bucket].share
    }

    /// Largest value of a range.
    pub fn upto(&self, bucket: usize) -> f64 {
        self.buckets[bucket].strata.last().copied().unwrap_or(0.0)
    }

    /// Smallest whole number in a range.
    pub fn from(&self, bucket: usize) -> u64 {
        match self.buckets[bucket].strata[..] {
            [value] => value as u64,
            [from, ..] => from as u64 + 1,
            [] => 0,
        }
    }

    /// The range that counts `value`: the first that reaches it, or the last.
    pub fn of(&self, value: u64) -> usize {
        let reached = self
            .buckets
            .partition_point(|b| (b.strata[b.strata.len() - 1] as u64) < value);
        reached.min(self.buckets.len() - 1)
    }

    /// Draws a range by its share.
    pub fn draw(&self, rng: &mut Rng) -> usize {
        self.draw.draw(rng)
    }

    /// Draws a whole number within a range; fractions are rounded up.
    pub fn draw_within(&self, bucket: usize, rng: &mut Rng) -> u64 {
        let strata = &self.buckets[bucket].strata;
        if let [value] = strata[..] {
            return value as u64;
        }
        let at = rng.unit() * (strata.len() - 1) as f64;
        let i = at as usize;
        let value = strata[i] + (strata[i + 1] - strata[i]) * (at - i as f64);
        (value.ceil() as u64).max(1)
    }

    /// Mean of `f` over the distribution, from the middles of its strata.
    pub fn mean_of(&self, f: impl Fn(f64) -> f64) -> f64 {
        let mean = |b: &Bucket| match b.strata[..] {
            [value] => f(value),
            ref strata => {
                let n = strata.len() - 1;
                let middles = strata.windows(2).map(|w| f(f64::midpoint(w[0], w[1])));
                middles.sum::<f64>() / n as f64
            }
        };
        self.buckets.iter().map(|b| b.share * mean(b)).sum()
    }
}

fn check_rows(rows: &[(f64, f64)]) -> Result<(), String> {
    if rows.is_empty() || rows.len() > MAX_ROWS {
        return Err(format!(
            "{} rows: expected 1 to {MAX_ROWS} of [value, weight]",
            rows.len()
        ));
    }
    let mut before = -1.0;
    for (i, &(value, weight)) in rows.iter().enumerate() {
        let row = i + 1;
        if !value.is_finite() || value <= before || value > 1e15 {
            return Err(format!(
                "row {row}: value {value}: expected a number of at least 0 and over that of the row before"
            ));
        }
        if !(0.0..=1e15).contains(&weight) {
            return Err(format!(
                "row {row}: weight {weight}: expected a number of at least 0"
            ));
        }
        before = value;
    }
    if rows.iter().all(|r| r.1 <= 0.0) {
        return Err("no row has a weight over 0".into());
    }
    Ok(())
}

/// The regularized incomplete gamma function P(a, x), by its series (Abramowitz and Stegun, 6.5.29).
fn gamma_at_most(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x > 100.0 + a + 40.0 * libm::sqrt(a) {
        return 1.0;
    }
    let mut term = 1.0;
    let mut sum = 1.0;
    let mut n = a;
    while term > sum * 1e-16 {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    let log = a * libm::log(x) - x - libm::lgamma(a + 1.0);
    (sum * libm::exp(log)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT_HYPER: Distribution = Distribution::Hyperexponential {
        p: 0.786,
        mean1: 2048.0,
        mean2: 90_692.0,
    };

    /// Ganger and Kaashoek 1997: 79 % under 8 KB, mean 21,018 B; docs/spec/workload.md, section 9.2.
    #[test]
    fn the_hyperexponential_fits_have_the_published_share_and_mean() {
        for (p, mean1, mean2) in [
            (0.786, 2048.0, 90_692.0),
            (0.773, 1500.0, 87_482.0),
            (0.832, 3000.0, 110_249.0),
        ] {
            let d = Distribution::Hyperexponential { p, mean1, mean2 };
            assert!((d.at_most(8192.0) - 0.790).abs() < 0.001, "{d:?}");
            assert!((d.mean() - 21_018.0).abs() < 50.0, "{}", d.mean());
        }
    }

    /// Values of the functions themselves: an erlang distribution in closed form, quartiles of the normal one.
    #[test]
    fn distribution_functions_have_known_values() {
        let erlang = Distribution::Gamma {
            mean: 2.0,
            shape: 2.0,
        };
        for x in [0.1, 1.0, 3.0, 20.0_f64] {
            let exact = 1.0 - (1.0 + x) * (-x).exp();
            assert!((erlang.at_most(x) - exact).abs() < 1e-12, "{x}");
        }
        let normal = Distribution::LogNormal {
            median: 100.0,
            sigma: 1.0,
        };
        assert!((normal.at_most(100.0) - 0.5).abs() < 1e-12);
        assert!((normal.at_most(100.0 * 0.674_489_75_f64.exp()) - 0.75).abs() < 1e-8);
        let points = Distribution::Points(vec![(10.0, 1.0), (30.0, 3.0)]);
        assert!((points.at_most(20.0) - 0.625).abs() < 1e-12);
        assert!((points.mean() - (5.0 + 3.0 * 20.0) / 4.0).abs() < 1e-12);
    }

    #[test]
    fn draws_follow_the_distribution_function() {
        let gamma = Distribution::Gamma {
            mean: 131_072.0,
            shape: 1.5,
        };
        for d in [DEFAULT_HYPER, gamma] {
            let buckets = d.buckets(1e9).unwrap();
            let mut rng = Rng::new(11);
            let n = 200_000;
            let mut values: Vec<u64> = (0..n)
                .map(|_| {
                    let b = buckets.draw(&mut rng);
                    buckets.draw_within(b, &mut rng)
                })
                .collect();
            let mean = values.iter().sum::<u64>() as f64 / f64::from(n);
            assert!((mean / d.mean() - 1.0).abs() < 0.02, "{mean}");
            assert!((buckets.mean_of(|v| v) / d.mean() - 1.0).abs() < 0.02);
            values.sort_unstable();
            for x in [500_u64, 2000, 8192, 50_000, 200_000] {
                let below = values.partition_point(|&v| v <= x) as f64 / f64::from(n);
                assert!((below - d.at_most(x as f64)).abs() < 0.005, "{x} {below}");
            }
        }
    }

    #[test]
    fn every_drawn_value_is_counted_in_its_own_bucket() {
        let table = Distribution::Table(vec![(0.0, 1.0), (8.0, 1.0), (4096.0, 2.0)]);
        let points = Distribution::Points(vec![(4096.0, 1.0), (8192.0, 1.0)]);
        for d in [DEFAULT_HYPER, table, points] {
            let buckets = d.buckets(1e7).unwrap();
            let mut rng = Rng::new(5);
            for b in 0..buckets.len() {
                for _ in 0..100 {
                    let value = buckets.draw_within(b, &mut rng);
                    assert_eq!(buckets.of(value), b, "{value}");
                    assert!(value >= buckets.from(b));
                }
            }
            assert_eq!(buckets.of(u64::MAX), buckets.len() - 1);
        }
    }
}
