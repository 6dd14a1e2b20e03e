//! The segment usage table, apart from what was written into the segments: small, and never looked through as a whole.

use super::memory::heap;
use crate::changes::ChangedWords;
use std::collections::BTreeSet;
use std::ops::Index;

/// The usage of a segment.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(super) struct Usage {
    /// Live bytes.
    pub live: u32,
    /// What the original counts as live besides, and never subtracts: summaries and inode blocks.
    pub leaked: u32,
    /// When it was last written into.
    pub last_write: u64,
    /// When its youngest block was written by its owner.
    pub youngest: u64,
    /// Sum over the sectors of its blocks of when their owner wrote them.
    pub data_times: u64,
    /// Sectors of its blocks.
    pub data_sectors: u32,
    /// Summaries in it.
    pub summaries: u32,
    /// Inode blocks in it.
    pub inode_blocks: u32,
    /// Holds data.
    pub dirty: bool,
    /// Begun since the last checkpoint.
    pub active: bool,
    /// Could have been freed at the last but one writing of a superblock (`netbsd`).
    pub was_empty: bool,
    /// In the list of what has changed.
    changed: bool,
}

impl Usage {
    /// Holds nothing that lives, and is in the way of nobody.
    pub fn is_empty(&self) -> bool {
        self.dirty && !self.active && self.live == 0
    }

    /// Live bytes as the cleaner counts them.
    pub fn counted_live(&self) -> u32 {
        self.live.saturating_add(self.leaked)
    }

    /// When the blocks in it were written by their owner, on average.
    pub fn mean_data_time(&self) -> u64 {
        self.data_times / u64::from(self.data_sectors.max(1))
    }
}

/// The usage of all segments.
#[derive(Clone, Debug)]
pub(super) struct UsageTable {
    usages: Vec<Usage>,
    /// Segments without data.
    clean: BTreeSet<u32>,
    /// Segments begun since the last checkpoint.
    active: Vec<u32>,
    /// Segments whose usage has changed since [`UsageTable::take_changed`].
    changed: Vec<u32>,
    /// Segments with other room to write in than when metrics last looked.
    pub changed_room: ChangedWords,
}

impl UsageTable {
    /// Segments that are all clean.
    pub fn new(segments: u32) -> UsageTable {
        UsageTable {
            usages: vec![Usage::default(); segments as usize],
            clean: (0..segments).collect(),
            active: Vec::new(),
            changed: Vec::new(),
            changed_room: ChangedWords::default(),
        }
    }

    /// The table as it was read from a disk.
    pub fn of(usages: Vec<Usage>) -> UsageTable {
        let mut table = UsageTable::new(usages.len() as u32);
        for (segment, usage) in (0..).zip(usages) {
            if usage.dirty {
                table.begin(segment, usage.active);
            }
            *table.change(segment) = Usage {
                changed: true,
                ..usage
            };
        }
        table
    }

    /// The usage of every segment, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Usage> {
        self.usages.iter()
    }

    /// The usage of a segment, which is about to change.
    #[inline]
    pub fn change(&mut self, segment: u32) -> &mut Usage {
        let usage = &mut self.usages[segment as usize];
        if !usage.changed {
            usage.changed = true;
            self.changed.push(segment);
        }
        usage
    }

    /// Whether the usage of a segment has changed since [`UsageTable::take_changed`].
    pub fn has_changed(&self, segment: u32) -> bool {
        self[segment].changed
    }

    /// Segments whose usage has changed since the last time.
    pub fn take_changed(&mut self) -> Vec<u32> {
        let changed = std::mem::take(&mut self.changed);
        for &segment in &changed {
            self.usages[segment as usize].changed = false;
        }
        changed
    }

    /// The room of a list that [`UsageTable::take_changed`] gave is used again.
    pub fn give_room(&mut self, room: Vec<u32>) {
        if self.changed.is_empty() {
            self.changed = room;
        }
    }

    /// Bytes of the table and its lists; of clean segments about what they take in a tree.
    pub fn heap_bytes(&self) -> u64 {
        heap::<Usage>(self.usages.capacity())
            + heap::<u32>(self.active.capacity() + self.changed.capacity() + 2 * self.clean.len())
    }

    /// Number of segments without data.
    #[inline]
    pub fn clean(&self) -> u32 {
        self.clean.len() as u32
    }

    /// The next clean segment, round the disk.
    pub fn clean_behind(&self, segment: u32) -> Option<u32> {
        let mut behind = self.clean.range(segment + 1..);
        behind.next().or_else(|| self.clean.first()).copied()
    }

    /// A segment holds data; what it held before is forgotten.
    pub fn begin(&mut self, segment: u32, active: bool) {
        self.clean.remove(&segment);
        self.changed_room
            .mark(segment as usize..segment as usize + 1);
        if active {
            self.active.push(segment);
        }
        let usage = self.change(segment);
        *usage = Usage {
            dirty: true,
            active,
            changed: true,
            ..Usage::default()
        };
    }

    /// A segment is clean.
    pub fn free(&mut self, segment: u32) {
        let usage = self.change(segment);
        (usage.dirty, usage.was_empty) = (false, false);
        self.changed_room
            .mark(segment as usize..segment as usize + 1);
        self.clean.insert(segment);
    }

    /// No segment but `but` was begun since the last checkpoint. Gives those that were, ascending.
    pub fn end_active(&mut self, but: Option<u32>) -> Vec<u32> {
        let (stay, mut ended): (Vec<u32>, Vec<u32>) = std::mem::take(&mut self.active)
            .into_iter()
            .partition(|&segment| Some(segment) == but);
        self.active = stay;
        ended.sort_unstable();
        for &segment in &ended {
            self.change(segment).active = false;
        }
        ended
    }
}

impl Index<u32> for UsageTable {
    type Output = Usage;

    #[inline]
    fn index(&self, segment: u32) -> &Usage {
        &self.usages[segment as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_clean_segment_is_found_round_the_disk() {
        let mut table = UsageTable::new(5);
        for segment in [0, 3, 4] {
            table.begin(segment, true);
        }
        assert_eq!((table.clean(), table.clean_behind(1)), (2, Some(2)));
        assert_eq!(
            (table.clean_behind(2), table.clean_behind(4)),
            (Some(1), Some(1))
        );
        table.free(3);
        assert_eq!((table.clean(), table.clean_behind(2)), (3, Some(3)));
        for segment in 1..=3 {
            table.begin(segment, true);
        }
        assert_eq!((table.clean(), table.clean_behind(0)), (0, None));
    }

    #[test]
    fn a_segment_is_listed_once_when_its_usage_changes() {
        let mut table = UsageTable::new(4);
        table.begin(2, true);
        table.change(2).live = 7;
        table.change(1).live = 1;
        assert_eq!(table.take_changed(), [2, 1]);
        assert!(table.take_changed().is_empty());
        assert_eq!(table.end_active(None), [2]);
        assert_eq!(table.take_changed(), [2]);
    }

    #[test]
    fn a_checkpoint_ends_what_is_active_but_for_one() {
        let mut table = UsageTable::new(6);
        for segment in [5, 1, 3] {
            table.begin(segment, true);
        }
        assert_eq!(table.end_active(Some(3)), [1, 5]);
        assert!(table[3].active && !table[1].active && table[1].dirty);
        assert_eq!(table.end_active(None), [3]);
        assert!(table.end_active(None).is_empty());
    }
}
