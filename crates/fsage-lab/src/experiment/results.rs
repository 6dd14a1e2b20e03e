//! What an experiment says: a row for each workload on each target, over all seeds and repetitions.

use super::cells::run_folder;
use super::manifest::{Cell, Manifest, State};
use super::verdict::{self, Verdict, phases};
use crate::benching::PhaseRatio;
use fsage_bench::Summary;
use serde::Serialize;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

/// A workload on a target.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Name of the workload, with what is varied beside it and the target: see [`Cell::life`].
    workload: String,
    /// Specification of the target.
    target: String,
    /// Complete cells: seeds and repetitions.
    cells: usize,
    /// Cells that failed.
    failed: usize,
    /// Cells that were not run yet.
    missing: usize,
    /// Operations that were not done, in all cells together.
    skipped: u64,
    /// Layout score at the end.
    layout_end: Option<Mean>,
    /// Its change since the end of the first day.
    layout_change: Option<Mean>,
    /// The layout score as a multiple of that of the control.
    layout_ratio: Option<Mean>,
    /// Throughput of the aged file system as a multiple of that of the control.
    throughput: Vec<PhaseMean>,
}

/// A mean over cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Mean {
    mean: f64,
    /// Where the mean of all seeds lies with a confidence of 0.95, by Student's t; none of a single cell.
    interval: Option<(f64, f64)>,
}

#[derive(Debug, Serialize)]
struct PhaseMean {
    suite: String,
    phase: String,
    #[serde(flatten)]
    aged_by_control: Mean,
}

impl Mean {
    fn of(values: impl Iterator<Item = f64>) -> Option<Mean> {
        let summary = Summary::of(&values.collect::<Vec<f64>>())?;
        let interval = summary.mean_interval();
        Some(Mean {
            mean: summary.mean,
            interval: interval.map(|interval| (interval.low, interval.high)),
        })
    }

    fn shown(mean: Option<&Mean>) -> String {
        match mean {
            Some(Mean {
                mean,
                interval: Some((low, high)),
            }) => format!("{mean:.3} ± {:.3}", (high - low) / 2.0),
            Some(Mean { mean, .. }) => format!("{mean:.3}"),
            None => "-".to_owned(),
        }
    }
}

impl Row {
    /// What to warn of, where operations were not done.
    pub fn left_out(&self) -> Option<String> {
        (self.skipped > 0).then(|| {
            format!(
                "{} on {}: {} operations were not done in {} cells; the metric `skipped` has them by cell",
                self.workload, self.target, self.skipped, self.cells
            )
        })
    }
}

/// The rows of an experiment, in the order of its cells.
///
/// # Errors
/// Results of a cell are there, and cannot be read.
pub fn rows(experiment: &Path, manifest: &Manifest) -> crate::Result<Vec<Row>> {
    let mut pairs: Vec<(String, &str)> = Vec::new();
    let mut cells_of: HashMap<(String, &str), Vec<&Cell>> = HashMap::new();
    for cell in &manifest.cells {
        let pair = (cell.life(), cell.target.as_str());
        let cells = cells_of.entry(pair.clone()).or_default();
        if cells.is_empty() {
            pairs.push(pair);
        }
        cells.push(cell);
    }
    let rows = pairs.into_iter().map(|pair| {
        let of_pair = || cells_of[&pair].iter().copied();
        let count = |state| of_pair().filter(|cell| cell.state == state).count();
        let mut verdicts = Vec::new();
        for cell in of_pair().filter(|cell| cell.state == State::Complete) {
            verdicts.extend(Verdict::of_run(
                &run_folder(experiment, &cell.id),
                &manifest.suites,
            )?);
        }
        let ratios = || verdicts.iter().flat_map(|verdict| &verdict.throughput);
        let throughput = phases(ratios().map(PhaseRatio::of));
        let throughput = throughput.into_iter().filter_map(|(suite, phase)| {
            let of_phase = ratios().filter(|ratio| ratio.of() == (suite, phase));
            Some(PhaseMean {
                suite: suite.to_owned(),
                phase: phase.to_owned(),
                aged_by_control: Mean::of(
                    of_phase.map(|ratio: &PhaseRatio| ratio.aged_by_control),
                )?,
            })
        });
        let throughput = throughput.collect();
        Ok(Row {
            workload: pair.0.clone(),
            target: pair.1.to_owned(),
            cells: verdicts.len(),
            failed: count(State::Failed),
            missing: count(State::Missing),
            skipped: verdicts.iter().map(|verdict| verdict.skipped).sum(),
            layout_end: Mean::of(verdicts.iter().filter_map(|v| v.layout_end)),
            layout_change: Mean::of(verdicts.iter().filter_map(|v| v.layout_change)),
            layout_ratio: Mean::of(verdicts.iter().filter_map(|v| v.layout_ratio)),
            throughput,
        })
    });
    rows.collect()
}

/// Prints a table of them.
///
/// # Errors
/// `out` fails.
pub fn print_table(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let of_all = rows.iter().flat_map(|row| &row.throughput);
    let phases = phases(of_all.map(|mean| (mean.suite.as_str(), mean.phase.as_str())));
    let mut table = verdict::table(&["workload", "target", "cells", "skipped"], &phases);
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for row in rows {
        let planned = row.cells + row.failed + row.missing;
        let mut cells = vec![
            row.workload.clone(),
            row.target.clone(),
            if planned == row.cells {
                planned.to_string()
            } else {
                format!("{} of {planned}", row.cells)
            },
            row.skipped.to_string(),
            Mean::shown(row.layout_end.as_ref()),
            Mean::shown(row.layout_change.as_ref()),
            Mean::shown(row.layout_ratio.as_ref()),
        ];
        for (suite, phase) in &phases {
            let mut means = row.throughput.iter();
            let mean = means.find(|mean| mean.suite == *suite && mean.phase == *phase);
            cells.push(Mean::shown(mean.map(|mean| &mean.aged_by_control)));
        }
        table.add_row(cells);
    }
    writeln!(out, "{table}")?;
    if rows.iter().any(|row| row.cells > 1) {
        writeln!(
            out,
            "\nMeans over the cells of a row, of skipped the sum; ± is half the 95 % interval of the mean \
             (Student's t)."
        )?;
    }
    verdict::print_note(out, &phases)
}
