//! Aging targets: from a workload and target specifications to a run.

pub(crate) mod again;
mod apart;
pub(crate) mod control;
mod filled;
pub(crate) mod life;
mod lived;
mod origins;
pub(crate) mod real;
mod short;
mod sizes;
mod snapshots;
pub(crate) mod walked;
pub(crate) mod watched;

pub(crate) use again::aged_by;
pub use again::{aged, hot_files, model_of};
pub(crate) use filled::with_room;
pub use filled::{filled, roomy};
pub use real::days_so_far;
pub(crate) use short::Shortages;
pub use sizes::sized;
pub(crate) use sizes::{bytes_of, can_be_made, in_units, of_capacity};
pub(crate) use sizes::{has_small_blocks, small_blocks};
pub(crate) use snapshots::taken as snapshots_taken;

use crate::build::Build;
use crate::days::{self, DayRow};
use crate::error::{self, Context, bail};
use crate::generate::FROM_SNAPSHOTS;
use crate::images;
use crate::interrupt;
use crate::map_file;
use crate::model_image::{Contents, Images};
use crate::run_folder::{Manifest, Run, State, TargetFacts, WorkloadFacts, way};
use crate::seals;
use crate::watch::Watch;
use clap::ArgAction;
use fsage_core::size::human;
use fsage_core::{Event, EventSource, EventsInMemory, FileId};
use fsage_data::WorkloadSummary;
use fsage_metrics::files;
use fsage_metrics::{Measures, Recorder};
use fsage_models::registry::Image;
use fsage_real::RealError;
use fsage_real::directory::Sync;
use fsage_real::loop_image::Unpublished;
use fsage_target::{Aging, Progress, ReplayError, Stamps, Target, TargetSpec, replay};
use origins::Counted;
use serde::{Deserialize, Serialize};
use snapshots::Series;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use walked::Differences;

/// How targets are aged. The same are options of `fsage age` and `fsage compare`, and the table `[age]` of an
/// experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args, Deserialize, Serialize)]
// Each is a switch of the command line.
#[allow(clippy::struct_excessive_bools)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Skip and count operations that do not fit the state, instead of stopping at the first.
    #[arg(long)]
    pub lenient: bool,
    /// Run the model's own file system check at the end of every day; walk a real file system as a whole, and warn
    /// where its numbers are not those that were kept.
    #[arg(long)]
    pub check: bool,
    /// Also store a snapshot with times, generations and names at the end of every so many days, as
    /// TARGET/snapshots.parquet; of a real target one file each, in TARGET/snapshots/.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    pub snapshots: Option<u32>,
    /// Do not measure the unaged control: the files that are alive at the end, copied to a fresh file system.
    // What is measured where nobody says so; the switch says no.
    #[arg(long = "no-control", action = ArgAction::SetFalse)]
    pub control: bool,
    /// Also write what `--on ext4` or `xfs` ends as, and its control, as images: TARGET/ext4.img or xfs.img, and
    /// TARGET/control.img, with these contents of files [default: none].
    #[arg(long, value_name = "CONTENTS", num_args = 0..=1, require_equals = true, default_missing_value = "none")]
    pub image: Option<Contents>,
    /// Remove the images of loop: targets, and of their controls, once all is measured that is asked for: benchmarks,
    /// treatments, `fsage verify` and `fsage mount` need them, results do not.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub discard_images: bool,
    /// Do not keep the block map, which the report shows day by day.
    #[arg(long = "no-map", action = ArgAction::SetFalse)]
    pub map: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            lenient: false,
            check: false,
            snapshots: None,
            image: None,
            control: true,
            discard_images: false,
            map: true,
        }
    }
}

impl Options {
    /// That the numbers make sense; the command line has seen to it.
    ///
    /// # Errors
    /// They do not.
    pub fn check(&self) -> Result<(), String> {
        match self.snapshots {
            Some(0) => Err("snapshots: expected 1 day or more".to_owned()),
            _ => Ok(()),
        }
    }
}

/// How a run begins.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Start {
    /// Threads that share the work [default: one a target, at most one a core].
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Replace a run of that name.
    #[arg(long)]
    pub force: bool,
    /// Resume an interrupted run of that name: give the same command again. Starts one if there is none.
    #[arg(long, conflicts_with = "force")]
    pub resume: bool,
}

