//! What `mkfs.ext4` of e2fsprogs 1.47.0 makes of a partition: sizes, and where its tables, its journal and its first
//! directories lie.
//!
//! Spec: `docs/spec/ext4.md`, sections 3 and 4.

use super::Params;
use super::bits;
use super::tree::{MOST_WRITTEN, ROOT_ENTRIES};
use thiserror::Error;

/// Bytes of a descriptor, with addresses of 64 bits and of 32.
pub(super) const DESCRIPTOR_BYTES: [u32; 2] = [64, 32];
pub(super) const INODE_BYTES: u64 = 256;
/// Inodes of which none is a file's: 1 to 10. The next is `lost+found`.
pub(super) const RESERVED_INODES: u32 = 10;
/// `lost+found` is made of so many bytes, and of direct blocks alone.
const LOST_FOUND_BYTES: u64 = 16 << 10;
const DIRECT_BLOCKS: u64 = 12;
/// To which `mkfs.ext4` shortens groups at most, in blocks.
const LEAST_PER_GROUP: u64 = 248;
const MEGABYTE: u64 = 1 << 20;
const TERABYTE: u64 = 1 << 40;

/// A partition of which no Ext4 can be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MkfsError {
    /// It has too few blocks.
    #[error("size={size}: too small for the tables, the journal and the first directories")]
    TooSmall {
        /// The partition.
        size: u64,
    },
    /// `mkfs.ext4` makes it with descriptors here and there (`meta_bg`), with nothing left to grow into, or with block
    /// numbers of 64 bits: layouts that the model does not have.
    #[error("size={size}: too large; with blocks of {block} bytes at most {}G", most >> 30)]
    TooLarge {
        /// The partition.
        size: u64,
        /// Of a block.
        block: u64,
        /// What would do.
        most: u64,
    },
    /// Groups have no room for their tables, or their bitmaps for so many inodes.
    #[error("{inodes} inodes: more than {groups} groups have room for")]
    TooManyInodes {
        /// What is asked for.
        inodes: u64,
        /// Groups.
        groups: u32,
    },
    /// It is as large already as it can grow.
    #[error("resize={bytes}: expected 0, or more than the partition has")]
    Resize {
        /// What is asked for.
        bytes: u64,
    },
    /// The journal fits in no group.
    #[error("journal={bytes}: expected 0, or {least} to {most} bytes: it lies in one group")]
    Journal {
        /// What is asked for.
        bytes: u64,
        /// At least.
        least: u64,
        /// At most.
        most: u64,
    },
}

/// Where the tables of a group lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// Its block bitmap.
    pub block_bitmap: u32,
    /// Its inode bitmap.
    pub inode_bitmap: u32,
    /// The first block of its inode table.
    pub inode_table: u32,
}

/// Sizes, and what is taken before the first operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Binary logarithm of that.
    pub block_bits: u32,
    /// All blocks.
    pub blocks: u32,
    /// First block of the first group.
    pub first_block: u32,
    /// Blocks of a group; the last one may have fewer.
    pub blocks_per_group: u32,
    /// Groups.
    pub groups: u32,
    /// Groups in a flex group; 1 without.
    pub flex: u32,
    /// Bytes of a descriptor.
    pub descriptor_bytes: u32,
    /// Inodes of a group.
    pub inodes_per_group: u32,
    /// Blocks of descriptors.
    pub descriptor_blocks: u32,
    /// Blocks kept for further descriptors.
    pub reserved_descriptor_blocks: u32,
    /// Tables of each group.
    pub tables: Vec<Tables>,
    /// Blocks of the journal.
    pub journal_blocks: u32,
    /// Where they lie: first block and length of each extent.
    pub journal: Vec<(u32, u32)>,
    /// The block of its extent tree, if the extents do not fit into the inode.
    pub journal_tree_block: Option<u32>,
    /// The block of the root directory.
    pub root_block: u32,
    /// First block of `lost+found`, and how many it has.
    pub lost_found: (u32, u32),
    /// The block of the inode that keeps descriptors.
    pub resize_block: Option<u32>,
    /// Blocks for the superuser.
    pub reserve_blocks: u64,
}

/// A geometry, and which blocks are in use at first: a bit a block, from the first group on. What lies behind the end
/// is in use too.
pub(super) struct Made {
    pub geometry: Geometry,
    pub used: Vec<u64>,
}

