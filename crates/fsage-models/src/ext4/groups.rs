//! Groups: which blocks and inodes are in use on disk, which blocks the allocator may take, and what it knows of the
//! free ones.
//!
//! Spec: `docs/spec/ext4.md`, sections 5, 18 and 22.

use super::bits;
use super::geometry::Made;
use super::group_set::GroupSet;
use super::pieces::{self, Counts, MAX_ORDERS, order_of};
use crate::changes::ChangedWords;
use std::iter;
use std::ops::Range;

/// What the allocator knows of the free blocks of a group: a function of its bitmap `core`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FreeInfo {
    /// Free blocks.
    pub free: u32,
    /// Maximal runs of them.
    pub runs: u32,
    /// Pieces by order.
    pub pieces: Counts,
}

impl FreeInfo {
    /// The highest order of a piece.
    fn largest(&self) -> Option<u32> {
        self.pieces
            .iter()
            .rposition(|&count| count > 0)
            .map(|order| order as u32)
    }

    /// Class of the mean length of runs.
    fn average_class(&self, orders: u32) -> Option<u32> {
        (self.runs > 0).then(|| average_class(self.free / self.runs, orders))
    }
}

/// Class of a mean length of runs.
#[inline]
pub(super) fn average_class(blocks: u32, orders: u32) -> u32 {
    order_of(blocks).saturating_sub(1).min(orders - 1)
}

/// A group.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub info: FreeInfo,
    /// Class of the highest order of a piece, and of the mean length of runs: the sets that it is in.
    classes: (Option<u32>, Option<u32>),
    pub free_inodes: u32,
    /// Free blocks on disk.
    pub free_blocks: u32,
    pub directories: u32,
    /// No inode below this bit is free.
    first_free_inode: u32,
}

/// Sums over the groups of a flex group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub free_inodes: u32,
    pub free_blocks: u32,
    pub directories: u32,
}

/// All groups.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    pub all: Vec<Group>,
    pub flex: Vec<Sums>,
    /// Blocks in use on disk.
    disk: Vec<u64>,
    /// The same, with those that are set aside and those that were freed since the last commit.
    core: Vec<u64>,
    inodes: Vec<u64>,
    /// Groups by the highest order of a piece, and by the class of the mean length of their runs.
    pub by_largest: Vec<GroupSet>,
    pub by_average: Vec<GroupSet>,
    block_words: usize,
    inode_words: usize,
    blocks_per_group: u32,
    inodes_per_group: u32,
    first_block: u32,
    flex_size: u32,
    orders: u32,
    /// Words of `disk` that were written to since metrics last looked.
    pub changed: ChangedWords,
}

impl Groups {
    /// The groups of a file system that was just made.
    pub fn new(made: &Made) -> Groups {
        let g = &made.geometry;
        let orders = g.orders();
        assert!(orders as usize <= MAX_ORDERS);
        let inode_words = (g.inodes_per_group as usize).div_ceil(64);
        let mut inodes = vec![0; inode_words * g.groups as usize];
        for group in 0..g.groups as usize {
            let words = &mut inodes[group * inode_words..(group + 1) * inode_words];
            bits::fill(words, g.inodes_per_group, inode_words as u32 * 64, true);
        }
        let block_words = g.group_words();
        let mut disk = Vec::with_capacity(block_words * g.groups as usize);
        for group in 0..g.groups {
            let from = group * g.blocks_per_group;
            disk.extend(bits::cut(&made.used, from, g.blocks_per_group));
        }
        let mut groups = Groups {
            all: vec![Group::default(); g.groups as usize],
            flex: vec![Sums::default(); g.flex_groups() as usize],
            core: disk.clone(),
            disk,
            inodes,
            by_largest: vec![GroupSet::new(g.groups); orders as usize],
            by_average: vec![GroupSet::new(g.groups); orders as usize],
            block_words,
            inode_words,
            blocks_per_group: g.blocks_per_group,
            inodes_per_group: g.inodes_per_group,
            first_block: g.first_block,
            flex_size: g.flex,
            orders,
            changed: ChangedWords::default(),
        };
        for group in 0..g.groups {
            let info = groups.measure(group);
            let flex = &mut groups.flex[(group / g.flex) as usize];
            flex.free_blocks += info.free;
            flex.free_inodes += g.inodes_per_group;
            let one = &mut groups.all[group as usize];
            one.info = info;
            one.free_blocks = info.free;
            one.free_inodes = g.inodes_per_group;
            groups.classify(group);
        }
        groups
    }

