//! B+trees as they lie on disk: which records share a block decides what a search sees and which blocks trees need.
//!
//! Spec: `docs/spec/xfs.md`, section 6. Source: `xfs_btree.c`. Positions in a block count from 1; position 0 and the
//! one behind the last are those of cursors that ran off.

mod filled;

use std::fmt::Debug;

/// How many entries a block holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub most: usize,
    pub least: usize,
}

/// What stands in the leaves of a tree.
pub(super) trait Record: Copy + Debug {
    type Key: Copy + Ord + Debug;
    /// The number of a block.
    type Block: Copy + Default + PartialEq + Debug;
    const LEAF: Limits;
    const NODE: Limits;

    fn key(&self) -> Self::Key;
}

/// Where the blocks of a tree come from, and go to.
pub(super) trait Blocks<B> {
    /// A block for a tree, near another one of it.
    fn take(&mut self, near: B) -> B;

    /// The block is no longer part of the tree.
    fn give_back(&mut self, block: B);
}

const MOST_LEVELS: usize = 9;
const NONE: u32 = u32::MAX;

/// A place in a tree: on each level a block and a position in it, from the leaf up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    at: [(u32, u16); MOST_LEVELS],
}

/// Which record is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The last at or before the key.
    AtMost,
    /// The one with this key, or the place before which it goes.
    Equal,
    /// The first at or behind the key.
    AtLeast,
}

#[derive(Clone, Debug)]
struct Node<R: Record> {
    block: R::Block,
    left: u32,
    right: u32,
    /// Of a leaf.
    records: Vec<R>,
    /// Of any other: first keys and nodes.
    children: Vec<(R::Key, u32)>,
}

/// A B+tree.
#[derive(Clone, Debug)]
pub(super) struct Tree<R: Record> {
    nodes: Vec<Node<R>>,
    spare: Vec<u32>,
    root: u32,
    levels: usize,
    /// Where the root stands in an inode and is no block: how many entries it holds.
    most_in_inode: Option<usize>,
}

/// What stands in a block of a tree, or in a root that is none.
pub(super) struct Held<'a, R: Record> {
    /// Levels below.
    pub level: usize,
    /// Nothing of a root in an inode.
    pub block: Option<R::Block>,
    /// The blocks beside it.
    pub left: Option<R::Block>,
    pub right: Option<R::Block>,
    /// Of a leaf.
    pub records: &'a [R],
    /// Of any other.
    pub children: Vec<Child<R>>,
}

/// What an entry of a node leads to.
pub(super) struct Child<R: Record> {
    pub block: R::Block,
    /// The first and the last record below it.
    pub first: R,
    pub last: R,
}

/// What was read from a block of a tree, or from a root in an inode.
pub(super) struct Loaded<R: Record> {
    pub block: R::Block,
    /// The blocks beside it.
    pub left: Option<R::Block>,
    pub right: Option<R::Block>,
    /// Of a leaf.
    pub records: Vec<R>,
    /// Of any other: first keys and blocks.
    pub places: Vec<(R::Key, R::Block)>,
}

impl<R: Record> Node<R> {
    fn new(block: R::Block) -> Node<R> {
        Node {
            block,
            left: NONE,
            right: NONE,
            records: Vec::new(),
            children: Vec::new(),
        }
    }

    fn len(&self, level: usize) -> usize {
        if level == 0 {
            self.records.len()
        } else {
            self.children.len()
        }
    }

    fn first_key(&self, level: usize) -> R::Key {
        if level == 0 {
            self.records[0].key()
        } else {
            self.children[0].0
        }
    }
}

fn limits<R: Record>(level: usize) -> Limits {
    if level == 0 { R::LEAF } else { R::NODE }
}

impl<R: Record> Tree<R> {
    /// An empty tree whose root is this block.
    pub fn new(root: R::Block) -> Tree<R> {
        Tree {
            nodes: vec![Node::new(root)],
            spare: Vec::new(),
            root: 0,
            levels: 1,
            most_in_inode: None,
        }
    }