/// The most blocks with which descriptors lie together, in three quarters of a group, and leave some reserved.
fn most_blocks(block_bytes: u64, descriptor_bytes: u64) -> u64 {
    let blocks_per_group = 8 * block_bytes;
    let per_block = block_bytes / descriptor_bytes;
    let all = u64::from(u32::MAX).div_ceil(blocks_per_group * per_block);
    let most_reserved = block_bytes / 4;
    let descriptor_blocks = (all - 1).min(blocks_per_group * 3 / 4 - most_reserved);
    descriptor_blocks * per_block * blocks_per_group
}

/// Blocks that are kept for further descriptors, of which a block holds `per_block`, in so many blocks, and blocks of a
/// group.
fn reserved_blocks(
    params: &Params,
    block_bytes: u64,
    per_block: u64,
    (blocks, blocks_per_group): (u64, u64),
) -> Result<u64, MkfsError> {
    let first_block = u64::from(block_bytes == 1024);
    let descriptor_blocks = |blocks: u64| blocks.div_ceil(blocks_per_group).div_ceil(per_block);
    let kept_for = |largest: u64, has: u64| {
        let more = descriptor_blocks(largest).saturating_sub(has);
        more.min(block_bytes / 4)
    };
    let largest = (1024 * blocks).min(u64::from(u32::MAX)) - first_block;
    let by_rule = kept_for(largest, descriptor_blocks(blocks - first_block));
    match params.resize_bytes {
        Some(0) => Ok(0),
        Some(bytes) if bytes / block_bytes <= blocks => Err(MkfsError::Resize { bytes }),
        // A wish is reckoned without regard to where the first group begins; none looks like no wish.
        Some(bytes) => Ok(
            match kept_for(bytes / block_bytes, descriptor_blocks(blocks)) {
                0 => by_rule,
                kept => kept,
            },
        ),
        None => Ok(by_rule),
    }
}

/// Bytes for each inode, where nobody says how many.
fn bytes_per_inode(size: u64) -> u64 {
    match size {
        _ if size < 512 * MEGABYTE => 4 << 10,
        _ if size < 4 * TERABYTE => 16 << 10,
        _ if size < 16 * TERABYTE => 32 << 10,
        _ => 64 << 10,
    }
}

impl Geometry {
    /// What `mkfs.ext4` derives.
    ///
    /// # Errors
    /// A partition too small or too large, more inodes than fit, a journal that fits in no group.
    pub fn mkfs(params: &Params) -> Result<Geometry, MkfsError> {
        Ok(Made::new(params)?.geometry)
    }

    /// Sizes, without the places of tables.
    fn sizes(params: &Params) -> Result<Geometry, MkfsError> {
        let size = params.size_bytes;
        let is_small = size < 512 * MEGABYTE;
        let block_bytes = params
            .block_bytes
            .unwrap_or(if is_small { 1024 } else { 4096 });
        let mut blocks = size / block_bytes;
        let descriptor_bytes = u64::from(DESCRIPTOR_BYTES[usize::from(!params.wide)]);
        let most = most_blocks(block_bytes, descriptor_bytes);
        if blocks > most {
            return Err(MkfsError::TooLarge {
                size,
                block: block_bytes,
                most: most * block_bytes,
            });
        }
        let too_small = MkfsError::TooSmall { size };
        let first_block = u64::from(block_bytes == 1024);
        let mut blocks_per_group = 8 * block_bytes;
        let ratio = params.bytes_per_inode.unwrap_or(bytes_per_inode(size));
        // They are counted before a last group is left away.
        let (all, inodes) = (
            blocks,
            params.inodes.unwrap_or(blocks * block_bytes / ratio),
        );
        loop {
            if blocks < first_block + 64 {
                return Err(too_small);
            }
            let groups = (blocks - first_block).div_ceil(blocks_per_group);
            // What the bitmap of a group has no room for makes groups shorter, and more of them.
            let too_many = MkfsError::TooManyInodes {
                inodes,
                groups: groups as u32,
            };
            if inodes.div_ceil(groups) > 8 * block_bytes {
                if blocks_per_group <= LEAST_PER_GROUP {
                    return Err(too_many);
                }
                blocks_per_group -= 8;
                blocks = all;
                continue;
            }
            let table_blocks = (inodes.div_ceil(groups).max(8) * INODE_BYTES).div_ceil(block_bytes);
            let inodes_per_group = table_blocks * block_bytes / INODE_BYTES / 8 * 8;
            if table_blocks + 3 > blocks_per_group {
                return Err(too_many);
            }
            if inodes_per_group < u64::from(RESERVED_INODES) + 6 {
                return Err(too_small);
            }
            let descriptor_blocks = (groups * descriptor_bytes).div_ceil(block_bytes);
            let per_block = block_bytes / descriptor_bytes;
            let reserved =
                reserved_blocks(params, block_bytes, per_block, (blocks, blocks_per_group))?;
            let mut geometry = Geometry {
                block_bytes,
                block_bits: block_bytes.trailing_zeros(),
                blocks: blocks as u32,
                first_block: first_block as u32,
                blocks_per_group: blocks_per_group as u32,
                groups: groups as u32,
                flex: params.flex_groups,
                descriptor_bytes: descriptor_bytes as u32,
                inodes_per_group: inodes_per_group as u32,
                descriptor_blocks: descriptor_blocks as u32,
                reserved_descriptor_blocks: reserved as u32,
                tables: Vec::new(),
                journal_blocks: 0,
                journal: Vec::new(),
                journal_tree_block: None,
                root_block: 0,
                lost_found: (0, 0),
                resize_block: None,
                reserve_blocks: blocks * params.reserve_percent / 100,
            };
            // A last group with too little beside its tables is left away.
            let rest = (blocks - first_block) % blocks_per_group;
            let copy = u64::from(geometry.copy_blocks(geometry.groups - 1));
            let overhead = copy + 2 + table_blocks;
            if rest != 0 && rest < overhead + 50 {
                if groups == 1 {
                    return Err(too_small);
                }
                blocks -= rest;
                continue;
            }
            geometry.journal_blocks = geometry.journal_size(params)?;
            return Ok(geometry);
        }
    }

