//! Files as a whole: closing, setting the length, giving blocks back, going.
//!
//! Spec: `docs/spec/xfs.md`, sections 14, 15 and 26. Source: `xfs_file.c`, `xfs_inode.c`, `xfs_bmap_util.c`.

use super::allocate::Wish;
use super::data::{NoSpace, blocks_until};
use super::fork::{Fork, worst_tree};
use super::geometry::BLOCK;
use super::inode::{Extent, Extents, Flags, Inode, Kind};
use super::space::{Purpose, Space};
use super::transaction::Transaction;
use super::{Dirty, Xfs};
use std::num::NonZeroU32;
use std::ops::Range;

/// Extents that one transaction takes away.
const EXTENTS_OF_UNMAP: u32 = 2;
/// Blocks that are reserved for the tree of extents while `fallocate` changes one.
const FOR_EXTENT: i64 = 4;

impl Xfs {
    /// A file that was open for writing is closed.
    pub(super) fn close(&mut self, slot: u32) {
        let inode = &mut self.inodes[slot as usize];
        if std::mem::take(&mut inode.flags.was_truncated) {
            inode.flags.was_released = false;
            if inode.extents.has_delayed() {
                self.write_back(slot);
            }
        }
        let inode = &self.inodes[slot as usize];
        if inode.flags.was_released {
            return;
        }
        if inode.extents.has_delayed() || inode.has_to_be_trimmed() {
            self.inodes[slot as usize].flags.was_released = true;
            self.trim(slot);
        }
    }

    /// What was allocated behind the end of a file is given back; one that `fallocate` has given blocks keeps those
    /// that have a place.
    pub(super) fn trim(&mut self, slot: u32) {
        let inode = &mut self.inodes[slot as usize];
        self.tagged.remove(&inode.ino);
        let end = blocks_until(inode.size);
        if !inode.flags.is_preallocated {
            if inode.extents.end() > end {
                self.unmap(slot, end);
            }
            return;
        }
        let mut at = inode.extents.len();
        while at > 0 && inode.extents[at - 1].end() > end {
            at -= 1;
            let extent = inode.extents[at];
            if !extent.is_real() {
                drop_delayed(inode, &mut self.space, at, extent.logical.max(end));
            }
        }
    }

    /// Trims all files that have asked for more than they needed, dirty ones only if told to, and lets go what has no
    /// name any more.
    pub(super) fn trim_all(&mut self, with_dirty: bool) {
        self.trim_tagged(0..u64::MAX, with_dirty);
        self.inactivate_all();
    }

    /// Trims those of a range of inodes.
    pub(super) fn trim_tagged(&mut self, inodes: Range<u64>, with_dirty: bool) {
        let tagged = self.tagged.range(inodes);
        let slots: Vec<u32> = tagged.map(|(_, slot)| *slot).collect();
        for slot in slots {
            if with_dirty || self.inodes[slot as usize].pages == 0 {
                self.trim(slot);
            }
        }
    }

    /// Takes away the blocks of a file from one on, from the end backwards.
    pub(super) fn unmap(&mut self, slot: u32, from: u32) {
        self.touch(slot);
        let mut tx = Transaction::begin(&mut self.space, 0);
        loop {
            let mut fork = Fork {
                inode: &mut self.inodes[slot as usize],
                space: &mut self.space,
                tx: &mut tx,
                was_delayed: false,
                taken: 0,
            };
            let mut left = EXTENTS_OF_UNMAP;
            while left > 0 && fork.inode.extents.end() > from {
                let at = fork.inode.extents.len() - 1;
                let extent = fork.inode.extents[at];
                let start = extent.logical.max(from);
                if extent.is_real() {
                    fork.remove(at, start..extent.end());
                } else {
                    drop_delayed(fork.inode, fork.space, at, start);
                }
                left -= 1;
            }
            fork.settle();
            tx.run_groups(&mut self.space);
            if self.inodes[slot as usize].extents.end() <= from {
                break;
            }
            tx.roll(&mut self.space);
        }
        tx.commit(&mut self.space);
        self.log_change(slot);
        self.discarded(slot, from);
    }

