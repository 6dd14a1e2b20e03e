//! What a layout is: files, the extents they lie in, and what is free.
//!
//! A metric sees only this, so that one implementation serves a simulated file system, a snapshot of a real
//! one and a stored result alike.

use crate::log_usage::LogUsage;
use crate::snapshot::FurtherName;
use std::ops::Range;

/// A run of a file that is contiguous both in the file and on disk. Bytes, so that FFS fragments, 1 KB blocks
/// and 64 KB blocks need no second unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Where it starts in the file; [`Extent::POINTERS_AT`] for blocks that hold block pointers.
    pub logical_bytes: u64,
    /// Where it starts on disk.
    pub physical_bytes: u64,
    /// Its length.
    pub length_bytes: u64,
    /// FIEMAP flags without LAST and MERGED, and [`Extent::POINTERS`].
    pub flags: u32,
}

impl Extent {
    /// `logical_bytes` of indirect blocks and extent tree nodes, which lie nowhere in the file.
    pub const POINTERS_AT: u64 = u64::MAX;
    /// Flag of indirect blocks and extent tree nodes.
    pub const POINTERS: u32 = 0x8000_0000;
    /// FIEMAP: the data is there, its place is not known.
    pub const UNKNOWN: u32 = 0x2;
    /// FIEMAP: the data has no block yet.
    pub const DELALLOC: u32 = 0x4;
    /// FIEMAP: the data lies inside the inode or the metadata tree, not in blocks of its own.
    pub const INLINE: u32 = 0x200;
    /// FIEMAP: allocated, and never written.
    pub const UNWRITTEN: u32 = 0x800;
    /// FIEMAP: shared with another file.
    pub const SHARED: u32 = 0x2000;

    /// Whether it holds block pointers instead of data.
    pub fn is_pointers(&self) -> bool {
        self.flags & Self::POINTERS != 0
    }

    /// Whether it says where blocks of the file's data lie. Pointers, inline data and data without a block yet do
    /// not.
    pub fn is_placed_data(&self) -> bool {
        self.flags & (Self::POINTERS | Self::INLINE | Self::DELALLOC | Self::UNKNOWN) == 0
    }
}

/// What kind of file an inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FileKind {
    Regular,
    Directory,
    Symlink,
    Fifo,
    Socket,
    BlockDevice,
    CharDevice,
}

impl FileKind {
    /// One letter, as in snapshots and in `find -printf %y`.
    pub fn letter(self) -> char {
        match self {
            FileKind::Regular => 'f',
            FileKind::Directory => 'd',
            FileKind::Symlink => 'l',
            FileKind::Fifo => 'p',
            FileKind::Socket => 's',
            FileKind::BlockDevice => 'b',
            FileKind::CharDevice => 'c',
        }
    }

    /// The kind of that letter.
    pub fn from_letter(letter: &str) -> Option<FileKind> {
        Some(match letter {
            "f" => FileKind::Regular,
            "d" => FileKind::Directory,
            "l" => FileKind::Symlink,
            "p" => FileKind::Fifo,
            "s" => FileKind::Socket,
            "b" => FileKind::BlockDevice,
            "c" => FileKind::CharDevice,
            _ => return None,
        })
    }

    /// The bits of `st_mode` that say the kind, as in inode(7).
    pub const MODE_BITS: u32 = 0o170_000;

    /// The kind that the type bits of `st_mode` say; `None` where they are 0 or unknown.
    pub fn of_mode(mode: u32) -> Option<FileKind> {
        Some(match mode & FileKind::MODE_BITS {
            0o010_000 => FileKind::Fifo,
            0o020_000 => FileKind::CharDevice,
            0o040_000 => FileKind::Directory,
            0o060_000 => FileKind::BlockDevice,
            0o100_000 => FileKind::Regular,
            0o120_000 => FileKind::Symlink,
            0o140_000 => FileKind::Socket,
            _ => return None,
        })
    }

