//! Snapshots of real file systems.

mod error;
mod memory;
mod report;
mod walk;

pub use error::CollectError;
pub use memory::Memory;
pub use report::{Progress, Report};
pub use walk::{WalkOptions, walk, walk_path};