/// A number of threads.
fn threads(text: &str) -> Result<usize, String> {
    let number: Option<u16> = text.parse().ok().filter(|n| *n > 0);
    number
        .map(usize::from)
        .ok_or_else(|| format!("expected 1 to {}", u16::MAX))
}

/// What is aged, by what, and where that goes.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The workload: Parquet, or `.ops` text.
    pub workload: &'a Path,
    /// The targets.
    pub targets: &'a [TargetSpec],
    /// The folder of the run.
    pub output: &'a Path,
    /// How.
    pub options: Options,
    /// Anew, instead of another, or going on.
    pub start: Start,
}

impl<'a> Request<'a> {
    /// A new run with the usual options.
    pub fn new(workload: &'a Path, targets: &'a [TargetSpec], output: &'a Path) -> Request<'a> {
        Request {
            workload,
            targets,
            output,
            options: Options::default(),
            start: Start::default(),
        }
    }
}

/// A target that was aged.
#[derive(Debug)]
pub struct Aged {
    /// Its specification.
    pub spec: String,
    /// Its days.
    pub rows: Vec<DayRow>,
}

/// A file system that was never fuller than this is too large for its workload.
pub(crate) const NEARLY_EMPTY: f64 = 0.2;

/// What the targets of a run need to know of it.
pub struct RunFacts<'a> {
    /// Hash of the workload.
    pub workload: Option<&'a str>,
    /// Operations that do not fit the state are skipped.
    pub lenient: bool,
    /// The run goes on after an interruption.
    pub resumed: bool,
    /// A snapshot is taken every so many days.
    pub snapshots: Option<u32>,
    /// A block map is kept.
    pub map: bool,
}

/// That there is a target to write an image of.
fn one_is_mountable(specs: &[TargetSpec]) -> crate::Result<()> {
    let mut images = specs.iter().filter_map(|spec| spec.entry()?.image);
    if images.any(|image| image == Image::Mountable) {
        return Ok(());
    }
    bail!(
        "--image: none of the targets can be written as an image that a kernel mounts; there are such images of {}",
        Image::models(|image| image == Image::Mountable).join(", ")
    );
}

