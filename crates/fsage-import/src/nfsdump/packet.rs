//! One line of a trace: a packet, its key value pairs and its attributes.
//!
//! All numbers but times are hexadecimal.

use fsage_core::names::hex_byte;
use memchr::{memchr, memmem};

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet<'a> {
    pub t_ns: i64,
    /// Address and port of the client.
    pub client: &'a [u8],
    pub reply: bool,
    pub xid: u64,
    pub procedure: Procedure,
    /// Of a reply: whether it says `OK`.
    pub ok: bool,
    /// Key value pairs, without the debugging tokens at the end.
    pub pairs: &'a [u8],
}

/// What a line is.
pub(super) enum Line<'a> {
    Packet(Packet<'a>),
    /// It carries nothing but who and when.
    Short(Packet<'a>),
}

/// Procedures of both versions that say something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Procedure {
    Getattr,
    Setattr,
    Lookup,
    Access,
    Read,
    Write,
    Create,
    Mkdir,
    Symlink,
    Remove,
    Rmdir,
    Rename,
    Link,
    Readdirp,
    Commit,
    Other,
}

const PROCEDURES: [(&[u8], Procedure); 15] = [
    (b"getattr", Procedure::Getattr),
    (b"setattr", Procedure::Setattr),
    (b"lookup", Procedure::Lookup),
    (b"access", Procedure::Access),
    (b"read", Procedure::Read),
    (b"write", Procedure::Write),
    (b"create", Procedure::Create),
    (b"mkdir", Procedure::Mkdir),
    (b"symlink", Procedure::Symlink),
    (b"remove", Procedure::Remove),
    (b"rmdir", Procedure::Rmdir),
    (b"rename", Procedure::Rename),
    (b"link", Procedure::Link),
    (b"readdirp", Procedure::Readdirp),
    (b"commit", Procedure::Commit),
];

/// Debugging tokens at the end of a call, and of a reply.
const CALL_TAIL: usize = 6;
const REPLY_TAIL: usize = 10;

pub(super) fn parse(line: &[u8]) -> Result<Line<'_>, &'static str> {
    let mut rest = line;
    let t_ns = packet_time(token(&mut rest)).ok_or("seconds.microseconds")?;
    let source = token(&mut rest);
    let target = token(&mut rest);
    if !matches!(token(&mut rest), b"U" | b"T") {
        return Err("U or T");
    }
    let reply = match token(&mut rest) {
        b"C2" | b"C3" => false,
        b"R2" | b"R3" => true,
        _ => return Err("C2, C3, R2 or R3"),
    };
    let xid = hex(token(&mut rest)).ok_or("a transaction id in hexadecimal")?;
    hex(token(&mut rest)).ok_or("a procedure number in hexadecimal")?;
    let name = token(&mut rest);
    if name.is_empty() || !name.iter().all(u8::is_ascii_alphanumeric) {
        return Err("the name of a procedure");
    }
    let known = PROCEDURES.iter().find(|(n, _)| *n == name);
    let mut packet = Packet {
        t_ns,
        client: if reply { target } else { source },
        reply,
        xid,
        procedure: known.map_or(Procedure::Other, |(_, p)| *p),
        ok: false,
        pairs: b"",
    };
    if memmem::find(rest, b"SHORT PACKET").is_some() {
        return Ok(Line::Short(packet));
    }
    packet.ok = reply && name != b"null" && token(&mut rest) == b"OK";
    packet.pairs = without_tail(rest, reply).ok_or("con = X len = X at the end")?;
    Ok(Line::Packet(packet))
}

/// The next token; empty at the end.
fn token<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let text = rest.trim_ascii_start();
    let end = memchr(b' ', text).unwrap_or(text.len());
    let (token, after) = text.split_at(end);
    *rest = after;
    token
}

/// Takes marks of overlong packets and the debugging tokens away.
fn without_tail(text: &[u8], reply: bool) -> Option<&[u8]> {
    let mut text = text.trim_ascii_end();
    loop {
        let (before, last) = last_token(text);
        match last {
            b"JUMBO" | b"LONGPACKET" => text = before,
            _ if last.starts_with(b"LONGPKT-") => text = before,
            _ => break,
        }
    }
    let tokens = if reply { REPLY_TAIL } else { CALL_TAIL };
    for index in 0..tokens {
        let (before, last) = last_token(text);
        let fits = match index {
            1 | 4 | 7 => last == b"=",
            2 => last == b"len",
            5 => last == b"con",
            8 => last == b"pl",
            9 => last.starts_with(b"status="),
            _ => !last.is_empty(),
        };
        if !fits {
            return None;
        }
        text = before;
    }
    Some(text)
}

