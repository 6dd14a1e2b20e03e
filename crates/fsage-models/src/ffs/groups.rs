//! The state of all cylinder groups: which blocks, fragments and inodes are free, and the summaries.
//!
//! The original keeps one bit a fragment. Here a group has one bit a *block*, and a short sorted list of the
//! blocks that are partly used, each with the mask of its free fragments. The searches of the original look
//! for a free block, for a run of free blocks, or for a fragment run of one exact size; each then walks either
//! words of blocks or that list, and never meets what cannot fit.
//!
//! ```text
//!   blocks   1101 0111 0000 ...          one bit a block: all its fragments are free
//!   partial  [(5, 11100000), (9, ...)]   blocks with some free fragments, ascending
//! ```
//!
//! Summaries are flat arrays over groups, because `mkdir` and the block preference sweep over all groups.

use super::geometry::Geometry;
use super::rotation::Rotation;
use crate::changes::ChangedWords;

/// A fragment map has at most 8 fragments a block: how many maximal runs of each length a mask has.
const RUNS: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 255 {
        let (mut bit, mut length) = (0, 0);
        while bit <= 8 {
            if bit < 8 && mask >> bit & 1 == 1 {
                length += 1;
            } else {
                if length > 0 {
                    table[mask][length] += 1;
                }
                length = 0;
            }
            bit += 1;
        }
        mask += 1;
    }
    table
};

/// Bit `n` is set if the mask has a maximal run of exactly `n` fragments.
const RUN_SIZES: [u8; 256] = {
    let mut table = [0; 256];
    let mut mask = 0;
    while mask < 255 {
        let mut size = 1;
        while size < 8 {
            if RUNS[mask][size] > 0 {
                table[mask] |= 1 << size;
            }
            size += 1;
        }
        mask += 1;
    }
    table
};

/// A partly used block: its index in the group, and which of its fragments are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partial(u32);

impl Partial {
    fn new(block: usize, mask: u8) -> Partial {
        Partial((block as u32) << 8 | u32::from(mask))
    }

    pub(super) fn block(self) -> usize {
        (self.0 >> 8) as usize
    }

    pub(super) fn mask(self) -> u8 {
        self.0 as u8
    }
}

/// What stands in a group's block, beside free space: totals over one group or all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Free blocks.
    pub nbfree: u64,
    /// Free fragments that are not in free blocks.
    pub nffree: u64,
    /// Free inodes.
    pub nifree: u64,
    /// Directories.
    pub ndir: u64,
}

/// All cylinder groups.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    pub(super) frag: usize,
    /// Blocks per group; a short last group has some that never become free.
    blocks_per_group: usize,
    pub(super) block_words: usize,
    inodes_per_group: usize,
    inode_words: usize,
    contigsumsize: usize,
    /// Words of `blocks` in which, or in whose partly used blocks, something was taken or freed.
    pub(super) changed: ChangedWords,
    /// Free blocks. A group's last word ends in at least one 0, so that no run leaves it.
    blocks: Vec<u64>,
    pub(super) partial: Vec<Vec<Partial>>,
    /// Used inodes.
    inodes: Vec<u64>,
    pub(super) nbfree: Vec<u32>,
    pub(super) nffree: Vec<u32>,
    pub(super) nifree: Vec<u32>,
    pub(super) ndir: Vec<u32>,
    pub(super) totals: Totals,
    /// Maximal free runs of 1..frag-1 fragments inside partly used blocks, by length.
    pub(super) frsum: Vec<[u32; 8]>,
    /// Maximal runs of 1..=contigsumsize free blocks (the last class: or more); `contigsumsize` a group.
    clsum: Vec<u32>,
    /// Where blocks lie on their cylinders; `None` where nobody asks.
    rotation: Option<Rotation>,
    /// Relative fragment address of the last block a search took.
    pub(super) rotor: Vec<u32>,
    /// Relative fragment address of the map byte a search hit last.
    pub(super) frotor: Vec<u32>,
    /// Where the search for a free inode starts.
    pub(super) irotor: Vec<u32>,
}

