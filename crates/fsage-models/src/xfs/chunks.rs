//! Inodes: chunks of 64 of them, the trees that list these, and which one a new file gets.
//!
//! Spec: `docs/spec/xfs.md`, section 16. Source: `xfs_ialloc.c`.

use super::btree::{Blocks, Cursor, Limits, Record, Tree, Wanted};
use super::geometry::{CHUNK, CHUNK_BLOCKS, Geometry, PER_BLOCK};
use super::owners::{self, Kind};
use super::space::{NoBlocks, Purpose, Request, Space};
use super::transaction::{Free, Kept, Transaction};

/// Without a tree of free inodes, so many chunks beside the parent's are looked at.
const MOST_LOOKED_AT: u32 = 9;
/// Blocks of a half chunk, and the multiple at which it begins.
const HALF: u32 = 4;
/// Inodes for which one bit says that they are missing.
const PER_HOLE: u32 = 4;

/// A chunk of inodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Its first inode in the AG.
    pub first: u32,
    /// A bit for four inodes that are missing.
    pub holes: u16,
    /// A bit for each free inode; those that are missing count as free.
    pub free: u64,
}

impl Record for Chunk {
    type Key = u32;
    type Block = u32;
    const LEAF: Limits = Limits {
        most: 252,
        least: 126,
    };
    const NODE: Limits = Limits {
        most: 505,
        least: 252,
    };

    fn key(&self) -> u32 {
        self.first
    }
}

impl Chunk {
    /// The inodes that are missing.
    pub fn missing(&self) -> u64 {
        let bits = (0..CHUNK / PER_HOLE).filter(|hole| self.holes >> hole & 1 == 1);
        bits.map(|hole| 0xf << (hole * PER_HOLE)).sum()
    }

    /// Inodes that it has.
    pub fn count(&self) -> u32 {
        CHUNK - self.holes.count_ones() * PER_HOLE
    }

    /// Inodes that are free.
    pub fn free_count(&self) -> u32 {
        (self.free & !self.missing()).count_ones()
    }

    fn first_free(&self) -> u32 {
        (self.free & !self.missing()).trailing_zeros()
    }

    fn has(&self, inode: u32) -> bool {
        inode >= self.first && inode - self.first < CHUNK
    }

    /// Runs of blocks that it has: start and length.
    pub fn runs(&self) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let per_block = PER_BLOCK / PER_HOLE;
        for block in 0..CHUNK_BLOCKS {
            if self.holes >> (block * per_block) & 1 == 1 {
                continue;
            }
            let at = self.first / PER_BLOCK + block;
            match runs.last_mut() {
                Some((start, blocks)) if *start + *blocks == at => *blocks += 1,
                _ => runs.push((at, 1)),
            }
        }
        runs
    }
}

/// Where the search without a tree of free inodes ended.
#[derive(Clone, Copy, Debug)]
struct Hint {
    parent: u32,
    left: u32,
    right: u32,
}

/// The inodes of an AG.
#[derive(Clone, Debug)]
pub(super) struct Inodes {
    pub chunks: Tree<Chunk>,
    /// Those chunks that have a free inode.
    pub with_free: Option<Tree<Chunk>>,
    /// First inode of the chunk that was made last.
    pub newest: Option<u32>,
    pub count: u32,
    pub free: u32,
    hint: Option<Hint>,
}

/// Blocks for the trees of inodes.
struct TreeBlocks<'a> {
    space: &'a mut Space,
    tx: &'a mut Transaction,
    ag: u32,
    purpose: Purpose,
}

impl<'a> TreeBlocks<'a> {
    fn new(
        space: &'a mut Space,
        tx: &'a mut Transaction,
        ag: u32,
        purpose: Purpose,
    ) -> TreeBlocks<'a> {
        TreeBlocks {
            space,
            tx,
            ag,
            purpose,
        }
    }
}

impl Blocks<u32> for TreeBlocks<'_> {
    fn take(&mut self, near: u32) -> u32 {
        let request = Request::exactly(1, self.purpose);
        let taken = self
            .space
            .take_in_ag(self.tx, self.ag, near, request, false);
        let (block, _) = taken.expect("blocks for the trees of inodes are kept");
        let reserve = &mut self.space.ags[self.ag as usize].for_trees;
        if self.purpose == Purpose::FreeInodes && reserve.left > 0 {
            reserve.left -= 1;
        } else {
            self.tx.took(1);
        }
        let owner = owners::INODE_TREES;
        self.space
            .add_metadata_owner(self.ag, (block, 1), owner, Kind::Written);
        block
    }

    fn give_back(&mut self, block: u32) {
        self.tx.free_later(Free {
            ag: self.ag,
            start: block,
            blocks: 1,
            owner: Some(owners::INODE_TREES),
            kept: if self.purpose == Purpose::FreeInodes {
                Kept::Trees
            } else {
                Kept::No
            },
        });
    }
}

