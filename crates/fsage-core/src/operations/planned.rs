//! How long files would be with all the space that a workload asked for.

use crate::{Op, Outcome};

/// Length in bytes that a file of `bytes` bytes should have after an operation on its data.
#[inline]
pub fn planned_length(op: &Op, bytes: u64) -> u64 {
    let before = bytes;
    match *op {
        Op::Append { bytes, .. } => before.saturating_add(bytes),
        Op::Write { bytes: 0, .. } | Op::Fallocate { bytes: 0, .. } => before,
        Op::Write { offset, bytes, .. } | Op::Fallocate { offset, bytes, .. } => {
            before.max(offset.saturating_add(bytes))
        }
        Op::Create { bytes, .. } | Op::Rewrite { bytes, .. } | Op::Truncate { bytes, .. } => bytes,
        _ => before,
    }
}

/// Length in bytes that a file should have after an operation that ended so. It should have had `planned` bytes before,
/// and has `bytes` now.
#[inline]
pub fn planned_after(op: &Op, outcome: Outcome, planned: u64, bytes: u64) -> u64 {
    match outcome {
        // It is not left out for lack of space: the file system cannot do it at all.
        Outcome::Ignored => planned,
        // No disk would have been large enough: what could be done was.
        Outcome::TooLarge if matches!(op, Op::Rewrite { .. }) => bytes,
        Outcome::TooLarge => planned.max(bytes),
        _ => planned_length(op, planned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileId;

    #[test]
    fn what_no_disk_could_hold_is_planned_as_far_as_it_was_done() {
        let (file, bytes) = (FileId(1), 1 << 40);
        let append = Op::Append { file, bytes };
        let rewrite = Op::Rewrite { file, bytes };
        let after = |op, outcome| planned_after(op, outcome, 100, 70);
        assert_eq!(after(&append, Outcome::Done), bytes + 100);
        assert_eq!(after(&append, Outcome::NoSpace), bytes + 100);
        assert_eq!(after(&append, Outcome::TooLarge), 100);
        assert_eq!(after(&rewrite, Outcome::NoSpace), bytes);
        assert_eq!(after(&rewrite, Outcome::TooLarge), 70);
        assert_eq!(after(&rewrite, Outcome::Ignored), 100);
    }

    #[test]
    fn nothing_is_planned_where_nothing_is_written() {
        let (file, offset) = (FileId(1), 500);
        let write = |bytes| Op::Write {
            file,
            offset,
            bytes,
        };
        assert_eq!(planned_length(&write(0), 100), 100);
        assert_eq!(planned_length(&write(1), 100), 501);
        assert_eq!(planned_length(&write(u64::MAX), 100), u64::MAX);
        assert_eq!(
            planned_length(&Op::Overwrite { file, range: None }, 100),
            100
        );
    }
}
