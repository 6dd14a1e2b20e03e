//! Lines of a log as bytes, without an allocation a line.

use super::error::TraceError;
use std::io::{self, BufRead};

/// Longer ones are no line of any trace; what is beyond is dropped.
const MOST_BYTES: usize = 1 << 20;

/// A log that can be read more than once.
pub struct Log<'a> {
    pub(crate) name: String,
    open: Box<dyn FnMut() -> io::Result<Box<dyn BufRead + 'a>> + 'a>,
}

impl<'a> Log<'a> {
    /// A log by its name, for messages, and how to open it from its start.
    pub fn new(
        name: impl Into<String>,
        open: impl FnMut() -> io::Result<Box<dyn BufRead + 'a>> + 'a,
    ) -> Log<'a> {
        Log {
            name: name.into(),
            open: Box::new(open),
        }
    }

    /// Opens it from its start.
    pub(crate) fn open(&mut self) -> Result<Box<dyn BufRead + 'a>, TraceError> {
        (self.open)().map_err(|source| TraceError::Read {
            log: self.name.clone(),
            source,
        })
    }

    /// A log in memory.
    pub fn from_bytes(name: impl Into<String>, bytes: &'a [u8]) -> Log<'a> {
        Log::new(name, move || Ok(Box::new(bytes) as Box<dyn BufRead + 'a>))
    }
}

/// The lines of one log.
pub(crate) struct Lines<'a> {
    /// Name of the log.
    pub name: String,
    input: Box<dyn BufRead + 'a>,
    line: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub fn open(log: &mut Log<'a>) -> Result<Lines<'a>, TraceError> {
        Ok(Lines {
            input: log.open()?,
            name: log.name.clone(),
            line: Vec::with_capacity(1 << 12),
            number: 0,
        })
    }

    /// The next line and its number, from 1; without its end (LF or CR LF).
    pub fn next(&mut self) -> Result<Option<(u64, &[u8])>, TraceError> {
        let more = self.read().map_err(|source| TraceError::Read {
            log: self.name.clone(),
            source,
        })?;
        if !more {
            return Ok(None);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(Some((self.number, &self.line)))
    }

    /// The line given last.
    pub fn last(&self) -> &[u8] {
        &self.line
    }

    fn read(&mut self) -> io::Result<bool> {
        self.line.clear();
        let mut any = false;
        loop {
            let bytes = match self.input.fill_buf() {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if bytes.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = memchr::memchr(b'\n', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let room = MOST_BYTES.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_without_their_ends_and_with_their_numbers() {
        let mut log = Log::from_bytes("x", b"a\r\n\nlast");
        let mut lines = Lines::open(&mut log).unwrap();
        let mut read = Vec::new();
        while let Some((n, line)) = lines.next().unwrap() {
            read.push((n, line.to_vec()));
        }
        let expected = [(1, b"a".to_vec()), (2, Vec::new()), (3, b"last".to_vec())];
        assert_eq!(read, expected);
    }

    #[test]
    fn an_endless_line_does_not_fill_memory() {
        let bytes = vec![b'x'; 3 * MOST_BYTES];
        let mut log = Log::from_bytes("x", &bytes);
        let mut lines = Lines::open(&mut log).unwrap();
        assert_eq!(lines.next().unwrap().unwrap().1.len(), MOST_BYTES);
        assert!(lines.next().unwrap().is_none());
    }
}
