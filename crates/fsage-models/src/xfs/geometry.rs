//! What `mkfs.xfs` derives: allocation groups, where their trees and the log lie, and the limits that follow.
//!
//! Spec: `docs/spec/xfs.md`, sections 3 and 25. Source: `mkfs.xfs` of xfsprogs 6.1, compared with it by tests.

use super::params::{Features, Params};
use thiserror::Error;

/// Bytes of a block. Others are not modeled.
pub(super) const BLOCK: u64 = 4096;
/// An AG has at least so many blocks.
const LEAST_AG: u64 = 4096;
/// An AG has at most so many blocks.
const MOST_AG: u64 = (1 << 28) - 1;
/// A file system has at most so many blocks, those of 16 TiB.
const MOST_BLOCKS: u64 = 1 << 32;
/// `mkfs.xfs` makes logs of so many blocks from 300 MB on; below it takes the least that is possible.
const USUAL_LOG: u64 = 16_384;
const MOST_LOG: u64 = 521_728;
const SMALL_BLOCKS: u64 = 300 * 256;
const TERABYTE: u64 = 1 << 28;
/// Inodes of a block, and of a chunk.
pub(super) const PER_BLOCK: u32 = 8;
pub(super) const CHUNK: u32 = 64;
/// Blocks of a chunk of inodes.
pub(super) const CHUNK_BLOCKS: u32 = CHUNK / PER_BLOCK;

/// Why there is no such file system.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MkfsError {
    /// Less than an AG needs.
    #[error("size={0}: too small, an XFS has at least 16M")]
    TooSmall(u64),
    /// More than is modeled.
    #[error("size={0}: too large, at most 16T")]
    TooLarge(u64),
    /// AGs that are too small or too large.
    #[error("agcount={agcount}: allocation groups have 16M to 1T; {least} to {most} fit this size")]
    AgCount {
        /// As asked for.
        agcount: u64,
        /// The fewest that are possible.
        least: u64,
        /// The most that are possible.
        most: u64,
    },
    /// A log that does not fit.
    #[error("log={bytes}: the log has {least} to {most} bytes here")]
    Log {
        /// As asked for.
        bytes: u64,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
}

/// Sizes of a file system, in blocks of 4 KB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks in all.
    pub blocks: u64,
    /// Blocks of an AG, but for the last one.
    pub ag_blocks: u32,
    /// Number of AGs.
    pub ag_count: u32,
    /// Bits of a block number within an AG.
    pub ag_log: u32,
    /// The AG that holds the log.
    pub log_ag: u32,
    /// First block of the log in it.
    pub log_start: u32,
    /// Blocks of the log.
    pub log_blocks: u32,
    /// What it has beside the oldest structures.
    pub features: Features,
    /// Chunks of inodes begin at a multiple of so many blocks.
    pub inode_align: u32,
    /// Of the blocks, how many percent may hold inodes.
    pub inode_percent: u64,
}

/// The block that holds an inode.
pub(super) fn block_of_inode(ino: u64) -> u64 {
    ino / u64::from(PER_BLOCK)
}

/// Levels of a tree of so many records, with so many in each leaf and node.
pub(super) fn levels(leaf: u64, node: u64, records: u64) -> u32 {
    let mut blocks = records.div_ceil(leaf);
    let mut levels = 1;
    while blocks > 1 {
        blocks = blocks.div_ceil(node);
        levels += 1;
    }
    levels
}

/// Blocks of such a tree.
pub(super) fn tree_size(leaf: u64, node: u64, records: u64) -> u64 {
    let mut blocks = records.div_ceil(leaf);
    let mut sum = blocks;
    while blocks > 1 {
        blocks = blocks.div_ceil(node);
        sum += blocks;
    }
    sum
}

impl Geometry {
    /// What `mkfs.xfs` makes of a size and options.
    ///
    /// # Errors
    /// What it would refuse.
    pub fn mkfs(params: &Params) -> Result<Geometry, MkfsError> {
        let mut blocks = params.size_bytes / BLOCK;
        if blocks < LEAST_AG {
            return Err(MkfsError::TooSmall(params.size_bytes));
        }
        if blocks > MOST_BLOCKS {
            return Err(MkfsError::TooLarge(params.size_bytes));
        }
        let ag_blocks = ag_size(blocks, params.ag_count)?;
        let mut ag_count = blocks.div_ceil(ag_blocks);
        if !blocks.is_multiple_of(ag_blocks) && blocks % ag_blocks < LEAST_AG {
            // An AG that is too small is left out.
            ag_count -= 1;
            blocks = ag_count * ag_blocks;
        }
        let features = params.features;
        let mut geometry = Geometry {
            blocks,
            ag_blocks: ag_blocks as u32,
            ag_count: ag_count as u32,
            ag_log: ag_blocks.next_power_of_two().ilog2(),
            log_ag: ag_count as u32 / 2,
            log_start: features.roots() + 1,
            log_blocks: 0,
            features,
            inode_align: if features.is_plain() { 4 } else { 8 },
            inode_percent: if blocks < TERABYTE { 25 } else { 5 },
        };
        geometry.log_blocks = geometry.log_size(params.log_bytes)?;
        Ok(geometry)
    }

