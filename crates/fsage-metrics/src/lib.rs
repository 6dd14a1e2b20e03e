//! What a layout is worth: one file a metric, all of them over [`fsage_core::Layout`], so that simulated and
//! real file systems are measured by the same code.

pub mod free_space;
pub mod layout_score;
pub mod measures;
pub mod split_files;

pub use free_space::FreeSpace;
pub use layout_score::{LayoutBySize, LayoutScore, SizeClass};
pub use measures::{Measures, measure};
pub use split_files::SplitFiles;
