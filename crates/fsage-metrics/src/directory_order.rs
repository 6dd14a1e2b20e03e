//! Directory order: how files lie to each other that are read one after the other.
//!
//! The order is that of a walk of the tree (see [`TreeOrder`]): directories depth first, entries by name, or by inode
//! number where names are not known. Files without data on disk are passed over.
//!
//! **Adjacency.** Of every two consecutive files of a directory, the share of pairs in which the second begins right
//! behind the end of the first. 1: a directory lies on disk as a listing reads it.
//!
//! **Dynamic layout score, approximated.** All blocks of all files in the order of the walk; the share of steps from
//! block to block that are contiguous, within files and between them. The dynamic layout score of Smith's thesis is
//! over the blocks that a disk was really asked for; this one assumes that everything is read once, in this order.
//!
//! **Locality.** Where there are groups: of the files of a directory, the share that begins in the group most of them
//! begin in; the mean over directories, weighted by files. And the median distance in bytes from the end of a file to
//! the start of the next one of its directory, in either direction; of an even number the lower of the two in the
//! middle.
//!
//! **Limits.** Addresses are taken as given: btrfs tells logical ones, so that distances mean nothing there. An inode
//! with several names counts at the first. Files outside the tree count to the dynamic score alone, behind all others.
//! Memory: 32 bytes a file and its name while it is computed.

mod kept;
mod median;
mod sequence;

pub(crate) use kept::KeptOrder;

use crate::LayoutScore;
use crate::metric::{Better, Metric, Section, Unit};
use crate::placed::{end_of, placed_data};
use fsage_core::tree_order::Step;
use fsage_core::{FileKind, FileView, Geometry, Layout, TreeOrder};

/// The metrics of this file.
pub const METRICS: &[&Metric] = &[&ADJACENCY, &DYNAMIC, &LOCALITY, &NEXT_FILE_BYTES];

/// Files that begin right behind the one before them in their directory.
pub static ADJACENCY: Metric = Metric {
    better: Better::Higher,
    has_control: true,
    generation: 1,
    ..Metric::real(
        "adjacency",
        "files right behind the one before",
        Unit::Share,
        Section::DirectoryOrder,
        "Of two files that follow each other in a directory, how often the second begins right behind the end of \
         the first.",
        |m| m.order.adjacent.share(),
    )
};

/// Share of contiguous steps over all blocks in the order of a walk.
pub static DYNAMIC: Metric = Metric {
    better: Better::Higher,
    has_control: true,
    generation: 1,
    ..Metric::real(
        "dynamic_layout_score",
        "dynamic layout score",
        Unit::Score,
        Section::DirectoryOrder,
        "The share of contiguous steps over all blocks when all files are read directory by directory, within files \
         and between them: it approximates what a disk is asked for by a backup.",
        |m| m.order.dynamic.share(),
    )
};

/// Files that begin in the group most files of their directory begin in.
pub static LOCALITY: Metric = Metric {
    better: Better::Higher,
    has_control: true,
    generation: 1,
    ..Metric::real(
        "directory_locality",
        "files in the main group of their directory",
        Unit::Share,
        Section::DirectoryOrder,
        "The share of files that begin in the group in which most files of their directory begin, where there are \
         groups.",
        |m| m.order.in_main_group?.share(),
    )
};

/// Median distance to the next file of the directory.
pub static NEXT_FILE_BYTES: Metric = Metric {
    better: Better::Lower,
    has_control: true,
    generation: 1,
    ..Metric::count(
        "next_file_bytes",
        "median distance to the next file",
        Unit::Bytes,
        Section::DirectoryOrder,
        "Median distance from the end of a file to the start of the next one of its directory, in either direction.",
        |m| m.order.next_file_bytes,
    )
};

/// Metrics of files in directory order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectoryOrder {
    /// Files right behind the one before, of those that have one before them in their directory.
    pub adjacent: LayoutScore,
    /// Blocks right behind the one before in the order of a walk, of all but the first.
    pub dynamic: LayoutScore,
    /// Files in the group that most files of their directory begin in, of all; `None` where there are no groups.
    pub in_main_group: Option<LayoutScore>,
    /// Median distance to the next file of the directory; `None` where there is none.
    pub next_file_bytes: Option<u64>,
}

/// Where the data of a file begin and end on disk.
#[derive(Clone, Copy, Debug)]
struct Ends {
    start: u64,
    end: u64,
}

impl Ends {
    fn of(file: &FileView<'_>, geometry: &Geometry) -> Option<Ends> {
        let mut data = placed_data(file, geometry);
        let first = data.next()?;
        let last = data.last().unwrap_or(first);
        Some(Ends {
            start: first.physical_bytes,
            end: end_of(&last),
        })
    }
}

impl DirectoryOrder {
    /// Measures a layout.
    pub fn of(layout: &(impl Layout + ?Sized)) -> DirectoryOrder {
        let geometry = layout.geometry();
        let mut within = LayoutScore::default();
        let tree = TreeOrder::of(layout, |file| {
            if file.kind != FileKind::Regular {
                return None;
            }
            let ends = Ends::of(file, &geometry)?;
            within += LayoutScore::of_file(file, &geometry);
            Some(ends)
        });
        let mut order = DirectoryOrder {
            dynamic: within,
            ..DirectoryOrder::default()
        };
        order.add_ways_between_files(&tree);
        order.add_directories(&tree, &geometry);
        order
    }

