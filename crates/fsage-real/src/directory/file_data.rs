//! The data of one file: what it should be, whether it is, and writing it.

use super::Data;
use super::content::Content;
use super::headway::Watch;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, ftruncate, seek};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};
use std::ops::Range;
use std::os::fd::BorrowedFd;

/// Bytes that are read at once.
const WINDOW: u64 = 1 << 20;
static ZEROS: [u8; 4096] = [0; 4096];

/// What a regular file should hold.
#[derive(Clone, Copy)]
pub struct FileData<'a> {
    pub content: Content,
    pub size_bytes: u64,
    /// As in [`What::File`](super::expected::What::File).
    pub zeros: &'a [Range<u64>],
}

impl<'a> FileData<'a> {
    /// The ranges between the zeros, up to `end`.
    fn written(self, end: u64) -> impl Iterator<Item = Range<u64>> + use<'a> {
        let starts = std::iter::once(0).chain(self.zeros.iter().map(|zeros| zeros.end));
        let ends = self.zeros.iter().map(|zeros| zeros.start);
        let ends = ends.chain(std::iter::once(self.size_bytes));
        let ranges = starts.zip(ends).map(move |(start, to)| start..to.min(end));
        ranges.filter(|range| range.start < range.end)
    }

    /// Where the first `end` bytes of `file` differ from what they should be; `None` if nowhere. Where nothing was
    /// written and the file system says so, nothing is read.
    pub fn first_difference(
        self,
        file: BorrowedFd<'_>,
        end: u64,
        buffer: &mut Buffer,
        watch: &mut Watch<'_>,
    ) -> Result<Option<u64>, Errno> {
        buffer.held = 0..0;
        let mut at = 0;
        for written in self.written(end).chain(std::iter::once(end..end)) {
            let difference = first_not_zero(file, at..written.start, buffer, watch)?;
            if difference.is_some() {
                return Ok(difference);
            }
            at = written.start;
            while at < written.end && watch.goes_on() {
                let right = self.content.bytes(at, written.end - at);
                let read = buffer.read(file, at, right.len() as u64, end, watch)?;
                if read != right {
                    let same = read.iter().zip(right).take_while(|(a, b)| a == b).count();
                    return Ok(Some(at + same as u64));
                }
                at += right.len() as u64;
            }
        }
        Ok(None)
    }

    /// Writes what belongs behind the first `from` bytes, and sets the size. The file ends at `from`, and has data
    /// there by the same means; or is empty.
    pub fn write(
        self,
        file: BorrowedFd<'_>,
        from: u64,
        data: Data,
        watch: &mut Watch<'_>,
    ) -> Result<(), Errno> {
        for range in self.written(self.size_bytes) {
            let mut at = range.start.max(from);
            match data {
                Data::Write => {
                    while at < range.end {
                        let piece = self.content.bytes(at, range.end - at);
                        let written = retry_on_intr(|| pwrite(file, piece, at))?;
                        at += written as u64;
                        watch.bytes(written as u64);
                    }
                }
                Data::Fallocate if at < range.end => {
                    let length = range.end - at;
                    retry_on_intr(|| fallocate(file, FallocateFlags::empty(), at, length))?;
                }
                Data::Fallocate | Data::Hole => {}
            }
        }
        ftruncate(file, self.size_bytes)
    }
}

/// A window on a file.
pub struct Buffer {
    bytes: Vec<u8>,
    held: Range<u64>,
}

impl Buffer {
    pub fn new() -> Buffer {
        Buffer {
            bytes: vec![0; WINDOW as usize],
            held: 0..0,
        }
    }

    /// `length` bytes at `at`, at most a window; fewer where the file ends. More may be read with them, up to `end`.
    fn read(
        &mut self,
        file: BorrowedFd<'_>,
        at: u64,
        length: u64,
        end: u64,
        watch: &mut Watch<'_>,
    ) -> Result<&[u8], Errno> {
        if at < self.held.start || at + length > self.held.end {
            let wanted = (end - at).min(WINDOW).max(length);
            let mut filled = 0;
            while filled < wanted {
                let rest = &mut self.bytes[filled as usize..wanted as usize];
                let read = retry_on_intr(|| pread(file, &mut *rest, at + filled))? as u64;
                if read == 0 {
                    break;
                }
                filled += read;
                watch.bytes(read);
            }
            self.held = at..at + filled;
        }
        let start = (at - self.held.start) as usize;
        let length = length.min(self.held.end - at) as usize;
        Ok(&self.bytes[start..start + length])
    }
}

/// Where the first byte of a range is that is not zero, or behind the end of the file.
fn first_not_zero(
    file: BorrowedFd<'_>,
    range: Range<u64>,
    buffer: &mut Buffer,
    watch: &mut Watch<'_>,
) -> Result<Option<u64>, Errno> {
    let mut at = range.start;
    while at < range.end && watch.goes_on() {
        match seek(file, SeekFrom::Data(at)) {
            Ok(data) => at = data,
            // Nothing but a hole from here on.
            Err(Errno::NXIO) => return Ok(None),
            // A file system that knows no holes.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(errno),
        }
        if at >= range.end {
            return Ok(None);
        }
        let length = (range.end - at).min(WINDOW);
        let read = buffer.read(file, at, length, range.end, watch)?;
        let zeros = read
            .chunks(ZEROS.len())
            .take_while(|chunk| **chunk == ZEROS[..chunk.len()])
            .map(|chunk| chunk.len() as u64)
            .sum::<u64>();
        let zeros = zeros
            + read[zeros as usize..]
                .iter()
                .take_while(|byte| **byte == 0)
                .count() as u64;
        if zeros < length {
            return Ok(Some(at + zeros));
        }
        at += length;
    }
    Ok(None)
}
