//! A file system as it is found in an image: the state of a driver that has just mounted it.
//!
//! An image may be hostile. No number in it is believed: places are compared with the size of the file system, a block
//! of a tree is read for one inode only, and in the end the file system check of the model goes over all of it. What
//! the model has no place for is refused, and so is damage.

mod verify;

use super::fields::{crc, is_sum, u16_at, u32_at};
use super::groups::{BLOCK_UNINIT, INODE_UNINIT, checksum};
use super::inode::{AREA, EXTENTS, INDEXED, parse_node};
use super::{LOST_FOUND, superblock};
use crate::ext4::directory::{Dir, LOST_FOUND_INO, ROOT_INO};
use crate::ext4::entries::{Block, Entries, Item, Place};
use crate::ext4::geometry::{
    DESCRIPTOR_BYTES, Geometry, INODE_BYTES, Made, RESERVED_INODES, Tables,
};
use crate::ext4::groups::Groups;
use crate::ext4::params::Checksums;
use crate::ext4::tree::{Stored, Tree};
use crate::ext4::{COLD, Ext4, Kind, MOST_BLOCKS, NO_FILE, Params, bits};
use crate::image::{
    DIRECTORY, FOUND, FURTHER, REGULAR, ReadAt, ReadError, SYMLINK, lies_on, no_such,
};
use crate::name_table::Name;
use crate::names::{Entry as NamePlace, File};
use fsage_core::names::check_name;
use fsage_core::operations::ROOT;
use fsage_core::{DirId, FileId, FileSystem as _};
use rustc_hash::{FxHashMap, FxHashSet};
use std::io;
use verify::{Links, SaidOfGroup};

/// No index leads to more.
pub(super) const MOST_DIRECTORY_BLOCKS: u64 = 1 << 21;

/// What checks such file systems.
const TOOL: &str = "e2fsck -fn";

pub(super) type Result<T> = std::result::Result<T, ReadError>;

/// What the model does not have.
pub(super) fn unfit(what: impl Into<String>) -> ReadError {
    let (of, what) = ("ext4", what.into());
    ReadError::Foreign { of, what }
}

/// What does not fit together.
fn damage(what: impl Into<String>) -> ReadError {
    let (what, tool) = (what.into(), TOOL);
    ReadError::Damaged { what, tool }
}

pub(super) fn foreign<T>(what: impl Into<String>) -> Result<T> {
    Err(unfit(what))
}

pub(super) fn damaged<T>(what: impl Into<String>) -> Result<T> {
    Err(damage(what))
}

/// What stands in a directory: the directory, a name, slot of the inode.
pub(super) type Named = (u32, Name, u32);

/// An inode as it is found.
struct Raw {
    ino: u32,
    seed: Option<u32>,
    mode: u16,
    flags: u32,
    size: u64,
    links: u32,
    /// Sectors that it counts, or blocks if its flags say so.
    sectors: u64,
    area: [u8; AREA],
}

/// What has checksums, and where they go on from.
struct Sums {
    uuid: [u8; 16],
    seed: Option<u32>,
    kind: Checksums,
}

/// An image that is being read.
struct Reader<'a> {
    from: &'a dyn ReadAt,
    fs: Ext4,
    sums: Sums,
    /// Blocks of trees that were read.
    tree_blocks: FxHashSet<u32>,
    /// Slots of inodes.
    slots: FxHashMap<u32, u32>,
    /// Of each slot.
    links: Vec<Links>,
    named: Vec<Named>,
    /// Directories with their inodes as they are found.
    found_dirs: Vec<Raw>,
}

/// That the superblock of an image is one that [`Ext4::read_image`] takes.
///
/// # Errors
/// It is not.
pub fn can_be_read(from: &dyn ReadAt) -> Result<()> {
    found_in(from).map(drop)
}

