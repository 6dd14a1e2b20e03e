//! System calls of Linux that the standard library lacks, as safe functions: one file a call.
//!
//! This is the one crate of the workspace with `unsafe` in it. It knows the kernel and nothing else of fsage: what a
//! call is for is said by whoever makes it.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod btrfs;
pub mod facts;
pub mod fibmap;
pub mod fiemap;
pub mod freeze;
pub mod fsmap;
pub mod handle;
pub mod loop_device;
pub mod mount;
pub mod mounts;
pub mod uuid;
pub mod xfs_geometry;
pub mod xfs_inactive;
pub mod xfs_reserve;
