//! Traces of the Grand Unified File Index (docs/spec/snapshots.md, section 5.3): a line an entry, fields ended by one
//! delimiter byte. Names may hold the delimiter or a newline, so text is read by its length, which stands
//! before it as four hexadecimal digits. The older form has no lengths and is split at the delimiter.
//!
//! Directories come in any order, also over several inputs; all of them are one snapshot. Names start with that
//! of the directory where the trace began, which is taken off.

use super::Input;
use super::error::{At, Place, SnapshotError, shown};
use super::gufi_fields::{FIELDS, Field, KIND, NAME, inode};
use super::night::Nights;
use super::paths::relative;
use super::record::read_record;
use super::summary::Repair;
use fsage_core::names::hex_byte;
use fsage_core::snapshot::SnapshotInfo;
use std::io::{BufRead, Read};
use std::ops::Range;

/// Separates fields, unless said otherwise.
pub(super) const DELIMITER: u8 = 0x1e;
/// The type of a line that names an external database, and has no more fields.
const EXTERNAL: &[u8] = b"e";
/// Digits of the largest number, a sign, and room.
const LONGEST_NUMBER: u64 = 32;

/// Reads the traces of one snapshot, one after another.
pub(super) struct Traces {
    delimiter: u8,
    /// Name of the directory where the trace began.
    root: Option<Vec<u8>>,
}

impl Traces {
    pub fn new(delimiter: u8) -> Traces {
        Traces {
            delimiter,
            root: None,
        }
    }

    /// Reads one trace; the first one says when the snapshot was taken.
    pub fn read(
        &mut self,
        input: &mut Input<'_>,
        taken_at_ns: Option<i64>,
        nights: &mut Nights<'_>,
    ) -> Result<(), SnapshotError> {
        begin(taken_at_ns, nights)?;
        let mut line = Line::default();
        let mut place = Place {
            file: input.name,
            at: At::Record(1),
        };
        for n in 2.. {
            if !line.read(input.bytes, self.delimiter, place)? {
                break;
            }
            self.entry(&line.fields(), place, nights)?;
            place.at = At::Record(n);
        }
        Ok(())
    }

    /// Reads one trace of the older form.
    pub fn read_old(
        &mut self,
        input: &mut Input<'_>,
        taken_at_ns: Option<i64>,
        nights: &mut Nights<'_>,
    ) -> Result<(), SnapshotError> {
        begin(taken_at_ns, nights)?;
        let mut line = Vec::new();
        let mut place = Place {
            file: input.name,
            at: At::Record(1),
        };
        for n in 2.. {
            if !read_record(input.bytes, b'\n', &mut line, place)? {
                break;
            }
            self.entry(&split(&line, self.delimiter, place)?, place, nights)?;
            place.at = At::Record(n);
        }
        Ok(())
    }

    fn entry(
        &mut self,
        fields: &[&[u8]; FIELDS.len()],
        place: Place<'_>,
        nights: &mut Nights<'_>,
    ) -> Result<(), SnapshotError> {
        if fields[KIND] == EXTERNAL {
            nights.summary.count(Repair::ExternalDatabase);
            return Ok(());
        }
        let inode = inode(fields, place, &mut nights.summary)?;
        let path = self.below_root(fields[NAME], place)?;
        nights.row(inode, Some(path))
    }

    /// A path below the starting point: the first component is its name. An absolute name is a path already.
    fn below_root<'n>(
        &mut self,
        name: &'n [u8],
        place: Place<'_>,
    ) -> Result<&'n [u8], SnapshotError> {
        let slash = name.iter().position(|&c| c == b'/');
        let (first, rest) = match slash {
            Some(at) => (&name[..at], &name[at + 1..]),
            None => (name, &b""[..]),
        };
        let root = self.root.get_or_insert_with(|| first.to_vec());
        if root != first {
            return Err(place.bad(
                format!(
                    "a name below {}, where the trace began (one tree a snapshot)",
                    shown(root)
                ),
                shown(name),
            ));
        }
        if name.is_empty() {
            return Err(place.bad("a name", "nothing"));
        }
        Ok(relative(rest))
    }
}

fn begin(taken_at_ns: Option<i64>, nights: &mut Nights<'_>) -> Result<(), SnapshotError> {
    if nights.is_open() {
        return Ok(());
    }
    let info = SnapshotInfo {
        source: "gufi".to_owned(),
        ..SnapshotInfo::default()
    };
    nights.begin(nights.next_snap_id(), taken_at_ns, info)
}

/// Whether bytes start with a line of this form.
pub(super) fn starts_like(head: &[u8], delimiter: u8) -> bool {
    let Some((length, rest)) = head.split_at_checked(4) else {
        return false;
    };
    let name_bytes = hex4([length[0], length[1], length[2], length[3]]).unwrap_or(0);
    let behind = rest.get(usize::from(name_bytes)..).unwrap_or_default();
    name_bytes > 0 && is_kind_field(behind, delimiter)
}

/// Whether bytes start with a line of the older form.
pub(super) fn starts_like_old(head: &[u8], delimiter: u8) -> bool {
    match head.iter().position(|&c| c == delimiter) {
        Some(at) if at > 0 => is_kind_field(&head[at..], delimiter),
        _ => false,
    }
}

