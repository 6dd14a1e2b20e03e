//! The columns of a table and their aliases.
//!
//! | column | aliases | unit |
//! |---|---|---|
//! | `snap_id` | | |
//! | `taken_at` | | seconds; `taken_at_ns` nanoseconds |
//! | `ino` | `inode` | |
//! | `gen` | `generation` | |
//! | `type` | | a letter |
//! | `size_bytes` | `size` | bytes |
//! | `alloc_bytes` | | bytes; `blocks512` 512 bytes |
//! | `ctime_ns`, `mtime_ns`, `btime_ns` | | nanoseconds; `ctime`, `mtime`, `btime` seconds |
//! | `nlink`, `uid`, `gid`, `parent_ino`, `path`, `source_flags` | | |
//! | `mode` | | decimal; `mode_octal` octal |
//! | `extents_bytes`, `extents_kib` | `extents` (bytes) | as `logical:physical:length;...` |

use crate::snapshots::error::{Place, SnapshotError, shown};
use crate::snapshots::summary::Summary;
use ::csv::ByteRecord;
use std::fmt::Write as _;

/// A column of the table: its place and what its numbers count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub index: usize,
    pub name: &'static str,
    pub unit: Unit,
}

/// What the numbers of a column count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// One of what the column says: a byte, a nanosecond, a link.
    One,
    /// So many bytes.
    Bytes(u64),
    Seconds,
    Octal,
}

/// What a table tells, by place in [`NAMES`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    SnapId,
    TakenAt,
    Ino,
    Generation,
    Kind,
    Size,
    Alloc,
    Ctime,
    Mtime,
    Btime,
    Links,
    Mode,
    Uid,
    Gid,
    ParentIno,
    Path,
    Extents,
    SourceFlags,
}

const FIELDS: usize = Field::SourceFlags as usize + 1;

const NAMES: [(&str, Field, Unit); 29] = [
    ("snap_id", Field::SnapId, Unit::One),
    ("taken_at", Field::TakenAt, Unit::Seconds),
    ("taken_at_ns", Field::TakenAt, Unit::One),
    ("ino", Field::Ino, Unit::One),
    ("inode", Field::Ino, Unit::One),
    ("gen", Field::Generation, Unit::One),
    ("generation", Field::Generation, Unit::One),
    ("type", Field::Kind, Unit::One),
    ("size_bytes", Field::Size, Unit::One),
    ("size", Field::Size, Unit::One),
    ("alloc_bytes", Field::Alloc, Unit::Bytes(1)),
    ("blocks512", Field::Alloc, Unit::Bytes(512)),
    ("ctime_ns", Field::Ctime, Unit::One),
    ("ctime", Field::Ctime, Unit::Seconds),
    ("mtime_ns", Field::Mtime, Unit::One),
    ("mtime", Field::Mtime, Unit::Seconds),
    ("btime_ns", Field::Btime, Unit::One),
    ("btime", Field::Btime, Unit::Seconds),
    ("nlink", Field::Links, Unit::One),
    ("mode", Field::Mode, Unit::One),
    ("mode_octal", Field::Mode, Unit::Octal),
    ("uid", Field::Uid, Unit::One),
    ("gid", Field::Gid, Unit::One),
    ("parent_ino", Field::ParentIno, Unit::One),
    ("path", Field::Path, Unit::One),
    ("extents", Field::Extents, Unit::Bytes(1)),
    ("extents_bytes", Field::Extents, Unit::Bytes(1)),
    ("extents_kib", Field::Extents, Unit::Bytes(1024)),
    ("source_flags", Field::SourceFlags, Unit::One),
];

/// Whether a table may have a column of that name.
pub(super) fn is_known(name: &[u8]) -> bool {
    find(name).is_some()
}

fn find(name: &[u8]) -> Option<(&'static str, Field, Unit)> {
    let name = name.trim_ascii();
    let name = name
        .strip_prefix(b"\"")
        .and_then(|n| n.strip_suffix(b"\""))
        .unwrap_or(name);
    NAMES
        .into_iter()
        .find(|(known, ..)| known.as_bytes() == name)
}

/// Where each column stands.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// Fields of a row.
    pub count: usize,
    pub snap_id: Option<Column>,
    pub taken_at: Option<Column>,
    pub ino: Column,
    pub generation: Option<Column>,
    pub kind: Column,
    pub size: Column,
    pub alloc: Option<Column>,
    pub ctime: Column,
    pub mtime: Option<Column>,
    pub btime: Option<Column>,
    pub links: Option<Column>,
    pub mode: Option<Column>,
    pub uid: Option<Column>,
    pub gid: Option<Column>,
    pub parent_ino: Option<Column>,
    pub path: Option<Column>,
    pub extents: Option<Column>,
    pub source_flags: Option<Column>,
}

impl Columns {
    /// The columns that a header names. Those it names in vain go to the summary.
    pub fn of_header(
        header: &ByteRecord,
        place: Place<'_>,
        summary: &mut Summary,
    ) -> Result<Columns, SnapshotError> {
        let mut found: [Option<Column>; FIELDS] = [None; FIELDS];
        let mut unknown = Vec::new();
        for (index, text) in header.iter().enumerate() {
            // Some programs begin a file with a byte order mark.
            let text = match index {
                0 => text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text),
                _ => text,
            };
            let Some((name, field, unit)) = find(text) else {
                unknown.push(shown(text));
                continue;
            };
            let column = Column { index, name, unit };
            if let Some(first) = found[field as usize].replace(column) {
                return Err(place.unusable(format!(
                    "the columns {} and {name} say the same: leave one of them out",
                    first.name
                )));
            }
        }
        let column = |field: Field| found[field as usize];
        let mut missing = String::new();
        let mut needed = |field: Field, names: &str| {
            if column(field).is_none() {
                let comma = if missing.is_empty() { "" } else { ", " };
                // Writing to a string does not fail.
                let _ = write!(missing, "{comma}{names}");
            }
            column(field)
        };
        let ino = needed(Field::Ino, "inode (or ino)");
        let kind = needed(Field::Kind, "type");
        let size = needed(Field::Size, "size (or size_bytes)");
        let ctime = needed(Field::Ctime, "ctime (or ctime_ns)");
        let (Some(ino), Some(kind), Some(size), Some(ctime)) = (ino, kind, size, ctime) else {
            return Err(place.unusable(format!("the header names no column {missing}")));
        };
        for name in unknown {
            if !summary.unknown_columns.contains(&name) {
                summary.unknown_columns.push(name);
            }
        }
        Ok(Columns {
            count: header.len(),
            snap_id: column(Field::SnapId),
            taken_at: column(Field::TakenAt),
            ino,
            generation: column(Field::Generation),
            kind,
            size,
            alloc: column(Field::Alloc),
            ctime,
            mtime: column(Field::Mtime),
            btime: column(Field::Btime),
            links: column(Field::Links),
            mode: column(Field::Mode),
            uid: column(Field::Uid),
            gid: column(Field::Gid),
            parent_ino: column(Field::ParentIno),
            path: column(Field::Path),
            extents: column(Field::Extents),
            source_flags: column(Field::SourceFlags),
        })
    }
}
