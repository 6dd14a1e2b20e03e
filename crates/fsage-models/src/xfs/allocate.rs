//! The order in which allocation groups are asked, and what a file asks for.
//!
//! Spec: `docs/spec/xfs.md`, sections 10 and 11.

use super::geometry::block_of_inode;
use super::space::{Purpose, Request, Space};
use super::transaction::Transaction;

/// A gap between an extent and the one before it is kept on disk if it is at most so many times as long as the extent.
const GAP: u64 = 4;

/// What a file asks for: one run for some of its blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// First block in the file.
    pub logical: u32,
    pub blocks: u32,
    pub ino: u64,
    /// The extent before: its end in the file and on disk, if it has a place.
    pub before: Option<(u32, u64)>,
    /// The extent behind, if it has a place: first block in the file and on disk.
    pub behind: Option<(u32, u64)>,
    /// There is no extent behind.
    pub is_at_end: bool,
    pub purpose: Purpose,
    /// Blocks that the whole transaction needs.
    pub total: u32,
    /// Levels of the tree of extents; 0 where all stand in the inode.
    pub levels: u32,
}

impl Space {
    /// Asks the AGs in order, from that of a block on; gives AG, start and length.
    pub fn take_from_ag(
        &mut self,
        tx: &mut Transaction,
        target: u64,
        mut request: Request,
    ) -> Option<(u32, u32, u32)> {
        let count = self.geometry.ag_count;
        let lowest = tx.lowest.unwrap_or(0);
        let (asked, near) = (self.geometry.ag_of(target), self.geometry.block_of(target));
        let first = asked.max(lowest);
        request.most = request.most.min(self.geometry.ag_blocks);
        for lowest in [0, lowest] {
            for ag in (first..count).chain(lowest..first) {
                if !self.fix(tx, ag, &mut request) {
                    continue;
                }
                tx.lowest = Some(tx.lowest.map_or(ag, |lowest| lowest.max(ag)));
                let taken = if ag == first && near != 0 {
                    self.take_near(ag, near, &request)
                } else {
                    self.take_by_size(ag, &request)
                };
                return taken.map(|(start, blocks)| (ag, start, blocks));
            }
        }
        None
    }

    /// Asks one AG, for blocks near or at a place.
    pub fn take_in_ag(
        &mut self,
        tx: &mut Transaction,
        ag: u32,
        target: u32,
        mut request: Request,
        is_exact: bool,
    ) -> Option<(u32, u32)> {
        if tx.lowest.is_some_and(|lowest| ag < lowest) || !self.fix(tx, ag, &mut request) {
            return None;
        }
        tx.lowest = Some(ag);
        if is_exact {
            self.take_exactly(ag, target, &request)
        } else {
            self.take_near(ag, target, &request)
        }
    }

    /// Blocks for a file; gives the first one and how many.
    pub fn take_for_file(&mut self, tx: &mut Transaction, wish: &Wish) -> Option<(u64, u32)> {
        let target = self.target(wish);
        let most = wish.blocks.min(self.geometry.most_usable());
        let leaves = match tx.lowest {
            Some(_) => 0,
            None => 1 + wish.levels.saturating_sub(1),
        };
        let mut request = Request {
            most,
            total: if tx.is_low { 1 } else { wish.total },
            leaves,
            ino: wish.ino,
            ..Request::exactly(1, wish.purpose)
        };
        if !tx.is_low {
            request.least = self.longest_from(self.geometry.ag_of(target), most, wish.purpose);
        }
        let mut taken = self.take_from_ag(tx, target, request);
        if taken.is_none() && request.least > 1 {
            request.least = 1;
            taken = self.take_from_ag(tx, target, request);
        }
        if taken.is_none() {
            request.total = 1;
            taken = self.take_from_ag(tx, 0, request);
            tx.is_low = true;
        }
        let (ag, start, blocks) = taken?;
        Some((self.geometry.fsb(ag, start), blocks))
    }

    /// The longest run that can be hoped for, up to `most`, in the first AG that has that much or in all.
    fn longest_from(&mut self, first: u32, most: u32, purpose: Purpose) -> u32 {
        let mut best = 0;
        for ag in (first..self.geometry.ag_count).chain(0..first) {
            self.read(ag);
            best = self.longest_usable(ag, purpose).max(best);
            if best >= most {
                return most;
            }
        }
        best.max(1)
    }

    /// Whether a block lies in the same AG as another one.
    fn is_beside(&self, block: u64, other: u64) -> bool {
        let g = &self.geometry;
        g.ag_of(block) == g.ag_of(other) && g.block_of(block) < g.ag_blocks
    }

    /// Where the blocks are wanted.
    fn target(&self, wish: &Wish) -> u64 {
        let gap_before = |end: u32| u64::from(wish.logical - end);
        if wish.is_at_end {
            return match wish.before {
                Some((end, block)) if self.is_beside(block, block - 1) => {
                    let with_gap = block + gap_before(end);
                    if self.is_beside(with_gap, block - 1) {
                        with_gap
                    } else {
                        block
                    }
                }
                _ => block_of_inode(wish.ino),
            };
        }
        let near = GAP * u64::from(wish.blocks);
        let before = wish
            .before
            .filter(|&(_, block)| self.is_beside(block, block - 1));
        let left = before.map(|(end, block)| {
            let gap = gap_before(end);
            if gap <= near && self.is_beside(block + gap, block - 1) {
                (block + gap, gap)
            } else {
                (block, 2 * gap)
            }
        });
        let right = wish.behind.map(|(logical, block)| {
            let gap = u64::from(logical - wish.logical);
            let blocks = u64::from(wish.blocks);
            let is_beside = |back: u64| {
                block
                    .checked_sub(back)
                    .is_some_and(|at| self.is_beside(at, block))
            };
            if gap <= near && is_beside(gap) {
                (block - gap, gap)
            } else if is_beside(blocks) {
                (block - blocks, 2 * gap - blocks)
            } else {
                (block, 2 * gap)
            }
        });
        match (left, right) {
            (Some((block, gap)), Some((_, other))) if gap <= other => block,
            (_, Some((block, _))) | (Some((block, _)), None) => block,
            (None, None) => block_of_inode(wish.ino),
        }
    }
}
