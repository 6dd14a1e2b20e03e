//! Transactions, and what they put off: frees and changes of owners, in groups that are run at the end.
//!
//! Spec: `docs/spec/xfs.md`, sections 5, 10 and 25.

use super::owners::Change;
use super::space::Space;
use std::collections::VecDeque;

/// A group holds so many operations.
const MOST_IN_GROUP: usize = 16;

/// Blocks that are to be freed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Free {
    pub ag: u32,
    pub start: u32,
    pub blocks: u32,
    /// Of metadata: its owner, which goes with it.
    pub owner: Option<i64>,
    pub kept: Kept,
}

/// Which blocks that are kept for trees a block is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// None of them.
    No,
    /// Those for the trees of inodes and references.
    Trees,
}

/// Operations of one kind.
#[derive(Clone, Debug)]
enum Group {
    Frees(Vec<Free>),
    /// Blocks that the free list gives back: AG and block.
    FromList(Vec<(u32, u32)>),
    Owners(Vec<Change>),
}

/// A transaction.
#[derive(Clone, Debug, Default)]
pub(super) struct Transaction {
    /// The AG below which nothing may be asked for.
    pub lowest: Option<u32>,
    /// Hardly anything was found: it asks for single blocks from now on.
    pub is_low: bool,
    /// Blocks that were reserved, and not taken yet.
    reserved: i64,
    /// Blocks that were freed.
    freed: i64,
    groups: VecDeque<Group>,
}

impl Transaction {
    /// Begins one with so many blocks reserved.
    pub fn begin(space: &mut Space, reserved: i64) -> Transaction {
        space.log.running += 1;
        Transaction {
            reserved,
            ..Transaction::default()
        }
    }

    /// Blocks were taken for metadata out of what was reserved.
    pub fn took(&mut self, blocks: u32) {
        self.reserved -= i64::from(blocks);
    }

    /// Blocks of metadata were freed.
    pub fn freed(&mut self, blocks: u32) {
        self.freed += i64::from(blocks);
    }

    /// Puts a free off.
    pub fn free_later(&mut self, free: Free) {
        if let Some(Group::Frees(frees)) = self.groups.back_mut()
            && frees.len() < MOST_IN_GROUP
        {
            frees.push(free);
            return;
        }
        self.groups.push_back(Group::Frees(vec![free]));
    }

    /// Puts off that the free list gives a block back.
    pub fn free_from_list_later(&mut self, ag: u32, block: u32) {
        if let Some(Group::FromList(blocks)) = self.groups.back_mut()
            && blocks.len() < MOST_IN_GROUP
        {
            blocks.push((ag, block));
            return;
        }
        self.groups.push_back(Group::FromList(vec![(ag, block)]));
    }

    /// Puts off a change of owners.
    pub fn change_owner_later(&mut self, change: Change) {
        if let Some(Group::Owners(changes)) = self.groups.back_mut()
            && changes.len() < MOST_IN_GROUP
        {
            changes.push(change);
            return;
        }
        self.groups.push_back(Group::Owners(vec![change]));
    }

    /// What was done so far is committed; what was reserved and what was put off goes on.
    pub fn roll(&mut self, space: &mut Space) {
        space.counter.settle(std::mem::take(&mut self.freed));
        self.lowest = None;
        space.log.running += 1;
    }

    /// Runs what was put off.
    pub fn run_groups(&mut self, space: &mut Space) {
        while let Some(group) = self.groups.pop_front() {
            self.roll(space);
            let waiting = std::mem::take(&mut self.groups);
            match group {
                Group::Frees(mut frees) => {
                    frees.sort_by_key(|free| free.ag);
                    for free in frees {
                        space.free(self, free);
                    }
                }
                Group::FromList(blocks) => {
                    for (ag, block) in blocks {
                        space.remove_owner(ag, block, 1);
                        space.put_back(ag, block, 1);
                    }
                }
                Group::Owners(mut changes) => {
                    changes.sort_by_key(|change| change.ag);
                    let mut fixed = None;
                    for change in changes {
                        if fixed.replace(change.ag) != Some(change.ag) {
                            space.fix_for_free(self, change.ag);
                        }
                        space.change_owner(&change);
                    }
                }
            }
            self.groups.extend(waiting);
        }
    }

    /// Runs what was put off, and ends.
    pub fn commit(mut self, space: &mut Space) {
        self.run_groups(space);
        space.counter.settle(self.reserved + self.freed);
        space.log.running += 1;
    }
}
