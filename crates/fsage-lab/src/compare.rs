//! Comparing targets: one workload aged on each, benchmarks of them aged and unaged, and a report.

use crate::after;
use crate::error::bail;
use crate::experiment::{Bench, MadeOf, Steps, Verdict};
use crate::fullness::{self, Fullness};
use crate::generate::{Output, Source, generate};
use crate::interrupt;
use crate::report::verdict::premise;
use crate::report::{self, Beside};
use crate::run_folder::{self, Manifest, State, TargetFacts};
use crate::table;
use crate::watch::Watch;
use crate::workload::is_there;
use crate::{aging, benching};
use fsage_core::size;
use fsage_report::Finding;
use fsage_target::TargetSpec;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// The workload of a comparison.
#[derive(Clone, Copy, Debug)]
pub enum Workload<'a> {
    /// It is there: Parquet, or `.ops` text.
    File(&'a Path),
    /// It is made, and kept beside the run as `RUN-workload.parquet`.
    Made(&'a Source),
}

impl Workload<'_> {
    /// Whether it delivers its files, as mail is: forced to disk one by one, and moved. What cannot be read is said
    /// where it is used.
    pub fn delivers(&self) -> bool {
        match self {
            Workload::File(file) => fsage_data::open_workload(file).is_ok_and(|workload| {
                let generator = workload.header().generator.as_deref();
                generator.is_some_and(premise::delivers)
            }),
            Workload::Made(source) => source.delivers().unwrap_or_default(),
        }
    }
}

/// What is compared, how, and where that goes.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The workload.
    pub workload: Workload<'a>,
    /// The targets; those without a size take the workload's.
    pub targets: &'a [TargetSpec],
    /// Percentages of the data space that the workload is to fill, each target once a share: it says their sizes. None
    /// for targets as they are.
    pub fill: &'a [u8],
    /// The folder of the run.
    pub output: &'a Path,
    /// How targets are aged.
    pub age: aging::Options,
    /// What is benchmarked; nothing if none.
    pub bench: Option<&'a benching::Options>,
    /// What is done to the aged file systems; nothing if none is named.
    pub after: Option<&'a after::Options>,
    /// Seed of where the spindle of a simulated disk stands.
    pub seed: u64,
    /// Anew, instead of another, or going on.
    pub start: aging::Start,
    /// What others measured, for the report.
    pub beside: Option<&'a dyn Beside>,
}

impl<'a> Request<'a> {
    /// A new run with the usual options, without benchmarks.
    pub fn new(workload: Workload<'a>, targets: &'a [TargetSpec], output: &'a Path) -> Request<'a> {
        Request {
            workload,
            targets,
            fill: &[],
            output,
            age: aging::Options::default(),
            bench: None,
            after: None,
            seed: 1,
            start: aging::Start::default(),
            beside: None,
        }
    }
}

/// What came of a comparison.
#[derive(Debug)]
pub struct Compared {
    /// What the run says of each target.
    pub verdicts: Vec<Verdict>,
    /// What treatments made of the targets.
    pub after: Vec<after::Outcome>,
    /// The report.
    pub page: PathBuf,
    /// What the report concludes.
    pub findings: Vec<Finding>,
    /// What was not benchmarked, and why.
    pub left_out: Vec<String>,
    /// Treatments that failed, on which target, and why.
    pub failed: Vec<String>,
}

impl<'a> Request<'a> {
    /// What is done to the aged targets, if anything is.
    fn treated(&self) -> Option<&'a after::Options> {
        self.after.filter(|options| !options.after.is_empty())
    }
}

/// What a run says of its targets, whether it is of a comparison or was aged and benchmarked by hand.
#[derive(Clone, Debug, Serialize)]
pub struct Said {
    /// Of each target.
    pub verdicts: Vec<Verdict>,
    /// Of targets in several sizes: how full they may get.
    pub fullness: Vec<Fullness>,
    /// What treatments made of the targets.
    pub after: Vec<after::Outcome>,
}

/// What the complete run in a folder says of its targets, with every suite that was measured.
///
/// # Errors
/// There is no run, it is not complete, or what it holds cannot be read.
pub fn said(run: &Path) -> crate::Result<Said> {
    let manifest = Manifest::read(run)?;
    if manifest.state == State::Incomplete {
        bail!("{}: an interrupted run: --resume resumes it", run.display());
    }
    let mut suites = Vec::new();
    let mut after = Vec::new();
    for target in &manifest.targets {
        let folder = run.join(&target.folder);
        suites.extend(benching::measured_suites(&folder)?);
        after.extend(after::read(&folder)?);
    }
    suites.sort();
    suites.dedup();
    let verdicts = Verdict::of_run(run, &suites)?;
    Ok(Said {
        fullness: fullness::of_verdicts(&verdicts),
        verdicts,
        after,
    })
}

