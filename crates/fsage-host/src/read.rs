//! Reading files: the block that is asked for, and what is read ahead of it. The rules are those of `cluster_read` in
//! `vfs_cluster.c` of 4.4BSD-Lite2, and of `ffs_read` above it.

use crate::host::Host;
use crate::params::ReadAhead;
use fsage_core::{BlockMap, Buffer, BufferId};
use fsage_disk::{Access, Device};

/// Where the blocks of the file lie that is read.
pub(crate) type Blocks<'a> = &'a dyn Fn(u32) -> BlockMap;

/// The file that is read, as one system call sees it.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub blocks: Blocks<'a>,
    pub ino: u64,
    size_bytes: u64,
    /// Its number in the cache.
    pub file: u32,
}

/// Blocks that are read in one request.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub first: u32,
    pub blocks: u32,
    /// The first of them.
    pub buffer: Buffer,
}

impl<D: Device> Host<D> {
    /// The data of one system call that reads `bytes` from `offset` on, as far as the file has them, with the time of
    /// copying them. `blocks` tells where a logical block lies.
    pub fn read(&mut self, blocks: Blocks, ino: u64, size_bytes: u64, offset: u64, bytes: u64) {
        let reading = Reading {
            blocks,
            ino,
            size_bytes,
            file: self.cache.file_of(ino),
        };
        let block_bytes = u64::from(self.block_bytes);
        let end = size_bytes.min(offset.saturating_add(bytes));
        let mut at = offset;
        while at < end {
            self.tick();
            let lbn = at / block_bytes;
            let upto = end.min((lbn + 1) * block_bytes);
            self.asked = Some(lbn as u32);
            let wanted = (end - 1) / block_bytes - lbn + 1;
            let slot = self.read_block(reading, lbn as u32, wanted as u32);
            self.asked = None;
            self.copy(upto - at);
            if let Some(slot) = slot {
                let aged = upto.is_multiple_of(block_bytes) || upto == size_bytes;
                self.cache.release(slot, aged);
            }
            at = upto;
        }
    }

    /// Gets a block into the cache, the first of so many that the call wants, and reads ahead. The buffer is not busy;
    /// a hole has none.
    fn read_block(&mut self, reading: Reading, lbn: u32, wanted: u32) -> Option<u32> {
        let last = (reading.size_bytes - 1) / u64::from(self.block_bytes);
        let tail = self.params.tail_alone && u64::from(lbn) == last;
        let slot = match self.params.read_ahead {
            ReadAhead::Clustered if !tail => self.clustered_read(reading, lbn),
            ReadAhead::Window if !tail => self.windowed_read(reading, lbn, wanted),
            _ => self.plain_read(reading, lbn),
        };
        self.cache.file(reading.file).last_read = lbn;
        slot
    }

    /// The block alone, or with its group.
    fn plain_read(&mut self, reading: Reading, lbn: u32) -> Option<u32> {
        let ino = reading.ino;
        if let Some(slot) = self.cache.find(BufferId::Data { ino, lbn }) {
            return Some(self.hit(slot));
        }
        let map = (reading.blocks)(lbn);
        let buffer = map.buffer?;
        if let Some(slot) = self.find(buffer) {
            return Some(self.hit(slot));
        }
        self.counters.misses += 1;
        self.need_pointers(&map);
        if let Some(group) = map.group {
            return Some(self.read_group(buffer, group));
        }
        let (slot, tag) = self.start_read(buffer, 1, true);
        self.wait_for(tag);
        Some(slot)
    }

    /// A buffer that is wanted is in the cache or on its way: it is in use when it is there.
    pub(crate) fn hit(&mut self, slot: u32) -> u32 {
        self.counters.hits += 1;
        self.ready(slot);
        self.cache.take(slot);
        slot
    }

    pub(crate) fn need_pointers(&mut self, map: &BlockMap) {
        for pointers in map.pointers.into_iter().flatten() {
            let slot = self.need(pointers);
            self.cache.release(slot, false);
        }
    }

    /// The block and its neighbors in the group, downward and upward until one is in the cache, in one request. The
    /// neighbors are known by their addresses only.
    pub(crate) fn read_group(&mut self, buffer: Buffer, group: (u64, u64)) -> u32 {
        let block_bytes = u64::from(self.block_bytes);
        let (group_start, group_end) = (group.0, group.0 + group.1);
        let mut room = u64::from(self.params.max_transfer_bytes.saturating_sub(buffer.bytes));
        let (mut start, mut end) = (buffer.start_bytes, buffer.end_bytes());
        while room >= block_bytes
            && start >= group_start + block_bytes
            && self.cache.find_at(start - block_bytes).is_none()
        {
            start -= block_bytes;
            room -= block_bytes;
        }
        while room >= block_bytes
            && end + block_bytes <= group_end
            && self.cache.find_at(end).is_none()
        {
            end += block_bytes;
            room -= block_bytes;
        }
        self.make_room(end - start);
        self.batch.clear();
        let mut at = start;
        let mut wanted = None;
        while at < end {
            let (id, bytes) = if at == buffer.start_bytes {
                (Some(buffer.id), buffer.bytes)
            } else {
                (None, self.block_bytes)
            };
            let slot = self.cache.insert(id, at, bytes);
            wanted = wanted.or(id.map(|_| slot));
            self.batch.push(slot);
            at += u64::from(bytes);
        }
        let tag = self.issue(Access::Read, true, false);
        self.wait_for(tag);
        wanted.expect("the block is in its own request")
    }

