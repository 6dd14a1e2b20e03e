//! Replay on a real, mounted file system.

mod content;
mod expected;
mod options;

pub use content::{CHUNK, Content};
pub use expected::{Expected, ExpectedFile, What};
pub use options::{Data, Options, Sync};

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
