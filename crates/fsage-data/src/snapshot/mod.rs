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
//! [`write_snapshot`] stores any layout so; [`SnapshotFile`] is a layout again. [`SnapshotOutput`] takes the
//! rows of a series of snapshots in any order.

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
mod sort;
mod table;
mod write;

pub use file::SnapshotFile;
pub use form::Form;
pub use free::{read_free_map, write_free_map};
pub use inode_reader::InodeReader;
pub use inode_writer::InodeWriter;
pub use names::{NamesReader, NamesWriter};
pub use night::Repairs;
pub use output::{SnapshotCounts, SnapshotOutput};
pub use schema::{FREE, INODES, NAMES, SNAPSHOTS};
pub use table::{read_snapshot_table, write_snapshot_table};
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
