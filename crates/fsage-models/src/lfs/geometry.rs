//! Where things are: segments and superblocks, names of indirect blocks, blocks of the ifile.
//!
//! Source: 4.4BSD-Lite2 `newlfs` and `lfs_bio.c`; NetBSD `make_lfs.c` and `lfs.h` for the variant `netbsd`.
//! Addresses count sectors of 512 bytes from the start of the partition; 0 is "none".

use super::params::{Params, Variant};
use thiserror::Error;

/// Bytes of a sector, the unit of addresses.
pub const SECTOR: u32 = 512;
/// Blocks that an inode points to directly.
pub const DIRECT: u32 = 12;
/// Bytes of an inode on disk.
pub const INODE_BYTES: u32 = 128;
/// Bytes of a superblock, and of the disk label.
const RESERVED_BYTES: u32 = 8192;
/// Copies of the superblock.
const SUPERBLOCKS: u32 = 10;
/// Bytes of an entry in the list of a summary: a block, or the address of an inode block.
pub const SUMMARY_ITEM: u32 = 4;
/// Bytes of an FINFO without its blocks.
pub const FINFO: u32 = 16;

/// Parameters that no file system can be made with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NewfsError {
    /// A size that is no power of two, or out of bounds.
    #[error("{key} is {value}: expected {expected}")]
    Size {
        /// The parameter.
        key: &'static str,
        /// What it is.
        value: u64,
        /// What it may be.
        expected: &'static str,
    },
    /// Too few or too many segments.
    #[error(
        "{0} segments: expected at least {1} and at most 2 TiB in all; change size or segment_bytes"
    )]
    Segments(u64, u64),
}

/// Sizes of a file system that do not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of segments.
    pub nseg: u32,
    /// Sectors of a segment; a power of two.
    pub segment_sectors: u32,
    /// Sector at which segment 0 starts.
    pub base: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Bytes of a fragment.
    pub frag_bytes: u32,
    /// Pointers of an indirect block; a power of two.
    pub pointers: u32,
    /// Inodes of an inode block.
    pub inodes_per_block: u32,
    /// Entries of a block of the segment usage table.
    pub usages_per_block: u32,
    /// Blocks of the segment usage table.
    pub usage_blocks: u32,
    /// Entries of a block of the inode map.
    pub map_entries_per_block: u32,
    /// Every how many segments one holds a superblock.
    pub superblock_step: u32,
    /// Sectors of data that a user may fill, and the log's own blocks.
    pub data_sectors: u64,
    /// Bytes of a summary behind its header.
    pub summary_room: u32,
    /// Which of the two systems.
    pub variant: Variant,
}

impl Geometry {
    /// What `newlfs` makes of the parameters.
    ///
    /// # Errors
    /// Sizes that do not fit each other, too few segments for the reserve.
    pub fn newfs(params: &Params) -> Result<Geometry, NewfsError> {
        let power = |key, value: u64, least: u64, most: u64, expected| {
            if value.is_power_of_two() && (least..=most).contains(&value) {
                Ok(value as u32)
            } else {
                Err(NewfsError::Size {
                    key,
                    value,
                    expected,
                })
            }
        };
        let block_bytes = power(
            "bsize",
            params.block_bytes,
            1024,
            65536,
            "a power of two from 1K to 64K",
        )?;
        let frag_bytes = power(
            "fsize",
            params.frag_bytes,
            512,
            params.block_bytes,
            "a power of two from 512 to the block size",
        )?;
        let segment_bytes = power(
            "segment",
            params.segment_bytes,
            params.block_bytes.saturating_mul(16).max(65536),
            1 << 30,
            "a power of two from 64K and 16 blocks to 1G",
        )?;
        let netbsd = params.variant == Variant::NetBsd;
        let base = if netbsd { 0 } else { RESERVED_BYTES };
        let nseg = params.size_bytes.saturating_sub(u64::from(base)) / u64::from(segment_bytes);
        let reserve = u64::from(params.reserve_segments);
        let least = (reserve + 4).max(8);
        if nseg < least || params.size_bytes > 1 << 41 {
            return Err(NewfsError::Segments(nseg, least));
        }
        let nseg = nseg as u32;
        let segment_sectors = segment_bytes / SECTOR;
        let usages_per_block = block_bytes / if netbsd { 24 } else { 16 };
        Ok(Geometry {
            nseg,
            segment_sectors,
            base: base / SECTOR,
            block_bytes,
            frag_bytes,
            pointers: block_bytes / 4,
            inodes_per_block: block_bytes / INODE_BYTES,
            usages_per_block,
            usage_blocks: nseg.div_ceil(usages_per_block),
            map_entries_per_block: block_bytes / if netbsd { 20 } else { 12 },
            superblock_step: (nseg / SUPERBLOCKS).max(5),
            data_sectors: (u64::from(nseg) - reserve) * u64::from(segment_sectors),
            summary_room: SECTOR - if netbsd { 48 } else { 28 },
            variant: params.variant,
        })
    }

