//! The extents of an inode as they change, and the tree that holds them once they do not fit into the inode.
//!
//! Spec: `docs/spec/xfs.md`, sections 13, 18 and 25. Source: `xfs_bmap.c`.

use super::btree::{Blocks, Tree};
use super::geometry::block_of_inode;
use super::inode::{Extent, Inode, Kind, MOST_BLOCKS, Mapped};
use super::owners::{self, Change, Owned, What};
use super::space::{Purpose, Request, Space};
use super::transaction::{Free, Kept, Transaction};
use std::ops::Range;

/// Extents that an inode holds, and entries of the root of a tree in it.
pub(super) fn room(ino: u64, root_ino: u64) -> (usize, usize) {
    if ino == root_ino { (21, 20) } else { (12, 11) }
}

/// Most blocks of a tree of extents that so many blocks may need.
pub(super) fn worst_tree(blocks: u32) -> u32 {
    let (mut blocks, mut sum) = (blocks, 0);
    for level in 0..5 {
        blocks = blocks.div_ceil(251);
        sum += blocks;
        if blocks == 1 {
            return sum + 4 - level;
        }
    }
    sum
}

/// Blocks for the tree of extents of an inode.
struct TreeBlocks<'a> {
    space: &'a mut Space,
    tx: &'a mut Transaction,
    ino: u64,
    levels: u32,
    /// They were reserved when data was delayed.
    are_reserved: bool,
    taken: u32,
}

impl TreeBlocks<'_> {
    fn take_near(&mut self, near: u64, leaves: u32) -> Option<u64> {
        let request = Request {
            leaves,
            ino: self.ino,
            ..Request::exactly(1, Purpose::Metadata)
        };
        let (ag, block, _) = self.space.take_from_ag(self.tx, near, request)?;
        if !self.are_reserved {
            self.tx.took(1);
        }
        self.taken += 1;
        let kind = owners::Kind::Tree;
        self.space
            .add_metadata_owner(ag, (block, 1), self.ino as i64, kind);
        Some(self.space.geometry.fsb(ag, block))
    }
}

impl Blocks<u64> for TreeBlocks<'_> {
    fn take(&mut self, near: u64) -> u64 {
        let leaves = if self.tx.lowest.is_some() {
            0
        } else {
            self.levels
        };
        let taken = self.take_near(near, leaves);
        let taken = taken.or_else(|| self.take_near(0, 0));
        taken.expect("blocks for trees of extents are set aside")
    }

    fn give_back(&mut self, block: u64) {
        let g = self.space.geometry;
        self.tx.free_later(Free {
            ag: g.ag_of(block),
            start: g.block_of(block),
            blocks: 1,
            owner: Some(self.ino as i64),
            kept: Kept::No,
        });
    }
}

/// The extents of an inode in a transaction that changes them.
pub(super) struct Fork<'a> {
    pub inode: &'a mut Inode,
    pub space: &'a mut Space,
    pub tx: &'a mut Transaction,
    /// Blocks of the tree are reserved since data was delayed.
    pub was_delayed: bool,
    /// Blocks of the tree that were taken.
    pub taken: u32,
}

