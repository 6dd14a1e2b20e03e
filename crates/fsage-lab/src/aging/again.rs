//! The aged models of a run, made again: a run keeps results and no state of a model, and the same workload gives the
//! same model to the last block.

use super::life::{Life, Lived};
use super::watched::Watched;
use super::{each_event, model_control, replay_all};
use crate::days::{self, DayRow};
use crate::error::{Context, bail};
use crate::interrupt;
use crate::run_folder::{Manifest, OneTarget, TargetFacts};
use crate::watch::Watch;
use fsage_core::io::AnyHosted;
use fsage_core::snapshot::Inode;
use fsage_core::{Event, FileId, Op};
use fsage_disk::FlashDrive;
use fsage_host::HostParams;
use fsage_metrics::{Metric, files, layout_score};
use fsage_target::{
    Aging, HotFile, HotFiles, TakeSnapshot, Target, TargetSpec, in_directory_order,
};
use std::path::Path;

/// What came of aging models again.
pub struct Again {
    /// The models, in the order of their targets.
    pub models: Vec<AgedModel>,
    /// The files of the workload that were asked for, wherever it is replayed.
    pub files: WorkloadFiles,
}

/// What benchmarks ask of a workload: which of its files they go over, and when.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Hot files are those that were changed so many days before it ends, or later.
    pub hot_days: u32,
    /// All files are asked for too.
    pub tree: bool,
    /// The workload ends with this day, counted from 0; none for its own end.
    pub last_day: Option<u64>,
}

/// Files that are alive when a workload ends.
#[derive(Clone, Debug, Default)]
pub struct WorkloadFiles {
    /// The hot ones.
    pub hot: Vec<HotFile>,
    /// All to which data were ever written, if they were asked for.
    pub tree: Vec<HotFile>,
}

impl WorkloadFiles {
    /// Those that are asked for, of what was watched.
    pub(crate) fn of(watched: &HotFiles, asked: Asked) -> WorkloadFiles {
        let all = asked.tree.then(|| watched.of_last_days(u32::MAX));
        WorkloadFiles {
            hot: watched.of_last_days(asked.hot_days),
            tree: all.unwrap_or_default(),
        }
    }
}

/// A model of a run.
pub struct AgedModel {
    /// As it stands at the end of the workload.
    pub aged: Box<dyn AnyHosted>,
    /// Its live files, copied to a fresh file system of the same kind.
    pub control: Box<dyn AnyHosted>,
    /// The files of the aged one that benchmarks go over, in the order in which they are read.
    pub files: ModelFiles,
    /// The same files on the control, in the order in which they are read there.
    pub control_files: ModelFiles,
    /// The flash device that the aged one lived on.
    pub lived: Option<Box<Lived>>,
    /// No file or directory of either ever had this number, or a higher one.
    pub first_free_id: u64,
}

/// Files of a model that benchmarks go over.
#[derive(Clone, Debug, Default)]
pub struct ModelFiles {
    /// The hot ones.
    pub hot: Vec<FileId>,
    /// All of them, if they were asked for.
    pub tree: Vec<FileId>,
}

/// What somebody who watches reads: models are not kept, but made again.
pub(crate) const AGAIN: &str = "aging again";

