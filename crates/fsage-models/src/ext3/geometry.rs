//! What `mke2fs` makes of the parameters: groups, their metadata, the journal.
//!
//! Source: `mke2fs` and `libext2fs` of e2fsprogs 1.38 and 1.39. Addresses are blocks of the file system.

use super::params::{Mode, Params};
use crate::pointers::PointerTree;
use std::ops::Range;
use thiserror::Error;

/// Direct pointers of an inode.
pub(super) const DIRECT: u32 = 12;
/// Inode of the root directory; the first one is 1.
pub(super) const ROOT_INO: u32 = 2;
/// Inode of `lost+found`, the first one that is not reserved.
pub(super) const LOST_FOUND_INO: u32 = 11;
/// Bytes of a group descriptor.
const DESCRIPTOR: u64 = 32;
/// Blocks that the last group must have beside its metadata.
const LAST_GROUP: u64 = 50;
/// Blocks that Ext3 can address: 8 TiB of 4 KB.
const MOST_BLOCKS: u64 = 1 << 31;
/// Fewest blocks of a journal (`JFS_MIN_JOURNAL_BLOCKS`), and most that a double indirect block reaches.
const JOURNAL_BLOCKS: Range<u64> = 1024..65_537;
/// Largest file of Linux 2.6.18: its sectors, those of indirect blocks included, are counted in 32 bits.
const MOST_FILE_BYTES: u64 = 0x1ff_7fff_d000;

/// What `mke2fs` refuses.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MkfsError {
    /// A parameter has a value that cannot be.
    #[error("{key} is {value}: expected {expected}")]
    Value {
        /// The key.
        key: &'static str,
        /// Its value.
        value: u64,
        /// What would have been right.
        expected: &'static str,
    },
    /// The metadata and the journal leave no room.
    #[error(
        "{size_bytes} bytes are too few for the metadata and a journal of {journal_blocks} blocks; \
         give a larger size, a smaller journal or mode=ext2"
    )]
    TooSmall {
        /// Size of the partition.
        size_bytes: u64,
        /// Blocks of the journal.
        journal_blocks: u64,
    },
    /// A directory is to go to a group that there is not.
    #[error("dir_groups names group {group}: there are {groups}, numbered from 0")]
    NoGroup {
        /// The group as given.
        group: u32,
        /// Number of groups.
        groups: u32,
    },
}

/// Sizes of a file system, fixed by `mke2fs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Block size in bytes.
    pub block_bytes: u64,
    /// Blocks, all groups together, what lies before the first group included.
    pub blocks: u32,
    /// Where the first group starts: 1 for blocks of 1 KB, else 0.
    pub first_data_block: u32,
    /// Blocks of a group; the last one may have fewer.
    pub blocks_per_group: u32,
    /// Groups.
    pub groups: u32,
    /// Inodes of a group.
    pub inodes_per_group: u32,
    /// Bytes of an inode.
    pub inode_bytes: u64,
    /// Blocks of a group's inode table.
    pub inode_blocks: u32,
    /// Blocks of group descriptors.
    pub descriptor_blocks: u32,
    /// Blocks reserved for more group descriptors.
    pub reserved_descriptor_blocks: u32,
    /// Blocks kept for the superuser.
    pub reserve_blocks: u64,
    /// Blocks of the journal, without its indirect blocks; 0 if it lies on another device or there is none.
    pub journal_blocks: u32,
    /// Block pointers in a block.
    pub pointers: u32,
}

fn refuse(key: &'static str, value: u64, expected: &'static str) -> MkfsError {
    MkfsError::Value {
        key,
        value,
        expected,
    }
}

/// What `mke2fs` takes for a journal by itself.
pub(super) fn default_journal_blocks(blocks: u64) -> u64 {
    match blocks {
        0..2048 => 0,
        2048..32_768 => 1400,
        32_768..262_144 => 4096,
        262_144..524_288 => 8192,
        524_288..1_048_576 => 16_384,
        _ => 32_768,
    }
}

