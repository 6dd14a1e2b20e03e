//! Blocks of directories: leaves of entries, and the index over them.
//!
//! Spec: `docs/spec/ext4.md`, section 29.

use super::fields::{crc, is_sum, put16, put32, u16_at, u32_at};
use super::{Kind, WriteAt, Writer, kind_of};
use crate::ext4::directory::Dir;
use crate::ext4::entries::{Block, Item, Place};
use std::io;

/// Bytes of an entry besides its name.
const HEADER: usize = 8;
/// An entry that is none: the checksum of a leaf.
const TAIL: usize = 12;
const TAIL_TYPE: u8 = 0xde;
/// Where the places of an index begin, in the first block of a directory and in others.
const ROOT_PLACES: usize = 32;
const NODE_PLACES: usize = 8;
const HALF_MD4: u8 = 1;

/// An entry without its length.
struct Entry<'a> {
    ino: u32,
    kind: u8,
    name: &'a [u8],
}

fn put_entry(b: &mut [u8], length: usize, entry: &Entry<'_>) {
    put32(b, 0, entry.ino);
    put16(b, 4, length as u16);
    b[6] = entry.name.len() as u8;
    b[7] = entry.kind;
    b[HEADER..HEADER + entry.name.len()].copy_from_slice(entry.name);
}

fn directory(ino: u32, name: &[u8]) -> Entry<'_> {
    Entry {
        ino,
        kind: Kind::Directory.entry_type(),
        name,
    }
}

/// Fills in the end of a leaf, where it has a checksum.
fn seal(b: &mut [u8], seed: Option<u32>) {
    let Some(seed) = seed else { return };
    let tail = b.len() - TAIL;
    let sum = crc(seed, &b[..tail]);
    put16(b, tail + 4, TAIL as u16);
    b[tail + 7] = TAIL_TYPE;
    put32(b, tail + 8, sum);
}

fn put_index(b: &mut [u8], at: usize, places: &[Place], limit: usize, seed: Option<u32>) {
    for (place, b) in places.iter().zip(b[at..].chunks_exact_mut(8)) {
        put32(b, 0, place.hash);
        put32(b, 4, place.block);
    }
    // The first has no hash: everything below the second is there.
    put16(b, at, limit as u16);
    put16(b, at + 2, places.len() as u16);
    let Some(seed) = seed else { return };
    let used = at + 8 * places.len();
    let sum = crc(crc(seed, &b[..used]), &[0; 8]);
    put32(b, at + 8 * limit + 4, sum);
}

/// Reads a block of an index.
pub(super) fn read_index(
    b: &[u8],
    at: usize,
    limit: usize,
    seed: Option<u32>,
) -> Option<Vec<Place>> {
    let count = usize::from(u16_at(b, at + 2));
    // Those below the root begin with an entry that is none, over all of the block.
    if at == NODE_PLACES && (u32_at(b, 0) != 0 || usize::from(u16_at(b, 4)) != b.len()) {
        return None;
    }
    if usize::from(u16_at(b, at)) != limit || count == 0 || count > limit {
        return None;
    }
    let used = at + 8 * count;
    if let Some(seed) = seed {
        // The driver leaves what stood before the checksum.
        let tail = at + 8 * limit;
        let before = crc(crc(seed, &b[..used]), &b[tail..tail + 4]);
        if !is_sum(u32_at(b, tail + 4), crc(before, &[0; 4])) {
            return None;
        }
    }
    let mut places: Vec<Place> = b[at..used]
        .chunks_exact(8)
        .map(|b| Place {
            hash: u32_at(b, 0),
            block: u32_at(b, 4),
        })
        .collect();
    places[0].hash = 0;
    places
        .is_sorted_by_key(|place| place.hash)
        .then_some(places)
}

/// An entry of a leaf as it is found.
pub(super) struct Found<'a> {
    pub ino: u32,
    /// Up to the next one.
    pub bytes: u16,
    pub kind: u8,
    pub name: &'a [u8],
}

/// The least that an entry takes.
const LEAST: usize = 12;

