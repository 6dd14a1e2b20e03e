//! Writing what is dirty: sync, fsync, reuse, and the clusters of a file.

use crate::cache::State;
use crate::host::Host;
use crate::params::FlushClustering;
use fsage_core::BufferId;
use fsage_disk::{Access, Device};

impl<D: Device> Host<D> {
    /// Starts the write of every dirty buffer.
    pub(crate) fn flush_all(&mut self) {
        let most = self
            .params
            .sync_transfer_bytes
            .max(self.params.max_transfer_bytes);
        let mut owners = std::mem::take(&mut self.scratch);
        self.cache.noted(&mut owners);
        for &owner in &owners {
            self.flush_dirty(owner, most);
        }
        self.scratch = owners;
    }

    /// Starts the write of every dirty buffer of a file, the most recently dirtied first.
    pub(crate) fn flush_file(&mut self, file: u32) {
        self.flush_dirty(file, self.params.max_transfer_bytes);
    }

    fn flush_dirty(&mut self, file: u32, most_bytes: u32) {
        while let Some(slot) = self.cache.last_dirtied(file) {
            self.flush(slot, false, most_bytes);
        }
    }

    /// Starts the write of a dirty buffer, with the neighbors that go along: those behind it, then those before it.
    pub(crate) fn flush(&mut self, slot: u32, age: bool, most_bytes: u32) {
        self.batch.clear();
        self.batch.push(slot);
        if self.params.flush_clustering != FlushClustering::Off {
            self.gather(slot, most_bytes);
        }
        self.issue(Access::Write, false, age);
    }

    /// Puts the neighbors of a buffer into the batch that go along, up to so many bytes in all.
    pub(crate) fn gather(&mut self, slot: u32, most_bytes: u32) {
        let entry = self.cache.entry(slot);
        let ino = entry.id.and_then(BufferId::ino);
        let (mut start_bytes, mut end_bytes) = (entry.start_bytes, entry.end_bytes());
        let mut room = most_bytes.saturating_sub(entry.bytes);
        while let Some((next, bytes)) = self.neighbor(end_bytes, ino, room) {
            self.batch.push(next);
            end_bytes += u64::from(bytes);
            room -= bytes;
        }
        let block_bytes = self.block_bytes;
        let behind = self.batch.len();
        while let Some(before) = start_bytes.checked_sub(u64::from(block_bytes))
            && let Some((next, bytes)) = self.neighbor(before, ino, room)
            && bytes == block_bytes
        {
            self.batch.push(next);
            start_bytes = before;
            room -= bytes;
        }
        self.batch[behind..].reverse();
        self.batch.rotate_left(behind);
    }

    /// A dirty buffer at an address that may go along with one of file `ino`, and its length, if that is no more than
    /// `room`.
    fn neighbor(&self, start_bytes: u64, ino: Option<u64>, room: u32) -> Option<(u32, u32)> {
        let slot = self.cache.find_at(start_bytes)?;
        let entry = self.cache.entry(slot);
        let same_file = ino.is_some() && entry.id.and_then(BufferId::ino) == ino;
        let joins = same_file || self.params.flush_clustering != FlushClustering::File;
        let fits = entry.bytes <= room;
        (entry.state == State::Dirty && joins && fits).then_some((slot, entry.bytes))
    }

    /// Starts the writes of the dirty blocks of a part of a file, runs of them in one request.
    pub(crate) fn push(&mut self, ino: u64, first: u32, last: u32) {
        self.batch.clear();
        let mut end_bytes = 0;
        let mut bytes = 0;
        for lbn in first..=last {
            let Some(slot) = self.cache.find(BufferId::Data { ino, lbn }) else {
                continue;
            };
            let entry = self.cache.entry(slot);
            if entry.state != State::Dirty {
                continue;
            }
            let (start, next_end, length) = (entry.start_bytes, entry.end_bytes(), entry.bytes);
            let full = bytes + length > self.params.max_transfer_bytes;
            if !self.batch.is_empty() && (start != end_bytes || full) {
                self.push_batch();
                bytes = 0;
            }
            self.batch.push(slot);
            end_bytes = next_end;
            bytes += length;
        }
        self.push_batch();
    }

    fn push_batch(&mut self) {
        if !self.batch.is_empty() {
            self.issue(Access::Write, false, true);
            self.batch.clear();
        }
    }
}
