//! How far a replay on a real file system has come, kept so that it can be resumed.
//!
//! The workload itself is the log: with the number of events done, and the few of them that did not end plainly, the
//! tables of the replay are made again from its events. The journal holds these two, and the rows of the days that
//! are over. It is one file that only grows; numbers are little-endian, a *varint* has seven bits a byte, the lowest
//! first:
//!
//! ```text
//! header    "fsagejnl"  version u32  length u32  identity  CRC-32 of all of these u32
//! record    length u32  check u32  payload  CRC-32 of the payload u32
//!           check: CRC-32 of the record's place in the file (u64) and of its length
//! payload   kind u8  synced varint  body
//! progress  (kind 1)  events done varint  then for each deviation:
//!                     event varint  outcome u8, 64 added for a size, 128 for another name
//!                     size varint, if any  written varint
//! day       (kind 2)  number varint  events done varint  bytes of the caller
//! ```
//!
//! A day's record counts the events that are done with it, its own `day` among them: whoever has the record knows that
//! the day is over, and that what is missing from the tree, or too much in it, is of a later day.
//!
//! `synced` says how long the file was when it was last known to be on disk. After a power failure, what was written
//! since may be missing or damaged in any order: it is cut off at the first damage, and the run is resumed from
//! there. Damage before that place is another matter, and an error: an intact record knows that the damaged bytes had
//! been safe.

use super::deviation::Deviation;
use fsage_core::Outcome;
use fsage_durable::FileError;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Events that may be done and not yet in the file, where the caller tells of each event or of batches no longer
/// than this.
pub const UNSAID: u64 = 64;

/// Events that a power failure may take out of the file, beside those that are unsaid: it is synced after so many.
pub const UNSYNCED: u64 = 1 << 17;

const MAGIC: &[u8; 8] = b"fsagejnl";
const VERSION: u32 = 2;
/// Bytes of a header before the identity, and of a record before its payload.
const HEADER: usize = 16;
const RECORD: usize = 8;
const CRC: usize = 4;
const PROGRESS: u8 = 1;
const DAY: u8 = 2;
const OTHER_NAME: u8 = 0x80;
const SIZE: u8 = 0x40;
/// Other names that were taken too: up to seven.
const FURTHER_NAMES: u8 = 0x38;

/// Outcomes by their number in the file.
const OUTCOMES: [Outcome; 6] = [
    Outcome::Done,
    Outcome::Ignored,
    Outcome::NoSpace,
    Outcome::NoInode,
    Outcome::TooLarge,
    Outcome::Absent,
];

/// What a journal says of its run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// What the caller gave when the journal was made.
    pub identity: String,
    /// Events of the workload that were done. Up to [`UNSAID`] more may have been (a batch, where the caller tells of
    /// larger ones); after a power failure [`UNSYNCED`] more than that. None of them is behind the next `day`.
    pub events_done: u64,
    /// Those of them that did not end plainly, ascending by event, one for an event.
    pub deviations: Vec<Deviation>,
    /// What the caller gave for each day, from day 0.
    pub days: Vec<Vec<u8>>,
    /// Bytes of the file that are intact, from its start.
    pub intact_bytes: u64,
    /// Something incomplete or damaged comes after them.
    pub torn_tail: bool,
}

impl Recovered {
    /// Reads the bytes of a journal.
    ///
    /// # Errors
    /// They are no journal, or damaged where they had been safe on disk.
    pub fn read(bytes: &[u8]) -> Result<Recovered, Damage> {
        let (identity, start) = read_header(bytes)?;
        let mut state = State::default();
        let mut damaged: Option<usize> = None;
        let mut at = start;
        while at < bytes.len() {
            let Some(payload) = frame(bytes, at) else {
                damaged.get_or_insert(at);
                at += 1;
                continue;
            };
            let entry = intact(bytes, payload.clone()).and_then(read_payload);
            match (entry, damaged) {
                (Some(entry), None) if state.apply(&entry) => {}
                (Some(entry), Some(damaged)) if entry.synced > damaged as u64 => {
                    return Err(Damage::Record {
                        at: damaged as u64,
                        later: at as u64,
                    });
                }
                (Some(_), Some(_)) => {}
                (_, _) => {
                    damaged.get_or_insert(at);
                }
            }
            at = payload.end + CRC;
        }
        Ok(Recovered {
            identity,
            events_done: state.events_done,
            deviations: state.deviations.into_values().collect(),
            days: state.days.into_iter().map(<[u8]>::to_vec).collect(),
            intact_bytes: damaged.unwrap_or(bytes.len()) as u64,
            torn_tail: damaged.is_some(),
        })
    }
}

