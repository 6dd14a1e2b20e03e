//! Why a replay on a real file system ended early.

use crate::directory::{JournalError, RepairError, TargetError};
use fsage_core::{StateError, Verb, size};
use thiserror::Error;

/// Why a replay on a real file system ended early.
#[derive(Debug, Error)]
pub enum RealError {
    /// An operation does not fit the state of the file system.
    #[error("line {line}: {verb}: {error}")]
    State {
        /// Line or row of the workload.
        line: u64,
        /// The operation's verb.
        verb: Verb,
        /// What does not fit.
        error: StateError,
    },
    /// An entry was to get a name that no entry can have.
    #[error("line {line}: {verb}: `{name}`: {fault}")]
    Name {
        /// Line or row of the workload.
        line: u64,
        /// The operation's verb.
        verb: Verb,
        /// The name, escaped.
        name: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A system call failed, for another reason than lack of space.
    #[error(
        "line {line}: {verb} `{path}`: {call} failed; {advice}. The run can be resumed once the cause is \
         removed"
    )]
    Io {
        /// Line or row of the workload.
        line: u64,
        /// The operation's verb.
        verb: Verb,
        /// The system call.
        call: &'static str,
        /// Path from the root of the tree, escaped.
        path: String,
        /// What to look at.
        advice: &'static str,
        /// What it failed with.
        source: std::io::Error,
    },
    /// The file system below an image is nearly full.
    #[error(
        "the file system below the image has {} left, and up to {} are needed for what comes next: make room there, \
         then resume the run; all that was done is in the image",
        size::human(*free_bytes),
        size::human(*needed_bytes)
    )]
    RoomBelow {
        /// Bytes that are free there.
        free_bytes: u64,
        /// Bytes that the next operations may take.
        needed_bytes: u64,
        /// That this is a full disk.
        source: std::io::Error,
    },
    /// The file system below an image does not say how much is free.
    #[error("cannot ask the file system below the image how much is free")]
    Room {
        /// Why.
        source: std::io::Error,
    },
    /// Data was to be stored by `fallocate`, which the file system does not have.
    #[error("line {line}: {verb}: this file system has no `fallocate`; use data=write")]
    NoFallocate {
        /// Line or row of the workload.
        line: u64,
        /// The operation's verb.
        verb: Verb,
    },
    /// The directory that is being aged could not be synced or looked at.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The journal of a run on a real file system could not be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The tree of a run that goes on could not be brought to where the run was.
    #[error(transparent)]
    Repair(RepairError),
    /// The workload is not the one that the run was begun with.
    #[error(
        "cannot resume: the journal of the run knows {known} events, and the workload has {events}"
    )]
    Resume {
        /// Events that were done.
        known: u64,
        /// Events of the workload.
        events: u64,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}
