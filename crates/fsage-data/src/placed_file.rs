//! A file that several readers read, each at a place of its own. What the Parquet library makes of a `File` moves the
//! one place that all its handles share.

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The file.
#[derive(Clone, Debug)]
pub(crate) struct PlacedFile(Arc<File>);

impl PlacedFile {
    /// Reads what is at a place, as much as comes at once.
    pub fn read_at(&self, to: &mut [u8], at: u64) -> io::Result<usize> {
        self.0.read_at(to, at)
    }
}

impl From<File> for PlacedFile {
    fn from(file: File) -> PlacedFile {
        PlacedFile(Arc::new(file))
    }
}

impl Length for PlacedFile {
    fn len(&self) -> u64 {
        self.0.metadata().map_or(0, |metadata| metadata.len())
    }
}

impl ChunkReader for PlacedFile {
    type T = BufReader<FromPlace>;

    fn get_read(&self, start: u64) -> Result<BufReader<FromPlace>> {
        let file = self.clone();
        Ok(BufReader::new(FromPlace { file, at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // No more than is there, whatever a damaged file says of itself.
        let left = self.len().saturating_sub(start);
        if length as u64 > left {
            let problem = format!("{length} bytes are expected at byte {start}, {left} are there");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem).into());
        }
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// The file from a place on.
pub(crate) struct FromPlace {
    file: PlacedFile,
    at: u64,
}

impl Read for FromPlace {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(to, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
