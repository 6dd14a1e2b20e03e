//! What a workload is replayed on, and the replay itself.
//!
//! [`TargetSpec`] names a target, [`Target`] is one,
//! one workload, and [`ffs_trace`] is the microscope under which an FFS is compared with the original.

pub mod ffs_trace;
pub mod spec;
pub mod target;

pub use ffs_trace::FfsTrace;
pub use spec::{SpecError, TargetSpec};
pub use target::Target;
