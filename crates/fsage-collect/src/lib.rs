//! Snapshots of real file systems.

mod error;
pub mod ext_image;
mod report;

pub use error::CollectError;
pub use report::{Progress, Report};
