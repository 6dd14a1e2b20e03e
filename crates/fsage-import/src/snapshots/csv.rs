//! Snapshots as a table in text: comma or tab separated, with a header that names the columns (snapshot format,
//! section 5.2). With a column `snap_id` or `taken_at` one table holds many snapshots: the rows of a night are
//! together, in any order.
//!
//! Columns have the names of our own schema, or one of the aliases in [`columns`]. Paths are escaped as there;
//! a path that is not is taken as it is, and counted.

mod columns;
mod rows;

use super::Input;
use super::error::{At, Place, SnapshotError, shown};
use super::night::Nights;
use super::record::LONGEST_BYTES;
use super::summary::Repair;
use ::csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use columns::Columns;
use fsage_core::snapshot::SnapshotInfo;
use rows::Row;
use std::cell::Cell;
use std::error::Error;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// Reads one table. `taken_at_ns` is the time of a table that is one snapshot and does not say its time.
pub(super) fn read(
    input: &mut Input<'_>,
    taken_at_ns: Option<i64>,
    nights: &mut Nights<'_>,
) -> Result<(), SnapshotError> {
    let file = input.name;
    let mut table = Table::open(input.bytes, file)?;
    let place = table.place;
    if !table.next()? {
        return Err(place.unusable("is empty: the first line must name the columns"));
    }
    let columns = Columns::of_header(&table.record, place, &mut nights.summary)?;
    let first_id = nights.next_snap_id();
    let series = columns.snap_id.is_some() || columns.taken_at.is_some();
    let mut night: Option<NightKey> = None;
    let mut rows = 0_u64;
    while table.next()? {
        let place = table.place;
        let row = Row::parse(&table.record, &columns, place, &mut nights.summary)?;
        let key = NightKey {
            snap_id: row.snap_id,
            taken_at_ns: row.taken_at_ns,
        };
        match night {
            Some(now) if now.holds(key) => {
                if now.taken_at_ns != key.taken_at_ns {
                    nights.summary.count(Repair::TakenAtDiffers);
                }
            }
            _ => {
                key.must_follow(night, place)?;
                let snap_id = match key.snap_id {
                    // The numbers of the first table are its own; those of further ones go on.
                    Some(id) => id.checked_add(first_id).ok_or_else(|| {
                        place.bad(
                            "a snap_id in 32 bits, those of earlier tables added",
                            id.to_string(),
                        )
                    })?,
                    None => nights.next_snap_id(),
                };
                let at = if series { key.taken_at_ns } else { taken_at_ns };
                let info = SnapshotInfo {
                    source: "find".to_owned(),
                    ..SnapshotInfo::default()
                };
                nights.begin(snap_id, at, info)?;
                night = Some(key);
            }
        }
        nights.row(row.inode, row.path.as_deref())?;
        rows += 1;
    }
    if rows == 0 {
        return Err(place.unusable("has a header and no row"));
    }
    nights.end()
}

/// Whether bytes start with a header that names columns of ours.
pub(super) fn starts_like(head: &[u8]) -> bool {
    let line = head.split(|&c| c == b'\n').next().unwrap_or_default();
    let delimiter = delimiter(line);
    let names = line.split(|&c| c == delimiter);
    names.filter(|name| columns::is_known(name)).count() >= 2
}

/// The time of the first snapshot of a series, if its first row tells it.
pub(super) fn time_ns(mut head: &[u8]) -> Option<i64> {
    let mut table = Table::open(&mut head, "").ok()?;
    let summary = &mut super::Summary::default();
    let next = |table: &mut Table<'_>| table.next().ok()?.then_some(());
    next(&mut table)?;
    let columns = Columns::of_header(&table.record, table.place, summary).ok()?;
    next(&mut table)?;
    let row = Row::parse(&table.record, &columns, table.place, summary);
    row.ok()?.taken_at_ns
}

/// What tells the rows of one night from those of another.
#[derive(Clone, Copy)]
struct NightKey {
    snap_id: Option<u32>,
    taken_at_ns: Option<i64>,
}

