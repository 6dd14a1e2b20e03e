//! Foreign histories and traces as workloads, foreign snapshots as snapshots, one file a format. Rule by
//! rule: `docs/spec/traces.md`, for `playback` `docs/spec/workload.md`, section 4, for snapshots
//! `docs/spec/snapshots.md`, section 5.
//!
//! - [`git`]: the history of a git repository, with exact sizes and committer times.
//! - [`nfsdump`]: NFS traces, as those of Harvard.
//! - [`op_log`]: our own operation log, for whatever can be traced.
//! - [`playback`]: the aging workload format of Smith and Seltzer, in and out.
//! - [`snapshots`]: `find -printf`, tables in text, fs-hasher, GUFI.
//! - [`strace`]: the system calls of programs, as strace logs them.
//! - [`trace`]: what all traces share.
//!
//! An importer reads a stream and fills an event or snapshot sink of `fsage-core`; where files lie and how results are
//! kept is not its matter. It uses `fsage-core` and `fsage-durable`, and may start `git`, and no other program.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod git;
pub mod nfsdump;
pub mod op_log;
pub mod playback;
pub mod snapshots;
pub mod strace;
pub mod trace;
