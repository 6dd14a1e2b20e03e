//! Free space: how much there is, in what pieces, and what could still be placed in one piece.
//!
//! **Definitions.** Runs of free space are maximal. They are counted in classes by length that double: under 4 KiB,
//! from 4 KiB, from 8 KiB, ... from 64 MiB. Of extents of 64 KiB, 1 MiB and 64 MiB it is counted how many could still
//! be placed: the sum over all runs of how often the extent fits into the run. Room for inodes: where inodes are made
//! in chunks, as in XFS, how many chunks fit; where all are made with the file system, how many are free; unknown
//! where the file system says neither.
//!
//! **Units.** Bytes, runs, extents.
//!
//! **Limits.** Alignment is not asked for, nor the reserve; free inodes in chunks that exist already are no chunk.
//! Where free space is not known run by run all of it is unknown.
//!
//! **Source.** Histograms of free extents as `e2freefrag` and `xfs_db freesp` print them.

mod kept;

pub(crate) use kept::KeptFree;

use crate::metric::{Better, Metric, Section, Unit};
use crate::sign::Sign;
use fsage_core::{Geometry, Layout, Space};

/// The metrics of this file.
pub const METRICS: &[&Metric] = &[
    &BLOCKS,
    &FRAGS,
    &FRAG_SHARE,
    &BYTES,
    &RUNS,
    &LARGEST_RUN_BYTES,
    &BYTES_IN_64K_RUNS,
    &BYTES_IN_1M_RUNS,
    &PLACEABLE_64K,
    &PLACEABLE_1M,
    &PLACEABLE_64M,
    &INODE_ROOM,
];

/// Free whole blocks.
pub static BLOCKS: Metric = Metric {
    generation: 0,
    ..Metric::count(
        "free_blocks",
        "free whole blocks",
        Unit::Number("blocks"),
        Section::FreeSpace,
        "Free whole blocks.",
        |m| Some(m.free.as_ref()?.blocks),
    )
};

/// Free fragments outside of free whole blocks.
pub static FRAGS: Metric = Metric {
    generation: 0,
    ..Metric::count(
        "free_frags",
        "free fragments",
        Unit::Number("fragments"),
        Section::FreeSpace,
        "Free fragments outside of free whole blocks.",
        |m| Some(m.free.as_ref()?.frags),
    )
};

/// Free fragments as a share of free space.
pub static FRAG_SHARE: Metric = Metric {
    better: Better::Lower,
    generation: 0,
    ..Metric::real(
        "free_frag_share",
        "free space in fragments",
        Unit::Share,
        Section::FreeSpace,
        "Free fragments outside of free whole blocks, as a share of free space.",
        |m| Some(m.free.as_ref()?.fragment_share(&m.geometry)),
    )
};

/// All free bytes.
pub static BYTES: Metric = Metric {
    has_control: true,
    generation: 0,
    ..Metric::count(
        "free_bytes",
        "free bytes",
        Unit::Bytes,
        Section::FreeSpace,
        "All free bytes.",
        |m| Some(m.free.as_ref()?.bytes),
    )
};

/// Maximal runs of free space.
pub static RUNS: Metric = Metric {
    better: Better::Lower,
    has_control: true,
    generation: 0,
    ..Metric::count(
        "free_runs",
        "free runs",
        Unit::Number("runs"),
        Section::FreeSpace,
        "Maximal runs of free space: the fewer they are for the same free bytes, the better large files can be \
         placed.",
        |m| Some(m.free.as_ref()?.runs),
    )
};

/// The longest run of free space.
pub static LARGEST_RUN_BYTES: Metric = Metric {
    better: Better::Higher,
    has_control: true,
    generation: 0,
    ..Metric::count(
        "largest_free_run_bytes",
        "longest run",
        Unit::Bytes,
        Section::FreeSpace,
        "The longest run of free space: no file can have a longer piece.",
        |m| Some(m.free.as_ref()?.largest_run_bytes),
    )
};

/// Free bytes in runs of at least 64 KiB.
pub static BYTES_IN_64K_RUNS: Metric = Metric {
    better: Better::Higher,
    generation: 0,
    ..Metric::count(
        "free_bytes_in_64k_runs",
        "free in runs of 64 KiB or more",
        Unit::Bytes,
        Section::FreeSpace,
        "Free bytes in runs of at least 64 KiB.",
        |m| Some(m.free.as_ref()?.bytes_in_64k_runs),
    )
};

/// Free bytes in runs of at least 1 MiB.
pub static BYTES_IN_1M_RUNS: Metric = Metric {
    better: Better::Higher,
    generation: 0,
    ..Metric::count(
        "free_bytes_in_1m_runs",
        "free in runs of 1 MiB or more",
        Unit::Bytes,
        Section::FreeSpace,
        "Free bytes in runs of at least 1 MiB.",
        |m| Some(m.free.as_ref()?.bytes_in_1m_runs),
    )
};

