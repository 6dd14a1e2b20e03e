//! What lack of space kept from being made: later operations may name what is not there, and are skipped.
//!
//! The rules are those of the simulated file systems. What a file would be long, had nothing been skipped, is kept
//! too.

use fsage_core::Op;
use rustc_hash::FxHashMap;

/// Files with which the workload and the file system have come apart, with the length that each should have.
#[derive(Debug, Default)]
pub(super) struct Shortfall {
    /// Ids that were never made.
    pub absent: FxHashMap<u64, u64>,
    /// Files that are not as the workload thinks, by id.
    pub short: FxHashMap<u64, u64>,
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

/// Length that a file should have after an operation on its data.
pub(super) fn planned(op: &Op, size: u64) -> u64 {
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