    /// What the allocator should know of a group, from its bitmap.
    pub fn measure(&self, group: u32) -> FreeInfo {
        let mut info = FreeInfo::default();
        let mut at = 0;
        while let Some((start, end)) = self.next_run(group, at) {
            info.free += end - start;
            info.runs += 1;
            pieces::count(&mut info.pieces, start, end, self.orders, true);
            at = end;
        }
        info
    }

    #[inline]
    fn core_of(&self, group: u32) -> &[u64] {
        let start = group as usize * self.block_words;
        &self.core[start..start + self.block_words]
    }

    /// The first run of blocks that may be taken, at or behind a position of a group.
    #[inline]
    pub fn next_run(&self, group: u32, from: u32) -> Option<(u32, u32)> {
        let words = self.core_of(group);
        let start = bits::next_clear(words, from, self.blocks_per_group)?;
        Some((start, bits::next_set(words, start, self.blocks_per_group)))
    }

    /// The run that holds a position, if that may be taken.
    #[inline]
    pub fn run_at(&self, group: u32, at: u32) -> Option<(u32, u32)> {
        let words = self.core_of(group);
        (!bits::is_set(words, at)).then(|| {
            let end = bits::next_set(words, at, self.blocks_per_group);
            (bits::clear_before(words, 0, at), end)
        })
    }

    /// Position of the lowest piece of exactly this order. There is one.
    pub fn lowest_piece(&self, group: u32, order: u32) -> u32 {
        let mut at = 0;
        let size = 1 << order;
        while let Some((start, end)) = self.next_run(group, at) {
            at = end;
            if end - start < size {
                continue;
            }
            let mut next = start;
            while next < end {
                let length = pieces::length((start, end), next, 1, self.orders);
                if length == size {
                    return next;
                }
                next += length;
            }
        }
        unreachable!("a piece that is counted lies somewhere")
    }

    #[inline]
    fn split(&self, block: u32) -> (u32, u32) {
        let at = block - self.first_block;
        (at / self.blocks_per_group, at % self.blocks_per_group)
    }

