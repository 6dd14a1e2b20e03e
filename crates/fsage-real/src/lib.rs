//! Real file systems to replay a workload on: directories that are there, and images that are made for it.
//!
//! [`Real`] applies events to a [`Directory`](directory::Directory) by system calls and keeps a journal, so that a run
//! can go on after any interruption; [`loop_image`] makes, mounts and takes down images; [`RealSpec`] names both. It
//! may use system calls, the kernel's loop devices and `mkfs`, and knows neither the simulated file systems nor how a
//! replay is driven and measured: that is `fsage-target`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod directory;
mod error;
pub mod loop_image;
pub mod machine;
pub mod programs;
mod real;
mod spec;

pub use error::RealError;
pub use real::{DayIs, Real, Stop, day_records};
pub use spec::{Place, REAL_KINDS, RealKind, RealSpec};
