//! The image as blocks.

use super::superblock::Superblock;
use crate::error::CollectError;
use crate::image::ReadAt;
use std::io;
use std::path::Path;

/// An image whose superblock is known.
#[derive(Clone, Copy)]
pub struct Device<'a> {
    pub source: &'a dyn ReadAt,
    pub path: &'a Path,
    pub superblock: &'a Superblock,
}

impl Device<'_> {
    pub fn block_bytes(&self) -> u64 {
        self.superblock.block_bytes.into()
    }

    /// A block, counted from the start of the device.
    pub fn block(&self, block: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.superblock.block_bytes as usize];
        self.source
            .read_at(&mut bytes, block.saturating_mul(self.block_bytes()))?;
        Ok(bytes)
    }

    /// What structures say of their own place: a block in units of 512 bytes.
    pub fn sector_of(&self, block: u64) -> u64 {
        block.saturating_mul(self.block_bytes() / 512)
    }

    /// Damage that leaves nothing to read.
    pub fn damaged(&self, what: &str) -> CollectError {
        let problem = format!("{what}; the image is damaged, `xfs_repair -n` says more");
        CollectError::unsuitable(self.path, problem)
    }

    /// What cannot be read without, and could not be read.
    pub fn unread(&self, action: &'static str) -> impl FnOnce(io::Error) -> CollectError {
        let path = self.path;
        move |e| CollectError::io(path, action, e)
    }
}
