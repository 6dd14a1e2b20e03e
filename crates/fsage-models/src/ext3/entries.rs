//! The entries of a directory: which bytes of its blocks they use.
//!
//! Everything is counted in units of 4 bytes, to which entries are aligned. An entry takes the first place that is
//! long enough; what an entry leaves when it goes belongs to the one before it, or is an unused entry at the start of
//! a block. Both are the same to the next one that comes: a gap.

/// Bytes of a unit.
pub(super) const UNIT: u64 = 4;
/// Units of `.` and of `..`.
const DOT: u32 = 3;

/// Units of an entry with a name of that length: 8 bytes and the name.
pub(super) fn units_of(name_bytes: u32) -> u32 {
    (8 + name_bytes).div_ceil(UNIT as u32)
}

/// Length of the name that stands for an id: a letter and its decimal digits.
pub(super) fn name_bytes(id: u64) -> u32 {
    2 + id.checked_ilog10().unwrap_or(0)
}

/// The entries of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entries {
    /// Words of a block's bitmaps.
    words: u32,
    /// 1: the unit is in use.
    used: Vec<u64>,
    /// 1: an entry starts in this unit.
    starts: Vec<u64>,
    /// For each block a length, in units, from which on no gap of it is.
    too_long: Vec<u32>,
    /// Names, without `.` and `..`.
    pub count: u32,
}

impl Entries {
    /// An empty directory of one block.
    pub fn new(block_bytes: u64) -> Entries {
        let mut entries = Entries {
            words: (block_bytes / UNIT / 64) as u32,
            used: Vec::new(),
            starts: Vec::new(),
            too_long: Vec::new(),
            count: 0,
        };
        entries.add_block();
        entries.put(0, DOT);
        entries.put(DOT, DOT);
        entries.count = 0;
        entries
    }

    /// Blocks of the directory.
    pub fn blocks(&self) -> u32 {
        self.too_long.len() as u32
    }

    /// Block of the directory in which a unit lies.
    pub fn block_of(&self, at: u32) -> u32 {
        at / (64 * self.words)
    }

    /// Adds an empty block at the end; gives its first unit.
    pub fn add_block(&mut self) -> u32 {
        let at = self.used.len() as u32 * 64;
        let words = self.used.len() + self.words as usize;
        self.used.resize(words, 0);
        self.starts.resize(words, 0);
        self.too_long.push(u32::MAX);
        at
    }

    /// The first gap of so many units.
    pub fn find(&mut self, units: u32) -> Option<u32> {
        for block in 0..self.too_long.len() {
            if units < self.too_long[block] {
                let start = block as u32 * 64 * self.words;
                match self.gap(start, start + 64 * self.words, units) {
                    Some(at) => return Some(at),
                    None => self.too_long[block] = units,
                }
            }
        }
        None
    }

    /// The same, without what is known of the blocks.
    pub fn first_gap(&self, units: u32) -> Option<u32> {
        let block = 64 * self.words;
        (0..self.blocks()).find_map(|i| self.gap(i * block, (i + 1) * block, units))
    }

    /// First gap of so many units in `[from, end)`.
    fn gap(&self, mut from: u32, end: u32, units: u32) -> Option<u32> {
        while from + units <= end {
            let start = next(&self.used, from, end, false);
            let stop = next(&self.used, start, end.min(start + units), true);
            if stop - start >= units {
                return Some(start);
            }
            from = stop.max(start + 1);
        }
        None
    }

    /// Puts an entry into a gap.
    pub fn put(&mut self, at: u32, units: u32) {
        self.starts[at as usize / 64] |= 1 << (at % 64);
        for unit in at..at + units {
            self.used[unit as usize / 64] |= 1 << (unit % 64);
        }
        self.count += 1;
    }

    /// Takes an entry out.
    pub fn remove(&mut self, at: u32) {
        let end = self.end_of(at);
        self.starts[at as usize / 64] &= !(1 << (at % 64));
        for unit in at..end {
            self.used[unit as usize / 64] &= !(1 << (unit % 64));
        }
        let block = self.block_of(at) as usize;
        self.too_long[block] = u32::MAX;
        self.count -= 1;
    }

    /// The unit behind an entry.
    fn end_of(&self, at: u32) -> u32 {
        let end = (self.block_of(at) + 1) * 64 * self.words;
        let unused = next(&self.used, at, end, false);
        next(&self.starts, at + 1, unused, true)
    }

    /// Where every entry lies: first unit and units, `.` and `..` included, ascending.
    pub fn all(&self) -> Vec<(u32, u32)> {
        let (mut all, end) = (Vec::new(), self.starts.len() as u32 * 64);
        let mut at = next(&self.starts, 0, end, true);
        while at < end {
            all.push((at, self.end_of(at) - at));
            at = next(&self.starts, at + 1, end, true);
        }
        all
    }

