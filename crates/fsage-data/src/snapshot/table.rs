//! The snapshot table: one row a snapshot, with the sizes of its file system.

use super::schema::{OPTIONAL_INFO, SNAPSHOTS, info_schema};
use crate::error::DataError;
use crate::parquet_file::{TableFile, TableOutput, column, properties, required, value_at};
use arrow_array::{
    Array, ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use fsage_core::snapshot::SnapshotInfo;
use fsage_durable::CompleteFile;
use std::path::Path;
use std::sync::Arc;

/// Writes a snapshot table.
///
/// # Errors
/// `path` exists and `force` is not set, or writing fails.
pub fn write_snapshot_table(
    path: impl AsRef<Path>,
    rows: &[SnapshotInfo],
    force: bool,
) -> Result<(), DataError> {
    Ok(complete_snapshot_table(path.as_ref(), rows, force, None)?.publish()?)
}

/// Writes a snapshot table; the file gets its name later.
pub(super) fn complete_snapshot_table(
    path: &Path,
    rows: &[SnapshotInfo],
    force: bool,
    target: Option<&str>,
) -> Result<CompleteFile, DataError> {
    let schema = Arc::new(info_schema());
    let properties = properties(SNAPSHOTS, []).build();
    let mut output = TableOutput::of_target(path, force, Arc::clone(&schema), properties, target)?;
    let u32s = |f: fn(&SnapshotInfo) -> Option<u32>| -> ArrayRef {
        Arc::new(rows.iter().map(f).collect::<UInt32Array>())
    };
    let u64s = |f: fn(&SnapshotInfo) -> Option<u64>| -> ArrayRef {
        Arc::new(rows.iter().map(f).collect::<UInt64Array>())
    };
    let words = |f: fn(&SnapshotInfo) -> Option<&str>| -> ArrayRef {
        Arc::new(rows.iter().map(f).collect::<StringArray>())
    };
    let columns: Vec<ArrayRef> = vec![
        u32s(|r| Some(r.snap_id)),
        Arc::new(Int64Array::from_iter_values(
            rows.iter().map(|r| r.taken_at_ns),
        )),
        u64s(|r| r.walk_ns),
        words(|r| r.host.as_deref()),
        words(|r| Some(&r.source)),
        words(|r| r.fs_type.as_deref()),
        words(|r| r.fs_uuid.as_deref()),
        u32s(|r| r.block_bytes),
        u32s(|r| r.frag_bytes),
        u64s(|r| r.size_bytes),
        u64s(|r| r.free_bytes),
        u64s(|r| r.reserved_bytes),
        u64s(|r| r.inodes_total),
        u64s(|r| r.inodes_free),
        u32s(|r| r.group_count),
        u32s(|r| r.blocks_per_group),
        u32s(|r| r.inodes_per_group),
        u32s(|r| r.first_ino),
        words(|r| r.tool_version.as_deref()),
        u64s(|r| r.data_bytes),
        u64s(|r| r.free_blocks),
        u64s(|r| r.free_frags),
        u32s(|r| r.inode_chunk_bytes),
    ];
    let batch = RecordBatch::try_new(schema, columns)
        .expect("columns in the order and with the types of the schema");
    if batch.num_rows() > 0 {
        output.write(&batch)?;
    }
    output.complete()
}

/// Reads a snapshot table.
///
/// # Errors
/// The file cannot be read, is no snapshot table, lacks a column, or a row cannot be right.
pub fn read_snapshot_table(path: impl AsRef<Path>) -> Result<Vec<SnapshotInfo>, DataError> {
    let path = path.as_ref();
    let file = TableFile::open_as(path, SNAPSHOTS)?;
    let schema = info_schema();
    file.check_columns(&schema, &OPTIONAL_INFO)?;
    let mut batches = file.batches(&schema, None, 1024)?;
    let mut rows = Vec::new();
    while let Some(batch) = batches.next_batch()? {
        let snap_id: UInt32Array = required(&batch, "snap_id", path)?;
        let taken_at_ns: Int64Array = required(&batch, "taken_at_ns", path)?;
        let u32s = |name: &str| column::<UInt32Array>(&batch, name);
        let u64s = |name: &str| column::<UInt64Array>(&batch, name);
        let words = |name: &str| column::<StringArray>(&batch, name);
        for at in 0..batch.num_rows() {
            let row = rows.len() as u64 + 1;
            let null = |name| DataError::bad_row(path, row, format!("`{name}` is null"));
            let u32_at = |name| u32s(name).and_then(|c| value_at!(c, at));
            let u64_at = |name| u64s(name).and_then(|c| value_at!(c, at));
            let word_at = |name| words(name).and_then(|c| value_at!(c, at).map(str::to_owned));
            rows.push(SnapshotInfo {
                snap_id: value_at!(snap_id, at).ok_or_else(|| null("snap_id"))?,
                taken_at_ns: value_at!(taken_at_ns, at).ok_or_else(|| null("taken_at_ns"))?,
                walk_ns: u64_at("walk_ns"),
                host: word_at("host"),
                source: word_at("source").ok_or_else(|| null("source"))?,
                fs_type: word_at("fs_type"),
                fs_uuid: word_at("fs_uuid"),
                block_bytes: u32_at("block_bytes"),
                frag_bytes: u32_at("frag_bytes"),
                size_bytes: u64_at("size_bytes"),
                free_bytes: u64_at("free_bytes"),
                reserved_bytes: u64_at("reserved_bytes"),
                inodes_total: u64_at("inodes_total"),
                inodes_free: u64_at("inodes_free"),
                group_count: u32_at("group_count"),
                blocks_per_group: u32_at("blocks_per_group"),
                inodes_per_group: u32_at("inodes_per_group"),
                first_ino: u32_at("first_ino"),
                tool_version: word_at("tool_version"),
                data_bytes: u64_at("data_bytes"),
                free_blocks: u64_at("free_blocks"),
                free_frags: u64_at("free_frags"),
                inode_chunk_bytes: u32_at("inode_chunk_bytes"),
            });
        }
    }
    Ok(rows)
}
