//! Snapshots of unmounted file systems, whatever is in them: what readers of images share.

pub(crate) mod directories;
mod foreign;
mod in_use;
pub(crate) mod names;
pub(crate) mod pieces;
pub(crate) mod rows;
mod source;

pub(crate) use foreign::recognize;
pub use source::ReadAt;
pub(crate) use source::open;

use crate::error::CollectError;
use crate::report::{Progress, Report};
use crate::{ext_image, xfs_image};
use fsage_core::SnapshotSink;
use std::path::Path;

/// How an image is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// Number of the snapshot.
    pub snap_id: u32,
    /// When the snapshot was taken, ns since 1970 UTC. `None`: when the file system was written last, as the superblock
    /// of ext2, ext3 and ext4 and the inodes of XFS say; this is the moment that the image shows, whenever it is read.
    pub taken_at_ns: Option<i64>,
    /// Read what is mounted, or has a journal or log to be replayed, all the same. Every row is then marked as
    /// [`CHANGED_DURING_WALK`](fsage_core::snapshot::source_flags::CHANGED_DURING_WALK).
    pub stale: bool,
}

/// Reads an image or a block device with ext2, ext3, ext4 or XFS, gives every inode to `sink`, one row a name, and
/// returns what else there is to know, free space included.
///
/// # Errors
/// The image cannot be read, holds none of these, is cut off, has features that are not known here, is mounted or has a
/// journal or log to be replayed (see [`ImageOptions::stale`]), or what describes its groups is damaged; or what `sink`
/// and `progress` fail with.
pub fn read_image(
    path: &Path,
    options: &ImageOptions,
    sink: &mut dyn SnapshotSink,
    progress: Progress<'_>,
) -> Result<Report, CollectError> {
    let file = open(path)?;
    if !options.stale {
        in_use::refuse_mounted(path, &file)?;
    }
    read_image_from(&file, path, options, sink, progress)
}

/// The same from any source of bytes, which is taken as not mounted; `path` is for messages.
///
/// # Errors
/// As for [`read_image`].
pub fn read_image_from(
    source: &dyn ReadAt,
    path: &Path,
    options: &ImageOptions,
    sink: &mut dyn SnapshotSink,
    progress: Progress<'_>,
) -> Result<Report, CollectError> {
    let mut magic = [0; 4];
    let is_xfs = source.read_at(&mut magic, 0).is_ok() && magic == xfs_image::MAGIC;
    let read = if is_xfs {
        xfs_image::read
    } else {
        ext_image::read
    };
    read(source, path, options, sink, progress)
}

/// Why an inode or a directory cannot be read, in words that go on `inode 12: `. The others can.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub String);

/// What is said of a superblock with a feature that no reader knows.
pub(crate) fn unknown_features(incompat: u32) -> String {
    format!(
        "the file system has features that are not known here (incompat {incompat:#x}): \
         mount it read-only and take the snapshot of the mount point"
    )
}
