//! Inodes that wait on disk: runs of an external sort, and the night before when it is large.

use crate::error::DataError;
use fsage_core::snapshot::Inode;
use fsage_core::{Extent, FileKind};
use fsage_durable::TemporaryFolder;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Buffer of every file that is written or read.
const BUFFER_BYTES: usize = 1 << 16;

/// A folder beside an output, made when it is needed first and removed with all that is in it when it is
/// dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    /// The output it belongs to, which errors name.
    output: PathBuf,
    made: Mutex<Made>,
}

/// What is there of it.
#[derive(Debug, Default)]
struct Made {
    folder: Option<TemporaryFolder>,
    files: u64,
}

impl Scratch {
    pub fn beside(output: &Path) -> Arc<Scratch> {
        Arc::new(Scratch {
            output: output.to_owned(),
            made: Mutex::default(),
        })
    }

    /// The name of a new file.
    fn next(&self) -> Result<PathBuf, DataError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let number = made.files;
        made.files += 1;
        let folder = match &mut made.folder {
            Some(folder) => folder,
            none => none.insert(TemporaryFolder::private(&self.output)?),
        };
        Ok(folder.path().join(number.to_string()))
    }

    fn error(&self, source: io::Error) -> DataError {
        DataError::io(
            &self.output,
            "cannot use a temporary file beside it",
            source,
        )
    }
}

/// Inodes in the order they were given: in memory up to a bound, beyond it in a file.
pub(super) struct Spool {
    scratch: Arc<Scratch>,
    bound_bytes: usize,
    memory: Vec<Inode>,
    memory_bytes: usize,
    file: Option<RunWriter>,
}

impl Spool {
    pub fn new(scratch: &Arc<Scratch>, bound_bytes: usize) -> Spool {
        Spool {
            scratch: Arc::clone(scratch),
            bound_bytes,
            memory: Vec::new(),
            memory_bytes: 0,
            file: None,
        }
    }

    pub fn push(&mut self, inode: Inode) -> Result<(), DataError> {
        if let Some(file) = &mut self.file {
            return file.push(&inode);
        }
        self.memory_bytes += memory_of(&inode);
        self.memory.push(inode);
        if self.memory_bytes > self.bound_bytes {
            let file = self.file.insert(RunWriter::create(&self.scratch)?);
            for inode in self.memory.drain(..) {
                file.push(&inode)?;
            }
        }
        Ok(())
    }

    /// What was given, from the start.
    pub fn read(self) -> Result<SpoolReader, DataError> {
        Ok(match self.file {
            Some(file) => SpoolReader::File(file.finish()?),
            None => SpoolReader::Memory(self.memory.into_iter()),
        })
    }
}

/// Reads a [`Spool`].
pub(super) enum SpoolReader {
    Memory(std::vec::IntoIter<Inode>),
    File(RunReader),
}

impl SpoolReader {
    pub fn next(&mut self) -> Result<Option<Inode>, DataError> {
        match self {
            SpoolReader::Memory(inodes) => Ok(inodes.next()),
            SpoolReader::File(file) => file.next(),
        }
    }
}

/// Bytes of an inode in memory, allocator overhead included, roughly.
pub(super) fn memory_of(inode: &Inode) -> usize {
    let path = inode.path.as_ref().map_or(0, |path| path.len() + 16);
    let extents = inode.extents.as_ref().map_or(0, |e| size_of_val(&**e) + 16);
    size_of::<Inode>() + path + extents
}

/// A file of inodes that is being written.
pub(super) struct RunWriter {
    scratch: Arc<Scratch>,
    path: PathBuf,
    file: BufWriter<File>,
    bytes: Vec<u8>,
}

impl RunWriter {
    pub fn create(scratch: &Arc<Scratch>) -> Result<RunWriter, DataError> {
        let path = scratch.next()?;
        let file = File::create_new(&path).map_err(|e| scratch.error(e))?;
        Ok(RunWriter {
            scratch: Arc::clone(scratch),
            path,
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            bytes: Vec::new(),
        })
    }

    pub fn push(&mut self, inode: &Inode) -> Result<(), DataError> {
        self.bytes.clear();
        encode(&mut self.bytes, inode);
        self.file
            .write_all(&self.bytes)
            .map_err(|e| self.scratch.error(e))
    }