fn last_token(text: &[u8]) -> (&[u8], &[u8]) {
    let start = memchr::memrchr(b' ', text).map_or(0, |s| s + 1);
    (text[..start].trim_ascii_end(), &text[start..])
}

fn packet_time(text: &[u8]) -> Option<i64> {
    let (seconds, micros) = time(text)?;
    i64::try_from(seconds)
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(micros as i64 * 1000)
}

/// Seconds and microseconds, both as integers: the part behind the dot is not padded. `None`: no time, or more
/// than six digits, which are garbage.
pub(super) fn time(text: &[u8]) -> Option<(u64, u64)> {
    let dot = memchr(b'.', text)?;
    let micros = &text[dot + 1..];
    if micros.len() > 6 {
        return None;
    }
    Some((decimal(&text[..dot])?, decimal(micros)?))
}

fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0, |v, &b| {
        b.is_ascii_digit().then(|| v * 10 + u64::from(b - b'0'))
    })
}

/// A hexadecimal number of at most 64 bits.
pub(super) fn hex(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    text.iter().try_fold(0, |v, &b| {
        let digit = char::from(b).to_digit(16)?;
        Some(v << 4 | u64::from(digit))
    })
}

/// The pairs of a packet, one after the other.
pub(super) struct Pairs<'a>(pub &'a [u8]);

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let key = token(&mut self.0);
        let value = token(&mut self.0);
        (!key.is_empty() && !value.is_empty()).then_some((key, value))
    }
}

/// The value of the first of some keys.
pub(super) fn value<'a>(pairs: &'a [u8], keys: &[&[u8]]) -> Option<&'a [u8]> {
    let mut found = Pairs(pairs).filter(|(key, _)| keys.contains(key));
    found.next().map(|(_, value)| value)
}

/// The number of the first of some keys.
pub(super) fn number(pairs: &[u8], keys: &[&[u8]]) -> Option<u64> {
    value(pairs, keys).and_then(hex)
}

/// The bytes of a name: in quotes, `\hh` is a byte. `None`: no name that an entry can have.
pub(super) fn name(text: &[u8]) -> Option<Vec<u8>> {
    let name = quoted(text)?;
    fsage_core::names::check_name(&name).ok()?;
    Some(name)
}

/// The bytes of a quoted value.
pub(super) fn quoted(text: &[u8]) -> Option<Vec<u8>> {
    let mut rest = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some(at) = memchr(b'\\', rest) {
        bytes.extend_from_slice(&rest[..at]);
        let [high, low, ..] = rest[at + 1..] else {
            return None;
        };
        bytes.push(hex_byte(high, low)?);
        rest = &rest[at + 3..];
    }
    bytes.extend_from_slice(rest);
    Some(bytes)
}

/// The attributes of a reply's first object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes<'a> {
    pub handle: Option<&'a [u8]>,
    /// 1 file, 2 directory, 5 symbolic link.
    pub kind: Option<u64>,
    pub links: Option<u64>,
    pub size: Option<u64>,
    pub file_id: Option<u64>,
    pub modified: Option<(u64, u64)>,
    /// Bytes read or written.
    pub count: Option<u64>,
    /// The packet is garbage.
    pub garbage: bool,
}

