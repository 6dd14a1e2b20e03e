//! Names of directory entries: which bytes they may have, and how they are stored in UTF-8 columns.

use std::borrow::Cow;
use std::str;
use thiserror::Error;

/// Why bytes cannot be the name of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NameFault {
    /// No byte at all.
    #[error("a name is empty")]
    Empty,
    /// A slash separates names.
    #[error("a name has a slash")]
    Slash,
    /// `.` and `..` exist in every directory.
    #[error("`.` and `..` are not names")]
    Dots,
    /// NUL ends a name.
    #[error("a name has a NUL byte")]
    Nul,
}

/// Checks a name.
///
/// # Errors
/// Bytes that no directory entry can have.
pub fn check_name(name: &[u8]) -> Result<(), NameFault> {
    match name {
        b"" => Err(NameFault::Empty),
        b"." | b".." => Err(NameFault::Dots),
        _ if name.contains(&b'/') => Err(NameFault::Slash),
        _ if name.contains(&0) => Err(NameFault::Nul),
        _ => Ok(()),
    }
}

/// Longest name that Linux takes, in bytes.
pub const NAME_MAX: usize = 255;

/// The name that a new entry gets where its own is taken: `NAME~f<ID>`, cut to what fits. `letter` is `f` for a file
/// and `d` for a directory.
pub fn other_name(name: &[u8], letter: char, id: u64) -> Box<[u8]> {
    let tail = format!("~{letter}{id}");
    let kept = name.len().min(NAME_MAX - tail.len());
    [&name[..kept], tail.as_bytes()].concat().into()
}

/// A name or path as UTF-8 columns store it: control characters, backslash and bytes that are not UTF-8 as
/// `\xhh` (snapshot format, section 2.1). [`unescape`] gives the bytes back.
pub fn escape(name: &[u8]) -> Cow<'_, str> {
    let is_escaped = |byte: u8| byte == b'\\' || byte.is_ascii_control();
    // Many bytes at once: nearly no name has one.
    let any = name.iter().fold(false, |any, &byte| any | is_escaped(byte));
    if !any && let Ok(text) = str::from_utf8(name) {
        return Cow::Borrowed(text);
    }
    let mut escaped = Vec::with_capacity(name.len() + 8);
    for chunk in name.utf8_chunks() {
        for byte in chunk.valid().bytes() {
            if is_escaped(byte) {
                push_hex(&mut escaped, byte);
            } else {
                escaped.push(byte);
            }
        }
        for &byte in chunk.invalid() {
            push_hex(&mut escaped, byte);
        }
    }
    Cow::Owned(String::from_utf8_lossy(&escaped).into_owned())
}

/// The bytes that [`escape`] made text of; `None` where a backslash starts no escape.
pub fn unescape(text: &str) -> Option<Box<[u8]>> {
    let bytes = text.as_bytes();
    if !bytes.contains(&b'\\') {
        return Some(bytes.into());
    }
    let mut name = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at..] {
            [b'\\', b'x', high, low, ..] => {
                name.push(hex_byte(high, low)?);
                at += 4;
            }
            [b'\\', ..] => return None,
            [byte, ..] => {
                name.push(byte);
                at += 1;
            }
            [] => break,
        }
    }
    Some(name.into())
}

/// The byte of two hexadecimal digits.
pub fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
    Some(digit(high)? << 4 | digit(low)?)
}

/// Appends `\xhh`.
pub fn push_hex(text: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    text.extend_from_slice(&[
        b'\\',
        b'x',
        HEX[usize::from(byte >> 4)],
        HEX[usize::from(byte & 15)],
    ]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_give_every_byte_back() {
        let all: Vec<u8> = (0..=255).collect();
        let escaped = escape(&all);
        assert!(escaped.chars().all(|c| !c.is_control()));
        assert_eq!(unescape(&escaped).as_deref(), Some(&all[..]));
        assert_eq!(escape("caf\u{e9} \"x\"".as_bytes()), "caf\u{e9} \"x\"");
        assert_eq!(escape(b"a\\b\n\xff"), "a\\x5cb\\x0a\\xff");
        assert_eq!(unescape("a\\q"), None);
        assert_eq!(unescape("a\\x1"), None);
    }

    #[test]
    fn names_are_those_of_directory_entries() {
        assert_eq!(check_name(b"..."), Ok(()));
        assert_eq!(check_name(b""), Err(NameFault::Empty));
        assert_eq!(check_name(b".."), Err(NameFault::Dots));
        assert_eq!(check_name(b"a/b"), Err(NameFault::Slash));
        assert_eq!(check_name(b"a\0"), Err(NameFault::Nul));
    }
}
