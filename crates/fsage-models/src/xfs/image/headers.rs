//! Superblocks, headers of AGs, and a log that is empty.

use super::fields::{put, put16, put32, put64, seal};
use super::{BYTES, Block, Writer};
use crate::image::WriteAt;
use crate::xfs::geometry::{BLOCK, Geometry, PER_BLOCK};
use crate::xfs::params::Features;
use crate::xfs::space::Ag;
use crate::xfs::{Inodes, Xfs};
use std::io;

/// Bytes of a sector: each header of an AG has one.
pub(super) const SECTOR: usize = 512;
pub(super) const MAGIC: [u8; 4] = *b"XFSB";
pub(super) const SUPERBLOCK_SUM: usize = 224;
pub(super) const SPACE_MAGIC: [u8; 4] = *b"XAGF";
pub(super) const SPACE_SUM: usize = 216;
pub(super) const INODES_MAGIC: [u8; 4] = *b"XAGI";
pub(super) const INODES_SUM: usize = 312;
pub(super) const LIST_MAGIC: [u8; 4] = *b"XAFL";
pub(super) const LIST_SUM: usize = 32;
/// Where the blocks of the free list begin.
pub(super) const LIST_BLOCKS: usize = 36;

/// Where the superblock has its counts.
pub(super) const TOTALS: [usize; 3] = [128, 136, 144];

/// Version 5 with all that it implies, aligned inodes, names of any byte, attributes, and further features.
pub(super) const VERSION: u16 = 0xb4b5;
/// Counters that are not kept up to date, attributes of any size, project numbers of 32 bits, checksums.
pub(super) const FEATURES: u32 = 0x18a;

/// A record of the log, of one sector and its header.
pub(super) const LOG_RECORD: u32 = 0xfeed_babe;
const LOG_BUFFER: u32 = 32 << 10;
const UNMOUNT_ID: u32 = 0xb0c0_d0d0;

impl Features {
    /// Features without which nothing can be written, and those without which nothing can be read.
    pub(super) fn masks(self) -> (u32, u32) {
        const FREE_INODES: u32 = 1;
        const OWNERS: u32 = 2;
        const REFERENCES: u32 = 4;
        const COUNTED_TREES: u32 = 8;
        const ENTRY_TYPES: u32 = 1;
        const SPARSE: u32 = 2;
        const LONG_TIMES: u32 = 8;
        let usual = FREE_INODES | REFERENCES | COUNTED_TREES;
        match self {
            Features::Plain => (0, ENTRY_TYPES),
            Features::Default => (usual, ENTRY_TYPES | SPARSE | LONG_TIMES),
            Features::Rmapbt => (usual | OWNERS, ENTRY_TYPES | SPARSE | LONG_TIMES),
        }
    }
}

/// The fields of the superblock that follow from sizes and features: all but counters, identity and checksum.
pub(super) fn superblock(g: &Geometry) -> [u8; SECTOR] {
    let mut b = [0; SECTOR];
    put(&mut b, 0, MAGIC);
    put32(&mut b, 4, BLOCK as u32);
    put64(&mut b, 8, g.blocks);
    put64(&mut b, 48, g.fsb(g.log_ag, g.log_start));
    for (at, own) in [56, 64, 72].into_iter().zip(g.root_ino()..) {
        put64(&mut b, at, own);
    }
    put32(&mut b, 80, 1);
    put32(&mut b, 84, g.ag_blocks);
    put32(&mut b, 88, g.ag_count);
    put32(&mut b, 96, g.log_blocks);
    put16(&mut b, 100, VERSION);
    put16(&mut b, 102, SECTOR as u16);
    let inode_bytes = BLOCK as u32 / PER_BLOCK;
    put16(&mut b, 104, inode_bytes as u16);
    put16(&mut b, 106, PER_BLOCK as u16);
    let logs = [
        BLOCK.ilog2(),
        SECTOR.ilog2(),
        inode_bytes.ilog2(),
        PER_BLOCK.ilog2(),
        g.ag_log,
    ];
    put(&mut b, 120, logs.map(|log| log as u8));
    b[127] = g.inode_percent as u8;
    for nobody in [160, 168, 232] {
        put64(&mut b, nobody, u64::MAX);
    }
    put32(&mut b, 180, g.inode_align);
    put32(&mut b, 196, 1);
    for copy in [200, 204] {
        put32(&mut b, copy, FEATURES);
    }
    let (to_write, to_read) = g.features.masks();
    put32(&mut b, 212, to_write);
    put32(&mut b, 216, to_read);
    let least_sparse = if g.features.is_plain() { 0 } else { 4 };
    put32(&mut b, 228, least_sparse);
    b
}

