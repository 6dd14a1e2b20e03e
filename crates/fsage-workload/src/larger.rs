//! A workload with larger files: the same operations, days and names, with every size and offset multiplied.
//!
//! Space grows with the sizes, so a workload for a file system of N times the capacity keeps its utilization, up to
//! what rounding to blocks took: small files waste a smaller share of the larger disk.

use fsage_core::{Event, EventSink, Op, SinkError, WorkloadHeader};
use std::fmt;

/// Gives events on with every size and offset multiplied by `factor`. Targets of symbolic links keep their length.
pub struct Larger<'a> {
    sink: &'a mut dyn EventSink,
    factor: u64,
}

/// A size or offset that passes 2^63 bytes when it is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    bytes: u64,
    factor: u64,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooLarge { bytes, factor } = self;
        write!(
            f,
            "{bytes} bytes times {factor}: expected less than 2^63; take a smaller factor"
        )
    }
}

impl std::error::Error for TooLarge {}

impl<'a> Larger<'a> {
    /// Multiplies by `factor` what goes to `sink`.
    pub fn new(sink: &'a mut dyn EventSink, factor: u64) -> Larger<'a> {
        Larger { sink, factor }
    }
}

/// The header of the larger workload.
///
/// # Errors
/// The capacity passes 2^63 bytes.
pub fn header(header: WorkloadHeader, factor: u64) -> Result<WorkloadHeader, TooLarge> {
    let mut capacity_bytes = header.capacity_bytes;
    capacity_bytes
        .iter_mut()
        .try_for_each(|n| multiply(n, factor))?;
    Ok(WorkloadHeader {
        capacity_bytes,
        ..header
    })
}

fn multiply(bytes: &mut u64, factor: u64) -> Result<(), TooLarge> {
    let product = bytes.checked_mul(factor).filter(|n| n.leading_zeros() > 0);
    *bytes = product.ok_or(TooLarge {
        bytes: *bytes,
        factor,
    })?;
    Ok(())
}

impl EventSink for Larger<'_> {
    fn event(&mut self, mut event: Event) -> Result<(), SinkError> {
        let factor = self.factor;
        match &mut event.op {
            Op::Create { bytes, .. }
            | Op::Append { bytes, .. }
            | Op::Rewrite { bytes, .. }
            | Op::Truncate { bytes, .. } => multiply(bytes, factor)?,
            Op::Write { offset, bytes, .. }
            | Op::Fallocate { offset, bytes, .. }
            | Op::Punch { offset, bytes, .. }
            | Op::Overwrite {
                range: Some((offset, bytes)),
                ..
            }
            | Op::Read {
                range: Some((offset, bytes)),
                ..
            } => {
                multiply(offset, factor)?;
                multiply(bytes, factor)?;
            }
            _ => {}
        }
        self.sink.event(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::{DirId, FileId};

    #[test]
    fn sizes_and_offsets_are_multiplied_and_nothing_else() {
        let (file, dir) = (FileId(3), DirId(5));
        let range = |a, b| Some((a, b));
        let before = [
            Op::Create {
                file,
                dir,
                bytes: 7,
            },
            Op::Append { file, bytes: 7 },
            Op::Write {
                file,
                offset: 2,
                bytes: 7,
            },
            Op::Overwrite {
                file,
                range: range(2, 7),
            },
            Op::Overwrite { file, range: None },
            Op::Rewrite { file, bytes: 7 },
            Op::Truncate { file, bytes: 7 },
            Op::Fallocate {
                file,
                offset: 2,
                bytes: 7,
            },
            Op::Punch {
                file,
                offset: 2,
                bytes: 7,
            },
            Op::Read {
                file,
                range: range(2, 7),
            },
            Op::Symlink {
                file,
                dir,
                bytes: 7,
            },
            Op::Delete { file },
            Op::Day,
        ];
        let after = [
            Op::Create {
                file,
                dir,
                bytes: 70,
            },
            Op::Append { file, bytes: 70 },
            Op::Write {
                file,
                offset: 20,
                bytes: 70,
            },
            Op::Overwrite {
                file,
                range: range(20, 70),
            },
            Op::Overwrite { file, range: None },
            Op::Rewrite { file, bytes: 70 },
            Op::Truncate { file, bytes: 70 },
            Op::Fallocate {
                file,
                offset: 20,
                bytes: 70,
            },
            Op::Punch {
                file,
                offset: 20,
                bytes: 70,
            },
            Op::Read {
                file,
                range: range(20, 70),
            },
            Op::Symlink {
                file,
                dir,
                bytes: 7,
            },
            Op::Delete { file },
            Op::Day,
        ];
        let mut events: Vec<Event> = Vec::new();
        let mut larger = Larger::new(&mut events, 10);
        for op in before {
            larger
                .event(Event::new(op).at(9))
                .expect("a size that fits");
        }
        assert_eq!(events, after.map(|op| Event::new(op).at(9)));
    }

    #[test]
    fn a_size_that_does_not_fit_is_refused() {
        let mut events: Vec<Event> = Vec::new();
        let op = Op::Append {
            file: FileId(1),
            bytes: 1 << 60,
        };
        let sent = Larger::new(&mut events, 8).event(Event::new(op));
        let why = sent.expect_err("2^63").to_string();
        assert!(
            why.starts_with("1152921504606846976 bytes times 8: expected"),
            "{why}"
        );
        assert!(events.is_empty());
        let of = |capacity_bytes| WorkloadHeader {
            capacity_bytes,
            ..WorkloadHeader::default()
        };
        assert_eq!(header(of(Some(5)), 3), Ok(of(Some(15))));
        assert_eq!(header(of(None), 3), Ok(of(None)));
        assert!(header(of(Some(1 << 62)), 2).is_err());
    }
}
