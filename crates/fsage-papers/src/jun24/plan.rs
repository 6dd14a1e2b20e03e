//! What is run for the paper, as `run.toml` says it.

use crate::paper::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A file whose pieces were not written one after the other, on flash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pieces {
    /// Preset of the device that heeds hints.
    pub hinted: String,
    /// Size of the file.
    pub file: Bytes,
    /// What is written of it at a time.
    pub piece: Bytes,
    /// Bytes that go to all dies before the first one comes again.
    pub stripe: Bytes,
    /// Bytes of a direct read.
    pub call: Bytes,
    /// What a direct read costs beside the device, in nanoseconds.
    pub call_ns: u64,
    /// What the program that reads the database does with a page, in nanoseconds.
    pub page_ns: u64,
    /// Rows of the database.
    pub rows: u64,
    /// Bytes of another file after each row.
    pub beside: Bytes,
    /// Pieces of a file, each of which lies 8 MB behind the one before.
    pub degrees: Vec<u64>,
    /// Alignments of the probe.
    pub alignments: Vec<Bytes>,
    /// Models of real drives, with their stripes.
    pub drives: BTreeMap<String, Bytes>,
}

impl Pieces {
    /// Pieces of the file.
    pub fn count(&self) -> u64 {
        self.file.0 / self.piece.0
    }
}
