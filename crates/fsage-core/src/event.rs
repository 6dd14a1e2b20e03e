//! Operations on a file system, and the events of a workload.
//!
//! A workload says *what* is done, never where blocks go: the same events are replayed on any file system.
//! The columns and the text form are those of the workload format, version 1.

use std::fmt;

/// A directory entry of a file. Several ids may name one inode (see [`Op::Link`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// A directory. Directories and files have separate id spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirId(pub u64);

impl DirId {
    /// The root directory, unless a workload makes a directory of this id itself.
    pub const ROOT: DirId = DirId(0);
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for DirId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One operation on a file system. Sizes and offsets are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Makes directory `dir` in `parent`; without a parent in the root.
    Mkdir {
        /// The new directory.
        dir: DirId,
        /// Where it is made; `None` is the root.
        parent: Option<DirId>,
    },
    /// Removes an empty directory.
    Rmdir {
        /// The directory that goes.
        dir: DirId,
    },
    /// Moves directory `dir` into `parent`.
    RenameDir {
        /// The directory that moves.
        dir: DirId,
        /// Its new parent.
        parent: DirId,
    },
    /// Makes a file and writes `bytes` from offset 0.
    Create {
        /// The new file.
        file: FileId,
        /// The directory it is made in.
        dir: DirId,
        /// Its size.
        bytes: u64,
    },
    /// Writes `bytes` at the end of the file.
    Append {
        /// The file that grows.
        file: FileId,
        /// By how much.
        bytes: u64,
    },
    /// Writes at `offset`; may extend the file and leave a hole.
    Write {
        /// The file that is written.
        file: FileId,
        /// Where the write starts.
        offset: u64,
        /// How much is written.
        bytes: u64,
    },
    /// Writes in place inside the file, without truncation. `None` is the whole file.
    Overwrite {
        /// The file that is written.
        file: FileId,
        /// Offset and length.
        range: Option<(u64, u64)>,
    },
    /// Truncates to 0, then writes `bytes`: the inode stays.
    Rewrite {
        /// The file that is written anew.
        file: FileId,
        /// Its new size.
        bytes: u64,
    },
    /// Sets the size, down or up.
    Truncate {
        /// The file that is cut or stretched.
        file: FileId,
        /// Its new size.
        bytes: u64,
    },
    /// Allocates a range without writing it.
    Fallocate {
        /// The file.
        file: FileId,
        /// Start of the range.
        offset: u64,
        /// Length of the range.
        bytes: u64,
    },
    /// Deallocates a range.
    Punch {
        /// The file.
        file: FileId,
        /// Start of the range.
        offset: u64,
        /// Length of the range.
        bytes: u64,
    },
    /// Removes a name; the inode goes with its last name.
    Delete {
        /// The name that goes.
        file: FileId,
    },
    /// Moves a name into `dir`; `replaced` is removed by it, atomically.
    Rename {
        /// The name that moves.
        file: FileId,
        /// Where it goes.
        dir: DirId,
        /// The name it takes the place of.
        replaced: Option<FileId>,
    },
    /// Gives the inode of `existing` a second name.
    Link {
        /// The new name.
        file: FileId,
        /// A name of the inode.
        existing: FileId,
        /// The directory of the new name.
        dir: DirId,
    },
    /// Makes a symbolic link whose target is `bytes` long.
    Symlink {
        /// The new link.
        file: FileId,
        /// The directory it is made in.
        dir: DirId,
        /// Length of the target.
        bytes: u64,
    },
    /// Reads a range; `None` is the whole file.
    Read {
        /// The file that is read.
        file: FileId,
        /// Offset and length.
        range: Option<(u64, u64)>,
    },
    /// Flushes one file.
    Fsync {
        /// The file.
        file: FileId,
    },
    /// Flushes everything.
    Sync,
    /// Unmounts and mounts again: caches and allocator state in memory are dropped.
    Remount,
    /// Ends a day. The label is the event's name.
    Day,
    /// Asks a model to print every directory and file (`--trace` only, like the next four).
    Dump,
    /// Asks a model to print its cylinder groups.
    Cgs,
    /// Asks a model to print its geometry.
    Geom,
    /// Asks a model to check itself.
    Check,
    /// Asks a model to print the layout of the files `lo..=hi`.
    Layout {
        /// First file.
        lo: FileId,
        /// Last file.
        hi: FileId,
    },
}

