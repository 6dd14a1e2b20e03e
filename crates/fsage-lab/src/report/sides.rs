//! Several runs on one page, each beside the first: curves over each other, and what differs, as a table.

mod changed;
pub(super) use changed::{Change, Changes};

use super::source;
use super::subject::{Group, Subject};
use super::words::{list, size};
use super::{Material, again, names};
use crate::benching::{self, PhaseRatio, digits};
use crate::build::Build;
use crate::error::bail;
use crate::run_folder::Manifest;
use crate::table;
use fsage_bench::Says;
use fsage_metrics::{Better, Metric, Unit, files, free_space, layout_score, pieces, split_files};
use fsage_report::{Cell, Command, DataTable, Exhibit, Finding, Section, Sheet};
use serde::Serialize;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// What is compared of layouts.
const METRICS: [&Metric; 7] = [
    &layout_score::SCORE,
    &pieces::PER_FILE,
    &split_files::SPLIT,
    &files::UTILIZATION,
    &free_space::BYTES,
    &free_space::BYTES_IN_1M_RUNS,
    &free_space::PLACEABLE_1M,
];

/// A target of a run beside the same target of the first run.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// The target, as the first run calls it.
    pub target: String,
    /// What the first run is called, and the other.
    pub runs: [String; 2],
    /// Their folders.
    pub folders: [String; 2],
    /// Metrics of the last day that both know.
    pub layout: Vec<Difference>,
    /// Phases of benchmarks that both have: the other run's aged file system over that of the first.
    pub benchmarks: Vec<Benchmarked>,
    /// What changed most, in a sentence.
    pub says: String,
}

/// A metric in two runs.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Its column in days.parquet.
    pub metric: String,
    /// Its name.
    pub title: String,
    /// In the first run.
    pub first: f64,
    /// In the other.
    pub other: f64,
    /// Whether more of it is better.
    #[serde(skip)]
    better: Better,
    /// As people read them.
    #[serde(skip)]
    shown: [String; 2],
}

/// A phase of a benchmark in two runs.
#[derive(Clone, Debug, Serialize)]
pub struct Benchmarked {
    /// The suite.
    pub suite: String,
    /// The phase.
    pub phase: String,
    /// What speeds are counted in.
    pub unit: String,
    /// Speed in the first run.
    pub first: f64,
    /// Speed in the other.
    pub other: f64,
    /// The other over the first.
    pub ratio: f64,
    /// Where that lies with a confidence of 0.99.
    pub interval: [f64; 2],
    /// What it says of the other.
    pub says: Says,
}

/// Reads several runs.
///
/// # Errors
/// One of them is no run, or nothing of it can be read.
pub fn read(paths: &[PathBuf]) -> crate::Result<(Material, Vec<Side>)> {
    for (at, path) in paths.iter().enumerate() {
        if paths[..at].contains(path) {
            bail!("{}: named twice; expected different runs", path.display());
        }
    }
    let runs = paths.iter().map(|path| source::run(path));
    let runs = runs.collect::<crate::Result<Vec<_>>>()?;
    let names = short_names(paths, &runs);
    let mut missing = Vec::new();
    let workloads: Vec<Option<&str>> = runs.iter().map(workload_hash).collect();
    let is_one_workload = workloads
        .windows(2)
        .all(|two| two[0].is_some() && two[0] == two[1]);
    if !is_one_workload {
        missing.push(
            "The runs were aged by different workloads: what differs between them may come from that alone.".to_owned(),
        );
    }
    let mut sides = Vec::new();
    for at in 1..runs.len() {
        let pair = [0, at];
        let subjects = pair.map(|at| &runs[at].subjects[..]);
        sides.extend(beside(subjects, pair.map(|at| (&names[at], &paths[at]))));
    }
    let leading = say(&mut sides, is_one_workload);
    if sides.is_empty() {
        missing.push(
            "The runs have no target in common: their curves stand together, and nothing is compared one by one."
                .to_owned(),
        );
    }
    let workload = runs[0]
        .manifest
        .as_ref()
        .map(|manifest| manifest.workload.clone());
    let mut subjects = Vec::new();
    let mut facts = Vec::new();
    for ((run, name), path) in runs.into_iter().zip(&names).zip(paths) {
        if !path.ends_with(name) {
            facts.push(again::fact(name, path.display().to_string()));
        }
        missing.extend(
            run.missing
                .into_iter()
                .map(|line| format!("{name}: {line}")),
        );
        if let Some(manifest) = &run.manifest {
            facts.push(again::fact(
                &format!("workload of {name}"),
                manifest.workload.file.as_str(),
            ));
            facts.push(again::fact(
                &format!("{name} was run by"),
                manifest.build.to_string(),
            ));
        }
        for subject in run.subjects {
            subjects.push(Subject {
                name: format!("{name}: {}", subject.name),
                place: subjects.len(),
                ..subject
            });
        }
    }
    let group = Group {
        subjects,
        workload: workload.filter(|_| is_one_workload),
        ..Group::default()
    };
    let line = paths
        .iter()
        .map(|path| super::words::shell(&path.display().to_string()));
    let material = Material {
        title: list(&names),
        subtitle: format!("{} runs side by side; {}", names.len(), Build::this()),
        targets: group.subjects.iter().map(Subject::target).collect(),
        facts,
        commands: vec![Command {
            what: "This page again:".to_owned(),
            line: format!(
                "fsage report {} -o page.html",
                line.collect::<Vec<_>>().join(" ")
            ),
        }],
        own_sections: section(&sides).into_iter().collect(),
        groups: vec![group],
        leading,
        missing,
        ..Material::default()
    };
    Ok((material, sides))
}

