//! One row of a table as an inode.

use super::bad_field;
use super::columns::{Column, Columns, Unit};
use crate::snapshots::error::{Place, SnapshotError, shown};
use crate::snapshots::number::{self, Fraction, decimal, decimal_u32, full_mode, octal, signed};
use crate::snapshots::summary::{Repair, Summary};
use ::csv::ByteRecord;
use fsage_core::layout::{Extent, FileKind};
use fsage_core::names::{escape, unescape};
use fsage_core::snapshot::{Inode, source_flags};
use std::borrow::Cow;

/// A row: an inode without its path, and the night it belongs to.
pub(super) struct Row<'r> {
    pub snap_id: Option<u32>,
    pub taken_at_ns: Option<i64>,
    pub inode: Inode,
    /// Bytes, not escaped.
    pub path: Option<Cow<'r, [u8]>>,
}

impl<'r> Row<'r> {
    pub fn parse(
        record: &'r ByteRecord,
        columns: &Columns,
        place: Place<'_>,
        summary: &mut Summary,
    ) -> Result<Row<'r>, SnapshotError> {
        if record.len() != columns.count {
            return Err(place.bad(
                format!("{} fields, as in the header", columns.count),
                record.len().to_string(),
            ));
        }
        let mut row = Fields {
            record,
            place,
            summary,
        };
        let kind = row.kind(columns.kind)?;
        let ino = row.number(columns.ino)?;
        let size_bytes = row.number(columns.size)?;
        let generation = row.optional(columns.generation, Fields::small)?;
        let mode = row.optional(columns.mode, Fields::mode)?;
        let flags = match row.optional(columns.source_flags, Fields::small)? {
            Some(flags) => flags,
            // Generation 0 is what file systems report that have none.
            None if generation.is_some_and(|g| g != 0) => source_flags::GEN_VALID,
            None => 0,
        };
        let inode = Inode {
            alloc_bytes: row.optional(columns.alloc, Fields::bytes)?,
            ctime_ns: row.time(columns.ctime)?,
            mtime_ns: row.optional(columns.mtime, Fields::time)?.flatten(),
            btime_ns: row.optional(columns.btime, Fields::time)?.flatten(),
            links: row.optional(columns.links, Fields::small)?,
            mode: mode.map(|mode| row.with_type(mode, kind)),
            uid: row.optional(columns.uid, Fields::small)?,
            gid: row.optional(columns.gid, Fields::small)?,
            parent_ino: row.optional(columns.parent_ino, Fields::number)?,
            extents: columns.extents.map(|c| row.extents(c)).transpose()?,
            source_flags: flags,
            ..Inode::new(ino, generation, kind, size_bytes)
        };
        Ok(Row {
            snap_id: columns.snap_id.map(|c| row.small(c)).transpose()?,
            taken_at_ns: columns.taken_at.map(|c| row.time(c)).transpose()?.flatten(),
            inode,
            path: row.optional(columns.path, |row, c| Ok(row.path(c)))?,
        })
    }
}

/// The fields of a row, read by column.
struct Fields<'r, 'p, 's> {
    record: &'r ByteRecord,
    place: Place<'p>,
    summary: &'s mut Summary,
}