    /// Its type bits in `st_mode`.
    pub fn mode_bits(self) -> u32 {
        match self {
            FileKind::Fifo => 0o010_000,
            FileKind::CharDevice => 0o020_000,
            FileKind::Directory => 0o040_000,
            FileKind::BlockDevice => 0o060_000,
            FileKind::Regular => 0o100_000,
            FileKind::Symlink => 0o120_000,
            FileKind::Socket => 0o140_000,
        }
    }
}

/// One inode and where its blocks lie.
#[derive(Clone, Copy, Debug)]
pub struct FileView<'a> {
    /// Inode number.
    pub ino: u64,
    /// Inode generation, where there is one.
    pub generation: Option<u32>,
    /// Inode of the directory that holds it, where known.
    pub parent_ino: Option<u64>,
    /// What it is.
    pub kind: FileKind,
    /// Names of the inode.
    pub links: u32,
    /// Length.
    pub size_bytes: u64,
    /// Space in use, indirect blocks included; `None` where it is not known.
    pub alloc_bytes: Option<u64>,
    /// Ascending by `logical_bytes`, maximal, indirect blocks last. `None` where they were not collected.
    pub extents: Option<&'a [Extent]>,
    /// Path from the root, as in [`Inode::path`](crate::snapshot::Inode::path); `None` where names are not known.
    pub path: Option<&'a str>,
    /// Bits of [`source_flags`](crate::snapshot::source_flags).
    pub source_flags: u32,
}

impl<'a> FileView<'a> {
    /// An inode of which only this is known.
    pub fn new(ino: u64, kind: FileKind, size_bytes: u64) -> FileView<'a> {
        FileView {
            ino,
            generation: None,
            parent_ino: None,
            kind,
            links: 1,
            size_bytes,
            alloc_bytes: None,
            extents: None,
            path: None,
            source_flags: 0,
        }
    }

    /// Last component of the path.
    pub fn name(&self) -> Option<&'a str> {
        let path = self.path?;
        Some(path.rsplit_once('/').map_or(path, |(_, name)| name))
    }
}

/// A run of free space, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// Where it starts on disk.
    pub start_bytes: u64,
    /// Its length.
    pub length_bytes: u64,
}

impl Run {
    /// The run in parts, cut at multiples of so many bytes: a part for each group that it lies in.
    pub fn cut_at_multiples(self, bytes: u64) -> impl Iterator<Item = Run> {
        let bytes = bytes.max(1);
        let end = self.start_bytes + self.length_bytes;
        let mut start_bytes = self.start_bytes;
        std::iter::from_fn(move || {
            let length_bytes = end.min((start_bytes / bytes + 1) * bytes) - start_bytes;
            let part = Run {
                start_bytes,
                length_bytes,
            };
            start_bytes += length_bytes;
            (length_bytes > 0).then_some(part)
        })
    }
}

/// Sizes of a file system that do not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Type of file system, as `mount -t` names it where there is such a name.
    pub fs_type: String,
    /// Size of the partition.
    pub size_bytes: u64,
    /// What is left for data when all fixed metadata are taken off; `None` where unknown.
    pub data_bytes: Option<u64>,
    /// Held back for the superuser.
    pub reserved_bytes: u64,
    /// Block size.
    pub block_bytes: u32,
    /// Fragment size; the block size where there are no fragments.
    pub frag_bytes: u32,
    /// Inodes in all.
    pub inodes_total: u64,
    /// Cylinder or block groups; 0 where there are none.
    pub group_count: u32,
    /// Bytes from the start of one group to the next; 0 where there are none.
    pub group_bytes: u64,
    /// Inodes per group; 0 where there are none.
    pub inodes_per_group: u32,
    /// Number of the first inode: group of an inode = (ino - `first_ino`) / `inodes_per_group`.
    pub first_ino: u32,
    /// Length of the space that new inodes take, where inodes are made in chunks as XFS does, half of one if that may
    /// be; 0 where they are not.
    pub inode_chunk_bytes: u32,
}

