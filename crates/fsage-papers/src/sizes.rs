//! What the sequential benchmark gives on one file system: throughput and layout by size of file, and what can be said
//! of such curves.

use super::figure::{Curve, Point};
use fsage_bench::{Measurement, Summary};
use std::collections::BTreeMap;

/// Throughput in MB/s (10^6 bytes) and layout of the files of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AtSize {
    /// Creating them.
    pub create: Option<Summary>,
    /// Reading them.
    pub read: Option<Summary>,
    /// Their layout score.
    pub layout: Option<f64>,
}

/// One file system by size of file, in bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sizes(pub BTreeMap<u64, AtSize>);

/// What a curve shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Throughput of creating.
    Create,
    /// Throughput of reading.
    Read,
    /// Layout score.
    Layout,
}

impl What {
    /// The work that is timed.
    pub fn verb(self) -> &'static str {
        match self {
            What::Create => "write",
            What::Read => "read",
            What::Layout => "layout",
        }
    }
}

impl Sizes {
    /// From the measurements of the sequential benchmark.
    pub fn of(measurements: &[Measurement]) -> Sizes {
        let mut rates: BTreeMap<(u64, &str), Vec<f64>> = BTreeMap::new();
        let mut sizes = Sizes::default();
        for m in measurements {
            let (Some(bytes), Some(rate)) = (m.file_bytes, m.throughput()) else {
                continue;
            };
            rates.entry((bytes, &m.phase)).or_default().push(rate / 1e6);
            let at = sizes.0.entry(bytes).or_default();
            at.layout = m.layout_score().or(at.layout);
        }
        for ((bytes, phase), rates) in rates {
            let at = sizes.0.entry(bytes).or_default();
            match phase {
                "create" => at.create = Summary::of(&rates),
                "read" => at.read = Summary::of(&rates),
                _ => {}
            }
        }
        sizes
    }

    /// What was measured at a size.
    pub fn at(&self, what: What, bytes: u64) -> Option<f64> {
        let at = self.0.get(&bytes)?;
        match what {
            What::Create => at.create.map(|s| s.mean),
            What::Read => at.read.map(|s| s.mean),
            What::Layout => at.layout,
        }
    }

    /// All points, ascending by size.
    pub fn all(&self, what: What) -> Vec<(u64, f64)> {
        let sizes = self.0.keys();
        sizes
            .filter_map(|&bytes| Some((bytes, self.at(what, bytes)?)))
            .collect()
    }

    /// A curve of it.
    pub fn curve(&self, name: impl Into<String>, what: What) -> Curve {
        let points = self.0.iter().filter_map(|(&bytes, at)| {
            let (y, deviation) = match what {
                What::Create => at.create.map(|s| (s.mean, s.standard_deviation))?,
                What::Read => at.read.map(|s| (s.mean, s.standard_deviation))?,
                What::Layout => (at.layout?, None),
            };
            Some(Point {
                x: bytes as f64,
                y,
                deviation,
            })
        });
        Curve {
            name: name.into(),
            points: points.collect(),
        }
    }

    /// One size as a multiple of another.
    pub fn step(&self, what: What, from: u64, to: u64) -> Option<f64> {
        Some(self.at(what, to)? / self.at(what, from)?)
    }
}

/// `one` as a multiple of `other`, at every size that both have.
pub fn ratios(one: &Sizes, other: &Sizes, what: What) -> Vec<(u64, f64)> {
    let points = one.all(what).into_iter();
    points
        .filter_map(|(bytes, y)| Some((bytes, y / other.at(what, bytes)?)))
        .collect()
}

/// The size at which a ratio is the largest; the first of several.
pub fn largest(ratios: &[(u64, f64)]) -> Option<(u64, f64)> {
    let mut largest: Option<(u64, f64)> = None;
    for &(bytes, ratio) in ratios {
        if largest.is_none_or(|(_, most)| ratio > most) {
            largest = Some((bytes, ratio));
        }
    }
    largest
}

/// Mean over some sizes; `None` where there are none.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect();
    Summary::of(&values).map(|summary| summary.mean)
}

/// The ratio at a size.
pub fn at(ratios: &[(u64, f64)], bytes: u64) -> Option<f64> {
    ratios.iter().find(|p| p.0 == bytes).map(|p| p.1)
}

/// A ratio as a change: `+58 %`.
pub fn change(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const KB: u64 = 1 << 10;

    /// Sizes in KB with throughputs of creating and reading, and a layout score.
    pub(crate) fn sizes(rows: &[(u64, f64, f64, f64)]) -> Sizes {
        let sample = |rate: f64| Summary::of(&[rate]);
        let rows = rows.iter().map(|&(kb, create, read, layout)| {
            let at = AtSize {
                create: sample(create),
                read: sample(read),
                layout: Some(layout),
            };
            (kb * KB, at)
        });
        Sizes(rows.collect())
    }

    fn measurement(phase: &str, kb: u64, elapsed_ns: u64) -> Measurement {
        Measurement {
            benchmark: "sequential".into(),
            phase: phase.into(),
            file_bytes: Some(kb * KB),
            repetition: 0,
            files: 1,
            bytes: 1_000_000,
            elapsed_ns,
            optimal: (phase == "create").then_some(3),
            countable: (phase == "create").then_some(4),
            ..Measurement::default()
        }
    }

    #[test]
    fn repetitions_of_a_phase_become_one_point() {
        let all = [
            measurement("create", 16, 500_000_000),
            measurement("create", 16, 250_000_000),
            measurement("read", 16, 1_000_000_000),
            measurement("create", 104, 1_000_000_000),
        ];
        let sizes = Sizes::of(&all);
        // 1 MB in 0.5 and 0.25 s: 2 and 4 MB/s, whose deviation is the root of 2.
        let create = sizes.0[&(16 * KB)].create.unwrap();
        assert!((create.mean - 3.0).abs() < 1e-12);
        assert!((create.standard_deviation.unwrap() - 2_f64.sqrt()).abs() < 1e-12);
        assert_eq!(sizes.at(What::Read, 16 * KB), Some(1.0));
        assert_eq!(sizes.at(What::Layout, 16 * KB), Some(0.75));
        assert_eq!(sizes.at(What::Read, 104 * KB), None);
        assert_eq!(sizes.curve("c", What::Create).points.len(), 2);
    }

    #[test]
    fn ratios_are_of_sizes_that_both_have() {
        let one = sizes(&[
            (16, 2.0, 3.0, 1.0),
            (96, 4.0, 6.0, 1.0),
            (104, 2.0, 3.0, 1.0),
        ]);
        let other = sizes(&[(16, 2.0, 3.0, 1.0), (96, 2.0, 4.0, 1.0)]);
        let read = ratios(&one, &other, What::Read);
        assert_eq!(read, [(16 * KB, 1.0), (96 * KB, 1.5)]);
        assert_eq!(largest(&read), Some((96 * KB, 1.5)));
        assert_eq!(largest(&[]), None);
        assert_eq!(one.step(What::Create, 96 * KB, 104 * KB), Some(0.5));
        assert_eq!(mean([1.0, 3.0]), Some(2.0));
        assert_eq!(mean([]), None);
    }

    #[test]
    fn changes_are_readable() {
        assert_eq!(change(1.58), "+58.0 %");
        assert_eq!(change(0.67), "-33.0 %");
    }
}
