//! What an experiment file leads to: workloads, and a cell for each of them on each target.

use super::file::{self, File, Text};
use super::matrix::{Matrix, Template};
use crate::aging;
use crate::benching;
use crate::check::{self, Rules};
use crate::generate::{Profile, Source};
use crate::interrupt;
use fsage_core::size;
use fsage_input::TEXT_BYTES;
use fsage_target::{Target, TargetSpec};
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The longest name of an experiment or of a workload: it becomes part of names of files.
const MAX_NAME: usize = 60;

/// The most cells of an experiment: each is a run of its own, and takes a line of every table.
const MAX_CELLS: u64 = 100_000;

/// An experiment that can be run.
pub struct Plan {
    /// Its name.
    pub name: String,
    /// What it asks; empty if its file does not say.
    pub summary: String,
    /// The file itself.
    pub text: String,
    /// The workloads, one for each seed.
    pub workloads: Vec<WorkloadPlan>,
    /// The cells: by workload, target, repetition.
    pub cells: Vec<CellPlan>,
    /// How workloads are aged.
    pub age: aging::Options,
    /// What is benchmarked.
    pub bench: Option<benching::Options>,
    /// What must hold.
    pub check: Option<CheckPlan>,
    /// Whether a report is written.
    pub writes_report: bool,
}

/// A workload with a seed.
pub struct WorkloadPlan {
    /// Its name, which it shares with those of other seeds.
    pub name: String,
    /// Its seed; none where it draws nothing.
    pub seed: Option<u64>,
    /// What it is made of.
    pub recipe: Recipe,
}

/// Where a workload comes from.
pub enum Recipe {
    /// It is there.
    File(PathBuf),
    /// It is made.
    Make(Source),
}

/// A workload on a target, once.
pub struct CellPlan {
    /// Its name, unlike that of any other cell.
    pub id: String,
    /// Its workload, by its place in [`Plan::workloads`].
    pub workload: usize,
    /// Its target.
    pub spec: TargetSpec,
    /// Whether the target is a real file system.
    pub is_real: bool,
    /// Which repetition it is, from 1.
    pub repetition: u32,
}

/// What must hold.
pub struct CheckPlan {
    /// The rules.
    pub rules: Rules,
    /// Their text.
    pub text: String,
    /// A run or an experiment to compare with.
    pub baseline: Option<PathBuf>,
}

impl WorkloadPlan {
    /// Its name and its seed, for the names of files.
    pub fn label(&self) -> String {
        match self.seed {
            Some(seed) => format!("{}-s{seed}", self.name),
            None => self.name.clone(),
        }
    }
}

impl Plan {
    /// Reads the text of a file; `default_name` is the name of the experiment if the text gives none. Paths in it are
    /// taken as they are: from the folder that the process works in.
    ///
    /// # Errors
    /// No TOML, or no experiment; the message names the line and what was expected.
    pub fn parse(file_name: &str, default_name: &str, text: &str) -> crate::Result<Plan> {
        let source = Text {
            name: file_name,
            text,
        };
        let file = source.parse()?;
        let age = file
            .age
            .as_ref()
            .map_or_else(aging::Options::default, |age| *age.get_ref());
        if let (Err(why), Some(table)) = (age.check(), &file.age) {
            return Err(source.wrong(&table.span(), why));
        }
        let name = match &file.name {
            Some(name) => {
                fits_file_names(name.get_ref()).map_err(|why| source.wrong(&name.span(), &why))?;
                name.get_ref().clone()
            }
            None => fitted(default_name),
        };
        let workloads = workloads(&source, &file)?;
        let targets = targets(&source, &file)?;
        let cells = cells(&source, &file, &workloads, &targets)?;
        if let Some(bench) = &file.bench {
            let sound = bench.get_ref().check();
            sound.map_err(|error| source.wrong(&bench.span(), format!("{error:#}")))?;
        }
        let check = file.check.map(|check| check_plan(&source, check));
        Ok(Plan {
            name,
            summary: file.summary.trim().to_owned(),
            text: text.to_owned(),
            workloads,
            cells,
            bench: file.bench.map(Spanned::into_inner),
            check: check.transpose()?,
            age,
            writes_report: file.report.write,
        })
    }
}

