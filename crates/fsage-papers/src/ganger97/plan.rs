//! What is run for the paper, as `run.toml` says it.

use crate::paper::{Bytes, is_default};
use serde::{Deserialize, Serialize};

/// Embedded inodes and explicit grouping, each alone and together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grouping {
    /// Small files.
    pub small_files: SmallFiles,
    /// Small files on aged file systems.
    pub aged: AgedSmallFiles,
    /// Size of the large file.
    pub large_file: Bytes,
    /// Programs that work on sources.
    pub applications: Programs,
    /// Requests of several sizes.
    pub request_cost: RequestCost,
    /// The baseline beside another system.
    pub openbsd: OpenBsd,
    /// What the paper supposes and had not built.
    pub beyond: Beyond,
}

/// The baseline beside the FFS of `OpenBSD`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenBsd {
    /// The host of the FFS.
    pub host: String,
    /// Bytes of files that one file cache holds, and the other does not.
    pub cached: Bytes,
    /// Whether the baseline puts first blocks at random here as well.
    #[serde(default, skip_serializing_if = "is_default")]
    pub baseline_at_random: bool,
}

/// More blocks of a file in its group, and hints of programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beyond {
    /// Blocks of a file in its group; 1 is what the paper built.
    pub grouped_blocks: Vec<u64>,
    /// Size of the files of which they are.
    pub size: Bytes,
    /// Preset of the aging after which free space is looked at.
    pub preset: String,
    /// Files of a document.
    pub files_of_a_document: u64,
}

/// Small files, in directories of 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallFiles {
    /// Size of each file.
    pub size: Bytes,
    /// Directories where throughput is measured.
    pub directories: u64,
    /// Directories whose files are used at random.
    pub random_directories: u64,
    /// Directories where requests are counted beside those of the independent model.
    pub counted_directories: u64,
}

/// Small files on aged file systems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgedSmallFiles {
    /// Size of the file systems, fresh and aged.
    pub partition: Bytes,
    /// Directories of 100 files.
    pub directories: u64,
    /// Presets of the aging, ascending by fullness.
    pub presets: Vec<String>,
    /// Whether first blocks are at random while the file systems are aged, and not only in the benchmark.
    #[serde(default, skip_serializing_if = "is_default")]
    pub aged_at_random: bool,
    /// Generations after filling, if not those of the presets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generations: Option<u64>,
}

/// Programs that work on sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// Times of the processor for a compilation that are tried beside the benchmark's own, in milliseconds.
    pub compile_ms: Vec<u64>,
    /// What a compilation takes, if not the benchmark's own, in milliseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub compilation_ms: Option<u64>,
    /// What unpacking a byte takes, if not the benchmark's own, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unpack_ns_per_byte: Option<u64>,
}

/// Drives on which requests of several sizes are timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestCost {
    /// Of the time of the paper.
    pub drives: Vec<String>,
    /// One that was older.
    pub older: String,
}

impl Grouping {
    /// The workloads, in a sentence that names `seed`.
    pub fn workload_text(&self, seed: u64) -> String {
        let generations = match self.aged.generations {
            Some(generations) => format!(", {generations} generations after filling"),
            None => String::new(),
        };
        let presets = self.aged.presets.join(", ");
        format!("Aged by {presets} with seed {seed}{generations}.")
    }
}
