//! Synthetic workloads, one file a generator. All are seeded and label what they make as generated.
//!
//! - [`from_snapshots`]: what leads from one snapshot of a file system to the next.
//! - [`home`]: ten months of home directories, after published statistics (preset `smith96`).
//!
//! And transformations of workloads:
//!
//! - [`clones`]: one history several times side by side, shifted by days or within a day.
//! - [`repeat`]: years more of a workload, from days of its past.

pub mod clones;
mod date;
pub mod from_snapshots;
pub mod home;
pub mod repeat;
mod world;
