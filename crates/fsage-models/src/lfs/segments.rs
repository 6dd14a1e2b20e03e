//! What was written into the segments: their summaries.

use super::geometry::{Geometry, SECTOR};
use super::memory::heap;

/// The summaries of a segment, put one behind the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    pub partials: Vec<Partial>,
    pub finfos: Vec<Finfo>,
    /// Blocks that the records of files (FINFO) have.
    pub lbns: Vec<i32>,
    pub inode_blocks: Vec<InodeBlock>,
    /// Inodes of the inode blocks.
    pub inos: Vec<u32>,
}

/// A partial segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial {
    pub serial: u64,
    /// Sector of its summary.
    pub address: u32,
    /// Sectors, with the summary.
    pub sectors: u32,
    pub flags: u8,
}

impl Partial {
    /// Contains a directory operation.
    pub const DIROP: u8 = 1;
    /// The directory operation goes on in the next partial segment.
    pub const CONT: u8 = 2;
    /// Written by the cleaner.
    pub const CLEAN: u8 = 4;
}

/// A file's entry in a summary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finfo {
    pub ino: u32,
    pub version: u32,
    /// Sector of its first block.
    pub address: u32,
    /// Bytes of the last block.
    pub last_bytes: u32,
    /// Where its blocks end in the list.
    pub lbns_end: u32,
}

impl Finfo {
    /// Its blocks: (block, address, bytes).
    pub fn blocks(&self, lbns: &[i32], g: &Geometry) -> impl Iterator<Item = (i32, u32, u32)> {
        let (whole, sectors) = (g.block_bytes, g.block_sectors());
        let (first, last, count) = (self.address, self.last_bytes, lbns.len());
        lbns.iter().enumerate().map(move |(i, &lbn)| {
            let bytes = if i + 1 == count { last } else { whole };
            (lbn, first + i as u32 * sectors, bytes)
        })
    }
}

/// A block of inodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct InodeBlock {
    pub address: u32,
    /// Where its inodes end in the list.
    pub inos_end: u32,
}

impl Log {
    pub fn clear(&mut self) {
        self.partials.clear();
        self.finfos.clear();
        self.lbns.clear();
        self.inode_blocks.clear();
        self.inos.clear();
    }

    /// Bytes of its lists.
    pub fn heap_bytes(&self) -> u64 {
        heap::<Partial>(self.partials.capacity())
            + heap::<Finfo>(self.finfos.capacity())
            + heap::<i32>(self.lbns.capacity())
            + heap::<InodeBlock>(self.inode_blocks.capacity())
            + heap::<u32>(self.inos.capacity())
    }

    /// Appends the lists of a partial segment that was put together on its own.
    pub fn append(&mut self, other: &Log) {
        let (lbns, inos) = (self.lbns.len() as u32, self.inos.len() as u32);
        self.lbns.extend_from_slice(&other.lbns);
        self.inos.extend_from_slice(&other.inos);
        self.finfos.extend(other.finfos.iter().map(|f| Finfo {
            lbns_end: f.lbns_end + lbns,
            ..*f
        }));
        let inode_blocks = other.inode_blocks.iter().map(|b| InodeBlock {
            inos_end: b.inos_end + inos,
            ..*b
        });
        self.inode_blocks.extend(inode_blocks);
    }

    /// Records of files with their blocks: (FINFO, blocks).
    pub fn files(&self) -> impl Iterator<Item = (&Finfo, &[i32])> {
        let mut start = 0;
        self.finfos.iter().map(move |finfo| {
            let blocks = &self.lbns[start..finfo.lbns_end as usize];
            start = finfo.lbns_end as usize;
            (finfo, blocks)
        })
    }

    /// Inode blocks with their inodes.
    pub fn inodes(&self) -> impl Iterator<Item = (&InodeBlock, &[u32])> {
        let mut start = 0;
        self.inode_blocks.iter().map(move |block| {
            let inos = &self.inos[start..block.inos_end as usize];
            start = block.inos_end as usize;
            (block, inos)
        })
    }

    /// Every block of every FINFO: (inode, version, block, address, bytes).
    pub fn blocks(&self, g: &Geometry) -> impl Iterator<Item = (&Finfo, i32, u32, u32)> {
        self.files().flat_map(move |(finfo, lbns)| {
            let blocks = finfo.blocks(lbns, g);
            blocks.map(move |(lbn, address, bytes)| (finfo, lbn, address, bytes))
        })
    }
}

/// Sectors of so many bytes, a multiple of a sector.
pub(super) fn sectors(bytes: u32) -> u32 {
    bytes / SECTOR
}
