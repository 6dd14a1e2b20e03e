//! Inodes, their extents, and which blocks of a file are dirty in memory.

use super::btree::{Limits, Record, Tree};
use super::data::blocks_until;
use std::ops::{Deref, Range};

/// What an inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Symlink,
}

/// Whether the blocks of an extent have a place, and were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// They hold data.
    Written,
    /// They have a place, and read as zeroes.
    Unwritten,
    /// They have no place yet.
    Delayed,
}

/// A run of blocks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First block in the file.
    pub logical: u32,
    /// Length in blocks.
    pub blocks: u32,
    /// State, and the first block on disk; of delayed ones, what is reserved for blocks of the tree.
    packed: u64,
}

const STATE: u32 = 62;
const PLACE: u64 = (1 << STATE) - 1;

/// Most blocks of an extent.
pub(super) const MOST_BLOCKS: u32 = (1 << 21) - 1;

impl Extent {
    /// An extent that has a place, by AG and block in AG bits.
    pub(super) fn real(logical: u32, start: u64, blocks: u32, is_written: bool) -> Extent {
        Extent {
            logical,
            blocks,
            packed: start | if is_written { 0 } else { 1 << STATE },
        }
    }

    /// An extent without a place, with what is reserved for blocks of the tree.
    pub(super) fn delayed(logical: u32, blocks: u32, reserved: u32) -> Extent {
        Extent {
            logical,
            blocks,
            packed: u64::from(reserved) | 2 << STATE,
        }
    }

    /// Whether it has a place, and was written.
    pub fn state(&self) -> State {
        match self.packed >> STATE {
            0 => State::Written,
            1 => State::Unwritten,
            _ => State::Delayed,
        }
    }

    /// Whether it has a place.
    pub fn is_real(&self) -> bool {
        self.state() != State::Delayed
    }

    /// The first block on disk, by AG and block in AG bits.
    pub(super) fn start(&self) -> u64 {
        self.packed & PLACE
    }

    /// What is reserved for blocks of the tree.
    pub(super) fn reserved(&self) -> u32 {
        (self.packed & PLACE) as u32
    }

    /// The block of the file behind the last one.
    pub fn end(&self) -> u32 {
        self.logical + self.blocks
    }

    pub(super) fn has(&self, block: u32) -> bool {
        (self.logical..self.end()).contains(&block)
    }

    /// What is left of a real one, from a block of the file on.
    pub(super) fn from(&self, logical: u32) -> Extent {
        let skipped = logical - self.logical;
        Extent {
            logical,
            blocks: self.blocks - skipped,
            packed: self.packed + u64::from(skipped),
        }
    }

    /// What is left of it, up to a block of the file.
    pub(super) fn until(&self, end: u32) -> Extent {
        Extent {
            blocks: end - self.logical,
            ..*self
        }
    }

    /// The same with more blocks behind it.
    pub(super) fn longer(&self, blocks: u32) -> Extent {
        Extent {
            blocks: self.blocks + blocks,
            ..*self
        }
    }

    /// The same blocks, written.
    pub(super) fn written(&self) -> Extent {
        Extent {
            packed: self.start(),
            ..*self
        }
    }

    /// Whether a real one goes on with another one, in the file and on disk.
    pub(super) fn is_continued_by(&self, next: &Extent) -> bool {
        self.end() == next.logical
            && self.is_real()
            && self.packed + u64::from(self.blocks) == next.packed
            && self.blocks + next.blocks <= MOST_BLOCKS
    }
}

/// The extents of an inode, ascending. A few stand in place.
#[derive(Clone, Debug)]
pub(super) enum Extents {
    Few(u8, [Extent; 2]),
    Many(Vec<Extent>),
}

const NO_EXTENT: Extent = Extent {
    logical: 0,
    blocks: 0,
    packed: 0,
};

impl Default for Extents {
    fn default() -> Extents {
        Extents::Few(0, [NO_EXTENT; 2])
    }
}

impl Deref for Extents {
    type Target = [Extent];

