//! The replay: one workload, read once, applied to any number of targets, measured at the end of every day.
//!
//! Every target sees the same events in the same order, and none sees another, so that results do not depend
//! on how many threads share the work.

use crate::stamps::Stamps;
use crate::target::Target;
use fsage_core::io::Hosted;
use fsage_core::snapshot::{FurtherName, Inode, SnapshotInfo};
use fsage_core::{Event, EventSource, Inconsistency, Op, OpCounts, SinkError, StateError, Verb};
use fsage_metrics::block_map::FrameChanges;
use fsage_metrics::{Kept, Measures, Recorder, Recording, measure_and};
use fsage_models::AnyModel;
use fsage_real::directory::Directory;
use fsage_real::{DayIs, RealError};
use std::os::fd::BorrowedFd;
use thiserror::Error;

/// Events that are read ahead while targets work on those before: few enough to stay in the processor's cache, and for
/// real targets to be done with in a second.
const BATCH: usize = 1024;

/// A target at the end of a day.
#[derive(Clone, Debug, PartialEq)]
pub struct Day {
    /// 0, 1, 2, ...
    pub number: u32,
    /// The day's label in the workload; `end` for what follows the last day.
    pub label: String,
    /// Time of the last event, nanoseconds since the workload's epoch.
    pub t_ns: Option<i64>,
    /// What became of the day's operations.
    pub counts: OpCounts,
    /// The layout.
    pub measures: Measures,
    /// Of a real target: what the data of live files would need had no operation been skipped, by the same measure as
    /// what they do need.
    pub planned_bytes: Option<u64>,
}

/// Told of every day that ends, and what its frame of the block map changes, if it has one. What it gives is kept in
/// the journal of a real target, and comes back when the run goes on after an interruption.
pub type DayEnds = Box<dyn FnMut(&Day, Option<&FrameChanges>) -> Vec<u8> + Send>;

/// Takes a snapshot: all inodes, ascending by number, and the further names of those that have several.
pub type TakeSnapshot =
    Box<dyn FnMut(SnapshotInfo, Vec<Inode>, Vec<FurtherName>) -> Result<(), SinkError> + Send>;

