//! The parts of a line: process, time, and what it says.

use memchr::{memchr, memrchr};

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// 0 without `-f`.
    pub pid: u64,
    pub t_ns: i64,
    pub says: Says<'a>,
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Says<'a> {
    /// `name(args) = result`; `args` has all behind the parenthesis.
    Call { name: &'a [u8], args: &'a [u8] },
    /// The first half of it.
    Unfinished { name: &'a [u8], args: &'a [u8] },
    /// The second half.
    Resumed { name: &'a [u8], rest: &'a [u8] },
    /// A process ended.
    Exit,
    /// A signal.
    Signal,
}

const TIME: &str = "seconds.microseconds, as strace -ttt prints them";
const CALL: &str = "call(arguments) = result";

pub(super) fn parse(line: &[u8]) -> Result<Line<'_>, &'static str> {
    let (pid, rest) = pid(line)?;
    let (t_ns, rest) = time(rest).ok_or(TIME)?;
    let says = match rest {
        [b'+', b'+', b'+', b' ', ..] => Says::Exit,
        [b'-', b'-', b'-', b' ', ..] => Says::Signal,
        [b'<', b'.', b'.', b'.', b' ', rest @ ..] => {
            let end = memchr(b' ', rest).ok_or(CALL)?;
            let name = &rest[..end];
            let rest = rest[end..].strip_prefix(b" resumed>").ok_or(CALL)?;
            Says::Resumed { name, rest }
        }
        _ => {
            let open = memchr(b'(', rest).ok_or(CALL)?;
            let (name, args) = (&rest[..open], &rest[open + 1..]);
            let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'?');
            if name.is_empty() || !name.iter().all(is_name) {
                return Err(CALL);
            }
            if let Some(args) = args.strip_suffix(b"<unfinished ...>") {
                Says::Unfinished { name, args }
            } else {
                let equals = memrchr(b'=', args).ok_or(CALL)?;
                memrchr(b')', &args[..equals]).ok_or(CALL)?;
                Says::Call { name, args }
            }
        }
    };
    Ok(Line { pid, t_ns, says })
}

/// `123  ` or `[pid 123] ` or nothing.
fn pid(line: &[u8]) -> Result<(u64, &[u8]), &'static str> {
    let (text, bracket) = match line.strip_prefix(b"[pid") {
        Some(rest) => (rest.trim_ascii_start(), true),
        None => (line.trim_ascii_start(), false),
    };
    let (number, rest) = digits(text).ok_or(TIME)?;
    match (bracket, rest) {
        (false, [b'.', ..]) => Ok((0, text)),
        (true, [b']', rest @ ..]) | (false, [b' ', rest @ ..]) => {
            Ok((number, rest.trim_ascii_start()))
        }
        _ => Err(TIME),
    }
}

fn time(text: &[u8]) -> Option<(i64, &[u8])> {
    let (seconds, rest) = digits(text)?;
    let rest = rest.strip_prefix(b".")?;
    let space = memchr(b' ', rest)?;
    let (fraction, after) = digits(rest)?;
    // Microseconds, as strace pads them; nanoseconds with --absolute-timestamps.
    let ns = match space {
        6 => fraction * 1000,
        3 => fraction * 1_000_000,
        9 => fraction,
        _ => return None,
    };
    let after = after.strip_prefix(b" ")?;
    let t = i64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?;
    Some((t.checked_add(ns as i64)?, after))
}

/// A number of at most 18 digits.
fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let count = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if count == 0 || count > 18 {
        return None;
    }
    let value = text[..count]
        .iter()
        .fold(0, |v, b| v * 10 + u64::from(b - b'0'));
    Some((value, &text[count..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_process_a_time_and_a_call() {
        let line = parse(b"5578  1795218888.783021 unlink(\"/x\") = 0").unwrap();
        assert_eq!((line.pid, line.t_ns), (5578, 1_795_218_888_783_021_000));
        let (name, args) = (&b"unlink"[..], &b"\"/x\") = 0"[..]);
        assert_eq!(line.says, Says::Call { name, args });
        assert_eq!(parse(b"1795218888.000001 sync() = 0").unwrap().pid, 0);
        assert_eq!(parse(b"[pid 77] 5.000001 sync() = 0").unwrap().pid, 77);
        assert_eq!(
            parse(b"9 5.000001 +++ exited with 0 +++").unwrap().says,
            Says::Exit
        );
        assert_eq!(
            parse(b"9 5.000001 --- SIGCHLD {..} ---").unwrap().says,
            Says::Signal
        );
    }

    #[test]
    fn halves_of_an_interrupted_call_are_told_apart() {
        let first =
            parse(b"9 5.000001 openat(AT_FDCWD</a>, \"b\", O_RDONLY <unfinished ...>").unwrap();
        assert!(matches!(
            first.says,
            Says::Unfinished {
                name: b"openat",
                ..
            }
        ));
        let second = parse(b"9 5.000002 <... openat resumed>) = 3</a/b>").unwrap();
        assert!(matches!(
            second.says,
            Says::Resumed {
                name: b"openat",
                rest: b") = 3</a/b>"
            }
        ));
    }

    #[test]
    fn other_lines_are_bad() {
        for text in [
            &b""[..],
            b"hello",
            b"9 12:00:00.000001 sync() = 0",
            b"9 5.000001 sync(",
            b"9 5.000001 sync() ",
            b"9 5.000001 <... openat",
            b"99999999999999999999999 5.000001 sync() = 0",
            b"9 999999999999999999.000001 sync() = 0",
        ] {
            assert!(parse(text).is_err(), "{}", text.escape_ascii());
        }
    }
}
