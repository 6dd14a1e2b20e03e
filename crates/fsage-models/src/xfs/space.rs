//! Free space of the allocation groups: trees by start and by length, the free list, what is kept for trees.
//!
//! Spec: `docs/spec/xfs.md`, sections 4 to 8.

use super::btree::{Blocks, Limits, Record, Tree, Wanted};
use super::busy::Busy;
use super::counter::{Counter, MadeInodes};
use super::geometry::Geometry;
use super::owners::{self, Kind, Owned};
use super::trace::Served;
use super::transaction::{Free, Kept, Transaction};
use crate::changes::ChangedWords;
use std::collections::VecDeque;

/// Free blocks, as they stand in the tree by start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByStart {
    pub start: u32,
    pub blocks: u32,
}

/// Free blocks, as they stand in the tree by length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByLength {
    pub start: u32,
    pub blocks: u32,
}

const FREE_LEAF: Limits = Limits {
    most: 505,
    least: 252,
};
const FREE_NODE: Limits = Limits {
    most: 336,
    least: 168,
};

impl Record for ByStart {
    type Key = u32;
    type Block = u32;
    const LEAF: Limits = FREE_LEAF;
    const NODE: Limits = FREE_NODE;

    fn key(&self) -> u32 {
        self.start
    }
}

impl Record for ByLength {
    type Key = (u32, u32);
    type Block = u32;
    const LEAF: Limits = FREE_LEAF;
    const NODE: Limits = FREE_NODE;

    fn key(&self) -> (u32, u32) {
        (self.blocks, self.start)
    }
}

/// Blocks that are kept for a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reserve {
    pub asked: u32,
    pub left: u32,
}

/// An allocation group.
#[derive(Clone, Debug)]
pub(super) struct Ag {
    pub by_start: Tree<ByStart>,
    pub by_length: Tree<ByLength>,
    pub owners: Option<Tree<Owned>>,
    /// The free list: blocks for these trees.
    pub list: VecDeque<u32>,
    /// Blocks in the trees by start and by length.
    pub free: u32,
    /// For the trees of inodes and of references.
    pub for_trees: Reserve,
    /// For the tree of owners.
    pub for_owners: Reserve,
    /// Somebody looked at it since the file system was mounted.
    pub is_read: bool,
}

impl Ag {
    /// Blocks of its trees of free space, but for the roots.
    pub fn tree_blocks(&self) -> u64 {
        u64::from(self.by_start.blocks() + self.by_length.blocks() - 2)
    }

    /// The longest run of free blocks.
    pub fn longest(&self) -> u32 {
        self.by_length.last().map_or(0, |record| record.blocks)
    }
}

/// The log: what is busy until it is on disk.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub busy: Vec<Busy>,
    /// The running transaction.
    pub running: u64,
    /// Times that it was forced to disk.
    pub forces: u64,
}

impl Log {
    /// Everything but the running transaction is on disk.
    pub fn force(&mut self) {
        self.forces += 1;
        for busy in &mut self.busy {
            busy.clear(self.running);
        }
    }
}

/// Free space.
#[derive(Clone, Debug)]
pub(super) struct Space {
    pub geometry: Geometry,
    pub ags: Vec<Ag>,
    pub log: Log,
    pub counter: Counter,
    pub made_inodes: MadeInodes,
    /// Blocks of the trees of free space, but for the roots.
    pub tree_blocks: u64,
    /// Those of them in AGs that nobody looked at since the file system was mounted: the kernel does not know them.
    unknown_tree_blocks: u64,
    /// Words of 64 blocks in which something was taken or freed.
    pub changed: ChangedWords,
    /// Requests that were served, where they are recorded.
    pub served: Option<Vec<Served>>,
}

/// The free list of an AG as a source of blocks for trees.
pub(super) struct FromList<'a> {
    list: &'a mut VecDeque<u32>,
    log: &'a mut Log,
    ag: u32,
    counted: Counted<'a>,
}

