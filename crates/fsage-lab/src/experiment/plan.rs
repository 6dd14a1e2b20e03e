//! What an experiment file leads to: workloads, and a cell for each of them on each target.

use super::file::{self, File, Text};
use super::template::{TableTemplate, Template};
use super::vary::{self, Axes, Choice};
use crate::after;
use crate::aging::{self, has_small_blocks, of_capacity, small_blocks};
use crate::benching;
use crate::check::{self, Rules};
use crate::clock::with_clock_of;
use crate::generate::{Profile, Source};
use crate::interrupt;
use crate::workload::is_there;
use fsage_core::size;
use fsage_data::open_workload;
use fsage_input::TEXT_BYTES;
use fsage_target::TargetSpec;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::{Spanned, Table};

/// The longest name of an experiment or of a workload: it becomes part of names of files.
const MAX_NAME: usize = 60;

/// The longest id of a cell: names of files are at most 255 bytes, and some are longer than the id by an ending.
const MAX_ID: usize = 180;

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
    /// How cells are aged and benchmarked; of one kind where nothing of that is varied.
    pub ways: Vec<Way>,
    /// What must hold.
    pub check: Option<CheckPlan>,
    /// Whether a report is written.
    pub writes_report: bool,
}

/// How a cell is aged and benchmarked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// How it is aged.
    pub age: aging::Options,
    /// What is benchmarked.
    pub bench: Option<benching::Options>,
    /// What is done to what was aged.
    pub after: Option<after::Options>,
}

/// A workload with a seed.
pub struct WorkloadPlan {
    /// Its name, which it shares with those of other seeds.
    pub name: String,
    /// Its name without the values, which it shares with those of other values.
    pub pattern: String,
    /// Points of what is varied that it depends on.
    choice: Choice,
    /// Names of these values.
    gaps: Vec<String>,
    /// Its seed; none where it draws nothing.
    pub seed: Option<u64>,
    /// What it is made of.
    pub recipe: Recipe,
    /// The size in bytes of the file system that it is made for, where that is known: that of targets without a size.
    capacity: Option<u64>,
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
    /// The same as it is run: what it draws by itself, as the clock of a kernel, has the seed of the life.
    pub run_as: TargetSpec,
    /// Its target as the file has it, with gaps.
    pub pattern: String,
    /// Whether the target is a real file system.
    pub is_real: bool,
    /// Which repetition it is, from 1.
    pub repetition: u32,
    /// How it is aged and benchmarked, by its place in [`Plan::ways`].
    pub way: usize,
    /// Values of what is varied that it depends on, by name.
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// Those of them that neither the workload nor the target has: they say how it is aged and benchmarked.
    pub beside: BTreeMap<String, serde_json::Value>,
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

impl Recipe {
    fn capacity(&self) -> crate::Result<Option<u64>> {
        match self {
            // One that cannot be read is an error where it is used.
            Recipe::File(path) => Ok(open_workload(path)
                .ok()
                .and_then(|workload| workload.header().capacity_bytes)),
            Recipe::Make(source) => source.capacity(),
        }
    }
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
    /// What is to be known of its targets before they are run: that some are an ext4 with the blocks of a small one.
    pub fn note(&self) -> Option<String> {
        let small = self
            .cells
            .iter()
            .filter(|cell| has_small_blocks(&cell.spec));
        let small: BTreeSet<String> = small.map(|cell| cell.spec.to_string()).collect();
        let all: BTreeSet<String> = self
            .cells
            .iter()
            .map(|cell| cell.spec.to_string())
            .collect();
        let small: Vec<String> = small.into_iter().collect();
        small_blocks(&small, all.len())
    }

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
        let name = match &file.name {
            Some(name) => {
                fits_file_names(name.get_ref()).map_err(|why| source.wrong(&name.span(), &why))?;
                name.get_ref().clone()
            }
            None => fitted(default_name),
        };
        let axes = axes(&source, &file)?;
        let workloads = workloads(&source, &file, &axes)?;
        let (cells, ways) = cells(&source, &file, &axes, &workloads)?;
        let check = file.check.map(|check| check_plan(&source, check));
        Ok(Plan {
            name,
            summary: file.summary.trim().to_owned(),
            text: text.to_owned(),
            workloads,
            cells,
            ways,
            check: check.transpose()?,
            writes_report: file.report.write,
        })
    }

