//! What a layout is worth: one file a metric, all of them over [`fsage_core::Layout`], so that simulated and
//! real file systems are measured by the same code.
//!
//! Each metric, or family of them, is one file, and one line of the list below; [`METRICS`] is what days, JSON, rules,
//! reports and documentation go by. The crate uses `fsage-core` alone: it knows no model, no run and no file.

#![deny(clippy::print_stdout, clippy::print_stderr)]

/// Declares the files of metrics with what each adds up over inodes, if it does, and lists their metrics.
macro_rules! metrics {
    ($($file:ident $(: $sum:ident)?)*) => {
        $(pub mod $file;)*

        /// What metrics add up over all inodes, by the file that does.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Sums {
            $($(
                #[doc = concat!("See [`", stringify!($file), "::", stringify!($sum), "`].")]
                pub $file: $file::$sum,
            )?)*
        }

        impl Sums {
            /// Counts an inode, or takes back what it counted.
            pub(crate) fn count(
                &mut self,
                file: &fsage_core::FileView<'_>,
                geometry: &fsage_core::Geometry,
                sign: sign::Sign,
            ) {
                $($(<$file::$sum as metric::Summed>::count(&mut self.$file, file, geometry, sign);)?)*
            }
        }

        /// Every metric, in the order of tables and documentation.
        pub static METRICS: &[&Metric] =
            &metric::listed::<{ 0 $(+ $file::METRICS.len())* }>(&[$($file::METRICS),*]);
    };
}

// A metric is its file, and a line here: with the name of its sum over inodes, if it has one.
metrics! {
    files: Files
    layout_score: Scores
    pieces: Pieces
    split_files: SplitFiles
    directory_order
    free_space
    log
    one_piece: OnePiece
}

pub mod block_map;
pub mod directory_statistics;
pub mod free_by_group;
pub mod kept;
pub mod measures;
pub mod metric;
mod placed;
mod sign;

pub use block_map::{Recorder, Recording};
pub use directory_order::DirectoryOrder;
pub use directory_statistics::{Adjacency, DirectoryStatistics};
pub use free_by_group::{FreeOfGroup, free_by_group};
pub use free_space::{FreeSpace, RunClass};
pub use kept::Kept;
pub use layout_score::{LayoutBySize, LayoutScore, SizeClass};
pub use measures::{Measures, measure, measure_and};
pub use metric::{Better, Metric, Number, Numbers, Section, Unit};
pub use pieces::Pieces;
pub use split_files::SplitFiles;
