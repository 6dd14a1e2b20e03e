//! Space that files take, as a generator has to estimate it: fragments and indirect blocks of a fast file system.

use serde::{Deserialize, Serialize};

/// Blocks that an inode points to itself; only a file of no more of them ends in fragments.
const DIRECT_BLOCKS: u64 = 12;
/// Bytes of a pointer in an indirect block.
const POINTER_BYTES: u64 = 4;

/// How space is counted: in whole fragments, with the indirect blocks of large files. A file of up to 12
/// blocks ends in fragments; a larger one has whole blocks, and one block of pointers for each `block / 4` of
/// those behind the twelfth, and theirs. What is fixed (inode tables, maps) is no part of the capacity.
///
/// Where block and fragment are equal this is the count of any file system with block maps; one with extents
/// takes a little less for large files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceRule {
    /// Block size.
    pub block_bytes: u64,
    /// Fragment size; divides the block size.
    pub fragment_bytes: u64,
}

impl SpaceRule {
    /// 8 KB blocks and 1 KB fragments, as 4.4BSD made them.
    pub const FFS: SpaceRule = SpaceRule {
        block_bytes: 8192,
        fragment_bytes: 1024,
    };

    /// Fragments of a file of that size, indirect blocks included.
    pub fn fragments(self, bytes: u64) -> u64 {
        let blocks = bytes.div_ceil(self.block_bytes);
        if blocks <= DIRECT_BLOCKS {
            return bytes.div_ceil(self.fragment_bytes);
        }
        let behind = blocks - DIRECT_BLOCKS;
        (blocks + self.indirect_blocks(behind)) * (self.block_bytes / self.fragment_bytes)
    }

    /// Blocks of pointers for `behind` blocks that the inode does not point to.
    fn indirect_blocks(self, behind: u64) -> u64 {
        let pointers = (self.block_bytes / POINTER_BYTES).max(2);
        let mut left = behind;
        let mut indirect = 0;
        // A tree of one level of pointers, then one of two, and so on.
        for levels in 1.. {
            let mapped = pointers.saturating_pow(levels);
            let mut blocks = left.min(mapped);
            for _ in 0..levels {
                blocks = blocks.div_ceil(pointers);
                indirect += blocks;
            }
            left = left.saturating_sub(mapped);
            if left == 0 {
                break;
            }
        }
        indirect
    }

    /// Bytes of so many fragments.
    pub fn bytes(self, fragments: u64) -> u64 {
        fragments * self.fragment_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted by hand from the block map: 12 direct blocks, 2,048 behind the indirect one.
    #[test]
    fn space_is_whole_blocks_beyond_the_direct_ones() {
        let kb = |n: u64| SpaceRule::FFS.fragments(n << 10);
        let bytes = |n: u64| SpaceRule::FFS.fragments(n);
        assert_eq!([bytes(0), bytes(1), bytes(1025)], [0, 1, 2]);
        assert_eq!([kb(8), kb(9), kb(96)], [8, 9, 96]);
        assert_eq!(bytes((96 << 10) + 1), 13 * 8 + 8);
        assert_eq!(kb(96 + 2048 * 8), (12 + 2048 + 1) * 8);
        assert_eq!(kb(96 + 2048 * 8 + 1), (12 + 2049 + 3) * 8);
        // Two blocks behind the double indirect one share its first block of pointers.
        assert_eq!(kb(96 + 2048 * 8 + 16), (12 + 2050 + 3) * 8);
        // The block after 2,048 more needs a second one; after 2,048 x 2,048 the triple indirect one begins.
        assert_eq!(kb(96 + 2 * 2048 * 8 + 8), (12 + 4097 + 4) * 8);
        let full = 12 + 2048 + 2048 * 2048;
        assert_eq!(kb(full * 8), (full + 1 + 1 + 2048) * 8);
        assert_eq!(kb(full * 8 + 8), (full + 1 + 1 + 1 + 2048 + 3) * 8);
    }

    #[test]
    fn blocks_without_fragments_are_counted_whole() {
        let rule = SpaceRule {
            block_bytes: 4096,
            fragment_bytes: 4096,
        };
        assert_eq!([rule.fragments(1), rule.fragments(4097)], [1, 2]);
        assert_eq!(rule.fragments(13 * 4096), 14);
        assert_eq!(rule.bytes(14), 14 * 4096);
    }
}