impl Inodes {
    /// Those of a fresh AG.
    pub fn new(geometry: &Geometry, ag: u32) -> Inodes {
        let has_free = !geometry.features.is_plain();
        let mut inodes = Inodes {
            chunks: Tree::new(3),
            with_free: has_free.then(|| Tree::new(4)),
            newest: None,
            count: 0,
            free: 0,
            hint: None,
        };
        if ag == 0 {
            // The root, and two files for a realtime section.
            let chunk = Chunk {
                first: geometry.root_chunk() * PER_BLOCK,
                holes: 0,
                free: !0b111,
            };
            inodes.chunks.put(chunk, &mut NoBlocks);
            if let Some(tree) = &mut inodes.with_free {
                tree.put(chunk, &mut NoBlocks);
            }
            inodes.newest = Some(chunk.first);
            (inodes.count, inodes.free) = (CHUNK, CHUNK - 3);
        }
        inodes
    }

    /// Those that were found on disk.
    pub fn found(
        chunks: Tree<Chunk>,
        with_free: Option<Tree<Chunk>>,
        newest: Option<u32>,
    ) -> Inodes {
        let sum = |of: fn(&Chunk) -> u32| chunks.iter().map(of).sum();
        Inodes {
            count: sum(Chunk::count),
            free: sum(Chunk::free_count),
            chunks,
            with_free,
            newest,
            hint: None,
        }
    }

    /// Blocks of the tree of chunks with free inodes.
    pub fn blocks_of_free(&self) -> u32 {
        self.with_free.as_ref().map_or(0, Tree::blocks)
    }

    /// What memory held of searches is gone.
    pub fn forget(&mut self) {
        self.hint = None;
    }

    /// Makes a chunk. Says whether there was room.
    fn make_chunk(&mut self, space: &mut Space, tx: &mut Transaction, ag: u32) -> bool {
        let g = space.geometry;
        let request = Request {
            leaves: g.inode_levels(),
            ..Request::exactly(CHUNK_BLOCKS, Purpose::Metadata)
        };
        let root = self.chunks.root_block();
        let behind = self.newest.map(|first| first / PER_BLOCK + CHUNK_BLOCKS);
        let mut taken = behind
            .filter(|behind| *behind < g.ag_length(ag))
            .and_then(|behind| {
                let slop = g.inode_align - 1;
                space.take_in_ag(tx, ag, behind, Request { slop, ..request }, true)
            });
        if taken.is_none() {
            let align = g.inode_align;
            taken = space.take_in_ag(tx, ag, root, Request { align, ..request }, false);
        }
        if taken.is_none() && !g.features.is_plain() {
            let last = g.ag_length(ag) / CHUNK_BLOCKS * CHUNK_BLOCKS - 1;
            let half = Request {
                least: HALF,
                most: HALF,
                align: HALF,
                starts: Some((g.inode_align, last)),
                ..request
            };
            taken = space.take_in_ag(tx, ag, root, half, false);
        }
        let Some((start, blocks)) = taken else {
            return false;
        };
        tx.took(blocks);
        space.add_metadata_owner(ag, (start, blocks), owners::INODES, Kind::Written);
        let inode = start * PER_BLOCK;
        let first = if blocks == CHUNK_BLOCKS {
            inode
        } else {
            inode / CHUNK * CHUNK
        };
        let there =
            ((1_u32 << (blocks * PER_BLOCK / PER_HOLE)) - 1) << ((inode - first) / PER_HOLE);
        let new = Chunk {
            first,
            holes: !(there as u16),
            free: !0,
        };
        (self.count, self.free) = (self.count + new.count(), self.free + new.count());
        space.made_inodes.add(i64::from(new.count()));
        self.newest = Some(first);
        let merged = put_or_merge(
            &mut self.chunks,
            new,
            &mut TreeBlocks::new(space, tx, ag, Purpose::Metadata),
        );
        if let Some(tree) = &mut self.with_free {
            let mut blocks = TreeBlocks::new(space, tx, ag, Purpose::FreeInodes);
            match tree.look_up(first, Wanted::Equal) {
                (cursor, true) => tree.update(&cursor, merged),
                (cursor, false) => tree.insert(cursor, merged, &mut blocks),
            }
        }
        true
    }

