//! The table of further names: one row a hard link beyond the first of an inode.
//!
//! In both forms of the inode table every snapshot has all its further names here.

use super::schema::{NAMES, names_schema};
use crate::error::DataError;
use crate::parquet_file::{Batches, TableFile, TableOutput, properties, required, value_at};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::SchemaRef;
use fsage_core::snapshot::FurtherName;
use fsage_durable::CompleteFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are handed to the encoder at once, or decoded at once.
const BATCH_ROWS: usize = 1 << 13;
/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 20;

/// Writes a table of further names, sorted by (snapshot, inode, generation, directory, name).
pub struct NamesWriter {
    output: TableOutput,
    schema: SchemaRef,
    rows: Vec<(u32, FurtherName)>,
    last: Option<(u32, FurtherName)>,
}

impl NamesWriter {
    /// Starts a table.
    ///
    /// # Errors
    /// `path` exists and `force` is not set, or the folder cannot be written.
    pub fn create(path: impl AsRef<Path>, force: bool) -> Result<NamesWriter, DataError> {
        NamesWriter::of_target(path.as_ref(), force, None)
    }

    /// The table of a target of a run, if it is of one.
    pub(super) fn of_target(
        path: &Path,
        force: bool,
        target: Option<&str>,
    ) -> Result<NamesWriter, DataError> {
        let schema: SchemaRef = Arc::new(names_schema());
        let properties = properties(NAMES, []).build();
        let output = TableOutput::of_target(path, force, Arc::clone(&schema), properties, target)?;
        Ok(NamesWriter {
            output,
            schema,
            rows: Vec::new(),
            last: None,
        })
    }

    /// Writes the further names of a snapshot.
    ///
    /// # Errors
    /// Writing fails, or the names are not sorted after those before.
    pub fn write(&mut self, snap_id: u32, names: Vec<FurtherName>) -> Result<(), DataError> {
        for name in names {
            let row = (snap_id, name);
            let last = self.rows.last().or(self.last.as_ref());
            if last.is_some_and(|last| row < *last) {
                return Err(DataError::Refused {
                    path: self.output.path().to_owned(),
                    what: format!(
                        "a name of inode {} of snapshot {snap_id}: names go up by (snapshot, inode, \
                         generation, directory, name)",
                        row.1.ino
                    ),
                });
            }
            self.rows.push(row);
            if self.rows.len() == BATCH_ROWS {
                self.write_batch()?;
            }
        }
        Ok(())
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

    fn write_batch(&mut self) -> Result<(), DataError> {
        let mut rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(rows.iter().map(|r| Some(r.0)).collect::<UInt32Array>()),
            Arc::new(rows.iter().map(|r| Some(r.1.ino)).collect::<UInt64Array>()),
            Arc::new(rows.iter().map(|r| r.1.generation).collect::<UInt32Array>()),
            Arc::new(
                rows.iter()
                    .map(|r| Some(r.1.parent_ino))
                    .collect::<UInt64Array>(),
            ),
            Arc::new(
                rows.iter()
                    .map(|r| Some(&*r.1.name))
                    .collect::<StringArray>(),
            ),
        ];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .expect("columns in the order and with the types of the schema");
        self.output.write(&batch)?;
        self.last = rows.pop();
        if self.output.rows_in_group() >= GROUP_ROWS {
            self.output.end_group()?;
        }
        Ok(())
    }
}

/// Reads a table of further names, one snapshot after another.
pub struct NamesReader {
    path: PathBuf,
    batches: Batches,
    batch: Option<Columns>,
    at: usize,
    row: u64,
    /// The first name of the next snapshot.
    ahead: Option<(u32, FurtherName)>,
}

struct Columns {
    snap_id: UInt32Array,
    ino: UInt64Array,
    generation: UInt32Array,
    parent_ino: UInt64Array,
    name: StringArray,
}

impl NamesReader {
    /// Opens a table.
    ///
    /// # Errors
    /// The file cannot be read, is no table of names, or lacks a column.
    pub fn open(path: impl AsRef<Path>) -> Result<NamesReader, DataError> {
        let path = path.as_ref();
        let file = TableFile::open_as(path, NAMES)?;
        let schema = names_schema();
        file.check_columns(&schema, &[])?;
        let mut reader = NamesReader {
            path: path.to_owned(),
            batches: file.batches(&schema, None, BATCH_ROWS)?,
            batch: None,
            at: 0,
            row: 0,
            ahead: None,
        };
        reader.ahead = reader.next_row()?;
        Ok(reader)
    }

    /// The further names of a snapshot, sorted. Snapshots are asked for in ascending order; names of those
    /// left out are skipped.
    ///
    /// # Errors
    /// The file is damaged, or a row cannot be right.
    pub fn names_of(&mut self, snap_id: u32) -> Result<Vec<FurtherName>, DataError> {
        let mut names = Vec::new();
        while let Some((id, name)) = self.ahead.take() {
            if id > snap_id {
                self.ahead = Some((id, name));
                break;
            }
            if id == snap_id {
                names.push(name);
            }
            let next = self.next_row()?;
            if next.as_ref().is_some_and(|next| next.0 < id) {
                let problem = "the rows do not ascend by `snap_id`: sort them";
                return Err(DataError::bad_row(&self.path, self.row, problem));
            }
            self.ahead = next;
        }
        names.sort_unstable();
        Ok(names)
    }

    fn next_row(&mut self) -> Result<Option<(u32, FurtherName)>, DataError> {
        let columns = match &self.batch {
            Some(columns) if self.at < columns.ino.len() => columns,
            _ => {
                let Some(batch) = self.batches.next_batch()? else {
                    return Ok(None);
                };
                self.at = 0;
                self.batch.insert(Columns {
                    snap_id: required(&batch, "snap_id", &self.path)?,
                    ino: required(&batch, "ino", &self.path)?,
                    generation: required(&batch, "gen", &self.path)?,
                    parent_ino: required(&batch, "parent_ino", &self.path)?,
                    name: required(&batch, "name", &self.path)?,
                })
            }
        };
        self.row += 1;
        let null =
            |name: &str| DataError::bad_row(&self.path, self.row, format!("`{name}` is null"));
        let at = self.at;
        self.at += 1;
        let snap_id = value_at!(columns.snap_id, at).ok_or_else(|| null("snap_id"))?;
        let name = FurtherName {
            ino: value_at!(columns.ino, at).ok_or_else(|| null("ino"))?,
            generation: value_at!(columns.generation, at),
            parent_ino: value_at!(columns.parent_ino, at).ok_or_else(|| null("parent_ino"))?,
            name: value_at!(columns.name, at)
                .ok_or_else(|| null("name"))?
                .into(),
        };
        Ok(Some((snap_id, name)))
    }
}

/// Rows of a table of further names.
///
/// # Errors
/// The file cannot be read, or is no table of names.
pub fn count_names(path: impl AsRef<Path>) -> Result<u64, DataError> {
    Ok(TableFile::open_as(path.as_ref(), NAMES)?.rows())
}
