//! Split files: files whose first data block lies in another cylinder or block group than their inode.
//!
//! A split file costs a long seek between its inode and its data. The distance is the difference of the two
//! group numbers. Source: Smith and Seltzer 1997, section 6.

use crate::measures::Measures;
use crate::metric::{Better, Metric, Section, Summed, Unit};
use crate::sign::Sign;
use fsage_core::{FileKind, FileView, Geometry};

/// The metrics of this file.
pub const METRICS: &[&Metric] = &[&SPLIT, &DISTANCE_1, &DISTANCE_BELOW_10];

/// Files whose first block lies in another group than their inode.
pub static SPLIT: Metric = Metric {
    better: Better::Lower,
    has_control: true,
    generation: 0,
    ..Metric::count(
        "split_files",
        "split files",
        Unit::Number("files"),
        Section::Layout,
        "Files whose first block lies in another cylinder or block group than their inode, which none does where a \
         file system has no groups.",
        |m| known(m, m.sums.split_files.split),
    )
};

/// Of these, those in a neighboring group.
pub static DISTANCE_1: Metric = Metric {
    generation: 0,
    ..Metric::count(
        "split_distance_1",
        "split files one group away",
        Unit::Number("files"),
        Section::Layout,
        "Split files that begin in a group next to that of their inode.",
        |m| known(m, m.sums.split_files.distance_1),
    )
};

/// Of these, those less than ten groups away.
pub static DISTANCE_BELOW_10: Metric = Metric {
    generation: 0,
    ..Metric::count(
        "split_distance_below_10",
        "split files under ten groups away",
        Unit::Number("files"),
        Section::Layout,
        "Split files that begin less than ten groups away from their inode.",
        |m| known(m, m.sums.split_files.distance_below_10),
    )
};

/// A count, unless the file system has groups and nobody said where they lie, as of a mounted ext4 without its image.
fn known(m: &Measures, count: u64) -> Option<u64> {
    let is_hidden = m.geometry.group_bytes == 0 && m.geometry.fs_type.starts_with("ext");
    (!is_hidden).then_some(count)
}

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
}

impl Summed for SplitFiles {
    fn count(&mut self, file: &FileView<'_>, geometry: &Geometry, sign: Sign) {
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
