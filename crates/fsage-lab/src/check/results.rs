//! What a run or an experiment has to show: days and benchmarks of every target.

use super::rules::Of;
use super::words::matches;
use crate::benching::flash::{self, FLASH, FlashRow, VALUES};
use crate::benching::{self, Line, State, results, spread};
use crate::days::{self, DayRow};
use crate::error::Context;
use crate::experiment::manifest as experiment;
use crate::fleet::{self, Night};
use crate::report::{is_of_snapshots, names};
use crate::run_folder::{Manifest, OneTarget, State as RunState};
use fsage_bench::Better;
use fsage_metrics::{files, free_space};
use fsage_real::loop_image::RECLAIMED;
use std::fmt;
use std::path::Path;

/// A target of a run, or snapshots of a file system.
pub struct TargetResults {
    /// The cell of an experiment: workload, seed and repetition; none of a run.
    pub cell: Option<String>,
    /// The cell's workload: cells that have it in common differ in seed and repetition. None of a run.
    pub life: Option<String>,
    /// Its specification.
    pub spec: String,
    /// Its name in reports of the run: what tells it from the other targets.
    pub short: String,
    /// Why it is not complete.
    pub unfinished: Option<String>,
    /// Hash of the workload; none if it came through a pipe.
    pub workload: Option<String>,
    /// Release of the kernel that it ran under; none of a model.
    pub kernel: Option<String>,
    /// Whether it lived in a regime while that kernel reclaimed memory, so that its layout may be that of no other run.
    pub is_disturbed: bool,
    /// When the newest of its snapshots was taken, nanoseconds since 1970 UTC; none of a run.
    pub newest_ns: Option<i64>,
    /// Its days.
    pub days: Vec<DayRow>,
    /// Its benchmarks.
    pub cases: Vec<Case>,
}

/// The repetitions of a phase with files of one size, in a state or in two against each other.
pub struct Case {
    /// Which measurements.
    pub of: Of,
    /// SUITE/PHASE/SIZE.
    pub name: String,
    /// The middle of the repetitions.
    pub median: f64,
    /// Where it lies: its interval, or the smallest and the largest.
    pub ends: (f64, f64),
    /// What they are counted in.
    pub unit: String,
    /// Whether more of it is better, as of all but some values of commands.
    pub is_more_better: bool,
}

impl TargetResults {
    /// Whether a pattern fits one of its names: the specification, or the one in reports.
    pub fn is_called(&self, pattern: &str) -> bool {
        matches(pattern, &self.spec) || matches(pattern, &self.short)
    }

    /// Whether it is snapshots: a day is one of them, and nothing was replayed.
    pub fn is_snapshots(&self) -> bool {
        self.newest_ns.is_some()
    }

    /// The measurements of the same benchmark.
    pub fn same_case(&self, other: &Case) -> Option<&Case> {
        let mut cases = self.cases.iter();
        cases.find(|case| case.name == other.name && case.of == other.of)
    }
}

impl Case {
    /// Whether it is SUITE/PHASE/SIZE, each a pattern, from the left as many as there are.
    pub fn fits(&self, pattern: &str) -> bool {
        let mut parts = self.name.split('/');
        pattern
            .split('/')
            .all(|pattern| parts.next().is_some_and(|part| matches(pattern, part)))
    }

    /// Its suite.
    pub fn suite(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.name, self.of.as_str())
    }
}

impl fmt::Display for TargetResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spec)?;
        match &self.cell {
            Some(cell) => write!(f, " ({cell})"),
            None => Ok(()),
        }
    }
}

/// Whether it is RUN/TARGET.
pub fn is_target(of: &Path) -> bool {
    !Manifest::is_run(of) && of.is_dir() && of.parent().is_some_and(Manifest::is_run)
}

/// All targets of a run, or of every cell of an experiment; one of RUN/TARGET; the file systems of snapshots.
pub fn read(of: &Path) -> crate::Result<Vec<TargetResults>> {
    if is_target(of) {
        let target = OneTarget::find(of, |_| true)?;
        let mut targets = of_run(&target.run)?;
        targets.retain(|of| of.spec == target.facts.spec);
        return Ok(targets);
    }
    if is_of_snapshots(of) {
        return of_snapshots(of);
    }
    if !experiment::Manifest::is_experiment(of) {
        return of_run(of);
    }
    let manifest = experiment::Manifest::read(of)?;
    let mut all = Vec::new();
    for cell in manifest.cells {
        let mut name = vec![cell.workload.clone()];
        name.extend(cell.seed.map(|seed| format!("seed {seed}")));
        if cell.repetition > 1 {
            name.push(format!("repetition {}", cell.repetition));
        }
        let name = name.join(", ");
        let unfinished = match cell.state {
            experiment::State::Complete => None,
            experiment::State::Failed => Some(format!(
                "the cell failed: {}",
                cell.error.as_deref().unwrap_or("no reason is on record")
            )),
            experiment::State::Missing => {
                Some("the cell was not run yet; `fsage run` resumes the experiment".to_owned())
            }
        };
        if unfinished.is_some() {
            all.push(TargetResults {
                cell: Some(name),
                life: Some(cell.workload),
                short: cell.target.clone(),
                spec: cell.target,
                unfinished,
                workload: None,
                kernel: None,
                is_disturbed: false,
                newest_ns: None,
                days: Vec::new(),
                cases: Vec::new(),
            });
            continue;
        }
        let run = of_run(&of.join(&cell.run)).with_context(|| format!("cell {}", cell.id))?;
        all.extend(run.into_iter().map(|target| TargetResults {
            short: if target.spec == cell.target {
                target.short.clone()
            } else {
                cell.target.clone()
            },
            spec: cell.target.clone(),
            cell: Some(name.clone()),
            life: Some(cell.workload.clone()),
            ..target
        }));
    }
    Ok(all)
}

