//! What a workload is replayed on, and the replay itself.
//!
//! [`TargetSpec`] names a target, [`Target`] is one, a simulated file system or a real one, and [`replay`] drives
//! several of them through one workload and measures them at the end of every day. The crate knows models, real file
//! systems and metrics; it makes no system calls of its own and knows no formats of results.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod catalogue;
mod control;
mod engine;
mod hot_files;
mod spec;
mod stamps;
mod target;

pub use control::{Control, control_workload};
pub use engine::{
    Aging, Day, DayEnds, FollowIo, Followed, MeasureAnew, Progress, ReplayError, TakeRealSnapshot,
    TakeSnapshot, apply_to_model, replay,
};
pub use hot_files::{HotFile, HotFiles, in_directory_order};
pub use spec::{SpecError, TargetSpec, kernel_models, kinds, within_models};
pub use stamps::{Stamp, Stamps};
pub use target::Target;