    /// The file from its start; it is removed when the reader is dropped.
    pub fn finish(self) -> Result<RunReader, DataError> {
        let scratch = self.scratch;
        let written = self.file.into_inner();
        written.map_err(|e| scratch.error(e.into_error()))?;
        let file = File::open(&self.path).map_err(|e| scratch.error(e))?;
        Ok(RunReader {
            file: BufReader::with_capacity(BUFFER_BYTES, file),
            path: self.path,
            scratch,
        })
    }
}

/// A file of inodes that is being read.
pub(super) struct RunReader {
    scratch: Arc<Scratch>,
    path: PathBuf,
    file: BufReader<File>,
}

impl RunReader {
    pub fn next(&mut self) -> Result<Option<Inode>, DataError> {
        decode(&mut self.file).map_err(|e| self.scratch.error(e))
    }
}

impl Drop for RunReader {
    fn drop(&mut self) {
        // The folder goes in the end in any case.
        let _ = fs::remove_file(&self.path);
    }
}

/// One inode: a byte of its type, a mask of what is known, then all known values, little endian.
fn encode(to: &mut Vec<u8>, inode: &Inode) {
    let letter = inode.kind.letter() as u8;
    to.push(letter);
    let mask_at = to.len();
    to.extend_from_slice(&[0; 2]);
    to.extend_from_slice(&inode.ino.to_le_bytes());
    to.extend_from_slice(&inode.size_bytes.to_le_bytes());
    to.extend_from_slice(&inode.source_flags.to_le_bytes());
    let mut mask = 0_u16;
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
    for (bit, number) in numbers.into_iter().enumerate() {
        if let Some(number) = number {
            mask |= 1 << bit;
            to.extend_from_slice(&number.to_le_bytes());
        }
    }
    if let Some(path) = &inode.path {
        mask |= PATH;
        to.extend_from_slice(&(path.len() as u64).to_le_bytes());
        to.extend_from_slice(path.as_bytes());
    }
    if let Some(extents) = &inode.extents {
        mask |= EXTENTS;
        to.extend_from_slice(&(extents.len() as u64).to_le_bytes());
        for extent in extents {
            to.extend_from_slice(&extent.logical_bytes.to_le_bytes());
            to.extend_from_slice(&extent.physical_bytes.to_le_bytes());
            to.extend_from_slice(&extent.length_bytes.to_le_bytes());
            to.extend_from_slice(&extent.flags.to_le_bytes());
        }
    }
    to[mask_at..mask_at + 2].copy_from_slice(&mask.to_le_bytes());
}

const PATH: u16 = 1 << 10;
const EXTENTS: u16 = 1 << 11;

/// The next inode; `None` at the end. The files are our own, but somebody may have cut one short.
fn decode(from: &mut BufReader<File>) -> io::Result<Option<Inode>> {
    let mut letter = [0];
    if let Err(e) = from.read_exact(&mut letter) {
        return match e.kind() {
            ErrorKind::UnexpectedEof => Ok(None),
            _ => Err(e),
        };
    }
    let kind = FileKind::from_letter(char::from(letter[0]).encode_utf8(&mut [0; 4]));
    let kind = kind.ok_or_else(garbled)?;
    let mut mask = [0; 2];
    from.read_exact(&mut mask)?;
    let mask = u16::from_le_bytes(mask);
    let mut inode = Inode::new(number(from)?, None, kind, number(from)?);
    inode.source_flags = number_u32(from)?;
    let mut numbers = [None; 10];
    for (bit, value) in numbers.iter_mut().enumerate() {
        if mask & (1 << bit) != 0 {
            *value = Some(number(from)?);
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
        let length = number(from)?;
        let mut path = String::new();
        let read = from.by_ref().take(length).read_to_string(&mut path)?;
        if read as u64 != length {
            return Err(garbled());
        }
        inode.path = Some(path.into());
    }
    if mask & EXTENTS != 0 {
        let mut extents = Vec::new();
        for _ in 0..number(from)? {
            extents.push(Extent {
                logical_bytes: number(from)?,
                physical_bytes: number(from)?,
                length_bytes: number(from)?,
                flags: number_u32(from)?,
            });
        }
        inode.extents = Some(extents.into());
    }
    Ok(Some(inode))
}

fn number(from: &mut BufReader<File>) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn number_u32(from: &mut BufReader<File>) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn garbled() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "a temporary file is garbled")
}