    /// Sectors of a block.
    #[inline]
    pub fn block_sectors(&self) -> u32 {
        self.block_bytes / SECTOR
    }

    /// First sector of a segment.
    #[inline]
    pub fn segment_start(&self, segment: u32) -> u32 {
        self.base + segment * self.segment_sectors
    }

    /// Segment of an address.
    #[inline]
    pub fn segment_of(&self, address: u32) -> u32 {
        (address - self.base) >> self.segment_sectors.trailing_zeros()
    }

    /// Whether a segment is flagged as one with a superblock. `newlfs` flags them beyond the tenth copy too.
    pub fn has_superblock(&self, segment: u32) -> bool {
        let copy = segment / self.superblock_step;
        let within = self.variant == Variant::Lite2 || copy < SUPERBLOCKS;
        segment.is_multiple_of(self.superblock_step) && within
    }

    /// Sectors at the start of a segment that are not the log's.
    pub fn reserved_sectors(&self, segment: u32) -> u32 {
        let areas = match (self.variant, segment) {
            // The label lies in segment 0.
            (Variant::NetBsd, 0) => 2,
            _ if self.has_superblock(segment) => 1,
            _ => 0,
        };
        areas * (RESERVED_BYTES / SECTOR)
    }

    /// Byte at which one of the two superblocks lies that are written.
    pub fn superblock_start(&self, copy: u32) -> u64 {
        let segment = copy * self.superblock_step;
        let label = if self.variant == Variant::NetBsd && segment == 0 {
            RESERVED_BYTES
        } else {
            0
        };
        u64::from(self.segment_start(segment)) * u64::from(SECTOR) + u64::from(label)
    }

    /// Block of the ifile that holds the usage of a segment; block 0 is the cleaner's information.
    #[inline]
    pub fn usage_block(&self, segment: u32) -> i32 {
        (1 + segment / self.usages_per_block) as i32
    }

    /// Block of the ifile that holds the map entry of an inode.
    #[inline]
    pub fn map_block(&self, ino: u32) -> i32 {
        (1 + self.usage_blocks + ino / self.map_entries_per_block) as i32
    }

    /// Most blocks of a file: what its pointers reach, and logical block numbers can name.
    pub fn max_blocks(&self) -> u64 {
        let n = u64::from(self.pointers);
        (u64::from(DIRECT) + n + n * n + n * n * n).min(1 << 30)
    }

    /// Name of the single indirect block that leads to data block `lbn`, which is not a direct one.
    #[inline]
    pub fn single_over(&self, lbn: i32) -> i32 {
        self.single_name(self.single_index(lbn))
    }

    /// Number of the single indirect block that leads to data block `lbn`.
    #[inline]
    pub fn single_index(&self, lbn: i32) -> usize {
        ((lbn - DIRECT as i32) >> self.pointers.trailing_zeros()) as usize
    }

    /// Place of data block `lbn`, which is not a direct one, in its single indirect block.
    #[inline]
    pub fn slot(&self, lbn: i32) -> usize {
        ((lbn - DIRECT as i32) & (self.pointers as i32 - 1)) as usize
    }

    /// Name of single indirect block `k`: minus the first data block below it.
    #[inline]
    pub fn single_name(&self, k: usize) -> i32 {
        -(DIRECT as i32 + ((k as i32) << self.pointers.trailing_zeros()))
    }

    /// Name of double indirect block `d`: one less than the first single below it.
    pub fn double_name(&self, d: usize) -> i32 {
        self.single_name(1 + d * self.pointers as usize) - 1
    }

    /// Name of the triple indirect block: one less than the first double below it.
    pub fn triple_name(&self) -> i32 {
        self.double_name(1) - 1
    }

    /// What a block is, by its name.
    #[inline]
    pub fn level(&self, lbn: i32) -> Level {
        if lbn >= 0 {
            return Level::Data;
        }
        match (-lbn - DIRECT as i32) & (self.pointers as i32 - 1) {
            0 => Level::Single(self.single_index(-lbn)),
            1 => Level::Double((self.single_index(-lbn - 1) - 1) / self.pointers as usize),
            _ => Level::Triple,
        }
    }