/// The verb of an operation, as the text form spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Verb {
    Mkdir,
    Rmdir,
    RenameDir,
    Create,
    Append,
    Write,
    Overwrite,
    Rewrite,
    Truncate,
    Fallocate,
    Punch,
    Delete,
    Rename,
    Link,
    Symlink,
    Read,
    Fsync,
    Sync,
    Remount,
    Day,
    Dump,
    Cgs,
    Geom,
    Check,
    Layout,
}

impl Verb {
    /// Every verb, in the order of the format's tables.
    pub const ALL: [Verb; 25] = [
        Verb::Mkdir,
        Verb::Rmdir,
        Verb::RenameDir,
        Verb::Create,
        Verb::Append,
        Verb::Write,
        Verb::Overwrite,
        Verb::Rewrite,
        Verb::Truncate,
        Verb::Fallocate,
        Verb::Punch,
        Verb::Delete,
        Verb::Rename,
        Verb::Link,
        Verb::Symlink,
        Verb::Read,
        Verb::Fsync,
        Verb::Sync,
        Verb::Remount,
        Verb::Day,
        Verb::Dump,
        Verb::Cgs,
        Verb::Geom,
        Verb::Check,
        Verb::Layout,
    ];

    /// The word of the text form and of the Parquet column `op`.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Mkdir => "mkdir",
            Verb::Rmdir => "rmdir",
            Verb::RenameDir => "renamedir",
            Verb::Create => "create",
            Verb::Append => "append",
            Verb::Write => "write",
            Verb::Overwrite => "overwrite",
            Verb::Rewrite => "rewrite",
            Verb::Truncate => "truncate",
            Verb::Fallocate => "fallocate",
            Verb::Punch => "punch",
            Verb::Delete => "delete",
            Verb::Rename => "rename",
            Verb::Link => "link",
            Verb::Symlink => "symlink",
            Verb::Read => "read",
            Verb::Fsync => "fsync",
            Verb::Sync => "sync",
            Verb::Remount => "remount",
            Verb::Day => "day",
            Verb::Dump => "dump",
            Verb::Cgs => "cgs",
            Verb::Geom => "geom",
            Verb::Check => "check",
            Verb::Layout => "layout",
        }
    }

    /// The verb of that word.
    pub fn parse(word: &str) -> Option<Verb> {
        Verb::ALL.into_iter().find(|v| v.as_str() == word)
    }

    /// Whether it only asks a model to print. Probes are not stored in Parquet.
    pub fn is_probe(self) -> bool {
        matches!(
            self,
            Verb::Dump | Verb::Cgs | Verb::Geom | Verb::Check | Verb::Layout
        )
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An id that an operation names.
#[derive(Debug)]
pub enum IdMut<'a> {
    /// Of a file, or of a name of one.
    File(&'a mut FileId),
    /// Of a directory.
    Dir(&'a mut DirId),
}

impl Op {
    /// The verb of the operation.
    pub fn verb(&self) -> Verb {
        match self {
            Op::Mkdir { .. } => Verb::Mkdir,
            Op::Rmdir { .. } => Verb::Rmdir,
            Op::RenameDir { .. } => Verb::RenameDir,
            Op::Create { .. } => Verb::Create,
            Op::Append { .. } => Verb::Append,
            Op::Write { .. } => Verb::Write,
            Op::Overwrite { .. } => Verb::Overwrite,
            Op::Rewrite { .. } => Verb::Rewrite,
            Op::Truncate { .. } => Verb::Truncate,
            Op::Fallocate { .. } => Verb::Fallocate,
            Op::Punch { .. } => Verb::Punch,
            Op::Delete { .. } => Verb::Delete,
            Op::Rename { .. } => Verb::Rename,
            Op::Link { .. } => Verb::Link,
            Op::Symlink { .. } => Verb::Symlink,
            Op::Read { .. } => Verb::Read,
            Op::Fsync { .. } => Verb::Fsync,
            Op::Sync => Verb::Sync,
            Op::Remount => Verb::Remount,
            Op::Day => Verb::Day,
            Op::Dump => Verb::Dump,
            Op::Cgs => Verb::Cgs,
            Op::Geom => Verb::Geom,
            Op::Check => Verb::Check,
            Op::Layout { .. } => Verb::Layout,
        }
    }

    /// The file whose content the operation makes or changes.
    pub fn written_file(&self) -> Option<FileId> {
        match *self {
            Op::Create { file, .. }
            | Op::Append { file, .. }
            | Op::Write { file, .. }
            | Op::Overwrite { file, .. }
            | Op::Rewrite { file, .. }
            | Op::Truncate { file, .. }
            | Op::Fallocate { file, .. }
            | Op::Punch { file, .. } => Some(file),
            _ => None,
        }
    }

    /// Shows each id that the operation names, which may be given another value. The range of `layout` is none.
    ///
    /// # Errors
    /// The first one of `visit`; ids before it may have changed.
    pub fn visit_ids<E>(
        &mut self,
        mut visit: impl FnMut(IdMut<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Op::Mkdir { dir, parent } => {
                visit(IdMut::Dir(dir))?;
                parent.as_mut().map_or(Ok(()), |id| visit(IdMut::Dir(id)))
            }
            Op::Rmdir { dir } => visit(IdMut::Dir(dir)),
            Op::RenameDir { dir, parent } => {
                visit(IdMut::Dir(dir))?;
                visit(IdMut::Dir(parent))
            }
            Op::Create { file, dir, .. } | Op::Symlink { file, dir, .. } => {
                visit(IdMut::File(file))?;
                visit(IdMut::Dir(dir))
            }
            Op::Link {
                file,
                existing,
                dir,
            } => {
                visit(IdMut::File(file))?;
                visit(IdMut::File(existing))?;
                visit(IdMut::Dir(dir))
            }
            Op::Rename {
                file,
                dir,
                replaced,
            } => {
                visit(IdMut::File(file))?;
                visit(IdMut::Dir(dir))?;
                replaced
                    .as_mut()
                    .map_or(Ok(()), |id| visit(IdMut::File(id)))
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
            | Op::Fsync { file } => visit(IdMut::File(file)),
            Op::Sync
            | Op::Remount
            | Op::Day
            | Op::Dump
            | Op::Cgs
            | Op::Geom
            | Op::Check
            | Op::Layout { .. } => Ok(()),
        }
    }

    /// Bytes that the operation itself says it writes; 0 for an overwrite of a whole file, whose size only
    /// the replay knows.
    pub fn bytes_written(&self) -> u64 {
        match *self {
            Op::Create { bytes, .. }
            | Op::Append { bytes, .. }
            | Op::Write { bytes, .. }
            | Op::Rewrite { bytes, .. }
            | Op::Overwrite {
                range: Some((_, bytes)),
                ..
            } => bytes,
            _ => 0,
        }
    }
}

/// Where an event comes from (column `origin`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Origin {
    Initial,
    SnapshotCreate,
    SnapshotDelete,
    SnapshotModify,
    SnapshotReplace,
    ShortLived,
    Trace,
    Generated,
}

impl Origin {
    /// Every origin.
    pub const ALL: [Origin; 8] = [
        Origin::Initial,
        Origin::SnapshotCreate,
        Origin::SnapshotDelete,
        Origin::SnapshotModify,
        Origin::SnapshotReplace,
        Origin::ShortLived,
        Origin::Trace,
        Origin::Generated,
    ];

    /// The word of the formats.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Initial => "initial",
            Origin::SnapshotCreate => "snapshot_create",
            Origin::SnapshotDelete => "snapshot_delete",
            Origin::SnapshotModify => "snapshot_modify",
            Origin::SnapshotReplace => "snapshot_replace",
            Origin::ShortLived => "short_lived",
            Origin::Trace => "trace",
            Origin::Generated => "generated",
        }
    }

    /// The origin of that word.
    pub fn parse(word: &str) -> Option<Origin> {
        Origin::ALL.into_iter().find(|o| o.as_str() == word)
    }
}

