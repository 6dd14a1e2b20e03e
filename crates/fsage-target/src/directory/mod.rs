//! Replay on a real, mounted file system.

mod compare;
mod content;
mod deviation;
mod expected;
mod fault;
mod file_data;
mod headway;
mod journal;
mod repair;
mod verify;

pub use content::{CHUNK, Content};
pub use deviation::Deviation;
pub use expected::{Expected, ExpectedFile, What};
pub use fault::{Fault, Kind, Problem};
pub use headway::Headway;
pub use journal::{Damage, Journal, JournalError, Recovered, UNSAID};
pub use repair::{Allowed, Move, RepairError, Repaired, Reread, repair};
pub use verify::{Verification, verify};

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
