//! What became of operations, counted.

use crate::{FileId, Op, Outcome};

/// What became of the operations of a day or a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpCounts {
    /// Done as asked.
    pub done: u64,
    /// Bytes that these wrote.
    pub bytes_written: u64,
    /// Skipped, wholly or from some write call on, because no space was left.
    pub no_space: u64,
    /// Skipped because no inode was left.
    pub no_inode: u64,
    /// Skipped because the file would be over the largest size.
    pub too_large: u64,
    /// Skipped because lack of space had kept the file or directory from being made.
    pub absent: u64,
    /// Skipped because this kind of file system does not know them.
    pub ignored: u64,
    /// Skipped, in lenient mode, because they did not fit the state.
    pub invalid: u64,
}

impl OpCounts {
    /// Operations in all.
    pub fn operations(&self) -> u64 {
        self.done + self.skipped() + self.ignored
    }

    /// Operations that were not done though the target knows them.
    pub fn skipped(&self) -> u64 {
        self.no_space + self.no_inode + self.too_large + self.absent + self.invalid
    }

    /// Counts one operation. `size` is asked for the length of a file that was overwritten as a whole.
    pub fn count(&mut self, op: &Op, outcome: Outcome, size: impl FnOnce(FileId) -> Option<u64>) {
        match outcome {
            Outcome::Done => {
                self.done += 1;
                let bytes = match *op {
                    Op::Overwrite { file, range: None } => size(file).unwrap_or(0),
                    _ => op.bytes_written(),
                };
                // `null` takes any size.
                self.bytes_written = self.bytes_written.saturating_add(bytes);
            }
            Outcome::Ignored => self.ignored += 1,
            Outcome::NoSpace => self.no_space += 1,
            Outcome::NoInode => self.no_inode += 1,
            Outcome::TooLarge => self.too_large += 1,
            Outcome::Absent => self.absent += 1,
        }
    }

    /// Adds what became of other operations.
    pub fn add(&mut self, other: &OpCounts) {
        self.done += other.done;
        self.bytes_written = self.bytes_written.saturating_add(other.bytes_written);
        self.no_space += other.no_space;
        self.no_inode += other.no_inode;
        self.too_large += other.too_large;
        self.absent += other.absent;
        self.ignored += other.ignored;
        self.invalid += other.invalid;
    }
}
