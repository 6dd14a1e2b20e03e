//! The state of the groups: bitmaps of blocks and inodes, counts, and the searches in one bitmap.
//!
//! Positions are relative to the group. A block is *allocatable* if it is free and, under the journal's rule, was not
//! freed in the running transaction.

use super::geometry::{Geometry, LOST_FOUND_INO};
use super::params::Mode;
use crate::changes::ChangedWords;

/// Free blocks and inodes, and directories: of a group, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Free blocks.
    pub free_blocks: u64,
    /// Free inodes.
    pub free_inodes: u64,
    /// Directories.
    pub directories: u64,
}

/// Bitmaps and counts of all groups.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    mode: Mode,
    /// Words of a group's block bitmap.
    pub block_words: usize,
    /// Words of a group's inode bitmap.
    inode_words: usize,
    /// 1: the block is in use, or lies behind the end of the file system.
    pub blocks: Vec<u64>,
    /// Words of `blocks` that were written to.
    pub changed: ChangedWords,
    /// 1: freed in the running transaction. Empty without the journal's rule.
    pub freed: Vec<u64>,
    /// Groups with a bit in `freed`, some of them more than once.
    freed_in: Vec<u32>,
    /// 1: the inode is in use, or there is none.
    pub inodes: Vec<u64>,
    /// No inode before this one is free.
    first_inode: Vec<u32>,
    pub free_blocks: Vec<u32>,
    pub free_inodes: Vec<u32>,
    pub directories: Vec<u32>,
    pub totals: Totals,
}

fn set_from(words: &mut [u64], from: u32) {
    for (i, word) in words.iter_mut().enumerate() {
        let at = i as u32 * 64;
        if at >= from {
            *word = u64::MAX;
        } else if from < at + 64 {
            *word |= u64::MAX << (from - at);
        }
    }
}

fn has(words: &[u64], at: u32) -> bool {
    words[at as usize / 64] >> (at % 64) & 1 == 1
}

/// First position in `[from, end)` whose bit is clear in what `word` gives for each word.
#[inline]
fn first_clear(from: u32, end: u32, word: impl Fn(usize) -> u64) -> Option<u32> {
    if from >= end {
        return None;
    }
    let mut i = from as usize / 64;
    let mut clear = !word(i) & (u64::MAX << (from % 64));
    while clear == 0 {
        i += 1;
        if i as u32 * 64 >= end {
            return None;
        }
        clear = !word(i);
    }
    let at = i as u32 * 64 + clear.trailing_zeros();
    (at < end).then_some(at)
}

/// The words of a bitmap that hold positions `at..at + n`, with a mask of these.
#[inline]
fn masks(at: u32, n: u32) -> impl Iterator<Item = (usize, u64)> {
    let end = at + n;
    (at / 64..end.div_ceil(64)).map(move |i| {
        let (from, to) = (at.max(64 * i) - 64 * i, end.min(64 * i + 64) - 64 * i);
        (i as usize, (u64::MAX >> (64 - (to - from))) << from)
    })
}

impl Groups {
    /// All groups of an empty file system: metadata and reserved inodes are in use.
    pub fn new(geometry: &Geometry, mode: Mode, journal_rule: bool) -> Groups {
        let n = geometry.groups as usize;
        let block_words = geometry.blocks_per_group as usize / 64;
        let inode_words = (geometry.inodes_per_group as usize).div_ceil(64);
        let mut groups = Groups {
            mode,
            block_words,
            inode_words,
            blocks: vec![0; n * block_words],
            changed: ChangedWords::default(),
            freed: vec![0; if journal_rule { n * block_words } else { 0 }],
            freed_in: Vec::new(),
            inodes: vec![0; n * inode_words],
            first_inode: vec![0; n],
            free_blocks: (0..geometry.groups)
                .map(|g| geometry.blocks_in(g))
                .collect(),
            free_inodes: vec![geometry.inodes_per_group; n],
            directories: vec![0; n],
            totals: Totals {
                free_blocks: u64::from(geometry.blocks - geometry.first_data_block),
                free_inodes: u64::from(geometry.groups * geometry.inodes_per_group),
                directories: 0,
            },
        };
        for g in 0..geometry.groups {
            let at = g as usize;
            let words = at * block_words..(at + 1) * block_words;
            set_from(&mut groups.blocks[words], geometry.blocks_in(g));
            let words = at * inode_words..(at + 1) * inode_words;
            set_from(&mut groups.inodes[words], geometry.inodes_per_group);
            groups.take(g, 0, geometry.overhead(g));
        }
        for index in 0..LOST_FOUND_INO - 1 {
            groups.take_inode(0, index);
        }
        groups
    }

    #[inline]
    fn block_map(&self, g: u32) -> &[u64] {
        &self.blocks[g as usize * self.block_words..][..self.block_words]
    }

