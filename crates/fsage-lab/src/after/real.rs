//! Images: each stage is a copy of the aged one, and the command runs on that, mounted where only it sees it.

use super::{Cost, Life, Stage, Treatment, set_speeds, stage_folder};
use crate::aging::again::{Asked, WorkloadFiles, files_of};
use crate::aging::real::{know_sizes, sizes, store_snapshot};
use crate::aging::{replay_all, walked};
use crate::benching::{self, Lane, Plan, RunFiles, State};
use crate::days::{self, DayRow};
use crate::error::{self, Context, bail, ensure};
use crate::interrupt;
use crate::run_folder::TargetFacts;
use crate::tree_table;
use fsage_bench::BenchError;
use fsage_bench::real::{copy_image, program};
use fsage_core::{Event, EventsInMemory, OpCounts};
use fsage_data::SnapshotFile;
use fsage_metrics::{Measures, files};
use fsage_real::directory::{Directory, Source, Volume};
use fsage_real::loop_image::{Kind, LoopImage, LoopOptions};
use fsage_real::{Place, Real, RealSpec};
use fsage_target::{Aging, HotFiles, Target, TargetSpec};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a sector, in which the kernel counts what loop devices do.
const SECTOR_BYTES: u64 = 512;

/// Refuses to live on with a target of which nobody knows any more which operations it skipped.
///
/// # Errors
/// It skipped some.
pub(super) fn can_live_on(facts: &TargetFacts, spec: &TargetSpec) -> crate::Result<()> {
    ensure!(
        facts.skipped == 0,
        "{spec}: --after-again: {} operations of its life were skipped, and nobody knows any more which; age it on a \
         larger image, or treat it as it is: the same command with --resume and without --after-again",
        facts.skipped
    );
    Ok(())
}

/// The stages of an image. A command that fails has none, and stands in `failed`.
pub fn stages(
    life: &Life<'_>,
    facts: &TargetFacts,
    spec: &TargetSpec,
    treatments: &[&Treatment],
    failed: &mut Vec<String>,
) -> crate::Result<Vec<Stage>> {
    let _unfinished = interrupt::Unfinished::begin();
    let image = Image::of(life, facts, spec)?;
    if life.more.is_some() {
        can_live_on(facts, spec)?;
    }
    let mut stages = Vec::new();
    let mut folders = Vec::new();
    let all = std::iter::once(None).chain(treatments.iter().copied().map(Some));
    for treatment in all {
        let at = stages.len();
        let folder = stage_folder(life, facts, at)?;
        let stage = match (image.treated(treatment, &folder), treatment) {
            (Err(why), Some(treatment)) if interrupt::go_on().is_ok() => {
                fs::remove_dir_all(&folder)
                    .with_context(|| format!("{}: cannot be removed", folder.display()))?;
                let why = format!("{spec}: --after '{treatment}': {why}");
                life.ui.warn(&format!("{why}; the others go on without it"));
                failed.push(why);
                continue;
            }
            (stage, _) => stage?,
        };
        // Days and benchmarks may take minutes yet.
        life.ui.note(&stage.in_short(spec));
        stages.push(stage);
        folders.push(folder.clone());
        if let Some(more) = life.more {
            let later = stage_folder(life, facts, at + 1)?;
            let copy = image.options.image_in(&folder);
            let stage = image.lived_on(treatment, &copy, more, &later)?;
            life.ui.note(&stage.in_short(spec));
            stages.push(stage);
            folders.push(later);
        }
    }
    if let Some(plan) = life.plan {
        image.measure(&stages, &folders, plan)?;
        set_speeds(&mut stages, &folders, plan)?;
    }
    // Images are large, and the run has the one that all of these came from.
    for folder in &folders {
        let copy = image.options.image_in(folder);
        fs::remove_file(&copy).with_context(|| format!("{}: cannot be removed", copy.display()))?;
    }
    Ok(stages)
}

/// An aged image of a run.
struct Image<'a> {
    life: &'a Life<'a>,
    /// The folder of its results.
    folder: PathBuf,
    target: &'a TargetSpec,
    spec: RealSpec,
    /// Those of a copy, which lies in the folder of its stage.
    options: LoopOptions,
    aged: PathBuf,
    /// How it ended.
    last: DayRow,
    day: u32,
    taken_at_ns: i64,
}