/// Chunks of inodes begin at multiples of the clusters in which inodes are read (XFS, inodes of 512 bytes).
const INODE_CLUSTER_BYTES: u64 = 16 << 10;

impl Geometry {
    /// Chunks of inodes that fit a run of free space wherever it begins; 0 where inodes are not made in chunks. XFS
    /// looks for no chunk where none is sure to fit: 11 blocks of 4 KiB for a whole one, 7 for half of one.
    pub fn inode_chunks_in(&self, run_bytes: u64) -> u64 {
        let unaligned = INODE_CLUSTER_BYTES.saturating_sub(u64::from(self.block_bytes));
        let aligned = run_bytes.saturating_sub(unaligned);
        aligned
            .checked_div(u64::from(self.inode_chunk_bytes))
            .unwrap_or(0)
    }

    /// Group of an inode, where there are groups.
    pub fn group_of_inode(&self, ino: u64) -> Option<u64> {
        ino.checked_sub(u64::from(self.first_ino))?
            .checked_div(u64::from(self.inodes_per_group))
    }

    /// Group of a disk address in bytes, where there are groups.
    pub fn group_of_address(&self, physical_bytes: u64) -> Option<u64> {
        physical_bytes.checked_div(self.group_bytes)
    }
}

/// Free space by kind, right now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Free whole blocks.
    pub free_blocks: u64,
    /// Free fragments that do not lie in free blocks.
    pub free_frags: u64,
    /// Free inodes.
    pub free_inodes: u64,
}

/// What has changed in a layout, see [`Layout::take_changes`].
#[derive(Clone, Debug)]
pub enum Change<'a> {
    /// An inode that was touched, as it was before.
    Before(&'a FileView<'a>),
    /// An inode that was touched, as it is now.
    Now(&'a FileView<'a>),
    /// Between these addresses other space may be free than before.
    Free(Range<u64>),
}

/// A layout: all that a metric may look at.
pub trait Layout {
    /// Sizes that do not change.
    fn geometry(&self) -> Geometry;

    /// Free space by kind; `None` where it is not known.
    fn space(&self) -> Option<Space>;

    /// Visits every inode in use, in an order that depends on the state alone.
    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>));

    /// Visits every maximal run of free space, ascending.
    fn visit_free(&self, visit: &mut dyn FnMut(Run));

    /// Visits the runs of free space between two addresses, cut where these cut them, ascending.
    fn visit_free_within(&self, range: Range<u64>, visit: &mut dyn FnMut(Run)) {
        self.visit_free(&mut |run| {
            let start = run.start_bytes.max(range.start);
            let end = run.start_bytes.saturating_add(run.length_bytes);
            let end = end.min(range.end);
            if start < end {
                visit(Run {
                    start_bytes: start,
                    length_bytes: end - start,
                });
            }
        });
    }

    /// Begins to take note of what changes, for [`take_changes`](Layout::take_changes). Says whether the layout can.
    fn watch(&mut self) -> bool {
        false
    }

    /// Visits what has changed since [`watch`](Layout::watch) or the last call: first how all inodes that were touched
    /// were before, then how those of them are that are there now. One that is there on one side only is new or gone;
    /// one that is on neither came and went. Of directories no extents are told, and of paths at least the last
    /// component.
    fn take_changes(&mut self, _visit: &mut dyn FnMut(Change<'_>)) {}

    /// Visits the names beyond the first of inodes that have several, in an order that depends on the state alone.
    /// Nothing where they are not known.
    fn visit_further_names(&self, _visit: &mut dyn FnMut(&FurtherName)) {}

    /// Segments and cleaner of a log-structured file system; `None` of any other.
    fn log_usage(&self) -> Option<LogUsage> {
        None
    }
}
