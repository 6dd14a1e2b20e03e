//! Workloads, one file a generator. All are seeded, and say of every event where it comes from. What a workload is, and
//! what the generators follow: `docs/spec/workload.md`.
//! A generator fills an event sink of `fsage-core`: it knows no file system, no format and no clock.
//!
//! - [`from_snapshots`]: what leads from one snapshot of a file system to the next.
//! - [`short_lived`]: profiles of short-lived files.
//! - [`preset`]: workloads by name, and the TOML form that says which generator makes one, with which parameters.
//! - [`profile`]: files of given sizes, ages and depths on a file system that is as full as it is told to be.
//! - [`geriatrix`]: profiles of Geriatrix, for the profile generator.
//! - [`home`]: home directories, after published statistics.
//! - [`herrin`]: random creates and deletes by fullness.
//! - [`server`]: threads that go through loops of operations, after filebench.
//!
//! Transformations of workloads:
//!
//! - [`clones`]: one history several times side by side, shifted by days or within a day.
//! - [`larger`]: the same life with larger files, on a larger file system.
//! - [`repeat`]: years more of a workload, from days of its past.
//!
//! Shared by them: [`distribution`] and [`space`].

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod clones;
mod date;
pub mod distribution;
pub mod from_snapshots;
pub mod geriatrix;
pub mod herrin;
pub mod home;
pub mod larger;
pub mod preset;
pub mod profile;
pub mod repeat;
pub mod server;
pub mod short_lived;
pub mod space;
mod text_size;
mod world;
