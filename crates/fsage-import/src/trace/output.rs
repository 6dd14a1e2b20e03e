//! The workload that comes out: ids, what is alive in it, and the merging of writes.
//!
//! What was written out is remembered apart from what the trace makes believe, so that no event can fail in a
//! replay: a directory goes only when it is empty, a name is replaced only where it lies.
//!
//! Events wait in a queue while writes may still join them. Without a window for merging ([`Output::new`]) the
//! queue goes out up to the last write of another file; with one, what is older than the window.

use super::{Fault, Initial};
use fsage_core::{DirId, Event, EventSink, FileId, Op, Origin, TQuality};
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
    parent: DirId,
    entries: u64,
}

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
    dirs: FxHashMap<DirId, OutDir>,
    files: FxHashMap<FileId, DirId>,
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
        let mut dirs = FxHashMap::default();
        let root = OutDir {
            parent: DirId::ROOT,
            entries: 0,
        };
        dirs.insert(DirId::ROOT, root);
        Output {
            sink,
            queue: VecDeque::new(),
            base: 1,
            merge_ns,
            last_written: None,
            written_to: 0,
            next_file: 0,
            next_dir: 1,
            dirs,
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
        for (id, parent) in initial.dirs() {
            self.dirs.insert(id, OutDir { parent, entries: 0 });
        }
        for (_, parent) in initial.dirs() {
            self.count(parent, 1);
        }
        for file in initial.files() {
            self.count(file.dir, 1);
            self.files.insert(file.id, file.dir);
        }
        Ok(())
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
        self.dirs.insert(dir, OutDir { parent, entries: 0 });
        self.count(parent, 1);
        let parent = Some(parent);
        let event = Event::new(Op::Mkdir { dir, parent }).named(name);
        self.push(event, t_ns, origin).map(drop)
    }

    /// Removes a directory, unless entries are left in it: false.
    pub fn rmdir(&mut self, dir: DirId, t_ns: i64) -> Result<bool, Fault> {
        let Some(old) = self.dirs.get(&dir).copied().filter(|d| d.entries == 0) else {
            return Ok(false);
        };
        self.dirs.remove(&dir);
        self.count(old.parent, -1);
        self.push(Event::new(Op::Rmdir { dir }), t_ns, Origin::Trace)?;
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
        if self.is_open() {
            let mut above = parent;
            while above != DirId::ROOT {
                if above == dir {
                    return Ok(false);
                }
                above = self.dirs.get(&above).map_or(DirId::ROOT, |d| d.parent);
            }
            if let Some(d) = self.dirs.get_mut(&dir) {
                let old = std::mem::replace(&mut d.parent, parent);
                self.count(old, -1);
                self.count(parent, 1);
            }
        }
        let event = Event::new(Op::RenameDir { dir, parent }).named(name);
        self.push(event, t_ns, Origin::Trace)?;
        Ok(true)
    }

    /// Makes a file; writes of `writer` that start at `bytes` may join it.
    pub fn create(&mut self, file: FileId, made: &Made<'_>) -> Result<Growing, Fault> {
        self.files.insert(file, made.dir);
        self.count(made.dir, 1);
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
        self.files.insert(file, dir);
        self.count(dir, 1);
        let op = Op::Link {
            file,
            existing,
            dir,
        };
        self.push(Event::new(op).named(name), t_ns, Origin::Trace)
            .map(drop)
    }

    pub fn delete(&mut self, file: FileId, t_ns: i64) -> Result<(), Fault> {
        if let Some(dir) = self.files.remove(&file) {
            self.count(dir, -1);
        }
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
            // The trace told only later where it lies: it lies elsewhere in the workload.
            if self.is_open() && self.files.get(&old) != Some(&dir) {
                self.delete(old, t_ns)?;
                together = None;
            } else if self.files.remove(&old).is_some() {
                self.count(dir, -1);
            }
        }
        if let Some(from) = self.files.insert(file, dir) {
            self.count(from, -1);
        }
        self.count(dir, 1);
        let op = Op::Rename {
            file,
            dir,
            replaced: together,
        };
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

    fn count(&mut self, dir: DirId, change: i64) {
        if let Some(d) = self.dirs.get_mut(&dir) {
            d.entries = d.entries.saturating_add_signed(change);
        }
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
