//! Time, and processors: what default options leave to chance.
//!
//! Inodes are written back by the clock that models share. Besides, the log is pushed every 30 seconds, an AG is
//! scanned for blocks behind ends of files 300 seconds after the first file in it has got some, and what has no name
//! any more waits for a worker of its processor.
//!
//! Spec: `docs/spec/xfs.md`, section 27. Source: `xfs_icache.c`, `xfs_log.c`.

use super::Xfs;
use super::params::{Params, Regime};
use crate::clock::{self, SECOND};

/// Time between two pushes of the log (`fs.xfs.xfssyncd_centisecs`).
const PUSH: i64 = 30 * SECOND;
/// An AG is scanned so long after a file in it was tagged (`fs.xfs.speculative_prealloc_lifetime`).
const SCAN: i64 = 300 * SECOND;
/// A tick of the kernel's timers, of which there are 250 a second.
const JIFFY: i64 = SECOND / 250;
/// A worker does not wait for a timer once more inodes are in its queue: a cluster of them.
const MOST_PATIENT: usize = 32;
/// What puts one more into a queue of so many waits for the worker: four chunks.
const MOST_QUEUED: usize = 256;
/// Of so many workers that are woken at once, one has to wait for its processor.
const WAITING: i64 = 4;
/// Of so many operations, one on average moves the program to another processor.
const OPERATIONS_ON_A_CPU: u64 = 2048;
/// A worker does not wait for a timer below so many percent of free space.
const LOW_PERCENT: u64 = 5;

/// Inodes without a name, of one processor.
#[derive(Clone, Debug, Default)]
struct Queue {
    slots: Vec<u32>,
    /// When the worker begins.
    due_ns: Option<i64>,
}

/// Time and chance.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    time: clock::Clock,
    /// Nothing is due before.
    next_ns: i64,
    /// When timers tick, below a jiffy.
    tick_ns: i64,
    /// When the log is pushed next.
    push_ns: i64,
    /// When AGs are scanned.
    scans: Vec<Option<i64>>,
    queues: Vec<Queue>,
}

/// What happens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    WriteBack,
    Inactivation(usize),
    Scan(u32),
    Push,
}

impl Clock {
    /// A clock, where the parameters leave anything to it.
    pub fn new(params: &Params, ags: u32) -> Option<Clock> {
        if params.regime != Regime::Default {
            return None;
        }
        let mut time = clock::Clock::new("xfs processors", params.seed, params.rate, params.cpus);
        time.let_program_stay(OPERATIONS_ON_A_CPU);
        let tick_ns = time.below(JIFFY);
        let push_ns = 1 + time.below(PUSH);
        Some(Clock {
            next_ns: push_ns,
            tick_ns,
            push_ns,
            scans: vec![None; ags as usize],
            queues: vec![Queue::default(); params.cpus as usize],
            time,
        })
    }

    /// Time of the next operation, if nothing else decides it.
    pub fn set(&mut self, t_ns: i64) {
        self.time.set(t_ns);
    }

    pub fn now_ns(&self) -> i64 {
        self.time.now_ns()
    }

    /// Inodes that wait for a worker.
    pub fn waiting(&self) -> impl Iterator<Item = u32> {
        self.queues.iter().flat_map(|queue| &queue.slots).copied()
    }

    /// Something is due at a time.
    fn schedule(&mut self, at_ns: i64) {
        self.next_ns = self.next_ns.min(at_ns);
    }

    /// A file in an AG was tagged.
    fn tagged(&mut self, ag: u32) {
        let due = self.time.now_ns() + SCAN;
        let due = *self.scans[ag as usize].get_or_insert(due);
        self.schedule(due);
    }

    /// An inode joins the queue of a processor. The worker is woken at once, or by a timer, which begins anew and fires
    /// at the second tick from now. One that is woken at once mostly has the processor at once too, and else waits for
    /// up to a tick, seldom for so long. Says whether it is too many of them.
    fn queue(&mut self, slot: u32, cpu: usize, is_low: bool) -> bool {
        let now = self.time.now_ns();
        let before = self.queues[cpu].slots.len();
        let due = if is_low || before > MOST_PATIENT {
            let wait = if self.time.below(WAITING) == 0 {
                self.time.below(JIFFY) * self.time.below(JIFFY) / JIFFY
            } else {
                0
            };
            let due = self.queues[cpu].due_ns.unwrap_or(i64::MAX);
            due.min(now + wait)
        } else {
            let ticks = (now - self.tick_ns).div_euclid(JIFFY) + 2;
            self.tick_ns + ticks * JIFFY
        };
        let queue = &mut self.queues[cpu];
        queue.slots.push(slot);
        queue.due_ns = Some(due);
        self.schedule(due);
        before > MOST_QUEUED
    }

    /// The file system is mounted anew, now.
    fn mounted(&mut self) {
        self.scans.fill(None);
        self.push_ns = self.time.now_ns() + PUSH;
        self.schedule(self.push_ns);
    }
}

impl Xfs {
    /// Processors whose counts and queues are told apart.
    pub(super) fn have_processors(&mut self) {
        if self.clock.is_some() {
            self.space
                .counter
                .have_processors(self.params.cpus as usize);
        }
    }

    /// What has become due before the next operation happens.
    #[inline]
    pub(super) fn pass_time(&mut self) {
        let Some(clock) = &mut self.clock else {
            return;
        };
        if let Some(cpu) = clock.time.tick() {
            self.space.counter.move_to(cpu);
        }
        let now = clock.now_ns();
        if clock.next_ns <= now {
            self.catch_up(now);
        }
    }

