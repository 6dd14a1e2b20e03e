//! Snapshots as Parquet files (snapshot format, section 2): an inode table, and beside it a snapshot table
//! a free map and the further names of hard links.
//!
//! ```text
//! STEM.parquet             one row an inode: InodeWriter, InodeReader
//! STEM.snapshots.parquet   one row a snapshot: write_snapshot_table, read_snapshot_table
//! STEM.free.parquet        one row a run of free space: write_free_map, read_free_map
//! STEM.names.parquet       one row a name beyond the first of an inode: NamesWriter, NamesReader
//! ```
//!
//! [`write_snapshot`] stores any layout so; [`SnapshotFile`] is a layout again,
//! [`read_snapshot`] one with all columns. [`SnapshotOutput`] takes the
//! rows of a series of snapshots in any order; [`SnapshotSeries`] gives any number of files as one series, as what
//! changed from night to night; [`SeriesOutput`] writes that, in either form.

pub mod diff;
mod file;
mod form;
mod free;
mod inode_reader;
mod inode_writer;
mod names;
mod night;
mod output;
mod schema;
mod scratch;
mod series;
mod series_output;
mod series_writer;
mod sort;
mod table;
mod view;
mod whole;
mod write;

pub use file::SnapshotFile;
pub use form::Form;
pub use free::{read_free_map, write_free_map};
pub use inode_reader::InodeReader;
pub use inode_writer::InodeWriter;
pub use names::{NamesReader, NamesWriter, count_names};
pub use night::Repairs;
pub use output::{Progress, SnapshotOutput};
pub use schema::{FREE, INODES, NAMES, SNAPSHOTS};
pub use series::{Changed, InodeKey, NightChanges, SnapshotSeries, open_snapshots};
pub use series_output::SeriesOutput;
pub use series_writer::{RegularFiles, SnapshotCounts};
pub use table::{read_snapshot_table, write_snapshot_table};
pub use view::SnapshotView;
pub use whole::{is_snapshot, read_sizes, read_snapshot};
pub use write::{SnapshotMeta, write_snapshot};

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A path without `.parquet`.
pub(crate) fn stem(path: &Path) -> PathBuf {
    match path.extension() {
        Some(extension) if extension == "parquet" => path.with_extension(""),
        _ => path.to_owned(),
    }
}

/// `STEM` and an ending.
pub(crate) fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut path = OsString::from(stem);
    path.push(ending);
    PathBuf::from(path)
}

/// A table beside an inode table: `STEM.full.parquet` and `STEM.delta.parquet` share those of `STEM`.
pub(crate) fn beside(path: &Path, ending: &str) -> Option<PathBuf> {
    let stem = stem(path);
    let own = with_ending(&stem, ending);
    let shared = match stem.extension().and_then(|e| e.to_str()) {
        Some("full" | "delta") => Some(with_ending(&stem.with_extension(""), ending)),
        _ => None,
    };
    [Some(own), shared]
        .into_iter()
        .flatten()
        .find(|p| p.exists())
}

/// The tables that lie beside an inode table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TablesBeside {
    /// The snapshot table.
    pub snapshots: Option<PathBuf>,
    /// The further names.
    pub names: Option<PathBuf>,
}

/// Finds the tables beside an inode table.
pub fn tables_beside(path: &Path) -> TablesBeside {
    TablesBeside {
        snapshots: beside(path, ".snapshots.parquet"),
        names: beside(path, ".names.parquet"),
    }
}
