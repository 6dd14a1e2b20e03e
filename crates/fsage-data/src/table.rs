//! Small tables of results: per-day metrics, measurements. Rows are few, so they are read as a whole.

use crate::error::DataError;
use crate::parquet_file::{Batches, TableFile, TableOutput, properties, value_at};
use arrow_array::builder::{
    ArrayBuilder, Float64Builder, ListBuilder, StringBuilder, StructBuilder, UInt64Builder,
};
use arrow_array::{
    Array, ArrayRef, Float64Array, ListArray, RecordBatch, StringArray, StructArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are handed to the encoder at once.
const BATCH_ROWS: usize = 1 << 13;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Counts and bytes.
    U64,
    /// Ratios, scores, seconds.
    F64,
    /// Words.
    Text,
    /// The layout score by size of file: a list of [`SizeClass`].
    SizeClasses,
    /// Free space by length of run: a list of [`RunClass`].
    RunClasses,
}

impl ColumnKind {
    /// Whether a value is one number or text.
    pub fn is_plain(self) -> bool {
        matches!(self, ColumnKind::U64 | ColumnKind::F64 | ColumnKind::Text)
    }
}

/// A column of a table. Any value may be null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, with the unit last.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
}

impl Column {
    /// A column.
    pub fn new(name: impl Into<String>, kind: ColumnKind) -> Column {
        Column {
            name: name.into(),
            kind,
        }
    }
}

/// Layout of the files up to one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// Largest size of the class.
    pub max_bytes: u64,
    /// Files in it.
    pub files: u64,
    /// Their blocks that lie right after the block before.
    pub optimal: u64,
    /// Their blocks that could.
    pub scored: u64,
}

/// Runs of free space from one length up to the next class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunClass {
    /// Shortest run of the class.
    pub min_bytes: u64,
    /// Runs in it.
    pub runs: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    Null,
    U64(u64),
    F64(f64),
    Text(String),
    SizeClasses(Vec<SizeClass>),
    RunClasses(Vec<RunClass>),
}

