//! What git prints: raw difference records, tree entries and object ids.

use super::error::{GitError, corrupt, shown};
use std::io::BufRead;

/// An object id in hexadecimal: 40 digits (SHA-1) or 64 (SHA-256).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Oid {
    digits: [u8; 64],
    len: u8,
}

impl Oid {
    /// 40 or 64 lowercase hexadecimal digits.
    pub fn parse(text: &[u8]) -> Option<Oid> {
        let known = matches!(text.len(), 40 | 64);
        let hex = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
        if !known || !text.iter().all(hex) {
            return None;
        }
        let mut digits = [0; 64];
        digits[..text.len()].copy_from_slice(text);
        Some(Oid {
            digits,
            len: text.len() as u8,
        })
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.digits[..usize::from(self.len)]
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("hexadecimal digits")
    }
}

impl std::fmt::Debug for Oid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a path is on one side of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Absent,
    File,
    Symlink,
    Submodule,
}

impl Kind {
    /// From git's octal mode. Old repositories have files of other permissions than 644 and 755.
    fn of_mode(mode: &[u8]) -> Option<Kind> {
        let mode = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
        match mode & 0o170_000 {
            0 => Some(Kind::Absent),
            0o100_000 => Some(Kind::File),
            0o120_000 => Some(Kind::Symlink),
            0o160_000 => Some(Kind::Submodule),
            _ => None,
        }
    }
}

/// One path that differs between a step and the step before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub path: Box<[u8]>,
    pub before: Kind,
    pub after: Kind,
    /// The content afterwards.
    pub blob: Oid,
    /// The content is the one from before: only the mode changed.
    pub same_blob: bool,
}

impl Change {
    /// A raw record, without its path: `:oldmode newmode oldhash newhash status`.
    pub fn parse_raw(record: &[u8], path: &[u8]) -> Result<Change, GitError> {
        let bad = || corrupt("diff-tree", format!("the record {}", shown(record)));
        let mut fields = record
            .strip_prefix(b":")
            .ok_or_else(bad)?
            .split(|&b| b == b' ');
        let mut field = || fields.next().ok_or_else(bad);
        let (before, after) = (field()?, field()?);
        let (old, new) = (field()?, field()?);
        let status = field()?;
        if !matches!(status, b"A" | b"D" | b"M" | b"T") {
            return Err(bad());
        }
        Ok(Change {
            path: valid_path(path, "diff-tree")?,
            before: Kind::of_mode(before).ok_or_else(bad)?,
            after: Kind::of_mode(after).ok_or_else(bad)?,
            blob: Oid::parse(new).ok_or_else(bad)?,
            same_blob: old == new,
        })
    }

    /// An entry of `git ls-tree -r -z`, `mode type hash` TAB path, as something new.
    pub fn parse_tree_entry(entry: &[u8]) -> Result<Change, GitError> {
        let bad = || corrupt("ls-tree", format!("the entry {}", shown(entry)));
        let tab = entry.iter().position(|&b| b == b'\t').ok_or_else(bad)?;
        let mut fields = entry[..tab].split(|&b| b == b' ');
        let mut field = || fields.next().ok_or_else(bad);
        let (mode, _type, hash) = (field()?, field()?, field()?);
        Ok(Change {
            path: valid_path(&entry[tab + 1..], "ls-tree")?,
            before: Kind::Absent,
            after: Kind::of_mode(mode).ok_or_else(bad)?,
            blob: Oid::parse(hash).ok_or_else(bad)?,
            same_blob: false,
        })
    }

    /// Whether it needs the size of its blob.
    pub fn writes(&self) -> bool {
        self.after == Kind::File && !(self.before == Kind::File && self.same_blob)
    }
}

fn valid_path(path: &[u8], command: &'static str) -> Result<Box<[u8]>, GitError> {
    if path.split(|&b| b == b'/').any(<[u8]>::is_empty) {
        return Err(corrupt(command, format!("the path {}", shown(path))));
    }
    Ok(path.into())
}

