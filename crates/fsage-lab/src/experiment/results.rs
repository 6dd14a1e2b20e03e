//! What an experiment says: a row for each workload on each target, over all seeds and repetitions.

use super::beside::{self, Beside, LEAST};
use super::cells::run_folder;
use super::manifest::{Cell, Manifest, State};
use super::treated::{self, StageMean};
use super::verdict::{self, Verdict, phases};
use crate::bases;
use crate::benching::{PhaseRatio, digits as speed_digits};
use crate::fullness;
use crate::life::{self, Life};
use crate::report::names;
use crate::report::words::counted;
use crate::table;
use fsage_bench::{Better, Summary};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};
use std::path::Path;

/// A workload on a target.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Name of the workload, with what is varied beside it and the target: see [`Cell::life`].
    workload: String,
    /// Specification of the target.
    target: String,
    /// What tables call it: short where specifications are long.
    #[serde(skip)]
    named: String,
    /// Complete cells: seeds and repetitions.
    cells: usize,
    /// Lives among them: repetitions of a workload are one.
    lives: usize,
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
    /// Specification of the target that it is compared with; none of the first of a workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    /// What tables call that.
    #[serde(skip)]
    base_named: Option<String>,
    /// Whether that is the first target of the workload.
    #[serde(skip)]
    is_beside_first: bool,
    /// The aged file system in benchmarks: itself, beside the control, and beside its base.
    throughput: Vec<PhaseMean>,
    /// How layouts differ from those of its base, life by life.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beside: Vec<Beside>,
    /// Whether its layout scores do not compare with those of its base.
    #[serde(skip)]
    has_unlike_blocks: bool,
    /// Before and after each treatment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<StageMean>,
    /// What it is a mean of: what each complete cell says, by its id.
    #[serde(skip)]
    verdicts: Vec<(String, Verdict)>,
}

/// A mean over lives, each counted once; of a single life over its repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Mean {
    pub mean: f64,
    /// Where the mean of all lives lies with a confidence of 0.95, by Student's t; none of a single value.
    pub interval: Option<(f64, f64)>,
}

#[derive(Debug, Serialize)]
struct PhaseMean {
    suite: String,
    phase: String,
    /// What the values are counted in.
    unit: String,
    better: Better,
    /// As a multiple of the control.
    #[serde(flatten)]
    aged_by_control: Mean,
    /// The value itself.
    aged: Mean,
    /// As a multiple of its aged base, of the lives that both lived; none of the first target.
    #[serde(skip_serializing_if = "Option::is_none")]
    aged_by_base: Option<Mean>,
    /// The same of both controls: what the difference was before age.
    #[serde(skip_serializing_if = "Option::is_none")]
    control_by_base: Option<Mean>,
}

impl Mean {
    pub fn of(values: &[f64]) -> Option<Mean> {
        let summary = Summary::of(values)?;
        let interval = summary.mean_interval();
        Some(Mean {
            mean: summary.mean,
            interval: interval.map(|interval| (interval.low, interval.high)),
        })
    }

    /// Of values of lives.
    pub fn over(values: impl IntoIterator<Item = (Life, f64)>) -> Option<Mean> {
        Mean::of(&life::independent(values))
    }

    /// The same of what cannot be negative: an interval that would be says only that lives differ too much.
    pub fn shown_ratio(mean: Option<&Mean>) -> String {
        match mean {
            Some(Mean {
                mean,
                interval: Some((low, _)),
            }) if *low <= 0.0 => format!("{mean:.3} (open)"),
            mean => Mean::shown(mean),
        }
    }