impl<'a> Image<'a> {
    fn of(
        life: &'a Life<'a>,
        facts: &TargetFacts,
        spec: &'a TargetSpec,
    ) -> crate::Result<Image<'a>> {
        let Some(RealSpec {
            place: Place::Loop(options),
            ..
        }) = spec.real()?
        else {
            bail!("`{spec}` is no image");
        };
        let folder = life.run.join(&facts.folder);
        let aged = options.image_in(&folder);
        ensure!(
            aged.is_file(),
            "{}: there is no such image any more; age the run again",
            aged.display()
        );
        let rows = days::read(&folder.join("days.parquet"))?;
        let last = rows.last().cloned().unwrap_or_default();
        let epoch_s = fsage_data::open_workload(life.workload)?
            .header()
            .epoch_unix_s;
        let last_ns = last.t_s.map_or(0, |t_s| (t_s * 1e9) as i64);
        let options = LoopOptions {
            image: None,
            ..options
        };
        Ok(Image {
            life,
            target: spec,
            spec: RealSpec {
                place: Place::Loop(options.clone()),
                control: None,
                ..spec.real()?.context("a real file system")?
            },
            options,
            aged,
            day: u32::try_from(last.day).unwrap_or(u32::MAX),
            taken_at_ns: epoch_s
                .unwrap_or(0)
                .saturating_mul(1_000_000_000)
                .saturating_add(last_ns),
            last,
            folder,
        })
    }

    /// A copy, treated, which stays in the folder.
    fn treated(&self, treatment: Option<&Treatment>, folder: &Path) -> crate::Result<Stage> {
        let copy = self.copy(&self.aged, folder)?;
        let tree = "tree.parquet";
        fs::copy(self.folder.join(tree), folder.join(tree))
            .with_context(|| format!("{}: cannot be copied", self.folder.join(tree).display()))?;
        let image = LoopImage::open(&self.options, &copy, false).map_err(io::Error::from)?;
        let cost = match treatment {
            Some(Treatment::Command(line)) => Some(run(line, &image, folder)?),
            _ => None,
        };
        let directory = self.directory(image, &copy)?;
        let measures = self.store(&directory, folder)?;
        let volume = directory.finish()?;
        volume.close().context("cannot unmount the copy")?;
        Ok(Stage {
            cost,
            ..Stage::new(treatment, &DayRow::of_layout(&measures))
        })
    }

    /// A copy of a copy, which lives on.
    fn lived_on(
        &self,
        treatment: Option<&Treatment>,
        of: &Path,
        more: &[Event],
        folder: &Path,
    ) -> crate::Result<Stage> {
        let ui = self.life.ui;
        let copy = self.copy(of, folder)?;
        let image = LoopImage::open(&self.options, &copy, false).map_err(io::Error::from)?;
        let mut directory = self.directory(image, &copy)?;
        let mut source = fsage_data::open_workload(self.life.workload)?;
        let mut counts = OpCounts::default();
        while let Some(event) = source.next_event().map_err(error::boxed)? {
            directory.replay_known(&event, None, &mut counts, self.life.manifest.lenient)?;
        }
        directory.forget_cache();
        let stop = Box::new(|| interrupt::go_on().is_err());
        let real = Real::begin(directory, None, stop);
        let mut agings = vec![Aging::new(Target::Real(Box::new(real)), true)];
        let mut source = EventsInMemory::new(more.to_vec());
        replay_all(
            (self.life.workload, "living on"),
            &mut source,
            &mut agings,
            Some(1),
            ui,
        )?;
        let aging = agings.pop().context("one target lived on")?;
        let mut rows = days::rows(aging.days());
        let Target::Real(real) = aging.into_target() else {
            bail!("a real target became a model");
        };
        let directory = real.into_directory();
        tree_table::write(&folder.join("tree.parquet"), &directory.expected())?;
        let walked = DayRow::of_layout(&self.store(&directory, folder)?);
        if let Some(last) = rows.last_mut() {
            last.correct(&walked);
        }
        let volume = directory.finish()?;
        volume.close().context("cannot unmount the copy")?;
        Ok(Stage::lived_on(treatment, &rows))
    }

    fn copy(&self, from: &Path, folder: &Path) -> crate::Result<PathBuf> {
        let copy = self.options.image_in(folder);
        let stop: Arc<dyn Fn() -> bool + Send + Sync> = Arc::new(|| interrupt::go_on().is_err());
        copy_image(from, &copy, Some(&stop))?;
        Ok(copy)
    }

    fn directory(&self, image: LoopImage, copy: &Path) -> crate::Result<Directory> {
        let mut directory = Directory::new(Box::new(image), self.spec.options)?;
        know_sizes(&mut directory, &self.spec, Some(copy));
        // What there was for data while the tree was empty, by how much of it was in use at the end.
        let used = self
            .last
            .value(&files::UTILIZATION)
            .filter(|&used| used > 0.0);
        let live = self.last.count(&files::LIVE_BYTES);
        let data_bytes = used
            .zip(live)
            .map(|(used, live)| (live as f64 / used) as u64);
        directory.adjust_geometry(|geometry| geometry.data_bytes = data_bytes);
        Ok(directory)
    }

    /// Stores what is in it, by a walk, and measures that.
    fn store(&self, directory: &Directory, folder: &Path) -> crate::Result<Measures> {
        let copy = self.options.image_in(folder);
        let known = sizes(directory.root(), &self.spec.place, Some(&copy));
        let path = folder.join("final.parquet");
        let at = (self.day, self.taken_at_ns);
        store_snapshot(directory.root(), &path, self.target, at, &known)?;
        Ok(walked::measure_walked(
            &SnapshotFile::open(&path)?,
            directory,
        ))
    }

    /// Benchmarks all stages, which take turns.
    fn measure(&self, stages: &[Stage], folders: &[PathBuf], plan: &Plan) -> crate::Result<()> {
        let ui = self.life.ui;
        let asked = plan.asked();
        let files = files_of(self.life.workload, asked, ui)?;
        let files_later = match self.life.more {
            Some(more) => self.files_later(more, asked)?,
            None => WorkloadFiles::default(),
        };
        let spec = without_places(self.target);
        let mut lanes = Vec::new();
        for (stage, folder) in stages.iter().zip(folders) {
            let files = RunFiles {
                folder,
                files: Some(if stage.lived_on { &files_later } else { &files }),
            };
            lanes.push(Lane::real(&spec, folder, &[State::Aged], Some(&files), ui)?);
        }
        if self.options.kind != Kind::Btrfs {
            return benching::measure(&lanes, plan, ui, &mut |_| Ok(())).map(drop);
        }
        ui.warn(
            "copies of one btrfs have one UUID and are not mounted together: they are measured one after another, and \
             what disturbs this machine meanwhile may look like a difference",
        );
        for lane in lanes {
            benching::measure(std::slice::from_ref(&lane), plan, ui, &mut |_| Ok(()))?;
        }
        Ok(())
    }

    /// The files of both lives together.
    fn files_later(&self, more: &[Event], asked: Asked) -> crate::Result<WorkloadFiles> {
        let mut hot = HotFiles::new();
        let mut source = fsage_data::open_workload(self.life.workload)?;
        while let Some(event) = source.next_event().map_err(error::boxed)? {
            hot.observe(&event);
        }
        for event in more {
            hot.observe(event);
        }
        Ok(WorkloadFiles::of(&hot, asked))
    }
}

