//! The benchmarks, one file each.
//!
//! | where | what | from |
//! |---|---|---|
//! | [`sequential`] | many files of one size in up to four phases | Seltzer et al. 1995; Smith and Seltzer 1996, 1997 |
//! | [`hot_files`] | the files modified in the last month: read, overwrite | Smith and Seltzer 1996, 1997 |
//! | [`small_file`] | many files of 1 KB | Rosenblum, Ousterhout 1992; Seltzer et al. 1995; Ganger, Kaashoek 1997 |
//! | [`large_file`] | one large file | Rosenblum, Ousterhout 1992; Seltzer et al. 1995; Ganger, Kaashoek 1997 |
//! | [`tpcb`] | random records of a database, read and written back | Seltzer et al. 1995 |
//! | [`bbs`] | articles of a bulletin board: read, written, removed | Cheng et al. |
//! | [`free_space`] | create and read where only the free map is aged | Seltzer et al. 1995 |
//! | [`sqlite_scan`] | a database that grew beside another file, read from end to end | Jun and others 2024 |
//! | [`queue_depths`] | hot files in order, pages of them at random, 1 to 32 reads at work | data sheets of flash |
//! | [`read_tree`] | all files, directory by directory | Conway et al. 2017 |
//! | [`cold_start`] | an application that is installed and then started | Ji and others 2016 |
//! | [`delivery`] | mail: a file, forced to disk and moved to its folder, by the hundred; then read | Bernstein 1995 |
//! | [`applications`] | unpack and remove sources, compile, clean | Ganger, Kaashoek 1997 |

pub mod applications;
pub mod bbs;
pub mod cold_start;
pub mod delivery;
pub mod free_space;
pub mod hot_files;
pub mod large_file;
pub mod queue_depths;
pub mod read_tree;
pub mod sequential;
pub mod small_file;
pub mod sqlite_scan;
pub mod tpcb;

pub use applications::Applications;
pub use bbs::Bbs;
pub use cold_start::ColdStart;
pub use delivery::Delivery;
pub use hot_files::HotFiles;
pub use large_file::LargeFile;
pub use queue_depths::QueueDepths;
pub use read_tree::ReadTree;
pub use sequential::{Directories, FileCount, Forced, Order, Sequential, Step};
pub use sqlite_scan::SqliteScan;
pub use tpcb::TpcB;

use crate::benchmark::Benchmark;

/// Every benchmark, in the order in which they are listed and run.
pub const ALL: [&dyn Benchmark; 17] = [
    &sequential::SEQUENTIAL,
    &sequential::SEQUENTIAL_1995,
    &hot_files::HOT_FILES,
    &small_file::SMALL_FILE,
    &large_file::LARGE_FILE,
    &tpcb::TPC_B,
    &bbs::BBS,
    &bbs::BBS_WRITES,
    &free_space::FREE_SPACE,
    &small_file::SMALL_FILE_1997,
    &large_file::LARGE_FILE_1997,
    &applications::APPLICATIONS,
    &sqlite_scan::SQLITE_SCAN,
    &queue_depths::QUEUE_DEPTHS,
    &read_tree::READ_TREE,
    &cold_start::COLD_START,
    &delivery::DELIVERY,
];

/// The benchmark of that name.
pub fn by_name(name: &str) -> Option<&'static dyn Benchmark> {
    ALL.into_iter().find(|benchmark| benchmark.name() == name)
}

/// Largest call of the benchmarks that move whole files, in bytes (section 4.1 of the paper of 1996).
pub const CALL_BYTES: u64 = 4 << 20;

#[cfg(test)]
mod tests;
