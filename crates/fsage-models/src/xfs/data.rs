//! Data: writing to memory with delayed allocation, and what is allocated beyond what was asked for.
//!
//! Spec: `docs/spec/xfs.md`, sections 12 and 26. Source: `xfs_iomap.c`.

use super::Xfs;
use super::fork::worst_tree;
use super::geometry::BLOCK;
use super::inode::{Extent, MOST_BLOCKS, State};

/// Bytes of one call to write.
const CALL: u64 = 64 << 10;
/// Blocks of one call: what is allocated beyond the end of a file begins at a multiple of them.
const CALL_BLOCKS: u64 = CALL / BLOCK;
/// Bytes that are mapped at a time.
const MOST_MAPPED: u64 = 4 << 20;
/// The least that is allocated beyond the end, in blocks.
const LEAST_BEYOND: u64 = 16;
/// Most blocks beyond the end.
const MOST_BEYOND: u64 = 1 << 21;

/// There is no space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoSpace;

/// The block in which a byte lies.
pub(super) fn block_at(byte: u64) -> u32 {
    (byte / BLOCK) as u32
}

/// Blocks up to a byte.
pub(super) fn blocks_until(byte: u64) -> u32 {
    byte.div_ceil(BLOCK) as u32
}

impl Xfs {
    /// Writes to an open file, call by call.
    pub(super) fn write(&mut self, slot: u32, offset: u64, bytes: u64) -> Result<(), NoSpace> {
        let end = offset + bytes;
        let mut at = offset;
        while at < end {
            let to = end.min(at + CALL);
            self.write_call(slot, at, to)?;
            at = to;
        }
        Ok(())
    }

    /// One call: what finds no space tries again once from the beginning, when everything was written back and trimmed.
    fn write_call(&mut self, slot: u32, mut from: u64, to: u64) -> Result<(), NoSpace> {
        self.zero_gap(slot, from);
        let mut tries = 0;
        while from < to {
            match self.write_piece(slot, from, to) {
                Ok(at) => from = at,
                Err(NoSpace) if tries == 0 => {
                    tries += 1;
                    self.write_back_all();
                    self.trim_all(true);
                    self.zero_gap(slot, from);
                }
                Err(NoSpace) => return Err(NoSpace),
            }
        }
        Ok(())
    }

    /// What lies between the end of a file and a write behind it becomes zero.
    fn zero_gap(&mut self, slot: u32, from: u64) {
        let size = self.inodes[slot as usize].size;
        if from > size {
            self.zero(slot, size, from);
        }
    }

    /// Writes as far as one extent goes. Gives where it ended.
    fn write_piece(&mut self, slot: u32, from: u64, to: u64) -> Result<u64, NoSpace> {
        let block = block_at(from);
        let extents = &self.inodes[slot as usize].extents;
        let next = extents.at(block);
        let mapped = extents
            .get(next)
            .map(|extent| (extent.logical, extent.end()));
        let end = match mapped {
            Some((logical, end)) if logical <= block => end,
            _ => self.delay(slot, from, to, mapped.map(|(logical, _)| logical))?,
        };
        let until = to.min(u64::from(end) * BLOCK);
        self.make_dirty(slot, block..blocks_until(until));
        let inode = &mut self.inodes[slot as usize];
        let old_size = inode.size;
        inode.size = inode.size.max(until);
        self.wrote(slot, from, until, old_size);
        Ok(until)
    }

    /// Blocks in memory are dirty, and the file is to be written back.
    pub(super) fn make_dirty(&mut self, slot: u32, blocks: std::ops::Range<u32>) {
        self.dirty_blocks += u64::from(self.pages_mut(slot).add(blocks));
        self.list(slot);
        self.log_change(slot);
    }

    /// A delayed extent for a hole. Gives its end.
    fn delay(&mut self, slot: u32, from: u64, to: u64, next: Option<u32>) -> Result<u32, NoSpace> {
        let inode = &self.inodes[slot as usize];
        let start = block_at(from);
        let needed = blocks_until(to.min(from + MOST_MAPPED));
        let clip = |end: u64| {
            end.min(next.unwrap_or(u32::MAX).into())
                .min(u64::from(start) + u64::from(MOST_BLOCKS))
        };
        let mut ends = vec![clip(needed.into()) as u32];
        let beyond = if next.is_none() && to > inode.size {
            self.beyond(slot, from)
        } else {
            0
        };
        if beyond > 0 {
            let end = (to - 1) / CALL * CALL_BLOCKS + beyond;
            ends.push(clip(end.max(needed.into())) as u32);
        }
        while let Some(end) = ends.pop() {
            let blocks = end - start;
            let reserved = worst_tree(blocks);
            if !self.space.reserve(i64::from(blocks + reserved), false) {
                continue;
            }
            let is_beyond = ends.len() == 1;
            self.put_delayed(slot, Extent::delayed(start, blocks, reserved));
            if is_beyond {
                self.tag(slot);
            }
            return Ok(end);
        }
        Err(NoSpace)
    }