    /// Sets the length of a file that is open.
    pub(super) fn truncate(&mut self, slot: u32, size: u64) {
        let inode = &self.inodes[slot as usize];
        let old_size = inode.size;
        if size == 0 && old_size == 0 && inode.extents.is_empty() {
            // Its times change, and are logged.
            self.log_change(slot);
            return;
        }
        let was_zeroed = if size > old_size {
            self.zero(slot, old_size, size)
        } else {
            !size.is_multiple_of(BLOCK) && self.zero_rest(slot, size)
        };
        let end = blocks_until(size);
        if size < old_size && self.inodes[slot as usize].pages > 0 {
            self.make_clean(slot, end..u32::MAX);
        }
        let inode = &mut self.inodes[slot as usize];
        inode.size = size;
        let disk_size = inode.disk_size;
        if was_zeroed || (size > disk_size && old_size != disk_size) {
            self.write_back_bytes(slot, disk_size, size);
        }
        self.inodes[slot as usize].disk_size = size;
        self.log_change(slot);
        if size <= old_size {
            if self.inodes[slot as usize].extents.end() > end {
                self.unmap(slot, end);
            }
            let inode = &mut self.inodes[slot as usize];
            inode.flags.was_truncated = true;
            self.tagged.remove(&inode.ino);
        }
    }

    /// Gives places to a range of a file without writing it, and to what of it was delayed.
    pub(super) fn allocate_range(
        &mut self,
        slot: u32,
        offset: u64,
        bytes: u64,
    ) -> Result<(), NoSpace> {
        let end = offset + bytes;
        if bytes == 0 {
            return Ok(());
        }
        let (mut block, last) = ((offset / BLOCK) as u32, blocks_until(end));
        while block < last {
            let blocks = (last - block).min(super::inode::MOST_BLOCKS);
            let reserved = i64::from(blocks) + FOR_EXTENT;
            if !self.reserve_or_trim(reserved) {
                return Err(NoSpace);
            }
            let extents = &self.inodes[slot as usize].extents;
            let next = extents.get(extents.at(block)).copied();
            match next.filter(|extent| extent.logical <= block) {
                Some(extent) if extent.is_real() => {
                    Transaction::begin(&mut self.space, reserved).commit(&mut self.space);
                }
                Some(extent) => {
                    let part = block..extent.end().min(block + blocks);
                    self.convert_part(slot, part, reserved)?;
                }
                None => {
                    let until = next.map_or(last, |extent| extent.logical);
                    let hole = block..until.min(block + blocks);
                    self.allocate_hole(slot, hole, next, reserved)?;
                }
            }
            self.inodes[slot as usize].flags.is_preallocated = true;
            self.log_change(slot);
            let there = self.inodes[slot as usize].extents.find(block);
            block = there.map_or(block, |extent| extent.end().min(last));
        }
        if end > self.inodes[slot as usize].size {
            self.truncate(slot, end);
        }
        Ok(())
    }

    /// A hole gets a place, as much of it as there is in one piece, out of what is reserved.
    fn allocate_hole(
        &mut self,
        slot: u32,
        hole: Range<u32>,
        next: Option<Extent>,
        reserved: i64,
    ) -> Result<(), NoSpace> {
        self.touch(slot);
        let mut tx = Transaction::begin(&mut self.space, reserved);
        let mut fork = Fork {
            inode: &mut self.inodes[slot as usize],
            space: &mut self.space,
            tx: &mut tx,
            was_delayed: false,
            taken: 0,
        };
        let taken = fork.fill_hole(hole.start, hole.end - hole.start, next, 0, false);
        tx.commit(&mut self.space);
        taken.map(drop).ok_or(NoSpace)
    }