    fn journal_size(&self, params: &Params) -> Result<u32, MkfsError> {
        const DEFAULT: &[(u32, u32)] = &[
            (32_768, 1024),
            (262_144, 4096),
            (524_288, 8192),
            (4_194_304, 16_384),
            (8_388_608, 32_768),
            (16_777_216, 65_536),
            (33_554_432, 131_072),
        ];
        let Some(bytes) = params.journal_bytes else {
            if self.blocks < 2048 {
                return Ok(0);
            }
            let found = DEFAULT.iter().find(|(below, _)| self.blocks < *below);
            return Ok(found.map_or(262_144, |&(_, blocks)| blocks));
        };
        let blocks = bytes / self.block_bytes;
        if bytes == 0 || (1024..=10_240_000).contains(&blocks) {
            Ok(blocks as u32)
        } else {
            Err(MkfsError::Journal {
                bytes,
                least: 1024 * self.block_bytes,
                most: 10_240_000 * self.block_bytes,
            })
        }
    }

    /// Group of a block.
    #[inline]
    pub fn group_of(&self, block: u32) -> u32 {
        (block - self.first_block) / self.blocks_per_group
    }

    /// First block of a group.
    #[inline]
    pub fn start_of(&self, group: u32) -> u32 {
        self.first_block + group * self.blocks_per_group
    }

    /// Blocks of a group.
    #[inline]
    pub fn blocks_in(&self, group: u32) -> u32 {
        (self.blocks - self.start_of(group)).min(self.blocks_per_group)
    }

    /// Number of flex groups; of groups without.
    #[inline]
    pub fn flex_groups(&self) -> u32 {
        self.groups.div_ceil(self.flex)
    }

    /// Blocks of an inode table.
    pub fn table_blocks(&self) -> u32 {
        (u64::from(self.inodes_per_group) * INODE_BYTES).div_ceil(self.block_bytes) as u32
    }

    /// Words of the bitmap of a group.
    pub(super) fn group_words(&self) -> usize {
        self.blocks_per_group.div_ceil(64) as usize
    }

    /// Words of a bitmap of all groups, one behind the other.
    pub(super) fn map_words(&self) -> usize {
        (self.groups as usize * self.blocks_per_group as usize).div_ceil(64)
    }

    /// Orders of the buddy allocator.
    #[inline]
    pub(super) fn orders(&self) -> u32 {
        self.block_bits + 2
    }

    /// Whether a group begins with a copy of the superblock.
    pub fn has_superblock(group: u32) -> bool {
        let is_power_of = |base: u32| {
            let mut power = u64::from(base);
            while power < u64::from(group) {
                power *= u64::from(base);
            }
            power == u64::from(group)
        };
        group <= 1 || [3, 5, 7].into_iter().any(is_power_of)
    }

