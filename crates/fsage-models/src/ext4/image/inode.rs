//! Inodes as they lie in their tables, and the blocks of their trees.
//!
//! Spec: `docs/spec/ext4.md`, section 29.

use super::fields::{crc, put, put_halves, put16, put32, u16_at, u32_at};
use super::{Attributes, WriteAt, Writer};
use crate::ext4::MOST_LINKS;
use crate::ext4::geometry::INODE_BYTES;
use crate::ext4::tree::{Content, Entry, ROOT_ENTRIES, Stored, Tree};
use std::io;
use std::ops::Range;

/// Bytes of the fields behind the first 128.
pub(super) const EXTRA_BYTES: u16 = 32;
/// Bytes for the root of a tree, or the target of a symbolic link.
pub(super) const AREA: usize = 60;
/// An extent of more blocks was never written to, and has so many fewer.
const UNWRITTEN_FROM: u32 = 32_768;
const TREE_MAGIC: u16 = 0xf30a;
/// Header of a block of a tree, and each of its entries.
const ENTRY: usize = 12;

/// Where an inode has its data.
pub(super) const EXTENTS: u32 = 0x8_0000;
pub(super) const INDEXED: u32 = 0x1000;

pub(super) type RawInode = [u8; INODE_BYTES as usize];

/// What stands in an inode.
pub(super) struct Fields {
    pub kind: u16,
    pub attributes: Attributes,
    pub links: u32,
    pub size_bytes: u64,
    /// Blocks of data and of the tree.
    pub blocks: u64,
    pub flags: u32,
    pub area: [u8; AREA],
}

/// A header: so many entries of how many that fit, and the levels below.
fn header(b: &mut [u8], entries: usize, room: usize, depth: u16) {
    put16(b, 0, TREE_MAGIC);
    put16(b, 2, entries as u16);
    put16(b, 4, room as u16);
    put16(b, 6, depth);
}

fn leaf(b: &mut [u8], entries: &[Entry], room: usize) {
    header(b, entries.len(), room, 0);
    for (entry, b) in entries.iter().zip(b[ENTRY..].chunks_exact_mut(ENTRY)) {
        let unwritten = if entry.is_unwritten() {
            UNWRITTEN_FROM
        } else {
            0
        };
        put32(b, 0, entry.logical);
        put16(b, 4, (entry.blocks() + unwritten) as u16);
        put32(b, 8, entry.block);
    }
}

fn index(b: &mut [u8], places: &[(u32, u32)], room: usize, depth: u16) {
    header(b, places.len(), room, depth);
    for (&(logical, block), b) in places.iter().zip(b[ENTRY..].chunks_exact_mut(ENTRY)) {
        put32(b, 0, logical);
        put32(b, 4, block);
    }
}

fn node(b: &mut [u8], content: &Content<'_>, room: usize) {
    match content {
        Content::Entries(entries) => leaf(b, entries, room),
        Content::Places(places, depth) => index(b, places, room, *depth),
    }
}

/// Reads what lies in the root or in a block of a tree, with so many levels below it if that is known. Blocks lie where
/// they can.
pub(super) fn parse_node(
    b: &[u8],
    depth: Option<u16>,
    blocks: &Range<u32>,
) -> Result<Stored, &'static str> {
    const DEEPEST: u16 = 5;
    let entries = usize::from(u16_at(b, 2));
    let found = u16_at(b, 6);
    let room = b.len() / ENTRY - 1;
    // What a block has room for is what it says, or up to two entries fewer.
    let said = usize::from(u16_at(b, 4));
    let is_room = entries <= said && said <= room && said + 2 >= room;
    if u16_at(b, 0) != TREE_MAGIC || !is_room || found > DEEPEST {
        return Err("no tree");
    }
    if depth.is_some_and(|depth| depth != found || entries == 0) {
        return Err("a tree of uneven depth, or with an empty block");
    }
    let mut end = 0;
    let mut stored = Vec::with_capacity(entries);
    let mut places = Vec::new();
    for b in b[ENTRY..].chunks_exact(ENTRY).take(entries) {
        let logical = u32_at(b, 0);
        if logical < end {
            return Err("a tree that does not ascend");
        }
        let (block, high, length) = if found == 0 {
            let length = u32::from(u16_at(b, 4));
            (u32_at(b, 8), u16_at(b, 6), length)
        } else {
            (u32_at(b, 4), u16_at(b, 8), 1)
        };
        let unwritten = length > UNWRITTEN_FROM;
        let length = if unwritten {
            length - UNWRITTEN_FROM
        } else {
            length
        };
        let last = block.checked_add(length).filter(|last| *last <= blocks.end);
        let after = logical.checked_add(length);
        let (true, Some(_), Some(after)) = (
            high == 0 && block >= blocks.start && length > 0,
            last,
            after,
        ) else {
            return Err("an extent outside the file system");
        };
        end = after;
        if found == 0 {
            stored.push(Entry::new(logical, block, length, unwritten));
        } else {
            places.push((logical, block));
        }
    }
    if found == 0 {
        Ok(Stored::Entries(stored))
    } else if places.is_empty() {
        Err("a tree with an empty root")
    } else {
        Ok(Stored::Places(places, found))
    }
}

