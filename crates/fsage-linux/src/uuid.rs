//! `FS_IOC_GETFSUUID`: the UUID of a mounted file system, since Linux 6.9. Works without privilege.

use std::fmt::Write;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// `_IOR(0x15, 0, struct fsuuid2)`.
const FS_IOC_GETFSUUID: libc::c_ulong = 0x8011_1500;

/// `struct fsuuid2`.
#[repr(C)]
#[derive(Default)]
struct Raw {
    length: u8,
    uuid: [u8; 16],
}

/// The UUID of the file system that `file` is on.
///
/// # Errors
/// `ENOTTY` where the kernel or the file system does not know it.
pub fn fs_uuid(file: impl AsFd) -> io::Result<[u8; 16]> {
    let raw = call(&file)?;
    if raw.length != 16 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(raw.uuid)
}

/// A UUID as text: `01234567-89ab-cdef-0123-456789abcdef`.
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (i, byte) in uuid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[allow(unsafe_code)]
fn call(file: &impl AsFd) -> io::Result<Raw> {
    let fd = file.as_fd().as_raw_fd();
    let mut raw = Raw::default();
    // SAFETY: `raw` is a live `struct fsuuid2`, whose size the request names, and any bytes that the kernel writes
    // there are valid integers.
    let result = unsafe { libc::ioctl(fd, FS_IOC_GETFSUUID as _, std::ptr::from_mut(&mut raw)) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_written_in_five_groups() {
        let uuid = std::array::from_fn(|i| i as u8 * 0x11);
        assert_eq!(uuid_text(&uuid), "00112233-4455-6677-8899-aabbccddeeff");
    }
}
