//! Snapshots of real file systems: of mounted trees, by a walk and FIEMAP, and of unmounted images with ext2, ext3,
//! ext4 or XFS, by reading their structures.
//!
//! It may use system calls and reads images as whoever made them left them, be they damaged or hostile; it gives what
//! it finds to a sink of `fsage-core` and knows nothing of how snapshots are kept.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod anonymize;
mod error;
pub mod ext_image;
pub mod image;
mod memory;
mod report;
mod walk;
mod xfs_image;

pub use anonymize::{Anonymous, Salt};
pub use error::CollectError;
pub use memory::Memory;
pub use report::{Progress, Report};
pub use walk::{WalkOptions, sizes, walk, walk_path};
