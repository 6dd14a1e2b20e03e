//! Layout score: the share of a file's blocks that directly follow the block before them on disk.
//!
//! 1 is a file in one piece, 0 one with no two neighboring blocks together. The first block of a file has no
//! predecessor and does not count, so a file of one block has no score. A hole is no predecessor. Indirect
//! blocks are not blocks of the file: one that lies between two data blocks separates them.
//!
//! Source: Smith and Seltzer 1996, section 3; the aggregate score of a set of files is the sum of their
//! optimally placed blocks over the sum of blocks that could be, so large files weigh more.

use fsage_core::{FileKind, FileView, Geometry};
use std::ops::AddAssign;

/// Blocks that follow their predecessor, of how many that have one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayoutScore {
    /// Blocks that directly follow their predecessor on disk.
    pub optimal: u64,
    /// Blocks with a predecessor: each file's blocks but the first.
    pub scored: u64,
}

impl LayoutScore {
    /// The score of one file; 0 of 0 for what has none.
    pub fn of_file(file: &FileView<'_>, geometry: &Geometry) -> LayoutScore {
        let block = u64::from(geometry.block_bytes);
        let blocks = file.size_bytes.div_ceil(block);
        let Some(extents) = file.extents.filter(|_| file.kind == FileKind::Regular) else {
            return LayoutScore::default();
        };
        if blocks < 2 {
            return LayoutScore::default();
        }
        let mut optimal = 0;
        let mut before = None;
        for extent in extents.iter().filter(|e| !e.is_pointers()) {
            if extent.logical_bytes >= file.size_bytes {
                break;
            }
            // Space allocated behind the end is no part of the file.
            let length = extent
                .length_bytes
                .min(file.size_bytes - extent.logical_bytes);
            optimal += length.div_ceil(block).saturating_sub(1);
            // Neighbors that a source did not merge, as with different flags.
            if before == Some((extent.logical_bytes, extent.physical_bytes)) {
                optimal += 1;
            }
            before = Some((
                extent.logical_bytes + extent.length_bytes,
                extent.physical_bytes + extent.length_bytes,
            ));
        }
        LayoutScore {
            optimal,
            scored: blocks - 1,
        }
    }

    /// The score as a number from 0 to 1; 1 where nothing could be scored.
    pub fn value(self) -> f64 {
        if self.scored == 0 {
            1.0
        } else {
            self.optimal as f64 / self.scored as f64
        }
    }
}

impl AddAssign for LayoutScore {
    fn add_assign(&mut self, other: LayoutScore) {
        self.optimal += other.optimal;
        self.scored += other.scored;
    }
}

/// The files of one class of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeClass {
    /// Largest size of the class in bytes; `u64::MAX` for the last one.
    pub max_bytes: u64,
    /// Files that have a score.
    pub files: u64,
    /// Their score.
    pub score: LayoutScore,
}

/// Layout score by file size, in classes that double: up to 16 KiB, 32 KiB, ... 16 MiB, and over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutBySize {
    /// The classes, by ascending size.
    pub classes: [SizeClass; LayoutBySize::CLASSES],
}

impl LayoutBySize {
    /// Number of classes.
    pub const CLASSES: usize = 12;
    const SMALLEST_LOG2: u32 = 14;

    /// Classes without files.
    pub fn new() -> LayoutBySize {
        let classes = std::array::from_fn(|i| SizeClass {
            max_bytes: if i + 1 == Self::CLASSES {
                u64::MAX
            } else {
                1 << (Self::SMALLEST_LOG2 as usize + i)
            },
            ..SizeClass::default()
        });
        LayoutBySize { classes }
    }

    /// Counts a file that has a score.
    pub fn add(&mut self, size_bytes: u64, score: LayoutScore) {
        let log2 = size_bytes.max(1).next_power_of_two().trailing_zeros();
        let class = log2.saturating_sub(Self::SMALLEST_LOG2) as usize;
        let class = &mut self.classes[class.min(Self::CLASSES - 1)];
        class.files += 1;
        class.score += score;
    }
}

impl Default for LayoutBySize {
    fn default() -> Self {
        LayoutBySize::new()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use fsage_core::Extent;

    pub(crate) fn geometry() -> Geometry {
        Geometry {
            fs_type: "test".into(),
            size_bytes: 8 << 20,
            data_bytes: Some(8 << 20),
            reserved_bytes: 0,
            block_bytes: 8192,
            frag_bytes: 1024,
            inodes_total: 2048,
            group_count: 8,
            group_bytes: 1 << 20,
            inodes_per_group: 256,
            first_ino: 0,
            inode_chunk_bytes: 0,
        }
    }

    pub(crate) fn file(size_bytes: u64, extents: &[Extent]) -> FileView<'_> {
        FileView {
            extents: Some(extents),
            ..FileView::new(257, FileKind::Regular, size_bytes)
        }
    }

    pub(crate) fn extent(logical: u64, physical: u64, length: u64) -> Extent {
        Extent {
            logical_bytes: logical,
            physical_bytes: physical,
            length_bytes: length,
            flags: 0,
        }
    }

    fn score(size: u64, extents: &[Extent]) -> (u64, u64) {
        let s = LayoutScore::of_file(&file(size, extents), &geometry());
        (s.optimal, s.scored)
    }

    /// The files of the specification's worked example 19.1: 30,000 bytes in four neighbors, and 9,000 bytes
    /// whose fragment lies elsewhere; and what the definition says of holes and indirect blocks.
    #[test]
    fn blocks_count_that_follow_their_predecessor() {
        const K: u64 = 1024;
        assert_eq!(score(30_000, &[extent(0, 1104 * K, 30 * K)]), (3, 3));
        let two = [extent(0, 1048 * K, 8 * K), extent(8 * K, 1034 * K, K)];
        assert_eq!(score(9000, &two), (0, 1));
        assert_eq!(score(8192, &[extent(0, 0, 8 * K)]), (0, 0));
        let hole = [extent(0, 0, 8 * K), extent(16 * K, 16 * K, 8 * K)];
        assert_eq!(score(24 * K, &hole), (0, 2));
        let pointers = Extent {
            flags: Extent::POINTERS,
            ..extent(Extent::POINTERS_AT, 96 * K, 8 * K)
        };
        let long = [
            extent(0, 0, 96 * K),
            extent(96 * K, 104 * K, 8 * K),
            pointers,
        ];
        assert_eq!(score(104 * K, &long), (11, 12));
        let unmerged = [extent(0, 0, 8 * K), extent(8 * K, 8 * K, 8 * K)];
        assert_eq!(score(16 * K, &unmerged), (1, 1));
        assert_eq!(score(16 * K, &[extent(0, 0, 64 * K)]), (1, 1));
    }

    #[test]
    fn classes_hold_their_largest_size() {
        let mut by_size = LayoutBySize::new();
        let one = LayoutScore {
            optimal: 1,
            scored: 1,
        };
        for (size, class) in [
            (1, 0),
            (16_384, 0),
            (16_385, 1),
            (104 << 10, 3),
            (16 << 20, 10),
            (1 << 40, 11),
        ] {
            by_size.add(size, one);
            assert!(by_size.classes[class].max_bytes >= size);
            assert!(class == 0 || by_size.classes[class - 1].max_bytes < size);
            assert!(by_size.classes[class].files > 0, "{size}");
        }
    }
}
