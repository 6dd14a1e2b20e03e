//! Replay on a real, mounted file system.

mod content;
mod expected;

pub use content::{CHUNK, Content};
pub use expected::{Expected, ExpectedFile, What};

use std::io;
use std::os::fd::BorrowedFd;

/// Where the tree of a replay lies.
pub trait Volume: std::fmt::Debug + Send {
    /// The directory that is the root of the tree.
    fn root(&self) -> BorrowedFd<'_>;

    /// Unmounts and mounts again, so that caches and the allocator's state in memory are dropped. Every descriptor in
    /// the tree but [`root`](Self::root) has been closed. `false` where the volume cannot: nothing was done.
    ///
    /// # Errors
    /// What unmounting or mounting failed with; the volume is of no use then.
    fn remount(&mut self) -> io::Result<bool>;

    /// Syncs and lets go of everything: unmounts, if it was mounted for this.
    ///
    /// # Errors
    /// What unmounting failed with.
    fn close(self: Box<Self>) -> io::Result<()>;

    /// What stands in the manifest of a run: kernel, type of file system, `mkfs` line, mount options, ...
    fn facts(&self) -> Vec<(&'static str, String)>;
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
}

impl Default for Options {
    fn default() -> Options {
        Options {
            sync: Sync::default(),
            data: Data::default(),
            threads: 1,
        }
    }
}
