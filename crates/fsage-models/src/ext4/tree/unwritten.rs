//! Extents that were allocated and never written, and what becomes of them when they are written to.
//!
//! Spec: `docs/spec/ext4.md`, sections 20 and 31.

use super::{Below, Entry, MOST_WRITTEN, Meta, NoMeta, Root, Tree, join, last_at_or_below};

impl Tree {
    /// Runs something on the leaf of a block of the file. What the root has may lie in the inode again afterwards.
    fn with_leaf<T>(&mut self, logical: u32, run: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        if matches!(self.root, Root::Nodes(_)) {
            let path = self.path(logical);
            return run(self.leaf_mut(&path));
        }
        let result = run(Tree::entries_mut(&mut self.root));
        self.settle();
        result
    }

    /// Changes the entry that holds a block.
    fn change(&mut self, logical: u32, change: impl FnOnce(Entry) -> Entry) {
        self.with_leaf(logical, |entries| {
            if let Some(at) = last_at_or_below(entries, logical) {
                entries[at] = change(entries[at]);
            }
        });
    }

    /// Cuts the entry that holds a block before that block, if it does not begin there. What is behind is not joined
    /// with anything.
    pub(in crate::ext4) fn split(
        &mut self,
        logical: u32,
        capacity: usize,
        meta: &mut impl Meta,
    ) -> Result<(), NoMeta> {
        let Some(entry) = self.find(logical).filter(|entry| entry.logical < logical) else {
            return Ok(());
        };
        self.change(logical, |entry| entry.with_blocks(logical - entry.logical));
        let inserted = self.insert(entry.from(logical), false, capacity, meta);
        if inserted.is_err() {
            self.change(entry.logical, |_| entry);
        }
        inserted
    }

    /// Writes to blocks of an unwritten extent: they become a written one. Blocks around them are filled with zeros and
    /// are written as well where that saves an extent and they are fewer than `zeroed`. Says how many blocks from `at`
    /// on are written.
    pub(in crate::ext4) fn fill(
        &mut self,
        at: u32,
        length: u32,
        zeroed: u32,
        capacity: usize,
        meta: &mut impl Meta,
    ) -> u32 {
        let Some(entry) = self.find(at) else {
            return length;
        };
        let behind = entry.end() - at;
        let length = length.min(behind);
        if self.with_leaf(at, |entries| give_to_neighbor(entries, at, length)) {
            return length;
        }
        let (mut from, mut to) = (at, at + length);
        if behind > length {
            if behind <= zeroed {
                to = entry.end();
            }
            if to - entry.logical < zeroed {
                from = entry.logical;
            }
        }
        if self.split(to, capacity, meta).is_err() {
            // Without a block for the tree all of it is filled with zeros.
            self.make_written(entry.logical, meta);
            return length;
        }
        if from == entry.logical {
            self.make_written(from, meta);
            return length;
        }
        let whole = self.find(from).unwrap_or(entry);
        self.change(from, |entry| entry.with_blocks(from - entry.logical));
        if self
            .insert(whole.from(from).written(), true, capacity, meta)
            .is_err()
        {
            self.change(whole.logical, |_| whole);
            self.make_written(whole.logical, meta);
        }
        length
    }

    /// Makes blocks of an unwritten extent one of its own, which is still unwritten, before data is written to it. Says
    /// how many blocks from `at` on that are.
    pub(in crate::ext4) fn set_apart(
        &mut self,
        at: u32,
        length: u32,
        capacity: usize,
        meta: &mut impl Meta,
    ) -> u32 {
        let Some(entry) = self.find(at) else {
            return length;
        };
        let length = length.min(entry.end() - at);
        if self.split(at + length, capacity, meta).is_err()
            || self.split(at, capacity, meta).is_err()
        {
            self.make_written(at, meta);
        }
        length
    }

    /// Data of these blocks is on disk: what is unwritten of them becomes written, and is joined with what it adjoins.
    pub(in crate::ext4) fn convert(&mut self, from: u32, to: u32, meta: &mut impl Meta) {
        let mut at = from;
        while at < to {
            let Some(entry) = self.find(at) else {
                return;
            };
            if entry.is_unwritten() {
                self.make_written(at, meta);
            }
            at = entry.end();
        }
    }

