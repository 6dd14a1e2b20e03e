//! Adaptive block rearrangement (Akyurek & Salem): copies of the hottest blocks lie in reserved cylinders in the middle
//! of the disk, and accesses go to them.
//!
//! References to every block are counted for a period. At its end the hottest blocks, as many as the reserved cylinders
//! hold, are copied there; the table that leads to them is the driver's, and no file system knows of it. A block that
//! is not among them any more goes home; it is written there if it has changed since it was copied.
//!
//! Three placements: organ pipe, the hottest in the middle; interleaved, a hot block that follows another one on the
//! disk follows it here in the same distance, so that gaps which the file system made stay; serial, in the order of
//! homes.
//!
//! Details are partly from memory of the papers, and unverified. Only blocks of files are counted. The table itself
//! takes no space on the disk, and is not written.

use super::Counters;
use super::map::{Around, Map};
use super::organ_pipe::positions;
use super::remapped::Remap;
use super::settings::Placement;
use crate::findings::Findings;
use fsage_core::io::Io;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::ops::Range;

/// Blocks at which a hot one still counts as the successor of another, for interleaving.
const LONGEST_GAP: u64 = 8;

/// Where a block's copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Copied {
    slot: u32,
    /// It has changed since.
    dirty: bool,
}

/// The table of blocks that are not at home.
#[derive(Clone, Debug)]
pub(super) struct BlockRearrangement {
    around: Around,
    block_bytes: u64,
    placement: Placement,
    /// References of blocks in this period.
    counts: FxHashMap<u64, u32>,
    copies: FxHashMap<u64, Copied>,
    /// The block of every place in the reserved cylinders.
    slots: Vec<Option<u64>>,
}

impl BlockRearrangement {
    /// Reserved cylinders without copies.
    pub fn new(reserved: Range<u64>, block_bytes: u64, placement: Placement) -> Self {
        let slots = (reserved.end - reserved.start) / block_bytes;
        BlockRearrangement {
            around: Around { middle: reserved },
            block_bytes,
            placement,
            counts: FxHashMap::default(),
            copies: FxHashMap::default(),
            slots: vec![None; slots as usize],
        }
    }

    /// The address of a place in the reserved cylinders.
    fn slot_bytes(&self, slot: u32) -> u64 {
        self.around.middle.start + u64::from(slot) * self.block_bytes
    }

    /// The address of a block's home.
    fn home_bytes(&self, block: u64) -> u64 {
        self.around.piece(block * self.block_bytes, 1).0
    }

    /// As [`Remap::place`], inside one block.
    fn place_in_block(&self, at: u64, bytes: u64) -> (u64, u64) {
        let (block, in_block) = (at / self.block_bytes, at % self.block_bytes);
        let here = bytes.min(self.block_bytes - in_block);
        match self.copies.get(&block) {
            Some(copied) => (self.slot_bytes(copied.slot) + in_block, here),
            None => (self.around.piece(at, here).0, here),
        }
    }

    /// The hottest blocks of the period, as many as there are places, the hottest first.
    fn hottest(&self) -> Vec<u64> {
        let mut blocks: Vec<(Reverse<u32>, u64)> = Vec::with_capacity(self.counts.len());
        blocks.extend(
            self.counts
                .iter()
                .map(|(&block, &count)| (Reverse(count), block)),
        );
        blocks.sort_unstable();
        blocks.truncate(self.slots.len());
        blocks.into_iter().map(|(_, block)| block).collect()
    }

    /// Something was written: a copy of it is not what is at home any more.
    pub fn changed(&mut self, at: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        for block in at / self.block_bytes..=(at + bytes - 1) / self.block_bytes {
            if let Some(copied) = self.copies.get_mut(&block) {
                copied.dirty = true;
            }
        }
    }

    /// Every place holds what is planned from now on.
    pub fn move_to(&mut self, plan: &[Option<u64>], io: &mut Vec<Io>, counters: &mut Counters) {
        for (slot, wanted) in (0..).zip(plan) {
            if self.slots[slot as usize] != *wanted {
                self.send_home(slot, io, counters);
            }
        }
        for (slot, wanted) in (0..).zip(plan) {
            if let Some(block) = *wanted
                && self.slots[slot as usize].is_none()
            {
                self.bring(block, slot, io, counters);
            }
        }
    }

