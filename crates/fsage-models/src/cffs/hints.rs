//! Files that a program names together (section 6 of the paper): they are grouped with each other, whatever their
//! directories, and all others by their directories.
//!
//! How a program says so is ours: files that are made while it names a number belong together with all that were made
//! under that number. The number is known as long as the file system is mounted, and with it which files are members;
//! on disk each inode has start and size of its group, as any other.

use super::Cffs;
use super::grouping::Spot;
use super::inode::{Home, Inode};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Owners of groups from here on are no slots of directories.
const HINTED: u32 = 1 << 31;

/// What programs have named together.
#[derive(Clone, Debug, Default)]
pub(super) struct Hints {
    /// Under which number files are made now; 0: under none.
    pub current: u32,
    /// Ours for each number of a program.
    numbers: FxHashMap<u64, u32>,
    /// Where the inodes of the files of a number lie, by their number in memory.
    homes: BTreeMap<(u32, u32), Home>,
    /// Where the groups of a number begin, in the order in which they were made.
    starts: BTreeMap<u32, Vec<u32>>,
}

impl Hints {
    /// From now on a program makes files that belong to one number of its own, or to none.
    pub fn set(&mut self, number: Option<u64>) {
        let next = self.numbers.len() as u32 + 1;
        self.current = number.map_or(0, |number| *self.numbers.entry(number).or_insert(next));
    }

    /// A file was made, or its inode lies elsewhere.
    pub fn placed(&mut self, inode: &Inode) {
        if inode.hint != 0 {
            self.homes.insert((inode.hint, inode.vnode), inode.home);
        }
    }

    /// A file is gone, or belongs to no number any more.
    pub fn forget(&mut self, inode: &mut Inode) {
        self.homes.remove(&(inode.hint, inode.vnode));
        inode.hint = 0;
    }

    /// A group of a number's owner ([`is_hinted`]) has its first member.
    pub fn group_made(&mut self, owner: u32, start: u32) {
        self.starts.entry(owner & !HINTED).or_default().push(start);
    }

    /// A group of a number's owner ([`is_hinted`]) has no member any more.
    pub fn group_gone(&mut self, owner: u32, start: u32) {
        if let Some(starts) = self.starts.get_mut(&(owner & !HINTED)) {
            starts.retain(|&its| its != start);
        }
    }

    /// Where the groups of a number begin.
    fn starts_of(&self, hint: u32) -> &[u32] {
        self.starts.get(&hint).map_or(&[], Vec::as_slice)
    }

    /// Numbers in memory and homes of all files that belong to the number of an owner.
    pub fn members(&self, owner: u32) -> impl Iterator<Item = (u32, Home)> {
        let hint = owner & !HINTED;
        let of_hint = self.homes.range((hint, 0)..=(hint, u32::MAX));
        of_hint.map(|(&(_, vnode), &home)| (vnode, home))
    }
}

/// Whether groups are owned by what a program named together.
pub(super) fn is_hinted(owner: u32) -> bool {
    owner & HINTED != 0
}

impl Inode {
    /// Who owns the groups that a file may be in: its directory, or what its program named with it.
    pub fn group_owner(&self) -> u32 {
        if self.hint == 0 {
            self.dir
        } else {
            HINTED | self.hint
        }
    }
}

impl Cffs {
    /// A place for the first block of a file that belongs with others: in one of their groups, or in a new one, behind
    /// the last or where there is room for a whole one in the cylinder group of the directory.
    pub(super) fn place_hinted(&mut self, inode: &Inode) -> Option<Spot> {
        let starts = self.hints.starts_of(inode.hint).to_vec();
        for &group in &starts {
            if let Some(block) = self.free_in(group) {
                return Some(Spot { block, group });
            }
        }
        let last = starts.last().copied();
        let near = self.address(&self.dirs[inode.dir as usize].inode, 0);
        let cg = self.geometry.cg_of(near);
        let run = match last {
            Some(_) => None,
            None => self.map.aligned_run(cg, self.window()),
        };
        let start = if let Some(run) = run {
            run
        } else {
            self.search_start(inode, last)
        };
        let block = self.map.next_free(start)?;
        Some(Spot {
            block,
            group: block,
        })
    }
}
