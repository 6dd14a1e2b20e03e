//! Whether an image or a device is mounted right now.

use rustix::fs::{major, minor};
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;

/// Where the file system of a device, or of a file that is behind a loop device, is mounted; none where it is not, or
/// where there is no `/proc` that says so.
pub fn mounted_on(file: &Metadata) -> Option<String> {
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    mounts.split(|byte| *byte == b'\n').find_map(|mount| {
        let mut fields = mount.split(|byte| *byte == b' ').skip(2);
        let (device, _, point) = (fields.next()?, fields.next()?, fields.next()?);
        let device = String::from_utf8_lossy(device);
        let is_same = if file.file_type().is_block_device() {
            let number = file.rdev();
            *device == format!("{}:{}", major(number), minor(number))
        } else {
            backs(&device, file)
        };
        is_same.then(|| String::from_utf8_lossy(point).into_owned())
    })
}

/// Whether a file is behind a loop device, or behind the whole of which the device is a partition.
fn backs(device: &str, file: &Metadata) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_file_is_not_mounted() {
        let file = fs::metadata("/proc/self/exe");
        assert_eq!(mounted_on(&file.expect("a file")), None);
    }
}
