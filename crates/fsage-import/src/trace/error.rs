//! What can go wrong while a trace is read.

use fsage_core::SinkError;
use std::io;
use thiserror::Error;

/// Why a trace could not be read. Each message says what to do next.
#[derive(Debug, Error)]
pub enum TraceError {
    /// A log cannot be opened or read.
    #[error("cannot read {log}")]
    Read {
        /// Which.
        log: String,
        /// Why.
        source: io::Error,
    },
    /// Probably another format.
    #[error(
        "{bad} of {lines} lines are not of {kind}, more than 1 %: is this the right format? The first: {first}"
    )]
    TooManyBadLines {
        /// The format that was expected.
        kind: &'static str,
        /// Bad lines.
        bad: u64,
        /// All lines.
        lines: u64,
        /// The first of them.
        first: String,
    },
    /// A log that cannot be used as a whole.
    #[error("{log}:{line}: {why}")]
    Useless {
        /// Which.
        log: String,
        /// Line, from 1.
        line: u64,
        /// Why, and what to do.
        why: &'static str,
    },
    /// The caller wants to stop.
    #[error("stopped")]
    Stopped {
        /// Why.
        source: io::Error,
    },
    /// The sink of the events failed.
    #[error("cannot write the workload")]
    Sink(#[source] SinkError),
}