    /// Gives back the blocks of a range, which reads as zeroes from now on. The length stays.
    pub(super) fn punch_hole(&mut self, slot: u32, offset: u64, bytes: u64) -> Result<(), NoSpace> {
        let end = offset + bytes;
        self.log_change(slot);
        self.write_back_bytes(slot, offset, end);
        let (first, last) = (blocks_until(offset), (end / BLOCK) as u32);
        if first < last {
            while !self.punch_some(slot, first..last)? {}
        }
        for edge in [offset, end] {
            if !edge.is_multiple_of(BLOCK) {
                self.zero_rest(slot, edge);
            }
        }
        let size = self.inodes[slot as usize].size;
        if end >= size && !end.is_multiple_of(BLOCK) {
            self.write_back_bytes(slot, end, end + 1);
        }
        Ok(())
    }

    /// A transaction takes extents out of a range, from its end on. Says whether none is left.
    fn punch_some(&mut self, slot: u32, range: Range<u32>) -> Result<bool, NoSpace> {
        if !self.reserve_or_trim(FOR_EXTENT) {
            return Err(NoSpace);
        }
        self.touch(slot);
        let mut tx = Transaction::begin(&mut self.space, FOR_EXTENT);
        let mut fork = Fork {
            inode: &mut self.inodes[slot as usize],
            space: &mut self.space,
            tx: &mut tx,
            was_delayed: false,
            taken: 0,
        };
        let last_of = |extents: &Extents| {
            let at = extents.partition_point(|extent| extent.logical < range.end);
            let at = at.checked_sub(1)?;
            (extents[at].end() > range.start && extents[at].is_real()).then_some(at)
        };
        let mut left = EXTENTS_OF_UNMAP;
        while let Some(at) = last_of(&fork.inode.extents).filter(|_| left > 0) {
            let extent = fork.inode.extents[at];
            let gone = extent.logical.max(range.start)..extent.end().min(range.end);
            fork.remove(at, gone);
            left -= 1;
        }
        fork.settle();
        let is_done = last_of(&fork.inode.extents).is_none();
        tx.commit(&mut self.space);
        self.log_change(slot);
        Ok(is_done)
    }

    /// A new inode for a number; gives its slot.
    pub(super) fn keep_inode(&mut self, ino: u64, kind: Kind) -> u32 {
        let mut inode = Inode {
            ino,
            kind,
            file: u32::MAX,
            size: 0,
            disk_size: 0,
            extents: Extents::default(),
            tree: None,
            pages: 0,
            changed: self.space.log.forces as u32,
            generation: 0,
            flags: Flags::default(),
        };
        if let Some(slot) = self.free_slots.pop() {
            inode.generation = self.inodes[slot as usize].generation;
            self.inodes[slot as usize] = inode;
            return slot;
        }
        self.inodes.push(inode);
        self.inodes.len() as u32 - 1
    }

    /// An inode without a name goes, with its blocks.
    pub(super) fn release(&mut self, slot: u32) {
        self.drop_pages(slot);
        self.tagged.remove(&self.inodes[slot as usize].ino);
        if !self.inodes[slot as usize].extents.is_empty() {
            self.unmap(slot, 0);
        }
        let (ag, inode) = self.geometry.ag_of_inode(self.inodes[slot as usize].ino);
        let mut tx = Transaction::begin(&mut self.space, 0);
        self.chunks[ag as usize].free_inode(&mut self.space, &mut tx, ag, inode);
        tx.commit(&mut self.space);
        self.changed_inode_trees(ag);
        let inode = &mut self.inodes[slot as usize];
        inode.generation += 1;
        inode.extents = Extents::default();
        self.free_slots.push(slot);
    }

    /// Room for the dirty blocks of a file.
    pub(super) fn pages_mut(&mut self, slot: u32) -> &mut super::inode::Blocks {
        let inode = &mut self.inodes[slot as usize];
        if inode.pages == 0 {
            let at = self.free_pages.pop().unwrap_or_else(|| {
                self.pages.push(super::inode::Blocks::default());
                self.pages.len() as u32 - 1
            });
            inode.pages = at + 1;
        }
        &mut self.pages[inode.pages as usize - 1]
    }

