//! The segments: their usage, and what was written into them.

use super::geometry::{Geometry, SECTOR};

/// What the segment usage table says of a segment, and the summaries in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Segment {
    /// Live bytes.
    pub live: u32,
    /// When it was last written into.
    pub last_write: u64,
    /// What the original counts as live besides, and never subtracts: summaries and inode blocks.
    pub leaked: u32,
    /// When its youngest block was written by its owner.
    pub youngest: u64,
    /// Sum over the sectors of its blocks of when their owner wrote them.
    pub data_times: u64,
    /// Sectors of its blocks.
    pub data_sectors: u32,
    /// Summaries in it.
    pub summaries: u32,
    /// Inode blocks in it.
    pub inode_blocks: u32,
    /// Holds data.
    pub dirty: bool,
    /// Begun since the last checkpoint.
    pub active: bool,
    /// Could have been freed at the last but one writing of a superblock (`netbsd`).
    pub was_empty: bool,
    /// What was written into it.
    pub log: Log,
}

impl Segment {
    /// Holds nothing that lives, and is in the way of nobody.
    pub fn is_empty(&self) -> bool {
        self.dirty && !self.active && self.live == 0
    }

    /// Live bytes as the cleaner counts them.
    pub fn counted_live(&self) -> u32 {
        self.live.saturating_add(self.leaked)
    }

    /// When the blocks in it were written by their owner, on average.
    pub fn mean_data_time(&self) -> u64 {
        self.data_times / u64::from(self.data_sectors.max(1))
    }

    /// The entry of the usage table, without the summaries.
    pub fn usage(&self) -> Segment {
        Segment {
            log: Log::default(),
            ..*self
        }
    }

    /// It is begun anew.
    pub fn begin(&mut self) {
        let mut log = std::mem::take(&mut self.log);
        log.clear();
        *self = Segment {
            dirty: true,
            active: true,
            log,
            ..Segment::default()
        };
    }
}

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
        let (whole, sectors) = (g.block_bytes, g.block_sectors());
        self.files().flat_map(move |(finfo, lbns)| {
            lbns.iter().enumerate().map(move |(i, &lbn)| {
                let last = i + 1 == lbns.len();
                let bytes = if last { finfo.last_bytes } else { whole };
                (finfo, lbn, finfo.address + i as u32 * sectors, bytes)
            })
        })
    }
}

/// Sectors of so many bytes, a multiple of a sector.
pub(super) fn sectors(bytes: u32) -> u32 {
    bytes / SECTOR
}