/// Ages a workload on every target, benchmarks them beside their unaged controls, and writes the report. A run that
/// goes on is given the same request again; what is done is not done twice.
///
/// # Errors
/// As [`age`](crate::age), [`bench`](crate::bench()) and [`report`](crate::report()); a run or a
/// workload of that name is there.
pub fn compare(request: &Request<'_>, ui: &dyn Watch) -> crate::Result<Compared> {
    let Request { output, start, .. } = *request;
    if let Some(bench) = request.bench {
        bench.check()?;
    }
    let treated = request.treated();
    if let Some(options) = treated {
        after::check(options, request.targets)?;
    }
    if output.exists() && !start.force && !start.resume {
        bail!("{}", how_to_go_on(output));
    }
    if start.force {
        run_folder::may_begin(output, true)?;
    }
    aging::folders(request.targets)?;
    for spec in request.targets {
        // A word that a target does not know, or a size that it cannot have, is refused before a workload is made.
        aging::can_be_made(spec)?;
    }
    let (workload, is_new) = workload(request, ui)?;
    let (specs, bench) = fitted(request, &workload, ui).inspect_err(|_| {
        // The same command with other words makes it again.
        if is_new {
            let _ = fs::remove_file(&workload);
        }
    })?;
    let specs = &specs;
    warn_of_room(request, &workload, ui)?;
    let made_of = MadeOf::new(&workload, specs, &request.age, bench)?;
    let steps = Steps {
        workload: &workload,
        specs,
        run: output,
        made_of: &made_of,
        start,
    };
    let of = 2 + u32::from(made_of.bench.is_some()) + u32::from(treated.is_some());
    let mut number = 0;
    let mut step = |what: &str| {
        number += 1;
        ui.note(&format!("Step {number} of {of}: {what}"));
    };
    step("aging");
    steps.age(ui)?;
    made_of.keep(output)?;
    if treated.is_some_and(|options| options.after_again) {
        after::have_lived_all(output)?;
    }
    if made_of.bench.is_some() {
        some_fit(output, &workload, ui)?;
        step("benchmarks");
    }
    let left_out = steps
        .measure(ui)
        .map_err(|error| match interrupt::go_on() {
            Err(_) => error.context("stopped; add --resume to the same command to resume"),
            Ok(()) => error,
        })?;
    let after::Treated {
        outcomes: after,
        failed,
    } = match treated {
        Some(options) => {
            step("treatments");
            steps.treat(options, request.seed, ui)?
        }
        None => after::Treated::default(),
    };
    steps.discard(ui)?;
    let suites = made_of
        .bench
        .map(|bench| bench.options.suites)
        .unwrap_or_default();
    step("report");
    let verdicts = Verdict::of_run(output, &suites)?;
    let page = output.join(report::PAGE);
    let request = report::Request {
        beside: request.beside,
        ..report::Request::new(output, &page)
    };
    let findings = report::report(&request, ui)?.verdict;
    Ok(Compared {
        verdicts,
        after,
        page,
        findings,
        left_out,
        failed,
    })
}

/// Warns of targets that are short of room for the workload in the size that the user gave them.
fn warn_of_room(request: &Request<'_>, workload: &Path, ui: &dyn Watch) -> crate::Result<()> {
    let sized = request.targets.iter().filter(|spec| spec.has("size"));
    if !request.fill.is_empty() || sized.clone().next().is_none() {
        return Ok(());
    }
    let (bytes, _) = aging::peak_bytes(workload, ui)?;
    let mut short = aging::Shortages::default();
    sized.for_each(|spec| short.look(spec, bytes, request.bench.is_some()));
    if let Some(short) = short.said() {
        ui.warn(&table::wrapped(&short, "", ""));
    }
    Ok(())
}

/// That benchmarks would say something: a target did most of the workload.
fn some_fit(run: &Path, workload: &Path, ui: &dyn Watch) -> crate::Result<()> {
    let targets = Manifest::read(run)?.targets;
    let did_little = |target: &TargetFacts| target.skipped > target.operations / 2;
    if targets.is_empty() || !targets.iter().all(did_little) {
        return Ok(());
    }
    let (most, _) = aging::peak_bytes(workload, ui)?;
    bail!(
        "every target skipped more than half of the operations, so that there is nothing to benchmark: the files take \
         up to {} at a time; give more than that as size=, or none, then targets are as large as the workload's file \
         system was. What was aged is in {}",
        size::human(most),
        run.display()
    );
}

