//! Workloads as Parquet files.
//!
//! Neither direction keeps more than one row group in memory, whatever the length of the workload.

mod ids;
mod reader;
mod writer;

pub use reader::WorkloadReader;
pub(crate) use reader::{Events, NextBatch};
pub use writer::WorkloadWriter;
