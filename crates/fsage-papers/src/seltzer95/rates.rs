//! What benchmarks give on one file system: throughput, files a second and work of the processor, by phase and size.

use crate::figure::{Curve, Point};
use fsage_bench::{Measurement, Summary};
use std::collections::BTreeMap;

/// A phase at one size of files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Bytes a second, in MB/s (10^6).
    pub megabytes: Option<Summary>,
    /// Files a second.
    pub files: Option<Summary>,
    /// Share of the time in which the processor worked.
    pub cpu: Option<f64>,
}

/// Phases by their names and the size of files in bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates(BTreeMap<(String, u64), Rate>);

/// What a curve shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// MB/s.
    Megabytes,
    /// Files a second.
    Files,
}

impl Rate {
    fn of(repetitions: &[&Measurement]) -> Rate {
        let all = |value: &dyn Fn(&Measurement) -> Option<f64>| -> Vec<f64> {
            repetitions.iter().filter_map(|m| value(m)).collect()
        };
        let cpu = all(&|m| Some(m.cpu_ns? as f64 / m.elapsed_ns.max(1) as f64));
        Rate {
            megabytes: Summary::of(&all(&|m| m.throughput().map(|rate| rate / 1e6))),
            files: Summary::of(&all(&Measurement::file_rate)),
            cpu: Summary::of(&cpu).map(|summary| summary.mean),
        }
    }

    fn summary(&self, unit: Unit) -> Option<Summary> {
        match unit {
            Unit::Megabytes => self.megabytes,
            Unit::Files => self.files,
        }
    }
}

impl Rates {
    /// From the measurements of one file system.
    pub fn of(measurements: &[Measurement]) -> Rates {
        let mut phases: BTreeMap<(String, u64), Vec<&Measurement>> = BTreeMap::new();
        for m in measurements {
            let bytes = m.file_bytes.unwrap_or_default();
            phases.entry((m.phase.clone(), bytes)).or_default().push(m);
        }
        let rates = phases.into_iter().map(|(at, all)| (at, Rate::of(&all)));
        Rates(rates.collect())
    }

    /// A phase at a size.
    pub fn at(&self, phase: &str, bytes: u64) -> Option<&Rate> {
        self.0.get(&(phase.to_owned(), bytes))
    }

    /// The mean of a phase at a size.
    pub fn mean(&self, unit: Unit, phase: &str, bytes: u64) -> Option<f64> {
        Some(self.at(phase, bytes)?.summary(unit)?.mean)
    }

    /// All sizes of a phase with their means, ascending.
    pub fn all(&self, unit: Unit, phase: &str) -> Vec<(u64, f64)> {
        let of_phase = self.0.iter().filter(|((name, _), _)| name == phase);
        of_phase
            .filter_map(|((_, bytes), rate)| Some((*bytes, rate.summary(unit)?.mean)))
            .collect()
    }

    /// A phase over the size of files.
    pub fn curve(&self, name: &str, unit: Unit, phase: &str) -> Curve {
        let of_phase = self.0.iter().filter(|((known, _), _)| known == phase);
        let points = of_phase.filter_map(|((_, bytes), rate)| {
            let summary = rate.summary(unit)?;
            Some(Point {
                x: *bytes as f64,
                y: summary.mean,
                deviation: summary.standard_deviation,
            })
        });
        Curve {
            name: name.to_owned(),
            points: points.collect(),
        }
    }
}

/// `one` as a multiple of `other`.
pub fn over(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one? / other?)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const KB: u64 = 1 << 10;

    /// Rates of phases at sizes in KB, in MB/s and files a second alike.
    pub(crate) fn rates(rows: &[(&str, u64, f64)]) -> Rates {
        let rows = rows.iter().map(|&(phase, kb, rate)| {
            let rate = Rate {
                megabytes: Summary::of(&[rate]),
                files: Summary::of(&[rate]),
                cpu: Some(0.5),
            };
            ((phase.to_owned(), kb * KB), rate)
        });
        Rates(rows.collect())
    }

    #[test]
    fn repetitions_become_one_rate() {
        let measurement = |repetition, elapsed_ns| Measurement {
            benchmark: "b".into(),
            phase: "create".into(),
            file_bytes: Some(KB),
            repetition,
            files: 10,
            bytes: 1_000_000,
            elapsed_ns,
            cpu_ns: Some(100_000_000),
            ..Measurement::default()
        };
        let rates = Rates::of(&[measurement(0, 500_000_000), measurement(1, 250_000_000)]);
        // 1 MB and ten files in half and in a quarter of a second; a tenth of a second of work.
        let mean = |unit| rates.mean(unit, "create", KB).unwrap();
        assert!((mean(Unit::Megabytes) - 3.0).abs() < 1e-12);
        assert!((mean(Unit::Files) - 30.0).abs() < 1e-12);
        assert!((rates.at("create", KB).unwrap().cpu.unwrap() - 0.3).abs() < 1e-12);
        assert_eq!(rates.all(Unit::Files, "create").len(), 1);
        assert_eq!(rates.all(Unit::Files, "read"), []);
        let curve = rates.curve("c", Unit::Megabytes, "create");
        assert!(curve.points[0].deviation.is_some());
        assert_eq!(over(Some(3.0), Some(2.0)), Some(1.5));
        assert_eq!(over(None, Some(2.0)), None);
    }
}
