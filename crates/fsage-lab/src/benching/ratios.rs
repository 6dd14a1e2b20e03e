//! Aged against control in one figure a phase: what a comparison says of a benchmark.

use super::report::{self, Line};
use super::results;
use fsage_bench::{Better, Says};
use serde::Serialize;
use std::path::Path;

/// How fast the aged file system is in a phase, beside its control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseRatio {
    /// The suite.
    pub suite: String,
    /// The phase.
    pub phase: String,
    /// What the values are counted in: `MB/s` or `files/s`; of a command what was said.
    pub unit: String,
    /// Which of two values is the better one.
    pub better: Better,
    /// Speed of the aged file system: the median of the repetitions; over several sizes of files, the geometric mean of
    /// their medians.
    pub aged: f64,
    /// Speed of the control, in the same way.
    pub control: f64,
    /// Throughput, aged over control: the ratio of their medians; over several sizes, the median of the ratios.
    pub aged_by_control: f64,
    /// Where that ratio lies with a confidence of 0.99.
    pub interval: [f64; 2],
    /// What it says of the aged file system.
    pub says: Says,
}

impl PhaseRatio {
    /// The suite and the phase that it is of.
    pub fn of(&self) -> (&str, &str) {
        (&self.suite, &self.phase)
    }
}

/// The ratios of suites on the target of a folder, by suite, then by phase as they were run. A phase that was measured
/// in one state only has none.
///
/// # Errors
/// Results are there, and cannot be read.
pub fn ratios(folder: &Path, suites: &[String]) -> crate::Result<Vec<PhaseRatio>> {
    let mut ratios: Vec<PhaseRatio> = Vec::new();
    for suite in suites {
        let lines = report::lines(&results::read(folder, suite)?);
        for of_phase in lines.chunk_by(|a, b| a.phase == b.phase) {
            let both: Vec<&Line> = of_phase.iter().filter(|line| line.has_ratio()).collect();
            let (Some(first), Some(ratio)) =
                (both.first(), report::ratio_over(both.iter().copied()))
            else {
                continue;
            };
            ratios.push(PhaseRatio {
                suite: suite.clone(),
                phase: first.phase.clone(),
                unit: first.unit_name().to_owned(),
                better: first.better(),
                aged: speed(&both, results::State::Aged),
                control: speed(&both, results::State::Control),
                aged_by_control: ratio.median,
                interval: [ratio.low, ratio.high],
                says: ratio.says(),
            });
        }
    }
    Ok(ratios)
}

/// The geometric mean of the medians of a state over sizes of files.
pub fn speed(lines: &[&Line], state: results::State) -> f64 {
    let speeds = lines.iter().flat_map(|line| line.speeds());
    let medians = speeds
        .filter(|(of, _)| *of == state)
        .map(|(_, summary)| summary.median);
    let (sum, count) = medians.fold((0.0, 0), |(sum, count), median| {
        (sum + median.ln(), count + 1)
    });
    (sum / f64::from(count)).exp()
}
