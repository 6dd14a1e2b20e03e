//! The extent tree of an inode: four entries in the inode, or blocks of them below it.
//!
//! Spec: `docs/spec/ext4.md`, sections 13, 20 and 21.

mod over;
mod unwritten;

use std::mem;

/// Entries in the inode itself.
pub(super) const ROOT_ENTRIES: usize = 4;
/// An entry has at most so many blocks; one fewer if nothing was written to them.
pub(super) const MOST_WRITTEN: u32 = 32_768;
const MOST_UNWRITTEN: u32 = 32_767;

/// An extent: blocks that are contiguous in the file and on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// First block in the file.
    pub logical: u32,
    /// First block on disk.
    pub block: u32,
    length: u32,
}

const UNWRITTEN: u32 = 1 << 31;

impl Entry {
    /// An extent.
    pub fn new(logical: u32, block: u32, blocks: u32, unwritten: bool) -> Entry {
        Entry {
            logical,
            block,
            length: blocks | if unwritten { UNWRITTEN } else { 0 },
        }
    }

    /// Its blocks.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.length & !UNWRITTEN
    }

    /// Whether nothing was written to them.
    #[inline]
    pub fn is_unwritten(&self) -> bool {
        self.length & UNWRITTEN != 0
    }

    /// The first block of the file behind it.
    #[inline]
    pub fn end(&self) -> u32 {
        self.logical + self.blocks()
    }

    fn with_blocks(self, blocks: u32) -> Entry {
        Entry::new(self.logical, self.block, blocks, self.is_unwritten())
    }

    fn joins(&self, next: &Entry) -> bool {
        let most = if self.is_unwritten() {
            MOST_UNWRITTEN
        } else {
            MOST_WRITTEN
        };
        self.is_unwritten() == next.is_unwritten()
            && self.end() == next.logical
            && self.block + self.blocks() == next.block
            && self.blocks() + next.blocks() <= most
    }
}

/// A block of entries, or of further blocks.
#[derive(Clone, Debug)]
struct Node {
    /// First block of the file that it stands for.
    logical: u32,
    /// Where it lies.
    block: u32,
    below: Below,
}

#[derive(Clone, Debug)]
enum Below {
    Entries(Vec<Entry>),
    Nodes(Vec<Node>),
}

/// Entries in an inode: most files have one or two.
#[derive(Clone, Debug)]
enum Root {
    Few(u8, [Entry; 2]),
    Entries(Vec<Entry>),
    Nodes(Vec<Node>),
}

/// An extent tree.
#[derive(Clone, Debug)]
pub struct Tree {
    root: Root,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree {
            root: Root::Few(0, [Entry::default(); 2]),
        }
    }
}

/// Where a block of the tree should lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ext4) enum Goal {
    /// Near this address, in a file.
    Near(u32),
    /// Exactly there, if it is free.
    Exactly(u32),
    /// Where the inode's blocks begin.
    Inode,
}

/// What a tree takes its blocks from.
pub(in crate::ext4) trait Meta {
    /// A block.
    fn take(&mut self, goal: Goal) -> Option<u32>;
    /// A block goes.
    fn give_back(&mut self, block: u32);
}

/// There is no block for the tree.
#[derive(Debug)]
pub(in crate::ext4) struct NoMeta;

/// What the root or a block of a tree holds.
pub(super) enum Content<'a> {
    Entries(&'a [Entry]),
    /// Blocks below it, each with the first block of the file that it stands for; and the levels below.
    Places(Vec<(u32, u32)>, u16),
}

/// The same as it is found on a disk.
pub(super) enum Stored {
    Entries(Vec<Entry>),
    Places(Vec<(u32, u32)>, u16),
}

impl Stored {
    /// The first block of the file that it is of; `None` where it is empty.
    pub fn first(&self) -> Option<u32> {
        match self {
            Stored::Entries(entries) => entries.first().map(|entry| entry.logical),
            Stored::Places(places, _) => places.first().map(|place| place.0),
        }
    }
}

/// What lies around a block of a file that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ext4) struct Around {
    /// The nearest allocated block below it: in the file, and on disk.
    pub left: Option<(u32, u32)>,
    /// The nearest one above it.
    pub right: Option<(u32, u32)>,
    pub goal: Goal,
}

/// Place of the last entry at or below a block; nothing if all lie above.
#[inline]
fn last_at_or_below(entries: &[Entry], logical: u32) -> Option<usize> {
    entries
        .partition_point(|entry| entry.logical <= logical)
        .checked_sub(1)
}