/// Reads up to a terminator, which is taken off. `Ok(false)` at the end of the input.
///
/// # Errors
/// The pipe broke, or the input ends without the terminator.
pub(super) fn read_token(
    input: &mut impl BufRead,
    terminator: u8,
    token: &mut Vec<u8>,
    command: &'static str,
) -> Result<bool, GitError> {
    token.clear();
    input
        .read_until(terminator, token)
        .map_err(|source| GitError::Pipe { command, source })?;
    if token.is_empty() {
        return Ok(false);
    }
    if token.pop() != Some(terminator) {
        return Err(corrupt(command, "it ends in the middle of a record"));
    }
    Ok(true)
}

/// The size in a line of `git cat-file --batch-check`, `hash type size`, which must be about `blob`.
pub(super) fn parse_size(line: &[u8], blob: &Oid) -> Result<u64, GitError> {
    const COMMAND: &str = "cat-file";
    let bad = || {
        let what = format!("{} when asked for blob {}", shown(line), blob.as_str());
        corrupt(COMMAND, what)
    };
    let rest = line.strip_prefix(blob.as_bytes()).ok_or_else(bad)?;
    if rest == b" missing" {
        return Err(GitError::MissingBlob {
            blob: blob.as_str().to_owned(),
        });
    }
    let digits = rest.strip_prefix(b" blob ").ok_or_else(bad)?;
    std::str::from_utf8(digits)
        .ok()
        .and_then(|s| s.parse().ok())
        .ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &[u8] = b"0cfbf08886fca9a91cb753ec8734c84fcbe52c9f";
    const NONE: &[u8] = b"0000000000000000000000000000000000000000";

    fn raw(modes: &str, old: &[u8], new: &[u8], status: &str) -> Vec<u8> {
        [
            b":",
            modes.as_bytes(),
            b" ",
            old,
            b" ",
            new,
            b" ",
            status.as_bytes(),
        ]
        .concat()
    }

    #[test]
    fn a_raw_record_says_what_a_path_was_and_is() {
        let c = Change::parse_raw(&raw("100644 120000", A, NONE, "T"), b"a\n\xff/b").unwrap();
        assert_eq!((c.before, c.after), (Kind::File, Kind::Symlink));
        assert_eq!(&*c.path, b"a\n\xff/b");
        assert!(!c.writes());
        let c = Change::parse_raw(&raw("100644 100755", A, A, "M"), b"x").unwrap();
        assert!(c.same_blob && !c.writes());
        let c = Change::parse_raw(&raw("160000 100664", NONE, A, "T"), b"x").unwrap();
        assert!(c.writes());
    }

    #[test]
    fn what_is_no_record_is_an_error_and_no_panic() {
        for record in [&b""[..], b":", b":100644", b":100644 100644 1 2 M", b"x"] {
            assert!(Change::parse_raw(record, b"p").is_err());
        }
        assert!(Change::parse_raw(&raw("100644 100644", A, NONE, "R100"), b"p").is_err());
        assert!(Change::parse_raw(&raw("999 100644", A, NONE, "M"), b"p").is_err());
        for path in [&b""[..], b"/a", b"a/", b"a//b"] {
            assert!(Change::parse_raw(&raw("100644 100644", A, NONE, "M"), path).is_err());
        }
        for entry in [&b""[..], b"\t", b"100644 blob\tx", b"100644 blob 12\tx"] {
            assert!(Change::parse_tree_entry(entry).is_err());
        }
    }

    #[test]
    fn sizes_are_taken_for_the_blob_asked_for_only() {
        let blob = Oid::parse(A).unwrap();
        let line = |end: &str| [A, end.as_bytes()].concat();
        assert_eq!(parse_size(&line(" blob 12"), &blob).unwrap(), 12);
        let missing = parse_size(&line(" missing"), &blob).unwrap_err();
        assert!(matches!(missing, GitError::MissingBlob { .. }));
        for end in ["", " blob", " blob x", " commit 12", " blob -1"] {
            assert!(matches!(
                parse_size(&line(end), &blob),
                Err(GitError::Corrupt { .. })
            ));
        }
        assert!(parse_size(&[NONE, b" blob 1"].concat(), &blob).is_err());
    }

    #[test]
    fn object_ids_of_both_lengths_and_nothing_else() {
        assert!(Oid::parse(&[b'a'; 64]).is_some());
        assert!(Oid::parse(&[b'a'; 41]).is_none());
        assert!(Oid::parse(&[b'A'; 40]).is_none());
    }
}