    fn deref(&self) -> &[Extent] {
        match self {
            Extents::Few(len, extents) => &extents[..usize::from(*len)],
            Extents::Many(extents) => extents,
        }
    }
}

impl Extents {
    pub fn of(all: Vec<Extent>) -> Extents {
        match all[..] {
            [] => Extents::default(),
            [only] => Extents::Few(1, [only, NO_EXTENT]),
            [first, second] => Extents::Few(2, [first, second]),
            _ => Extents::Many(all),
        }
    }

    pub fn set(&mut self, at: usize, extent: Extent) {
        match self {
            Extents::Few(_, extents) => extents[at] = extent,
            Extents::Many(extents) => extents[at] = extent,
        }
    }

    pub fn insert(&mut self, at: usize, extent: Extent) {
        match self {
            Extents::Few(len @ ..2, extents) => {
                extents[at..].rotate_right(1);
                extents[at] = extent;
                *len += 1;
            }
            Extents::Few(_, extents) => {
                let mut many = Vec::with_capacity(4);
                many.extend_from_slice(extents);
                many.insert(at, extent);
                *self = Extents::Many(many);
            }
            Extents::Many(extents) => extents.insert(at, extent),
        }
    }

    pub fn remove(&mut self, at: usize) {
        match self {
            Extents::Few(len, extents) => {
                extents[at..].rotate_left(1);
                *len -= 1;
            }
            Extents::Many(extents) => {
                extents.remove(at);
                if let [first, second] = extents[..] {
                    *self = Extents::Few(2, [first, second]);
                }
            }
        }
    }

    /// The first extent that ends behind a block: it has the block, or is the next one.
    pub fn at(&self, block: u32) -> usize {
        self.partition_point(|extent| extent.end() <= block)
    }

    /// The extent that has a block.
    pub fn find(&self, block: u32) -> Option<&Extent> {
        self.get(self.at(block))
            .filter(|extent| extent.logical <= block)
    }

    /// The block behind the last extent.
    pub fn end(&self) -> u32 {
        self.last().map_or(0, Extent::end)
    }

    pub fn has_delayed(&self) -> bool {
        self.iter().any(|extent| !extent.is_real())
    }
}

/// A record of the tree of extents, by its block in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapped(pub u32);

impl Record for Mapped {
    type Key = u32;
    type Block = u64;
    const LEAF: Limits = Limits {
        most: 251,
        least: 125,
    };
    const NODE: Limits = Limits {
        most: 251,
        least: 125,
    };

    fn key(&self) -> u32 {
        self.0
    }
}

/// An inode.
#[derive(Clone, Debug)]
pub(super) struct Inode {
    pub ino: u64,
    pub kind: Kind,
    /// Slot of its file among the names; of a directory, of no use.
    pub file: u32,
    pub size: u64,
    /// Its length on disk: that after the last write-back.
    pub disk_size: u64,
    pub extents: Extents,
    /// The tree of extents, once they do not fit into the inode.
    pub tree: Option<Box<Tree<Mapped>>>,
    /// Number of its dirty blocks in memory, from 1; 0 if there are none.
    pub pages: u32,
    /// Forces of the log when it was changed last.
    pub changed: u32,
    /// Inodes that its slot has held before.
    pub generation: u32,
    pub flags: Flags,
}

impl Inode {
    /// Whether it has blocks behind its end that it does not keep.
    pub fn has_to_be_trimmed(&self) -> bool {
        let ends_behind = self.extents.end() > blocks_until(self.size);
        ends_behind && (!self.flags.is_preallocated || self.extents.has_delayed())
    }
}

/// What else is known of an inode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent of each other"
)]
pub(super) struct Flags {
    /// It stands on the list of dirty inodes.
    pub is_listed: bool,
    /// What was allocated behind the end was given back at a close.
    pub was_released: bool,
    pub was_truncated: bool,
    /// `fallocate` has given it blocks, which it keeps.
    pub is_preallocated: bool,
    /// It is on the list of files of the day, in the regime `perfile`.
    pub is_of_day: bool,
}