    fn catch_up(&mut self, now: i64) {
        loop {
            let (at, due) = self.next_due();
            if let Some(clock) = &mut self.clock {
                clock.next_ns = at;
            }
            if at > now {
                return;
            }
            match due {
                Due::WriteBack => {
                    let is_old = |since_ns| clock::Clock::is_old(since_ns, at);
                    let old = self.dirty.partition_point(|one| is_old(one.since_ns));
                    self.write_back_first(old);
                }
                Due::Inactivation(cpu) => self.inactivate(cpu),
                Due::Scan(ag) => self.scan(ag, at),
                Due::Push => {
                    self.space.log.force();
                    if let Some(clock) = &mut self.clock {
                        clock.push_ns = i64::MAX;
                    }
                    // Until something else happens there is nothing in it.
                    let until = self.next_due().0.min(now);
                    if let Some(clock) = &mut self.clock {
                        clock.push_ns = at + ((until - at).div_euclid(PUSH) + 1) * PUSH;
                    }
                }
            }
        }
    }

    /// What is due next, and when.
    fn next_due(&self) -> (i64, Due) {
        let Some(clock) = &self.clock else {
            return (i64::MAX, Due::Push);
        };
        let oldest = self.dirty.first();
        let written = oldest.map(|oldest| clock.time.write_back_ns(oldest.since_ns));
        let queues = clock.queues.iter().enumerate();
        let inactive =
            queues.filter_map(|(cpu, queue)| Some((queue.due_ns?, Due::Inactivation(cpu))));
        let scans = (0..).zip(&clock.scans);
        let scans = scans.filter_map(|(ag, at)| Some(((*at)?, Due::Scan(ag))));
        let all = written.map(|at| (at, Due::WriteBack)).into_iter();
        let all = all.chain(inactive).chain(scans);
        all.chain([(clock.push_ns, Due::Push)])
            .min()
            .unwrap_or((i64::MAX, Due::Push))
    }

    /// A file has asked for more than it needed.
    pub(super) fn tag(&mut self, slot: u32) {
        let ino = self.inodes[slot as usize].ino;
        self.tagged.insert(ino, slot);
        if let Some(clock) = &mut self.clock {
            clock.tagged(self.geometry.ag_of_inode(ino).0);
        }
    }

    /// A worker trims the files of an AG that are clean. It comes again if there are others.
    fn scan(&mut self, ag: u32, at: i64) {
        let inodes = self.geometry.ino(ag, 0)..self.geometry.ino(ag + 1, 0);
        let program = self.begin_work();
        self.trim_tagged(inodes.clone(), false);
        self.end_work(program);
        let has_more = self.tagged.range(inodes).next().is_some();
        if let Some(clock) = &mut self.clock {
            clock.scans[ag as usize] = has_more.then_some(at + SCAN);
        }
    }

    /// An inode has lost its last name: it goes, with its blocks, at once or when its worker comes.
    pub(super) fn let_go(&mut self, slot: u32) {
        if self.clock.is_none() {
            self.release(slot);
            return;
        }
        self.drop_pages(slot);
        self.discarded(slot, 0);
        self.tagged.remove(&self.inodes[slot as usize].ino);
        self.inodes[slot as usize].file = u32::MAX;
        let cpu = self.space.counter.processor();
        let is_low = self.space.counter.exact() < self.space.percent(LOW_PERCENT) as i64;
        if let Some(clock) = &mut self.clock
            && clock.queue(slot, cpu, is_low)
        {
            self.inactivate(cpu);
        }
    }

    /// A worker takes its queue: what came last goes first.
    fn inactivate(&mut self, cpu: usize) {
        let Some(clock) = &mut self.clock else {
            return;
        };
        let queue = std::mem::take(&mut clock.queues[cpu]);
        let program = self.space.counter.processor();
        self.space.counter.move_to(cpu);
        for slot in queue.slots.into_iter().rev() {
            self.release(slot);
        }
        self.space.counter.move_to(program);
    }

    /// All that waits for a worker goes.
    pub(super) fn inactivate_all(&mut self) {
        let queues = self.clock.as_ref().map_or(0, |clock| clock.queues.len());
        for cpu in 0..queues {
            self.inactivate(cpu);
        }
    }

    /// What time knew of the file system before it was unmounted is of no use.
    pub(super) fn mount_in_time(&mut self) {
        if let Some(clock) = &mut self.clock {
            clock.mounted();
        }
    }

    /// When a file becomes dirty.
    pub(super) fn dirty_since_now(&mut self) -> i64 {
        let Some(clock) = &mut self.clock else {
            return 0;
        };
        let now = clock.now_ns();
        clock.schedule(clock.time.write_back_ns(now));
        now
    }

    /// A worker begins, on a processor of its choice. Gives the one that the program is on.
    pub(super) fn begin_work(&mut self) -> usize {
        let before = self.space.counter.processor();
        if let Some(clock) = &mut self.clock {
            self.space.counter.move_to(clock.time.any_cpu());
        }
        before
    }

    /// The worker has done its work.
    pub(super) fn end_work(&mut self, program: usize) {
        if self.clock.is_some() {
            self.space.counter.move_to(program);
        }
    }

    /// The worker goes on with another inode, perhaps elsewhere.
    pub(super) fn go_on_working(&mut self) {
        if let Some(clock) = &mut self.clock
            && let Some(cpu) = clock.time.worker_moves()
        {
            self.space.counter.move_to(cpu);
        }
    }
}