    /// What every place is to hold.
    fn plan(&self) -> Vec<Option<u64>> {
        let mut hottest = self.hottest();
        let mut plan = vec![None; self.slots.len()];
        match self.placement {
            Placement::OrganPipe => {
                for (block, at) in hottest.into_iter().zip(positions(plan.len())) {
                    plan[at] = Some(block);
                }
            }
            Placement::Serial => {
                hottest.sort_unstable();
                for (place, block) in plan.iter_mut().zip(hottest) {
                    *place = Some(block);
                }
            }
            Placement::Interleaved => interleave(&hottest, &mut plan),
        }
        plan
    }

    /// A block's copy is given up.
    fn send_home(&mut self, slot: u32, io: &mut Vec<Io>, counters: &mut Counters) {
        let Some(block) = self.slots[slot as usize].take() else {
            return;
        };
        let dirty = self
            .copies
            .remove(&block)
            .is_some_and(|copied| copied.dirty);
        let (from, to) = (self.slot_bytes(slot), self.home_bytes(block));
        if dirty {
            counters.written_home += 1;
            counters.copied_bytes += self.block_bytes;
            copy(from, to, self.block_bytes, io);
        }
        io.push(Io::Swapped {
            places: [from, to],
            bytes: self.block_bytes,
        });
    }

    /// A block is copied to a free place.
    fn bring(&mut self, block: u64, slot: u32, io: &mut Vec<Io>, counters: &mut Counters) {
        let (from, to) = (self.home_bytes(block), self.slot_bytes(slot));
        copy(from, to, self.block_bytes, io);
        io.push(Io::Swapped {
            places: [from, to],
            bytes: self.block_bytes,
        });
        self.slots[slot as usize] = Some(block);
        let dirty = false;
        self.copies.insert(block, Copied { slot, dirty });
        counters.placed += 1;
        counters.copied_bytes += self.block_bytes;
    }
}

/// A copy past the cache.
pub(super) fn copy(from: u64, to: u64, bytes: u64, io: &mut Vec<Io>) {
    for (write, start_bytes) in [(false, from), (true, to)] {
        io.push(Io::Raw {
            write,
            start_bytes,
            bytes,
            wait: !write,
        });
    }
}

/// Puts blocks, the hottest first, where chains of them keep their distances.
fn interleave(hottest: &[u64], plan: &mut [Option<u64>]) {
    let mut left: FxHashSet<u64> = hottest.iter().copied().collect();
    let mut free = 0;
    for &block in hottest {
        if !left.remove(&block) {
            continue;
        }
        while plan[free].is_some() {
            free += 1;
        }
        let (mut block, mut at) = (block, free);
        plan[at] = Some(block);
        // The nearest one behind it that is hot as well, if its place is free.
        while let Some(gap) = (1..=LONGEST_GAP).find(|gap| left.contains(&(block + gap))) {
            at += gap as usize;
            if plan.get(at) != Some(&None) {
                break;
            }
            block += gap;
            left.remove(&block);
            plan[at] = Some(block);
        }
    }
}

impl Remap for BlockRearrangement {
    fn place(&self, at: u64, bytes: u64) -> (u64, u64) {
        if self.copies.is_empty() {
            return self.around.piece(at, bytes);
        }
        let (start, mut here) = self.place_in_block(at, bytes);
        while here < bytes {
            let (next, more) = self.place_in_block(at + here, bytes - here);
            if next != start + here {
                break;
            }
            here += more;
        }
        (start, here)
    }

    fn referenced(&mut self, at: u64, bytes: u64, wrote: bool) {
        if bytes == 0 {
            return;
        }
        for block in at / self.block_bytes..=(at + bytes - 1) / self.block_bytes {
            let count = self.counts.entry(block).or_default();
            *count = count.saturating_add(1);
        }
        if wrote {
            self.changed(at, bytes);
        }
    }

