//! Reads `.ops` text, an event at a time.

use super::error::{Fault, LineFault, OpsError};
use super::{MAX_LINE_BYTES, line, pragma};
use crate::stream::{self, ReadProgress};
use fsage_core::{Event, EventSource, SinkError, WorkloadHeader};
use std::io::{self, BufRead, Read};
use std::path::Path;
use std::str;
use std::sync::Arc;

/// Reads `.ops` text.
///
/// - One line is in memory, never more; lines are at most [`MAX_LINE_BYTES`] long.
/// - After a syntax error the next call goes on with the next line. Nothing of the bad line is kept, not even
///   its time.
#[derive(Debug)]
pub struct OpsReader<R = Box<dyn BufRead + Send>> {
    input: R,
    name: Arc<str>,
    header: WorkloadHeader,
    /// The last line read, without its end.
    text: Vec<u8>,
    line: u64,
    /// The last line was read ahead, for the pragmas, and is still to be parsed.
    pending: bool,
    /// A line was too long to go on.
    overlong: bool,
    t_ns: Option<i64>,
    progress: Option<ReadProgress>,
}

impl OpsReader {
    /// Opens a file, which may be compressed with gzip or zstd: the first bytes decide, not the name. `-` is
    /// standard input.
    ///
    /// # Errors
    /// The file cannot be read, or a pragma is wrong.
    pub fn open(path: impl AsRef<Path>) -> Result<OpsReader, OpsError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let (input, progress) = stream::open(path).map_err(|source| OpsError::Open {
            file: name.as_str().into(),
            source,
        })?;
        let mut reader = OpsReader::new(input, &name)?;
        reader.progress = Some(progress);
        Ok(reader)
    }
}

impl<R: BufRead> OpsReader<R> {
    /// Reads uncompressed text, and the pragmas at its start. `name` is what messages call it.
    ///
    /// # Errors
    /// Reading fails, or a pragma is wrong.
    pub fn new(input: R, name: &str) -> Result<OpsReader<R>, OpsError> {
        let mut reader = OpsReader {
            input,
            name: name.into(),
            header: WorkloadHeader::default(),
            text: Vec::new(),
            line: 0,
            pending: false,
            overlong: false,
            t_ns: None,
            progress: None,
        };
        reader.read_header()?;
        Ok(reader)
    }

    /// What the pragmas say.
    pub fn header(&self) -> &WorkloadHeader {
        &self.header
    }

    /// The last line read, without its end. Empty if it is not UTF-8.
    pub fn line_text(&self) -> &str {
        str::from_utf8(&self.text).unwrap_or_default()
    }

    /// Number of the last line read, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// A line that is not what the grammar says; the next call goes on after it, but nothing is read after a line
    /// that is too long. Or reading fails.
    pub fn next_event(&mut self) -> Result<Option<Event>, OpsError> {
        loop {
            if !self.pending && !self.read_line()? {
                return Ok(None);
            }
            self.pending = false;
            self.check_text()?;
            match line::parse(&self.text) {
                Ok(Some(mut event)) => {
                    event.line = self.line;
                    self.t_ns = event.t_ns.or(self.t_ns);
                    event.t_ns = self.t_ns;
                    return Ok(Some(event));
                }
                Ok(None) if line::pragma(&self.text).is_some() => {
                    let span = 0..self.text.len();
                    let expected = "pragmas before the first operation, or a comment (`# ...`)";
                    return Err(self.fault(LineFault::new(Fault::LatePragma, span, expected)));
                }
                Ok(None) => {}
                Err(fault) => return Err(self.fault(fault)),
            }
        }
    }

    /// Reads up to the first line that is neither blank, nor a comment, nor a pragma.
    fn read_header(&mut self) -> Result<(), OpsError> {
        while self.read_line()? {
            if let Some(key_at) = line::pragma(&self.text) {
                self.check_text()?;
                pragma::apply(&mut self.header, &self.text, key_at)
                    .map_err(|fault| self.fault(fault))?;
                continue;
            }
            let first = self.text.iter().find(|b| !line::is_space(**b));
            if matches!(first, None | Some(b'#')) && self.check_text().is_ok() {
                continue;
            }
            self.pending = true;
            break;
        }
        Ok(())
    }

    /// Reads one line into `text`, cut at the limit; false at the end.
    fn read_line(&mut self) -> Result<bool, OpsError> {
        self.text.clear();
        if self.overlong {
            return Ok(false);
        }
        // One byte over the limit, and CR LF.
        let limit = MAX_LINE_BYTES + 3;
        let read = self
            .input
            .by_ref()
            .take(limit as u64)
            .read_until(b'\n', &mut self.text)
            .map_err(|e| self.io_error(e))?;
        if read == 0 {
            return Ok(false);
        }
        self.line += 1;
        if self.text.last() == Some(&b'\n') {
            self.text.pop();
        } else if read == limit {
            // What has such a line is no script, and may have no end.
            self.overlong = true;
        }
        if self.text.last() == Some(&b'\r') {
            self.text.pop();
        }
        Ok(true)
    }

    /// What holds for whole lines, comments included.
    fn check_text(&self) -> Result<(), OpsError> {
        if self.text.len() > MAX_LINE_BYTES {
            let expected = format!("at most {MAX_LINE_BYTES} bytes in a line");
            return Err(self.fault(LineFault::new(Fault::LineTooLong, 0..40, expected)));
        }
        if let Err(e) = str::from_utf8(&self.text) {
            let at = e.valid_up_to();
            let span = at..at + e.error_len().unwrap_or(1);
            let expected = "UTF-8 (other bytes of a name as \\xhh)";
            return Err(self.fault(LineFault::new(Fault::NotUtf8, span, expected)));
        }
        if self.text.contains(&0) {
            let at = self.text.iter().take_while(|b| **b != 0).count();
            return Err(self.fault(LineFault::new(Fault::Nul, at..at + 1, "text")));
        }
        Ok(())
    }

    fn fault(&self, fault: LineFault) -> OpsError {
        fault.in_line(&self.name, self.line, &self.text)
    }

    fn io_error(&self, source: io::Error) -> OpsError {
        OpsError::Io {
            file: Arc::clone(&self.name),
            line: self.line,
            source,
        }
    }
}

impl<R: BufRead + Send> EventSource for OpsReader<R> {
    fn header(&self) -> &WorkloadHeader {
        &self.header
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        Ok(OpsReader::next_event(self)?)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.progress.as_ref().and_then(ReadProgress::bytes)
    }
}