impl<'a> Attributes<'a> {
    /// Reads a reply. Of keys that come twice the first set is the object's; the second is its directory's.
    pub fn read(pairs: &'a [u8]) -> Attributes<'a> {
        let mut a = Attributes::default();
        let mut garbage = false;
        for (key, value) in Pairs(pairs) {
            match key {
                b"fh" => a.handle = a.handle.or(Some(value)),
                b"ftype" => a.kind = a.kind.or(hex(value)),
                b"nlink" => a.links = a.links.or(hex(value)),
                b"size" => a.size = a.size.or(hex(value)),
                b"fileid" => a.file_id = a.file_id.or(hex(value)),
                b"count" => a.count = a.count.or(hex(value)),
                b"atime" | b"mtime" | b"ctime" => match time(value) {
                    Some(t) if key == b"mtime" => a.modified = a.modified.or(Some(t)),
                    Some(_) => {}
                    None => garbage = true,
                },
                b"stable" => garbage |= value == b"?",
                _ => {}
            }
        }
        if garbage {
            return Attributes {
                garbage,
                ..Attributes::default()
            };
        }
        a
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(text: &str) -> Packet<'_> {
        match parse(text.as_bytes()) {
            Ok(Line::Packet(p)) => p,
            Ok(Line::Short(_)) => panic!("short"),
            Err(e) => panic!("{e}"),
        }
    }

    #[test]
    fn the_client_is_the_source_of_a_call_and_the_target_of_a_reply() {
        let call = "1.000002 31.03f7 30.0801 T C3 b6 3 lookup fh ab name \"x\" con = 82 len = 97";
        let reply =
            "1.000003 30.0801 31.03f7 T R3 b6 3 lookup OK fh cd status=0 pl = 0 con = 1 len = 2";
        let (call, reply) = (packet(call), packet(reply));
        assert_eq!(call.client, reply.client);
        // Behind the dot are microseconds: 000002 is 2.
        assert_eq!((call.t_ns, call.xid, call.ok), (1_000_002_000, 0xb6, false));
        assert!(reply.ok && reply.reply);
        assert_eq!(value(reply.pairs, &[b"fh"]), Some(&b"cd"[..]));
        assert_eq!(value(call.pairs, &[b"con"]), None);
    }

    #[test]
    fn marks_of_long_packets_are_taken_away() {
        for mark in ["JUMBO", "LONGPACKET", "LONGPKT-12", "LONGPKT-1 JUMBO"] {
            let line =
                format!("1.0 a b U C3 1 7 write fh ab off 0 count 10 con = 1 len = 2 {mark}");
            assert_eq!(number(packet(&line).pairs, &[b"count"]), Some(16), "{mark}");
        }
    }

    #[test]
    fn short_packets_are_no_bad_lines() {
        let line = b"1.0 a b U C3 1 e rename SHORT PACKETcon = 130 len = 400 con = 1 len = 2"; // typos: ignore
        assert!(matches!(parse(line), Ok(Line::Short(_))));
    }

    #[test]
    fn other_lines_are_bad() {
        for text in [
            "",
            "x a b U C3 1 7 write con = 1 len = 2",
            "1.0 a b X C3 1 7 write con = 1 len = 2",
            "1.0 a b U C4 1 7 write con = 1 len = 2",
            "1.0 a b U C3 zz 7 write con = 1 len = 2",
            "1.0 a b U C3 1 7 write fh ab",
            "1.0 a b U R3 1 7 write OK con = 1 len = 2",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn microseconds_are_not_padded() {
        // The examples of the format's description: `.0` is 0, `.5` would be 5 microseconds.
        assert_eq!(time(b"1030395536.0"), Some((1_030_395_536, 0)));
        assert_eq!(time(b"1.5"), Some((1, 5)));
        assert_eq!(time(b"1.1234567"), None);
        assert_eq!(time(b"SERVER"), None);
    }

    #[test]
    fn the_first_set_of_attributes_is_the_objects() {
        let text = b"fh ab ftype 1 nlink 2 size 10 fileid 5 mtime 7.1 \
                     ftype 2 nlink 9 size 2000 fileid 6 mtime 8.1";
        let a = Attributes::read(text);
        assert_eq!((a.kind, a.links, a.size), (Some(1), Some(2), Some(16)));
        assert_eq!((a.file_id, a.modified), (Some(5), Some((7, 1))));
    }

    #[test]
    fn garbage_drops_all_attributes() {
        let dots = Attributes::read(b"ftype 1 size 10 mtime 7.1234567");
        let stable = Attributes::read(b"ftype 1 size 10 count 11b10800 stable ?");
        for a in [dots, stable] {
            assert!(a.garbage && a.size.is_none() && a.count.is_none());
        }
    }

    #[test]
    fn names_have_bytes_in_hexadecimal() {
        assert_eq!(name(br#""a\20b\5cc""#).as_deref(), Some(&b"a b\\c"[..]));
        for bad in [&b"\"\""[..], br#""a\2""#, br#""a\2fb""#, b"\"open"] {
            assert_eq!(name(bad), None, "{}", bad.escape_ascii());
        }
    }
}