/// What is wrong with the bytes of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// It begins with something else.
    #[error(
        "not the journal of a run; name the folder of a run, or delete it and make the run again"
    )]
    NotAJournal,
    /// Another version wrote it.
    #[error("version {0} of the journal, which this fsage does not know; use the one that made it")]
    Version(u32),
    /// The header is incomplete or damaged.
    #[error("damaged within its header: it does not say which run this is; make the run again")]
    Header,
    /// Records that had been safe on disk are damaged.
    #[error(
        "damaged at byte {at}, though the record at byte {later} is intact: the disk or another program changed it; \
         take it from a backup, or make the run again"
    )]
    Record {
        /// Where the first damaged record starts.
        at: u64,
        /// An intact record that was written after the damaged one had been synced.
        later: u64,
    },
}

/// A journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// A system call failed. What the file held before is intact.
    #[error("{}: cannot {doing} the journal of the run", .path.display())]
    Io {
        /// The journal.
        path: PathBuf,
        /// What failed.
        doing: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The disk of the run's folder is full. What the file held before is intact.
    #[error("{}: no space left for the journal of the run: make room, then resume the run", .path.display())]
    Full {
        /// The journal.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process has it open.
    #[error("{}: another fsage is at work on this run; wait for it or end it", .path.display())]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// Its bytes are not those of a sound journal.
    #[error("{}: {damage}", .path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// What is wrong.
        damage: Damage,
    },
}

/// A journal that is being written. One process at a time has it open.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Length of what is complete in the file.
    end: u64,
    /// Length that is known to be on disk.
    synced: u64,
    /// The count in the last record.
    said: u64,
    /// The count that is known to be on disk.
    said_safely: u64,
    /// What the next one will say.
    events_done: u64,
    deviations: Vec<Deviation>,
    /// Scratch space for records.
    buffer: Vec<u8>,
}