    /// The dirty blocks of a file are forgotten.
    pub(super) fn drop_pages(&mut self, slot: u32) {
        let inode = &mut self.inodes[slot as usize];
        if let Some(number) = NonZeroU32::new(std::mem::take(&mut inode.pages)) {
            let gone = self.pages[number.get() as usize - 1].remove(0..u32::MAX);
            self.dirty_blocks -= u64::from(gone);
            self.free_pages.push(number.get() - 1);
        }
    }

    /// Blocks of a file that has dirty ones are not dirty any more. Without any it needs no room for them.
    pub(super) fn make_clean(&mut self, slot: u32, blocks: Range<u32>) {
        self.dirty_blocks -= u64::from(self.pages_mut(slot).remove(blocks));
        if self.pages(slot).is_some_and(super::inode::Blocks::is_empty) {
            self.drop_pages(slot);
        }
    }

    /// A file becomes dirty; it keeps its place if it is on the list.
    pub(super) fn list(&mut self, slot: u32) {
        let inode = &mut self.inodes[slot as usize];
        if !std::mem::replace(&mut inode.flags.is_listed, true) {
            let generation = inode.generation;
            let since_ns = self.dirty_since_now();
            self.dirty.push(Dirty {
                slot,
                generation,
                since_ns,
            });
        }
    }

    /// The first of the dirty files in their order, which leave the list.
    pub(super) fn take_list(&mut self, files: usize) -> Vec<u32> {
        let mut slots = Vec::with_capacity(files);
        let later = self.dirty.split_off(files);
        let first = std::mem::replace(&mut self.dirty, later);
        for Dirty {
            slot, generation, ..
        } in first
        {
            let inode = &mut self.inodes[slot as usize];
            if inode.generation == generation {
                inode.flags.is_listed = false;
                slots.push(slot);
            }
        }
        slots
    }

    /// An inode changes in the log.
    pub(super) fn log_change(&mut self, slot: u32) {
        self.inodes[slot as usize].changed = self.space.log.forces as u32;
        self.changed_inode(slot);
    }

    /// `fsync`: the file is written back, and the log goes to disk if it holds something of the file.
    pub(super) fn sync_file(&mut self, slot: u32) {
        self.write_back(slot);
        if self.inodes[slot as usize].changed == self.space.log.forces as u32 {
            self.space.log.force();
        }
    }
}

/// The end of a delayed extent goes; what was reserved for it is free.
fn drop_delayed(inode: &mut Inode, space: &mut Space, at: usize, from: u32) {
    let old = inode.extents[at];
    let left = from - old.logical;
    let reserved = if left > 0 {
        worst_tree(left).min(old.reserved())
    } else {
        0
    };
    if left > 0 {
        let rest = Extent::delayed(old.logical, left, reserved);
        inode.extents.set(at, rest);
    } else {
        inode.extents.remove(at);
    }
    let back = old.blocks - left + old.reserved() - reserved;
    space.counter.release(back.into());
}

impl Fork<'_> {
    /// A hole of the inode gets a place, written or not; gives it. `total` blocks are needed by the transaction.
    pub(super) fn fill_hole(
        &mut self,
        logical: u32,
        blocks: u32,
        next: Option<Extent>,
        total: u32,
        is_written: bool,
    ) -> Option<(u64, u32)> {
        let behind = next
            .filter(Extent::is_real)
            .map(|next| (next.logical, next.start()));
        let wish = Wish {
            logical,
            blocks,
            ino: self.inode.ino,
            before: self.before(logical),
            behind,
            is_at_end: next.is_none(),
            purpose: if is_written {
                Purpose::Metadata
            } else {
                self.purpose()
            },
            total,
            levels: self.levels(),
        };
        let (start, blocks) = self.space.take_for_file(self.tx, &wish)?;
        self.tx.took(blocks);
        self.place_hole(Extent::real(logical, start, blocks, is_written));
        Some((start, blocks))
    }
}
