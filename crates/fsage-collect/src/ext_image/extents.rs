//! Extent trees, of ext4.

use super::bytes::{u16_at, u32_at, u64_of};
use super::mapping::Mapper;
use crate::image::Fault;
use fsage_core::Extent;

const MAGIC: u16 = 0xF30A;
/// The root lies in the inode; no file needs more levels below it.
const DEEPEST: u16 = 5;
/// Length of the header of a node, and of each entry.
const ENTRY: usize = 12;
/// Longer runs than this were never written, and are shorter by it.
const UNWRITTEN_FROM: u16 = 32768;

/// Gives all extents of the tree whose root this is.
pub fn map(mapper: &mut Mapper, root: &[u8]) -> Result<(), Fault> {
    let depth = u16_at(root, 6);
    if depth > DEEPEST {
        return Err(Fault(format!(
            "an extent tree of depth {depth}, expected at most {DEEPEST}"
        )));
    }
    let mut tree = Tree { mapper, end: 0 };
    tree.node(root, depth)
}

struct Tree<'a, 'm> {
    mapper: &'a mut Mapper<'m>,
    /// Where the last extent ended in the file, in blocks.
    end: u64,
}

impl Tree<'_, '_> {
    fn node(&mut self, bytes: &[u8], depth: u16) -> Result<(), Fault> {
        let (magic, entries) = (u16_at(bytes, 0), usize::from(u16_at(bytes, 2)));
        let (found, most) = (u16_at(bytes, 6), bytes.len() / ENTRY - 1);
        if magic != MAGIC || found != depth || entries > most {
            return Err(Fault(format!(
                "an extent tree node of magic number {magic:#x}, depth {found}, {entries} entries, expected \
                 {MAGIC:#x}, {depth}, at most {most}"
            )));
        }
        let entries = bytes[ENTRY..].chunks_exact(ENTRY).take(entries);
        for entry in entries {
            if depth == 0 {
                self.leaf(entry)?;
            } else {
                let child = u64_of(u32_at(entry, 4), u32::from(u16_at(entry, 8)));
                let child = self.mapper.read_pointers(child)?;
                self.node(&child, depth - 1)?;
            }
        }
        Ok(())
    }

    fn leaf(&mut self, entry: &[u8]) -> Result<(), Fault> {
        let logical = u64::from(u32_at(entry, 0));
        let block = u64_of(u32_at(entry, 8), u32::from(u16_at(entry, 6)));
        let length = u16_at(entry, 4);
        let (length, flags) = if length > UNWRITTEN_FROM {
            (length - UNWRITTEN_FROM, Extent::UNWRITTEN)
        } else {
            (length, 0)
        };
        let length = u64::from(length);
        if length == 0 || logical < self.end {
            return Err(Fault(format!(
                "an extent of {length} blocks at block {logical} of the file, where the one before ended at {}",
                self.end
            )));
        }
        self.end = logical + length;
        self.mapper.push(logical, block, length, flags)
    }
}