fn child(nodes: &[Node], logical: u32) -> usize {
    nodes
        .partition_point(|node| node.logical <= logical)
        .saturating_sub(1)
}

/// Joins an entry with its neighbors as far as they adjoin: with the left one and on from there, else with the right
/// ones.
fn join(entries: &mut Vec<Entry>, at: usize) {
    let mut rightwards = |at: usize| {
        let mut joined = false;
        while at + 1 < entries.len() && entries[at].joins(&entries[at + 1]) {
            let blocks = entries[at].blocks() + entries[at + 1].blocks();
            entries[at] = entries[at].with_blocks(blocks);
            entries.remove(at + 1);
            joined = true;
        }
        joined
    };
    if at == 0 || !rightwards(at - 1) {
        rightwards(at);
    }
}

impl Tree {
    /// Levels below the inode.
    pub fn depth(&self) -> u32 {
        self.way(0).len() as u32
    }

    /// Whether nothing is allocated.
    pub fn is_empty(&self) -> bool {
        match &self.root {
            Root::Few(count, _) => *count == 0,
            Root::Entries(entries) => entries.is_empty(),
            Root::Nodes(_) => false,
        }
    }

    /// Visits every extent, in the order of the file.
    #[inline]
    pub fn visit(&self, visit: &mut impl FnMut(&Entry)) {
        fn walk(nodes: &[Node], visit: &mut impl FnMut(&Entry)) {
            for node in nodes {
                match &node.below {
                    Below::Entries(entries) => entries.iter().for_each(&mut *visit),
                    Below::Nodes(nodes) => walk(nodes, visit),
                }
            }
        }
        match &self.root {
            Root::Few(count, entries) => {
                entries[..usize::from(*count)].iter().for_each(&mut *visit);
            }
            Root::Entries(entries) => entries.iter().for_each(&mut *visit),
            Root::Nodes(nodes) => walk(nodes, visit),
        }
    }

    /// Visits every block of the tree: those above before those below.
    pub fn visit_blocks(&self, visit: &mut impl FnMut(u32)) {
        fn walk(nodes: &[Node], visit: &mut impl FnMut(u32)) {
            for node in nodes {
                visit(node.block);
                if let Below::Nodes(nodes) = &node.below {
                    walk(nodes, visit);
                }
            }
        }
        if let Root::Nodes(nodes) = &self.root {
            walk(nodes, visit);
        }
    }

