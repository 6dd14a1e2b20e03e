//! Collecting what is on a real file system, from whatever a path names.

use crate::error::Context;
use crate::interrupt::go_on;
use crate::watch::Watch;
use fsage_collect::image::{ImageOptions, read_image};
use fsage_collect::{CollectError, Memory, Report, WalkOptions};
use fsage_core::{LayoutInMemory, SnapshotSink};
use fsage_real::loop_image::Kind;
use std::fs;
use std::num::NonZero;
use std::path::Path;

/// What can be chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// Threads that walk; `None` is one a processor.
    pub threads: Option<NonZero<usize>>,
    /// Read an image that is mounted, or has a journal to be replayed, all the same.
    pub stale: bool,
}

/// Whether a file is an image with a file system of the kernel's, by its superblock.
pub fn is_image(path: &Path) -> bool {
    path.is_file() && Kind::of_image(path).is_ok_and(|kind| kind.is_some())
}

/// Walks a directory, or reads an unmounted image or device with ext2, ext3, ext4 or XFS.
///
/// # Errors
/// The path cannot be read, or is neither a directory nor such an image; what the sink failed with; an interrupt.
pub fn collect(
    path: &Path,
    how: How,
    sink: &mut dyn SnapshotSink,
    ui: &dyn Watch,
) -> crate::Result<Report> {
    let found = fs::metadata(path).with_context(|| format!("{}: cannot open", path.display()))?;
    let is_directory = found.is_dir();
    let mut bar = None;
    let mut progress = |rows: u64, total: Option<u64>| {
        go_on()?;
        bar.get_or_insert_with(|| {
            ui.bar_count(total, if is_directory { "walking" } else { "reading" })
        })
        .set_position(rows);
        Ok(())
    };
    let collected = if is_directory {
        fsage_collect::walk_path(path, &walk_options(how), sink, &mut progress)
    } else {
        let options = ImageOptions {
            stale: how.stale,
            ..ImageOptions::default()
        };
        read_image(path, &options, sink, &mut progress)
    };
    if let Some(bar) = bar {
        drop(bar);
    }
    collected.map_err(failed)
}

/// What collecting failed with; what a sink was refused by the system is still seen as that.
pub fn failed(error: CollectError) -> crate::Error {
    match error {
        CollectError::Sink(error) => crate::error::boxed(error),
        error => error.into(),
    }
}

/// The same into memory, to be measured at once.
///
/// # Errors
/// As [`collect`].
pub fn collect_layout(path: &Path, ui: &dyn Watch) -> crate::Result<(LayoutInMemory, Report)> {
    let mut memory = Memory::default();
    let report = collect(path, How::default(), &mut memory, ui)?;
    Ok((memory.layout(&report), report))
}

fn walk_options(how: How) -> WalkOptions {
    let mut options = WalkOptions {
        host: host(),
        tool_version: Some(concat!("fsage ", env!("CARGO_PKG_VERSION")).to_owned()),
        ..WalkOptions::default()
    };
    if let Some(threads) = how.threads {
        options.threads = threads;
    }
    options
}

fn host() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim_end().to_owned())
}
