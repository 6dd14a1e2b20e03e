//! `FS_IOC_GETFSMAP`: which ranges of a mounted ext4 or XFS are free.
//!
//! Works without privilege; who owns the used ranges is hidden then. XFS holds back a reserve of what it reports as
//! free, so that the sum is larger than what `statfs` says.

use fsage_core::Run;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Ranges asked for in one call.
const COUNT: usize = 1024;
/// `_IOWR('X', 59, struct fsmap_head)`.
const FS_IOC_GETFSMAP: libc::c_ulong = 0xC0C0_583B;
/// Flag of a range: the owner is no inode but a special number.
const SPECIAL_OWNER: u32 = 0x10;
/// Flag of a range: there are no more.
const LAST: u32 = 0x20;
/// The special owner of free space.
const OWNER_FREE: u64 = 1;
/// Flag of an answer: devices are device numbers.
const DEVICES: u32 = 0x1;

/// `struct fsmap`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawRange {
    device: u32,
    flags: u32,
    physical: u64,
    owner: u64,
    offset: u64,
    length: u64,
    reserved: [u64; 3],
}

/// `struct fsmap_head` with room for [`COUNT`] ranges.
#[repr(C)]
struct Request {
    input_flags: u32,
    output_flags: u32,
    count: u32,
    entries: u32,
    reserved: [u64; 6],
    /// Lowest and highest range that is asked for.
    keys: [RawRange; 2],
    ranges: [RawRange; COUNT],
}

/// The free space of a file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FreeMap {
    /// Maximal runs, ascending.
    pub free: Vec<Run>,
    /// Where the last range ends, free or used: the size of the file system.
    pub end_bytes: u64,
}

/// The free space of the file system that `file` is on. `major` and `minor` are its device (`st_dev`): ranges of
/// others, such as an external journal, are left out.
///
/// # Errors
/// `ENOTTY` or `EOPNOTSUPP` where there is no such call; or what reading metadata may fail with.
pub fn free_map(file: impl AsFd, major: u32, minor: u32) -> io::Result<FreeMap> {
    // `new_encode_dev` of the kernel.
    let device = (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12);
    let mut map = FreeMap::default();
    // It lies on the stack for a moment only.
    #[allow(clippy::large_stack_arrays)]
    let mut request = Box::new(Request {
        input_flags: 0,
        output_flags: 0,
        count: COUNT as u32,
        entries: 0,
        reserved: [0; 6],
        keys: [RawRange::default(); 2],
        ranges: [RawRange::default(); COUNT],
    });
    request.keys[1] = RawRange {
        device: u32::MAX,
        flags: u32::MAX,
        physical: u64::MAX,
        owner: u64::MAX,
        offset: u64::MAX,
        length: 0,
        reserved: [0; 3],
    };
    loop {
        call(&file, &mut request)?;
        let entries = (request.entries as usize).min(COUNT);
        let named = request.output_flags & DEVICES != 0;
        for range in &request.ranges[..entries] {
            if !named || range.device == device {
                add(&mut map, range);
            }
        }
        // A file system that changes meanwhile must not lead round in circles.
        let place = |range: &RawRange| (range.device, range.physical);
        match request.ranges[..entries].last().copied() {
            Some(last) if last.flags & LAST == 0 && place(&last) >= place(&request.keys[0]) => {
                if last.length == 0 {
                    return Ok(map);
                }
                request.keys[0] = last;
            }
            _ => return Ok(map),
        }
    }
}

fn add(map: &mut FreeMap, range: &RawRange) {
    let Some(end_bytes) = range.physical.checked_add(range.length) else {
        return;
    };
    let is_free = range.flags & SPECIAL_OWNER != 0 && range.owner == OWNER_FREE;
    // What was passed already may come again when it was split or joined meanwhile.
    let start_bytes = match map.free.last() {
        Some(last) => range.physical.max(last.start_bytes + last.length_bytes),
        None => range.physical,
    };
    map.end_bytes = map.end_bytes.max(end_bytes);
    if !is_free || start_bytes >= end_bytes {
        return;
    }
    let length_bytes = end_bytes - start_bytes;
    match map.free.last_mut() {
        Some(last) if last.start_bytes + last.length_bytes == start_bytes => {
            last.length_bytes += length_bytes;
        }
        _ => map.free.push(Run {
            start_bytes,
            length_bytes,
        }),
    }
}

#[allow(unsafe_code)]
fn call(file: &impl AsFd, request: &mut Request) -> io::Result<()> {
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: the request is a live `struct fsmap_head` with room for the `count` ranges it names, all of it
    // initialized, and any bytes that the kernel writes there are valid integers.
    let result = unsafe { libc::ioctl(fd, FS_IOC_GETFSMAP as _, std::ptr::from_mut(request)) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ranges_become_maximal_ascending_runs() {
        let mut map = FreeMap::default();
        let range = |physical, length, owner, flags| RawRange {
            flags,
            physical,
            owner,
            length,
            ..RawRange::default()
        };
        for range in [
            range(0, 4096, 3, SPECIAL_OWNER),
            range(4096, 4096, OWNER_FREE, SPECIAL_OWNER),
            range(8192, 4096, OWNER_FREE, SPECIAL_OWNER),
            // Inode 1, which is not free space.
            range(12288, 4096, OWNER_FREE, 0),
            range(8192, 12288, OWNER_FREE, SPECIAL_OWNER),
            range(u64::MAX, 2, OWNER_FREE, SPECIAL_OWNER),
            range(40960, 4096, OWNER_FREE, SPECIAL_OWNER),
            range(45056, 8192, 2, SPECIAL_OWNER),
        ] {
            add(&mut map, &range);
        }
        let run = |start_bytes, length_bytes| Run {
            start_bytes,
            length_bytes,
        };
        assert_eq!(map.free, [run(4096, 16384), run(40960, 4096)]);
        assert_eq!(map.end_bytes, 53248);
    }
}
