//! What benchmarks give: one measurement a phase and repetition.

use crate::laps::Lap;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

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

/// Which of two values is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// The higher one, as of speeds.
    Higher,
    /// The lower one, as of times.
    Lower,
}

impl Better {
    /// The word of the command line and of the tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Better::Higher => "higher",
            Better::Lower => "lower",
        }
    }

    /// The better one of two values first.
    pub fn order(self, a: f64, b: f64) -> Ordering {
        match self {
            Better::Higher => b.total_cmp(&a),
            Better::Lower => a.total_cmp(&b),
        }
    }

    /// The one of that word.
    pub fn named(word: &str) -> Option<Better> {
        let mut all = [Better::Higher, Better::Lower].into_iter();
        all.find(|better| better.as_str() == word)
    }
}

/// A value that a command of the user's gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// A positive number.
    pub value: f64,
    /// What it is counted in.
    pub unit: String,
    /// Which is the better one of two.
    pub better: Better,
}

/// One phase of a benchmark, measured once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Of a command of the user's, what is compared instead of bytes and files a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
    /// How long each of its files took, in order, until [`files_error`](Self::files_error) is found of that; none where
    /// time is simulated.
    #[serde(skip)]
    pub laps: Vec<Lap>,
    /// The standard error of the time of this phase, over all repetitions, if its files were drawn anew, as a share of
    /// it: see [`error_of_files`](crate::error_of_files).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_error: Option<f64>,
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

    /// Bytes a second; files a second where it moves none. Of a command what it gave, or how often that goes into 1
    /// where lower is better: a higher speed is always the better one.
    pub fn speed(&self) -> Option<f64> {
        match &self.reading {
            Some(reading) => Some(match reading.better {
                Better::Higher => reading.value,
                Better::Lower => 1.0 / reading.value,
            }),
            None => self.throughput().or_else(|| self.file_rate()),
        }
    }

    /// Layout score of its files; `None` where it is not known, or where no file has two blocks.
    pub fn layout_score(&self) -> Option<f64> {
        let countable = self.countable.filter(|&n| n > 0)?;
        Some(self.optimal? as f64 / countable as f64)
    }
}
