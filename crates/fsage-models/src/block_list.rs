//! Where the blocks of a file lie: runs of blocks that are contiguous in the file and on disk.
//!
//! A list is 16 bytes. One run stands inline; more lie in a pool that all files of a file system share, in
//! pieces of a few sizes, so that a million fragmented files cost 16 bytes a run and no allocator call.

/// A run of blocks, contiguous in the file and on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRun {
    /// First logical block.
    pub lbn: u32,
    /// Blocks; the last one may be a fragment.
    pub blocks: u32,
    /// Address of the first block, in fragments.
    pub address: u64,
}

impl BlockRun {
    /// Logical block after the run.
    pub fn end(&self) -> u32 {
        self.lbn + self.blocks
    }

    /// The run without its first blocks.
    fn without(self, blocks: u32, frag: u64) -> BlockRun {
        BlockRun {
            lbn: self.lbn + blocks,
            blocks: self.blocks - blocks,
            address: self.address + u64::from(blocks) * frag,
        }
    }

    /// Whether `next` goes on where this run ends, in the file and on disk.
    fn continues_in(&self, next: &BlockRun, frag: u64) -> bool {
        self.end() == next.lbn && self.address + u64::from(self.blocks) * frag == next.address
    }
}

/// Up to four runs, joined as they come: what a new run leaves of its neighborhood.
#[derive(Default)]
struct Pieces {
    runs: [BlockRun; 4],
    count: usize,
}

impl Pieces {
    fn push(&mut self, run: BlockRun, frag: u64) {
        if let Some(last) = self.count.checked_sub(1)
            && self.runs[last].continues_in(&run, frag)
        {
            self.runs[last].blocks += run.blocks;
        } else {
            self.runs[self.count] = run;
            self.count += 1;
        }
    }

    fn as_slice(&self) -> &[BlockRun] {
        &self.runs[..self.count]
    }
}

/// The runs of one file, ascending and maximal: no two of them could be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BlockList {
    /// One run: `lbn | blocks << 32`. More: where they lie in the pool.
    low: u64,
    /// `address | 1 << COUNT_SHIFT` for one run, `count << COUNT_SHIFT` for more.
    high: u64,
}

const COUNT_SHIFT: u32 = 36;
const ADDRESS: u64 = (1 << COUNT_SHIFT) - 1;

/// Sizes of pool pieces for 2, 3, 4, ... runs: steps of at most a half.
const CLASSES: [usize; 52] = {
    let mut classes = [0; 52];
    let (mut i, mut size) = (0, 2);
    while i < classes.len() {
        classes[i] = size;
        classes[i + 1] = size + size / 2;
        size *= 2;
        i += 2;
    }
    classes
};

fn class_of(count: usize) -> usize {
    CLASSES.partition_point(|&size| size < count)
}

/// Runs of all files with more than one.
#[derive(Clone, Debug, Default)]
pub struct RunPool {
    runs: Vec<BlockRun>,
    free: Vec<Vec<u64>>,
}

impl RunPool {
    fn allocate(&mut self, class: usize) -> u64 {
        if let Some(at) = self.free.get_mut(class).and_then(Vec::pop) {
            return at;
        }
        let at = self.runs.len() as u64;
        let end = self.runs.len() + CLASSES[class];
        self.runs.resize(end, BlockRun::default());
        at
    }

    fn release(&mut self, class: usize, at: u64) {
        if self.free.len() <= class {
            self.free.resize(class + 1, Vec::new());
        }
        self.free[class].push(at);
    }
}

impl BlockList {
    fn one(run: BlockRun) -> BlockList {
        BlockList {
            low: u64::from(run.lbn) | u64::from(run.blocks) << 32,
            high: run.address | 1 << COUNT_SHIFT,
        }
    }

    fn inline_run(self) -> BlockRun {
        BlockRun {
            lbn: self.low as u32,
            blocks: (self.low >> 32) as u32,
            address: self.high & ADDRESS,
        }
    }

    /// Number of runs.
    pub fn len(self) -> usize {
        (self.high >> COUNT_SHIFT) as usize
    }

    /// Run number `i`.
    #[inline]
    pub fn get(self, pool: &RunPool, i: usize) -> BlockRun {
        if self.len() == 1 {
            self.inline_run()
        } else {
            pool.runs[self.low as usize + i]
        }
    }

    /// All runs, ascending.
    pub fn iter(self, pool: &RunPool) -> impl Iterator<Item = BlockRun> {
        (0..self.len()).map(move |i| self.get(pool, i))
    }

    #[inline]
    fn last(self, pool: &RunPool) -> Option<BlockRun> {
        let n = self.len();
        (n > 0).then(|| self.get(pool, n - 1))
    }