    /// Takes a free inode, one near the parent if that is in this AG.
    fn take_inode(
        &mut self,
        space: &mut Space,
        tx: &mut Transaction,
        ag: u32,
        parent: Option<u32>,
    ) -> u32 {
        let mut chunk = self.choose_chunk(parent);
        let at = chunk.first_free();
        chunk.free &= !(1 << at);
        if let Some(tree) = &mut self.with_free {
            if chunk.free_count() > 0 {
                tree.replace(chunk.first, chunk);
            } else {
                let mut blocks = TreeBlocks::new(space, tx, ag, Purpose::FreeInodes);
                tree.take(chunk.first, &mut blocks);
            }
        }
        self.chunks.replace(chunk.first, chunk);
        self.free -= 1;
        chunk.first + at
    }

    fn choose_chunk(&mut self, parent: Option<u32>) -> Chunk {
        let Some(tree) = &self.with_free else {
            return self.choose_without_tree(parent);
        };
        if let Some(parent) = parent {
            return nearest(tree, parent);
        }
        let newest = self
            .newest
            .and_then(|first| get(tree, first, Wanted::Equal));
        let first = || get(tree, 0, Wanted::AtLeast);
        newest.or_else(first).expect("the AG has free inodes")
    }

    fn choose_without_tree(&mut self, parent: Option<u32>) -> Chunk {
        let near = parent.and_then(|parent| self.search_beside(parent));
        let newest = || {
            self.newest
                .and_then(|first| get(&self.chunks, first, Wanted::Equal))
        };
        let newest = near.or_else(|| newest().filter(|chunk| chunk.free_count() > 0));
        let mut all = self.chunks.iter().copied();
        let first = || all.find(|chunk| chunk.free_count() > 0);
        newest.or_else(first).expect("the AG has free inodes")
    }

    /// Searches to both sides of the parent's chunk, a few chunks at a time.
    fn search_beside(&mut self, parent: u32) -> Option<Chunk> {
        let tree = &self.chunks;
        let own = get(tree, parent, Wanted::AtMost)?;
        if own.free_count() > 0 {
            return Some(own);
        }
        loop {
            let mut right = Side::new(tree, own);
            // What was never looked at begins at 0, where there is no chunk.
            let mut left = Side {
                chunk: Chunk { first: 0, ..own },
                ..right
            };
            match self.hint {
                Some(hint) if hint.parent == parent => {
                    left.go_to(tree, hint.left);
                    right.go_to(tree, hint.right);
                }
                _ => {
                    left.step(tree, false);
                    right.step(tree, true);
                }
            }
            let mut looked_at = 0;
            while looked_at < MOST_LOOKED_AT && !(left.is_done && right.is_done) {
                looked_at += 1;
                let to_left = if left.is_done || right.is_done {
                    !left.is_done
                } else {
                    // A side may begin at the parent's own chunk; the kernel reckons without signs.
                    let to_right = right.chunk.first.wrapping_sub(parent);
                    parent.wrapping_sub(left.chunk.first + CHUNK - 1) < to_right
                };
                let side = if to_left { &mut left } else { &mut right };
                if side.chunk.free_count() > 0 {
                    let found = side.chunk;
                    self.hint = Some(Hint::new(parent, &left, &right));
                    return Some(found);
                }
                side.step(tree, !to_left);
            }
            if looked_at == MOST_LOOKED_AT {
                self.hint = Some(Hint::new(parent, &left, &right));
                return None;
            }
            // Both ends: what is free lies between what was looked at before.
            self.hint.take()?;
        }
    }

    /// An inode is free again; a chunk of free ones goes.
    pub fn free_inode(&mut self, space: &mut Space, tx: &mut Transaction, ag: u32, inode: u32) {
        let (cursor, found) = self.chunks.look_up(inode, Wanted::AtMost);
        let mut chunk = *self.chunks.get(&cursor).expect("the chunk of an inode");
        debug_assert!(found && chunk.has(inode) && chunk.free >> (inode - chunk.first) & 1 == 0);
        chunk.free |= 1 << (inode - chunk.first);
        self.free += 1;
        let is_empty = chunk.free == !0;
        if is_empty {
            self.chunks.delete(
                cursor,
                &mut TreeBlocks::new(space, tx, ag, Purpose::Metadata),
            );
            (self.count, self.free) = (self.count - chunk.count(), self.free - chunk.count());
            space.made_inodes.add(-i64::from(chunk.count()));
            for (start, blocks) in chunk.runs() {
                tx.free_later(Free {
                    ag,
                    start,
                    blocks,
                    owner: Some(owners::INODES),
                    kept: Kept::No,
                });
            }
        } else {
            self.chunks.update(&cursor, chunk);
        }
        let Some(tree) = &mut self.with_free else {
            return;
        };
        let mut blocks = TreeBlocks::new(space, tx, ag, Purpose::FreeInodes);
        match tree.look_up(chunk.first, Wanted::Equal) {
            (cursor, true) if is_empty => tree.delete(cursor, &mut blocks),
            (cursor, true) => tree.update(&cursor, chunk),
            (_, false) if is_empty => {}
            (cursor, false) => tree.insert(cursor, chunk, &mut blocks),
        }
    }
}

