//! fs-hasher, the format of the daily snapshots of the FSL archives (`.hash.anon`; snapshot format, section
//! 5.1): packed little-endian structures, a header, then files, each with its chunk records, which are skipped.

use super::Input;
use super::error::{At, Place, SnapshotError, shown};
use super::night::Nights;
use super::number::{full_mode, whole_seconds};
use super::paths::{below, relative, without_end};
use super::record::LONGEST_BYTES;
use super::summary::{Repair, Summary};
use fsage_core::layout::FileKind;
use fsage_core::names::escape;
use fsage_core::snapshot::{Inode, SnapshotInfo};
use std::io::{BufRead, Read};

const MAGIC: u32 = 0xDEAD_DEAD;
/// Version 5 and later say the number of bytes at its end.
const HEADER_BYTES: usize = 8296;
const HEADER_BYTES_V4: usize = 8288;
const PATH_BYTES: usize = 4096;
/// Longest hash. The longest that exists, SHA-256, has 256 bits.
const MOST_HASH_BITS: u32 = 1 << 16;
const MOST_FIXED_BYTES: usize = 96;

/// Reads one snapshot.
pub(super) fn read(input: &mut Input<'_>, nights: &mut Nights<'_>) -> Result<(), SnapshotError> {
    let mut place = Place {
        file: input.name,
        at: At::Header,
    };
    let header = Header::read(input.bytes, place)?;
    let info = SnapshotInfo {
        source: "fs-hasher".to_owned(),
        host: (!header.system_id.is_empty()).then(|| escape(&header.system_id).into_owned()),
        walk_ns: header
            .end_s
            .checked_sub(header.start_s)
            .and_then(|s| u64::try_from(s).ok()?.checked_mul(1_000_000_000)),
        ..SnapshotInfo::default()
    };
    let taken_at_ns = whole_seconds(header.start_s).ok_or_else(|| {
        place.bad(
            "a start time between 1677 and 2262",
            header.start_s.to_string(),
        )
    })?;
    nights.begin(nights.next_snap_id(), Some(taken_at_ns), info)?;
    let mut files = Files {
        device: None,
        path: Vec::new(),
        target: Vec::new(),
    };
    for n in 1..=header.files {
        place.at = At::Record(n);
        files.read_one(&header, input.bytes, place, nights)?;
    }
    nights.end()?;
    let rest = skip(input.bytes, u64::MAX, place)?;
    nights.summary.count_many(Repair::TrailingBytes, rest);
    Ok(())
}

/// Whether bytes start with the magic number.
pub(super) fn starts_like(head: &[u8]) -> bool {
    head.starts_with(&MAGIC.to_le_bytes())
}

/// The time that the header says.
pub(super) fn time_ns(mut head: &[u8]) -> Option<i64> {
    let place = Place {
        file: "",
        at: At::Header,
    };
    let header = Header::read(&mut head, place).ok()?;
    whole_seconds(header.start_s)
}

struct Header {
    version: u32,
    files: u64,
    root: Vec<u8>,
    /// Bytes of a chunk record.
    chunk_bytes: u64,
    system_id: Vec<u8>,
    start_s: i64,
    end_s: i64,
}

impl Header {
    fn read(input: &mut dyn BufRead, place: Place<'_>) -> Result<Header, SnapshotError> {
        let mut bytes = [0; HEADER_BYTES];
        fill(input, &mut bytes[..8], place)?;
        let magic = u32_at(&bytes, 0);
        if magic != MAGIC {
            return Err(place.bad(
                "the number 0xDEADDEAD of fs-hasher",
                format!("{magic:#010X}"),
            ));
        }
        let version = u32_at(&bytes, 4);
        let length = match version {
            4 => HEADER_BYTES_V4,
            5..=7 => HEADER_BYTES,
            1..=3 => {
                return Err(place.unusable(format!(
                    "is of version {version} of fs-hasher, which has no inode numbers: files of two \
                     snapshots cannot be distinguished; versions 4 to 7 can be read"
                )));
            }
            _ => {
                return Err(place.bad("a version from 4 to 7", version.to_string()));
            }
        };
        fill(input, &mut bytes[8..length], place)?;
        let chunking = u32_at(&bytes, 4120);
        let variable = match chunking {
            1 => false,
            2 => true,
            _ => {
                return Err(place.bad("chunking 1 (fixed) or 2 (variable)", chunking.to_string()));
            }
        };
        let hash_bits = u32_at(&bytes, 4172);
        if !hash_bits.is_multiple_of(8) || hash_bits > MOST_HASH_BITS {
            return Err(place.bad("a hash of whole bytes", format!("{hash_bits} bits")));
        }
        let size_bytes = match (variable, version) {
            (false, _) => 0,
            (true, 7..) => 4,
            (true, _) => 8,
        };
        let ratio_bytes = u64::from(version >= 6);
        Ok(Header {
            version,
            files: u64_at(&bytes, 8),
            root: until_nul(&bytes[16..16 + PATH_BYTES]),
            chunk_bytes: u64::from(hash_bits / 8) + size_bytes + ratio_bytes,
            system_id: until_nul(&bytes[4176..4176 + PATH_BYTES]),
            start_s: u64_at(&bytes, 8272).cast_signed(),
            end_s: u64_at(&bytes, 8280).cast_signed(),
        })
    }

