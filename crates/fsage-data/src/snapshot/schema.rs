//! The Parquet schemas of snapshots, version 1.
//!
//! The columns are those of the snapshot format, section 2. The snapshot table has three nullable columns
//! more, so that a stored model has the same metrics as the model itself: `data_bytes` (what is left for data
//! without fixed metadata), `free_blocks` and `free_frags` (free space by kind). Readers do without them.

use super::form::Form;
use arrow_schema::{DataType, Field, Fields, Schema};

/// Name of the schema of inode tables.
pub const INODES: &str = "snapshot";
/// Name of the schema of snapshot tables.
pub const SNAPSHOTS: &str = "snapshots";
/// Name of the schema of free maps.
pub const FREE: &str = "free";
/// Name of the schema of tables of further names.
pub const NAMES: &str = "names";

/// Columns that a snapshot table may lack.
pub(super) const OPTIONAL_INFO: [&str; 4] = [
    "data_bytes",
    "free_blocks",
    "free_frags",
    "inode_chunk_bytes",
];

fn required(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, false)
}

fn nullable(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, true)
}

/// The fields of an item of `extents`.
pub(super) fn extent_fields() -> Fields {
    Fields::from(vec![
        required("logical_bytes", DataType::UInt64),
        required("physical_bytes", DataType::UInt64),
        required("length_bytes", DataType::UInt64),
        required("flags", DataType::UInt32),
    ])
}

/// The list item of `extents`.
pub(super) fn extent_item() -> Field {
    Field::new("item", DataType::Struct(extent_fields()), false)
}

/// The inode table.
pub(super) fn inode_schema(form: Form) -> Schema {
    let delta = form == Form::Delta;
    let mut fields = vec![required("snap_id", DataType::UInt32)];
    if delta {
        fields.push(required("op", DataType::Utf8));
    }
    fields.extend([
        required("ino", DataType::UInt64),
        nullable("gen", DataType::UInt32),
        // Tombstones have neither type nor size.
        Field::new("type", DataType::Utf8, delta),
        Field::new("size_bytes", DataType::UInt64, delta),
        nullable("alloc_bytes", DataType::UInt64),
        nullable("ctime_ns", DataType::Int64),
        nullable("mtime_ns", DataType::Int64),
        nullable("btime_ns", DataType::Int64),
        nullable("nlink", DataType::UInt32),
        nullable("mode", DataType::UInt32),
        nullable("uid", DataType::UInt32),
        nullable("gid", DataType::UInt32),
        nullable("parent_ino", DataType::UInt64),
        nullable("path", DataType::Utf8),
        nullable("extents", DataType::List(extent_item().into())),
        required("source_flags", DataType::UInt32),
    ]);
    Schema::new(fields)
}

/// The snapshot table.
pub(super) fn info_schema() -> Schema {
    Schema::new(vec![
        required("snap_id", DataType::UInt32),
        required("taken_at_ns", DataType::Int64),
        nullable("walk_ns", DataType::UInt64),
        nullable("host", DataType::Utf8),
        required("source", DataType::Utf8),
        nullable("fs_type", DataType::Utf8),
        nullable("fs_uuid", DataType::Utf8),
        nullable("block_bytes", DataType::UInt32),
        nullable("frag_bytes", DataType::UInt32),
        nullable("size_bytes", DataType::UInt64),
        nullable("free_bytes", DataType::UInt64),
        nullable("reserved_bytes", DataType::UInt64),
        nullable("inodes_total", DataType::UInt64),
        nullable("inodes_free", DataType::UInt64),
        nullable("group_count", DataType::UInt32),
        nullable("blocks_per_group", DataType::UInt32),
        nullable("inodes_per_group", DataType::UInt32),
        nullable("first_ino", DataType::UInt32),
        nullable("tool_version", DataType::Utf8),
        nullable("data_bytes", DataType::UInt64),
        nullable("free_blocks", DataType::UInt64),
        nullable("free_frags", DataType::UInt64),
        nullable("inode_chunk_bytes", DataType::UInt32),
    ])
}

/// The free map.
pub(super) fn free_schema() -> Schema {
    Schema::new(vec![
        required("snap_id", DataType::UInt32),
        required("start_bytes", DataType::UInt64),
        required("length_bytes", DataType::UInt64),
    ])
}

/// The table of further names.
pub(super) fn names_schema() -> Schema {
    Schema::new(vec![
        required("snap_id", DataType::UInt32),
        required("ino", DataType::UInt64),
        nullable("gen", DataType::UInt32),
        required("parent_ino", DataType::UInt64),
        required("name", DataType::Utf8),
    ])
}
