//! What directories hold, and how the files of a directory lie to each other: the statistics of Ganger and Kaashoek.
//!
//! They ask what would be gained by inodes that lie in directories and by files of a directory that lie together:
//!
//! **Sizes.** The share of files below each power of two.
//!
//! **Entries and inode blocks.** Of each directory the number of its entries, subdirectories included and `.` and `..`
//! not, and the number of distinct inode blocks that these entries' inodes lie in. An inode block is so many
//! consecutive inode numbers: 64 in a block of 8 KB with inodes of 128 bytes. Names over inode blocks, added up over
//! all directories, says how many names of a directory an inode block serves. A directory fits one block of 8 KB with
//! embedded inodes if it has at most 48 entries: three in each of 16 sectors.
//!
//! **Links.** The share of files that have names in several directories.
//!
//! **Adjacency.** In each of several orders of the entries, directories left out: a file is adjacent to the one before
//! if its first block follows the last block of that one, the first file of a directory if its first block follows the
//! directory's last one. Files without data on disk are passed over; a fragment counts as the block that it lies in.
//! By address, which is the best case, the first file has none before it.
//!
//! Source: Ganger and Kaashoek, "Embedded Inodes and Explicit Grouping" (USENIX 1997), section 2, figures 3 and 4.
//!
//! **Limits.** The order in which a directory lists its entries is in no snapshot; the caller tells it where he can
//! ask the file system. Inode numbers of XFS and btrfs name no inode blocks of that kind. Memory: some 50 bytes and its
//! name for each entry.

use crate::LayoutScore;
use crate::placed::{end_of, placed_data};
use fsage_core::{FileKind, FileView, Layout};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Entries with embedded inodes that a directory block of 8 KB holds: three in each of its 16 sectors.
pub const EMBEDDED_ENTRIES: u64 = 48;

/// Inodes in an inode block of 8 KB.
pub const INODES_PER_BLOCK: u64 = 64;

/// Statistics of the directories of a layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryStatistics {
    /// Regular files.
    pub files: u64,
    /// Files by the smallest power of two that is above their size in bytes.
    pub by_size: BTreeMap<u64, u64>,
    /// Directories that have entries or none.
    pub directories: u64,
    /// Directories by the number of their entries.
    pub by_entries: BTreeMap<u64, u64>,
    /// Directories by the number of distinct inode blocks of their entries.
    pub by_inode_blocks: BTreeMap<u64, u64>,
    /// Regular files that have names in several directories.
    pub linked_across: u64,
    /// Adjacency in the order in which directories list their entries; `None` where that is not known.
    pub listed: Option<Adjacency>,
    /// Adjacency in alphabetical order (by byte); `None` where names are not known.
    pub by_name: Option<Adjacency>,
    /// Adjacency in order of inode numbers.
    pub by_inode: Adjacency,
    /// Files that follow their predecessor in order of addresses.
    pub by_address: LayoutScore,
}

/// How files lie to each other in one order of the entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adjacency {
    /// Directories whose first file follows their last block.
    pub to_directory: LayoutScore,
    /// Files that follow the file before.
    pub to_predecessor: LayoutScore,
}

/// First and last block of a file or directory on disk.
#[derive(Clone, Copy, Debug)]
struct Blocks {
    first: u64,
    last: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    directory: u64,
    ino: u64,
    is_directory: bool,
    blocks: Option<Blocks>,
    name: Option<Box<str>>,
}

