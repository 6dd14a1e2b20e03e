//! Data of files: writing into the cache, writing back, setting the length.
//!
//! Spec: `docs/spec/ext4.md`, sections 10 to 12, 20, 21 and 25.

use super::alloc::Request;
use super::cache::{Cache, Folio, PAGE_BITS, Unmapped};
use super::clock::Clock;
use super::runs::Runs;
use super::tree::{Entry, Goal, Meta, NoMeta, Tree};
use super::{Dirty, Ext4, NO_FILE, Regime};
use crate::changes;

/// Bytes of a call of the driver that writes.
const CALL: u64 = 64 << 10;
/// Blocks that are mapped at once.
const MOST_MAPPED: u32 = 2048;
/// Blocks that `fallocate` asks for at once.
const MOST_FALLOCATED: u32 = 32_767;
/// Bytes around what is written to an unwritten extent that are filled with zeros at most.
const MOST_ZEROED: u64 = 32 << 10;
/// Times that a write tries again after a commit.
const TRIES: u32 = 3;

/// There is no space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoSpace;

/// Blocks of the tree of an inode, as its data is mapped.
struct TreeBlocks<'a> {
    fs: &'a mut Ext4,
    inode: u32,
    is_delayed: bool,
}

impl Meta for TreeBlocks<'_> {
    fn take(&mut self, goal: Goal) -> Option<u32> {
        let ino = self.fs.inodes[self.inode as usize].ino;
        let is_data = self.fs.inodes[self.inode as usize].kind.is_data();
        let address = self.fs.address_of(goal, ino, is_data);
        let mut request = Request::single(self.inode, 0, address, matches!(goal, Goal::Exactly(_)));
        request.is_delayed = self.is_delayed;
        Some(self.fs.allocate(request)?.0)
    }

    fn give_back(&mut self, block: u32) {
        self.fs.forgot_tree_block(block);
        self.fs.free(block, 1);
    }
}

impl Ext4 {
    /// Frees blocks: on disk now, for the allocator with the next commit.
    pub(super) fn free(&mut self, block: u32, blocks: u32) {
        for part in self.groups.parts(block, blocks) {
            self.counters.free_blocks.add(i64::from(part));
        }
        self.groups.free_on_disk(block, blocks);
        self.changed_blocks(block, blocks);
        self.freed.push((block, blocks));
    }

    /// What was freed may be taken again.
    pub(super) fn commit(&mut self) {
        self.transaction += 1;
        self.is_running = false;
        self.commits += u64::from(!self.freed.is_empty());
        for (block, blocks) in std::mem::take(&mut self.freed) {
            self.groups.give_back(block, blocks);
        }
    }

    /// Whether an operation that found no space is worth another try.
    pub(super) fn try_again(&mut self, tries: &mut u32) -> bool {
        *tries += 1;
        if *tries > TRIES {
            return false;
        }
        if self.freed.is_empty() {
            return self.has_free(1);
        }
        self.commit();
        true
    }

    /// Entries that a block of a tree has room for.
    pub(super) fn leaf_capacity(&self) -> usize {
        (self.geometry.block_bytes as usize - 12) / 12
    }