    pub fn shown(mean: Option<&Mean>) -> String {
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
    /// Before and after each treatment.
    pub(super) fn after(&self) -> &[StageMean] {
        &self.after
    }

    /// What tables call the target that it is compared with; none of the first.
    pub(super) fn base(&self) -> Option<&str> {
        self.base_named.as_deref()
    }

    /// How layouts differ from those of its base.
    pub(super) fn beside(&self) -> &[Beside] {
        &self.beside
    }

    /// Whether its layout scores do not compare with those of its base, having blocks of another size.
    pub(super) fn has_unlike_blocks(&self) -> bool {
        self.has_unlike_blocks
    }

    /// Name of the workload, with what is varied beside it and the target.
    pub(super) fn workload(&self) -> &str {
        &self.workload
    }

    /// Specification of the target.
    pub(super) fn target(&self) -> &str {
        &self.target
    }

    /// What tables call the target.
    pub(super) fn named(&self) -> &str {
        &self.named
    }

    /// How many lives it is a mean of.
    pub(super) fn lives(&self) -> usize {
        self.lives
    }

    /// What each complete cell says, by its id.
    pub(super) fn verdicts(&self) -> &[(String, Verdict)] {
        &self.verdicts
    }

    /// What it is called beside others.
    pub(super) fn name(&self) -> String {
        format!("{} on {}", self.workload, self.named)
    }

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
    let verdicts = pairs.iter().map(|pair| {
        let mut verdicts = Vec::new();
        let complete = cells_of[pair].iter();
        for cell in complete.filter(|cell| cell.state == State::Complete) {
            let run = run_folder(experiment, &cell.id);
            let of_run = Verdict::of_run(&run, &manifest.suites)?;
            let of_cell = of_run.into_iter();
            verdicts.extend(of_cell.map(|verdict| (cell.id.clone(), verdict)));
        }
        Ok(verdicts)
    });
    let verdicts = verdicts.collect::<crate::Result<Vec<Vec<(String, Verdict)>>>>()?;
    let targets: Vec<&str> = pairs.iter().map(|(_, target)| *target).collect();
    let (names, _) = names::in_tables(&targets);
    let mut of_workloads: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, (workload, _)) in pairs.iter().enumerate() {
        of_workloads.entry(workload).or_default().push(place);
    }
    // The places of the base and of the first target.
    let mut base_of: Vec<Option<(usize, usize)>> = vec![None; pairs.len()];
    for places in of_workloads.values() {
        let targets: Vec<&str> = places.iter().map(|&place| targets[place]).collect();
        for (&place, base) in places.iter().zip(bases::of(&targets)) {
            base_of[place] = base.map(|base| (places[base], places[0]));
        }
    }
    let rows = pairs.iter().zip(&verdicts).enumerate();
    let rows = rows.map(|(place, (pair, verdicts_of))| {
        let count = |state| {
            let of_pair = cells_of[pair].iter();
            of_pair.filter(|cell| cell.state == state).count()
        };
        let base = base_of[place];
        let of_base = base.map(|(base, _)| of_cells(&verdicts[base]));
        let of_row = of_cells(verdicts_of);
        let of_all = |value: fn(&Verdict) -> Option<f64>| Mean::over(values(&of_row, value));
        let lives: HashSet<&Life> = of_row.iter().map(|verdict| &verdict.life).collect();
        Row {
            workload: pair.0.clone(),
            target: pair.1.to_owned(),
            named: names[place].clone(),
            cells: of_row.len(),
            lives: lives.len(),
            failed: count(State::Failed),
            missing: count(State::Missing),
            skipped: of_row.iter().map(|verdict| verdict.skipped).sum(),
            layout_end: of_all(|verdict| verdict.layout_end),
            layout_change: of_all(|verdict| verdict.layout_change),
            layout_ratio: of_all(|verdict| verdict.layout_ratio),
            base: base.map(|(base, _)| targets[base].to_owned()),
            base_named: base.map(|(base, _)| names[base].clone()),
            is_beside_first: base.is_none_or(|(base, first)| base == first),
            throughput: throughput(&of_row, of_base.as_deref()),
            has_unlike_blocks: of_base
                .as_ref()
                .is_some_and(|base| beside::blocks_are_unlike(of_row.iter().chain(base).copied())),
            beside: of_base.map_or_else(Vec::new, |base| beside::of(&of_row, &base)),
            after: treated::stages(
                of_row
                    .iter()
                    .filter_map(|verdict| Some((&verdict.life, verdict.after.as_ref()?))),
            ),
            verdicts: verdicts_of.clone(),
        }
    });
    Ok(rows.collect())
}

/// That cells which are not done leave a target with too few lives; `None` where it has enough, or was
/// never to have them.
pub fn too_few(name: &str, lives: usize, not_done: usize) -> Option<String> {
    (lives < LEAST && lives + not_done >= LEAST).then(|| {
        let lives = match lives {
            1 => "1 life".to_owned(),
            lives => format!("{lives} lives"),
        };
        let cells = counted(not_done as u64, "cell");
        format!(
            "Too few runs of {name}: {lives}, and {LEAST} or more tell a difference from chance; {cells} failed or did \
             not run."
        )
    })
}

/// The verdicts of cells.
fn of_cells(cells: &[(String, Verdict)]) -> Vec<&Verdict> {
    cells.iter().map(|(_, verdict)| verdict).collect()
}

