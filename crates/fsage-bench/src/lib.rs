//! Benchmarks of file systems: one file each, run on aged file systems, their unaged controls and empty ones, simulated
//! or real.

mod benchmark;
mod measurement;
pub mod real;
mod subject;

pub use benchmark::{Benchmark, Case, Site};
pub use measurement::Measurement;
pub use subject::{BenchError, DirKey, FileKey, Part, Subject};