/// Groups with copies of the superblock: 0, 1 and the powers of 3, 5 and 7.
fn is_power_of(mut n: u32, base: u32) -> bool {
    while n.is_multiple_of(base) {
        n /= base;
    }
    n == 1
}

impl Geometry {
    /// Lays out a file system.
    ///
    /// # Errors
    /// Values that `mke2fs` refuses.
    pub fn mke2fs(params: &Params) -> Result<Geometry, MkfsError> {
        let bsize = params.block_bytes;
        if ![1024, 2048, 4096].contains(&bsize) {
            return Err(refuse("bsize", bsize, "1K, 2K or 4K"));
        }
        if ![128, 256].contains(&params.inode_bytes) {
            return Err(refuse("inode_size", params.inode_bytes, "128 or 256"));
        }
        if !(bsize..=4 << 20).contains(&params.bytes_per_inode) {
            let expected = "the block size to 4M";
            return Err(refuse("bytes_per_inode", params.bytes_per_inode, expected));
        }
        if params.reserve_percent > 50 {
            return Err(refuse("reserve", params.reserve_percent, "0 to 50 percent"));
        }
        let blocks = params.size_bytes / bsize;
        if !(64..=MOST_BLOCKS).contains(&blocks) {
            return Err(refuse("size", params.size_bytes, "64 to 2147483648 blocks"));
        }
        let journal_blocks = match (params.mode, params.journal_bytes) {
            (Mode::Ext2, None) => 0,
            (Mode::Ext2, Some(bytes)) => {
                return Err(refuse("journal", bytes, "none: mode ext2 has no journal"));
            }
            (Mode::Ext3, None) => default_journal_blocks(blocks),
            (Mode::Ext3, Some(bytes)) => bytes / bsize,
        };
        if params.mode == Mode::Ext3 && !JOURNAL_BLOCKS.contains(&journal_blocks) {
            match params.journal_bytes {
                Some(0) => {}
                Some(bytes) => {
                    let expected = "0 for one on another device, or 1024 to 65536 blocks";
                    return Err(refuse("journal", bytes, expected));
                }
                None => {
                    return Err(MkfsError::TooSmall {
                        size_bytes: params.size_bytes,
                        journal_blocks: JOURNAL_BLOCKS.start,
                    });
                }
            }
        }
        let geometry = Geometry::with_blocks(params, blocks, journal_blocks as u32);
        let metadata: u64 = (0..geometry.groups)
            .map(|group| u64::from(geometry.overhead(group)))
            .sum();
        let journal = u64::from(geometry.journal_blocks_in_all());
        // Root, `lost+found`, the block of the resize inode, and something left.
        if metadata + journal + 32 > u64::from(geometry.blocks) {
            return Err(MkfsError::TooSmall {
                size_bytes: params.size_bytes,
                journal_blocks,
            });
        }
        match params.dir_groups.iter().find(|&&g| g >= geometry.groups) {
            Some(&group) => Err(MkfsError::NoGroup {
                group,
                groups: geometry.groups,
            }),
            None => Ok(geometry),
        }
    }

    /// Without a last group that would be too small, as often as it takes.
    fn with_blocks(params: &Params, mut blocks: u64, journal_blocks: u32) -> Geometry {
        loop {
            let geometry = Geometry::divide(params, blocks, journal_blocks);
            let last = geometry.groups - 1;
            let rest = (blocks - u64::from(geometry.first_data_block))
                % u64::from(geometry.blocks_per_group);
            let least = u64::from(geometry.overhead(last)) + LAST_GROUP;
            if last == 0 || rest == 0 || rest >= least {
                return geometry;
            }
            blocks -= rest;
        }
    }

