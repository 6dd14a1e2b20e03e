//! Aged against control in one figure a phase: what a comparison says of a benchmark.

use super::{report, results};
use fsage_bench::Summary;
use serde::Serialize;
use std::path::Path;

/// How fast the aged file system is in a phase, beside its control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The suite.
    pub suite: String,
    /// The phase.
    pub phase: String,
    /// Throughput, aged over control: the median of the repetitions, and of these the median over the sizes of files.
    pub aged_by_control: f64,
}

impl Ratio {
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
pub fn ratios(folder: &Path, suites: &[String]) -> crate::Result<Vec<Ratio>> {
    let mut ratios: Vec<Ratio> = Vec::new();
    for suite in suites {
        let lines = report::lines(&results::read(folder, suite)?);
        for of_phase in lines.chunk_by(|a, b| a.phase == b.phase) {
            let medians = of_phase.iter().filter_map(|line| Some(line.ratio?.median));
            let over_sizes = Summary::of(&medians.collect::<Vec<f64>>());
            ratios.extend(over_sizes.map(|summary| Ratio {
                suite: suite.clone(),
                phase: of_phase[0].phase.clone(),
                aged_by_control: summary.median,
            }));
        }
    }
    Ok(ratios)
}