impl DirectoryStatistics {
    /// Statistics of a layout whose inode blocks hold `inodes_per_block` inodes. `listing` gives the inode numbers of a
    /// directory's entries in the order in which the file system lists them, or `None` where it cannot.
    pub fn of(
        layout: &(impl Layout + ?Sized),
        inodes_per_block: u64,
        listing: &mut dyn FnMut(&FileView<'_>) -> Option<Vec<u64>>,
    ) -> DirectoryStatistics {
        let mut statistics = DirectoryStatistics::default();
        let geometry = layout.geometry();
        let first_ino = u64::from(geometry.first_ino);
        let block_bytes = u64::from(geometry.block_bytes.max(1));
        let blocks_of = |file: &FileView<'_>| {
            let mut data = placed_data(file, &geometry);
            let first = data.next()?;
            let last = data.last().unwrap_or(first);
            Some(Blocks {
                first: first.physical_bytes / block_bytes,
                last: (end_of(&last) - 1) / block_bytes,
            })
        };
        let mut entries = Vec::new();
        let mut directories: BTreeMap<u64, Option<Blocks>> = BTreeMap::new();
        let mut listed: FxHashMap<(u64, u64), u64> = FxHashMap::default();
        let mut inodes: FxHashMap<u64, Option<Blocks>> = FxHashMap::default();
        layout.visit_files(&mut |file| {
            let blocks = blocks_of(file);
            if file.kind == FileKind::Regular {
                statistics.count_file(file.size_bytes);
            }
            let is_directory = file.kind == FileKind::Directory;
            if is_directory {
                directories.insert(file.ino, blocks);
                for (i, ino) in listing(file).into_iter().flatten().enumerate() {
                    listed.entry((file.ino, ino)).or_insert(i as u64);
                }
            }
            // Other names of a symbolic link or a device say nothing of files.
            if file.links > 1 && file.kind == FileKind::Regular {
                inodes.insert(file.ino, blocks);
            }
            if let Some(directory) = file.parent_ino.filter(|&parent| parent != file.ino) {
                entries.push(Entry {
                    directory,
                    ino: file.ino,
                    is_directory,
                    blocks,
                    name: file.name().map(Box::from),
                });
            }
        });
        layout.visit_further_names(&mut |further| {
            entries.push(Entry {
                directory: further.parent_ino,
                ino: further.ino,
                is_directory: false,
                blocks: inodes.get(&further.ino).copied().flatten(),
                name: Some(further.name.clone()),
            });
        });
        statistics.count_links(&entries, &inodes);
        statistics.count_directories(entries, &directories, &listed, |ino| {
            ino.saturating_sub(first_ino) / inodes_per_block.max(1)
        });
        statistics
    }

    fn count_file(&mut self, bytes: u64) {
        self.files += 1;
        let above = bytes
            .checked_add(1)
            .and_then(u64::checked_next_power_of_two);
        *self.by_size.entry(above.unwrap_or(u64::MAX)).or_default() += 1;
    }

    fn count_links(&mut self, entries: &[Entry], inodes: &FxHashMap<u64, Option<Blocks>>) {
        let mut homes: BTreeMap<u64, (u64, bool)> = BTreeMap::new();
        for entry in entries.iter().filter(|e| inodes.contains_key(&e.ino)) {
            let home = homes.entry(entry.ino).or_insert((entry.directory, false));
            home.1 |= home.0 != entry.directory;
        }
        self.linked_across = homes.values().filter(|(_, several)| *several).count() as u64;
    }

