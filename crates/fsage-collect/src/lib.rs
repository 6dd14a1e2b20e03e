//! Snapshots of real file systems.

mod anonymize;
mod error;
pub mod ext_image;
mod memory;
mod report;
mod walk;

pub use anonymize::{Anonymous, Salt};
pub use error::CollectError;
pub use memory::Memory;
pub use report::{Progress, Report};
pub use walk::{WalkOptions, walk, walk_path};
