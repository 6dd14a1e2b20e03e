//! The journal: what the running transaction changes, and its commits (12).
//!
//! Source: `fs/jbd` of Linux 2.6.18, ordered mode.

use super::Ext3;
use super::geometry::{DIRECT, Geometry, default_journal_blocks};
use super::io::flush_to_home;
use crate::log;
use fsage_core::io::{Buffer, Io};
use rustc_hash::FxHashSet;

/// Bytes of a descriptor block's header and of the id of its first entry; bytes of an entry.
const DESCRIPTOR_HEAD: u64 = 12 + 16;
const DESCRIPTOR_ENTRY: u64 = 8;

/// A journal.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    /// There is one.
    on: bool,
    /// Blocks of its file; 0: it lies on another device.
    blocks: u32,
    /// Metadata blocks at which a transaction commits by itself: a quarter of the journal.
    most_changed: usize,
    /// Where they lie: address and number.
    runs: Vec<(u64, u64)>,
    /// Its indirect blocks.
    indirect: Vec<u32>,
    /// Blocks behind the journal's superblock, which is its first one, where the next transaction is written.
    head: u64,
    /// Addresses of the metadata blocks that the transaction changes.
    changed: FxHashSet<u32>,
    /// Group whose block bitmap was noted last.
    last_group: Option<u32>,
    /// The same as buffers, and files with new data and their blocks, for a host.
    buffers: Vec<Buffer>,
    data: Vec<(u32, u32, u32)>,
    /// When the transaction began.
    since_ns: Option<i64>,
    pub commits: u64,
}

impl Journal {
    /// The journal of a new file system, which has no place yet; none in mode ext2.
    pub fn new(geometry: &Geometry, on: bool) -> Journal {
        let blocks = match geometry.journal_blocks {
            0 => default_journal_blocks(geometry.blocks.into()) as usize,
            blocks => blocks as usize,
        };
        Journal {
            on,
            blocks: geometry.journal_blocks,
            most_changed: (blocks / 4).max(1),
            runs: Vec::new(),
            indirect: Vec::new(),
            head: 0,
            changed: FxHashSet::default(),
            last_group: None,
            buffers: Vec::new(),
            data: Vec::new(),
            since_ns: None,
            commits: 0,
        }
    }

    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Lays the journal's file out over blocks that were taken for it, its indirect blocks among them.
    pub fn lay_out(&mut self, geometry: &Geometry, taken: &[u32]) {
        let mut taken = taken.iter().copied();
        for lbn in 0..self.blocks {
            let beyond = lbn.checked_sub(DIRECT);
            if beyond.is_some_and(|b| b.is_multiple_of(geometry.pointers)) {
                // Below a double indirect block from the second one on.
                let double = beyond == Some(geometry.pointers);
                self.indirect
                    .extend(taken.by_ref().take(1 + usize::from(double)));
            }
            let Some(address) = taken.next() else {
                break;
            };
            let address = u64::from(address);
            match self.runs.last_mut() {
                Some((first, n)) if *first + *n == address => *n += 1,
                _ => self.runs.push((address, 1)),
            }
        }
    }

    /// Blocks of its file and its indirect blocks.
    pub fn all_blocks(&self) -> impl Iterator<Item = u32> {
        let data = self.runs.iter().flat_map(|&(at, n)| at..at + n);
        let data = data.map(|block| block as u32);
        data.chain(self.indirect.iter().copied())
    }

    /// The transaction changes a block of metadata. Says whether that is new.
    pub fn note(&mut self, address: u32, now_ns: Option<i64>) -> bool {
        if self.changed.is_empty() {
            self.since_ns = now_ns;
        }
        self.changed.insert(address)
    }

    /// The block bitmap of a group is about to be noted. Says whether it may be new: blocks come one after another.
    pub fn note_group(&mut self, group: u32) -> bool {
        self.last_group.replace(group) != Some(group)
    }

    /// A block that was noted, for a host.
    pub fn note_buffer(&mut self, buffer: Buffer) {
        self.buffers.push(buffer);
    }

    /// A block of new data, for a host.
    pub fn note_data(&mut self, ino: u32, lbn: u32) {
        match self.data.last_mut() {
            Some((last, _, end)) if *last == ino && *end + 1 == lbn => *end = lbn,
            _ => self.data.push((ino, lbn, lbn)),
        }
    }

    /// A block of metadata is free.
    pub fn forget(&mut self, address: u32) {
        self.changed.remove(&address);
    }

    /// The transfers that write so many blocks to the log, from where it is on; none if it is on another device.
    fn log(&mut self, blocks: u32, block_bytes: u64, io: &mut Vec<Io>) {
        let head = &mut self.head;
        io.extend(log::writes(&self.runs, 1, head, blocks.into(), block_bytes));
    }
}

/// Blocks of the log that a transaction takes: descriptors, metadata, and the commit block.
fn log_blocks(metadata: usize, block_bytes: u64) -> u32 {
    let entries = (block_bytes - DESCRIPTOR_HEAD) / DESCRIPTOR_ENTRY;
    let metadata = metadata as u64;
    (metadata + metadata.div_ceil(entries) + 1) as u32
}

impl Ext3 {
    /// Commits a transaction that is old or large enough.
    pub(super) fn commit_if_due(&mut self) {
        let journal = &self.journal;
        if journal.changed.is_empty() {
            return;
        }
        let interval = (self.params.commit_s > 0)
            .then(|| i64::try_from(self.params.commit_s.saturating_mul(1_000_000_000)))
            .and_then(Result::ok);
        let age = journal
            .since_ns
            .zip(self.now_ns)
            .map(|(since, now)| now.saturating_sub(since));
        let old = age.zip(interval).is_some_and(|(age, most)| age >= most);
        if old || journal.changed.len() >= journal.most_changed {
            self.commit();
        }
    }

    /// Commits the running transaction: data first, then the log, then metadata may go home.
    pub(super) fn commit(&mut self) {
        let journal = &mut self.journal;
        if journal.changed.is_empty() && journal.data.is_empty() {
            return;
        }
        journal.commits += 1;
        self.groups.commit();
        let changed = journal.changed.len();
        let buffers = std::mem::take(&mut journal.buffers);
        if self.emitted.is_on() {
            let io = self.emitted.list();
            for (ino, first, last) in journal.data.drain(..) {
                let ino = ino.into();
                io.push(Io::Push { ino, first, last });
            }
            let bytes = self.geometry.block_bytes;
            journal.log(log_blocks(changed, bytes), bytes, io);
            for buffer in buffers {
                let address = (buffer.start_bytes / bytes) as u32;
                if journal.changed.remove(&address) {
                    flush_to_home(buffer, io);
                }
            }
        }
        journal.changed.clear();
        journal.data.clear();
        journal.last_group = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a block of 4096 bytes describes (4096 - 28) / 8 = 508 blocks.
    #[test]
    fn a_transaction_is_written_with_descriptors_and_a_commit_block() {
        let blocks = [0, 1, 508, 509].map(|n| log_blocks(n, 4096));
        assert_eq!(blocks, [1, 3, 510, 512]);
    }
}
