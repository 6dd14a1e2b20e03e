//! Operations that a program in Python makes: one after another, or many at once as batches of Arrow.

use crate::work::refused;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyIterator, PyString, PyTuple};
use pyo3_arrow::input::AnyRecordBatch;
use std::io::{self, BufRead, Read, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

/// Operations that are taken from Python at once: the lock is held for so long.
const AT_ONCE: usize = 4096;

/// Lines of an iterator, as text that is read. An item is a line, or a tuple of its words. An exception of the iterator
/// ends it, and is kept.
pub struct Lines {
    items: Py<PyIterator>,
    text: Vec<u8>,
    /// How much of the text is read.
    at: usize,
    /// Items taken.
    taken: u64,
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
            taken: 0,
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
                self.taken += 1;
                put_line(&mut self.text, &item?, self.taken)?;
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

/// Puts an item behind a text, as a line; `number` is what messages call it.
fn put_line(text: &mut Vec<u8>, item: &Bound<'_, PyAny>, number: u64) -> PyResult<()> {
    let begin = text.len();
    if let Ok(words) = item.cast::<PyTuple>() {
        for (i, word) in words.iter_borrowed().enumerate() {
            if i > 0 {
                text.push(b' ');
            }
            // Most words are numbers, for which Python need not make a text.
            if let Ok(word) = word.cast::<PyString>() {
                text.extend_from_slice(word.to_cow()?.as_bytes());
            } else if let Some(integer) = integer(&word) {
                write!(text, "{integer}")?;
            } else {
                text.extend_from_slice(word.str()?.to_cow()?.as_bytes());
            }
        }
    } else if let Ok(line) = item.cast::<PyString>() {
        text.extend_from_slice(line.to_cow()?.as_bytes());
    } else {
        let problem = format!(
            "operation {number}: expected a line, or a tuple of its words, found {}",
            item.repr()?
        );
        return Err(PyTypeError::new_err(problem));
    }
    if text[begin..].contains(&b'\n') {
        let line = String::from_utf8_lossy(&text[begin..]);
        let problem = format!("operation {number}: expected one line, found several: {line:?}");
        return Err(refused(item.py(), problem));
    }
    text.push(b'\n');
    Ok(())
}

/// An integer that is one, and no bool.
fn integer(word: &Bound<'_, PyAny>) -> Option<u64> {
    word.is_exact_instance_of::<PyInt>()
        .then(|| word.extract().ok())
        .flatten()
}

/// What an iterator of batches raised.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// Batches of an iterator, whose items are tables or batches of any library. All have the columns of the first one.
pub struct Many {
    items: Py<PyIterator>,
    schema: SchemaRef,
    current: Box<dyn RecordBatchReader + Send>,
    /// Items taken.
    taken: u64,
    raised: Raised,
}

impl Many {
    /// Those of an iterator, behind a first one that was taken from it.
    pub fn new(first: AnyRecordBatch, items: Py<PyIterator>, raised: Raised) -> PyResult<Many> {
        let current = first.into_reader()?;
        Ok(Many {
            items,
            schema: current.schema(),
            current,
            taken: 1,
            raised,
        })
    }

    /// The next item; nothing at the end.
    fn take(&mut self) -> PyResult<Option<Box<dyn RecordBatchReader + Send>>> {
        let number = self.taken + 1;
        let item = Python::attach(|py| -> PyResult<_> {
            let item = self.items.bind(py).clone().next().transpose()?;
            let Some(item) = item else {
                return Ok(None);
            };
            let Ok(batches) = item.extract::<AnyRecordBatch>() else {
                let found = item.repr()?;
                let problem = format!("batch {number}: expected a table or a batch, found {found}");
                return Err(PyTypeError::new_err(problem));
            };
            batches.into_reader().map(Some)
        })?;
        self.taken = number;
        let fields = |schema: &SchemaRef| -> Vec<String> {
            let fields = schema.fields().iter();
            fields
                .map(|field| format!("{} {}", field.name(), field.data_type()))
                .collect()
        };
        if let Some(item) = &item
            && fields(&item.schema()) != fields(&self.schema)
        {
            let (found, expected) = (fields(&item.schema()), fields(&self.schema));
            let problem = format!(
                "batch {}: its columns are {}; the first one has {}",
                self.taken,
                found.join(", "),
                expected.join(", ")
            );
            return Err(Python::attach(|py| refused(py, problem)));
        }
        Ok(item)
    }
}

impl Iterator for Many {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        loop {
            if let Some(batch) = self.current.next() {
                return Some(batch);
            }
            match self.take() {
                Ok(item) => self.current = item?,
                Err(error) => {
                    let text = error.to_string();
                    *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return Some(Err(ArrowError::ExternalError(text.into())));
                }
            }
        }
    }
}

impl RecordBatchReader for Many {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
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
