//! The workload that comes out: ids, what is alive in it, and the merging of writes.
//!
//! What was written out is remembered apart from what the trace makes believe, so that no event can fail in a
//! replay: a directory goes only when it is empty, a name is replaced only where it lies. The rules are those of
//! [`fsage_core::operations`]; sizes are known to who writes, and words every write so that it fits.
//!
//! Events wait in a queue while writes may still join them. Without a window for merging ([`Output::new`]) the
//! queue goes out up to the last write of another file; with one, what is older than the window.

use super::{Fault, Initial};
use fsage_core::operations::{self, Action, Decision, DirIds, Namespace, ROOT, Shortfall};
use fsage_core::{DirId, Event, EventSink, FileId, Op, Origin, StateError, TQuality};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Who writes: a process, or a client.
pub(crate) type Writer = u64;

/// An event that the next write of a file may join.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growing {
    seq: u64,
    writer: Writer,
    /// Where the data of the event start.
    start: u64,
}

/// What became of written data.
pub(crate) enum Joined {
    /// They are part of an event that waits; so many of them it had before.
    Yes { absorbed: u64 },
    /// They need an event of their own.
    No,
}

#[derive(Clone, Copy, Debug)]
struct OutDir {
    /// Slot of the directory that holds it.
    parent: u32,
    entries: u64,
}

/// Slot of a directory that was not written out.
const NOT_OUT: u32 = u32::MAX;

pub(crate) struct Output<'s> {
    /// `None` in the first pass: ids are given, nothing is written.
    sink: Option<&'s mut dyn EventSink>,
    queue: VecDeque<Event>,
    /// Sequence number of the queue's first event.
    base: u64,
    merge_ns: i64,
    last_written: Option<u64>,
    /// Sequence number behind the last write: what waits before it was there when that file was written.
    written_to: u64,
    next_file: u64,
    next_dir: u64,
    dir_ids: DirIds,
    /// By slots, of which none is used again.
    dirs: Vec<OutDir>,
    /// Where each name stands.
    files: FxHashMap<FileId, u32>,
    utc_offset_ns: i64,
    /// The first day and the latest, counted from 1970.
    days: Option<(i64, i64)>,
    day_t_ns: i64,
}

const DAY_NS: i64 = 86_400_000_000_000;
/// Events that wait at most.
const MOST_WAITING: usize = 1 << 16;

