//! Whether an image or device is mounted right now.

use crate::error::CollectError;
use rustix::fs::{major, minor};
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Refuses a device that is mounted, and a file that is behind a loop device that is.
pub fn refuse_mounted(path: &Path, file: &File) -> Result<(), CollectError> {
    let metadata = file.metadata();
    let metadata = metadata.map_err(|e| CollectError::io(path, "cannot stat the image", e))?;
    // Where there is no `/proc`, nobody can tell.
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    for mount in mounts.split(|byte| *byte == b'\n') {
        let mut fields = mount.split(|byte| *byte == b' ').skip(2);
        let (Some(device), _, Some(point)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let device = String::from_utf8_lossy(device);
        let same = if metadata.file_type().is_block_device() {
            let number = metadata.rdev();
            *device == format!("{}:{}", major(number), minor(number))
        } else {
            backs(&device, &metadata)
        };
        if same {
            let point = String::from_utf8_lossy(point);
            return Err(CollectError::unsuitable(
                path,
                format!(
                    "the file system is mounted on {point}, and changes while it is read: take the snapshot of \
                     {point}, unmount it first, or read it all the same as a stale image"
                ),
            ));
        }
    }
    Ok(())
}

/// Whether a file is behind a loop device, or behind the whole of which the device is a partition.
fn backs(device: &str, file: &fs::Metadata) -> bool {
    let device = PathBuf::from("/sys/dev/block").join(device);
    ["loop/backing_file", "../loop/backing_file"]
        .into_iter()
        .any(|of| {
            let Ok(name) = fs::read_to_string(device.join(of)) else {
                return false;
            };
            let backing = fs::metadata(name.trim_end_matches('\n'));
            backing.is_ok_and(|backing| (backing.dev(), backing.ino()) == (file.dev(), file.ino()))
        })
}
