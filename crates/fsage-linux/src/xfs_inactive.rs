//! `XFS_IOC_FREE_EOFBLOCKS`: XFS gives blocks back that it would give back some time later.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// `_IOR('X', 58, struct xfs_fs_eofblocks)`.
const XFS_IOC_FREE_EOFBLOCKS: libc::c_ulong = 0x8080_583A;
/// The only version of the structure.
const VERSION: u32 = 1;
/// Waits for each file.
const SYNC: u32 = 1;
/// Only files of a least size are looked at.
const MIN_FILE_SIZE: u32 = 1 << 4;

/// `struct xfs_fs_eofblocks`.
#[repr(C)]
#[derive(Default)]
struct Raw {
    version: u32,
    flags: u32,
    user: u32,
    group: u32,
    project: u32,
    padding: u32,
    min_file_size: u64,
    reserved: [u64; 12],
}

/// Waits until the XFS that `file` is on has given back the inodes and blocks of all that was removed. What files have
/// beyond their ends stays: no file is as long as those that are asked for.
///
/// # Errors
/// `ENOTTY` where it is on no XFS; `EPERM` without `CAP_SYS_ADMIN`.
#[allow(unsafe_code)]
pub fn wait_for_inactive(file: impl AsFd) -> io::Result<()> {
    let fd = file.as_fd().as_raw_fd();
    let raw = Raw {
        version: VERSION,
        flags: SYNC | MIN_FILE_SIZE,
        min_file_size: u64::MAX,
        ..Raw::default()
    };
    // SAFETY: `raw` is a live `struct xfs_fs_eofblocks`, whose size the request names; the kernel reads it.
    let result = unsafe { libc::ioctl(fd, XFS_IOC_FREE_EOFBLOCKS as _, &raw const raw) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
