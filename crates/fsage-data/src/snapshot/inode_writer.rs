//! Writes inode tables.

use super::form::Form;
use super::schema::{INODES, extent_fields, extent_item, inode_schema};
use crate::error::DataError;
use crate::parquet_file::{TableOutput, properties};
use arrow_array::builder::{
    ArrayBuilder, Int64Builder, ListBuilder, StringBuilder, StructBuilder, UInt32Builder,
    UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use fsage_core::Extent;
use fsage_core::snapshot::{Inode, SnapshotRow};
use fsage_durable::CompleteFile;
use parquet::basic::Encoding;
use parquet::schema::types::ColumnPath;
use std::path::Path;
use std::sync::Arc;

/// Rows that are handed to the encoder at once, and about how many extents at most.
const BATCH_ROWS: usize = 1 << 13;
const BATCH_EXTENTS: usize = 1 << 18;
/// A row group ends with the first snapshot that ends after this many rows, so that one snapshot of a series
/// can be read alone.
const GROUP_ROWS: usize = 1 << 16;
/// And here in any case; also where it takes so much memory, as long lists of extents do.
const GROUP_ROWS_MAX: usize = 1 << 18;
const GROUP_BYTES_MAX: usize = 64 << 20;

/// Writes an inode table, row by row, sorted by (snapshot, inode, generation). The file gets its name when it
/// is complete.
pub struct InodeWriter {
    output: TableOutput,
    schema: SchemaRef,
    form: Form,
    rows: Rows,
    last: Option<(u32, u64, Option<u32>)>,
}

impl InodeWriter {
    /// Starts a table.
    ///
    /// # Errors
    /// `path` exists and `force` is not set, or the folder cannot be written.
    pub fn create(
        path: impl AsRef<Path>,
        form: Form,
        force: bool,
    ) -> Result<InodeWriter, DataError> {
        InodeWriter::of_target(path.as_ref(), form, force, None)
    }

    /// The table of a target of a run, if it is of one.
    pub(super) fn of_target(
        path: &Path,
        form: Form,
        force: bool,
        target: Option<&str>,
    ) -> Result<InodeWriter, DataError> {
        let schema: SchemaRef = Arc::new(inode_schema(form));
        let metadata = [("fsage.form".to_owned(), form.as_str().to_owned())];
        let properties = properties(INODES, metadata)
            .set_column_dictionary_enabled(ColumnPath::from("ino"), false)
            .set_column_encoding(ColumnPath::from("ino"), Encoding::DELTA_BINARY_PACKED)
            .build();
        let output = TableOutput::of_target(path, force, Arc::clone(&schema), properties, target)?;
        Ok(InodeWriter {
            output,
            schema,
            form,
            rows: Rows::default(),
            last: None,
        })
    }

    /// Writes one inode that is there.
    ///
    /// # Errors
    /// Writing fails, or the row is not after the one before.
    pub fn write(&mut self, snap_id: u32, inode: &Inode) -> Result<(), DataError> {
        self.check_order((snap_id, inode.ino, inode.generation))?;
        self.rows.push(snap_id, inode);
        self.after_row()
    }

    /// Writes one row of a delta.
    ///
    /// # Errors
    /// Writing fails, the row is not after the one before, or a tombstone is to go into a full table.
    pub fn write_row(&mut self, snap_id: u32, row: &SnapshotRow) -> Result<(), DataError> {
        match row {
            SnapshotRow::Present(inode) => self.write(snap_id, inode),
            SnapshotRow::Gone { .. } if self.form == Form::Full => Err(DataError::Refused {
                path: self.output.path().to_owned(),
                what: "a tombstone into a table of full snapshots".to_owned(),
            }),
            SnapshotRow::Gone { ino, generation } => {
                self.check_order((snap_id, *ino, *generation))?;
                self.rows.push_gone(snap_id, *ino, *generation);
                self.after_row()
            }
        }
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(self) -> Result<(), DataError> {
        Ok(self.complete()?.publish()?)
    }

    /// Writes everything; the file gets its name later.
    pub(crate) fn complete(mut self) -> Result<CompleteFile, DataError> {
        self.write_batch()?;
        self.output.complete()
    }

    fn check_order(&mut self, key: (u32, u64, Option<u32>)) -> Result<(), DataError> {
        if self.last.is_some_and(|last| key <= last) {
            return Err(DataError::Refused {
                path: self.output.path().to_owned(),
                what: format!(
                    "inode {} of snapshot {}: rows go up by (snapshot, inode, generation)",
                    key.1, key.0
                ),
            });
        }
        let next_snapshot = self.last.is_some_and(|last| last.0 != key.0);
        let group = self.output.rows_in_group() + self.rows.len();
        if (next_snapshot && group >= GROUP_ROWS) || group >= GROUP_ROWS_MAX {
            self.write_batch()?;
            self.output.end_group()?;
        }
        self.last = Some(key);
        Ok(())
    }

    fn after_row(&mut self) -> Result<(), DataError> {
        if self.rows.len() == BATCH_ROWS || self.rows.extents() >= BATCH_EXTENTS {
            self.write_batch()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> Result<(), DataError> {
        if self.rows.len() == 0 {
            return Ok(());
        }
        let columns = self.rows.take(self.form);
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .expect("columns in the order and with the types of the schema");
        self.output.write(&batch)?;
        if self.output.group_bytes() >= GROUP_BYTES_MAX {
            self.output.end_group()?;
        }
        Ok(())
    }
}

/// Rows in the order of the schema's columns.
struct Rows {
    snap_id: UInt32Builder,
    op: StringBuilder,
    ino: UInt64Builder,
    generation: UInt32Builder,
    kind: StringBuilder,
    size_bytes: UInt64Builder,
    alloc_bytes: UInt64Builder,
    ctime_ns: Int64Builder,
    mtime_ns: Int64Builder,
    btime_ns: Int64Builder,
    links: UInt32Builder,
    mode: UInt32Builder,
    uid: UInt32Builder,
    gid: UInt32Builder,
    parent_ino: UInt64Builder,
    path: StringBuilder,
    extents: ListBuilder<StructBuilder>,
    source_flags: UInt32Builder,
}

impl Default for Rows {
    fn default() -> Rows {
        let extent = StructBuilder::from_fields(extent_fields(), 0);
        Rows {
            snap_id: UInt32Builder::new(),
            op: StringBuilder::new(),
            ino: UInt64Builder::new(),
            generation: UInt32Builder::new(),
            kind: StringBuilder::new(),
            size_bytes: UInt64Builder::new(),
            alloc_bytes: UInt64Builder::new(),
            ctime_ns: Int64Builder::new(),
            mtime_ns: Int64Builder::new(),
            btime_ns: Int64Builder::new(),
            links: UInt32Builder::new(),
            mode: UInt32Builder::new(),
            uid: UInt32Builder::new(),
            gid: UInt32Builder::new(),
            parent_ino: UInt64Builder::new(),
            path: StringBuilder::new(),
            extents: ListBuilder::new(extent).with_field(extent_item()),
            source_flags: UInt32Builder::new(),
        }
    }
}

impl Rows {
    fn len(&self) -> usize {
        self.snap_id.len()
    }

    fn extents(&mut self) -> usize {
        self.extents.values().len()
    }

    fn push(&mut self, snap_id: u32, inode: &Inode) {
        let mut letter = [0; 4];
        self.snap_id.append_value(snap_id);
        self.op.append_value("P");
        self.ino.append_value(inode.ino);
        self.generation.append_option(inode.generation);
        self.kind
            .append_value(inode.kind.letter().encode_utf8(&mut letter));
        self.size_bytes.append_value(inode.size_bytes);
        self.alloc_bytes.append_option(inode.alloc_bytes);
        self.ctime_ns.append_option(inode.ctime_ns);
        self.mtime_ns.append_option(inode.mtime_ns);
        self.btime_ns.append_option(inode.btime_ns);
        self.links.append_option(inode.links);
        self.mode.append_option(inode.mode);
        self.uid.append_option(inode.uid);
        self.gid.append_option(inode.gid);
        self.parent_ino.append_option(inode.parent_ino);
        self.path.append_option(inode.path.as_deref());
        for extent in inode.extents.iter().flatten() {
            push_extent(self.extents.values(), extent);
        }
        self.extents.append(inode.extents.is_some());
        self.source_flags.append_value(inode.source_flags);
    }

    /// A tombstone: all but the key is null.
    fn push_gone(&mut self, snap_id: u32, ino: u64, generation: Option<u32>) {
        self.snap_id.append_value(snap_id);
        self.op.append_value("D");
        self.ino.append_value(ino);
        self.generation.append_option(generation);
        self.kind.append_null();
        self.size_bytes.append_null();
        self.alloc_bytes.append_null();
        self.ctime_ns.append_null();
        self.mtime_ns.append_null();
        self.btime_ns.append_null();
        self.links.append_null();
        self.mode.append_null();
        self.uid.append_null();
        self.gid.append_null();
        self.parent_ino.append_null();
        self.path.append_null();
        self.extents.append_null();
        self.source_flags.append_value(0);
    }

    fn take(&mut self, form: Form) -> Vec<ArrayRef> {
        let op = ArrayBuilder::finish(&mut self.op);
        let mut columns: Vec<ArrayRef> = vec![ArrayBuilder::finish(&mut self.snap_id)];
        if form == Form::Delta {
            columns.push(op);
        }
        let others: [&mut dyn ArrayBuilder; 16] = [
            &mut self.ino,
            &mut self.generation,
            &mut self.kind,
            &mut self.size_bytes,
            &mut self.alloc_bytes,
            &mut self.ctime_ns,
            &mut self.mtime_ns,
            &mut self.btime_ns,
            &mut self.links,
            &mut self.mode,
            &mut self.uid,
            &mut self.gid,
            &mut self.parent_ino,
            &mut self.path,
            &mut self.extents,
            &mut self.source_flags,
        ];
        columns.extend(others.into_iter().map(ArrayBuilder::finish));
        columns
    }
}

fn push_extent(to: &mut StructBuilder, extent: &Extent) {
    let numbers = [
        extent.logical_bytes,
        extent.physical_bytes,
        extent.length_bytes,
    ];
    for (field, number) in numbers.into_iter().enumerate() {
        let builder = to.field_builder::<UInt64Builder>(field);
        builder.expect("a field of 64 bits").append_value(number);
    }
    let flags = to.field_builder::<UInt32Builder>(3);
    flags
        .expect("a field of 32 bits")
        .append_value(extent.flags);
    to.append(true);
}
