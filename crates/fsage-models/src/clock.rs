//! Time, and processors: what default options of a machine leave to chance, and models share.
//!
//! The clock is that of the workload, or ticks with its operations. Every five seconds the kernel looks for inodes that
//! have been dirty for thirty, and writes them back. Which processor does what is drawn.
//!
//! Source: `vm.dirty_writeback_centisecs` and `vm.dirty_expire_centisecs` of Linux. Spec: `docs/spec/ext4.md`, section
//! 32.

use crate::options::{ParamError, Setting};
use fsage_core::Rng;
use fsage_core::keys::Key;

pub(crate) const SECOND: i64 = 1_000_000_000;
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
/// Of the dirty inodes, a part in so many is written back at a time where too much data waits.
pub(crate) const PIECES: usize = 16;

const MOST_RATE: u64 = 1_000_000_000;
const MOST_CPUS: u64 = 4096;

/// The key of a model that says which run it is.
pub(crate) const SEED: Key = Key::number("seed", "", "1", "of `default`: which run it is");
/// The key that says how fast operations follow each other.
pub(crate) const RATE: Key = Key::number(
    "rate",
    "operations a second",
    "",
    "of `default`: the clock, whatever times the workload has",
)
.by_rule("times of the workload; an operation without one comes a second after the one before")
.within(1, MOST_RATE);
/// The key that says how much data may wait.
pub(crate) const DIRTY: Key = Key::bytes(
    "dirty",
    "1G",
    "of `default`: data that may wait before the oldest is written back",
);

/// The key of the processors, which says what they are for.
pub(crate) const fn cpus_key(what: &'static str) -> Key {
    Key::number("cpus", "processors", "2", what).within(1, MOST_CPUS)
}

/// The value of [`RATE`].
pub(crate) fn rate_of(setting: Setting<'_>) -> Result<u64, ParamError> {
    match setting.number()? {
        n if (1..=MOST_RATE).contains(&n) => Ok(n),
        _ => Err(setting.bad(format!("1 to {MOST_RATE} operations"))),
    }
}

/// The value of the key of [`cpus_key`].
pub(crate) fn cpus_of(setting: Setting<'_>) -> Result<u32, ParamError> {
    match setting.number()? {
        n if (1..=MOST_CPUS).contains(&n) => Ok(n as u32),
        _ => Err(setting.bad(format!("1 to {MOST_CPUS}"))),
    }
}

/// Time and chance.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    now_ns: i64,
    /// When the kernel looks for old inodes for the first time.
    first_look_ns: i64,
    /// When the next operation happens, if the workload has said so.
    next_ns: Option<i64>,
    /// Time between two operations, whatever the workload says.
    gap_ns: Option<i64>,
    rng: Rng,
    cpus: u64,
    operations_on_a_cpu: u64,
}

impl Clock {
    /// A clock at 0, with a stream of chance of its own name.
    pub fn new(stream: &str, seed: u64, rate: Option<u64>, cpus: u32) -> Clock {
        let mut rng = Rng::new(seed).stream(stream, 0);
        let first_look_ns = rng.below(INTERVAL as u64) as i64;
        Clock {
            now_ns: 0,
            first_look_ns,
            next_ns: None,
            gap_ns: rate.map(|rate| SECOND / rate as i64),
            rng,
            cpus: u64::from(cpus),
            operations_on_a_cpu: OPERATIONS_ON_A_CPU,
        }
    }

    /// The program moves to another processor once in so many operations on average.
    pub fn let_program_stay(&mut self, operations: u64) {
        self.operations_on_a_cpu = operations;
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

    /// Another operation comes. Gives the processor that the program moves to, if it moves.
    pub fn tick(&mut self) -> Option<usize> {
        self.now_ns = match self.next_ns.take() {
            Some(t_ns) => self.now_ns.max(t_ns),
            None => self.now_ns + self.gap_ns.unwrap_or(GAP),
        };
        self.moves(self.operations_on_a_cpu)
    }

    /// A time below a length.
    pub fn below(&mut self, length_ns: i64) -> i64 {
        self.rng.below(length_ns as u64) as i64
    }

    pub fn any_cpu(&mut self) -> usize {
        self.rng.below(self.cpus) as usize
    }

    /// The processor that a worker moves to before it writes back the next inode, if it moves.
    pub fn worker_moves(&mut self) -> Option<usize> {
        self.moves(INODES_ON_A_CPU)
    }

    fn moves(&mut self, one_in: u64) -> Option<usize> {
        let moves = self.cpus > 1 && self.rng.below(one_in) == 0;
        moves.then(|| self.any_cpu())
    }

    /// When an inode that is dirty since some time is written back: at the first look at which it is old enough.
    pub fn write_back_ns(&self, since_ns: i64) -> i64 {
        let old_enough = since_ns + EXPIRE;
        let looks = (old_enough - self.first_look_ns).div_euclid(INTERVAL) + 1;
        self.first_look_ns + looks * INTERVAL
    }

    /// Whether an inode that is dirty since some time is old enough at another one.
    pub fn is_old(since_ns: i64, at_ns: i64) -> bool {
        since_ns + EXPIRE <= at_ns
    }
}
