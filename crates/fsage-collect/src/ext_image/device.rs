//! The image as bytes: reads that say where they failed, and reads in the order of the disk.

use super::superblock::Superblock;
use crate::error::CollectError;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Reads at most this much at once.
pub const READ_BYTES: u64 = 1 << 20;
/// Pieces that lie no farther apart than this are read together.
const GAP_BYTES: u64 = 64 << 10;

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

/// An image whose superblock is known.
pub struct Device<'a> {
    source: &'a dyn ReadAt,
    pub path: &'a Path,
    pub superblock: &'a Superblock,
}

impl<'a> Device<'a> {
    pub fn new(source: &'a dyn ReadAt, path: &'a Path, superblock: &'a Superblock) -> Device<'a> {
        Device {
            source,
            path,
            superblock,
        }
    }

    /// Reads `length` bytes from the start of a block on.
    pub fn read(&self, block: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; length];
        self.read_into(&mut buffer, block, 0)?;
        Ok(buffer)
    }

    /// Fills a buffer from `offset_bytes` behind the start of a block on.
    pub fn read_into(&self, buffer: &mut [u8], block: u64, offset_bytes: u64) -> io::Result<()> {
        let start = block.saturating_mul(self.block_bytes());
        self.source
            .read_at(buffer, start.saturating_add(offset_bytes))
    }

    pub fn block_bytes(&self) -> u64 {
        u64::from(self.superblock.block_bytes)
    }

    /// Damage that leaves nothing to read.
    pub fn damaged(&self, what: &str) -> CollectError {
        let problem = format!("{what}; the image is damaged, `e2fsck -fn` says more");
        CollectError::unsuitable(self.path, problem)
    }

    /// What cannot be read without, and could not be read.
    pub fn unread(&self, action: &'static str) -> impl FnOnce(io::Error) -> CollectError {
        let path = self.path;
        move |e| CollectError::io(path, action, e)
    }

    /// Reads pieces in the order in which they lie, several at once where they are close. One that cannot be read
    /// does not keep the others from being read.
    pub fn read_pieces<T>(
        &self,
        pieces: &mut [Piece<T>],
        visit: VisitPiece<T>,
    ) -> Result<(), CollectError>
    where
        T: Copy + Ord,
    {
        pieces.sort_unstable_by_key(|piece| (piece.block, piece.blocks, piece.tag));
        let size = self.block_bytes();
        let mut buffer = Vec::new();
        let mut rest = &*pieces;
        while let [first, ..] = rest {
            let mut end = first.block + first.blocks;
            let mut count = 1;
            for piece in &rest[1..] {
                let new_end = end.max(piece.block + piece.blocks);
                if (new_end - first.block) * size > READ_BYTES
                    || piece.block > end + GAP_BYTES / size
                {
                    break;
                }
                end = new_end;
                count += 1;
            }
            buffer.resize(((end - first.block) * size) as usize, 0);
            let together = self.read_into(&mut buffer, first.block, 0).is_ok();
            for piece in &rest[..count] {
                let start = ((piece.block - first.block) * size) as usize;
                let bytes = &mut buffer[start..start + (piece.blocks * size) as usize];
                let read = if together {
                    Ok(())
                } else {
                    self.read_into(bytes, piece.block, 0)
                };
                visit(piece, read.map(|()| &*bytes))?;
            }
            rest = &rest[count..];
        }
        Ok(())
    }
}

/// Called with a piece and its bytes.
type VisitPiece<'v, T> =
    &'v mut dyn FnMut(&Piece<T>, io::Result<&[u8]>) -> Result<(), CollectError>;

/// Some blocks, at most [`READ_BYTES`] of them, all inside the file system.
#[derive(Clone, Copy, Debug)]
pub struct Piece<T> {
    pub block: u64,
    pub blocks: u64,
    /// Whose they are.
    pub tag: T,
}
