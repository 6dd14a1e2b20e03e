//! The image as blocks.

use super::superblock::Superblock;
use crate::error::CollectError;
use crate::image::ReadAt;
use crate::image::pieces::{Piece, VisitPiece, read_pieces};
use std::io;
use std::path::Path;

/// An image whose superblock is known.
pub struct Device<'a> {
    pub source: &'a dyn ReadAt,
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

    /// Reads pieces in the order in which they lie, see [`read_pieces`].
    pub fn read_pieces<T: Copy + Ord>(
        &self,
        pieces: &mut [Piece<T>],
        visit: VisitPiece<'_, T>,
    ) -> Result<(), CollectError> {
        read_pieces(self.source, self.block_bytes(), pieces, visit)
    }
}