    /// Suites of benchmarks of any cell, by name.
    ///
    /// # Errors
    /// There is no such suite.
    pub fn suites(&self) -> crate::Result<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        for bench in self.ways.iter().filter_map(|way| way.bench.as_ref()) {
            let suites = bench.suites()?;
            let suites = suites.iter().map(|suite| suite.name().to_owned());
            names.extend(
                suites
                    .filter(|suite| !names.contains(suite))
                    .collect::<Vec<String>>(),
            );
        }
        Ok(names)
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

/// What the file varies.
fn axes(source: &Text<'_>, file: &File) -> crate::Result<Axes> {
    let mut axes = Axes::default();
    for (name, given) in &file.matrix {
        let values = vary::values(given).map_err(|why| {
            let what = format!("matrix: {}: {why}", name.get_ref());
            source.wrong(&name.span(), what)
        })?;
        axes.push_list(name.get_ref(), values);
    }
    if let Some(sample) = &file.sample {
        let wrong = |why: String| source.wrong(&sample.span(), format!("sample: {why}"));
        let points = sample.get_ref().drawn().map_err(wrong)?;
        if let Some(twice) = sample
            .get_ref()
            .of
            .keys()
            .find(|name| file.matrix.contains_key(name.as_str()))
        {
            return Err(wrong(format!("`{twice}` is in [matrix] too")));
        }
        axes.push_points(points);
    }
    Ok(axes)
}

/// That every gap has values.
fn known(gaps: &[&str], axes: &Axes) -> Result<(), String> {
    let Some(unknown) = gaps
        .iter()
        .find(|gap| !axes.names().any(|name| name == **gap))
    else {
        return Ok(());
    };
    let known: Vec<&str> = axes.names().collect();
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    Err(format!("[matrix] has no list `{unknown}`; it has {known}"))
}

/// The values of gaps that are known to have some.
fn filling<'a>(axes: &'a Axes, choice: &'a Choice) -> impl Fn(&str) -> &'a toml::Value + 'a {
    move |gap| axes.value(choice, gap).expect("a value of every gap")
}

/// A table of the file with its gaps.
struct Gapped {
    table: TableTemplate,
    gaps: Vec<String>,
    span: Range<usize>,
}

impl Gapped {
    fn new(source: &Text<'_>, table: &Spanned<Table>, axes: &Axes) -> crate::Result<Gapped> {
        let span = table.span();
        let checked = TableTemplate::new(table.get_ref().clone()).and_then(|table| {
            let gaps = table.gaps();
            known(&gaps.iter().map(String::as_str).collect::<Vec<_>>(), axes)?;
            Ok((table, gaps))
        });
        let (table, gaps) = checked.map_err(|why| source.wrong(&span, why))?;
        Ok(Gapped { table, gaps, span })
    }

    fn gaps(&self) -> impl Iterator<Item = &str> {
        self.gaps.iter().map(String::as_str)
    }

    fn filled<T: DeserializeOwned>(
        &self,
        source: &Text<'_>,
        axes: &Axes,
        choice: &Choice,
    ) -> crate::Result<T> {
        source.filled(&self.table, &self.span, &filling(axes, choice))
    }
}

/// `-u50-c7`: what tells one of several from the others, in letters of file names.
fn suffix<'a>(gaps: impl Iterator<Item = &'a str>, axes: &Axes, choice: &Choice) -> String {
    let parts =
        gaps.map(|gap| format!("-{gap}{}", fitted(&vary::text(filling(axes, choice)(gap)))));
    parts.collect()
}

