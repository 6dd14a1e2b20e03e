//! Snapshots of real file systems.
