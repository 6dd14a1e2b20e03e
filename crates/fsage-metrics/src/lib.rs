//! What a layout is worth: one file a metric, all of them over [`fsage_core::Layout`], so that simulated and
//! real file systems are measured by the same code.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod block_map;
pub mod directory_order;
pub mod directory_statistics;
pub mod free_space;
pub mod kept;
pub mod layout_score;
pub mod measures;
pub mod pieces;
mod placed;
mod sign;
pub mod split_files;

pub use block_map::{Recorder, Recording};
pub use directory_order::DirectoryOrder;
pub use directory_statistics::{Adjacency, DirectoryStatistics};
pub use free_space::{FreeSpace, RunClass};
pub use kept::Kept;
pub use layout_score::{LayoutBySize, LayoutScore, SizeClass};
pub use measures::{Measures, measure, measure_and};
pub use pieces::Pieces;
pub use split_files::SplitFiles;
