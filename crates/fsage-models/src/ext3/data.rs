//! File data: pointers and goals (7), writing, truncating (11).
//!
//! Source: `fs/ext3/inode.c` of Linux 2.6.18.

use super::Ext3;
use super::alloc::NoSpace;
use super::geometry::DIRECT;
use super::inode::{Inode, Kind};
use crate::pointers::{Array, Indirect, Path, PointerTree};

impl Ext3 {
    /// Address of a block of a file; 0 for a hole.
    #[inline]
    pub(super) fn address(&self, inode: &Inode, lbn: u32) -> u32 {
        inode.blocks.address(&self.pool, lbn, 1) as u32
    }

    /// Blocks of a file of this size.
    #[inline]
    pub(super) fn blocks_of(&self, size: u64) -> u32 {
        size.div_ceil(self.geometry.block_bytes) as u32
    }

    /// How the pointers of a file lead to its blocks.
    pub(super) fn tree(&self) -> PointerTree {
        PointerTree {
            direct: DIRECT,
            per_block: self.geometry.pointers,
        }
    }

    pub(super) fn indirect_of(&self, inode: &Inode) -> Option<&Indirect> {
        if inode.size <= u64::from(DIRECT) * self.geometry.block_bytes {
            return None;
        }
        self.indirect.get(&inode.ino)
    }

    /// Where the blocks that `lbn` needs should go; `missing` is the first of its indirect blocks that is not there,
    /// if one is not.
    fn goal(&self, inode: &Inode, lbn: u32, path: &Path, missing: usize) -> u32 {
        if inode.kind == Kind::File
            && inode.last_physical != 0
            && lbn == inode.last_logical.wrapping_add(1)
        {
            return inode.last_physical + 1;
        }
        let near = match missing.checked_sub(1) {
            None => self.left_in_inode(inode, lbn, path),
            Some(i) => {
                let holder = path.arrays()[i];
                self.left_in_block(inode, lbn, holder, path.arrays().get(missing))
            }
        };
        near.unwrap_or_else(|| {
            let g = &self.geometry;
            let color = (self.params.pid % 16) as u32 * (g.blocks_per_group / 16);
            g.first_block(g.group_of_inode(inode.ino)) + color
        })
    }

    /// The nearest pointer in the inode to the left of that for `lbn`.
    fn left_in_inode(&self, inode: &Inode, lbn: u32, path: &Path) -> Option<u32> {
        let roots = [Array::Leaf(0), Array::Upper(0), Array::Upper(1)];
        let pointers = self.indirect.get(&inode.ino);
        if let (Some(first), Some(pointers)) = (path.arrays().first(), pointers) {
            let left = roots.iter().rev().skip_while(|&root| root != first);
            if let Some(address) = left.skip(1).find_map(|&root| pointers.get(root)) {
                return Some(address);
            }
        }
        self.data_before(inode, lbn.min(DIRECT), 0)
    }

    /// The nearest pointer in an indirect block to the left of that for `lbn`, or the indirect block itself.
    fn left_in_block(
        &self,
        inode: &Inode,
        lbn: u32,
        holder: Array,
        missing: Option<&Array>,
    ) -> Option<u32> {
        let pointers = self.indirect.get(&inode.ino)?;
        let first = self.tree().first_of(holder);
        let left = match missing {
            None => self.data_before(inode, lbn, first as u32),
            Some(&array @ Array::Leaf(_)) => {
                let first_leaf = (first - u64::from(DIRECT)) / u64::from(self.geometry.pointers);
                pointers.before(array, first_leaf as u32)
            }
            Some(&array @ Array::Upper(_)) => pointers.before(array, 2),
        };
        left.or_else(|| pointers.get(holder))
    }

    /// Address of the last block of data in `[first, lbn)`.
    fn data_before(&self, inode: &Inode, lbn: u32, first: u32) -> Option<u32> {
        let (found, address) = inode.blocks.last_before(&self.pool, lbn, 1)?;
        (found >= first).then_some(address as u32)
    }

    /// Allocates a block of a file that is not there, with the indirect blocks it needs.
    pub(super) fn map_block(&mut self, inode: &mut Inode, lbn: u32) -> Result<(), NoSpace> {
        let path = self.tree().path(lbn);
        let arrays = path.arrays();
        let there = if arrays.is_empty() {
            0
        } else {
            let pointers = self.indirect.get(&inode.ino);
            let present = |array: &&Array| pointers.is_some_and(|p| p.get(**array).is_some());
            arrays.iter().take_while(present).count()
        };
        let goal = self.goal(inode, lbn, &path, there);
        let missing = &arrays[there..];
        let data = if missing.is_empty() {
            self.allocate(inode, goal, 1)?.first
        } else {
            self.map_indirect(inode, goal, missing)?
        };
        self.changed_pointer(inode, arrays);
        inode.blocks.set(&mut self.pool, lbn, 1, u64::from(data), 1);
        if inode.kind == Kind::File {
            (inode.last_logical, inode.last_physical) = (lbn, data);
        }
        Ok(())
    }

