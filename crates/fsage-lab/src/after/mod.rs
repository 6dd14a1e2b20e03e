//! Does defragmenting pay? An aged file system as it is, after it was defragmented, and after both have lived on.
//!
//! ```text
//! W, the life of the run ---+--------------------> W+, as full for as long again      lived on
//!                           |
//!                           +--> treatment ------> W+                                 treated, lived on
//! ```
//!
//! What is treated is a copy of an image, or a model that is aged again: the run stays as it is. W+ is made of the days
//! of W, without its growth ([`fsage_workload::repeat::Instead::NoGrowth`]). All of it stands in
//! `RUN/TARGET/after.json`, measurements of benchmarks in `RUN/TARGET/after/STAGE/bench`.

mod defrag;
mod later;
mod model;
mod real;
mod text;

pub use defrag::Way;
pub(crate) use text::{HARDLY, Half, half_gone, lost_room, name, paid_back_bytes, phase, speed};
pub use text::{answer, print, sentences};

use crate::benching::{self, PhaseRatio, Plan};
use crate::days::DayRow;
use crate::error::{Context, bail, error};
use crate::experiment::manifest::write_json;
use crate::run_folder::{Manifest, TargetFacts};
use crate::watch::Watch;
use fsage_bench::{Command, Says};
use fsage_core::Event;
use fsage_durable::{FolderLock, make_folders};
use fsage_metrics::{files, free_space, pieces};
use fsage_real::Place;
use fsage_target::TargetSpec;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The file in the folder of a target.
pub(crate) const FILE: &str = "after.json";
/// The folder of its stages.
const FOLDER: &str = "after";

/// What is done to aged file systems. The same are options of `fsage compare`, and the table `[after]` of an
/// experiment, with the keys `treat` and `again`.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
#[group(skip)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Treat what was aged, and measure it before and after: models by `defrag:ideal`, `defrag:file` or
    /// `defrag:free-space`, images by a command of the shell, where {mnt} stands for the root of the file system and
    /// {dev} for its device. May be given several times.
    #[arg(long, value_name = "DO")]
    #[serde(rename = "treat")]
    pub after: Vec<Treatment>,
    /// Also let what was treated, and what was not, live on for as long again, as full as it is.
    #[arg(long, requires = "after")]
    #[serde(rename = "again", default)]
    pub after_again: bool,
}

/// Something that is done to an aged file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Treatment {
    /// To a model.
    Defrag(Way),
    /// To a real one: a line of the shell.
    Command(String),
}

impl FromStr for Treatment {
    type Err = String;

    fn from_str(text: &str) -> Result<Treatment, String> {
        if let Some(way) = text.strip_prefix("defrag:") {
            return way.parse().map(Treatment::Defrag);
        }
        match text.trim() {
            "" => Err(
                "expected a command, or defrag:ideal, defrag:file, defrag:free-space".to_owned(),
            ),
            "defrag" => Err("expected defrag:ideal, defrag:file or defrag:free-space".to_owned()),
            _ => Ok(Treatment::Command(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Treatment {
    type Error = String;

    fn try_from(text: String) -> Result<Treatment, String> {
        text.parse()
    }
}

impl From<Treatment> for String {
    fn from(treatment: Treatment) -> String {
        treatment.to_string()
    }
}

impl fmt::Display for Treatment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Treatment::Defrag(way) => write!(f, "defrag:{}", way.as_str()),
            Treatment::Command(line) => f.write_str(line),
        }
    }
}

/// What treatments made of a target.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Outcome {
    /// Its specification.
    pub target: String,
    /// Days that it lived on; 0 where it did not.
    pub days_more: u64,
    /// As it was, then as it lived on, then the same of each treatment.
    pub stages: Vec<Stage>,
}

/// A target before or after a treatment.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Stage {
    /// What was done to it; none if nothing was.
    pub treatment: Option<String>,
    /// Whether it lived on since.
    pub lived_on: bool,
    /// Layout score; none where no block is scored.
    pub layout_score: Option<f64>,
    /// Pieces of a file, in the mean.
    pub pieces_per_file: Option<f64>,
    /// Files in several pieces.
    pub fragmented_files: Option<f64>,
    /// Free space in runs of 1 MiB or more, in bytes.
    pub free_in_1m_runs_bytes: Option<f64>,
    /// Extents of 1 MiB that can still be placed.
    pub placeable_1m: Option<f64>,
    /// Share of the data space in use, without what files keep behind their ends: XFS gives that back when it is
    /// mounted again, as images are before they are treated, and not at the end of a day that was lived on.
    pub utilization: Option<f64>,
    /// Regular files.
    pub files: Option<f64>,
    /// Their lengths, added up.
    pub file_bytes: Option<f64>,
    /// Operations that were not done while it lived on.
    pub skipped: u64,
    /// What the treatment took.
    pub cost: Option<Cost>,
    /// How fast it is.
    pub speeds: Vec<Speed>,
    /// Layout scores of the days that it lived on.
    pub layout_by_day: Vec<Option<f64>>,
}

