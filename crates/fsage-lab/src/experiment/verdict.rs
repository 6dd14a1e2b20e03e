//! What a run says of its targets, in a few figures each.

use super::beside;
use crate::after;
use crate::benching::{self, PhaseRatio, digits as speed_digits};
use crate::days::{self, DayRow};
use crate::life::Life;
use crate::report::names;
use crate::report::verdict::premise::of_preset;
use crate::run_folder::Manifest;
use crate::table::{self, digits};
use comfy_table::Table;
use fsage_metrics::{free_space, layout_score, pieces};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// What one life of a preset cannot say, and what can.
const OF_PRESET: &str = "This is one life; of a preset `--seeds 5` lives five, and gives ratios 95 % intervals \
                         over them.";
/// What is said of another life.
const ONE_LIFE: &str = "This is one life.";

/// A target of a run, from the first day to the benchmarks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdict {
    /// What it lived through.
    #[serde(skip)]
    pub life: Life,
    /// Whether that is one of a preset, which has others.
    #[serde(skip)]
    pub is_of_preset: bool,
    /// Its specification.
    pub target: String,
    /// Days.
    pub days: u64,
    /// Operations, those skipped included.
    pub operations: u64,
    /// Operations that were not done.
    pub skipped: u64,
    /// Share of the data space that was taken at the end of the fullest day.
    pub utilization_most: Option<f64>,
    /// Extents of 1 MiB that it has room for in the end; `None` where free space is not known.
    pub placeable_1m: Option<f64>,
    /// Layout score at the end of the first day; `None` where no block is scored, here and below.
    pub layout_first_day: Option<f64>,
    /// Layout score at the end.
    pub layout_end: Option<f64>,
    /// How far it moved from the end of the first day to the end of the last: below 0 where it decayed. `None` of a
    /// single day.
    pub layout_change: Option<f64>,
    /// Layout score of the unaged control.
    pub layout_control: Option<f64>,
    /// The layout score at the end as a multiple of that of the control.
    pub layout_ratio: Option<f64>,
    /// Pieces per file at the end.
    #[serde(skip)]
    pub pieces_per_file: Option<f64>,
    /// Blocks that the layout score counts, to a byte of the files.
    #[serde(skip)]
    pub scored_per_byte: Option<f64>,
    /// Throughput of the aged file system as a multiple of that of the control.
    pub throughput: Vec<PhaseRatio>,
    /// The metrics at the end that are compared life by life: layout score, pieces per file, runs of free space, room
    /// for 1 MiB.
    #[serde(skip)]
    pub ends: [Option<f64>; beside::METRICS.len()],
    /// What treatments made of it, if any were.
    #[serde(skip)]
    pub after: Option<after::Outcome>,
}

impl Verdict {
    /// Reads what a complete run and its benchmarks say of each target.
    ///
    /// # Errors
    /// The run, or its results, cannot be read.
    pub fn of_run(run: &Path, suites: &[String]) -> crate::Result<Vec<Verdict>> {
        let manifest = Manifest::read(run)?;
        let life = Life::of(Some(&manifest.workload), run);
        let generator = manifest.workload.generator.as_deref();
        let is_of_preset = generator.and_then(of_preset).is_some();
        let targets = manifest.targets.iter().map(|target| {
            let folder = run.join(&target.folder);
            let rows = days::read(&folder.join("days.parquet"))?;
            let last = rows.last().cloned().unwrap_or_default();
            Ok(Verdict {
                life: life.clone(),
                is_of_preset,
                target: target.spec.clone(),
                days: days::calendar(&rows)
                    .last()
                    .copied()
                    .unwrap_or(0)
                    .max(target.days),
                operations: target.operations,
                skipped: target.skipped,
                utilization_most: days::fullest(&rows),
                placeable_1m: last.value(&free_space::PLACEABLE_1M),
                layout_first_day: rows.first().and_then(DayRow::score),
                layout_end: last.score(),
                layout_change: layout_change(&rows),
                layout_control: last.of_control(&layout_score::SCORE),
                layout_ratio: last.ratio(&layout_score::SCORE),
                pieces_per_file: last.value(&pieces::PER_FILE),
                scored_per_byte: last.scored_per_byte(),
                throughput: benching::ratios(&folder, suites)?,
                ends: beside::METRICS.map(|metric| last.value(metric)),
                after: after::read(&folder)?,
            })
        });
        targets.collect()
    }
}

