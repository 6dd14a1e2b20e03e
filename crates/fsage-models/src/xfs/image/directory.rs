//! Directories: in the inode, and blocks of entries, of leaves and of the index of free space.
//!
//! Spec: `docs/spec/xfs.md`, section 17. Source: `xfs_da_format.h`.

use super::fields::{put, put16, put32, put64, seal};
use super::headers::SECTOR;
use super::{BYTES, Block, Named, Writer, unsupported};
use crate::image::{Kind, WriteAt};
use crate::xfs::areas::{Areas, HEADER};
use crate::xfs::directory::Dir;
use crate::xfs::entries::{
    ENTRY, Entries, Form, INDEX, LEAVES, MOST_ENTRIES, Numbered, PER_INDEX, TAIL,
};
use crate::xfs::leaf::{self, Leaf, need, place};
use std::io;

/// Blocks of entries, alone and with their table.
pub(super) const DATA: &[u8; 4] = b"XDD3";
pub(super) const BLOCK: &[u8; 4] = b"XDB3";
pub(super) const FREE: &[u8; 4] = b"XDF3";
/// The only leaf, with the table of free space; one of several; what leads to these.
pub(super) const ONLY_LEAF: u16 = 0x3df1;
pub(super) const LEAF: u16 = 0x3dff;
pub(super) const NODE: u16 = 0x3ebe;
pub(super) const DATA_SUM: usize = 4;
pub(super) const LEAF_SUM: usize = 12;
/// The table of the largest free areas.
pub(super) const BEST: usize = 48;
/// What marks free space among entries.
pub(super) const FREE_TAG: u16 = 0xffff;
/// A block that is missing.
pub(super) const NO_BLOCK: u16 = 0xffff;
/// Where entries of leaves, of the index, and of nodes begin.
pub(super) const AFTER: usize = HEADER as usize;

fn put_entry(b: &mut [u8], start: u16, (ino, kind): (u64, Kind), name: &[u8]) {
    let at = usize::from(start);
    put64(b, at, ino);
    b[at + 8] = name.len() as u8;
    b[at + 9..at + 9 + name.len()].copy_from_slice(name);
    b[at + 9 + name.len()] = kind.entry_type();
    put16(b, at + usize::from(need(name.len() as u8)) - 2, start);
}

fn put_free(b: &mut [u8], areas: &Areas) {
    for area in areas.all() {
        let at = usize::from(area.start);
        put16(b, at, FREE_TAG);
        put16(b, at + 2, area.bytes);
        put16(b, at + usize::from(area.bytes) - 2, area.start);
    }
    for (at, area) in areas.best().iter().enumerate() {
        put16(b, BEST + 4 * at, area.start);
        put16(b, BEST + 4 * at + 2, area.bytes);
    }
}

/// Entries of a leaf; those that are stale have no address.
fn put_leaf(b: &mut [u8], entries: &[leaf::Entry]) {
    for (entry, b) in entries.iter().zip(b.chunks_exact_mut(ENTRY.into())) {
        put32(b, 0, entry.key.hash);
        put32(b, 4, if entry.is_stale() { 0 } else { entry.address });
    }
}

/// The largest free area of each block.
fn put_best<'a>(b: &mut [u8], data: impl Iterator<Item = &'a Option<Areas>>) {
    for (areas, b) in data.zip(b.chunks_exact_mut(2)) {
        let best = areas.as_ref().map(|areas| areas.best()[0].bytes);
        put16(b, 0, best.unwrap_or(NO_BLOCK));
    }
}

