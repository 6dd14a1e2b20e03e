//! Which foreign format an input is in.

use super::{csv, find, fs_hasher, gufi};

/// A foreign format of snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// NUL-terminated records of `find -printf`.
    Find,
    /// A table with a header; one snapshot or a series.
    Csv,
    /// fs-hasher, `.hash.anon`.
    FsHasher,
    /// A GUFI trace.
    Gufi,
    /// A GUFI trace without length prefixes.
    GufiOld,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 5] = [
        Format::Find,
        Format::Csv,
        Format::FsHasher,
        Format::Gufi,
        Format::GufiOld,
    ];

    /// The word of the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Find => "find",
            Format::Csv => "csv",
            Format::FsHasher => "fs-hasher",
            Format::Gufi => "gufi",
            Format::GufiOld => "gufi-old",
        }
    }

    /// The format that the first bytes of an input tell; if they do not, its name. 16 KiB are enough.
    pub fn recognize(head: &[u8], name: &str, gufi_delimiter: u8) -> Option<Format> {
        // By name, a file that was cut short still gets the message of its format.
        let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        if fs_hasher::starts_like(head) {
            Some(Format::FsHasher)
        } else if gufi::starts_like(head, gufi_delimiter) {
            Some(Format::Gufi)
        } else if find::starts_like(head) {
            Some(Format::Find)
        } else if csv::starts_like(head) {
            Some(Format::Csv)
        } else if gufi::starts_like_old(head, gufi_delimiter) {
            Some(Format::GufiOld)
        } else if ends(&[".hash.anon"]) {
            Some(Format::FsHasher)
        } else if ends(&[".tsv0"]) {
            Some(Format::Find)
        } else if ends(&[".csv", ".tsv"]) {
            Some(Format::Csv)
        } else if ends(&[".gufi", ".gufi.trace"]) {
            Some(Format::Gufi)
        } else {
            None
        }
    }

    /// When the first snapshot of an input was taken, ns since 1970 UTC, if its first bytes tell it.
    pub fn time_ns(self, head: &[u8]) -> Option<i64> {
        match self {
            Format::Csv => csv::time_ns(head),
            Format::FsHasher => fs_hasher::time_ns(head),
            Format::Find | Format::Gufi | Format::GufiOld => None,
        }
    }
}
