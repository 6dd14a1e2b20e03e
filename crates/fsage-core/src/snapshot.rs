//! What a snapshot of a file system holds, and the streams that carry snapshots.
//!
//! A snapshot is the metadata of one file system at one moment; a series of them, mostly nightly, is what an
//! aging workload is learned from. Importers give snapshots to a [`SnapshotSink`]; generators take them, as
//! what changed from one to the next, from a [`SnapshotSource`].

use crate::event::SinkError;
use crate::layout::{Extent, FileKind, FileView, Geometry, Space};

/// One snapshot. `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Number of the snapshot; increases with time.
    pub snap_id: u32,
    /// Start of the walk, ns since 1970 UTC.
    pub taken_at_ns: i64,
    /// Duration of the walk.
    pub walk_ns: Option<u64>,
    /// The machine.
    pub host: Option<String>,
    /// `walk`, `ext-image`, `model`, `replay`, `fs-hasher`, `find` or `gufi`.
    pub source: String,
    /// Type of the file system.
    pub fs_type: Option<String>,
    /// Its UUID.
    pub fs_uuid: Option<String>,
    /// Block size.
    pub block_bytes: Option<u32>,
    /// Fragment size; `None` where there are no fragments.
    pub frag_bytes: Option<u32>,
    /// Size of the file system.
    pub size_bytes: Option<u64>,
    /// Free space, the reserve included.
    pub free_bytes: Option<u64>,
    /// Held back for the superuser.
    pub reserved_bytes: Option<u64>,
    /// Inodes in all.
    pub inodes_total: Option<u64>,
    /// Free inodes.
    pub inodes_free: Option<u64>,
    /// Cylinder or block groups.
    pub group_count: Option<u32>,
    /// Blocks from one group to the next.
    pub blocks_per_group: Option<u32>,
    /// Inodes per group.
    pub inodes_per_group: Option<u32>,
    /// Number of the first inode: 0 on FFS, 1 on ext2/3/4.
    pub first_ino: Option<u32>,
    /// Length of a chunk of inodes, where they are made in chunks.
    pub inode_chunk_bytes: Option<u32>,
    /// What wrote the snapshot.
    pub tool_version: Option<String>,
    /// What is left for data when all fixed metadata are taken off.
    pub data_bytes: Option<u64>,
    /// Free whole blocks.
    pub free_blocks: Option<u64>,
    /// Free fragments outside free blocks.
    pub free_frags: Option<u64>,
}

impl SnapshotInfo {
    /// Takes over what a layout says of its sizes.
    #[must_use]
    pub fn with_layout(mut self, geometry: &Geometry, space: Option<&Space>) -> SnapshotInfo {
        let known = |n: u64| (n > 0).then_some(n);
        let block = u64::from(geometry.block_bytes);
        let frag = u64::from(geometry.frag_bytes);
        self.fs_type = Some(geometry.fs_type.clone());
        self.block_bytes = Some(geometry.block_bytes);
        self.frag_bytes = (frag != block).then_some(geometry.frag_bytes);
        self.size_bytes = Some(geometry.size_bytes);
        self.reserved_bytes = Some(geometry.reserved_bytes);
        self.inodes_total = known(geometry.inodes_total);
        if geometry.group_count > 0 {
            self.group_count = Some(geometry.group_count);
            let blocks = geometry.group_bytes.checked_div(block).and_then(known);
            self.blocks_per_group = blocks.and_then(|n| u32::try_from(n).ok());
            self.inodes_per_group = Some(geometry.inodes_per_group);
            self.first_ino = Some(geometry.first_ino);
        }
        let chunk = geometry.inode_chunk_bytes;
        self.inode_chunk_bytes = (chunk > 0).then_some(chunk);
        self.data_bytes = geometry.data_bytes;
        if let Some(space) = space {
            let blocks = space.free_blocks.saturating_mul(block);
            let frags = space.free_frags.saturating_mul(frag);
            self.free_bytes = Some(blocks.saturating_add(frags));
            self.inodes_free = self.inodes_total.and(Some(space.free_inodes));
            self.free_blocks = Some(space.free_blocks);
            self.free_frags = Some(space.free_frags);
        }
        self
    }

    /// The geometry that this row says; 0 for what is not known.
    pub fn geometry(&self) -> Geometry {
        let block_bytes = self.block_bytes.unwrap_or(0);
        let blocks_per_group = u64::from(self.blocks_per_group.unwrap_or(0));
        Geometry {
            fs_type: self.fs_type.clone().unwrap_or_else(|| "unknown".to_owned()),
            size_bytes: self.size_bytes.unwrap_or(0),
            data_bytes: self.data_bytes,
            reserved_bytes: self.reserved_bytes.unwrap_or(0),
            block_bytes,
            frag_bytes: self.frag_bytes.unwrap_or(block_bytes),
            inodes_total: self.inodes_total.unwrap_or(0),
            group_count: self.group_count.unwrap_or(0),
            group_bytes: blocks_per_group * u64::from(block_bytes),
            inodes_per_group: self.inodes_per_group.unwrap_or(0),
            first_ino: self.first_ino.unwrap_or(0),
            inode_chunk_bytes: self.inode_chunk_bytes.unwrap_or(0),
        }
    }