fn of_run(run: &Path) -> crate::Result<Vec<TargetResults>> {
    let manifest = Manifest::read(run)?;
    let is_complete = manifest.state == RunState::Complete;
    let specs: Vec<&str> = manifest
        .targets
        .iter()
        .map(|target| target.spec.as_str())
        .collect();
    let names = names::short(&specs);
    let targets = manifest.targets.iter().zip(names).map(|(target, short)| {
        let folder = run.join(&target.folder);
        let path = folder.join("days.parquet");
        let days = if is_complete || path.exists() {
            days::read(&path)?
        } else {
            Vec::new()
        };
        let kernel = target
            .facts
            .get("kernel")
            .and_then(|kernel| kernel.as_str());
        Ok(TargetResults {
            cell: None,
            life: None,
            spec: target.spec.clone(),
            short,
            unfinished: (!is_complete)
                .then(|| "the run is not complete; `fsage age ... --resume` resumes it".to_owned()),
            workload: manifest.workload.blake3.clone(),
            kernel: kernel.map(str::to_owned),
            is_disturbed: target.facts.contains_key(RECLAIMED),
            newest_ns: None,
            days,
            cases: cases(&folder)?,
        })
    });
    targets.collect()
}

/// Snapshots, which are not complete where a file of theirs was passed over: it may be that of the last night.
fn of_snapshots(of: &Path) -> crate::Result<Vec<TargetResults>> {
    let hosts = fleet::find(&[of.to_owned()])?.into_iter();
    let read = hosts.map(|host| {
        let life = fleet::read(&host)?;
        let mut notes = life.notes;
        notes.retain(|note| note.contains("passed over"));
        Ok(TargetResults {
            cell: None,
            life: None,
            spec: format!("snapshots of {}", host.name),
            short: host.name,
            unfinished: (!notes.is_empty()).then(|| notes.join("; ")),
            workload: None,
            kernel: None,
            is_disturbed: false,
            newest_ns: life.nights.last().map(|night| night.taken_at_ns),
            days: life.nights.into_iter().map(with_utilization).collect(),
            cases: Vec::new(),
        })
    });
    read.collect()
}

/// A night as a day. Where its runs of free space are not known, utilization is by the size of its file system.
fn with_utilization(night: Night) -> DayRow {
    let row = night.row;
    let size = night.size_bytes.filter(|&bytes| bytes > 0);
    let known = size.zip(row.count(&free_space::BYTES));
    match known.filter(|_| row.value(&files::UTILIZATION).is_none()) {
        Some((size, free)) => row.with(&files::UTILIZATION, 1.0 - free as f64 / size as f64),
        None => row,
    }
}

/// The benchmarks in the folder of a target, by the names of their suites.
fn cases(folder: &Path) -> crate::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for suite in results::measured_suites(folder)? {
        for line in benching::lines(&results::read(folder, &suite)?) {
            cases.extend(of_line(&suite, &line));
        }
    }
    cases.extend(of_flash(&flash::read(folder)?));
    Ok(cases)
}

/// Where pages lay when the benchmarks began, as flash/VALUE/DEVICE. As of all benchmarks, more is better.
fn of_flash(rows: &[FlashRow]) -> Vec<Case> {
    let began = || rows.iter().filter(|row| row.day.is_none());
    let mut cases = Vec::new();
    for value in VALUES.iter().filter(|value| value.is_more_better) {
        for row in began() {
            let case = |of, median: f64, unit: &str| Case {
                of,
                name: format!("{FLASH}/{}/{}", value.id, row.device),
                median,
                ends: (median, median),
                unit: unit.to_owned(),
                is_more_better: true,
            };
            cases.push(case(of_state(row.state), (value.of)(&row.facts), "of 1"));
            let is_control = |other: &&FlashRow| {
                other.state == State::Control
                    && (&other.device, &other.host) == (&row.device, &row.host)
            };
            if row.state == State::Aged
                && let Some(control) = began().find(is_control)
            {
                let ratio = (value.of)(&row.facts) / (value.of)(&control.facts);
                cases.push(case(Of::Ratio, ratio, "of control"));
            }
        }
    }
    cases
}

fn of_state(state: State) -> Of {
    match state {
        State::Aged => Of::Aged,
        State::Control => Of::Control,
        State::Empty => Of::Empty,
    }
}

fn of_line(suite: &str, line: &Line) -> Vec<Case> {
    let size = line
        .file_bytes
        .map_or_else(String::new, |bytes| format!("/{}", short_size(bytes)));
    let name = format!("{suite}/{}{size}", line.phase);
    let in_states = line.speeds().map(|(state, summary)| {
        (
            of_state(state),
            summary.median,
            spread(summary),
            line.unit_name().to_owned(),
        )
    });
    let ratio = line.ratio().map(|ratio| {
        let ends = (ratio.low, ratio.high);
        (Of::Ratio, ratio.median, ends, "of control".to_owned())
    });
    let all = in_states.chain(ratio);
    let case = |(of, median, ends, unit)| Case {
        of,
        name: name.clone(),
        median,
        ends,
        unit,
        // A ratio is one of speeds.
        is_more_better: of == Of::Ratio || line.better() == Better::Higher,
    };
    all.map(case).collect()
}

/// A size as the command line takes it: 64K.
fn short_size(bytes: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let unit = units
        .into_iter()
        .find(|&(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or_else(
        || bytes.to_string(),
        |(shift, name)| format!("{}{name}", bytes >> shift),
    )
}
