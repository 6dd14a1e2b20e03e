//! Inodes: where they lie, and what numbers they have.

use super::geometry::{BLOCK, INODES_PER_BLOCK, SECTORS, SUPERBLOCK};
use super::{Cffs, InodeId};
use crate::block_list::BlockList;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// What an inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Symlink,
}

/// Where an inode lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Home {
    /// In the superblock: 1 is the root, 2 the directory of lost blocks.
    Superblock(u32),
    /// In a sector of a directory: 4 times the number of the sector, and the place in it, 1 to 3.
    Sector {
        /// Slot of the directory.
        dir: u32,
        at: u32,
    },
    /// In the external inode file; without embedded inodes in the blocks of inodes.
    Table(u32),
}

/// Numbers of a sector: its place is the number of an inode in it, from 1.
const PLACES: u64 = 4;

/// No directory contains the inode, or several do.
pub(super) const NO_DIR: u32 = u32::MAX;

/// An inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    pub home: Home,
    /// The file's number in memory, which stays the same when the inode moves.
    pub vnode: u32,
    /// Slot of the one directory that contains it, [`NO_DIR`] if that is ambiguous.
    pub dir: u32,
    /// Number of the files that its program named with it; 0: its group is its directory's ([`super::hints`]).
    pub hint: u32,
    /// Start of its group; 0: it is in none. A directory's is that of its first group.
    pub group_start: u32,
    pub kind: Kind,
    pub size: u64,
    pub blocks: BlockList,
}

impl Inode {
    /// An empty one.
    pub fn new(home: Home, vnode: u32, dir: u32, kind: Kind) -> Inode {
        Inode {
            home,
            vnode,
            dir,
            hint: 0,
            group_start: 0,
            kind,
            size: 0,
            blocks: BlockList::default(),
        }
    }
}

/// Numbers that are given out, the lowest free one first.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    next: u32,
    free: BinaryHeap<Reverse<u32>>,
}

impl Numbers {
    /// Numbers from `first` on.
    pub fn from(first: u32) -> Numbers {
        Numbers {
            next: first,
            free: BinaryHeap::new(),
        }
    }

    /// Numbers from `first` on, of which some are in use.
    pub fn with_used(first: u32, used: &BTreeSet<u32>) -> Numbers {
        let next = used.last().map_or(first, |&last| first.max(last + 1));
        let free = (first..next).filter(|number| !used.contains(number));
        Numbers {
            next,
            free: free.map(Reverse).collect(),
        }
    }

    /// The number that is given next.
    pub fn peek(&self) -> u32 {
        self.free
            .peek()
            .map_or(self.next, |&Reverse(number)| number)
    }

    /// Gives a number.
    pub fn take(&mut self) -> u32 {
        if let Some(Reverse(number)) = self.free.pop() {
            return number;
        }
        self.next += 1;
        self.next - 1
    }

    /// A number is free again.
    pub fn release(&mut self, number: u32) {
        self.free.push(Reverse(number));
    }

    /// Numbers in use, if the first one was `first`.
    pub fn in_use(&self, first: u32) -> u64 {
        u64::from(self.next - first) - self.free.len() as u64
    }
}

impl Cffs {
    /// The number of an inode as everybody sees it.
    pub(super) fn inode_number(&self, inode: &Inode) -> u64 {
        if self.params.has_inode_table() {
            u64::from(inode.vnode) + 1
        } else {
            self.number_of(inode.home)
        }
    }

    /// What its home and the switches make of an inode: the number of its place.
    pub(super) fn number_of(&self, home: Home) -> u64 {
        match home {
            Home::Superblock(k) if self.params.embed && !self.params.inodes_move() => {
                u64::from(SUPERBLOCK) * u64::from(SECTORS) * PLACES + u64::from(k)
            }
            Home::Superblock(k) => k.into(),
            Home::Sector { dir, at } => {
                let dir = &self.dirs[dir as usize];
                let (sector, k) = (at / 4, at % 4);
                match self.params.inode_id {
                    InodeId::Locator | InodeId::Table => {
                        u64::from(dir.number) << 16 | u64::from(sector) << 3 | u64::from(k)
                    }
                    InodeId::Physical => {
                        let block = self.address(&dir.inode, sector / SECTORS);
                        let in_block = u64::from(sector % SECTORS) * PLACES + u64::from(k);
                        u64::from(block) * u64::from(SECTORS) * PLACES + in_block
                    }
                }
            }
            Home::Table(n) if self.params.embed => u64::from(n / 4) << 3 | u64::from(n % 4),
            Home::Table(n) => n.into(),
        }
    }

    /// The block that holds an inode.
    pub(super) fn block_of_home(&self, home: Home) -> u32 {
        match home {
            Home::Superblock(_) => SUPERBLOCK,
            Home::Sector { dir, at } => {
                let dir = &self.dirs[dir as usize];
                self.address(&dir.inode, at / 4 / SECTORS)
            }
            Home::Table(n) if self.params.embed => {
                self.external_file.blocks[(n / INODES_PER_BLOCK) as usize]
            }
            Home::Table(n) => self.geometry.inode_block(n),
        }
    }

    /// Address of a block of a file; 0 for a hole.
    #[inline]
    pub(super) fn address(&self, inode: &Inode, lbn: u32) -> u32 {
        inode.blocks.address(&self.pool, lbn, 1) as u32
    }

    /// Blocks of a file of this size.
    #[inline]
    pub(super) fn blocks_of(size: u64) -> u32 {
        size.div_ceil(BLOCK) as u32
    }
}
