//! Tables and workloads as Arrow record batches, for programs that read and make these themselves.

use crate::error::DataError;
use crate::parquet_file::{Batches, TableFile};
use crate::schema::{WORKLOAD, workload_schema};
use crate::workload::{Events, NextBatch};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, Int64Array, RecordBatch, RecordBatchReader, StringArray, UInt32Array,
    UInt64Array, new_null_array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use fsage_core::{Event, EventSource, SinkError, WorkloadHeader};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, available_parallelism};

/// Rows that are decoded at once: many, as a table is mostly wanted as a whole.
const BATCH_ROWS: usize = 1 << 16;
/// Where a file has fewer values, its columns are decoded one after the other.
const VALUES_SIDE_BY_SIDE: u64 = 1 << 20;

/// One of several files that are one table, and what its rows have in common: names of columns with their texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The file.
    pub path: PathBuf,
    /// Columns that stand before its own. Where it has one of that name already, it keeps that.
    pub common: Vec<(String, String)>,
}

/// The rows of one table after another, as record batches. Columns are those of the first table.
///
/// Columns are decoded side by side where they are long. A column that is null in a whole batch takes the memory of one
/// such batch, and so does a text that all rows of a file have in common.
pub struct Tables {
    schema: SchemaRef,
    parts: std::vec::IntoIter<Part>,
    current: Option<Open>,
    nulls: Vec<ArrayRef>,
}

/// The file whose rows are being read.
struct Open {
    part: Part,
    columns: Columns,
    /// The texts that its rows have in common, as often as was needed.
    common: Vec<(String, ArrayRef)>,
}

impl Tables {
    /// Opens Parquet files that fsage wrote, with these columns, or with all.
    ///
    /// # Errors
    /// A file cannot be read; it lacks a column that was named; there is no file.
    pub fn open(parts: Vec<Part>, columns: Option<&[String]>) -> Result<Tables, DataError> {
        let Some(first) = parts.first() else {
            return Err(DataError::unsuitable(
                Path::new(""),
                "no table of that kind is there",
            ));
        };
        let file = TableFile::open(&first.path)?;
        let own = file.columns().fields().iter().cloned();
        let common = first.common.iter().map(|(name, _)| name);
        let common = common.filter(|name| file.columns().field_with_name(name).is_err());
        let common = common.map(|name| Arc::new(Field::new(name, DataType::Utf8, true)));
        let all: Vec<Arc<Field>> = common.chain(own).collect();
        let chosen = match columns {
            None => all,
            Some(columns) => columns
                .iter()
                .map(|name| {
                    let found = all.iter().find(|field| field.name() == name).cloned();
                    found.ok_or_else(|| {
                        let known: Vec<&str> =
                            all.iter().map(|field| field.name().as_str()).collect();
                        let problem = format!("no column `{name}`; it has {}", known.join(", "));
                        DataError::unsuitable(&first.path, problem)
                    })
                })
                .collect::<Result<_, _>>()?,
        };
        Ok(Tables {
            schema: Arc::new(Schema::new(chosen)),
            parts: parts.into_iter(),
            current: None,
            nulls: Vec::new(),
        })
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, DataError> {
        loop {
            if let Some(open) = &mut self.current
                && let Some((rows, columns)) = open.columns.next()?
            {
                return self.completed(rows, &columns).map(Some);
            }
            let Some(part) = self.parts.next() else {
                return Ok(None);
            };
            let file = TableFile::open(&part.path)?;
            let columns = Columns::of(file, &self.schema)?;
            let common = Vec::new();
            self.current = Some(Open {
                part,
                columns,
                common,
            });
        }
    }

    /// A batch with all columns of the schema: those that its file lacks are what its part has in common, or null.
    fn completed(&mut self, rows: usize, found: &[Decoded]) -> Result<RecordBatch, DataError> {
        let open = self.current.as_mut().expect("a file is being read");
        let schema = Arc::clone(&self.schema);
        let columns = schema.fields().iter().map(|field| {
            let common = &open.part.common;
            match found.iter().find(|(name, _)| name == field.name()) {
                Some((_, Some(column))) => Arc::clone(column),
                None if let Some((name, text)) =
                    common.iter().find(|(name, _)| name == field.name()) =>
                {
                    repeated(&mut open.common, name, text, rows)
                }
                _ => null(&mut self.nulls, field.data_type(), rows),
            }
        });
        RecordBatch::try_new(Arc::clone(&schema), columns.collect())
            .map_err(|error| DataError::unsuitable(&open.part.path, error.to_string()))
    }
}

/// Nulls of a type, which share their memory with those of other batches.
fn null(known: &mut Vec<ArrayRef>, data_type: &DataType, rows: usize) -> ArrayRef {
    let long_enough = known
        .iter()
        .find(|array| array.data_type() == data_type && array.len() >= rows);
    if let Some(array) = long_enough {
        return array.slice(0, rows);
    }
    known.retain(|array| array.data_type() != data_type);
    let array = new_null_array(data_type, rows);
    known.push(Arc::clone(&array));
    array
}

/// A text again and again, which shares its memory with the same of other batches.
fn repeated(known: &mut Vec<(String, ArrayRef)>, name: &str, text: &str, rows: usize) -> ArrayRef {
    let long_enough = known
        .iter()
        .find(|(of, array)| of == name && array.len() >= rows);
    if let Some((_, array)) = long_enough {
        return array.slice(0, rows);
    }
    known.retain(|(of, _)| of != name);
    let texts = std::iter::repeat_n(text, rows);
    let array: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    known.push((name.to_owned(), Arc::clone(&array)));
    array
}

/// A column of a batch with its name; none where all of it is null.
type Decoded = (String, Option<ArrayRef>);

/// The columns of a file, a batch of rows at a time.
struct Columns {
    /// Each with some of the columns. Where there are several they are long, and each has one.
    readers: Vec<Mutex<Batches>>,
    threads: usize,
}

impl Columns {
    fn of(file: TableFile, schema: &Schema) -> Result<Columns, DataError> {
        let own = file.columns().fields().iter();
        let wanted = own.filter(|field| schema.field_with_name(field.name()).is_ok());
        let wanted = wanted.count() as u64;
        let threads = available_parallelism().map_or(1, NonZero::get);
        let is_long = file.rows().saturating_mul(wanted) >= VALUES_SIDE_BY_SIDE;
        // A reader without any column still knows how many rows there are.
        let readers = if is_long && wanted > 1 && threads > 1 {
            file.by_column(schema, BATCH_ROWS)?
        } else {
            vec![file.batches(schema, None, BATCH_ROWS)?]
        };
        Ok(Columns {
            threads: threads.min(readers.len()),
            readers: readers.into_iter().map(Mutex::new).collect(),
        })
    }