/// Extents of 64 KiB that could still be placed.
pub static PLACEABLE_64K: Metric = Metric {
    better: Better::Higher,
    has_control: true,
    generation: 1,
    ..Metric::count(
        "placeable_64k",
        "room for extents of 64 KiB",
        Unit::Number("extents"),
        Section::FreeSpace,
        "How many extents of 64 KiB could still be placed: over all runs of free space, how often it fits.",
        |m| Some(m.free.as_ref()?.placeable_64k),
    )
};

/// Extents of 1 MiB that could still be placed.
pub static PLACEABLE_1M: Metric = Metric {
    better: Better::Higher,
    has_control: true,
    generation: 1,
    ..Metric::count(
        "placeable_1m",
        "room for extents of 1 MiB",
        Unit::Number("extents"),
        Section::FreeSpace,
        "How many extents of 1 MiB could still be placed: over all runs of free space, how often it fits.",
        |m| Some(m.free.as_ref()?.placeable_1m),
    )
};

/// Extents of 64 MiB that could still be placed.
pub static PLACEABLE_64M: Metric = Metric {
    better: Better::Higher,
    has_control: true,
    generation: 1,
    ..Metric::count(
        "placeable_64m",
        "room for extents of 64 MiB",
        Unit::Number("extents"),
        Section::FreeSpace,
        "How many extents of 64 MiB could still be placed: over all runs of free space, how often it fits.",
        |m| Some(m.free.as_ref()?.placeable_64m),
    )
};

/// Chunks of inodes that could still be placed, or free inodes.
pub static INODE_ROOM: Metric = Metric {
    better: Better::Higher,
    generation: 2,
    ..Metric::count(
        "inode_room",
        "room for inodes or chunks of them",
        Unit::Number("inodes or chunks"),
        Section::FreeSpace,
        "Whether new inodes can be made: where inodes are made in chunks, as in XFS, how many chunks fit, aligned as \
         XFS asks for wherever a run of free space begins, and where all are made with the file system, how many are \
         free.",
        |m| m.free.as_ref()?.inode_room,
    )
};

const KIB_64: u64 = 64 << 10;
const MIB: u64 = 1 << 20;
const MIB_64: u64 = 64 << 20;

/// Free space by kind and by length of its runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FreeSpace {
    /// Free whole blocks.
    pub blocks: u64,
    /// Free fragments outside free blocks; 0 where there are no fragments.
    pub frags: u64,
    /// All free bytes.
    pub bytes: u64,
    /// Maximal runs of free space.
    pub runs: u64,
    /// The longest run.
    pub largest_run_bytes: u64,
    /// Free bytes in runs of at least 64 KiB.
    pub bytes_in_64k_runs: u64,
    /// Free bytes in runs of at least 1 MiB.
    pub bytes_in_1m_runs: u64,
    /// The runs by length.
    pub classes: [RunClass; FreeSpace::CLASSES],
    /// Extents of 64 KiB that could be placed.
    pub placeable_64k: u64,
    /// Extents of 1 MiB that could be placed.
    pub placeable_1m: u64,
    /// Extents of 64 MiB that could be placed.
    pub placeable_64m: u64,
    /// Chunks of inodes that could be placed, or free inodes; `None` where neither is known.
    pub inode_room: Option<u64>,
}

