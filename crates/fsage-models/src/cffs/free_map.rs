//! The free map: one bit a block, the searches in it, and counts of the cylinder groups.

use super::geometry::Geometry;
use crate::changes::ChangedWords;

/// Bits, and counts of each cylinder group.
#[derive(Clone, Debug)]
pub(super) struct FreeMap {
    geometry: Geometry,
    /// 1: the block is in use, or lies behind the end of the file system.
    used: Vec<u64>,
    /// Free blocks of each cylinder group.
    pub free: Vec<u32>,
    /// Directories of each cylinder group.
    pub directories: Vec<u32>,
    /// Free blocks of all.
    pub free_blocks: u64,
    /// Words of the map that were written to.
    pub changed: ChangedWords,
}

/// The words that have these blocks, with a mask of them.
fn masks(first: u32, blocks: u32) -> impl Iterator<Item = (usize, u64)> {
    let (first, end) = (u64::from(first), u64::from(first) + u64::from(blocks));
    (first / 64..end.div_ceil(64)).map(move |word| {
        let (from, to) = (first.max(64 * word), end.min(64 * word + 64));
        let mask = (u64::MAX >> (64 - (to - from))) << (from % 64);
        (word as usize, mask)
    })
}

impl FreeMap {
    /// Of an empty file system: fixed metadata are in use.
    pub fn new(geometry: &Geometry) -> FreeMap {
        let groups = geometry.groups as usize;
        let mut map = FreeMap {
            geometry: *geometry,
            used: vec![u64::MAX; (geometry.blocks as usize).div_ceil(64)],
            free: vec![0; groups],
            directories: vec![0; groups],
            free_blocks: 0,
            changed: ChangedWords::default(),
        };
        for cg in 0..geometry.groups {
            let first = geometry.cg_start(cg) + geometry.overhead(cg);
            map.release(first, geometry.cg_end(cg) - first);
        }
        map
    }

    /// Whether a block is free.
    pub fn is_free(&self, block: u32) -> bool {
        self.used[block as usize / 64] >> (block % 64) & 1 == 0
    }

    /// The first block in `[from, end)` that is free, or with `used` one that is not.
    pub fn first(&self, from: u32, end: u32, used: bool) -> Option<u32> {
        let end = end.min(self.geometry.blocks);
        let mut at = from;
        while at < end {
            let word = self.used[at as usize / 64] ^ if used { 0 } else { u64::MAX };
            let rest = word & (u64::MAX << (at % 64));
            if rest != 0 {
                let found = (at & !63) + rest.trailing_zeros();
                return (found < end).then_some(found);
            }
            // The last word of 2^32 blocks ends beyond what 32 bits hold.
            at = (at | 63).checked_add(1)?;
        }
        None
    }

    /// The first free block from `start` on, then from the first block on.
    pub fn next_free(&self, start: u32) -> Option<u32> {
        if self.free_blocks == 0 {
            return None;
        }
        let g = &self.geometry;
        let start = if start < g.blocks { start } else { 0 };
        let home = g.cg_of(start);
        if self.free[home as usize] > 0
            && let Some(found) = self.first(start, g.cg_end(home), false)
        {
            return Some(found);
        }
        // All others, and what lies before the start in the same one.
        let others = (home + 1..g.groups).chain(0..=home);
        let roomy = others.into_iter().find(|&cg| self.free[cg as usize] > 0)?;
        self.first(g.cg_start(roomy), g.cg_end(roomy), false)
    }

    /// The first run of `blocks` free blocks in a cylinder group whose address is a multiple of `blocks`.
    pub fn aligned_run(&self, cg: u32, blocks: u32) -> Option<u32> {
        let (start, end) = (self.geometry.cg_start(cg), self.geometry.cg_end(cg));
        let mut at = start.next_multiple_of(blocks);
        while at + blocks <= end {
            match self.first(at, at + blocks, true) {
                None => return Some(at),
                Some(used) => at = (used + 1).next_multiple_of(blocks),
            }
        }
        None
    }