    fn log_size(&self, asked_bytes: Option<u64>) -> Result<u32, MkfsError> {
        let least = self.least_log();
        // Behind it the AG needs a list of free blocks, and where it is the only one, a chunk of inodes.
        let behind = if self.ag_count == 1 {
            5 + 3 * CHUNK_BLOCKS
        } else {
            5
        };
        let most = u64::from(self.ag_blocks - self.log_start - behind).min(MOST_LOG);
        let usual = match self.blocks {
            ..SMALL_BLOCKS => least,
            blocks => (blocks / 2048).max(USUAL_LOG).min(most),
        };
        let blocks = asked_bytes.map_or(usual, |bytes| bytes / BLOCK);
        if !(least..=most).contains(&blocks) {
            return Err(MkfsError::Log {
                bytes: asked_bytes.unwrap_or(blocks * BLOCK),
                least: least * BLOCK,
                most: most * BLOCK,
            });
        }
        Ok(blocks as u32)
    }

    /// Blocks of the smallest log: room for the largest transactions, which grow with the heights that trees of an AG
    /// may come to. Read off `mkfs.xfs -N -l size=512b` of xfsprogs 6.1.
    fn least_log(&self) -> u64 {
        // Leaves and nodes half full; the tree of references holds at most a record a block, that of free space one for
        // each second block. Each height more counts so much, from three levels on.
        const REFERENCES: [u64; 2] = [198, 198];
        const FREE_SPACE: [u64; 2] = [420, 396];
        let least = self.features.least_log();
        if self.features.is_plain() {
            return least;
        }
        let higher = |records: u64, (leaf, node): (u64, u64), more: [u64; 2]| -> u64 {
            let mut most = leaf * node;
            let mut sum = 0;
            for more in more {
                sum += if records > most { more } else { 0 };
                most *= node;
            }
            sum
        };
        let blocks = u64::from(self.ag_blocks);
        least
            + higher(blocks, (168, 252), REFERENCES)
            + higher(blocks.div_ceil(2), (252, 168), FREE_SPACE)
    }

    /// Blocks of an AG.
    pub fn ag_length(&self, ag: u32) -> u32 {
        let before = u64::from(ag) * u64::from(self.ag_blocks);
        (self.blocks - before).min(self.ag_blocks.into()) as u32
    }

    /// The number of a block among all, as it is stored: AG and block, in bits of their own.
    pub(super) fn fsb(&self, ag: u32, block: u32) -> u64 {
        u64::from(ag) << self.ag_log | u64::from(block)
    }

    pub(super) fn ag_of(&self, fsb: u64) -> u32 {
        (fsb >> self.ag_log) as u32
    }

    pub(super) fn block_of(&self, fsb: u64) -> u32 {
        (fsb & ((1 << self.ag_log) - 1)) as u32
    }

    /// The sector at which a block begins.
    pub fn sector(&self, fsb: u64) -> u64 {
        self.absolute(fsb) * (BLOCK / 512)
    }

    /// A block counted from the start of the device.
    pub fn absolute(&self, fsb: u64) -> u64 {
        u64::from(self.ag_of(fsb)) * u64::from(self.ag_blocks) + u64::from(self.block_of(fsb))
    }

    /// The number of an inode of an AG.
    pub(super) fn ino(&self, ag: u32, inode: u32) -> u64 {
        self.fsb(ag, 0) * u64::from(PER_BLOCK) + u64::from(inode)
    }

    /// AG of an inode, and its number there.
    pub(super) fn ag_of_inode(&self, ino: u64) -> (u32, u32) {
        let bits = self.ag_log + PER_BLOCK.ilog2();
        ((ino >> bits) as u32, (ino & ((1 << bits) - 1)) as u32)
    }

