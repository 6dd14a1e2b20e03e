//! Benchmarks of file systems: one file each, run on aged file systems, their unaged controls and empty ones, simulated
//! or real.
//!
//! A [`Benchmark`] has cases, most often a size of files each, and asks a [`Subject`] to make, read, write and delete
//! files. [`run()`] goes over cases and repetitions, each on a fresh state that a [`Stand`] makes, and gives a
//! [`Measurement`] a phase; [`Summary`] says what repetitions are worth together.
//!
//! It may use hosts, disks, models and real file systems, and knows no runs: what is measured, and where results go, is
//! said by `fsage-lab`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod benchmark;
pub mod benchmarks;
mod causes;
mod command;
mod laps;
mod measurement;
mod phase;
mod ratio;
pub mod real;
mod run;
mod simulated;
mod statistics;
mod subject;
#[cfg(test)]
mod test_subject;

pub use benchmark::{Benchmark, Case, GoesOver, LeftOut, Site, Unsuited};
pub use causes::Cause;
pub use command::{Command, Wanted};
pub use laps::{Lap, error_of_files};
pub use measurement::{Better, Measurement, Reading, Requests};
pub use ratio::{LEAST_APART, Ratio, Repeated, STRETCHES, Says};
pub use run::{Entrant, Progress, Repetitions, Results, Stand, run, run_in_turn, turns};
pub use simulated::{
    DriveTooSmall, FlashFacts, Simulated, SimulatedStand, device_below, direct_read,
};
pub use statistics::{Interval, Summary, median_ranks};
pub use subject::{BenchError, DirKey, FileKey, Part, Subject};
