//! Workloads, snapshots and run results on disk: Parquet and the `.ops` text form.
//!
//! Workloads and inode tables are read and written as streams, so they may be of any length. Files get their
//! names only when they are complete, and nothing is written over unless asked for.
//!
//! This is the one crate that knows Arrow and Parquet, so that nothing below it waits for them to compile.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod columnar;
mod decoder_panic;
mod error;
mod histogram;
mod open;
pub mod ops_text;
mod pages;
mod parquet_file;
mod placed_file;
pub mod profiles;
pub mod schema;
pub mod snapshot;
pub mod stream;
mod summary;
pub mod table;
mod workload;

pub use decoder_panic::hide_decoder_panics;
pub use error::DataError;
pub use histogram::Histogram;
pub use open::{
    Lost, WorkloadOutput, create_workload, hash_bytes, hash_file, is_parquet, open_workload,
};
pub use ops_text::{OpsError, OpsReader, OpsWriter};
pub use profiles::{read_profiles, write_profiles};
pub use snapshot::{SnapshotCounts, SnapshotFile, SnapshotMeta, SnapshotOutput, write_snapshot};
pub use summary::{Share, WorkloadSummary};
pub use workload::{WorkloadReader, WorkloadWriter};