impl<'s> Output<'s> {
    pub fn new(
        sink: Option<&'s mut dyn EventSink>,
        merge_ns: i64,
        utc_offset_s: i32,
    ) -> Output<'s> {
        let root = OutDir {
            parent: ROOT,
            entries: 0,
        };
        Output {
            sink,
            queue: VecDeque::new(),
            base: 1,
            merge_ns,
            last_written: None,
            written_to: 0,
            next_file: 0,
            next_dir: 1,
            dir_ids: DirIds::default(),
            dirs: vec![root],
            files: FxHashMap::default(),
            utc_offset_ns: i64::from(utc_offset_s) * 1_000_000_000,
            days: None,
            day_t_ns: 0,
        }
    }

    /// Writes out the tree that was there before.
    pub fn start_with(&mut self, initial: &Initial) -> Result<(), Fault> {
        if let Some(sink) = &mut self.sink {
            initial.emit(*sink)?;
        }
        // One may lie in another that comes later.
        for (id, _) in initial.dirs() {
            self.add_dir(id, NOT_OUT);
        }
        for (id, parent) in initial.dirs() {
            let (at, parent) = (self.slot(id), self.slot(parent));
            if let Some(dir) = self.dirs.get_mut(at as usize) {
                dir.parent = parent;
            }
            self.count(parent, 1);
        }
        for file in initial.files() {
            self.enter(file.id, file.dir);
        }
        Ok(())
    }

    /// Slot of a directory.
    fn slot(&self, dir: DirId) -> u32 {
        self.dir_ids.get(dir).unwrap_or(NOT_OUT)
    }

    fn add_dir(&mut self, id: DirId, parent: u32) {
        self.dir_ids.insert(id, self.dirs.len() as u32);
        self.dirs.push(OutDir { parent, entries: 0 });
    }

    /// A name stands in a directory from now on.
    fn enter(&mut self, file: FileId, dir: DirId) {
        let at = self.slot(dir);
        if let Some(from) = self.files.insert(file, at) {
            self.count(from, -1);
        }
        self.count(at, 1);
    }

    /// A name is gone.
    fn leave(&mut self, file: FileId) {
        if let Some(dir) = self.files.remove(&file) {
            self.count(dir, -1);
        }
    }

    /// Whether events are written, and not only ids given.
    pub fn is_open(&self) -> bool {
        self.sink.is_some()
    }

    pub fn new_file(&mut self) -> FileId {
        self.next_file += 1;
        FileId(self.next_file - 1)
    }

    pub fn new_dir(&mut self) -> DirId {
        self.next_dir += 1;
        DirId(self.next_dir - 1)
    }

    pub fn mkdir(
        &mut self,
        dir: DirId,
        parent: DirId,
        name: &[u8],
        t_ns: i64,
        origin: Origin,
    ) -> Result<(), Fault> {
        let above = self.slot(parent);
        self.add_dir(dir, above);
        self.count(above, 1);
        let parent = Some(parent);
        let event = Event::new(Op::Mkdir { dir, parent }).named(name);
        self.push(event, t_ns, origin).map(drop)
    }

    /// Removes a directory, unless entries are left in it: false.
    pub fn rmdir(&mut self, dir: DirId, t_ns: i64) -> Result<bool, Fault> {
        let op = Op::Rmdir { dir };
        let Ok(Decision::Do(Action::Rmdir { dir: at, .. })) = operations::decide(self, &op) else {
            return Ok(false);
        };
        self.dir_ids.remove(dir);
        self.count(self.parent_of(at), -1);
        self.push(Event::new(op), t_ns, Origin::Trace)?;
        Ok(true)
    }

    /// Moves a directory, unless it would come below itself: false.
    pub fn rename_dir(
        &mut self,
        dir: DirId,
        parent: DirId,
        name: &[u8],
        t_ns: i64,
    ) -> Result<bool, Fault> {
        let op = Op::RenameDir { dir, parent };
        if self.is_open() {
            match operations::decide(self, &op) {
                Ok(Decision::Do(Action::RenameDir { dir, to, .. })) => {
                    let old = std::mem::replace(&mut self.dirs[dir as usize].parent, to);
                    self.count(old, -1);
                    self.count(to, 1);
                }
                Err(StateError::IntoItself(_)) => return Ok(false),
                _ => {}
            }
        }
        let event = Event::new(op).named(name);
        self.push(event, t_ns, Origin::Trace)?;
        Ok(true)
    }

    /// Makes a file; writes of `writer` that start at `bytes` may join it.
    pub fn create(&mut self, file: FileId, made: &Made<'_>) -> Result<Growing, Fault> {
        self.enter(file, made.dir);
        let (dir, bytes) = (made.dir, made.bytes);
        let op = if made.symlink {
            Op::Symlink { file, dir, bytes }
        } else {
            Op::Create { file, dir, bytes }
        };
        let mut event = Event::new(op).named(made.name);
        event.src_ino = made.src.map(|s| s.0);
        event.src_gen = made.src.map(|s| s.1);
        let seq = self.push(event, made.t_ns, Origin::Trace)?;
        Ok(Growing {
            seq,
            writer: made.writer,
            start: 0,
        })
    }

    pub fn link(
        &mut self,
        file: FileId,
        existing: FileId,
        dir: DirId,
        name: &[u8],
        t_ns: i64,
    ) -> Result<(), Fault> {
        self.enter(file, dir);
        let op = Op::Link {
            file,
            existing,
            dir,
        };
        self.push(Event::new(op).named(name), t_ns, Origin::Trace)
            .map(drop)
    }

    pub fn delete(&mut self, file: FileId, t_ns: i64) -> Result<(), Fault> {
        self.leave(file);
        self.push(Event::new(Op::Delete { file }), t_ns, Origin::Trace)
            .map(drop)
    }

    pub fn rename(
        &mut self,
        file: FileId,
        dir: DirId,
        name: &[u8],
        replaced: Option<FileId>,
        t_ns: i64,
    ) -> Result<(), Fault> {
        let mut together = replaced;
        if let Some(old) = replaced {
            let op = Op::Rename {
                file,
                dir,
                replaced,
            };
            let is_elsewhere = matches!(
                operations::decide(self, &op),
                Err(StateError::ReplacedElsewhere(_) | StateError::NothingToReplace(_))
            );
            // The trace told only later where it lies: it lies elsewhere in the workload.
            if self.is_open() && is_elsewhere {
                self.delete(old, t_ns)?;
                together = None;
            } else {
                self.leave(old);
            }
        }
        let op = Op::Rename {
            file,
            dir,
            replaced: together,
        };
        self.enter(file, dir);
        self.push(Event::new(op).named(name), t_ns, Origin::Trace)
            .map(drop)
    }

    /// An operation on the data of a file that no write joins.
    pub fn other(&mut self, op: Op, t_ns: i64) -> Result<(), Fault> {
        self.push(Event::new(op), t_ns, Origin::Trace).map(drop)
    }

    /// Truncates to 0; writes of `writer` from 0 on may join it.
    pub fn rewrite(&mut self, file: FileId, writer: Writer, t_ns: i64) -> Result<Growing, Fault> {
        let seq = self.push(
            Event::new(Op::Rewrite { file, bytes: 0 }),
            t_ns,
            Origin::Trace,
        )?;
        Ok(Growing {
            seq,
            writer,
            start: 0,
        })
    }

    /// A file is about to be written: what waited while another one was written can be joined no more, and goes
    /// out.
    pub fn before_write(&mut self, inode: u64, t_ns: i64) -> Result<(), Fault> {
        if self.last_written.replace(inode) == Some(inode) {
            return Ok(());
        }
        while self.base < self.written_to
            && let Some(first) = self.queue.front()
        {
            let age_ns = t_ns.saturating_sub(first.t_ns.unwrap_or(t_ns));
            if self.merge_ns > 0 && age_ns <= self.merge_ns {
                break;
            }
            self.pop()?;
        }
        Ok(())
    }

    /// The file was written.
    pub fn after_write(&mut self) {
        self.written_to = self.base + self.queue.len() as u64;
    }

    /// Lets `bytes` at `offset` join the event, if they continue its data or lie inside them; `size` is that of
    /// the file.
    pub fn join(
        &mut self,
        growing: Option<Growing>,
        writer: Writer,
        (offset, bytes): (u64, u64),
        size: u64,
    ) -> Joined {
        let Some(g) = growing.filter(|g| g.writer == writer) else {
            return Joined::No;
        };
        let index = g.seq.checked_sub(self.base).map(|i| i as usize);
        let Some(event) = index.and_then(|i| self.queue.get_mut(i)) else {
            return Joined::No;
        };
        let end = offset + bytes;
        let (length, may_extend) = match &mut event.op {
            Op::Create { bytes, .. } | Op::Rewrite { bytes, .. } | Op::Append { bytes, .. } => {
                let at_end = g.start + *bytes == size;
                (bytes, at_end)
            }
            Op::Write { bytes, .. } => (bytes, true),
            Op::Overwrite {
                range: Some((_, bytes)),
                ..
            } => (bytes, end <= size),
            _ => return Joined::No,
        };
        let old_end = g.start + *length;
        if offset < g.start || offset > old_end || (end > old_end && !may_extend) {
            return Joined::No;
        }
        *length = (*length).max(end - g.start);
        Joined::Yes {
            absorbed: bytes.min(old_end - offset),
        }
    }

    /// A write of its own, in the words of the workload.
    pub fn write(
        &mut self,
        file: FileId,
        writer: Writer,
        (offset, bytes): (u64, u64),
        size: u64,
        t_ns: i64,
    ) -> Result<Growing, Fault> {
        let op = if offset == size {
            Op::Append { file, bytes }
        } else if offset + bytes <= size {
            Op::Overwrite {
                file,
                range: Some((offset, bytes)),
            }
        } else {
            Op::Write {
                file,
                offset,
                bytes,
            }
        };
        let seq = self.push(Event::new(op), t_ns, Origin::Trace)?;
        Ok(Growing {
            seq,
            writer,
            start: offset,
        })
    }

    /// Writes out all that waits, and ends the last day.
    pub fn finish(&mut self) -> Result<(), Fault> {
        self.flush()?;
        self.end_day()
    }

    fn push(&mut self, event: Event, t_ns: i64, origin: Origin) -> Result<u64, Fault> {
        if self.sink.is_none() {
            return Ok(0);
        }
        let day = t_ns.saturating_add(self.utc_offset_ns).div_euclid(DAY_NS);
        match self.days {
            Some((_, latest)) if day <= latest => {}
            Some((first, _)) => {
                self.flush()?;
                self.end_day()?;
                self.days = Some((first, day));
            }
            None => self.days = Some((day, day)),
        }
        self.day_t_ns = self.day_t_ns.max(t_ns);
        if self.queue.len() >= MOST_WAITING {
            self.flush()?;
        }
        let quality = if origin == Origin::Trace {
            TQuality::Exact
        } else {
            TQuality::Bounded
        };
        self.queue
            .push_back(event.at(t_ns).from_source(origin, quality));
        Ok(self.base + self.queue.len() as u64 - 1)
    }

    fn end_day(&mut self) -> Result<(), Fault> {
        let (Some((first, latest)), Some(sink)) = (self.days, &mut self.sink) else {
            return Ok(());
        };
        let label = (latest - first).to_string();
        sink.event(Event::day(&label).at(self.day_t_ns))
            .map_err(Fault::Sink)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        while !self.queue.is_empty() {
            self.pop()?;
        }
        Ok(())
    }

    fn pop(&mut self) -> Result<(), Fault> {
        if let (Some(event), Some(sink)) = (self.queue.pop_front(), &mut self.sink) {
            self.base += 1;
            sink.event(event).map_err(Fault::Sink)?;
        }
        Ok(())
    }

    fn count(&mut self, dir: u32, change: i64) {
        if let Some(d) = self.dirs.get_mut(dir as usize) {
            d.entries = d.entries.saturating_add_signed(change);
        }
    }
}