/// Ages targets of a run again, all of which are models, and makes their controls. With `flash` each of them lives on
/// such a device, below such a host.
#[expect(clippy::too_many_arguments, reason = "each is a thing of its own")]
pub fn models(
    run: &Path,
    manifest: &Manifest,
    targets: &[&TargetFacts],
    workload: &Path,
    asked: Asked,
    flash: Option<(&FlashDrive, &HostParams)>,
    threads: Option<usize>,
    ui: &dyn Watch,
) -> crate::Result<Again> {
    let specs = targets
        .iter()
        .map(|target| TargetSpec::parse(&target.spec))
        .collect::<Result<Vec<_>, _>>()?;
    let mut agings = Vec::new();
    for spec in &specs {
        agings.push(Aging::new(Target::make(spec)?, manifest.lenient));
    }
    let live = |aging| flash.and_then(|(drive, params)| Life::begin(drive, params, aging));
    let lives: Vec<Option<Life>> = agings.iter_mut().map(live).collect();
    let mut source = fsage_data::open_workload(workload)?;
    let (mut hot, mut highest_id) = (HotFiles::new(), 0);
    let mut watched = Watched {
        source: &mut *source,
        observe: |event: &Event| {
            hot.observe(event);
            highest_id = highest_id.max(made_id(event));
        },
        days: asked.last_day.map(|day| day + 1),
    };
    replay_all((workload, AGAIN), &mut watched, &mut agings, threads, ui)?;
    let files = WorkloadFiles::of(&hot, asked);
    let mut models = Vec::new();
    let aged = agings.into_iter().zip(lives);
    for ((facts, spec), (aging, life)) in targets.iter().zip(&specs).zip(aged) {
        let days = run.join(&facts.folder).join("days.parquet");
        is_as_it_was(&aging, &days, &facts.spec, asked.last_day)?;
        interrupt::go_on()?;
        let target = aging.into_target();
        let mut model = with_control(spec, target, &files, highest_id, ui)?;
        model.lived = life.and_then(Life::end).map(Box::new);
        models.push(model);
    }
    Ok(Again { models, files })
}

/// One model of a run, as it stands at the end of its workload, with times and names beside it.
///
/// # Errors
/// The run or its workload is not there, or no longer what it was; the target is no model; an interrupt.
pub fn model_of(
    run: &Path,
    manifest: &Manifest,
    target: &TargetFacts,
    workload: &Path,
    ui: &dyn Watch,
) -> crate::Result<Aging> {
    let spec = TargetSpec::parse(&target.spec)?;
    let aging = aged(&spec, workload, manifest.lenient, ui)?;
    let days = run.join(&target.folder).join("days.parquet");
    is_as_it_was(&aging, &days, &target.spec, None)?;
    Ok(aging)
}

/// A model that a workload has aged, with times and names beside it.
///
/// # Errors
/// The target is no model, or cannot be made; the workload cannot be read, or does not fit the state; an interrupt.
pub fn aged(
    spec: &TargetSpec,
    workload: &Path,
    lenient: bool,
    ui: &dyn Watch,
) -> crate::Result<Aging> {
    let mut source = fsage_data::open_workload(workload)?;
    let mut aging = Aging::new(Target::make(spec)?, lenient);
    let epoch_s = source.header().epoch_unix_s.unwrap_or(0);
    aging.keep_stamps(epoch_s.saturating_mul(1_000_000_000));
    let mut agings = vec![aging];
    replay_all((workload, AGAIN), &mut *source, &mut agings, None, ui)?;
    agings.pop().context("one target was aged")
}

/// A model of a run, aged again, with all files that are alive at its end; `take` is called at the end of every day,
/// with its number and all inodes.
///
/// # Errors
/// As for [`model_of`].
pub(crate) fn aged_by(
    target: &OneTarget,
    workload: &Path,
    ui: &dyn Watch,
    mut take: impl FnMut(u32, &[Inode]) + Send + 'static,
) -> crate::Result<(Box<dyn AnyHosted>, Vec<HotFile>)> {
    let mut source = fsage_data::open_workload(workload)?;
    let mut aging = Aging::new(Target::make(&target.spec)?, target.manifest.lenient);
    let epoch_s = source.header().epoch_unix_s.unwrap_or(0);
    let taker: TakeSnapshot = Box::new(move |info, inodes, _| {
        take(info.snap_id, &inodes);
        Ok(())
    });
    aging.take_snapshots(1, epoch_s.saturating_mul(1_000_000_000), taker);
    let mut agings = vec![aging];
    let mut hot = HotFiles::new();
    let mut watched = Watched {
        source: &mut *source,
        observe: |event: &Event| hot.observe(event),
        days: None,
    };
    replay_all((workload, AGAIN), &mut watched, &mut agings, None, ui)?;
    let aging = agings.pop().context("one target was aged")?;
    let days = target.run.join(&target.facts.folder).join("days.parquet");
    is_as_it_was(&aging, &days, &target.facts.spec, None)?;
    let model = aging.into_target().into_hosted();
    let model = model.with_context(|| format!("`{}` keeps no files", target.spec))?;
    Ok((model, hot.of_last_days(u32::MAX)))
}

