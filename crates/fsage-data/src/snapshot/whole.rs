//! A stored snapshot with everything that is known of its inodes.

use super::file::each_inode;
use super::inode_reader::{InodeReader, snapshot_range};
use super::names::NamesReader;
use super::{INODES, beside, read_free_map, read_snapshot_table};
use crate::error::DataError;
use crate::open::is_parquet;
use crate::parquet_file::TableFile;
use fsage_core::LayoutInMemory;
use fsage_core::snapshot::SnapshotInfo;
use std::path::Path;

/// Whether a file is an inode table.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub fn is_snapshot(path: &Path) -> Result<bool, DataError> {
    Ok(is_parquet(path)? && TableFile::open(path)?.schema_name() == Some(INODES))
}

/// What the tables beside an inode table say of its last snapshot.
fn read_beside(path: &Path) -> Result<(SnapshotInfo, LayoutInMemory), DataError> {
    let (_, range) = snapshot_range(path)?;
    let (_, last) = range.ok_or_else(|| DataError::unsuitable(path, "the table has no rows"))?;
    let table = beside(path, ".snapshots.parquet");
    let rows = table.map(|table| read_snapshot_table(&table)).transpose()?;
    let mut rows = rows.into_iter().flatten();
    let info = rows.find(|row| row.snap_id == last).ok_or_else(|| {
        let problem = "no snapshot table beside it says how large the file system is";
        DataError::unsuitable(path, problem)
    })?;
    let free = beside(path, ".free.parquet").map(|map| read_free_map(&map, last));
    let layout = LayoutInMemory {
        geometry: info.geometry(),
        space: info.space(),
        inodes: Vec::new(),
        names: Vec::new(),
        free: free.transpose()?,
    };
    Ok((info, layout))
}

/// Reads what the last snapshot of an inode table says of sizes and free space, without its inodes.
///
/// # Errors
/// A file cannot be read or is no such table; there is no snapshot table beside it.
pub fn read_sizes(path: &Path) -> Result<LayoutInMemory, DataError> {
    Ok(read_beside(path)?.1)
}

/// Reads the last snapshot of an inode table with all columns, further names and free map: 250 bytes an inode.
///
/// # Errors
/// As [`read_sizes`]; a row cannot be right.
pub fn read_snapshot(path: &Path) -> Result<(SnapshotInfo, LayoutInMemory), DataError> {
    let (info, mut layout) = read_beside(path)?;
    let mut reader = InodeReader::open(path)?;
    each_inode(&mut reader, info.snap_id, &mut |inode| {
        layout.inodes.push(inode);
    })?;
    if let Some(names) = beside(path, ".names.parquet") {
        layout.names = NamesReader::open(names)?.names_of(info.snap_id)?;
    }
    Ok((info, layout))
}