/// A name is found by where it stands.
impl Namespace for Output<'_> {
    type File = u32;

    fn find_file(&self, id: FileId) -> Option<u32> {
        self.files.get(&id).copied()
    }

    /// Not kept here: whoever writes knows it.
    fn size_bytes(&self, _file: u32) -> u64 {
        u64::MAX
    }

    /// Nothing is ever short.
    fn links(&self, _file: u32) -> u32 {
        1
    }

    fn place_of(&self, _id: FileId, file: u32) -> u32 {
        file
    }

    fn dir_ids(&self) -> &DirIds {
        &self.dir_ids
    }

    fn parent_of(&self, dir: u32) -> u32 {
        self.dirs.get(dir as usize).map_or(ROOT, |dir| dir.parent)
    }

    fn is_removable(&self, dir: u32) -> bool {
        self.dirs[dir as usize].entries == 0
    }

    /// A trace was made where there was room.
    fn shortfalls(&self) -> impl Iterator<Item = &Shortfall> {
        std::iter::empty()
    }
}

/// A new file.
pub(crate) struct Made<'a> {
    pub dir: DirId,
    pub name: &'a [u8],
    pub bytes: u64,
    pub symlink: bool,
    pub writer: Writer,
    pub src: Option<(u64, u32)>,
    pub t_ns: i64,
}