/// A name that is short enough and not taken yet: itself, or its beginning with a hash of all that tells it apart. None
/// where nothing does.
fn distinct(name: String, most: usize, of: &str, taken: &mut HashSet<String>) -> Option<String> {
    let name = if name.len() <= most && !taken.contains(&name) {
        name
    } else {
        let hash = fsage_data::hash_bytes(format!("{name} {of}").as_bytes());
        let hash = &hash[..8];
        let kept: String = name.chars().take(most - hash.len() - 1).collect();
        format!("{kept}-{hash}")
    };
    taken.insert(name.clone()).then_some(name)
}

fn seeds(source: &Text<'_>, file: &File) -> crate::Result<Vec<u64>> {
    let Some(given) = &file.seeds else {
        return Ok(vec![1]);
    };
    let wrong = || source.wrong(&given.span(), "seeds: expected numbers, each once");
    let values = vary::values(given.get_ref()).map_err(|_| wrong())?;
    let seeds = values
        .iter()
        .map(|value| u64::try_from(value.as_integer()?).ok());
    let seeds: Vec<u64> = seeds.collect::<Option<_>>().ok_or_else(wrong)?;
    let distinct: BTreeSet<u64> = seeds.iter().copied().collect();
    if distinct.len() < seeds.len() {
        return Err(wrong());
    }
    Ok(seeds)
}

fn workloads(source: &Text<'_>, file: &File, axes: &Axes) -> crate::Result<Vec<WorkloadPlan>> {
    if file.workload.is_empty() {
        return Err(source.wrong(
            &(0..0),
            "no workload; expected a table [[workload]] with `preset`, `file` or `generate`",
        ));
    }
    let seeds = seeds(source, file)?;
    let mut workloads: Vec<WorkloadPlan> = Vec::new();
    let (mut names, mut labels) = (HashSet::new(), HashSet::new());
    for table in &file.workload {
        let table = Gapped::new(source, table, axes)?;
        let wrong = |what: String| source.wrong(&table.span, &what);
        too_many(axes.count(table.gaps(), &Choice::new())).map_err(wrong)?;
        let named = table.table.has_gap_in("name");
        for choice in axes.choices(table.gaps(), &Choice::new()) {
            interrupt::go_on()?;
            let workload: file::Workload = table.filled(source, axes, &choice)?;
            let (default_name, recipe, is_drawn) = recipe(&workload).map_err(wrong)?;
            let own_name = workload.name.clone();
            let name = own_name.unwrap_or_else(|| fitted(&default_name));
            let pattern = table.table.text_of("name").unwrap_or(&name).to_owned();
            // A name with gaps says itself which of several it is.
            fits_file_names(&name).map_err(wrong)?;
            let name = if named || table.gaps.is_empty() {
                if !names.insert(name.clone()) {
                    return Err(wrong(format!(
                        "two workloads are called `{name}`; give this one a `name` of its own"
                    )));
                }
                name
            } else {
                // Points of a sample may have the same number, rounded; many values make a long name.
                let name = format!("{name}{}", suffix(table.gaps(), axes, &choice));
                let found = distinct(name.clone(), MAX_NAME, &format!("{choice:?}"), &mut names);
                found.ok_or_else(|| wrong(format!("two workloads are called `{name}`")))?
            };
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
            too_many(workloads.len() as u64 + seeds.len() as u64).map_err(wrong)?;
            let mut capacity = None;
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
                if i == 0 {
                    let known = recipe.capacity();
                    capacity = known.map_err(|error| wrong(format!("{error:#}")))?;
                }
                let new = WorkloadPlan {
                    name: name.clone(),
                    pattern: pattern.clone(),
                    choice: choice.clone(),
                    gaps: table.gaps.clone(),
                    seed,
                    recipe,
                    capacity,
                };
                if !labels.insert(new.label()) {
                    return Err(wrong(format!(
                        "`{}` is the name of another workload with its seed; give this one a `name` of its own",
                        new.label()
                    )));
                }
                workloads.push(new);
            }
        }
    }
    Ok(workloads)
}