    fn add_ways_between_files(&mut self, tree: &TreeOrder<Ends>) {
        let mut before = None;
        let mut add = |file: &Ends| {
            if let Some(end) = before.replace(file.end) {
                self.dynamic += step(end == file.start);
            }
        };
        tree.walk(|step| {
            if let Step::File { what, .. } = step {
                add(what);
            }
        });
        tree.outside().iter().for_each(add);
    }

    fn add_directories(&mut self, tree: &TreeOrder<Ends>, geometry: &Geometry) {
        let mut in_main_group = LayoutScore::default();
        let mut distances = Vec::new();
        let mut groups = Vec::new();
        for files in tree.by_directory() {
            let mut before = None;
            groups.clear();
            for file in files {
                groups.extend(geometry.group_of_address(file.start));
                if let Some(end) = before.replace(file.end) {
                    self.adjacent += step(end == file.start);
                    distances.push(file.start.abs_diff(end));
                }
            }
            groups.sort_unstable();
            let most = groups.chunk_by(|a, b| a == b).map(<[u64]>::len).max();
            in_main_group += LayoutScore {
                optimal: most.unwrap_or(0) as u64,
                scored: groups.len() as u64,
            };
        }
        self.in_main_group = (geometry.group_bytes > 0).then_some(in_main_group);
        self.next_file_bytes = median(&mut distances);
    }
}

fn step(contiguous: bool) -> LayoutScore {
    LayoutScore {
        optimal: u64::from(contiguous),
        scored: 1,
    }
}

fn median(distances: &mut [u64]) -> Option<u64> {
    let middle = distances.len().checked_sub(1)? / 2;
    Some(*distances.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout_score::tests::{extent, geometry};
    use fsage_core::snapshot::Inode;
    use fsage_core::{Extent, LayoutInMemory};

    const K: u64 = 1024;

    fn inode(ino: u64, parent: u64, path: &str, kind: FileKind, extents: &[Extent]) -> Inode {
        let size = extents
            .last()
            .map_or(0, |e| e.logical_bytes + e.length_bytes);
        Inode {
            parent_ino: Some(parent),
            path: Some(path.into()),
            extents: Some(extents.into()),
            ..Inode::new(ino, None, kind, size)
        }
    }

    /// Blocks of 8 KiB, groups of 1 MiB. In the order of the walk:
    /// `a` blocks 0-1, `b/x` blocks 2, 10 (group 0), `b/y` block 130 (group 1), `b/z` blocks 11-12, `c` block 13;
    /// `empty` is passed over.
    fn layout() -> LayoutInMemory {
        let at = |block: u64, logical: u64, blocks: u64| {
            extent(logical * 8 * K, block * 8 * K, blocks * 8 * K)
        };
        let (f, d) = (FileKind::Regular, FileKind::Directory);
        LayoutInMemory {
            geometry: geometry(),
            space: None,
            inodes: vec![
                inode(2, 2, ".", d, &[]),
                inode(3, 2, "c", f, &[at(13, 0, 1)]),
                inode(4, 2, "b", d, &[at(100, 0, 1)]),
                inode(5, 4, "b/z", f, &[at(11, 0, 2)]),
                inode(6, 4, "b/y", f, &[at(130, 0, 1)]),
                inode(7, 4, "b/x", f, &[at(2, 0, 1), at(10, 1, 1)]),
                inode(8, 2, "a", f, &[at(0, 0, 2)]),
                inode(9, 2, "empty", f, &[]),
            ],
            names: Vec::new(),
            free: None,
        }
    }

    fn share(optimal: u64, scored: u64) -> LayoutScore {
        LayoutScore { optimal, scored }
    }

    #[test]
    fn files_are_measured_in_the_order_of_a_walk() {
        let order = DirectoryOrder::of(&layout());
        // Root: a -> c, not adjacent. b: x -> y, y -> z, neither.
        assert_eq!(order.adjacent, share(0, 3));
        // Blocks 0 1 2 10 130 11 12 13: of seven steps 0-1, 1-2, 11-12, 12-13.
        assert_eq!(order.dynamic, share(4, 7));
        // Root: both files in group 0. b: two of three.
        assert_eq!(order.in_main_group, Some(share(4, 5)));
        // a ends at 2, c starts at 13: 11 blocks; x -> y 119; y -> z 120.
        assert_eq!(order.next_file_bytes, Some(119 * 8 * K));
    }

    /// By inode number: root 3, 8, then 4 with 5, 6, 7.
    #[test]
    fn without_names_inode_numbers_are_the_order() {
        let mut layout = layout();
        layout.inodes.iter_mut().for_each(|inode| inode.path = None);
        let order = DirectoryOrder::of(&layout);
        // Blocks 13, 11 12, 130, 2 10, 0 1.
        assert_eq!(order.dynamic, share(2, 7));
        assert_eq!(order.adjacent, share(0, 3));
        // 3 -> 8: 14 blocks back; 5 -> 6: 117, 6 -> 7: 129 back.
        assert_eq!(order.next_file_bytes, Some(117 * 8 * K));
    }

    #[test]
    fn neighbors_are_adjacent_and_nothing_has_no_distance() {
        let mut layout = layout();
        layout.geometry.group_bytes = 0;
        layout
            .inodes
            .retain(|inode| ![5, 6, 7].contains(&inode.ino));
        layout.inodes[1].extents = Some([extent(0, 16 * K, 8 * K)].into());
        let order = DirectoryOrder::of(&layout);
        assert_eq!((order.adjacent, order.in_main_group), (share(1, 1), None));
        assert_eq!(order.next_file_bytes, Some(0));
        layout.inodes.truncate(1);
        assert_eq!(DirectoryOrder::of(&layout).next_file_bytes, None);
    }
}
