//! Operations that a program in Python makes, one after another, as text.

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyString, PyTuple};
use std::io::{self, BufRead, Read};

/// Operations that are taken from Python at once: the lock is held for so long.
const AT_ONCE: usize = 4096;

/// Lines of an iterator, as text that is read. An item is a line, or a tuple of its words. An exception of the iterator
/// ends it, and is kept.
pub struct Lines {
    items: Py<PyIterator>,
    text: Vec<u8>,
    /// How much of the text is read.
    at: usize,
    /// What the iterator raised.
    pub raised: Option<PyErr>,
}

impl Lines {
    /// Those of an iterator.
    pub fn new(items: Py<PyIterator>) -> Lines {
        Lines {
            items,
            text: Vec::new(),
            at: 0,
            raised: None,
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.at = 0;
        if self.raised.is_some() {
            return Ok(());
        }
        let taken = Python::attach(|py| -> PyResult<()> {
            let mut items = self.items.bind(py).clone();
            for _ in 0..AT_ONCE {
                let Some(item) = items.next() else {
                    break;
                };
                self.text.extend(line(&item?)?.bytes());
                self.text.push(b'\n');
            }
            Ok(())
        });
        taken.map_err(|error| {
            let text = error.to_string();
            self.raised = Some(error);
            io::Error::new(io::ErrorKind::InvalidData, text)
        })
    }
}

/// The line of an item.
fn line(item: &Bound<'_, PyAny>) -> PyResult<String> {
    let line = match item.cast::<PyTuple>() {
        Ok(words) => {
            let words = words.iter().map(|word| Ok(word.str()?.to_string()));
            words.collect::<PyResult<Vec<String>>>()?.join(" ")
        }
        Err(_) => item.cast::<PyString>()?.to_string(),
    };
    if line.contains('\n') {
        let problem = format!("an operation is one line, and {line:?} is several");
        return Err(pyo3::exceptions::PyValueError::new_err(problem));
    }
    Ok(line)
}

impl Read for Lines {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let from = self.fill_buf()?;
        let bytes = from.len().min(to.len());
        to[..bytes].copy_from_slice(&from[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}

impl BufRead for Lines {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.text.len() {
            self.refill()?;
        }
        Ok(&self.text[self.at..])
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes;
    }
}