impl Journal {
    /// Makes the journal of a new run. `identity` is whatever tells the caller later that workload, target and options
    /// are the same. The file is on disk when this returns; whatever happens before, there is none, or a whole one.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn create(path: &Path, identity: &str) -> Result<Journal, JournalError> {
        let failed = |source| JournalError::io(path, "make", source);
        let mut header = Vec::with_capacity(HEADER + identity.len() + CRC);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&length(identity.len()).map_err(failed)?);
        header.extend_from_slice(identity.as_bytes());
        let crc = crc32fast::hash(&header);
        header.extend_from_slice(&crc.to_le_bytes());
        // It has its name when it is complete.
        fsage_durable::write(path, &header, false).map_err(|error| match error {
            FileError::Io { source, .. } => failed(source),
            FileError::Exists { .. } | FileError::Unsuitable { .. } => {
                failed(io::ErrorKind::AlreadyExists.into())
            }
        })?;
        Ok(Journal::open(path)?.0)
    }

    /// Opens the journal of a run that is to be resumed, and cuts off what is not intact at its end.
    ///
    /// # Errors
    /// It cannot be read or written, another process has it open, or it is damaged in a place that had been safe.
    pub fn open(path: &Path) -> Result<(Journal, Recovered), JournalError> {
        let failed = |source| JournalError::io(path, "open", source);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(failed)?;
        lock(&file, path)?;
        let bytes = fs::read(path).map_err(failed)?;
        let recovered = Recovered::read(&bytes).map_err(|damage| JournalError::Damaged {
            path: path.to_owned(),
            damage,
        })?;
        let (end, events_done) = (recovered.intact_bytes, recovered.events_done);
        file.set_len(end).map_err(failed)?;
        let mut journal = Journal::at(file, path, end, events_done);
        journal.sync()?;
        Ok((journal, recovered))
    }

    /// Notes that the first `events_done` events of the workload are done, and how those of them ended that are not
    /// in the journal yet and did not end plainly. It reaches the file with at most [`UNSAID`] others. A count below
    /// an earlier one takes back what was said of the events from there on.
    ///
    /// # Errors
    /// The file cannot be written. Nothing is lost by that: the next call tries again.
    pub fn progress(
        &mut self,
        events_done: u64,
        deviations: &[Deviation],
    ) -> Result<(), JournalError> {
        self.events_done = events_done;
        self.deviations.extend_from_slice(deviations);
        if events_done.abs_diff(self.said) >= UNSAID {
            self.flush()?;
        }
        if self.said.abs_diff(self.said_safely) >= UNSYNCED {
            self.sync()?;
        }
        Ok(())
    }

    /// Notes the end of a day, counted from 0, with whatever the caller wants to have back of it. `events_done` counts
    /// the `day` itself: one record says both. All that was noted is on disk when this returns. The same day noted
    /// again takes the place of the first, and of the days after it.
    ///
    /// # Errors
    /// The file cannot be written. Progress is not lost by that; the day is not noted.
    pub fn day(
        &mut self,
        number: u64,
        events_done: u64,
        payload: &[u8],
    ) -> Result<(), JournalError> {
        self.flush()?;
        self.record(DAY, |body| {
            put_varint(body, number);
            put_varint(body, events_done);
            body.extend_from_slice(payload);
        })?;
        self.said = events_done;
        self.events_done = events_done;
        self.sync()
    }

    /// Hands all progress that was noted to the kernel: it survives the end of this process, not a power failure.
    ///
    /// # Errors
    /// The file cannot be written. Nothing is lost by that: the next call tries again.
    pub fn flush(&mut self) -> Result<(), JournalError> {
        if self.events_done == self.said && self.deviations.is_empty() {
            return Ok(());
        }
        let deviations = std::mem::take(&mut self.deviations);
        let events_done = self.events_done;
        let written = self.record(PROGRESS, |body| {
            put_varint(body, events_done);
            for deviation in &deviations {
                put_deviation(body, deviation);
            }
        });
        self.deviations = deviations;
        written?;
        self.deviations.clear();
        self.said = events_done;
        Ok(())
    }

    fn at(file: File, path: &Path, end: u64, events_done: u64) -> Journal {
        Journal {
            file,
            path: path.to_owned(),
            end,
            synced: 0,
            said: events_done,
            said_safely: events_done,
            events_done,
            deviations: Vec::new(),
            buffer: Vec::new(),
        }
    }

    fn record(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) -> Result<(), JournalError> {
        self.buffer.clear();
        self.buffer.resize(RECORD, 0);
        self.buffer.push(kind);
        put_varint(&mut self.buffer, self.synced);
        body(&mut self.buffer);
        let payload = &self.buffer[RECORD..];
        let crc = crc32fast::hash(payload);
        let length = length(payload.len()).map_err(|e| JournalError::io(&self.path, "write", e))?;
        self.buffer[..CRC].copy_from_slice(&length);
        self.buffer[CRC..RECORD].copy_from_slice(&check(self.end, length).to_le_bytes());
        self.buffer.extend_from_slice(&crc.to_le_bytes());
        self.write()
    }

    /// Appends the buffer in one call. If that fails, the file is what it was.
    fn write(&mut self) -> Result<(), JournalError> {
        if let Err(source) = self.file.write_all_at(&self.buffer, self.end) {
            // What cannot be cut off now is cut off when the run is resumed.
            let _ = self.file.set_len(self.end);
            return Err(JournalError::io(&self.path, "write", source));
        }
        self.end += self.buffer.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        let synced = self.file.sync_data();
        synced.map_err(|e| JournalError::io(&self.path, "sync", e))?;
        self.synced = self.end;
        self.said_safely = self.said;
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Closing would do, if no other thread were just about to start a program with a copy of the descriptor.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl JournalError {
    fn io(path: &Path, doing: &'static str, source: io::Error) -> JournalError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                JournalError::Full { path, source }
            }
            _ => JournalError::Io {
                path,
                doing,
                source,
            },
        }
    }
}

/// What the records so far come to.
#[derive(Default)]
struct State<'a> {
    events_done: u64,
    deviations: BTreeMap<u64, Deviation>,
    days: Vec<&'a [u8]>,
}

impl<'a> State<'a> {
    /// Takes a record in; `false` if it does not follow from those before.
    fn apply(&mut self, entry: &Entry<'a>) -> bool {
        match &entry.body {
            Body::Progress {
                events_done,
                deviations,
            } => {
                for deviation in deviations {
                    self.deviations.insert(deviation.event_index, *deviation);
                }
                self.done(*events_done);
                true
            }
            Body::Day {
                number,
                events_done,
                payload,
            } => {
                let Some(number) = usize::try_from(*number)
                    .ok()
                    .filter(|number| *number <= self.days.len())
                else {
                    return false;
                };
                self.days.truncate(number);
                self.days.push(payload);
                self.done(*events_done);
                true
            }
        }
    }

    fn done(&mut self, events: u64) {
        self.events_done = events;
        self.deviations.split_off(&events);
    }
}

/// A record.
struct Entry<'a> {
    synced: u64,
    body: Body<'a>,
}

enum Body<'a> {
    Progress {
        events_done: u64,
        deviations: Vec<Deviation>,
    },
    Day {
        number: u64,
        events_done: u64,
        payload: &'a [u8],
    },
}