    /// Units in use.
    pub fn units(&self) -> u32 {
        self.used.iter().map(|word| word.count_ones()).sum()
    }
}

/// First unit in `[from, end)` whose bit is `set`; `end` if there is none.
fn next(words: &[u64], from: u32, end: u32, set: bool) -> u32 {
    let mut at = from;
    while at < end {
        let word = words[at as usize / 64] ^ if set { 0 } else { u64::MAX };
        let rest = word & (u64::MAX << (at % 64));
        if rest != 0 {
            return end.min((at & !63) + rest.trailing_zeros());
        }
        at = (at & !63) + 64;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// docs/spec/ext3.md, section 6: 8 + length of the name, rounded up to 4.
    #[test]
    fn an_entry_is_its_name_and_eight_bytes() {
        let bytes = |name| units_of(name) * 4;
        assert_eq!([1, 2, 4, 5, 10, 255].map(bytes), [12, 12, 12, 16, 20, 264]);
        assert_eq!([0, 9, 10, 12_345].map(name_bytes), [2, 2, 3, 6]);
    }

    #[test]
    fn the_first_gap_that_is_long_enough_is_taken() {
        let mut entries = Entries::new(1024);
        // 24 bytes of dots, then entries of 12, 16, 12 and 16 bytes.
        for units in [3, 4, 3, 4] {
            let at = entries.find(units).unwrap();
            entries.put(at, units);
        }
        let starts: Vec<u32> = entries.all().iter().map(|&(at, _)| 4 * at).collect();
        assert_eq!(starts, [0, 12, 24, 36, 52, 64]);
        entries.remove(36 / 4);
        // 16 bytes are free at 36: a name of 12 bytes goes there, one of 20 to the end.
        assert_eq!(entries.find(5), Some(80 / 4));
        assert_eq!(entries.find(3), Some(36 / 4));
        // With the entry behind it the gap is 28 bytes long.
        entries.remove(52 / 4);
        assert_eq!(entries.find(7), Some(36 / 4));
    }

    #[test]
    fn a_full_directory_gets_a_block() {
        let mut entries = Entries::new(1024);
        let mut n = 0;
        while let Some(at) = entries.find(5) {
            entries.put(at, 5);
            n += 1;
        }
        // (1024 - 24) / 20.
        assert_eq!(n, 50);
        assert_eq!(entries.add_block(), 256);
        assert_eq!(entries.find(5), Some(256));
        assert_eq!((entries.blocks(), entries.block_of(256)), (2, 1));
    }

    /// Entries of a directory block as Linux has them: a chain of lengths. First fit, split, merged with the one
    /// before.
    #[derive(Default)]
    struct Chain(Vec<(u32, u32, u32, bool)>);

    impl Chain {
        fn find(&self, units: u32) -> Option<usize> {
            self.0
                .iter()
                .position(|&(_, length, own, live)| length >= units + if live { own } else { 0 })
        }

        fn put(&mut self, i: usize, units: u32) -> u32 {
            let (at, length, own, live) = self.0[i];
            if !live {
                self.0[i] = (at, length, units, true);
                return at;
            }
            self.0[i].1 = own;
            self.0.insert(i + 1, (at + own, length - own, units, true));
            at + own
        }

        fn remove(&mut self, at: u32) {
            let i = self.0.iter().position(|&(a, ..)| a == at).unwrap();
            if i == 0 || at.is_multiple_of(256) {
                self.0[i].3 = false;
            } else {
                self.0[i - 1].1 += self.0[i].1;
                self.0.remove(i);
            }
        }
    }

    proptest! {
        #[test]
        fn gaps_are_what_a_chain_of_entries_leaves(
            steps in prop::collection::vec((any::<bool>(), 3_u32..12, any::<usize>()), 1..300)
        ) {
            let mut entries = Entries::new(1024);
            let mut chain = Chain(vec![(0, 3, 3, true), (3, 253, 3, true)]);
            let mut live: Vec<u32> = Vec::new();
            for (remove, units, which) in steps {
                if remove && !live.is_empty() {
                    let at = live.swap_remove(which % live.len());
                    entries.remove(at);
                    chain.remove(at);
                    continue;
                }
                let found = entries.find(units);
                match chain.find(units) {
                    None => {
                        prop_assert_eq!(found, None);
                        let at = entries.add_block();
                        entries.put(at, units);
                        chain.0.push((at, 256, units, true));
                        live.push(at);
                    }
                    Some(i) => {
                        let at = chain.put(i, units);
                        prop_assert_eq!(found, Some(at));
                        entries.put(at, units);
                        live.push(at);
                    }
                }
                prop_assert_eq!(entries.count as usize, live.len());
            }
        }
    }
}
