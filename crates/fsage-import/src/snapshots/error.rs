//! What can go wrong while a foreign snapshot is read.

use fsage_core::SinkError;
use std::fmt;
use std::io;
use thiserror::Error;

/// Why a foreign snapshot could not be read. Each message names the input, the place and the next step.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The input cannot be read, or its compression is damaged.
    #[error("{file}: cannot read on {at}")]
    Read {
        /// The input.
        file: String,
        /// Where.
        at: At,
        /// What the system or the decompressor says.
        source: io::Error,
    },
    /// A field cannot be right.
    #[error(
        "{file}: {at}: expected {expected}, found {found}; copy or make the file again, or take that out"
    )]
    Bad {
        /// The input.
        file: String,
        /// Where.
        at: At,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The input ends inside a record.
    #[error("{file}: cut short: it ends within {at}; copy or make the file again")]
    CutShort {
        /// The input.
        file: String,
        /// Where.
        at: At,
    },
    /// The input as a whole cannot be used.
    #[error("{file}: {problem}")]
    Unusable {
        /// The input.
        file: String,
        /// Why, and what to do.
        problem: String,
    },
    /// The sink of the snapshots failed.
    #[error("cannot write the snapshot")]
    Sink(#[source] SinkError),
}

/// A place in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Before the first record.
    Header,
    /// A record, from 1.
    Record(u64),
    /// A line, from 1.
    Line(u64),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Header => f.write_str("the header"),
            At::Record(n) => write!(f, "record {n}"),
            At::Line(n) => write!(f, "line {n}"),
        }
    }
}

/// A place in a named input, which makes errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub file: &'a str,
    pub at: At,
}

impl Place<'_> {
    pub fn bad(self, expected: impl Into<String>, found: impl Into<String>) -> SnapshotError {
        SnapshotError::Bad {
            file: self.file.to_owned(),
            at: self.at,
            expected: expected.into(),
            found: found.into(),
        }
    }

    pub fn cut_short(self) -> SnapshotError {
        SnapshotError::CutShort {
            file: self.file.to_owned(),
            at: self.at,
        }
    }

    pub fn unreadable(self, source: io::Error) -> SnapshotError {
        SnapshotError::Read {
            file: self.file.to_owned(),
            at: self.at,
            source,
        }
    }

    pub fn unusable(self, problem: impl Into<String>) -> SnapshotError {
        SnapshotError::Unusable {
            file: self.file.to_owned(),
            problem: problem.into(),
        }
    }
}

/// Bytes of an input for a message: of one line, and not too many.
pub(super) fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 60;
    if bytes.is_empty() {
        return "nothing".to_owned();
    }
    let cut = &bytes[..bytes.len().min(MOST)];
    let dots = if bytes.len() > MOST { "..." } else { "" };
    format!("\"{}\"{dots}", cut.escape_ascii())
}