/// The identity, and where records start.
fn read_header(bytes: &[u8]) -> Result<(String, usize), Damage> {
    if bytes.len() < MAGIC.len() && MAGIC.starts_with(bytes) {
        return Err(Damage::Header);
    }
    if !bytes.starts_with(MAGIC) {
        return Err(Damage::NotAJournal);
    }
    let version = u32_at(bytes, MAGIC.len()).ok_or(Damage::Header)?;
    if version != VERSION {
        return Err(Damage::Version(version));
    }
    let length = u32_at(bytes, HEADER - 4).ok_or(Damage::Header)? as usize;
    let end = HEADER.checked_add(length).ok_or(Damage::Header)?;
    let identity = bytes.get(HEADER..end).ok_or(Damage::Header)?;
    if u32_at(bytes, end) != Some(crc32fast::hash(&bytes[..end])) {
        return Err(Damage::Header);
    }
    let identity = str::from_utf8(identity).map_err(|_| Damage::Header)?;
    Ok((identity.to_owned(), end + CRC))
}

/// The payload's range, if a record with a sound length starts here and ends within the file.
fn frame(bytes: &[u8], at: usize) -> Option<std::ops::Range<usize>> {
    let length = u32_at(bytes, at)?;
    if u32_at(bytes, at + CRC)? != check(at as u64, length.to_le_bytes()) {
        return None;
    }
    let start = at + RECORD;
    let end = start.checked_add(length as usize)?;
    (end.checked_add(CRC)? <= bytes.len()).then_some(start..end)
}

/// The payload, if its check sum is right.
fn intact(bytes: &[u8], payload: std::ops::Range<usize>) -> Option<&[u8]> {
    let crc = u32_at(bytes, payload.end)?;
    let payload = &bytes[payload];
    (crc32fast::hash(payload) == crc).then_some(payload)
}

fn read_payload(payload: &[u8]) -> Option<Entry<'_>> {
    let (&kind, mut rest) = payload.split_first()?;
    let synced = take_varint(&mut rest)?;
    let body = match kind {
        PROGRESS => {
            let events_done = take_varint(&mut rest)?;
            let mut deviations = Vec::new();
            while !rest.is_empty() {
                deviations.push(take_deviation(&mut rest)?);
            }
            Body::Progress {
                events_done,
                deviations,
            }
        }
        DAY => Body::Day {
            number: take_varint(&mut rest)?,
            events_done: take_varint(&mut rest)?,
            payload: rest,
        },
        _ => return None,
    };
    Some(Entry { synced, body })
}

fn put_deviation(to: &mut Vec<u8>, deviation: &Deviation) {
    let outcome = OUTCOMES.iter().position(|o| *o == deviation.outcome);
    let mut outcome = outcome.expect("every outcome has a number") as u8;
    if let Some(further) = deviation.other_names.checked_sub(1) {
        outcome |= OTHER_NAME | (further << FURTHER_NAMES.trailing_zeros()) & FURTHER_NAMES;
    }
    if deviation.size_bytes.is_some() {
        outcome |= SIZE;
    }
    put_varint(to, deviation.event_index);
    to.push(outcome);
    if let Some(size_bytes) = deviation.size_bytes {
        put_varint(to, size_bytes);
    }
    put_varint(to, deviation.written_bytes);
}

fn take_deviation(from: &mut &[u8]) -> Option<Deviation> {
    let event_index = take_varint(from)?;
    let (&outcome, rest) = from.split_first()?;
    *from = rest;
    let size_bytes = match outcome & SIZE {
        0 => None,
        _ => Some(take_varint(from)?),
    };
    Some(Deviation {
        event_index,
        outcome: *OUTCOMES.get(usize::from(outcome & !(OTHER_NAME | SIZE | FURTHER_NAMES)))?,
        size_bytes,
        written_bytes: take_varint(from)?,
        other_names: match outcome & OTHER_NAME {
            0 => 0,
            _ => 1 + ((outcome & FURTHER_NAMES) >> FURTHER_NAMES.trailing_zeros()),
        },
    })
}

fn put_varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// `None` if the bytes end within the number or it does not fit 64 bits.
fn take_varint(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        let bits = u64::from(byte & 0x7F);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn length(bytes: usize) -> io::Result<[u8; 4]> {
    let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "over 4 GiB in one record");
    Ok(u32::try_from(bytes).map_err(too_long)?.to_le_bytes())
}

/// Ties a record to its place, so that nothing within a payload, and nothing old, passes for one.
fn check(at: u64, length: [u8; 4]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&at.to_le_bytes());
    crc.update(&length);
    crc.finalize()
}

fn lock(file: &File, path: &Path) -> Result<(), JournalError> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(JournalError::Busy {
            path: path.to_owned(),
        }),
        Err(errno) => Err(JournalError::io(path, "lock", errno.into())),
    }
}
