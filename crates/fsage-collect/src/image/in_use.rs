//! Refuses what is mounted right now.

use crate::error::CollectError;
use fsage_input::mounted_on;
use std::fs::File;
use std::path::Path;

/// Refuses a device that is mounted, and a file that is behind a loop device that is.
pub fn refuse_mounted(path: &Path, file: &File) -> Result<(), CollectError> {
    let metadata = file.metadata();
    let metadata = metadata.map_err(|e| CollectError::io(path, "cannot stat the image", e))?;
    let Some(point) = mounted_on(&metadata) else {
        return Ok(());
    };
    Err(CollectError::unsuitable(
        path,
        format!(
            "the file system is mounted on {point}, and changes while it is read: take the snapshot of {point}, \
             unmount it first, or read it all the same as a stale image"
        ),
    ))
}
