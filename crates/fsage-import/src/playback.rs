//! `playback`, the format of the aging workload that Smith and Seltzer published (docs/spec/workload.md, section 4).
//!
//! | line | meaning |
//! |---|---|
//! | `C ino time size type` | create |
//! | `D ino time size` | delete |
//! | `M ino time oldsize newsize type` | truncate and write; with type `DIR` write over the start |
//! | `R ino time oldsize newsize oldtype newtype` | delete, then create |
//! | `SCORE`, or anything with `S` | end of a day |
//!
//! Any other line is a message. Files are named by inode numbers of the source, and lie in one directory a
//! cylinder group: `ino / inodes_per_group`. [`import`] makes a workload of it; [`Exporter`] writes any workload
//! so.

mod error;
mod export;
mod import;
mod numbers;

pub use error::{ExportError, PlaybackError};
pub use export::{ExportSummary, Exporter};
pub use import::{ImportSummary, header, import, starts_like};

/// The only type that the original program looks at: what is modified is not truncated.
const DIRECTORY: &str = "DIR";
/// The type of any other file.
const REGULAR: &str = "REG";
/// The type of a symbolic link.
const SYMLINK: &str = "LNK";

/// Cylinder groups of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// How many; at most [`Groups::MOST`].
    pub count: u32,
    /// Inodes in each of them; at most [`Groups::MOST_INODES`].
    pub inodes_per_group: u32,
}

impl Groups {
    /// Most groups.
    pub const MOST: u32 = 1 << 20;
    /// Most inodes of a group.
    pub const MOST_INODES: u32 = 1 << 24;

    /// Those of the paper's file system of 502 MB.
    pub const PAPER: Groups = Groups {
        count: 27,
        inodes_per_group: 9728,
    };

    /// The group of an inode number; `None` where it is beyond the last.
    fn of(self, ino: u64) -> Option<u32> {
        let group = ino.checked_div(u64::from(self.inodes_per_group))?;
        u32::try_from(group).ok().filter(|&g| g < self.count)
    }

    fn are_usable(self) -> bool {
        (1..=Groups::MOST).contains(&self.count)
            && (1..=Groups::MOST_INODES).contains(&self.inodes_per_group)
    }
}

/// Whether a word can be a type: the original has room for seven letters.
fn is_type(word: &[u8]) -> bool {
    (1..=7).contains(&word.len()) && word.iter().all(u8::is_ascii_alphanumeric)
}