    /// What may not be allocated in a group, by word.
    #[inline]
    fn barred(&self, g: u32) -> impl Fn(usize) -> u64 {
        let map = self.block_map(g);
        let freed = if self.freed.is_empty() {
            &[]
        } else {
            &self.freed[g as usize * self.block_words..][..self.block_words]
        };
        move |i| map[i] | freed.get(i).copied().unwrap_or(0)
    }

    /// Whether a block may be allocated.
    #[inline]
    pub fn is_allocatable(&self, g: u32, at: u32) -> bool {
        self.barred(g)(at as usize / 64) >> (at % 64) & 1 == 0
    }

    /// First allocatable position in `[from, end)`.
    #[inline]
    pub fn first_allocatable(&self, g: u32, from: u32, end: u32) -> Option<u32> {
        first_clear(from, end, self.barred(g))
    }

    /// First position in `[from, end)` that may not be allocated; `end` if all may.
    #[inline]
    pub fn first_barred(&self, g: u32, from: u32, end: u32) -> u32 {
        let barred = self.barred(g);
        first_clear(from, end, |i| !barred(i)).unwrap_or(end)
    }

    /// First free position in `[from, end)`.
    #[inline]
    pub fn first_free(&self, g: u32, from: u32, end: u32) -> Option<u32> {
        let map = self.block_map(g);
        first_clear(from, end, |i| map[i])
    }

    /// First position in `[from, end)` that is in use; `end` if all are free.
    pub fn first_used(&self, g: u32, from: u32, end: u32) -> u32 {
        let map = self.block_map(g);
        first_clear(from, end, |i| !map[i]).unwrap_or(end)
    }

    /// First byte of the bitmap in `[first, first + bytes)` that is entirely clear; `first + bytes` if none is.
    fn clear_byte(&self, g: u32, first: u32, bytes: u32) -> u32 {
        const LOW: u64 = 0x0101_0101_0101_0101;
        const HIGH: u64 = 0x8080_8080_8080_8080;
        let (map, end) = (self.block_map(g), first + bytes);
        let mut at = first & !7;
        // Bytes before the first one do not count.
        let mut mask = (1_u64 << (8 * (first - at))) - 1;
        while at < end {
            let Some(&word) = map.get(at as usize / 8) else {
                break;
            };
            let word = word | mask;
            let zero = word.wrapping_sub(LOW) & !word & HIGH;
            if zero != 0 {
                return end.min(at + zero.trailing_zeros() / 8);
            }
            (at, mask) = (at + 8, 0);
        }
        end
    }

    /// The staged search for a block in `[start, end)` (`find_next_usable_block`).
    pub fn search(&self, g: u32, start: u32, end: u32) -> Option<u32> {
        if start > 0 {
            let near = start.next_multiple_of(64).min(end);
            // Only the first free one is looked at.
            let first = self.first_free(g, start, near);
            if let Some(at) = first.filter(|&at| self.is_allocatable(g, at)) {
                return Some(at);
            }
        }
        let first = start / 8;
        let bytes = match self.mode {
            // May end a byte early, and then takes what lies just behind the range.
            Mode::Ext3 => end.saturating_sub(start).div_ceil(8),
            Mode::Ext2 => end.div_ceil(8).saturating_sub(first),
        };
        let candidate = 8 * self.clear_byte(g, first, bytes);
        if start <= candidate && candidate < end && self.is_allocatable(g, candidate) {
            return Some(candidate);
        }
        self.first_allocatable(g, start, end)
    }

    /// Takes `n` blocks of a group from `at` on, all of them free.
    #[inline]
    pub fn take(&mut self, g: u32, at: u32, n: u32) {
        let base = g as usize * self.block_words;
        for (i, mask) in masks(at, n) {
            debug_assert!(self.blocks[base + i] & mask == 0, "{at} of {g} is used");
            self.blocks[base + i] |= mask;
            self.changed.mark(base + i..base + i + 1);
        }
        self.free_blocks[g as usize] -= n;
        self.totals.free_blocks -= u64::from(n);
    }

    /// Frees `n` blocks of a group from `at` on, all of them in use.
    pub fn release(&mut self, g: u32, at: u32, n: u32) {
        let base = g as usize * self.block_words;
        let rule = !self.freed.is_empty();
        if rule && self.freed_in.last() != Some(&g) {
            self.freed_in.push(g);
        }
        for (i, mask) in masks(at, n) {
            debug_assert!(self.blocks[base + i] & mask == mask, "{at} of {g} is free");
            self.blocks[base + i] &= !mask;
            self.changed.mark(base + i..base + i + 1);
            if rule {
                self.freed[base + i] |= mask;
            }
        }
        self.free_blocks[g as usize] += n;
        self.totals.free_blocks += u64::from(n);
    }