/// Where blocks of a tree are counted.
enum Counted<'a> {
    Blocks(&'a mut u64),
    Reserve(&'a mut Reserve),
}

/// A block of the free list is put to use. One that was freed since the log was forced forces it again.
fn take_from_list(list: &mut VecDeque<u32>, log: &mut Log, ag: u32) -> u32 {
    let block = list.pop_front().expect("the free list was filled before");
    match log.busy[ag as usize].freed_by(block) {
        Some(by) if by != log.running => log.force(),
        Some(_) => log.busy[ag as usize].remove(block),
        None => {}
    }
    block
}

impl Blocks<u32> for FromList<'_> {
    fn take(&mut self, _near: u32) -> u32 {
        match &mut self.counted {
            Counted::Blocks(count) => **count += 1,
            Counted::Reserve(reserve) => reserve.left = reserve.left.saturating_sub(1),
        }
        take_from_list(self.list, self.log, self.ag)
    }

    fn give_back(&mut self, block: u32) {
        match &mut self.counted {
            Counted::Blocks(count) => **count -= 1,
            Counted::Reserve(reserve) => reserve.left = (reserve.left + 1).min(reserve.asked),
        }
        self.list.push_back(block);
        let running = self.log.running;
        self.log.busy[self.ag as usize].insert(block, 1, running);
    }
}

/// What an allocation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Data,
    Metadata,
    /// A block of the tree of free inodes.
    FreeInodes,
    List,
}

/// A request for blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub least: u32,
    pub most: u32,
    pub align: u32,
    /// Blocks more that a run must have.
    pub slop: u32,
    /// Blocks that the whole transaction needs.
    pub total: u32,
    /// Blocks that must be left in the AG.
    pub leaves: u32,
    /// The first and the last block at which it may start.
    pub starts: Option<(u32, u32)>,
    pub purpose: Purpose,
    /// The inode that gets the blocks; 0 where an AG does.
    pub ino: u64,
}

impl Request {
    /// For a run of this length.
    pub fn exactly(blocks: u32, purpose: Purpose) -> Request {
        Request {
            least: blocks,
            most: blocks,
            align: 1,
            slop: 0,
            total: 0,
            leaves: 0,
            starts: None,
            purpose,
            ino: 0,
        }
    }
}

impl Space {
    /// The free space of a fresh file system.
    pub fn new(geometry: &Geometry) -> Space {
        let ags = (0..geometry.ag_count)
            .map(|ag| fresh_ag(geometry, ag))
            .collect();
        let mut space = Space {
            geometry: *geometry,
            ags,
            log: Log {
                busy: vec![Busy::default(); geometry.ag_count as usize],
                running: 1,
                forces: 0,
            },
            counter: Counter::default(),
            made_inodes: MadeInodes::default(),
            tree_blocks: 0,
            unknown_tree_blocks: 0,
            changed: ChangedWords::default(),
            served: None,
        };
        if geometry.features.has_owners() {
            space.make_first_owners();
        }
        space
    }

    /// What is in use in a fresh file system has its owners.
    fn make_first_owners(&mut self) {
        let g = self.geometry;
        for ag in 0..g.ag_count {
            let mut first = vec![
                (0, 1, owners::HEADERS),
                (1, 2, owners::AG),
                (3, 2, owners::INODE_TREES),
            ];
            first.extend([(5, 1, owners::AG), (6, 1, owners::REFERENCES)]);
            if ag == g.log_ag {
                first.push((g.log_start, g.log_blocks, owners::LOG));
            }
            first.push((g.behind_metadata(ag), g.fresh_list(ag), owners::AG));
            if ag == 0 {
                first.push((
                    g.root_chunk(),
                    super::geometry::CHUNK_BLOCKS,
                    owners::INODES,
                ));
            }
            for (start, blocks, owner) in first.into_iter().filter(|first| first.1 > 0) {
                self.add_metadata_owner(ag, (start, blocks), owner, Kind::Written);
            }
        }
    }

