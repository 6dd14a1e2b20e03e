//! Time, and processors: what default mount options leave to chance.
//!
//! Inodes are written back by the clock that models share; a transaction commits five seconds after it began. Which
//! processor does the work decides which preallocations small files share: it is drawn.
//!
//! Spec: `docs/spec/ext4.md`, section 32.

use super::{Ext4, Params, Regime};
use crate::clock::{self, SECOND};
use std::collections::BTreeSet;

/// A transaction is committed so long after it began.
const COMMIT: i64 = 5 * SECOND;

/// Time and chance.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    time: clock::Clock,
    /// The transaction that was seen running, and since when.
    running: (u32, i64),
    /// Blocks of metadata that a transaction has changed, by their addresses, and which it is.
    logged: (u32, BTreeSet<u64>),
}

/// Blocks that a running operation may still change.
const OF_ONE: usize = 32;

impl Clock {
    /// A clock, where the parameters leave anything to it.
    pub fn new(params: &Params) -> Option<Clock> {
        (params.regime == Regime::Default).then(|| Clock {
            time: clock::Clock::new("ext4 processors", params.seed, params.rate, params.cpus),
            running: (0, 0),
            logged: (0, BTreeSet::new()),
        })
    }

    /// A transaction changes a block of metadata.
    pub fn logs(&mut self, start_bytes: u64, transaction: u32) {
        if self.logged.0 != transaction {
            self.logged.0 = transaction;
            self.logged.1.clear();
        }
        self.logged.1.insert(start_bytes);
    }

    /// A block is gone before the transaction that changed it is committed.
    pub fn forgets(&mut self, start_bytes: u64) {
        self.logged.1.remove(&start_bytes);
    }

    /// Time of the next operation, if nothing else decides it.
    pub fn set(&mut self, t_ns: i64) {
        self.time.set(t_ns);
    }

    pub fn now_ns(&self) -> i64 {
        self.time.now_ns()
    }
}

impl Ext4 {
    /// Commits a transaction that has grown as large as the journal lets it. While data is written back half of that is
    /// kept for the conversions of what was written.
    pub(super) fn commit_if_large(&mut self, is_writing_back: bool) {
        let Some(clock) = &self.clock else {
            return;
        };
        let most = self.geometry.journal_blocks as usize / 3;
        let most = if is_writing_back { most / 2 } else { most };
        if most > 0 && clock.logged.0 == self.transaction && clock.logged.1.len() + OF_ONE > most {
            self.commit();
        }
    }

    /// What has become due before the next operation happens.
    pub(super) fn pass_time(&mut self) {
        self.commit_if_large(false);
        let Some(clock) = &mut self.clock else {
            return;
        };
        if self.is_running && clock.running.0 != self.transaction {
            clock.running = (self.transaction, clock.now_ns());
        }
        if let Some(cpu) = clock.time.tick() {
            self.cpu = cpu;
        }
        let now = clock.now_ns();
        loop {
            let commits = self.is_running.then(|| self.begun_ns() + COMMIT);
            let commits = commits.filter(|at| *at <= now);
            let writes = self.next_write_back_ns().filter(|at| *at <= now);
            match (commits, writes) {
                (Some(at), other) if other.is_none_or(|other| at <= other) => self.commit(),
                (_, Some(at)) => {
                    let is_old = |since_ns| clock::Clock::is_old(since_ns, at);
                    let old = self.dirty.partition_point(|one| is_old(one.since_ns));
                    self.write_back_first(old);
                    // What it changed is part of a transaction that began no later.
                    if let Some(clock) = &mut self.clock
                        && clock.running.0 != self.transaction
                    {
                        clock.running = (self.transaction, at);
                    }
                }
                _ => break,
            }
        }
    }

    /// When the running transaction began.
    fn begun_ns(&self) -> i64 {
        self.clock.as_ref().map_or(0, |clock| clock.running.1)
    }

    /// When the inode that has been dirty for longest is written back.
    fn next_write_back_ns(&self) -> Option<i64> {
        let first = self.dirty.first()?;
        Some(self.clock.as_ref()?.time.write_back_ns(first.since_ns))
    }

    /// A worker begins to write back, on a processor of its choice. Gives the one that the program is on.
    pub(super) fn begin_work(&mut self) -> usize {
        let before = self.cpu;
        if let Some(clock) = &mut self.clock {
            self.cpu = clock.time.any_cpu();
        }
        before
    }

    /// The worker goes on with another inode, perhaps elsewhere.
    pub(super) fn go_on_working(&mut self) {
        if let Some(cpu) = self
            .clock
            .as_mut()
            .and_then(|clock| clock.time.worker_moves())
        {
            self.cpu = cpu;
        }
    }
}
