//! Simulated file systems: exact models of how an allocator lays out files.
//!
//! Each model is one folder; each allocation policy is one file under `<model>/policy/`. A model knows no
//! clock, no disk and no threads: the same operations give the same addresses on every machine.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod block_list;
pub mod cffs;
pub mod ext3;
pub mod ffs;
mod findings;
pub mod lfs;
mod names;
mod operations;
mod options;
mod pointers;
pub mod rearrange;
mod shortfall;
mod told;

pub use options::ParamError;