/// The root of a tree, as it lies in the inode.
pub(super) fn root(tree: &Tree) -> [u8; AREA] {
    let mut area = [0; AREA];
    tree.visit_nodes(&mut |block, content| {
        if block.is_none() {
            node(&mut area, &content, ROOT_ENTRIES);
        }
    });
    area
}

impl Writer<'_> {
    /// From here checksums go on of what belongs to an inode.
    pub fn inode_seed(&self, ino: u32, generation: u32) -> Option<u32> {
        let seed = crc(self.seed?, &ino.to_le_bytes());
        Some(crc(seed, &generation.to_le_bytes()))
    }

    /// Writes the blocks of a tree.
    pub fn tree_blocks(
        &self,
        tree: &Tree,
        seed: Option<u32>,
        to: &mut dyn WriteAt,
    ) -> io::Result<()> {
        let bytes = self.fs.geometry.block_bytes as usize;
        let room = (bytes - ENTRY) / ENTRY;
        let mut result = Ok(());
        tree.visit_nodes(&mut |block, content| {
            let Some(block) = block else { return };
            let mut b = vec![0; bytes];
            node(&mut b, &content, room);
            let tail = ENTRY * (1 + room);
            if let Some(seed) = seed {
                let sum = crc(seed, &b[..tail]);
                put32(&mut b, tail, sum);
            }
            if result.is_ok() {
                result = self.block(to, block, &b);
            }
        });
        result
    }

    /// An inode.
    pub fn inode(&self, ino: u32, fields: &Fields) -> RawInode {
        let attributes = &fields.attributes;
        let mut b = [0; INODE_BYTES as usize];
        put16(&mut b, 0, fields.kind | attributes.permissions & 0o7777);
        put_halves(&mut b, 2, 120, attributes.uid);
        put32(&mut b, 4, fields.size_bytes as u32);
        put_halves(&mut b, 24, 122, attributes.gid);
        let links = if fields.links > MOST_LINKS {
            1
        } else {
            fields.links
        };
        put16(&mut b, 26, links as u16);
        let sectors = fields.blocks * (self.fs.geometry.block_bytes / 512);
        put32(&mut b, 28, sectors as u32);
        put16(&mut b, 116, (sectors >> 32) as u16);
        put32(&mut b, 32, fields.flags);
        put(&mut b, 40, fields.area);
        put32(&mut b, 100, attributes.generation);
        put32(&mut b, 108, (fields.size_bytes >> 32) as u32);
        put16(&mut b, 128, EXTRA_BYTES);
        for (at, extra, ns) in [
            (8, 140, attributes.atime_ns),
            (12, 132, attributes.ctime_ns),
            (16, 136, attributes.mtime_ns),
            (144, 148, attributes.btime_ns),
        ] {
            time(&mut b, at, extra, ns);
        }
        if let Some(seed) = self.inode_seed(ino, attributes.generation) {
            let sum = crc(seed, &b);
            put_halves(&mut b, 124, 130, sum);
        }
        b
    }
}

/// Seconds since 1970 in 34 bits, of which two lie above the nanoseconds. Nothing is earlier than 1901.
fn time(b: &mut [u8], at: usize, extra: usize, ns: i64) {
    let ns = ns.max(i64::from(i32::MIN) * 1_000_000_000);
    let seconds = ns.div_euclid(1_000_000_000);
    let nanoseconds = ns.rem_euclid(1_000_000_000) as u32;
    let low = seconds as i32;
    let epochs = ((seconds - i64::from(low)) >> 32) as u32;
    put(b, at, low.to_le_bytes());
    put32(b, extra, nanoseconds << 2 | epochs);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the kernel's documentation of inode time stamps.
    #[test]
    fn times_have_two_bits_more_than_seconds_in_32() {
        for (seconds, low, epochs) in [
            (-0x8000_0000_i64, 0x8000_0000_u32, 0_u32),
            (-1, 0xffff_ffff, 0),
            (0, 0, 0),
            (0x7fff_ffff, 0x7fff_ffff, 0),
            (0x8000_0000, 0x8000_0000, 1),
            (0x1_0000_0000, 0, 1),
            (0x1_8000_0000, 0x8000_0000, 2),
        ] {
            let mut b = [0; 8];
            time(&mut b, 0, 4, seconds * 1_000_000_000 + 5);
            assert_eq!(b[..4], low.to_le_bytes(), "{seconds}");
            assert_eq!(b[4..], (5 << 2 | epochs).to_le_bytes(), "{seconds}");
        }
        let mut b = [0; 8];
        time(&mut b, 0, 4, i64::MIN);
        assert_eq!(b[..4], i32::MIN.to_le_bytes());
    }
}
