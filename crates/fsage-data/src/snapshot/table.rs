//! The snapshot table: one row a snapshot, with the sizes of its file system.

use super::schema::{OPTIONAL_INFO, SNAPSHOTS, info_schema};
use crate::error::DataError;
use crate::parquet_file::{TableFile, TableOutput, column, properties, required, value_at};
use arrow_array::{
    Array, ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use fsage_core::{Geometry, Space};
use std::path::Path;
use std::sync::Arc;

/// One snapshot. `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Number of the snapshot; increases with time.
    pub snap_id: u32,
    /// Start of the walk, ns since 1970 UTC.
    pub taken_at_ns: i64,
    /// Duration of the walk.
    pub walk_ns: Option<u64>,
    /// The machine.
    pub host: Option<String>,
    /// `walk`, `ext-image`, `model`, `replay`, `fs-hasher`, `find` or `gufi`.
    pub source: String,
    /// Type of the file system.
    pub fs_type: Option<String>,
    /// Its UUID.
    pub fs_uuid: Option<String>,
    /// Block size.
    pub block_bytes: Option<u32>,
    /// Fragment size; `None` where there are no fragments.
    pub frag_bytes: Option<u32>,
    /// Size of the file system.
    pub size_bytes: Option<u64>,
    /// Free space, the reserve included.
    pub free_bytes: Option<u64>,
    /// Held back for the superuser.
    pub reserved_bytes: Option<u64>,
    /// Inodes in all.
    pub inodes_total: Option<u64>,
    /// Free inodes.
    pub inodes_free: Option<u64>,
    /// Cylinder or block groups.
    pub group_count: Option<u32>,
    /// Blocks from one group to the next.
    pub blocks_per_group: Option<u32>,
    /// Inodes per group.
    pub inodes_per_group: Option<u32>,
    /// Number of the first inode: 0 on FFS, 1 on ext2/3/4.
    pub first_ino: Option<u32>,
    /// What wrote the snapshot.
    pub tool_version: Option<String>,
    /// What is left for data when all fixed metadata are taken off.
    pub data_bytes: Option<u64>,
    /// Free whole blocks.
    pub free_blocks: Option<u64>,
    /// Free fragments outside free blocks.
    pub free_frags: Option<u64>,
}

impl SnapshotInfo {
    /// Takes over what a layout says of its sizes.
    #[must_use]
    pub fn with_layout(mut self, geometry: &Geometry, space: Option<&Space>) -> SnapshotInfo {
        let known = |n: u64| (n > 0).then_some(n);
        let block = u64::from(geometry.block_bytes);
        let frag = u64::from(geometry.frag_bytes);
        self.fs_type = Some(geometry.fs_type.clone());
        self.block_bytes = Some(geometry.block_bytes);
        self.frag_bytes = (frag != block).then_some(geometry.frag_bytes);
        self.size_bytes = Some(geometry.size_bytes);
        self.reserved_bytes = Some(geometry.reserved_bytes);
        self.inodes_total = known(geometry.inodes_total);
        if geometry.group_count > 0 {
            self.group_count = Some(geometry.group_count);
            let blocks = geometry.group_bytes.checked_div(block).and_then(known);
            self.blocks_per_group = blocks.and_then(|n| u32::try_from(n).ok());
            self.inodes_per_group = Some(geometry.inodes_per_group);
            self.first_ino = Some(geometry.first_ino);
        }
        self.data_bytes = geometry.data_bytes;
        if let Some(space) = space {
            let blocks = space.free_blocks.saturating_mul(block);
            let frags = space.free_frags.saturating_mul(frag);
            self.free_bytes = Some(blocks.saturating_add(frags));
            self.inodes_free = self.inodes_total.and(Some(space.free_inodes));
            self.free_blocks = Some(space.free_blocks);
            self.free_frags = Some(space.free_frags);
        }
        self
    }

    /// The geometry that this row says; 0 for what is not known.
    pub fn geometry(&self) -> Geometry {
        let block_bytes = self.block_bytes.unwrap_or(0);
        let blocks_per_group = u64::from(self.blocks_per_group.unwrap_or(0));
        Geometry {
            fs_type: self.fs_type.clone().unwrap_or_else(|| "unknown".to_owned()),
            size_bytes: self.size_bytes.unwrap_or(0),
            data_bytes: self.data_bytes,
            reserved_bytes: self.reserved_bytes.unwrap_or(0),
            block_bytes,
            frag_bytes: self.frag_bytes.unwrap_or(block_bytes),
            inodes_total: self.inodes_total.unwrap_or(0),
            group_count: self.group_count.unwrap_or(0),
            group_bytes: blocks_per_group * u64::from(block_bytes),
            inodes_per_group: self.inodes_per_group.unwrap_or(0),
            first_ino: self.first_ino.unwrap_or(0),
        }
    }

    /// The free space that this row says; `None` if it does not. Where kinds are not told apart, as many whole
    /// blocks as fit.
    pub fn space(&self) -> Option<Space> {
        self.free_bytes.or(self.free_blocks)?;
        let block = u64::from(self.block_bytes.unwrap_or(0));
        let frag = u64::from(self.frag_bytes.unwrap_or(0));
        let free = self.free_bytes.unwrap_or(0);
        let rest = free.checked_rem(block).unwrap_or(0);
        Some(Space {
            free_blocks: self.free_blocks.or(free.checked_div(block)).unwrap_or(0),
            free_frags: self.free_frags.or(rest.checked_div(frag)).unwrap_or(0),
            free_inodes: self.inodes_free.unwrap_or(0),
        })
    }
}

/// Writes a snapshot table.
///
/// # Errors
/// `path` exists and `force` is not set, or writing fails.
pub fn write_snapshot_table(
    path: impl AsRef<Path>,
    rows: &[SnapshotInfo],
    force: bool,
) -> Result<(), DataError> {
    let schema = Arc::new(info_schema());
    let properties = properties(SNAPSHOTS, []).build();
    let mut output = TableOutput::create(path.as_ref(), force, Arc::clone(&schema), properties)?;
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
    ];
    let batch = RecordBatch::try_new(schema, columns)
        .expect("columns in the order and with the types of the schema");
    if batch.num_rows() > 0 {
        output.write(&batch)?;
    }
    output.finish()
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
            });
        }
    }
    Ok(rows)
}
