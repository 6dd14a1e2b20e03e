//! Files of the file system itself: the journal, and the inode that keeps blocks for further descriptors.

use super::fields::{crc, put, put16, put32};
use super::inode::{AREA, EXTENTS, Fields, RawInode, root};
use super::{Attributes, WriteAt, Writer};
use crate::ext4::directory::ROOT_INO;
use crate::ext4::geometry::{INODE_BYTES, RESERVED_INODES};
use crate::ext4::tree::{Entry, Stored, Tree};
use crate::ext4::{Ext4, Geometry};
use crate::image::REGULAR;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;

const BAD_BLOCKS_INO: u32 = 1;
pub(super) const RESIZE_INO: u32 = 7;
pub(super) const JOURNAL_INO: u32 = 8;

pub(super) const JOURNAL_MAGIC: u32 = 0xc03b_3998;
const JOURNAL_SUPERBLOCK: u32 = 4;
/// Place of the pointer to the double indirect block, among those of an inode.
pub(super) const DOUBLE_INDIRECT: usize = 13;
const DIRECT: u64 = 12;

/// The tree of the journal.
fn journal_tree(fs: &Ext4) -> Tree {
    let g = &fs.geometry;
    let mut logical = 0;
    let entries = g.journal.iter().map(|&(block, blocks)| {
        logical += blocks;
        Entry::new(logical - blocks, block, blocks, false)
    });
    let mut entries: Vec<Entry> = entries.collect();
    let root = match g.journal_tree_block {
        Some(block) => Stored::Places(vec![(0, block)], 1),
        None => Stored::Entries(std::mem::take(&mut entries)),
    };
    let mut load = |_, _| Ok::<_, Infallible>(Stored::Entries(std::mem::take(&mut entries)));
    match Tree::read(root, &mut load) {
        Ok(tree) => tree,
        Err(never) => match never {},
    }
}

/// What stands in the inode of the journal, and for safety in the superblock.
pub(super) fn journal_area(fs: &Ext4) -> [u8; AREA] {
    root(&journal_tree(fs))
}

/// Pointers of a block.
fn pointers(g: &Geometry) -> u64 {
    g.block_bytes / 4
}

/// Groups with a copy of the superblock, but for the first one.
pub(super) fn copies(g: &Geometry) -> Vec<u32> {
    let groups = 1..g.groups;
    groups
        .filter(|&group| Geometry::has_superblock(group))
        .collect()
}

/// A block that is kept behind the descriptors of the first group.
pub(super) fn kept_block(g: &Geometry, kept: u32) -> u32 {
    g.first_block + 1 + g.descriptor_blocks + kept
}

/// What points to the blocks that are kept in the first group.
pub(super) fn double_indirect(g: &Geometry) -> Vec<u8> {
    let mut double = vec![0; g.block_bytes as usize];
    for kept in 0..g.reserved_descriptor_blocks {
        let place = u64::from(g.descriptor_blocks + kept) % pointers(g);
        put32(&mut double, 4 * place as usize, kept_block(g, kept));
    }
    double
}

/// What stands in a block that is kept: where the same block of the copies lies.
pub(super) fn indirect(g: &Geometry, kept: u32, copies: &[u32]) -> Vec<u8> {
    let mut single = vec![0; g.block_bytes as usize];
    for (place, group) in copies.iter().enumerate() {
        let block = kept_block(g, kept).wrapping_add(group * g.blocks_per_group);
        put32(&mut single, 4 * place, block);
    }
    single
}

impl Writer<'_> {
    /// Length of the inode that keeps blocks for descriptors: all that its pointers could reach.
    fn resize_bytes(&self) -> u64 {
        let g = &self.fs.geometry;
        let pointers = pointers(g);
        (pointers * pointers + pointers + DIRECT) * g.block_bytes
    }

    /// Writes what belongs to these files, and gives their inodes.
    pub fn own_files(&self, to: &mut dyn WriteAt) -> io::Result<BTreeMap<u32, RawInode>> {
        let g = &self.fs.geometry;
        let mut inodes = BTreeMap::new();
        for ino in (1..=RESERVED_INODES).filter(|&ino| ino != ROOT_INO) {
            inodes.insert(ino, self.unused(ino));
        }
        if let Some(block) = g.resize_block {
            inodes.insert(RESIZE_INO, self.resize(block, to)?);
        }
        if let Some(&(block, _)) = g.journal.first() {
            inodes.insert(JOURNAL_INO, self.journal(block, to)?);
        }
        Ok(inodes)
    }

    /// An inode that is kept for something that is not there. It has no fields behind the first 128 bytes, and so half
    /// of a checksum. That of bad blocks, of which there are none, has times.
    fn unused(&self, ino: u32) -> RawInode {
        let mut b = [0; INODE_BYTES as usize];
        if ino == BAD_BLOCKS_INO {
            for at in [8, 12, 16] {
                put32(&mut b, at, self.options.made_s as u32);
            }
        }
        if let Some(seed) = self.inode_seed(ino, 0) {
            let sum = crc(seed, &b);
            put16(&mut b, 124, sum as u16);
        }
        b
    }

    fn own_inode(
        &self,
        ino: u32,
        size_bytes: u64,
        blocks: u64,
        flags: u32,
        area: [u8; AREA],
    ) -> RawInode {
        let fields = Fields {
            kind: REGULAR,
            attributes: Attributes {
                permissions: 0o600,
                ..self.options.made()
            },
            links: 1,
            size_bytes,
            blocks,
            flags,
            area,
        };
        self.inode(ino, &fields)
    }

    /// Every block that is kept behind the descriptors of the first group points to those in the copies.
    fn resize(&self, top: u32, to: &mut dyn WriteAt) -> io::Result<RawInode> {
        let g = &self.fs.geometry;
        let copies = copies(g);
        for kept in 0..g.reserved_descriptor_blocks {
            self.block(to, kept_block(g, kept), &indirect(g, kept, &copies))?;
        }
        let blocks = 1 + u64::from(g.reserved_descriptor_blocks) * (1 + copies.len() as u64);
        self.block(to, top, &double_indirect(g))?;
        let mut area = [0; AREA];
        put32(&mut area, 4 * DOUBLE_INDIRECT, top);
        Ok(self.own_inode(RESIZE_INO, self.resize_bytes(), blocks, 0, area))
    }

    /// The journal is empty.
    fn journal(&self, first: u32, to: &mut dyn WriteAt) -> io::Result<RawInode> {
        let g = &self.fs.geometry;
        let mut b = vec![0; g.block_bytes as usize];
        let users = 1_u32;
        let (start, sequence) = (1_u32, 1_u32);
        for (at, value) in [
            (0x00, JOURNAL_MAGIC),
            (0x04, JOURNAL_SUPERBLOCK),
            (0x0c, g.block_bytes as u32),
            (0x10, g.journal_blocks),
            (0x14, start),
            (0x18, sequence),
            (0x40, users),
        ] {
            put(&mut b, at, value.to_be_bytes());
        }
        put(&mut b, 0x30, self.options.uuid);
        self.block(to, first, &b)?;
        let tree = journal_tree(self.fs);
        self.tree_blocks(&tree, self.inode_seed(JOURNAL_INO, 0), to)?;
        let size = u64::from(g.journal_blocks) * g.block_bytes;
        let blocks = u64::from(g.journal_blocks) + u64::from(g.journal_tree_block.is_some());
        Ok(self.own_inode(JOURNAL_INO, size, blocks, EXTENTS, root(&tree)))
    }
}
