//! Measuring what is there: a run, a snapshot, a directory or an image.

use crate::collect::collect_layout;
use crate::days::{self, DayRow};
use crate::run_folder::{Manifest, State};
use crate::watch::Watch;
use crate::{Result, aging};
use fsage_core::LayoutInMemory;
use fsage_data::SnapshotFile;
use std::path::Path;

/// The days of a run.
#[derive(Debug)]
pub struct MeasuredRun {
    /// What is known of the run.
    pub manifest: Manifest,
    /// Its targets by their specifications, with their days.
    pub targets: Vec<(String, Vec<DayRow>)>,
}

/// Reads the days of every target of a run. Of a run that is not complete these are the days of its real targets so
/// far.
///
/// # Errors
/// It is no run, or its files cannot be read.
pub fn run(run: &Path) -> Result<MeasuredRun> {
    let manifest = Manifest::read(run)?;
    let targets = manifest.targets.iter().map(|target| {
        let folder = run.join(&target.folder);
        let path = folder.join("days.parquet");
        let days = if manifest.state == State::Complete || path.exists() {
            days::read(&path)?
        } else {
            aging::days_so_far(&folder)?
        };
        Ok((target.spec.clone(), days))
    });
    let targets = targets.collect::<Result<_>>()?;
    Ok(MeasuredRun { manifest, targets })
}

/// Opens a snapshot as a layout that can be measured: of a series the one with this number, or the last.
///
/// # Errors
/// No such file, no snapshot, or none of that number in it.
pub fn snapshot(path: &Path, number: Option<u32>) -> Result<SnapshotFile> {
    Ok(match number {
        Some(number) => SnapshotFile::open_snapshot(path, number)?,
        None => SnapshotFile::open(path)?,
    })
}

/// Collects a directory of a mounted file system, or an unmounted ext2, ext3 or ext4 image, as it is now: a layout that
/// can be measured. What could not be read is a warning.
///
/// # Errors
/// The path cannot be read, or is neither; an interrupt.
pub fn path(path: &Path, watch: &dyn Watch) -> Result<LayoutInMemory> {
    let (layout, report) = collect_layout(path, watch)?;
    for warning in &report.warnings {
        watch.warn(warning);
    }
    Ok(layout)
}