impl Groups {
    /// The groups as `newfs` leaves them, without the root directory.
    pub(super) fn new(geometry: &Geometry) -> Groups {
        let ncg = geometry.ncg;
        let blocks_per_group = geometry.blocks_per_group() as usize;
        let block_words = blocks_per_group / 64 + 1;
        let inodes_per_group = geometry.ipg as usize;
        let inode_words = inodes_per_group.div_ceil(64);
        let contigsumsize = geometry.contigsumsize as usize;
        let mut groups = Groups {
            frag: geometry.frag as usize,
            blocks_per_group,
            block_words,
            inodes_per_group,
            inode_words,
            contigsumsize,
            changed: ChangedWords::default(),
            blocks: vec![0; ncg * block_words],
            partial: vec![Vec::new(); ncg],
            inodes: vec![0; ncg * inode_words],
            nbfree: vec![0; ncg],
            nffree: vec![0; ncg],
            nifree: vec![inodes_per_group as u32; ncg],
            ndir: vec![0; ncg],
            totals: Totals {
                nifree: geometry.ipg * ncg as u64,
                ..Totals::default()
            },
            frsum: vec![[0; 8]; ncg],
            clsum: vec![0; ncg * contigsumsize],
            rotation: geometry.is_rotational().then(|| Rotation::new(geometry)),
            rotor: vec![0; ncg],
            frotor: vec![0; ncg],
            irotor: vec![0; ncg],
        };
        for c in 0..ncg {
            let metadata = geometry.metadata(c);
            for free in [0..metadata.start, metadata.end..geometry.fragments_in(c)] {
                groups.free_range(c, free.start as usize, free.end as usize);
            }
        }
        groups
    }

    /// Frees any range of relative fragments of one group.
    fn free_range(&mut self, c: usize, start: usize, end: usize) {
        let mut at = start;
        while at < end {
            let block = at / self.frag;
            let stop = end.min((block + 1) * self.frag);
            if stop - at == self.frag {
                let blocks = (end - at) / self.frag;
                self.free_blocks(c, block, blocks);
                at += blocks * self.frag;
            } else {
                self.free_frags(c, at, stop - at);
                at = stop;
            }
        }
    }

    /// Whether a block is free.
    #[inline]
    pub(super) fn is_free(&self, c: usize, block: usize) -> bool {
        self.blocks[c * self.block_words + block / 64] >> (block % 64) & 1 == 1
    }

    /// Takes `n` free blocks from `block` on.
    #[inline]
    pub(super) fn take_blocks(&mut self, c: usize, block: usize, n: usize) {
        self.account_clusters(c, block, n, false);
        self.flip_blocks(c, block, n, false);
    }

    /// Gives `n` used blocks from `block` on back.
    #[inline]
    pub(super) fn free_blocks(&mut self, c: usize, block: usize, n: usize) {
        self.flip_blocks(c, block, n, true);
        self.account_clusters(c, block, n, true);
    }

    fn flip_blocks(&mut self, c: usize, block: usize, n: usize, free: bool) {
        let first = c * self.block_words;
        self.changed
            .mark(first + block / 64..first + (block + n).div_ceil(64));
        let words = &mut self.blocks[c * self.block_words..];
        for b in block..block + n {
            let bit = 1 << (b % 64);
            debug_assert_eq!(words[b / 64] & bit != 0, !free, "group {c}, block {b}");
            words[b / 64] ^= bit;
        }
        if let Some(rotation) = &mut self.rotation {
            rotation.count(c, block, n, free);
        }
        if free {
            self.nbfree[c] += n as u32;
            self.totals.nbfree += n as u64;
        } else {
            self.nbfree[c] -= n as u32;
            self.totals.nbfree -= n as u64;
        }
    }

    /// Updates the cluster summary for `n` blocks that are free (still, or by now).
    fn account_clusters(&mut self, c: usize, block: usize, n: usize, freed: bool) {
        let largest = self.contigsumsize;
        if largest == 0 {
            return;
        }
        let words = &self.blocks[c * self.block_words..(c + 1) * self.block_words];
        let back = free_before(words, block).min(largest);
        let forward = free_from(words, block + n).min(largest);
        let whole = (back + n + forward).min(largest);
        let sums = &mut self.clsum[c * largest..(c + 1) * largest];
        let one = if freed { 1 } else { u32::MAX };
        sums[whole - 1] = sums[whole - 1].wrapping_add(one);
        for part in [back, forward] {
            if part > 0 {
                sums[part - 1] = sums[part - 1].wrapping_sub(one);
            }
        }
    }

    /// Runs of free blocks by length, 1 to the largest class.
    pub(super) fn cluster_sums(&self, c: usize) -> &[u32] {
        &self.clsum[c * self.contigsumsize..(c + 1) * self.contigsumsize]
    }

    /// Whether some run of `n` free blocks exists in the group.
    pub(super) fn has_cluster(&self, c: usize, n: usize) -> bool {
        n <= self.contigsumsize && self.cluster_sums(c)[n - 1..].iter().any(|&count| count > 0)
    }