    /// The groups that a run of blocks lies in, with the positions in each: first, and the one behind.
    fn by_group(&self, start: u32, blocks: u32) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
        let per_group = self.blocks_per_group;
        let (mut group, mut at) = self.split(start);
        let mut left = blocks;
        iter::from_fn(move || {
            let here = left.min(per_group - at);
            let part = (here > 0).then_some((group, at, at + here));
            (group, at) = (group + 1, 0);
            left -= here;
            part
        })
    }

    /// The allocator takes blocks of one group, all of which are free to it.
    pub fn take(&mut self, start: u32, blocks: u32) {
        let (group, from) = self.split(start);
        self.change(group, from, from + blocks, true);
    }

    /// The allocator gets blocks back.
    pub fn give_back(&mut self, start: u32, blocks: u32) {
        for (group, from, to) in self.by_group(start, blocks) {
            self.change(group, from, to, false);
        }
    }

    /// No piece reaches over a multiple of the largest one, so that only the surroundings up to there count.
    fn change(&mut self, group: u32, from: u32, to: u32, used: bool) {
        let window = 1 << (self.orders - 1);
        let low = from & !(window - 1);
        let high = ((to - 1) | (window - 1)) + 1;
        let words = self.core_of(group);
        let start = bits::clear_before(words, low, from);
        let end = bits::next_set(words, to, high.min(self.blocks_per_group));
        let joins_left = from > 0 && !bits::is_set(words, from - 1);
        let joins_right = to < self.blocks_per_group && !bits::is_set(words, to);
        let base = group as usize * self.block_words;
        bits::fill(
            &mut self.core[base..base + self.block_words],
            from,
            to,
            used,
        );
        let info = &mut self.all[group as usize].info;
        let orders = self.orders;
        let counts = &mut info.pieces;
        pieces::count(counts, start, end, orders, !used);
        pieces::count(counts, start, from, orders, used);
        pieces::count(counts, to, end, orders, used);
        let joined = u32::from(joins_left) + u32::from(joins_right);
        if used {
            info.free -= to - from;
            info.runs = info.runs + joined - 1;
        } else {
            info.free += to - from;
            info.runs = info.runs + 1 - joined;
        }
        self.classify(group);
    }

    /// Puts a group into the sets where it belongs.
    #[inline]
    fn classify(&mut self, group: u32) {
        let one = &mut self.all[group as usize];
        let now = (one.info.largest(), one.info.average_class(self.orders));
        let before = std::mem::replace(&mut one.classes, now);
        if before.0 != now.0 {
            before
                .0
                .inspect(|&order| self.by_largest[order as usize].remove(group));
            now.0
                .inspect(|&order| self.by_largest[order as usize].insert(group));
        }
        if before.1 != now.1 {
            before
                .1
                .inspect(|&class| self.by_average[class as usize].remove(group));
            now.1
                .inspect(|&class| self.by_average[class as usize].insert(group));
        }
    }

    /// The highest order of a piece in a group.
    #[inline]
    pub fn largest(&self, group: u32) -> Option<u32> {
        self.all[group as usize].classes.0
    }

    /// Blocks come into use on disk.
    pub fn use_on_disk(&mut self, start: u32, blocks: u32) {
        self.fill_disk(start, blocks, true);
    }

    /// Blocks go out of use on disk. The allocator gets them with the next commit.
    pub fn free_on_disk(&mut self, start: u32, blocks: u32) {
        self.fill_disk(start, blocks, false);
    }

    fn fill_disk(&mut self, start: u32, blocks: u32, used: bool) {
        for (group, from, to) in self.by_group(start, blocks) {
            let base = group as usize * self.block_words;
            let words = &mut self.disk[base..base + self.block_words];
            bits::fill(words, from, to, used);
            self.changed
                .mark(base + from as usize / 64..base + to.div_ceil(64) as usize);
            let one = &mut self.all[group as usize];
            let flex = &mut self.flex[(group / self.flex_size) as usize];
            if used {
                one.free_blocks -= to - from;
                flex.free_blocks -= to - from;
            } else {
                one.free_blocks += to - from;
                flex.free_blocks += to - from;
            }
        }
    }

    /// Of a run of blocks, how many lie in each of its groups.
    pub fn parts(&self, start: u32, blocks: u32) -> impl Iterator<Item = u32> + use<> {
        self.by_group(start, blocks).map(|(_, from, to)| to - from)
    }

    /// The runs among these blocks that are not in use on disk.
    pub fn unused_on_disk(&self, start: u32, blocks: u32) -> Vec<(u32, u32)> {
        let mut runs = Vec::new();
        for (group, from, to) in self.by_group(start, blocks) {
            let first = self.first_block + group * self.blocks_per_group;
            self.visit_free_on_disk(group, from..to, |free, end| {
                runs.push((first + free, end - free));
            });
        }
        runs
    }

    /// Visits the runs of blocks of a group that are not in use on disk, within some positions.
    pub fn visit_free_on_disk(
        &self,
        group: u32,
        within: Range<u32>,
        mut visit: impl FnMut(u32, u32),
    ) {
        let base = group as usize * self.block_words;
        let words = &self.disk[base..base + self.block_words];
        let mut at = within.start;
        while let Some(free) = bits::next_clear(words, at, within.end) {
            at = bits::next_set(words, free, within.end);
            visit(free, at);
        }
    }

    /// Whether a block is in use on disk.
    pub fn is_used_on_disk(&self, block: u32) -> bool {
        let (group, at) = self.split(block);
        bits::is_set(&self.disk[group as usize * self.block_words..], at)
    }

    /// Whether the allocator may not take a block.
    pub fn is_taken(&self, block: u32) -> bool {
        let (group, at) = self.split(block);
        bits::is_set(self.core_of(group), at)
    }

    /// Place of a word of `disk` that was written to: its group, and the position of its first block.
    pub fn place_of_word(&self, word: usize) -> (u32, u32) {
        let group = (word / self.block_words) as u32;
        (group, (word % self.block_words) as u32 * 64)
    }

    /// Takes the lowest free inode of a group; its position.
    pub fn take_inode(&mut self, group: u32, is_directory: bool) -> Option<u32> {
        let base = group as usize * self.inode_words;
        let words = &mut self.inodes[base..base + self.inode_words];
        let one = &mut self.all[group as usize];
        if one.free_inodes == 0 {
            return None;
        }
        let at = bits::next_clear(words, one.first_free_inode, self.inodes_per_group)?;
        bits::fill(words, at, at + 1, true);
        one.first_free_inode = at + 1;
        let flex = &mut self.flex[(group / self.flex_size) as usize];
        one.free_inodes -= 1;
        flex.free_inodes -= 1;
        if is_directory {
            one.directories += 1;
            flex.directories += 1;
        }
        Some(at)
    }

    /// Frees an inode.
    pub fn free_inode(&mut self, group: u32, at: u32, is_directory: bool) {
        let base = group as usize * self.inode_words;
        let words = &mut self.inodes[base..base + self.inode_words];
        bits::fill(words, at, at + 1, false);
        let one = &mut self.all[group as usize];
        one.first_free_inode = one.first_free_inode.min(at);
        let flex = &mut self.flex[(group / self.flex_size) as usize];
        one.free_inodes += 1;
        flex.free_inodes += 1;
        if is_directory {
            one.directories -= 1;
            flex.directories -= 1;
        }
    }

    /// Visits the runs of free inodes of a group.
    pub fn visit_free_inodes(&self, group: u32, mut visit: impl FnMut(u32, u32)) {
        let base = group as usize * self.inode_words;
        let words = &self.inodes[base..base + self.inode_words];
        let mut at = 0;
        while let Some(free) = bits::next_clear(words, at, self.inodes_per_group) {
            at = bits::next_set(words, free, self.inodes_per_group);
            visit(free, at);
        }
    }

    /// Takes over the bitmap of the inodes of a group, all of which were free.
    pub fn set_inodes(&mut self, group: u32, bitmap: &[u8]) {
        let start = group as usize * self.inode_words;
        let words = &mut self.inodes[start..start + self.inode_words];
        for (word, bytes) in words.iter_mut().zip(bitmap.chunks(8)) {
            for (at, &byte) in bytes.iter().enumerate() {
                *word |= u64::from(byte) << (8 * at);
            }
        }
        let used = words.iter().map(|word| word.count_ones()).sum::<u32>();
        let behind = words.len() as u32 * 64 - self.inodes_per_group;
        let one = &mut self.all[group as usize];
        one.free_inodes -= used - behind;
        self.flex[(group / self.flex_size) as usize].free_inodes -= used - behind;
    }

    /// One more inode of a group is a directory.
    pub fn note_directory(&mut self, group: u32) {
        self.all[group as usize].directories += 1;
        self.flex[(group / self.flex_size) as usize].directories += 1;
    }

    /// The bitmap of the blocks of a group in so many bytes, as it lies on disk: bits of no block are set.
    pub fn block_bitmap(&self, group: u32, bytes: usize) -> Vec<u8> {
        let start = group as usize * self.block_words;
        let words = &self.disk[start..start + self.block_words];
        bitmap_of(words, self.blocks_per_group, bytes)
    }

    /// The bitmap of the inodes of a group in so many bytes, as it lies on disk: bits of no inode are set.
    pub fn inode_bitmap(&self, group: u32, bytes: usize) -> Vec<u8> {
        bitmap_of(self.inode_words_of(group), self.inodes_per_group, bytes)
    }

    /// Inodes of a group up to the last one that is in use.
    pub fn inodes_up_to_last(&self, group: u32) -> u32 {
        bits::clear_before(self.inode_words_of(group), 0, self.inodes_per_group)
    }

    fn inode_words_of(&self, group: u32) -> &[u64] {
        let start = group as usize * self.inode_words;
        &self.inodes[start..start + self.inode_words]
    }

    /// Whether an inode is in use.
    pub fn is_inode_used(&self, group: u32, at: u32) -> bool {
        bits::is_set(&self.inodes[group as usize * self.inode_words..], at)
    }
}

/// A bitmap in so many bytes, the bits behind its own set.
fn bitmap_of(words: &[u64], bits: u32, bytes: usize) -> Vec<u8> {
    let used = words.iter().flat_map(|word| word.to_le_bytes());
    let mut bitmap: Vec<u8> = used.take(bits as usize / 8).collect();
    bitmap.resize(bytes, 0xff);
    bitmap
}
