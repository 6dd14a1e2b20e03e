//! Synthetic workloads, one file a generator. All are seeded and label what they make as generated.
//!
//! - [`from_snapshots`]: what leads from one snapshot of a file system to the next.
//! - [`home`]: ten months of home directories, after published statistics (preset `smith96`).
//! - [`clones`]: one history several times side by side, shifted by days.
//! - [`short_lived`]: profiles of short-lived files.

pub mod clones;
pub mod from_snapshots;
pub mod home;
pub mod short_lived;
