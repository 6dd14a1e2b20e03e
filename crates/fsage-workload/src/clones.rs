//! One history several times, side by side in directories of their own and shifted by days.
//!
//! A git history writes a hundred times its live size and has little live data. Several copies of it fill a
//! larger disk: each in its own directory of the root (`clone-1`, `clone-2`, ...), moved by a random whole
//! number of days, all interleaved by time, so that files of different copies grow next to each other.
//!
//! The first copy is not moved, and keeps its times as good as they were; those of a copy that is moved are
//! `shifted`. Days are counted anew: one `day N` after the last operation of each day with any, N days after
//! the first. At the end there are N times the files and bytes of one copy.
//!
//! The merge reads every copy through a source of its own and holds one event of each, so memory does not
//! grow with the history.
//!
//! Left out: starting a copy in the middle of its history, and removing the oldest copy when the disk is
//! full.

use fsage_core::{
    DirId, Event, EventSink, EventSource, FileId, Op, Origin, Rng, SinkError, TQuality,
    WorkloadHeader,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use thiserror::Error;

const DAY_NS: i64 = 86_400_000_000_000;

/// How many copies, and how far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clones {
    /// Copies, the first included; at least 1.
    pub count: u64,
    /// A copy but the first is moved by 0 to this many days.
    pub stagger_days: u64,
    /// Seed; every copy draws from a stream of its own.
    pub seed: u64,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClonesSummary {
    /// Operations, the directories of the copies included, `day` not.
    pub operations: u64,
    /// Days with operations.
    pub days_with_operations: u64,
    /// Days from the first operation to the last, both counted.
    pub days: u64,
    /// By how many days each copy was moved.
    pub shifts_days: Vec<u64>,
}

/// Why copies could not be made.
#[derive(Debug, Error)]
pub enum ClonesError {
    /// No copy was asked for.
    #[error("the number of clones must be at least 1")]
    NoClones,
    /// Copies are interleaved by time, and there is none.
    #[error(
        "the first operation of the workload has no time: clones are interleaved by time, so give it one (`@`)"
    )]
    NoTimes,
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

impl Clones {
    /// The header of the copies, given that of one.
    pub fn header(&self, single: &WorkloadHeader) -> WorkloadHeader {
        let source = single.source.as_deref().unwrap_or("a workload");
        WorkloadHeader {
            epoch_unix_s: single.epoch_unix_s,
            seed: Some(self.seed),
            source: Some(format!(
                "{source}, {} times, moved by up to {} days",
                self.count, self.stagger_days
            )),
            ..WorkloadHeader::default()
        }
    }

    /// By how many days copy `index` (from 0) is moved.
    pub fn shift_days(&self, index: u64) -> u64 {
        if index == 0 {
            return 0;
        }
        Rng::new(self.seed)
            .stream("clone shift", index)
            .between(0, self.stagger_days)
    }

    /// Makes the copies. `open` gives the workload from its beginning, once for each copy.
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
        let mut copies = Vec::new();
        for index in 0..self.count {
            let source = open().map_err(ClonesError::Source)?;
            copies.push(Copied::new(self, index, source)?);
        }
        let epoch_s = copies[0].source.header().epoch_unix_s.unwrap_or(0);
        let mut out = Days::new(epoch_s, sink);
        // At equal times the lowest copy goes on, so that what one step of a copy does stays together.
        let mut queue = BinaryHeap::new();
        for (n, copy) in copies.iter_mut().enumerate() {
            if let Some(t_ns) = copy.read()? {
                queue.push(Reverse((t_ns, n)));
            }
        }
        while let Some(Reverse((t_ns, n))) = queue.pop() {
            let copy = &mut copies[n];
            if let Some(directory) = copy.directory.take() {
                out.event(t_ns, directory)?;
            }
            if let Some(event) = copy.next.take() {
                out.event(t_ns, event)?;
            }
            if let Some(t_ns) = copy.read()? {
                queue.push(Reverse((t_ns, n)));
            }
        }
        let mut summary = out.finish()?;
        summary.shifts_days = (0..self.count).map(|i| self.shift_days(i)).collect();
        Ok(summary)
    }
}

/// One copy, an event ahead.
struct Copied<S> {
    source: S,
    count: u64,
    index: u64,
    shift_ns: i64,
    /// The `mkdir` of the copy's own directory, until it is made.
    directory: Option<Event>,
    next: Option<Event>,
    /// Time of the last event, moved; a clock that goes back does not change the order within a copy.
    t_ns: Option<i64>,
    /// The workload has made a directory 0 of its own.
    zero_is_made: bool,
}

impl<S: EventSource> Copied<S> {
    fn new(clones: &Clones, index: u64, source: S) -> Result<Copied<S>, ClonesError> {
        let shift_ns = i64::try_from(clones.shift_days(index))
            .ok()
            .and_then(|days| days.checked_mul(DAY_NS))
            .ok_or(ClonesError::TooLarge("times"))?;
        let op = Op::Mkdir {
            dir: DirId(1 + index),
            parent: Some(DirId::ROOT),
        };
        let name = format!("clone-{}", index + 1);
        Ok(Copied {
            source,
            count: clones.count,
            index,
            shift_ns,
            directory: Some(
                Event::new(op)
                    .named(name.as_bytes())
                    .from_source(Origin::Generated, TQuality::Inferred),
            ),
            next: None,
            t_ns: None,
            zero_is_made: false,
        })
    }

