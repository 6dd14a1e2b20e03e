//! Our own operation log, a CSV file: for whatever can be traced and has no importer.
//!
//! A header line, then one event a line, in the order in which they took effect; quoting as in RFC 4180; paths
//! as UTF-8, other bytes as `\xhh`. `#epoch_unix_s=N` before the header says the Unix time of `t_ns` 0.
//!
//! | column | for | meaning |
//! |---|---|---|
//! | `t_ns` | all | nanoseconds |
//! | `op` | all | what was done |
//! | `ret` | all, optional | result; rows with a negative one failed and change nothing |
//! | `path`, or `dir_ino` and `name` | all but `sync` | the file or directory |
//! | `path2`, or `dir_ino2` and `name2` | `rename`, `link` | the new name; of `symlink` optionally the target |
//! | `dev`, `ino`, `gen` | optional | the file: where they are given they identify it, and paths only name it |
//! | `offset`, `length` | `write`, `fallocate`, `punch`; `length` for `truncate` | bytes |
//! | `size` | optional | size after the event; overrides what the other rows add up to |
//! | `pid` | optional | who did it |
//!
//! What can be done: `create`, `open_trunc`, `write`, `truncate`, `fallocate`, `punch`, `unlink`, `rename`, `link`,
//! `symlink`, `mkdir`, `rmdir`, `fsync`, `close`, `sync`.

mod apply;
mod row;

use crate::trace::{
    self, BadLine, Fault, Format, InodeKey, Log, Namespace, TraceError, TraceOptions, TraceSummary,
};
use fsage_core::{EventSink, WorkloadHeader};
use row::Columns;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// What was read and made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpLogSummary {
    /// What every trace has.
    pub trace: TraceSummary,
    /// Columns that mean nothing here.
    pub unknown_columns: Vec<String>,
}

/// What can be said of the workload: its epoch, and where it came from.
///
/// # Errors
/// The log cannot be read, or its epoch is no number.
pub fn header(log: &mut Log<'_>) -> Result<WorkloadHeader, TraceError> {
    let mut input = log.open()?;
    let epoch_unix_s = preamble(&mut input, &log.name)?;
    Ok(WorkloadHeader {
        epoch_unix_s,
        ..header_without_epoch(&log.name)
    })
}

/// What can be said without looking into the log.
pub fn header_without_epoch(name: &str) -> WorkloadHeader {
    WorkloadHeader {
        source: Some(format!("operation log {name}")),
        ..WorkloadHeader::default()
    }
}

/// Reads a log and gives its events to `sink`. Unless [`TraceOptions::only_new`] is set it is read twice. `go_on`
/// is asked now and then.
///
/// # Errors
/// The log cannot be read, lacks a column, more than 1 % of its rows are bad, or the sink failed.
pub fn import(
    logs: &mut [Log<'_>],
    options: &TraceOptions,
    sink: &mut dyn EventSink,
    go_on: &mut dyn FnMut() -> io::Result<()>,
) -> Result<OpLogSummary, TraceError> {
    let make = |ns, _: Option<&OpLog<'_>>| OpLog {
        ns,
        files: FxHashMap::default(),
        dirs: FxHashMap::default(),
        unknown_columns: Vec::new(),
    };
    let made = trace::import(logs, options, "an operation log", sink, go_on, make)?;
    Ok(OpLogSummary {
        trace: made.ns.summary,
        unknown_columns: made.unknown_columns,
    })
}

/// Device, inode number and generation.
type Source = (u64, u64, Option<u32>);

struct OpLog<'s> {
    ns: Namespace<'s>,
    files: FxHashMap<Source, InodeKey>,
    /// Directories by device and inode number.
    dirs: FxHashMap<(u64, u64), trace::DirKey>,
    unknown_columns: Vec<String>,
}

impl<'s> Format<'s> for OpLog<'s> {
    fn namespace(&mut self) -> &mut Namespace<'s> {
        &mut self.ns
    }

    fn read(
        &mut self,
        log: &mut Log<'_>,
        go_on: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), TraceError> {
        let mut input = log.open()?;
        preamble(&mut input, &log.name)?;
        let unread = Rc::new(Cell::new(0));
        let limited = Limited {
            input,
            unread: Rc::clone(&unread),
        };
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .from_reader(limited);
        let failed = |e: csv::Error| TraceError::Read {
            log: log.name.clone(),
            source: e.into(),
        };
        let header = reader.byte_headers().map_err(failed)?.clone();
        let columns =
            Columns::of(&header, &mut self.unknown_columns).map_err(|why| TraceError::Useless {
                log: log.name.clone(),
                line: 1,
                why,
            })?;
        let mut record = csv::ByteRecord::new();
        while reader.read_byte_record(&mut record).map_err(failed)? {
            unread.set(0);
            let number = record.position().map_or(0, csv::Position::line);
            if number.is_multiple_of(1 << 10) {
                go_on().map_err(|source| TraceError::Stopped { source })?;
            }
            self.ns.summary.lines += 1;
            let done = match columns.row(&record) {
                Ok(row) => self.apply(&row),
                Err(expected) => Err(Fault::Bad(expected)),
            };
            match done {
                Ok(()) => {}
                Err(Fault::Sink(e)) => return Err(TraceError::Sink(e)),
                Err(Fault::Bad(expected) | Fault::Useless(expected)) => {
                    let text = record.iter().collect::<Vec<_>>().join(&b',');
                    let bad = BadLine::new(&log.name, number, expected, &text);
                    self.ns.summary.bad_line(bad);
                }
            }
        }
        Ok(())
    }
}

/// Reads the lines before the header: all that start with `#`. The epoch, if they say it.
fn preamble(input: &mut dyn BufRead, log: &str) -> Result<Option<i64>, TraceError> {
    const MOST: u64 = 1 << 12;
    let failed = |source| TraceError::Read {
        log: log.to_owned(),
        source,
    };
    let mut epoch = None;
    let mut number = 0;
    while input.fill_buf().map_err(failed)?.first() == Some(&b'#') {
        number += 1;
        let mut line = Vec::new();
        let mut limited = Read::take(&mut *input, MOST);
        limited.read_until(b'\n', &mut line).map_err(failed)?;
        if let Some(value) = line.strip_prefix(b"#epoch_unix_s=") {
            let text = std::str::from_utf8(value.trim_ascii()).ok();
            let value = text.and_then(|t| t.parse().ok());
            epoch = Some(value.ok_or_else(|| TraceError::Useless {
                log: log.to_owned(),
                line: number,
                why: "#epoch_unix_s= needs seconds since 1970, a whole number",
            })?);
        }
    }
    Ok(epoch)
}

/// Input that fails where one record takes too much of it: a quote that is never closed.
struct Limited<'a> {
    input: Box<dyn BufRead + 'a>,
    /// Bytes read since the last record.
    unread: Rc<Cell<usize>>,
}

impl Read for Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const MOST_BYTES: usize = 1 << 20;
        let n = self.input.read(buffer)?;
        self.unread.set(self.unread.get() + n);
        if self.unread.get() > MOST_BYTES {
            let why = "a row is longer than 1 MiB: is there a quote that is not closed?";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(n)
    }
}