    /// Runs something on the tree of an inode, with blocks for it.
    fn with_tree<T>(
        &mut self,
        inode: u32,
        is_delayed: bool,
        run: impl FnOnce(&mut Tree, usize, &mut TreeBlocks<'_>) -> T,
    ) -> T {
        let capacity = self.leaf_capacity();
        let mut tree = std::mem::take(&mut self.inodes[inode as usize].tree);
        let mut blocks = TreeBlocks {
            fs: self,
            inode,
            is_delayed,
        };
        let result = run(&mut tree, capacity, &mut blocks);
        self.inodes[inode as usize].tree = tree;
        result
    }

    /// Puts blocks into the tree of an inode; they are freed if it has no room.
    fn map(
        &mut self,
        inode: u32,
        entry: Entry,
        merging: bool,
        is_delayed: bool,
    ) -> Result<(), NoSpace> {
        let inserted = self.with_tree(inode, is_delayed, |tree, capacity, blocks| {
            tree.insert(entry, merging, capacity, blocks)
        });
        self.changed_tree(inode, entry.logical);
        if inserted.is_ok()
            && let Some(cache) = self.cache_if(inode)
        {
            cache.holes.take(entry.logical, entry.end());
        }
        inserted.map_err(|NoMeta| {
            // First, as what is freed stays taken until the next commit.
            self.drop_own(inode);
            self.free(entry.block, entry.blocks());
            NoSpace
        })
    }

    /// The kernel looks for a block that has no place and is not delayed, and remembers the hole that it is in.
    fn look_for(&mut self, inode: u32, block: u32) {
        if self
            .cache_of(inode)
            .is_some_and(|cache| cache.holes.has(block))
        {
            return;
        }
        let gap = self.inodes[inode as usize].tree.gap(block);
        self.cache_mut(inode).looked_up(block, gap);
    }

    /// The kernel looks for all blocks of a file, up to the largest there can be, and remembers all holes it meets.
    pub(super) fn look_for_holes(&mut self, inode: u32) {
        if self.cache_of(inode).is_none() {
            return;
        }
        let mut at = 0;
        while at < u32::MAX {
            let known = |runs: &Runs| runs.next(at).filter(|run| run.0 == at);
            let cache = self.cache_mut(inode);
            if let Some((_, end)) = known(&cache.delayed).or_else(|| known(&cache.holes)) {
                at = end;
            } else if let Some(entry) = self.inodes[inode as usize].tree.find(at) {
                at = entry.end();
            } else {
                self.look_for(inode, at);
            }
        }
        self.forget_if_plain(inode);
    }

    /// A request for blocks of a file at a place that has none.
    fn request(&self, inode: u32, logical: u32, blocks: u32) -> Request {
        let one = &self.inodes[inode as usize];
        let around = one.tree.around(logical);
        Request {
            inode,
            logical,
            blocks,
            goal: self.address_of(around.goal, one.ino, one.kind.is_data()),
            exactly: false,
            left: around.left,
            right: around.right,
            is_data: one.kind.is_data(),
            is_delayed: false,
            as_it_is: false,
            size: one.size,
            is_open: self.cache_of(inode).is_some_and(|cache| cache.writers > 0),
        }
    }

    /// A block of a directory, or the one of a symbolic link, at once.
    pub(super) fn append_block(&mut self, inode: u32, logical: u32) -> Result<(), NoSpace> {
        let request = Request {
            as_it_is: true,
            ..self.request(inode, logical, 1)
        };
        let (block, blocks) = self.allocate(request).ok_or(NoSpace)?;
        self.map(
            inode,
            Entry::new(logical, block, blocks, false),
            true,
            false,
        )
    }

    /// The inode stands at the end of the dirty list, if it was not on it.
    pub(super) fn make_dirty(&mut self, inode: u32) {
        let stamp = self.next_dirty;
        let cache = self.cache_mut(inode);
        if cache.dirty == 0 {
            cache.dirty = stamp;
            self.next_dirty += 1;
            self.dirty.push(Dirty {
                inode,
                stamp,
                since_ns: self.clock.as_ref().map_or(0, Clock::now_ns),
            });
        }
        self.journal(inode);
        self.changed_inode(inode);
    }

    /// Writes to an open file by calls of 64 KiB. `is_new` says that the file was just made.
    pub(super) fn write(
        &mut self,
        inode: u32,
        offset: u64,
        bytes: u64,
        is_new: bool,
    ) -> Result<(), NoSpace> {
        let end = offset + bytes;
        let mut at = offset;
        while at < end {
            let call_end = (at + CALL).min(end);
            if !is_new {
                self.make_dirty(inode);
            }
            let mut call = at;
            while at < call_end {
                match self.write_folio(inode, at, call_end) {
                    Ok(to) => at = to,
                    // A call that wrote something ends there, and the rest of it is another one.
                    Err(NoSpace) if at > call => call = at,
                    Err(NoSpace) => return Err(NoSpace),
                }
            }
            at = self.write_behind(inode, at, end);
        }
        Ok(())
    }

    /// The calls of a write from `at` on, where the one before ended, all at once: what they write lies behind all that
    /// the file has, and free space is so far above every limit that no block needs a look at it. Says up to where it
    /// wrote, which is `at` where that is not so.
    fn write_behind(&mut self, inode: u32, mut at: u64, end: u64) -> u64 {
        let bits = self.geometry.block_bits;
        let first = at.div_ceil(1 << bits) as u32;
        let stop = end.div_ceil(1 << bits) as u32;
        // A host is told of each block.
        if first >= stop || self.params.regime == Regime::C || self.emitted.is_on() {
            return at;
        }
        let blocks = stop - first;
        let free = self.counters.free_blocks;
        let (free, delayed) = (
            free.read().min(free.exact()),
            self.counters.delayed.most(blocks),
        );
        let tree = &self.inodes[inode as usize].tree;
        let is_last = tree.find(first).is_none() && tree.first_above(first).is_none();
        if free < 2 * delayed || !self.is_far_from_full(free, delayed) || !is_last {
            return at;
        }
        let first_changed = (at >> bits) as u32;
        self.look_for(inode, first);
        let cache = self.cache_mut(inode);
        if !cache.ends_at((at >> PAGE_BITS) as u32) || cache.delayed.next(first).is_some() {
            return at;
        }
        while at < end {
            let call_end = (at + CALL).min(end);
            while at < call_end {
                let folio = cache.folio_for(at, call_end - at);
                cache.put(folio, true);
                at = (u64::from(folio.end()) << PAGE_BITS).min(call_end);
            }
        }
        cache.delayed.add(first, stop);
        cache.changed.add(first_changed, stop);
        cache.holes.take(first, stop);
        self.counters.delayed.add_ones(blocks);
        let one = &mut self.inodes[inode as usize];
        one.size = one.size.max(end);
        end
    }

    /// Writes what lies in one folio; says where it ends.
    fn write_folio(&mut self, inode: u32, from: u64, call_end: u64) -> Result<u64, NoSpace> {
        let bits = self.geometry.block_bits;
        let (free, delayed) = (
            self.counters.free_blocks.read(),
            self.counters.delayed.read(),
        );
        if self.params.regime != Regime::C && delayed > 0 && free < 2 * delayed {
            self.write_back_all();
        }
        let is_direct = self.params.regime == Regime::C
            || 2 * free < 3 * delayed
            || free < delayed + self.watermark;
        let mut tries = 0;
        let mut to = call_end;
        loop {
            // Another try makes a folio for what the one before would have held, which may be a smaller one.
            let folio = self.cache_mut(inode).folio_for(from, to - from);
            to = (u64::from(folio.end()) << PAGE_BITS).min(to);
            let reserved = self.reserve(inode, folio, from, to, is_direct);
            match reserved {
                Ok(has_new) => {
                    let whole = self.cache_of(inode).map_or(0, Cache::whole);
                    let cache = self.cache_mut(inode);
                    if has_new || folio.page >= whole {
                        cache.put(folio, true);
                    }
                    let end = to.div_ceil(1 << bits) as u32;
                    cache.changed.add((from >> bits) as u32, end);
                    self.make_dirty(inode);
                    let one = &mut self.inodes[inode as usize];
                    let old_size = one.size;
                    one.size = old_size.max(to);
                    self.wrote(inode, from, to, old_size);
                    return Ok(to);
                }
                Err(some) => {
                    if some {
                        self.make_dirty(inode);
                    }
                    let size = self.inodes[inode as usize].size;
                    // The folio that was made or taken for it stays in the cache.
                    self.cache_mut(inode).put(folio, false);
                    if to > size {
                        // An empty file is cut to nothing, as one whose content is replaced.
                        self.cache_mut(inode).emptied |= size == 0;
                        self.cut_behind(inode, size);
                    }
                    if !self.try_again(&mut tries) {
                        return Err(NoSpace);
                    }
                }
            }
        }
    }

    /// Reserves or allocates the blocks of a range that have none. Says whether there were such; where there is no
    /// space, whether some were reserved before.
    fn reserve(
        &mut self,
        inode: u32,
        folio: Folio,
        from: u64,
        to: u64,
        is_direct: bool,
    ) -> Result<bool, bool> {
        let bits = self.geometry.block_bits;
        let first = (from >> bits) as u32;
        let end = to.div_ceil(1 << bits) as u32;
        let mut at = first;
        let mut is_cached = false;
        let mut has_new = false;
        let mut left_hole = first;
        while at < end {
            if let Some(entry) = self.inodes[inode as usize].tree.find(at) {
                let stop = entry.end().min(end);
                has_new |= entry.is_unwritten() && self.write_over(inode, at, stop, is_direct);
                at = stop;
                continue;
            }
            if self.cache_mut(inode).delayed.has(at) {
                at += 1;
                continue;
            }
            if is_direct {
                self.look_for(inode, at);
                let request = self.request(inode, at, 1);
                let (block, _) = self.allocate(request).ok_or(has_new)?;
                let unwritten = self.params.regime.writes_unwritten();
                let entry = Entry::new(at, block, 1, unwritten);
                self.map(inode, entry, true, false)
                    .map_err(|NoSpace| has_new)?;
                let cache = self.cache_mut(inode);
                if unwritten {
                    cache.filled.add(at, at + 1);
                }
                cache.changed.add(at, at + 1);
                if !is_cached {
                    cache.put(folio, true);
                    is_cached = true;
                }
            } else {
                if at >= left_hole {
                    self.look_for(inode, at);
                    // All that lies in this hole leaves it at once, and what finds no room comes back.
                    let holes = &mut self.cache_mut(inode).holes;
                    left_hole = holes.next(at).map_or(end, |hole| hole.1.min(end));
                    holes.take(at, left_hole);
                }
                if !self.has_free(1) {
                    self.cache_mut(inode).holes.add(at, left_hole);
                    return Err(has_new);
                }
                self.counters.delayed.add(1);
                let cache = self.cache_mut(inode);
                cache.delayed.add(at, at + 1);
                cache.changed.add(at, at + 1);
                if !is_cached {
                    // It is there from the first block on that was reserved, be it whole in the end or not.
                    self.cache_mut(inode).put(folio, true);
                    is_cached = true;
                }
            }
            has_new = true;
            at += 1;
        }
        Ok(has_new)
    }

    /// Writes over blocks that are allocated and not written yet. Says whether any of them needs to be mapped still.
    fn write_over(&mut self, inode: u32, from: u32, to: u32, is_direct: bool) -> bool {
        let mut any = false;
        for at in from..to {
            if self.cache_mut(inode).overtaken.has(at) {
                continue;
            }
            if is_direct && !self.params.regime.writes_unwritten() {
                self.fill(inode, at, 1);
            } else {
                let cache = self.cache_mut(inode);
                cache.filled.add(at, at + 1);
                cache.changed.add(at, at + 1);
                any = true;
            }
        }
        any
    }

    /// Makes blocks of an unwritten extent written ones, perhaps fewer than asked for. Says how many.
    fn fill(&mut self, inode: u32, at: u32, length: u32) -> u32 {
        let zeroed = (MOST_ZEROED >> self.geometry.block_bits) as u32;
        let done = self.with_tree(inode, true, |tree, capacity, blocks| {
            tree.fill(at, length, zeroed, capacity, blocks)
        });
        self.changed_tree(inode, at);
        done
    }

    /// Drops what lies behind a length: pages, delayed blocks, what is set aside, and blocks.
    fn cut_behind(&mut self, inode: u32, bytes: u64) {
        let first_gone = bytes.div_ceil(self.geometry.block_bytes) as u32;
        if let Some(cache) = self.cache_if(inode) {
            cache.cut(bytes);
            let gone = cache.settle(first_gone, u32::MAX);
            if gone > 0 {
                self.counters.delayed.add(-i64::from(gone));
            }
        }
        if !bytes.is_multiple_of(self.geometry.block_bytes) {
            // The rest of the block in which the file ends.
            self.zero_part(inode, first_gone - 1);
        }
        if let Some(cache) = self.cache_if(inode) {
            cache.holes.take(first_gone, u32::MAX);
        }
        self.drop_own(inode);
        self.discarded(inode, first_gone);
        self.cut_tree(inode, first_gone);
    }

    /// Frees the blocks of an inode from one on.
    pub(super) fn cut_tree(&mut self, inode: u32, first_gone: u32) {
        if self.inodes[inode as usize].tree.is_empty() {
            return;
        }
        let mut runs = Vec::new();
        self.with_tree(inode, false, |tree, _, blocks| {
            let mut gone = |block, count| runs.push((block, count));
            tree.cut(first_gone, &mut gone, blocks);
        });
        for (block, blocks) in runs {
            self.free(block, blocks);
        }
    }

    /// Sets the length of a file.
    pub(super) fn truncate(&mut self, inode: u32, bytes: u64) {
        self.make_dirty(inode);
        let bits = self.geometry.block_bits;
        let one = &mut self.inodes[inode as usize];
        let old_size = std::mem::replace(&mut one.size, bytes);
        if bytes <= old_size {
            self.cut_behind(inode, bytes);
        } else {
            if !old_size.is_multiple_of(1 << bits) {
                self.zero_part(inode, (old_size >> bits) as u32);
            }
            self.drop_own(inode);
        }
    }

    /// Allocates a range of an open file without writing to it, and lengthens the file up to its end.
    pub(super) fn allocate_range(
        &mut self,
        inode: u32,
        offset: u64,
        bytes: u64,
    ) -> Result<(), NoSpace> {
        let bits = self.geometry.block_bits;
        let end_bytes = offset + bytes;
        let first = (offset >> bits) as u32;
        let end = end_bytes.div_ceil(1 << bits) as u32;
        self.make_dirty(inode);
        let old_size = self.inodes[inode as usize].size;
        let as_it_is = end - first <= MOST_FALLOCATED;
        let mut tries = 0;
        let mut at = first;
        let mut result = Ok(());
        while at < end {
            let mapped = match self.inodes[inode as usize].tree.find(at) {
                Some(entry) => Ok(entry.end().min(end) - at),
                None => self.allocate_hole(inode, at, end, as_it_is),
            };
            match mapped {
                Ok(blocks) => {
                    at += blocks;
                    tries = 0;
                    let one = &mut self.inodes[inode as usize];
                    one.size = one.size.max((u64::from(at) << bits).min(end_bytes));
                }
                Err(NoSpace) if self.try_again(&mut tries) => {}
                Err(NoSpace) => {
                    result = Err(NoSpace);
                    break;
                }
            }
        }
        let size = self.inodes[inode as usize].size;
        for end in [old_size, size] {
            if size > old_size && !end.is_multiple_of(1 << bits) {
                self.zero_part(inode, (end >> bits) as u32);
            }
        }
        result
    }

    /// A part of a block is filled with zeros, which caches its page. If it holds anything, it is dirty.
    fn zero_part(&mut self, inode: u32, block: u32) {
        let bits = self.geometry.block_bits;
        let entry = self.inodes[inode as usize].tree.find(block);
        let is_written = entry.is_some_and(|entry| !entry.is_unwritten());
        if entry.is_none() && !self.cache_mut(inode).delayed.has(block) {
            self.look_for(inode, block);
        }
        let cache = self.cache_mut(inode);
        let folio = cache.folio_for(u64::from(block) << bits, 1);
        cache.put(folio, is_written);
        if is_written {
            cache.changed.add(block, block + 1);
        }
    }

    /// Gives back the blocks of a range, which reads as zeros from now on. The length stays.
    pub(super) fn punch_hole(
        &mut self,
        inode: u32,
        offset: u64,
        bytes: u64,
    ) -> Result<(), NoSpace> {
        self.make_dirty(inode);
        let end = offset + bytes;
        let size = self.inodes[inode as usize].size;
        self.cache_mut(inode).punch(offset, end, size);
        let bits = self.geometry.block_bits;
        let (first_partial, last_partial) = ((offset >> bits) as u32, ((end - 1) >> bits) as u32);
        let (first, stop) = (offset.div_ceil(1 << bits) as u32, (end >> bits) as u32);
        for (block, is_partial) in [
            (first_partial, first_partial < first),
            (last_partial, last_partial >= stop),
        ] {
            if is_partial {
                self.zero_part(inode, block);
            }
        }
        if first >= stop {
            return Ok(());
        }
        let cache = self.cache_mut(inode);
        cache.holes.take(first, stop);
        let gone = cache.settle(first, stop);
        if gone > 0 {
            self.counters.delayed.add(-i64::from(gone));
        }
        self.drop_own(inode);
        let mut runs = Vec::new();
        let punched = self.with_tree(inode, true, |tree, capacity, blocks| {
            tree.split(stop, capacity, blocks)?;
            tree.punch(
                (first, stop),
                &mut |block, count| runs.push((block, count)),
                blocks,
            );
            Ok(())
        });
        for (block, blocks) in runs {
            self.free(block, blocks);
        }
        self.changed_tree(inode, first);
        punched.map_err(|NoMeta| NoSpace)?;
        self.cache_mut(inode).holes.add(first, stop);
        Ok(())
    }

    /// Allocates blocks of a hole without writing to them. Says how many.
    fn allocate_hole(
        &mut self,
        inode: u32,
        at: u32,
        end: u32,
        as_it_is: bool,
    ) -> Result<u32, NoSpace> {
        let delayed = self
            .cache_of(inode)
            .and_then(|cache| cache.delayed.next(at));
        if delayed.is_none_or(|run| run.0 > at) {
            self.look_for(inode, at);
        }
        let next = self.inodes[inode as usize].tree.first_above(at);
        let mut stop = next.map_or(end, |entry| entry.logical.min(end));
        // What was written is asked for apart from what was not.
        if let Some((start, delayed_end)) = delayed {
            stop = stop.min(if start > at { start } else { delayed_end });
        }
        // Of a hole that is remembered no more is asked for than it has.
        let hole = self.cache_of(inode).and_then(|cache| cache.holes.next(at));
        if let Some((_, hole_end)) = hole.filter(|hole| hole.0 == at) {
            stop = stop.min(hole_end);
        }
        let request = Request {
            as_it_is,
            is_delayed: delayed.is_some_and(|run| run.0 == at),
            ..self.request(inode, at, (stop - at).min(MOST_FALLOCATED))
        };
        let (block, blocks) = self.allocate(request).ok_or(NoSpace)?;
        self.map(inode, Entry::new(at, block, blocks, true), true, false)?;
        // What was written there before has its blocks now.
        if let Some(cache) = self.cache_if(inode) {
            let settled = cache.overtake(at, at + blocks);
            if settled > 0 {
                self.counters.delayed.add(-i64::from(settled));
                self.placed(inode, at, block, blocks);
            }
        }
        Ok(blocks)
    }

    /// Writes back all dirty inodes, in the order in which they became dirty.
    pub(super) fn write_back_all(&mut self) {
        self.write_back_first(self.dirty.len());
    }

    /// Writes back the inodes that have been dirty for longest, so many.
    pub(super) fn write_back_first(&mut self, inodes: usize) {
        let program = self.begin_work();
        let later = self.dirty.split_off(inodes);
        for Dirty { inode, stamp, .. } in std::mem::replace(&mut self.dirty, later) {
            if self
                .cache_if(inode)
                .is_none_or(|cache| cache.dirty != stamp)
            {
                continue;
            }
            self.go_on_working();
            self.write_back(inode);
            self.commit_if_large(true);
            if self.cache_mut(inode).is_listed() {
                let since_ns = self.clock.as_ref().map_or(0, Clock::now_ns);
                self.dirty.push(Dirty {
                    inode,
                    stamp,
                    since_ns,
                });
                continue;
            }
            self.cache_mut(inode).dirty = 0;
            self.forget_if_plain(inode);
        }
        self.cpu = program;
    }

    /// Writes back one inode: everything that is dirty is clean then.
    pub(super) fn write_back(&mut self, inode: u32) {
        let file = self.inodes[inode as usize].file;
        if file != NO_FILE {
            // It may have been written to on a day before.
            changes::touch_file(self, file);
        }
        let bits = self.geometry.block_bits;
        let per_page = 1_u32 << (PAGE_BITS - bits);
        let end = self.inodes[inode as usize].size.div_ceil(1 << bits) as u32;
        let mut cursor = 0;
        let mut has_committed = false;
        let mut written = Vec::new();
        while let Some((start, length, kind)) = self.collect(inode, cursor, end) {
            let (mut at, mut length, mut kind) = (start, length, kind);
            loop {
                let Some(mapped) = self.map_dirty(inode, at, length, kind, &mut written) else {
                    if has_committed {
                        // The data is lost. Reservations keep it from coming to this.
                        let lost = self.cache_mut(inode).settle(at, at + length);
                        self.counters.delayed.add(-i64::from(lost));
                        at += length;
                    } else {
                        self.commit();
                    }
                    has_committed = !has_committed;
                    break;
                };
                has_committed = false;
                at += mapped;
                // A folio is completed before the next one begins.
                let page = at / per_page;
                let folio = self
                    .cache_mut(inode)
                    .folio_for(u64::from(page) << PAGE_BITS, 1);
                let folio_end = folio.end() * per_page;
                let is_inside = at > folio.page * per_page && at < folio_end;
                if !is_inside {
                    break;
                }
                let next = self.cache_mut(inode).next_unmapped(at);
                let Some((from, to, its)) = next.filter(|next| next.0 < folio_end.min(end)) else {
                    at = folio_end;
                    break;
                };
                (at, kind) = (from, its);
                length = (to.min(folio_end).min(end) - from).min(MOST_MAPPED);
            }
            cursor = at;
        }
        self.cache_mut(inode).written_back();
        if self.params.regime.converts() {
            self.with_tree(inode, true, |tree, _, blocks| {
                for (from, to) in written {
                    tree.convert(from, to, blocks);
                }
            });
        }
    }

    /// The next run of blocks of one kind at or behind a block that need to be mapped, within the file. It lies in
    /// folios that follow each other: first block and length.
    fn collect(&mut self, inode: u32, from: u32, end: u32) -> Option<(u32, u32, Unmapped)> {
        let (start, stop, kind) = self.cache_if(inode)?.next_unmapped(from)?;
        if start >= end {
            return None;
        }
        let stop = stop.min(end).min(start.saturating_add(MOST_MAPPED));
        Some((start, stop - start, kind))
    }

    /// Gives blocks their place, or makes their extent a written one: perhaps fewer than asked for. Says how many; in
    /// regime B those are added to `written`.
    fn map_dirty(
        &mut self,
        inode: u32,
        at: u32,
        length: u32,
        kind: Unmapped,
        written: &mut Vec<(u32, u32)>,
    ) -> Option<u32> {
        let delayed = self.cache_mut(inode).delayed.next(at);
        let delayed = delayed.filter(|run| run.0 == at && kind == Unmapped::Delayed);
        let mapped = if let Some((_, end)) = delayed {
            self.map_delayed(inode, at, length.min(end - at))?
        } else {
            let mapped = match self.inodes[inode as usize].tree.find(at) {
                None => length,
                Some(entry) if !entry.is_unwritten() => length.min(entry.end() - at),
                Some(_) if self.params.regime.converts() => {
                    self.with_tree(inode, true, |tree, capacity, blocks| {
                        tree.set_apart(at, length, capacity, blocks)
                    })
                }
                Some(_) => self.fill(inode, at, length),
            };
            self.cache_mut(inode).settle(at, at + mapped);
            mapped
        };
        self.journal(inode);
        if self.params.regime.converts() {
            written.push((at, at + mapped));
        }
        Some(mapped)
    }

    /// Allocates delayed blocks, perhaps fewer than asked for. Says how many.
    fn map_delayed(&mut self, inode: u32, at: u32, length: u32) -> Option<u32> {
        let request = Request {
            is_delayed: true,
            ..self.request(inode, at, length)
        };
        let (block, blocks) = self.allocate(request)?;
        let unwritten = self.params.regime.converts();
        let entry = Entry::new(at, block, blocks, unwritten);
        self.map(inode, entry, !unwritten, true).ok()?;
        self.placed(inode, at, block, blocks);
        self.counters.delayed.add(-i64::from(blocks));
        let cache = self.cache_mut(inode);
        cache.settle(at, at + blocks);
        if cache.delayed.is_empty() && cache.writers == 0 {
            self.drop_own(inode);
        }
        Some(blocks)
    }

    /// Opens a file for writing.
    pub(super) fn open_for_writing(&mut self, inode: u32) {
        self.open_any(inode);
        self.cache_mut(inode).writers += 1;
    }

    /// Closes a file that was open for writing.
    pub(super) fn close_writer(&mut self, inode: u32) {
        let cache = self.cache_mut(inode);
        if cache.emptied {
            // What replaces the content of a file goes to disk when it is closed.
            cache.emptied = false;
            if !cache.delayed.is_empty() {
                self.write_back(inode);
            }
        }
        let cache = self.cache_mut(inode);
        cache.writers -= 1;
        if cache.writers == 0 && cache.delayed.is_empty() {
            self.drop_own(inode);
        }
        self.forget_if_plain(inode);
    }
}
