//! The entries of a directory, as they are read.

use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// Bytes that are read of a directory at once: some thousand entries.
const BUFFER_BYTES: usize = 1 << 16;

/// A buffer to read directories with, which is used again.
pub(super) fn buffer() -> Box<[MaybeUninit<u8>]> {
    vec![MaybeUninit::uninit(); BUFFER_BYTES].into()
}

/// The entries that were read at once, without `.` and `..`.
#[derive(Default)]
pub(super) struct Piece {
    /// Names, each with its NUL.
    names: Vec<u8>,
    /// Inode, where its name starts, and its type (`Unknown` if the file system does not say).
    entries: Vec<(u64, usize, FileType)>,
}

impl Piece {
    /// Reads the next piece of a directory; `false` at its end.
    ///
    /// # Errors
    /// What reading fails with.
    pub fn read(&mut self, directory: &mut RawDir<'_, &OwnedFd>) -> Result<bool, Errno> {
        self.names.clear();
        self.entries.clear();
        while let Some(entry) = directory.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes_with_nul();
            if !matches!(name, b".\0" | b"..\0") {
                self.entries
                    .push((entry.ino(), self.names.len(), entry.file_type()));
                self.names.extend_from_slice(name);
            }
            if directory.is_buffer_empty() {
                // Near each other in the inode tables is near each other here.
                self.entries
                    .sort_unstable_by_key(|(ino, at, _)| (*ino, *at));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Names and types, ascending by inode.
    pub fn iter(&self) -> impl Iterator<Item = (&CStr, FileType)> {
        self.entries.iter().map(|(_, at, file_type)| {
            let name = CStr::from_bytes_until_nul(&self.names[*at..]);
            (name.unwrap_or_default(), *file_type)
        })
    }
}