/// The targets in the sizes that the workload wants, and how they are benchmarked.
fn fitted(
    request: &Request<'_>,
    workload: &Path,
    ui: &dyn Watch,
) -> crate::Result<(Vec<TargetSpec>, Option<Bench>)> {
    if request.treated().is_some_and(|options| options.after_again) {
        // A workload that nothing can live on with is refused before long work.
        after::can_live_on(workload, request.seed, ui)?;
    }
    let specs = if request.fill.is_empty() {
        let sized = aging::sized(workload, request.targets, ui)?;
        aging::roomy(workload, request.targets, sized, ui)?
    } else {
        aging::filled(workload, request.targets, request.fill, ui)?
    };
    let bench = request
        .bench
        .map(|bench| Bench::new(bench, &specs, request.seed))
        .transpose()?;
    if let Some(bench) = &bench {
        bench.options.all_fit(&specs)?;
    }
    Ok((specs, bench))
}

/// The workload that is there, or that is made now if it is not, and whether it was made.
fn workload(request: &Request<'_>, ui: &dyn Watch) -> crate::Result<(PathBuf, bool)> {
    let source = match request.workload {
        Workload::File(file) => {
            is_there(file)?;
            return Ok((file.to_owned(), false));
        }
        Workload::Made(source) => source,
    };
    let Some(name) = request.output.file_name() else {
        bail!(
            "{}: expected the name of a folder to make",
            request.output.display()
        );
    };
    let mut file = name.to_owned();
    file.push("-workload.parquet");
    let path = request.output.with_file_name(file);
    if path.exists() && request.start.resume {
        return Ok((path, false));
    }
    if path.exists() && !request.start.force {
        bail!(
            "{}: exists already (--force replaces it, --resume takes it)",
            path.display()
        );
    }
    generate(source, &Output::replacing(&path), ui)?;
    ui.note(&format!("The workload is {}.", path.display()));
    Ok((path, true))
}

/// What to say of a folder that is there.
fn how_to_go_on(run: &Path) -> String {
    let shown = run.display();
    match Manifest::read(run) {
        Ok(manifest) if manifest.state == State::Incomplete => {
            format!("{shown}: an interrupted run: --resume resumes it, --force starts again")
        }
        Ok(_) => format!(
            "{shown}: a run already: --resume benchmarks and reports on it, --force starts again"
        ),
        Err(_) => format!("{shown}: exists and is no run; name another folder"),
    }
}

/// A comparison over several lives of a preset.
pub struct Lives<'a> {
    /// Name of the preset, or TOML file.
    pub preset: &'a str,
    /// Its days; none for as many as it says.
    pub days: Option<u64>,
    /// The size of its file system; none for its own.
    pub capacity: Option<u64>,
    /// How many lives: the seeds are 1 to so many.
    pub seeds: u32,
    /// The targets, as they were written.
    pub targets: &'a [String],
    /// How they are aged.
    pub age: &'a aging::Options,
    /// What is benchmarked; nothing if none.
    pub bench: Option<&'a benching::Options>,
    /// What is done to what was aged; nothing if none.
    pub after: Option<&'a after::Options>,
}

/// The same as the text of an experiment file.
///
/// # Errors
/// A value that TOML cannot have.
pub fn experiment_text(lives: &Lives<'_>) -> crate::Result<String> {
    let days = lives.days.map(|days| format!("days = {days}\n"));
    let capacity = lives
        .capacity
        .map(|bytes| format!("capacity = \"{bytes}\"\n"));
    let table = |name: &str, options: serde_json::Value| {
        let pairs = options.as_object().cloned().unwrap_or_default();
        let pairs = pairs.into_iter().filter(|(_, value)| !value.is_null());
        // A value of JSON that is no table is one of TOML.
        let lines = pairs.map(|(key, value)| format!("{key} = {value}\n"));
        format!("\n[{name}]\n{}", lines.collect::<String>())
    };
    let bench = lives.bench.map(serde_json::to_value).transpose()?;
    let after = lives.after.map(serde_json::to_value).transpose()?;
    Ok(format!(
        "seeds = {{ from = 1, to = {}, step = 1 }}\ntargets = {}\n\n[[workload]]\npreset = {}\n{}{}{}{}{}",
        lives.seeds,
        serde_json::to_string(lives.targets)?,
        serde_json::to_string(lives.preset)?,
        days.unwrap_or_default(),
        capacity.unwrap_or_default(),
        table("age", serde_json::to_value(lives.age)?),
        bench.map(|bench| table("bench", bench)).unwrap_or_default(),
        after.map(|after| table("after", after)).unwrap_or_default()
    ))
}
