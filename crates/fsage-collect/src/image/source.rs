//! The image as bytes.

use crate::error::CollectError;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// What an image is read from: a file, a block device, or bytes in memory.
pub trait ReadAt {
    /// Length of the image.
    ///
    /// # Errors
    /// What the system says.
    fn len_bytes(&self) -> io::Result<u64>;

    /// Fills `buffer` with the bytes from `offset_bytes` on.
    ///
    /// # Errors
    /// What the system says; `UnexpectedEof` where the image ends before.
    fn read_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn len_bytes(&self) -> io::Result<u64> {
        // The length of a block device is not in its metadata.
        (&*self).seek(SeekFrom::End(0))
    }

    fn read_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset_bytes)
    }
}

impl ReadAt for [u8] {
    fn len_bytes(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let start = usize::try_from(offset_bytes).unwrap_or(usize::MAX);
        let bytes = self.get(start..).and_then(|rest| rest.get(..buffer.len()));
        let bytes = bytes.ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

/// Opens a regular file or a block device. Anything else is refused, and never waited for.
pub fn open(path: &Path) -> Result<File, CollectError> {
    let cannot_open = |e: io::Error| CollectError::io(path, "cannot open the image", e);
    let kind = fs::metadata(path).map_err(cannot_open)?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        let problem = "neither a regular file nor a block device, so no image of a file system";
        return Err(CollectError::unsuitable(path, problem));
    }
    let mut options = OpenOptions::new();
    options.read(true);
    // Should the name mean a FIFO by now, it is not waited for either.
    options.custom_flags(OFlags::NONBLOCK.bits() as i32);
    options.open(path).map_err(cannot_open)
}