/// Reads the entries of a leaf.
pub(super) fn read_leaf(b: &[u8], seed: Option<u32>) -> Option<Vec<Found<'_>>> {
    let tail = b.len() - seed.map_or(0, |_| TAIL);
    if let Some(seed) = seed
        && (b[tail + 7] != TAIL_TYPE || !is_sum(u32_at(b, tail + 8), crc(seed, &b[..tail])))
    {
        return None;
    }
    let (mut at, mut entries) = (0, Vec::new());
    while at < tail {
        let rest = &b[at..tail];
        if rest.len() < HEADER {
            return None;
        }
        let (bytes, length) = (u16_at(rest, 4), usize::from(rest[6]));
        let is_used = u32_at(rest, 0) != 0;
        let needed = (HEADER + length).max(LEAST);
        if usize::from(bytes) < needed || usize::from(bytes) > rest.len() || bytes % 4 != 0 {
            return None;
        }
        let name = if is_used {
            &rest[HEADER..HEADER + length]
        } else {
            &[]
        };
        entries.push(Found {
            ino: u32_at(rest, 0),
            bytes,
            kind: rest[7],
            name,
        });
        at += usize::from(bytes);
    }
    Some(entries)
}

impl Writer<'_> {
    /// Writes the blocks of a directory.
    pub fn directory(&self, dir: &Dir, to: &mut dyn WriteAt) -> io::Result<()> {
        let fs = self.fs;
        let ino = fs.inodes[dir.inode as usize].ino;
        let parent = fs.inodes[fs.dirs[dir.parent as usize].inode as usize].ino;
        let seed = self.inode_seed(ino, self.attributes(dir.inode).generation);
        let mut blocks = dir.entries.blocks.iter();
        self.blocks_of(dir.inode, to, &mut |logical, b| match blocks.next() {
            Some(Block::Leaf(items)) => self.leaf(b, items, (ino, parent), seed),
            Some(Block::Index(places)) if logical == 0 => {
                let levels = match dir.entries.blocks[places[0].block as usize] {
                    Block::Index(_) => 1,
                    Block::Leaf(_) => 0,
                };
                put_entry(b, 12, &directory(ino, b"."));
                let rest = b.len() - 12;
                put_entry(&mut b[12..], rest, &directory(parent, b".."));
                b[28..32].copy_from_slice(&[HALF_MD4, 8, levels, 0]);
                let limit = fs.format.limits().0;
                put_index(b, ROOT_PLACES, places, limit, seed);
            }
            Some(Block::Index(places)) => {
                put16(b, 4, b.len() as u16);
                put_index(b, NODE_PLACES, places, fs.format.limits().1, seed);
            }
            None => {}
        })
    }

    fn leaf(&self, b: &mut [u8], items: &[Item], (ino, parent): (u32, u32), seed: Option<u32>) {
        let fs = self.fs;
        let mut at = 0;
        for item in items {
            let (bytes, b) = (usize::from(item.bytes), &mut b[at..]);
            match (item.name, item.length) {
                (Some(name), _) => fs.keys.names.with_bytes(name, |name| {
                    let inode = &fs.inodes[item.inode as usize];
                    let entry = Entry {
                        ino: inode.ino,
                        kind: kind_of(inode, fs).entry_type(),
                        name,
                    };
                    put_entry(b, bytes, &entry);
                }),
                (None, 0) => put16(b, 4, item.bytes),
                (None, 1) => put_entry(b, bytes, &directory(ino, b".")),
                (None, _) => put_entry(b, bytes, &directory(parent, b"..")),
            }
            at += bytes;
        }
        seal(b, seed);
    }

    /// Writes the blocks of `lost+found`, which is empty.
    pub fn lost_and_found(
        &self,
        (ino, parent): (u32, u32),
        to: &mut dyn WriteAt,
    ) -> io::Result<()> {
        let seed = self.inode_seed(ino, 0);
        self.blocks_of(super::LOST_FOUND, to, &mut |logical, b| {
            let rest = usize::from(self.fs.format.leaf_bytes());
            if logical == 0 {
                put_entry(b, 12, &directory(ino, b"."));
                put_entry(&mut b[12..], rest - 12, &directory(parent, b".."));
            } else {
                put16(b, 4, rest as u16);
            }
            seal(b, seed);
        })
    }

    /// Writes all blocks of an inode as they lie, filled in one after the other.
    fn blocks_of(
        &self,
        inode: u32,
        to: &mut dyn WriteAt,
        fill: &mut dyn FnMut(u32, &mut [u8]),
    ) -> io::Result<()> {
        let bytes = self.fs.geometry.block_bytes as usize;
        let mut extents = Vec::new();
        let tree = &self.fs.inodes[inode as usize].tree;
        tree.visit(&mut |entry| extents.push(*entry));
        for extent in extents {
            let mut run = vec![0; extent.blocks() as usize * bytes];
            for (logical, b) in (extent.logical..).zip(run.chunks_exact_mut(bytes)) {
                fill(logical, b);
            }
            self.block(to, extent.block, &run)?;
        }
        Ok(())
    }
}
