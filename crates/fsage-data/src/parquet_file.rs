//! What all Parquet files of fsage have in common: key-value metadata, checked columns, fixed properties.

use crate::decoder_panic::guard;
use crate::error::DataError;
use crate::pages::Pages;
use crate::placed_file::PlacedFile;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use fsage_durable::{CompleteFile, PartialFile};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Key of the schema's name.
const SCHEMA_KEY: &str = "fsage.schema";
/// Key of the schema's version.
const VERSION_KEY: &str = "fsage.schema_version";
/// Version of every schema that is written; readers take this and all before it.
pub(crate) const SCHEMA_VERSION: u32 = 1;
/// The first and last bytes of a Parquet file.
pub(crate) const MAGIC: &[u8] = b"PAR1";

/// A Parquet file of ours whose metadata were read.
pub(crate) struct TableFile {
    path: PathBuf,
    /// The same file as that of the builder.
    file: PlacedFile,
    known: ArrowReaderMetadata,
    builder: ParquetRecordBatchReaderBuilder<PlacedFile>,
    metadata: Vec<(String, String)>,
}

impl TableFile {
    /// Opens a file of any schema of ours.
    pub fn open(path: &Path) -> Result<TableFile, DataError> {
        let file = fsage_input::file(path).map_err(|e| DataError::io(path, "cannot open", e))?;
        let file = PlacedFile::from(file);
        // The columns say enough: an Arrow schema beside them would only be one more thing to distrust.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let known = guard(|| ArrowReaderMetadata::load(&file, options))
            .map_err(ParquetError::General)
            .and_then(|result| result)
            .map_err(|e| {
                DataError::unsuitable(
                    path,
                    format!(
                        "not a Parquet file, damaged, or cut short ({e}); copy or make it again"
                    ),
                )
            })?;
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file.clone(), known.clone());
        let pairs = builder.metadata().file_metadata().key_value_metadata();
        let metadata = pairs
            .into_iter()
            .flatten()
            // Columns again in Arrow's own words, which other writers add.
            .filter(|pair| pair.key != "ARROW:schema")
            .map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()))
            .collect();
        let file = TableFile {
            path: path.to_owned(),
            file,
            known,
            builder,
            metadata,
        };
        file.check_version()?;
        Ok(file)
    }

    /// Opens a file of this schema.
    pub fn open_as(path: &Path, schema: &str) -> Result<TableFile, DataError> {
        let file = TableFile::open(path)?;
        match file.schema_name() {
            Some(found) if found == schema => Ok(file),
            Some(found) => Err(DataError::unsuitable(
                path,
                format!("is a table of `{found}`, not of `{schema}`"),
            )),
            None => Err(DataError::unsuitable(
                path,
                format!("no `{SCHEMA_KEY}` in its metadata: expected `{schema}`, written by fsage"),
            )),
        }
    }

    fn check_version(&self) -> Result<(), DataError> {
        let Some(text) = self.value(VERSION_KEY) else {
            return Ok(());
        };
        match text.parse::<u32>() {
            Ok(1..=SCHEMA_VERSION) => Ok(()),
            Ok(newer) if newer > SCHEMA_VERSION => Err(DataError::unsuitable(
                &self.path,
                format!(
                    "schema version {newer}, and this program knows up to {SCHEMA_VERSION}: use a newer fsage"
                ),
            )),
            _ => Err(DataError::unsuitable(
                &self.path,
                format!("`{VERSION_KEY}` is {text:?}, not a version"),
            )),
        }
    }

    /// What `fsage.schema` says.
    pub fn schema_name(&self) -> Option<&str> {
        self.value(SCHEMA_KEY)
    }

    /// A value of the key-value metadata.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.metadata
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, v)| v.as_str())
    }

    /// All key-value metadata, in the order of the file.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// The columns of the file.
    pub fn columns(&self) -> &Schema {
        self.builder.schema()
    }

    /// Rows of the file, as its metadata say.
    pub fn rows(&self) -> u64 {
        let groups = self.builder.metadata().row_groups();
        groups
            .iter()
            .map(|g| u64::try_from(g.num_rows()).unwrap_or(0))
            .sum()
    }

    /// The reader below, for what only it can say.
    pub fn builder(&self) -> &ParquetRecordBatchReaderBuilder<PlacedFile> {
        &self.builder
    }

    /// Checks that the columns of `schema` are there, with their types. Those in `optional` may be missing.
    pub fn check_columns(&self, schema: &Schema, optional: &[&str]) -> Result<(), DataError> {
        for field in schema.fields() {
            match self.columns().field_with_name(field.name()) {
                Ok(found) if same_type(found.data_type(), field.data_type()) => {}
                Ok(found) => {
                    return Err(DataError::unsuitable(
                        &self.path,
                        format!(
                            "column `{}` has type {}, expected {}",
                            field.name(),
                            found.data_type(),
                            field.data_type()
                        ),
                    ));
                }
                Err(_) if optional.contains(&field.name().as_str()) => {}
                Err(_) => {
                    return Err(DataError::unsuitable(
                        &self.path,
                        format!(
                            "column `{}` is missing: expected type {}",
                            field.name(),
                            field.data_type()
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Reads the rows of some row groups (`None`: all) with the columns of `schema` that are there.
    pub fn batches(
        self,
        schema: &Schema,
        row_groups: Option<Vec<usize>>,
        batch_rows: usize,
    ) -> Result<Batches, DataError> {
        self.selected(schema, row_groups, None, batch_rows)
    }

    /// The same, of these row groups only the selected rows.
    pub fn selected(
        self,
        schema: &Schema,
        row_groups: Option<Vec<usize>>,
        selection: Option<RowSelection>,
        batch_rows: usize,
    ) -> Result<Batches, DataError> {
        let mask = ProjectionMask::roots(self.builder.parquet_schema(), self.roots(schema));
        let batch_rows = self.rows_at_a_time(&mask, row_groups.as_deref(), batch_rows)?;
        let mut builder = self
            .builder
            .with_projection(mask)
            .with_batch_size(batch_rows);
        if let Some(groups) = row_groups {
            builder = builder.with_row_groups(groups);
        }
        if let Some(selection) = selection {
            builder = builder.with_row_selection(selection);
        }
        Batches::of(&self.path, builder)
    }
}

impl TableFile {
    /// Readers of all rows, one for each column of `schema` that is there, so that columns can be decoded side by
    /// side; those that take the longest come first. All give batches of the same numbers of rows.
    pub fn by_column(self, schema: &Schema, batch_rows: usize) -> Result<Vec<Batches>, DataError> {
        let parquet = self.builder.parquet_schema();
        let mut bytes = vec![0_i64; self.columns().fields().len()];
        for group in self.builder.metadata().row_groups() {
            for (leaf, chunk) in group.columns().iter().enumerate() {
                let root = &mut bytes[parquet.get_column_root_idx(leaf)];
                *root = root.saturating_add(chunk.uncompressed_size());
            }
        }
        let mut roots = self.roots(schema);
        roots.sort_by_key(|&root| std::cmp::Reverse(bytes[root]));
        let all = ProjectionMask::roots(parquet, roots.iter().copied());
        let batch_rows = self.rows_at_a_time(&all, None, batch_rows)?;
        let readers = roots.into_iter().map(|root| {
            let (file, known) = (self.file.clone(), self.known.clone());
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, known)
                .with_projection(ProjectionMask::roots(parquet, [root]))
                .with_batch_size(batch_rows);
            Batches::of(&self.path, builder)
        });
        readers.collect()
    }

    /// Where the columns of `schema` that are there stand in the file.
    fn roots(&self, schema: &Schema) -> Vec<usize> {
        let fields = self.columns().fields().iter().enumerate();
        fields
            .filter(|(_, field)| schema.field_with_name(field.name()).is_ok())
            .map(|(at, _)| at)
            .collect()
    }

    /// How many rows may be decoded at a time, at most `batch_rows`.
    fn rows_at_a_time(
        &self,
        mask: &ProjectionMask,
        row_groups: Option<&[usize]>,
        batch_rows: usize,
    ) -> Result<usize, DataError> {
        let metadata = self.builder.metadata();
        let pages = Pages {
            path: &self.path,
            file: &self.file,
        };
        let leaves = self.builder.parquet_schema().num_columns();
        let mut least = batch_rows;
        let groups = metadata.row_groups();
        let chosen: Vec<_> = match row_groups {
            Some(numbers) => numbers.iter().filter_map(|&n| groups.get(n)).collect(),
            None => groups.iter().collect(),
        };
        for group in chosen {
            let columns = (0..leaves).filter(|&leaf| mask.leaf_included(leaf));
            least = pages.rows_at_a_time(group, columns, least)?;
        }
        Ok(least)
    }
}

/// Equal but for the names and nullability inside lists, which writers choose differently.
fn same_type(a: &DataType, b: &DataType) -> bool {
    match (a, b) {
        (DataType::List(a), DataType::List(b)) => same_type(a.data_type(), b.data_type()),
        (DataType::Struct(a), DataType::Struct(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| a.name() == b.name() && same_type(a.data_type(), b.data_type()))
        }
        _ => a == b,
    }
}

/// The rows of a file, a batch at a time.
pub(crate) struct Batches {
    pub path: PathBuf,
    /// `None` after it failed.
    reader: Option<ParquetRecordBatchReader>,
    /// Rows given so far.
    pub rows: u64,
}

impl Batches {
    fn of(
        path: &Path,
        builder: ParquetRecordBatchReaderBuilder<PlacedFile>,
    ) -> Result<Batches, DataError> {
        let reader = guard(|| builder.build())
            .map_err(ParquetError::General)
            .and_then(|result| result)
            .map_err(|e| DataError::damaged(path, 0, e))?;
        Ok(Batches {
            path: path.to_owned(),
            reader: Some(reader),
            rows: 0,
        })
    }

    /// The next batch; never an empty one.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, DataError> {
        while let Some(reader) = &mut self.reader {
            match guard(|| reader.next().transpose()) {
                Ok(Ok(None)) => return Ok(None),
                Ok(Ok(Some(batch))) if batch.num_rows() == 0 => {}
                Ok(Ok(Some(batch))) => {
                    self.rows += batch.num_rows() as u64;
                    return Ok(Some(batch));
                }
                Ok(Err(e)) => return Err(self.failed(e)),
                Err(panic) => return Err(self.failed(panic)),
            }
        }
        Err(self.failed("reading it failed before"))
    }

    fn failed(&mut self, problem: impl fmt::Display) -> DataError {
        self.reader = None;
        DataError::damaged(&self.path, self.rows, problem)
    }
}

/// A column of a batch; `None` if it is not there.
pub(crate) fn column<A: Array + Clone + 'static>(batch: &RecordBatch, name: &str) -> Option<A> {
    batch
        .column_by_name(name)?
        .as_any()
        .downcast_ref::<A>()
        .cloned()
}

/// A column of a batch that was checked to be there.
pub(crate) fn required<A: Array + Clone + 'static>(
    batch: &RecordBatch,
    name: &str,
    path: &Path,
) -> Result<A, DataError> {
    column(batch, name)
        .ok_or_else(|| DataError::unsuitable(path, format!("column `{name}` is missing")))
}

/// The value of a column that may be null or not be there at all.
macro_rules! value_at {
    ($column:expr, $row:expr) => {{
        let column = &$column;
        if column.is_null($row) {
            None
        } else {
            Some(column.value($row))
        }
    }};
}
pub(crate) use value_at;

/// The start of every writer's properties. Nothing in them may depend on the library's version, so that equal
/// rows make equal files.
pub(crate) fn properties(
    schema: &str,
    metadata: impl IntoIterator<Item = (String, String)>,
) -> WriterPropertiesBuilder {
    let ours = [
        (SCHEMA_KEY.to_owned(), schema.to_owned()),
        (VERSION_KEY.to_owned(), SCHEMA_VERSION.to_string()),
    ];
    let pairs = ours.into_iter().chain(metadata);
    let level = ZstdLevel::try_new(3).unwrap_or_default();
    WriterProperties::builder()
        .set_created_by("fsage version 1".to_owned())
        .set_compression(Compression::ZSTD(level))
        // Rows end a group where the writers say so, see `workload::writer`.
        .set_max_row_group_row_count(None)
        .set_key_value_metadata(Some(
            pairs
                .map(|(key, value)| KeyValue::new(key, value))
                .collect(),
        ))
}

/// A Parquet file that is being written under a temporary name.
pub(crate) struct TableOutput {
    path: PathBuf,
    writer: ArrowWriter<PartialFile>,
    /// The last column, where every row has the same name, and the schema with it.
    target: Option<(String, SchemaRef)>,
}

impl TableOutput {
    pub fn create(
        path: &Path,
        force: bool,
        schema: SchemaRef,
        properties: WriterProperties,
    ) -> Result<TableOutput, DataError> {
        TableOutput::of_target(path, force, schema, properties, None)
    }

    /// A table of a target of a run: each row has its name behind all other columns, as all tables of a run have it.
    pub fn of_target(
        path: &Path,
        force: bool,
        schema: SchemaRef,
        properties: WriterProperties,
        target: Option<&str>,
    ) -> Result<TableOutput, DataError> {
        let mut schema = schema;
        if target.is_some() {
            let name = Arc::new(Field::new("target", DataType::Utf8, false));
            let fields = schema.fields().iter().cloned().chain([name]);
            schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        }
        let target = target.map(|target| (target.to_owned(), Arc::clone(&schema)));
        let file = PartialFile::create(path, force)?;
        let options = ArrowWriterOptions::new()
            .with_skip_arrow_metadata(true)
            .with_properties(properties);
        let writer = ArrowWriter::try_new_with_options(file, schema, options)
            .map_err(|e| write_error(path, e))?;
        Ok(TableOutput {
            path: path.to_owned(),
            writer,
            target,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        let named = self.target.as_ref().map(|(target, schema)| {
            let names = std::iter::repeat_n(target, batch.num_rows());
            let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
            let columns = batch.columns().iter().cloned().chain([names]);
            RecordBatch::try_new(Arc::clone(schema), columns.collect())
                .expect("the columns of the batch and one more")
        });
        self.writer
            .write(named.as_ref().unwrap_or(batch))
            .map_err(|e| write_error(&self.path, e))
    }

    /// Rows of the row group that was not ended yet.
    pub fn rows_in_group(&self) -> usize {
        self.writer.in_progress_rows()
    }

    /// Memory that it takes.
    pub fn group_bytes(&self) -> usize {
        self.writer.memory_size()
    }

    /// Ends the row group.
    pub fn end_group(&mut self) -> Result<(), DataError> {
        self.writer.flush().map_err(|e| write_error(&self.path, e))
    }

    pub fn finish(self) -> Result<(), DataError> {
        Ok(self.complete()?.publish()?)
    }

    /// Writes everything; the file gets its name later.
    pub fn complete(self) -> Result<CompleteFile, DataError> {
        let file = self
            .writer
            .into_inner()
            .map_err(|e| write_error(&self.path, e))?;
        Ok(file.complete()?)
    }
}

fn write_error(path: &Path, error: ParquetError) -> DataError {
    let source = match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(io) => *io,
            Err(other) => std::io::Error::other(other),
        },
        other => std::io::Error::other(other),
    };
    DataError::io(path, "cannot write", source)
}