fn found_in(from: &dyn ReadAt) -> Result<(superblock::Found, Made)> {
    let mut bytes = [0; superblock::BYTES];
    match from.read_at(superblock::AT, &mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(no_such("ext4", from));
        }
        read => read?,
    }
    if !superblock::is_one(&bytes) {
        return Err(no_such("ext4", from));
    }
    let found = superblock::read(&bytes)?;
    lies_on(from, u64::from(found.blocks) * found.block_bytes, TOOL)?;
    let made = made_of(&found)?;
    Ok((found, made))
}

/// The sizes of an image, and nothing in use yet.
fn made_of(found: &superblock::Found) -> Result<Made> {
    let sizes = Geometry {
        block_bytes: found.block_bytes,
        blocks: found.blocks,
        blocks_per_group: found.blocks_per_group,
        flex: found.flex,
        descriptor_bytes: found.descriptor_bytes,
        inodes_per_group: found.inodes_per_group,
        reserved_descriptor_blocks: found.reserved_descriptor_blocks,
        reserve_blocks: found.reserve_blocks,
        ..Geometry::default()
    };
    let made = Made::of_sizes(&sizes);
    made.filter(|made| found.inodes == made.geometry.groups * found.inodes_per_group)
        .ok_or_else(|| damage("its superblock tells sizes that do not fit together"))
}

impl Ext4 {
    /// Reads an image that was unmounted. Sizes, and the seed of the hash, are those of the image; what the driver does
    /// is as `how` says. Files and directories have ids of their own, from 2^60 on.
    ///
    /// # Errors
    /// It cannot be read, is none of ext4, was not unmounted, is damaged, or has what the model does not have.
    pub fn read_image(how: &Params, from: &dyn ReadAt) -> Result<Ext4> {
        let (found, made) = found_in(from)?;
        let g = &made.geometry;
        // Up to where its blocks for descriptors let it grow.
        let descriptors = u64::from(g.descriptor_blocks + g.reserved_descriptor_blocks);
        let per_block = g.block_bytes / u64::from(g.descriptor_bytes);
        let largest = descriptors * per_block * u64::from(g.blocks_per_group) * g.block_bytes;
        let params = Params {
            size_bytes: u64::from(found.blocks) * found.block_bytes,
            block_bytes: Some(found.block_bytes),
            flex_groups: found.flex,
            bytes_per_inode: None,
            inodes: Some(found.inodes.into()),
            journal_bytes: found.has_journal.then_some(0),
            resize_bytes: if !found.can_grow {
                Some(0)
            } else if g.reserved_descriptor_blocks > 0 {
                Some(largest)
            } else {
                None
            },
            checksums: found.checksums,
            wide: found.descriptor_bytes == DESCRIPTOR_BYTES[0],
            reserve_percent: found.reserve_blocks * 100 / u64::from(found.blocks.max(1)),
            hash_seed: found.hash_seed,
            ..how.clone()
        };
        let mut reader = Reader {
            from,
            fs: Ext4::of(params, made),
            sums: Sums {
                uuid: found.uuid,
                seed: found.seed,
                kind: found.checksums,
            },
            tree_blocks: FxHashSet::default(),
            slots: FxHashMap::default(),
            links: Vec::new(),
            named: Vec::new(),
            found_dirs: Vec::new(),
        };
        let said = reader.groups()?;
        reader.inodes(&said)?;
        reader.counters(&said)?;
        if found.has_journal && reader.fs.geometry.journal_blocks == 0 {
            return damaged("its journal has no blocks");
        }
        if found.can_grow
            && reader.fs.geometry.resize_block.is_none()
            && found.reserved_descriptor_blocks > 0
        {
            return damaged("nothing keeps blocks for descriptors");
        }
        reader.note_first_directories();
        reader.directories()?;
        reader.all_links()?;
        reader.fs.mounted(reader.named)
    }

