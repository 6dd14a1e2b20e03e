//! Aged against control in one figure a phase: what a comparison says of a benchmark.

use super::report::{self, Line};
use super::results::{self, Row, State};
use crate::report::words::percent;
use fsage_bench::{Better, STRETCHES, Says};
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
    /// Throughput, aged over control: the ratio of their medians; over several sizes, the geometric mean of the
    /// ratios.
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

/// What a ratio says of what is aged, in words: `27 % slower`.
pub fn words(ratio: f64, (low, high): (f64, f64), says: Says) -> String {
    let change = percent((ratio - 1.0).abs());
    let way = if ratio < 1.0 { "slower" } else { "faster" };
    match says {
        Says::Same if low.total_cmp(&high).is_eq() => "the same".to_owned(),
        Says::Same => "as fast".to_owned(),
        Says::Slower => format!("{change} slower"),
        Says::Faster if ratio >= 9.95 => format!("{ratio:.0} times as fast"),
        Says::Faster if ratio >= 2.0 => format!("{ratio:.1} times as fast"),
        Says::Faster => format!("{change} faster"),
        Says::Inconclusive if are_too_few(low, high) => {
            format!("{change} {way} (too few runs to be sure)")
        }
        Says::Inconclusive => format!("inconclusive ({low:.2} to {high:.2} times as fast)"),
    }
}

/// Whether an interval that says nothing would say something, if it came from enough repetitions.
pub(crate) fn are_too_few(low: f64, high: f64) -> bool {
    low > 1.0 + STRETCHES || high < 1.0 - STRETCHES
}

/// The ratios of suites on the target of a folder, by suite, then by phase as they were run. A phase that was measured
/// in one state only has none.
///
/// # Errors
/// Results are there, and cannot be read.
pub fn ratios(folder: &Path, suites: &[String]) -> crate::Result<Vec<PhaseRatio>> {
    let mut ratios: Vec<PhaseRatio> = Vec::new();
    for suite in suites {
        ratios.extend(of_lines(
            suite,
            &report::lines(&results::read(folder, suite)?),
        ));
    }
    Ok(ratios)
}

/// One aged file system beside another, each by what benchmarks left in its folder: of a [`PhaseRatio`] the first is
/// the aged one, the second the control. A phase that only one of them has is not there.
///
/// # Errors
/// Results are there, and cannot be read.
pub fn between(suite: &str, one: &Path, other: &Path) -> crate::Result<Vec<PhaseRatio>> {
    let aged = |folder: &Path| -> crate::Result<Vec<Row>> {
        let mut rows = results::read(folder, suite)?;
        rows.retain(|row| row.state == State::Aged);
        Ok(rows)
    };
    Ok(between_rows(suite, aged(one)?, aged(other)?))
}

/// The same of measurements, whatever state each side is in.
pub fn between_rows(suite: &str, one: Vec<Row>, other: Vec<Row>) -> Vec<PhaseRatio> {
    // Repetitions on simulated disks are pairs, on two kinds of disks as well: nothing disturbs them but where the
    // spindle stands, of which a few are as good as many.
    let is_simulated = |rows: &[Row]| rows.first().is_some_and(|row| row.device.is_some());
    let are_alike = is_simulated(&one) && is_simulated(&other);
    let as_state = |rows: Vec<Row>, state| {
        rows.into_iter().map(move |row| Row {
            device: row.device.filter(|_| are_alike),
            state,
            ..row
        })
    };
    let rows: Vec<Row> = as_state(one, State::Aged)
        .chain(as_state(other, State::Control))
        .collect();
    of_lines(suite, &report::lines(&rows))
}

/// The ratios of phases, from the lines of a table.
pub(super) fn of_lines(suite: &str, lines: &[Line]) -> Vec<PhaseRatio> {
    let of_phases = lines.chunk_by(|a, b| a.phase == b.phase);
    let ratios = of_phases.filter_map(|of_phase| {
        let both: Vec<&Line> = of_phase.iter().filter(|line| line.has_ratio()).collect();
        let ratio = report::ratio_over(both.iter().copied())?;
        let first = both.first()?;
        Some(PhaseRatio {
            suite: suite.to_owned(),
            phase: first.phase.clone(),
            unit: first.unit_name().to_owned(),
            better: first.better(),
            aged: speed(&both, State::Aged),
            control: speed(&both, State::Control),
            aged_by_control: ratio.median,
            interval: [ratio.low, ratio.high],
            says: ratio.says(),
        })
    });
    ratios.collect()
}

/// The geometric mean of the medians of a state over sizes of files.
pub fn speed(lines: &[&Line], state: State) -> f64 {
    let speeds = lines.iter().flat_map(|line| line.speeds());
    let medians = speeds
        .filter(|(of, _)| *of == state)
        .map(|(_, summary)| summary.median);
    let (sum, count) = medians.fold((0.0, 0), |(sum, count), median| {
        (sum + median.ln(), count + 1)
    });
    (sum / f64::from(count)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_few_runs_no_interval_is_shown() {
        let said = |low, high| words(1.04, (low, high), Says::Inconclusive);
        assert_eq!(said(1.04, 1.04), "4 % faster (too few runs to be sure)");
        // What stretches of noise make is not for a lack of runs.
        assert_eq!(
            said(1.01, 1.12),
            "inconclusive (1.01 to 1.12 times as fast)"
        );
        assert_eq!(
            said(0.97, 1.12),
            "inconclusive (0.97 to 1.12 times as fast)"
        );
    }
}