    /// Counters and reserves as after mounting. The trees of inodes have so many blocks in each AG.
    pub fn mount(&mut self, blocks_of_free_inodes: &[u32]) {
        let g = self.geometry;
        let mut free = 0;
        (self.tree_blocks, self.unknown_tree_blocks) = (0, 0);
        for ag in &self.ags {
            let trees = ag.tree_blocks();
            let owners = ag
                .owners
                .as_ref()
                .map_or(0, |tree| u64::from(tree.blocks() - 1));
            self.tree_blocks += trees;
            free += u64::from(ag.free) + ag.list.len() as u64 + trees + owners;
        }
        self.counter = Counter::new(free as i64);
        for ag in 0..g.ag_count {
            let of = &mut self.ags[ag as usize];
            let asked = g.kept_for_trees(ag);
            // The tree of references is its root.
            let used = if asked == 0 {
                0
            } else {
                1 + blocks_of_free_inodes[ag as usize]
            };
            of.for_trees = Reserve {
                asked,
                left: asked.saturating_sub(used),
            };
            self.counter.withhold(of.for_trees.left.into());
            let asked = g.kept_for_owners(ag);
            let used = of.owners.as_ref().map_or(0, Tree::blocks);
            of.for_owners = Reserve {
                asked,
                left: asked.saturating_sub(used),
            };
            self.counter.withhold(asked.into());
            // Headers are read for what is kept, and else when they are needed first.
            of.is_read = of.for_trees.asked > 0 || of.for_owners.asked > 0;
            if !of.is_read {
                self.unknown_tree_blocks += of.tree_blocks();
            }
        }
        self.fill_pool();
    }

    /// The headers of an AG are looked at.
    pub fn read(&mut self, ag: u32) {
        let of = &mut self.ags[ag as usize];
        if !of.is_read {
            of.is_read = true;
            self.unknown_tree_blocks -= of.tree_blocks();
        }
    }

    fn fill_pool(&mut self) {
        let pool = (self.geometry.blocks / 20).min(8192);
        self.counter.fill_pool(pool as i64, self.set_aside());
    }

    /// The file system is frozen and thawed: the log is empty, and the pool goes to the counter and back.
    pub fn freeze(&mut self) {
        self.counter.empty_pool();
        self.fill_pool();
    }

    /// Blocks that nobody may reserve: trees of free space have them, or may need them.
    pub fn set_aside(&self) -> i64 {
        let known = self.tree_blocks - self.unknown_tree_blocks;
        8 * i64::from(self.geometry.ag_count) + known as i64
    }

    /// Blocks that `statfs` calls free.
    pub fn free_blocks(&self) -> u64 {
        (self.counter.exact() - self.set_aside()).max(0) as u64
    }

    /// Reserves blocks.
    pub fn reserve(&mut self, blocks: i64, may_use_pool: bool) -> bool {
        let set_aside = self.set_aside();
        self.counter.reserve(blocks, set_aside, may_use_pool)
    }

    /// A percentage of all blocks.
    pub fn percent(&self, percent: u64) -> u64 {
        self.geometry.blocks / 100 * percent
    }

    /// The tree of owners of an AG, with the source of its blocks.
    pub fn owners(&mut self, ag: u32) -> Option<(&mut Tree<Owned>, FromList<'_>)> {
        let of = &mut self.ags[ag as usize];
        let tree = of.owners.as_mut()?;
        let blocks = FromList {
            list: &mut of.list,
            log: &mut self.log,
            ag,
            counted: Counted::Reserve(&mut of.for_owners),
        };
        Some((tree, blocks))
    }

    fn free_trees(&mut self, ag: u32) -> (&mut Tree<ByStart>, &mut Tree<ByLength>, FromList<'_>) {
        let of = &mut self.ags[ag as usize];
        let blocks = FromList {
            list: &mut of.list,
            log: &mut self.log,
            ag,
            counted: Counted::Blocks(&mut self.tree_blocks),
        };
        (&mut of.by_start, &mut of.by_length, blocks)
    }

    /// Blocks that the free list of an AG is to have.
    fn list_target(&self, ag: u32) -> u32 {
        let (of, most) = (&self.ags[ag as usize], self.geometry.free_levels());
        let target = |levels: u32, most: u32| (levels + 1).min(most) * 2 - 2;
        let owners = of.owners.as_ref();
        let owners = owners.map_or(0, |tree| {
            target(tree.levels(), self.geometry.owner_levels())
        });
        target(of.by_start.levels(), most) + target(of.by_length.levels(), most) + owners
    }

    /// Blocks of an AG that others have a right to.
    fn kept(&self, ag: u32, purpose: Purpose) -> u32 {
        let of = &self.ags[ag as usize];
        match purpose {
            Purpose::FreeInodes => of.for_owners.left,
            _ => of.for_owners.left + of.for_trees.left,
        }
    }

