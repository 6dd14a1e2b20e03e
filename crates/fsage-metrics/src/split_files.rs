//! Split files: files whose first data block lies in another cylinder or block group than their inode.
//!
//! A split file costs a long seek between its inode and its data. The distance is the difference of the two
//! group numbers. Source: Smith and Seltzer 1997, section 6.

use crate::sign::Sign;
use fsage_core::{FileKind, FileView, Geometry};

/// How many files are split, and how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitFiles {
    /// Files whose first block lies in another group than the inode.
    pub split: u64,
    /// Of these, those in a neighboring group.
    pub distance_1: u64,
    /// Of these, those less than 10 groups away.
    pub distance_below_10: u64,
}

impl SplitFiles {
    /// Counts a file. One without a first block, or whose first block is a hole, is not split.
    pub fn add(&mut self, file: &FileView<'_>, geometry: &Geometry) {
        self.count(file, geometry, Sign::Add);
    }

    /// Counts a file, or takes back what it counted.
    pub(crate) fn count(&mut self, file: &FileView<'_>, geometry: &Geometry, sign: Sign) {
        let first = match file.extents {
            Some([first, ..]) if first.logical_bytes == 0 && first.is_placed_data() => first,
            _ => return,
        };
        if file.kind != FileKind::Regular {
            return;
        }
        let groups = geometry
            .group_of_inode(file.ino)
            .zip(geometry.group_of_address(first.physical_bytes));
        let Some((of_inode, of_block)) = groups else {
            return;
        };
        let distance = of_inode.abs_diff(of_block);
        sign.apply(&mut self.split, u64::from(distance > 0));
        sign.apply(&mut self.distance_1, u64::from(distance == 1));
        let is_below_10 = (1..10).contains(&distance);
        sign.apply(&mut self.distance_below_10, u64::from(is_below_10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout_score::tests::{extent, file, geometry};

    /// Inode 257 lies in group 1 of groups of 256 inodes and 1 MiB.
    #[test]
    fn distance_is_the_difference_of_groups() {
        let mut count = SplitFiles::default();
        for group in [1, 0, 2, 7] {
            count.add(&file(8192, &[extent(0, group << 20, 8192)]), &geometry());
        }
        count.add(&file(0, &[]), &geometry());
        count.add(&file(16_384, &[extent(8192, 5 << 20, 8192)]), &geometry());
        let expected = SplitFiles {
            split: 3,
            distance_1: 2,
            distance_below_10: 3,
        };
        assert_eq!(count, expected);
    }
}