/// Letters that every file system and every shell takes.
fn fits_file_names(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > MAX_NAME || fitted(name) != name || name.starts_with('.') {
        return Err(format!(
            "name `{name}`: expected up to {MAX_NAME} letters, digits, `-`, `_` and `.`"
        ));
    }
    Ok(())
}

/// A name of such letters only.
fn fitted(name: &str) -> String {
    let fitted = name.chars().take(MAX_NAME).map(|c| match c {
        c if c.is_ascii_alphanumeric() || "-_.".contains(c) => c,
        _ => '_',
    });
    fitted.collect()
}

fn workloads(source: &Text<'_>, file: &File) -> crate::Result<Vec<WorkloadPlan>> {
    if file.workload.is_empty() {
        return Err(source.wrong(
            &(0..0),
            "no workload; expected a table [[workload]] with `preset`, `file` or `generate`",
        ));
    }
    let seeds = match &file.seeds {
        Some(seeds) => {
            let distinct: BTreeSet<u64> = seeds.get_ref().iter().copied().collect();
            if distinct.is_empty() || distinct.len() < seeds.get_ref().len() {
                return Err(source.wrong(&seeds.span(), "seeds: expected numbers, each once"));
            }
            seeds.get_ref().clone()
        }
        None => vec![1],
    };
    let mut workloads: Vec<WorkloadPlan> = Vec::new();
    let (mut names, mut labels) = (HashSet::new(), HashSet::new());
    for table in &file.workload {
        interrupt::go_on()?;
        let wrong = |what: String| source.wrong(&table.span(), &what);
        let workload = table.get_ref();
        let (default_name, recipe, is_drawn) = recipe(workload).map_err(wrong)?;
        let name = workload
            .name
            .clone()
            .unwrap_or_else(|| fitted(&default_name));
        fits_file_names(&name).map_err(wrong)?;
        if !names.insert(name.clone()) {
            return Err(wrong(format!(
                "two workloads are called `{name}`; give this one a `name` of its own"
            )));
        }
        if workload.seed.is_some() && !is_drawn {
            return Err(wrong(format!(
                "seed: nothing of `{name}` is drawn at random by a seed that could be given here"
            )));
        }
        let seeds = match workload.seed {
            Some(seed) => vec![Some(seed)],
            None if is_drawn => seeds.iter().copied().map(Some).collect(),
            None => vec![None],
        };
        too_many(workloads.len() as u64 + seeds.len() as u64)
            .map_err(|why| source.wrong(&table.span(), &why))?;
        for (i, seed) in seeds.into_iter().enumerate() {
            let recipe = match (&recipe, seed) {
                (Recipe::File(path), _) => Recipe::File(path.clone()),
                (Recipe::Make(source), seed) => {
                    let mut source = source.clone();
                    if let (Some(of_source), Some(_)) = (source.seed(), seed) {
                        *of_source = seed;
                    }
                    Recipe::Make(source)
                }
            };
            // What is right with one seed is right with another.
            if let (Recipe::Make(source), 0) = (&recipe, i) {
                let checked = source.check().and_then(|()| source.writes_nothing_else());
                checked.map_err(|error| wrong(format!("{error:#}")))?;
            }
            let name = name.clone();
            let new = WorkloadPlan { name, seed, recipe };
            if !labels.insert(new.label()) {
                return Err(wrong(format!(
                    "`{}` is the name of another workload with its seed; give this one a `name` of its own",
                    new.label()
                )));
            }
            workloads.push(new);
        }
    }
    Ok(workloads)
}