impl From<u64> for Value {
    fn from(n: u64) -> Value {
        Value::U64(n)
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Value {
        Value::F64(x)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// Writes a table, row by row. The file gets its name when it is complete.
pub struct TableWriter {
    output: TableOutput,
    schema: SchemaRef,
    columns: Vec<(Column, Builder)>,
    rows: usize,
}

impl TableWriter {
    /// Starts a table. `schema` is its name in the key-value metadata, `metadata` what else goes there.
    ///
    /// # Errors
    /// `path` exists and `force` is not set, or the folder cannot be written.
    pub fn create(
        path: impl AsRef<Path>,
        schema: &str,
        columns: Vec<Column>,
        metadata: &[(String, String)],
        force: bool,
    ) -> Result<TableWriter, DataError> {
        let fields = columns
            .iter()
            .map(|c| Field::new(&c.name, data_type(c.kind), true));
        let arrow: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let properties = properties(schema, metadata.iter().cloned()).build();
        let output = TableOutput::create(path.as_ref(), force, Arc::clone(&arrow), properties)?;
        let columns = columns.into_iter().map(|column| {
            let builder = Builder::new(column.kind);
            (column, builder)
        });
        Ok(TableWriter {
            output,
            schema: arrow,
            columns: columns.collect(),
            rows: 0,
        })
    }

    /// Writes one row: a value for every column.
    ///
    /// # Errors
    /// Writing fails, or the values do not fit the columns.
    pub fn push_row(&mut self, values: &[Value]) -> Result<(), DataError> {
        let refused = |path: &Path, what: String| DataError::Refused {
            path: path.to_owned(),
            what,
        };
        if values.len() != self.columns.len() {
            let what = format!(
                "{} values into {} columns",
                values.len(),
                self.columns.len()
            );
            return Err(refused(self.output.path(), what));
        }
        for ((column, builder), value) in self.columns.iter().zip(values) {
            if !builder.takes(value) {
                let what = format!("{value:?} into column `{}`", column.name);
                return Err(refused(self.output.path(), what));
            }
        }
        for ((_, builder), value) in self.columns.iter_mut().zip(values) {
            builder.push(value);
        }
        self.rows += 1;
        if self.rows == BATCH_ROWS {
            self.write_batch()?;
        }
        Ok(())
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self) -> Result<(), DataError> {
        self.write_batch()?;
        self.output.finish()
    }

    fn write_batch(&mut self) -> Result<(), DataError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let columns = self.columns.iter_mut().map(|(_, builder)| builder.finish());
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns.collect())
            .expect("columns in the order and with the types of the schema");
        self.output.write(&batch)
    }
}

/// A table in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of its schema.
    pub schema: String,
    /// Its key-value metadata.
    pub metadata: Vec<(String, String)>,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows: a value for every column.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// Where a column is.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// Reads a table that [`TableWriter`] wrote.
///
/// # Errors
/// The file cannot be read, or a column holds something else.
pub fn read_table(path: impl AsRef<Path>) -> Result<Table, DataError> {
    let mut file = OpenTable::new(path.as_ref())?;
    let mut rows = Vec::new();
    while let Some(batch) = file.next_rows()? {
        rows.extend(batch);
    }
    Ok(Table {
        schema: file.schema,
        metadata: file.metadata,
        columns: file.columns,
        rows,
    })
}

/// Takes a table row by row, with its columns, however many rows it has.
///
/// # Errors
/// The file cannot be read, or a column holds something else; what `take` fails with.
pub fn each_row<E: From<DataError>>(
    path: impl AsRef<Path>,
    mut take: impl FnMut(&[Column], &[Value]) -> Result<(), E>,
) -> Result<(), E> {
    let mut file = OpenTable::new(path.as_ref())?;
    while let Some(rows) = file.next_rows()? {
        for row in rows {
            take(&file.columns, &row)?;
        }
    }
    Ok(())
}

/// A table that is being read.
struct OpenTable {
    path: PathBuf,
    schema: String,
    metadata: Vec<(String, String)>,
    columns: Vec<Column>,
    batches: Batches,
    /// Rows given.
    rows: u64,
}

impl OpenTable {
    fn new(path: &Path) -> Result<OpenTable, DataError> {
        let file = TableFile::open(path)?;
        let schema = file.columns().clone();
        let columns = schema.fields().iter().map(|field| {
            kind_of(field.data_type())
                .map(|kind| Column::new(field.name(), kind))
                .ok_or_else(|| {
                    let problem =
                        format!("column `{}` has type {}", field.name(), field.data_type());
                    DataError::unsuitable(path, problem)
                })
        });
        Ok(OpenTable {
            path: path.to_owned(),
            schema: file.schema_name().unwrap_or_default().to_owned(),
            metadata: file.metadata().to_vec(),
            columns: columns.collect::<Result<_, _>>()?,
            batches: file.batches(&schema, None, BATCH_ROWS)?,
            rows: 0,
        })
    }

    /// The next rows; `None` at the end.
    fn next_rows(&mut self) -> Result<Option<Vec<Vec<Value>>>, DataError> {
        let Some(batch) = self.batches.next_batch()? else {
            return Ok(None);
        };
        let mut rows = Vec::with_capacity(batch.num_rows());
        for at in 0..batch.num_rows() {
            self.rows += 1;
            let values = batch.columns().iter().map(|column| value_of(column, at));
            let row = values.collect::<Option<Vec<_>>>();
            rows.push(row.ok_or_else(|| {
                DataError::bad_row(&self.path, self.rows, "an item of a list is null")
            })?);
        }
        Ok(Some(rows))
    }
}

/// What the metadata of a Parquet file say, whatever its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParquetInfo {
    /// The file.
    pub path: PathBuf,
    /// Name of its schema, where fsage wrote it.
    pub schema: Option<String>,
    /// Rows.
    pub rows: u64,
    /// Names and types of its columns.
    pub columns: Vec<(String, String)>,
    /// Its key-value metadata.
    pub metadata: Vec<(String, String)>,
}

/// Reads the metadata of a Parquet file.
///
/// # Errors
/// The file cannot be read, or is not Parquet.
pub fn parquet_info(path: impl AsRef<Path>) -> Result<ParquetInfo, DataError> {
    let file = TableFile::open(path.as_ref())?;
    let columns = file.columns().fields().iter();
    let columns = columns.map(|f| (f.name().clone(), f.data_type().to_string()));
    Ok(ParquetInfo {
        path: path.as_ref().to_owned(),
        schema: file.schema_name().map(str::to_owned),
        rows: file.rows(),
        columns: columns.collect(),
        metadata: file.metadata().to_vec(),
    })
}

