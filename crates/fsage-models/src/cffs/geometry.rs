//! Sizes of the disk format (docs/spec/cffs.md, section 2), and where fixed metadata lie.
//!
//! Block 0 is never used; block 1 is the superblock; each cylinder group begins with the block of its bitmap, and
//! without embedded inodes with its inodes behind that. In group 0 these come after the superblock.

use super::params::Params;
use crate::pointers::PointerTree;
use thiserror::Error;

/// Bytes of a block. There are no fragments.
pub const BLOCK: u64 = 4096;
/// Bytes of a sector, which is written as a whole or not at all.
pub const SECTOR: u64 = 512;
/// Sectors of a block.
pub(super) const SECTORS: u32 = (BLOCK / SECTOR) as u32;
/// Direct pointers, then pointers of a block of pointers.
pub(super) const TREE: PointerTree = PointerTree {
    direct: 15,
    per_block: 1024,
};
/// Bytes of an inode.
pub(super) const INODE: u64 = 128;
/// Inodes of a block of inodes.
pub(super) const INODES_PER_BLOCK: u32 = (BLOCK / INODE) as u32;
/// Where the superblock lies.
pub(super) const SUPERBLOCK: u32 = 1;
/// Inodes of directories that one block of the directory map finds.
pub(super) const MAP_ENTRIES: u32 = 512;
/// Bits of a bitmap, which is one block.
const BITMAP_BITS: u64 = BLOCK * 8;

/// Sizes of a file system that do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks, a few at the end left out if they make no cylinder group.
    pub blocks: u32,
    /// Blocks of a cylinder group; the last one may have fewer.
    pub cg_blocks: u32,
    /// Cylinder groups.
    pub groups: u32,
    /// Inodes of a cylinder group; 0 where they are embedded.
    pub inodes_per_group: u32,
}

/// A file system that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SizeError {
    /// The partition.
    #[error("size={size_bytes}: expected 64K to 16T-4K, so that some blocks are left for files")]
    Size {
        /// What was given.
        size_bytes: u64,
    },
    /// The cylinder groups.
    #[error(
        "cg_blocks={cg_blocks}: expected {least} to {BITMAP_BITS}: a bitmap of one block, the inodes, and some blocks \
         for files"
    )]
    CylinderGroup {
        /// What was given.
        cg_blocks: u64,
        /// The smallest that works.
        least: u64,
    },
    /// The inodes.
    #[error("bytes_per_inode={bytes_per_inode}: expected 512 or more")]
    Inodes {
        /// What was given.
        bytes_per_inode: u64,
    },
}

impl Geometry {
    /// The sizes that follow from parameters.
    ///
    /// # Errors
    /// A partition, a cylinder group or a number of inodes that does not work.
    pub fn new(params: &Params) -> Result<Geometry, SizeError> {
        let size_bytes = params.size_bytes;
        let blocks = size_bytes / BLOCK;
        if !(16..=u64::from(u32::MAX)).contains(&blocks) {
            return Err(SizeError::Size { size_bytes });
        }
        let cg_blocks = params.cg_blocks;
        let inodes_per_group = if params.embed {
            0
        } else if params.bytes_per_inode < 512 {
            let bytes_per_inode = params.bytes_per_inode;
            return Err(SizeError::Inodes { bytes_per_inode });
        } else {
            let wanted = cg_blocks.saturating_mul(BLOCK) / params.bytes_per_inode;
            wanted
                .max(1)
                .next_multiple_of(INODES_PER_BLOCK.into())
                .min(1 << 20)
        };
        let least = 2 + 1 + inodes_per_group / u64::from(INODES_PER_BLOCK) + 8;
        if !(least..=BITMAP_BITS).contains(&cg_blocks) {
            return Err(SizeError::CylinderGroup { cg_blocks, least });
        }
        let mut geometry = Geometry {
            blocks: blocks as u32,
            cg_blocks: cg_blocks as u32,
            groups: blocks.div_ceil(cg_blocks) as u32,
            inodes_per_group: inodes_per_group as u32,
        };
        let last = geometry.groups - 1;
        if geometry.cg_end(last) - geometry.cg_start(last) <= geometry.overhead(last) {
            if last == 0 {
                return Err(SizeError::Size { size_bytes });
            }
            geometry.blocks = geometry.cg_start(last);
            geometry.groups = last;
        }
        Ok(geometry)
    }

    /// Cylinder group of a block.
    pub fn cg_of(&self, block: u32) -> u32 {
        block / self.cg_blocks
    }

    /// First block of a cylinder group.
    pub fn cg_start(&self, cg: u32) -> u32 {
        cg * self.cg_blocks
    }

    /// The block behind the last one of a cylinder group.
    pub fn cg_end(&self, cg: u32) -> u32 {
        let end = u64::from(cg + 1) * u64::from(self.cg_blocks);
        end.min(self.blocks.into()) as u32
    }

    /// The bitmap of a cylinder group.
    pub fn bitmap(&self, cg: u32) -> u32 {
        self.cg_start(cg) + if cg == 0 { SUPERBLOCK + 1 } else { 0 }
    }

    /// Blocks of fixed metadata at the start of a cylinder group.
    pub fn overhead(&self, cg: u32) -> u32 {
        self.bitmap(cg) + 1 + self.inodes_per_group / INODES_PER_BLOCK - self.cg_start(cg)
    }

    /// Block of an inode that lies in a block of its own.
    pub fn inode_block(&self, number: u32) -> u32 {
        let (cg, index) = (
            number / self.inodes_per_group,
            number % self.inodes_per_group,
        );
        self.bitmap(cg) + 1 + index / INODES_PER_BLOCK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from docs/spec/cffs.md, section 10: one inode per 8 KB are 756 of 1512 blocks, 24 blocks of 32.
    #[test]
    fn inodes_take_24_blocks_of_a_group_where_they_are_not_embedded() {
        let params = Params {
            embed: false,
            ..Params::default()
        };
        let g = Geometry::new(&params).unwrap();
        assert_eq!((g.groups, g.inodes_per_group), (168, 768));
        assert_eq!((g.overhead(0), g.overhead(1)), (27, 25));
        assert_eq!((g.inode_block(31), g.inode_block(32)), (3, 4));
        assert_eq!(g.inode_block(768), 1513);
        let g = Geometry::new(&Params::default()).unwrap();
        assert_eq!((g.overhead(0), g.overhead(1)), (3, 1));
    }

    #[test]
    fn sizes_that_do_not_work_are_refused() {
        let with = |change: fn(&mut Params)| {
            let mut params = Params::default();
            change(&mut params);
            Geometry::new(&params).map_err(|e| e.to_string())
        };
        assert!(with(|p| p.size_bytes = 4096).unwrap_err().contains("64K"));
        assert!(
            with(|p| p.size_bytes = u64::MAX)
                .unwrap_err()
                .contains("16T")
        );
        assert!(
            with(|p| p.cg_blocks = 4)
                .unwrap_err()
                .contains("11 to 32768")
        );
        assert!(
            with(|p| p.cg_blocks = u64::MAX)
                .unwrap_err()
                .contains("32768")
        );
        let few = with(|p| {
            p.embed = false;
            p.bytes_per_inode = 0;
        });
        assert!(few.unwrap_err().contains("512 or more"));
        // A last group of one block would be a bitmap alone.
        let g = with(|p| p.size_bytes = (3 * 1512 + 1) * 4096).unwrap();
        assert_eq!((g.groups, g.blocks), (3, 3 * 1512));
    }
}