/// Replays a workload on every target and writes the run.
///
/// # Errors
/// A specification that makes no sense; a workload that cannot be read, or does not fit the state; a run of that name
/// is there, or at work; the system refused something; an interrupt. What was there before is untouched.
pub fn age(request: &Request<'_>, ui: &dyn Watch) -> crate::Result<Vec<Aged>> {
    let Request {
        workload,
        targets: specs,
        output,
        options,
        start,
    } = *request;
    options.check().map_err(crate::Error::new)?;
    crate::workload::is_there(workload)?;
    let folders = folders(specs)?;
    let mut unfinished = None;
    for spec in specs {
        // Before anything is made: a key may be wrong.
        let is_real = can_be_made(spec)?;
        if is_real {
            unfinished.get_or_insert_with(interrupt::Unfinished::begin);
        }
        if is_real && workload == Path::new("-") {
            bail!(
                "`{spec}`: a run on a real file system may have to be resumed, so its workload must be a file"
            );
        }
    }
    if options.image.is_some() {
        one_is_mountable(specs)?;
    }
    apart::check(specs)?;
    let mut source = opened(workload, specs, ui)?;
    let mut manifest = begun(workload, &*source, specs, &folders, output, &options)?;
    let mut run = Run::begin(output, start.force, start.resume, &manifest)?;
    let facts = RunFacts {
        workload: manifest.workload.blake3.as_deref(),
        lenient: options.lenient,
        resumed: run.is_resumed(),
        snapshots: options.snapshots,
        map: options.map,
    };
    let epoch_s = source.header().epoch_unix_s.unwrap_or(0);
    let epoch_ns = epoch_s.saturating_mul(1_000_000_000);
    let mut lanes = Vec::new();
    let mut agings = Vec::new();
    for (spec, folder) in specs.iter().zip(&folders) {
        let path = run.target(folder)?;
        let (aging, lane) = Lane::begin(spec, path, &facts, &options, epoch_ns, ui)?;
        lanes.push(lane);
        agings.push(aging);
    }
    let any_real = lanes.iter().any(|lane| lane.is_real);
    if any_real {
        manifest.begun_by = begin_real(workload, &mut run, &mut lanes, &agings, ui)?;
    }
    let mut counted = Counted::new(&mut *source);
    let what = (workload, "aging");
    if let Err(error) = replay_all(what, &mut counted, &mut agings, start.threads, ui) {
        let interrupted = interrupt::go_on().is_err();
        for lane in &lanes {
            lane.has_stopped(&error, ui);
        }
        // What came through a pipe does not come again.
        let again = workload != Path::new("-");
        if interrupted && again {
            run.stay();
        }
        return Err(if any_real || interrupted && again {
            error.context(format!(
                "stopped; add --resume to the same command to resume {}",
                output.display()
            ))
        } else if interrupted {
            error.context("stopped; nothing was written")
        } else {
            error
        });
    }
    if counted.is_empty() {
        bail!(
            "{}: an empty workload: nothing was written",
            workload.display()
        );
    }

    manifest.targets.clear();
    let mut aged = Vec::new();
    for ((lane, folder), aging) in lanes.into_iter().zip(&folders).zip(agings) {
        let (done, facts) =
            end(lane, folder, aging, epoch_ns, &options, ui).with_context(|| {
                format!(
                    "stopped while it ended; add --resume to the same command to resume {}",
                    output.display()
                )
            })?;
        manifest.targets.push(facts);
        aged.push(done);
    }
    manifest.workload.origins = counted.origins();
    manifest.state = State::Complete;
    run.complete(&manifest)?;
    for folder in &folders {
        real::forget_checkpoint(&output.join(folder))?;
    }
    drop(run);
    images::discard(options.discard_images, output, specs, ui)?;
    Ok(aged)
}

/// Gives the images of real targets their names: what is done to a real file system from here on is done.
/// Gives who began it, where another build goes on with it.
fn begin_real(
    workload: &Path,
    run: &mut Run,
    lanes: &mut [Lane<'_>],
    agings: &[Aging],
    ui: &dyn Watch,
) -> crate::Result<Option<Build>> {
    let (peak_bytes, events) = peak_bytes(workload, ui)?;
    if events == 0 {
        bail!("{}: an empty workload", workload.display());
    }
    run.stay();
    for lane in lanes.iter_mut() {
        if let Some(image) = lane.image.take() {
            image.publish().map_err(Error::from)?;
        }
    }
    for (lane, aging) in lanes.iter().zip(agings).filter(|(lane, _)| lane.is_real) {
        warn_of_small_target(lane.spec, aging, peak_bytes, ui);
    }
    Ok(begun_by_another(run, ui))
}

/// Ends a target, and says what the manifest has of it.
fn end(
    lane: Lane<'_>,
    folder: &str,
    aging: Aging,
    epoch_ns: i64,
    options: &Options,
    ui: &dyn Watch,
) -> crate::Result<(Aged, TargetFacts)> {
    let data_bytes = aging.target().layout().geometry().data_bytes;
    let (path, spec) = (lane.path.clone(), lane.spec);
    let finished = lane.finish(aging, epoch_ns, options, ui);
    if finished.as_ref().is_err_and(writing_failed) {
        real::doubt(&path);
    }
    let (done, mut facts) = finished?;
    say_how_the_plan_was_held(&done, data_bytes, ui);
    warn_of_skipped(&done, ui);
    warn_of_large_target(&done, data_bytes, ui);
    if let Some(seals) = seals::of(spec, &path) {
        facts.insert(seals::SEALS.to_owned(), seals);
    }
    let facts = TargetFacts {
        spec: done.spec.clone(),
        folder: folder.to_owned(),
        days: done.rows.len() as u64,
        operations: done.rows.iter().map(|d| d.operations).sum(),
        skipped: done.rows.iter().map(|d| d.skipped).sum(),
        facts,
    };
    Ok((done, facts))
}

/// Whether an error may mean that a file system has lost what was written to it. One that was stopped because the disk
/// below is nearly full may have been too late, if another process was filling it.
fn writing_failed(error: &crate::Error) -> bool {
    let io = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Error>());
    io.is_some_and(|error| error.kind() != ErrorKind::Interrupted)
}

