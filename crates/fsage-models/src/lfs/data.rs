//! Data of files: which blocks a write makes dirty, and what a truncation frees.
//!
//! Source: `lfs_balloc.c`, `lfs_inode.c`, `ufs_readwrite.c`.

use super::geometry::{DIRECT, Level};
use super::inode::{Block, Inode};
use super::params::Variant;
use super::segments::sectors;
use super::{IFILE, Lfs, NoSpace};

/// Bytes of a write call.
const CALL: u64 = 1 << 20;

impl Lfs {
    /// Writes to a file. Of a call that finds no space nothing stays; earlier ones stay.
    pub(super) fn write(&mut self, slot: u32, offset: u64, bytes: u64) -> Result<(), NoSpace> {
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let size = self.inodes[slot as usize].size;
            let call_end = end.min(at + CALL);
            if let Err(NoSpace) = self.write_call(slot, at, call_end) {
                if self.inodes[slot as usize].size > size {
                    self.truncate(slot, size);
                }
                return Err(NoSpace);
            }
            at = call_end;
        }
        Ok(())
    }

    fn write_call(&mut self, slot: u32, offset: u64, end: u64) -> Result<(), NoSpace> {
        let bsize = u64::from(self.geometry.block_bytes);
        self.make_tail_whole(slot, (offset / bsize) as i32)?;
        let inode = &mut self.inodes[slot as usize];
        inode.make_room(&self.geometry, offset / bsize, end.div_ceil(bsize));
        for lbn in offset / bsize..=(end - 1) / bsize {
            self.before_block(slot, lbn as i32)?;
            let block = self.inodes[slot as usize].block(&self.geometry, lbn as i32);
            let (start, upto) = (offset.max(lbn * bsize), end.min((lbn + 1) * bsize));
            self.write_block(slot, lbn as i32, upto)?;
            let part = (start - lbn * bsize, upto - lbn * bsize);
            self.record_data(slot, lbn as i32);
            self.emit_written(slot, lbn as i32, part, !block.is(Block::THERE));
        }
        self.inode_changed(slot);
        Ok(())
    }

    /// Before a block is written: enough dirty blocks start a segment write, and a writer waits for the cleaner where
    /// there is nowhere to write to.
    fn before_block(&mut self, slot: u32, lbn: i32) -> Result<(), NoSpace> {
        let block = self.inodes[slot as usize].block(&self.geometry, lbn);
        if block.is_dirty() {
            return Ok(());
        }
        let counted = if self.params.count_indirect {
            self.dirty_data + self.dirty_pointers
        } else {
            self.dirty_data
        };
        let threshold = self.params.write_threshold_blocks;
        if threshold > 0 && counted >= threshold {
            self.flush();
        }
        let need = if block.is(Block::THERE) {
            0
        } else {
            i64::from(self.geometry.block_sectors())
        };
        self.wait_for_room(lbn, need);
        if self.ended.is_some() {
            return Err(NoSpace);
        }
        Ok(())
    }

    /// A last block that is shorter than a block is extended before the file goes on behind it.
    fn make_tail_whole(&mut self, slot: u32, next: i32) -> Result<(), NoSpace> {
        let bsize = u64::from(self.geometry.block_bytes);
        let inode = &self.inodes[slot as usize];
        let Some(tail) = inode.size.checked_sub(1).map(|last| (last / bsize) as i32) else {
            return Ok(());
        };
        let there = inode.block(&self.geometry, tail).is(Block::THERE);
        let short = inode.block_bytes(&self.geometry, tail) < self.geometry.block_bytes;
        if tail < next && there && short {
            self.write_block(slot, tail, (tail as u64 + 1) * bsize)?;
            self.emit_block(slot, tail, false);
        }
        Ok(())
    }

    /// One block of a file is written, up to `end` in the file.
    pub(super) fn write_block(&mut self, slot: u32, lbn: i32, end: u64) -> Result<(), NoSpace> {
        let g = &self.geometry;
        let inode = &mut self.inodes[slot as usize];
        let block = inode.block(g, lbn);
        if block.is(Block::THERE) && end <= inode.size {
            self.dirty(slot, lbn);
            return Ok(());
        }
        let size = inode.size;
        let before = if block.is(Block::THERE) {
            sectors(inode.block_bytes(g, lbn))
        } else {
            0
        };
        inode.size = size.max(end);
        let after = sectors(inode.block_bytes(g, lbn));
        let charged = if block.is(Block::THERE) {
            self.charge(slot, after - before)
        } else {
            self.charge_new_block(slot, lbn, after)
        };
        if charged.is_err() {
            self.inodes[slot as usize].size = size;
            return charged;
        }
        if block.is_dirty() {
            self.dirty_sectors += u64::from(after - before);
        }
        self.dirty(slot, lbn);
        Ok(())
    }

    /// Takes sectors from what holds nothing useful.
    fn charge(&mut self, slot: u32, sectors: u32) -> Result<(), NoSpace> {
        let floor = if slot == IFILE || self.params.superuser {
            0
        } else {
            (self.geometry.data_sectors * self.params.minfree_percent / 100) as i64
        };
        if self.bfree - i64::from(sectors) < floor {
            return Err(NoSpace);
        }
        self.bfree -= i64::from(sectors);
        Ok(())
    }

    /// The same for a block that was a hole, with the indirect blocks on its path, which are dirty at once.
    pub(super) fn charge_new_block(
        &mut self,
        slot: u32,
        lbn: i32,
        sectors: u32,
    ) -> Result<(), NoSpace> {
        let g = &self.geometry;
        let mut path = [None; 3];
        let (mut child, mut n) = (lbn, 0);
        while let Some(parent) = g.parent(child) {
            if !self.inodes[slot as usize].block(g, parent).is(Block::THERE) {
                path[n] = Some(parent);
            }
            (child, n) = (parent, n + 1);
        }
        let pointers = path.iter().flatten().count() as u32 * g.block_sectors();
        self.charge(slot, sectors + pointers)?;
        // From the inode down.
        for parent in path.into_iter().rev().flatten() {
            self.dirty(slot, parent);
        }
        Ok(())
    }

    /// Sets the length of a file.
    pub(super) fn change_length(&mut self, slot: u32, length: u64) -> Result<(), NoSpace> {
        let size = self.inodes[slot as usize].size;
        if length > size {
            // The last byte is written.
            return self.write_call(slot, length - 1, length);
        }
        if length < size {
            self.truncate(slot, length);
        }
        self.inode_changed(slot);
        Ok(())
    }

    /// Cuts a file. The last block that stays is dirty if it is cut.
    pub(super) fn truncate(&mut self, slot: u32, length: u64) {
        let g = self.geometry.clone();
        let bsize = u64::from(g.block_bytes);
        let keep = length.div_ceil(bsize);
        let mut gone = Vec::new();
        let mut cut = Vec::new();
        let inode = &self.inodes[slot as usize];
        // The numbers of the indirect blocks that stay.
        let last = keep as i32 - 1;
        let singles = if keep > u64::from(DIRECT) {
            g.single_index(last) + 1
        } else {
            0
        };
        let doubles = singles.saturating_sub(1).div_ceil(g.pointers as usize);
        let old_last = inode.size.div_ceil(bsize) as i32 - 1;
        inode.visit(&g, |lbn, block| {
            let stays = match g.level(lbn) {
                Level::Data => (lbn as u64) < keep,
                Level::Single(k) => k < singles,
                Level::Double(d) => d < doubles,
                Level::Triple => doubles > 1,
            };
            if !stays {
                gone.push((lbn, block));
            } else if lbn < 0 && old_last > last && g.leads_to(lbn, last + 1) {
                cut.push(lbn);
            }
        });
        self.emit_freed(slot, keep, &gone);
        for &(lbn, block) in &gone {
            self.free_block(slot, lbn, block);
        }
        self.forget_lists(slot, &gone);
        self.cut_tail(slot, length);
        for lbn in cut {
            self.dirty(slot, lbn);
        }
        let inode = &mut self.inodes[slot as usize];
        inode.shrink(&g, keep);
        self.inode_changed(slot);
        if length == 0 && g.variant == Variant::Lite2 {
            let ino = self.inodes[slot as usize].ino;
            self.map[ino as usize].version += 1;
            self.dirty(IFILE, g.map_block(ino));
        }
    }

    /// The new end of a file: its last block is shorter, and dirty where a part of it is cut off.
    fn cut_tail(&mut self, slot: u32, length: u64) {
        let bsize = u64::from(self.geometry.block_bytes);
        let inode = &mut self.inodes[slot as usize];
        let tail = (length / bsize) as i32;
        let block = inode.block(&self.geometry, tail);
        if length.is_multiple_of(bsize) || !block.is(Block::THERE) {
            inode.size = length;
            return;
        }
        let before = sectors(inode.block_bytes(&self.geometry, tail));
        inode.size = length;
        let less = before - sectors(inode.block_bytes(&self.geometry, tail));
        self.bfree += i64::from(less);
        if block.is_dirty() {
            self.dirty_sectors -= u64::from(less);
        }
        self.dirty(slot, tail);
        self.record_data(slot, tail);
        self.emit_block(slot, tail, false);
    }

    fn free_block(&mut self, slot: u32, lbn: i32, block: Block) {
        let inode = &mut self.inodes[slot as usize];
        let bytes = inode.block_bytes(&self.geometry, lbn);
        *inode.block_mut(&self.geometry, lbn) = Block::default();
        self.record_freed(slot, lbn);
        self.bfree += i64::from(sectors(bytes));
        if block.is_dirty() {
            self.dirty_sectors -= u64::from(sectors(bytes));
            if lbn < 0 {
                self.dirty_pointers -= 1;
            } else {
                self.dirty_data -= 1;
            }
        }
        if block.address == 0 {
            return;
        }
        let segment = self.geometry.segment_of(block.address);
        let bytes = u32::from(block.sectors) * super::geometry::SECTOR;
        let inode = &mut self.inodes[slot as usize];
        if self.geometry.variant == Variant::NetBsd && !inode.is(Inode::REMOVED) {
            let lost = &mut inode.pending_mut().lost;
            match lost.binary_search_by_key(&segment, |&(s, _)| s) {
                Ok(i) => lost[i].1 += bytes,
                Err(i) => lost.insert(i, (segment, bytes)),
            }
        } else {
            self.lose(segment, bytes);
        }
    }

    /// Blocks that are gone are in no list.
    fn forget_lists(&mut self, slot: u32, gone: &[(i32, Block)]) {
        let any = gone.iter().any(|(_, block)| block.is_dirty());
        let inode = &mut self.inodes[slot as usize];
        if !any || inode.pending().is_none() {
            return;
        }
        let g = &self.geometry;
        let mut pending = std::mem::take(inode.pending_mut());
        pending.data.retain(|&lbn| inode.block(g, lbn).is_dirty());
        pending
            .pointers
            .retain(|&lbn| inode.block(g, lbn).is_dirty());
        *inode.pending_mut() = pending;
    }

    /// Frees a removed file with its inode.
    pub(super) fn free_inode(&mut self, slot: u32) {
        let inode = &mut self.inodes[slot as usize];
        inode.set(Inode::REMOVED, true);
        let lost = std::mem::take(&mut inode.pending_mut().lost);
        for (segment, bytes) in lost {
            self.lose(segment, bytes);
        }
        self.truncate(slot, 0);
        let inode = &mut self.inodes[slot as usize];
        let ino = inode.ino;
        // It stays in the list, where nothing finds anything to write.
        inode.set(Inode::MODIFIED | Inode::ACCESSED | Inode::CLEANING, false);
        inode.forget_empty_lists();
        self.free_ino(ino);
        self.gone.push(slot);
    }
}
