//! Replay on a real, mounted file system.
//!
//! [`Directory`] applies the events of a workload by system calls, each relative to a descriptor of a directory in the
//! tree, and keeps tables of what it has made: by these and the rules of [`fsage_core::operations`] it is decided what
//! fits the state and what lack of space kept from being made. The same tables can be brought to any point of a
//! workload without touching the disk, which is what resuming a run rests on.
//!
//! | where | what |
//! |---|---|
//! | `dirs`, `files`, `body` | the tables |
//! | `namespace` | the tables as the rules see them |
//! | `shard`, `tree` | operations on files, and on everything else |
//! | `calls`, `descriptors` | system calls on data; open directories |
//! | `parallel` | several threads |
//! | `look`, `cache`, `watched` | where files lie, asked of the file system; kept from day to day; what has changed |
//! | `content`, `expected`, `deviation` | what files hold, what should be there, what the events do not say |
//! | `journal` | how far a replay has come, to resume it |
//! | `compare`, `verify`, `repair` | the tree on disk against what should be there |
//! | `history`, `put_back` | the names that entries may have after a failure; back to where they belong |
//! | `plain`, `mounts` | a directory that is there already |

mod body;
mod cache;
mod calls;
mod compare;
mod content;
mod descriptors;
mod deviation;
mod dirs;
mod error;
mod expected;
mod fault;
mod file_data;
mod files;
mod headway;
mod history;
mod journal;
mod look;
mod mounts;
mod namespace;
mod naming;
mod parallel;
mod paths;
mod plain;
mod put_back;
mod repair;
mod replay;
mod shard;
mod tree;
mod verify;
mod watched;

pub use content::{CHUNK, Content};
pub use deviation::Deviation;
pub use error::TargetError;
pub use expected::{Expected, ExpectedFile, What};
pub use fault::{Fault, Kind, Problem};
pub use headway::Headway;
pub use history::{DirKey, History, Occupant, Place};
pub use journal::{Damage, Journal, JournalError, Recovered, UNSAID, UNSYNCED};
pub use plain::PlainDirectory;
pub use repair::{RepairError, Repaired, Reread, ShortFile, repair};
pub use replay::{Directory, FreeRuns};
pub use verify::{Verification, verify};

use std::io;
use std::os::fd::BorrowedFd;

/// Where the tree of a replay lies.
pub trait Volume: std::fmt::Debug + Send {
    /// The directory that is the root of the tree.
    fn root(&self) -> BorrowedFd<'_>;

    /// Forces everything to disk, and waits until nothing of that is left to be done.
    ///
    /// # Errors
    /// What it failed with: data may be lost.
    fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(self.root())?)
    }

    /// The end of a day: as [`sync`](Self::sync), and what else has to be brought to rest then.
    ///
    /// # Errors
    /// What it failed with: data may be lost.
    fn end_day(&self) -> io::Result<()> {
        self.sync()
    }

    /// Waits until what was removed is given back, where the layout depends on when that is.
    ///
    /// # Errors
    /// What waiting failed with.
    fn wait_for_removed(&self) -> io::Result<()> {
        Ok(())
    }

    /// Unmounts and mounts again, so that caches and the allocator's state in memory are dropped. Every descriptor in
    /// the tree but [`root`](Self::root) has been closed. `false` where the volume cannot: nothing was done.
    ///
    /// # Errors
    /// What unmounting or mounting failed with; the volume is of no use then.
    fn remount(&mut self) -> io::Result<bool>;

    /// What another process mounts to see the same file system; `None` where it has a path already.
    fn source(&self) -> Option<Source> {
        None
    }

    /// Syncs and lets go of everything: unmounts, if it was mounted for this.
    ///
    /// # Errors
    /// What unmounting failed with.
    fn close(self: Box<Self>) -> io::Result<()>;

    /// Whether others keep files on the same file system, so that it must not be filled to the last block.
    fn is_shared(&self) -> bool {
        false
    }

    /// What the file system below has for this one to grow; `None` where none is below, or all is taken.
    ///
    /// # Errors
    /// It does not say.
    fn room_below(&self) -> io::Result<Option<RoomBelow>> {
        Ok(None)
    }

    /// What stands in the manifest of a run: kernel, type of file system, `mkfs` line, mount options, ...
    fn facts(&self) -> Vec<(&'static str, String)>;
}

/// What `mount` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The device.
    pub device: String,
    /// The type of file system.
    pub kind: String,
    /// Options, separated by commas.
    pub options: String,
}

/// Room on the file system that an image lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomBelow {
    /// Bytes that are free there.
    pub free_bytes: u64,
    /// Bytes that the image may still take; `None` where every write takes some.
    pub growth_bytes: Option<u64>,
    /// Size of the image.
    pub size_bytes: u64,
}

/// When data is forced to disk. It changes the layout as much as the allocator does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// The whole file system at the end of every day.
    #[default]
    Day,
    /// Also every file after every operation that wrote to it.
    Each,
    /// Only when asked: by the workload, or at the end of the run.
    End,
}

/// How the data of files is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// It is written.
    #[default]
    Write,
    /// Its blocks are allocated, and never written.
    Fallocate,
    /// Only the length is set.
    Hole,
}

/// How a workload is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// When data is forced to disk.
    pub sync: Sync,
    /// How data is stored.
    pub data: Data,
    /// Threads that work on files of different directories; with more than one the order of operations, hence the
    /// layout, is not the same each time.
    pub threads: usize,
    /// Bytes that stay free for others; `None` for [`DEFAULT_RESERVE_BYTES`], or a twentieth of the file system if that
    /// is less, where [`Volume::is_shared`], and for nothing elsewhere.
    pub reserve_bytes: Option<u64>,
}

/// Shards for each of several threads: who is done with one takes the next, so that all have about as much to do.
const SHARDS_PER_THREAD: usize = 8;
/// A file is looked for in every shard: no more than this, unless there are more threads.
const MOST_SHARDS: usize = 64;

impl Options {
    /// Parts that the files are divided into.
    fn shards(&self) -> usize {
        match self.threads {
            0 | 1 => 1,
            threads => (threads * SHARDS_PER_THREAD).min(MOST_SHARDS).max(threads),
        }
    }
}

/// Bytes that stay free on a large file system that others use as well.
pub const DEFAULT_RESERVE_BYTES: u64 = 1 << 30;

impl Default for Options {
    fn default() -> Options {
        Options {
            sync: Sync::default(),
            data: Data::default(),
            threads: 1,
            reserve_bytes: None,
        }
    }
}

/// Target of a symbolic link that was made under this id: text that names nothing.
pub fn symlink_target(content: Content, bytes: u64) -> Vec<u8> {
    let seed = format!("nowhere-{}-", content.0);
    seed.bytes().cycle().take(bytes as usize).collect()
}
