//! Inodes that wait as bytes: in memory, and in files without a name where they are too many for it.

use crate::error::DataError;
use fsage_core::snapshot::Inode;
use fsage_core::{Extent, FileKind};
use fsage_durable::{parent_of, unnamed_file};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

/// Buffer of every file that is written or read.
const BUFFER_BYTES: usize = 1 << 16;

/// Where files are made: in the folder of an output. Nobody else sees them, and they go with the process.
#[derive(Clone, Debug)]
pub(super) struct Scratch(Arc<Path>);

impl Scratch {
    pub fn beside(output: &Path) -> Scratch {
        Scratch(output.into())
    }

    /// What using a file failed with.
    fn error(&self, source: io::Error) -> DataError {
        let action = match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "no room to sort the rows of a snapshot, which takes about 200 bytes a row beside the output: make \
                 room there, or name an output on another file system"
            }
            _ => "cannot use a temporary file there",
        };
        DataError::io(parent_of(&self.0), action, source)
    }
}

/// Inodes in the order they were given: in memory up to a bound, beyond it in a file.
pub(super) struct Spool {
    scratch: Scratch,
    bound_bytes: usize,
    memory: Vec<u8>,
    file: Option<RunWriter>,
}

impl Spool {
    pub fn new(scratch: &Scratch, bound_bytes: usize) -> Spool {
        Spool {
            scratch: scratch.clone(),
            bound_bytes,
            memory: Vec::new(),
            file: None,
        }
    }

    pub fn push(&mut self, inode: &Inode) -> Result<(), DataError> {
        encode(&mut self.memory, inode);
        if self.memory.len() > self.bound_bytes {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(RunWriter::create(&self.scratch)?),
            };
            file.push(&self.memory)?;
            self.memory.clear();
        }
        Ok(())
    }

    /// What was given, from the start.
    pub fn read(self) -> Result<SpoolReader, DataError> {
        let file = self.file.map(RunWriter::finish).transpose()?;
        Ok(SpoolReader {
            file,
            memory: self.memory,
            at: 0,
        })
    }
}

/// Reads a [`Spool`].
pub(super) struct SpoolReader {
    file: Option<RunReader>,
    /// What comes behind the file.
    memory: Vec<u8>,
    at: usize,
}

impl SpoolReader {
    pub fn next(&mut self) -> Result<Option<Inode>, DataError> {
        if let Some(file) = &mut self.file {
            if let Some(inode) = file.next()? {
                return Ok(Some(inode));
            }
            self.file = None;
        }
        let row = row_at(&self.memory, self.at);
        self.at += row.len();
        Ok(decode(row))
    }
}

/// A file of inodes that is being written.
pub(super) struct RunWriter {
    scratch: Scratch,
    file: BufWriter<File>,
}

impl RunWriter {
    pub fn create(scratch: &Scratch) -> Result<RunWriter, DataError> {
        Ok(RunWriter {
            file: BufWriter::with_capacity(BUFFER_BYTES, unnamed_file(&scratch.0)?),
            scratch: scratch.clone(),
        })
    }

    /// Writes inodes as [`encode`] makes them.
    pub fn push(&mut self, rows: &[u8]) -> Result<(), DataError> {
        let written = self.file.write_all(rows);
        written.map_err(|e| self.scratch.error(e))
    }

    /// The file from its start.
    pub fn finish(self) -> Result<RunReader, DataError> {
        let scratch = self.scratch;
        let written = self
            .file
            .into_inner()
            .map_err(io::IntoInnerError::into_error);
        let rewound = written.and_then(|mut file| file.rewind().map(|()| file));
        Ok(RunReader {
            file: BufReader::with_capacity(BUFFER_BYTES, rewound.map_err(|e| scratch.error(e))?),
            row: Vec::new(),
            scratch,
        })
    }
}

/// A file of inodes that is being read.
pub(super) struct RunReader {
    scratch: Scratch,
    file: BufReader<File>,
    row: Vec<u8>,
}

impl RunReader {
    pub fn next(&mut self) -> Result<Option<Inode>, DataError> {
        self.read_row().map_err(|e| self.scratch.error(e))
    }

    fn read_row(&mut self) -> io::Result<Option<Inode>> {
        if self.file.fill_buf()?.is_empty() {
            return Ok(None);
        }
        self.row.resize(LENGTH_BYTES, 0);
        self.file.read_exact(&mut self.row)?;
        let length = length_of(&self.row);
        self.row.resize(length, 0);
        self.file.read_exact(&mut self.row[LENGTH_BYTES..])?;
        let inode = decode(&self.row);
        Ok(Some(inode.ok_or(ErrorKind::InvalidData)?))
    }
}