/// A name of more characters makes sentences hard to read and tables wide.
const LONG: usize = 20;

/// What runs are called, no two alike: their last folders, and where one of these is long the first folders of their
/// paths in which all differ, or what tells their targets apart; whole paths where nothing shorter does.
fn short_names(paths: &[PathBuf], runs: &[source::Run]) -> Vec<String> {
    let are_distinct = |names: &[String]| {
        let distinct: HashSet<&String> = names.iter().collect();
        distinct.len() == names.len()
    };
    let are_short = |names: &[String]| names.iter().all(|name| name.chars().count() <= LONG);
    let last: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    if are_distinct(&last) && are_short(&last) {
        return last;
    }
    let parts: Vec<Vec<String>> = paths.iter().map(|path| parts(path)).collect();
    let depth = parts.iter().map(Vec::len).min().unwrap_or(0);
    for at in 0..depth {
        let folders: Vec<String> = parts.iter().map(|parts| parts[at].clone()).collect();
        if are_distinct(&folders) && are_short(&folders) {
            return folders;
        }
    }
    let specs: Option<Vec<&str>> = runs
        .iter()
        .map(|run| match &run.subjects[..] {
            [one] => Some(one.spec.as_str()),
            _ => None,
        })
        .collect();
    let of_targets = specs.map(|specs| names::short(&specs));
    if let Some(names) = of_targets.filter(|names| are_distinct(names) && are_short(names)) {
        return names;
    }
    if are_distinct(&last) {
        return last;
    }
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

/// The folders of a path by name, and not the way up.
fn parts(path: &Path) -> Vec<String> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    parts.collect()
}

/// Has each pair say what changed most.
fn say(sides: &mut [Side], is_one_workload: bool) -> Vec<Finding> {
    let said = sides.iter_mut().map(|side| {
        let finding = changed::finding(side, is_one_workload);
        side.says.clone_from(&finding.text);
        finding
    });
    said.collect()
}

/// Whether a folder can stand on such a page.
pub fn is_run(path: &Path) -> bool {
    Manifest::is_run(path)
}

fn workload_hash(run: &source::Run) -> Option<&str> {
    run.manifest.as_ref()?.workload.blake3.as_deref()
}

/// Targets that both runs have; where each has one alone, these two.
fn beside([first, other]: [&[Subject]; 2], runs: [(&String, &PathBuf); 2]) -> Vec<Side> {
    let same = |subject: &Subject| other.iter().find(|other| other.spec == subject.spec);
    let mut pairs: Vec<(&Subject, &Subject)> = first
        .iter()
        .filter_map(|subject| Some((subject, same(subject)?)))
        .collect();
    if let ([one], [other], true) = (first, other, pairs.is_empty()) {
        pairs.push((one, other));
    }
    let sides = pairs.into_iter().map(|(one, other)| Side {
        target: if one.spec == other.spec {
            one.name.clone()
        } else {
            names::short(&[&one.spec, &other.spec]).join(" / ")
        },
        runs: runs.map(|(name, _)| name.clone()),
        folders: runs.map(|(_, path)| path.display().to_string()),
        layout: differences(one, other),
        benchmarks: benchmarks(one, other),
        says: String::new(),
    });
    sides.collect()
}

/// How the metrics of two targets differ at the end of their lives.
pub(super) fn differences(one: &Subject, other: &Subject) -> Vec<Difference> {
    let has_flex_groups = [one, other]
        .iter()
        .any(|of| names::has_flex_groups(&of.spec));
    let tells = |metric: &&&Metric| !has_flex_groups || metric.id != split_files::SPLIT.id;
    let known = METRICS.iter().filter(tells).filter_map(|metric| {
        let value = |subject: &Subject| {
            subject
                .at_end(|day| day.value(metric))
                .map(|over| over.mean)
        };
        let (first, other) = (value(one)?, value(other)?);
        Some(Difference {
            metric: metric.id.to_owned(),
            title: metric.title.to_owned(),
            first,
            other,
            better: metric.better,
            shown: [first, other].map(|value| shown(metric, value)),
        })
    });
    known.collect()
}

fn shown(metric: &Metric, value: f64) -> String {
    match metric.unit {
        Unit::Bytes => size(value as u64),
        unit => table::number(unit, value),
    }
}