    /// The longest run that a request may hope for in an AG.
    pub fn longest_usable(&self, ag: u32, purpose: Purpose) -> u32 {
        let (of, target) = (&self.ags[ag as usize], self.list_target(ag));
        let listed = of.list.len() as u32;
        let longest = of.longest();
        let kept = self.kept(ag, purpose);
        let missing = target.saturating_sub(listed) + kept.saturating_sub(of.free - longest);
        if longest > missing {
            (longest - missing).min(self.geometry.most_usable())
        } else {
            u32::from(listed > 0 || longest > 0)
        }
    }

    /// Makes an AG ready for an allocation: says whether it has what is asked for.
    pub fn fix(&mut self, tx: &mut Transaction, ag: u32, request: &mut Request) -> bool {
        self.read(ag);
        let target = self.list_target(ag);
        let wanted = i64::from(request.least + request.align - 1 + request.slop);
        if i64::from(self.longest_usable(ag, request.purpose)) < wanted {
            return false;
        }
        let of = &self.ags[ag as usize];
        let available = i64::from(of.free) + i64::from((of.list.len() as u32).min(target))
            - i64::from(self.kept(ag, request.purpose))
            - i64::from(target)
            - i64::from(request.leaves);
        if available < wanted.max(request.total.into()) {
            return false;
        }
        request.most = i64::from(request.most).min(available) as u32;
        self.shorten_list(tx, ag, target);
        self.fill_list(ag, target)
    }

    /// The same for a free, which always goes on.
    pub fn fix_for_free(&mut self, tx: &mut Transaction, ag: u32) {
        self.read(ag);
        let target = self.list_target(ag);
        self.shorten_list(tx, ag, target);
        self.fill_list(ag, target);
    }

    fn shorten_list(&mut self, tx: &mut Transaction, ag: u32, target: u32) {
        let list = &mut self.ags[ag as usize].list;
        while list.len() > target as usize {
            let block = list.pop_front().expect("it is longer than its target");
            tx.free_from_list_later(ag, block);
        }
    }

    fn fill_list(&mut self, ag: u32, target: u32) -> bool {
        loop {
            let listed = self.ags[ag as usize].list.len() as u32;
            if listed >= target {
                return true;
            }
            let request = Request {
                least: 1,
                ..Request::exactly(target - listed, Purpose::List)
            };
            let Some((start, blocks)) = self.take_by_size(ag, &request) else {
                return false;
            };
            self.add_metadata_owner(ag, (start, blocks), owners::AG, Kind::Written);
            self.ags[ag as usize].list.extend(start..start + blocks);
        }
    }

    /// A block of the free list serves a small request.
    pub fn take_from_list(&mut self, ag: u32) -> u32 {
        let block = take_from_list(&mut self.ags[ag as usize].list, &mut self.log, ag);
        self.remove_owner(ag, block, 1);
        block
    }

    fn mark(&mut self, ag: u32, start: u32, blocks: u32) {
        let first = u64::from(ag) * u64::from(self.geometry.ag_blocks) + u64::from(start);
        let last = first + u64::from(blocks) - 1;
        self.changed
            .mark(first as usize / 64..last as usize / 64 + 1);
    }

    /// Takes blocks out of a run of free ones.
    pub fn take_out(&mut self, ag: u32, run: ByStart, start: u32, blocks: u32) {
        self.mark(ag, start, blocks);
        self.ags[ag as usize].free -= blocks;
        let (by_start, by_length, mut source) = self.free_trees(ag);
        let (end, run_end) = (start + blocks, run.start + run.blocks);
        let left = ByStart {
            start: run.start,
            blocks: start - run.start,
        };
        let right = ByStart {
            start: end,
            blocks: run_end - end,
        };
        by_length.take((run.blocks, run.start), &mut source);
        for rest in [left, right].into_iter().filter(|rest| rest.blocks > 0) {
            by_length.put(ByLength::from(rest), &mut source);
        }
        let (cursor, found) = by_start.look_up(run.start, Wanted::Equal);
        debug_assert!(found, "{run:?} stands in the tree by start");
        match (left.blocks > 0, right.blocks > 0) {
            (false, false) => by_start.delete(cursor, &mut source),
            (true, false) => by_start.update(&cursor, left),
            (false, true) => by_start.update(&cursor, right),
            (true, true) => {
                by_start.update(&cursor, left);
                by_start.put(right, &mut source);
            }
        }
    }

