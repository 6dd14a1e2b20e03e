//! File data: mapping blocks (11), writing (12), truncating (14).
//!
//! Source: `ffs_balloc.c`, `ufs_readwrite.c`, `ffs_inode.c` of 4.4BSD-Lite2.

use super::Ffs;
use super::alloc::{NoSpace, Request};
use super::geometry::DIRECT;
use super::inode::{Indirect, Inode};
use super::io::{Kind, Mapped};
use super::requests::Wanted;
use fsage_core::io::{Flush, Io};

impl Ffs {
    /// Address of a block of a file; 0 for a hole.
    #[inline]
    pub(super) fn address(&self, inode: &Inode, lbn: u32) -> u64 {
        inode.blocks.address(&self.pool, lbn, self.geometry.frag)
    }

    /// The pointer array that holds a block, and its index there. Arrays: 0 are the direct pointers, 1 the
    /// single indirect block, `2 + k` the level-1 block `k` under the double indirect block.
    #[inline]
    pub(super) fn place(&self, lbn: u32) -> (u64, u64) {
        if lbn < DIRECT {
            return (0, u64::from(lbn));
        }
        let beyond = u64::from(lbn - DIRECT);
        let nindir = self.geometry.nindir;
        (1 + beyond / nindir, beyond % nindir)
    }

    /// Fragments that block `lbn` of a file of this size occupies.
    pub(super) fn frags_of(&self, size: u64, lbn: u32) -> usize {
        let g = &self.geometry;
        if lbn >= DIRECT || size >= (u64::from(lbn) + 1) * g.bsize {
            g.frag as usize
        } else {
            (size % g.bsize).div_ceil(g.fsize) as usize
        }
    }

    fn set_block(&mut self, inode: &mut Inode, lbn: u32, address: u64) {
        let frag = self.geometry.frag;
        inode.blocks.set(&mut self.pool, lbn, 1, address, frag);
    }

    /// What a piece for a direct block asks for.
    fn direct_request(&self, inode: &Inode, lbn: u32, frags: usize) -> Request {
        Request {
            lbn,
            previous: if lbn == 0 {
                0
            } else {
                self.address(inode, lbn - 1)
            },
            preference: self.block_preference(inode, lbn, u64::from(lbn)),
            frags,
            wanted: Wanted::Data,
        }
    }

    /// Makes sure that the first `bytes` of block `lbn` exist.
    #[inline]
    fn map_block(
        &mut self,
        inode: &mut Inode,
        lbn: u32,
        bytes: u64,
        kind: Kind,
    ) -> Result<Mapped, NoSpace> {
        let (bsize, fsize, frag) = (self.geometry.bsize, self.geometry.fsize, self.groups.frag);
        let tail = inode.size / bsize;
        if tail < u64::from(lbn.min(DIRECT)) {
            self.complete_tail(inode, tail as u32, kind)?;
        }
        if lbn >= DIRECT {
            return if self.address(inode, lbn) == 0 {
                self.map_indirect(inode, lbn)?;
                Ok(Mapped::Fresh)
            } else {
                Ok(Mapped::Present)
            };
        }
        let old_address = self.address(inode, lbn);
        let covered = inode.size >= (u64::from(lbn) + 1) * bsize;
        if old_address == 0 {
            let frags = if covered {
                frag
            } else {
                bytes.div_ceil(fsize) as usize
            };
            let request = self.direct_request(inode, lbn, frags);
            let address = self.allocate(inode.ino, request)?;
            self.set_block(inode, lbn, address);
            return Ok(Mapped::Fresh);
        }
        if !covered {
            let old = (inode.size % bsize).div_ceil(fsize) as usize;
            let new = bytes.div_ceil(fsize) as usize;
            if new > old {
                let request = self.direct_request(inode, lbn, new);
                self.emit_old_piece(inode, lbn, old);
                let address = self.grow(inode.ino, (old_address, old), request)?;
                if address != old_address {
                    self.set_block(inode, lbn, address);
                }
                return Ok(Mapped::Grown);
            }
        }
        Ok(Mapped::Present)
    }

    /// A file that goes on behind its partial last block makes that a whole one first.
    fn complete_tail(&mut self, inode: &mut Inode, tail: u32, kind: Kind) -> Result<(), NoSpace> {
        let (bsize, fsize, frag) = (self.geometry.bsize, self.geometry.fsize, self.groups.frag);
        let old = (inode.size % bsize).div_ceil(fsize) as usize;
        let address = self.address(inode, tail);
        if old == 0 || old == frag || address == 0 {
            return Ok(());
        }
        let request = self.direct_request(inode, tail, frag);
        self.emit_old_piece(inode, tail, old);
        let new = self.grow(inode.ino, (address, old), request)?;
        if new != address {
            self.set_block(inode, tail, new);
        }
        inode.size = (u64::from(tail) + 1) * bsize;
        // It is written at once, though nothing of it has changed yet.
        self.emit_place(inode, tail);
        self.emit_block(inode, tail, kind.flush_at_once());
        Ok(())
    }

