//! Which fsage made a result: its version, and the commit that it was built from.
//!
//! Between releases models change and the version does not, so that only the commit names the sources of a result. The
//! program learns its commit from its build script and hands it over once, at the start of `main`. A build script of
//! the laboratory would compile this crate anew at every commit, and the commit of a program that uses it as a library
//! is not that of fsage. Who hands over nothing has results without a commit, like debug builds.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::OnceLock;

static COMMIT: OnceLock<&'static str> = OnceLock::new();

/// Says which commit of fsage this program was built from, before anything is made; nothing where it is not known. Only
/// the first call counts.
pub fn set_commit(commit: &'static str) {
    // Whoever comes later is part of the same program.
    let _ = COMMIT.set(commit);
}

/// Who made a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Version of fsage.
    pub fsage: String,
    /// The commit that it was built from, with `-dirty` where sources were changed; none where it does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl Build {
    /// That of this program.
    pub fn this() -> Build {
        Build {
            fsage: env!("CARGO_PKG_VERSION").to_owned(),
            commit: COMMIT
                .get()
                .filter(|commit| !commit.is_empty())
                .map(|&commit| commit.to_owned()),
        }
    }

    /// Whether another build has other sources, as far as they say: where a commit is not known, by the version alone.
    pub fn differs_from(&self, other: &Build) -> bool {
        let commits = self.commit.as_ref().zip(other.commit.as_ref());
        self.fsage != other.fsage || commits.is_some_and(|(a, b)| a != b)
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fsage {}", self.fsage)?;
        match &self.commit {
            Some(commit) => write!(f, " ({commit})"),
            None => Ok(()),
        }
    }
}