    /// The next rows, and how many they are.
    fn next(&mut self) -> Result<Option<(usize, Vec<Decoded>)>, DataError> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let Some(reader) = self.readers.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
                done.push(decoded(&mut reader));
            }
            done
        };
        let done: Vec<_> = std::thread::scope(|scope| {
            // Where the system has no thread for us, the others do its work.
            let others: Vec<_> = (1..self.threads)
                .filter_map(|_| Builder::new().spawn_scoped(scope, work).ok())
                .collect();
            let mut done = work();
            for other in others {
                done.extend(other.join().expect("panics of the decoder are errors"));
            }
            done
        });
        let (mut rows, mut columns) = (None, Vec::new());
        for batch in done {
            let (found, some) = batch?;
            if *rows.get_or_insert(found) != found {
                let first = self.readers[0]
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                let problem = "columns that differ in their numbers of rows; make the file again";
                return Err(DataError::unsuitable(&first.path, problem));
            }
            columns.extend(some);
        }
        Ok(rows.filter(|rows| *rows > 0).map(|rows| (rows, columns)))
    }
}

/// The next rows of a reader, none at its end.
fn decoded(reader: &mut Batches) -> Result<(usize, Vec<Decoded>), DataError> {
    let Some(batch) = reader.next_batch()? else {
        return Ok((0, Vec::new()));
    };
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, column)| {
        let is_null = column.null_count() == batch.num_rows();
        (field.name().clone(), (!is_null).then(|| Arc::clone(column)))
    });
    Ok((batch.num_rows(), columns.collect()))
}

