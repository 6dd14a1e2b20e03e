//! Layout score: the share of a file's blocks that directly follow the block before them on disk.
//!
//! **Definition.** 1 is a file in one piece, 0 one with no two neighboring blocks together. The first block of a file
//! has no predecessor and does not count, so a file of one block has no score. The score of a set of files is the sum
//! of their optimally placed blocks over the sum of blocks that could be, so large files weigh more; a set without a
//! file of at least two blocks scores 1.
//!
//! **What is a block.** The last block counts whole, be it a fragment. Space behind the end of the file is no part of
//! it, nor is inline data. Preallocated blocks that were never written count like others. Indirect blocks are not
//! blocks of the file: one that lies between two data blocks separates them.
//!
//! **Holes.** The blocks of a hole are no blocks, and the predecessor of the block behind it is the last mapped block
//! before it: to read the file in order costs no seek there. The original FFS study counted otherwise: it scored every
//! block of the length, those of holes as not optimal, and those behind holes too. So does the microscope that compares
//! the FFS model with the original code. Without holes the two agree.
//!
//! **Limits.** It says nothing of how far apart two blocks lie, nor of the way from file to file.
//!
//! **Source.** Smith and Seltzer 1996, section 3.

use crate::metric::{Better, Metric, Section, Summed, Unit};
use crate::placed::{end_of, placed_data};
use crate::sign::Sign;
use fsage_core::{FileKind, FileView, Geometry};
use std::ops::AddAssign;

/// The metrics of this file.
pub const METRICS: &[&Metric] = &[&SCORE, &OPTIMAL, &SCORED, &SCORED_FILES];

/// Aggregate layout score.
pub static SCORE: Metric = Metric {
    better: Better::Higher,
    has_control: true,
    ratio: Some("layout_ratio"),
    unless_zero: Some(&SCORED),
    generation: 0,
    ..Metric::real(
        "layout_score",
        "layout score",
        Unit::Score,
        Section::Layout,
        "Of all blocks that have a block of their file before them, the share that lies directly behind it on the \
         disk: 1 means that no file is broken, and stands also where no block has one before it.",
        |m| Some(m.sums.layout_score.all.value()),
    )
};

/// Blocks that directly follow their predecessor.
pub static OPTIMAL: Metric = Metric {
    generation: 0,
    ..Metric::count(
        "layout_optimal",
        "optimal blocks",
        Unit::Number("blocks"),
        Section::Layout,
        "Blocks that directly follow the block of their file before them, which is what the layout score counts.",
        |m| Some(m.sums.layout_score.all.optimal),
    )
};

/// Blocks with a predecessor.
pub static SCORED: Metric = Metric {
    generation: 0,
    ..Metric::count(
        "layout_scored",
        "blocks scored",
        Unit::Number("blocks"),
        Section::Layout,
        "Blocks that have a block of their file before them.",
        |m| Some(m.sums.layout_score.all.scored),
    )
};

/// Files of at least two data blocks.
pub static SCORED_FILES: Metric = Metric {
    generation: 1,
    ..Metric::count(
        "scored_files",
        "files of two blocks or more",
        Unit::Number("files"),
        Section::Layout,
        "Files of at least two data blocks, which are those with a layout score.",
        |m| Some(m.sums.layout_score.files),
    )
};

/// Layout scores of a set of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scores {
    /// Files of at least two data blocks: those with a score.
    pub files: u64,
    /// The aggregate score.
    pub all: LayoutScore,
    /// The same by file size.
    pub by_size: LayoutBySize,
}

