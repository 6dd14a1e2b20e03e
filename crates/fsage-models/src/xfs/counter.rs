//! The counter of free blocks, with the estimate that the kernel reads and the pool that is kept back.
//!
//! Spec: `docs/spec/xfs.md`, sections 5 and 27. Source: `percpu_counter.c`, `xfs_dec_freecounter` and
//! `xfs_add_freecounter`.

/// Blocks that may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counter {
    /// What everybody sees.
    global: i64,
    /// What this processor has not added to it yet.
    local: i64,
    processor: usize,
    /// The same of each processor where there are several; that of this one stands above.
    elsewhere: Vec<i64>,
    /// Their sum.
    sum_elsewhere: i64,
    /// In the pool that only what must not fail takes from.
    pool: i64,
    /// The pool when it is full.
    full_pool: i64,
}

/// Changes that are folded in once they reach so much.
const BATCH: i64 = 32;
/// The same of what is taken, while there is plenty.
const LARGE_BATCH: i64 = 1024;

/// Inodes that were made, as the kernel sees them where it asks whether there may be more: exact only at a mount.
/// Several processors count as one.
///
/// Source: `m_icount`, `XFS_ICOUNT_BATCH` and `percpu_counter_read_positive` in `xfs_dialloc`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MadeInodes {
    /// What everybody sees.
    global: i64,
    /// What was not added to it yet.
    local: i64,
}

/// Inodes that are folded in once there are so many.
const INODE_BATCH: i64 = 128;

impl MadeInodes {
    /// As a mount finds them.
    pub fn new(inodes: u64) -> MadeInodes {
        MadeInodes {
            global: inodes as i64,
            local: 0,
        }
    }

    /// A chunk comes, or goes.
    pub fn add(&mut self, change: i64) {
        self.local += change;
        if self.local.abs() >= INODE_BATCH {
            self.global += std::mem::take(&mut self.local);
        }
    }

    /// What a glance shows.
    pub fn estimate(&self) -> u64 {
        self.global.max(0) as u64
    }
}

impl Counter {
    pub fn new(blocks: i64) -> Counter {
        Counter {
            global: blocks,
            ..Counter::default()
        }
    }

    fn add(&mut self, change: i64, batch: i64) {
        self.local += change;
        if self.local.abs() >= batch {
            self.global += std::mem::take(&mut self.local);
        }
    }

    /// There are so many processors.
    pub fn have_processors(&mut self, processors: usize) {
        self.elsewhere = vec![0; processors];
    }

    /// The processor that counts.
    pub fn processor(&self) -> usize {
        self.processor
    }

    /// Another one counts from now on.
    pub fn move_to(&mut self, processor: usize) {
        self.elsewhere[self.processor] = self.local;
        self.sum_elsewhere += self.local;
        self.processor = processor;
        self.local = std::mem::take(&mut self.elsewhere[processor]);
        self.sum_elsewhere -= self.local;
    }

    /// Blocks outside the pool.
    pub fn exact(&self) -> i64 {
        self.global + self.local + self.sum_elsewhere
    }

    /// What a glance shows.
    pub fn estimate(&self) -> u64 {
        self.global.max(0) as u64
    }

    /// Blocks in the pool.
    pub fn pool(&self) -> i64 {
        self.pool
    }

    /// Takes blocks if at least `set_aside` are left, or, if it may, from the pool.
    pub fn reserve(&mut self, blocks: i64, set_aside: i64, may_use_pool: bool) -> bool {
        let batch = if self.exact() < 2 * LARGE_BATCH {
            1
        } else {
            LARGE_BATCH
        };
        self.add(-blocks, batch);
        if self.exact() >= set_aside {
            return true;
        }
        self.add(blocks, BATCH);
        let from_pool = may_use_pool && self.pool >= blocks;
        if from_pool {
            self.pool -= blocks;
        }
        from_pool
    }

    /// Gives blocks back, to the pool first.
    pub fn release(&mut self, blocks: i64) {
        let to_pool = blocks.min(self.full_pool - self.pool).max(0);
        self.pool += to_pool;
        if blocks > to_pool {
            self.add(blocks - to_pool, BATCH);
        }
    }

    /// Takes blocks, be there enough or not: what is kept for trees when the file system is mounted.
    pub fn withhold(&mut self, blocks: i64) {
        let batch = if self.exact() < 2 * LARGE_BATCH {
            1
        } else {
            LARGE_BATCH
        };
        self.add(-blocks, batch);
    }

    /// Gives back what was not needed, or takes what was needed beyond that.
    pub fn settle(&mut self, blocks: i64) {
        match blocks {
            ..0 => self.withhold(-blocks),
            0 => {}
            _ => self.release(blocks),
        }
    }

    /// Fills the pool, as far as there is something beside what is set aside.
    pub fn fill_pool(&mut self, blocks: i64, set_aside: i64) {
        self.full_pool = blocks;
        let taken = (self.exact() - set_aside).min(blocks - self.pool);
        if taken > 0 && self.reserve(taken, set_aside, false) {
            self.pool += taken;
        }
    }

    /// Empties the pool, as a freeze does.
    pub fn empty_pool(&mut self) -> i64 {
        self.full_pool = 0;
        let pool = std::mem::take(&mut self.pool);
        if pool > 0 {
            self.add(pool, BATCH);
        }
        pool
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_lags_behind_until_a_batch_is_full() {
        let mut counter = Counter::new(100_000);
        assert!(counter.reserve(1_000, 32, false));
        assert_eq!((counter.exact(), counter.estimate()), (99_000, 100_000));
        assert!(counter.reserve(24, 32, false));
        assert_eq!((counter.exact(), counter.estimate()), (98_976, 98_976));
        counter.release(31);
        assert_eq!((counter.exact(), counter.estimate()), (99_007, 98_976));
        counter.release(1);
        assert_eq!(counter.estimate(), 99_008);
    }

    #[test]
    fn each_processor_has_a_batch_of_its_own() {
        let mut counter = Counter::new(100_000);
        counter.have_processors(2);
        assert!(counter.reserve(600, 32, false));
        counter.move_to(1);
        assert!(counter.reserve(600, 32, false));
        assert_eq!((counter.exact(), counter.estimate()), (98_800, 100_000));
        assert!(counter.reserve(424, 32, false));
        assert_eq!((counter.exact(), counter.estimate()), (98_376, 98_976));
        counter.move_to(0);
        assert!(counter.reserve(424, 32, false));
        assert_eq!((counter.exact(), counter.estimate()), (97_952, 97_952));
    }

    #[test]
    fn the_pool_is_for_what_must_not_fail_and_is_filled_first() {
        let mut counter = Counter::new(1_000);
        counter.fill_pool(50, 32);
        assert_eq!((counter.exact(), counter.pool()), (950, 50));
        assert!(counter.reserve(918, 32, false));
        assert!(!counter.reserve(1, 32, false));
        assert!(counter.reserve(20, 32, true));
        assert_eq!((counter.exact(), counter.pool()), (32, 30));
        counter.release(25);
        assert_eq!((counter.exact(), counter.pool()), (37, 50));
        let pool = counter.empty_pool();
        assert_eq!((pool, counter.exact()), (50, 87));
    }
}
