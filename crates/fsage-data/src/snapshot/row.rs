//! Rows of the inode table.

use fsage_core::{Extent, FileKind};

/// Whether a file holds whole snapshots or what changed between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Every inode of every snapshot.
    Full,
    /// The first snapshot, then only rows that changed and tombstones (snapshot format, section 2.5).
    Delta,
}

impl Form {
    /// The word of the key-value metadata `fsage.form`.
    pub fn as_str(self) -> &'static str {
        match self {
            Form::Full => "full",
            Form::Delta => "delta",
        }
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