/// A value with its life, of every verdict that has it.
pub(super) fn values<'a>(
    verdicts: &'a [&Verdict],
    value: impl Fn(&Verdict) -> Option<f64> + 'a,
) -> impl Iterator<Item = (Life, f64)> + 'a {
    let verdicts = verdicts.iter();
    verdicts.filter_map(move |verdict| Some((verdict.life.clone(), value(verdict)?)))
}

/// The benchmarks of a target over its lives.
fn throughput(of: &[&Verdict], base: Option<&[&Verdict]>) -> Vec<PhaseMean> {
    let ratios = || of.iter().flat_map(|verdict| &verdict.throughput);
    let means = phases(ratios().map(PhaseRatio::of)).into_iter();
    let means = means.filter_map(|phase| {
        let one = ratios().find(|ratio| ratio.of() == phase)?;
        let in_phase = |verdict: &Verdict, value: fn(&PhaseRatio) -> f64| {
            let mut ratios = verdict.throughput.iter();
            ratios.find(|ratio| ratio.of() == phase).map(value)
        };
        let by_base = |value: fn(&PhaseRatio) -> f64| {
            let value = |verdict: &Verdict| in_phase(verdict, value);
            let pairs = life::pairs(values(of, value), values(base?, value));
            let ratios = pairs.iter().map(|(of, than)| of / than);
            Mean::of(&ratios.collect::<Vec<f64>>())
        };
        let aged = |verdict: &Verdict| in_phase(verdict, |ratio| ratio.aged);
        Some(PhaseMean {
            suite: phase.0.to_owned(),
            phase: phase.1.to_owned(),
            unit: one.unit.clone(),
            better: one.better,
            aged: Mean::over(values(of, aged))?,
            aged_by_control: Mean::over(values(of, |verdict| {
                in_phase(verdict, |ratio| ratio.aged_by_control)
            }))?,
            aged_by_base: by_base(|ratio| ratio.aged),
            control_by_base: by_base(|ratio| ratio.control),
        })
    });
    means.collect()
}

/// Prints a row a workload and target; then, of each benchmark, a row a workload and target.
///
/// # Errors
/// `out` fails.
pub fn print_table(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let mut table = verdict::table(&["workload", "target", "cells", "skipped"]);
    table::align_left(&mut table, &[1]);
    for row in rows {
        let planned = row.cells + row.failed + row.missing;
        table.add_row(vec![
            row.workload.clone(),
            row.named.clone(),
            if planned == row.cells {
                planned.to_string()
            } else {
                format!("{} of {planned}", row.cells)
            },
            row.skipped.to_string(),
            Mean::shown(row.layout_end.as_ref()),
            Mean::shown(row.layout_change.as_ref()),
            Mean::shown(row.layout_ratio.as_ref()),
        ]);
    }
    writeln!(out, "{table}")?;
    let targets: Vec<&str> = rows.iter().map(|row| row.target.as_str()).collect();
    for line in names::in_tables(&targets).1 {
        writeln!(out, " {line}")?;
    }
    if !come_in_sizes(rows) {
        beside::print(out, rows)?;
    }
    let is_one_workload = rows.iter().all(|row| row.workload == rows[0].workload);
    let few = rows.iter().filter_map(|row| {
        let name = if is_one_workload {
            row.named.clone()
        } else {
            row.name()
        };
        too_few(&name, row.lives, row.failed + row.missing)
    });
    let few: Vec<String> = few.collect();
    if !few.is_empty() {
        writeln!(out, "\n{}", table::wrapped(&few.join(" "), "", ""))?;
        writeln!(
            out,
            "`fsage run EXP/experiment.toml -o EXP` runs what is not done."
        )?;
    }
    let is_benchmarked = print_benchmarks(out, rows)?;
    treated::print(out, rows)?;
    if rows.iter().any(|row| row.cells > 1) {
        writeln!(
            out,
            "\nMeans over the lives of a row, each counted once, of skipped the sum; ± is half the 95 % interval of \
             the mean (Student's t).\n`fsage results EXP --csv means` has every metric."
        )?;
    }
    if rows.iter().any(|row| row.cells > 1 && row.lives == 1) {
        writeln!(
            out,
            "Where a row repeats one life, ± says how much the machine varies, not how much another life would differ."
        )?;
    }
    if is_benchmarked {
        writeln!(
            out,
            "Speeds: below 1 of the control the aged file system is the slower one; by another target, both are aged, \
             or both fresh\ncopies, of the same lives, in pairs. Sizes of files weigh the same here, and in the \
             first\nsentence of a verdict as the workload has them."
        )?;
    }
    Ok(())
}