    /// The block of the tree of references in each AG, where there is such a tree.
    pub(super) fn references(&self) -> Option<u32> {
        (!self.features.is_plain()).then(|| self.features.roots())
    }

    /// First block of what is free behind the metadata of an AG, its list of free blocks not counted.
    pub(super) fn behind_metadata(&self, ag: u32) -> u32 {
        if ag == self.log_ag {
            self.log_start + self.log_blocks
        } else {
            self.features.roots() + 1
        }
    }

    /// Blocks in the free list of a fresh AG: none where there are too few.
    pub(super) fn fresh_list(&self, ag: u32) -> u32 {
        let blocks = if self.features.has_owners() { 6 } else { 4 };
        let left = self.ag_length(ag) - self.behind_metadata(ag);
        if left < blocks { 0 } else { blocks }
    }

    /// Blocks of the smallest piece in which inodes are made: a chunk, or half of one that is sparse.
    pub(super) fn least_chunk_blocks(&self) -> u32 {
        if self.features.is_plain() {
            CHUNK_BLOCKS
        } else {
            CHUNK_BLOCKS / 2
        }
    }

    /// First block of the first chunk of inodes, in AG 0.
    pub(super) fn root_chunk(&self) -> u32 {
        let free = self.behind_metadata(0) + self.fresh_list(0);
        free.next_multiple_of(self.inode_align)
    }

    /// The number of the root directory.
    pub fn root_ino(&self) -> u64 {
        u64::from(self.root_chunk() * PER_BLOCK)
    }

    /// Most levels of a tree of free space.
    pub(super) fn free_levels(&self) -> u32 {
        levels(252, 168, u64::from(self.ag_blocks).div_ceil(2))
    }

    /// Most levels of a tree of inodes.
    pub(super) fn inode_levels(&self) -> u32 {
        let inodes = 1_u64 << (self.ag_log + PER_BLOCK.ilog2());
        levels(126, 252, inodes / u64::from(CHUNK))
    }

    /// Most levels of a tree of owners.
    pub(super) fn owner_levels(&self) -> u32 {
        let (mut blocks, mut left, mut levels) = (2_u64, u64::from(self.ag_blocks) - 1, 1);
        while blocks < left {
            left -= blocks;
            blocks *= 45;
            levels += 1;
        }
        levels
    }

    /// Blocks of an AG for which trees are reckoned with.
    fn reckoned(&self, ag: u32) -> u64 {
        let log = if ag == self.log_ag {
            self.log_blocks
        } else {
            0
        };
        u64::from(self.ag_length(ag) - log)
    }

    /// Blocks that are kept for the trees of inodes and of references in an AG.
    pub(super) fn kept_for_trees(&self, ag: u32) -> u32 {
        if self.features.is_plain() {
            return 0;
        }
        let blocks = self.reckoned(ag);
        let chunks = blocks * u64::from(PER_BLOCK) / u64::from(CHUNK);
        (tree_size(168, 252, blocks) + tree_size(126, 252, chunks)) as u32
    }

    /// Blocks that are kept for the tree of owners in an AG.
    pub(super) fn kept_for_owners(&self, ag: u32) -> u32 {
        if !self.features.has_owners() {
            return 0;
        }
        let blocks = self.reckoned(ag);
        (blocks / 100).max(tree_size(84, 45, blocks)) as u32
    }

    /// The longest run that one request gets.
    pub(super) fn most_usable(&self) -> u32 {
        let metadata = self.features.roots() + 1 + 4;
        self.ag_blocks - metadata - self.kept_for_trees(0) - self.kept_for_owners(0)
    }

    /// Inodes that there may be.
    pub(super) fn most_inodes(&self) -> u64 {
        let blocks = u64::from(CHUNK_BLOCKS);
        self.blocks * self.inode_percent / 100 / blocks * blocks * u64::from(PER_BLOCK)
    }
}

/// Blocks of an AG.
fn ag_size(blocks: u64, count: Option<u64>) -> Result<u64, MkfsError> {
    if let Some(agcount) = count {
        let (least, most) = (blocks.div_ceil(MOST_AG), blocks / LEAST_AG);
        return match agcount {
            _ if (least..=most).contains(&agcount) => Ok(blocks.div_ceil(agcount)),
            _ => Err(MkfsError::AgCount {
                agcount,
                least,
                most,
            }),
        };
    }
    Ok(match blocks {
        ..0x2000 => blocks,
        0x2000..0x4000 => blocks.div_ceil(2),
        blocks if blocks >= 4 * TERABYTE => MOST_AG,
        _ => blocks.div_ceil(4),
    })
}
