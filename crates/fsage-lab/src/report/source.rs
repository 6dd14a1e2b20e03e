//! Reading the folder of a run: what there is, and in words what is missing and how to get it.

use super::subject::{Life, Subject};
use super::{again, names};
use crate::aging::real;
use crate::benching::{causes, flash, over_days, results};
use crate::days::{self, DayRow};
use crate::error::Context;
use crate::life;
use crate::run_folder::{Manifest, State, TargetFacts};
use fsage_data::SnapshotFile;
use fsage_metrics::layout_score;
use std::fs;
use std::path::Path;

/// What could be read of a run.
#[derive(Debug)]
pub struct Run {
    /// Name of its folder.
    pub name: String,
    /// Its manifest; none where that is damaged.
    pub manifest: Option<Manifest>,
    /// Its targets.
    pub subjects: Vec<Subject>,
    /// What could not be read, and how to get it.
    pub missing: Vec<String>,
}

/// Reads a run. Fails only where nothing of it can be read.
pub fn run(path: &Path) -> crate::Result<Run> {
    let mut missing = Vec::new();
    let (manifest, targets) = match Manifest::read(path) {
        Ok(manifest) => {
            let targets = manifest.targets.clone();
            (Some(manifest), targets)
        }
        Err(error) => {
            let found = folders_with_days(path);
            if found.is_empty() {
                return Err(error);
            }
            missing.push(format!(
                "{error:#}. What was run is not known; the targets below are the folders that hold days."
            ));
            (None, found)
        }
    };
    let complete = manifest.as_ref().is_none_or(|m| m.state == State::Complete);
    if !complete {
        missing.push(format!(
            "{}: the run goes on, or was interrupted. What real file systems lived through so far is shown; simulated \
             ones have no days before it is complete. Add --resume to the command that began it.",
            path.display()
        ));
    }
    let specs: Vec<&str> = targets.iter().map(|target| target.spec.as_str()).collect();
    let names = names::short(&specs);
    let mut subjects = Vec::new();
    let lived = life::Life::of(manifest.as_ref().map(|manifest| &manifest.workload), path);
    for (place, (target, name)) in targets.iter().zip(names).enumerate() {
        subjects.push(Subject {
            place,
            spec: target.spec.clone(),
            facts: again::target_facts(&target.spec, &target.facts),
            lives: vec![Life {
                life: lived.clone(),
                ..life(path, target, &name, complete, &mut missing)
            }],
            room_bytes: None,
            name,
        });
    }
    Ok(Run {
        name: name_of(path),
        manifest,
        subjects,
        missing,
    })
}

/// The name of a folder, also of `.`.
pub fn name_of(path: &Path) -> String {
    let real = path.canonicalize().ok();
    let name = real.as_deref().and_then(Path::file_name);
    let name = name.or(path.file_name()).unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Reads what a target lived through.
fn life(
    run: &Path,
    target: &TargetFacts,
    name: &str,
    complete: bool,
    missing: &mut Vec<String>,
) -> Life {
    let folder = run.join(&target.folder);
    let mut life = Life {
        folder: folder.clone(),
        ..Life::default()
    };
    (life.days, life.only_end) = days_of(&folder, name, complete, missing);
    if complete && target.days > life.days.len() as u64 && !life.days.is_empty() {
        missing.push(format!(
            "{name}: {} of {} days are on record; age it again for all of them.",
            life.days.len(),
            target.days
        ));
    }
    let control = folder.join("control.parquet");
    if control.is_file() {
        life.control = noted(measured(&control), missing, || {
            format!("{name}: the layout of its unaged control cannot be read")
        });
    }
    let ends_with_control = life
        .last()
        .is_some_and(|last| last.of_control(&layout_score::SCORE).is_some());
    if life.control.is_none() && !ends_with_control && complete && names::keeps_files(&target.spec)
    {
        missing.push(format!(
            "{name}: there is no unaged control to compare with: age it again without --no-control (a dir: target \
             needs the key control=PATH)."
        ));
    }
    life.bench = benchmarks(&folder, name, missing);
    let courses = noted(over_days::read(&folder), missing, || {
        format!("{name}: how fast it was over its days cannot be read")
    });
    life.courses = courses.unwrap_or_default();
    let flash = noted(flash::read(&folder), missing, || {
        format!("{name}: where its pages lay on flash cannot be read")
    });
    life.flash = flash.unwrap_or_default();
    let causes = noted(causes::read(&folder), missing, || {
        format!("{name}: what its losses on flash are due to cannot be read")
    });
    life.causes = causes.unwrap_or_default();
    life
}

/// The days of a target; where they cannot be read, its end, and that this is all.
fn days_of(
    folder: &Path,
    name: &str,
    complete: bool,
    missing: &mut Vec<String>,
) -> (Vec<DayRow>, bool) {
    let path = folder.join("days.parquet");
    let days = if complete || path.exists() {
        days::read(&path)
    } else {
        real::days_so_far(folder)
    };
    let days = noted(days, missing, || format!("{name}: its days cannot be read"));
    if let Some(days) = days {
        return (days, false);
    }
    let end = folder.join("final.parquet");
    if !end.is_file() {
        return (Vec::new(), false);
    }
    let end = noted(measured(&end), missing, || {
        format!("{name}: its layout at the end cannot be read either")
    });
    (end.into_iter().collect(), true)
}

/// The measurements of all suites.
fn benchmarks(folder: &Path, name: &str, missing: &mut Vec<String>) -> Vec<results::Row> {
    let suites = noted(results::measured_suites(folder), missing, || {
        format!("{name}: its benchmarks cannot be read")
    });
    let mut rows = Vec::new();
    for suite in suites.into_iter().flatten() {
        let read = noted(results::read(folder, &suite), missing, || {
            format!("{name}: the benchmark {suite} cannot be read")
        });
        rows.extend(read.into_iter().flatten());
    }
    rows
}

/// The metrics of a layout that was stored.
fn measured(path: &Path) -> crate::Result<DayRow> {
    let snapshot = SnapshotFile::open(path).with_context(|| path.display().to_string())?;
    Ok(DayRow::of_layout(&fsage_metrics::measure(&snapshot)))
}

/// What could be read; else why not, among what is missing.
fn noted<T>(
    read: crate::Result<T>,
    missing: &mut Vec<String>,
    what: impl Fn() -> String,
) -> Option<T> {
    read.map_err(|error| missing.push(format!("{}: {error:#}.", what())))
        .ok()
}

/// Folders of targets where no manifest says which they are.
fn folders_with_days(run: &Path) -> Vec<TargetFacts> {
    let entries = fs::read_dir(run).into_iter().flatten().flatten();
    let mut folders: Vec<String> = entries
        .filter(|entry| {
            let holds = |file: &str| entry.path().join(file).is_file();
            holds("days.parquet") || holds("final.parquet")
        })
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    folders.sort();
    let facts = folders.into_iter().map(|folder| TargetFacts {
        spec: folder.clone(),
        folder,
        days: 0,
        operations: 0,
        skipped: 0,
        facts: serde_json::Map::new(),
    });
    facts.collect()
}
