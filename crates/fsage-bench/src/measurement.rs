//! What benchmarks give: one measurement a phase and repetition.

use serde::{Deserialize, Serialize};

/// Requests at the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// That read.
    pub reads: u64,
    /// That write.
    pub writes: u64,
    /// Of these, those for which the process waited at once.
    pub sync_writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl Requests {
    /// All of them.
    pub fn all(self) -> u64 {
        self.reads + self.writes
    }

    /// Those that came after `earlier`.
    #[must_use]
    pub fn since(self, earlier: Requests) -> Requests {
        Requests {
            reads: self.reads.saturating_sub(earlier.reads),
            writes: self.writes.saturating_sub(earlier.writes),
            sync_writes: self.sync_writes.saturating_sub(earlier.sync_writes),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
        }
    }
}

/// One phase of a benchmark, measured once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The benchmark's name.
    pub benchmark: String,
    /// The phase: `create`, `read`, ...
    pub phase: String,
    /// Size of each file in bytes, where all have the same.
    pub file_bytes: Option<u64>,
    /// 0, 1, 2, ...
    pub repetition: u32,
    /// Files that the phase went over.
    pub files: u64,
    /// Bytes that it read or wrote; 0 where files are counted only.
    pub bytes: u64,
    /// Nanoseconds that it took.
    pub elapsed_ns: u64,
    /// Nanoseconds of these that the processor worked, where that is known.
    pub cpu_ns: Option<u64>,
    /// Pairs of neighboring blocks of its files that are contiguous on the device, where the layout is known.
    pub optimal: Option<u64>,
    /// All pairs of neighboring blocks of its files.
    pub countable: Option<u64>,
    /// Requests at the device, where they are counted.
    pub requests: Option<Requests>,
}

impl Measurement {
    /// Bytes a second.
    pub fn throughput(&self) -> Option<f64> {
        (self.bytes > 0 && self.elapsed_ns > 0)
            .then(|| self.bytes as f64 * 1e9 / self.elapsed_ns as f64)
    }

    /// Files a second.
    pub fn file_rate(&self) -> Option<f64> {
        (self.files > 0 && self.elapsed_ns > 0)
            .then(|| self.files as f64 * 1e9 / self.elapsed_ns as f64)
    }

    /// Bytes a second; files a second where it moves none.
    pub fn speed(&self) -> Option<f64> {
        self.throughput().or_else(|| self.file_rate())
    }

    /// Layout score of its files; `None` where it is not known, or where no file has two blocks.
    pub fn layout_score(&self) -> Option<f64> {
        let countable = self.countable.filter(|&n| n > 0)?;
        Some(self.optimal? as f64 / countable as f64)
    }
}
