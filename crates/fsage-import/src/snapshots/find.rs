//! Snapshots by `find` (docs/spec/snapshots.md, section 5.2):
//!
//! ```text
//! find ROOT -xdev -printf '%i\t%y\t%s\t%b\t%n\t%m\t%U\t%G\t%C@\t%T@\t%p\0'
//! ```
//!
//! Records end in NUL and the path is last, so a name may have any byte. `find` prints a directory before what
//! is in it, so the first record is the starting point, which is taken off all paths.

use super::Input;
use super::error::{At, Place, SnapshotError, shown};
use super::night::Nights;
use super::number::{self, Fraction, decimal, decimal_u32, full_mode, octal};
use super::paths::{below, without_end};
use super::record::read_record;
use super::summary::{Repair, Summary};
use fsage_core::layout::FileKind;
use fsage_core::snapshot::{Inode, SnapshotInfo};

/// The fields of a record, in order.
const FIELDS: [&str; 11] = [
    "an inode number",
    "a type, one of f d l p s b c",
    "a size in bytes",
    "a number of 512-byte blocks",
    "a number of links",
    "octal permission bits",
    "a user id",
    "a group id",
    "a ctime in seconds",
    "an mtime in seconds",
    "a path",
];
const PATH: usize = FIELDS.len() - 1;

/// Reads one snapshot.
pub(super) fn read(
    input: &mut Input<'_>,
    taken_at_ns: Option<i64>,
    nights: &mut Nights<'_>,
) -> Result<(), SnapshotError> {
    let info = SnapshotInfo {
        source: "find".to_owned(),
        ..SnapshotInfo::default()
    };
    nights.begin(nights.next_snap_id(), taken_at_ns, info)?;
    let mut place = Place {
        file: input.name,
        at: At::Record(1),
    };
    let mut root: Option<Vec<u8>> = None;
    let mut record = Vec::new();
    let mut n = 1;
    while read_record(input.bytes, 0, &mut record, place)? {
        let (inode, path) = parse(&record, place, &mut nights.summary)?;
        let root = root.get_or_insert_with(|| starting_point(path).to_owned());
        let path = below(root, path).ok_or_else(|| outside(root, path, place))?;
        nights.row(inode, Some(path))?;
        n += 1;
        place.at = At::Record(n);
    }
    match root {
        Some(_) => nights.end(),
        None => Err(place.unusable("has no record: is it the output of the find command?")),
    }
}

/// Whether bytes start with a record of this format.
pub(super) fn starts_like(head: &[u8]) -> bool {
    let Some(end) = head.iter().position(|&c| c == 0) else {
        return false;
    };
    let place = Place {
        file: "",
        at: At::Record(1),
    };
    parse(&head[..end], place, &mut Summary::default()).is_ok()
}

/// An inode and its path as it stands in the record.
fn parse<'r>(
    record: &'r [u8],
    place: Place<'_>,
    summary: &mut Summary,
) -> Result<(Inode, &'r [u8]), SnapshotError> {
    let mut fields = [&b""[..]; FIELDS.len()];
    let mut split = record.splitn(FIELDS.len(), |&c| c == b'\t');
    for (i, field) in fields.iter_mut().enumerate() {
        *field = split
            .next()
            .ok_or_else(|| place.bad(FIELDS[i], "the end of the record"))?;
    }
    let bad = |i: usize| place.bad(FIELDS[i], shown(fields[i]));
    let number = |i: usize| decimal(fields[i]).ok_or_else(|| bad(i));
    let small = |i: usize| decimal_u32(fields[i]).ok_or_else(|| bad(i));
    let mut time = |i: usize| {
        let ns = number::seconds(fields[i], Fraction::Added).map_err(|_| bad(i))?;
        if ns.is_none() {
            summary.count(Repair::TimeOutOfRange);
        }
        Ok(ns)
    };
    let kind = str::from_utf8(fields[1])
        .ok()
        .and_then(FileKind::from_letter)
        .ok_or_else(|| bad(1))?;
    let permissions = octal(fields[5]).ok_or_else(|| bad(5))?;
    let inode = Inode {
        alloc_bytes: Some(number(3)?.checked_mul(512).ok_or_else(|| bad(3))?),
        links: Some(small(4)?),
        mode: Some(full_mode(permissions, kind).0),
        uid: Some(small(6)?),
        gid: Some(small(7)?),
        ctime_ns: time(8)?,
        mtime_ns: time(9)?,
        ..Inode::new(number(0)?, None, kind, number(2)?)
    };
    if fields[PATH].is_empty() {
        return Err(bad(PATH));
    }
    Ok((inode, fields[PATH]))
}

/// The starting point that the first path tells, without slashes at its end.
fn starting_point(first: &[u8]) -> &[u8] {
    if first.starts_with(b"./") {
        return b".";
    }
    without_end(first)
}

fn outside(root: &[u8], path: &[u8], place: Place<'_>) -> SnapshotError {
    place.bad(
        format!(
            "a path below {}, the starting point that the first record names (one `find ROOT`, unsorted)",
            shown(root)
        ),
        shown(path),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_the_starting_point() {
        let table: [(&str, &str, Option<&str>); 11] = [
            (".", ".", Some(".")),
            (".", "./a/b", Some("a/b")),
            ("./z", "./a", Some("a")),
            ("/usr", "/usr", Some(".")),
            ("/usr", "/usr/bin/ls", Some("bin/ls")),
            ("/usr/", "/usr/bin", Some("bin")),
            ("/", "/bin", Some("bin")),
            ("/", "/", Some(".")),
            ("src", "src/a", Some("a")),
            ("/usr", "/usrlocal", None),
            ("/usr", "/var", None),
        ];
        for (first, path, expected) in table {
            let root = starting_point(first.as_bytes());
            let got = below(root, path.as_bytes());
            assert_eq!(got, expected.map(str::as_bytes), "{first} {path}");
        }
    }
}
