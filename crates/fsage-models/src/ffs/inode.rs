//! Inodes, and the directories that own them.

use crate::block_list::BlockList;

/// An inode: its number, its length, and where its data lie. Indirect blocks stand beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    pub ino: u64,
    pub size: u64,
    pub blocks: BlockList,
}

impl Inode {
    pub fn new(ino: u64) -> Inode {
        Inode {
            ino,
            size: 0,
            blocks: BlockList::default(),
        }
    }
}

/// The indirect blocks of a file with more than 12 blocks; 0 is "none".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indirect {
    pub single: u64,
    pub double: u64,
    /// Level-1 blocks under the double indirect block, by index.
    pub level1: Vec<u64>,
}

impl Indirect {
    /// Whether a pointer array exists: 1 is the single indirect block, `2 + k` level-1 block `k`.
    pub fn has_array(&self, array: u64) -> bool {
        match array.checked_sub(2) {
            None => self.single != 0,
            Some(k) => self.level1.get(k as usize).is_some_and(|&a| a != 0),
        }
    }

    /// Existing indirect blocks: single, double, level 1 in order.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        [self.single, self.double]
            .into_iter()
            .chain(self.level1.iter().copied())
            .filter(|&address| address != 0)
    }
}

/// The window of blocks written one after another since the last break.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClusterWindow {
    /// Blocks the window may still reach; 0: no window.
    pub len: u32,
    /// First logical block.
    pub start: u32,
    /// Logical block written last.
    pub last: u32,
    /// Its address.
    pub last_address: u64,
}

/// A directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dir {
    pub id: u64,
    pub inode: Inode,
    /// Slot of the parent; the root is its own.
    pub parent: u32,
    /// Chunk of the parent that holds its entry.
    pub chunk: u32,
    /// Names in it.
    pub entries: u32,
    /// False for a directory that was removed over the heads of its files.
    pub alive: bool,
    /// Bytes used of each 512-byte chunk; stays at one chunk when directories do not grow.
    pub chunks: Vec<u16>,
    /// No chunk before this one has room for an entry.
    pub first_room: u32,
}