    /// Blocks of the copy of the superblock and of the descriptors at the beginning of a group.
    pub fn copy_blocks(&self, group: u32) -> u32 {
        if Geometry::has_superblock(group) {
            1 + self.descriptor_blocks + self.reserved_descriptor_blocks
        } else {
            0
        }
    }
}

impl Made {
    /// A geometry of which an image tells sizes, before it says where anything lies; `None` if there is none of these
    /// sizes.
    pub fn of_sizes(sizes: &Geometry) -> Option<Made> {
        let bytes = sizes.block_bytes;
        let blocks_per_group = sizes.blocks_per_group;
        let first_block = u32::from(bytes == 1024);
        let is_group = blocks_per_group.is_multiple_of(8)
            && (LEAST_PER_GROUP..=8 * bytes).contains(&blocks_per_group.into());
        if sizes.blocks < first_block + 64 || !is_group {
            return None;
        }
        let groups = (sizes.blocks - first_block).div_ceil(blocks_per_group);
        let per_group = sizes.inodes_per_group;
        let most_inodes = u64::from(groups) * u64::from(per_group);
        let is_possible = per_group > RESERVED_INODES
            && per_group.is_multiple_of(8)
            && u64::from(per_group) <= 8 * bytes
            && u32::try_from(most_inodes).is_ok()
            && u64::from(sizes.reserved_descriptor_blocks) <= bytes / 4;
        if !is_possible {
            return None;
        }
        let geometry = Geometry {
            block_bits: bytes.trailing_zeros(),
            first_block,
            groups,
            descriptor_blocks: (u64::from(groups) * u64::from(sizes.descriptor_bytes))
                .div_ceil(bytes) as u32,
            tables: vec![Tables::default(); groups as usize],
            ..sizes.clone()
        };
        let last = geometry.blocks_in(groups - 1);
        if last < geometry.copy_blocks(groups - 1)
            || geometry.copy_blocks(0) >= geometry.blocks_in(0)
        {
            return None;
        }
        let used = vec![0; geometry.map_words()];
        Some(Made { geometry, used })
    }

    /// Sizes, tables, and what they take.
    pub fn new(params: &Params) -> Result<Made, MkfsError> {
        let geometry = Geometry::sizes(params)?;
        let mut made = Made {
            used: vec![0; geometry.map_words()],
            geometry,
        };
        made.take_copies_and_ends();
        made.place_tables().ok_or(Made::too_small(params))?;
        made.place_first_directories()
            .ok_or(Made::too_small(params))?;
        made.place_journal(params)?;
        Ok(made)
    }

    fn too_small(params: &Params) -> MkfsError {
        MkfsError::TooSmall {
            size: params.size_bytes,
        }
    }

    fn take(&mut self, start: u32, blocks: u32) {
        let from = start - self.geometry.first_block;
        bits::fill(&mut self.used, from, from + blocks, true);
    }

    /// The first run of so many free blocks at or behind a block.
    fn find(&self, from: u32, blocks: u32) -> Option<u32> {
        let first = self.geometry.first_block;
        let end = self.geometry.blocks - first;
        let mut at = from - first;
        loop {
            let start = bits::next_clear(&self.used, at, end)?;
            at = bits::next_set(&self.used, start, (start.checked_add(blocks)?).min(end));
            if at - start >= blocks {
                return Some(start + first);
            }
            if at == end {
                return None;
            }
        }
    }

    fn place(&mut self, from: u32, blocks: u32) -> Option<u32> {
        let start = self.find(from, blocks)?;
        self.take(start, blocks);
        Some(start)
    }

    fn take_copies_and_ends(&mut self) {
        let g = &self.geometry;
        let copies: Vec<(u32, u32)> = (0..g.groups)
            .map(|group| (g.start_of(group), g.copy_blocks(group)))
            .collect();
        let all = g.map_words() * 64;
        let end = (g.blocks - g.first_block) as usize;
        for (start, blocks) in copies {
            self.take(start, blocks.min(self.geometry.blocks - start));
        }
        bits::fill(&mut self.used, end as u32, all as u32, true);
    }