    /// The block behind the last one.
    #[inline]
    pub fn end(self, pool: &RunPool) -> u32 {
        self.last(pool).map_or(0, |run| run.end())
    }

    /// Index of the first run that ends after `lbn`.
    fn search(self, pool: &RunPool, lbn: u32) -> usize {
        match self.len() {
            0 => 0,
            1 => usize::from(self.inline_run().end() <= lbn),
            n => {
                let at = self.low as usize;
                pool.runs[at..at + n].partition_point(|run| run.end() <= lbn)
            }
        }
    }

    /// Address of a block; 0 for a hole.
    #[inline]
    pub fn address(self, pool: &RunPool, lbn: u32, frag: u64) -> u64 {
        let Some(last) = self.last(pool) else {
            return 0;
        };
        if lbn >= last.end() {
            return 0;
        }
        let run = if lbn >= last.lbn {
            last
        } else {
            self.get(pool, self.search(pool, lbn))
        };
        if lbn < run.lbn {
            0
        } else {
            run.address + u64::from(lbn - run.lbn) * frag
        }
    }

    /// The last block before `lbn` that the list has, and its address.
    pub fn last_before(self, pool: &RunPool, lbn: u32, frag: u64) -> Option<(u32, u64)> {
        let i = self.search(pool, lbn);
        let run = if i < self.len() && self.get(pool, i).lbn < lbn {
            self.get(pool, i)
        } else {
            self.get(pool, i.checked_sub(1)?)
        };
        let found = run.end().min(lbn) - 1;
        Some((found, run.address + u64::from(found - run.lbn) * frag))
    }

    /// Blocks directly after `lbn` that continue it contiguously.
    pub fn contiguous_after(self, pool: &RunPool, lbn: u32) -> u32 {
        let i = self.search(pool, lbn);
        if i < self.len() {
            self.get(pool, i).end() - 1 - lbn
        } else {
            0
        }
    }

    /// Puts `blocks` blocks at `address` in place of whatever the list has for them.
    #[inline]
    pub fn set(&mut self, pool: &mut RunPool, lbn: u32, blocks: u32, address: u64, frag: u64) {
        let new = BlockRun {
            lbn,
            blocks,
            address,
        };
        match self.last(pool) {
            None => *self = BlockList::one(new),
            // The sequential writer: one more block behind the last one.
            Some(last) if last.continues_in(&new, frag) => {
                let longer = BlockRun {
                    blocks: last.blocks + blocks,
                    ..last
                };
                self.put(pool, self.len() - 1, longer);
            }
            Some(last) if lbn >= last.end() => {
                let n = self.len();
                self.resize(pool, n + 1);
                self.put(pool, n, new);
            }
            Some(_) => self.replace(pool, new, frag),
        }
    }

    fn put(&mut self, pool: &mut RunPool, i: usize, run: BlockRun) {
        if self.len() == 1 {
            *self = BlockList::one(run);
        } else {
            pool.runs[self.low as usize + i] = run;
        }
    }

    /// Changes the number of runs; what fits is kept.
    fn resize(&mut self, pool: &mut RunPool, count: usize) {
        let old = self.len();
        if count == old {
            return;
        }
        let first = (old > 0).then(|| self.get(pool, 0));
        let release = |list: BlockList, pool: &mut RunPool| {
            if old > 1 {
                pool.release(class_of(old), list.low);
            }
        };
        match (count, first) {
            (0, _) => {
                release(*self, pool);
                *self = BlockList::default();
            }
            (1, Some(first)) => {
                release(*self, pool);
                *self = BlockList::one(first);
            }
            (1, None) => unreachable!("an empty list becomes one run through `set`"),
            _ => {
                let class = class_of(count);
                let at = if old > 1 && class_of(old) == class {
                    self.low
                } else {
                    let at = pool.allocate(class);
                    for i in 0..old.min(count) {
                        pool.runs[at as usize + i] = self.get(pool, i);
                    }
                    release(*self, pool);
                    at
                };
                self.low = at;
                self.high = (count as u64) << COUNT_SHIFT;
            }
        }
    }

