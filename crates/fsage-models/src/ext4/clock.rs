//! Time, and processors: what default mount options leave to chance.
//!
//! The clock is that of the workload, or ticks with its operations. Every five seconds the kernel looks for inodes that
//! have been dirty for thirty, and writes them back; a transaction commits five seconds after it began. Which processor
//! does the work decides which preallocations small files share: it is drawn.
//!
//! Spec: `docs/spec/ext4.md`, section 32.

use super::{Ext4, Params, Regime};
use fsage_core::Rng;

const SECOND: i64 = 1_000_000_000;
/// A transaction is committed so long after it began.
const COMMIT: i64 = 5 * SECOND;
/// Time between two looks for inodes that are old enough (`vm.dirty_writeback_centisecs`).
const INTERVAL: i64 = 5 * SECOND;
/// They are when they have been dirty for so long (`vm.dirty_expire_centisecs`).
const EXPIRE: i64 = 30 * SECOND;
/// Between two operations of which the second has no time.
const GAP: i64 = SECOND;
/// Of so many inodes that are written back, one on average moves the worker to another processor; and of so many
/// operations, one the program.
const INODES_ON_A_CPU: u64 = 256;
const OPERATIONS_ON_A_CPU: u64 = 256;

/// Time and chance.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    now_ns: i64,
    /// When the kernel looks for old inodes for the first time.
    first_look_ns: i64,
    /// When the next operation happens, if the workload has said so.
    next_ns: Option<i64>,
    /// Time between two operations, whatever the workload says.
    gap_ns: Option<i64>,
    /// The transaction that was seen running, and since when.
    running: (u32, i64),
    rng: Rng,
    cpus: u64,
}

impl Clock {
    /// A clock, where the parameters leave anything to it.
    pub fn new(params: &Params) -> Option<Clock> {
        if params.regime != Regime::Default {
            return None;
        }
        let mut rng = Rng::new(params.seed).stream("ext4 processors", 0);
        let first_look_ns = rng.below(INTERVAL as u64) as i64;
        Some(Clock {
            now_ns: 0,
            first_look_ns,
            next_ns: None,
            gap_ns: params.rate.map(|rate| SECOND / rate as i64),
            running: (0, 0),
            rng,
            cpus: u64::from(params.cpus),
        })
    }

    /// Time of the next operation, if nothing else decides it.
    pub fn set(&mut self, t_ns: i64) {
        if self.gap_ns.is_none() {
            self.next_ns = Some(t_ns);
        }
    }

    pub fn now_ns(&self) -> i64 {
        self.now_ns
    }

    /// Another operation comes.
    fn tick(&mut self) {
        self.now_ns = match self.next_ns.take() {
            Some(t_ns) => self.now_ns.max(t_ns),
            None => self.now_ns + self.gap_ns.unwrap_or(GAP),
        };
    }

    fn any_cpu(&mut self) -> usize {
        self.rng.below(self.cpus) as usize
    }

    fn moves(&mut self, one_in: u64) -> bool {
        self.cpus > 1 && self.rng.below(one_in) == 0
    }
}

impl Ext4 {
    /// What has become due before the next operation happens.
    pub(super) fn pass_time(&mut self) {
        let Some(clock) = &mut self.clock else {
            return;
        };
        if self.is_running && clock.running.0 != self.transaction {
            clock.running = (self.transaction, clock.now_ns);
        }
        clock.tick();
        if clock.moves(OPERATIONS_ON_A_CPU) {
            self.cpu = clock.any_cpu();
        }
        let now = clock.now_ns;
        loop {
            let commits = self.is_running.then(|| self.begun_ns() + COMMIT);
            let commits = commits.filter(|at| *at <= now);
            let writes = self.next_write_back_ns().filter(|at| *at <= now);
            match (commits, writes) {
                (Some(at), other) if other.is_none_or(|other| at <= other) => self.commit(),
                (_, Some(at)) => {
                    let old = self
                        .dirty
                        .partition_point(|one| one.since_ns + EXPIRE <= at);
                    self.write_back_first(old);
                    // What it changed is part of a transaction that began no later.
                    if let Some(clock) = &mut self.clock
                        && self.is_running
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

    /// When the inode that has been dirty for longest is written back: at the first look at which it is old enough.
    fn next_write_back_ns(&self) -> Option<i64> {
        let first = self.dirty.first()?;
        let old_enough = first.since_ns + EXPIRE;
        let first_look = self.clock.as_ref()?.first_look_ns;
        let looks = (old_enough - first_look).div_euclid(INTERVAL) + 1;
        Some(first_look + looks * INTERVAL)
    }

    /// A worker begins to write back, on a processor of its choice. Gives the one that the program is on.
    pub(super) fn begin_work(&mut self) -> usize {
        let before = self.cpu;
        if let Some(clock) = &mut self.clock {
            self.cpu = clock.any_cpu();
        }
        before
    }

    /// The worker goes on with another inode, perhaps elsewhere.
    pub(super) fn go_on_working(&mut self) {
        if let Some(clock) = &mut self.clock
            && clock.moves(INODES_ON_A_CPU)
        {
            self.cpu = clock.any_cpu();
        }
    }
}