/// Takes a snapshot of a mounted file system: its number, the time of the workload it stands for (nanoseconds since
/// 1970 UTC), and the root of the tree.
pub type TakeRealSnapshot =
    Box<dyn FnMut(u32, i64, BorrowedFd<'_>) -> Result<(), SinkError> + Send>;

/// Measures a real target as a whole, by what is on the disk: given the number of the day and what was measured by what
/// has changed, it says what stands.
pub type MeasureAnew =
    Box<dyn FnMut(u32, &Measures, &Directory) -> Result<Measures, SinkError> + Send>;

/// Told of a model after every operation and at the end of every day. It empties the list of what was done to buffers.
pub type FollowIo = Box<dyn FnMut(Followed<'_>) + Send>;

/// What a follower is told of.
pub struct Followed<'a> {
    /// The time of the workload, in nanoseconds.
    pub t_ns: Option<i64>,
    /// The operation; none at the end of a day.
    pub op: Option<&'a Op>,
    /// The model, which has done it.
    pub fs: &'a mut dyn Hosted,
}

/// Snapshots at the end of days.
struct Snapshots {
    epoch_ns: i64,
    every_days: u32,
    taken: u32,
    way: Way,
}

/// How snapshots are taken.
enum Way {
    /// With the stamps of the model.
    Model(TakeSnapshot),
    Real(TakeRealSnapshot),
}

/// A target that is being aged.
pub struct Aging {
    target: Target,
    /// Of a model, where they are kept.
    stamps: Option<Box<Stamps>>,
    snapshots: Option<Snapshots>,
    day_ends: Option<DayEnds>,
    follow_io: Option<FollowIo>,
    map: Option<Recorder>,
    /// Of a target that says what changes, from its first `day` on, or its second if it is real.
    kept: Option<Kept>,
    lenient: bool,
    check_days: bool,
    measure_anew: Option<MeasureAnew>,
    days: Vec<Day>,
    /// Days that were measured before an interruption; they are not in `days`.
    earlier_days: u32,
    today: OpCounts,
    t_ns: Option<i64>,
    failure: Option<ReplayError>,
}

impl std::fmt::Debug for Aging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aging")
            .field("target", &self.target)
            .field("days", &self.days.len())
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

/// Why a replay ended early.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// An operation does not fit the state of the file system.
    #[error("line {line}: {verb}: {error}")]
    State {
        /// Line or row of the workload.
        line: u64,
        /// The operation's verb.
        verb: Verb,
        /// What does not fit.
        error: StateError,
    },
    /// A real file system could not be replayed on.
    #[error(transparent)]
    Real(RealError),
    /// The target's own check found something: an error of the model.
    #[error("after day {label}: {inconsistency}")]
    Inconsistent {
        /// Label of the day.
        label: String,
        /// What was found.
        inconsistency: Inconsistency,
    },
    /// The workload could not be read.
    #[error(transparent)]
    Source(SinkError),
    /// A snapshot could not be stored.
    #[error("cannot store a snapshot")]
    Snapshot(#[source] SinkError),
    /// A real file system could not be looked at as a whole.
    #[error("cannot walk the tree")]
    MeasureAnew(#[source] SinkError),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<RealError> for ReplayError {
    fn from(error: RealError) -> ReplayError {
        match error {
            RealError::State { line, verb, error } => ReplayError::State { line, verb, error },
            RealError::Interrupted => ReplayError::Interrupted,
            error => ReplayError::Real(error),
        }
    }
}

impl Aging {
    /// A fresh target, or a real one whose run goes on. In lenient mode operations that do not fit the state are
    /// counted and skipped.
    pub fn new(target: Target, lenient: bool) -> Aging {
        Aging {
            target,
            stamps: None,
            snapshots: None,
            day_ends: None,
            follow_io: None,
            map: None,
            kept: None,
            lenient,
            check_days: false,
            measure_anew: None,
            days: Vec::new(),
            earlier_days: 0,
            today: OpCounts::default(),
            t_ns: None,
            failure: None,
        }
    }

    /// Asks for something that is told what the operations of a model do to buffers. What is no model, or one that no
    /// host runs, tells nothing.
    pub fn follow_io(&mut self, follower: impl FnOnce(&dyn Hosted) -> Option<FollowIo>) {
        if let Some(hosted) = self.target.as_hosted() {
            self.follow_io = follower(hosted);
            if self.follow_io.is_some() {
                hosted.emit_to_follower();
            }
        }
    }

    /// Also runs the target's own file system check at the end of every day, and measures the whole layout, where only
    /// what has changed is measured otherwise.
    pub fn check_every_day(&mut self) {
        self.check_days = true;
    }

    /// Also measures a real target anew at the end of every day. Of a model nothing else is to be found.
    pub fn measure_anew_every_day(&mut self, measure_anew: MeasureAnew) {
        self.measure_anew = Some(measure_anew);
    }

    /// Also tells `day_ends` of every day.
    pub fn when_day_ends(&mut self, day_ends: DayEnds) {
        self.day_ends = Some(day_ends);
    }

    /// Also keeps a block map.
    pub fn record_map(&mut self, recorder: Recorder) {
        self.map = Some(recorder);
    }

    /// The block map up to the last day, if one was kept. Of a real target whose days were all over before an
    /// interruption nothing is known but what was kept before.
    pub fn take_map(&mut self) -> Option<Recording> {
        let mut map = self.map.take()?;
        if !self.days.is_empty() {
            map.last(self.days_so_far() - 1, self.target.layout());
        }
        map.into_recording()
    }

    /// Also takes a snapshot with times, generations and names at the end of every so many days, and of the
    /// last. `epoch_ns` is the time of the workload's 0, nanoseconds since 1970 UTC. Costs memory for the times
    /// and names, see [`Stamps`]. Of a real target nothing is taken.
    pub fn take_snapshots(&mut self, every_days: u32, epoch_ns: i64, take: TakeSnapshot) {
        self.keep_stamps(epoch_ns);
        if self.stamps.is_some() {
            self.snapshots = Some(Snapshots {
                epoch_ns,
                every_days: every_days.max(1),
                taken: 0,
                way: Way::Model(take),
            });
        }
    }

    /// Also keeps times, generations and names beside a model. `epoch_ns` is the time of the workload's 0, nanoseconds
    /// since 1970 UTC. Real targets have their own.
    pub fn keep_stamps(&mut self, epoch_ns: i64) {
        if let (Target::Model(fs), None) = (&self.target, &self.stamps) {
            self.stamps = Some(Box::new(Stamps::new(&**fs, epoch_ns)));
        }
    }

    /// The same of a real target, whose file system is walked. Of a model nothing is taken.
    pub fn take_real_snapshots(&mut self, every_days: u32, epoch_ns: i64, take: TakeRealSnapshot) {
        if let Target::Real(_) = self.target {
            self.snapshots = Some(Snapshots {
                epoch_ns,
                every_days: every_days.max(1),
                taken: 0,
                way: Way::Real(take),
            });
        }
    }

    /// The target as it stands.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The target, out of the replay.
    pub fn into_target(self) -> Target {
        self.target
    }

    /// Times, generations and names beside the target, if they were kept.
    pub fn take_stamps(&mut self) -> Option<Box<Stamps>> {
        self.stamps.take()
    }

    /// The days so far, without those before an interruption.
    pub fn days(&self) -> &[Day] {
        &self.days
    }

    /// Days that had been measured before an interruption.
    pub fn earlier_days(&self) -> u32 {
        self.earlier_days
    }

    /// What became of the operations of all days so far, without those before an interruption.
    pub fn total(&self) -> OpCounts {
        let mut total = OpCounts::default();
        for day in &self.days {
            total.add(&day.counts);
        }
        total
    }

    fn apply(&mut self, events: &[Event]) {
        if self.failure.is_some() {
            return;
        }
        let mut rest = events;
        while let Some(first) = rest.first() {
            let operations = match rest.iter().position(|e| e.op == Op::Day) {
                Some(0) => {
                    let label = first.name.as_deref().unwrap_or_default();
                    self.t_ns = first.t_ns.or(self.t_ns);
                    self.keep_measures();
                    self.end_day(&String::from_utf8_lossy(label));
                    if self.failure.is_some() {
                        return;
                    }
                    rest = &rest[1..];
                    continue;
                }
                Some(n) => &rest[..n],
                None => rest,
            };
            let stamps = self.stamps.as_deref_mut();
            let (today, lenient) = (&mut self.today, self.lenient);
            let applied = match &mut self.target {
                Target::Model(fs) => {
                    let follow = self.follow_io.as_mut();
                    apply_to_model(&mut **fs, operations, today, lenient, stamps, follow)
                }
                Target::Real(real) => real
                    .apply(operations, today, lenient)
                    .map_err(ReplayError::from),
            };
            if let Err(error) = applied {
                self.failure = Some(error);
                return;
            }
            let last = operations.iter().rev().find_map(|e| e.t_ns);
            self.t_ns = last.or(self.t_ns);
            rest = &rest[operations.len()..];
        }
    }

    fn end_day(&mut self, label: &str) {
        if let Err(error) = self.try_end_day(label) {
            self.failure.get_or_insert(error);
        }
    }

    fn try_end_day(&mut self, label: &str) -> Result<(), ReplayError> {
        if let Target::Real(real) = &mut self.target
            && real.end_day(&mut self.today, self.lenient)? == DayIs::Known
        {
            self.earlier_days += 1;
            self.today = OpCounts::default();
            return Ok(());
        }
        self.target.end_day();
        if let (Some(follow), Some(hosted)) = (&mut self.follow_io, self.target.as_hosted()) {
            follow(Followed {
                t_ns: self.t_ns,
                op: None,
                fs: hosted,
            });
        }
        if self.check_days {
            self.target
                .check()
                .map_err(|inconsistency| ReplayError::Inconsistent {
                    label: label.to_owned(),
                    inconsistency,
                })?;
        }
        let number = self.days_so_far();
        let (mut measures, is_mapped) = self.measure(number, label)?;
        if let (Target::Real(real), Some(measure_anew)) = (&self.target, &mut self.measure_anew) {
            measures = measure_anew(number, &measures, real.directory())
                .map_err(ReplayError::MeasureAnew)?;
        }
        let planned_bytes = match &self.target {
            Target::Real(real) => {
                let left_out = real.directory().left_out_bytes();
                Some(
                    measures
                        .sums
                        .pieces
                        .live_bytes
                        .saturating_add_signed(left_out),
                )
            }
            Target::Model(_) => None,
        };
        let day = Day {
            number,
            label: label.to_owned(),
            t_ns: self.t_ns,
            counts: std::mem::take(&mut self.today),
            measures,
            planned_bytes,
        };
        self.target.begin_day();
        let frame = self.map.as_ref().filter(|_| is_mapped);
        let frame = frame.and_then(Recorder::latest);
        let record = self.day_ends.as_mut();
        let record = record.map(|day_ends| day_ends(&day, frame));
        self.days.push(day);
        let days = self.days_so_far();
        if self
            .snapshots
            .as_ref()
            .is_some_and(|s| days.is_multiple_of(s.every_days))
        {
            self.take_snapshot()?;
        }
        if let Target::Real(real) = &mut self.target {
            real.record_day(days - 1, &record.unwrap_or_default())?;
        }
        Ok(())
    }

    /// A day ends, and more may follow: from now on the target says what changes, if it can.
    fn keep_measures(&mut self) {
        if self.kept.is_none() {
            let with_map = self.map.is_some();
            self.kept = Kept::begin(self.target.layout_mut(), with_map);
        }
    }

    /// Measures a day: what has changed in it, or the whole layout. Says whether the block map keeps the day.
    fn measure(&mut self, number: u32, label: &str) -> Result<(Measures, bool), ReplayError> {
        let Some(kept) = &mut self.kept else {
            return Ok(self.measure_whole(number));
        };
        let layout = self.target.layout_mut();
        let measures = kept.update(layout).clone();
        if self.check_days
            && let Some(difference) = kept.differs_from(layout)
        {
            return Err(ReplayError::Inconsistent {
                label: label.to_owned(),
                inconsistency: Inconsistency {
                    count: 1,
                    findings: vec![difference],
                },
            });
        }
        let map = self.map.as_mut();
        let is_mapped = map.is_some_and(|recorder| kept.offer(number, recorder));
        Ok((measures, is_mapped))
    }

    /// Measures the whole layout. Says whether the block map keeps the day.
    fn measure_whole(&mut self, number: u32) -> (Measures, bool) {
        let layout = self.target.layout();
        let map = self.map.as_mut();
        let is_mapped = map.is_some_and(|recorder| recorder.begin(number, layout));
        let mut map = self.map.as_mut().filter(|_| is_mapped);
        let measures = measure_and(layout, &mut |file| {
            if let Some(recorder) = &mut map {
                recorder.file(file);
            }
        });
        if let Some(recorder) = map {
            recorder.end(number);
        }
        (measures, is_mapped)
    }

    fn days_so_far(&self) -> u32 {
        self.earlier_days + self.days.len() as u32
    }

    /// Takes a snapshot, if that of this day is not taken yet.
    fn take_snapshot(&mut self) -> Result<(), ReplayError> {
        let days = self.days_so_far();
        let Some(snapshots) = self.snapshots.as_mut().filter(|s| s.taken < days) else {
            return Ok(());
        };
        snapshots.taken = days;
        let day_ends = self.t_ns.map(|t| snapshots.epoch_ns.saturating_add(t));
        let taken = match (&mut snapshots.way, &self.target) {
            (Way::Model(take), target) => {
                let Some(stamps) = &self.stamps else {
                    return Ok(());
                };
                let layout = target.layout();
                let (inodes, names) = stamps.snapshot(layout);
                let now_ns = stamps.now_ns();
                let info = SnapshotInfo {
                    snap_id: days - 1,
                    taken_at_ns: day_ends.map_or(now_ns, |t| t.max(now_ns)),
                    source: "model".to_owned(),
                    ..SnapshotInfo::default()
                };
                let info = info.with_layout(&layout.geometry(), layout.space().as_ref());
                take(info, inodes, names)
            }
            (Way::Real(take), Target::Real(real)) => take(
                days - 1,
                day_ends.unwrap_or(snapshots.epoch_ns),
                real.directory().root(),
            ),
            (Way::Real(_), _) => Ok(()),
        };
        taken.map_err(ReplayError::Snapshot)
    }

    /// Operations after the last `day` belong to an open day, which is measured at the end.
    fn end(&mut self) -> Result<(), ReplayError> {
        if matches!(&self.target, Target::Real(real) if real.open_day_is_known()) {
            self.try_end_day("end")?;
        }
        if let Target::Real(real) = &mut self.target {
            real.catch_up_ends(&mut self.today, self.lenient)?;
        }
        if self.today != OpCounts::default() || self.days_so_far() == 0 {
            self.try_end_day("end")?;
        }
        self.take_snapshot()
    }

    /// Leaves a target that is not done so that its run can go on.
    fn leave(&mut self) -> Result<(), ReplayError> {
        match &mut self.target {
            Target::Real(real) => Ok(real.leave()?),
            Target::Model(_) => Ok(()),
        }
    }
}

/// Applies events to a model, as a replay does it: under their names, at their times. Outcomes are counted; times are
/// noted where somebody takes snapshots, and what it does to its disk is told where somebody follows that.
///
/// # Errors
/// The first event that does not fit the state, unless `lenient`.
pub fn apply_to_model(
    fs: &mut dyn AnyModel,
    events: &[Event],
    counts: &mut OpCounts,
    lenient: bool,
    mut stamps: Option<&mut Stamps>,
    mut follow_io: Option<&mut FollowIo>,
) -> Result<(), ReplayError> {
    for event in events {
        let op = &event.op;
        if op.verb().is_probe() {
            continue;
        }
        if let Some(t_ns) = event.t_ns {
            fs.set_time(t_ns);
        }
        if let Some(name) = &event.name {
            fs.name_next(name);
        }
        let outcome = fs.apply(op);
        if let (Some(stamps), Ok(outcome)) = (stamps.as_deref_mut(), outcome) {
            stamps.applied(event, outcome, fs);
        }
        if let (Some(follow), Some(hosted)) = (follow_io.as_deref_mut(), fs.as_hosted()) {
            follow(Followed {
                t_ns: event.t_ns,
                op: Some(op),
                fs: hosted,
            });
        }
        match outcome {
            Ok(outcome) => counts.count(op, outcome, |file| fs.file_size(file)),
            Err(_) if lenient => counts.invalid += 1,
            Err(error) => {
                return Err(ReplayError::State {
                    line: event.line,
                    verb: op.verb(),
                    error,
                });
            }
        }
    }
    Ok(())
}

/// How far a replay has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Events read.
    pub events: u64,
    /// Bytes read of how many, where the source knows.
    pub bytes: Option<(u64, u64)>,
}

/// Replays a workload on every target, with at most `threads` of them at work at the same time. `progress` is
/// told how far it has come and says whether to go on. Whatever happens, real targets are left so that the run can be
/// resumed.
///
/// # Errors
/// The first target's failure, else what the source reports; the targets then stand where they stopped.
pub fn replay(
    source: &mut dyn EventSource,
    agings: &mut [Aging],
    threads: usize,
    progress: impl FnMut(Progress) -> bool,
) -> Result<(), ReplayError> {
    let replayed = replay_all(source, agings, threads, progress);
    if replayed.is_err() {
        for aging in agings.iter_mut() {
            // What stopped the replay is worth more to know than what leaving a target failed with after it.
            let _ = aging.leave();
        }
    }
    replayed
}

fn replay_all(
    source: &mut dyn EventSource,
    agings: &mut [Aging],
    threads: usize,
    mut progress: impl FnMut(Progress) -> bool,
) -> Result<(), ReplayError> {
    let share = agings.len().div_ceil(threads.max(1)).max(1);
    let mut batch = Vec::with_capacity(BATCH);
    let mut next = Vec::with_capacity(BATCH);
    let mut events = 0;
    let mut read = fill(source, &mut batch);
    loop {
        let more = read.is_ok() && batch.len() == BATCH;
        if threads > 1 {
            let events = &batch;
            std::thread::scope(|scope| {
                for share in agings.chunks_mut(share) {
                    scope.spawn(move || share.iter_mut().for_each(|aging| aging.apply(events)));
                }
                if more {
                    read = fill(source, &mut next);
                }
            });
        } else {
            for aging in agings.iter_mut() {
                aging.apply(&batch);
            }
            if more {
                read = fill(source, &mut next);
            }
        }
        if let Some(failure) = agings.iter_mut().find_map(|aging| aging.failure.take()) {
            return Err(failure);
        }
        events += batch.len() as u64;
        if !more {
            break;
        }
        let bytes = source.progress();
        if !progress(Progress { events, bytes }) {
            return Err(ReplayError::Interrupted);
        }
        std::mem::swap(&mut batch, &mut next);
    }
    read.map_err(ReplayError::Source)?;
    for aging in agings.iter_mut() {
        aging.end()?;
    }
    Ok(())
}

fn fill(source: &mut dyn EventSource, batch: &mut Vec<Event>) -> Result<(), SinkError> {
    batch.clear();
    while batch.len() < BATCH {
        match source.next_event()? {
            Some(event) => batch.push(event),
            None => break,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