/// What a treatment took.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Cost {
    /// Files that were written anew, and stay so; of commands this is not known.
    pub moved_files: Option<u64>,
    /// Files that were written anew to see whether they lie better.
    pub tried_files: Option<u64>,
    /// Files that were left alone though in question: with holes or several names, or for lack of space.
    pub left_files: Option<u64>,
    /// Bytes read: by the device, or of files where there is none.
    pub read_bytes: u64,
    /// Bytes written, in the same way.
    pub written_bytes: u64,
    /// How long it took: on the simulated disk, or by the machine's clock.
    pub seconds: Option<f64>,
    /// The simulated disk.
    pub device: Option<String>,
}

/// How fast a stage is in a phase of a benchmark.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Speed {
    /// The suite.
    pub suite: String,
    /// The phase.
    pub phase: String,
    /// What it is counted in.
    pub unit: String,
    /// Median; over several sizes of files their geometric mean.
    pub speed: f64,
    /// Beside the aged file system before any treatment.
    pub by_before: Option<Beside>,
    /// Beside the one that was not treated and lived on as long.
    pub by_untreated: Option<Beside>,
}

impl Stage {
    /// How fast it is beside the file system of the same day that was not treated.
    pub(crate) fn beside_untreated(&self, speed: &Speed) -> Option<Beside> {
        if self.lived_on {
            speed.by_untreated
        } else {
            speed.by_before
        }
    }
}

/// A speed as a multiple of another one.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Beside {
    /// The ratio of medians.
    pub ratio: f64,
    /// Where it lies with a confidence of 0.99.
    pub interval: [f64; 2],
    /// What it says.
    pub says: Says,
}

impl Outcome {
    /// As it was before anything was done.
    pub fn before(&self) -> Option<&Stage> {
        self.stage(None, false)
    }

    /// A stage.
    pub fn stage(&self, treatment: Option<&str>, lived_on: bool) -> Option<&Stage> {
        let mut stages = self.stages.iter();
        stages.find(|stage| stage.treatment.as_deref() == treatment && stage.lived_on == lived_on)
    }

    /// The treatments, in their order.
    pub fn treatments(&self) -> impl Iterator<Item = &str> {
        let after = self.stages.iter().filter(|stage| !stage.lived_on);
        after.filter_map(|stage| stage.treatment.as_deref())
    }
}

impl Stage {
    /// Whether nothing was done to it, and it did not live on.
    pub fn is_as_aged(&self) -> bool {
        self.treatment.is_none() && !self.lived_on
    }

    /// What it is called in tables: the treatment or `nothing`, and whether it lived on.
    pub fn id(&self) -> String {
        let treatment = self.treatment.as_deref().unwrap_or("nothing");
        format!("{treatment}{}", if self.lived_on { ".again" } else { "" })
    }

    /// What is known of it before it is benchmarked, in a line.
    fn in_short(&self, spec: &TargetSpec) -> String {
        let done = self.treatment.as_deref().unwrap_or("as it was");
        let later = if self.lived_on { ", lived on" } else { "" };
        let score = self
            .layout_score
            .map(|score| format!("layout score {score:.3}"));
        let pieces = self.pieces_per_file;
        let pieces = pieces.map(|pieces| format!("{pieces:.2} pieces a file"));
        let known: Vec<String> = score.into_iter().chain(pieces).collect();
        format!("{spec}, {done}{later}: {}.", known.join(", "))
    }

