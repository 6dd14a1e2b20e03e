//! Entries of directories, in the inode and in blocks.

use super::bytes::{is_sound, u16_at, u32_at, u64_at};
use super::device::Device;
use crate::image::Fault;

/// Bytes of a directory from here on are no names, but tables that lead to them.
pub const TABLES_BYTES: u64 = 1 << 35;
/// Length of what stands before the entries of a block.
const HEADER: usize = 64;
/// What a block begins with: one that is all of the directory, and one of several.
const ALONE: u32 = u32::from_be_bytes(*b"XDB3");
const OF_SEVERAL: u32 = u32::from_be_bytes(*b"XDD3");
/// What stands in place of the inode, in its first half, where there is a gap.
const GAP: u16 = 0xFFFF;

/// Called with an inode and its name.
type Visit<'v> = &'v mut dyn FnMut(u64, &[u8]) -> Result<(), Fault>;

/// Entries of a directory that lies in its inode.
pub fn visit_inside(area: &[u8], visit: Visit<'_>) -> Result<(), Fault> {
    let cut = || Fault("its entries lead out of the inode".to_owned());
    let (&[count, large], _) = area.split_first_chunk().ok_or_else(cut)?;
    let ino_bytes = if large > 0 { 8 } else { 4 };
    let ino_at = |bytes: &[u8]| {
        if large > 0 {
            u64_at(bytes, 0)
        } else {
            u32_at(bytes, 0).into()
        }
    };
    let mut rest = area.get(2 + ino_bytes..).ok_or_else(cut)?;
    for _ in 0..count {
        let length = usize::from(*rest.first().ok_or_else(cut)?);
        let name = rest.get(3..3 + length).ok_or_else(cut)?;
        let behind = rest.get(3 + length + 1..).ok_or_else(cut)?;
        let ino = behind.get(..ino_bytes).ok_or_else(cut)?;
        visit(ino_at(ino), name)?;
        rest = &behind[ino_bytes..];
    }
    Ok(())
}

/// Entries of a block, which is the one at `block` of the device; `.` and `..` are left out.
pub fn visit_block(
    device: &Device<'_>,
    ino: u64,
    block: u64,
    bytes: &[u8],
    visit: Visit<'_>,
) -> Result<(), Fault> {
    let magic = u32_at(bytes, 0);
    let is_it = (magic == ALONE || magic == OF_SEVERAL)
        && is_sound(bytes, 4)
        && u64_at(bytes, 8) == device.sector_of(block)
        && u64_at(bytes, 40) == ino
        && bytes[24..40] == device.superblock.meta_uuid;
    if !is_it {
        return Err(Fault("it is not what it should be".to_owned()));
    }
    let end = if magic == ALONE {
        let table = 8 * (u64::from(u32_at(bytes, bytes.len() - 8)) + 1);
        let end = (bytes.len() as u64).checked_sub(table);
        end.ok_or_else(|| Fault("its table is longer than the block".to_owned()))? as usize
    } else {
        bytes.len()
    };
    let mut at = HEADER;
    while at < end {
        let entry = &bytes[at..end];
        let out = || Fault(format!("the entry at byte {at} leads out of it"));
        let length = if u16_at(entry, 0) == GAP {
            usize::from(u16_at(entry, 2))
        } else {
            let name_bytes = usize::from(*entry.get(8).ok_or_else(out)?);
            // Inode, length, name, type, and where it stands.
            (8 + 1 + name_bytes + 1 + 2).next_multiple_of(8)
        };
        if length == 0 || length % 8 != 0 || length > entry.len() {
            return Err(out());
        }
        if usize::from(u16_at(entry, length - 2)) != at {
            return Err(Fault(format!(
                "the entry at byte {at} says that it is elsewhere"
            )));
        }
        if u16_at(entry, 0) != GAP {
            let name = &entry[9..9 + usize::from(entry[8])];
            if name != b"." && name != b".." {
                visit(u64_at(entry, 0), name)?;
            }
        }
        at += length;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(area: &[u8]) -> Result<Vec<(u64, Vec<u8>)>, Fault> {
        let mut found = Vec::new();
        visit_inside(area, &mut |ino, name| {
            found.push((ino, name.to_vec()));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn entries_in_an_inode_have_short_or_long_numbers() {
        let short = [1, 0, 0, 0, 0, 128, 2, 0, 96, b'a', b'b', 1, 0, 0, 0, 131];
        assert_eq!(inside(&short), Ok(vec![(131, b"ab".to_vec())]));
        let mut long = vec![1, 1, 0, 0, 0, 0, 0, 0, 0, 128, 1, 0, 96, b'x', 2];
        long.extend(0x1_0000_0083_u64.to_be_bytes());
        assert_eq!(inside(&long), Ok(vec![(0x1_0000_0083, b"x".to_vec())]));
        for cut in 0..long.len() {
            assert!(inside(&long[..cut]).is_err(), "{cut}");
        }
    }
}
