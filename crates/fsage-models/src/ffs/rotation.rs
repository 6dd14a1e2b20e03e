//! Rotational tables: which blocks of a group start in which cylinder, at which rotational position, and how
//! many of them are free.
//!
//! Where a block starts depends on its place within the group alone, so one set of masks serves all groups.

use super::geometry::Geometry;

/// The tables of a file system that searches by rotational position.
#[derive(Clone, Debug)]
pub(super) struct Rotation {
    positions: usize,
    /// `cylinder * positions + position` of every block.
    slot_of: Vec<u32>,
    /// First word of every cylinder's masks; they cover the words from there on.
    first_word: Vec<u32>,
    words: usize,
    /// Blocks of a cylinder at a position, `words` words a slot.
    masks: Vec<u64>,
    /// Free blocks by group and slot. A superblock that holds the tables bounds a cylinder to some thousands.
    free: Vec<u16>,
}

impl Rotation {
    pub(super) fn new(geometry: &Geometry) -> Rotation {
        let positions = geometry.nrpos as usize;
        let cylinders = geometry.cpg as usize;
        let blocks = geometry.blocks_per_group() as usize;
        let relative = |block: usize| block as u64 * geometry.frag;
        let slot_of: Vec<u32> = (0..blocks)
            .map(|b| {
                let cylinder = geometry.cylinder_of(relative(b));
                (cylinder * geometry.nrpos + geometry.position_of(relative(b))) as u32
            })
            .collect();
        let mut first_word = vec![0; cylinders];
        let mut words = 1;
        let mut block = 0;
        for (cylinder, first) in first_word.iter_mut().enumerate() {
            let start = block;
            while block < blocks && slot_of[block] as usize / positions == cylinder {
                block += 1;
            }
            *first = (start / 64) as u32;
            if block > start {
                words = words.max((block - 1) / 64 + 1 - start / 64);
            }
        }
        let mut masks = vec![0; cylinders * positions * words];
        for (block, &slot) in slot_of.iter().enumerate() {
            let first = first_word[slot as usize / positions] as usize;
            masks[slot as usize * words + block / 64 - first] |= 1 << (block % 64);
        }
        Rotation {
            positions,
            slot_of,
            first_word,
            words,
            masks,
            free: vec![0; geometry.ncg * cylinders * positions],
        }
    }

    fn slots(&self) -> usize {
        self.first_word.len() * self.positions
    }

    /// Counts `n` blocks of group `c` as free or as used.
    pub(super) fn count(&mut self, c: usize, block: usize, n: usize, free: bool) {
        let slots = c * self.slots();
        for &slot in &self.slot_of[block..block + n] {
            let count = &mut self.free[slots + slot as usize];
            *count = if free { *count + 1 } else { *count - 1 };
        }
    }

    /// Free blocks of a group by slot.
    pub(super) fn counts(&self, c: usize) -> &[u16] {
        &self.free[c * self.slots()..(c + 1) * self.slots()]
    }

    /// All counts, for tests that damage them.
    #[cfg(test)]
    pub(super) fn all_counts(&mut self) -> &mut [u16] {
        &mut self.free
    }

    /// The lowest free block of the first position, from that of `start` on, that has any in its cylinder.
    /// `free` are the free blocks of group `c`.
    pub(super) fn nearest(&self, c: usize, free: &[u64], start: usize) -> Option<usize> {
        let slot = self.slot_of[start] as usize;
        let (cylinder, position) = (slot / self.positions, slot % self.positions);
        let counts = &self.counts(c)[cylinder * self.positions..][..self.positions];
        let position = (position..self.positions)
            .chain(0..position)
            .find(|&p| counts[p] > 0)?;
        let first = self.first_word[cylinder] as usize;
        let masks =
            &self.masks[(cylinder * self.positions + position) * self.words..][..self.words];
        free[first..]
            .iter()
            .zip(masks)
            .enumerate()
            .find(|(_, (word, mask))| *word & *mask != 0)
            .map(|(i, (word, mask))| (first + i) * 64 + (word & mask).trailing_zeros() as usize)
    }
}