    fn rearrange(&mut self, io: &mut Vec<Io>, counters: &mut Counters) {
        let plan = self.plan();
        self.counts.clear();
        self.move_to(&plan, io, counters);
    }

    fn check(&self, found: &mut Findings) {
        let in_slots = self.slots.iter().flatten().count();
        found.compare("blocks with a copy", &self.copies.len(), &in_slots);
        for (slot, block) in (0_u32..).zip(&self.slots) {
            if let Some(block) = block {
                let known = self.copies.get(block).map(|copied| copied.slot);
                found.compare("the place of a copy", &known, &Some(slot));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::remapped::rearranged;
    use super::*;

    /// Reserved cylinders of so many blocks behind the first 100; blocks of 10 bytes.
    fn disk(slots: u64, placement: Placement) -> BlockRearrangement {
        BlockRearrangement::new(1000..1000 + 10 * slots, 10, placement)
    }

    /// A period in which blocks are referenced so often.
    fn period(disk: &mut BlockRearrangement, uses: &[(u64, u32)]) -> (Vec<Io>, Counters) {
        for &(block, times) in uses {
            for _ in 0..times {
                disk.referenced(10 * block, 10, false);
            }
        }
        rearranged(disk)
    }

    #[test]
    fn the_hottest_blocks_lie_as_the_placement_says() {
        // By hand: five uses of block 7, four of 3, three of 9, two of 8, one of 50, and four places.
        let uses = [(7, 5), (3, 4), (9, 3), (8, 2), (50, 1)];
        for (placement, expected) in [
            // Hottest in place 2 of 0..4, then right, left, and what is left.
            (Placement::OrganPipe, [8, 9, 7, 3]),
            (Placement::Serial, [3, 7, 8, 9]),
            // 7 first, 8 and 9 follow it in the same distance, then 3.
            (Placement::Interleaved, [7, 8, 9, 3]),
        ] {
            let mut disk = disk(4, placement);
            let (_, counters) = period(&mut disk, &uses);
            assert_eq!(disk.slots, expected.map(Some), "{placement:?}");
            assert_eq!((counters.placed, counters.copied_bytes), (4, 40));
        }
    }

    #[test]
    fn accesses_go_to_copies_and_changed_ones_are_written_home() {
        let mut disk = disk(2, Placement::Serial);
        period(&mut disk, &[(3, 2), (4, 2)]);
        assert_eq!(disk.place(30, 20), (1000, 20));
        assert_eq!(disk.place(25, 10), (25, 5));
        assert_eq!(disk.place(45, 10), (1015, 5));
        assert_eq!(
            disk.place(1000, 10),
            (1020, 10),
            "home behind the reserved cylinders"
        );
        disk.referenced(30, 10, true);
        // Blocks 3 and 4 go home, 3 because it was changed with a copy; 8 and 9 come.
        let (io, counters) = period(&mut disk, &[(8, 4), (9, 4)]);
        assert_eq!((counters.written_home, counters.placed), (1, 2));
        let raw = |write, start_bytes| Io::Raw {
            write,
            start_bytes,
            bytes: 10,
            wait: !write,
        };
        let swapped = |a, b| Io::Swapped {
            places: [a, b],
            bytes: 10,
        };
        let expected = [
            raw(false, 1000),
            raw(true, 30),
            swapped(1000, 30),
            swapped(1010, 40),
            raw(false, 80),
            raw(true, 1000),
            swapped(80, 1000),
            raw(false, 90),
            raw(true, 1010),
            swapped(90, 1010),
        ];
        assert_eq!(io, expected);
        assert_eq!(disk.place(30, 10), (30, 10));
    }

    #[test]
    fn a_block_that_stays_hot_in_its_place_is_not_copied_again() {
        let mut disk = disk(3, Placement::Serial);
        period(&mut disk, &[(5, 1), (6, 1)]);
        let (io, counters) = period(&mut disk, &[(5, 1), (6, 1)]);
        assert_eq!((io.len(), counters.placed), (0, 0));
    }
}
