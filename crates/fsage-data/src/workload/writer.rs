//! Writes a workload as Parquet.

use super::ids::Columns;
use crate::error::DataError;
use crate::parquet_file::{TableOutput, properties};
use crate::schema::{WORKLOAD, header_to_metadata, workload_schema};
use arrow_array::builder::{
    ArrayBuilder, Int64Builder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use fsage_core::names::{check_name, escape};
use fsage_core::{Event, EventSink, Origin, SinkError, TQuality, Verb, WorkloadHeader};
use parquet::basic::Encoding;
use parquet::schema::types::ColumnPath;
use std::path::Path;
use std::sync::Arc;

/// Rows that are handed to the encoder at once.
const BATCH_ROWS: usize = 1 << 14;
/// A row group ends at the first `day` after this many rows, so that a replay can go on from there.
const GROUP_ROWS: usize = 1 << 18;
/// And here in any case.
const GROUP_ROWS_MAX: usize = 1 << 20;

/// Writes a workload as a Parquet file, which gets its name when it is complete.
///
/// `seq` and `day` are counted here. Probes are not stored ([`WorkloadWriter::probes_dropped`]). Equal events
/// make equal bytes.
pub struct WorkloadWriter {
    output: TableOutput,
    schema: SchemaRef,
    rows: Rows,
    seq: u64,
    day: u32,
    probes: u64,
}

impl WorkloadWriter {
    /// Starts a file.
    ///
    /// # Errors
    /// `path` exists and `force` is not set, or the folder cannot be written.
    pub fn create(
        path: impl AsRef<Path>,
        header: &WorkloadHeader,
        force: bool,
    ) -> Result<WorkloadWriter, DataError> {
        let schema: SchemaRef = Arc::new(workload_schema());
        let mut properties = properties(WORKLOAD, header_to_metadata(header));
        // Numbers that mostly grow; for the others a dictionary does better.
        for growing in ["seq", "day", "t_ns", "file_id", "src_ino"] {
            properties = properties
                .set_column_dictionary_enabled(ColumnPath::from(growing), false)
                .set_column_encoding(ColumnPath::from(growing), Encoding::DELTA_BINARY_PACKED);
        }
        let output = TableOutput::create(
            path.as_ref(),
            force,
            Arc::clone(&schema),
            properties.build(),
        )?;
        Ok(WorkloadWriter {
            output,
            schema,
            rows: Rows::default(),
            seq: 0,
            day: 0,
            probes: 0,
        })
    }

    /// Writes one event.
    ///
    /// # Errors
    /// Writing fails, or the event has a name that no directory entry can have.
    pub fn write(&mut self, event: &Event) -> Result<(), DataError> {
        let verb = event.op.verb();
        if verb.is_probe() {
            self.probes += 1;
            return Ok(());
        }
        if verb != Verb::Day
            && let Some(name) = &event.name
        {
            check_name(name).map_err(|fault| DataError::Refused {
                path: self.output.path().to_owned(),
                what: format!("event {} ({verb}): {fault}", self.seq + 1),
            })?;
        }
        self.rows.push(event, self.seq, self.day);
        self.seq += 1;
        if self.rows.len() == BATCH_ROWS {
            self.write_batch()?;
        }
        let group = self.output.rows_in_group() + self.rows.len();
        let day_ends = verb == Verb::Day;
        if (day_ends && group >= GROUP_ROWS) || group >= GROUP_ROWS_MAX {
            self.write_batch()?;
            self.output.end_group()?;
        }
        if day_ends {
            self.day = self.day.checked_add(1).ok_or_else(|| DataError::Refused {
                path: self.output.path().to_owned(),
                what: "more than 2^32 - 1 days".to_owned(),
            })?;
        }
        Ok(())
    }

    /// Events written so far.
    pub fn events(&self) -> u64 {
        self.seq
    }

    /// Probes that were left out.
    pub fn probes_dropped(&self) -> u64 {
        self.probes
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
        if self.rows.len() == 0 {
            return Ok(());
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), self.rows.take())
            .expect("columns in the order and with the types of the schema");
        self.output.write(&batch)
    }
}

impl EventSink for WorkloadWriter {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        Ok(self.write(&event)?)
    }
}

/// Rows in the order of the schema's columns.
#[derive(Default)]
struct Rows {
    seq: UInt64Builder,
    day: UInt32Builder,
    t_ns: Int64Builder,
    op: StringBuilder,
    file_id: UInt64Builder,
    dir_id: UInt64Builder,
    id2: UInt64Builder,
    offset: UInt64Builder,
    length: UInt64Builder,
    name: StringBuilder,
    origin: StringBuilder,
    t_quality: StringBuilder,
    hint_group: UInt32Builder,
    src_ino: UInt64Builder,
    src_gen: UInt32Builder,
    profile_id: UInt32Builder,
    mode: UInt32Builder,
    extra: StringBuilder,
}

impl Rows {
    fn len(&self) -> usize {
        self.seq.len()
    }

    fn push(&mut self, event: &Event, seq: u64, day: u32) {
        let columns = Columns::of(&event.op);
        self.seq.append_value(seq);
        self.day.append_value(day);
        self.t_ns.append_option(event.t_ns);
        self.op.append_value(event.op.verb().as_str());
        self.file_id.append_option(columns.file);
        self.dir_id.append_option(columns.dir);
        self.id2.append_option(columns.id2);
        self.offset.append_option(columns.offset);
        self.length.append_option(columns.length);
        self.name.append_option(event.name.as_deref().map(escape));
        self.origin.append_option(event.origin.map(Origin::as_str));
        self.t_quality
            .append_option(event.t_quality.map(TQuality::as_str));
        self.hint_group.append_option(event.hint_group);
        self.src_ino.append_option(event.src_ino);
        self.src_gen.append_option(event.src_gen);
        self.profile_id.append_option(event.profile_id);
        self.mode.append_option(event.mode);
        self.extra.append_option(event.extra.as_deref());
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        let columns: [&mut dyn ArrayBuilder; 18] = [
            &mut self.seq,
            &mut self.day,
            &mut self.t_ns,
            &mut self.op,
            &mut self.file_id,
            &mut self.dir_id,
            &mut self.id2,
            &mut self.offset,
            &mut self.length,
            &mut self.name,
            &mut self.origin,
            &mut self.t_quality,
            &mut self.hint_group,
            &mut self.src_ino,
            &mut self.src_gen,
            &mut self.profile_id,
            &mut self.mode,
            &mut self.extra,
        ];
        columns.into_iter().map(ArrayBuilder::finish).collect()
    }
}