    fn place_tables(&mut self) -> Option<()> {
        let (groups, flex) = (self.geometry.groups, self.geometry.flex);
        let (table_blocks, blocks) = (self.geometry.table_blocks(), self.geometry.blocks);
        let mut tables = vec![Tables::default(); groups as usize];
        for first in (0..groups).step_by(flex as usize) {
            let members = first as usize..groups.min(first.saturating_add(flex)) as usize;
            let mut from = self.geometry.start_of(first);
            // A group all alone in a flex group leaves the room that a full one would need, if there is so much.
            let room = if members.len() == 1 && flex > 1 {
                flex - 1
            } else {
                0
            };
            let behind = |from: u32| match from.checked_add(room) {
                Some(behind) if behind < blocks => behind,
                _ => from,
            };
            for group in members.clone() {
                from = self.place(from, 1)?;
                tables[group].block_bitmap = from;
            }
            from = behind(from + 1);
            for group in members.clone() {
                from = self.place(from, 1)?;
                tables[group].inode_bitmap = from;
            }
            from = behind(from + 1);
            for group in members {
                from = self.place(from, table_blocks)?;
                tables[group].inode_table = from;
            }
        }
        self.geometry.tables = tables;
        Some(())
    }

    fn place_first_directories(&mut self) -> Option<()> {
        let first = self.geometry.first_block;
        let blocks = (LOST_FOUND_BYTES / self.geometry.block_bytes).min(DIRECT_BLOCKS) as u32;
        self.geometry.root_block = self.place(first, 1)?;
        self.geometry.lost_found = (self.place(first, blocks)?, blocks);
        let g = &self.geometry;
        if g.reserved_descriptor_blocks > 0 {
            // Behind where tables would end that lie one behind the other.
            let behind = g.copy_blocks(0) + 1 + g.table_blocks();
            let goal = Some(first + behind).filter(|goal| *goal < g.blocks);
            self.geometry.resize_block = Some(self.place(goal.unwrap_or(first), 1)?);
        }
        Some(())
    }

    /// It begins with the first free block of a group in the middle, and takes what is free from there on, an extent at
    /// a time.
    fn place_journal(&mut self, params: &Params) -> Result<(), MkfsError> {
        let g = &self.geometry;
        let mut missing = g.journal_blocks;
        if missing == 0 {
            return Ok(());
        }
        let free = |group: u32| {
            let start = g.start_of(group) - g.first_block;
            let end = start + g.blocks_in(group);
            let used: u32 = bits::cut(&self.used, start, end - start)
                .map(u64::count_ones)
                .sum();
            (end - start).next_multiple_of(64) - used
        };
        let mut middle = g.group_of(((g.blocks - g.first_block) / 2).max(g.first_block));
        let candidates = if g.flex > 1 && middle > g.flex {
            middle = middle / g.flex * g.flex;
            while middle + 1 < g.groups && free(middle) == 0 {
                middle += 1;
            }
            middle..=middle + 1
        } else {
            middle.saturating_sub(1)..=middle + 1
        };
        let candidates = candidates.filter(|&group| group < g.groups).rev();
        let group = candidates.max_by_key(|&group| free(group));
        let (first, end) = (g.first_block, g.blocks - g.first_block);
        let no_room = || match params.journal_bytes {
            Some(bytes) => MkfsError::Journal {
                bytes,
                least: 1024 * self.geometry.block_bytes,
                most: u64::from(self.geometry.blocks / 2) * self.geometry.block_bytes,
            },
            None => Made::too_small(params),
        };
        let mut at = g.start_of(group.unwrap_or_default()) - first;
        let (mut used, mut extents) = (self.used.clone(), Vec::new());
        let mut tree_block = None;
        while missing > 0 {
            let start = bits::next_clear(&used, at, end).ok_or_else(no_room)?;
            let blocks = missing.min(MOST_WRITTEN);
            at = bits::next_set(&used, start, start.saturating_add(blocks).min(end));
            bits::fill(&mut used, start, at, true);
            extents.push((start + first, at - start));
            missing -= at - start;
            if extents.len() == ROOT_ENTRIES + 1 {
                // The tree gets a block: in front of the journal, or else the next that is free.
                let (start, _) = extents[0];
                let from = (start - first).saturating_sub(1);
                let block = bits::next_clear(&used, from, end).ok_or_else(no_room)?;
                bits::fill(&mut used, block, block + 1, true);
                tree_block = Some(block + first);
            }
        }
        self.used = used;
        self.geometry.journal = extents;
        self.geometry.journal_tree_block = tree_block;
        Ok(())
    }
}
