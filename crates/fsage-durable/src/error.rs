//! What writing may fail with.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file or folder could not be written. What stood there before is as it was.
#[derive(Debug, Error)]
pub enum FileError {
    /// The output exists.
    #[error("{path}: exists already (--force writes over it)", path = .path.display())]
    Exists {
        /// The file or folder.
        path: PathBuf,
    },
    /// Something stands there that is never replaced.
    #[error("{path}: {problem}", path = .path.display())]
    Unsuitable {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        problem: &'static str,
    },
    /// The system refused.
    #[error("{path}: {action}", path = .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as in `cannot write`.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl FileError {
    pub(crate) fn io(path: &Path, action: &'static str) -> impl Fn(io::Error) -> FileError {
        move |source| FileError::Io {
            path: path.to_owned(),
            action,
            source,
        }
    }

    pub(crate) fn unsuitable(path: &Path, problem: &'static str) -> FileError {
        FileError::Unsuitable {
            path: path.to_owned(),
            problem,
        }
    }
}
