//! What is mounted where, as the kernel tells in `/proc/self/mountinfo`.

use rustix::fs::{fstat, major, minor};
use std::io;
use std::os::fd::BorrowedFd;

/// Type of the file system that a directory lies on, as `mount -t` names it; `None` where the kernel does not say.
pub(super) fn type_of(root: BorrowedFd<'_>) -> io::Result<Option<String>> {
    let device = fstat(root)?.st_dev;
    let device = format!("{}:{}", major(device), minor(device));
    let text = match std::fs::read("/proc/self/mountinfo") {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => return Ok(None),
    };
    Ok(type_in(&text, &device))
}

/// ID, parent, major:minor, root, mount point, options, any number of fields, `-`, type, source, options.
fn type_in(mountinfo: &str, device: &str) -> Option<String> {
    mountinfo.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let found = mount.split(' ').nth(2) == Some(device);
        let kind = file_system.split(' ').next()?;
        found.then(|| kind.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_type() {
        let text = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
                    23 22 0:21 / /dev/shm rw - tmpfs tmpfs rw\n";
        assert_eq!(type_in(text, "0:21").as_deref(), Some("tmpfs"));
        assert_eq!(type_in(text, "254:0").as_deref(), Some("ext4"));
        assert_eq!(type_in(text, "0:0"), None);
    }
}
