//! Foreign histories and traces as workloads, one file a format.
//!
//! - [`git`]: the history of a git repository, with exact sizes and committer times.

pub mod git;