    /// Whether an indirect block leads to data block `lbn` or to one behind it.
    pub fn leads_to(&self, pointer: i32, lbn: i32) -> bool {
        let n = i64::from(self.pointers);
        let (first, blocks) = match self.level(pointer) {
            Level::Data => return false,
            Level::Single(_) => (-pointer, n),
            Level::Double(_) => (-pointer - 1, n * n),
            Level::Triple => (-pointer - 2, n * n * n),
        };
        i64::from(first) + blocks > i64::from(lbn)
    }

    /// The block that entry `i` of an indirect block leads to. `None` if it leads to none of the first `blocks` data
    /// blocks.
    pub fn child(&self, pointer: i32, i: usize, blocks: i64) -> Option<i32> {
        let n = self.pointers as usize;
        let single = match self.level(pointer) {
            Level::Data => return None,
            Level::Single(k) => k,
            Level::Double(d) => 1 + d * n + i,
            Level::Triple => 1 + (1 + i) * n,
        };
        let first = i64::from(DIRECT) + single as i64 * n as i64;
        match self.level(pointer) {
            Level::Single(_) => Some(first + i as i64)
                .filter(|&lbn| lbn < blocks)
                .map(|lbn| lbn as i32),
            _ if first >= blocks => None,
            Level::Double(_) => Some(self.single_name(single)),
            _ => Some(self.double_name(1 + i)),
        }
    }

    /// The block that points to this one; `None` is the inode.
    #[inline]
    pub fn parent(&self, lbn: i32) -> Option<i32> {
        match self.level(lbn) {
            Level::Data if lbn < DIRECT as i32 => None,
            Level::Data => Some(self.single_over(lbn)),
            Level::Single(0) | Level::Double(0) | Level::Triple => None,
            Level::Single(k) => Some(self.double_name((k - 1) / self.pointers as usize)),
            Level::Double(_) => Some(self.triple_name()),
        }
    }
}

/// What a block of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Data.
    Data,
    /// Single indirect block, by number.
    Single(usize),
    /// Double indirect block, by number; 0 hangs from the inode.
    Double(usize),
    /// The triple indirect block.
    Triple,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(nseg: u64, variant: Variant) -> Geometry {
        let params = Params {
            size_bytes: (nseg << 20) + 8192,
            ..Params::of_variant(variant)
        };
        Geometry::newfs(&params).unwrap()
    }

    #[test]
    fn indirect_blocks_are_named_after_what_they_cover() {
        // docs/spec/lfs.md, section 3.5, 1024 pointers.
        let g = geometry(64, Variant::Lite2);
        assert_eq!((g.single_over(12), g.single_over(1035)), (-12, -12));
        let singles: Vec<i32> = (1..4).map(|k| g.single_name(k)).collect();
        assert_eq!(singles, [-1036, -2060, -3084]);
        assert_eq!((g.double_name(0), g.triple_name()), (-1037, -1_049_614));
        assert_eq!(g.parent(5), None);
        assert_eq!(g.parent(1036), Some(-1036));
        assert_eq!(g.parent(-12), None);
        assert_eq!(g.parent(-3084), Some(-1037));
        assert_eq!(g.parent(-1037), None);
        assert_eq!(g.parent(-1_049_614), None);
        // The first double below the triple, and the first single below that: lfs.md's rule of one less.
        assert_eq!(g.parent(-1_049_612), Some(-1_049_613));
        assert_eq!(g.parent(-1_049_613), Some(-1_049_614));
        assert_eq!(g.level(-1_049_613), Level::Double(1));
    }

    #[test]
    fn superblocks_lie_in_every_tenth_of_the_segments() {
        // docs/spec/lfs.md, section 20: every 5, 5, 51 for 40, 48, 512 segments; 3.1: `newlfs` flags segment 510 as
        // well.
        let steps: Vec<u32> = [40, 48, 512]
            .map(|nseg| geometry(nseg, Variant::Lite2).superblock_step)
            .into();
        assert_eq!(steps, [5, 5, 51]);
        assert!(geometry(512, Variant::Lite2).has_superblock(510));
        assert!(!geometry(512, Variant::NetBsd).has_superblock(510));
        assert_eq!(geometry(48, Variant::NetBsd).superblock_start(1), 5_242_880);
        assert_eq!(geometry(48, Variant::NetBsd).reserved_sectors(0), 32);
    }

    #[test]
    fn a_summary_has_room_for_117_or_112_blocks_of_one_file() {
        // docs/spec/lfs.md, section 3.2.
        for (variant, alone, with_inode) in
            [(Variant::Lite2, 117, 116), (Variant::NetBsd, 112, 111)]
        {
            let room = geometry(64, variant).summary_room;
            assert_eq!((room - FINFO) / SUMMARY_ITEM, alone);
            assert_eq!((room - FINFO - SUMMARY_ITEM) / SUMMARY_ITEM, with_inode);
        }
    }
}