    fn divide(params: &Params, blocks: u64, journal_blocks: u32) -> Geometry {
        let bsize = params.block_bytes;
        let first_data_block = u64::from(bsize == 1024);
        let per_group = 8 * bsize;
        let groups = (blocks - first_data_block).div_ceil(per_group);
        let descriptors = bsize / DESCRIPTOR;
        let descriptor_blocks = groups.div_ceil(descriptors);
        let pointers = bsize / 4;
        let reserved = if params.resize_inode {
            let most = (blocks * 1024).min(u64::from(u32::MAX));
            let most_groups = (most - first_data_block).div_ceil(per_group);
            let more = most_groups.div_ceil(descriptors) - descriptor_blocks;
            more.min(pointers)
        } else {
            0
        };
        let inodes = blocks * bsize / params.bytes_per_inode;
        // Whole blocks of inodes, and a multiple of 8; group 0 has the reserved ones.
        let per_block = bsize / params.inode_bytes;
        let least = u64::from(LOST_FOUND_INO) + 1;
        let inodes_per_group = inodes.div_ceil(groups).clamp(least, per_group);
        let inode_blocks = inodes_per_group.div_ceil(per_block);
        let inodes_per_group = (inode_blocks * per_block).min(per_group) & !7;
        Geometry {
            block_bytes: bsize,
            blocks: blocks as u32,
            first_data_block: first_data_block as u32,
            blocks_per_group: per_group as u32,
            groups: groups as u32,
            inodes_per_group: inodes_per_group as u32,
            inode_bytes: params.inode_bytes,
            inode_blocks: inodes_per_group.div_ceil(per_block) as u32,
            descriptor_blocks: descriptor_blocks as u32,
            reserved_descriptor_blocks: reserved as u32,
            reserve_blocks: blocks * params.reserve_percent / 100,
            journal_blocks,
            pointers: pointers as u32,
        }
    }

    /// Whether a group has a copy of the superblock and the group descriptors.
    pub fn has_superblock(&self, group: u32) -> bool {
        group < 2 || [3, 5, 7].iter().any(|&base| is_power_of(group, base))
    }

    /// Blocks of a group's metadata, which are its first ones.
    pub fn overhead(&self, group: u32) -> u32 {
        let copies = if self.has_superblock(group) {
            1 + self.descriptor_blocks + self.reserved_descriptor_blocks
        } else {
            0
        };
        copies + 2 + self.inode_blocks
    }

    /// Address of a group's block bitmap. The inode bitmap and the inode table follow.
    pub fn block_bitmap(&self, group: u32) -> u32 {
        self.first_block(group) + self.overhead(group) - 2 - self.inode_blocks
    }

    /// First block of a group.
    #[inline]
    pub fn first_block(&self, group: u32) -> u32 {
        self.first_data_block + group * self.blocks_per_group
    }

    /// Blocks of a group.
    #[inline]
    pub fn blocks_in(&self, group: u32) -> u32 {
        (self.blocks - self.first_block(group)).min(self.blocks_per_group)
    }

    /// Group of a block.
    #[inline]
    pub fn group_of(&self, block: u32) -> u32 {
        (block - self.first_data_block) / self.blocks_per_group
    }

    /// Group of an inode.
    #[inline]
    pub fn group_of_inode(&self, ino: u32) -> u32 {
        (ino - 1) / self.inodes_per_group
    }

    /// The block of the inode table that holds an inode.
    pub fn inode_block(&self, ino: u32) -> u32 {
        let index = u64::from((ino - 1) % self.inodes_per_group) * self.inode_bytes;
        self.block_bitmap(self.group_of_inode(ino)) + 2 + (index / self.block_bytes) as u32
    }

    /// The block that holds a group's descriptor.
    pub fn descriptor_block(&self, group: u32) -> u32 {
        self.first_data_block + 1 + (u64::from(group) * DESCRIPTOR / self.block_bytes) as u32
    }

    /// Blocks of `lost+found`, which `mke2fs` makes 16 KB long, within the direct pointers.
    pub fn lost_found_blocks(&self) -> u32 {
        ((16_384 / self.block_bytes) as u32).clamp(2, DIRECT)
    }

    /// Indirect blocks of a file without holes.
    pub(super) fn indirect_blocks(&self, blocks: u32) -> u32 {
        let beyond = blocks.saturating_sub(DIRECT);
        let level1 = beyond.div_ceil(self.pointers);
        // A double one from the second block of pointers on; a journal has no more than that.
        level1 + u32::from(level1 > 1)
    }