/// How well the time of an event is known (column `t_quality`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum TQuality {
    Exact,
    Ctime,
    Bounded,
    Inferred,
    Random,
    Shifted,
}

impl TQuality {
    /// Every quality.
    pub const ALL: [TQuality; 6] = [
        TQuality::Exact,
        TQuality::Ctime,
        TQuality::Bounded,
        TQuality::Inferred,
        TQuality::Random,
        TQuality::Shifted,
    ];

    /// The word of the formats.
    pub fn as_str(self) -> &'static str {
        match self {
            TQuality::Exact => "exact",
            TQuality::Ctime => "ctime",
            TQuality::Bounded => "bounded",
            TQuality::Inferred => "inferred",
            TQuality::Random => "random",
            TQuality::Shifted => "shifted",
        }
    }

    /// The quality of that word.
    pub fn parse(word: &str) -> Option<TQuality> {
        TQuality::ALL.into_iter().find(|q| q.as_str() == word)
    }
}

/// One line of a workload: an operation with its time and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Line (text) or row (Parquet), from 1; 0 for an event that was made in memory.
    pub line: u64,
    /// Nanoseconds since the workload's epoch; `None` is unknown. Need not increase.
    pub t_ns: Option<i64>,
    /// What is done.
    pub op: Op,
    /// Name of the directory entry, as bytes; for [`Op::Day`] the label.
    pub name: Option<Box<[u8]>>,
    /// Where the event comes from.
    pub origin: Option<Origin>,
    /// How well its time is known.
    pub t_quality: Option<TQuality>,
    /// Cylinder or block group of the original inode.
    pub hint_group: Option<u32>,
    /// Inode number on the source.
    pub src_ino: Option<u64>,
    /// Its generation.
    pub src_gen: Option<u32>,
    /// Short-lived profile that the event came from.
    pub profile_id: Option<u32>,
    /// Permission bits.
    pub mode: Option<u32>,
    /// Attributes `x-...=...` that are kept and not interpreted, separated by one space.
    pub extra: Option<Box<str>>,
}

