//! The fields of a line of a GUFI trace, and the inode they tell.

use super::error::{Place, SnapshotError, shown};
use super::number::{decimal, decimal_u32, full_mode, signed, whole_seconds};
use super::summary::{Repair, Summary};
use fsage_core::layout::FileKind;
use fsage_core::snapshot::Inode;

/// How a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Its length, then any bytes.
    Text,
    /// The length of extended attributes, then these.
    Attributes,
    /// Up to the delimiter.
    Word,
}

/// The fields in order.
pub(super) const FIELDS: [(Field, &str); 23] = [
    (Field::Text, "a name"),
    (Field::Word, "a type, one of d f l e"),
    (Field::Word, "an inode number"),
    (Field::Word, "a mode in decimal"),
    (Field::Word, "a number of links"),
    (Field::Word, "a user id"),
    (Field::Word, "a group id"),
    (Field::Word, "a size in bytes"),
    (Field::Word, "a preferred block size"),
    (Field::Word, "a number of 512-byte blocks"),
    (Field::Word, "an atime in seconds"),
    (Field::Word, "an mtime in seconds"),
    (Field::Word, "a ctime in seconds"),
    (Field::Text, "a link target"),
    (Field::Attributes, "extended attributes"),
    (Field::Word, "a birth time in seconds"),
    (Field::Word, "a first integer of the system"),
    (Field::Word, "a second integer of the system"),
    (Field::Word, "a third integer of the system"),
    (Field::Word, "a fourth integer of the system"),
    (Field::Text, "a first text of the system"),
    (Field::Text, "a second text of the system"),
    (Field::Word, "the inode number of the parent"),
];
pub(super) const NAME: usize = 0;
pub(super) const KIND: usize = 1;
const INO: usize = 2;
const MODE: usize = 3;
const LINKS: usize = 4;
const UID: usize = 5;
const GID: usize = 6;
const SIZE: usize = 7;
const BLOCKS: usize = 9;
const MTIME: usize = 11;
const CTIME: usize = 12;
const BTIME: usize = 15;
const PARENT: usize = 22;

/// The inode of a line, without its path.
pub(super) fn inode(
    fields: &[&[u8]; FIELDS.len()],
    place: Place<'_>,
    summary: &mut Summary,
) -> Result<Inode, SnapshotError> {
    let bad = |i: usize| place.bad(FIELDS[i].1, shown(fields[i]));
    let number = |i: usize| decimal(fields[i]).ok_or_else(|| bad(i));
    let small = |i: usize| decimal_u32(fields[i]).ok_or_else(|| bad(i));
    let mut time = |i: usize| {
        let s = signed(fields[i]).ok_or_else(|| bad(i))?;
        let ns = whole_seconds(s);
        if ns.is_none() {
            summary.count(Repair::TimeOutOfRange);
        }
        Ok(ns)
    };
    let mode = small(MODE)?;
    let ctime_ns = time(CTIME)?;
    let mtime_ns = time(MTIME)?;
    let btime_ns = time(BTIME)?.filter(|&ns| ns != 0);
    let kind = match (fields[KIND], FileKind::of_mode(mode)) {
        (b"d", _) => FileKind::Directory,
        (b"l", _) => FileKind::Symlink,
        // Devices, FIFOs and sockets have no letter of their own.
        (b"f", Some(special)) if !matches!(special, FileKind::Directory | FileKind::Symlink) => {
            special
        }
        (b"f", _) => FileKind::Regular,
        _ => return Err(bad(KIND)),
    };
    let (mode, contradicts) = full_mode(mode, kind);
    if contradicts {
        summary.count(Repair::ModeContradicts);
    }
    Ok(Inode {
        alloc_bytes: Some(
            number(BLOCKS)?
                .checked_mul(512)
                .ok_or_else(|| bad(BLOCKS))?,
        ),
        ctime_ns,
        mtime_ns,
        btime_ns,
        links: Some(small(LINKS)?),
        mode: Some(mode),
        uid: Some(small(UID)?),
        gid: Some(small(GID)?),
        parent_ino: Some(number(PARENT)?),
        ..Inode::new(number(INO)?, None, kind, number(SIZE)?)
    })
}