    /// Puts a delayed extent in; those that it touches become one with it.
    fn put_delayed(&mut self, slot: u32, new: Extent) {
        let extents = &mut self.inodes[slot as usize].extents;
        let at = extents.at(new.logical);
        let is_delayed = |extent: &&Extent| extent.state() == State::Delayed;
        let left = at
            .checked_sub(1)
            .and_then(|at| extents.get(at))
            .filter(is_delayed);
        let left = left
            .filter(|left| left.end() == new.logical && left.blocks + new.blocks <= MOST_BLOCKS);
        let left = left.copied();
        let right = extents
            .get(at)
            .filter(is_delayed)
            .filter(|right| right.logical == new.end());
        let before = new.blocks + left.map_or(0, |left| left.blocks);
        let right = right
            .filter(|right| before + right.blocks <= MOST_BLOCKS)
            .copied();
        let blocks = before + right.map_or(0, |right| right.blocks);
        let sum = new.reserved()
            + left.map_or(0, |left| left.reserved())
            + right.map_or(0, |right| right.reserved());
        let reserved = worst_tree(blocks).min(sum);
        let merged = Extent::delayed(
            left.map_or(new.logical, |left| left.logical),
            blocks,
            reserved,
        );
        match (left.is_some(), right.is_some()) {
            (true, true) => {
                extents.remove(at);
                extents.set(at - 1, merged);
            }
            (true, false) => extents.set(at - 1, merged),
            (false, true) => extents.set(at, merged),
            (false, false) => extents.insert(at, merged),
        }
        if sum > reserved {
            self.space.counter.release(i64::from(sum - reserved));
        }
    }

    /// Blocks that are allocated beyond the end of a file which grows at a byte.
    fn beyond(&self, slot: u32, from: u64) -> u64 {
        let inode = &self.inodes[slot as usize];
        if inode.size < CALL {
            return 0;
        }
        let Some((last, before)) = inode.extents.split_last() else {
            return LEAST_BEYOND;
        };
        if last.end() < block_at(from) {
            return LEAST_BEYOND;
        }
        let mut blocks = u64::from(last.blocks);
        let mut next = *last;
        for extent in before.iter().rev() {
            let goes_on = extent.is_real()
                && next.is_real()
                && extent.end() == next.logical
                && extent.start() + u64::from(extent.blocks) == next.start();
            if blocks > u64::from(MOST_BLOCKS / 2) || !goes_on {
                break;
            }
            blocks += u64::from(extent.blocks);
            next = *extent;
        }
        let mut blocks = blocks * 2;
        if blocks > u64::from(MOST_BLOCKS) {
            blocks = from.div_ceil(BLOCK);
        }
        blocks = blocks.min(MOST_BEYOND);
        let free = self.space.counter.estimate();
        let below = (1..=5)
            .filter(|percent| free < self.space.percent(*percent))
            .count();
        if below > 0 {
            blocks >>= below + 1;
        }
        if blocks > 0 {
            blocks = 1 << blocks.ilog2();
        }
        blocks = blocks.min(MOST_BLOCKS.into());
        while blocks > 0 && blocks >= free {
            blocks >>= 4;
        }
        blocks.max(LEAST_BEYOND)
    }

    /// Bytes behind the end of a file become a part of it: they read as zeroes. Says whether a block became dirty.
    pub(super) fn zero(&mut self, slot: u32, from: u64, to: u64) -> bool {
        let mut is_dirty = false;
        if !from.is_multiple_of(BLOCK) {
            is_dirty = self.zero_rest(slot, from);
        }
        let (mut block, end) = (blocks_until(from), blocks_until(to));
        while block < end {
            let extents = &self.inodes[slot as usize].extents;
            let Some(&extent) = extents
                .get(extents.at(block))
                .filter(|extent| extent.logical < end)
            else {
                break;
            };
            block = block.max(extent.logical);
            if extent.state() != State::Delayed {
                block = extent.end();
            } else if self.convert(slot, extent.logical).is_err() {
                // Piece by piece until then: what is free may lie in shorter pieces than the extent.
                break;
            }
        }
        is_dirty
    }

    /// The rest of a block behind a byte becomes zero, if there is something else. Says whether it is dirty then.
    pub(super) fn zero_rest(&mut self, slot: u32, from: u64) -> bool {
        let block = block_at(from);
        let has_data = match self.inodes[slot as usize]
            .extents
            .find(block)
            .map(Extent::state)
        {
            Some(State::Delayed | State::Written) => true,
            Some(State::Unwritten) => self.pages(slot).is_some_and(|pages| pages.has(block)),
            None => false,
        };
        if has_data {
            self.make_dirty(slot, block..block + 1);
        }
        has_data
    }
}
