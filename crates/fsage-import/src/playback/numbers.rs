//! Which inode numbers are in use, by group.

use super::Groups;
use rustc_hash::FxHashMap;

/// Inode numbers of a file system, given out lowest first.
pub(super) struct Numbers {
    groups: Groups,
    used: FxHashMap<u32, Bits>,
}

/// The numbers of a group that are in use; one bit each, as far as the highest.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    /// Every word before this one is full.
    first: usize,
}

impl Numbers {
    pub fn new(groups: Groups) -> Numbers {
        Numbers {
            groups,
            used: FxHashMap::default(),
        }
    }

    /// Takes that number; false if it is in use or lies in no group.
    pub fn take(&mut self, number: u64) -> bool {
        let Some((group, place)) = self.place(number) else {
            return false;
        };
        let bits = self.used.entry(group).or_default();
        let (word, bit) = (place / 64, 1 << (place % 64));
        if bits.words.len() <= word {
            bits.words.resize(word + 1, 0);
        }
        let free = bits.words[word] & bit == 0;
        bits.words[word] |= bit;
        free
    }

    /// Takes the lowest number of a group that is not in use.
    pub fn take_lowest(&mut self, group: u32) -> Option<u64> {
        let inodes = u64::from(self.groups.inodes_per_group);
        let bits = self.used.entry(group).or_default();
        while bits.words.get(bits.first) == Some(&u64::MAX) {
            bits.first += 1;
        }
        let free = bits
            .words
            .get(bits.first)
            .map_or(0, |word| word.trailing_ones());
        let place = bits.first as u64 * 64 + u64::from(free);
        let number = u64::from(group) * inodes + place;
        (place < inodes && self.take(number)).then_some(number)
    }

    /// Gives a number back.
    pub fn free(&mut self, number: u64) {
        if let Some((group, place)) = self.place(number)
            && let Some(bits) = self.used.get_mut(&group)
            && let Some(word) = bits.words.get_mut(place / 64)
        {
            *word &= !(1 << (place % 64));
            bits.first = bits.first.min(place / 64);
        }
    }

    fn place(&self, number: u64) -> Option<(u32, usize)> {
        let group = self.groups.of(number)?;
        let place = number % u64::from(self.groups.inodes_per_group);
        Some((group, usize::try_from(place).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a set of the numbers in use.
        #[test]
        fn the_lowest_free_number_of_a_group_is_given_out(
            steps in proptest::collection::vec((0_u8..3, 0_u64..420), 0..400),
        ) {
            let groups = Groups { count: 3, inodes_per_group: 130 };
            let mut numbers = Numbers::new(groups);
            let mut used = BTreeSet::new();
            for (step, number) in steps {
                match step {
                    0 => {
                        let free = number < 390 && used.insert(number);
                        prop_assert_eq!(numbers.take(number), free);
                    }
                    1 => {
                        let group = number % 3;
                        let lowest = (group * 130..(group + 1) * 130).find(|n| !used.contains(n));
                        prop_assert_eq!(numbers.take_lowest(group as u32), lowest);
                        used.extend(lowest);
                    }
                    _ => {
                        used.remove(&number);
                        numbers.free(number);
                    }
                }
            }
        }
    }
}