/// Bytes of the length in front of every inode, which counts itself.
const LENGTH_BYTES: usize = 8;
const EXTENT_BYTES: usize = 28;
/// Bits of the mask for what is no number.
const PATH: u16 = 1 << 10;
const EXTENTS: u16 = 1 << 11;

/// Appends an inode: its length, the letter of its type, a mask of what is known, then all known values, little endian.
pub(super) fn encode(to: &mut Vec<u8>, inode: &Inode) {
    let start = to.len();
    let numbers = [
        inode.generation.map(u64::from),
        inode.alloc_bytes,
        inode.ctime_ns.map(i64::cast_unsigned),
        inode.mtime_ns.map(i64::cast_unsigned),
        inode.btime_ns.map(i64::cast_unsigned),
        inode.links.map(u64::from),
        inode.mode.map(u64::from),
        inode.uid.map(u64::from),
        inode.gid.map(u64::from),
        inode.parent_ino,
    ];
    let known = numbers.iter().enumerate();
    let mask = known.fold(0, |mask, (bit, number)| {
        mask | u16::from(number.is_some()) << bit
    });
    let mask = mask
        | if inode.path.is_some() { PATH } else { 0 }
        | if inode.extents.is_some() { EXTENTS } else { 0 };
    to.extend_from_slice(&[0; LENGTH_BYTES]);
    to.push(inode.kind.letter() as u8);
    to.extend_from_slice(&mask.to_le_bytes());
    to.extend_from_slice(&inode.ino.to_le_bytes());
    to.extend_from_slice(&inode.size_bytes.to_le_bytes());
    to.extend_from_slice(&inode.source_flags.to_le_bytes());
    for number in numbers.into_iter().flatten() {
        to.extend_from_slice(&number.to_le_bytes());
    }
    if let Some(path) = &inode.path {
        to.extend_from_slice(&(path.len() as u64).to_le_bytes());
        to.extend_from_slice(path.as_bytes());
    }
    if let Some(extents) = &inode.extents {
        // They reach to the end.
        for extent in extents {
            to.extend_from_slice(&extent.logical_bytes.to_le_bytes());
            to.extend_from_slice(&extent.physical_bytes.to_le_bytes());
            to.extend_from_slice(&extent.length_bytes.to_le_bytes());
            to.extend_from_slice(&extent.flags.to_le_bytes());
        }
    }
    let length = (to.len() - start) as u64;
    to[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
}

/// The bytes of the inode that starts at a place; none at the end.
pub(super) fn row_at(rows: &[u8], at: usize) -> &[u8] {
    let rows = &rows[at..];
    &rows[..length_of(rows)]
}

fn length_of(row: &[u8]) -> usize {
    row.first_chunk()
        .map_or(0, |length| u64::from_le_bytes(*length) as usize)
}

/// The inode that [`encode`] made these bytes of.
pub(super) fn decode(row: &[u8]) -> Option<Inode> {
    let mut from = Bytes(row.get(LENGTH_BYTES..)?);
    let [letter] = from.take()?;
    let kind = FileKind::from_letter(char::from(letter).encode_utf8(&mut [0; 4]))?;
    let mask = u16::from_le_bytes(from.take()?);
    let mut inode = Inode::new(from.u64()?, None, kind, from.u64()?);
    inode.source_flags = from.u32()?;
    let mut numbers = [None; 10];
    for (bit, number) in numbers.iter_mut().enumerate() {
        if mask & (1 << bit) != 0 {
            *number = Some(from.u64()?);
        }
    }
    let small = |n: Option<u64>| n.map(|n| n as u32);
    let time = |n: Option<u64>| n.map(u64::cast_signed);
    inode.generation = small(numbers[0]);
    inode.alloc_bytes = numbers[1];
    inode.ctime_ns = time(numbers[2]);
    inode.mtime_ns = time(numbers[3]);
    inode.btime_ns = time(numbers[4]);
    inode.links = small(numbers[5]);
    inode.mode = small(numbers[6]);
    inode.uid = small(numbers[7]);
    inode.gid = small(numbers[8]);
    inode.parent_ino = numbers[9];
    if mask & PATH != 0 {
        let length = from.u64()? as usize;
        let (path, rest) = from.0.split_at_checked(length)?;
        inode.path = Some(str::from_utf8(path).ok()?.into());
        from = Bytes(rest);
    }
    if mask & EXTENTS != 0 {
        let mut extents = Vec::with_capacity(from.0.len() / EXTENT_BYTES);
        while !from.0.is_empty() {
            extents.push(Extent {
                logical_bytes: from.u64()?,
                physical_bytes: from.u64()?,
                length_bytes: from.u64()?,
                flags: from.u32()?,
            });
        }
        inode.extents = Some(extents.into());
    }
    Some(inode)
}

/// What is left of the bytes of an inode.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }
}