/// A workload, with a warning where it comes from snapshots and makes the files of the first one anew on an image that
/// holds them.
fn opened(
    workload: &Path,
    specs: &[TargetSpec],
    ui: &dyn Watch,
) -> crate::Result<Box<dyn EventSource>> {
    let source = fsage_data::open_workload(workload)?;
    let generator = source.header().generator.as_deref();
    let made = generator.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let is_of_snapshots = made.is_some_and(|made| made["name"] == FROM_SNAPSHOTS);
    for spec in specs
        .iter()
        .filter(|spec| is_of_snapshots && spec.has("from"))
    {
        ui.warn(&format!(
            "`{spec}`: the workload makes the files of its first snapshot, beside those that came with the image: the \
             same files would lie there twice; `fsage forecast NIGHTS --on {spec}` lives on with those of the image"
        ));
    }
    Ok(source)
}

/// Who began a run on real file systems that this build goes on with, if that was another one.
fn begun_by_another(run: &Run, ui: &dyn Watch) -> Option<Build> {
    let this = Build::this();
    let begun_by = run.begun_by().filter(|begun| begun.differs_from(&this))?;
    ui.warn(&format!(
        "the run was begun by {begun_by}, and {this} goes on with it: its days are of both; start again with --force \
         for one of them"
    ));
    Some(begun_by.clone())
}

/// The manifest of a run that begins.
fn begun(
    workload: &Path,
    source: &dyn EventSource,
    specs: &[TargetSpec],
    folders: &[String],
    output: &Path,
    options: &Options,
) -> crate::Result<Manifest> {
    let header = source.header();
    let name = workload.file_name().unwrap_or(workload.as_os_str());
    let hash = || fsage_data::hash_file(workload);
    let place = if workload.is_file() {
        way(output, workload)?.to_str().map(str::to_owned)
    } else {
        None
    };
    Ok(Manifest {
        build: Build::this(),
        begun_by: None,
        schema_version: 1,
        state: State::Incomplete,
        workload: WorkloadFacts {
            file: name.to_string_lossy().into_owned(),
            path: place,
            blake3: workload.is_file().then(hash).transpose()?,
            generator: header.generator.clone(),
            seed: header.seed,
            source: header.source.clone(),
            origins: Vec::new(),
        },
        lenient: options.lenient,
        targets: specs
            .iter()
            .zip(folders)
            .map(|(spec, folder)| TargetFacts {
                spec: spec.to_string(),
                folder: folder.clone(),
                days: 0,
                operations: 0,
                skipped: 0,
                facts: serde_json::Map::new(),
            })
            .collect(),
    })
}

/// A target of the run and where its results go.
struct Lane<'a> {
    spec: &'a TargetSpec,
    is_real: bool,
    path: PathBuf,
    /// Days before an interruption.
    earlier: Vec<DayRow>,
    /// An image that has no name yet.
    image: Option<Unpublished>,
    series: Option<Series>,
    /// Of a real target.
    differences: Differences,
}

impl<'a> Lane<'a> {
    fn begin(
        spec: &'a TargetSpec,
        path: PathBuf,
        run: &RunFacts<'_>,
        options: &Options,
        epoch_ns: i64,
        ui: &dyn Watch,
    ) -> crate::Result<(Aging, Lane<'a>)> {
        let is_real = spec.real()?.is_some();
        let mut earlier = Vec::new();
        let mut image = None;
        let mut map = Recorder::new();
        let target = if is_real {
            let begun = real::begin(spec, run, &path)?;
            for warning in begun.warnings {
                ui.warn(&warning);
            }
            earlier = begun.earlier;
            image = begun.image;
            map = begun.map;
            Target::Real(Box::new(begun.real))
        } else {
            Target::make(spec)?
        };
        let mut aging = Aging::new(target, options.lenient);
        if is_real {
            aging.when_day_ends(Box::new(real::day_record));
        }
        if options.map && spec.keeps_files() {
            aging.record_map(map);
        }
        let differences = Differences::default();
        if options.check {
            aging.check_every_day();
            // A walk writes out what is dirty, which `sync=end` is to leave to the file system.
            if let Target::Real(real) = aging.target()
                && real.directory().options().sync != Sync::End
            {
                aging.measure_anew_every_day(differences.watch_every_day(&path));
            }
        }
        let series = match options.snapshots {
            Some(every_days) => snapshots::take(&mut aging, spec, &path, every_days, epoch_ns)?,
            None => None,
        };
        if options.image.is_some() {
            aging.keep_stamps(epoch_ns);
        }
        let lane = Lane {
            spec,
            is_real,
            path,
            earlier,
            image,
            series,
            differences,
        };
        Ok((aging, lane))
    }