const SIZE_CLASS: [&str; 4] = ["max_bytes", "files", "optimal", "scored"];
const RUN_CLASS: [&str; 3] = ["min_bytes", "runs", "bytes"];

/// The fields of a list's items, all of them counts.
fn fields(names: &[&str]) -> Fields {
    let fields = names.iter();
    fields
        .map(|name| Field::new(*name, DataType::UInt64, false))
        .collect()
}

fn list_item(names: &[&str]) -> Field {
    Field::new("item", DataType::Struct(fields(names)), false)
}

fn data_type(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::U64 => DataType::UInt64,
        ColumnKind::F64 => DataType::Float64,
        ColumnKind::Text => DataType::Utf8,
        ColumnKind::SizeClasses => DataType::List(list_item(&SIZE_CLASS).into()),
        ColumnKind::RunClasses => DataType::List(list_item(&RUN_CLASS).into()),
    }
}

fn kind_of(data_type: &DataType) -> Option<ColumnKind> {
    match data_type {
        DataType::UInt64 | DataType::UInt32 => Some(ColumnKind::U64),
        DataType::Float64 => Some(ColumnKind::F64),
        DataType::Utf8 => Some(ColumnKind::Text),
        DataType::List(item) => match item.data_type() {
            DataType::Struct(items) if has_fields(items, &SIZE_CLASS) => {
                Some(ColumnKind::SizeClasses)
            }
            DataType::Struct(items) if has_fields(items, &RUN_CLASS) => {
                Some(ColumnKind::RunClasses)
            }
            _ => None,
        },
        _ => None,
    }
}

fn has_fields(items: &Fields, names: &[&str]) -> bool {
    let pairs = items.iter().zip(names);
    items.len() == names.len()
        && pairs
            .into_iter()
            .all(|(field, name)| field.name() == name && *field.data_type() == DataType::UInt64)
}

/// The values of a column that are not written yet.
enum Builder {
    U64(UInt64Builder),
    F64(Float64Builder),
    Text(StringBuilder),
    SizeClasses(Lists),
    RunClasses(Lists),
}

type Lists = Box<ListBuilder<StructBuilder>>;

fn lists(names: &[&str]) -> Lists {
    let items = StructBuilder::from_fields(fields(names), 0);
    Box::new(ListBuilder::new(items).with_field(list_item(names)))
}

/// Appends a list of items, each of so many counts.
fn push_list<const N: usize>(to: &mut Lists, items: impl Iterator<Item = [u64; N]>) {
    for numbers in items {
        for (field, number) in numbers.into_iter().enumerate() {
            let builder = to.values().field_builder::<UInt64Builder>(field);
            builder.expect("a field of 64 bits").append_value(number);
        }
        to.values().append(true);
    }
    to.append(true);
}

impl Builder {
    fn new(kind: ColumnKind) -> Builder {
        match kind {
            ColumnKind::U64 => Builder::U64(UInt64Builder::new()),
            ColumnKind::F64 => Builder::F64(Float64Builder::new()),
            ColumnKind::Text => Builder::Text(StringBuilder::new()),
            ColumnKind::SizeClasses => Builder::SizeClasses(lists(&SIZE_CLASS)),
            ColumnKind::RunClasses => Builder::RunClasses(lists(&RUN_CLASS)),
        }
    }

    fn takes(&self, value: &Value) -> bool {
        matches!(
            (self, value),
            (_, Value::Null)
                | (Builder::U64(_), Value::U64(_))
                | (Builder::F64(_), Value::F64(_))
                | (Builder::Text(_), Value::Text(_))
                | (Builder::SizeClasses(_), Value::SizeClasses(_))
                | (Builder::RunClasses(_), Value::RunClasses(_))
        )
    }

    fn push(&mut self, value: &Value) {
        match (self, value) {
            (Builder::U64(to), Value::U64(n)) => to.append_value(*n),
            (Builder::U64(to), _) => to.append_null(),
            (Builder::F64(to), Value::F64(x)) => to.append_value(*x),
            (Builder::F64(to), _) => to.append_null(),
            (Builder::Text(to), Value::Text(text)) => to.append_value(text),
            (Builder::Text(to), _) => to.append_null(),
            (Builder::SizeClasses(to), Value::SizeClasses(classes)) => push_list(
                to,
                classes
                    .iter()
                    .map(|c| [c.max_bytes, c.files, c.optimal, c.scored]),
            ),
            (Builder::RunClasses(to), Value::RunClasses(classes)) => {
                push_list(to, classes.iter().map(|c| [c.min_bytes, c.runs, c.bytes]));
            }
            (Builder::SizeClasses(to) | Builder::RunClasses(to), _) => to.append(false),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::U64(builder) => ArrayBuilder::finish(builder),
            Builder::F64(builder) => ArrayBuilder::finish(builder),
            Builder::Text(builder) => ArrayBuilder::finish(builder),
            Builder::SizeClasses(builder) | Builder::RunClasses(builder) => {
                ArrayBuilder::finish(builder.as_mut())
            }
        }
    }
}