    /// The general case of `set`: cuts what overlaps, puts the run in, joins neighbors.
    fn replace(&mut self, pool: &mut RunPool, new: BlockRun, frag: u64) {
        let first = self.search(pool, new.lbn);
        // With the run before, so that joining is the same everywhere.
        let from = first.saturating_sub(1);
        let mut pieces = Pieces::default();
        if from < first {
            pieces.push(self.get(pool, from), frag);
        }
        let mut to = first;
        let mut tail = None;
        while to < self.len() {
            let run = self.get(pool, to);
            if run.lbn > new.end() {
                break;
            }
            if run.lbn < new.lbn {
                let head = BlockRun {
                    blocks: new.lbn - run.lbn,
                    ..run
                };
                pieces.push(head, frag);
            }
            if run.end() > new.end() {
                tail = Some(run.without(new.end().max(run.lbn) - run.lbn, frag));
            }
            to += 1;
        }
        pieces.push(new, frag);
        if let Some(tail) = tail {
            pieces.push(tail, frag);
        }
        self.splice(pool, from, to, pieces.as_slice());
    }

    fn splice(&mut self, pool: &mut RunPool, from: usize, to: usize, with: &[BlockRun]) {
        let old = self.len();
        let new = old - (to - from) + with.len();
        let tail: Vec<BlockRun> = (to..old).map(|i| self.get(pool, i)).collect();
        self.resize(pool, new);
        for (i, run) in with.iter().chain(&tail).enumerate() {
            self.put(pool, from + i, *run);
        }
    }

    /// Takes every block from `lbn` on out of the list and gives the runs to `freed`.
    pub fn cut(
        &mut self,
        pool: &mut RunPool,
        lbn: u32,
        frag: u64,
        mut freed: impl FnMut(BlockRun),
    ) {
        let mut n = self.len();
        while n > 0 {
            let run = self.get(pool, n - 1);
            if run.end() <= lbn {
                break;
            }
            let kept = lbn.saturating_sub(run.lbn);
            freed(run.without(kept, frag));
            if kept > 0 {
                self.put(
                    pool,
                    n - 1,
                    BlockRun {
                        blocks: kept,
                        ..run
                    },
                );
                break;
            }
            n -= 1;
        }
        self.resize(pool, n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const FRAG: u64 = 8;

    fn as_map(list: BlockList, pool: &RunPool) -> BTreeMap<u32, u64> {
        list.iter(pool)
            .flat_map(|r| (0..r.blocks).map(move |i| (r.lbn + i, r.address + u64::from(i) * FRAG)))
            .collect()
    }

    #[test]
    fn classes_grow_by_at_most_a_half() {
        assert_eq!(&CLASSES[..6], &[2, 3, 4, 6, 8, 12]);
        assert_eq!(
            (class_of(2), class_of(5), class_of(6), class_of(7)),
            (0, 3, 3, 4)
        );
    }

    proptest! {
        /// Against a map from block to address.
        #[test]
        fn a_list_is_a_map_from_block_to_address(
            steps in prop::collection::vec((0_u32..40, 1_u32..6, 1_u64..60, any::<u8>(), 0_usize..2), 1..80)
        ) {
            let mut pool = RunPool::default();
            let mut lists = [BlockList::default(); 2];
            let mut maps = [BTreeMap::new(), BTreeMap::new()];
            for (lbn, blocks, at, kind, which) in steps {
                let (list, map) = (&mut lists[which], &mut maps[which]);
                if kind % 5 == 0 {
                    let mut freed = BTreeMap::new();
                    list.cut(&mut pool, lbn, FRAG, |r| {
                        for i in 0..r.blocks {
                            freed.insert(r.lbn + i, r.address + u64::from(i) * FRAG);
                        }
                    });
                    prop_assert_eq!(freed, map.split_off(&lbn));
                } else {
                    list.set(&mut pool, lbn, blocks, at * FRAG, FRAG);
                    for i in 0..blocks {
                        map.insert(lbn + i, (at + u64::from(i)) * FRAG);
                    }
                }
                for (list, map) in lists.iter().zip(&maps) {
                    prop_assert_eq!(&as_map(*list, &pool), map);
                    let last = map.last_key_value();
                    prop_assert_eq!(list.end(&pool), last.map_or(0, |(&lbn, _)| lbn + 1));
                    let runs: Vec<_> = list.iter(&pool).collect();
                    for pair in runs.windows(2) {
                        prop_assert!(pair[0].end() <= pair[1].lbn);
                        let joined = pair[0].end() == pair[1].lbn
                            && pair[0].address + u64::from(pair[0].blocks) * FRAG == pair[1].address;
                        prop_assert!(!joined, "not maximal: {pair:?}");
                    }
                    for lbn in 0..48 {
                        let address = map.get(&lbn).copied().unwrap_or(0);
                        prop_assert_eq!(list.address(&pool, lbn, FRAG), address);
                        let before = map.range(..lbn).next_back().map(|(&l, &a)| (l, a));
                        prop_assert_eq!(list.last_before(&pool, lbn, FRAG), before);
                    }
                }
            }
        }
    }
}
