//! The free map: one row a run of free space.

use super::schema::{FREE, free_schema};
use crate::error::DataError;
use crate::parquet_file::{TableFile, TableOutput, properties, required, value_at};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::SchemaRef;
use fsage_core::{Layout, Run};
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
    FreeMap::create(path.as_ref(), snap_id, layout, force)?.finish()
}

/// A free map that was written but has no name yet.
pub(super) struct FreeMap(TableOutput);

impl FreeMap {
    pub fn create(
        path: &Path,
        snap_id: u32,
        layout: &dyn Layout,
        force: bool,
    ) -> Result<FreeMap, DataError> {
        let schema = Arc::new(free_schema());
        let start = ColumnPath::from("start_bytes");
        let properties = properties(FREE, [])
            .set_column_dictionary_enabled(start.clone(), false)
            .set_column_encoding(start, Encoding::DELTA_BINARY_PACKED)
            .build();
        let mut output = TableOutput::create(path, force, Arc::clone(&schema), properties)?;
        let mut runs: Vec<Run> = Vec::with_capacity(BATCH_ROWS);
        let mut result = Ok(());
        layout.visit_free(&mut |run| {
            runs.push(run);
            if runs.len() == BATCH_ROWS && result.is_ok() {
                result = write_runs(&mut output, &schema, snap_id, &runs);
                runs.clear();
            } else if result.is_err() {
                runs.clear();
            }
        });
        result?;
        write_runs(&mut output, &schema, snap_id, &runs)?;
        Ok(FreeMap(output))
    }

    pub fn finish(self) -> Result<(), DataError> {
        self.0.finish()
    }
}

fn write_runs(
    output: &mut TableOutput,
    schema: &SchemaRef,
    snap_id: u32,
    runs: &[Run],
) -> Result<(), DataError> {
    if runs.is_empty() {
        return Ok(());
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt32Array::from_value(snap_id, runs.len())),
        Arc::new(UInt64Array::from_iter_values(
            runs.iter().map(|r| r.start_bytes),
        )),
        Arc::new(UInt64Array::from_iter_values(
            runs.iter().map(|r| r.length_bytes),
        )),
    ];
    let batch = RecordBatch::try_new(Arc::clone(schema), columns)
        .expect("columns in the order and with the types of the schema");
    output.write(&batch)?;
    if output.rows_in_group() >= GROUP_ROWS {
        output.end_group()?;
    }
    Ok(())
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
