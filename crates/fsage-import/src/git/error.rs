//! What can go wrong while a history is read.

use fsage_core::SinkError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a history could not be read. Each message says what to do next.
#[derive(Debug, Error)]
pub enum GitError {
    /// There is no such program.
    #[error("cannot find the program `{program}`: install git, or put it on PATH")]
    GitMissing {
        /// What was to be run.
        program: String,
    },
    /// The program is there and cannot be run.
    #[error("cannot run `{program}`")]
    Spawn {
        /// What was to be run.
        program: String,
        /// Why not.
        source: io::Error,
    },
    /// The folder does not belong to a repository, or git refuses to read it.
    #[error(
        "{} is no git repository that can be read ({detail}): {}",
        path.display(),
        next_step(path, detail)
    )]
    NotARepository {
        /// The folder.
        path: PathBuf,
        /// What git says.
        detail: String,
    },
    /// A repository without a commit.
    #[error(
        "{} has no commit at HEAD: name a branch that has one (`git branch -a` lists them)",
        path.display()
    )]
    NoCommits {
        /// The repository.
        path: PathBuf,
    },
    /// No such branch.
    #[error(
        "{} has no branch, tag or commit `{branch}`: `git branch -a` lists them, as in `origin/{branch}`",
        path.display()
    )]
    NoSuchBranch {
        /// The repository.
        path: PathBuf,
        /// What was asked for.
        branch: String,
    },
    /// A git command failed.
    #[error("`git {command}` failed: {detail}; `git fsck` says whether the repository is damaged")]
    Failed {
        /// Which.
        command: &'static str,
        /// What git says, or its exit status.
        detail: String,
    },
    /// A file's content is not in the repository.
    #[error(
        "blob {blob} is not in the repository: a partial clone lacks it, `git fetch --refetch --no-filter` gets all"
    )]
    MissingBlob {
        /// Its object id.
        blob: String,
    },
    /// Output that git does not write.
    #[error("`git {command}` wrote what was not expected: {what}; is `git` really git?")]
    Corrupt {
        /// Which command.
        command: &'static str,
        /// What was wrong.
        what: String,
    },
    /// A folder for git's own use cannot be made.
    #[error("cannot make a folder for git in {}", std::env::temp_dir().display())]
    Folder {
        /// Why not.
        source: io::Error,
    },
    /// A pipe broke.
    #[error("cannot read from or write to `git {command}`")]
    Pipe {
        /// Which command.
        command: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The sink of the events failed.
    #[error("cannot write the workload")]
    Sink(#[source] SinkError),
}

/// Output that git does not write.
pub(super) fn corrupt(command: &'static str, what: impl Into<String>) -> GitError {
    GitError::Corrupt {
        command,
        what: what.into(),
    }
}

/// Bytes of git's output for a message: readable, and not too many.
pub(super) fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 80;
    let cut = &bytes[..bytes.len().min(MOST)];
    let dots = if bytes.len() > MOST { "..." } else { "" };
    format!("\"{}\"{dots}", cut.escape_ascii())
}

/// What lets git read a folder that it refused.
fn next_step(path: &Path, detail: &str) -> String {
    if detail.contains("dubious ownership") {
        return format!(
            "it belongs to somebody else, and `git config --global --add safe.directory {}` says that you trust it",
            path.display()
        );
    }
    "name the folder of a clone or a bare repository".to_owned()
}