/// Blocks of a file: ranges that neither touch nor overlap, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks(Vec<Range<u32>>);

impl Blocks {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, block: u32) -> bool {
        let at = self.0.partition_point(|range| range.end <= block);
        self.0.get(at).is_some_and(|range| range.start <= block)
    }

    /// Puts blocks in. Gives how many of them were not there.
    pub fn add(&mut self, new: Range<u32>) -> u32 {
        if let Some(last) = self.0.last_mut()
            && (last.start..=last.end).contains(&new.start)
        {
            let more = new.end.saturating_sub(last.end);
            last.end += more;
            return more;
        }
        let from = self.0.partition_point(|range| range.end < new.start);
        let to = self.0.partition_point(|range| range.start <= new.end);
        let touched = &self.0[from..to];
        let before: u32 = touched.iter().map(|range| range.end - range.start).sum();
        let start = touched
            .first()
            .map_or(new.start, |range| range.start.min(new.start));
        let end = touched
            .last()
            .map_or(new.end, |range| range.end.max(new.end));
        let merged = std::iter::once(start..end);
        self.0.splice(from..to, merged);
        end - start - before
    }

    /// Takes blocks out. Gives how many of them were there.
    pub fn remove(&mut self, gone: Range<u32>) -> u32 {
        let from = self.0.partition_point(|range| range.end <= gone.start);
        let to = self.0.partition_point(|range| range.start < gone.end);
        if from >= to {
            return 0;
        }
        let touched = &self.0[from..to];
        let before: u32 = touched.iter().map(|range| range.end - range.start).sum();
        let left = self.0[from].start..gone.start;
        let right = gone.end..self.0[to - 1].end;
        let rests: Vec<_> = [left, right]
            .into_iter()
            .filter(|rest| !rest.is_empty())
            .collect();
        let after: u32 = rests.iter().map(|rest| rest.end - rest.start).sum();
        self.0.splice(from..to, rests);
        before - after
    }

    /// Those of them that lie in a range.
    pub fn within(&self, range: Range<u32>) -> Vec<Range<u32>> {
        let all = self
            .0
            .iter()
            .map(|own| own.start.max(range.start)..own.end.min(range.end));
        all.filter(|own| !own.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn blocks_that_come_and_go_are_kept_as_ranges() {
        let mut random = Rng::new(11);
        let (mut blocks, mut expected) = (Blocks::default(), BTreeSet::new());
        for _ in 0..2_000 {
            let start = random.below(60) as u32;
            let range = start..start + 1 + random.below(6) as u32;
            if random.below(2) == 0 {
                let before = expected.len();
                expected.extend(range.clone());
                assert_eq!(blocks.add(range) as usize, expected.len() - before);
            } else {
                let before = expected.len();
                expected.retain(|block| !range.contains(block));
                assert_eq!(blocks.remove(range) as usize, before - expected.len());
            }
            let found: Vec<u32> = blocks.within(0..100).into_iter().flatten().collect();
            assert!(found.iter().eq(&expected));
            assert!((0..70).all(|block| blocks.has(block) == expected.contains(&block)));
            assert!(blocks.0.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }

    #[test]
    fn a_few_extents_stand_in_place() {
        assert_eq!(size_of::<Extent>(), 16);
        assert!(size_of::<Inode>() <= 96, "{}", size_of::<Inode>());
        let mut extents = Extents::default();
        for logical in [8, 0, 4] {
            let at = extents.at(logical);
            extents.insert(at, Extent::real(logical, 100, 2, true));
        }
        assert!(matches!(extents, Extents::Many(_)));
        assert_eq!(
            extents
                .iter()
                .map(|extent| extent.logical)
                .collect::<Vec<_>>(),
            [0, 4, 8]
        );
        assert_eq!(
            (extents.find(5).map(|e| e.logical), extents.find(3)),
            (Some(4), None)
        );
        extents.remove(1);
        assert!(matches!(extents, Extents::Few(2, _)));
        assert_eq!(extents.end(), 10);
    }
}