    /// A tree whose root stands in an inode, with these records in one leaf.
    pub fn in_inode(most: usize, leaf: R::Block, records: Vec<R>) -> Tree<R> {
        let first = records[0].key();
        let mut root = Node::new(R::Block::default());
        root.children.push((first, 0));
        let leaf = Node {
            records,
            ..Node::new(leaf)
        };
        Tree {
            nodes: vec![leaf, root],
            spare: Vec::new(),
            root: 1,
            levels: 2,
            most_in_inode: Some(most),
        }
    }

    /// Levels, that of the root included.
    pub fn levels(&self) -> u32 {
        self.levels as u32
    }

    /// Blocks, that of the root included if it is one.
    pub fn blocks(&self) -> u32 {
        let nodes = self.nodes.len() - self.spare.len();
        (nodes - usize::from(self.most_in_inode.is_some())) as u32
    }

    /// The block of the root.
    pub fn root_block(&self) -> R::Block {
        self.nodes[self.root as usize].block
    }

    fn leftmost(&self, level: usize) -> u32 {
        let mut node = self.root;
        for _ in level + 1..self.levels {
            node = self.nodes[node as usize].children[0].1;
        }
        node
    }

    /// The blocks of a level from left to right, with the number of their entries.
    pub fn level(&self, level: usize) -> impl Iterator<Item = (R::Block, usize)> {
        let mut node = self.leftmost(level);
        std::iter::from_fn(move || {
            let found = self.nodes.get(node as usize)?;
            node = found.right;
            Some((found.block, found.len(level)))
        })
    }

    /// Every block; not a root in an inode.
    pub fn all_blocks(&self) -> impl Iterator<Item = R::Block> {
        let levels = self.levels - usize::from(self.most_in_inode.is_some());
        (0..levels).flat_map(move |level| self.level(level).map(|(block, _)| block))
    }