    fn make_written(&mut self, logical: u32, meta: &mut impl Meta) {
        self.with_leaf(logical, |entries| {
            if let Some(at) = last_at_or_below(entries, logical)
                && entries[at].is_unwritten()
            {
                entries[at] = entries[at].written();
                join(entries, at);
            }
        });
        self.collapse(true, meta);
    }

    /// Frees blocks in the middle of a file; no entry lies on both sides of `to`. Data is told from the end.
    pub(in crate::ext4) fn punch(
        &mut self,
        (from, to): (u32, u32),
        freed: &mut impl FnMut(u32, u32),
        meta: &mut impl Meta,
    ) {
        fn punch_entries(
            entries: &mut Vec<Entry>,
            (from, to): (u32, u32),
            freed: &mut impl FnMut(u32, u32),
        ) {
            let end = entries.partition_point(|entry| entry.logical < to);
            let start = entries.partition_point(|entry| entry.end() <= from);
            let mut gone = start;
            for (at, entry) in entries[..end].iter_mut().enumerate().skip(start).rev() {
                let kept = from.saturating_sub(entry.logical);
                freed(entry.block + kept, entry.blocks() - kept);
                if kept > 0 {
                    *entry = entry.with_blocks(kept);
                    gone = at + 1;
                }
            }
            entries.drain(gone.min(end)..end);
        }
        fn punch_nodes(
            nodes: &mut Vec<super::Node>,
            range: (u32, u32),
            freed: &mut impl FnMut(u32, u32),
            meta: &mut impl Meta,
        ) {
            for at in (0..nodes.len()).rev() {
                let next = nodes.get(at + 1).map_or(u32::MAX, |next| next.logical);
                if nodes[at].logical >= range.1 || next <= range.0 {
                    continue;
                }
                let first = match &mut nodes[at].below {
                    Below::Entries(entries) => {
                        punch_entries(entries, range, freed);
                        entries.first().map(|entry| entry.logical)
                    }
                    Below::Nodes(below) => {
                        punch_nodes(below, range, freed, meta);
                        below.first().map(|node| node.logical)
                    }
                };
                if let Some(logical) = first {
                    nodes[at].logical = logical;
                } else {
                    meta.give_back(nodes[at].block);
                    nodes.remove(at);
                }
            }
        }
        match &mut self.root {
            Root::Nodes(nodes) => {
                punch_nodes(nodes, (from, to), freed, meta);
                if nodes.is_empty() {
                    *self = Tree::default();
                }
            }
            _ => self.with_leaf(from, |entries| punch_entries(entries, (from, to), freed)),
        }
    }
}

impl Entry {
    /// What it has from a block on.
    fn from(self, logical: u32) -> Entry {
        let gone = logical - self.logical;
        Entry::new(
            logical,
            self.block + gone,
            self.blocks() - gone,
            self.is_unwritten(),
        )
    }

    fn written(self) -> Entry {
        Entry::new(self.logical, self.block, self.blocks(), false)
    }
}

