//! What an inode adds to the directories of an image.

use super::device::Device;
use super::directory::visit_inline_entries;
use super::inode::RawInode;
use super::mapping::Mapper;
use crate::image::directories::{DirectoryBlocks, Owner};
use crate::report::Warnings;
use fsage_core::{Extent, FileKind};

/// Takes the next inode; only directories are looked at.
pub fn add_inode(
    blocks: &mut DirectoryBlocks,
    mapper: &mut Mapper<'_>,
    device: &Device<'_>,
    inode: &RawInode<'_>,
    warnings: &mut Warnings,
) {
    if inode.kind() != Some(FileKind::Directory) {
        return;
    }
    let owner = (u64::from(inode.ino), inode.is_encrypted());
    blocks.add_directory(owner.0);
    let fault = if inode.is_inline() {
        let typed = device.superblock.has_file_types();
        let mut bad = None;
        let read = visit_inline_entries(inode, typed, &mut |child, name| {
            let pushed = blocks.push(owner, child.into(), name);
            bad = bad.take().or(pushed.err());
        });
        read.err().or(bad)
    } else {
        let extents = mapper.extents(inode);
        extents
            .map(|extents| add_blocks(blocks, owner, device, inode.size_bytes(), &extents))
            .err()
    };
    blocks.found(owner.0, fault, warnings);
}

fn add_blocks(
    blocks: &mut DirectoryBlocks,
    owner: Owner,
    device: &Device<'_>,
    size_bytes: u64,
    extents: &[Extent],
) {
    let block_bytes = device.block_bytes();
    for extent in extents.iter().filter(|extent| !extent.is_pointers()) {
        // What lies behind the end of the directory belongs to it, and says nothing.
        let inside = size_bytes.saturating_sub(extent.logical_bytes);
        let count = extent.length_bytes.min(inside).div_ceil(block_bytes);
        blocks.add_blocks(owner, extent.physical_bytes / block_bytes, count);
    }
}
