//! What a benchmark is.

use crate::measurement::Measurement;
use crate::subject::{BenchError, FileKey, Subject};

/// Facts of a file system from which a benchmark chooses its cases.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Bytes that new files can still take.
    pub free_bytes: u64,
    /// Files that were modified in the last month and are there still, in the order in which they are read.
    pub hot_files: Vec<FileKey>,
}

/// One run of a benchmark on a fresh state: a size of files, most often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Size of each file in bytes, where the benchmark has cases of several.
    pub file_bytes: Option<u64>,
}

/// A benchmark: its cases, and how one of them runs.
pub trait Benchmark: Sync {
    /// Name, as on the command line.
    fn name(&self) -> &'static str;

    /// What it does, in one line.
    fn summary(&self) -> &'static str;

    /// What it runs there. Cases that do not fit are left out.
    fn cases(&self, site: &Site) -> Vec<Case>;

    /// Runs one case, and gives a measurement a phase. `repetition` goes into them.
    ///
    /// # Errors
    /// Those of the subject.
    fn run(
        &self,
        case: Case,
        repetition: u32,
        site: &Site,
        subject: &mut dyn Subject,
    ) -> Result<Vec<Measurement>, BenchError>;
}