    /// The block, alone or with blocks behind it, and the reading ahead that is due.
    fn clustered_read(&mut self, reading: Reading, lbn: u32) -> Option<u32> {
        let file = self.cache.file(reading.file);
        let sequential = lbn != 0 && (lbn == file.last_read || lbn == file.last_read + 1);
        if !sequential {
            (file.window, file.read_until) = (0, lbn);
        }
        let ahead = lbn.saturating_add(file.window.max(1));
        let ino = reading.ino;
        if let Some(slot) = self.cache.find(BufferId::Data { ino, lbn }) {
            let slot = self.hit(slot);
            if sequential && let Some(run) = self.run_ahead(reading, lbn, ahead) {
                self.start_run(reading, run, false);
            }
            return Some(slot);
        }
        let map = (reading.blocks)(lbn);
        let buffer = map.buffer?;
        self.counters.misses += 1;
        self.need_pointers(&map);
        Some(self.read_missing(reading, buffer, &map, lbn, sequential))
    }

    /// A block that is not in the cache: with those behind it, or on its own and then the next ones without waiting.
    /// The process waits when both are with the driver.
    fn read_missing(
        &mut self,
        reading: Reading,
        buffer: Buffer,
        map: &BlockMap,
        lbn: u32,
        sequential: bool,
    ) -> u32 {
        let mut run = Run {
            first: lbn,
            blocks: 1,
            buffer,
        };
        let mut ahead = None;
        if sequential && self.ends_inside(reading, lbn) {
            let following = self.window(reading, lbn, lbn, map);
            if following > 0 {
                run.blocks = self.clip(reading, lbn, following);
            } else {
                ahead = self.run_ahead(reading, lbn, lbn + 1);
            }
        }
        let (slot, tag) = self.start_run(reading, run, true);
        if let Some(ahead) = ahead {
            self.start_run(reading, ahead, false);
        }
        self.wait_for(tag);
        slot
    }

    /// What is to be read ahead from a block on, when `lbn` is asked for: nothing if it is in the cache or on its
    /// way, is a hole, or does not end inside the file. The pointers that lead to it are read now.
    fn run_ahead(&mut self, reading: Reading, lbn: u32, ahead: u32) -> Option<Run> {
        if !self.may_read(reading, ahead) {
            return None;
        }
        let map = (reading.blocks)(ahead);
        let buffer = map.buffer?;
        self.need_pointers(&map);
        let following = self.window(reading, lbn, ahead, &map);
        Some(Run {
            first: ahead,
            blocks: self.clip(reading, ahead, following),
            buffer,
        })
    }

    /// Blocks to read behind `first` when `lbn` is asked for; the window of the file follows.
    fn window(&mut self, reading: Reading, lbn: u32, first: u32, map: &BlockMap) -> u32 {
        let most = (self.params.max_transfer_bytes / self.block_bytes).saturating_sub(1);
        let following = map.following.min(most);
        let file = self.cache.file(reading.file);
        if following > 0 {
            if first <= file.read_until {
                // It was read ahead before, and reused before it was asked for.
                file.window = (file.window / 2).max(1);
            } else if following > file.window && lbn != file.last_read {
                file.window = following.min(2 * file.window).max(1);
            }
        }
        following.min(file.window)
    }

    /// Blocks of a run from `first` on: as many behind it, but none that is in the cache or does not end inside the
    /// file.
    pub(crate) fn clip(&self, reading: Reading, first: u32, following: u32) -> u32 {
        let behind = (1..=following).take_while(|behind| self.may_read(reading, first + behind));
        1 + behind.count() as u32
    }

    /// The block ends inside the file, and is neither in the cache nor on its way.
    pub(crate) fn may_read(&self, reading: Reading, lbn: u32) -> bool {
        let ino = reading.ino;
        self.ends_inside(reading, lbn) && self.cache.find(BufferId::Data { ino, lbn }).is_none()
    }

    pub(crate) fn ends_inside(&self, reading: Reading, lbn: u32) -> bool {
        (u64::from(lbn) + 1) * u64::from(self.block_bytes) <= reading.size_bytes
    }

    fn start_run(&mut self, reading: Reading, run: Run, wait: bool) -> (u32, u64) {
        self.cache.file(reading.file).read_until = run.first + run.blocks - 1;
        self.start_read(run.buffer, run.blocks, wait)
    }

    /// Starts to read blocks of a file that lie one after the other, and gives the first buffer and the label of the
    /// request.
    pub(crate) fn start_read(&mut self, first: Buffer, blocks: u32, wait: bool) -> (u32, u64) {
        self.make_room(u64::from(first.bytes) * u64::from(blocks));
        self.batch.clear();
        for behind in 0..blocks {
            let id = match first.id {
                BufferId::Data { ino, lbn } => BufferId::Data {
                    ino,
                    lbn: lbn + behind,
                },
                other => other,
            };
            let start = first.start_bytes + u64::from(behind) * u64::from(first.bytes);
            let slot = self.cache.insert(Some(id), start, first.bytes);
            self.batch.push(slot);
        }
        let slot = self.batch[0];
        (slot, self.issue(Access::Read, wait, false))
    }
}