    fn count_directories(
        &mut self,
        mut entries: Vec<Entry>,
        directories: &BTreeMap<u64, Option<Blocks>>,
        listed: &FxHashMap<(u64, u64), u64>,
        inode_block: impl Fn(u64) -> u64,
    ) {
        entries.sort_by_key(|entry| entry.directory);
        let named = entries.iter().all(|entry| entry.name.is_some());
        let mut by_name = Adjacency::default();
        let mut in_listing = Adjacency::default();
        let mut seen = 0;
        let mut blocks = Vec::new();
        for siblings in entries.chunk_by_mut(|a, b| a.directory == b.directory) {
            seen += u64::from(directories.contains_key(&siblings[0].directory));
            *self.by_entries.entry(siblings.len() as u64).or_default() += 1;
            blocks.clear();
            blocks.extend(siblings.iter().map(|entry| inode_block(entry.ino)));
            blocks.sort_unstable();
            blocks.dedup();
            *self.by_inode_blocks.entry(blocks.len() as u64).or_default() += 1;
            let own = directories.get(&siblings[0].directory).copied().flatten();
            if !listed.is_empty() {
                let place = |e: &Entry| listed.get(&(e.directory, e.ino)).copied();
                siblings.sort_by_key(|entry| place(entry).unwrap_or(u64::MAX));
                in_listing.add(own, siblings);
            }
            if named {
                siblings.sort_by(|a, b| a.name.cmp(&b.name));
                by_name.add(own, siblings);
            }
            siblings.sort_by_key(|entry| entry.ino);
            self.by_inode.add(own, siblings);
            siblings.sort_by_key(|entry| entry.blocks.map(|blocks| blocks.first));
            let mut best = Adjacency::default();
            best.add(None, siblings);
            self.by_address += best.to_predecessor;
        }
        let empty = (directories.len() as u64).saturating_sub(seen);
        if empty > 0 {
            *self.by_entries.entry(0).or_default() += empty;
            *self.by_inode_blocks.entry(0).or_default() += empty;
        }
        self.directories = self.by_entries.values().sum();
        self.by_name = named.then_some(by_name);
        self.listed = (!listed.is_empty()).then_some(in_listing);
    }
}

impl DirectoryStatistics {
    /// Share of files smaller than `bytes`, a power of two; 0 if there are none.
    pub fn share_below(&self, bytes: u64) -> f64 {
        share(
            self.by_size.range(..=bytes).map(|(_, n)| n).sum(),
            self.files,
        )
    }

    /// Share of directories with at most so many entries.
    pub fn share_with_entries(&self, at_most: u64) -> f64 {
        let few = self.by_entries.range(..=at_most).map(|(_, n)| n).sum();
        share(few, self.directories)
    }

    /// Entries of all directories over the inode blocks that they need, each directory's counted for itself; `None`
    /// without entries.
    pub fn names_per_inode_block(&self) -> Option<f64> {
        let blocks = total(&self.by_inode_blocks);
        (blocks > 0).then(|| total(&self.by_entries) as f64 / blocks as f64)
    }

    /// Share of files with names in several directories.
    pub fn share_linked_across(&self) -> f64 {
        share(self.linked_across, self.files)
    }
}

/// The sum of all values of a histogram.
fn total(histogram: &BTreeMap<u64, u64>) -> u64 {
    histogram.iter().map(|(value, count)| value * count).sum()
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 {
        0.0
    } else {
        part as f64 / of as f64
    }
}

impl Adjacency {
    /// Adds the files of a directory whose own blocks are these, in the order of its entries.
    fn add(&mut self, own: Option<Blocks>, entries: &[Entry]) {
        let files = entries.iter().filter(|entry| !entry.is_directory);
        let mut files = files.filter_map(|entry| entry.blocks);
        let Some(mut before) = files.next() else {
            return;
        };
        if let Some(own) = own {
            self.to_directory += step(own, before);
        }
        for file in files {
            self.to_predecessor += step(before, file);
            before = file;
        }
    }
}

