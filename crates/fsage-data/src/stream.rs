//! Input that may be compressed, with a count of what was read of it.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BUFFER_BYTES: usize = 1 << 17;

/// The first bytes of a gzip file.
pub(crate) const GZIP: &[u8] = &[0x1f, 0x8b];
/// The first bytes of a zstd file.
pub(crate) const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// How much of a file was read, before decompression.
#[derive(Clone, Debug)]
pub struct ReadProgress {
    read: Arc<AtomicU64>,
    total: Option<u64>,
}

impl ReadProgress {
    /// Bytes read of how many; `None` for a pipe.
    pub fn bytes(&self) -> Option<(u64, u64)> {
        let total = self.total?;
        Some((self.read.load(Ordering::Relaxed).min(total), total))
    }
}

/// Opens a file, or standard input for `-`, and decompresses gzip and zstd, which are recognized by their
/// first bytes.
///
/// # Errors
/// The file cannot be opened or read.
pub fn open(path: &Path) -> io::Result<(Box<dyn BufRead + Send>, ReadProgress)> {
    let read = Arc::new(AtomicU64::new(0));
    let input = if path.as_os_str() == "-" {
        fsage_input::stdin()?
    } else {
        fsage_input::stream(path)?
    };
    let total = input.len_bytes();
    let counting = Counting {
        input,
        read: Arc::clone(&read),
    };
    let input = decompress(BufReader::with_capacity(BUFFER_BYTES, counting))?;
    Ok((input, ReadProgress { read, total }))
}

/// Decompresses what starts like gzip or zstd; everything else is given as it is.
///
/// # Errors
/// The first bytes cannot be read.
pub fn decompress(mut input: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let start = input.fill_buf()?;
    Ok(if start.starts_with(GZIP) {
        let decoder = Damaged(MultiGzDecoder::new(input));
        Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
    } else if start.starts_with(ZSTD) {
        let decoder = Damaged(zstd::stream::read::Decoder::with_buffer(input)?);
        Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
    } else {
        Box::new(input)
    })
}

struct Counting<R> {
    input: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Gives errors of a decompressor the kind of bad data, which zstd's do not have: the input is at fault, not
/// the machine.
struct Damaged<R>(R);

impl<R: Read> Read for Damaged<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|e| {
            if e.raw_os_error().is_none() && e.kind() == io::ErrorKind::Other {
                io::Error::new(io::ErrorKind::InvalidData, e)
            } else {
                e
            }
        })
    }
}