    pub(crate) fn new(treatment: Option<&Treatment>, layout: &DayRow) -> Stage {
        Stage {
            treatment: treatment.map(ToString::to_string),
            lived_on: false,
            layout_score: layout.score(),
            pieces_per_file: layout.value(&pieces::PER_FILE),
            fragmented_files: layout.value(&pieces::FRAGMENTED_FILES),
            free_in_1m_runs_bytes: layout.value(&free_space::BYTES_IN_1M_RUNS),
            placeable_1m: layout.value(&free_space::PLACEABLE_1M),
            utilization: layout.value(&files::LASTING_UTILIZATION),
            files: layout.value(&files::FILES),
            file_bytes: layout.value(&files::FILE_BYTES),
            skipped: 0,
            cost: None,
            speeds: Vec::new(),
            layout_by_day: Vec::new(),
        }
    }

    /// After days more.
    fn lived_on(treatment: Option<&Treatment>, rows: &[DayRow]) -> Stage {
        Stage {
            lived_on: true,
            skipped: rows.iter().map(|row| row.skipped).sum(),
            layout_by_day: rows.iter().map(DayRow::score).collect(),
            ..Stage::new(treatment, rows.last().unwrap_or(&DayRow::default()))
        }
    }
}

/// What is known of the run whose targets are treated.
struct Life<'a> {
    run: &'a Path,
    manifest: &'a Manifest,
    workload: &'a Path,
    /// What it lives on with; nothing if it does not.
    more: Option<&'a [Event]>,
    plan: Option<&'a Plan>,
    ui: &'a dyn Watch,
}

/// What treatments made of the targets of a run.
#[derive(Debug, Default)]
pub struct Treated {
    /// Of each target that one suits.
    pub outcomes: Vec<Outcome>,
    /// Commands that failed, on which target, and why: of these there is no stage.
    pub failed: Vec<String>,
}

impl Options {
    /// Those that can be done to a target; none if nothing can.
    ///
    /// # Errors
    /// A target that is not known.
    pub fn suited_to(&self, spec: &TargetSpec) -> crate::Result<Option<Options>> {
        let suited = suited(spec, &self.after)?;
        Ok((!suited.is_empty()).then(|| Options {
            after: suited.into_iter().cloned().collect(),
            ..*self
        }))
    }
}

/// What to treat, and how.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// A complete run.
    pub run: &'a Path,
    /// The treatments.
    pub options: &'a Options,
    /// How every stage is benchmarked, if it is.
    pub plan: Option<&'a Plan>,
    /// Of what lives on after a treatment.
    pub seed: u64,
    /// What is there already of the same treatments is not done again.
    pub is_resumed: bool,
}

/// Refuses what cannot live on once it is aged, before long work: real targets that skipped operations.
///
/// # Errors
/// There is one; the run cannot be read.
pub(crate) fn have_lived_all(run: &Path) -> crate::Result<()> {
    for facts in &Manifest::read(run)?.targets {
        let spec = TargetSpec::parse(&facts.spec)?;
        if spec.real()?.is_some() {
            real::can_live_on(facts, &spec)?;
        }
    }
    Ok(())
}

