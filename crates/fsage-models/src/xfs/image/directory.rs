//! Directories: in the inode, and blocks of entries, of leaves and of the index of free space.
//!
//! Spec: `docs/spec/xfs.md`, section 17. Source: `xfs_da_format.h`.

use super::fields::{put, put16, put32, put64, seal, u16_at, u32_at, u64_at};
use super::names::{FoundDir, FoundName};
use super::read::{Raw, Reader, Result, damage, foreign};
use super::{BYTES, Block, Named, Writer, unsupported};
use crate::image::{Kind, WriteAt};
use crate::xfs::areas::{Area, Areas, HEADER};
use crate::xfs::directory::Dir;
use crate::xfs::entries::{
    ENTRY, Entries, FIRST, Form, INDEX, LEAVES, MOST_ENTRIES, Numbered, PER_INDEX, TAIL,
};
use crate::xfs::leaf::{self, Key, Leaf, address, hash_of, need, place};
use rustc_hash::FxHashMap;
use std::io;

/// Blocks of entries, alone and with their table.
pub(super) const DATA: [u8; 4] = *b"XDD3";
pub(super) const BLOCK: [u8; 4] = *b"XDB3";
pub(super) const FREE: [u8; 4] = *b"XDF3";
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

/// A leaf without what tells where it lies.
fn unplaced_leaf(magic: u16, leaf: &Leaf) -> Block {
    let mut b = [0; BYTES];
    put16(&mut b, 8, magic);
    put16(&mut b, 56, leaf.entries.len() as u16);
    put16(&mut b, 58, leaf.stale as u16);
    put_leaf(&mut b[AFTER..], &leaf.entries);
    b
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
                let mut b = unplaced_leaf(ONLY_LEAF, leaf);
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
        (magic, number): ([u8; 4], u32),
        mut b: Block,
        to: &mut dyn WriteAt,
    ) -> io::Result<()> {
        let (ino, place) = self.place_of(dir, number)?;
        put(&mut b, 0, magic);
        put64(&mut b, 8, self.fs.geometry.sector(place));
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
        put64(&mut b, 16, self.fs.geometry.sector(place));
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
            let mut b = unplaced_leaf(LEAF, &numbered.leaf);
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
}

/// No directory that one node leads to has more blocks of entries.
const MOST_DATA_BLOCKS: u64 = 1 << 18;

/// The number of an inode, in 4 bytes or in 8.
fn ino_at(b: &[u8], is_long: bool) -> Option<(u64, &[u8])> {
    let (ino, rest) = b.split_at_checked(if is_long { 8 } else { 4 })?;
    let ino = ino.iter().fold(0, |ino, byte| ino << 8 | u64::from(*byte));
    Some((ino, rest))
}

/// What is found in a block of entries.
struct Data {
    areas: Areas,
    names: Vec<FoundName>,
    /// Of the only block.
    table: Option<Vec<(u32, u32)>>,
}

/// Entries of a leaf or a table: hashes and addresses.
fn leaf_entries(b: &[u8], count: usize) -> Vec<(u32, u32)> {
    let entries = b.chunks_exact(ENTRY.into()).take(count);
    entries.map(|b| (u32_at(b, 0), u32_at(b, 4))).collect()
}

/// Reads what stands in a block: names, and what is free. The first block of a directory begins with `.` and `..`.
fn read_data(b: &[u8], number: u32, (own, parent): (u64, &mut u64)) -> Option<Data> {
    let mut end = b.len();
    let table = b.starts_with(&BLOCK).then(|| {
        let count = u32_at(b, BYTES - 8) as usize;
        let start = BYTES - usize::from(TAIL) - usize::from(ENTRY) * count.min(MOST_ENTRIES);
        end = start;
        leaf_entries(&b[start..], count.min(MOST_ENTRIES))
    });
    let (mut at, mut free, mut names) = (AFTER, Vec::new(), Vec::new());
    while at < end {
        let rest = &b[at..end];
        if rest.len() < 8 || at % 8 != 0 {
            return None;
        }
        let bytes = if u16_at(rest, 0) == FREE_TAG {
            let bytes = u16_at(rest, 2);
            let start = at as u16;
            free.push(Area { start, bytes });
            bytes
        } else {
            need(rest[8.min(rest.len() - 1)])
        };
        let entry = rest
            .get(..usize::from(bytes))
            .filter(|entry| entry.len() >= 8)?;
        if usize::from(u16_at(entry, entry.len() - 2)) != at {
            return None;
        }
        if u16_at(rest, 0) != FREE_TAG {
            let (name, behind) = entry[9..].split_at_checked(entry[8].into())?;
            let (ino, kind) = (u64_at(entry, 0), *behind.first()?);
            let is_dir = kind == Kind::Directory.entry_type();
            match (number, at) {
                (0, AFTER) if name == b"." && ino == own && is_dir => {}
                (0, 80) if name == b".." && is_dir => *parent = ino,
                (0, AFTER | 80) => return None,
                _ => names.push(FoundName {
                    address: address(number as usize, at as u16),
                    bytes: name.to_vec(),
                    ino,
                    kind,
                }),
            }
        } else if number == 0 && at <= 80 {
            return None;
        }
        at += usize::from(bytes);
    }
    let best = [0, 1, 2].map(|of| Area {
        start: u16_at(b, BEST + 4 * of),
        bytes: u16_at(b, BEST + 4 * of + 2),
    });
    let areas = Areas::stored(free, best)?;
    Some(Data {
        areas,
        names,
        table,
    })
}