/// How their benchmarks do, of one life each.
pub(super) fn benchmarks(one: &Subject, other: &Subject) -> Vec<Benchmarked> {
    let (Some(one), Some(other)) = (one.lives.first(), other.lives.first()) else {
        return Vec::new();
    };
    let mut suites: Vec<&str> = Vec::new();
    for row in &one.bench {
        let suite = row.measurement.benchmark.as_str();
        if !suites.contains(&suite) {
            suites.push(suite);
        }
    }
    let ratios = suites.into_iter().flat_map(|suite| {
        let of = |life: &super::Life| {
            let rows = life.bench.iter();
            let aged = rows.filter(|row| {
                row.measurement.benchmark == suite && row.state == benching::State::Aged
            });
            aged.cloned().collect()
        };
        benching::between_rows(suite, of(other), of(one))
    });
    ratios
        .map(|ratio: PhaseRatio| Benchmarked {
            suite: ratio.suite,
            phase: ratio.phase,
            unit: ratio.unit,
            first: ratio.control,
            other: ratio.aged,
            ratio: ratio.aged_by_control,
            interval: ratio.interval,
            says: ratio.says,
        })
        .collect()
}

fn word(says: Says) -> &'static str {
    match says {
        Says::Faster => "faster",
        Says::Slower => "slower",
        Says::Same => "the same",
        Says::Inconclusive => "inconclusive",
    }
}

/// The section of the page; none where nothing can be compared.
fn section(sides: &[Side]) -> Option<Section> {
    let mut layout = DataTable::new(&[
        "target",
        "metric",
        "first run",
        "value",
        "other run",
        "its value",
        "difference",
    ]);
    let mut speeds = DataTable::new(&[
        "target",
        "benchmark",
        "first run",
        "speed",
        "other run",
        "its speed",
        "unit",
        "other / first",
        "lowest",
        "highest",
        "the other is",
    ]);
    for side in sides {
        let [first, other] = &side.runs;
        let target = || Cell::from(side.target.as_str());
        for line in &side.layout {
            layout.rows.push(vec![
                target(),
                line.title.as_str().into(),
                first.as_str().into(),
                line.first.into(),
                other.as_str().into(),
                line.other.into(),
                (line.other - line.first).into(),
            ]);
        }
        for line in &side.benchmarks {
            speeds.rows.push(vec![
                target(),
                format!("{} {}", line.suite, line.phase).as_str().into(),
                first.as_str().into(),
                line.first.into(),
                other.as_str().into(),
                line.other.into(),
                line.unit.as_str().into(),
                line.ratio.into(),
                line.interval[0].into(),
                line.interval[1].into(),
                word(line.says).into(),
            ]);
        }
    }
    let sheet = |id: &str, title: &str, description: &str, data: DataTable| {
        (!data.rows.is_empty()).then(|| {
            Exhibit::Table(Sheet {
                id: id.to_owned(),
                title: title.to_owned(),
                description: description.to_owned(),
                data,
            })
        })
    };
    let exhibits: Vec<Exhibit> = [
        sheet(
            "sides-layout",
            "Layout at the end",
            "The last day of each run.",
            layout,
        ),
        sheet(
            "sides-benchmarks",
            "Benchmarks of the aged file systems",
            "Ratios are of medians, with their 99 % interval. Runs that were benchmarked at different times, or on \
             different machines, differ by that too.",
            speeds,
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!exhibits.is_empty()).then(|| Section {
        id: "sides".to_owned(),
        title: "Side by side".to_owned(),
        lead: "Each target beside the same target of the first run.".to_owned(),
        exhibits,
    })
}

/// The same for a terminal.
///
/// # Errors
/// `out` fails.
pub fn print(out: &mut impl Write, sides: &[Side]) -> io::Result<()> {
    let mut told = HashSet::new();
    for side in sides {
        let [first, other] = &side.runs;
        let renamed = side.runs.iter().zip(&side.folders);
        let renamed = renamed.filter(|(name, folder)| !Path::new(folder).ends_with(name));
        let legend: Vec<String> = renamed
            .filter(|(name, _)| told.insert(*name))
            .map(|(name, folder)| format!("{name} is {folder}.\n"))
            .collect();
        if !legend.is_empty() {
            writeln!(out, "{}", legend.concat())?;
        }
        writeln!(out, "{}\n", table::wrapped(&side.says, "", ""))?;
        let mut all = table::table(&[side.target.as_str(), first, other, "difference"]);
        for line in &side.layout {
            let change = if line.first.total_cmp(&line.other).is_eq() {
                "the same".to_owned()
            } else {
                changed::above(line.first, line.other).unwrap_or_else(|| "-".to_owned())
            };
            let [first, other] = line.shown.clone();
            all.add_row(vec![line.title.clone(), first, other, change]);
        }
        for line in &side.benchmarks {
            let says = match line.says {
                Says::Same => "the same".to_owned(),
                says => format!(
                    "{} {}",
                    benching::with_ends(line.ratio, line.interval.into()),
                    word(says)
                ),
            };
            all.add_row(vec![
                format!("{} {} ({})", line.suite, line.phase, line.unit),
                digits(line.first),
                digits(line.other),
                says,
            ]);
        }
        table::align_left(&mut all, &[0]);
        writeln!(out, "{all}\n")?;
    }
    Ok(())
}