    /// Visits the root and every block of the tree, with what is in it: those above before those below.
    pub(super) fn visit_nodes(&self, visit: &mut impl FnMut(Option<u32>, Content<'_>)) {
        fn depth(nodes: &[Node]) -> u16 {
            1 + match nodes.first().map(|node| &node.below) {
                Some(Below::Nodes(nodes)) => depth(nodes),
                _ => 0,
            }
        }
        fn walk(
            block: Option<u32>,
            nodes: &[Node],
            visit: &mut impl FnMut(Option<u32>, Content<'_>),
        ) {
            let places = nodes.iter().map(|node| (node.logical, node.block));
            visit(block, Content::Places(places.collect(), depth(nodes)));
            for node in nodes {
                match &node.below {
                    Below::Entries(entries) => visit(Some(node.block), Content::Entries(entries)),
                    Below::Nodes(nodes) => walk(Some(node.block), nodes, visit),
                }
            }
        }
        match &self.root {
            Root::Few(count, entries) => {
                visit(None, Content::Entries(&entries[..usize::from(*count)]));
            }
            Root::Entries(entries) => visit(None, Content::Entries(entries)),
            Root::Nodes(nodes) => walk(None, nodes, visit),
        }
    }

    /// A tree of what is found on a disk. `load` says what the block at a place of it holds, with so many levels below
    /// that.
    pub(super) fn read<E>(
        root: Stored,
        load: &mut impl FnMut((u32, u32), u16) -> Result<Stored, E>,
    ) -> Result<Tree, E> {
        fn below<E>(
            stored: Stored,
            load: &mut impl FnMut((u32, u32), u16) -> Result<Stored, E>,
        ) -> Result<Below, E> {
            let (places, depth) = match stored {
                Stored::Entries(entries) => return Ok(Below::Entries(entries)),
                Stored::Places(places, depth) => (places, depth),
            };
            let nodes = places.into_iter().map(|(logical, block)| {
                let stored = load((logical, block), depth - 1)?;
                Ok(Node {
                    logical,
                    block,
                    below: below(stored, load)?,
                })
            });
            Ok(Below::Nodes(nodes.collect::<Result<_, _>>()?))
        }
        let root = match below(root, load)? {
            Below::Entries(entries) => Root::Entries(entries),
            Below::Nodes(nodes) => Root::Nodes(nodes),
        };
        let mut tree = Tree { root };
        tree.settle();
        Ok(tree)
    }

    /// The leaf that a block of the file belongs to, and the block it lies in.
    #[inline]
    fn leaf(&self, logical: u32) -> (&[Entry], Option<u32>) {
        let mut nodes = match &self.root {
            Root::Few(count, entries) => return (&entries[..usize::from(*count)], None),
            Root::Entries(entries) => return (entries, None),
            Root::Nodes(nodes) => nodes,
        };
        loop {
            let node = &nodes[child(nodes, logical)];
            match &node.below {
                Below::Entries(entries) => return (entries, Some(node.block)),
                Below::Nodes(below) => nodes = below,
            }
        }
    }

    /// The blocks of the tree on the way to a block of the file, the outermost first.
    pub fn way(&self, logical: u32) -> Vec<u32> {
        let mut way = Vec::new();
        let mut nodes = self.nodes();
        while !nodes.is_empty() {
            let node = &nodes[child(nodes, logical)];
            way.push(node.block);
            nodes = match &node.below {
                Below::Nodes(below) => below,
                Below::Entries(_) => &[],
            };
        }
        way
    }

    /// The extent that holds a block of the file.
    #[inline]
    pub fn find(&self, logical: u32) -> Option<Entry> {
        let (entries, _) = self.leaf(logical);
        let entry = entries[last_at_or_below(entries, logical)?];
        (entry.end() > logical).then_some(entry)
    }

    /// Where a block of the tree or of the file should lie, from the leaf it belongs to.
    #[inline]
    fn goal_in(entries: &[Entry], block: Option<u32>, logical: u32) -> Goal {
        let entry = entries.get(last_at_or_below(entries, logical).unwrap_or(0));
        match (entry, block) {
            // Behind all blocks, or before them, lies no goal.
            (Some(entry), _) => Goal::Near(match logical.checked_sub(entry.logical) {
                Some(behind) => entry.block.saturating_add(behind),
                None => { entry.block.checked_sub(entry.logical - logical) }.unwrap_or(u32::MAX),
            }),
            (None, Some(block)) => Goal::Near(block),
            (None, None) => Goal::Inode,
        }
    }

    /// What lies around a block of the file that is not allocated.
    #[inline]
    pub(in crate::ext4) fn around(&self, logical: u32) -> Around {
        let (entries, block) = self.leaf(logical);
        let goal = Tree::goal_in(entries, block, logical);
        let at = last_at_or_below(entries, logical);
        let last_of = |entry: Entry| (entry.end() - 1, entry.block + entry.blocks() - 1);
        let left = match at {
            Some(at) => Some(last_of(entries[at])),
            None if block.is_some() => self.last_below(logical).map(last_of),
            None => None,
        };
        let right = match entries.get(at.map_or(0, |at| at + 1)) {
            Some(entry) => Some(*entry),
            None if block.is_some() => self.first_above(logical),
            None => None,
        };
        Around {
            left,
            right: right.map(|entry| (entry.logical, entry.block)),
            goal,
        }
    }

    /// The hole that a block without a place is in, as the kernel finds it: before the first extent of a leaf it begins
    /// at the block.
    pub(in crate::ext4) fn gap(&self, logical: u32) -> (u32, u32) {
        let (entries, _) = self.leaf(logical);
        let from = match (last_at_or_below(entries, logical), entries) {
            (Some(at), _) => entries[at].end(),
            (None, []) => 0,
            (None, _) => logical,
        };
        let next = self.first_above(logical);
        (from, next.map_or(u32::MAX, |entry| entry.logical))
    }

    fn last_below(&self, logical: u32) -> Option<Entry> {
        fn walk(nodes: &[Node], logical: u32) -> Option<Entry> {
            let upto = nodes.partition_point(|node| node.logical <= logical).max(1);
            let mut candidates = nodes[..upto].iter().rev();
            candidates.find_map(|node| match &node.below {
                Below::Entries(entries) => Some(entries[last_at_or_below(entries, logical)?]),
                Below::Nodes(nodes) => walk(nodes, logical),
            })
        }
        walk(self.nodes(), logical)
    }

    /// The first extent that begins behind a block of the file.
    pub fn first_above(&self, logical: u32) -> Option<Entry> {
        fn first(entries: &[Entry], logical: u32) -> Option<Entry> {
            let at = entries.partition_point(|entry| entry.logical <= logical);
            entries.get(at).copied()
        }
        fn walk(nodes: &[Node], logical: u32) -> Option<Entry> {
            nodes[child(nodes, logical)..]
                .iter()
                .find_map(|node| match &node.below {
                    Below::Entries(entries) => first(entries, logical),
                    Below::Nodes(nodes) => walk(nodes, logical),
                })
        }
        match &self.root {
            Root::Few(count, entries) => first(&entries[..usize::from(*count)], logical),
            Root::Entries(entries) => first(entries, logical),
            Root::Nodes(nodes) => walk(nodes, logical),
        }
    }

    /// Entries of the leaf of the root, to change.
    fn entries_mut(root: &mut Root) -> &mut Vec<Entry> {
        if let Root::Few(count, entries) = root {
            *root = Root::Entries(entries[..usize::from(*count)].to_vec());
        }
        match root {
            Root::Entries(entries) => entries,
            _ => unreachable!("a tree without blocks has entries in its root"),
        }
    }

    /// Puts a new extent in. With `merging` it is joined with those that it adjoins. A block has room for `capacity`
    /// entries.
    #[inline]
    pub(in crate::ext4) fn insert(
        &mut self,
        new: Entry,
        merging: bool,
        capacity: usize,
        meta: &mut impl Meta,
    ) -> Result<(), NoMeta> {
        if let Root::Few(count, entries) = &mut self.root {
            match *count {
                0 => {
                    entries[0] = new;
                    *count = 1;
                    return Ok(());
                }
                1 if merging && entries[0].joins(&new) => {
                    let blocks = entries[0].blocks() + new.blocks();
                    entries[0] = entries[0].with_blocks(blocks);
                    return Ok(());
                }
                1 if new.logical > entries[0].logical => {
                    entries[1] = new;
                    *count = 2;
                    return Ok(());
                }
                _ => {}
            }
        }
        self.insert_slowly(new, merging, capacity, meta)
    }

    fn insert_slowly(
        &mut self,
        new: Entry,
        merging: bool,
        capacity: usize,
        meta: &mut impl Meta,
    ) -> Result<(), NoMeta> {
        if !matches!(self.root, Root::Nodes(_)) {
            let entries = Tree::entries_mut(&mut self.root);
            if insert_in_leaf(entries, new, merging, ROOT_ENTRIES) {
                self.settle();
                return Ok(());
            }
            self.grow(meta)?;
        }
        self.insert_below(new, merging, capacity, meta)
    }

    fn nodes(&self) -> &[Node] {
        match &self.root {
            Root::Nodes(nodes) => nodes,
            _ => &[],
        }
    }

    fn nodes_mut(&mut self) -> &mut Vec<Node> {
        match &mut self.root {
            Root::Nodes(nodes) => nodes,
            _ => unreachable!("only a tree with blocks has nodes"),
        }
    }

    /// One more level: a block takes over what the root has.
    fn grow(&mut self, meta: &mut impl Meta) -> Result<(), NoMeta> {
        let goal = match self.nodes().first() {
            Some(first) if first.block > 1 => Goal::Exactly(first.block - 1),
            _ => Goal::Inode,
        };
        let block = meta.take(goal).ok_or(NoMeta)?;
        let (logical, below) = match mem::replace(&mut self.root, Root::Nodes(Vec::new())) {
            Root::Entries(entries) => (entries[0].logical, Below::Entries(entries)),
            Root::Few(count, entries) => {
                let entries = entries[..usize::from(count)].to_vec();
                (entries[0].logical, Below::Entries(entries))
            }
            Root::Nodes(nodes) => (nodes[0].logical, Below::Nodes(nodes)),
        };
        self.root = Root::Nodes(vec![Node {
            logical,
            block,
            below,
        }]);
        Ok(())
    }

    /// The way to the leaf of a block of the file: which node on each level.
    fn path(&self, logical: u32) -> Vec<usize> {
        let mut path = Vec::with_capacity(2);
        let mut nodes = self.nodes();
        loop {
            let at = child(nodes, logical);
            path.push(at);
            match &nodes[at].below {
                Below::Nodes(below) => nodes = below,
                Below::Entries(_) => return path,
            }
        }
    }

    /// The nodes on a level of a path; level 0 is the root.
    fn level_mut(&mut self, path: &[usize], level: usize) -> &mut Vec<Node> {
        let mut nodes = self.nodes_mut();
        for &at in &path[..level] {
            nodes = match &mut nodes[at].below {
                Below::Nodes(below) => below,
                Below::Entries(_) => unreachable!("a path ends in a leaf"),
            };
        }
        nodes
    }

    fn leaf_mut(&mut self, path: &[usize]) -> &mut Vec<Entry> {
        let last = path.len() - 1;
        match &mut self.level_mut(path, last)[path[last]].below {
            Below::Entries(entries) => entries,
            Below::Nodes(_) => unreachable!("a path ends in a leaf"),
        }
    }

    /// The way to the leaf behind that of a path.
    fn next_leaf(&mut self, path: &[usize]) -> Option<Vec<usize>> {
        for level in (0..path.len()).rev() {
            if path[level] + 1 < self.level_mut(path, level).len() {
                let mut next = path.to_vec();
                next[level] += 1;
                next[level + 1..].fill(0);
                return Some(next);
            }
        }
        None
    }

    fn insert_below(
        &mut self,
        new: Entry,
        merging: bool,
        capacity: usize,
        meta: &mut impl Meta,
    ) -> Result<(), NoMeta> {
        let mut path = self.path(new.logical);
        if insert_in_leaf(self.leaf_mut(&path), new, merging, capacity) {
            self.collapse(merging, meta);
            self.correct(&path);
            return Ok(());
        }
        let behind = self.leaf_mut(&path).last().map(|last| last.logical);
        let next = behind
            .filter(|&last| new.logical > last)
            .and_then(|_| self.next_leaf(&path));
        let next = next.filter(|next| self.leaf_mut(next).len() < capacity);
        if let Some(next) = next {
            path = next;
        } else {
            self.make_leaf(new, &path, capacity, meta)?;
            path = self.path(new.logical);
        }
        let inserted = insert_in_leaf(self.leaf_mut(&path), new, merging, capacity);
        debug_assert!(inserted, "a leaf was just given room");
        self.correct(&path);
        self.collapse(merging, meta);
        Ok(())
    }

    /// Makes room for an extent: a new branch from the lowest level where one more node fits, or one more level.
    fn make_leaf(
        &mut self,
        new: Entry,
        path: &[usize],
        capacity: usize,
        meta: &mut impl Meta,
    ) -> Result<(), NoMeta> {
        let mut path = path.to_vec();
        loop {
            let room = |tree: &mut Tree, level: usize| {
                let most = if level == 0 { ROOT_ENTRIES } else { capacity };
                tree.level_mut(&path, level).len() < most
            };
            let levels = path.len();
            if let Some(level) = (0..levels).rev().find(|&level| room(self, level)) {
                return self.branch(new, &path, level, meta);
            }
            self.grow(meta)?;
            path = self.path(new.logical);
        }
    }

    /// A branch from a level down to a new leaf, which takes what lies behind the place of the new extent.
    fn branch(
        &mut self,
        new: Entry,
        path: &[usize],
        level: usize,
        meta: &mut impl Meta,
    ) -> Result<(), NoMeta> {
        let depth = path.len();
        let leaf_block = {
            let last = depth - 1;
            self.level_mut(path, last)[path[last]].block
        };
        let leaf = self.leaf_mut(path);
        let goal = Tree::goal_in(leaf, Some(leaf_block), new.logical);
        let split = last_at_or_below(leaf, new.logical).unwrap_or(0) + 1;
        let border = leaf.get(split).map_or(new.logical, |entry| entry.logical);
        let mut blocks = Vec::new();
        for _ in level..depth {
            let Some(block) = meta.take(goal) else {
                for block in blocks {
                    meta.give_back(block);
                }
                return Err(NoMeta);
            };
            blocks.push(block);
        }
        let leaf = self.leaf_mut(path);
        let moved = leaf.split_off(split.min(leaf.len()));
        let mut branch = Node {
            logical: border,
            block: blocks.pop().unwrap_or_default(),
            below: Below::Entries(moved),
        };
        for above in (level + 1..depth).rev() {
            let nodes = self.level_mut(path, above);
            let rest = nodes.split_off(path[above] + 1);
            let mut below = vec![branch];
            below.extend(rest);
            branch = Node {
                logical: border,
                block: blocks.pop().unwrap_or_default(),
                below: Below::Nodes(below),
            };
        }
        let nodes = self.level_mut(path, level);
        let at = if border > nodes[path[level]].logical {
            path[level] + 1
        } else {
            path[level]
        };
        nodes.insert(at, branch);
        Ok(())
    }

    /// What nodes stand for begins with their first entry, where that was put before all others.
    fn correct(&mut self, path: &[usize]) {
        if path.len() > self.depth() as usize {
            return;
        }
        let Some(first) = self.leaf_mut(path).first().map(|entry| entry.logical) else {
            return;
        };
        for level in (0..path.len()).rev() {
            let nodes = self.level_mut(path, level);
            nodes[path[level]].logical = nodes[path[level]].logical.min(first);
            if path[level] != 0 {
                return;
            }
        }
    }

    /// A single leaf with few entries goes back into the inode.
    fn collapse(&mut self, merging: bool, meta: &mut impl Meta) {
        if !merging {
            return;
        }
        if let Root::Nodes(nodes) = &mut self.root
            && let [node] = &mut nodes[..]
            && let Below::Entries(entries) = &mut node.below
            && entries.len() <= ROOT_ENTRIES
        {
            meta.give_back(node.block);
            self.root = Root::Entries(mem::take(entries));
            self.settle();
        }
    }

    /// Few entries lie in the inode itself.
    fn settle(&mut self) {
        if let Root::Entries(entries) = &self.root
            && entries.len() <= 2
        {
            let mut few = [Entry::default(); 2];
            few[..entries.len()].copy_from_slice(entries);
            self.root = Root::Few(entries.len() as u8, few);
        }
    }

    /// Frees everything from a block of the file on. Data is told from the end of the file.
    pub(in crate::ext4) fn cut(
        &mut self,
        from: u32,
        freed: &mut impl FnMut(u32, u32),
        meta: &mut impl Meta,
    ) {
        fn cut_entries(entries: &mut Vec<Entry>, from: u32, freed: &mut impl FnMut(u32, u32)) {
            while let Some(last) = entries.last_mut() {
                if last.end() <= from {
                    return;
                }
                let kept = from.saturating_sub(last.logical);
                freed(last.block + kept, last.blocks() - kept);
                if kept > 0 {
                    *last = last.with_blocks(kept);
                    return;
                }
                entries.pop();
            }
        }
        fn cut_nodes(
            nodes: &mut Vec<Node>,
            from: u32,
            freed: &mut impl FnMut(u32, u32),
            meta: &mut impl Meta,
        ) {
            while let Some(last) = nodes.last_mut() {
                let is_empty = match &mut last.below {
                    Below::Entries(entries) => {
                        cut_entries(entries, from, freed);
                        entries.is_empty()
                    }
                    Below::Nodes(below) => {
                        cut_nodes(below, from, freed, meta);
                        below.is_empty()
                    }
                };
                if !is_empty {
                    return;
                }
                meta.give_back(last.block);
                nodes.pop();
            }
        }
        match &mut self.root {
            Root::Few(count, entries) => {
                let mut few = entries[..usize::from(*count)].to_vec();
                cut_entries(&mut few, from, freed);
                entries[..few.len()].copy_from_slice(&few);
                *count = few.len() as u8;
            }
            Root::Entries(entries) => {
                cut_entries(entries, from, freed);
                self.settle();
            }
            Root::Nodes(nodes) => {
                cut_nodes(nodes, from, freed, meta);
                if nodes.is_empty() {
                    *self = Tree::default();
                }
            }
        }
    }
}

/// Puts an extent into a leaf: into an entry that it adjoins, or beside the others if there is room.
fn insert_in_leaf(entries: &mut Vec<Entry>, new: Entry, merging: bool, most: usize) -> bool {
    let at = last_at_or_below(entries, new.logical);
    if merging && !entries.is_empty() {
        let mut near = at.unwrap_or(0);
        let entry = entries[near];
        let mut try_append = true;
        if near + 1 < entries.len() && entry.end() < new.logical {
            near += 1;
            try_append = false;
        } else if near > 0 && new.end() < entry.logical {
            near -= 1;
        }
        let entry = entries[near];
        if try_append && entry.joins(&new) {
            entries[near] = entry.with_blocks(entry.blocks() + new.blocks());
            join(entries, near);
            return true;
        }
        if new.joins(&entry) {
            entries[near] = new.with_blocks(entry.blocks() + new.blocks());
            join(entries, near);
            return true;
        }
    }
    if entries.len() >= most {
        return false;
    }
    let at = at.map_or(0, |at| at + 1);
    entries.insert(at, new);
    if merging {
        join(entries, at);
    }
    true
}
