//! Inodes and directories.

use super::entries::Entries;
use crate::block_list::BlockList;

/// What an inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Symlink,
}

/// An inode, with what the kernel remembers of a file from its first block request on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    pub ino: u32,
    /// Logical block of the last request; files only.
    pub last_logical: u32,
    /// Address of its data block; 0: none yet.
    pub last_physical: u32,
    /// Blocks of the next reservation window; 0: the inode has no windows.
    pub window_blocks: u16,
    pub kind: Kind,
    pub size: u64,
    pub blocks: BlockList,
}

/// A directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dir {
    pub id: u64,
    pub inode: Inode,
    /// Slot of the parent; the root is its own.
    pub parent: u32,
    /// Where in the parent its entry stands.
    pub at: u32,
    pub entries: Entries,
    pub alive: bool,
}
