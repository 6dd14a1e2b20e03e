//! Where the blocks of one inode lie.

use super::bytes::{is_sound, u16_at, u32_at, u64_at};
use super::device::Device;
use super::inode::{Format, RawInode};
use crate::image::Fault;
use fsage_core::Extent;
use std::collections::HashSet;

/// Length of an extent as it is stored.
const RECORD: usize = 16;
/// Length of what stands before the records of a block.
const HEADER: usize = 72;
/// What a block of a tree of extents begins with.
const MAGIC: u32 = u32::from_be_bytes(*b"BMA3");
/// More levels than any tree has.
const MOST_LEVELS: u16 = 12;
const UNWRITTEN: u64 = 1 << 63;

/// Finds the blocks of inodes, one after another. A block of a tree belongs to one inode, and is read once.
pub struct Mapper<'a> {
    device: Device<'a>,
    tree_blocks: HashSet<u64>,
}

impl<'a> Mapper<'a> {
    pub fn new(device: Device<'a>) -> Mapper<'a> {
        Mapper {
            device,
            tree_blocks: HashSet::new(),
        }
    }

    /// Extents of an inode: data, ascending by place in the file and merged, then blocks of their tree, each for
    /// itself, in the order in which a reader of the whole file meets them.
    pub fn extents(&mut self, inode: &RawInode<'_>) -> Result<Box<[Extent]>, Fault> {
        let area = inode.data();
        let area = area.ok_or_else(|| Fault("its attributes begin behind its end".to_owned()))?;
        let mut found = Found {
            device: self.device,
            data: Vec::new(),
            tree: Vec::new(),
            records: 0,
        };
        match inode.format() {
            None => return Err(Fault("its data are in no known format".to_owned())),
            Some(Format::Nowhere | Format::Inside) => return Ok(Box::default()),
            Some(Format::Extents) => {
                let count = usize::try_from(inode.extents()).unwrap_or(usize::MAX);
                let records = area.chunks_exact(RECORD);
                if count > records.len() {
                    return Err(Fault(format!("{count} extents do not fit into it")));
                }
                for record in records.take(count) {
                    found.add(record)?;
                }
            }
            Some(Format::Tree) => self.map_tree(inode, area, &mut found)?,
        }
        if found.records != inode.extents() {
            let (is, said) = (found.records, inode.extents());
            return Err(Fault(format!("it has {is} extents, and says {said}")));
        }
        found.data.append(&mut found.tree);
        Ok(found.data.into())
    }

    fn map_tree(
        &mut self,
        inode: &RawInode<'_>,
        area: &[u8],
        found: &mut Found<'_>,
    ) -> Result<(), Fault> {
        let (levels, count) = (u16_at(area, 0), usize::from(u16_at(area, 2)));
        let most = (area.len() - 4) / 16;
        if !(1..=MOST_LEVELS).contains(&levels) || count == 0 || count > most {
            return Err(Fault(format!(
                "a tree of {levels} levels with {count} entries"
            )));
        }
        let children = |bytes: &[u8], at: usize, count: usize, level: u16| {
            let children = (0..count).map(|entry| (u64_at(bytes, at + 8 * entry), level));
            children.rev().collect::<Vec<_>>()
        };
        // What is still to be looked at, the next last.
        let mut waiting = children(area, 4 + 8 * most, count, levels - 1);
        while let Some((block, level)) = waiting.pop() {
            let bytes = self.read_tree(inode.ino, block, level, found)?;
            let count = usize::from(u16_at(&bytes, 6));
            let most = (bytes.len() - HEADER) / 16;
            if count == 0 || count > most {
                return Err(Fault(format!(
                    "block {block} of its tree has {count} entries"
                )));
            }
            if level > 0 {
                waiting.extend(children(&bytes, HEADER + 8 * most, count, level - 1));
                continue;
            }
            for record in bytes[HEADER..].chunks_exact(RECORD).take(count) {
                found.add(record)?;
            }
        }
        Ok(())
    }

    fn read_tree(
        &mut self,
        ino: u64,
        block: u64,
        level: u16,
        found: &mut Found<'_>,
    ) -> Result<Vec<u8>, Fault> {
        let absolute = self.device.superblock.absolute(block);
        let absolute = absolute
            .filter(|absolute| self.tree_blocks.insert(*absolute))
            .ok_or_else(|| {
                Fault(format!(
                    "block {block} of its tree is none, or is used twice"
                ))
            })?;
        let read = self.device.block(absolute);
        let bytes = read.map_err(|e| Fault(format!("block {block} of its tree: {e}")))?;
        let is_it = u32_at(&bytes, 0) == MAGIC
            && is_sound(&bytes, 64)
            && u16_at(&bytes, 4) == level
            && u64_at(&bytes, 24) == self.device.sector_of(absolute)
            && u64_at(&bytes, 56) == ino
            && bytes[40..56] == self.device.superblock.meta_uuid;
        if !is_it {
            return Err(Fault(format!(
                "block {block} of its tree is not what it should be"
            )));
        }
        let size = self.device.block_bytes();
        found.tree.push(Extent {
            logical_bytes: Extent::POINTERS_AT,
            physical_bytes: absolute * size,
            length_bytes: size,
            flags: Extent::POINTERS,
        });
        Ok(bytes)
    }
}

/// Extents of one inode.
struct Found<'a> {
    device: Device<'a>,
    data: Vec<Extent>,
    tree: Vec<Extent>,
    records: u64,
}

impl Found<'_> {
    /// Appends an extent as it is stored: a bit whether it was not written, 54 bits of the block of the file, 52 of the
    /// block on disk, 21 of the length.
    fn add(&mut self, record: &[u8]) -> Result<(), Fault> {
        self.records += 1;
        let (high, low) = (u64_at(record, 0), u64_at(record, 8));
        let logical = (high & !UNWRITTEN) >> 9;
        let block = (high & 0x1FF) << 43 | low >> 21;
        let count = low & ((1 << 21) - 1);
        let superblock = self.device.superblock;
        let size = self.device.block_bytes();
        let start = superblock.absolute(block);
        let start = start.filter(|_| superblock.contains(block, count));
        let end = (logical + count).checked_mul(size);
        let is_in_file = end.is_some_and(|end| i64::try_from(end).is_ok());
        let (Some(start), true) = (start, is_in_file) else {
            return Err(Fault(format!(
                "data ({count} blocks) at block {block}, which are none"
            )));
        };
        let next = Extent {
            logical_bytes: logical * size,
            physical_bytes: start * size,
            length_bytes: count * size,
            flags: if high & UNWRITTEN == 0 {
                0
            } else {
                Extent::UNWRITTEN
            },
        };
        if let Some(last) = self.data.last_mut() {
            let end = last.logical_bytes + last.length_bytes;
            if end > next.logical_bytes {
                return Err(Fault("its extents are not in order".to_owned()));
            }
            if end == next.logical_bytes
                && last.flags == next.flags
                && last.physical_bytes + last.length_bytes == next.physical_bytes
            {
                last.length_bytes += next.length_bytes;
                return Ok(());
            }
        }
        self.data.push(next);
        Ok(())
    }
}