    /// First block at or after `start` with `n` free ones from it on; no wrap.
    pub(super) fn find_cluster(&self, c: usize, start: usize, n: usize) -> Option<usize> {
        let words = &self.blocks[c * self.block_words..(c + 1) * self.block_words];
        let mut keep = u64::MAX << (start % 64);
        for i in start / 64..self.block_words {
            let next = words.get(i + 1).copied().unwrap_or(0);
            let mut starts = u128::from(next) << 64 | u128::from(words[i]);
            // After this, bit b is set if n free blocks start at b.
            let mut width = 1;
            while width < n {
                let step = width.min(n - width);
                starts &= starts >> step;
                width += step;
            }
            let here = starts as u64 & keep;
            if here != 0 {
                return Some(i * 64 + here.trailing_zeros() as usize);
            }
            keep = u64::MAX;
        }
        None
    }

    /// First free block at or after `start`, else from the group's beginning.
    pub(super) fn find_block(&self, c: usize, start: usize) -> Option<usize> {
        self.next_block(c, start).or_else(|| self.next_block(c, 0))
    }

    /// First free block at or after `start`, without a wrap.
    pub(super) fn next_block(&self, c: usize, start: usize) -> Option<usize> {
        let words = &self.blocks[c * self.block_words..(c + 1) * self.block_words];
        let mut keep = u64::MAX << (start % 64);
        for (i, &word) in words.iter().enumerate().skip(start / 64) {
            if word & keep != 0 {
                return Some(i * 64 + (word & keep).trailing_zeros() as usize);
            }
            keep = u64::MAX;
        }
        None
    }

    /// Length of the run of free blocks that starts at `block`.
    pub(super) fn free_run(&self, c: usize, block: usize) -> usize {
        let words = &self.blocks[c * self.block_words..(c + 1) * self.block_words];
        let mut n = 0;
        loop {
            let more = free_from(words, block + n);
            n += more;
            if more < 64 {
                return n;
            }
        }
    }

    /// The block to take in place of `start`, at the nearest rotational position of the same cylinder: the
    /// lowest free one of the first position, from that of `start` on, that has any.
    pub(super) fn find_in_cylinder(&self, c: usize, start: usize) -> Option<usize> {
        let words = &self.blocks[c * self.block_words..(c + 1) * self.block_words];
        self.rotation.as_ref()?.nearest(c, words, start)
    }

    /// Free blocks by cylinder and position, `cylinder * nrpos + position`, where they are counted.
    pub(super) fn position_counts(&self, c: usize) -> Option<&[u16]> {
        Some(self.rotation.as_ref()?.counts(c))
    }

    /// Which fragments of a block are free.
    pub(super) fn free_mask(&self, c: usize, block: usize) -> u8 {
        if self.is_free(c, block) {
            return self.full_mask();
        }
        match self.find_partial(c, block) {
            Ok(i) => self.partial[c][i].mask(),
            Err(_) => 0,
        }
    }

    /// The mask of a block whose fragments are all free.
    pub(super) fn full_mask(&self) -> u8 {
        (0xff_u16 >> (8 - self.frag)) as u8
    }

    fn find_partial(&self, c: usize, block: usize) -> Result<usize, usize> {
        self.partial[c].binary_search_by_key(&block, |p| p.block())
    }

    /// Changes the mask of the partly used block `partial[c][i]`, and what is counted of it.
    fn set_mask(&mut self, c: usize, i: usize, mask: u8) {
        let entry = self.partial[c][i];
        let word = c * self.block_words + entry.block() / 64;
        self.changed.mark(word..word + 1);
        let (old, new) = (RUNS[usize::from(entry.mask())], RUNS[usize::from(mask)]);
        for size in 1..8 {
            let sum = &mut self.frsum[c][size];
            *sum = *sum + u32::from(new[size]) - u32::from(old[size]);
        }
        let (before, after) = (entry.mask().count_ones(), mask.count_ones());
        self.nffree[c] = self.nffree[c] + after - before;
        self.totals.nffree = self.totals.nffree + u64::from(after) - u64::from(before);
        if mask == 0 {
            self.partial[c].remove(i);
        } else {
            self.partial[c][i] = Partial::new(entry.block(), mask);
        }
    }

    fn insert_partial(&mut self, c: usize, block: usize, mask: u8) {
        if mask == 0 {
            return;
        }
        let i = self.find_partial(c, block).unwrap_or_else(|i| i);
        // Enters with nothing free, so that one place counts.
        self.partial[c].insert(i, Partial::new(block, 0));
        self.set_mask(c, i, mask);
    }

