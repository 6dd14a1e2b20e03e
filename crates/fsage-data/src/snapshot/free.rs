//! The free map: one row a run of free space.

use super::schema::{FREE, free_schema};
use crate::error::DataError;
use crate::parquet_file::{TableFile, TableOutput, properties, required, value_at};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::SchemaRef;
use fsage_core::{Layout, Run};
use fsage_durable::CompleteFile;
use parquet::basic::Encoding;
use parquet::schema::types::ColumnPath;
use std::path::Path;
use std::sync::Arc;

/// Rows that are handed to the encoder at once.
const BATCH_ROWS: usize = 1 << 14;
/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 20;

/// Writes the free map of a layout.
///
/// # Errors
/// `path` exists and `force` is not set, or writing fails.
pub fn write_free_map(
    path: impl AsRef<Path>,
    snap_id: u32,
    layout: &dyn Layout,
    force: bool,
) -> Result<(), DataError> {
    let mut map = FreeMapWriter::create(path.as_ref(), force, None)?;
    map.write_layout(snap_id, layout)?;
    Ok(map.complete()?.publish()?)
}

/// Writes a free map, snapshot by snapshot.
pub(super) struct FreeMapWriter {
    output: TableOutput,
    schema: SchemaRef,
}

impl FreeMapWriter {
    pub fn create(
        path: &Path,
        force: bool,
        target: Option<&str>,
    ) -> Result<FreeMapWriter, DataError> {
        let schema: SchemaRef = Arc::new(free_schema());
        let start = ColumnPath::from("start_bytes");
        let properties = properties(FREE, [])
            .set_column_dictionary_enabled(start.clone(), false)
            .set_column_encoding(start, Encoding::DELTA_BINARY_PACKED)
            .build();
        let output = TableOutput::of_target(path, force, Arc::clone(&schema), properties, target)?;
        Ok(FreeMapWriter { output, schema })
    }

    pub fn write_layout(&mut self, snap_id: u32, layout: &dyn Layout) -> Result<(), DataError> {
        let mut runs: Vec<Run> = Vec::with_capacity(BATCH_ROWS);
        let mut result = Ok(());
        layout.visit_free(&mut |run| {
            runs.push(run);
            if runs.len() == BATCH_ROWS {
                if result.is_ok() {
                    result = self.write(snap_id, &runs);
                }
                runs.clear();
            }
        });
        result?;
        self.write(snap_id, &runs)
    }

    /// Writes runs of a snapshot, ascending, after those that were written of it before.
    pub fn write(&mut self, snap_id: u32, runs: &[Run]) -> Result<(), DataError> {
        for runs in runs.chunks(BATCH_ROWS) {
            let starts = runs.iter().map(|r| r.start_bytes);
            let lengths = runs.iter().map(|r| r.length_bytes);
            let columns: Vec<ArrayRef> = vec![
                Arc::new(UInt32Array::from_value(snap_id, runs.len())),
                Arc::new(UInt64Array::from_iter_values(starts)),
                Arc::new(UInt64Array::from_iter_values(lengths)),
            ];
            let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)
                .expect("columns in the order and with the types of the schema");
            self.output.write(&batch)?;
            if self.output.rows_in_group() >= GROUP_ROWS {
                self.output.end_group()?;
            }
        }
        Ok(())
    }

    /// Writes everything; the file gets its name later.
    pub fn complete(self) -> Result<CompleteFile, DataError> {
        self.output.complete()
    }
}

/// Reads the free map of one snapshot: runs, ascending.
///
/// # Errors
/// The file cannot be read, is no free map, lacks a column, or a row cannot be right.
pub fn read_free_map(path: impl AsRef<Path>, snap_id: u32) -> Result<Vec<Run>, DataError> {
    let path = path.as_ref();
    let file = TableFile::open_as(path, FREE)?;
    let schema = free_schema();
    file.check_columns(&schema, &[])?;
    let mut batches = file.batches(&schema, None, BATCH_ROWS)?;
    let mut runs: Vec<Run> = Vec::new();
    let mut row = 0;
    while let Some(batch) = batches.next_batch()? {
        let ids: UInt32Array = required(&batch, "snap_id", path)?;
        let starts: UInt64Array = required(&batch, "start_bytes", path)?;
        let lengths: UInt64Array = required(&batch, "length_bytes", path)?;
        for at in 0..batch.num_rows() {
            row += 1;
            let null = |name| DataError::bad_row(path, row, format!("`{name}` is null"));
            if value_at!(ids, at).ok_or_else(|| null("snap_id"))? != snap_id {
                continue;
            }
            let run = Run {
                start_bytes: value_at!(starts, at).ok_or_else(|| null("start_bytes"))?,
                length_bytes: value_at!(lengths, at).ok_or_else(|| null("length_bytes"))?,
            };
            let end = runs
                .last()
                .map_or(0, |last| last.start_bytes + last.length_bytes);
            if run.start_bytes < end || run.start_bytes.checked_add(run.length_bytes).is_none() {
                let problem = "the run does not lie after the one before";
                return Err(DataError::bad_row(path, row, problem));
            }
            runs.push(run);
        }
    }
    Ok(runs)
}
