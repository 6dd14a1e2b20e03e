//! Where the blocks of one inode lie.

use super::device::Device;
use super::inode::{Mapped, RawInode};
use super::{extents, indirect};
use crate::image::Fault;
use fsage_core::Extent;
use std::collections::HashSet;

/// Finds the blocks of inodes, one after another.
///
/// A block of pointers is read once, whoever points to it: it belongs to one inode, and so no loop, and no sharing
/// among many inodes, makes more work than there are blocks.
pub struct Mapper<'a> {
    device: &'a Device<'a>,
    pointer_blocks: HashSet<u64>,
    data: Vec<Extent>,
    pointers: Vec<Extent>,
}

impl<'a> Mapper<'a> {
    pub fn new(device: &'a Device<'a>) -> Mapper<'a> {
        Mapper {
            device,
            pointer_blocks: HashSet::new(),
            data: Vec::new(),
            pointers: Vec::new(),
        }
    }

    /// Extents of an inode: data, ascending by place in the file and merged, then blocks that hold pointers, each for
    /// itself, in the order in which a reader of the whole file meets them.
    pub fn extents(&mut self, inode: &RawInode) -> Result<Box<[Extent]>, Fault> {
        self.data.clear();
        self.pointers.clear();
        match inode.mapped() {
            Mapped::Nowhere => {}
            Mapped::Extents => extents::map(self, inode.block_area())?,
            Mapped::Pointers => indirect::map(self, inode.block_area())?,
        }
        let all = self.data.iter().chain(&self.pointers);
        Ok(all.copied().collect())
    }

    pub(super) fn block_bytes(&self) -> u64 {
        self.device.block_bytes()
    }

    /// Reads a block that holds pointers.
    pub(super) fn read_pointers(&mut self, block: u64) -> Result<Vec<u8>, Fault> {
        self.check(block, 1, "a block of pointers")?;
        if !self.pointer_blocks.insert(block) {
            return Err(Fault(format!("block {block} of pointers is used twice")));
        }
        let size = self.device.block_bytes();
        let read = self.device.read(block, size as usize);
        let bytes = read.map_err(|e| Fault(format!("block {block} of pointers: {e}")))?;
        self.pointers.push(Extent {
            logical_bytes: Extent::POINTERS_AT,
            physical_bytes: block * size,
            length_bytes: size,
            flags: Extent::POINTERS,
        });
        Ok(bytes)
    }

    /// Appends blocks of data; places are in blocks. They come ascending by `logical`.
    pub(super) fn push(
        &mut self,
        logical: u64,
        block: u64,
        count: u64,
        flags: u32,
    ) -> Result<(), Fault> {
        self.check(block, count, "data")?;
        let size = self.device.block_bytes();
        let next = Extent {
            logical_bytes: logical * size,
            physical_bytes: block * size,
            length_bytes: count * size,
            flags,
        };
        match self.data.last_mut() {
            Some(last)
                if last.flags == flags
                    && last.logical_bytes + last.length_bytes == next.logical_bytes
                    && last.physical_bytes + last.length_bytes == next.physical_bytes =>
            {
                last.length_bytes += next.length_bytes;
            }
            _ => self.data.push(next),
        }
        Ok(())
    }

    fn check(&self, block: u64, count: u64, what: &str) -> Result<(), Fault> {
        let superblock = self.device.superblock;
        if superblock.contains(block, count) {
            return Ok(());
        }
        Err(Fault(format!(
            "{what} ({count} blocks) at block {block}, expected between {} and {}",
            superblock.first_data_block, superblock.blocks
        )))
    }
}