    /// Reads the next operation; gives its time for the order.
    fn read(&mut self) -> Result<Option<i64>, ClonesError> {
        loop {
            let Some(mut event) = self.source.next_event().map_err(ClonesError::Source)? else {
                return Ok(None);
            };
            if event.op == Op::Day || event.op.verb().is_probe() {
                continue;
            }
            let moved = event
                .t_ns
                .map(|t| t.checked_add(self.shift_ns))
                .map_or(Ok(self.t_ns), |t| {
                    t.ok_or(ClonesError::TooLarge("times")).map(Some)
                })?
                .ok_or(ClonesError::NoTimes)?;
            let t_ns = self.t_ns.map_or(moved, |before| before.max(moved));
            self.t_ns = Some(t_ns);
            event.t_ns = Some(moved);
            event.op = self.renumber(event.op)?;
            event.line = 0;
            if self.shift_ns != 0 {
                event.t_quality = Some(TQuality::Shifted);
            }
            if self.index != 0 {
                // The source had the inode once.
                event.src_ino = None;
                event.src_gen = None;
            }
            self.next = Some(event);
            return Ok(Some(t_ns));
        }
    }

    /// Id `i` of copy `c` of `n` is `i * n + c`: no two meet, and small ids stay small.
    fn file(&self, file: FileId) -> Result<FileId, ClonesError> {
        let id = file.0.checked_mul(self.count);
        id.and_then(|id| id.checked_add(self.index))
            .map(FileId)
            .ok_or(ClonesError::TooLarge("file ids"))
    }

    /// As with files, after the root and the directories of the copies, which take the place of the root.
    fn dir(&self, dir: DirId) -> Result<DirId, ClonesError> {
        if dir == DirId::ROOT && !self.zero_is_made {
            return Ok(DirId(1 + self.index));
        }
        let id = dir.0.checked_add(1).and_then(|d| d.checked_mul(self.count));
        id.and_then(|id| id.checked_add(1 + self.index))
            .map(DirId)
            .ok_or(ClonesError::TooLarge("directory ids"))
    }

    fn renumber(&mut self, mut op: Op) -> Result<Op, ClonesError> {
        match &mut op {
            Op::Mkdir { dir, parent } => {
                // `mkdir 0` in the root, before anything else names it, makes an ordinary directory.
                let above = self.dir(parent.unwrap_or(DirId::ROOT))?;
                self.zero_is_made |= *dir == DirId::ROOT;
                *dir = self.dir(*dir)?;
                *parent = Some(above);
            }
            Op::Rmdir { dir } => *dir = self.dir(*dir)?,
            Op::RenameDir { dir, parent } => {
                *dir = self.dir(*dir)?;
                *parent = self.dir(*parent)?;
            }
            Op::Create { file, dir, .. } | Op::Symlink { file, dir, .. } => {
                *file = self.file(*file)?;
                *dir = self.dir(*dir)?;
            }
            Op::Rename {
                file,
                dir,
                replaced,
            } => {
                *file = self.file(*file)?;
                *dir = self.dir(*dir)?;
                *replaced = replaced.map(|r| self.file(r)).transpose()?;
            }
            Op::Link {
                file,
                existing,
                dir,
            } => {
                *file = self.file(*file)?;
                *existing = self.file(*existing)?;
                *dir = self.dir(*dir)?;
            }
            Op::Append { file, .. }
            | Op::Write { file, .. }
            | Op::Overwrite { file, .. }
            | Op::Rewrite { file, .. }
            | Op::Truncate { file, .. }
            | Op::Fallocate { file, .. }
            | Op::Punch { file, .. }
            | Op::Delete { file }
            | Op::Read { file, .. }
            | Op::Fsync { file } => *file = self.file(*file)?,
            Op::Sync | Op::Remount => {}
            Op::Day | Op::Dump | Op::Cgs | Op::Geom | Op::Check | Op::Layout { .. } => {
                unreachable!("days and probes are not copied")
            }
        }
        Ok(op)
    }
}

/// Puts `day` events between the operations.
struct Days<'a> {
    epoch_ns: i128,
    sink: &'a mut dyn EventSink,
    /// Day since 1970 of the first operation, and of the last.
    span: Option<(i64, i64)>,
    t_ns: i64,
    summary: ClonesSummary,
}

impl<'a> Days<'a> {
    fn new(epoch_s: i64, sink: &'a mut dyn EventSink) -> Days<'a> {
        Days {
            epoch_ns: i128::from(epoch_s) * 1_000_000_000,
            sink,
            span: None,
            t_ns: 0,
            summary: ClonesSummary::default(),
        }
    }

    /// `t_ns` orders the event and must not go down; the event may have an earlier time of its own.
    fn event(&mut self, t_ns: i64, mut event: Event) -> Result<(), ClonesError> {
        let day = (self.epoch_ns + i128::from(t_ns)).div_euclid(i128::from(DAY_NS)) as i64;
        match self.span {
            None => self.span = Some((day, day)),
            Some((_, last)) if last == day => {}
            Some((first, _)) => {
                self.end_day()?;
                self.span = Some((first, day));
            }
        }
        self.t_ns = t_ns;
        event.t_ns.get_or_insert(t_ns);
        self.summary.operations += 1;
        self.sink.event(event).map_err(ClonesError::Sink)
    }

    fn end_day(&mut self) -> Result<(), ClonesError> {
        let Some((first, last)) = self.span else {
            return Ok(());
        };
        self.summary.days_with_operations += 1;
        self.summary.days = (last - first) as u64 + 1;
        let event = Event::day(&(last - first).to_string()).at(self.t_ns);
        self.sink.event(event).map_err(ClonesError::Sink)
    }

    fn finish(mut self) -> Result<ClonesSummary, ClonesError> {
        self.end_day()?;
        Ok(self.summary)
    }
}
