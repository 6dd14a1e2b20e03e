//! Simulated file systems: exact models of how an allocator lays out files.
//!
//! Each model is one folder; each allocation policy is one file under `<model>/policy/`. A model knows no
//! clock, no disk and no threads: the same operations give the same addresses on every machine.

pub mod ffs;
pub mod lfs;
