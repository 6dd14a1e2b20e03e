//! What lack of space kept from being made: later operations may name what is not there, and are skipped.
//!
//! The rules are those of the simulated file systems. How long a file would be, had nothing been skipped, is kept with
//! its inode; here only of what has none.

use fsage_core::{Op, Outcome};
use rustc_hash::{FxHashMap, FxHashSet};

/// Files with which the workload and the file system have come apart.
#[derive(Debug, Default)]
pub(super) struct Shortfall {
    /// Ids that were never made, with the length that each should have.
    pub absent: FxHashMap<u64, u64>,
    /// Ids of files that are not as the workload thinks.
    pub short: FxHashSet<u64>,
    /// Names that should be gone, but could not be removed.
    pub kept: bool,
}

impl Shortfall {
    /// Nothing is known to be missing: the common case.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.absent.is_empty() && self.short.is_empty()
    }

    /// An operation has made, emptied or removed this file as asked.
    #[inline]
    pub fn settled(&mut self, id: u64) {
        if !self.is_empty() {
            self.absent.remove(&id);
            self.short.remove(&id);
        }
    }
}

/// Length that a file should have after an operation that ended so and left it `size` bytes long.
#[inline]
pub(super) fn planned_after(op: &Op, outcome: Outcome, planned: u64, size: u64) -> u64 {
    match outcome {
        // It is not left out for lack of space: the file system cannot do it at all.
        Outcome::Ignored => planned,
        // No disk would have been large enough: what could be done was.
        Outcome::TooLarge if matches!(op, Op::Rewrite { .. }) => size,
        Outcome::TooLarge => planned.max(size),
        _ => planned_length(op, planned),
    }
}

/// Length that a file should have after an operation on its data.
#[inline]
pub(super) fn planned_length(op: &Op, size: u64) -> u64 {
    match *op {
        Op::Append { bytes, .. } => size.saturating_add(bytes),
        Op::Write { bytes: 0, .. } | Op::Fallocate { bytes: 0, .. } => size,
        Op::Write { offset, bytes, .. } | Op::Fallocate { offset, bytes, .. } => {
            size.max(offset.saturating_add(bytes))
        }
        Op::Create { bytes, .. } | Op::Rewrite { bytes, .. } | Op::Truncate { bytes, .. } => bytes,
        _ => size,
    }
}
