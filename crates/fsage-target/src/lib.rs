//! What a workload is replayed on, and the replay itself.
//!
//! [`TargetSpec`] names a target, [`Target`] is one, [`replay`] drives several of them through one workload
//! and measures them at the end of every day, and [`FfsTrace`] is the microscope under which an FFS is
//! compared with the original.

mod control;
pub mod directory;
mod engine;
mod ffs_trace;
mod spec;
mod stamps;
mod target;

pub use control::{Control, control_workload};
pub use engine::{Aging, Day, OpCounts, Progress, ReplayError, TakeSnapshot, replay};
pub use ffs_trace::FfsTrace;
pub use spec::{KINDS, SpecError, TargetSpec};
pub use stamps::Stamps;
pub use target::{Null, Target};