/// A leaf with these entries, of which so many are stale. The lengths of names are known by their addresses.
fn leaf_of(entries: &[(u32, u32)], stale: usize, lengths: &FxHashMap<u32, u8>) -> Option<Leaf> {
    let entry = |&(hash, address): &(u32, u32)| {
        let (length, address) = match address {
            0 => (0, leaf::STALE),
            address => (*lengths.get(&address)?, address),
        };
        let key = Key { hash, length };
        Some(leaf::Entry { key, address })
    };
    let entries: Vec<leaf::Entry> = entries.iter().map(entry).collect::<Option<_>>()?;
    let found = entries.iter().filter(|entry| entry.is_stale()).count();
    (found == stale).then_some(Leaf { entries, stale })
}

/// A directory that lies in its inode.
pub(super) fn short_directory(raw: &Raw<'_>) -> Result<FoundDir> {
    let read = || {
        let b = raw.bytes.get(..usize::try_from(raw.size).ok()?)?;
        let (&[count, large], rest) = b.split_first_chunk()?;
        let (parent, mut rest) = ino_at(rest, large > 0)?;
        let (mut entries, mut names, mut end) = (Vec::new(), Vec::new(), FIRST);
        for _ in 0..count {
            let (&[length, high, low], behind) = rest.split_first_chunk()?;
            let (name, behind) = behind.split_at_checked(length.into())?;
            let (&kind, behind) = behind.split_first()?;
            let (ino, behind) = ino_at(behind, large > 0)?;
            let start = u16::from_be_bytes([high, low]);
            let next = start.checked_add(need(length))?;
            if start < end || start % 8 != 0 || next > BYTES as u16 {
                return None;
            }
            let key = Key {
                hash: hash_of(name),
                length,
            };
            let address = address(0, start);
            entries.push(leaf::Entry { key, address });
            names.push(FoundName {
                address,
                bytes: name.to_vec(),
                ino,
                kind,
            });
            (end, rest) = (next, behind);
        }
        let entries = Entries {
            form: Form::Short(entries),
            data: Vec::new(),
            count: count.into(),
        };
        rest.is_empty().then_some(FoundDir {
            entries,
            parent,
            names,
        })
    };
    read().ok_or_else(|| damage(format!("directory {}: what lies in its inode", raw.ino)))
}