    /// The free space that this row says; `None` if it does not. Where kinds are not told apart, as many whole
    /// blocks as fit.
    pub fn space(&self) -> Option<Space> {
        self.free_bytes.or(self.free_blocks)?;
        let block = u64::from(self.block_bytes.unwrap_or(0));
        let frag = u64::from(self.frag_bytes.unwrap_or(0));
        let free = self.free_bytes.unwrap_or(0);
        let rest = free.checked_rem(block).unwrap_or(0);
        Some(Space {
            free_blocks: self.free_blocks.or(free.checked_div(block)).unwrap_or(0),
            free_frags: self.free_frags.or(rest.checked_div(frag)).unwrap_or(0),
            free_inodes: self.inodes_free.unwrap_or(0),
        })
    }
}

/// Bits of [`Inode::source_flags`].
pub mod source_flags {
    /// `generation` identifies an incarnation of the inode.
    pub const GEN_VALID: u32 = 0x01;
    /// Some data had no block yet.
    pub const DELALLOC: u32 = 0x02;
    /// Data lies inside the inode or the metadata tree.
    pub const INLINE: u32 = 0x04;
    /// An extent is shared with another file.
    pub const SHARED: u32 = 0x08;
    /// Preallocated, never written extents are present.
    pub const UNWRITTEN: u32 = 0x10;
    /// Blocks could not be read.
    pub const UNREADABLE: u32 = 0x20;
    /// The inode changed after the walk started.
    pub const CHANGED_DURING_WALK: u32 = 0x40;
    /// The inode number was made up by an importer.
    pub const INO_SYNTHETIC: u32 = 0x80;
}

/// One inode of a snapshot. Times are nanoseconds since 1970 UTC; `None` is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Inode {
    pub ino: u64,
    pub generation: Option<u32>,
    pub kind: FileKind,
    pub size_bytes: u64,
    /// 512 x `st_blocks`.
    pub alloc_bytes: Option<u64>,
    pub ctime_ns: Option<i64>,
    pub mtime_ns: Option<i64>,
    pub btime_ns: Option<i64>,
    pub links: Option<u32>,
    /// `st_mode`, with the type bits.
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub parent_ino: Option<u64>,
    /// Path from the root, without a leading `/`, escaped as by [`crate::names::escape`]; the root is `.`.
    pub path: Option<Box<str>>,
    /// `None` = not collected; empty = no blocks.
    pub extents: Option<Box<[Extent]>>,
    /// Bits of [`source_flags`].
    pub source_flags: u32,
}

impl Inode {
    /// An inode of which only this is known.
    pub fn new(ino: u64, generation: Option<u32>, kind: FileKind, size_bytes: u64) -> Inode {
        Inode {
            ino,
            generation,
            kind,
            size_bytes,
            alloc_bytes: None,
            ctime_ns: None,
            mtime_ns: None,
            btime_ns: None,
            links: None,
            mode: None,
            uid: None,
            gid: None,
            parent_ino: None,
            path: None,
            extents: None,
            source_flags: 0,
        }
    }

    /// The inode as a metric sees it.
    pub fn view(&self) -> FileView<'_> {
        FileView {
            ino: self.ino,
            generation: self.generation,
            parent_ino: self.parent_ino,
            kind: self.kind,
            links: self.links.unwrap_or(1),
            size_bytes: self.size_bytes,
            alloc_bytes: self.alloc_bytes,
            extents: self.extents.as_deref(),
            path: self.path.as_deref(),
            source_flags: self.source_flags,
        }
    }
}

/// One row of an inode table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotRow {
    /// The inode is there; in delta form: it is new or changed.
    Present(Inode),
    /// Delta form: the inode of the snapshot before is gone.
    Gone {
        /// Its number.
        ino: u64,
        /// Its generation.
        generation: Option<u32>,
    },
}

impl SnapshotRow {
    /// Number and generation of the inode: the key that rows are sorted by inside a snapshot.
    pub fn key(&self) -> (u64, Option<u32>) {
        match self {
            SnapshotRow::Present(inode) => (inode.ino, inode.generation),
            SnapshotRow::Gone { ino, generation } => (*ino, *generation),
        }
    }
}