/// Treats the targets of a complete run, each in every way that suits it, and keeps what came of it. A command that
/// fails costs its own stages alone.
///
/// # Errors
/// The run is not complete, or at work; a target cannot be made again or copied; the workload has no times, so that
/// nothing can live on; an interrupt.
pub fn after(request: &Request<'_>, ui: &dyn Watch) -> crate::Result<Treated> {
    let Request {
        run,
        options,
        plan,
        seed,
        is_resumed,
    } = *request;
    let _alone = FolderLock::alone(run)?;
    let manifest = Manifest::read(run)?;
    let workload = manifest.workload.find(run, None)?;
    let mut more: Option<Vec<Event>> = None;
    let mut all = Treated::default();
    for facts in &manifest.targets {
        let spec = TargetSpec::parse(&facts.spec)?;
        let suited = suited(&spec, &options.after)?;
        if suited.is_empty() {
            ui.warn(&format!(
                "{spec}: not treated, since no --after suits it: {}",
                what_suits(&spec)
            ));
            continue;
        }
        let days_more = if options.after_again { facts.days } else { 0 };
        let path = run.join(&facts.folder).join(FILE);
        if is_resumed
            && let Some(there) = read(&run.join(&facts.folder))?.filter(|outcome| {
                let treatments: Vec<String> = suited.iter().map(ToString::to_string).collect();
                outcome.days_more == days_more && outcome.treatments().eq(&treatments)
            })
        {
            all.outcomes.push(there);
            continue;
        }
        if options.after_again && more.is_none() {
            more = Some(later::events(&workload, facts.days, seed, ui)?);
        }
        let life = Life {
            run,
            manifest: &manifest,
            workload: &workload,
            more: more.as_deref(),
            plan,
            ui,
        };
        let stages = if spec.real()?.is_some() {
            real::stages(&life, facts, &spec, &suited, &mut all.failed)
        } else {
            model::stages(&life, facts, &spec, &suited)
        };
        let outcome = Outcome {
            target: facts.spec.clone(),
            days_more,
            stages: stages.with_context(|| facts.spec.clone())?,
        };
        write_json(&path, &outcome)?;
        all.outcomes.push(outcome);
    }
    Ok(all)
}

/// That each treatment suits one of the targets; for before long work.
///
/// # Errors
/// One suits none.
pub fn check(options: &Options, specs: &[TargetSpec]) -> crate::Result<()> {
    for treatment in &options.after {
        if let Treatment::Command(line) = treatment {
            Command::is_found(line).map_err(|why| error!("--after {why}"))?;
        }
        let mut suits_one = false;
        for spec in specs {
            suits_one |= !suited(spec, std::slice::from_ref(treatment))?.is_empty();
        }
        if let (false, Some(spec)) = (suits_one, specs.first()) {
            bail!(
                "--after '{treatment}' suits none of the targets; {spec}: {}",
                what_suits(spec)
            );
        }
    }
    Ok(())
}

/// That something can live on with a workload; for before long work.
///
/// # Errors
/// It has no times, or no days; it cannot be read.
pub fn can_live_on(workload: &Path, seed: u64, ui: &dyn Watch) -> crate::Result<()> {
    later::events(workload, 1, seed, ui).map(drop)
}

/// Those that can be done to a target.
fn suited<'a>(spec: &TargetSpec, all: &'a [Treatment]) -> crate::Result<Vec<&'a Treatment>> {
    let place = spec.real()?.map(|real| real.place);
    let suits = |treatment: &&Treatment| match (treatment, &place) {
        (Treatment::Defrag(_), None) => spec.keeps_files(),
        (Treatment::Command(line), Some(Place::Loop(options))) => {
            suits_kind(line, options.kind.name())
        }
        _ => false,
    };
    Ok(all.iter().filter(suits).collect())
}

/// Tools that treat one file system alone: its kind, and how the tool is called.
const TOOLS: [(&str, &str); 3] = [
    ("ext4", "e4defrag {mnt}"),
    ("xfs", "xfs_fsr {mnt}"),
    ("btrfs", "btrfs filesystem defragment -r {mnt}"),
];

/// Whether a line of the shell may treat a file system: the tool of another one may not.
fn suits_kind(line: &str, kind: &str) -> bool {
    let program_of = |line: &str| {
        let word = line.split_whitespace().next().map(Path::new)?;
        Some(word.file_name()?.to_owned())
    };
    let program = program_of(line);
    let mut tools = TOOLS.iter();
    let tool = tools.find(|(_, call)| program.is_some() && program_of(call) == program);
    tool.is_none_or(|(of, _)| *of == kind)
}