impl Reader<'_> {
    /// A directory that has blocks.
    pub fn directory(&self, raw: &Raw<'_>) -> Result<FoundDir> {
        let ino = raw.ino;
        let wrong = |number: u32| damage(format!("directory {ino}: block {number}"));
        let bytes = BYTES as u64;
        let count = raw.size / bytes;
        if !raw.size.is_multiple_of(bytes) || count > MOST_DATA_BLOCKS {
            return Err(damage(format!("directory {ino} has {} bytes", raw.size)));
        }
        let mut data: Vec<Option<Areas>> = vec![None; count as usize];
        let (mut names, mut parent, mut table) = (Vec::new(), u64::MAX, None);
        let extents = raw.extents.iter();
        let numbers = extents.flat_map(|extent| extent.logical..extent.end());
        for number in numbers.take_while(|number| *number < LEAVES) {
            let (place, b) = self.directory_block(raw, number)?;
            let is_data = b.starts_with(&DATA) || b.starts_with(&BLOCK) && count == 1;
            let is_own = is_data && self.is_data_block(&b, ino, place);
            let read = is_own
                .then(|| read_data(&b, number, (ino, &mut parent)))
                .flatten();
            let (Some(read), Some(place)) = (read, data.get_mut(number as usize)) else {
                return Err(wrong(number));
            };
            *place = Some(read.areas);
            names.extend(read.names);
            if let Some(entries) = read.table {
                table = Some((entries, u32_at(&b, BYTES - 4) as usize));
            }
        }
        let mut lengths: FxHashMap<u32, u8> = FxHashMap::default();
        for name in &names {
            lengths.insert(name.address, name.bytes.len() as u8);
        }
        for (start, length) in [(HEADER, 1), (HEADER + need(1), 2)] {
            lengths.insert(address(0, start), length);
        }
        let form = match table {
            Some((entries, stale)) => {
                Form::Block(leaf_of(&entries, stale, &lengths).ok_or_else(|| wrong(0))?)
            }
            None => self.leaves_of(raw, &data, &lengths)?,
        };
        let entries = Entries {
            form,
            data,
            count: names.len() as u64,
        };
        Ok(FoundDir {
            entries,
            parent,
            names,
        })
    }

    /// Where a block of a directory lies, and what it holds.
    fn directory_block(&self, raw: &Raw<'_>, number: u32) -> Result<(u64, Block)> {
        match raw.extents.find(number) {
            Some(extent) => {
                let place = extent.from(number).start();
                Ok((place, self.block(place)?))
            }
            None => Err(damage(format!(
                "directory {} has no block {number}",
                raw.ino
            ))),
        }
    }

    /// Whether a block of entries or of the index is one of a directory, and lies at such a place.
    fn is_data_block(&self, b: &Block, ino: u64, place: u64) -> bool {
        let header = [u64_at(b, 8), u64_at(b, 40)];
        self.is_own(b, DATA_SUM, 24) && header == [self.g.sector(place), ino]
    }

    /// The leaves of a directory with blocks of their own, and whether tables of free space are right.
    fn leaves_of(
        &self,
        raw: &Raw<'_>,
        data: &[Option<Areas>],
        lengths: &FxHashMap<u32, u8>,
    ) -> Result<Form> {
        let wrong = |number: u32| damage(format!("directory {}: block {number}", raw.ino));
        let read = |number: u32| {
            let (place, b) = self.directory_block(raw, number)?;
            let header = [u64_at(&b, 16), u64_at(&b, 48)];
            let is_own = self.is_own(&b, LEAF_SUM, 32) && header == [self.g.sector(place), raw.ino];
            let count = usize::from(u16_at(&b, 56));
            if is_own && count <= MOST_ENTRIES {
                Ok((b, leaf_entries(&b[AFTER..], count)))
            } else {
                Err(wrong(number))
            }
        };
        let leaf = |number: u32, magic: u16, beside: [u32; 2]| {
            let (b, entries) = read(number)?;
            let leaf = leaf_of(&entries, u16_at(&b, 58).into(), lengths);
            let is_it = u16_at(&b, 8) == magic && [0, 4].map(|at| u32_at(&b, at)) == beside;
            let leaf = leaf.filter(|_| is_it);
            leaf.ok_or_else(|| wrong(number))
        };
        let best_of = |data: &[Option<Areas>]| {
            let mut b = vec![0; 2 * data.len()];
            put_best(&mut b, data.iter());
            b
        };
        let (root, places) = read(LEAVES)?;
        let magic = u16_at(&root, 8);
        if magic == ONLY_LEAF {
            let count = u32_at(&root, BYTES - 4) as usize;
            let table = (BYTES - 4).checked_sub(2 * count);
            let is_right = |at| count == data.len() && root[at..BYTES - 4] == best_of(data);
            return match table {
                Some(at) if is_right(at) => Ok(Form::Leaf(leaf(LEAVES, ONLY_LEAF, [0; 2])?)),
                _ => Err(wrong(LEAVES)),
            };
        }
        for (at, data) in (0_u32..).zip(data.chunks(PER_INDEX)) {
            let number = INDEX + at;
            let (place, b) = self.directory_block(raw, number)?;
            let is_own = b.starts_with(&FREE) && self.is_data_block(&b, raw.ino, place);
            let used = data.iter().flatten().count();
            let counts = [at as usize * PER_INDEX, data.len(), used];
            if !is_own
                || [48, 52, 56].map(|at| u32_at(&b, at) as usize) != counts
                || b[AFTER..AFTER + 2 * data.len()] != best_of(data)
            {
                return Err(wrong(number));
            }
        }
        let numbers = match magic {
            LEAF => vec![LEAVES],
            NODE if u16_at(&root, 58) == 1 => {
                places.into_iter().map(|(_, number)| number).collect()
            }
            NODE => return foreign(format!("directory {}, with nodes above nodes", raw.ino)),
            _ => return Err(wrong(LEAVES)),
        };
        let number_at = |at: Option<usize>| at.and_then(|at| numbers.get(at)).copied();
        let leaves = numbers.iter().enumerate().map(|(at, &number)| {
            let beside = [at.checked_add(1), at.checked_sub(1)].map(number_at);
            let leaf = leaf(number, LEAF, beside.map(Option::unwrap_or_default))?;
            Ok(Numbered { number, leaf })
        });
        Ok(Form::Node(leaves.collect::<Result<_>>()?))
    }
}