/// A value of a column whose type is one of ours; `None` if an item of a list is null.
fn value_of(column: &ArrayRef, at: usize) -> Option<Value> {
    let column = column.as_any();
    if let Some(numbers) = column.downcast_ref::<UInt64Array>() {
        return Some(value_at!(numbers, at).into());
    }
    if let Some(numbers) = column.downcast_ref::<UInt32Array>() {
        return Some(value_at!(numbers, at).map(u64::from).into());
    }
    if let Some(numbers) = column.downcast_ref::<Float64Array>() {
        return Some(value_at!(numbers, at).into());
    }
    if let Some(words) = column.downcast_ref::<StringArray>() {
        return Some(value_at!(words, at).into());
    }
    let lists = column.downcast_ref::<ListArray>()?;
    if lists.is_null(at) {
        return Some(Value::Null);
    }
    let items = lists.value(at);
    let items = items.as_any().downcast_ref::<StructArray>()?;
    let columns: Option<Vec<&UInt64Array>> = items
        .columns()
        .iter()
        .map(|c| c.as_any().downcast_ref())
        .collect();
    let columns = columns?;
    let number = |field: usize, i: usize| value_at!(columns.get(field)?, i);
    let all = 0..items.len();
    if items.column_names() == RUN_CLASS {
        let classes = all.map(|i| {
            Some(RunClass {
                min_bytes: number(0, i)?,
                runs: number(1, i)?,
                bytes: number(2, i)?,
            })
        });
        return classes.collect::<Option<Vec<_>>>().map(Value::RunClasses);
    }
    let classes = all.map(|i| {
        Some(SizeClass {
            max_bytes: number(0, i)?,
            files: number(1, i)?,
            optimal: number(2, i)?,
            scored: number(3, i)?,
        })
    });
    classes.collect::<Option<Vec<_>>>().map(Value::SizeClasses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_comes_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("days.parquet");
        let columns = vec![
            Column::new("day", ColumnKind::U64),
            Column::new("score", ColumnKind::F64),
            Column::new("label", ColumnKind::Text),
            Column::new("layout_by_size", ColumnKind::SizeClasses),
            Column::new("free_by_length", ColumnKind::RunClasses),
        ];
        let runs = RunClass {
            min_bytes: 4096,
            runs: 2,
            bytes: 10_000,
        };
        let class = SizeClass {
            max_bytes: 16384,
            files: 3,
            optimal: 2,
            scored: 5,
        };
        let rows = vec![
            vec![
                7.into(),
                0.5.into(),
                "d".into(),
                Value::SizeClasses(vec![class, SizeClass::default()]),
                Value::RunClasses(vec![runs]),
            ],
            vec![Value::Null; 5],
            vec![
                u64::MAX.into(),
                Some(-0.25).into(),
                String::new().into(),
                Value::SizeClasses(vec![]),
                Value::RunClasses(vec![]),
            ],
        ];
        let metadata = [("policy".to_owned(), "realloc".to_owned())];
        let mut writer =
            TableWriter::create(&path, "days", columns.clone(), &metadata, false).unwrap();
        for row in &rows {
            writer.push_row(row).unwrap();
        }
        assert!(writer.push_row(&rows[0][..2]).is_err());
        assert!(
            writer
                .push_row(&[1.into(), 1.into(), "".into(), Value::Null, Value::Null])
                .is_err()
        );
        writer.finish().unwrap();
        let table = read_table(&path).unwrap();
        assert_eq!(
            (table.schema.as_str(), table.column("label")),
            ("days", Some(2))
        );
        assert!(table.metadata.contains(&metadata[0]));
        assert_eq!((table.columns, table.rows), (columns, rows));
        assert_eq!(parquet_info(&path).unwrap().rows, 3);
    }
}
