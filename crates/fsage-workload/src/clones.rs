//! One history several times, side by side and shifted in time.
//!
//! A git history writes a hundred times its live size and has little live data. Several copies of it fill a
//! larger disk: each in its own directory of the root (`clone-1`, `clone-2`, ...), moved by a random whole
//! number of days, all interleaved by time, so that files of different copies grow next to each other
//! ([`Clones::new`]).
//!
//! A workload from the snapshots of a file system becomes that of a larger one in the same way
//! ([`Clones::scaled`]): its copies are each moved back by a random part of a day, so that they do not run in
//! step, and what a day of the first copy did ends at the same `day` as before. Where the workload's
//! directories stand for cylinder groups (directories 1, 2, ... without names, made in the root before anything
//! else), the copies take further groups: group g of copy c of a file system of G groups is c G + g, made in
//! order before anything else.
//!
//! The first copy is not moved, and keeps its times as good as they were; those of a copy that is moved are
//! `shifted`. At the end there are N times the files and bytes of one copy.
//!
//! A factor may have a fraction. The last copy then takes only some of the directories in the root, with all
//! that is made in them, chosen once: in random order, each that brings their share of the bytes at the end
//! nearer to the fraction. Files right in the root are chosen like a directory; of groups their number counts.
//! Operations on what is left out are left out; a file that moves out is deleted, one that moves in is made
//! with its size; a directory that moves out goes to the root of the copy as `.kept-N`, one that moves in
//! stays out.
//!
//! A trace of an hour becomes that of a machine on which the same happens again and again ([`Clones::repeated`]): a
//! nightly build, an installation. A copy then begins a fixed number of days after the one before it, and first
//! removes the oldest one, so that as many stay as are to be kept. Copies that are alike to the byte fit where the ones
//! before them were, which makes aging look harmless: [`Clones::varied`] draws other sizes.
//!
//! The merge reads every copy through a source of its own and holds one event of each, so memory does not
//! grow with the history; for a fraction it holds the live files of one copy, and of copies that are removed
//! those that are still there.
//!
//! Left out: starting a copy in the middle of its history, and removing the oldest copy when the disk is
//! full.

mod copied;
mod days;
mod left;
mod part;
mod varied;

use copied::Copied;
use days::Days;
use fsage_core::{DirId, Event, EventSink, EventSource, Op, Origin, Rng, SinkError, TQuality};
use fsage_core::{WorkloadHeader, event::Verb};
use part::Part;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use thiserror::Error;

/// How copies but the first are moved in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    /// By 0 to this many whole days. Days are counted anew: one `day N` after the last operation of each day
    /// with any, N days after the first.
    Days {
        /// The most days.
        stagger: u64,
    },
    /// Back by less than a day. The days are those of the first copy, labels and all.
    WithinDay,
    /// Each by so many whole days more than the one before. Days are counted anew.
    Every {
        /// From one copy to the next.
        days: u64,
        /// Copies that are there at once; the oldest is removed when another begins.
        keep: u64,
        /// Sizes of the files of all copies but the first differ from the recorded ones by up to so many percent.
        vary_percent: u32,
    },
}

/// How many copies, and how far apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clones {
    /// Copies, the first included; at least 1.
    pub count: u64,
    /// Share of the last copy that is made: over 0, at most 1.
    pub last_share: f64,
    /// How copies are moved in time.
    pub shift: Shift,
    /// Whether directories are groups if the workload starts by making them.
    pub groups: bool,
    /// Seed; every copy draws from a stream of its own.
    pub seed: u64,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClonesSummary {
    /// Operations, the directories of the copies included, `day` not.
    pub operations: u64,
    /// Days with operations; of copies that are moved within a day, `day` events.
    pub days_with_operations: u64,
    /// Days from the first operation to the last, both counted.
    pub days: u64,
    /// By how many days each copy was moved; within a day by none.
    pub shifts_days: Vec<u64>,
    /// Groups of the copies together, if the workload has them.
    pub groups: Option<u64>,
    /// Files and directories that moved in or out of the part that the last copy makes.
    pub border_moves: u64,
}