impl Event {
    /// An event with nothing but its operation.
    pub fn new(op: Op) -> Event {
        Event {
            line: 0,
            t_ns: None,
            op,
            name: None,
            origin: None,
            t_quality: None,
            hint_group: None,
            src_ino: None,
            src_gen: None,
            profile_id: None,
            mode: None,
            extra: None,
        }
    }

    /// The same event at a time.
    #[must_use]
    pub fn at(mut self, t_ns: i64) -> Event {
        self.t_ns = Some(t_ns);
        self
    }

    /// The same event with a name.
    #[must_use]
    pub fn named(mut self, name: &[u8]) -> Event {
        self.name = Some(name.into());
        self
    }

    /// The same event with an origin and the quality of its time.
    #[must_use]
    pub fn from_source(mut self, origin: Origin, quality: TQuality) -> Event {
        self.origin = Some(origin);
        self.t_quality = Some(quality);
        self
    }

    /// The end of a day.
    pub fn day(label: &str) -> Event {
        Event::new(Op::Day).named(label.as_bytes())
    }
}

/// What is known of a workload as a whole: pragmas in text, key-value metadata in Parquet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadHeader {
    /// Unix time in seconds of `t_ns` = 0.
    pub epoch_unix_s: Option<i64>,
    /// Size of the source file system.
    pub capacity_bytes: Option<u64>,
    /// Block size of the source.
    pub block_bytes: Option<u64>,
    /// Cylinder or block groups of the source.
    pub group_count: Option<u64>,
    /// Inodes per group of the source.
    pub inodes_per_group: Option<u64>,
    /// Number of the first inode of the source: 0 on FFS, 1 on ext2/3/4.
    pub first_ino: Option<u64>,
    /// Generator and parameters, as JSON.
    pub generator: Option<String>,
    /// Seed of the generator.
    pub seed: Option<u64>,
    /// Free text.
    pub source: Option<String>,
    /// Other pragmas, in the order they were read.
    pub other: Vec<(String, String)>,
}

/// What a sink or source of events may fail with.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Takes the events of a workload in order: a file writer, or a replay.
pub trait EventSink {
    /// Takes the next event.
    ///
    /// # Errors
    /// Whatever the sink may fail with; the caller stops.
    fn event(&mut self, event: Event) -> Result<(), SinkError>;
}

impl<S: EventSink + ?Sized> EventSink for &mut S {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        (**self).event(event)
    }
}

impl EventSink for Vec<Event> {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        self.push(event);
        Ok(())
    }
}

/// Gives the events of a workload in order, so that a workload of any length never sits in memory.
pub trait EventSource: Send {
    /// What is known of the workload as a whole.
    fn header(&self) -> &WorkloadHeader;

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// Bad input, with the file and the line; or what reading may fail with.
    fn next_event(&mut self) -> Result<Option<Event>, SinkError>;

    /// Bytes read of how many, for a progress bar; `None` if unknown.
    fn progress(&self) -> Option<(u64, u64)> {
        None
    }

    /// How many events are left, for a progress bar where no bytes are read; `None` if unknown.
    fn events_left(&self) -> Option<u64> {
        None
    }
}

/// A workload in memory.
#[derive(Clone, Debug, Default)]
pub struct EventsInMemory {
    header: WorkloadHeader,
    events: std::vec::IntoIter<Event>,
}

impl EventsInMemory {
    /// Gives these events, and says nothing of the workload as a whole.
    pub fn new(events: Vec<Event>) -> EventsInMemory {
        EventsInMemory {
            header: WorkloadHeader::default(),
            events: events.into_iter(),
        }
    }
}

impl EventSource for EventsInMemory {
    fn header(&self) -> &WorkloadHeader {
        &self.header
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        Ok(self.events.next())
    }

    fn events_left(&self) -> Option<u64> {
        Some(self.events.len() as u64)
    }
}