    /// Allocates a block beyond the direct ones, with the indirect blocks it needs.
    fn map_indirect(&mut self, inode: &mut Inode, lbn: u32) -> Result<(), NoSpace> {
        let (array, index) = self.place(lbn);
        let frags = self.groups.frag;
        let before = self.indirect.get(&inode.ino);
        if before.is_some_and(|indirect| indirect.has_array(array)) {
            self.emit_pointers_needed(inode.ino, lbn);
            return self.map_data(inode, lbn, index);
        }
        let before = before.cloned();
        let mut now = before.clone().unwrap_or_default();
        let mut preference = 0;
        let mut made = [0; 2];
        let mut pointer_block = |fs: &mut Ffs, number: u32, slot: &mut u64, made: &mut u64| {
            if *slot == 0 {
                // The preference of the top block is used again for the one below it.
                if preference == 0 {
                    preference = fs.block_preference(inode, lbn, 0);
                }
                let request = Request {
                    lbn,
                    previous: 0,
                    preference,
                    frags,
                    wanted: Wanted::Pointers,
                };
                *slot = fs.allocate(inode.ino, request)?;
                *made = *slot;
                // Zeros, so that no pointer on the disk ever leads to garbage.
                let buffer = fs.pointer_buffer(inode.ino, number, *slot);
                fs.emit_one(Io::Fill(buffer, Flush::Sync));
            }
            Ok(())
        };
        let mut pointers = || {
            if array == 1 {
                return pointer_block(self, 0, &mut now.single, &mut made[0]);
            }
            pointer_block(self, 1, &mut now.double, &mut made[0])?;
            let k = (array - 2) as usize;
            if now.level1.len() <= k {
                now.level1.resize(k + 1, 0);
            }
            pointer_block(self, 2 + k as u32, &mut now.level1[k], &mut made[1])?;
            let double = self.pointer_buffer(inode.ino, 1, now.double);
            self.emit_one(Io::Modify(double, Flush::Delayed));
            Ok(())
        };
        let mut result = pointers();
        if result.is_ok() {
            self.indirect.insert(inode.ino, now);
            result = self.map_data(inode, lbn, index);
        }
        if result.is_err() {
            // Nothing of this call stays.
            for address in made.into_iter().filter(|&address| address != 0) {
                self.release_piece(address, frags);
            }
            match before {
                Some(before) => self.indirect.insert(inode.ino, before),
                None => self.indirect.remove(&inode.ino),
            };
        }
        result
    }

    /// Allocates a data block beyond the direct ones; its indirect blocks exist.
    fn map_data(&mut self, inode: &mut Inode, lbn: u32, index: u64) -> Result<(), NoSpace> {
        let request = Request {
            lbn,
            previous: 0,
            preference: self.block_preference(inode, lbn, index),
            frags: self.groups.frag,
            wanted: Wanted::Data,
        };
        let address = self.allocate(inode.ino, request)?;
        self.set_block(inode, lbn, address);
        self.emit_pointer_set(inode.ino, lbn);
        Ok(())
    }

    /// Writes `bytes` at `offset`, in calls of at most the write chunk. If space runs out, the call that met it
    /// leaves nothing, and earlier ones stay.
    pub(super) fn write(
        &mut self,
        inode: &mut Inode,
        offset: u64,
        bytes: u64,
        kind: Kind,
    ) -> Result<(), NoSpace> {
        let bsize = self.geometry.bsize;
        let end = offset + bytes;
        let mut at = offset;
        while at < end {
            let size_before = inode.size;
            let call_end = end.min(at.saturating_add(self.params.write_chunk));
            while at < call_end {
                let lbn = (at / bsize) as u32;
                let stop = call_end.min((u64::from(lbn) + 1) * bsize);
                let in_block = stop - u64::from(lbn) * bsize;
                let Ok(mapped) = self.map_block(inode, lbn, in_block, kind) else {
                    // As the original, which does not look whether this succeeds.
                    let _ = self.truncate(inode, size_before, kind);
                    return Err(NoSpace);
                };
                inode.size = inode.size.max(stop);
                if self.is_emitting() {
                    self.emit_written(inode, lbn, (at % bsize, stop - at), (mapped, kind));
                }
                if kind == Kind::File && in_block == bsize {
                    self.cluster_write(inode, lbn);
                }
                at = stop;
            }
        }
        self.emit_inode(inode.ino, kind.flush_of_inode());
        Ok(())
    }

