//! The unaged control of a real target: the same files on a fresh file system of the same kind.

use super::real::{CHECKPOINT, know_sizes, sizes, store_snapshot};
use crate::error::Context;
use crate::interrupt;
use crate::watch::Watch;
use fsage_core::{Layout, OpCounts};
use fsage_metrics::Measures;
use fsage_real::directory::{Directory, PlainDirectory, Volume};
use fsage_real::loop_image::{LoopImage, LoopOptions, Unpublished};
use fsage_real::{Place, RealSpec};
use fsage_target::{TargetSpec, control_workload};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A file in the checkpoint that says which file the control is.
const CONTROL: &str = "control";

/// Copies the live files in tree order to a fresh file system of the same kind, and measures that.
pub fn measure(
    layout: &dyn Layout,
    (target, spec): (&TargetSpec, &RealSpec),
    folder: &Path,
    at: (u32, i64),
    ui: &dyn Watch,
) -> crate::Result<Option<Measures>> {
    let mut unpublished = None;
    let (volume, place): (Box<dyn Volume>, Place) = match (&spec.place, &spec.control) {
        (Place::Loop(options), path) => {
            let path = path.clone().unwrap_or_else(|| control_image(folder));
            if spec.control.is_none() && path.exists() || is_our_control(&path, folder) {
                // Of an end that was interrupted.
                fs::remove_file(&path)
                    .with_context(|| format!("{}: cannot make it anew", path.display()))?;
            }
            let options: LoopOptions = options.control(path.clone());
            let (image, its_name) = LoopImage::make(&options, &path).map_err(io::Error::from)?;
            unpublished = Some(its_name);
            (Box::new(image), Place::Loop(options))
        }
        (Place::Dir(_), Some(path)) => (
            Box::new(PlainDirectory::open(path)?),
            Place::Dir(path.clone()),
        ),
        (Place::Dir(_), None) => return Ok(None),
    };
    let mut directory = Directory::new(volume, spec.options)?;
    let spec = RealSpec {
        place,
        ..spec.clone()
    };
    let image = unpublished.as_ref().map(Unpublished::path);
    know_sizes(&mut directory, &spec, image.as_deref());
    let control = control_workload(layout);
    let bar = ui.bar_count(Some(control.events.len() as u64), "control");
    let mut counts = OpCounts::default();
    for events in control.events.chunks(4096) {
        interrupt::go_on()?;
        directory.apply(events, &mut counts, false)?;
        bar.inc(events.len() as u64);
    }
    drop(bar);
    if counts.skipped() > 0 {
        ui.warn(&format!(
            "{} of the {} operations of the unaged control did not fit on a fresh file system: it lacks some files",
            counts.skipped(),
            counts.operations()
        ));
    }
    directory.end_day()?;
    let measures = fsage_metrics::measure(&directory);
    let known = sizes(directory.root(), &spec.place, image.as_deref());
    let path = folder.join("control.parquet");
    store_snapshot(directory.root(), &path, target, at, &known)?;
    let volume = directory.finish()?;
    volume.close().context("cannot unmount the control")?;
    if let Some(image) = unpublished {
        if let Some(id) = file_id(&image.path()) {
            fsage_durable::write(&folder.join(CHECKPOINT).join(CONTROL), id, true)?;
        }
        image.publish().map_err(io::Error::from)?;
    }
    Ok(Some(measures))
}

/// Whether this run made a file as its control before it was interrupted.
fn is_our_control(path: &Path, folder: &Path) -> bool {
    let ours = fs::read_to_string(folder.join(CHECKPOINT).join(CONTROL)).ok();
    ours.is_some() && ours == file_id(path)
}

/// What tells a file from any other, whatever its name was: its inode, and when that was made.
fn file_id(path: &Path) -> Option<String> {
    let meta = path.symlink_metadata().ok()?;
    let made = meta.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {}", meta.ino(), made.as_nanos()))
}

/// Where the image of the control lies, if nothing else was said.
pub fn control_image(folder: &Path) -> PathBuf {
    folder.join("control.img")
}
