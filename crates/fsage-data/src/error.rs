//! What reading and writing data may fail with.

use crate::ops_text::{OpsError, OpsWriteError};
use fsage_durable::FileError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// An error of this crate. Every message names the file and, where there is one, the row or the field.
#[derive(Debug, Error)]
pub enum DataError {
    /// The system refused.
    #[error("{path}: {action}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, as in `cannot open`.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// An output cannot be made, or not be given its name.
    #[error(transparent)]
    Output(#[from] FileError),
    /// The file is not what was asked for: another kind of file, a missing column, a newer version.
    #[error("{path}: {problem}", path = .path.display())]
    Unsuitable {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A row cannot be right.
    #[error("{path}: row {row}: {problem}", path = .path.display())]
    BadRow {
        /// The file.
        path: PathBuf,
        /// The row, from 1.
        row: u64,
        /// What is wrong.
        problem: String,
    },
    /// A Parquet file cannot be decoded.
    #[error(
        "{path}: damaged or cut short after row {row} ({problem}); copy or make the file again",
        path = .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The last row that could be read.
        row: u64,
        /// What the decoder says.
        problem: String,
    },
    /// What was to be written does not fit the format.
    #[error("{path}: cannot write {what}", path = .path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What does not fit, and why.
        what: String,
    },
    /// A line of text is wrong.
    #[error(transparent)]
    Ops(#[from] OpsError),
    /// Text cannot be written.
    #[error("{path}", path = .path.display())]
    OpsWrite {
        /// The file.
        path: PathBuf,
        /// Why.
        source: OpsWriteError,
    },
}

impl DataError {
    pub(crate) fn io(path: &Path, action: &'static str, source: io::Error) -> DataError {
        DataError::Io {
            path: path.to_owned(),
            action,
            source,
        }
    }

    pub(crate) fn unsuitable(path: &Path, problem: impl Into<String>) -> DataError {
        DataError::Unsuitable {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }

    pub(crate) fn bad_row(path: &Path, row: u64, problem: impl Into<String>) -> DataError {
        DataError::BadRow {
            path: path.to_owned(),
            row,
            problem: problem.into(),
        }
    }

    pub(crate) fn damaged(path: &Path, row: u64, problem: impl fmt::Display) -> DataError {
        DataError::Damaged {
            path: path.to_owned(),
            row,
            problem: problem.to_string(),
        }
    }
}