    /// A path below the root of the scan.
    fn below_root<'p>(&self, path: &'p [u8], summary: &mut Summary) -> &'p [u8] {
        below(without_end(&self.root), path).unwrap_or_else(|| {
            summary.count(Repair::PathOutsideRoot);
            relative(path)
        })
    }
}

/// The records of files.
struct Files {
    /// That of the first file: a scan may cross into other file systems, whose inode numbers are their own.
    device: Option<u64>,
    path: Vec<u8>,
    target: Vec<u8>,
}

impl Files {
    fn read_one(
        &mut self,
        header: &Header,
        input: &mut dyn BufRead,
        place: Place<'_>,
        nights: &mut Nights<'_>,
    ) -> Result<(), SnapshotError> {
        // Version 4 has no number of blocks: what stands behind it is 8 bytes nearer.
        let (has_blocks, length) = match header.version {
            4 => (false, MOST_FIXED_BYTES - 8),
            _ => (true, MOST_FIXED_BYTES),
        };
        let mut fixed = [0; MOST_FIXED_BYTES];
        fill(input, &mut fixed[..length], place)?;
        let behind = &fixed[if has_blocks { 16 } else { 8 }..];
        let long = |at: usize| u64_at(behind, at);
        let blocks = has_blocks.then(|| u64_at(&fixed, 8));
        let chunks = long(64);
        take(input, u32_at(behind, 72), &mut self.path, "path", place)?;
        take(
            input,
            u32_at(behind, 76),
            &mut self.target,
            "link target",
            place,
        )?;
        let skipped = chunks.checked_mul(header.chunk_bytes);
        let skipped = skipped.ok_or_else(|| place.bad("chunks in 64 bits", chunks.to_string()))?;
        if skip(input, skipped, place)? < skipped {
            return Err(place.cut_short());
        }

        let small = |what: &str, n: u64| {
            u32::try_from(n).map_err(|_| place.bad(format!("a {what} in 32 bits"), n.to_string()))
        };
        let device = long(48);
        if *self.device.get_or_insert(device) != device {
            nights.summary.count(Repair::OtherDevice);
            return Ok(());
        }
        if self.path.is_empty() {
            return Err(place.bad("a path", "nothing"));
        }
        let mode = small("mode", long(8))?;
        let by_target = match self.target[..] {
            [] => FileKind::Regular,
            _ => FileKind::Symlink,
        };
        let kind = FileKind::of_mode(mode).unwrap_or(by_target);
        let (mode, contradicts) = full_mode(mode, kind);
        if contradicts {
            nights.summary.count(Repair::ModeContradicts);
        }
        let mut time = |s: u64| {
            let ns = whole_seconds(s.cast_signed());
            if ns.is_none() {
                nights.summary.count(Repair::TimeOutOfRange);
            }
            ns
        };
        let inode = Inode {
            alloc_bytes: match blocks {
                None => None,
                Some(n) => Some(
                    n.checked_mul(512)
                        .ok_or_else(|| place.bad("512-byte blocks in 64 bits", n.to_string()))?,
                ),
            },
            uid: Some(u32_at(behind, 0)),
            gid: Some(u32_at(behind, 4)),
            mode: Some(mode),
            mtime_ns: time(long(24)),
            ctime_ns: time(long(32)),
            links: Some(small("number of links", long(40))?),
            ..Inode::new(long(56), None, kind, u64_at(&fixed, 0))
        };
        let path = header.below_root(&self.path, &mut nights.summary);
        nights.row(inode, Some(path))
    }
}

/// Reads a string of that length.
fn take(
    input: &mut dyn BufRead,
    length: u32,
    text: &mut Vec<u8>,
    what: &str,
    place: Place<'_>,
) -> Result<(), SnapshotError> {
    text.clear();
    let length = u64::from(length);
    if length > LONGEST_BYTES {
        let expected = format!("a {what} of at most {LONGEST_BYTES} bytes");
        return Err(place.bad(expected, length.to_string()));
    }
    let read = input
        .take(length)
        .read_to_end(text)
        .map_err(|e| place.unreadable(e))?;
    if (read as u64) < length {
        return Err(place.cut_short());
    }
    if text.contains(&0) {
        return Err(place.bad(format!("a {what} without NUL bytes"), shown(text)));
    }
    Ok(())
}

/// Fills `bytes`.
fn fill(input: &mut dyn BufRead, bytes: &mut [u8], place: Place<'_>) -> Result<(), SnapshotError> {
    input.read_exact(bytes).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => place.cut_short(),
        _ => place.unreadable(e),
    })
}

/// Skips up to so many bytes; how many there were.
fn skip(input: &mut dyn BufRead, bytes: u64, place: Place<'_>) -> Result<u64, SnapshotError> {
    let mut left = bytes;
    while left > 0 {
        let there = input.fill_buf().map_err(|e| place.unreadable(e))?.len();
        if there == 0 {
            break;
        }
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(there);
        input.consume(step);
        left -= step as u64;
    }
    Ok(bytes - left)
}

fn until_nul(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|&c| c == 0).unwrap_or(bytes.len());
    bytes[..end].to_vec()
}

/// The number at a place that the caller has made sure of.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
