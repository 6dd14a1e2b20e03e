//! `BTRFS_IOC_FORGET_DEV`: btrfs forgets devices that were mounted once.

use crate::loop_device;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Where btrfs is asked about devices that are not mounted.
const CONTROL: &str = "/dev/btrfs-control";
/// `_IOW(0x94, 5, struct btrfs_ioctl_vol_args)`.
const BTRFS_IOC_FORGET_DEV: libc::c_ulong = 0x5000_9405;

/// `struct btrfs_ioctl_vol_args`.
#[repr(C)]
struct Raw {
    fd: i64,
    name: [u8; 4088],
}

/// Makes btrfs forget the file systems that free loop devices showed when an image was attached to them. It knows a
/// file system by the UUIDs in it, and refuses (`EEXIST`) an image that is older than it was when another loop device
/// showed it, as one that was put back from a copy is (kernels before 6.7). Devices that show an image, and all others,
/// are left alone.
///
/// # Errors
/// No right to ask, no btrfs, a kernel before 5.1. That nothing was known of a device is no error.
pub fn forget_free_loop_devices() -> io::Result<()> {
    let control = File::options().read(true).write(true).open(CONTROL)?;
    for device in loop_device::free_devices()? {
        match forget(&control, &device) {
            // Unknown to btrfs, or attached and mounted since.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EBUSY)) => {}
            result => result?,
        }
    }
    Ok(())
}

#[allow(unsafe_code)]
fn forget(control: &File, device: &str) -> io::Result<()> {
    let mut raw = Raw {
        fd: 0,
        name: [0; 4088],
    };
    raw.name[..device.len()].copy_from_slice(device.as_bytes());
    // SAFETY: `raw` is a live `struct btrfs_ioctl_vol_args`, whose size the request names; the kernel reads it.
    let result = unsafe {
        libc::ioctl(
            control.as_raw_fd(),
            BTRFS_IOC_FORGET_DEV as _,
            &raw const raw,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

const _: () = assert!(size_of::<Raw>() == 4096);
