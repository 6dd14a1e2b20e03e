//! What can go wrong between workloads and `playback` text.

use super::Groups;
use fsage_core::{SinkError, Verb};
use std::io;
use thiserror::Error;

/// Why `playback` text could not be read.
#[derive(Debug, Error)]
pub enum PlaybackError {
    /// The input cannot be read.
    #[error("{file}:{line}: cannot read")]
    Read {
        /// The input.
        file: String,
        /// Where.
        line: u64,
        /// What the system or the decompressor says.
        source: io::Error,
    },
    /// A record cannot be right.
    #[error("{file}:{line}: expected {expected}, found {found}; correct the line, or take it out")]
    Bad {
        /// The input.
        file: String,
        /// Where.
        line: u64,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// An inode lies in no group.
    #[error(
        "{file}:{line}: inode {ino} lies behind {} groups of {} inodes: \
         say with --groups and --inodes-per-group what the source had",
        groups.count, groups.inodes_per_group
    )]
    BeyondGroups {
        /// The input.
        file: String,
        /// Where.
        line: u64,
        /// The inode.
        ino: u64,
        /// The groups.
        groups: Groups,
    },
    /// There cannot be such groups.
    #[error("{0}")]
    Groups(#[from] BadGroups),
    /// The sink of the events failed.
    #[error("cannot write the workload")]
    Sink(#[source] SinkError),
}

/// Groups that cannot be.
#[derive(Debug, Error)]
#[error(
    "{} groups of {} inodes: there can be 1 to {} groups of 1 to {} inodes",
    .0.count, .0.inodes_per_group, Groups::MOST, Groups::MOST_INODES
)]
pub struct BadGroups(pub Groups);

/// Why a workload could not be written as `playback` text.
#[derive(Debug, Error)]
pub enum ExportError {
    /// Writing failed.
    #[error("cannot write")]
    Write(#[from] io::Error),
    /// There cannot be such groups.
    #[error("{0}")]
    Groups(#[from] BadGroups),
    /// No inode number is left.
    #[error(
        "line {line}: group {group} is full on day {day}: {inodes} files are alive in it; \
         give more with --inodes-per-group, or more --groups"
    )]
    GroupFull {
        /// Line or row of the workload.
        line: u64,
        /// The group.
        group: u32,
        /// The day, from 0.
        day: u64,
        /// Inodes of the group.
        inodes: u32,
    },
    /// The workload names a group that is not there.
    #[error(
        "line {line}: group {hint} is not one of {count}: say with --groups how many the source had"
    )]
    NoGroup {
        /// Line or row of the workload.
        line: u64,
        /// The group.
        hint: u32,
        /// How many there are.
        count: u32,
    },
    /// An operation does not fit what came before it.
    #[error(
        "line {line}: {verb}: {problem}; `fsage age` with --lenient skips such lines, this cannot"
    )]
    State {
        /// Line or row of the workload.
        line: u64,
        /// The operation's verb.
        verb: Verb,
        /// What does not fit.
        problem: String,
    },
}
