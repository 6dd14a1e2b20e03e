//! Writing back: delayed extents get their place, and what was written becomes data.
//!
//! Spec: `docs/spec/xfs.md`, sections 13 and 26. Source: `xfs_aops.c`, `xfs_bmap.c`, `xfs_iomap.c`.

use super::Xfs;
use super::allocate::Wish;
use super::data::{NoSpace, block_at, blocks_until};
use super::fork::Fork;
use super::geometry::BLOCK;
use super::inode::{Blocks, State};
use super::params::Regime;
use super::transaction::Transaction;
use std::ops::Range;

/// Blocks that are reserved while unwritten ones become written.
const FOR_CONVERSION: i64 = 8;

impl Xfs {
    /// A delayed extent gets a place, as much of it as there is in one piece.
    pub(super) fn convert(&mut self, slot: u32, logical: u32) -> Result<(), NoSpace> {
        let extents = &self.inodes[slot as usize].extents;
        let extent = extents[extents.at(logical)];
        self.convert_part(slot, extent.logical..extent.end(), 0)
    }

    /// The same for a part of one, in a transaction that has reserved blocks for other parts.
    pub(super) fn convert_part(
        &mut self,
        slot: u32,
        part: Range<u32>,
        reserved: i64,
    ) -> Result<(), NoSpace> {
        self.touch(slot);
        let mut tx = Transaction::begin(&mut self.space, reserved);
        let inode = &mut self.inodes[slot as usize];
        let at = inode.extents.at(part.start);
        let mut fork = Fork {
            inode,
            space: &mut self.space,
            tx: &mut tx,
            was_delayed: true,
            taken: 0,
        };
        let wish = Wish {
            logical: part.start,
            blocks: part.end - part.start,
            ino: fork.inode.ino,
            before: fork.before(fork.inode.extents[at].logical),
            behind: None,
            is_at_end: false,
            purpose: fork.purpose(),
            total: 0,
            levels: fork.levels(),
        };
        let taken = fork.space.take_for_file(fork.tx, &wish);
        if let Some((start, blocks)) = taken {
            fork.place_delayed(at, part.start, start, blocks);
        }
        tx.commit(&mut self.space);
        self.log_change(slot);
        if let Some((start, blocks)) = taken {
            self.placed(slot, part.start, start, blocks);
        }
        taken.map(drop).ok_or(NoSpace)
    }

    /// The delayed extents that have dirty blocks in a range get their places. A file that goes to disk has not to be
    /// written back at its close any more because it was truncated, and that close is none that lets it be trimmed.
    fn allocate(&mut self, slot: u32, range: Range<u32>) {
        self.inodes[slot as usize].flags.was_truncated = false;
        let dirty = self
            .pages(slot)
            .map(|pages| pages.within(range))
            .unwrap_or_default();
        for run in dirty {
            let mut block = run.start;
            while block < run.end {
                let extents = &self.inodes[slot as usize].extents;
                let Some(extent) = extents.get(extents.at(block)) else {
                    break;
                };
                if extent.state() == State::Delayed && extent.logical <= block {
                    let logical = extent.logical;
                    if self.convert(slot, logical).is_err() {
                        return;
                    }
                } else {
                    block = extent.end();
                }
            }
        }
    }

    /// What was written back in a range is on disk.
    fn complete(&mut self, slot: u32, range: Range<u32>) {
        let dirty = self
            .pages(slot)
            .map(|pages| pages.within(range.clone()))
            .unwrap_or_default();
        for run in dirty {
            let mut block = run.start;
            while block < run.end {
                let extents = &self.inodes[slot as usize].extents;
                let Some(extent) = extents.get(extents.at(block)) else {
                    break;
                };
                let end = extent.end().min(run.end);
                if extent.state() == State::Unwritten {
                    self.mark_written(slot, block..end);
                }
                block = end;
            }
            let inode = &mut self.inodes[slot as usize];
            let written = inode.size.min(u64::from(run.end) * BLOCK);
            if written > inode.disk_size {
                // The new length is logged, where no block was to become written too (`xfs_setfilesize`).
                inode.disk_size = written;
                self.log_change(slot);
            }
        }
        let inode = &mut self.inodes[slot as usize];
        if inode.pages > 0 {
            self.make_clean(slot, range);
        }
    }

    fn mark_written(&mut self, slot: u32, range: Range<u32>) {
        self.touch(slot);
        let is_reserved = self.space.reserve(FOR_CONVERSION, true);
        let mut tx = Transaction::begin(
            &mut self.space,
            if is_reserved { FOR_CONVERSION } else { 0 },
        );
        let mut fork = Fork {
            inode: &mut self.inodes[slot as usize],
            space: &mut self.space,
            tx: &mut tx,
            was_delayed: false,
            taken: 0,
        };
        fork.mark_written(range);
        tx.commit(&mut self.space);
        self.log_change(slot);
    }

    fn all_blocks(&self, slot: u32) -> Range<u32> {
        0..blocks_until(self.inodes[slot as usize].size)
    }

    /// Writes a file back, and waits for it.
    pub(super) fn write_back(&mut self, slot: u32) {
        let all = self.all_blocks(slot);
        self.allocate(slot, all.clone());
        self.complete(slot, all);
    }

    /// The same for the blocks from one byte to another.
    pub(super) fn write_back_bytes(&mut self, slot: u32, from: u64, to: u64) {
        if from < to {
            let range = block_at(from)..block_at(to - 1) + 1;
            self.allocate(slot, range.clone());
            self.complete(slot, range);
        }
    }

    /// Writes back all dirty files, in the order in which they became dirty.
    pub(super) fn write_back_all(&mut self) {
        self.write_back_first(self.dirty.len());
    }

    /// Writes back so many of them.
    pub(super) fn write_back_first(&mut self, files: usize) {
        let program = self.begin_work();
        let dirty = self.take_list(files);
        if self.params.regime == Regime::PerFile {
            for slot in dirty {
                self.write_back(slot);
            }
            return;
        }
        for &slot in &dirty {
            self.go_on_working();
            let all = self.all_blocks(slot);
            self.allocate(slot, all);
        }
        for &slot in &dirty {
            let all = self.all_blocks(slot);
            self.complete(slot, all);
        }
        self.end_work(program);
    }

    /// The end of a day in the regime `perfile`: files in the order in which they were changed.
    pub(super) fn write_back_day(&mut self) {
        for (slot, generation) in std::mem::take(&mut self.of_day) {
            let inode = &mut self.inodes[slot as usize];
            if inode.generation == generation {
                inode.flags.is_of_day = false;
                self.write_back(slot);
            }
        }
    }

    /// Dirty blocks of a file in memory.
    pub(super) fn pages(&self, slot: u32) -> Option<&Blocks> {
        let number = self.inodes[slot as usize].pages;
        Some(&self.pages[number.checked_sub(1)? as usize])
    }
}
