//! Entries of directories: of one block, or of data inside an inode.

use super::bytes::{u16_at, u32_at};
use super::inode::RawInode;
use crate::image::Fault;

/// Inode, record length, name length, type.
const HEADER: usize = 8;
/// The shortest record: a name of up to 4 bytes.
const SHORTEST: usize = 12;
const LONGEST_NAME: usize = 255;
/// Records that would need 17 bits for their length: one that fills a block of 64 KiB.
const LONGEST_BLOCK: usize = 65536;

/// Visits inode and name of every entry but `.` and `..`. Blocks of a hashed directory's index and checksums look like
/// unused entries, which have inode 0.
///
/// `typed`: entries say the type of their inode, and the length of the name is one byte.
pub fn visit_entries(
    block: &[u8],
    typed: bool,
    visit: &mut dyn FnMut(u32, &[u8]),
) -> Result<(), Fault> {
    let mut at = 0;
    while at < block.len() {
        let record = &block[at..];
        let length = match usize::from(u16_at(record, 4)) {
            0 | 65535 if block.len() == LONGEST_BLOCK => LONGEST_BLOCK,
            length => length,
        };
        let name_bytes = usize::from(u16_at(record, 6));
        let name_bytes = if typed { name_bytes & 0xFF } else { name_bytes };
        let ino = u32_at(record, 0);
        let needed = if ino == 0 {
            SHORTEST
        } else {
            SHORTEST.max(HEADER + name_bytes)
        };
        if length % 4 != 0
            || !(needed..=record.len()).contains(&length)
            || (ino != 0 && name_bytes > LONGEST_NAME)
        {
            return Err(Fault(format!(
                "an entry of {length} bytes with a name of {name_bytes} at byte {at} of a block, expected {needed} \
                 to {} with at most {LONGEST_NAME}",
                record.len()
            )));
        }
        if ino != 0 {
            let name = &record[HEADER..HEADER + name_bytes];
            if !matches!(name, b"." | b"..") {
                visit(ino, name);
            }
        }
        at += length;
    }
    Ok(())
}

/// The same for a directory that lies inside its inode.
pub fn visit_inline_entries(
    inode: &RawInode,
    typed: bool,
    visit: &mut dyn FnMut(u32, &[u8]),
) -> Result<(), Fault> {
    let [first, rest] = inode.inline_parts();
    // The first 4 bytes say the parent; there are no entries `.` and `..`.
    visit_entries(&first[4..], typed, visit)?;
    visit_entries(rest, typed, visit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(ino: u32, length: u16, name: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; usize::from(length)];
        bytes[..4].copy_from_slice(&ino.to_le_bytes());
        bytes[4..6].copy_from_slice(&length.to_le_bytes());
        bytes[6] = name.len() as u8;
        bytes[8..8 + name.len()].copy_from_slice(name);
        bytes
    }

    fn names(block: &[u8]) -> Result<Vec<(u32, Vec<u8>)>, Fault> {
        let mut names = Vec::new();
        visit_entries(block, true, &mut |ino, name| {
            names.push((ino, name.to_vec()));
        })?;
        Ok(names)
    }

    #[test]
    fn unused_entries_and_dots_are_skipped() {
        let block = [
            entry(2, 12, b"."),
            entry(2, 12, b".."),
            entry(0, 16, b"gone"),
            entry(12, 12, b"a"),
            entry(13, 16, b"\xffbc"),
            entry(0, 12, b""),
        ];
        let expected = vec![(12, b"a".to_vec()), (13, b"\xffbc".to_vec())];
        assert_eq!(names(&block.concat()), Ok(expected));
    }

    #[test]
    fn records_that_lead_nowhere_end_the_block() {
        for length in [0, 8, 13, 20, 65535] {
            let mut block = entry(12, 16, b"a");
            block[4..6].copy_from_slice(&u16::to_le_bytes(length));
            assert!(names(&block).is_err(), "{length}");
        }
        assert!(names(&entry(12, 12, b"abcd")).is_ok());
        let mut long = entry(12, 12, b"abcd");
        long[6] = 5;
        assert!(names(&long).is_err());
        assert!(names(&[0; 7]).is_err());
    }

    #[test]
    fn a_record_can_fill_a_block_of_64_kib() {
        let mut block = vec![0; 65536];
        block[..4].copy_from_slice(&12_u32.to_le_bytes());
        block[4..8].copy_from_slice(&[0xff, 0xff, 1, 1]);
        block[8] = b'x';
        assert_eq!(names(&block), Ok(vec![(12, b"x".to_vec())]));
    }
}
