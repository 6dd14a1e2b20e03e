//! `FS_IOC_FIEMAP`: where the data of a file lies on disk.
//!
//! Works on ext2, ext3, ext4, XFS, btrfs, F2FS and NILFS2. On btrfs addresses are those of its own address space,
//! not of the device. Data without a block yet (delayed allocation) is reported as such: sync first.

use fsage_core::Extent;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Extents asked for in one call: most files have fewer.
const COUNT: usize = 512;
/// `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
const LAST: u32 = 0x1;
/// Flags that say nothing about the extent itself: LAST and MERGED.
const DROPPED: u32 = LAST | 0x1000;

/// `struct fiemap` with room for [`COUNT`] times `struct fiemap_extent`.
#[repr(C)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [RawExtent; COUNT],
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// Asks for extents, with a buffer of its own (28 KiB) that is used again for every file.
pub struct Fiemap {
    request: Box<Request>,
}

impl Fiemap {
    /// A buffer.
    // It lies on the stack for a moment only.
    #[allow(clippy::large_stack_arrays)]
    pub fn new() -> Fiemap {
        let empty = RawExtent {
            logical: 0,
            physical: 0,
            length: 0,
            reserved64: [0; 2],
            flags: 0,
            reserved: [0; 3],
        };
        Fiemap {
            request: Box::new(Request {
                start: 0,
                length: 0,
                flags: 0,
                mapped_extents: 0,
                extent_count: COUNT as u32,
                reserved: 0,
                extents: [empty; COUNT],
            }),
        }
    }

    /// Puts the extents of a file into `extents`, ascending by place in the file. Neighbors that are contiguous in the
    /// file and on disk and have the same flags become one, unless they are inline. Extents may lie behind the end of
    /// the file.
    ///
    /// # Errors
    /// `EOPNOTSUPP` (`ENOTTY` on some file systems) where there is no such call; or what reading metadata may fail
    /// with.
    pub fn extents(&mut self, file: impl AsFd, extents: &mut Vec<Extent>) -> io::Result<()> {
        extents.clear();
        let mut start = 0;
        loop {
            let request = &mut *self.request;
            request.start = start;
            request.length = u64::MAX - start;
            request.flags = 0;
            request.mapped_extents = 0;
            request.extent_count = COUNT as u32;
            call(&file, request)?;
            let mapped = (request.mapped_extents as usize).min(COUNT);
            for raw in &request.extents[..mapped] {
                push(extents, raw);
                if raw.flags & LAST != 0 {
                    return Ok(());
                }
            }
            // A file that changes meanwhile must not lead round in circles.
            let next = request.extents[..mapped]
                .last()
                .map(|last| last.logical.saturating_add(last.length));
            match next {
                Some(next) if next > start => start = next,
                _ => return Ok(()),
            }
        }
    }
}

impl Default for Fiemap {
    fn default() -> Fiemap {
        Fiemap::new()
    }
}

impl std::fmt::Debug for Fiemap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fiemap").finish_non_exhaustive()
    }
}

#[allow(unsafe_code)]
fn call(file: &impl AsFd, request: &mut Request) -> io::Result<()> {
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: the request is a live `struct fiemap` with room for the `extent_count` extents it names, all of it
    // initialized, and any bytes that the kernel writes there are valid integers.
    let result = unsafe { libc::ioctl(fd, FS_IOC_FIEMAP as _, std::ptr::from_mut(request)) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn push(extents: &mut Vec<Extent>, raw: &RawExtent) {
    if raw.length == 0 {
        return;
    }
    let flags = raw.flags & !DROPPED;
    if let Some(last) = extents.last_mut()
        && last.flags == flags
        && flags & Extent::INLINE == 0
        && last.logical_bytes.checked_add(last.length_bytes) == Some(raw.logical)
        && last.physical_bytes.checked_add(last.length_bytes) == Some(raw.physical)
    {
        last.length_bytes = last.length_bytes.saturating_add(raw.length);
        return;
    }
    extents.push(Extent {
        logical_bytes: raw.logical,
        physical_bytes: raw.physical,
        length_bytes: raw.length,
        flags,
    });
}
