//! File data: blocks and their pointers, writing, truncating (docs/spec/cffs.md, section 6).

use super::geometry::{BLOCK, TREE};
use super::grouping::Spot;
use super::inode::{Inode, Kind};
use super::params::Start;
use super::{Cffs, NoSpace};
use crate::pointers::Array;
use fsage_core::io::Flush;

/// Blocks of pointers that a block of a file needs and that are not there yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewArrays {
    list: [(Array, u32); 3],
    count: usize,
}

impl NewArrays {
    fn all(&self) -> &[(Array, u32)] {
        &self.list[..self.count]
    }
}

impl Cffs {
    /// Takes a free block.
    pub(super) fn take(&mut self, block: u32) {
        self.map.take(block, 1);
        self.emit_bitmap(block);
    }

    /// Frees blocks.
    pub(super) fn release_blocks(&mut self, first: u32, blocks: u32) {
        self.map.release(first, blocks);
        if self.emitted.is_on() {
            for block in first..first + blocks {
                self.emit_bitmap(block);
            }
        }
    }

    /// Takes the blocks of pointers that `lbn` needs, each the next free block behind the data before it.
    fn new_arrays(&mut self, inode: &Inode, lbn: u32) -> Result<NewArrays, NoSpace> {
        let mut new = NewArrays {
            list: [(Array::Leaf(0), 0); 3],
            count: 0,
        };
        if lbn < TREE.direct {
            return Ok(new);
        }
        let path = TREE.path(lbn);
        let present = |array: Array| {
            let indirect = self.indirect.get(&inode.vnode);
            indirect.is_some_and(|indirect| indirect.get(array).is_some())
        };
        let there = path.arrays().iter().take_while(|&&a| present(a)).count();
        let mut before = inode
            .blocks
            .last_before(&self.pool, lbn, 1)
            .map(|(_, at)| at as u32);
        for &array in &path.arrays()[there..] {
            let start = match (self.params.start, before) {
                (Start::CylinderGroup, Some(before)) => before,
                (Start::CylinderGroup, None) => self.block_of_home(inode.home),
                (Start::Random, _) => self.random_start(),
            };
            let Some(block) = self.map.next_free(start) else {
                self.drop_arrays(&new);
                return Err(NoSpace);
            };
            self.take(block);
            new.list[new.count] = (array, block);
            new.count += 1;
            before = Some(block);
        }
        Ok(new)
    }

    fn drop_arrays(&mut self, new: &NewArrays) {
        for &(_, block) in new.all() {
            self.release_blocks(block, 1);
        }
    }

    fn add_arrays(&mut self, inode: &Inode, new: &NewArrays) {
        for &(array, block) in new.all() {
            let indirect = self.indirect.entry(inode.vnode).or_default();
            indirect.insert(array, block);
            self.emit_new_array(inode, array, block);
        }
    }

    /// The block before one of a file: that of the data before, or of the pointers if it is their first one. 0 if that
    /// is a hole.
    fn before(&self, inode: &Inode, lbn: u32, new: &NewArrays) -> u32 {
        if let Some(&leaf) = TREE.path(lbn).arrays().last()
            && TREE.first_of(leaf) == u64::from(lbn)
        {
            let made = new.all().iter().find(|&&(array, _)| array == leaf);
            let there = || self.indirect.get(&inode.vnode)?.get(leaf);
            return made.map_or_else(|| there().unwrap_or(0), |&(_, block)| block);
        }
        lbn.checked_sub(1)
            .map_or(0, |before| self.address(inode, before))
    }

    /// Allocates a block of a file that is not there, with the blocks of pointers it needs. `place` chooses it, given
    /// the block before, which is 0 where that is not there.
    pub(super) fn map_block(
        &mut self,
        inode: &mut Inode,
        lbn: u32,
        place: impl FnOnce(&mut Cffs, &Inode, u32) -> Option<Spot>,
    ) -> Result<(), NoSpace> {
        let new = self.new_arrays(inode, lbn)?;
        let before = self.before(inode, lbn, &new);
        let Some(spot) = place(self, inode, before) else {
            self.drop_arrays(&new);
            return Err(NoSpace);
        };
        self.add_arrays(inode, &new);
        self.take(spot.block);
        inode
            .blocks
            .set(&mut self.pool, lbn, 1, spot.block.into(), 1);
        self.emit_pointer(inode, lbn);
        self.join_group(inode, spot);
        Ok(())
    }

    /// Where a block of a file goes.
    pub(super) fn place_block(&mut self, inode: &Inode, lbn: u32, before: u32) -> Option<Spot> {
        if lbn == 0 {
            return self.place_first(inode, false);
        }
        if let Some(spot) = self.place_further(inode, lbn) {
            return Some(spot);
        }
        let start = if before == 0 {
            self.search_start(inode, None)
        } else if self.params.group
            && lbn < TREE.direct
            && (lbn == 1 || self.is_grouped(inode, lbn - 1))
        {
            self.behind_groups(before)
        } else if self.leaves_group(lbn) {
            let cg = self.map.next_roomy(self.geometry.cg_of(before))?;
            self.geometry.cg_start(cg)
        } else {
            before
        };
        self.map.next_free(start).map(Spot::alone)
    }

    /// Where the rest of a file begins, behind its last block in a group: where a group may, so that it takes no room
    /// of one.
    pub(super) fn behind_groups(&self, before: u32) -> u32 {
        let step = self.window();
        before.saturating_add(step) / step * step
    }

