//! The laboratory as a library: what the `fsage` program does, from a typed request to a typed result.
//!
//! | to | call | and get |
//! |---|---|---|
//! | make a workload | [`generate()`] | what it consists of |
//! | age targets by it | [`age`] | their days, and a run: a folder with everything |
//! | measure a run, a snapshot, a directory or an image | [`measure`] | metrics |
//! | benchmark what was aged against what was not | [`bench()`] | measurements with their spread |
//! | do the three of these for several targets | [`compare()`] | a verdict on each |
//! | defragment what was aged, and see what is left of it later | [`after()`] | stages, with speeds and cost |
//! | do all of that over a matrix of targets, workloads and seeds | [`experiment`] | its cells and verdicts |
//! | ask when a file system breaks | [`forecast()`] | days with their interval, and what would help |
//! | look at the snapshots of many hosts | [`fleet()`] | rates, decay, and which are alike |
//! | judge a run by rules, or against another | [`check()`] | pass or fail, rule by rule |
//! | ask how well snapshots stand for the truth | [`verify_method`] | differences, day by day |
//! | ask whether a model does what this kernel does | [`verify_model()`] | equal, or the first operation that differs |
//! | look at it | [`report()`] | one HTML page |
//!
//! Nothing here prints; results that people read have a text form, which their `print` writes to whatever it is given,
//! with the tables of [`table`]. Whoever wants to see how work goes on hands in a [`Watch`]; [`Unwatched`] sees
//! nothing. Long work ends in order after [`interrupt::stop`]. An [`Error`] names the file and what was expected, and
//! tells bad input from a system that refused. What was written is whole and on disk when a function returns, or is
//! not there.
//!
//! It may use every crate below: workloads, models, real file systems, metrics, devices, the page. It knows nothing
//! of a command line but the options themselves, as [`generate::Source`], which carry their names and help, so that the
//! program, the file of an experiment and other languages have the same ones.
//!
//! # Example
//! ```
//! use fsage_lab::{AgeRequest, TargetSpec, Unwatched, age};
//! # let folder = tempfile::tempdir()?;
//! # let workload = folder.path().join("w.ops");
//! # fsage_durable::write(&workload, "create 1 0 20000\ncreate 2 0 9000\ndelete 1\ncreate 3 0 40000\nday 1\n", true)?;
//! let targets = [TargetSpec::parse("ffs:preset=tiny")?];
//! let run = folder.path().join("run");
//! let aged = age(&AgeRequest::new(&workload, &targets, &run), &Unwatched)?;
//! let last = aged[0].rows.last().expect("a day");
//! assert_eq!(last.number("files"), Some(2.0));
//! # Ok::<(), fsage_lab::Error>(())
//! ```

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod after;
pub mod aging;
mod bases;
pub mod benching;
pub mod build;
pub mod cffs_image;
pub mod check;
mod clock;
pub mod clusters;
pub mod collect;
pub mod compare;
pub mod days;
pub mod described;
pub mod device;
pub mod error;
pub mod experiment;
pub mod fleet;
pub mod forecast;
pub mod fullness;
pub mod generate;
pub mod history;
pub mod images;
pub mod interrupt;
pub mod life;
mod map_file;
pub mod measure;
pub mod model_image;
pub mod mounting;
pub mod report;
mod room;
pub mod run_folder;
mod seals;
pub mod table;
pub mod tree_table;
pub mod verify;
pub mod verify_model;
pub mod watch;
pub mod workload;

pub use after::{Request as AfterRequest, after};
pub use aging::{Aged, Options as AgeOptions, Request as AgeRequest, age};
pub use benching::{Request as BenchRequest, bench};
pub use check::check;
pub use compare::{Request as CompareRequest, compare};
pub use error::{Error, Result};
pub use fleet::{Request as FleetRequest, fleet};
pub use forecast::{Request as ForecastRequest, forecast};
pub use fsage_target::TargetSpec;
pub use generate::generate;
pub use report::{Request as ReportRequest, report};
pub use verify::verify_method;
pub use verify_model::{Request as VerifyModelRequest, verify_model};
pub use watch::{Progress, Unit, Unwatched, Watch};