/// Runs of free space of one class of lengths, which ends where the next one begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunClass {
    /// Runs.
    pub runs: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl FreeSpace {
    /// Number of classes of runs.
    pub const CLASSES: usize = 16;
    const FIRST_CLASS_LOG2: u32 = 12;

    /// Shortest run of a class.
    pub fn class_min_bytes(class: usize) -> u64 {
        match class {
            0 => 0,
            _ => 1 << (Self::FIRST_CLASS_LOG2 as usize + class - 1),
        }
    }

    /// Measures the free space of a layout; `None` where it is not known.
    pub fn of(layout: &(impl Layout + ?Sized), geometry: &Geometry) -> Option<FreeSpace> {
        let space = layout.space()?;
        let mut free = FreeSpace::default();
        let mut chunks = 0_u64;
        layout.visit_free(&mut |run| {
            free.count(run.length_bytes, Sign::Add);
            free.largest_run_bytes = free.largest_run_bytes.max(run.length_bytes);
            chunks = chunks.saturating_add(geometry.inode_chunks_in(run.length_bytes));
        });
        free.set_space(space, geometry);
        if geometry.inode_chunk_bytes > 0 {
            free.inode_room = Some(chunks);
        }
        Some(free)
    }

    /// Sets what follows from the counts of free blocks, fragments and inodes.
    fn set_space(&mut self, space: Space, geometry: &Geometry) {
        let bytes = |n: u64, of: u32| n.saturating_mul(u64::from(of));
        self.blocks = space.free_blocks;
        self.frags = space.free_frags;
        // A snapshot may say anything.
        self.bytes = bytes(space.free_blocks, geometry.block_bytes)
            .saturating_add(bytes(space.free_frags, geometry.frag_bytes));
        self.inode_room = (geometry.inodes_total > 0).then_some(space.free_inodes);
    }

    /// Counts a run, or takes it back, in all that is a sum over runs.
    fn count(&mut self, length: u64, sign: Sign) {
        let class =
            (length.checked_ilog2().unwrap_or(0) + 1).saturating_sub(Self::FIRST_CLASS_LOG2);
        let class = &mut self.classes[(class as usize).min(Self::CLASSES - 1)];
        sign.apply(&mut class.runs, 1);
        sign.apply(&mut class.bytes, length);
        sign.apply(&mut self.runs, 1);
        if length >= KIB_64 {
            sign.apply(&mut self.bytes_in_64k_runs, length);
            sign.apply(&mut self.placeable_64k, length / KIB_64);
        }
        if length >= MIB {
            sign.apply(&mut self.bytes_in_1m_runs, length);
            sign.apply(&mut self.placeable_1m, length / MIB);
            sign.apply(&mut self.placeable_64m, length / MIB_64);
        }
    }

    /// Free fragments as a share of all free space; 0 where nothing is free.
    pub fn fragment_share(&self, geometry: &Geometry) -> f64 {
        if self.bytes == 0 {
            return 0.0;
        }
        self.frags as f64 * f64::from(geometry.frag_bytes) / self.bytes as f64
    }

    /// Share of the data space in use, the reserve counted as free; `None` where the data space is unknown.
    pub fn utilization(&self, geometry: &Geometry) -> Option<f64> {
        let data = geometry.data_bytes.filter(|&bytes| bytes > 0)?;
        Some(data.saturating_sub(self.bytes) as f64 / data as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout_score::tests::geometry;
    use fsage_core::{LayoutInMemory, Run};

    const K: u64 = 1024;

    fn free(lengths: &[u64], geometry: Geometry) -> FreeSpace {
        let mut start_bytes = 0;
        let runs = lengths.iter().map(|&length_bytes| {
            start_bytes += 1 << 40;
            Run {
                start_bytes,
                length_bytes,
            }
        });
        let layout = LayoutInMemory {
            space: Some(Space {
                free_blocks: 7,
                free_frags: 1,
                free_inodes: 3,
            }),
            inodes: Vec::new(),
            names: Vec::new(),
            free: Some(runs.collect()),
            geometry,
        };
        FreeSpace::of(&layout, &layout.geometry).unwrap()
    }

    #[test]
    fn runs_fall_into_classes_that_double() {
        let lengths = [K, 4 * K, 8 * K - 1, 8 * K, 64 * K, 64 << 20, 1 << 40];
        let space = free(&lengths, geometry());
        let runs: Vec<u64> = space.classes.iter().map(|class| class.runs).collect();
        assert_eq!(runs, [1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!(space.classes[1].bytes, 12 * K - 1);
        for (class, bytes) in [(0, 0), (1, 4 * K), (5, 64 * K), (15, 64 << 20)] {
            assert_eq!(FreeSpace::class_min_bytes(class), bytes);
        }
    }

    /// 63 KiB hold none of 64 KiB, 129 KiB two, 1.5 MiB twenty-four and one of 1 MiB, 130 MiB two of 64 MiB.
    #[test]
    fn what_could_still_be_placed() {
        let lengths = [63 * K, 129 * K, 1536 * K, 130 << 20];
        let space = free(&lengths, geometry());
        assert_eq!(space.placeable_64k, 2 + 24 + 130 * 16);
        assert_eq!((space.placeable_1m, space.placeable_64m), (131, 2));
        assert_eq!(space.inode_room, Some(3), "static inodes: those free");
        let chunked = Geometry {
            inode_chunk_bytes: 32 << 10,
            ..geometry()
        };
        // Blocks of 8 KiB: 40 KiB hold one wherever they begin, 104 KiB three.
        let lengths = [32 * K, 39 * K, 40 * K, 103 * K, 104 * K];
        assert_eq!(free(&lengths, chunked).inode_room, Some(1 + 2 + 3));
        let unknown = Geometry {
            inodes_total: 0,
            ..geometry()
        };
        assert_eq!(free(&[64 * K], unknown).inode_room, None);
    }
}