    /// The run ends early.
    fn has_stopped(&self, error: &crate::Error, ui: &dyn Watch) {
        self.warn_of_differences(ui);
        if writing_failed(error) {
            real::doubt(&self.path);
        }
    }

    fn warn_of_differences(&self, ui: &dyn Watch) {
        if let Some(warning) = self.differences.take_warning(self.spec.place.as_deref()) {
            ui.warn(&format!("{}: {warning}", self.spec));
        }
    }

    /// Writes what a target that is done leaves.
    fn finish(
        mut self,
        mut aging: Aging,
        epoch_ns: i64,
        options: &Options,
        ui: &dyn Watch,
    ) -> crate::Result<(Aged, serde_json::Map<String, serde_json::Value>)> {
        // A day that ended in the last moment before an interruption is measured again.
        let mut rows: Vec<DayRow> = std::mem::take(&mut self.earlier);
        rows.truncate(aging.earlier_days() as usize);
        rows.extend(days::rows(aging.days()));
        if let Some(series) = self.series.take() {
            series.finish()?;
        }
        if let Some(map) = aging.take_map() {
            map_file::write(&self.path.join(map_file::NAME), &map)?;
        }
        let day = rows.len().saturating_sub(1) as u32;
        let last_ns = rows.last().and_then(|row| row.t_s);
        let last_ns = aging
            .days()
            .last()
            .and_then(|day| day.t_ns)
            .or(last_ns.map(|s| (s * 1e9) as i64));
        let taken_at_ns = epoch_ns.saturating_add(last_ns.unwrap_or(0));
        let with_control = options.control;
        let mut facts = serde_json::Map::new();
        let stamps = aging.take_stamps();
        let control = match aging.into_target() {
            Target::Real(real) => {
                if let Some(repaired) = real.repaired() {
                    ui.note(&format!(
                        "{}: resumed; {} names removed, {} made, {} moved, {} files written again",
                        self.spec,
                        repaired.removed,
                        repaired.made,
                        repaired.moved,
                        repaired.rewritten + repaired.resized,
                    ));
                    if !repaired.short.is_empty() {
                        ui.warn(&format!(
                            "{}: the file system is full: {} files are shorter than before, or missing",
                            self.spec,
                            repaired.short.len(),
                        ));
                    }
                }
                let ended = real::end(
                    *real,
                    self.spec,
                    &self.path,
                    day,
                    taken_at_ns,
                    with_control,
                    ui,
                )?;
                for warning in ended.warnings {
                    ui.warn(&warning);
                }
                for (key, value) in ended.facts {
                    facts.insert(key.to_owned(), value.into());
                }
                if let Some(last) = rows.last_mut() {
                    let walked = DayRow::of_layout(&ended.walked);
                    if ended.was_synced {
                        self.differences.correct(last, &walked);
                    } else {
                        // What had no place at the end of the day has one now.
                        last.correct(&walked);
                    }
                }
                self.warn_of_differences(ui);
                ended.control
            }
            model @ Target::Model(_) => {
                self.end_model(model, stamps.as_deref(), (day, taken_at_ns), options, ui)?
            }
        };
        if let (Some(control), Some(last)) = (&control, rows.last_mut()) {
            last.set_control(control);
        }
        let spec = self.spec.to_string();
        days::write(&self.path.join("days.parquet"), &spec, &rows)?;
        Ok((Aged { spec, rows }, facts))
    }