fn get(tree: &Tree<Chunk>, inode: u32, wanted: Wanted) -> Option<Chunk> {
    let (cursor, found) = tree.look_up(inode, wanted);
    tree.get(&cursor).copied().filter(|_| found)
}

/// The chunk with a free inode that is nearest to the parent.
fn nearest(tree: &Tree<Chunk>, parent: u32) -> Chunk {
    let left = get(tree, parent, Wanted::AtMost);
    if let Some(left) = left
        && left.has(parent)
    {
        return left;
    }
    let right = get(tree, parent, Wanted::AtLeast);
    let chosen = match (left, right) {
        (Some(left), Some(right)) if parent - left.first + CHUNK - 1 > right.first - parent => {
            Some(right)
        }
        (left, right) => left.or(right),
    };
    chosen.expect("the AG has free inodes")
}

/// Puts a chunk in, or the other half of one that is there. Gives what stands there now.
fn put_or_merge(tree: &mut Tree<Chunk>, new: Chunk, blocks: &mut TreeBlocks<'_>) -> Chunk {
    match tree.look_up(new.first, Wanted::Equal) {
        (cursor, true) => {
            let old = *tree.get(&cursor).expect("a record that was found");
            let merged = Chunk {
                holes: old.holes & new.holes,
                ..old
            };
            tree.update(&cursor, merged);
            merged
        }
        (cursor, false) => {
            tree.insert(cursor, new, blocks);
            new
        }
    }
}

/// One side of the search beside the parent.
#[derive(Clone, Copy)]
struct Side {
    cursor: Cursor,
    chunk: Chunk,
    is_done: bool,
}

impl Side {
    fn new(tree: &Tree<Chunk>, own: Chunk) -> Side {
        Side {
            cursor: tree.look_up(own.first, Wanted::Equal).0,
            chunk: own,
            is_done: false,
        }
    }

    fn go_to(&mut self, tree: &Tree<Chunk>, first: u32) {
        let (cursor, found) = tree.look_up(first, Wanted::Equal);
        self.cursor = cursor;
        self.is_done = !found;
        self.take(tree);
    }

    fn step(&mut self, tree: &Tree<Chunk>, on: bool) {
        let moved = if on {
            tree.next(&mut self.cursor)
        } else {
            tree.previous(&mut self.cursor)
        };
        self.is_done = !moved;
        self.take(tree);
    }

    fn take(&mut self, tree: &Tree<Chunk>) {
        if let (false, Some(chunk)) = (self.is_done, tree.get(&self.cursor)) {
            self.chunk = *chunk;
        }
    }
}

impl Hint {
    fn new(parent: u32, left: &Side, right: &Side) -> Hint {
        Hint {
            parent,
            left: left.chunk.first,
            right: right.chunk.first,
        }
    }
}

/// Takes an inode for a new file or directory: AGs are asked from one on. `parent` is the number of the directory that
/// it is made in. Gives the number of the inode.
pub(super) fn take_inode(
    all: &mut [Inodes],
    space: &mut Space,
    tx: &mut Transaction,
    first: u32,
    parent: u64,
) -> Option<u64> {
    let g = space.geometry;
    let is_full = space.made_inodes.estimate() + u64::from(CHUNK) > g.most_inodes();
    let is_low = space.counter.estimate() < space.percent(1);
    let mut may_make = !is_full && !is_low;
    let (parent_ag, parent_inode) = g.ag_of_inode(parent);
    let chunk_blocks = g.least_chunk_blocks();
    for is_first_round in [true, false] {
        for ag in (first..g.ag_count).chain(0..first) {
            let inodes = &mut all[ag as usize];
            if inodes.free == 0 {
                if may_make {
                    space.read(ag);
                }
                let of = &space.ags[ag as usize];
                let needed = chunk_blocks + if is_first_round { g.inode_align } else { 0 };
                let longest = match of.longest() {
                    0 => u32::from(!of.list.is_empty()),
                    longest => longest,
                };
                let is_good = may_make && of.free > needed && longest >= needed;
                if !is_good || !inodes.make_chunk(space, tx, ag) {
                    continue;
                }
                tx.roll(space);
            }
            let near = (ag == parent_ag).then_some(parent_inode);
            let inode = inodes.take_inode(space, tx, ag, near);
            return Some(g.ino(ag, inode));
        }
        may_make |= is_low && !is_full;
    }
    None
}