/// A further name of an inode that has several: one row of the table `names`. The first name is
/// [`Inode::path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FurtherName {
    /// The inode.
    pub ino: u64,
    /// Its generation.
    pub generation: Option<u32>,
    /// Inode of the directory that holds the name.
    pub parent_ino: u64,
    /// The name in the directory, escaped as by [`crate::names::escape`].
    pub name: Box<str>,
}

/// Takes snapshots, one after another.
pub trait SnapshotSink {
    /// Starts the next snapshot. Numbers (`snap_id`) go up.
    ///
    /// # Errors
    /// Whatever the sink may fail with; the caller stops.
    fn snapshot(&mut self, info: SnapshotInfo) -> Result<(), SinkError>;

    /// Takes an inode of the snapshot that was started last. Inodes come in any order; one that comes again
    /// with the same number and generation under another path is a hard link.
    ///
    /// # Errors
    /// As for [`SnapshotSink::snapshot`].
    fn inode(&mut self, inode: Inode) -> Result<(), SinkError>;
}

/// What changed from one snapshot to the next; of the first, all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotChanges {
    /// The later snapshot.
    pub info: SnapshotInfo,
    /// Ascending by (inode, generation): what is new or differs in any column, and what is gone.
    pub rows: Vec<SnapshotRow>,
    /// All further names of inodes at that time, sorted; `None` where they were not collected.
    pub names: Option<Vec<FurtherName>>,
}

impl SnapshotChanges {
    /// What changed from one snapshot to the next; both ascending by (inode, generation).
    pub fn between(before: &[Inode], after: &[Inode]) -> Vec<SnapshotRow> {
        let key = |inode: &Inode| (inode.ino, inode.generation);
        let gone = |inode: &Inode| SnapshotRow::Gone {
            ino: inode.ino,
            generation: inode.generation,
        };
        let mut rows = Vec::new();
        let mut before = before.iter().peekable();
        for inode in after {
            while let Some(old) = before.next_if(|old| key(old) < key(inode)) {
                rows.push(gone(old));
            }
            let same = before.next_if(|old| key(old) == key(inode));
            if same != Some(inode) {
                rows.push(SnapshotRow::Present(inode.clone()));
            }
        }
        rows.extend(before.map(gone));
        rows
    }
}

/// Gives the snapshots of a file system in order of time.
pub trait SnapshotSource {
    /// What the next snapshot changed; `None` at the end.
    ///
    /// # Errors
    /// Bad input, with the file and the row; or what reading may fail with.
    fn next_changes(&mut self) -> Result<Option<SnapshotChanges>, SinkError>;

    /// Bytes, rows or snapshots read of how many, for a progress bar; `None` if unknown.
    fn progress(&self) -> Option<(u64, u64)> {
        None
    }
}

/// Snapshots in memory, as what changed from one to the next.
#[derive(Clone, Debug, Default)]
pub struct SnapshotsInMemory {
    changes: Vec<SnapshotChanges>,
    last: Vec<Inode>,
    given: usize,
}

impl SnapshotsInMemory {
    /// Adds a snapshot. `inodes` ascend by (inode, generation).
    pub fn push(
        &mut self,
        info: SnapshotInfo,
        inodes: Vec<Inode>,
        names: Option<Vec<FurtherName>>,
    ) {
        let rows = SnapshotChanges::between(&self.last, &inodes);
        self.changes.push(SnapshotChanges { info, rows, names });
        self.last = inodes;
    }

    /// Starts again with the first snapshot.
    pub fn rewind(&mut self) {
        self.given = 0;
    }

    /// The inodes of the last snapshot.
    pub fn last(&self) -> &[Inode] {
        &self.last
    }
}

impl SnapshotSource for SnapshotsInMemory {
    fn next_changes(&mut self) -> Result<Option<SnapshotChanges>, SinkError> {
        let changes = self.changes.get(self.given).cloned();
        self.given += usize::from(changes.is_some());
        Ok(changes)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        Some((self.given as u64, self.changes.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_what_is_new_or_differs_and_what_is_gone() {
        let inode =
            |ino, generation, size| Inode::new(ino, Some(generation), FileKind::Regular, size);
        let before = [
            inode(1, 1, 0),
            inode(2, 1, 5),
            inode(3, 1, 7),
            inode(9, 1, 0),
        ];
        let after = [
            inode(1, 1, 0),
            inode(2, 1, 6),
            inode(3, 2, 7),
            inode(4, 1, 1),
        ];
        let gone = |ino| SnapshotRow::Gone {
            ino,
            generation: Some(1),
        };
        assert_eq!(
            SnapshotChanges::between(&before, &after),
            [
                SnapshotRow::Present(after[1].clone()),
                gone(3),
                SnapshotRow::Present(after[2].clone()),
                SnapshotRow::Present(after[3].clone()),
                gone(9),
            ]
        );
        assert_eq!(SnapshotChanges::between(&after, &after), []);
    }
}