    /// Sets the length, up or down.
    pub(super) fn truncate(
        &mut self,
        inode: &mut Inode,
        length: u64,
        kind: Kind,
    ) -> Result<(), NoSpace> {
        let (bsize, fsize) = (self.geometry.bsize, self.geometry.fsize);
        if length == inode.size {
            return Ok(());
        }
        if length > inode.size {
            let last = length - 1;
            let lbn = (last / bsize) as u32;
            let mapped = self.map_block(inode, lbn, last % bsize + 1, kind)?;
            inode.size = length;
            self.emit_last_block(inode, lbn, mapped, kind);
            self.emit_inode(inode.ino, Flush::Sync);
            return Ok(());
        }
        let mut mapped = None;
        if !length.is_multiple_of(bsize) {
            let lbn = (length / bsize) as u32;
            mapped = Some((lbn, self.map_block(inode, lbn, length % bsize, kind)?));
            self.emit_old_piece(inode, lbn, self.frags_of(inode.size, lbn));
        }
        self.emit_cut(inode, length, mapped, kind);
        let old_size = inode.size;
        // Blocks from here on go.
        let cut = length.div_ceil(bsize) as u32;
        self.cut_indirect(inode.ino, cut, old_size.div_ceil(bsize) as u32);
        self.cut_blocks(inode, cut, old_size);
        if let Some(keep) = cut.checked_sub(1).filter(|&keep| keep < DIRECT) {
            let old = self.frags_of(old_size, keep);
            let new = if length >= u64::from(cut) * bsize {
                self.groups.frag
            } else {
                (length % bsize).div_ceil(fsize) as usize
            };
            let address = self.address(inode, keep);
            if address != 0 && new < old {
                self.release_piece(address + new as u64, old - new);
            }
        }
        inode.size = length;
        Ok(())
    }

    /// Frees the data blocks from `cut` on.
    fn cut_blocks(&mut self, inode: &mut Inode, cut: u32, old_size: u64) {
        let frag = self.geometry.frag;
        let last = (old_size.saturating_sub(1) / self.geometry.bsize) as u32;
        let last_frags = self.frags_of(old_size, last);
        let partial = last_frags < self.groups.frag;
        let mut blocks = inode.blocks;
        // The pool is out of the way while blocks are freed: they never need it.
        let mut pool = std::mem::take(&mut self.pool);
        blocks.cut(&mut pool, cut, frag, |run| {
            let whole = if partial && run.end() == last + 1 {
                run.blocks - 1
            } else {
                run.blocks
            };
            self.release_blocks(run.address, whole);
            if whole < run.blocks {
                self.release_piece(run.address + u64::from(whole) * frag, last_frags);
            }
        });
        self.pool = pool;
        inode.blocks = blocks;
    }

    /// Frees the indirect blocks that serve only blocks from `cut` on. The file had `blocks` of them.
    fn cut_indirect(&mut self, ino: u64, cut: u32, blocks: u32) {
        if self.indirect.is_empty() {
            return;
        }
        let Some(mut indirect) = self.indirect.remove(&ino) else {
            return;
        };
        if self.is_emitting() {
            self.emit_pointers_cut(ino, &indirect, cut, blocks);
        }
        let frags = self.groups.frag;
        let nindir = self.geometry.nindir;
        let beyond = u64::from(cut).saturating_sub(u64::from(DIRECT));
        // Arrays of level 1 that stay.
        let keep = beyond.saturating_sub(nindir).div_ceil(nindir) as usize;
        let mut gone: Vec<u64> = indirect
            .level1
            .drain(keep.min(indirect.level1.len())..)
            .collect();
        if keep == 0 {
            gone.push(std::mem::take(&mut indirect.double));
        }
        if beyond == 0 {
            gone.push(std::mem::take(&mut indirect.single));
        }
        for address in gone.into_iter().filter(|&address| address != 0) {
            self.release_piece(address, frags);
        }
        if indirect != Indirect::default() {
            self.indirect.insert(ino, indirect);
        }
    }

    /// Whether a file may be that long.
    pub(super) fn fits(&self, offset: u64, bytes: u64) -> bool {
        offset
            .checked_add(bytes)
            .is_some_and(|end| end <= self.geometry.max_file_bytes())
    }
}
