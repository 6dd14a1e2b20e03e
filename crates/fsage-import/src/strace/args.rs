//! Arguments and results of a call, as strace prints them.

use memchr::{memchr, memchr2};

/// The arguments of one call, one after the other, and then its result.
pub(super) struct Args<'a> {
    rest: &'a [u8],
}

impl<'a> Args<'a> {
    /// `text` starts behind the opening parenthesis.
    pub fn new(text: &'a [u8]) -> Args<'a> {
        Args { rest: text }
    }

    /// The next argument as it stands; `None` at the closing parenthesis or where the text is damaged.
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.rest.trim_ascii_start();
        if text.first() == Some(&b')') {
            self.rest = text;
            return None;
        }
        let end = end_of_argument(text)?;
        let (argument, rest) = text.split_at(end);
        self.rest = match rest {
            [b',', rest @ ..] => rest,
            _ => rest,
        };
        Some(argument.trim_ascii_end())
    }

    /// Skips what arguments are left and reads the result.
    pub fn result(mut self) -> Option<Return<'a>> {
        while self.next().is_some() {}
        let text = self.rest.strip_prefix(b")")?.trim_ascii_start();
        let text = text.strip_prefix(b"=")?.trim_ascii_start();
        Return::read(text)
    }
}

/// Length of the first argument: up to a comma or parenthesis that is its own.
fn end_of_argument(text: &[u8]) -> Option<usize> {
    let mut depth = 0_u32;
    let mut at = 0;
    loop {
        match *text.get(at)? {
            b'"' => at += quoted(&text[at..])?,
            b'<' if is_annotated(text, at) => {
                at += annotation(&text[at..])?;
            }
            b'(' | b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b')' | b',' if depth == 0 => return Some(at),
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// Whether the `<` there starts the path behind a descriptor; `1<<3` has none.
fn is_annotated(text: &[u8], at: usize) -> bool {
    let after_number = at > 0 && (text[at - 1].is_ascii_digit() || text[at - 1] == b'D');
    after_number && text.get(at + 1) != Some(&b'<')
}

/// Length of a quoted string with its quotes.
fn quoted(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Length of `<...>` behind a descriptor. The path may have a `>` that is not the last.
fn annotation(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr(b'>', text.get(at..)?)? + 1;
        match text.get(at) {
            None | Some(b',' | b')' | b']' | b'}' | b' ' | b'(') => return Some(at),
            Some(_) => {}
        }
    }
}

/// A result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Return<'a> {
    /// `None`: the call did not return, or strace does not know.
    pub value: Option<i64>,
    /// The path of a new descriptor.
    pub file: Option<Descriptor<'a>>,
    /// The name of the error.
    pub error: Option<&'a [u8]>,
}

impl<'a> Return<'a> {
    fn read(text: &'a [u8]) -> Option<Return<'a>> {
        let none = Return {
            value: None,
            file: None,
            error: None,
        };
        match text {
            [b'?', ..] => Some(none),
            [b'-', b'1', b' ', rest @ ..] => {
                let end = memchr(b' ', rest).unwrap_or(rest.len());
                Some(Return {
                    value: Some(-1),
                    error: Some(&rest[..end]),
                    ..none
                })
            }
            [b'0', b'x', rest @ ..] => {
                let end = rest.iter().position(|b| !b.is_ascii_hexdigit());
                let digits = std::str::from_utf8(&rest[..end.unwrap_or(rest.len())]).ok()?;
                let value = u64::from_str_radix(digits, 16).ok()?;
                Some(Return {
                    value: Some(value as i64),
                    ..none
                })
            }
            _ => {
                let (value, rest) = signed(text)?;
                let file = match rest.first() {
                    Some(b'<') => Some(Descriptor::annotated(value, rest)?),
                    _ => None,
                };
                Some(Return {
                    value: Some(value),
                    file,
                    ..none
                })
            }
        }
    }
}

/// A descriptor with the path that `-y` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor<'a> {
    /// Its number; `None` is `AT_FDCWD`.
    pub number: Option<i64>,
    /// Its path, still with escapes; or what else it is, as `pipe:[1]`.
    pub path: Option<&'a [u8]>,
    /// The file has no name any more.
    pub deleted: bool,
}

impl<'a> Descriptor<'a> {
    /// Reads an argument.
    pub fn read(argument: &'a [u8]) -> Option<Descriptor<'a>> {
        if let Some(rest) = argument.strip_prefix(b"AT_FDCWD") {
            return Some(Descriptor {
                number: None,
                ..Descriptor::annotated(0, rest)?
            });
        }
        let (number, rest) = signed(argument)?;
        Descriptor::annotated(number, rest)
    }

    fn annotated(number: i64, text: &'a [u8]) -> Option<Descriptor<'a>> {
        let number = Some(number);
        if text.first() != Some(&b'<') {
            return text.is_empty().then_some(Descriptor {
                number,
                path: None,
                deleted: false,
            });
        }
        let end = annotation(text)?;
        let path = &text[1..end - 1];
        let behind = text[end..].trim_ascii() == b"(deleted)";
        let (path, within) = match path.strip_suffix(b"(deleted)") {
            Some(path) => (path.strip_suffix(b" ").unwrap_or(path), true),
            None => (path, false),
        };
        Some(Descriptor {
            number,
            path: Some(path),
            deleted: behind || within,
        })
    }

    /// The path, if it names a file and not a pipe, socket or the like.
    pub fn file_path(&self) -> Option<&'a [u8]> {
        self.path.filter(|p| p.first() == Some(&b'/'))
    }
}

/// A decimal number at the start, and what follows.
fn signed(text: &[u8]) -> Option<(i64, &[u8])> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let count = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let mut value = 0_i64;
    for &b in &digits[..count] {
        value = value.checked_mul(10)?.checked_add(i64::from(b - b'0'))?;
    }
    let value = if negative { -value } else { value };
    (count > 0).then_some((value, &digits[count..]))
}

/// A number that is not negative.
pub(super) fn unsigned(argument: &[u8]) -> Option<u64> {
    let (value, rest) = signed(argument)?;
    u64::try_from(value).ok().filter(|_| rest.is_empty())
}

/// An offset behind a pointer: `[5]` and `[5] => [9]` are 5.
pub(super) fn pointed(argument: &[u8]) -> Option<u64> {
    let (value, _) = signed(argument.strip_prefix(b"[")?)?;
    u64::try_from(value).ok()
}

/// Puts the bytes of a quoted argument into `out`. False: it is no string, or was cut.
pub(super) fn string(argument: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    match argument {
        [b'"', inner @ .., b'"'] => decode(inner, out),
        _ => false,
    }
}

/// Appends bytes with C escapes decoded.
pub(super) fn decode(text: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let (byte, used) = match rest[at + 1..] {
            [b'n', ..] => (b'\n', 2),
            [b't', ..] => (b'\t', 2),
            [b'r', ..] => (b'\r', 2),
            [b'v', ..] => (0x0b, 2),
            [b'f', ..] => (0x0c, 2),
            [b'a', ..] => (0x07, 2),
            [b'b', ..] => (0x08, 2),
            [b'e', ..] => (0x1b, 2),
            [b'x', high, low, ..] => match fsage_core::names::hex_byte(high, low) {
                Some(byte) => (byte, 4),
                None => return false,
            },
            [b'0'..=b'7', ..] => {
                let digits = &rest[at + 1..];
                let octal = |b: &&u8| (b'0'..=b'7').contains(*b);
                let count = digits.iter().take(3).take_while(octal).count();
                let value = digits[..count]
                    .iter()
                    .fold(0_u32, |v, b| v * 8 + u32::from(b - b'0'));
                (value as u8, 1 + count)
            }
            [b @ (b'"' | b'\\' | b'\'' | b'?' | b'<' | b'>'), ..] => (b, 2),
            _ => return false,
        };
        out.push(byte);
        rest = &rest[at + used..];
    }
    out.extend_from_slice(rest);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> (Vec<String>, Option<Return<'_>>) {
        let mut args = Args::new(text.as_bytes());
        let mut list = Vec::new();
        while let Some(a) = args.next() {
            list.push(String::from_utf8_lossy(a).into_owned());
        }
        (list, args.result())
    }

    #[test]
    fn arguments_are_split_where_strace_splits_them() {
        let (list, ret) =
            all(r#"3</a, b>, "x), \"y", {st_size=3, ...}, [{iov=1}], 1<<3)   = -1 ENOENT (No)"#);
        assert_eq!(
            list,
            [
                "3</a, b>",
                r#""x), \"y""#,
                "{st_size=3, ...}",
                "[{iov=1}]",
                "1<<3"
            ]
        );
        assert_eq!(ret.unwrap().error, Some(&b"ENOENT"[..]));
        let (list, ret) = all("4<TCP:[127.0.0.1:1->127.0.0.1:2]>, NULL) = 5</x>(deleted)");
        assert_eq!(list.len(), 2);
        let file = ret.unwrap().file.unwrap();
        assert!(file.deleted && file.path == Some(b"/x"));
        let (list, ret) = all(") = ?");
        assert!(list.is_empty() && ret.unwrap().value.is_none());
        assert_eq!(all("\"cut").1, None);
    }

    #[test]
    fn a_deleted_file_is_known_with_and_without_a_space() {
        for text in ["3</a/b (deleted)>", "3</a/b(deleted)>", "3</a/b>(deleted)"] {
            let d = Descriptor::read(text.as_bytes()).unwrap();
            assert_eq!(d.path, Some(&b"/a/b"[..]), "{text}");
            assert!(d.deleted);
        }
        let cwd = Descriptor::read(b"AT_FDCWD</a>").unwrap();
        assert_eq!((cwd.number, cwd.path), (None, Some(&b"/a"[..])));
    }

    #[test]
    fn escapes_are_those_of_c() {
        let mut out = Vec::new();
        assert!(string(br#""a\303\244\n\"\\\0z\x41""#, &mut out));
        assert_eq!(out, b"a\xc3\xa4\n\"\\\0zA");
        assert!(!string(br#""cut"..."#, &mut out));
        assert!(!string(br#""\q""#, &mut out));
    }
}
