//! `XFS_IOC_SET_RESBLKS`: the blocks that XFS keeps back for its own needs. Until the next mount; takes root.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// `_IOWR('X', 114, struct xfs_fsop_resblks)`.
const XFS_IOC_SET_RESBLKS: libc::c_ulong = 0xC010_5872;

/// `struct xfs_fsop_resblks`.
#[repr(C)]
struct Raw {
    blocks: u64,
    available: u64,
}

/// Makes the XFS that `file` is on keep back so many blocks. They are free, but nobody gets them.
///
/// # Errors
/// `ENOTTY` where it is on no XFS; `EPERM` without `CAP_SYS_ADMIN`.
#[allow(unsafe_code)]
pub fn set_xfs_reserve(file: impl AsFd, blocks: u64) -> io::Result<()> {
    let fd = file.as_fd().as_raw_fd();
    let mut raw = Raw {
        blocks,
        available: 0,
    };
    // SAFETY: `raw` is a live `struct xfs_fsop_resblks`, whose size the request names, and any bytes that the kernel
    // writes there are valid integers.
    let result = unsafe { libc::ioctl(fd, XFS_IOC_SET_RESBLKS as _, std::ptr::from_mut(&mut raw)) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
