//! Trees that are put together as a whole: of blocks on a disk, or of all their records.

use super::{Loaded, MOST_LEVELS, NONE, Node, Record, Tree};

/// Blocks on each level over so many leaves, these included, and a root in an inode not.
fn rows<R: Record>(leaves: usize, most_in_inode: Option<usize>) -> Vec<usize> {
    let mut rows = vec![leaves];
    let mut row = leaves;
    while row > most_in_inode.unwrap_or(1) {
        row = row.div_ceil(R::NODE.most);
        rows.push(row);
    }
    rows
}

impl<R: Record> Tree<R> {
    /// Puts a tree of so many levels together from its root down. `load` reads a block so many levels above the leaves.
    /// Nothing where blocks are empty, or do not lead to those beside them.
    pub fn read<E>(
        root: Loaded<R>,
        levels: usize,
        most_in_inode: Option<usize>,
        load: &mut dyn FnMut(R::Block, usize) -> Result<Loaded<R>, E>,
    ) -> Result<Option<Tree<R>>, E> {
        if levels == 0 || levels > MOST_LEVELS {
            return Ok(None);
        }
        let mut tree = Tree {
            nodes: Vec::new(),
            spare: Vec::new(),
            root: 0,
            levels,
            most_in_inode,
        };
        let mut row = vec![root];
        for level in (0..levels).rev() {
            let is_root = level + 1 == levels;
            let first = tree.nodes.len();
            let blocks: Vec<R::Block> = row.iter().map(|loaded| loaded.block).collect();
            let mut below = Vec::new();
            let last = row.len() - 1;
            for (at, loaded) in row.into_iter().enumerate() {
                let (left, right) = (at.checked_sub(1), (at < last).then_some(at + 1));
                let block = |beside: Option<usize>| beside.map(|at| blocks[at]);
                let entries = if level == 0 {
                    loaded.records.len()
                } else {
                    loaded.places.len()
                };
                let is_alone = is_root && most_in_inode.is_some();
                let leads = (loaded.left, loaded.right) == (block(left), block(right));
                if !leads && !is_alone || entries == 0 && (level > 0 || !is_root) {
                    return Ok(None);
                }
                let number = |beside: Option<usize>| beside.map_or(NONE, |at| (first + at) as u32);
                let mut node = Node::new(loaded.block);
                (node.left, node.right) = (number(left), number(right));
                node.records = loaded.records;
                for (key, place) in loaded.places {
                    let child = first + blocks.len() + below.len();
                    node.children.push((key, child as u32));
                    below.push(load(place, level - 1)?);
                }
                tree.nodes.push(node);
            }
            row = below;
        }
        Ok(Some(tree))
    }

    /// Blocks that so many records take at least, a root in an inode not counted.
    pub fn least_blocks(records: usize, most_in_inode: Option<usize>) -> usize {
        let leaves = records.div_ceil(R::LEAF.most).max(1);
        rows::<R>(leaves, most_in_inode).iter().sum()
    }

    /// Blocks that so many records take at most.
    pub fn most_blocks(records: usize, most_in_inode: Option<usize>) -> usize {
        let leaves = (records / R::LEAF.least).max(records.div_ceil(R::LEAF.most));
        rows::<R>(leaves.max(1), most_in_inode).iter().sum()
    }

    /// A tree of these records, spread evenly over as many of these blocks as they can use, leaves from left to right
    /// first. Gives how many it uses; nothing where they are too few.
    pub fn spread(
        records: &[R],
        blocks: &[R::Block],
        most_in_inode: Option<usize>,
    ) -> Option<(Tree<R>, usize)> {
        let count = records.len();
        let taken = |leaves: usize| rows::<R>(leaves, most_in_inode).iter().sum::<usize>();
        let mut leaves = count.div_ceil(R::LEAF.most).max(1);
        if taken(leaves) > blocks.len() {
            return None;
        }
        let mut most = (count / R::LEAF.least).max(leaves);
        while leaves < most {
            let middle = leaves + (most - leaves).div_ceil(2);
            if taken(middle) <= blocks.len() {
                leaves = middle;
            } else {
                most = middle - 1;
            }
        }
        let rows = rows::<R>(leaves, most_in_inode);
        let mut tree = Tree {
            nodes: Vec::new(),
            spare: Vec::new(),
            root: 0,
            levels: rows.len(),
            most_in_inode,
        };
        // First keys and nodes of the level below.
        let mut below: Vec<(R::Key, u32)> = Vec::new();
        for (level, &row) in rows.iter().enumerate() {
            let first = tree.nodes.len();
            let entries = if level == 0 { count } else { below.len() };
            let mut above = Vec::with_capacity(row);
            for at in 0..row {
                let number = first + at;
                let mut node = Node::new(blocks[number]);
                let (from, to) = (entries * at / row, entries * (at + 1) / row);
                if level == 0 {
                    node.records = records[from..to].to_vec();
                } else {
                    node.children = below[from..to].to_vec();
                }
                node.left = if at > 0 { number as u32 - 1 } else { NONE };
                node.right = if at + 1 < row {
                    number as u32 + 1
                } else {
                    NONE
                };
                if to > from {
                    above.push((node.first_key(level), number as u32));
                }
                tree.nodes.push(node);
            }
            below = above;
        }
        let used = tree.nodes.len();
        if most_in_inode.is_some() {
            let mut root = Node::new(R::Block::default());
            root.children = below;
            tree.nodes.push(root);
            tree.levels += 1;
        }
        tree.root = tree.nodes.len() as u32 - 1;
        Some((tree, used))
    }
}
