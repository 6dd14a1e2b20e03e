//! Reads a workload from Parquet.

use super::ids::Columns;
use crate::error::DataError;
use crate::parquet_file::{Batches, TableFile, column, required, value_at};
use crate::schema::{OPTIONAL_COLUMNS, WORKLOAD, header_from_metadata, workload_schema};
use arrow_array::{Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use fsage_core::names::{check_name, unescape};
use fsage_core::{Event, EventSource, Origin, SinkError, TQuality, Verb, WorkloadHeader};
use std::path::Path;

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 1 << 13;

/// Reads a workload from a Parquet file, a batch of rows at a time.
pub struct WorkloadReader {
    header: WorkloadHeader,
    batches: Batches,
    events: Events,
    rows_total: u64,
    file_bytes: u64,
}

impl WorkloadReader {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be read, is no workload, or lacks a column.
    pub fn open(path: impl AsRef<Path>) -> Result<WorkloadReader, DataError> {
        let path = path.as_ref();
        let file = TableFile::open_as(path, WORKLOAD)?;
        let schema = workload_schema();
        file.check_columns(&schema, &OPTIONAL_COLUMNS)?;
        let header = header_from_metadata(file.metadata()).map_err(|(key, value)| {
            DataError::unsuitable(path, format!("metadata `{key}` is {value:?}, not a number"))
        })?;
        let rows_total = file.rows();
        let file_bytes = std::fs::metadata(path).map_or(0, |m| m.len());
        Ok(WorkloadReader {
            header,
            batches: file.batches(&schema, None, BATCH_ROWS)?,
            events: Events::default(),
            rows_total,
            file_bytes,
        })
    }

    /// What the metadata say of the workload as a whole.
    pub fn header(&self) -> &WorkloadHeader {
        &self.header
    }

    /// Rows in all.
    pub fn rows_total(&self) -> u64 {
        self.rows_total
    }

    /// The next event; `None` at the end. Its `line` is the row, from 1.
    ///
    /// # Errors
    /// The file is damaged, or a row cannot be right.
    pub fn next_event(&mut self) -> Result<Option<Event>, DataError> {
        let WorkloadReader {
            events, batches, ..
        } = self;
        events.next(batches)
    }
}

/// Where batches of rows come from.
pub(crate) trait NextBatch {
    /// What messages call it.
    fn name(&self) -> &Path;

    /// The next batch, with rows in it and with the columns of a workload; `None` at the end.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, DataError>;
}

impl NextBatch for Batches {
    fn name(&self) -> &Path {
        &self.path
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, DataError> {
        Batches::next_batch(self)
    }
}

/// Events from batches of rows, one at a time.
#[derive(Default)]
pub(crate) struct Events {
    rows: Option<Rows>,
    /// Next row of `rows`.
    at: usize,
    /// Rows given.
    row: u64,
    last_seq: Option<u64>,
}

impl Events {
    /// The next event; `None` at the end.
    pub fn next(&mut self, batches: &mut impl NextBatch) -> Result<Option<Event>, DataError> {
        let rows = match &self.rows {
            Some(rows) if self.at < rows.seq.len() => rows,
            _ => {
                let Some(batch) = batches.next_batch()? else {
                    return Ok(None);
                };
                self.at = 0;
                self.rows.insert(Rows::of(&batch, batches.name())?)
            }
        };
        let row = self.row + 1;
        let event = rows
            .event(self.at, row, self.last_seq)
            .map_err(|problem| DataError::bad_row(batches.name(), row, problem))?;
        self.last_seq = Some(rows.seq.value(self.at));
        self.at += 1;
        self.row = row;
        Ok(Some(event))
    }
}

impl EventSource for WorkloadReader {
    fn header(&self) -> &WorkloadHeader {
        &self.header
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        Ok(WorkloadReader::next_event(self)?)
    }

    /// Bytes in proportion to the rows: Parquet is not read from front to back.
    fn progress(&self) -> Option<(u64, u64)> {
        let done = u128::from(self.file_bytes) * u128::from(self.events.row);
        let done = done.checked_div(u128::from(self.rows_total))?;
        Some((
            done.min(u128::from(self.file_bytes)) as u64,
            self.file_bytes,
        ))
    }
}

/// The columns of a batch; what a workload need not say, where it says it anywhere in these rows.
struct Rows {
    seq: UInt64Array,
    t_ns: Option<Int64Array>,
    op: StringArray,
    file_id: Option<UInt64Array>,
    dir_id: Option<UInt64Array>,
    id2: Option<UInt64Array>,
    offset: Option<UInt64Array>,
    length: Option<UInt64Array>,
    name: Option<StringArray>,
    origin: Option<StringArray>,
    t_quality: Option<StringArray>,
    hint_group: Option<UInt32Array>,
    src_ino: Option<UInt64Array>,
    src_gen: Option<UInt32Array>,
    profile_id: Option<UInt32Array>,
    mode: Option<UInt32Array>,
    extra: Option<StringArray>,
}

/// Leaves a column of nothing out.
fn filled<A: Array>(column: A) -> Option<A> {
    (column.null_count() < column.len()).then_some(column)
}

/// The value of such a column in a row.
macro_rules! known_at {
    ($column:expr, $row:expr) => {
        $column.as_ref().and_then(|column| value_at!(column, $row))
    };
}

impl Rows {
    fn of(batch: &RecordBatch, path: &Path) -> Result<Rows, DataError> {
        Ok(Rows {
            seq: required(batch, "seq", path)?,
            t_ns: filled(required(batch, "t_ns", path)?),
            op: required(batch, "op", path)?,
            file_id: filled(required(batch, "file_id", path)?),
            dir_id: filled(required(batch, "dir_id", path)?),
            id2: filled(required(batch, "id2", path)?),
            offset: filled(required(batch, "offset_bytes", path)?),
            length: filled(required(batch, "length_bytes", path)?),
            name: filled(required(batch, "name", path)?),
            origin: filled(required(batch, "origin", path)?),
            t_quality: filled(required(batch, "t_quality", path)?),
            hint_group: filled(required(batch, "hint_group", path)?),
            src_ino: filled(required(batch, "src_ino", path)?),
            src_gen: filled(required(batch, "src_gen", path)?),
            profile_id: filled(required(batch, "profile_id", path)?),
            mode: column(batch, "mode").and_then(filled),
            extra: column(batch, "extra").and_then(filled),
        })
    }

    /// The event of a row; else what is wrong with it.
    fn event(&self, at: usize, row: u64, last_seq: Option<u64>) -> Result<Event, String> {
        let seq = value_at!(self.seq, at).ok_or("`seq` is null")?;
        if last_seq.is_some_and(|last| seq <= last) {
            return Err(format!(
                "`seq` is {seq}, not over that of the row before: sort the rows by it"
            ));
        }
        let word = value_at!(self.op, at).ok_or("`op` is null")?;
        let verb =
            Verb::parse(word).ok_or_else(|| format!("unknown operation {word:?} in `op`"))?;
        let columns = Columns {
            file: known_at!(self.file_id, at),
            dir: known_at!(self.dir_id, at),
            id2: known_at!(self.id2, at),
            offset: known_at!(self.offset, at),
            length: known_at!(self.length, at),
        };
        // Who takes it for the new directory would get another tree, and never know.
        if matches!(verb, Verb::Mkdir | Verb::Rmdir | Verb::RenameDir)
            && let Some(file @ 1..) = columns.file
        {
            return Err(format!(
                "`{verb}` has its directory in `dir_id` and a parent in `id2`, and takes no `file_id`, which is {file}"
            ));
        }
        let op = columns
            .operation(verb)
            .map_err(|column| format!("`{verb}` needs `{column}`, which is null"))?
            .ok_or_else(|| format!("`{verb}` is a probe, which only text may have"))?;
        let mut event = Event::new(op);
        event.line = row;
        event.t_ns = known_at!(self.t_ns, at);
        event.name = known_at!(self.name, at)
            .map(|text| name(text, verb))
            .transpose()?;
        event.origin = parsed(known_at!(self.origin, at), "origin", Origin::parse)?;
        event.t_quality = parsed(known_at!(self.t_quality, at), "t_quality", TQuality::parse)?;
        event.hint_group = known_at!(self.hint_group, at);
        event.src_ino = known_at!(self.src_ino, at);
        event.src_gen = known_at!(self.src_gen, at);
        event.profile_id = known_at!(self.profile_id, at);
        event.mode = known_at!(self.mode, at);
        event.extra = known_at!(self.extra, at).map(Box::from);
        Ok(event)
    }
}

fn name(text: &str, verb: Verb) -> Result<Box<[u8]>, String> {
    let bytes = unescape(text).ok_or_else(|| {
        format!(
            "`name` is {text:?}, where a backslash is not followed by x and two hexadecimal digits"
        )
    })?;
    if verb != Verb::Day {
        check_name(&bytes).map_err(|fault| format!("`name` is {text:?}: {fault}"))?;
    }
    Ok(bytes)
}

fn parsed<T>(
    text: Option<&str>,
    column: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, String> {
    text.map(|text| parse(text).ok_or_else(|| format!("unknown word {text:?} in `{column}`")))
        .transpose()
}
