//! What collecting a snapshot may fail with.

use fsage_core::SinkError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why there is no snapshot. Single files that cannot be read are no error, see
/// [`Report::unreadable`](crate::Report::unreadable).
#[derive(Debug, Error)]
pub enum CollectError {
    /// The system refused.
    #[error("{path}: {action}", path = .path.display())]
    Io {
        /// The directory, image or device.
        path: PathBuf,
        /// What was tried, as in `cannot open`.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// What was named is nothing that a snapshot can be taken of, or is damaged.
    #[error("{path}: {problem}", path = .path.display())]
    Unsuitable {
        /// The directory, image or device.
        path: PathBuf,
        /// What is wrong, what was expected, and what to do.
        problem: String,
    },
    /// The sink took no more, or the work was to stop.
    #[error(transparent)]
    Sink(SinkError),
}

impl CollectError {
    pub(crate) fn io(path: &Path, action: &'static str, source: impl Into<io::Error>) -> Self {
        CollectError::Io {
            path: path.to_owned(),
            action,
            source: source.into(),
        }
    }

    pub(crate) fn unsuitable(path: &Path, problem: impl Into<String>) -> Self {
        CollectError::Unsuitable {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }
}
