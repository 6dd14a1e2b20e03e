//! The generation of an inode: `name_to_handle_at` tells it without opening the file, `FS_IOC_GETVERSION` of an open
//! file.
//!
//! A handle can be had of every type of file and without privilege. It is opaque: its bytes are decoded by
//! file system and length, since the same type of handle has different contents on ext4 and on tmpfs.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd};

/// `f_type` of `statfs`: ext2, ext3 and ext4.
pub const EXT_MAGIC: u64 = 0xEF53;
/// `f_type` of `statfs`: XFS.
pub const XFS_MAGIC: u64 = 0x5846_5342;
/// `f_type` of `statfs`: btrfs.
pub const BTRFS_MAGIC: u64 = 0x9123_683E;
/// `f_type` of `statfs`: tmpfs.
pub const TMPFS_MAGIC: u64 = 0x0102_1994;

/// `MAX_HANDLE_SZ`.
const MAX_BYTES: usize = 128;

/// `struct file_handle` with room for every handle.
#[repr(C)]
struct Handle {
    bytes: u32,
    kind: i32,
    data: [u8; MAX_BYTES],
}

/// Generation of the inode that `name` in `dir` is, on a file system of this `f_type`; symbolic links are not followed.
/// With an empty name, of `dir` itself. `None` where it is not known: the file system has no handles, or their form is
/// not known here, or `name` is no longer the inode `ino`.
///
/// What the number means depends on the file system: random on ext4, counted up on XFS, the creating transaction on
/// btrfs; 0 says nothing.
pub fn generation(dir: impl AsFd, name: &CStr, magic: u64, ino: u64) -> Option<u32> {
    let mut handle = Handle {
        bytes: MAX_BYTES as u32,
        kind: 0,
        data: [0; MAX_BYTES],
    };
    call(&dir, name, &mut handle).then_some(())?;
    let data = handle.data.get(..handle.bytes as usize)?;
    let (found, generation) = decode(magic, data)?;
    (found == ino).then_some(generation)
}

/// Generation of an open regular file or directory, whose inode is `ino`: the same as [`generation`] tells, for a third
/// of the time where the file system has `FS_IOC_GETVERSION`.
pub fn generation_of_open(file: impl AsFd, magic: u64, ino: u64) -> Option<u32> {
    let generation_of_type = match magic {
        EXT_MAGIC | XFS_MAGIC | BTRFS_MAGIC => version(&file),
        // What the number means is not known elsewhere.
        _ => None,
    };
    generation_of_type.or_else(|| generation(&file, c"", magic, ino))
}

/// Inode and generation of a handle.
fn decode(magic: u64, data: &[u8]) -> Option<(u64, u32)> {
    let u32_at = |at: usize| Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?));
    let u64_at = |at: usize| Some(u64::from_ne_bytes(data.get(at..at + 8)?.try_into().ok()?));
    Some(match (magic, data.len()) {
        (EXT_MAGIC | XFS_MAGIC, 8) => (u64::from(u32_at(0)?), u32_at(4)?),
        (XFS_MAGIC, 12) => (u64_at(0)?, u32_at(8)?),
        (BTRFS_MAGIC, 20) => (u64_at(0)?, u32_at(16)?),
        (TMPFS_MAGIC, 12) => {
            let ino = u64::from(u32_at(8)?) << 32 | u64::from(u32_at(4)?);
            (ino, u32_at(0)?)
        }
        _ => return None,
    })
}

#[allow(unsafe_code)]
fn call(dir: &impl AsFd, name: &CStr, handle: &mut Handle) -> bool {
    let flags = if name.is_empty() {
        libc::AT_EMPTY_PATH
    } else {
        0
    };
    let mut mount_id: libc::c_int = 0;
    // SAFETY: the name ends in NUL; the handle is a live `struct file_handle` with room for the `bytes` it names; the
    // mount id is a live integer. All bytes that the kernel may write there are valid values.
    let result = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            dir.as_fd().as_raw_fd(),
            name.as_ptr(),
            std::ptr::from_mut(handle),
            std::ptr::from_mut(&mut mount_id),
            flags,
        )
    };
    result == 0
}

/// `FS_IOC_GETVERSION`; `None` where there is no such call.
#[allow(unsafe_code)]
fn version(file: &impl AsFd) -> Option<u32> {
    // The call is declared with a `long`, but writes an `int`: the first half.
    let mut version = [0_u32; 2];
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: there is room for the `int` that is written, and for a `long`; all values of it are valid.
    let result = unsafe { libc::ioctl(fd, libc::FS_IOC_GETVERSION as _, version.as_mut_ptr()) };
    (result == 0).then_some(version[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_decoded_by_file_system_and_length() {
        // The layouts of the snapshot format, section 3.3, in the byte order of this machine.
        let words = |words: &[u32]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_ne_bytes()).collect()
        };
        let long = |ino: u64, rest: &[u32]| -> Vec<u8> {
            let mut data = ino.to_ne_bytes().to_vec();
            data.extend(words(rest));
            data
        };
        assert_eq!(decode(EXT_MAGIC, &words(&[12, 7])), Some((12, 7)));
        assert_eq!(decode(XFS_MAGIC, &long(1 << 40, &[9])), Some((1 << 40, 9)));
        assert_eq!(
            decode(BTRFS_MAGIC, &long(257, &[5, 0, 33])),
            Some((257, 33))
        );
        assert_eq!(
            decode(TMPFS_MAGIC, &words(&[77, 3, 1])),
            Some((1 << 32 | 3, 77))
        );
        // The same type and length mean another thing elsewhere, or nothing.
        assert_eq!(decode(EXT_MAGIC, &words(&[77, 3, 1])), None);
        assert_eq!(decode(0x6969, &words(&[12, 7])), None);
        assert_eq!(decode(XFS_MAGIC, &[]), None);
    }
}
