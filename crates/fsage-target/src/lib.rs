//! What a workload is replayed on, and the replay itself.
//!
//! [`TargetSpec`] names a target, [`Target`] is one, [`replay`] drives several of them through one workload
//! and measures them at the end of every day, and [`FfsTrace`] and [`LfsTrace`] are the microscopes under which models
//! are compared with the originals.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod catalogue;
mod control;
pub mod directory;
mod engine;
mod ffs_trace;
mod hot_files;
mod lfs_trace;
pub mod loop_image;
pub mod programs;
mod real;
mod real_spec;
mod spec;
mod stamps;
mod target;
mod words;

pub use control::{Control, control_workload};
pub use engine::{
    Aging, Day, DayEnds, MapGrows, OpCounts, Progress, ReplayError, TakeRealSnapshot, TakeSnapshot,
    replay,
};
pub use ffs_trace::FfsTrace;
pub use hot_files::{HotFile, HotFiles, in_directory_order};
pub use lfs_trace::{LfsTrace, LfsTraceError};
pub use real::{Real, Stop, day_records};
pub use real_spec::{Place, REAL_KINDS, RealKind, RealSpec};
pub use spec::{SpecError, TargetSpec, kinds};
pub use stamps::Stamps;
pub use target::Target;
