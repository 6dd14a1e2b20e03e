//! What should be in a tree: the common ground of replaying, verifying and repairing it.

use super::content::Content;
use std::ops::Range;

/// Everything that a replay has made and not removed. Paths are relative to the root of the tree, components as bytes
/// joined by `/`, and sorted so that a directory comes before what lies in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Directories, the root left out.
    pub directories: Vec<Vec<u8>>,
    /// Regular files and symbolic links: one entry a name.
    pub files: Vec<ExpectedFile>,
}

impl Expected {
    /// Inodes of the file at a path, or of those below it.
    pub(super) fn inodes_at(&self, path: &[u8]) -> impl Iterator<Item = u64> {
        let at = self.files.binary_search_by(|file| file.path[..].cmp(path));
        let prefix = [path, b"/"].concat();
        let first = self.files.partition_point(|file| file.path < prefix);
        let at = at.ok().map(|at| &self.files[at]);
        let below = self.files[first..].iter();
        let below = below.take_while(move |file| file.path.starts_with(&prefix));
        at.into_iter().chain(below).map(|file| file.inode)
    }
}

/// A name, and what it is a name of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedFile {
    /// Path relative to the root of the tree.
    pub path: Vec<u8>,
    /// Names with the same number are names of one inode.
    pub inode: u64,
    /// What it is.
    pub what: What,
}

/// What an inode should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A regular file.
    File {
        /// Its bytes, where they were written.
        content: Content,
        /// Its length.
        size_bytes: u64,
        /// Ranges that read as zeros: never written, or punched. Ascending, apart, within the file.
        zeros: Vec<Range<u64>>,
    },
    /// A symbolic link with this target.
    Symlink {
        /// The target.
        target: Vec<u8>,
    },
}