impl Writer<'_> {
    /// A directory that fits into its inode, as it stands there.
    pub fn short_directory(&self, dir: &Dir, named: &[Named], room: usize) -> io::Result<Vec<u8>> {
        let fs = self.fs;
        let parent = fs.inodes[fs.dirs[dir.parent as usize].inode as usize].ino;
        let inos = named
            .iter()
            .map(|named| fs.inodes[named.inode as usize].ino);
        let large = inos
            .clone()
            .chain([parent])
            .filter(|ino| u32::try_from(*ino).is_err());
        let large = large.count();
        let put_ino = |b: &mut Vec<u8>, ino: u64| {
            let bytes = ino.to_be_bytes();
            b.extend_from_slice(if large > 0 { &bytes } else { &bytes[4..] });
        };
        let mut b = vec![named.len() as u8, large as u8];
        put_ino(&mut b, parent);
        for (named, ino) in named.iter().zip(inos) {
            let kind = self.kind(named.inode);
            fs.name_table.with_bytes(named.name, |name| {
                b.push(name.len() as u8);
                b.extend_from_slice(&place(named.address).1.to_be_bytes());
                b.extend_from_slice(name);
                b.push(kind.entry_type());
            });
            put_ino(&mut b, ino);
        }
        if b.len() > room {
            let ino = fs.inodes[dir.inode as usize].ino;
            return unsupported(format!(
                "directory {ino} leads to inodes above 2^32, and does not fit into its inode with them"
            ));
        }
        Ok(b)
    }

    /// Writes the blocks of a directory.
    pub fn directory(&self, dir: &Dir, named: &[Named], to: &mut dyn WriteAt) -> io::Result<()> {
        let entries = &dir.entries;
        self.data_blocks(dir, named, to)?;
        match &entries.form {
            Form::Short(_) | Form::Block(_) => Ok(()),
            Form::Leaf(leaf) => {
                let mut b = self.leaf(ONLY_LEAF, leaf);
                let blocks = entries.data.len();
                put_best(
                    &mut b[BYTES - 4 - 2 * blocks..BYTES - 4],
                    entries.data.iter(),
                );
                put32(&mut b, BYTES - 4, blocks as u32);
                self.leaf_block(dir, LEAVES, b, to)
            }
            Form::Node(leaves) => {
                self.leaves(dir, leaves, to)?;
                self.index(dir, entries, to)
            }
        }
    }

    fn data_blocks(&self, dir: &Dir, named: &[Named], to: &mut dyn WriteAt) -> io::Result<()> {
        let fs = self.fs;
        let ino = |dir: &Dir| fs.inodes[dir.inode as usize].ino;
        let parent = ino(&fs.dirs[dir.parent as usize]);
        let mut named = named.iter().peekable();
        for (number, areas) in (0_u32..).zip(&dir.entries.data) {
            let Some(areas) = areas else { continue };
            let mut b = [0; BYTES];
            let mut magic = DATA;
            if number == 0 {
                put_entry(&mut b, HEADER, (ino(dir), Kind::Directory), b".");
                put_entry(&mut b, HEADER + need(1), (parent, Kind::Directory), b"..");
            }
            while let Some(named) = named.next_if(|named| place(named.address).0 == number as usize)
            {
                let to = fs.inodes[named.inode as usize].ino;
                let start = place(named.address).1;
                fs.name_table.with_bytes(named.name, |name| {
                    put_entry(&mut b, start, (to, self.kind(named.inode)), name);
                });
            }
            put_free(&mut b, areas);
            if let Form::Block(leaf) = &dir.entries.form {
                magic = BLOCK;
                let table = usize::from(TAIL) + usize::from(ENTRY) * leaf.entries.len();
                put_leaf(&mut b[BYTES - table..], &leaf.entries);
                put32(&mut b, BYTES - 8, leaf.entries.len() as u32);
                put32(&mut b, BYTES - 4, leaf.stale as u32);
            }
            self.data_block(dir, (magic, number), b, to)?;
        }
        Ok(())
    }

    /// Writes a block of entries or of the index: with its header and checksum.
    fn data_block(
        &self,
        dir: &Dir,
        (magic, number): (&[u8; 4], u32),
        mut b: Block,
        to: &mut dyn WriteAt,
    ) -> io::Result<()> {
        let (ino, place) = self.place_of(dir, number)?;
        put(&mut b, 0, *magic);
        put64(&mut b, 8, self.sector(place));
        put(&mut b, 24, self.options.uuid);
        put64(&mut b, 40, ino);
        seal(&mut b, DATA_SUM);
        self.block(place, &b, to)
    }

    /// Writes a leaf or a node in the same way.
    fn leaf_block(
        &self,
        dir: &Dir,
        number: u32,
        mut b: Block,
        to: &mut dyn WriteAt,
    ) -> io::Result<()> {
        let (ino, place) = self.place_of(dir, number)?;
        put64(&mut b, 16, self.sector(place));
        put(&mut b, 32, self.options.uuid);
        put64(&mut b, 48, ino);
        seal(&mut b, LEAF_SUM);
        self.block(place, &b, to)
    }

    /// The inode of a directory, and where a block of it lies.
    fn place_of(&self, dir: &Dir, number: u32) -> io::Result<(u64, u64)> {
        let inode = &self.fs.inodes[dir.inode as usize];
        let extent = inode.extents.find(number);
        match extent.filter(|extent| extent.is_real()) {
            Some(extent) => Ok((inode.ino, extent.from(number).start())),
            None => unsupported(format!("directory {} has no block {number}", inode.ino)),
        }
    }

    /// A leaf without what tells where it lies.
    fn leaf(&self, magic: u16, leaf: &Leaf) -> Block {
        let mut b = [0; BYTES];
        put16(&mut b, 8, magic);
        put16(&mut b, 56, leaf.entries.len() as u16);
        put16(&mut b, 58, leaf.stale as u16);
        put_leaf(&mut b[AFTER..], &leaf.entries);
        b
    }

    /// Writes the leaves, and what leads to them if they are several.
    fn leaves(&self, dir: &Dir, leaves: &[Numbered], to: &mut dyn WriteAt) -> io::Result<()> {
        if leaves.len() > MOST_ENTRIES {
            let ino = self.fs.inodes[dir.inode as usize].ino;
            return unsupported(format!(
                "directory {ino} has {} leaves, more than one block leads to",
                leaves.len()
            ));
        }
        let number = |at: Option<usize>| at.and_then(|at| Some(leaves.get(at)?.number));
        for (at, numbered) in leaves.iter().enumerate() {
            let mut b = self.leaf(LEAF, &numbered.leaf);
            put32(&mut b, 0, number(at.checked_add(1)).unwrap_or(0));
            put32(&mut b, 4, number(at.checked_sub(1)).unwrap_or(0));
            self.leaf_block(dir, numbered.number, b, to)?;
        }
        if leaves.len() < 2 {
            return Ok(());
        }
        let mut b = [0; BYTES];
        put16(&mut b, 8, NODE);
        put16(&mut b, 56, leaves.len() as u16);
        put16(&mut b, 58, 1);
        for (numbered, b) in leaves.iter().zip(b[AFTER..].chunks_exact_mut(ENTRY.into())) {
            put32(b, 0, numbered.leaf.last_hash());
            put32(b, 4, numbered.number);
        }
        self.leaf_block(dir, LEAVES, b, to)
    }

    /// Writes the index of free space.
    fn index(&self, dir: &Dir, entries: &Entries, to: &mut dyn WriteAt) -> io::Result<()> {
        for (at, data) in (0_u32..).zip(entries.data.chunks(PER_INDEX)) {
            let mut b = [0; BYTES];
            put32(&mut b, 48, at * PER_INDEX as u32);
            put32(&mut b, 52, data.len() as u32);
            put32(&mut b, 56, data.iter().flatten().count() as u32);
            put_best(&mut b[AFTER..], data.iter());
            self.data_block(dir, (FREE, INDEX + at), b, to)?;
        }
        Ok(())
    }

    /// The sector at which a block begins.
    pub fn sector(&self, block: u64) -> u64 {
        self.fs.geometry.absolute(block) * (BYTES / SECTOR) as u64
    }
}
