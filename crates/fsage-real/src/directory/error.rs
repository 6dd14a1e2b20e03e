//! What may fail on a real file system.

use super::naming::BadName;
use fsage_core::StateError;
use fsage_durable::LockError;
use rustix::io::Errno;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a directory is no target, or is one no longer.
#[derive(Debug, Error)]
pub enum TargetError {
    /// It must not be used.
    #[error("{}: {reason}; {advice}", path.display())]
    Refused {
        /// The directory as it was given.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// What to do instead.
        advice: &'static str,
    },
    /// Another process works in it.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// A system call on the target as a whole failed.
    #[error("target directory: {call} of `{path}`")]
    Io {
        /// The call.
        call: &'static str,
        /// Path from the root of the tree.
        path: String,
        /// What it failed with.
        source: io::Error,
    },
}

/// Why one operation ended the run, or was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    State(StateError),
    Name(BadName),
    /// Data is to be stored by `fallocate`, which the file system does not have.
    NoFallocate,
    Io(&'static str, Errno),
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Failure {
        Failure::State(error)
    }
}

impl From<BadName> for Failure {
    fn from(error: BadName) -> Failure {
        Failure::Name(error)
    }
}

/// Says which call it was that failed.
pub(super) trait OrCall<T> {
    fn or_call(self, call: &'static str) -> Result<T, Failure>;
}

impl<T> OrCall<T> for Result<T, Errno> {
    #[inline]
    fn or_call(self, call: &'static str) -> Result<T, Failure> {
        self.map_err(|errno| Failure::Io(call, errno))
    }
}