    /// Takes free blocks of one cylinder group.
    pub fn take(&mut self, first: u32, blocks: u32) {
        for (word, mask) in masks(first, blocks) {
            debug_assert!(self.used[word] & mask == 0, "{first}+{blocks} are in use");
            self.used[word] |= mask;
            self.changed.mark(word..word + 1);
        }
        self.free[self.geometry.cg_of(first) as usize] -= blocks;
        self.free_blocks -= u64::from(blocks);
    }

    /// Frees blocks, which may lie in several cylinder groups.
    pub fn release(&mut self, mut first: u32, mut blocks: u32) {
        self.free_blocks += u64::from(blocks);
        for (word, mask) in masks(first, blocks) {
            debug_assert!(self.used[word] & mask == mask, "{first}+{blocks} are free");
            self.used[word] &= !mask;
            self.changed.mark(word..word + 1);
        }
        while blocks > 0 {
            let cg = self.geometry.cg_of(first);
            let here = blocks.min(self.geometry.cg_end(cg) - first);
            self.free[cg as usize] += here;
            (first, blocks) = (first + here, blocks - here);
        }
    }

    /// The cylinder group after `cg`, cyclically, that has at least the average of free blocks, and some.
    pub fn next_roomy(&self, cg: u32) -> Option<u32> {
        let groups = self.geometry.groups;
        let mut others = (cg + 1..groups).chain(0..=cg);
        others.find(|&other| self.is_roomy(other))
    }

    /// The cylinder group for a new directory: of those with at least the average of free blocks the one with the
    /// fewest directories, the lowest number on ties.
    pub fn group_for_directory(&self) -> Option<u32> {
        let roomy = (0..self.geometry.groups).filter(|&cg| self.is_roomy(cg));
        roomy.min_by_key(|&cg| self.directories[cg as usize])
    }

    fn is_roomy(&self, cg: u32) -> bool {
        let free = u64::from(self.free[cg as usize]);
        free > 0 && free * u64::from(self.geometry.groups) >= self.free_blocks
    }
}

#[cfg(test)]
mod tests {
    use super::super::params::Params;
    use super::*;

    fn map() -> FreeMap {
        let params = Params {
            size_bytes: 250 * 4096,
            cg_blocks: 100,
            ..Params::default()
        };
        FreeMap::new(&Geometry::new(&params).unwrap())
    }

    /// By hand: superblock and bitmap in blocks 0 to 2, bitmaps in 100 and 200; 250 blocks in all.
    #[test]
    fn an_empty_disk_has_all_but_its_metadata_free() {
        let map = map();
        assert_eq!(map.free, [97, 99, 49]);
        assert_eq!(map.free_blocks, 245);
        assert_eq!(map.next_free(0), Some(3));
        assert_eq!(map.next_free(100), Some(101));
        assert_eq!(map.aligned_run(0, 16), Some(16));
        assert_eq!(map.aligned_run(1, 16), Some(112));
    }

    #[test]
    fn a_search_wraps_and_passes_over_full_groups() {
        let mut map = map();
        for block in 101..250 {
            if block != 200 {
                map.take(block, 1);
            }
        }
        assert_eq!(map.next_free(120), Some(3));
        map.release(110, 1);
        // In the same group, but before the start: the groups behind it come first, and have none.
        assert_eq!(map.next_free(220), Some(3));
        for block in 3..100 {
            map.take(block, 1);
        }
        assert_eq!(map.next_free(120), Some(110));
        assert_eq!(map.next_roomy(2), Some(1));
        map.take(110, 1);
        assert_eq!(map.next_free(120), None);
    }

    #[test]
    fn directories_are_spread_over_roomy_groups() {
        let mut map = map();
        // 245 / 3 = 81.7: the third group, with 49, is not roomy.
        assert_eq!(map.group_for_directory(), Some(0));
        map.directories[0] = 1;
        assert_eq!(map.group_for_directory(), Some(1));
        map.directories[1] = 1;
        assert_eq!(map.group_for_directory(), Some(0));
    }
}
