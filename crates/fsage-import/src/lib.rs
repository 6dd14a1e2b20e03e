//! Foreign histories and traces as workloads, foreign snapshots as snapshots, one file a format.
//!
//! - [`git`]: the history of a git repository, with exact sizes and committer times.
//! - [`playback`]: the aging workload format of Smith and Seltzer, in and out.
//! - [`snapshots`]: `find -printf`, tables in text, fs-hasher, GUFI.

pub mod git;
pub mod playback;
pub mod snapshots;
