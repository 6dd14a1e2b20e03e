//! Counters of which everybody reads a value that lags behind, as Linux keeps them by processor.
//!
//! Spec: `docs/spec/ext4.md`, section 6.

/// A value, and a remainder that is added to it when it has become large.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counter {
    value: i64,
    remainder: i64,
    batch: i64,
}

impl Counter {
    /// One that is exact, on a machine of so many processors.
    pub fn new(value: u64, cpus: u32) -> Counter {
        Counter {
            value: value as i64,
            remainder: 0,
            batch: i64::from(cpus * 2).max(32),
        }
    }

    #[inline]
    pub fn add(&mut self, change: i64) {
        let remainder = self.remainder + change;
        if remainder.abs() >= self.batch {
            self.value += remainder;
            self.remainder = 0;
        } else {
            self.remainder = remainder;
        }
    }

    /// Adds 1 that many times, which leaves another remainder than one addition.
    pub fn add_ones(&mut self, times: u32) {
        let times = i64::from(times);
        let first = self.batch - self.remainder;
        if times < first {
            self.remainder += times;
            return;
        }
        let further = times - first;
        self.value += self.batch + further / self.batch * self.batch;
        self.remainder = further % self.batch;
    }

    /// The most that is read, and that it is, while 1 is added that many times.
    pub fn most(&self, times: u32) -> i64 {
        self.exact() + i64::from(times) + self.batch
    }

    /// What is read: without the remainder.
    #[inline]
    pub fn read(&self) -> i64 {
        self.value.max(0)
    }

    /// What it is.
    #[inline]
    pub fn exact(&self) -> i64 {
        (self.value + self.remainder).max(0)
    }

    /// The remainder joins the value.
    pub fn settle(&mut self) {
        self.value += self.remainder;
        self.remainder = 0;
    }
}

/// The four that the allocator reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub free_inodes: Counter,
    pub free_blocks: Counter,
    pub directories: Counter,
    /// Blocks that are written and not yet allocated, or that a request has claimed.
    pub delayed: Counter,
}

impl Counters {
    /// As after a mount.
    pub fn settle(&mut self) {
        self.free_inodes.settle();
        self.free_blocks.settle();
        self.directories.settle();
        self.delayed.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_are_added_as_if_one_by_one() {
        for before in [-31, -7, 0, 1, 30, 31] {
            for times in 0..200 {
                let mut one_by_one = Counter::new(100, 2);
                one_by_one.add(before);
                let mut at_once = one_by_one;
                let most = at_once.most(times);
                for _ in 0..times {
                    one_by_one.add(1);
                    assert!(one_by_one.read().max(one_by_one.exact()) <= most);
                }
                at_once.add_ones(times);
                let state = |c: &Counter| (c.read(), c.exact());
                assert_eq!(state(&at_once), state(&one_by_one), "{before} {times}");
            }
        }
    }

    #[test]
    fn what_is_read_lags_behind_by_less_than_a_batch() {
        let mut counter = Counter::new(100, 2);
        counter.add(-31);
        assert_eq!((counter.read(), counter.exact()), (100, 69));
        counter.add(-1);
        assert_eq!((counter.read(), counter.exact()), (68, 68));
        counter.add(40);
        assert_eq!(counter.read(), 108);
        counter.add(5);
        counter.settle();
        assert_eq!(counter.read(), 113);
        counter.add(-500);
        assert_eq!(counter.read(), 0);
    }
}