    /// Puts blocks back into the trees of free space.
    pub fn put_back(&mut self, ag: u32, start: u32, blocks: u32) {
        self.mark(ag, start, blocks);
        self.ags[ag as usize].free += blocks;
        let (by_start, by_length, mut source) = self.free_trees(ag);
        let (mut cursor, found) = by_start.look_up(start, Wanted::AtMost);
        let left = found.then(|| by_start.get(&cursor).copied()).flatten();
        debug_assert!(
            left.is_none_or(|left| left.start + left.blocks <= start),
            "{start}+{blocks} in {ag}"
        );
        let left = left.filter(|left| left.start + left.blocks == start);
        let left_cursor = cursor;
        let right = by_start
            .next(&mut cursor)
            .then(|| by_start.get(&cursor).copied())
            .flatten();
        debug_assert!(
            right.is_none_or(|right| right.start >= start + blocks),
            "{start}+{blocks} in {ag}"
        );
        let right = right.filter(|right| right.start == start + blocks);
        let merged = ByStart {
            start: left.map_or(start, |left| left.start),
            blocks: blocks
                + left.map_or(0, |left| left.blocks)
                + right.map_or(0, |right| right.blocks),
        };
        for gone in [left, right].into_iter().flatten() {
            by_length.take((gone.blocks, gone.start), &mut source);
        }
        match (left, right) {
            (Some(left), Some(_)) => {
                by_start.delete(cursor, &mut source);
                by_start.replace(left.start, merged);
            }
            (Some(_), None) => by_start.update(&left_cursor, merged),
            (None, Some(_)) => by_start.update(&cursor, merged),
            (None, None) => by_start.insert(cursor, merged, &mut source),
        }
        by_length.put(ByLength::from(merged), &mut source);
    }

    /// Frees blocks that were in use.
    pub fn free(&mut self, tx: &mut Transaction, free: Free) {
        let Free {
            ag,
            start,
            blocks,
            owner,
            kept,
        } = free;
        self.fix_for_free(tx, ag);
        if owner.is_some() {
            self.remove_owner(ag, start, blocks);
        }
        self.put_back(ag, start, blocks);
        let mut to_counter = blocks;
        if kept == Kept::Trees {
            let reserve = &mut self.ags[ag as usize].for_trees;
            let back = blocks.min(reserve.asked - reserve.left);
            reserve.left += back;
            to_counter -= back;
        }
        tx.freed(to_counter);
        let running = self.log.running;
        self.log.busy[ag as usize].insert(start, blocks, running);
    }
}

impl From<ByStart> for ByLength {
    fn from(run: ByStart) -> ByLength {
        ByLength {
            start: run.start,
            blocks: run.blocks,
        }
    }
}

impl From<ByLength> for ByStart {
    fn from(run: ByLength) -> ByStart {
        ByStart {
            start: run.start,
            blocks: run.blocks,
        }
    }
}

/// An AG as `mkfs.xfs` leaves it.
fn fresh_ag(g: &Geometry, ag: u32) -> Ag {
    let list = g.behind_metadata(ag)..g.behind_metadata(ag) + g.fresh_list(ag);
    let length = g.ag_length(ag);
    let mut runs = vec![(list.end, length)];
    if ag == 0 {
        let chunk = g.root_chunk();
        runs = vec![
            (list.end, chunk),
            (chunk + super::geometry::CHUNK_BLOCKS, length),
        ];
    }
    let (mut by_start, mut by_length) = (Tree::new(1), Tree::new(2));
    let mut free = 0;
    for (start, end) in runs.into_iter().filter(|(start, end)| start < end) {
        let run = ByStart {
            start,
            blocks: end - start,
        };
        free += run.blocks;
        by_start.put(run, &mut NoBlocks);
        by_length.put(ByLength::from(run), &mut NoBlocks);
    }
    Ag {
        by_start,
        by_length,
        owners: g.features.has_owners().then(|| Tree::new(5)),
        list: list.collect(),
        free,
        for_trees: Reserve::default(),
        for_owners: Reserve::default(),
        is_read: false,
    }
}

/// The trees of a fresh file system have one block each.
pub(super) struct NoBlocks;

impl Blocks<u32> for NoBlocks {
    fn take(&mut self, _near: u32) -> u32 {
        unreachable!("a few records fit into one block")
    }

    fn give_back(&mut self, _block: u32) {}
}