    /// Allocates blocks from `lbn` on, at most up to `end`, and gives the one behind them. Where a file goes on behind
    /// its last block, that may be several at once.
    fn map_blocks(&mut self, inode: &mut Inode, lbn: u32, end: u32) -> Result<u32, NoSpace> {
        let goes_on = inode.last_physical != 0
            && lbn == inode.last_logical.wrapping_add(1)
            && lbn >= inode.blocks.end(&self.pool);
        if goes_on {
            let path = self.tree().path(lbn);
            let leaf = path.arrays().last();
            let array_end = match leaf {
                None => Some(DIRECT),
                Some(&leaf) => {
                    let pointers = self.indirect.get(&inode.ino);
                    let there = pointers.and_then(|pointers| pointers.get(leaf));
                    there.map(|_| self.tree().first_of(leaf) as u32 + self.geometry.pointers)
                }
            };
            if let Some(array_end) = array_end
                && let Some(given) =
                    self.allocate_behind(inode.last_physical, end.min(array_end) - lbn)
            {
                self.changed_pointer(inode, path.arrays());
                let (first, n) = (given.first, given.blocks);
                inode.blocks.set(&mut self.pool, lbn, n, first.into(), 1);
                inode.last_logical = lbn + n - 1;
                inode.last_physical = first + n - 1;
                return Ok(lbn + n);
            }
        }
        self.map_block(inode, lbn)?;
        Ok(lbn + 1)
    }

    /// Allocates indirect blocks, the outermost first, and then the block of data, whose address it gives.
    fn map_indirect(
        &mut self,
        inode: &mut Inode,
        goal: u32,
        missing: &[Array],
    ) -> Result<u32, NoSpace> {
        let wanted = missing.len() + 1;
        let mut blocks = [0; 4];
        let mut have = 0;
        while have < wanted {
            let Ok(given) = self.allocate(inode, goal, (wanted - have) as u32) else {
                for &block in &blocks[..have] {
                    self.release_blocks(block, 1);
                }
                return Err(NoSpace);
            };
            for block in given.first..given.first + given.blocks {
                blocks[have] = block;
                have += 1;
            }
        }
        let pointers = self.indirect.entry(inode.ino).or_default();
        for (&array, &block) in missing.iter().zip(&blocks) {
            pointers.insert(array, block);
        }
        for (&array, &block) in missing.iter().zip(&blocks) {
            self.made_indirect(inode.ino, array, block);
        }
        Ok(blocks[missing.len()])
    }

    /// Writes `bytes` at `offset`. If space runs out, what was written before stays.
    pub(super) fn write(
        &mut self,
        inode: &mut Inode,
        offset: u64,
        bytes: u64,
    ) -> Result<(), NoSpace> {
        let bsize = self.geometry.block_bytes;
        let end = offset + bytes;
        let blocks = self.blocks_of(end);
        let mut at = offset;
        // Blocks before this one are fresh.
        let mut mapped = 0;
        while at < end {
            let lbn = (at / bsize) as u32;
            let mut fresh = lbn < mapped;
            if !fresh && self.address(inode, lbn) == 0 {
                mapped = self.map_blocks(inode, lbn, blocks)?;
                fresh = true;
            }
            let stop = end.min((u64::from(lbn) + 1) * bsize);
            inode.size = inode.size.max(stop);
            if self.emitted.is_on() {
                self.wrote(inode, lbn, (at % bsize, stop - at), fresh);
            }
            at = stop;
        }
        self.changed_inode(inode.ino);
        Ok(())
    }

    /// Sets the length. A file that gets longer gets a hole.
    pub(super) fn truncate(&mut self, inode: &mut Inode, length: u64) {
        let old = self.blocks_of(inode.size);
        let keep = self.blocks_of(length);
        if length < inode.size && !length.is_multiple_of(self.geometry.block_bytes) {
            self.zeroed_tail(inode, keep - 1);
        }
        if keep < old {
            self.discarded(inode.ino, keep);
            self.cut_data(inode, keep);
            if old > DIRECT {
                self.cut_indirect(inode.ino, keep);
            }
        }
        inode.size = length;
        self.changed_inode(inode.ino);
    }

    /// Frees the data blocks from `keep` on.
    fn cut_data(&mut self, inode: &mut Inode, keep: u32) {
        let mut blocks = inode.blocks;
        // The pool is out of the way while blocks are freed: they never need it.
        let mut pool = std::mem::take(&mut self.pool);
        blocks.cut(&mut pool, keep, 1, |run| {
            self.release_blocks(run.address as u32, run.blocks);
        });
        self.pool = pool;
        inode.blocks = blocks;
    }

    /// Frees the indirect blocks whose first block lies at or behind the new end.
    fn cut_indirect(&mut self, ino: u32, keep: u32) {
        let Some(mut indirect) = self.indirect.remove(&ino) else {
            return;
        };
        for (array, address) in indirect.cut(self.tree(), keep) {
            self.release_blocks(address, 1);
            self.forgot_indirect(ino, array, address);
        }
        if !indirect.is_empty() {
            self.indirect.insert(ino, indirect);
            self.cut_pointers(ino, keep);
        }
    }

    /// Frees blocks, which may lie in several groups.
    pub(super) fn release_blocks(&mut self, mut first: u32, mut blocks: u32) {
        while blocks > 0 {
            let group = self.geometry.group_of(first);
            let position = first - self.geometry.first_block(group);
            let n = blocks.min(self.geometry.blocks_per_group - position);
            self.groups.release(group, position, n);
            self.changed_group(group);
            (first, blocks) = (first + n, blocks - n);
        }
    }

    /// Whether a file may be that long.
    pub(super) fn fits(&self, offset: u64, bytes: u64) -> bool {
        offset
            .checked_add(bytes)
            .is_some_and(|end| end <= self.geometry.most_file_bytes())
    }
}