    /// The driver has just mounted what was found: every name leads to a file or directory, counters are exact, nothing
    /// was looked at, and all fits together.
    pub(super) fn mounted(mut self, named: Vec<Named>) -> Result<Ext4> {
        self.lead_names(named)?;
        self.count();
        for inode in &mut self.inodes {
            inode.changed_in = COLD;
        }
        match self.check() {
            Ok(()) => Ok(self),
            Err(inconsistency) => damaged(inconsistency.to_string()),
        }
    }

    /// Lets every name lead to a file or directory.
    fn lead_names(&mut self, named: Vec<Named>) -> Result<()> {
        let dir_of: FxHashMap<u32, u32> = (0..)
            .zip(&self.dirs)
            .map(|(slot, dir)| (dir.inode, slot))
            .collect();
        let mut is_named = vec![false; self.dirs.len()];
        let mut further = FURTHER;
        for (dir, name, slot) in named {
            let inode = &self.inodes[slot as usize];
            if let Some(&child) = dir_of.get(&slot) {
                if std::mem::replace(&mut is_named[child as usize], true) {
                    return damaged(format!("directory {} has two names", inode.ino));
                }
                let found = &mut self.dirs[child as usize];
                (found.name, found.parent) = (name, dir);
                self.dir_ids.insert(DirId(found.id), child);
                continue;
            }
            if inode.file == NO_FILE {
                let id = FileId(FOUND | u64::from(inode.ino));
                let entry = NamePlace::new(0, inode.kind == Kind::Symlink);
                let file = self.names.insert(File {
                    id: id.0,
                    inode: slot,
                    dir,
                    entry,
                });
                self.inodes[slot as usize].file = file;
                self.keys.names.call(id.0, name);
            } else {
                let (id, file) = (FileId(further), inode.file);
                further += 1;
                self.names.link(id, file, dir, 0);
                self.keys.names.call(id.0, name);
            }
        }
        // From every directory the way leads up to the root.
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.dirs.len()];
        for (slot, dir) in (0..).zip(&self.dirs).skip(1) {
            children[dir.parent as usize].push(slot);
        }
        let (mut todo, mut reached) = (vec![ROOT], 0);
        while let Some(dir) = todo.pop() {
            reached += 1;
            todo.append(&mut children[dir as usize]);
        }
        if reached != self.dirs.len() || !is_named.iter().skip(1).all(|named| *named) {
            return damaged("a directory is not below the root");
        }
        Ok(())
    }
}

impl Dir {
    /// A directory that was found, before its name is.
    pub(super) fn found(ino: u32, inode: u32, name: Name, entries: Entries) -> Dir {
        let id = if ino == ROOT_INO {
            0
        } else {
            FOUND | u64::from(ino)
        };
        Dir {
            id,
            name,
            inode,
            parent: ROOT,
            last_group: None,
            entries,
            alive: true,
        }
    }
}

/// Whether an inode has the checksum that it should have.
fn is_inode_sum(seed: u32, b: &[u8]) -> bool {
    let mut plain = b.to_vec();
    plain[124..126].fill(0);
    let has_high = u16_at(b, 128) >= 4;
    if has_high {
        plain[130..132].fill(0);
    }
    let sum = crc(seed, &plain);
    let high = if has_high {
        u16_at(b, 130)
    } else {
        (sum >> 16) as u16
    };
    is_sum(u32::from(u16_at(b, 124)) | u32::from(high) << 16, sum)
}