/// Blocks at an end of an unwritten extent go to the written one that they adjoin, in the same leaf. Says whether there
/// was one.
fn give_to_neighbor(entries: &mut [Entry], at: u32, length: u32) -> bool {
    let Some(place) = last_at_or_below(entries, at) else {
        return false;
    };
    let entry = entries[place];
    if length >= entry.blocks() {
        return false;
    }
    let takes = |other: &Entry| {
        !other.is_unwritten()
            && u64::from(other.blocks()) < u64::from(MOST_WRITTEN.saturating_sub(length))
    };
    if at == entry.logical && place > 0 {
        let left = entries[place - 1];
        if takes(&left) && left.end() == at && left.block + left.blocks() == entry.block {
            entries[place - 1] = left.with_blocks(left.blocks() + length);
            entries[place] = entry.from(at + length);
            return true;
        }
    } else if at + length == entry.end() && place + 1 < entries.len() {
        let right = entries[place + 1];
        if takes(&right)
            && right.logical == entry.end()
            && entry.block + entry.blocks() == right.block
        {
            entries[place] = entry.with_blocks(entry.blocks() - length);
            let (logical, block) = (right.logical - length, right.block - length);
            entries[place + 1] = Entry::new(logical, block, right.blocks() + length, false);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::Goal;
    use super::*;

    /// Blocks for the tree, by counting.
    struct Counter(u32);

    impl Meta for Counter {
        fn take(&mut self, _goal: Goal) -> Option<u32> {
            self.0 += 1;
            Some(10_000 + self.0)
        }

        fn give_back(&mut self, _block: u32) {}
    }

    fn tree(entries: &[(u32, u32, u32, bool)]) -> Tree {
        let mut tree = Tree::default();
        for &(logical, block, blocks, unwritten) in entries {
            let entry = Entry::new(logical, block, blocks, unwritten);
            tree.insert(entry, false, 84, &mut Counter(0))
                .expect("room");
        }
        tree
    }

    fn entries(tree: &Tree) -> Vec<(u32, u32, u32, bool)> {
        let mut all = Vec::new();
        tree.visit(&mut |e| all.push((e.logical, e.block, e.blocks(), e.is_unwritten())));
        all
    }

    /// The cases of `ext4_ext_convert_to_initialized`, with 8 blocks as the most that is filled with zeros.
    #[test]
    fn what_is_written_to_becomes_written_with_its_surroundings_where_that_is_cheap() {
        let filled = |start: &[(u32, u32, u32, bool)], at, length| {
            let mut tree = tree(start);
            let done = tree.fill(at, length, 8, 84, &mut Counter(0));
            assert_eq!(done, length);
            entries(&tree)
        };
        let one = [(0, 100, 40, true)];
        // 1: three extents.
        let three = [(0, 100, 16, true), (16, 116, 4, false), (20, 120, 20, true)];
        assert_eq!(filled(&one, 16, 4), three);
        // 2: zeros before it.
        assert_eq!(filled(&one, 3, 4), [(0, 100, 7, false), (7, 107, 33, true)]);
        // 3: zeros behind it.
        assert_eq!(
            filled(&one, 34, 2),
            [(0, 100, 34, true), (34, 134, 6, false)]
        );
        // 4: two extents, without zeros.
        assert_eq!(
            filled(&one, 0, 20),
            [(0, 100, 20, false), (20, 120, 20, true)]
        );
        // 5: no split.
        assert_eq!(filled(&[(0, 100, 7, true)], 2, 1), [(0, 100, 7, false)]);
        assert_eq!(filled(&one, 0, 40), [(0, 100, 40, false)]);
        // Blocks go to the neighbor.
        let left = [(0, 100, 10, false), (10, 110, 30, true)];
        assert_eq!(
            filled(&left, 10, 5),
            [(0, 100, 15, false), (15, 115, 25, true)]
        );
        let right = [(0, 100, 10, true), (10, 110, 30, false)];
        assert_eq!(
            filled(&right, 8, 2),
            [(0, 100, 8, true), (8, 108, 32, false)]
        );
    }

    #[test]
    fn a_hole_is_cut_out_of_entries_and_leaves() {
        let mut freed = Vec::new();
        let mut one = tree(&[(0, 100, 40, false)]);
        one.split(20, 84, &mut Counter(0)).expect("room");
        one.punch(
            (10, 20),
            &mut |block, blocks| freed.push((block, blocks)),
            &mut Counter(0),
        );
        assert_eq!(entries(&one), [(0, 100, 10, false), (20, 120, 20, false)]);
        assert_eq!(freed, [(110, 10)]);
        let many: Vec<_> = (0..300).map(|i| (i * 2, 1000 + i * 3, 1, false)).collect();
        let mut tree = tree(&many);
        let mut count = 0;
        tree.punch(
            (100, 500),
            &mut |_, blocks| count += blocks,
            &mut Counter(0),
        );
        assert_eq!(count, 200);
        let left: Vec<_> = many
            .iter()
            .filter(|e| e.0 < 100 || e.0 >= 500)
            .copied()
            .collect();
        assert_eq!(entries(&tree), left);
        tree.punch((0, 1000), &mut |_, blocks| count += blocks, &mut Counter(0));
        assert!(tree.is_empty() && count == 300);
    }
}
