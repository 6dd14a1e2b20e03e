//! What a look at the structures on disk shows: trees with their blocks, the free list, inodes, extents.

use super::Xfs;
use super::btree::{Record, Tree};
use super::inode::Extent;
use super::owners::Kind;
use fsage_core::operations::ROOT;
use fsage_core::{DirId, FileId};

/// The blocks of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeReport {
    /// The block of the root.
    pub root: u32,
    /// Levels, that of the root included.
    pub levels: u32,
    /// Leaves from left to right: block, and number of records.
    pub leaves: Vec<(u32, usize)>,
    /// Blocks above them, the lowest level first: level, block, entries.
    pub nodes: Vec<(u32, u32, usize)>,
}

/// A chunk of inodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InodeChunk {
    /// Its first inode in the AG.
    pub first: u32,
    /// A bit for four inodes that are missing.
    pub holes: u16,
    /// Inodes that it has.
    pub count: u32,
    /// Inodes that are free.
    pub free_count: u32,
    /// A bit for each free inode.
    pub free: u64,
}

/// Blocks with one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedBlocks {
    /// First block in the AG.
    pub start: u32,
    /// Length.
    pub blocks: u32,
    /// An inode, or a negative number for metadata.
    pub owner: i64,
    /// Block of the file.
    pub offset: u32,
    /// They were not written.
    pub is_unwritten: bool,
    /// A block of an extent tree.
    pub is_tree: bool,
}

/// An allocation group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgReport {
    /// Runs of free blocks: start and length.
    pub free: Vec<(u32, u32)>,
    /// The free list from its front.
    pub list: Vec<u32>,
    /// Free space by start.
    pub by_start: TreeReport,
    /// Free space by length.
    pub by_length: TreeReport,
    /// Chunks of inodes.
    pub inodes: TreeReport,
    /// Chunks with free inodes, where there is such a tree.
    pub free_inodes: Option<TreeReport>,
    /// Owners, where there is such a tree.
    pub owners: Option<TreeReport>,
    /// What stands in that tree.
    pub owned: Vec<OwnedBlocks>,
    /// What stands in the tree of inodes.
    pub chunks: Vec<InodeChunk>,
    /// First inode of the chunk that was made last.
    pub newest_chunk: Option<u32>,
}

impl TreeReport {
    fn of<R: Record<Block = u32>>(tree: &Tree<R>) -> TreeReport {
        let levels = tree.levels();
        let above = (1..levels).flat_map(|level| {
            let blocks = tree.level(level as usize);
            blocks.map(move |(block, entries)| (level, block, entries))
        });
        TreeReport {
            root: tree.root_block(),
            levels,
            leaves: tree.level(0).collect(),
            nodes: above.collect(),
        }
    }
}

impl Xfs {
    /// What stands on disk in an AG.
    ///
    /// # Panics
    /// If there is no such AG.
    pub fn ag_report(&self, ag: u32) -> AgReport {
        let (of, inodes) = (&self.space.ags[ag as usize], &self.chunks[ag as usize]);
        let chunks = inodes.chunks.iter().map(|chunk| InodeChunk {
            first: chunk.first,
            holes: chunk.holes,
            count: chunk.count(),
            free_count: chunk.free_count(),
            free: chunk.free,
        });
        let owned = of
            .owners
            .iter()
            .flat_map(Tree::iter)
            .map(|owned| OwnedBlocks {
                start: owned.start,
                blocks: owned.blocks,
                owner: owned.owner,
                offset: owned.offset,
                is_unwritten: owned.kind == Kind::Unwritten,
                is_tree: owned.kind == Kind::Tree,
            });
        AgReport {
            free: of
                .by_start
                .iter()
                .map(|run| (run.start, run.blocks))
                .collect(),
            list: of.list.iter().copied().collect(),
            by_start: TreeReport::of(&of.by_start),
            by_length: TreeReport::of(&of.by_length),
            inodes: TreeReport::of(&inodes.chunks),
            free_inodes: inodes.with_free.as_ref().map(TreeReport::of),
            owners: of.owners.as_ref().map(TreeReport::of),
            owned: owned.collect(),
            chunks: chunks.collect(),
            newest_chunk: inodes.newest,
        }
    }

    /// Blocks that `statfs` calls free.
    pub fn free_blocks(&self) -> u64 {
        self.space.free_blocks()
    }

    /// Extents of a file.
    pub fn extents(&self, file: FileId) -> Option<&[Extent]> {
        let slot = self.inode_of(self.names.find(file)?);
        Some(&self.inodes[slot as usize].extents)
    }

    /// Extents of a directory.
    pub fn directory_extents(&self, dir: DirId) -> Option<&[Extent]> {
        let slot = self.dirs[self.dir_ids.get(dir)? as usize].inode;
        Some(&self.inodes[slot as usize].extents)
    }

    /// Extents of the root.
    pub fn root_extents(&self) -> &[Extent] {
        &self.inodes[self.dirs[ROOT as usize].inode as usize].extents
    }

    /// The block at which an extent begins, counted from the start of the device; `None` without a place.
    pub fn start_of(&self, extent: &Extent) -> Option<u64> {
        extent
            .is_real()
            .then(|| self.geometry.absolute(extent.start()))
    }
}