    /// Blocks of the journal and its indirect blocks.
    pub(super) fn journal_blocks_in_all(&self) -> u32 {
        self.journal_blocks + self.indirect_blocks(self.journal_blocks)
    }

    /// Largest file in bytes.
    pub fn most_file_bytes(&self) -> u64 {
        let tree = PointerTree {
            direct: DIRECT,
            per_block: self.pointers,
        };
        (tree.most_blocks() * self.block_bytes).min(MOST_FILE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(size_bytes: u64, block_bytes: u64) -> Geometry {
        let params = Params {
            size_bytes,
            block_bytes,
            ..Params::default()
        };
        Geometry::mke2fs(&params).unwrap()
    }

    /// docs/spec/ext3.md, section 2: a journal of 32 MB for 1 GB and of 128 MB for 40 GB; 1 GB / 8 KB inodes.
    #[test]
    fn defaults_are_those_of_2006() {
        let g = geometry(1 << 30, 4096);
        assert_eq!((g.groups, g.blocks, g.journal_blocks), (8, 262_144, 8192));
        assert_eq!((g.inodes_per_group, g.inode_blocks), (16_384, 512));
        assert_eq!(g.reserved_descriptor_blocks, 63);
        assert_eq!(geometry(40 << 30, 4096).journal_blocks, 32_768);
    }

    #[test]
    fn superblocks_are_in_groups_0_1_and_powers_of_3_5_and_7() {
        let g = geometry(40 << 30, 4096);
        let with: Vec<u32> = (0..130).filter(|&i| g.has_superblock(i)).collect();
        assert_eq!(with, [0, 1, 3, 5, 7, 9, 25, 27, 49, 81, 125]);
    }

    /// By hand: blocks of 1 KB start at 1, 8192 to a group; the descriptors of 3 groups take one block.
    #[test]
    fn blocks_of_1_kb_start_at_1() {
        let g = geometry(20 << 20, 1024);
        assert_eq!((g.first_data_block, g.groups, g.blocks_in(2)), (1, 3, 4095));
        assert_eq!((g.group_of(8192), g.group_of(8193)), (0, 1));
        assert_eq!(g.descriptor_block(2), 2);
        assert_eq!(g.block_bitmap(2), 16_385);
        assert_eq!(g.inode_block(9), g.block_bitmap(0) + 3);
    }

    /// By hand: 20 blocks behind a whole group are fewer than its metadata and 50 more.
    #[test]
    fn a_last_group_that_is_too_small_is_left_out() {
        let g = geometry((1 << 30) + 20 * 4096, 4096);
        assert_eq!((g.groups, g.blocks), (8, 262_144));
        assert_eq!(geometry((1 << 30) + 8000 * 4096, 4096).groups, 9);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |change: fn(&mut Params)| {
            let mut params = Params::default();
            change(&mut params);
            Geometry::mke2fs(&params).unwrap_err().to_string()
        };
        assert!(refused(|p| p.block_bytes = 8192).contains("bsize is 8192"));
        assert!(refused(|p| p.size_bytes = 0).contains("size is 0"));
        assert!(refused(|p| p.size_bytes = u64::MAX).contains("2147483648 blocks"));
        assert!(refused(|p| p.size_bytes = 1 << 20).contains("smaller journal"));
        assert!(refused(|p| p.journal_bytes = Some(4096)).contains("1024 to 65536"));
        assert!(refused(|p| p.reserve_percent = 51).contains("0 to 50"));
        assert!(refused(|p| p.bytes_per_inode = 0).contains("bytes_per_inode is 0"));
        assert!(refused(|p| p.dir_groups = vec![8]).contains("group 8"));
        let with_journal = |p: &mut Params| {
            (p.mode, p.journal_bytes) = (Mode::Ext2, Some(4 << 20));
        };
        assert!(refused(with_journal).contains("mode ext2 has no journal"));
    }
}
