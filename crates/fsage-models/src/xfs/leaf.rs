//! A leaf of a directory: entries by hash, some of them stale.
//!
//! Spec: `docs/spec/xfs.md`, section 17. Source: `xfs_dir2_leaf.c`.

use super::areas::BYTES;

/// The address of what is stale.
pub(super) const STALE: u32 = u32::MAX;
/// Of two stale entries in the table of a block, in a leaf: entries that may move more for the lower one.
pub(super) const IN_BLOCK: i32 = 1;
pub(super) const IN_LEAF: i32 = -1;

/// What an entry needs to know of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub hash: u32,
    /// Bytes of the name.
    pub length: u8,
}

/// The hash of a name.
pub(super) fn hash_of(name: &[u8]) -> u32 {
    name.iter()
        .fold(0_u32, |hash, byte| hash.rotate_left(7) ^ u32::from(*byte))
}

/// An entry of a leaf: where a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub key: Key,
    /// In units of 8 bytes.
    pub address: u32,
}

impl Entry {
    pub fn is_stale(&self) -> bool {
        self.address == STALE
    }

    pub fn place(&self) -> (usize, u16) {
        place(self.address)
    }
}

/// Data block and byte in it.
pub(super) fn place(address: u32) -> (usize, u16) {
    let per_block = u32::from(BYTES) / 8;
    (
        (address / per_block) as usize,
        (address % per_block * 8) as u16,
    )
}

pub(super) fn address(block: usize, start: u16) -> u32 {
    block as u32 * (u32::from(BYTES) / 8) + u32::from(start) / 8
}

/// Bytes of an entry in a data block.
pub(super) fn need(length: u8) -> u16 {
    (12 + u16::from(length)).next_multiple_of(8)
}

/// Entries by hash.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaf {
    pub entries: Vec<Entry>,
    pub stale: usize,
}

impl Leaf {
    /// The first entry whose hash is at least this.
    pub fn search(&self, hash: u32) -> usize {
        self.entries.partition_point(|entry| entry.key.hash < hash)
    }

    pub fn live(&self) -> usize {
        self.entries.len() - self.stale
    }

    pub fn last_hash(&self) -> u32 {
        self.entries.last().map_or(0, |entry| entry.key.hash)
    }

    pub fn drop_stale(&mut self) {
        self.entries.retain(|entry| !entry.is_stale());
        self.stale = 0;
    }

    /// Stale entries below and from an index on, as far as the second can be the better choice.
    fn stale_around(&self, index: usize) -> (Option<usize>, Option<usize>) {
        let low = self.entries[..index].iter().rposition(Entry::is_stale);
        let most = low.map_or(usize::MAX, |low| index - low);
        let behind = self.entries[index..].iter().take(most);
        let high = { behind }.position(Entry::is_stale).map(|at| index + at);
        (low, high)
    }

    /// Drops stale entries but the one nearest to an index. Gives the index anew.
    pub fn compact(&mut self, index: usize) -> usize {
        let keep = match self.stale_around(index) {
            (Some(low), Some(high)) if index - low > high - index => high,
            (Some(low), _) => low,
            (None, Some(high)) => high,
            (None, None) => return index,
        };
        let gone = |(at, entry): &(usize, &Entry)| entry.is_stale() && *at != keep;
        let before = self.entries[..index]
            .iter()
            .enumerate()
            .filter(gone)
            .count();
        self.keep_stale(keep);
        index - before
    }

    /// Drops stale entries but the last.
    pub fn compact_to_last(&mut self) {
        if let Some(last) = self.entries.iter().rposition(Entry::is_stale) {
            self.keep_stale(last);
        }
    }

    fn keep_stale(&mut self, keep: usize) {
        let mut at = 0;
        self.entries.retain(|entry| {
            at += 1;
            !entry.is_stale() || at - 1 == keep
        });
        self.stale = 1;
    }

    /// Puts an entry in at an index, over the nearest stale one if there is one. Of two, the lower one is taken if at
    /// most `more` entries move for it than for the other one.
    pub fn insert(&mut self, index: usize, entry: Entry, more: i32) {
        if self.stale == 0 {
            self.entries.insert(index, entry);
            return;
        }
        self.stale -= 1;
        let moves = |low: usize, high: usize| (index - low - 1) as i32 - (high - index) as i32;
        match self.stale_around(index) {
            (Some(low), high) if high.is_none_or(|high| moves(low, high) <= more) => {
                self.entries[low..index].rotate_left(1);
                self.entries[index - 1] = entry;
            }
            (_, Some(high)) => {
                self.entries[index..=high].rotate_right(1);
                self.entries[index] = entry;
            }
            (_, None) => unreachable!("there are stale entries"),
        }
    }

    pub fn find(&self, hash: u32, address: u32) -> Option<usize> {
        let from = self.search(hash);
        let same = self.entries[from..]
            .iter()
            .take_while(|entry| entry.key.hash == hash);
        { same }
            .position(|entry| entry.address == address)
            .map(|at| from + at)
    }

    pub fn make_stale(&mut self, at: usize) -> Entry {
        self.stale += 1;
        let gone = self.entries[at];
        self.entries[at].address = STALE;
        gone
    }
}
