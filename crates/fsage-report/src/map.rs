//! The map of a disk, day by day.

use serde::Serialize;

/// The disk of a target.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BlockMap {
    /// The target, by its place in [`Report::targets`](crate::Report::targets).
    pub target: usize,
}
