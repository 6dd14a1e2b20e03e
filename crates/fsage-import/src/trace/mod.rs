//! What all traces share: names and inodes, files that existed before, roots, merging of writes, counts.
//!
//! ```text
//!  log ──lines──> format (strace, nfsdump, op log) ──calls──> Namespace ──changes──> Output ──> events
//!                                                                 └─ first pass ──> Initial ──┘
//! ```
//!
//! A trace shows files that were there before it began. For the workload to be self-contained they must be
//! made at its start, so a log is read twice: the first pass only notes them ([`TraceOptions::only_new`] does
//! without, and leaves them out). Both passes take the same decisions, so both give the same ids. Memory holds
//! names, never the log.
//!
//! Whatever a log says, however damaged it is, the workload made of it replays without a state error: the
//! `Output` keeps what was really written out apart from what the trace makes believe.

mod error;
mod initial;
mod lines;
mod namespace;
mod output;
mod path;
mod summary;

pub use error::TraceError;
pub use lines::Log;
pub use summary::{BadLine, TraceSummary};

pub(crate) use initial::Initial;
pub(crate) use lines::Lines;
pub(crate) use namespace::{Child, DirKey, InodeKey, Namespace};
pub(crate) use output::Writer;
pub(crate) use path::{last_component, normalize, parent};

use fsage_core::{EventSink, SinkError};
use std::io;

/// What to take from a trace, and how.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// Absolute paths of directories; files elsewhere are left out. Empty: everything (of strace logs all but
    /// `/proc`, `/sys` and `/dev`).
    pub roots: Vec<Vec<u8>>,
    /// Leaves out the files that existed before the trace. The log is then read once.
    pub only_new: bool,
    /// Writes to a file are merged with its last one, though others were written in between, within so many
    /// nanoseconds.
    pub merge_ns: i64,
    /// Takes a probable answer where the trace has none (nfsdump: which file a remove removes).
    pub guess: bool,
    /// Local time minus UTC, seconds: where days end.
    pub utc_offset_s: i32,
}

/// One format: reads logs and tells a namespace what happens.
pub(crate) trait Format<'s> {
    /// The namespace that it tells.
    fn namespace(&mut self) -> &mut Namespace<'s>;

    /// Reads one log.
    fn read(
        &mut self,
        log: &mut Log<'_>,
        go_on: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), TraceError>;

    /// The last log has ended.
    fn end(&mut self) {}
}

/// Why a line could not be taken.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The line is not of the format: what was expected.
    Bad(&'static str),
    /// The sink failed.
    Sink(SinkError),
    /// The whole log is of no use: why, and what to do.
    Useless(&'static str),
}

/// Reads a log of lines, of which `take` takes each.
pub(crate) fn read_lines<'s, F: Format<'s>>(
    format: &mut F,
    log: &mut Log<'_>,
    go_on: &mut dyn FnMut() -> io::Result<()>,
    mut take: impl FnMut(&mut F, &[u8]) -> Result<(), Fault>,
) -> Result<(), TraceError> {
    const ASK: u64 = 1 << 12;
    let mut lines = Lines::open(log)?;
    while let Some((number, line)) = lines.next()? {
        if number.is_multiple_of(ASK) {
            go_on().map_err(|source| TraceError::Stopped { source })?;
        }
        format.namespace().summary.lines += 1;
        match take(format, line) {
            Ok(()) => {}
            Err(Fault::Bad(expected)) => {
                let bad = BadLine::new(&lines.name, number, expected, lines.last());
                format.namespace().summary.bad_line(bad);
            }
            Err(Fault::Sink(e)) => return Err(TraceError::Sink(e)),
            Err(Fault::Useless(why)) => {
                return Err(TraceError::Useless {
                    log: lines.name.clone(),
                    line: number,
                    why,
                });
            }
        }
    }
    Ok(())
}

/// Reads all logs once.
fn pass(
    logs: &mut [Log<'_>],
    format: &mut dyn Format<'_>,
    kind: &'static str,
    go_on: &mut dyn FnMut() -> io::Result<()>,
) -> Result<(), TraceError> {
    for log in logs {
        format.read(log, go_on)?;
    }
    format.end();
    let summary = &format.namespace().summary;
    match summary.first_bad.first() {
        Some(first) if summary.bad_lines.saturating_mul(100) > summary.lines => {
            Err(TraceError::TooManyBadLines {
                kind,
                bad: summary.bad_lines,
                lines: summary.lines,
                first: first.to_string(),
            })
        }
        _ => Ok(()),
    }
}

/// Reads logs once or twice, as the options say. `make` makes the format on a namespace, `None` is the first
/// pass.
pub(crate) fn import<'s, F: Format<'s>>(
    logs: &mut [Log<'_>],
    options: &TraceOptions,
    kind: &'static str,
    sink: &'s mut dyn EventSink,
    go_on: &mut dyn FnMut() -> io::Result<()>,
    mut make: impl FnMut(Namespace<'s>, Option<&F>) -> F,
) -> Result<F, TraceError> {
    if options.only_new {
        let mut format = make(Namespace::new(options, Some(sink), None), None);
        pass(logs, &mut format, kind, go_on)?;
        format.namespace().finish().map_err(sink_error)?;
        return Ok(format);
    }
    let mut first = make(Namespace::new(options, None, None), None);
    pass(logs, &mut first, kind, go_on)?;
    let namespace = first.namespace();
    let start_ns = namespace.summary.first_t_ns;
    let initial = namespace.take_initial(start_ns);
    let mut second = Namespace::new(options, Some(sink), Some(initial));
    second.start().map_err(sink_error)?;
    let mut format = make(second, Some(&first));
    drop(first);
    pass(logs, &mut format, kind, go_on)?;
    format.namespace().finish().map_err(sink_error)?;
    Ok(format)
}

fn sink_error(fault: Fault) -> TraceError {
    match fault {
        Fault::Sink(e) => TraceError::Sink(e),
        // What is written out at the start and the end has no line.
        Fault::Bad(why) | Fault::Useless(why) => TraceError::Sink(why.into()),
    }
}