    /// Writes what a model leaves; measures its control.
    fn end_model(
        &self,
        mut model: Target,
        stamps: Option<&Stamps>,
        (day, taken_at_ns): (u32, i64),
        options: &Options,
        ui: &dyn Watch,
    ) -> crate::Result<Option<Measures>> {
        let path = self.path.join("final.parquet");
        days::write_final(&path, model.layout(), self.spec, day, taken_at_ns)?;
        let control = (options.control && self.spec.keeps_files())
            .then(|| model_control(self.spec, &model, ui));
        let images = options
            .image
            .map(|contents| Images::new(self.spec, &self.path, contents, stamps, ui));
        if let Some(images) = &images {
            images.aged(&mut model)?;
        }
        Ok(match control {
            Some(Ok((mut control, copied))) => {
                let path = self.path.join("control.parquet");
                days::write_final(&path, control.layout(), self.spec, day, taken_at_ns)?;
                let measures = fsage_metrics::measure(control.layout());
                if let Some(images) = &images {
                    images.control(&mut control, &copied)?;
                }
                Some(measures)
            }
            Some(Err(error)) => {
                // A run without its control is complete only if it cannot have one.
                interrupt::go_on()?;
                ui.warn(&format!(
                    "{}: the unaged control could not be made: {error:#}",
                    self.spec
                ));
                None
            }
            None => None,
        })
    }
}

/// The live files of a model, copied in tree order to a fresh one, and their ids there by their inodes here.
///
/// # Errors
/// The copy does not fit the state; an interrupt.
pub fn model_control(
    spec: &TargetSpec,
    aged: &Target,
    ui: &dyn Watch,
) -> crate::Result<(Target, BTreeMap<u64, FileId>)> {
    let copy = fsage_target::control_workload(aged.layout());
    let mut source = EventsInMemory::new(copy.events);
    let emptied = match aged {
        Target::Model(fs) => fs.emptied().map(Target::Model),
        Target::Real(_) => None,
    };
    let target = emptied.map_or_else(|| Target::make(spec), Ok)?;
    let mut fresh = [Aging::new(target, false)];
    replay(&mut source, &mut fresh, 1, |_| interrupt::go_on().is_ok())?;
    let [fresh] = fresh;
    if fresh.total().skipped() > 0 {
        ui.warn(&format!(
            "{spec}: not all files of the unaged control fit on a fresh file system"
        ));
    }
    Ok((fresh.into_target(), copy.files))
}

/// One folder a target; the same target twice would be the same results twice.
pub(crate) fn folders(specs: &[TargetSpec]) -> crate::Result<Vec<String>> {
    let mut folders: Vec<String> = Vec::new();
    for spec in specs {
        let folder = spec.folder();
        if folders.contains(&folder) {
            bail!("target `{spec}` is named twice; every --on needs a target of its own");
        }
        folders.push(folder);
    }
    Ok(folders)
}

/// Replays a workload on targets, as somebody watches, who is told what that is for.
pub(crate) fn replay_all(
    (workload, what): (&Path, &str),
    source: &mut dyn EventSource,
    agings: &mut [Aging],
    threads: Option<usize>,
    ui: &dyn Watch,
) -> crate::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or(cores.min(agings.len()));
    let real = agings
        .iter()
        .any(|aging| matches!(aging.target(), Target::Real(_)));
    let bar = match (source.progress(), source.events_left()) {
        (None, Some(events)) => ui.bar_count(Some(events), &format!("{what}, operations")),
        (progress, _) => ui.bar_bytes(progress.map(|(_, of)| of), what),
    };
    let result = replay(source, agings, threads, |progress: Progress| {
        bar.set_position(progress.bytes.map_or(progress.events, |(at, _)| at));
        interrupt::go_on().is_ok()
    });
    drop(bar);
    match result {
        Ok(()) => Ok(()),
        Err(ReplayError::Source(error)) => Err(error::boxed(error)),
        Err(error @ (ReplayError::State { .. } | ReplayError::Real(RealError::Name { .. }))) => {
            let advice = if real {
                "--lenient, from the start, skips such lines"
            } else {
                "nothing was written (--lenient skips such lines)"
            };
            let error = crate::Error::from(error).at_line_of(workload);
            bail!("{error}; {advice}")
        }
        Err(ReplayError::Interrupted) => Err(Error::from(ErrorKind::Interrupted).into()),
        Err(error) => Err(error.into()),
    }
}