    /// The journal commits: what was freed may be used again.
    pub fn commit(&mut self) {
        self.freed_in.sort_unstable();
        self.freed_in.dedup();
        for g in self.freed_in.drain(..) {
            self.freed[g as usize * self.block_words..][..self.block_words].fill(0);
        }
    }

    /// Lowest free inode of a group, as an index.
    pub fn free_inode(&self, g: u32) -> Option<u32> {
        let base = g as usize * self.inode_words;
        let end = self.inode_words as u32 * 64;
        first_clear(self.first_inode[g as usize], end, |i| self.inodes[base + i])
    }

    /// Takes a free inode.
    pub fn take_inode(&mut self, g: u32, index: u32) {
        self.inodes[g as usize * self.inode_words + index as usize / 64] |= 1 << (index % 64);
        let first = &mut self.first_inode[g as usize];
        if *first == index {
            *first += 1;
        }
        self.free_inodes[g as usize] -= 1;
        self.totals.free_inodes -= 1;
    }

    /// Frees an inode.
    pub fn release_inode(&mut self, g: u32, index: u32) {
        self.inodes[g as usize * self.inode_words + index as usize / 64] &= !(1 << (index % 64));
        let first = &mut self.first_inode[g as usize];
        *first = index.min(*first);
        self.free_inodes[g as usize] += 1;
        self.totals.free_inodes += 1;
    }

    /// A directory more in a group.
    pub fn add_directory(&mut self, g: u32) {
        self.directories[g as usize] += 1;
        self.totals.directories += 1;
    }

    /// A directory less in a group.
    pub fn remove_directory(&mut self, g: u32) {
        self.directories[g as usize] -= 1;
        self.totals.directories -= 1;
    }

    /// Whether an inode is in use.
    pub fn inode_used(&self, g: u32, index: u32) -> bool {
        has(&self.inodes[g as usize * self.inode_words..], index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext3::Params;

    /// Group 3 of a file system of 1 GB in which nothing but these positions is free in 2232..=2303.
    fn nearly_full(mode: Mode, free: std::ops::Range<u32>) -> Groups {
        let params = Params {
            mode,
            ..Params::default()
        };
        let geometry = Geometry::mke2fs(&params).unwrap();
        let mut groups = Groups::new(&geometry, mode, mode == Mode::Ext3);
        for at in (2232..2304).filter(|at| !free.contains(at)) {
            groups.take(3, at, 1);
        }
        groups
    }

    /// docs/spec/ext3.md, section 13: the unit test for point 2.
    #[test]
    fn ext3_scans_a_byte_less_and_takes_what_lies_behind_the_range() {
        let found = |mode| nearly_full(mode, 2246..2255).search(3, 2239, 2255);
        assert_eq!(found(Mode::Ext2), Some(2246));
        assert_eq!(found(Mode::Ext3), Some(2248));
    }

    #[test]
    fn a_search_looks_near_then_for_a_clear_byte_then_anywhere() {
        // By hand: 2240 is a multiple of 64, so that from 2233 on positions to 2239 are near.
        let groups = nearly_full(Mode::Ext2, 2238..2239);
        assert_eq!(groups.search(3, 2233, 2304), Some(2238));
        assert_eq!(groups.search(3, 2239, 2304), None);
        // Free: 2241..2249 and 2256..2264. Nothing is near; the first clear byte is 2256.
        let mut groups = nearly_full(Mode::Ext2, 2241..2264);
        for at in 2249..2256 {
            groups.take(3, at, 1);
        }
        assert_eq!(groups.search(3, 2233, 2304), Some(2256));
        assert_eq!(groups.search(3, 2240, 2304), Some(2256));
        assert_eq!(groups.search(3, 2240, 2256), Some(2241));
    }

    #[test]
    fn what_was_freed_waits_for_the_commit() {
        let mut groups = nearly_full(Mode::Ext3, 2300..2301);
        groups.release(3, 2240, 5);
        assert_eq!(groups.first_free(3, 2240, 2304), Some(2240));
        assert_eq!(groups.first_allocatable(3, 2240, 2304), Some(2300));
        groups.commit();
        assert_eq!(groups.first_allocatable(3, 2240, 2304), Some(2240));
        assert!(!groups.is_allocatable(3, 2245));
    }

    #[test]
    fn the_lowest_free_inode_is_found_again() {
        let mut groups = nearly_full(Mode::Ext2, 0..0);
        assert_eq!(groups.free_inode(0), Some(10));
        for index in 0..200 {
            groups.take_inode(1, index);
        }
        assert_eq!(groups.free_inode(1), Some(200));
        groups.release_inode(1, 77);
        assert_eq!(groups.free_inode(1), Some(77));
    }
}