impl Fork<'_> {
    /// Changes the tree, if there is one.
    fn change_tree(&mut self, change: impl FnOnce(&mut Tree<Mapped>, &mut TreeBlocks<'_>)) {
        let Some(tree) = &mut self.inode.tree else {
            return;
        };
        let mut blocks = TreeBlocks {
            levels: tree.levels(),
            space: &mut *self.space,
            tx: &mut *self.tx,
            ino: self.inode.ino,
            are_reserved: self.was_delayed,
            taken: 0,
        };
        change(tree, &mut blocks);
        self.taken += blocks.taken;
    }

    /// Extents came together: the record of one is gone.
    fn drop_record(&mut self, logical: u32) {
        self.change_tree(|tree, blocks| tree.take(logical, blocks));
    }

    fn put_record(&mut self, logical: u32) {
        self.change_tree(|tree, blocks| tree.put(Mapped(logical), blocks));
    }

    fn put_record_before(&mut self, next: u32, logical: u32) {
        self.change_tree(|tree, blocks| tree.put_before(next, Mapped(logical), blocks));
    }

    fn move_record(&mut self, from: u32, to: u32) {
        self.change_tree(|tree, _| tree.replace(from, Mapped(to)));
    }

    /// The extent before one, if that goes on where it ends.
    fn left_of(&self, at: usize, extent: &Extent) -> Option<Extent> {
        let left = *self.inode.extents.get(at.checked_sub(1)?)?;
        left.is_continued_by(extent).then_some(left)
    }

    fn right_of(&self, at: usize, extent: &Extent) -> Option<Extent> {
        let right = *self.inode.extents.get(at)?;
        extent.is_continued_by(&right).then_some(right)
    }

    /// Puts in a real extent between those at `at - 1` and `at`, and merges it with these.
    fn put(&mut self, at: usize, new: Extent) {
        let left = self.left_of(at, &new);
        let right = self.right_of(at, &new);
        let both = left.zip(right);
        let fits =
            both.is_none_or(|(left, right)| left.blocks + new.blocks + right.blocks <= MOST_BLOCKS);
        match (left, right.filter(|_| fits)) {
            (Some(left), Some(right)) => {
                self.drop_record(right.logical);
                self.inode.extents.remove(at);
                self.inode
                    .extents
                    .set(at - 1, left.longer(new.blocks + right.blocks));
            }
            (Some(left), None) => self.inode.extents.set(at - 1, left.longer(new.blocks)),
            (None, Some(right)) => {
                self.move_record(right.logical, new.logical);
                self.inode.extents.set(at, new.longer(right.blocks));
            }
            (None, None) => {
                self.put_record(new.logical);
                self.inode.extents.insert(at, new);
            }
        }
    }

    /// Blocks of a delayed extent get a place, from one of them on. What lies before and behind them stays delayed.
    pub fn place_delayed(&mut self, at: usize, logical: u32, start: u64, blocks: u32) {
        let old = self.inode.extents[at];
        self.inode.extents.remove(at);
        let new = Extent::real(logical, start, blocks, false);
        let (before, behind) = (logical - old.logical, old.end() - new.end());
        self.put(at, new);
        self.change_owner(&new, What::Add);
        let left = old.reserved().saturating_sub(self.taken);
        let reserved = |rest: u32| {
            let worst = if rest > 0 { worst_tree(rest) } else { 0 };
            // Only where both ends stay may they need more than was reserved.
            if before > 0 && behind > 0 {
                worst
            } else {
                worst.min(left)
            }
        };
        for (from, rest) in [(old.logical, before), (new.end(), behind)] {
            if rest > 0 {
                let at = self.inode.extents.at(from);
                let rest = Extent::delayed(from, rest, reserved(rest));
                self.inode.extents.insert(at, rest);
            }
        }
        self.settle();
        let still = reserved(before) + reserved(behind) + self.taken;
        self.space
            .counter
            .settle(i64::from(old.reserved()) - i64::from(still));
    }

    /// A hole gets a place.
    pub fn place_hole(&mut self, extent: Extent) {
        let at = self.inode.extents.at(extent.logical);
        self.put(at, extent);
        self.change_owner(&extent, What::Add);
        self.settle();
    }

    /// Blocks of an unwritten extent were written.
    pub fn mark_written(&mut self, range: Range<u32>) {
        let at = self.inode.extents.at(range.start);
        let whole = self.inode.extents[at];
        let piece = whole.from(range.start).until(range.end).written();
        let (is_front, is_end) = (whole.logical == piece.logical, whole.end() == piece.end());
        let left = self.left_of(at, &piece).filter(|_| is_front);
        let right = self.right_of(at + 1, &piece).filter(|_| is_end);
        match (is_front, is_end, left, right) {
            (true, true, Some(left), Some(right))
                if left.blocks + piece.blocks + right.blocks <= MOST_BLOCKS =>
            {
                self.drop_record(right.logical);
                self.drop_record(whole.logical);
                self.inode.extents.remove(at);
                self.inode.extents.remove(at);
                self.inode
                    .extents
                    .set(at - 1, left.longer(piece.blocks + right.blocks));
            }
            (true, true, Some(left), _) => {
                self.drop_record(whole.logical);
                self.inode.extents.remove(at);
                self.inode.extents.set(at - 1, left.longer(piece.blocks));
            }
            (true, true, None, Some(right)) => {
                self.drop_record(right.logical);
                self.inode.extents.remove(at);
                self.inode.extents.set(at, piece.longer(right.blocks));
            }
            (true, true, None, None) => self.inode.extents.set(at, piece),
            (true, false, left, _) => {
                self.move_record(whole.logical, piece.end());
                self.inode.extents.set(at, whole.from(piece.end()));
                if let Some(left) = left {
                    self.inode.extents.set(at - 1, left.longer(piece.blocks));
                } else {
                    self.put_record_before(piece.end(), piece.logical);
                    self.inode.extents.insert(at, piece);
                }
            }
            (false, true, _, right) => {
                self.inode.extents.set(at, whole.until(piece.logical));
                if let Some(right) = right {
                    self.move_record(right.logical, piece.logical);
                    self.inode.extents.set(at + 1, piece.longer(right.blocks));
                } else {
                    self.put_record(piece.logical);
                    self.inode.extents.insert(at + 1, piece);
                }
            }
            (false, false, ..) => {
                self.move_record(whole.logical, piece.end());
                self.put_record_before(piece.end(), whole.logical);
                self.put_record(piece.logical);
                self.inode.extents.set(at, whole.until(piece.logical));
                self.inode.extents.insert(at + 1, piece);
                self.inode.extents.insert(at + 2, whole.from(piece.end()));
            }
        }
        self.change_owner(&piece, What::Convert);
        self.settle();
    }

    /// Takes blocks out of a real extent, and frees them.
    pub fn remove(&mut self, at: usize, range: Range<u32>) {
        let whole = self.inode.extents[at];
        let gone = whole.from(range.start).until(range.end);
        match (whole.logical == gone.logical, whole.end() == gone.end()) {
            (true, true) => {
                self.drop_record(whole.logical);
                self.inode.extents.remove(at);
            }
            (true, false) => {
                self.move_record(whole.logical, gone.end());
                self.inode.extents.set(at, whole.from(gone.end()));
            }
            (false, true) => self.inode.extents.set(at, whole.until(gone.logical)),
            (false, false) => {
                self.change_tree(|tree, blocks| {
                    tree.put_behind(whole.logical, Mapped(gone.end()), blocks);
                });
                self.inode.extents.set(at, whole.until(gone.logical));
                self.inode.extents.insert(at + 1, whole.from(gone.end()));
            }
        }
        self.change_owner(&gone, What::Remove);
        let g = self.space.geometry;
        self.tx.free_later(Free {
            ag: g.ag_of(gone.start()),
            start: g.block_of(gone.start()),
            blocks: gone.blocks,
            owner: None,
            kept: Kept::No,
        });
    }

    /// Who owns the blocks of an extent changes, at the end.
    fn change_owner(&mut self, extent: &Extent, what: What) {
        let g = self.space.geometry;
        if !g.features.has_owners() {
            return;
        }
        let kind = if extent.state() == super::inode::State::Unwritten {
            owners::Kind::Unwritten
        } else {
            owners::Kind::Written
        };
        self.tx.change_owner_later(Change {
            ag: g.ag_of(extent.start()),
            owned: Owned {
                start: g.block_of(extent.start()),
                blocks: extent.blocks,
                owner: self.inode.ino as i64,
                offset: extent.logical,
                kind,
            },
            what,
        });
    }

    /// Extents that no longer fit into the inode get a tree; those that fit again give it up.
    pub fn settle(&mut self) {
        let (most, most_in_root) = room(self.inode.ino, self.space.geometry.root_ino());
        let real = || self.inode.extents.iter().filter(|extent| extent.is_real());
        let fits = self.inode.extents.len() <= most || real().take(most + 1).count() <= most;
        if fits == self.inode.tree.is_none() {
            return;
        }
        if !fits {
            let near = block_of_inode(self.inode.ino);
            let records: Vec<Mapped> = real().map(|extent| Mapped(extent.logical)).collect();
            let mut blocks = TreeBlocks {
                levels: 0,
                space: &mut *self.space,
                tx: &mut *self.tx,
                ino: self.inode.ino,
                are_reserved: self.was_delayed,
                taken: 0,
            };
            let leaf = blocks
                .take_near(near, 0)
                .unwrap_or_else(|| blocks.take(near));
            self.taken += 1;
            self.inode.tree = Some(Box::new(Tree::in_inode(most_in_root, leaf, records)));
        } else if let Some(tree) = self.inode.tree.take() {
            for block in tree.all_blocks() {
                let mut blocks = TreeBlocks {
                    levels: 0,
                    space: &mut *self.space,
                    tx: &mut *self.tx,
                    ino: self.inode.ino,
                    are_reserved: false,
                    taken: 0,
                };
                blocks.give_back(block);
            }
        }
    }

    /// Levels of the tree; 0 where all extents stand in the inode.
    pub fn levels(&self) -> u32 {
        self.inode.tree.as_ref().map_or(0, |tree| tree.levels())
    }

    /// The real extent before a block: its end in the file and on disk.
    pub fn before(&self, block: u32) -> Option<(u32, u64)> {
        let extents = &self.inode.extents;
        let at = extents.partition_point(|extent| extent.logical < block);
        let before = extents.get(at.checked_sub(1)?)?;
        let is_real = before.is_real() && before.end() <= block;
        is_real.then(|| (before.end(), before.start() + u64::from(before.blocks)))
    }

    /// Whether this is the inode of a file or a link, whose blocks hold data.
    pub fn purpose(&self) -> Purpose {
        if self.inode.kind == Kind::File {
            Purpose::Data
        } else {
            Purpose::Metadata
        }
    }
}