/// How far the layout score moved from the end of the first day to the end of the last.
fn layout_change(rows: &[DayRow]) -> Option<f64> {
    let (first, last) = (rows.first()?, rows.last()?);
    if rows.len() < 2 {
        return None;
    }
    Some(last.score()? - first.score()?)
}

/// Suites and phases, each once, in their order.
pub fn phases<'a>(of: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    let mut phases = Vec::new();
    for phase in of {
        if !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    phases
}

/// An empty table: columns with these titles, and the layout.
pub fn table(titles: &[&str]) -> Table {
    let layout = [
        "layout\nend",
        "change\nsince day 1",
        "layout\naged / control",
    ];
    table::table(&titles.iter().copied().chain(layout).collect::<Vec<_>>())
}

/// A row a target with its layout; then, of each benchmark, a row a target, the fastest aged one first.
///
/// # Errors
/// `out` fails.
pub fn print_table(out: &mut impl Write, verdicts: &[Verdict]) -> io::Result<()> {
    let specs: Vec<&str> = verdicts.iter().map(|v| v.target.as_str()).collect();
    let (names, legend) = names::in_tables(&specs);
    let named = |(verdict, target): (&Verdict, String)| Verdict {
        target,
        ..verdict.clone()
    };
    let verdicts: Vec<Verdict> = verdicts.iter().zip(names).map(named).collect();
    let mut table = table(&["target", "days", "skipped"]);
    for verdict in &verdicts {
        table.add_row(vec![
            verdict.target.clone(),
            verdict.days.to_string(),
            verdict.skipped.to_string(),
            digits(verdict.layout_end),
            verdict
                .layout_change
                .map_or_else(|| "-".to_owned(), |change| format!("{change:+.3}")),
            digits(verdict.layout_ratio),
        ]);
    }
    writeln!(out, "{table}")?;
    for line in legend {
        writeln!(out, " {line}")?;
    }
    let of_all = verdicts.iter().flat_map(|verdict| &verdict.throughput);
    let phases = phases(of_all.map(PhaseRatio::of));
    if phases.is_empty() {
        return Ok(());
    }
    let mut benchmarks = table::table(&[
        "benchmark",
        "target",
        "aged",
        "control",
        "unit",
        "aged / control",
    ]);
    table::align_left(&mut benchmarks, &[1, 4]);
    let mut is_any_spread = false;
    for phase in phases {
        let of_phase = verdicts.iter().filter_map(|verdict| {
            let ratio = verdict
                .throughput
                .iter()
                .find(|ratio| ratio.of() == phase)?;
            Some((verdict.target.as_str(), ratio))
        });
        let mut of_phase: Vec<(&str, &PhaseRatio)> = of_phase.collect();
        of_phase.sort_by(|(_, a), (_, b)| a.better.order(a.aged, b.aged));
        for (place, (target, ratio)) in of_phase.into_iter().enumerate() {
            let ratio_text = benching::with_ends(ratio.aged_by_control, ratio.interval.into());
            is_any_spread |= ratio_text.contains('(');
            benchmarks.add_row(vec![
                if place == 0 {
                    format!("{} {}", phase.0, phase.1)
                } else {
                    String::new()
                },
                target.to_owned(),
                speed_digits(ratio.aged),
                speed_digits(ratio.control),
                ratio.unit.clone(),
                ratio_text,
            ]);
        }
    }
    writeln!(out, "\n{benchmarks}")?;
    let spread = if is_any_spread {
        "In brackets: the 99 % interval; where it holds 1, or of fewer than five repetitions, nothing is claimed."
    } else {
        "Repetitions agree."
    };
    let is_of_preset = verdicts.iter().any(|verdict| verdict.is_of_preset);
    let one_life = if is_of_preset { OF_PRESET } else { ONE_LIFE };
    let sentence = format!(
        "Speeds are medians, over several file sizes their geometric mean (the first sentence of the verdict weighs \
         sizes as the workload has them); the fastest aged target comes first. Below 1 the aged file system is the \
         slower one. {spread} {one_life}"
    );
    writeln!(out, "\n{}", table::wrapped(&sentence, "", ""))
}