fn is_kind_field(bytes: &[u8], delimiter: u8) -> bool {
    matches!(bytes, [before, b'd' | b'f' | b'l' | b'e', after, ..] if [*before, *after] == [delimiter; 2])
}

fn hex4(digits: [u8; 4]) -> Option<u16> {
    let high = hex_byte(digits[0], digits[1])?;
    let low = hex_byte(digits[2], digits[3])?;
    Some(u16::from_be_bytes([high, low]))
}

/// A line whose text is read by its length.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    fields: [Range<usize>; FIELDS.len()],
}

impl Line {
    fn fields(&self) -> [&[u8]; FIELDS.len()] {
        self.fields.clone().map(|range| &self.bytes[range])
    }

    /// Reads the next line; false at the end of the input.
    fn read(
        &mut self,
        input: &mut dyn BufRead,
        delimiter: u8,
        place: Place<'_>,
    ) -> Result<bool, SnapshotError> {
        if input
            .fill_buf()
            .map_err(|e| place.unreadable(e))?
            .is_empty()
        {
            return Ok(false);
        }
        self.bytes.clear();
        self.fields.fill(0..0);
        for (i, (field, what)) in FIELDS.iter().enumerate() {
            let start = self.bytes.len();
            match field {
                Field::Text | Field::Attributes => {
                    let length = self.length(input, what, place)?;
                    self.take(input, u64::from(length), place)?;
                    self.expect(input, delimiter, what, place)?;
                }
                Field::Word => {
                    let mut bounded = input.take(LONGEST_NUMBER);
                    bounded
                        .read_until(delimiter, &mut self.bytes)
                        .map_err(|e| place.unreadable(e))?;
                    if self.bytes.len() == start || self.bytes.last() != Some(&delimiter) {
                        return Err(self.no_delimiter(input, start, what, place));
                    }
                    self.bytes.pop();
                }
            }
            self.fields[i] = start..self.bytes.len();
            if *field == Field::Attributes {
                // Nobody needs them.
                self.bytes.truncate(start);
                self.fields[i] = start..start;
            }
            if i == KIND && &self.bytes[start..] == EXTERNAL {
                break;
            }
        }
        self.expect(input, b'\n', "a line", place)?;
        Ok(true)
    }

    fn length(
        &mut self,
        input: &mut dyn BufRead,
        what: &str,
        place: Place<'_>,
    ) -> Result<u16, SnapshotError> {
        let start = self.bytes.len();
        self.take(input, 4, place)?;
        let digits = &self.bytes[start..];
        let length = hex4([digits[0], digits[1], digits[2], digits[3]]);
        let bad = || place.bad(format!("4 hexadecimal digits before {what}"), shown(digits));
        let length = length.ok_or_else(bad)?;
        self.bytes.truncate(start);
        Ok(length)
    }

    fn take(
        &mut self,
        input: &mut dyn BufRead,
        bytes: u64,
        place: Place<'_>,
    ) -> Result<(), SnapshotError> {
        let read = input
            .take(bytes)
            .read_to_end(&mut self.bytes)
            .map_err(|e| place.unreadable(e))?;
        if (read as u64) < bytes {
            return Err(place.cut_short());
        }
        Ok(())
    }

    /// The byte that must come now.
    fn expect(
        &mut self,
        input: &mut dyn BufRead,
        byte: u8,
        what: &str,
        place: Place<'_>,
    ) -> Result<(), SnapshotError> {
        self.take(input, 1, place)?;
        match self.bytes.pop() {
            Some(found) if found == byte => Ok(()),
            found => Err(place.bad(
                format!("`{}` at the end of {what}", byte.escape_ascii()),
                shown(found.as_slice()),
            )),
        }
    }

    /// A number without an end: the input is at its end, or it is no number.
    fn no_delimiter(
        &self,
        input: &mut dyn BufRead,
        start: usize,
        what: &str,
        place: Place<'_>,
    ) -> SnapshotError {
        match input.fill_buf() {
            Ok([]) => place.cut_short(),
            Ok(_) => place.bad(
                format!("{what} and a delimiter"),
                shown(&self.bytes[start..]),
            ),
            Err(e) => place.unreadable(e),
        }
    }
}

/// The fields of a line of the older form.
fn split<'l>(
    line: &'l [u8],
    delimiter: u8,
    place: Place<'_>,
) -> Result<[&'l [u8]; FIELDS.len()], SnapshotError> {
    let mut fields = [&b""[..]; FIELDS.len()];
    let mut split = line.split(|&c| c == delimiter);
    for (i, field) in fields.iter_mut().enumerate() {
        let (_, what) = FIELDS[i];
        *field = split
            .next()
            .ok_or_else(|| place.bad(what, "the end of the line"))?;
        if i == KIND && *field == EXTERNAL {
            break;
        }
    }
    // The delimiter behind the last field.
    match (split.next(), split.next()) {
        (None | Some([]), None) => Ok(fields),
        _ => Err(place.bad(format!("{} fields", FIELDS.len()), "more")),
    }
}
