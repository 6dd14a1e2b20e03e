//! Snapshots of real file systems.

#![deny(clippy::print_stdout, clippy::print_stderr)]

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
pub use walk::{WalkOptions, sizes, walk, walk_path};
