//! Block groups: their descriptors, and which blocks are metadata from the start.

use super::bytes::{u16_at, u32_at, u64_of};
use super::device::Device;
use crate::error::CollectError;
use std::ops::Range;

/// Where the metadata of a group lie; all inside the file system.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    pub block_bitmap: u64,
    pub inode_bitmap: u64,
    pub inode_table: u64,
    /// No inode of the group is in use, and its bitmap was never written.
    pub no_inodes: bool,
    /// Only metadata are in use, and the bitmap was never written.
    pub only_metadata: bool,
}

/// Reads descriptors, a block of them at a time.
pub struct Groups<'a> {
    device: &'a Device<'a>,
    read: Option<(u64, Vec<u8>)>,
}

impl<'a> Groups<'a> {
    pub fn new(device: &'a Device<'a>) -> Groups<'a> {
        Groups { device, read: None }
    }

    /// The descriptor of a group.
    pub fn get(&mut self, group: u32) -> Result<Descriptor, CollectError> {
        let device = self.device;
        let superblock = device.superblock;
        let length = superblock.descriptor_bytes;
        let in_block = superblock.block_bytes / length;
        let index = u64::from(group / in_block);
        let bytes = match self.read.take() {
            Some((read, bytes)) if read == index => bytes,
            _ => {
                let block = block_of_descriptors(device, index as u32, in_block);
                if block >= superblock.blocks {
                    let what = format!("the descriptor of group {group} lies behind the end");
                    return Err(device.damaged(&what));
                }
                let read = device.read(block, superblock.block_bytes as usize);
                read.map_err(device.unread("cannot read the group descriptors"))?
            }
        };
        let at = (group % in_block * length) as usize;
        let descriptor = parse(device, group, &bytes[at..at + length as usize]);
        self.read = Some((index, bytes));
        descriptor
    }
}

/// Where the block of descriptors with a number lies: all in a row behind the superblock, or, with meta groups, at the
/// start of the first group that it describes.
fn block_of_descriptors(device: &Device, index: u32, in_block: u32) -> u64 {
    let superblock = device.superblock;
    // With clusters of larger size, blocks of 1 KiB are counted from 0 too, and the superblock is in block 1.
    let at = u64::from(superblock.block_bytes == 1024);
    if !superblock.has_meta_groups() || index < superblock.first_meta_group {
        return at + 1 + u64::from(index);
    }
    let group = index * in_block;
    let before_first = if group == 0 {
        at - u64::from(superblock.first_data_block)
    } else {
        0
    };
    blocks_of(device, group).start + before_first + u64::from(superblock.has_copy(group))
}

fn parse(device: &Device, group: u32, b: &[u8]) -> Result<Descriptor, CollectError> {
    let superblock = device.superblock;
    let block = |what: &str, at: usize, count: u64| {
        let high = if b.len() < 64 {
            0
        } else {
            u32_at(b, at + 0x20)
        };
        let block = u64_of(u32_at(b, at), high);
        if superblock.contains(block, count) {
            return Ok(block);
        }
        let (first, blocks) = (superblock.first_data_block, superblock.blocks);
        Err(device.damaged(&format!(
            "descriptor of group {group}: the {what} ({count} blocks) starts at block {block}, expected between \
             {first} and {blocks}"
        )))
    };
    let flags = u16_at(b, 0x12);
    let flag = |bit| superblock.has_group_flags() && flags & bit != 0;
    Ok(Descriptor {
        block_bitmap: block("block bitmap", 0, 1)?,
        inode_bitmap: block("inode bitmap", 4, 1)?,
        inode_table: block("inode table", 8, table_blocks(device))?,
        no_inodes: flag(1),
        only_metadata: flag(2),
    })
}

/// Blocks of a group.
pub fn blocks_of(device: &Device, group: u32) -> Range<u64> {
    let superblock = device.superblock;
    let length = u64::from(superblock.blocks_per_group);
    let start = u64::from(superblock.first_data_block) + u64::from(group) * length;
    start..(start + length).min(superblock.blocks)
}

/// Blocks of the inode table of a group.
pub fn table_blocks(device: &Device) -> u64 {
    let superblock = device.superblock;
    let bytes = u64::from(superblock.inodes_per_group) * u64::from(superblock.inode_bytes);
    bytes.div_ceil(device.block_bytes())
}

/// Blocks at the start of a group for a copy of the superblock and for descriptors.
pub fn base_blocks(device: &Device, group: u32) -> u64 {
    let superblock = device.superblock;
    let copy = superblock.has_copy(group);
    let in_block = superblock.block_bytes / superblock.descriptor_bytes;
    let (meta, first_meta) = (
        superblock.has_meta_groups(),
        u64::from(superblock.first_meta_group),
    );
    if !meta || u64::from(group) < first_meta * u64::from(in_block) {
        let all = u64::from(superblock.groups.div_ceil(in_block));
        let descriptors = if meta { first_meta } else { all };
        let reserved = u64::from(superblock.reserved_descriptor_blocks);
        return if copy { 1 + descriptors + reserved } else { 0 };
    }
    let place = group % in_block;
    let descriptors = place <= 1 || place == in_block - 1;
    u64::from(copy) + u64::from(descriptors)
}
