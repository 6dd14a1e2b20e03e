//! What a simulated file system is to the rest of the program.

use crate::event::{DirId, FileId, Op};
use crate::layout::Layout;
use thiserror::Error;

/// How an operation ended. Running out of space is an outcome, not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Done.
    Done,
    /// The file system does not know this kind of operation, and nothing was done.
    Ignored,
    /// No space was left. A file that was being written keeps what earlier write calls wrote.
    NoSpace,
    /// No inode was left: nothing was made.
    NoInode,
    /// The file would be larger than the file system can map: nothing was written. A file that was to be made
    /// or rewritten is there, and empty.
    TooLarge,
    /// The operation needs something that an earlier lack of space, or size, kept from being made or moved.
    Absent,
}

/// An operation that does not fit the state of the file system. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StateError {
    /// No such file is alive.
    #[error("no file {0}")]
    NoFile(FileId),
    /// No such directory is alive.
    #[error("no directory {0}")]
    NoDirectory(DirId),
    /// The new id is alive already.
    #[error("file {0} exists already")]
    FileExists(FileId),
    /// The new id is alive already.
    #[error("directory {0} exists already")]
    DirectoryExists(DirId),
    /// `mkdir 0` after the root was used under that number.
    #[error(
        "directory 0 is the root by now: `mkdir 0` may only come before any line that names it"
    )]
    RootInUse,
    /// The root cannot be removed or moved.
    #[error("directory {0} is the root, which can neither be removed nor moved")]
    Root(DirId),
    /// A directory with entries was to be removed.
    #[error("directory {0} is not empty")]
    NotEmpty(DirId),
    /// A directory was to be moved into itself.
    #[error("directory {0} cannot be moved into itself or what lies below it")]
    IntoItself(DirId),
    /// `overwrite` may not extend the file.
    #[error("overwrite beyond the end of the file ({0} bytes)")]
    BeyondEnd(u64),
    /// The name that `rename` was to replace is not there.
    #[error("no file {0} to replace")]
    NothingToReplace(FileId),
    /// The name that `rename` was to replace lies in another directory.
    #[error("file {0} cannot be replaced: it lies in another directory")]
    ReplacedElsewhere(FileId),
    /// Offset and length together do not fit 64 bits.
    #[error("offset and length together are over 64 bits")]
    RangeOverflow,
}

/// What a file system's own check found: one sentence a finding.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{count} inconsistencies; the first: {}", .findings.first().map_or("none", |s| s))]
pub struct Inconsistency {
    /// How much is wrong.
    pub count: u64,
    /// What is wrong, in the words of a file system check; the first hundred of it.
    pub findings: Vec<String>,
}

/// A simulated file system.
///
/// - `apply` either changes the state completely, or says why not: a [`StateError`] leaves everything as it
///   was, an [`Outcome`] tells what lack of space left behind.
/// - The result depends on the operations alone: no clock, no hash order, no thread.
/// - `check` recomputes every summary from the files, and must find nothing after every operation.
pub trait FileSystem: Layout + Send {
    /// Applies one operation.
    ///
    /// # Errors
    /// The operation does not fit the state; nothing was changed.
    fn apply(&mut self, op: &Op) -> Result<Outcome, StateError>;

    /// The simulated time of the operations that follow, in nanoseconds from the workload's 0. A model that does
    /// nothing by time, as most do, does not look at it.
    fn set_time(&mut self, _t_ns: i64) {}

    /// The name of the file, symbolic link or directory that the next operation makes or moves. Without it a file is
    /// called `f` and its id, a directory `d` and its id. A model on which names change nothing does not look at it.
    fn name_next(&mut self, _name: &[u8]) {}

    /// Length of a file; `None` if no such file is alive.
    fn file_size(&self, file: FileId) -> Option<u64>;

    /// Inode number of a file; `None` if no such file is alive.
    fn inode(&self, file: FileId) -> Option<u64>;

    /// Inode number of a directory; `None` if no such directory is alive.
    fn directory_inode(&self, dir: DirId) -> Option<u64>;

    /// The model's own file system check.
    ///
    /// # Errors
    /// Everything that does not fit together.
    fn check(&self) -> Result<(), Inconsistency>;
}