    /// Breaks a free block: its first `n` fragments are taken, the others are free fragments.
    pub(super) fn break_block(&mut self, c: usize, block: usize, n: usize) {
        self.take_blocks(c, block, 1);
        let mask = self.full_mask() & (0xff_u16 << n) as u8;
        self.insert_partial(c, block, mask);
    }

    /// Takes the `n` free fragments from `relative` on, in a partly used block.
    pub(super) fn take_frags(&mut self, c: usize, relative: usize, n: usize) {
        let (block, offset) = (relative / self.frag, relative % self.frag);
        let taken = mask_of(offset, n);
        let i = self
            .find_partial(c, block)
            .unwrap_or_else(|_| panic!("group {c}: no free fragments in block {block}"));
        let mask = self.partial[c][i].mask();
        assert_eq!(
            mask & taken,
            taken,
            "group {c}: fragments {relative}+{n} are in use"
        );
        self.set_mask(c, i, mask & !taken);
    }

    /// Gives `n` fragments, fewer than a block, back; a block that is whole again becomes a free block.
    pub(super) fn free_frags(&mut self, c: usize, relative: usize, n: usize) {
        debug_assert!(
            n < self.frag,
            "group {c}: whole blocks have a call of their own"
        );
        let (block, offset) = (relative / self.frag, relative % self.frag);
        let freed = mask_of(offset, n);
        debug_assert_eq!(
            self.free_mask(c, block) & freed,
            0,
            "group {c}: {relative}+{n} free twice"
        );
        match self.find_partial(c, block) {
            Ok(i) => {
                let mask = self.partial[c][i].mask() | freed;
                if mask == self.full_mask() {
                    self.set_mask(c, i, 0);
                    self.free_blocks(c, block, 1);
                } else {
                    self.set_mask(c, i, mask);
                }
            }
            Err(_) => self.insert_partial(c, block, freed),
        }
    }

    /// First partly used block at or after `start`, else from the beginning, that has a maximal run of exactly
    /// `size` fragments; and the offset of its lowest such run.
    pub(super) fn find_frags(&self, c: usize, start: usize, size: usize) -> Option<(usize, usize)> {
        let list = &self.partial[c];
        let from = list.partition_point(|p| p.block() < start);
        let fits = |p: &&Partial| RUN_SIZES[usize::from(p.mask())] >> size & 1 == 1;
        let hit = list[from..]
            .iter()
            .find(fits)
            .or_else(|| list[..from].iter().find(fits))?;
        let mask = u16::from(hit.mask());
        // A maximal run of `size` at `offset`: free there, used on both sides.
        let run = u16::from(mask_of(0, size)) << 1;
        let window = run << 1 | run | run >> 1;
        let offset = (0..=self.frag - size).find(|&o| mask << 1 & window << o == run << o)?;
        Some((hit.block(), offset))
    }

    /// Whether an inode is in use.
    pub(super) fn inode_used(&self, c: usize, index: usize) -> bool {
        self.inodes[c * self.inode_words + index / 64] >> (index % 64) & 1 == 1
    }

    /// Lowest free inode of the first map byte, from that of the rotor on, that is not full.
    pub(super) fn find_inode(&self, c: usize) -> Option<usize> {
        let words = &self.inodes[c * self.inode_words..(c + 1) * self.inode_words];
        let start = self.irotor[c] as usize / 8 * 8;
        let free_at = |i: usize, keep: u64| {
            let free = !words[i] & keep;
            let index = i * 64 + free.trailing_zeros() as usize;
            (free != 0 && index < self.inodes_per_group).then_some(index)
        };
        free_at(start / 64, u64::MAX << (start % 64)).or_else(|| {
            let mut rest = (start / 64 + 1..self.inode_words).chain(0..=start / 64);
            rest.find_map(|i| free_at(i, u64::MAX))
        })
    }

    /// Marks an inode as used.
    pub(super) fn take_inode(&mut self, c: usize, index: usize, directory: bool) {
        self.inodes[c * self.inode_words + index / 64] |= 1 << (index % 64);
        self.nifree[c] -= 1;
        self.totals.nifree -= 1;
        self.ndir[c] += u32::from(directory);
        self.totals.ndir += u64::from(directory);
    }

    /// Gives an inode back.
    pub(super) fn free_inode(&mut self, c: usize, index: usize, directory: bool) {
        debug_assert!(self.inode_used(c, index));
        self.inodes[c * self.inode_words + index / 64] &= !(1 << (index % 64));
        self.irotor[c] = self.irotor[c].min(index as u32);
        self.nifree[c] += 1;
        self.totals.nifree += 1;
        self.ndir[c] -= u32::from(directory);
        self.totals.ndir -= u64::from(directory);
    }