/// Name, recipe, and whether it is drawn at random, with a seed that may be added to the recipe.
fn recipe(workload: &file::Workload) -> Result<(String, Recipe, bool), String> {
    let of_preset = workload.days.is_some()
        || workload.capacity.is_some()
        || workload.utilization.is_some()
        || workload.file_scale.is_some()
        || !workload.set.is_empty();
    if of_preset && workload.preset.is_none() {
        return Err(
            "days, capacity, utilization, file_scale and set belong to a `preset`".to_owned(),
        );
    }
    match (&workload.file, &workload.preset, &workload.generate) {
        (Some(file), None, None) => {
            let path = PathBuf::from(file);
            is_there(&path).map_err(|error| format!("file {error}"))?;
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
                file_scale: workload.file_scale,
                utilization: workload.utilization,
                set: workload.set.clone(),
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

/// A target with gaps, and where it stands in the file.
struct TargetPlan {
    text: String,
    template: Template,
    span: Range<usize>,
}

fn targets(source: &Text<'_>, file: &File, axes: &Axes) -> crate::Result<Vec<TargetPlan>> {
    let targets = file.targets.get_ref().iter().map(|given| {
        let text = given.get_ref().clone();
        let template = Template::parse(&text).and_then(|template| {
            known(&template.gaps(), axes)?;
            Ok(template)
        });
        let wrong = |why| source.wrong(&given.span(), format!("target `{text}`: {why}"));
        let template = template.map_err(wrong)?;
        let span = given.span();
        Ok(TargetPlan {
            text,
            template,
            span,
        })
    });
    let targets = targets.collect::<crate::Result<Vec<TargetPlan>>>()?;
    if targets.is_empty() {
        return Err(source.wrong(
            &file.targets.span(),
            "targets: expected at least one; `fsage age --help` says what a target is",
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
    let is_real = aging::can_be_made(&spec)?;
    Ok((spec, is_real))
}

/// The cells that a file leads to, while they are found.
struct Cells<'a> {
    source: &'a Text<'a>,
    axes: &'a Axes,
    /// By workload, target, way and repetition.
    all: Vec<CellPlan>,
    ways: Vec<Way>,
    age: Option<Gapped>,
    bench: Option<Gapped>,
    after: Option<Gapped>,
    /// Targets by their text and the capacity of the workload, which were checked.
    specs: HashMap<(String, Option<u64>), (TargetSpec, bool)>,
    ids: HashSet<String>,
    /// Ways by the points of what they depend on.
    ways_of: HashMap<Vec<usize>, usize>,
    repetitions: u32,
}

fn cells(
    source: &Text<'_>,
    file: &File,
    axes: &Axes,
    workloads: &[WorkloadPlan],
) -> crate::Result<(Vec<CellPlan>, Vec<Way>)> {
    let repetitions = file.repetitions.as_ref().map_or(1, |n| *n.get_ref());
    if let Some(given) = &file.repetitions
        && (repetitions == 0 || repetitions > 1000)
    {
        return Err(source.wrong(&given.span(), "repetitions: expected 1 to 1000"));
    }
    let gapped = |table: &Option<Spanned<Table>>| {
        let table = table.as_ref().map(|table| Gapped::new(source, table, axes));
        table.transpose()
    };
    let mut cells = Cells {
        source,
        axes,
        all: Vec::new(),
        ways: Vec::new(),
        age: gapped(&file.age)?,
        bench: gapped(&file.bench)?,
        after: gapped(&file.after)?,
        specs: HashMap::new(),
        ids: HashSet::new(),
        ways_of: HashMap::new(),
        repetitions,
    };
    let targets = targets(source, file, axes)?;
    cells.all_gaps_are_filled(file, &targets, workloads)?;
    for (place, workload) in workloads.iter().enumerate() {
        let mut folders = HashMap::new();
        for target in &targets {
            cells.of_target(place, workload, target, &mut folders)?;
        }
    }
    cells.share_a_machine()?;
    cells.treatments_suit()?;
    if let Some(given) = &file.repetitions
        && cells.all.iter().all(|cell| !cell.is_real)
    {
        let what =
            "repetitions are of real file systems; models give the same every time: vary `seeds`";
        return Err(source.wrong(&given.span(), what));
    }
    for target in &targets {
        let is_of =
            |cell: &&CellPlan| cell.spec.kind == "dir" && cell.spec.to_string() == target.text;
        let times = cells.all.iter().filter(is_of).count();
        if times > 1 {
            let what = format!(
                "target `{}`: a directory can be aged once, and this experiment would age it {times} times; take \
                 loop: targets, or one workload, seed and repetition",
                target.text
            );
            return Err(source.wrong(&target.span, &what));
        }
    }
    Ok((cells.all, cells.ways))
}

impl Cells<'_> {
    /// That what is varied makes a difference.
    fn all_gaps_are_filled(
        &self,
        file: &File,
        targets: &[TargetPlan],
        workloads: &[WorkloadPlan],
    ) -> crate::Result<()> {
        let of_targets = targets.iter().flat_map(|target| target.template.gaps());
        let of_workloads = workloads
            .iter()
            .flat_map(|workload| workload.gaps.iter().map(String::as_str));
        let used: HashSet<&str> = of_targets
            .chain(of_workloads)
            .chain(self.gaps_of_way())
            .collect();
        let Some(unused) = self.axes.names().find(|name| !used.contains(name)) else {
            return Ok(());
        };
        let in_matrix = file
            .matrix
            .keys()
            .find(|key| key.get_ref() == unused)
            .map(Spanned::span);
        let span = in_matrix.or_else(|| file.sample.as_ref().map(Spanned::span));
        Err(self.source.wrong(
            &span.unwrap_or(0..0),
            format!(
                "matrix: nothing has a gap for `{unused}`; write {{{unused}}} where its values go"
            ),
        ))
    }

    fn gaps_of_way(&self) -> impl Iterator<Item = &str> {
        let tables = self.age.iter().chain(&self.bench).chain(&self.after);
        tables.flat_map(Gapped::gaps)
    }

    fn of_target(
        &mut self,
        place: usize,
        workload: &WorkloadPlan,
        target: &TargetPlan,
        folders: &mut HashMap<String, usize>,
    ) -> crate::Result<()> {
        let (source, axes) = (self.source, self.axes);
        let wrong = |what: String| source.wrong(&target.span, &what);
        let gaps = target.template.gaps();
        let count = axes.count(
            gaps.iter().copied().chain(self.gaps_of_way()),
            &workload.choice,
        );
        too_many(count.saturating_add(self.all.len() as u64)).map_err(wrong)?;
        for choice in axes.choices(gaps.iter().copied(), &workload.choice) {
            interrupt::go_on()?;
            let text = target.template.text(&filling(axes, &choice));
            let key = (text, workload.capacity);
            let (spec, is_real) = if let Some(known) = self.specs.get(&key) {
                known.clone()
            } else {
                let (mut spec, is_real) =
                    checked(&key.0).map_err(|error| wrong(format!("{error:#}")))?;
                let sized = workload.capacity;
                if let Some(sized) = sized.and_then(|bytes| of_capacity(&spec, bytes)) {
                    spec = sized;
                }
                self.specs.insert(key, (spec.clone(), is_real));
                (spec, is_real)
            };
            // Points of a sample may make the same one, where numbers are rounded.
            if *folders.entry(spec.folder()).or_insert(target.span.start) != target.span.start {
                return Err(wrong(format!("target `{spec}` is named twice")));
            }
            let ways = axes.choices(self.gaps_of_way(), &choice);
            let repetitions = if is_real { self.repetitions } else { 1 };
            for choice in ways {
                let way = self.way(&choice)?;
                let own = suffix(self.gaps_of_way(), axes, &choice);
                let value = |name: &str| {
                    let value = serde_json::to_value(filling(axes, &choice)(name));
                    (name.to_owned(), value.unwrap_or_default())
                };
                let shown = workload.gaps.iter().map(String::as_str);
                let shown: Vec<&str> = shown.chain(gaps.iter().copied()).collect();
                let beside = self.gaps_of_way().filter(|name| !shown.contains(name));
                let beside: BTreeMap<String, serde_json::Value> = beside.map(value).collect();
                let mut parameters: BTreeMap<String, serde_json::Value> =
                    shown.iter().copied().map(value).collect();
                parameters.extend(beside.clone());
                for repetition in 1..=repetitions {
                    let again = match repetitions {
                        1 => String::new(),
                        _ => format!("-r{repetition}"),
                    };
                    let id = format!("{}-{}{own}{again}", workload.label(), spec.folder());
                    let of = serde_json::to_string(&parameters)?;
                    let id = distinct(id, MAX_ID, &of, &mut self.ids)
                        .ok_or_else(|| wrong(format!("target `{spec}` is named twice")))?;
                    self.all.push(CellPlan {
                        id,
                        workload: place,
                        spec: spec.clone(),
                        run_as: with_clock_of(&spec, workload.seed.unwrap_or(1)),
                        pattern: target.text.clone(),
                        is_real,
                        repetition,
                        way,
                        parameters: parameters.clone(),
                        beside: beside.clone(),
                    });
                }
            }
            too_many(self.all.len() as u64).map_err(wrong)?;
        }
        Ok(())
    }

    /// That all targets of the experiment are benchmarked on one machine, where the table `[bench]` names none.
    fn share_a_machine(&mut self) -> crate::Result<()> {
        let Some(table) = &self.bench else {
            return Ok(());
        };
        let mut seen = HashSet::new();
        let specs = self.all.iter().map(|cell| &cell.spec);
        let specs: Vec<&TargetSpec> = specs.filter(|spec| seen.insert(spec.to_string())).collect();
        for way in &mut self.ways {
            let Some(bench) = &mut way.bench else {
                continue;
            };
            let below = bench.below(specs.iter().copied());
            let sound = below.and_then(|below| {
                below.check()?;
                below.all_fit(specs.iter().copied())?;
                Ok(below)
            });
            *bench = sound.map_err(|error| self.source.wrong(&table.span, format!("{error:#}")))?;
        }
        Ok(())
    }

    /// That each treatment suits one of the targets.
    fn treatments_suit(&self) -> crate::Result<()> {
        let Some(table) = &self.after else {
            return Ok(());
        };
        // One target of a kind is enough: what suits it does not depend on its other keys.
        let mut kinds = HashSet::new();
        let specs = self.all.iter().map(|cell| &cell.spec);
        let specs = specs.filter(|spec| kinds.insert((&spec.kind, &spec.place)));
        let specs: Vec<TargetSpec> = specs.cloned().collect();
        for options in self.ways.iter().filter_map(|way| way.after.as_ref()) {
            let sound = after::check(options, &specs);
            sound.map_err(|error| self.source.wrong(&table.span, format!("{error:#}")))?;
        }
        Ok(())
    }

    /// How cells of a choice are aged, benchmarked and treated.
    fn way(&mut self, choice: &Choice) -> crate::Result<usize> {
        if self.gaps_of_way().next().is_none() && !self.ways.is_empty() {
            return Ok(0);
        }
        let points = self.axes.points(self.gaps_of_way(), choice);
        if let Some(place) = self.ways_of.get(&points) {
            return Ok(*place);
        }
        let filled = |table: &Gapped| table.filled(self.source, self.axes, choice);
        let age = self.age.as_ref().map(filled).transpose()?;
        let bench = self
            .bench
            .as_ref()
            .map(|table| table.filled(self.source, self.axes, choice));
        let after = self
            .after
            .as_ref()
            .map(|table| table.filled(self.source, self.axes, choice));
        let way = Way {
            age: age.unwrap_or_default(),
            bench: bench.transpose()?,
            after: after.transpose()?,
        };
        if let (Err(why), Some(table)) = (way.age.check(), &self.age) {
            return Err(self.source.wrong(&table.span, why));
        }
        if let (Some(bench), Some(table)) = (&way.bench, &self.bench) {
            let sound = bench.check();
            sound.map_err(|error| self.source.wrong(&table.span, format!("{error:#}")))?;
        }
        self.ways.push(way);
        let place = self.ways.len() - 1;
        self.ways_of.insert(points, place);
        Ok(place)
    }
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