    /// Visits every block and a root in an inode, leaves first, each level from left to right.
    pub fn visit(&self, visit: &mut dyn FnMut(&Held<'_, R>)) {
        for level in 0..self.levels {
            let mut node = self.leftmost(level);
            while let Some(found) = self.nodes.get(node as usize) {
                let block_of = |node: u32| Some(self.nodes.get(node as usize)?.block);
                visit(&Held {
                    level,
                    block: (!self.is_inode_root(level)).then_some(found.block),
                    left: block_of(found.left),
                    right: block_of(found.right),
                    records: &found.records,
                    children: self.children_of(found),
                });
                node = found.right;
            }
        }
    }

    fn children_of(&self, node: &Node<R>) -> Vec<Child<R>> {
        let ends = |child: u32| {
            let (mut first, mut last) = (&self.nodes[child as usize], &self.nodes[child as usize]);
            while let (Some((_, left)), Some((_, right))) =
                (first.children.first(), last.children.last())
            {
                (first, last) = (&self.nodes[*left as usize], &self.nodes[*right as usize]);
            }
            Some((*first.records.first()?, *last.records.last()?))
        };
        let children = node.children.iter();
        children
            .filter_map(|&(_, child)| {
                let (first, last) = ends(child)?;
                let block = self.nodes[child as usize].block;
                Some(Child { block, first, last })
            })
            .collect()
    }

    /// Every record.
    pub fn iter(&self) -> impl Iterator<Item = &R> {
        let mut node = self.leftmost(0);
        let leaves = std::iter::from_fn(move || {
            let found = self.nodes.get(node as usize)?;
            node = found.right;
            Some(&found.records)
        });
        leaves.flatten()
    }

    /// The last record.
    pub fn last(&self) -> Option<&R> {
        let mut node = &self.nodes[self.root as usize];
        while let Some((_, child)) = node.children.last() {
            node = &self.nodes[*child as usize];
        }
        node.records.last()
    }

    fn len_at(&self, cursor: &Cursor, level: usize) -> usize {
        self.nodes[cursor.at[level].0 as usize].len(level)
    }

    /// Looks for a key. Says whether there is such a record.
    pub fn look_up(&self, key: R::Key, wanted: Wanted) -> (Cursor, bool) {
        let mut cursor = Cursor {
            at: [(NONE, 0); MOST_LEVELS],
        };
        let mut node = self.root;
        for level in (1..self.levels).rev() {
            let children = &self.nodes[node as usize].children;
            let at = children.partition_point(|child| child.0 <= key).max(1);
            cursor.at[level] = (node, at as u16);
            node = children[at - 1].1;
        }
        let records = &self.nodes[node as usize].records;
        let found = records.binary_search_by_key(&key, R::key);
        let (position, is_equal) = match found {
            Ok(at) => (at + 1, true),
            // The first record behind the key.
            Err(at) => (at + 1, false),
        };
        let position = if wanted == Wanted::AtMost && !is_equal {
            position - 1
        } else {
            position
        };
        cursor.at[0] = (node, position as u16);
        if wanted == Wanted::AtLeast && position > records.len() {
            // The cursor goes on to the next leaf, if there is one.
            cursor.at[0].1 -= 1;
            let found = self.next(&mut cursor);
            return (cursor, found);
        }
        let is_there = (1..=records.len()).contains(&position);
        (cursor, is_there && (wanted != Wanted::Equal || is_equal))
    }

    /// The record at a cursor.
    #[inline]
    pub fn get(&self, cursor: &Cursor) -> Option<&R> {
        let (node, position) = cursor.at[0];
        let records = &self.nodes[node as usize].records;
        records.get((position as usize).wrapping_sub(1))
    }

    /// The records from a cursor to the end of its leaf, if that is the last leaf.
    pub fn rest_of_last_leaf(&self, cursor: &Cursor) -> Option<&[R]> {
        let (node, position) = cursor.at[0];
        let node = &self.nodes[node as usize];
        (node.right == NONE).then(|| &node.records[usize::from(position).saturating_sub(1)..])
    }

    /// The leaf of a cursor, if that is the last one.
    pub fn last_leaf(&self, cursor: &Cursor) -> Option<&[R]> {
        let node = &self.nodes[cursor.at[0].0 as usize];
        (node.right == NONE).then_some(&node.records[..])
    }

    /// One record on. Without one the cursor stays behind the last.
    pub fn next(&self, cursor: &mut Cursor) -> bool {
        self.step_on(cursor, 0)
    }

    fn step_on(&self, cursor: &mut Cursor, level: usize) -> bool {
        cursor.at[level].1 += 1;
        let (node, position) = cursor.at[level];
        if usize::from(position) <= self.nodes[node as usize].len(level) {
            return true;
        }
        if self.nodes[node as usize].right == NONE {
            return false;
        }
        let mut above = level;
        loop {
            above += 1;
            cursor.at[above].1 += 1;
            if usize::from(cursor.at[above].1) <= self.len_at(cursor, above) {
                break;
            }
        }
        for below in (level..above).rev() {
            let (node, position) = cursor.at[below + 1];
            let child = self.nodes[node as usize].children[usize::from(position) - 1].1;
            cursor.at[below] = (child, 1);
        }
        true
    }

    /// One record back. Without one the cursor stays before the first.
    pub fn previous(&self, cursor: &mut Cursor) -> bool {
        let (node, position) = &mut cursor.at[0];
        *position -= u16::from(*position > 0);
        if *position > 0 {
            return true;
        }
        if self.nodes[*node as usize].left == NONE {
            return false;
        }
        let mut above = 0;
        loop {
            above += 1;
            cursor.at[above].1 -= 1;
            if cursor.at[above].1 > 0 {
                break;
            }
        }
        for below in (0..above).rev() {
            let (node, position) = cursor.at[below + 1];
            let child = self.nodes[node as usize].children[usize::from(position) - 1].1;
            cursor.at[below] = (child, self.nodes[child as usize].len(below) as u16);
        }
        true
    }

    /// The first key of a block has changed: so do the entries that lead to it.
    fn fix_keys(&mut self, cursor: &Cursor, level: usize) {
        for above in level + 1..self.levels {
            let key = self.nodes[cursor.at[above - 1].0 as usize].first_key(above - 1);
            let (node, position) = cursor.at[above];
            self.nodes[node as usize].children[usize::from(position) - 1].0 = key;
            if position != 1 {
                return;
            }
        }
    }

    /// The first key of the block to the right of a cursor has changed.
    fn fix_keys_on_the_right(&mut self, cursor: &Cursor, level: usize) {
        let mut right = *cursor;
        right.at[level].1 = self.len_at(cursor, level) as u16;
        self.step_on(&mut right, level);
        self.fix_keys(&right, level);
    }

    /// Writes over the record at a cursor.
    pub fn update(&mut self, cursor: &Cursor, record: R) {
        let (node, position) = cursor.at[0];
        self.nodes[node as usize].records[usize::from(position) - 1] = record;
        if position == 1 {
            self.fix_keys(cursor, 0);
        }
    }

    /// Writes over the record with a key.
    pub fn replace(&mut self, key: R::Key, record: R) {
        let (cursor, found) = self.look_up(key, Wanted::Equal);
        debug_assert!(found, "{key:?} stands in the tree");
        self.update(&cursor, record);
    }

    /// Puts a record in at its place.
    pub fn put(&mut self, record: R, blocks: &mut impl Blocks<R::Block>) {
        let (cursor, found) = self.look_up(record.key(), Wanted::Equal);
        debug_assert!(!found, "{record:?} stands in the tree twice");
        self.insert(cursor, record, blocks);
    }

    /// Puts a record in before that with a key, in the same block.
    pub fn put_before(&mut self, key: R::Key, record: R, blocks: &mut impl Blocks<R::Block>) {
        let (cursor, found) = self.look_up(key, Wanted::Equal);
        debug_assert!(found, "{key:?} stands in the tree");
        self.insert(cursor, record, blocks);
    }

    /// Puts a record in behind that with a key: where the next one stands.
    pub fn put_behind(&mut self, key: R::Key, record: R, blocks: &mut impl Blocks<R::Block>) {
        let (mut cursor, found) = self.look_up(key, Wanted::Equal);
        debug_assert!(found, "{key:?} stands in the tree");
        self.next(&mut cursor);
        self.insert(cursor, record, blocks);
    }

    /// Takes the record with a key out.
    pub fn take(&mut self, key: R::Key, blocks: &mut impl Blocks<R::Block>) {
        let (cursor, found) = self.look_up(key, Wanted::Equal);
        debug_assert!(found, "{key:?} stands in the tree");
        self.delete(cursor, blocks);
    }

    fn add_node(&mut self, node: Node<R>) -> u32 {
        if let Some(at) = self.spare.pop() {
            self.nodes[at as usize] = node;
            return at;
        }
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    fn drop_node(&mut self, node: u32, blocks: &mut impl Blocks<R::Block>) {
        let gone = std::mem::replace(
            &mut self.nodes[node as usize],
            Node::new(R::Block::default()),
        );
        self.spare.push(node);
        blocks.give_back(gone.block);
    }

    fn is_inode_root(&self, level: usize) -> bool {
        self.most_in_inode.is_some() && level + 1 == self.levels
    }

    /// Puts a record in before that at a cursor, which is of no use afterwards.
    pub fn insert(&mut self, mut cursor: Cursor, record: R, blocks: &mut impl Blocks<R::Block>) {
        let mut new = self.make_room(&mut cursor, 0, blocks);
        self.place(&cursor, 0, |node, at| node.records.insert(at, record));
        let mut level = 0;
        while let Some(child) = new {
            level += 1;
            let key = self.nodes[child as usize].first_key(level - 1);
            if level == self.levels {
                self.grow(child, blocks);
                return;
            }
            cursor.at[level].1 += 1;
            new = self.make_room(&mut cursor, level, blocks);
            self.place(&cursor, level, |node, at| {
                node.children.insert(at, (key, child));
            });
        }
    }

    fn place(&mut self, cursor: &Cursor, level: usize, insert: impl FnOnce(&mut Node<R>, usize)) {
        let (node, position) = cursor.at[level];
        insert(&mut self.nodes[node as usize], usize::from(position) - 1);
        if position == 1 {
            self.fix_keys(cursor, level);
        }
    }

    /// The root was split: both halves get a root.
    fn grow(&mut self, right: u32, blocks: &mut impl Blocks<R::Block>) {
        let level = self.levels - 1;
        let left = self.root;
        let mut root = Node::new(blocks.take(self.nodes[left as usize].block));
        for half in [left, right] {
            root.children
                .push((self.nodes[half as usize].first_key(level), half));
        }
        self.root = self.add_node(root);
        self.levels += 1;
    }

    /// Makes room for an entry at a cursor. Gives the node that came to be.
    fn make_room(
        &mut self,
        cursor: &mut Cursor,
        level: usize,
        blocks: &mut impl Blocks<R::Block>,
    ) -> Option<u32> {
        let (node, position) = cursor.at[level];
        let (node, position) = (node as usize, usize::from(position));
        let len = self.nodes[node].len(level);
        if self.is_inode_root(level) {
            if len == self.most_in_inode.unwrap_or_default() {
                self.sink_inode_root(cursor, blocks);
            }
            return None;
        }
        let most = limits::<R>(level).most;
        if len < most {
            return None;
        }
        let (left, right) = (self.nodes[node].left, self.nodes[node].right);
        if right != NONE && position < len && self.nodes[right as usize].len(level) < most {
            self.shift_right(node, right as usize, level);
            self.fix_keys_on_the_right(cursor, level);
            return None;
        }
        if left != NONE && position > 1 && self.nodes[left as usize].len(level) < most {
            self.shift_left(node, left as usize, level);
            self.fix_keys(cursor, level);
            cursor.at[level].1 -= 1;
            return None;
        }
        Some(self.split(cursor, level, blocks))
    }

    /// The root in an inode is full: what stands in it goes to a block below it.
    fn sink_inode_root(&mut self, cursor: &mut Cursor, blocks: &mut impl Blocks<R::Block>) {
        let level = self.levels - 1;
        let (root, position) = cursor.at[level];
        let near = self.nodes[self.nodes[root as usize].children[0].1 as usize].block;
        let mut child = Node::new(blocks.take(near));
        child.children = std::mem::take(&mut self.nodes[root as usize].children);
        let key = child.first_key(level);
        let child = self.add_node(child);
        self.nodes[root as usize].children.push((key, child));
        cursor.at[level] = (child, position);
        cursor.at[level + 1] = (root, 1);
        self.levels += 1;
    }

    /// Moves the last entry of a block to its right neighbor.
    fn shift_right(&mut self, node: usize, right: usize, level: usize) {
        if level == 0 {
            let moved = self.nodes[node].records.pop();
            self.nodes[right].records.splice(0..0, moved);
        } else {
            let moved = self.nodes[node].children.pop();
            self.nodes[right].children.splice(0..0, moved);
        }
    }

    /// Moves the first entry of a block to its left neighbor.
    fn shift_left(&mut self, node: usize, left: usize, level: usize) {
        if level == 0 {
            let moved = self.nodes[node].records.remove(0);
            self.nodes[left].records.push(moved);
        } else {
            let moved = self.nodes[node].children.remove(0);
            self.nodes[left].children.push(moved);
        }
    }

    fn split(
        &mut self,
        cursor: &mut Cursor,
        level: usize,
        blocks: &mut impl Blocks<R::Block>,
    ) -> u32 {
        let (node, position) = cursor.at[level];
        let left = &mut self.nodes[node as usize];
        let len = left.len(level);
        let goes = len / 2 + usize::from(len % 2 == 1 && usize::from(position) <= len / 2 + 1);
        let stays = len - goes;
        let mut right = Node::new(blocks.take(left.block));
        if level == 0 {
            right.records = left.records.split_off(stays);
        } else {
            right.children = left.children.split_off(stays);
        }
        (right.left, right.right) = (node, left.right);
        let behind = left.right;
        let right = self.add_node(right);
        self.nodes[node as usize].right = right;
        if behind != NONE {
            self.nodes[behind as usize].left = right;
        }
        if usize::from(position) > stays + 1 {
            cursor.at[level] = (right, position - stays as u16);
        }
        right
    }

    /// Takes out the record at a cursor, which is of no use afterwards.
    pub fn delete(&mut self, mut cursor: Cursor, blocks: &mut impl Blocks<R::Block>) {
        let mut level = 0;
        while self.delete_at(&mut cursor, level, blocks) {
            level += 1;
        }
    }

    /// Takes out an entry. Says whether blocks were joined, so that the entry of one has to go, at the cursor.
    fn delete_at(
        &mut self,
        cursor: &mut Cursor,
        level: usize,
        blocks: &mut impl Blocks<R::Block>,
    ) -> bool {
        let (node, position) = cursor.at[level];
        let (us, at) = (node as usize, usize::from(position) - 1);
        if level == 0 {
            self.nodes[us].records.remove(at);
        } else {
            self.nodes[us].children.remove(at);
        }
        let len = self.nodes[us].len(level);
        if level + 1 == self.levels {
            if self.most_in_inode.is_some() {
                self.raise_into_inode(blocks);
            } else if level > 0 && len == 1 {
                self.root = self.nodes[us].children[0].1;
                self.levels -= 1;
                self.drop_node(node, blocks);
            }
            return false;
        }
        if position == 1 && len > 0 {
            self.fix_keys(cursor, level);
        }
        let Limits { most, least } = limits::<R>(level);
        if len >= least {
            return false;
        }
        let (left, right) = (self.nodes[us].left, self.nodes[us].right);
        if left == NONE && right == NONE {
            if self.is_inode_root(level + 1) {
                self.raise_into_inode(blocks);
            }
            return false;
        }
        let of = |tree: &Tree<R>, node: u32| match node {
            NONE => None,
            node => Some(tree.nodes[node as usize].len(level)),
        };
        let (left_len, right_len) = (of(self, left), of(self, right));
        if right_len.is_some_and(|len| len > least) {
            self.shift_left(right as usize, us, level);
            self.fix_keys_on_the_right(cursor, level);
            return false;
        }
        if left_len.is_some_and(|len| len > least) {
            self.shift_right(left as usize, us, level);
            self.fix_keys(cursor, level);
            return false;
        }
        if left_len.is_some_and(|other| other + len <= most) {
            self.join(left, node, level, blocks);
        } else if right_len.is_some_and(|other| other + len <= most) {
            self.join(node, right, level, blocks);
            self.step_on(cursor, level + 1);
        } else {
            return false;
        }
        true
    }

    /// What stands in a block goes to its left neighbor.
    fn join(&mut self, left: u32, right: u32, level: usize, blocks: &mut impl Blocks<R::Block>) {
        let gone = &mut self.nodes[right as usize];
        let behind = gone.right;
        if level == 0 {
            let moved = std::mem::take(&mut gone.records);
            self.nodes[left as usize].records.extend(moved);
        } else {
            let moved = std::mem::take(&mut gone.children);
            self.nodes[left as usize].children.extend(moved);
        }
        self.nodes[left as usize].right = behind;
        if behind != NONE {
            self.nodes[behind as usize].left = left;
        }
        self.drop_node(right, blocks);
    }

    /// The only block below a root in an inode goes if what stands in it fits into the inode, and is not records.
    fn raise_into_inode(&mut self, blocks: &mut impl Blocks<R::Block>) {
        let root = self.root as usize;
        let &[(_, child)] = &self.nodes[root].children[..] else {
            return;
        };
        let fits =
            self.nodes[child as usize].children.len() <= self.most_in_inode.unwrap_or_default();
        if self.levels > 2 && fits {
            self.nodes[root].children = std::mem::take(&mut self.nodes[child as usize].children);
            self.levels -= 1;
            self.drop_node(child, blocks);
        }
    }

    /// What does not fit together in a tree, if anything.
    pub fn finding(&self) -> Option<String> {
        for level in 0..self.levels {
            let mut node = self.leftmost(level);
            let mut before: Option<R::Key> = None;
            while let Some(found) = self.nodes.get(node as usize) {
                let keys: Vec<R::Key> = match level {
                    0 => found.records.iter().map(R::key).collect(),
                    _ => found.children.iter().map(|child| child.0).collect(),
                };
                if !before.iter().chain(&keys).is_sorted_by(|a, b| a < b) {
                    return Some(format!(
                        "records of block {:?} are not in order",
                        found.block
                    ));
                }
                if keys.len() > limits::<R>(level).most {
                    return Some(format!("block {:?} holds too much", found.block));
                }
                let leads = |&(key, child): &(R::Key, u32)| {
                    self.nodes[child as usize].first_key(level - 1) == key
                };
                if level > 0 && !found.children.iter().all(leads) {
                    return Some(format!(
                        "keys of block {:?} are not those below it",
                        found.block
                    ));
                }
                before = keys.last().copied().or(before);
                node = found.right;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::Rng;
    use std::collections::BTreeSet;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Number(u32);

    impl Record for Number {
        type Key = u32;
        type Block = u32;
        const LEAF: Limits = Limits { most: 7, least: 3 };
        const NODE: Limits = Limits { most: 5, least: 2 };

        fn key(&self) -> u32 {
            self.0
        }
    }

    /// The blocks of a tree.
    struct Held {
        next: u32,
        blocks: BTreeSet<u32>,
    }

    impl Blocks<u32> for Held {
        fn take(&mut self, _near: u32) -> u32 {
            self.next += 1;
            self.blocks.insert(self.next);
            self.next
        }

        fn give_back(&mut self, block: u32) {
            assert!(self.blocks.remove(&block), "{block} is part of the tree");
        }
    }

    #[test]
    fn records_that_come_and_go_are_found_from_both_sides() {
        let mut random = Rng::new(3);
        let mut tree = Tree::new(0);
        let mut held = Held {
            next: 0,
            blocks: BTreeSet::from([0]),
        };
        let mut expected = BTreeSet::new();
        for round in 0..8_000_u32 {
            let number = random.below(400) as u32;
            let grows = round % 2_000 < 1_000;
            if expected.contains(&number) && !(grows && random.below(3) > 0) {
                expected.remove(&number);
                tree.take(number, &mut held);
            } else if grows && expected.insert(number) {
                tree.put(Number(number), &mut held);
            }
            let get = |cursor: &Cursor| tree.get(cursor).map(|record| record.0);
            let (mut cursor, found) = tree.look_up(number, Wanted::AtMost);
            let before = expected.range(..=number).next_back().copied();
            assert_eq!(found.then(|| get(&cursor)).flatten(), before);
            let behind = expected.range(number + 1..).next().copied();
            assert_eq!(
                tree.next(&mut cursor).then(|| get(&cursor)).flatten(),
                behind
            );
            let (mut cursor, found) = tree.look_up(number, Wanted::AtLeast);
            let behind = expected.range(number..).next().copied();
            assert_eq!(found.then(|| get(&cursor)).flatten(), behind);
            let before = expected.range(..number).next_back().copied();
            assert_eq!(
                tree.previous(&mut cursor).then(|| get(&cursor)).flatten(),
                before
            );
            assert_eq!(tree.finding(), None);
            assert!(tree.iter().map(|record| &record.0).eq(&expected));
            assert_eq!(tree.last().map(|record| &record.0), expected.last());
            assert_eq!(tree.all_blocks().collect::<BTreeSet<_>>(), held.blocks);
            assert_eq!(tree.blocks() as usize, held.blocks.len());
        }
        assert!(held.next > 100, "blocks were split: {}", held.next);
    }
}
