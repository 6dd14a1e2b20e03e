//! Inodes, their indirect blocks, and directories.

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

/// Number of an indirect block of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Array {
    /// It has pointers to data: number 0 hangs below the inode, the next ones below the double indirect block, the
    /// rest below the triple one.
    Leaf(u32),
    /// It has pointers to indirect blocks: 0 is the double one, 1 the triple one, `2 + j` number `j` below that.
    Upper(u32),
}

/// The indirect blocks of a file: number and address, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indirect {
    pub leaves: Vec<(u32, u32)>,
    pub uppers: Vec<(u32, u32)>,
}

impl Indirect {
    fn list(&self, array: Array) -> (&Vec<(u32, u32)>, u32) {
        match array {
            Array::Leaf(k) => (&self.leaves, k),
            Array::Upper(j) => (&self.uppers, j),
        }
    }

    /// Address of an indirect block, if it is there.
    pub fn get(&self, array: Array) -> Option<u32> {
        let (list, number) = self.list(array);
        let i = list.binary_search_by_key(&number, |&(n, _)| n).ok()?;
        Some(list[i].1)
    }

    /// Address of the last one of the same kind before `array`, from number `first` on.
    pub fn before(&self, array: Array, first: u32) -> Option<u32> {
        let (list, number) = self.list(array);
        let i = list.partition_point(|&(n, _)| n < number);
        let &(found, address) = list[..i].last()?;
        (found >= first).then_some(address)
    }

    pub fn insert(&mut self, array: Array, address: u32) {
        let (list, number) = match array {
            Array::Leaf(k) => (&mut self.leaves, k),
            Array::Upper(j) => (&mut self.uppers, j),
        };
        let i = list.partition_point(|&(n, _)| n < number);
        list.insert(i, (number, address));
    }

    /// All of them: number and address.
    pub fn all(&self) -> impl Iterator<Item = (Array, u32)> {
        let uppers = self.uppers.iter().map(|&(j, at)| (Array::Upper(j), at));
        let leaves = self.leaves.iter().map(|&(k, at)| (Array::Leaf(k), at));
        uppers.chain(leaves)
    }
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
