//! Images of real file systems in a run: which there are, how much room they take, and that they may go.

use crate::aging::control::control_image;
use crate::error::Context;
use crate::mounting::image_options;
use crate::report::words::counted;
use crate::watch::Watch;
use fsage_core::size::human;
use fsage_target::TargetSpec;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Room from which it is said that images may go.
const LARGE: u64 = 1 << 30;

/// Images of a target, by what they are; none where it has none.
pub fn of(spec: &TargetSpec, folder: &Path) -> Vec<(&'static str, PathBuf)> {
    let Some((options, control)) = image_options(spec) else {
        return Vec::new();
    };
    let control = control.unwrap_or_else(|| control_image(folder));
    vec![("aged", options.image_in(folder)), ("control", control)]
}

/// Images that lie in a run, and what they take of the disk.
fn in_run(run: &Path, specs: &[TargetSpec]) -> (Vec<PathBuf>, u64) {
    let (mut images, mut bytes) = (Vec::new(), 0);
    for spec in specs {
        for (_, image) in of(spec, &run.join(spec.folder())) {
            if let Ok(meta) = image.symlink_metadata()
                && meta.is_file()
                && image.starts_with(run)
            {
                bytes += meta.blocks() * 512;
                images.push(image);
            }
        }
    }
    (images, bytes)
}

/// Removes the images of a run, where that is wanted.
///
/// # Errors
/// One cannot be removed.
pub fn discard(
    is_wanted: bool,
    run: &Path,
    specs: &[TargetSpec],
    ui: &dyn Watch,
) -> crate::Result<()> {
    if !is_wanted {
        return Ok(());
    }
    let (images, bytes) = in_run(run, specs);
    for image in &images {
        fs::remove_file(image)
            .with_context(|| format!("{}: cannot be removed", image.display()))?;
    }
    if !images.is_empty() {
        ui.note(&format!(
            "{} of {} discarded; what was measured stays.",
            counted(images.len() as u64, "image"),
            human(bytes)
        ));
    }
    Ok(())
}

/// Says how much room the images of runs take that may go, where that is much.
pub fn say_room<'a>(
    folder: &Path,
    runs: impl IntoIterator<Item = (PathBuf, &'a [TargetSpec])>,
    ui: &dyn Watch,
) {
    let (mut count, mut bytes) = (0, 0);
    for (run, specs) in runs {
        let (images, room) = in_run(&run, specs);
        count += images.len() as u64;
        bytes += room;
    }
    if bytes >= LARGE {
        ui.note(&format!(
            "{}: {} of {}, which may go when nothing more is measured on them; --discard-images keeps none.",
            folder.display(),
            counted(count, "image"),
            human(bytes)
        ));
    }
}