impl NightKey {
    /// Whether a row with that key belongs to the same night.
    fn holds(self, row: NightKey) -> bool {
        match self.snap_id {
            Some(_) => self.snap_id == row.snap_id,
            None => self.taken_at_ns == row.taken_at_ns,
        }
    }

    /// A night comes after the one before: otherwise its rows are not together.
    fn must_follow(self, before: Option<NightKey>, place: Place<'_>) -> Result<(), SnapshotError> {
        let Some(before) = before else {
            return Ok(());
        };
        let (column, before, after) = match (before.snap_id, self.snap_id) {
            (Some(before), Some(after)) => ("snap_id", i64::from(before), i64::from(after)),
            _ => (
                "taken_at",
                before.taken_at_ns.unwrap_or(i64::MIN) / 1_000_000_000,
                self.taken_at_ns.unwrap_or(i64::MIN) / 1_000_000_000,
            ),
        };
        if after >= before {
            return Ok(());
        }
        Err(place.bad(
            format!("a {column} of at least {before}: rows of a night are together, nights ascend"),
            after.to_string(),
        ))
    }
}

/// The records of a table, one at a time.
struct Table<'a> {
    reader: Reader<Bounded<'a>>,
    left: Rc<Cell<u64>>,
    record: ByteRecord,
    /// The line that `record` starts on.
    place: Place<'a>,
}

impl<'a> Table<'a> {
    fn open(bytes: &'a mut dyn BufRead, file: &'a str) -> Result<Table<'a>, SnapshotError> {
        let place = Place {
            file,
            at: At::Header,
        };
        let head = bytes.fill_buf().map_err(|e| place.unreadable(e))?;
        let line = head.split(|&c| c == b'\n').next().unwrap_or_default();
        let delimiter = delimiter(line);
        let left = Rc::new(Cell::new(LONGEST_BYTES));
        let bounded = Bounded {
            bytes,
            left: Rc::clone(&left),
        };
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            // Fields between tabs are never quoted.
            .quoting(delimiter == b',')
            .from_reader(bounded);
        Ok(Table {
            reader,
            left,
            record: ByteRecord::new(),
            place,
        })
    }

    fn next(&mut self) -> Result<bool, SnapshotError> {
        self.left.set(LONGEST_BYTES);
        let before = self.reader.position().line();
        match self.reader.read_byte_record(&mut self.record) {
            Ok(more) => {
                let line = self.record.position().map_or(before, ::csv::Position::line);
                self.place.at = At::Line(line);
                Ok(more)
            }
            Err(e) => {
                self.place.at = At::Line(before);
                Err(match e.into_kind() {
                    ErrorKind::Io(e) if is_too_long(&e) => self.place.bad(
                        format!("a row within {LONGEST_BYTES} bytes"),
                        "more: a quote that does not end?",
                    ),
                    ErrorKind::Io(e) => self.place.unreadable(e),
                    other => self.place.bad("a row", format!("{other:?}")),
                })
            }
        }
    }
}

/// A header with tabs and no comma is tab separated.
fn delimiter(header: &[u8]) -> u8 {
    if header.contains(&b'\t') && !header.contains(&b',') {
        b'\t'
    } else {
        b','
    }
}

/// Bytes of the input until a row has taken too many of them.
struct Bounded<'a> {
    bytes: &'a mut dyn BufRead,
    left: Rc<Cell<u64>>,
}

#[derive(Debug, thiserror::Error)]
#[error("a row is too long")]
struct TooLong;

fn is_too_long(e: &io::Error) -> bool {
    e.get_ref()
        .is_some_and(<dyn Error + Send + Sync>::is::<TooLong>)
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.get() == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, TooLong));
        }
        let n = self.bytes.read(buffer)?;
        self.left.set(self.left.get().saturating_sub(n as u64));
        Ok(n)
    }
}

/// A field for a message about one column.
fn bad_field(place: Place<'_>, column: &str, expected: &str, found: &[u8]) -> SnapshotError {
    place.bad(format!("{expected} in column {column}"), shown(found))
}