/// Whether the targets of a workload are compared by how full they are, and not with the first of them.
fn come_in_sizes(rows: &[Row]) -> bool {
    let mut of_workloads = rows.chunk_by(|a, b| a.workload == b.workload);
    of_workloads.any(|rows| fullness::are_sizes(rows.iter().map(|row| row.target.as_str())))
}

/// Whether every target is compared with the first of its workload.
pub(super) fn are_beside_first(rows: &[Row]) -> bool {
    rows.iter().all(|row| row.is_beside_first)
}

/// The benchmarks, if there are any.
fn print_benchmarks(out: &mut impl Write, rows: &[Row]) -> io::Result<bool> {
    let of_all = rows.iter().flat_map(|row| &row.throughput);
    let phases = phases(of_all.map(|mean| (mean.suite.as_str(), mean.phase.as_str())));
    if phases.is_empty() {
        return Ok(false);
    }
    // What all rows have in common is not said in each.
    let is_one_workload = rows.iter().all(|row| row.workload == rows[0].workload);
    let base = if !are_beside_first(rows) {
        "its base"
    } else if is_one_workload {
        rows[0].named.as_str()
    } else {
        "first target"
    };
    let mut means = rows.iter().flat_map(|row| &row.throughput);
    let is_any = means.any(|mean| mean.aged_by_base.is_some());
    let has_base = is_any && !come_in_sizes(rows);
    let beside = ["aged", "fresh"].map(|state| format!("{state}, by\n{base}"));
    let beside = beside.iter().map(String::as_str).filter(|_| has_base);
    let titles = ["benchmark"].into_iter();
    let titles = titles.chain((!is_one_workload).then_some("workload"));
    let titles = titles.chain(["target", "aged", "unit", "aged / control"]);
    let titles: Vec<&str> = titles.chain(beside).collect();
    let mut table = table::table(&titles);
    let texts = ["workload", "target", "unit"];
    let texts = (0..titles.len()).filter(|&place| texts.contains(&titles[place]));
    table::align_left(&mut table, &texts.collect::<Vec<_>>());
    for (suite, phase) in phases {
        let mut name = format!("{suite} {phase}");
        for row in rows {
            let mut means = row.throughput.iter();
            let Some(mean) = means.find(|mean| mean.suite == suite && mean.phase == phase) else {
                continue;
            };
            let cells = [std::mem::take(&mut name)].into_iter();
            let cells = cells.chain((!is_one_workload).then(|| row.workload.clone()));
            let cells = cells.chain([
                row.named.clone(),
                speed_digits(mean.aged.mean),
                mean.unit.clone(),
                Mean::shown_ratio(Some(&mean.aged_by_control)),
            ]);
            let beside = [&mean.aged_by_base, &mean.control_by_base];
            let beside = beside.into_iter().filter(|_| has_base);
            let beside = beside.map(|mean| Mean::shown_ratio(mean.as_ref()));
            table.add_row(cells.chain(beside).collect::<Vec<String>>());
        }
    }
    writeln!(out, "\n{table}")?;
    if has_base && !are_beside_first(rows) {
        let mut bases: Vec<String> = Vec::new();
        for row in rows {
            let base = row.base().map(|base| format!("{} by {base}", row.named));
            bases.extend(base.filter(|base| !bases.contains(base)));
        }
        let bases = format!("By its base: {}.", bases.join(", "));
        writeln!(out, "{}", table::wrapped(&bases, "", ""))?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_whose_interval_reaches_0_is_open() {
        let shown = |low: f64| {
            let interval = Some((low, 0.842 - low));
            Mean::shown_ratio(Some(&Mean {
                mean: 0.421,
                interval,
            }))
        };
        assert_eq!(shown(-0.741), "0.421 (open)");
        assert_eq!(shown(0.321), "0.421 ± 0.100");
    }

    #[test]
    fn cells_that_are_not_done_are_named_where_they_leave_too_few_lives() {
        assert_eq!(
            too_few("xfs", 2, 1).as_deref(),
            Some(
                "Too few runs of xfs: 2 lives, and 3 or more tell a difference from chance; 1 cell failed or did not \
                 run."
            )
        );
        assert_eq!(too_few("xfs", 3, 2), None, "three lives are enough");
        assert_eq!(too_few("xfs", 1, 1), None, "no more were asked for");
    }
}