/// Name, recipe, and whether it is drawn at random, with a seed that may be added to the recipe.
fn recipe(workload: &file::Workload) -> Result<(String, Recipe, bool), String> {
    let of_preset =
        workload.days.is_some() || workload.capacity.is_some() || workload.utilization.is_some();
    if of_preset && workload.preset.is_none() {
        return Err("days, capacity and utilization belong to a `preset`".to_owned());
    }
    match (&workload.file, &workload.preset, &workload.generate) {
        (Some(file), None, None) => {
            let path = PathBuf::from(file);
            if !path.is_file() {
                return Err(format!(
                    "file `{file}`: no such file, from the folder of the experiment file"
                ));
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let stem = name.split('.').next().unwrap_or_default().to_owned();
            Ok((stem, Recipe::File(path), false))
        }
        (None, Some(preset), None) => {
            let capacity = workload.capacity.as_deref().map(size::parse);
            let source = Source::Profile(Profile {
                profile: preset.clone(),
                seed: None,
                days: workload.days,
                capacity: capacity
                    .transpose()
                    .map_err(|why| format!("capacity: {why}"))?,
                utilization: workload.utilization,
            });
            let stem = Path::new(preset).file_stem().unwrap_or_default();
            Ok((
                stem.to_string_lossy().into_owned(),
                Recipe::Make(source),
                true,
            ))
        }
        (None, None, Some(source)) => {
            let mut source = source.clone();
            let is_drawn = source.seed().is_some_and(|seed| seed.is_none());
            Ok((source.name().to_owned(), Recipe::Make(source), is_drawn))
        }
        _ => Err("expected one of `preset`, `file` and `generate`".to_owned()),
    }
}

/// A target, where it stands in the file, and whether it is real.
struct TargetPlan {
    spec: TargetSpec,
    is_real: bool,
    span: Range<usize>,
}

fn targets(source: &Text<'_>, file: &File) -> crate::Result<Vec<TargetPlan>> {
    let matrix = matrix(source, file)?;
    let mut used = BTreeSet::new();
    let mut targets: Vec<TargetPlan> = Vec::new();
    let mut folders = HashSet::new();
    for given in file.targets.get_ref() {
        let wrong = |what: String| source.wrong(&given.span(), &what);
        let template = Template::parse(given.get_ref())
            .map_err(|why| wrong(format!("target `{}`: {why}", given.get_ref())))?;
        for gap in template.gaps() {
            if !matrix.contains_key(gap) {
                let known: Vec<&str> = matrix.keys().map(String::as_str).collect();
                return Err(wrong(format!(
                    "target `{}`: [matrix] has no list `{gap}`; it has {}",
                    given.get_ref(),
                    if known.is_empty() {
                        "none".to_owned()
                    } else {
                        known.join(", ")
                    }
                )));
            }
            used.insert(gap.to_owned());
        }
        too_many(template.count(&matrix).saturating_add(targets.len() as u64)).map_err(wrong)?;
        for text in template.expand(&matrix) {
            interrupt::go_on()?;
            let (spec, is_real) = checked(&text).map_err(|error| wrong(format!("{error:#}")))?;
            if !folders.insert(spec.folder()) {
                return Err(wrong(format!("target `{spec}` is named twice")));
            }
            let span = given.span();
            targets.push(TargetPlan {
                spec,
                is_real,
                span,
            });
        }
    }
    if targets.is_empty() {
        return Err(source.wrong(
            &file.targets.span(),
            "targets: expected at least one; `fsage age --help` tells what a target is",
        ));
    }
    if let Some(unused) = file.matrix.keys().find(|key| !used.contains(key.get_ref())) {
        return Err(source.wrong(
            &unused.span(),
            format!(
                "matrix: no target has a gap for `{0}`; write {{{0}}} where its values go",
                unused.get_ref()
            ),
        ));
    }
    Ok(targets)
}

/// That an experiment has no more cells than can be.
fn too_many(cells: u64) -> Result<(), String> {
    if cells <= MAX_CELLS {
        return Ok(());
    }
    Err(format!(
        "{cells} cells or more: an experiment has at most {MAX_CELLS}; shorten the lists of `seeds` and [matrix], or \
         make several experiments of it"
    ))
}

/// A target that can be made, and whether it is real.
fn checked(text: &str) -> crate::Result<(TargetSpec, bool)> {
    let spec = TargetSpec::parse(text)?;
    let is_real = spec.real()?.is_some();
    if !is_real {
        Target::can_be_made(&spec)?;
    }
    Ok((spec, is_real))
}

fn matrix(source: &Text<'_>, file: &File) -> crate::Result<Matrix> {
    let mut matrix = Matrix::new();
    for (name, list) in &file.matrix {
        let wrong = |what: &str| {
            let what = format!("matrix: {}: {what}", name.get_ref());
            source.wrong(&name.span(), &what)
        };
        let values = list.iter().map(|value| match value {
            toml::Value::String(text) => Ok(text.clone()),
            toml::Value::Integer(number) => Ok(number.to_string()),
            toml::Value::Boolean(truth) => Ok(truth.to_string()),
            _ => Err(wrong("expected texts, whole numbers, true and false")),
        });
        let values = values.collect::<crate::Result<Vec<String>>>()?;
        if values.is_empty() {
            return Err(wrong("expected at least one value"));
        }
        matrix.insert(name.get_ref().clone(), values);
    }
    Ok(matrix)
}

fn cells(
    source: &Text<'_>,
    file: &File,
    workloads: &[WorkloadPlan],
    targets: &[TargetPlan],
) -> crate::Result<Vec<CellPlan>> {
    let repetitions = file.repetitions.as_ref().map_or(1, |n| *n.get_ref());
    if let Some(given) = &file.repetitions {
        if repetitions == 0 || repetitions > 1000 {
            return Err(source.wrong(&given.span(), "repetitions: expected 1 to 1000"));
        }
        if targets.iter().all(|target| !target.is_real) {
            let what = "repetitions are of real file systems; models give the same every time: vary `seeds`";
            return Err(source.wrong(&given.span(), what));
        }
    }
    let of_targets = targets
        .iter()
        .map(|target| u64::from(if target.is_real { repetitions } else { 1 }));
    let count = of_targets
        .sum::<u64>()
        .saturating_mul(workloads.len() as u64);
    too_many(count).map_err(|why| source.wrong(&file.targets.span(), &why))?;
    let mut cells = Vec::new();
    for (workload, of) in workloads.iter().enumerate() {
        for target in targets {
            let repetitions = if target.is_real { repetitions } else { 1 };
            for repetition in 1..=repetitions {
                let again = match repetitions {
                    1 => String::new(),
                    _ => format!("-r{repetition}"),
                };
                cells.push(CellPlan {
                    id: format!("{}-{}{again}", of.label(), target.spec.folder()),
                    workload,
                    spec: target.spec.clone(),
                    is_real: target.is_real,
                    repetition,
                });
            }
        }
    }
    for target in targets.iter().filter(|target| target.spec.kind == "dir") {
        // No two targets are the same.
        let times = workloads.len() as u64 * u64::from(repetitions);
        if times > 1 {
            let what = format!(
                "target `{}`: a directory can be aged once, and this experiment would age it {times} times; take \
                 loop: targets, or one workload, seed and repetition",
                target.spec
            );
            return Err(source.wrong(&target.span, &what));
        }
    }
    Ok(cells)
}

fn check_plan(source: &Text<'_>, check: file::Check) -> crate::Result<CheckPlan> {
    let given = check.rules.get_ref();
    let preset = check::PRESETS.iter().find(|(name, _)| name == given);
    let is_text = given.trim().contains('\n');
    let text = match preset {
        Some((_, text)) => (*text).to_owned(),
        // Line numbers in messages are those of the experiment file.
        None if is_text => "\n".repeat(source.lines_before_text(&check.rules.span())) + given,
        None => fsage_input::text(Path::new(given), TEXT_BYTES).map_err(|error| {
            let names = check::PRESETS.map(|(name, _)| name).join(", ");
            let what = format!(
                "rules: {given}: {error}; expected a file, one of {names}, or rules in several lines"
            );
            source.wrong(&check.rules.span(), &what)
        })?,
    };
    let name = if is_text { source.name } else { given };
    Ok(CheckPlan {
        rules: Rules::parse(name, &text)?,
        text: text.trim_start_matches('\n').to_owned(),
        baseline: check.baseline.map(PathBuf::from),
    })
}
