//! Reads records that end in one byte, and none without a bound.

use super::error::{Place, SnapshotError};
use std::io::{BufRead, Read};

/// No record of any format is longer. Paths of Linux system calls have at most 4 KiB.
pub(super) const LONGEST_BYTES: u64 = 1 << 20;

/// Reads up to `end`, which is taken off; false at the end of the input. `place` is that of the record.
pub(super) fn read_record(
    input: &mut dyn BufRead,
    end: u8,
    record: &mut Vec<u8>,
    place: Place<'_>,
) -> Result<bool, SnapshotError> {
    record.clear();
    input
        .take(LONGEST_BYTES)
        .read_until(end, record)
        .map_err(|e| place.unreadable(e))?;
    match record.pop() {
        None => Ok(false),
        Some(last) if last == end => Ok(true),
        Some(_) if record.len() as u64 + 1 == LONGEST_BYTES => {
            let end = end.escape_ascii();
            Err(place.bad(
                format!("`{end}` within {LONGEST_BYTES} bytes"),
                "more bytes",
            ))
        }
        Some(_) => Err(place.cut_short()),
    }
}