/// That a workload needs more room than there is, is worth a word before it runs for hours.
fn warn_of_small_target(spec: &TargetSpec, aging: &Aging, peak_bytes: u64, ui: &dyn Watch) {
    let data_bytes = aging.target().layout().geometry().data_bytes;
    if let Some(data_bytes) = data_bytes
        && data_bytes < peak_bytes
    {
        ui.warn(&format!(
            "{spec}: has room for {}, and the workload keeps up to {} at a time; what does not fit is skipped \
             and counted",
            human(data_bytes),
            human(peak_bytes)
        ));
    }
}

/// The most bytes that the files of a workload take at a time, in whole blocks.
fn most(workload: &Path, block_bytes: u64, ui: &dyn Watch) -> crate::Result<Most> {
    let mut summary = WorkloadSummary::in_blocks(block_bytes);
    each_event(workload, "reading", ui, |event| summary.add(event))?;
    Ok(Most {
        bytes: summary.live_bytes_most,
        files: summary.live_files_most,
    })
}

/// What a workload has at a time when it has most.
struct Most {
    bytes: u64,
    files: u64,
}

/// The most bytes that a workload keeps in files at a time, by what it says, and how many events it has.
pub(crate) fn peak_bytes(workload: &Path, ui: &dyn Watch) -> crate::Result<(u64, u64)> {
    let mut summary = WorkloadSummary::default();
    let mut events = 0;
    each_event(workload, "reading", ui, |event| {
        summary.add(event);
        events += 1;
    })?;
    Ok((summary.live_bytes_most, events))
}

/// Reads a workload from end to end.
pub(crate) fn each_event(
    workload: &Path,
    what: &str,
    ui: &dyn Watch,
    mut take: impl FnMut(&Event),
) -> crate::Result<()> {
    let mut source = fsage_data::open_workload(workload)?;
    let bar = ui.bar_bytes(source.progress().map(|(_, of)| of), what);
    let mut events = 0_u64;
    while let Some(event) = source.next_event().map_err(error::boxed)? {
        take(&event);
        events += 1;
        if events.is_multiple_of(8192) {
            interrupt::go_on()?;
            bar.set_position(source.progress().map_or(events, |(at, _)| at));
        }
    }
    Ok(())
}

/// How far a real target was from the plan of the workload on its worst day.
fn say_how_the_plan_was_held(aged: &Aged, data_bytes: Option<u64>, ui: &dyn Watch) {
    let off = aged
        .rows
        .iter()
        .filter_map(|row| Some(row.planned_bytes?.abs_diff(row.count(&files::LIVE_BYTES)?)))
        .max();
    if let (Some(off), Some(data_bytes)) = (
        off.filter(|&bytes| bytes > 0),
        data_bytes.filter(|&bytes| bytes > 0),
    ) {
        ui.note(&format!(
            "{}: live data at most {:.2} % of the file system off the plan",
            aged.spec,
            off as f64 / data_bytes as f64 * 100.0
        ));
    }
}

/// Hardly anything ages where there is always room.
fn warn_of_large_target(aged: &Aged, data_bytes: Option<u64>, ui: &dyn Watch) {
    if let (Some(fullest), Some(data_bytes)) = (days::fullest(&aged.rows), data_bytes)
        && fullest < NEARLY_EMPTY
        && aged.rows.len() > 1
    {
        ui.warn(&format!(
            "{}: never more than {:.0} % of {} were used: free space hardly ages, only the order of files may; a \
             smaller size= shows more",
            aged.spec,
            fullest * 100.0,
            human(data_bytes)
        ));
    }
}

fn warn_of_skipped(aged: &Aged, ui: &dyn Watch) {
    for (_, reason, of_day) in days::REASONS {
        let count: u64 = aged.rows.iter().map(of_day).sum();
        if count == 0 {
            continue;
        }
        ui.warn(&format!(
            "{}: {count} operations were not done {reason}",
            aged.spec
        ));
    }
}