impl Summed for Scores {
    fn count(&mut self, file: &FileView<'_>, geometry: &Geometry, sign: Sign) {
        let score = LayoutScore::of_file(file, geometry);
        if score.scored > 0 {
            sign.apply(&mut self.files, 1);
            self.all.count(score, sign);
            self.by_size.count(file.size_bytes, score, sign);
        }
    }
}

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
        let mut score = LayoutScore::default();
        if file.kind != FileKind::Regular {
            return score;
        }
        let block = u64::from(geometry.block_bytes.max(1));
        let mut blocks = 0_u64;
        let mut before = None;
        for extent in placed_data(file, geometry) {
            let length = extent.length_bytes.div_ceil(block);
            blocks = blocks.saturating_add(length);
            // Behind a hole, and where a source did not merge two that are neighbors, as with different flags.
            let follows = before == Some(extent.physical_bytes);
            let optimal = (length - 1).saturating_add(u64::from(follows));
            score.optimal = score.optimal.saturating_add(optimal);
            before = Some(end_of(&extent));
        }
        score.scored = blocks.saturating_sub(1);
        score
    }

    /// Adds the score of a part, or takes it back.
    pub(crate) fn count(&mut self, part: LayoutScore, sign: Sign) {
        sign.apply(&mut self.optimal, part.optimal);
        sign.apply(&mut self.scored, part.scored);
    }

    /// The score as a number from 0 to 1; 1 where nothing could be scored.
    pub fn value(self) -> f64 {
        self.share().unwrap_or(1.0)
    }

    /// The same; `None` where nothing could be scored.
    pub fn share(self) -> Option<f64> {
        (self.scored > 0).then(|| self.optimal as f64 / self.scored as f64)
    }
}

impl AddAssign for LayoutScore {
    fn add_assign(&mut self, other: LayoutScore) {
        self.count(other, Sign::Add);
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
        self.count(size_bytes, score, Sign::Add);
    }

    /// Counts a file that has a score, or takes it back.
    pub(crate) fn count(&mut self, size_bytes: u64, score: LayoutScore, sign: Sign) {
        let log2 = size_bytes.max(1).next_power_of_two().trailing_zeros();
        let class = log2.saturating_sub(Self::SMALLEST_LOG2) as usize;
        let class = &mut self.classes[class.min(Self::CLASSES - 1)];
        sign.apply(&mut class.files, 1);
        class.score.count(score, sign);
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

    /// The files of the worked example in docs/spec/ffs.md, section 19.1: 30,000 bytes in four neighbors, and 9,000
    /// bytes whose fragment lies elsewhere; and what the definition says of holes and indirect blocks.
    #[test]
    fn blocks_count_that_follow_their_predecessor() {
        const K: u64 = 1024;
        assert_eq!(score(30_000, &[extent(0, 1104 * K, 30 * K)]), (3, 3));
        let two = [extent(0, 1048 * K, 8 * K), extent(8 * K, 1034 * K, K)];
        assert_eq!(score(9000, &two), (0, 1));
        assert_eq!(score(8192, &[extent(0, 0, 8 * K)]), (0, 0));
        let hole = [extent(0, 0, 8 * K), extent(16 * K, 16 * K, 8 * K)];
        assert_eq!(score(24 * K, &hole), (0, 1));
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
        assert_eq!(score(16 * K, &[extent(16 * K, 0, 64 * K)]), (0, 0));
    }

    /// Blocks 0, 1, 4, 5 of six; the two behind the hole lie right behind the two before it.
    #[test]
    fn the_predecessor_behind_a_hole_is_the_last_mapped_block() {
        const K: u64 = 1024;
        let sparse = [extent(0, 64 * K, 16 * K), extent(32 * K, 80 * K, 16 * K)];
        assert_eq!(score(48 * K, &sparse), (3, 3));
    }

    #[test]
    fn inline_data_are_no_blocks_and_unwritten_ones_are() {
        const K: u64 = 1024;
        let flagged = |flags| Extent {
            flags,
            ..extent(0, 0, 16 * K)
        };
        assert_eq!(score(16 * K, &[flagged(Extent::INLINE)]), (0, 0));
        assert_eq!(score(16 * K, &[flagged(Extent::DELALLOC)]), (0, 0));
        assert_eq!(score(16 * K, &[flagged(Extent::UNWRITTEN)]), (1, 1));
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