fn what_suits(spec: &TargetSpec) -> String {
    let text = match spec.real() {
        Ok(Some(real)) => match real.place {
            Place::Loop(options) => {
                let mut tools = TOOLS.iter();
                if let Some((_, call)) = tools.find(|(kind, _)| *kind == options.kind.name()) {
                    return format!("its own tool is called as in '{call}'");
                }
                "an image is treated by a command with {mnt}"
            }
            Place::Dir(_) => {
                "a directory cannot be copied, and only copies are treated; age an image: --on loop:ext4"
            }
        },
        _ if spec.keeps_files() => {
            "a model is treated by defrag:ideal, defrag:file or defrag:free-space; commands run on images, as \
             loop:ext4"
        }
        _ => "there are no files to move",
    };
    text.to_owned()
}

/// What stands in the folder of a target.
///
/// # Errors
/// It cannot be read.
pub fn read(folder: &Path) -> crate::Result<Option<Outcome>> {
    let path = folder.join(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let failed = || format!("{}: cannot be read; give --after again", path.display());
    let bytes = fsage_input::bytes(&path, fsage_input::TEXT_BYTES).with_context(failed)?;
    serde_json::from_slice(&bytes)
        .with_context(failed)
        .map(Some)
}

/// A folder for a stage of a target, anew.
fn stage_folder(life: &Life<'_>, facts: &TargetFacts, number: usize) -> crate::Result<PathBuf> {
    let folder = life.run.join(&facts.folder).join(FOLDER);
    if number == 0 && folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("{}: cannot be made anew", folder.display()))?;
    }
    let folder = folder.join(number.to_string());
    make_folders(&folder)?;
    Ok(folder)
}

/// Sets speeds of stages beside each other, from what benchmarks left in their folders.
fn set_speeds(stages: &mut [Stage], folders: &[PathBuf], plan: &Plan) -> crate::Result<()> {
    let suites: Vec<String> = plan
        .suites
        .iter()
        .map(|suite| suite.name().to_owned())
        .collect();
    let untreated = stages
        .iter()
        .position(|stage| stage.lived_on && stage.treatment.is_none());
    let measured = |a: usize, b: usize| -> crate::Result<Vec<PhaseRatio>> {
        let mut all = Vec::new();
        for suite in &suites {
            all.extend(benching::between(suite, &folders[a], &folders[b])?);
        }
        Ok(all)
    };
    for (at, stage) in stages.iter_mut().enumerate() {
        let by_before = measured(at, 0)?;
        let by_untreated = match untreated {
            Some(untreated) if stage.lived_on && untreated != at => measured(at, untreated)?,
            _ => Vec::new(),
        };
        let beside = |ratio: &PhaseRatio| Beside {
            ratio: ratio.aged_by_control,
            interval: ratio.interval,
            says: ratio.says,
        };
        let speeds = by_before.iter().map(|ratio| Speed {
            suite: ratio.suite.clone(),
            phase: ratio.phase.clone(),
            unit: ratio.unit.clone(),
            speed: ratio.aged,
            by_before: (at > 0).then(|| beside(ratio)),
            by_untreated: by_untreated
                .iter()
                .find(|other| other.of() == ratio.of())
                .map(beside),
        });
        stage.speeds = speeds.collect();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_of_one_file_system_treats_no_other() {
        let suits = |spec: &str, line: &str| {
            let spec = TargetSpec::parse(spec).expect("a target");
            let treatment = Treatment::Command(line.to_owned());
            let suited = suited(&spec, &[treatment]).expect("a known target").len();
            suited == 1
        };
        assert!(suits("loop:ext4", "e4defrag {mnt}"));
        assert!(!suits("loop:xfs", "e4defrag {mnt}"));
        assert!(suits("loop:xfs", "/usr/sbin/xfs_fsr -v {mnt}"));
        assert!(!suits("loop:ext4", "/usr/sbin/xfs_fsr -v {mnt}"));
        assert!(suits("loop:ext4", "fstrim {mnt}") && suits("loop:xfs", "fstrim {mnt}"));
        assert!(!suits("ffs", "fstrim {mnt}") && !suits("dir:/tmp", "fstrim {mnt}"));
        let xfs = TargetSpec::parse("loop:xfs").expect("a target");
        assert!(what_suits(&xfs).contains("xfs_fsr {mnt}"));
    }
}
