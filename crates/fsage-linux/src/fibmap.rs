//! `FIBMAP`: where the blocks of a file lie, one block a call.
//!
//! The way of file systems without [`fiemap`](crate::fiemap), such as JFS. Only root may ask.

use fsage_core::Extent;
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// `_IO(0x00, 1)`.
const FIBMAP: libc::c_ulong = 1;
/// `_IO(0x00, 2)`.
const FIGETBSZ: libc::c_ulong = 2;

/// Puts the extents of a regular file of `size_bytes` into `extents`, ascending and maximal. Holes are passed over
/// without asking where the file system tells them. Moves the file's position.
///
/// # Errors
/// `EPERM` without `CAP_SYS_RAWIO`; `EINVAL` where there is no such call; or what reading metadata may fail with.
pub fn extents(file: impl AsFd, size_bytes: u64, extents: &mut Vec<Extent>) -> io::Result<()> {
    extents.clear();
    let block_bytes = ask(&file, FIGETBSZ, 0)?;
    if block_bytes == 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let block_bytes = u64::from(block_bytes);
    let mut at = 0;
    while at < size_bytes {
        let data = match rustix::fs::seek(&file, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => break,
            Err(e) => return Err(e.into()),
        };
        let hole = rustix::fs::seek(&file, SeekFrom::Hole(data))?.min(size_bytes);
        // A file that changes meanwhile must not lead round in circles.
        if hole <= at {
            break;
        }
        for index in data.max(at) / block_bytes..hole.div_ceil(block_bytes) {
            let asked = u32::try_from(index).map_err(|_| io::Error::from(Errno::FBIG))?;
            let block = u64::from(ask(&file, FIBMAP, asked)?);
            if block != 0 {
                push(
                    extents,
                    index * block_bytes,
                    block * block_bytes,
                    block_bytes,
                );
            }
        }
        at = hole;
    }
    Ok(())
}

fn push(extents: &mut Vec<Extent>, logical_bytes: u64, physical_bytes: u64, length_bytes: u64) {
    if let Some(last) = extents.last_mut()
        && last.logical_bytes + last.length_bytes == logical_bytes
        && last.physical_bytes + last.length_bytes == physical_bytes
    {
        last.length_bytes += length_bytes;
        return;
    }
    extents.push(Extent {
        logical_bytes,
        physical_bytes,
        length_bytes,
        flags: 0,
    });
}

/// A call that takes and gives one integer.
#[allow(unsafe_code)]
fn ask(file: &impl AsFd, request: libc::c_ulong, value: u32) -> io::Result<u32> {
    let fd = file.as_fd().as_raw_fd();
    let mut value = value;
    // SAFETY: both calls read and write one integer, which is live.
    let result = unsafe { libc::ioctl(fd, request as _, std::ptr::from_mut(&mut value)) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value)
}
