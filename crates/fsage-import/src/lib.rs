//! Foreign histories and traces as workloads, one file a format.
//!
//! - [`git`]: the history of a git repository, with exact sizes and committer times.
//! - [`strace`]: the system calls of programs, as strace logs them.
//! - [`trace`]: what all traces share.

pub mod git;
pub mod strace;
pub mod trace;