/// Why copies could not be made.
#[derive(Debug, Error)]
pub enum ClonesError {
    /// No copy was asked for.
    #[error("the number of clones must be at least 1")]
    NoClones,
    /// No number of copies.
    #[error(
        "a workload cannot be made {0} times as large: give a number over 0, at most {MAX_FACTOR}"
    )]
    BadFactor(f64),
    /// Copies are interleaved by time, and there is none.
    #[error(
        "the first operation of the workload has no time: clones are interleaved by time, so give it one (`@`)"
    )]
    NoTimes,
    /// Nothing would be left, or no time pass.
    #[error("copies that are repeated need a day at least between them, and one that is kept")]
    BadRepetition,
    /// A copy is to be removed before it is over.
    #[error(
        "the workload takes longer than the {0} days after which it is removed: take more days, or keep more copies"
    )]
    NotOver(u64),
    /// Ids or times of the copies do not fit 64 bits.
    #[error("{0} of the clones do not fit 64 bits: take fewer clones or a smaller stagger")]
    TooLarge(&'static str),
    /// Reading the workload failed.
    #[error("cannot read the workload that is cloned")]
    Source(#[source] SinkError),
    /// Writing the copies failed.
    #[error("cannot write the workload")]
    Sink(#[source] SinkError),
}

/// Each copy keeps a file open.
const MAX_FACTOR: f64 = 100_000.0;

impl Clones {
    /// Copies in directories of their own, moved by up to so many days.
    pub fn new(count: u64, stagger_days: u64, seed: u64) -> Clones {
        Clones {
            count,
            last_share: 1.0,
            shift: Shift::Days {
                stagger: stagger_days,
            },
            groups: false,
            seed,
        }
    }

    /// Copies in directories of their own, each so many days after the one before, of which the last `keep` stay.
    pub fn repeated(count: u64, days: u64, keep: u64) -> Clones {
        Clones {
            shift: Shift::Every {
                days,
                keep,
                vary_percent: 0,
            },
            ..Clones::new(count, 0, 0)
        }
    }

    /// The same with files of other sizes in every copy but the first: by up to so many percent, drawn anew for each
    /// file. What lies at an offset of a file lies at that times its factor, so that whatever was done within a file
    /// is done within it again. Of copies that are not repeated nothing is changed.
    #[must_use]
    pub fn varied(mut self, percent: u32, of_seed: u64) -> Clones {
        if let Shift::Every { vary_percent, .. } = &mut self.shift {
            *vary_percent = percent;
            self.seed = of_seed;
        }
        self
    }

    /// The workload of a file system that is `factor` times as large.
    ///
    /// # Errors
    /// The factor is no positive number, or too large.
    pub fn scaled(factor: f64, seed: u64) -> Result<Clones, ClonesError> {
        if !(factor > 0.0 && factor <= MAX_FACTOR) {
            return Err(ClonesError::BadFactor(factor));
        }
        let count = libm::ceil(factor);
        Ok(Clones {
            count: count as u64,
            last_share: 1.0 - (count - factor),
            shift: Shift::WithinDay,
            groups: true,
            seed,
        })
    }

    /// How many times the workload is made.
    fn factor(&self) -> f64 {
        self.count as f64 - (1.0 - self.last_share)
    }

    /// The header of the copies, given that of one.
    pub fn header(&self, single: &WorkloadHeader) -> WorkloadHeader {
        let source = single.source.as_deref().unwrap_or("a workload");
        match self.shift {
            Shift::Days { stagger } => WorkloadHeader {
                epoch_unix_s: single.epoch_unix_s,
                seed: Some(self.seed),
                source: Some(format!(
                    "{source}, {} times, moved by up to {stagger} days",
                    self.count
                )),
                ..WorkloadHeader::default()
            },
            Shift::Every {
                days,
                keep,
                vary_percent,
            } => {
                let is_drawn = vary_percent > 0;
                let varied = if is_drawn {
                    format!(", sizes by {vary_percent} %")
                } else {
                    String::new()
                };
                WorkloadHeader {
                    epoch_unix_s: single.epoch_unix_s,
                    seed: is_drawn.then_some(self.seed),
                    source: Some(format!(
                        "{source}, {} times, every {days} days, {keep} kept{varied}",
                        self.count
                    )),
                    ..WorkloadHeader::default()
                }
            }
            Shift::WithinDay => {
                let times = |n: u64| libm::round(n as f64 * self.factor()) as u64;
                WorkloadHeader {
                    capacity_bytes: single.capacity_bytes.map(times),
                    group_count: single.group_count.map(|n| times(n).max(1)),
                    seed: Some(self.seed),
                    source: Some(format!("{source}, {} times", self.factor())),
                    ..single.clone()
                }
            }
        }
    }

    /// By how many days copy `index` (from 0) is moved; 0 if copies are moved within a day.
    pub fn shift_days(&self, index: u64) -> u64 {
        match self.shift {
            Shift::Days { stagger } if index > 0 => Rng::new(self.seed)
                .stream("clone shift", index)
                .between(0, stagger),
            Shift::Days { .. } | Shift::WithinDay => 0,
            Shift::Every { days, .. } => index.saturating_mul(days),
        }
    }

    /// Makes the copies. `open` gives the workload from its beginning, once for each copy; of groups or of a
    /// fraction once more.
    ///
    /// # Errors
    /// See [`ClonesError`].
    pub fn interleave<S: EventSource>(
        &self,
        mut open: impl FnMut() -> Result<S, SinkError>,
        sink: &mut dyn EventSink,
    ) -> Result<ClonesSummary, ClonesError> {
        if self.count == 0 {
            return Err(ClonesError::NoClones);
        }
        if !(self.last_share > 0.0 && self.last_share <= 1.0) {
            return Err(ClonesError::BadFactor(self.factor()));
        }
        if let Shift::Every { days: 0, .. } | Shift::Every { keep: 0, .. } = self.shift {
            return Err(ClonesError::BadRepetition);
        }
        let mut groups = None;
        if self.groups {
            let mut source = open().map_err(ClonesError::Source)?;
            groups = count_groups(&mut source)?;
        }
        let mut part = None;
        if self.last_share < 1.0 {
            let mut source = open().map_err(ClonesError::Source)?;
            part = Some(Part::choose(self, groups, &mut source)?);
        }
        let all_groups = groups.map(|groups| {
            let last = part.as_ref().map_or(groups, |part| part.units() as u64);
            (self.count - 1).checked_mul(groups)?.checked_add(last)
        });
        let all_groups = all_groups.map(|n| n.ok_or(ClonesError::TooLarge("groups")));
        let all_groups = all_groups.transpose()?;
        let mut copies = Vec::new();
        // Of copies that follow each other, the next is opened when one begins.
        let at_once = match self.shift {
            Shift::Every { .. } => 1,
            Shift::Days { .. } | Shift::WithinDay => self.count,
        };
        for index in 0..at_once {
            let source = open().map_err(ClonesError::Source)?;
            let part = part.take_if(|_| index + 1 == self.count);
            copies.push(Copied::new(self, index, groups, part, source)?);
        }
        let epoch_s = copies[0].epoch_unix_s();
        let mut out = Days::new(epoch_s, self.shift, sink);
        // At equal times the lowest copy goes on, so that what one step of a copy does stays together.
        let mut queue = BinaryHeap::new();
        for (n, copy) in copies.iter_mut().enumerate() {
            if let Some(t_ns) = copy.read()? {
                queue.push(Reverse((t_ns, n)));
            }
        }
        if let (Some(groups), Some(Reverse((t_ns, _)))) = (all_groups, queue.peek()) {
            for group in 1..groups {
                out.event(*t_ns, group_directory(group))?;
            }
        }
        while let Some(Reverse((t_ns, n))) = queue.pop() {
            if let Some(directory) = copies[n].take_directory() {
                if let Shift::Every { keep, .. } = self.shift {
                    if let Some(oldest) = (n as u64).checked_sub(keep) {
                        for event in copies[oldest as usize].removal()? {
                            out.event(t_ns, event)?;
                        }
                    }
                    let next = n as u64 + 1;
                    if next < self.count {
                        let source = open().map_err(ClonesError::Source)?;
                        let mut copy = Copied::new(self, next, None, None, source)?;
                        if let Some(t_ns) = copy.read()? {
                            queue.push(Reverse((t_ns, n + 1)));
                        }
                        copies.push(copy);
                    }
                }
                out.event(t_ns, directory)?;
            }
            let copy = &mut copies[n];
            if let Some(event) = copy.take_event() {
                out.event(t_ns, event)?;
            }
            if let Some(t_ns) = copy.read()? {
                queue.push(Reverse((t_ns, n)));
            }
        }
        let mut summary = out.finish()?;
        summary.shifts_days = (0..self.count).map(|i| self.shift_days(i)).collect();
        summary.groups = all_groups;
        summary.border_moves = copies.iter().map(Copied::border_moves).sum();
        Ok(summary)
    }
}

/// Directory of a group; its name is the one it has without a name.
fn group_directory(group: u64) -> Event {
    let op = Op::Mkdir {
        dir: DirId(group),
        parent: Some(DirId::ROOT),
    };
    Event::new(op).from_source(Origin::Initial, TQuality::Random)
}

/// Whether the event makes the directory of that group.
fn makes_group(event: &Event, group: u64) -> bool {
    match event.op {
        Op::Mkdir { dir, parent } => {
            dir.0 == group && parent.unwrap_or(DirId::ROOT) == DirId::ROOT && event.name.is_none()
        }
        _ => false,
    }
}

/// Groups of a workload that starts by making a directory without a name for each but the first.
fn count_groups(source: &mut dyn EventSource) -> Result<Option<u64>, ClonesError> {
    let mut groups = 1;
    while let Some(event) = source.next_event().map_err(ClonesError::Source)? {
        if makes_group(&event, groups) {
            groups += 1;
        } else if event.op.verb() == Verb::Mkdir || event.name.is_some() {
            // Directories of other kinds, or files with names: no groups.
            return Ok(None);
        } else {
            break;
        }
    }
    Ok((groups > 1).then_some(groups))
}
