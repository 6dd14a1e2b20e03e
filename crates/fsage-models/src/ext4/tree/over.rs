//! A tree over extents of which it is known where they lie, and perhaps also where the blocks of the tree lie, but not
//! what is in these.

use super::{Below, Entry, MOST_UNWRITTEN, MOST_WRITTEN, Node, ROOT_ENTRIES, Root, Tree};

/// No tree is deeper.
const MOST_LEVELS: usize = 5;

impl Entry {
    /// A run of blocks as extents, none of which is too long.
    pub(in crate::ext4) fn of_run(
        logical: u32,
        block: u32,
        blocks: u32,
        unwritten: bool,
    ) -> impl Iterator<Item = Entry> {
        let most = if unwritten {
            MOST_UNWRITTEN
        } else {
            MOST_WRITTEN
        };
        (0..blocks).step_by(most as usize).map(move |at| {
            let length = most.min(blocks - at);
            Entry::new(logical + at, block + at, length, unwritten)
        })
    }
}

/// Blocks on every level of a tree with so many leaves, from the one below the root on.
fn levels(leaves: usize, capacity: usize) -> Vec<usize> {
    let mut levels = vec![leaves];
    while levels[0] > ROOT_ENTRIES {
        levels.insert(0, levels[0].div_ceil(capacity));
    }
    levels
}

/// The most leaves of a tree of so many blocks, and all levels of it. What is left then are levels of one block.
fn levels_of(blocks: usize, capacity: usize) -> Vec<usize> {
    let mut leaves = blocks;
    loop {
        let mut found = levels(leaves, capacity);
        let sum: usize = found.iter().sum();
        if sum <= blocks {
            for _ in sum..blocks {
                found.insert(0, 1);
            }
            return found;
        }
        leaves -= 1;
    }
}

/// Cuts extents until there are so many; `None` if they have too few blocks.
fn cut_into(entries: Vec<Entry>, count: usize) -> Option<Vec<Entry>> {
    let mut missing = count.saturating_sub(entries.len()) as u32;
    let mut cut = Vec::with_capacity(count.max(entries.len()));
    for entry in entries {
        let singles = missing.min(entry.blocks() - 1);
        let rest = entry.with_blocks(entry.blocks() - singles);
        cut.push(rest);
        for at in rest.blocks()..entry.blocks() {
            let (logical, block) = (entry.logical + at, entry.block + at);
            cut.push(Entry::new(logical, block, 1, entry.is_unwritten()));
        }
        missing -= singles;
    }
    (missing == 0).then_some(cut)
}

/// A tree while its blocks are given out, those above before those below.
struct Given<'a> {
    entries: &'a [Entry],
    levels: &'a [usize],
    blocks: std::slice::Iter<'a, u32>,
}

impl Given<'_> {
    /// The nodes of a level that belong to one block above, of `all` there, or to the root.
    fn nodes(&mut self, level: usize, (above, all): (usize, usize)) -> Vec<Node> {
        let count = self.levels[level];
        let nodes = count * above / all..count * (above + 1) / all;
        nodes.map(|node| self.node(level, node)).collect()
    }

    fn node(&mut self, level: usize, node: usize) -> Node {
        let count = self.levels[level];
        let block = self.blocks.next().copied().unwrap_or_default();
        if level + 1 < self.levels.len() {
            let nodes = self.nodes(level + 1, (node, count));
            return Node {
                logical: nodes[0].logical,
                block,
                below: Below::Nodes(nodes),
            };
        }
        let all = self.entries.len();
        let entries = &self.entries[all * node / count..all * (node + 1) / count];
        Node {
            logical: entries[0].logical,
            block,
            below: Below::Entries(entries.to_vec()),
        }
    }
}

impl Tree {
    /// The fewest blocks of a tree over so many extents. A block has room for `capacity` of them.
    pub(in crate::ext4) fn blocks_for(extents: usize, capacity: usize) -> usize {
        if extents <= ROOT_ENTRIES {
            return 0;
        }
        levels(extents.div_ceil(capacity), capacity).iter().sum()
    }

    /// A tree over extents, ascending in the file, that uses all of these blocks, as evenly as it can; those above
    /// before those below. `None` if there is none.
    pub(in crate::ext4) fn over(
        entries: Vec<Entry>,
        blocks: &[u32],
        capacity: usize,
    ) -> Option<Tree> {
        if blocks.len() < Tree::blocks_for(entries.len(), capacity) {
            return None;
        }
        if blocks.is_empty() {
            let root = Root::Entries(entries);
            let mut tree = Tree { root };
            tree.settle();
            return Some(tree);
        }
        let levels = levels_of(blocks.len(), capacity);
        if levels.len() > MOST_LEVELS {
            return None;
        }
        let leaves = levels[levels.len() - 1];
        let entries = cut_into(entries, leaves)?;
        let mut given = Given {
            entries: &entries,
            levels: &levels,
            blocks: blocks.iter(),
        };
        let root = Root::Nodes(given.nodes(0, (0, 1)));
        Some(Tree { root })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_uses_all_blocks_and_holds_all_extents() {
        const CAPACITY: usize = 5;
        for count in 0..200_u32 {
            // Two blocks each, so that they can be cut once.
            let entries: Vec<Entry> = (0..count)
                .map(|at| Entry::new(3 * at, 1000 + 3 * at, 2, false))
                .collect();
            let fewest = Tree::blocks_for(entries.len(), CAPACITY);
            for more in 0..10 {
                let blocks: Vec<u32> = (0..(fewest + more) as u32).collect();
                let tree = Tree::over(entries.clone(), &blocks, CAPACITY);
                if (count as usize) < blocks.len() && tree.is_none() {
                    continue;
                }
                let tree = tree.expect("a tree");
                let (mut found, mut used) = (Vec::new(), Vec::new());
                tree.visit_blocks(&mut |block| used.push(block));
                assert_eq!(used, blocks, "{count} extents");
                tree.visit(&mut |entry| {
                    found.extend((0..entry.blocks()).map(|at| entry.block + at));
                    assert_eq!(tree.find(entry.logical), Some(*entry));
                });
                let all: Vec<u32> = entries
                    .iter()
                    .flat_map(|e| [e.block, e.block + 1])
                    .collect();
                assert_eq!(found, all);
                tree.visit_nodes(&mut |block, content| {
                    let room = if block.is_some() {
                        CAPACITY
                    } else {
                        ROOT_ENTRIES
                    };
                    let held = match content {
                        super::super::Content::Entries(entries) => entries.len(),
                        super::super::Content::Places(places, _) => places.len(),
                    };
                    assert!(held <= room && (held > 0 || count == 0), "{held} of {room}");
                });
            }
        }
    }
}