    /// Blocks per group.
    pub(super) fn blocks_per_group(&self) -> usize {
        self.blocks_per_group
    }
}

/// What the methods above never leave in disorder, laid open for the tests of the check.
#[cfg(test)]
pub(super) struct Corruptible<'a> {
    pub blocks: &'a mut [u64],
    pub inodes: &'a mut [u64],
    pub clsum: &'a mut [u32],
    pub positions: &'a mut [u16],
}

#[cfg(test)]
impl Groups {
    pub(super) fn corruptible(&mut self) -> Corruptible<'_> {
        Corruptible {
            blocks: &mut self.blocks,
            inodes: &mut self.inodes,
            clsum: &mut self.clsum,
            positions: self.rotation.as_mut().map_or(&mut [], Rotation::all_counts),
        }
    }
}

/// Fragments `offset..offset + n` of a block.
fn mask_of(offset: usize, n: usize) -> u8 {
    (((1_u16 << n) - 1) << offset) as u8
}

/// Free blocks directly from `at` on, at most 64.
fn free_from(words: &[u64], at: usize) -> usize {
    let (word, shift) = (at / 64, at % 64);
    let mut window = words.get(word).copied().unwrap_or(0) >> shift;
    if shift > 0 {
        window |= words.get(word + 1).copied().unwrap_or(0) << (64 - shift);
    }
    window.trailing_ones() as usize
}

/// Free blocks directly before `at`, at most 64.
fn free_before(words: &[u64], at: usize) -> usize {
    let (word, shift) = (at / 64, at % 64);
    let mut window = if shift > 0 {
        words[word] << (64 - shift)
    } else {
        0
    };
    if word > 0 {
        let before = words[word - 1];
        window |= if shift > 0 { before >> shift } else { before };
    }
    window.leading_ones() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffs::Params;

    #[test]
    fn run_tables_count_maximal_runs() {
        assert_eq!(RUNS[0b1110_0110], [0, 0, 1, 1, 0, 0, 0, 0]);
        assert_eq!(RUN_SIZES[0b1110_0110], 0b1100);
        assert_eq!(RUNS[0b0111_1111][7], 1);
    }

    #[test]
    fn runs_of_free_blocks_are_found_across_words() {
        let geometry = Geometry::newfs(&Params::preset("small").unwrap()).unwrap();
        let mut groups = Groups::new(&geometry);
        let c = 1;
        // Metadata of group 1 are fragments 64..192 (cgoffset 32): blocks 6..20 are used.
        assert_eq!(geometry.metadata(1), 48..192);
        assert_eq!(groups.find_cluster(c, 0, 6), Some(0));
        assert_eq!(groups.find_cluster(c, 1, 6), Some(24));
        groups.take_blocks(c, 24, 36);
        groups.take_blocks(c, 64, 1);
        assert_eq!(groups.find_cluster(c, 20, 4), Some(60));
        assert_eq!(groups.find_cluster(c, 20, 5), Some(65));
        assert_eq!(groups.find_block(c, 24), Some(60));
        groups.take_blocks(c, 65, geometry.blocks_per_group() as usize - 65);
        assert_eq!(groups.find_block(c, 70), Some(0));
        assert_eq!(groups.find_cluster(c, 61, 4), None);
    }

    #[test]
    fn fragments_are_found_by_exact_size_and_become_blocks_again() {
        let mut groups = Groups::new(&Geometry::newfs(&Params::preset("tiny").unwrap()).unwrap());
        let c = 1;
        let before = groups.totals;
        groups.break_block(c, 1, 3);
        groups.break_block(c, 2, 1);
        groups.take_frags(c, 20, 1);
        // Block 1: fragments 3..8 free; block 2: 1..4 and 5..8.
        assert_eq!(groups.frsum[c], [0, 0, 0, 2, 0, 1, 0, 0]);
        assert_eq!(groups.find_frags(c, 0, 5), Some((1, 3)));
        assert_eq!(groups.find_frags(c, 2, 3), Some((2, 1)));
        assert_eq!(groups.find_frags(c, 3, 5), Some((1, 3)));
        assert_eq!(groups.find_frags(c, 0, 4), None);
        groups.free_frags(c, 8, 3);
        groups.free_frags(c, 20, 1);
        groups.free_frags(c, 16, 1);
        assert_eq!(groups.totals, before);
        assert!(groups.partial[c].is_empty());
    }
}