impl Reader<'_> {
    fn block(&self, block: u32) -> Result<Vec<u8>> {
        let g = &self.fs.geometry;
        if block < g.first_block || block >= g.blocks {
            return damaged(format!("block {block} lies outside the file system"));
        }
        let mut bytes = vec![0; g.block_bytes as usize];
        self.from
            .read_at(u64::from(block) * g.block_bytes, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads descriptors and bitmaps. Gives what descriptors say besides.
    fn groups(&mut self) -> Result<Vec<SaidOfGroup>> {
        let mut g = self.fs.geometry.clone();
        let mut descriptors = Vec::new();
        for block in 0..g.descriptor_blocks {
            descriptors.extend(self.block(g.first_block + 1 + block)?);
        }
        let descriptors = descriptors.chunks_exact(g.descriptor_bytes as usize);
        let descriptors: Vec<Vec<u8>> = (0..g.groups)
            .zip(descriptors)
            .map(|(group, d)| self.descriptor(group, d))
            .collect::<Result<_>>()?;
        let may_lack = self.sums.kind != Checksums::None;
        let mut made = Made {
            used: vec![0; g.map_words()],
            geometry: Geometry::default(),
        };
        let words = g.group_words();
        let (mut inode_maps, mut said) = (Vec::new(), Vec::new());
        for (group, d) in (0..g.groups).zip(&descriptors) {
            let tables = Tables {
                block_bitmap: u32_at(d, 0),
                inode_bitmap: u32_at(d, 4),
                inode_table: u32_at(d, 8),
            };
            let is_high = [32, 36, 40].map(|at| u32_at(d, at)) != [0; 3];
            let last = tables.inode_table.checked_add(g.table_blocks());
            if is_high
                || tables.inode_table < g.first_block
                || last.is_none_or(|last| last > g.blocks)
            {
                return damaged(format!(
                    "tables of group {group} lie outside the file system"
                ));
            }
            g.tables[group as usize] = tables;
            let halves = |low, high| u32::from(u16_at(d, low)) | u32::from(u16_at(d, high)) << 16;
            let flags = if may_lack { u16_at(d, 18) } else { 0 };
            let mut used = vec![0; words];
            if flags & BLOCK_UNINIT == 0 {
                let mut bitmap = self.block(tables.block_bitmap)?;
                let behind = bitmap.split_off(g.blocks_per_group as usize / 8);
                verify::end_of_bitmap("block", group, behind.iter().all(|byte| *byte == 0xff))?;
                if !self.is_map_sum(halves(24, 56), &bitmap) {
                    return damaged(format!(
                        "the block bitmap of group {group} has a wrong checksum"
                    ));
                }
                for (word, bytes) in used.iter_mut().zip(bitmap.chunks(8)) {
                    let mut all = [0; 8];
                    all[..bytes.len()].copy_from_slice(bytes);
                    *word = u64::from_le_bytes(all);
                }
            } else {
                let start = g.start_of(group);
                let end = start + g.blocks_in(group);
                let mut fill = |first: u32, blocks: u32| {
                    let (from, to) = (first.max(start), first.saturating_add(blocks).min(end));
                    if from < to {
                        bits::fill(&mut used, from - start, to - start, true);
                    }
                };
                fill(start, g.copy_blocks(group));
                fill(tables.block_bitmap, 1);
                fill(tables.inode_bitmap, 1);
                fill(tables.inode_table, g.table_blocks());
            }
            let mut padded = used.clone();
            bits::fill(&mut padded, g.blocks_in(group), g.blocks_per_group, true);
            let is_set = flags & BLOCK_UNINIT != 0 || padded == used;
            verify::end_of_bitmap("block", group, is_set)?;
            let first = group * g.blocks_per_group;
            bits::put(&mut made.used, first, &padded, g.blocks_per_group);
            let bytes = g.inodes_per_group as usize / 8;
            let (mut bitmap, mut rest) = (vec![0; bytes], g.inodes_per_group);
            if flags & INODE_UNINIT == 0 {
                bitmap = self.block(tables.inode_bitmap)?;
                let is_padded = bitmap.split_off(bytes).iter().all(|byte| *byte == 0xff);
                if !self.is_map_sum(halves(26, 58), &bitmap) {
                    return damaged(format!(
                        "the inode bitmap of group {group} has a wrong checksum"
                    ));
                }
                verify::end_of_bitmap("inode", group, is_padded)?;
                rest = if may_lack { halves(28, 50) } else { 0 };
            }
            inode_maps.push(bitmap);
            said.push(SaidOfGroup {
                unused: rest,
                free_blocks: halves(12, 44),
                free_inodes: halves(14, 46),
                directories: halves(16, 48),
            });
        }
        made.geometry = g;
        self.fs.groups = Groups::new(&made);
        self.fs.geometry = made.geometry;
        for (group, bitmap) in (0..).zip(&inode_maps) {
            self.fs.groups.set_inodes(group, bitmap);
        }
        Ok(said)
    }

    /// A descriptor with a right checksum, with room for the high halves of numbers.
    fn descriptor(&self, group: u32, d: &[u8]) -> Result<Vec<u8>> {
        if self.sums.kind != Checksums::None {
            let sum = checksum(self.sums.seed, &self.sums.uuid, group, d);
            if !is_sum(u16_at(d, 30).into(), sum.into()) {
                return damaged(format!(
                    "the descriptor of group {group} has a wrong checksum"
                ));
            }
        }
        let mut d = d.to_vec();
        d.resize(DESCRIPTOR_BYTES[0] as usize, 0);
        Ok(d)
    }

    /// Whether that is the checksum of a bitmap, of which a small descriptor has half.
    fn is_map_sum(&self, found: u32, bitmap: &[u8]) -> bool {
        let Some(seed) = self.sums.seed else {
            return true;
        };
        let is_half = self.fs.geometry.descriptor_bytes < DESCRIPTOR_BYTES[0];
        let sum = crc(seed, bitmap);
        is_sum(found, if is_half { sum & 0xffff } else { sum })
    }

    fn inodes(&mut self, said: &[SaidOfGroup]) -> Result<()> {
        let g = self.fs.geometry.clone();
        self.fs.inodes.clear();
        for ino in [ROOT_INO, LOST_FOUND_INO] {
            let slot = self.fs.keep_inode(ino, Kind::Directory);
            self.slots.insert(ino, slot);
        }
        for ((group, tables), said) in (0..g.groups).zip(&g.tables).zip(said) {
            let last = self.fs.groups.inodes_up_to_last(group);
            if last.saturating_add(said.unused) > g.inodes_per_group {
                return damaged(format!("group {group} uses inodes that were never written"));
            }
            let per_block = (g.block_bytes / INODE_BYTES) as u32;
            // Up to where inodes were ever in use: what is free is looked at too.
            let end = g.inodes_per_group - said.unused;
            for block in 0..end.div_ceil(per_block) {
                let bytes = self.block(tables.inode_table + block)?;
                let inodes = bytes.chunks_exact(INODE_BYTES as usize);
                for (at, bytes) in (block * per_block..end).zip(inodes) {
                    let ino = group * g.inodes_per_group + at + 1;
                    if self.fs.groups.is_inode_used(group, at) {
                        self.inode(ino, bytes)?;
                    } else {
                        verify::free_inode(ino, bytes)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The geometry says where the root and `lost+found` lie.
    fn note_first_directories(&mut self) {
        let run_of = |slot: u32| {
            let tree = &self.fs.inodes[slot as usize].tree;
            let (mut first, mut blocks) = (None, 0);
            tree.visit(&mut |entry| {
                first.get_or_insert(entry.block);
                blocks += entry.blocks();
            });
            (first.unwrap_or_default(), blocks)
        };
        let (root, lost_found) = (run_of(ROOT), run_of(LOST_FOUND));
        self.fs.geometry.root_block = root.0;
        self.fs.geometry.lost_found = lost_found;
    }

    fn inode(&mut self, ino: u32, b: &[u8]) -> Result<()> {
        let seed = self
            .sums
            .seed
            .map(|seed| crc(crc(seed, &ino.to_le_bytes()), &b[100..104]));
        let mut area = [0; AREA];
        area.copy_from_slice(&b[40..40 + AREA]);
        let raw = Raw {
            ino,
            seed,
            mode: u16_at(b, 0),
            flags: u32_at(b, 32),
            size: u64::from(u32_at(b, 4)) | u64::from(u32_at(b, 108)) << 32,
            links: u16_at(b, 26).into(),
            sectors: u64::from(u32_at(b, 28)) | u64::from(u16_at(b, 116)) << 32,
            area,
        };
        let is_own = ino <= RESERVED_INODES && ino != ROOT_INO;
        let is_nothing = is_own && b.iter().all(|byte| *byte == 0);
        if !is_nothing && !seed.is_none_or(|seed| is_inode_sum(seed, b)) {
            return damaged(format!("inode {ino} has a wrong checksum"));
        }
        if is_own {
            return self.own(&raw, b);
        }
        verify::inode(&raw, b)?;
        if u32_at(b, 104) != 0 || u16_at(b, 118) != 0 {
            return foreign(format!("inode {ino}, with a block of attributes"));
        }
        if raw.size > MOST_BLOCKS << self.fs.geometry.block_bits {
            return damaged(format!("inode {ino} has {} bytes", raw.size));
        }
        let has_tree = raw.flags & EXTENTS != 0;
        let kind = match raw.mode & 0o17_0000 {
            DIRECTORY => Kind::Directory,
            SYMLINK => Kind::Symlink,
            _ => Kind::File,
        };
        let is_regular = raw.mode & 0o17_0000 == REGULAR;
        if !has_tree && (kind == Kind::Directory || is_regular) {
            return foreign(format!(
                "inode {ino}, with block pointers or data in itself"
            ));
        }
        let tree = if has_tree {
            self.tree(&raw)?
        } else {
            Tree::default()
        };
        self.blocks_and_size(&raw, &tree)?;
        let slot = match self.slots.get(&ino) {
            Some(&slot) => slot,
            None => self.fs.keep_inode(ino, kind),
        };
        self.slots.insert(ino, slot);
        self.note_links(slot, &raw);
        let inode = &mut self.fs.inodes[slot as usize];
        (inode.size, inode.tree) = (raw.size, tree);
        if kind == Kind::Directory {
            self.fs
                .groups
                .note_directory((ino - 1) / self.fs.geometry.inodes_per_group);
            self.found_dirs.push(raw);
        } else if slot <= LOST_FOUND {
            return damaged(format!("inode {ino} is no directory"));
        }
        Ok(())
    }

    /// An inode of the file system itself: where the journal lies, and the block for descriptors.
    fn own(&mut self, raw: &Raw, b: &[u8]) -> Result<()> {
        if raw.ino == super::own::JOURNAL_INO && self.fs.params.journal_bytes.is_some() {
            let tree = self.tree(raw)?;
            let (mut extents, mut blocks) = (Vec::new(), Vec::new());
            tree.visit(&mut |entry| extents.push((entry.block, entry.blocks())));
            tree.visit_blocks(&mut |block| blocks.push(block));
            if blocks.len() > 1 {
                return foreign("a journal with a tree of several blocks");
            }
            let blocks_in_all = extents
                .iter()
                .map(|(_, blocks)| u64::from(*blocks))
                .sum::<u64>();
            self.journal(raw, &tree)?;
            let Ok(all) = u32::try_from(blocks_in_all) else {
                return damaged("its journal is larger than the file system");
            };
            self.fs.geometry.journal_blocks = all;
            self.fs.params.journal_bytes = Some(blocks_in_all * self.fs.geometry.block_bytes);
            self.fs.geometry.journal = extents;
            self.fs.geometry.journal_tree_block = blocks.first().copied();
            return Ok(());
        }
        if raw.ino == super::own::RESIZE_INO && self.fs.params.resize_bytes != Some(0) {
            let block = u32_at(&raw.area, 4 * super::own::DOUBLE_INDIRECT);
            self.fs.geometry.resize_block = (block != 0).then_some(block);
            return self.kept_blocks(raw);
        }
        verify::kept_for_nothing(raw, b)
    }

    fn tree(&mut self, raw: &Raw) -> Result<Tree> {
        let g = &self.fs.geometry;
        let (ino, blocks) = (raw.ino, g.first_block..g.blocks);
        let root = parse_node(&raw.area, None, &blocks)
            .map_err(|what| damage(format!("inode {ino}: {what}")))?;
        let tail = g.block_bytes as usize / 12 * 12;
        let tail = if tail + 4 > g.block_bytes as usize {
            tail - 12
        } else {
            tail
        };
        let mut load = |(logical, block): (u32, u32), depth: u16| -> Result<Stored> {
            if !self.tree_blocks.insert(block) {
                return damaged(format!("block {block} of a tree belongs to two places"));
            }
            let bytes = self.block(block)?;
            let sum = u32_at(&bytes, tail);
            if !raw
                .seed
                .is_none_or(|seed| is_sum(sum, crc(seed, &bytes[..tail])))
            {
                return damaged(format!("inode {ino}: block {block} has a wrong checksum"));
            }
            let stored = parse_node(&bytes[..tail], Some(depth), &blocks)
                .map_err(|what| damage(format!("inode {ino}: block {block}: {what}")))?;
            match stored.first() {
                Some(first) if first != logical => damaged(format!(
                    "inode {ino}: block {block} begins with block {first} of the file, expected {logical}"
                )),
                _ => Ok(stored),
            }
        };
        Tree::read(root, &mut load)
    }

    fn directories(&mut self) -> Result<()> {
        let dirs = std::mem::take(&mut self.found_dirs);
        self.fs.dirs.clear();
        let mut root_first: Vec<&Raw> = dirs
            .iter()
            .filter(|raw| raw.ino != LOST_FOUND_INO)
            .collect();
        root_first.sort_unstable_by_key(|raw| (raw.ino != ROOT_INO, raw.ino));
        if dirs.len() != root_first.len() + 1
            || root_first.first().is_none_or(|raw| raw.ino != ROOT_INO)
        {
            return foreign("no root, or no `lost+found`");
        }
        if let Some(raw) = dirs.iter().find(|raw| raw.ino == LOST_FOUND_INO) {
            self.lost_and_found(raw)?;
        }
        let name = self.fs.keys.names.give(b"lost+found".as_slice().into());
        for (dir, raw) in (0..).zip(&root_first) {
            let entries = self.entries(dir, raw)?;
            let inode = self.slots[&raw.ino];
            self.fs.dirs.push(Dir::found(raw.ino, inode, name, entries));
        }
        Ok(())
    }

    /// The blocks of a directory.
    fn entries(&mut self, dir: u32, raw: &Raw) -> Result<Entries> {
        let ino = raw.ino;
        let wrong = |what: &str| damage(format!("directory {ino}: {what}"));
        let bytes = self.fs.geometry.block_bytes;
        let count = raw.size / bytes;
        if count == 0 || !raw.size.is_multiple_of(bytes) || count > MOST_DIRECTORY_BLOCKS {
            return Err(wrong("a length that none has"));
        }
        let is_indexed = raw.flags & INDEXED != 0;
        if !is_indexed && count > 1 {
            return foreign(format!(
                "directory {ino}, of several blocks without an index"
            ));
        }
        let mut blocks = Vec::with_capacity(count as usize);
        let mut names = 0;
        // Blocks of the index, with the levels below them; what the index leads to comes behind what leads to it.
        let mut levels: Vec<Option<u8>> = vec![None; count as usize];
        levels[0] = is_indexed.then_some(0);
        let mut wanted = FxHashSet::default();
        let mut raw_blocks = Vec::with_capacity(count as usize);
        for logical in 0..count as u32 {
            let slot = self.slots[&ino];
            let entry = self.fs.inodes[slot as usize].tree.find(logical);
            let entry = entry.filter(|entry| !entry.is_unwritten());
            let entry = entry.ok_or_else(|| wrong("a hole"))?;
            raw_blocks.push(self.block(entry.block + (logical - entry.logical))?);
        }
        let mut places_of: FxHashMap<u32, Vec<Place>> = FxHashMap::default();
        let mut todo = Vec::new();
        if is_indexed {
            let b = &raw_blocks[0];
            if b[28] != 1 || b[29] != 8 || b[30] > 1 || b[31] & 1 != 0 {
                return foreign(format!("directory {ino}, with an index of another kind"));
            }
            self.dots_of_index(ino, b)?;
            todo.push((0_u32, b[30]));
        }
        while let Some((block, below)) = todo.pop() {
            let limits = self.fs.format.limits();
            let (at, limit) = if block == 0 {
                (32, limits.0)
            } else {
                (8, limits.1)
            };
            let b = &raw_blocks[block as usize];
            let places = super::directory::read_index(b, at, limit, raw.seed)
                .ok_or_else(|| wrong("an index that makes no sense"))?;
            for place in &places {
                if place.block == 0
                    || u64::from(place.block) >= count
                    || !wanted.insert(place.block)
                {
                    return Err(wrong("an index that leads nowhere"));
                }
                if below > 0 {
                    levels[place.block as usize] = Some(below - 1);
                    todo.push((place.block, below - 1));
                }
            }
            places_of.insert(block, places);
        }
        if is_indexed && wanted.len() as u64 + 1 != count {
            return Err(wrong("blocks that its index does not lead to"));
        }
        let mut taken = FxHashSet::default();
        for (logical, b) in (0_u32..).zip(&raw_blocks) {
            if let Some(places) = places_of.remove(&logical) {
                blocks.push(Block::Index(places));
                continue;
            }
            let leaf = super::directory::read_leaf(b, raw.seed)
                .ok_or_else(|| wrong(&format!("block {logical} is no leaf")))?;
            for found in leaf.iter().filter(|found| !found.name.is_empty()) {
                if !taken.insert(found.name) {
                    return Err(wrong("a name stands there twice"));
                }
            }
            let items = self.leaf(dir, (ino, logical), leaf)?;
            let found = items
                .iter()
                .filter(|item| item.name.is_some() && item.inode != LOST_FOUND);
            names += found.count() as u64;
            blocks.push(Block::Leaf(items));
        }
        Ok(Entries {
            blocks,
            count: names,
        })
    }

    fn leaf(
        &mut self,
        dir: u32,
        (ino, logical): (u32, u32),
        raw: Vec<super::directory::Found<'_>>,
    ) -> Result<Vec<Item>> {
        let wrong = |what: &str| damage(format!("directory {ino}, block {logical}: {what}"));
        let mut items = Vec::with_capacity(raw.len());
        for (at, found) in raw.into_iter().enumerate() {
            let (child, bytes, name) = (found.ino, found.bytes, found.name);
            let dots = logical == 0 && at < 2;
            let is_dot = name == b"." && at == 0 || name == b".." && at == 1;
            if dots != is_dot || !dots && matches!(name, b"." | b"..") {
                return Err(wrong("`.` and `..` are not where they should be"));
            }
            if dots {
                self.note_dot(ino, child, name, found.kind)?;
            }
            if child == 0 || dots {
                items.push(Item::nameless(
                    bytes,
                    if dots { name.len() as u8 } else { 0 },
                ));
                continue;
            }
            let slot = self.slots.get(&child).copied();
            let slot = slot.ok_or_else(|| wrong("a name leads to an inode that is not in use"))?;
            if check_name(name).is_err() {
                return Err(wrong("a name that none has"));
            }
            if slot == LOST_FOUND && name != b"lost+found" {
                return Err(wrong("`lost+found` has another name"));
            }
            self.note_name(ino, slot, found.kind)?;
            let name = self.fs.keys.names.give(name.into());
            items.push(Item::of(self.fs.keys.key(name), slot, bytes));
            if slot > LOST_FOUND {
                self.named.push((dir, name, slot));
            } else if slot != LOST_FOUND || dir != ROOT {
                return Err(wrong("a second name of the root or of `lost+found`"));
            }
        }
        Ok(items)
    }
}