impl Iterator for Tables {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        let batch = self.next_batch().transpose()?;
        Some(batch.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Tables {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Rows of a Parquet file, as its metadata say.
///
/// # Errors
/// The file cannot be read.
pub fn rows(path: &Path) -> Result<u64, DataError> {
    Ok(TableFile::open(path)?.rows())
}

/// A workload from record batches of anybody: the columns of the workload format, of which only `op` must be there.
///
/// Integers may have any width, or be whole numbers in floating point, in which tables keep integers beside nulls; text
/// may be in any encoding. Rows are in the order in which they come. `name` is what messages call it.
pub struct BatchWorkload<R> {
    header: WorkloadHeader,
    batches: AnyBatches<R>,
    events: Events,
}

/// Batches of anybody.
struct AnyBatches<R> {
    name: PathBuf,
    batches: R,
    /// Rows given.
    rows: u64,
}

impl<R: RecordBatchReader> BatchWorkload<R> {
    /// Checks the columns.
    ///
    /// # Errors
    /// `op` is missing; a column is not one of a workload, or cannot hold what it has to.
    pub fn new(
        batches: R,
        header: WorkloadHeader,
        name: &str,
    ) -> Result<BatchWorkload<R>, DataError> {
        let name = PathBuf::from(name);
        let expected = workload_schema();
        for field in batches.schema().fields() {
            if is_index(field.name()) {
                continue;
            }
            let found = field.data_type();
            match expected.field_with_name(field.name()) {
                Ok(wanted) if fits(found, wanted.data_type()) => {}
                Ok(wanted) => {
                    let (column, wanted) = (field.name(), wanted.data_type());
                    let problem = format!("column `{column}` has type {found}, expected {wanted}");
                    return Err(DataError::unsuitable(&name, problem));
                }
                Err(_) => {
                    let known: Vec<&str> = expected
                        .fields()
                        .iter()
                        .map(|f| f.name().as_str())
                        .collect();
                    let problem = format!(
                        "column `{}` is none of a {WORKLOAD}, which may have {}",
                        field.name(),
                        known.join(", ")
                    );
                    return Err(DataError::unsuitable(&name, problem));
                }
            }
        }
        if batches.schema().field_with_name("op").is_err() {
            return Err(DataError::unsuitable(
                &name,
                "column `op` is missing: expected type Utf8",
            ));
        }
        let rows = 0;
        Ok(BatchWorkload {
            header,
            batches: AnyBatches {
                name,
                batches,
                rows,
            },
            events: Events::default(),
        })
    }
}

impl<R: RecordBatchReader + Send> EventSource for BatchWorkload<R> {
    fn header(&self) -> &WorkloadHeader {
        &self.header
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        Ok(self.events.next(&mut self.batches)?)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        None
    }
}

impl<R: RecordBatchReader> NextBatch for AnyBatches<R> {
    fn name(&self) -> &Path {
        &self.name
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, DataError> {
        for batch in self.batches.by_ref() {
            let batch =
                batch.map_err(|error| DataError::unsuitable(&self.name, error.to_string()))?;
            // An empty batch is not the end.
            if batch.num_rows() > 0 {
                return workload_batch(&batch, &mut self.rows, &self.name).map(Some);
            }
        }
        Ok(None)
    }
}

/// Whether a column is the index of a pandas table that was sorted, filtered or put together, which says nothing.
fn is_index(name: &str) -> bool {
    name.starts_with("__index_level_")
}

/// Whether a column of this type may hold what a workload has in the other.
fn fits(found: &DataType, wanted: &DataType) -> bool {
    match (found, wanted) {
        (DataType::Null, _)
        | (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, DataType::Utf8) => true,
        (DataType::Dictionary(_, values), wanted) => fits(values, wanted),
        (found, wanted) => found.is_numeric() && !is_decimal(found) && *wanted != DataType::Utf8,
    }
}

fn is_decimal(of: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256, Float16};
    matches!(
        of,
        Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) | Float16
    )
}

/// The columns of a workload, with their own types; rows are numbered from `rows` where they have no number.
fn workload_batch(
    batch: &RecordBatch,
    rows: &mut u64,
    name: &Path,
) -> Result<RecordBatch, DataError> {
    let first = *rows;
    *rows += batch.num_rows() as u64;
    let schema = Arc::new(workload_schema());
    let columns = schema.fields().iter().map(|field| {
        let wrong = |(at, problem): (usize, String)| {
            let problem = format!("`{}` {problem}", field.name());
            DataError::bad_row(name, first + at as u64 + 1, problem)
        };
        match batch.column_by_name(field.name()) {
            Some(column) => column_as(column, field.data_type()).map_err(wrong),
            None if field.name() == "seq" => {
                Ok(Arc::new(UInt64Array::from_iter_values(first..*rows)) as ArrayRef)
            }
            // Only the rows tell which day it is.
            None if field.name() == "day" => {
                Ok(Arc::new(UInt32Array::from(vec![0; batch.num_rows()])) as ArrayRef)
            }
            None => Ok(new_null_array(field.data_type(), batch.num_rows())),
        }
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>, DataError>>()?;
    let nullable = schema
        .fields()
        .iter()
        .map(|field| field.as_ref().clone().with_nullable(true));
    let schema = Schema::new(nullable.collect::<Vec<Field>>());
    RecordBatch::try_new(Arc::new(schema), columns)
        .map_err(|error| DataError::unsuitable(name, error.to_string()))
}

/// A row and what is wrong with it.
type Wrong = (usize, String);

/// A column with the type of the workload format.
fn column_as(column: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, Wrong> {
    if column.data_type() == wanted {
        return Ok(Arc::clone(column));
    }
    Ok(match wanted {
        DataType::Utf8 => Arc::new(texts(column).into_iter().collect::<StringArray>()),
        DataType::Int64 => Arc::new(integers::<i64>(column)?.into_iter().collect::<Int64Array>()),
        DataType::UInt32 => Arc::new(
            integers::<u32>(column)?
                .into_iter()
                .collect::<UInt32Array>(),
        ),
        _ => Arc::new(
            integers::<u64>(column)?
                .into_iter()
                .collect::<UInt64Array>(),
        ),
    })
}

fn texts(column: &ArrayRef) -> Vec<Option<&str>> {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().collect(),
        DataType::Utf8View => column.as_string_view().iter().collect(),
        DataType::Dictionary(key, _) => match **key {
            DataType::Int8 => words::<Int8Type>(column),
            DataType::Int16 => words::<Int16Type>(column),
            DataType::Int32 => words::<Int32Type>(column),
            DataType::Int64 => words::<Int64Type>(column),
            DataType::UInt8 => words::<UInt8Type>(column),
            DataType::UInt16 => words::<UInt16Type>(column),
            DataType::UInt32 => words::<UInt32Type>(column),
            _ => words::<UInt64Type>(column),
        },
        _ => vec![None; column.len()],
    }
}

fn words<K: ArrowDictionaryKeyType>(column: &ArrayRef) -> Vec<Option<&str>> {
    let dictionary = column.as_dictionary::<K>();
    let words = texts(dictionary.values());
    dictionary.keys_iter().map(|key| words[key?]).collect()
}

/// Values as integers of this kind; null where floating point says not a number.
fn integers<T: TryFrom<i128>>(column: &ArrayRef) -> Result<Vec<Option<T>>, Wrong> {
    let fitted = |at: usize, value: Option<i128>| {
        let Some(value) = value else {
            return Ok(None);
        };
        T::try_from(value)
            .map(Some)
            .map_err(|_| (at, format!("is {value}, which is out of range")))
    };
    let whole = |at: usize, value: Option<f64>| match value.filter(|value| !value.is_nan()) {
        None => Ok(None),
        Some(value) if value.fract() == 0.0 && value.abs() <= MAX_EXACT => {
            fitted(at, Some(value as i128))
        }
        Some(value) => Err((at, format!("is {value}, not a whole number"))),
    };
    macro_rules! of {
        ($kind:ty, $take:ident, $number:ty) => {{
            let values = column.as_primitive::<$kind>().iter().enumerate();
            values
                .map(|(at, value)| $take(at, value.map(<$number>::from)))
                .collect()
        }};
    }
    match column.data_type() {
        DataType::Int8 => of!(Int8Type, fitted, i128),
        DataType::Int16 => of!(Int16Type, fitted, i128),
        DataType::Int32 => of!(Int32Type, fitted, i128),
        DataType::Int64 => of!(Int64Type, fitted, i128),
        DataType::UInt8 => of!(UInt8Type, fitted, i128),
        DataType::UInt16 => of!(UInt16Type, fitted, i128),
        DataType::UInt32 => of!(UInt32Type, fitted, i128),
        DataType::UInt64 => of!(UInt64Type, fitted, i128),
        DataType::Float32 => of!(Float32Type, whole, f64),
        DataType::Float64 => of!(Float64Type, whole, f64),
        _ => Ok((0..column.len()).map(|_| None).collect()),
    }
}

/// Integers up to here are exact in floating point.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, ColumnKind, TableWriter, Value};
    use arrow_array::{Float64Array, Int8Array, RecordBatchIterator};
    use fsage_core::{DirId, FileId, Op};

    fn workload(columns: Vec<(&str, ArrayRef)>) -> Result<Vec<Event>, String> {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns
                .into_iter()
                .map(|(name, column)| (name, column, true)),
        )
        .expect("a batch");
        let schema = batch.schema();
        let batches = RecordBatchIterator::new([Ok(batch.slice(0, 0)), Ok(batch)], schema);
        let mut source = BatchWorkload::new(batches, WorkloadHeader::default(), "table")
            .map_err(|error| error.to_string())?;
        let mut events = Vec::new();
        while let Some(event) = source.next_event().map_err(|error| error.to_string())? {
            events.push(event);
        }
        Ok(events)
    }

    #[test]
    fn a_table_of_other_widths_is_a_workload() {
        let events = workload(vec![
            (
                "__index_level_0__",
                Arc::new(Int64Array::from(vec![2, 0, 1])),
            ),
            (
                "op",
                Arc::new(StringArray::from(vec!["create", "append", "day"])),
            ),
            (
                "file_id",
                Arc::new(Float64Array::from(vec![
                    Some(7.0),
                    Some(7.0),
                    Some(f64::NAN),
                ])),
            ),
            (
                "dir_id",
                Arc::new(Int8Array::from(vec![Some(0), None, None])),
            ),
            (
                "length_bytes",
                Arc::new(Int64Array::from(vec![Some(9000), Some(1), None])),
            ),
        ]);
        let ops: Vec<Op> = events
            .expect("events")
            .into_iter()
            .map(|event| event.op)
            .collect();
        let (file, dir) = (FileId(7), DirId(0));
        assert_eq!(
            ops,
            [
                Op::Create {
                    file,
                    dir,
                    bytes: 9000
                },
                Op::Append { file, bytes: 1 },
                Op::Day
            ]
        );
    }

    #[test]
    fn what_is_no_workload_is_named() {
        let op = |word: &str| -> (&'static str, ArrayRef) {
            ("op", Arc::new(StringArray::from(vec![word])))
        };
        let number = |value: f64| -> ArrayRef { Arc::new(Float64Array::from(vec![value])) };
        let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        for (columns, expected) in [
            (
                vec![("file_id", number(1.0))],
                "table: column `op` is missing",
            ),
            (
                vec![op("delete"), ("file", number(1.0))],
                "column `file` is none of a workload",
            ),
            (
                vec![op("delete"), ("file_id", text)],
                "column `file_id` has type Utf8, expected UInt64",
            ),
            (
                vec![op("delete"), ("file_id", number(0.5))],
                "row 1: `file_id` is 0.5, not a whole number",
            ),
            (
                vec![op("delete"), ("file_id", number(-1.0))],
                "`file_id` is -1, which is out of range",
            ),
            (
                vec![
                    op("mkdir"),
                    ("dir_id", number(0.0)),
                    ("file_id", number(5.0)),
                ],
                "row 1: `mkdir` has its directory in `dir_id` and a parent in `id2`, and takes no `file_id`",
            ),
            (
                vec![op("delete")],
                "row 1: `delete` needs `file_id`, which is null",
            ),
            (vec![op("destroy")], "unknown operation \"destroy\""),
        ] {
            let error = workload(columns).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
    }

    /// A file that is long enough to be decoded side by side says what one reader says, and what is null as a whole, or
    /// common to all rows, shares its memory.
    #[test]
    fn long_columns_are_decoded_side_by_side() {
        const ROWS: u64 = 180_000;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("days.parquet");
        let columns = [
            ("day", ColumnKind::U64),
            ("score", ColumnKind::F64),
            ("word", ColumnKind::Text),
            ("gone", ColumnKind::F64),
            ("last", ColumnKind::U64),
            ("more", ColumnKind::U64),
        ];
        let header = columns.map(|(name, kind)| Column::new(name, kind));
        let mut table =
            TableWriter::create(&path, "days", header.to_vec(), &[], false).expect("a table");
        for row in 0..ROWS {
            let score = (row % 3 > 0).then_some(1.0 / (row + 1) as f64);
            let last = (row + 1 == ROWS).then_some(row);
            let word = format!("word {}", row % 7);
            let values: [Value; 6] = [
                row.into(),
                score.into(),
                word.into(),
                Value::Null,
                last.into(),
                (row * row).into(),
            ];
            table.push_row(&values).expect("a row");
        }
        table.finish().expect("a file");
        let file = || TableFile::open(&path).expect("a file");
        assert!(file().rows() * columns.len() as u64 >= VALUES_SIDE_BY_SIDE);
        let common = vec![("target".to_owned(), "ffs".to_owned())];
        let part = Part {
            path: path.clone(),
            common,
        };
        let tables = Tables::open(vec![part], None).expect("tables");
        let found: Vec<RecordBatch> = tables.collect::<Result<_, _>>().expect("batches");
        let schema = file().columns().clone();
        let mut one = file().batches(&schema, None, BATCH_ROWS).expect("a reader");
        for batch in &found {
            let expected = one.next_batch().expect("a batch").expect("a batch");
            assert_eq!(batch.column(0).as_string::<i32>().value(0), "ffs");
            for (at, (name, _)) in columns.iter().enumerate() {
                assert_eq!(batch.column(at + 1), expected.column(at), "{name}");
            }
        }
        assert!(one.next_batch().expect("the end").is_none());
        let buffer = |batch: usize, column: usize| found[batch].column(column).to_data();
        for column in [0, 4] {
            let (first, second) = (buffer(0, column), buffer(1, column));
            let (first, second) = (first.buffers(), second.buffers());
            assert_eq!(first[0].as_ptr(), second[0].as_ptr(), "column {column}");
        }
    }

    #[test]
    fn several_files_are_one_table_with_what_tells_them_apart() {
        let folder = tempfile::tempdir().expect("a folder");
        let part = |name: &str, columns: &[&str]| {
            let path = folder.path().join(name);
            let header = columns
                .iter()
                .map(|name| Column::new(*name, ColumnKind::U64))
                .collect();
            let mut table =
                TableWriter::create(&path, "days", header, &[], false).expect("a table");
            let row: Vec<Value> = (0..columns.len()).map(|at| Value::U64(at as u64)).collect();
            table.push_row(&row).expect("a row");
            table.finish().expect("a file");
            let common = vec![("target".to_owned(), name.to_owned())];
            Part { path, common }
        };
        let parts = vec![part("ffs", &["day", "files"]), part("lfs", &["day"])];
        let batches: Vec<RecordBatch> = Tables::open(parts.clone(), None)
            .expect("tables")
            .collect::<Result<_, _>>()
            .expect("batches");
        let names: Vec<String> = batches[0]
            .schema()
            .fields()
            .iter()
            .map(|f| f.name().clone())
            .collect();
        assert_eq!(names, ["target", "day", "files"]);
        let targets: Vec<&str> = batches
            .iter()
            .map(|b| b.column(0).as_string::<i32>().value(0))
            .collect();
        assert_eq!(targets, ["ffs", "lfs"]);
        assert!(
            batches[1].column(2).is_null(0),
            "what a table lacks is null"
        );
        let some = ["files".to_owned()];
        let mut chosen = Tables::open(parts.clone(), Some(&some)).expect("tables");
        assert_eq!(
            chosen
                .next()
                .expect("a batch")
                .expect("a batch")
                .num_columns(),
            1
        );
        let refused = Tables::open(parts, Some(&["layout".to_owned()]))
            .err()
            .expect("no such column");
        assert!(
            refused
                .to_string()
                .contains("no column `layout`; it has target, day, files"),
            "{refused}"
        );
        assert!(Tables::open(Vec::new(), None).is_err());
    }
}