/// The hot files of a workload.
///
/// # Errors
/// The workload cannot be read; an interrupt.
pub fn hot_files(workload: &Path, days: u32, ui: &dyn Watch) -> crate::Result<Vec<HotFile>> {
    let asked = Asked {
        hot_days: days,
        tree: false,
        last_day: None,
    };
    Ok(files_of(workload, asked, ui)?.hot)
}

/// The files of a workload that are asked for.
///
/// # Errors
/// The workload cannot be read; an interrupt.
pub fn files_of(workload: &Path, asked: Asked, ui: &dyn Watch) -> crate::Result<WorkloadFiles> {
    let mut watched = HotFiles::new();
    each_event(workload, "hot files", ui, |event| watched.observe(event))?;
    Ok(WorkloadFiles::of(&watched, asked))
}

/// A model with its control beside it.
pub(crate) fn with_control(
    spec: &TargetSpec,
    aged: Target,
    files: &WorkloadFiles,
    highest_id: u64,
    ui: &dyn Watch,
) -> crate::Result<AgedModel> {
    let (control, copied) = model_control(spec, &aged, ui)
        .with_context(|| format!("{spec}: the unaged control could not be made"))?;
    let (Some(aged), Some(control)) = (aged.into_hosted(), control.into_hosted()) else {
        bail!("`{spec}`: there is nothing to benchmark; expected a model or a real file system");
    };
    let on_both = |of_workload: &[HotFile]| {
        let files = in_directory_order(&*aged, of_workload.iter().map(|file| file.file));
        let copies = files
            .iter()
            .filter_map(|&file| copied.get(&aged.inode(file)?).copied());
        let copies = in_directory_order(&*control, copies);
        (files, copies)
    };
    let (hot, control_hot) = on_both(&files.hot);
    let (tree, control_tree) = on_both(&files.tree);
    // The control is numbered from 1, without gaps, and has no more files than the workload made.
    let first_free_id = highest_id.checked_add(2).filter(|&id| id < 1 << 63);
    let first_free_id = first_free_id.with_context(|| {
        format!(
            "the workload numbers files up to {highest_id}: none is left for a benchmark; expected less than 2^63"
        )
    })?;
    Ok(AgedModel {
        aged,
        control,
        files: ModelFiles { hot, tree },
        control_files: ModelFiles {
            hot: control_hot,
            tree: control_tree,
        },
        lived: None,
        first_free_id,
    })
}

/// What a layout is known by.
const KNOWN_BY: [&Metric; 5] = [
    &files::FILES,
    &files::FILE_BYTES,
    &files::UTILIZATION,
    &layout_score::OPTIMAL,
    &layout_score::SCORED,
];

/// The last day that was lived is the one that the run has on record: another version of fsage may place blocks
/// otherwise.
fn is_as_it_was(
    aging: &Aging,
    days: &Path,
    spec: &str,
    last_day: Option<u64>,
) -> crate::Result<()> {
    let mut recorded = days::read(days)?;
    recorded.retain(|row| last_day.is_none_or(|last| row.day <= last));
    let again = days::rows(aging.days());
    let facts = |row: Option<&DayRow>| {
        row.map(|row| (row.day, KNOWN_BY.map(|metric| row.metrics.get(metric))))
    };
    let (recorded, again) = (recorded.last(), again.last());
    if facts(recorded) == facts(again) {
        return Ok(());
    }
    let said = |row: Option<&DayRow>| {
        row.map_or_else(
            || "no day".to_owned(),
            |row| {
                format!(
                    "{} files, layout score {:.6}, used {:.6}",
                    row.count(&files::FILES).unwrap_or_default(),
                    row.score().unwrap_or(1.0),
                    row.value(&files::UTILIZATION).unwrap_or_default()
                )
            },
        )
    };
    bail!(
        "{}: {spec} ends with {}, and its workload leads to {}: the run was made by another version of fsage, \
         or it was changed; make it again",
        days.display(),
        said(recorded),
        said(again)
    )
}

/// The id that an event gives to a file or directory; 0 where it makes none.
fn made_id(event: &Event) -> u64 {
    match event.op {
        Op::Create { file, .. } | Op::Link { file, .. } | Op::Symlink { file, .. } => file.0,
        Op::Mkdir { dir, .. } => dir.0,
        _ => 0,
    }
}
