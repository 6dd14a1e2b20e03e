//! Snapshots of real file systems.

mod error;
mod report;

pub use error::CollectError;
pub use report::{Progress, Report};