    /// Allocates blocks at the end of a file, from `lbn` on and before `end`, as far as those behind the last one are
    /// free and need no other pointers; gives how many.
    fn map_run(&mut self, inode: &mut Inode, lbn: u32, end: u32) -> u32 {
        // The first block of all, and the one behind those in a group, go where their rules put them.
        let may_be_grouped = u64::from(lbn) <= self.params.grouped_blocks;
        let single = may_be_grouped || self.params.maxbpg > 0;
        if single || lbn != inode.blocks.end(&self.pool) {
            return 0;
        }
        let start = self.address(inode, lbn - 1) + 1;
        let most = (end - lbn).min(TREE.left_in_array(lbn - 1));
        let group_end = self.geometry.cg_end(self.geometry.cg_of(start - 1));
        let stop = start.saturating_add(most).min(group_end);
        let blocks = self.map.first(start, stop, true).unwrap_or(stop) - start;
        if blocks > 0 {
            self.map.take(start, blocks);
            self.emit_bitmap(start);
            inode
                .blocks
                .set(&mut self.pool, lbn, blocks, start.into(), 1);
            self.emit_pointer(inode, lbn);
        }
        blocks
    }

    /// A file has had its share of a cylinder group.
    fn leaves_group(&self, lbn: u32) -> bool {
        let most = self.params.maxbpg;
        most > 0 && u64::from(lbn).is_multiple_of(most)
    }

    /// Writes `bytes` at `offset`. If space runs out, what was written before stays.
    pub(super) fn write(
        &mut self,
        inode: &mut Inode,
        offset: u64,
        bytes: u64,
    ) -> Result<(), NoSpace> {
        let written = self.write_blocks(inode, offset, bytes);
        self.emit_home(inode.home, Flush::Delayed);
        written
    }

    fn write_blocks(&mut self, inode: &mut Inode, offset: u64, bytes: u64) -> Result<(), NoSpace> {
        let end = offset + bytes;
        let mut at = offset;
        // Blocks before this one are fresh.
        let mut mapped = 0;
        while at < end {
            let lbn = (at / BLOCK) as u32;
            let mut fresh = lbn < mapped;
            if !fresh && self.address(inode, lbn) == 0 {
                fresh = true;
                mapped = lbn + self.map_run(inode, lbn, Self::blocks_of(end));
                if mapped == lbn {
                    self.map_block(inode, lbn, |fs, inode, before| {
                        fs.place_block(inode, lbn, before)
                    })?;
                }
            }
            if fresh && self.randomizes() && lbn < TREE.direct {
                self.note_last_block(inode, lbn);
            }
            let stop = end.min((u64::from(lbn) + 1) * BLOCK);
            inode.size = inode.size.max(stop);
            self.emit_written(inode, lbn, (at % BLOCK, stop - at), fresh);
            at = stop;
        }
        Ok(())
    }

    /// The next file of the directory may begin behind this block.
    fn note_last_block(&mut self, inode: &Inode, lbn: u32) {
        let block = self.address(inode, lbn);
        if let Some(dir) = self.dirs.get_mut(inode.dir as usize) {
            dir.last_block = block;
        }
    }

    /// Sets the length. A file that gets longer gets a hole; one that gets shorter has its inode written first.
    pub(super) fn truncate(&mut self, inode: &mut Inode, length: u64) {
        let keep = Self::blocks_of(length);
        if length < inode.size {
            if !length.is_multiple_of(BLOCK) {
                self.emit_tail(inode, keep - 1);
            }
            self.emit_home(inode.home, self.at_once());
            self.cut(inode, keep);
        } else {
            self.emit_home(inode.home, Flush::Delayed);
        }
        inode.size = length;
        if length == 0 {
            self.leave_group(inode);
        }
    }

    /// Frees the blocks from `keep` on, with the pointers to them.
    pub(super) fn cut(&mut self, inode: &mut Inode, keep: u32) {
        self.emit_discarded(inode, keep);
        let mut blocks = inode.blocks;
        // The pool is out of the way while blocks are freed: they never need it.
        let mut pool = std::mem::take(&mut self.pool);
        blocks.cut(&mut pool, keep, 1, |run| {
            self.release_blocks(run.address as u32, run.blocks);
        });
        self.pool = pool;
        inode.blocks = blocks;
        if inode.size <= u64::from(TREE.direct) * BLOCK {
            return;
        }
        let Some(mut indirect) = self.indirect.remove(&inode.vnode) else {
            return;
        };
        for (array, block) in indirect.cut(TREE, keep) {
            self.emit_array_gone(inode, array);
            self.release_blocks(block, 1);
        }
        if !indirect.is_empty() {
            self.indirect.insert(inode.vnode, indirect);
            self.emit_pointer(inode, keep);
        }
    }

    /// Whether a file may be that long.
    pub(super) fn fits(offset: u64, bytes: u64) -> bool {
        let end = offset.checked_add(bytes);
        end.is_some_and(|end| end <= TREE.most_blocks() * BLOCK)
    }

    /// Frees the data and the inode of a file that has no name any more.
    pub(super) fn release(&mut self, inode: &mut Inode) {
        self.cut(inode, 0);
        if inode.kind != Kind::Directory {
            self.leave_group(inode);
        }
        self.placed(inode);
        self.hints.forget(inode);
        inode.size = 0;
        self.free_home(inode.home);
        self.vnodes.release(inode.vnode);
    }
}