impl Writer<'_> {
    /// Writes the headers of all AGs, the first superblock last.
    pub fn headers(&self, to: &mut dyn WriteAt) -> io::Result<()> {
        let fs = self.fs;
        let g = &fs.geometry;
        let mut superblock = superblock(g);
        put(&mut superblock, 32, self.options.uuid);
        for (at, total) in TOTALS.into_iter().zip(fs.totals()) {
            put64(&mut superblock, at, total);
        }
        seal(&mut superblock, SUPERBLOCK_SUM);
        for ag in (0..g.ag_count).rev() {
            let mut b: Block = [0; BYTES];
            let sectors: [&[u8]; 4] = [
                &superblock,
                &self.space(ag),
                &self.inodes_of(ag),
                &self.list(ag),
            ];
            b[..4 * SECTOR].copy_from_slice(&sectors.concat());
            self.block(g.fsb(ag, 0), &b, to)?;
        }
        Ok(())
    }

    fn header(&self, magic: [u8; 4], ag: u32) -> [u8; SECTOR] {
        let mut b = [0; SECTOR];
        put(&mut b, 0, magic);
        put32(&mut b, 4, 1);
        put32(&mut b, 8, ag);
        put32(&mut b, 12, self.fs.geometry.ag_length(ag));
        b
    }

    /// Free space of an AG.
    fn space(&self, ag: u32) -> [u8; SECTOR] {
        let of = &self.fs.space.ags[ag as usize];
        let mut b = self.header(SPACE_MAGIC, ag);
        put32(&mut b, 16, of.by_start.root_block());
        put32(&mut b, 20, of.by_length.root_block());
        put32(&mut b, 28, of.by_start.levels());
        put32(&mut b, 32, of.by_length.levels());
        if let Some(owners) = &of.owners {
            put32(&mut b, 24, owners.root_block());
            put32(&mut b, 36, owners.levels());
            put32(&mut b, 80, owners.blocks());
        }
        put32(&mut b, 40, 1);
        put32(&mut b, 44, of.list.len() as u32);
        put32(&mut b, 48, of.list.len() as u32);
        put32(&mut b, 52, of.free);
        put32(&mut b, 56, of.longest());
        put32(&mut b, 60, tree_blocks(of));
        put(&mut b, 64, self.options.uuid);
        if let Some(references) = self.fs.geometry.references() {
            put32(&mut b, 84, 1);
            put32(&mut b, 88, references);
            put32(&mut b, 92, 1);
        }
        seal(&mut b, SPACE_SUM);
        b
    }

    /// Inodes of an AG.
    fn inodes_of(&self, ag: u32) -> [u8; SECTOR] {
        let of = &self.fs.chunks[ag as usize];
        let mut b = self.header(INODES_MAGIC, ag);
        put32(&mut b, 16, of.count);
        put32(&mut b, 20, of.chunks.root_block());
        put32(&mut b, 24, of.chunks.levels());
        put32(&mut b, 28, of.free);
        put32(&mut b, 32, of.newest.unwrap_or(u32::MAX));
        // No directory, and no inode that is open without a name.
        b[36..296].fill(0xff);
        put(&mut b, 296, self.options.uuid);
        if let Some(free) = &of.with_free {
            put32(&mut b, 328, free.root_block());
            put32(&mut b, 332, free.levels());
            put32(&mut b, 336, of.chunks.blocks());
            put32(&mut b, 340, free.blocks());
        }
        seal(&mut b, INODES_SUM);
        b
    }

    /// The free list of an AG, which begins at its second place, as `mkfs.xfs` has it.
    fn list(&self, ag: u32) -> [u8; SECTOR] {
        let mut b = [0; SECTOR];
        put(&mut b, 0, LIST_MAGIC);
        put32(&mut b, 4, ag);
        put(&mut b, 8, self.options.uuid);
        b[LIST_BLOCKS..].fill(0xff);
        let list = &self.fs.space.ags[ag as usize].list;
        for (block, b) in list.iter().zip(b[LIST_BLOCKS + 4..].chunks_exact_mut(4)) {
            put32(b, 0, *block);
        }
        seal(&mut b, LIST_SUM);
        b
    }

    /// Writes a log whose only record says that the file system was unmounted.
    pub fn log(&self, to: &mut dyn WriteAt) -> io::Result<()> {
        let g = &self.fs.geometry;
        let start = g.absolute(g.fsb(g.log_ag, g.log_start)) * BLOCK;
        to.zero(start, u64::from(g.log_blocks) * BLOCK)?;
        let mut b = [0; 2 * SECTOR];
        put32(&mut b, 0, LOG_RECORD);
        // The first round, version 2, one sector; it begins where the log does, and there is none before.
        put32(&mut b, 4, 1);
        put32(&mut b, 8, 2);
        put32(&mut b, 12, SECTOR as u32);
        put64(&mut b, 16, 1 << 32);
        put64(&mut b, 24, 1 << 32);
        put32(&mut b, 36, u32::MAX);
        put32(&mut b, 40, 1);
        // The first word of each sector makes room for the round.
        put32(&mut b, 44, UNMOUNT_ID);
        put32(&mut b, SECTOR, 1);
        put32(&mut b, 300, 1);
        put(&mut b, 304, self.options.uuid);
        put32(&mut b, 320, LOG_BUFFER);
        // An operation of 8 bytes, of the log itself, which unmounts.
        put32(&mut b, SECTOR + 4, 8);
        put(&mut b, SECTOR + 8, [0xaa, 0x20]);
        put(&mut b, SECTOR + 12, *b"nU");
        to.write_at(start, &b)
    }
}

impl Xfs {
    /// What the superblock counts: inodes, those of them that are free, and free blocks.
    pub(super) fn totals(&self) -> [u64; 3] {
        let sum = |of: fn(&Inodes) -> u32| -> u64 {
            self.chunks.iter().map(|inodes| u64::from(of(inodes))).sum()
        };
        let free = self.space.ags.iter().map(|ag| {
            let listed = ag.list.len() as u64;
            u64::from(ag.free) + listed + u64::from(tree_blocks(ag))
        });
        [
            sum(|inodes| inodes.count),
            sum(|inodes| inodes.free),
            free.sum(),
        ]
    }
}

/// Blocks of the trees of free space and of owners in an AG, but for the roots.
pub(super) fn tree_blocks(of: &Ag) -> u32 {
    let owners = of.owners.as_ref().map_or(0, |tree| tree.blocks() - 1);
    of.tree_blocks() as u32 + owners
}