/// A target whose image lies in the folder of its results.
fn without_places(spec: &TargetSpec) -> TargetSpec {
    let mut spec = spec.clone();
    spec.options
        .retain(|(key, _)| key != "image" && key != "control");
    spec
}

/// Runs a command on a mounted image, until all that it wrote is on the disk.
fn run(line: &str, image: &LoopImage, folder: &Path) -> crate::Result<Cost> {
    let Some(source) = image.source() else {
        bail!("{}: it is not mounted", image.path().display());
    };
    let root = folder.join("mnt");
    fsage_durable::make_folders(&root)?;
    let root = root.canonicalize()?;
    let line = line
        .replace("{mnt}", &program::quoted(&root))
        .replace("{dev}", &program::quoted(Path::new(&source.device)));
    image.sync()?;
    let (read, written) = device_bytes(&source)?;
    let began = Instant::now();
    let ran = program::run(&line, Some(&source), &root, || interrupt::go_on().is_err());
    if let (Err(BenchError::Interrupted), Err(stopped)) = (&ran, interrupt::go_on()) {
        return Err(stopped.into());
    }
    ran?;
    image.sync()?;
    let seconds = began.elapsed().as_secs_f64();
    let (read_now, written_now) = device_bytes(&source)?;
    fs::remove_dir(&root).with_context(|| format!("{}: cannot be removed", root.display()))?;
    Ok(Cost {
        read_bytes: read_now.saturating_sub(read),
        written_bytes: written_now.saturating_sub(written),
        seconds: Some(seconds),
        ..Cost::default()
    })
}

/// Bytes that a loop device has read and written so far: fields 3 and 7 of `/sys/block/DEVICE/stat`, in sectors (the
/// kernel's Documentation/block/stat.rst).
fn device_bytes(source: &Source) -> crate::Result<(u64, u64)> {
    let name = Path::new(&source.device).file_name().unwrap_or_default();
    let path = Path::new("/sys/block").join(name).join("stat");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let fields: Vec<u64> = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    match fields[..] {
        [_, _, read, _, _, _, written, ..] => Ok((read * SECTOR_BYTES, written * SECTOR_BYTES)),
        _ => bail!("{}: expected at least 7 numbers", path.display()),
    }
}
