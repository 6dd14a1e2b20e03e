//! Aging: the file systems of a paper, after its workload, with what every day left of them.

use super::paper::{HotFiles, Paper, Workload};
use super::remade::{self, Truth};
use anyhow::{Context, bail};
use fsage_core::{FileId, FileKind, Layout, WorkloadHeader};
use fsage_lab::Watch;
use fsage_lab::aging::hot_files;
use fsage_lab::error;
use fsage_lab::interrupt::{self, Interruptible};
use fsage_metrics::Measures;
use fsage_models::ffs::Ffs;
use fsage_target::{Aging, Target, TargetSpec, in_directory_order, replay};
use std::path::Path;

/// A file system, aged or empty.
pub struct State<F = Ffs> {
    /// Its name: that of the target, and what was done to it.
    pub name: String,
    /// The model.
    pub fs: F,
    /// Files modified in the last month, in the order in which they are read; none of an empty file system.
    pub hot: Vec<FileId>,
}

/// A target that was aged.
pub struct Aged {
    /// The file system as it is at the end.
    pub state: State,
    /// Layout score at the end of every day.
    pub scores: Vec<f64>,
    /// The layout at the end.
    pub measures: Measures,
    /// Operations, those skipped included.
    pub operations: u64,
    /// Operations that were not done.
    pub skipped: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
}

impl Aged {
    /// Bytes in use at the end; `None` where the data space is unknown.
    pub fn used_bytes(&self) -> Option<f64> {
        let data_bytes = self.measures.geometry.data_bytes?;
        Some(self.measures.utilization()? * data_bytes as f64)
    }

    /// Whether directories take less than 0.1 % of the space in use.
    pub fn directories_are_small(&self) -> Option<(bool, String)> {
        let mut bytes = 0;
        self.state.fs.visit_files(&mut |file| {
            if file.kind == FileKind::Directory {
                bytes += file.alloc_bytes.unwrap_or(file.size_bytes);
            }
        });
        let share = bytes as f64 / self.used_bytes().filter(|used| *used > 0.0)?;
        let text = format!("{:.0} KB, {:.2} %", bytes as f64 / 1024.0, 100.0 * share);
        Some((share < 0.001, text))
    }
}

/// An empty file system of a specification.
///
/// # Errors
/// It names no FFS, or parameters that `newfs` refuses.
pub fn empty(name: &str, spec: &str) -> anyhow::Result<State> {
    let spec = TargetSpec::parse(spec)?;
    let Some(fs) = Target::make(&spec)?.into_model::<Ffs>() else {
        bail!("`{spec}`: expected an ffs target");
    };
    Ok(State {
        name: format!("{name}, empty"),
        fs: *fs,
        hot: Vec::new(),
    })
}

/// Makes the workload of a paper: that of the preset, or the one that is made of its snapshots; the first one is
/// `truth.parquet` beside it then.
///
/// # Errors
/// The file cannot be written; an interrupt.
pub fn generate(
    paper: &Paper,
    workload: &Workload,
    path: &Path,
    ui: &dyn Watch,
) -> anyhow::Result<Option<Truth>> {
    let generator = format!(
        "fsage reproduce {} {}",
        paper.name,
        env!("CARGO_PKG_VERSION")
    );
    match &workload.method {
        None => {
            happened(paper, workload, path, &generator, ui)?;
            Ok(None)
        }
        Some(method) => {
            let truth = path.with_file_name("truth.parquet");
            happened(paper, workload, &truth, &generator, ui)?;
            let seed = paper.run.seed;
            remade::make(method, seed, &truth, path, &generator, ui).map(Some)
        }
    }
}

/// Makes the workload of the preset.
fn happened(
    paper: &Paper,
    workload: &Workload,
    path: &Path,
    generator: &str,
    ui: &dyn Watch,
) -> anyhow::Result<()> {
    let (home, preset) = workload.home()?;
    let seed = paper.run.seed;
    let header = WorkloadHeader {
        source: Some(preset.source),
        generator: Some(generator.to_owned()),
        ..home.header(seed)
    };
    let bar = ui.bar_count(None, "workload");
    let mut workload = fsage_data::create_workload(path, &header, false)?;
    home.generate(seed, &mut Interruptible(&mut workload))
        .map_err(error::boxed)?;
    workload.finish()?;
    drop(bar);
    Ok(())
}

/// Replays a workload on models, each given by its name and specification.
///
/// # Errors
/// The workload cannot be read, a specification is wrong, an interrupt.
pub fn replayed(
    workload: &Path,
    targets: &[(String, String)],
    threads: usize,
    ui: &dyn Watch,
) -> anyhow::Result<Vec<Aging>> {
    let mut agings = Vec::new();
    for (_, spec) in targets {
        let target = Target::make(&TargetSpec::parse(spec)?)?;
        agings.push(Aging::new(target, false));
    }
    let mut source = fsage_data::open_workload(workload)?;
    let bar = ui.bar_bytes(source.progress().map(|(_, of)| of), "aging");
    let replayed = replay(&mut *source, &mut agings, threads, |progress| {
        bar.set_position(progress.bytes.map_or(progress.events, |(at, _)| at));
        interrupt::go_on().is_ok()
    });
    drop(bar);
    interrupt::go_on()?;
    replayed.context("the workload does not fit the file system")?;
    Ok(agings)
}

/// Ages file systems, each given by its name and specification.
///
/// # Errors
/// The workload cannot be read, a specification is wrong, an interrupt.
pub fn age(
    workload: &Path,
    targets: &[(String, String)],
    hot: HotFiles,
    threads: usize,
    ui: &dyn Watch,
) -> anyhow::Result<Vec<Aged>> {
    let agings = replayed(workload, targets, threads, ui)?;
    let hot = hot_files(workload, hot.days, ui)?;
    let aged = targets.iter().zip(agings).map(|((name, spec), aging)| {
        let last = aging.days().last().context("the workload has no day")?;
        let measures = last.measures.clone();
        let scores = aging.days().iter().map(|day| day.measures.layout().value());
        let scores = scores.collect();
        let total = aging.total();
        let Some(fs) = aging.into_target().into_model::<Ffs>() else {
            bail!("`{spec}`: expected an ffs target");
        };
        // Files that lack of space kept from being made are not there.
        let hot = in_directory_order(&*fs, hot.iter().map(|hot| hot.file));
        Ok(Aged {
            state: State {
                name: name.clone(),
                fs: *fs,
                hot,
            },
            scores,
            measures,
            operations: total.operations(),
            skipped: total.skipped(),
            bytes_written: total.bytes_written,
        })
    });
    aged.collect()
}
