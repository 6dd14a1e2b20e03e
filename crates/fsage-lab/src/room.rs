//! Differences in room for extents that chance makes.
//!
//! How many extents find room is a count of few, large runs. Another draw of the same life, as of a clock, gives
//! another count, which differs by about its root.

/// Metrics of how many extents find room.
const ROOM: &str = "placeable_";

/// Whether a metric counts for how many extents there is room.
pub(crate) fn is_count(metric: &str) -> bool {
    metric.starts_with(ROOM)
}

/// Whether two counts of one life each differ by no more than twice the root of the larger one.
pub(crate) fn is_by_chance(one: f64, other: f64) -> bool {
    (one - other).abs() <= 2.0 * one.max(other).max(0.0).sqrt()
}