impl<'r> Fields<'r, '_, '_> {
    fn text(&self, column: Column) -> &'r [u8] {
        self.record.get(column.index).unwrap_or_default()
    }

    fn bad(&self, column: Column, expected: &str) -> SnapshotError {
        bad_field(self.place, column.name, expected, self.text(column))
    }

    /// What a column says; nothing where there is none, or an empty field.
    fn optional<T>(
        &mut self,
        column: Option<Column>,
        read: impl FnOnce(&mut Self, Column) -> Result<T, SnapshotError>,
    ) -> Result<Option<T>, SnapshotError> {
        match column {
            Some(column) if !self.text(column).is_empty() => read(self, column).map(Some),
            _ => Ok(None),
        }
    }

    fn kind(&self, column: Column) -> Result<FileKind, SnapshotError> {
        str::from_utf8(self.text(column))
            .ok()
            .and_then(FileKind::from_letter)
            .ok_or_else(|| self.bad(column, "one of f d l p s b c"))
    }

    fn number(&mut self, column: Column) -> Result<u64, SnapshotError> {
        decimal(self.text(column)).ok_or_else(|| self.bad(column, "a number"))
    }

    fn small(&mut self, column: Column) -> Result<u32, SnapshotError> {
        decimal_u32(self.text(column)).ok_or_else(|| self.bad(column, "a number in 32 bits"))
    }

    fn bytes(&mut self, column: Column) -> Result<u64, SnapshotError> {
        let n = self.number(column)?;
        n.checked_mul(unit_bytes(column))
            .ok_or_else(|| self.bad(column, "a number of bytes in 64 bits"))
    }

    /// A time; `None` where nanoseconds in 64 bits cannot say it.
    fn time(&mut self, column: Column) -> Result<Option<i64>, SnapshotError> {
        let text = self.text(column);
        if column.unit != Unit::Seconds {
            let ns = signed(text).ok_or_else(|| self.bad(column, "nanoseconds"))?;
            return Ok(Some(ns));
        }
        let ns = number::seconds(text, Fraction::OfTheNumber)
            .map_err(|_| self.bad(column, "seconds"))?;
        if ns.is_none() {
            self.summary.count(Repair::TimeOutOfRange);
        }
        Ok(ns)
    }

    fn mode(&mut self, column: Column) -> Result<u32, SnapshotError> {
        if column.unit == Unit::Octal {
            octal(self.text(column)).ok_or_else(|| self.bad(column, "an octal number"))
        } else {
            self.small(column)
        }
    }

    fn with_type(&mut self, mode: u32, kind: FileKind) -> u32 {
        let (mode, contradicts) = full_mode(mode, kind);
        if contradicts {
            self.summary.count(Repair::ModeContradicts);
        }
        mode
    }

    /// The path in bytes, without what leads to the root.
    fn path(&mut self, column: Column) -> Cow<'r, [u8]> {
        let text = self.text(column);
        let relative = text.strip_prefix(b"./").unwrap_or(text);
        let start = relative.iter().position(|&c| c != b'/');
        let relative = start.map_or(&b"."[..], |start| &relative[start..]);
        if !relative
            .iter()
            .any(|&c| c == b'\\' || !(b' '..=b'~').contains(&c))
        {
            return Cow::Borrowed(relative);
        }
        let bytes = str::from_utf8(relative).ok().and_then(unescape);
        match bytes {
            // Text that is not what escaping gives was not escaped.
            Some(bytes) if escape(&bytes).as_bytes() == relative => Cow::Owned(bytes.into_vec()),
            _ => {
                self.summary.count(Repair::PathNotEscaped);
                Cow::Borrowed(relative)
            }
        }
    }

    /// `logical:physical:length;...`, ascending and merged.
    fn extents(&mut self, column: Column) -> Result<Box<[Extent]>, SnapshotError> {
        let text = self.text(column);
        if text.is_empty() {
            return Ok(Box::default());
        }
        let mut extents: Vec<Extent> = Vec::new();
        let mut sorted = true;
        for item in text.split(|&c| c == b';') {
            let extent = extent(item, unit_bytes(column)).ok_or_else(|| {
                self.place.bad(
                    format!("logical:physical:length in column {}", column.name),
                    shown(item),
                )
            })?;
            sorted &= extents
                .last()
                .is_none_or(|last| last.logical_bytes <= extent.logical_bytes);
            push_merged(&mut extents, extent);
        }
        if !sorted {
            extents.sort_by_key(|e| (e.logical_bytes, e.physical_bytes));
            let unmerged = std::mem::take(&mut extents);
            for extent in unmerged {
                push_merged(&mut extents, extent);
            }
        }
        Ok(extents.into_boxed_slice())
    }
}

fn unit_bytes(column: Column) -> u64 {
    match column.unit {
        Unit::Bytes(bytes) => bytes,
        Unit::One | Unit::Seconds | Unit::Octal => 1,
    }
}

fn extent(item: &[u8], unit_bytes: u64) -> Option<Extent> {
    let mut numbers = item.split(|&c| c == b':').map(decimal);
    let (logical, physical, length) = (numbers.next()??, numbers.next()??, numbers.next()??);
    if numbers.next().is_some() || length == 0 {
        return None;
    }
    let length_bytes = length.checked_mul(unit_bytes)?;
    let physical_bytes = physical.checked_mul(unit_bytes)?;
    physical_bytes.checked_add(length_bytes)?;
    // Blocks of pointers lie nowhere in the file, whatever the unit.
    if logical == Extent::POINTERS_AT {
        return Some(Extent {
            logical_bytes: logical,
            physical_bytes,
            length_bytes,
            flags: Extent::POINTERS,
        });
    }
    let logical_bytes = logical.checked_mul(unit_bytes)?;
    logical_bytes.checked_add(length_bytes)?;
    Some(Extent {
        logical_bytes,
        physical_bytes,
        length_bytes,
        flags: 0,
    })
}

/// Appends an extent, or lengthens the last one, if it goes on where that ends in the file and on disk.
fn push_merged(extents: &mut Vec<Extent>, extent: Extent) {
    if let Some(last) = extents.last_mut()
        && !last.is_pointers()
        && !extent.is_pointers()
        && last.logical_bytes + last.length_bytes == extent.logical_bytes
        && last.physical_bytes + last.length_bytes == extent.physical_bytes
    {
        last.length_bytes += extent.length_bytes;
        return;
    }
    extents.push(extent);
}