fn step(before: Blocks, after: Blocks) -> LayoutScore {
    LayoutScore {
        optimal: u64::from(after.first == before.last + 1),
        scored: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout_score::tests::{extent, geometry};
    use fsage_core::snapshot::{FurtherName, Inode};
    use fsage_core::{Extent, LayoutInMemory};

    const K: u64 = 1024;

    fn inode(ino: u64, parent: u64, path: &str, kind: FileKind, extents: &[Extent]) -> Inode {
        let size = extents.iter().map(|e| e.length_bytes).sum();
        Inode {
            parent_ino: Some(parent),
            path: Some(path.into()),
            extents: Some(extents.into()),
            ..Inode::new(ino, None, kind, size)
        }
    }

    /// Blocks of 8 KiB. Directory `d` (inode 4, block 10) holds by name `a` (inode 70: block 13), `b` (inode 5: blocks
    /// 11 and 12), `c` (inode 6: block 14), an empty file `e` and a directory `s`. `c` is also `z` in the root.
    fn layout() -> LayoutInMemory {
        let at = |block: u64, blocks: u64| [extent(0, block * 8 * K, blocks * 8 * K)];
        let (f, d) = (FileKind::Regular, FileKind::Directory);
        let mut c = inode(6, 4, "d/c", f, &at(14, 1));
        c.links = Some(2);
        LayoutInMemory {
            geometry: geometry(),
            space: None,
            inodes: vec![
                inode(2, 2, ".", d, &at(1, 1)),
                inode(4, 2, "d", d, &at(10, 1)),
                inode(5, 4, "d/b", f, &at(11, 2)),
                c,
                inode(70, 4, "d/a", f, &at(13, 1)),
                inode(71, 4, "d/e", f, &[]),
                inode(72, 4, "d/s", d, &at(99, 1)),
            ],
            names: vec![FurtherName {
                ino: 6,
                generation: None,
                parent_ino: 2,
                name: "z".into(),
            }],
            free: None,
        }
    }

    fn score(optimal: u64, scored: u64) -> LayoutScore {
        LayoutScore { optimal, scored }
    }

    #[test]
    fn entries_inode_blocks_sizes_and_links_are_counted() {
        let statistics = DirectoryStatistics::of(&layout(), 64, &mut |_| None);
        // Root: d, z. d: a, b, c, e, s. s: nothing.
        assert_eq!(statistics.directories, 3);
        assert_eq!(
            statistics.by_entries,
            BTreeMap::from([(0, 1), (2, 1), (5, 1)])
        );
        // Inodes 4 and 6 of the root: one block; 5, 6, 70, 71, 72 of d: two.
        assert_eq!(
            statistics.by_inode_blocks,
            BTreeMap::from([(0, 1), (1, 1), (2, 1)])
        );
        assert_eq!(statistics.names_per_inode_block(), Some(7.0 / 3.0));
        // 0, 8 KiB, 8 KiB and 16 KiB: one is below 8 KiB, three are below 16 KiB.
        assert_eq!(statistics.files, 4);
        assert!((statistics.share_below(8 * K) - 0.25).abs() < 1e-12);
        assert!((statistics.share_below(16 * K) - 0.75).abs() < 1e-12);
        assert!((statistics.share_with_entries(4) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(statistics.linked_across, 1);
    }

    #[test]
    fn adjacency_depends_on_the_order_of_the_entries() {
        let mut listing = |file: &FileView<'_>| match file.ino {
            2 => Some(vec![6, 4]),
            4 => Some(vec![70, 6, 5]),
            _ => Some(Vec::new()),
        };
        let statistics = DirectoryStatistics::of(&layout(), 64, &mut listing);
        let adjacency = |directory, predecessor| Adjacency {
            to_directory: directory,
            to_predecessor: predecessor,
        };
        // By name: d at 10, a at 13, b at 11-12, c at 14. The root at 1, z at 14.
        assert_eq!(
            statistics.by_name,
            Some(adjacency(score(0, 2), score(0, 2)))
        );
        // By inode: d at 10, b at 11-12, c at 14, a at 13.
        assert_eq!(statistics.by_inode, adjacency(score(1, 2), score(0, 2)));
        // Listed: a at 13, c at 14, b at 11.
        assert_eq!(statistics.listed, Some(adjacency(score(0, 2), score(1, 2))));
        // By address: 11-12, 13, 14.
        assert_eq!(statistics.by_address, score(2, 2));
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut unnamed = layout();
        unnamed
            .inodes
            .iter_mut()
            .for_each(|inode| inode.path = None);
        let statistics = DirectoryStatistics::of(&unnamed, 64, &mut |_| None);
        assert_eq!((statistics.by_name, statistics.listed), (None, None));
        assert_eq!(statistics.by_inode.to_directory, score(1, 2));
        unnamed.inodes.clear();
        unnamed.names.clear();
        let nothing = DirectoryStatistics::of(&unnamed, 64, &mut |_| None);
        assert_eq!(nothing.names_per_inode_block(), None);
        assert_eq!(nothing.directories, 0);
    }
}
