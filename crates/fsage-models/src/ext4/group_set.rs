//! Sets of groups, in ascending order.

/// A bit a group, and a bit for each word of those in which one is set.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupSet {
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl GroupSet {
    pub fn new(groups: u32) -> GroupSet {
        let words = (groups as usize).div_ceil(64);
        GroupSet {
            words: vec![0; words],
            summary: vec![0; words.div_ceil(64)],
        }
    }

    #[inline]
    pub fn insert(&mut self, group: u32) {
        let at = group as usize / 64;
        self.words[at] |= 1 << (group % 64);
        self.summary[at / 64] |= 1 << (at % 64);
    }

    #[inline]
    pub fn remove(&mut self, group: u32) {
        let at = group as usize / 64;
        self.words[at] &= !(1 << (group % 64));
        if self.words[at] == 0 {
            self.summary[at / 64] &= !(1 << (at % 64));
        }
    }

    /// The first member at or behind a group.
    #[inline]
    pub fn next(&self, from: u32) -> Option<u32> {
        let at = from as usize / 64;
        let word = self.words.get(at)? & (u64::MAX << (from % 64));
        if word != 0 {
            return Some(at as u32 * 64 + word.trailing_zeros());
        }
        let mut above = (at + 1) / 64;
        let mut word = self.summary.get(above)? & (u64::MAX << ((at + 1) % 64));
        while word == 0 {
            above += 1;
            word = *self.summary.get(above)?;
        }
        let at = above * 64 + word.trailing_zeros() as usize;
        Some(at as u32 * 64 + self.words[at].trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn it_is_an_ordered_set() {
        let mut random = Rng::new(3);
        let groups = 20_000;
        let mut set = GroupSet::new(groups);
        let mut expected = BTreeSet::new();
        for _ in 0..4000 {
            let group = random.below(u64::from(groups)) as u32;
            if random.below(3) == 0 {
                set.remove(group);
                expected.remove(&group);
            } else if random.below(2) == 0 {
                set.insert(group);
                expected.insert(group);
            }
            let from = random.below(u64::from(groups)) as u32;
            assert_eq!(set.next(from), expected.range(from..).next().copied());
        }
        assert_eq!(set.next(groups), None);
    }
}
