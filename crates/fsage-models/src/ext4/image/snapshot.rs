//! A file system as a snapshot tells of it: the state of a driver that has just mounted it.
//!
//! A snapshot holds sizes, inodes, extents, names and perhaps free space. What it does not hold lies as `mkfs.ext4` and
//! the driver would have put it:
//!
//! | what | where it lies |
//! |---|---|
//! | tables, copies of descriptors, the journal | where `mkfs.ext4` puts them |
//! | blocks of extent trees | where the snapshot says; else in blocks that are in use and nobody's, or free ones |
//! | what stands in them | extents spread evenly over the leaves |
//! | what stands in directories | in one block by inode number; in several by hash, evenly |
//! | names that were not collected | `i` and the inode number |
//!
//! A snapshot may be hostile: nothing in it is believed, and in the end the file system check goes over all of it.

use super::LOST_FOUND;
use super::read::{MOST_DIRECTORY_BLOCKS, Named, Result, foreign, unfit};
use crate::ext4::directory::{Dir, LOST_FOUND_INO, ROOT_INO};
use crate::ext4::entries::Entries;
use crate::ext4::geometry::{Made, RESERVED_INODES};
use crate::ext4::groups::Groups;
use crate::ext4::hash::Key;
use crate::ext4::tree::{Entry, MOST_WRITTEN, Tree};
use crate::ext4::{Ext4, Kind, MOST_BLOCKS, Params, bits};
use crate::image::ReadError;
use fsage_core::names::{NAME_MAX, check_name, escape, unescape};
use fsage_core::operations::ROOT;
use fsage_core::snapshot::Inode;
use fsage_core::{Extent, FileKind, LayoutInMemory};
use rustc_hash::FxHashMap;

fn contradiction<T>(what: impl Into<String>) -> Result<T> {
    Err(ReadError::Contradiction(what.into()))
}

/// Whether a snapshot says how large its file system is: one of an image or a model, or one with a free map. What a
/// mounted file system says otherwise leaves out what its tables take.
pub fn has_size(found: &LayoutInMemory) -> bool {
    found.geometry.group_count > 0 || found.free.is_some()
}

/// That the sizes of a snapshot are those of a file system that [`Ext4::from_snapshot`] can put together. Inodes are
/// not looked at.
///
/// # Errors
/// They are not.
pub fn can_be_begun_with(how: &Params, found: &LayoutInMemory) -> Result<()> {
    Builder::new(how, found).map(drop)
}

/// An inode while its file system is put together.
#[derive(Default)]
struct Part {
    ino: u32,
    slot: u32,
    extents: Vec<Entry>,
    /// Blocks of its tree, those above before those below.
    pointers: Vec<u32>,
    /// Of a directory what is in it.
    names: Vec<(Key, u32)>,
}

impl Part {
    fn blocks(&self) -> u32 {
        self.extents.iter().map(Entry::blocks).sum()
    }

    /// One block more, behind all others in the file.
    fn append(&mut self, block: u32) {
        let logical = self.blocks();
        match self.extents.last_mut() {
            Some(last) if last.block + last.blocks() == block && last.blocks() < MOST_WRITTEN => {
                *last = Entry::new(last.logical, last.block, last.blocks() + 1, false);
            }
            _ => self.extents.push(Entry::new(logical, block, 1, false)),
        }
    }
}

/// A file system while it is put together.
struct Builder<'a> {
    found: &'a LayoutInMemory,
    fs: Ext4,
    made: Made,
    /// Blocks of tables and of the journal.
    fixed: Vec<u64>,
    /// Blocks that are in use, as the snapshot says, and of which it does not say for what; and how many.
    nobodys: (Vec<u64>, u32),
    parts: Vec<Part>,
    /// Places of inodes among the parts.
    places: FxHashMap<u32, usize>,
    /// Directories by the slots of their inodes.
    dirs: FxHashMap<u32, u32>,
}

impl Ext4 {
    /// Puts together what a snapshot tells of. Sizes are those of the snapshot, but for the size of the partition where
    /// that does not [say](has_size); what the driver does, and what the snapshot does not know, is as `how` says.
    /// Files and directories have ids of their own, from 2^60 on.
    ///
    /// # Errors
    /// It is none of an ext4, lacks what is needed, or contradicts itself or what `mkfs.ext4` does; or has what the
    /// model does not have.
    pub fn from_snapshot(how: &Params, found: &LayoutInMemory) -> Result<Ext4> {
        let mut builder = Builder::new(how, found)?;
        builder.find_parts()?;
        builder.claim_extents()?;
        builder.compare_free()?;
        builder.make_directories();
        let named = builder.name_all()?;
        builder.fill_directories()?;
        builder.make_trees()?;
        let mounted = builder.with_groups().mounted(named);
        mounted.map_err(|error| match error {
            ReadError::Damaged { what, .. } => ReadError::Contradiction(what),
            error => error,
        })
    }
}

impl<'a> Builder<'a> {
    fn new(how: &Params, found: &'a LayoutInMemory) -> Result<Builder<'a>> {
        let sizes = &found.geometry;
        if sizes.fs_type != "ext4" {
            return foreign(format!("a snapshot of {}", sizes.fs_type));
        }
        let block_bytes = u64::from(sizes.block_bytes);
        if !matches!(block_bytes, 1024 | 2048 | 4096) {
            return foreign(format!("blocks of {block_bytes} bytes"));
        }
        let known = |number: u64| (number > 0).then_some(number);
        let size_bytes = if has_size(found) {
            sizes.size_bytes
        } else {
            how.size_bytes
        };
        let params = Params {
            size_bytes,
            block_bytes: Some(block_bytes),
            bytes_per_inode: None,
            inodes: known(sizes.inodes_total),
            reserve_percent: (u128::from(sizes.reserved_bytes) * 100
                / u128::from(size_bytes.max(1))) as u64,
            ..how.clone()
        };
        let unfit = |error: crate::ext4::MkfsError| unfit(error.to_string());
        let mut made = Made::new(&params).map_err(unfit)?;
        let g = &mut made.geometry;
        g.reserve_blocks = sizes.reserved_bytes / block_bytes;
        let is_same = |known: u64, ours: u64| known == 0 || known == ours;
        let size_is_same = !has_size(found) || u64::from(g.blocks) == size_bytes / block_bytes;
        if !size_is_same
            || !is_same(sizes.group_count.into(), g.groups.into())
            || !is_same(sizes.inodes_per_group.into(), g.inodes_per_group.into())
            || !is_same(
                sizes.group_bytes,
                u64::from(g.blocks_per_group) * block_bytes,
            )
            || !is_same(
                sizes.inodes_total,
                u64::from(g.inodes_per_group) * u64::from(g.groups),
            )
        {
            return foreign("a geometry that `mkfs.ext4` does not make");
        }
        // The first directories may lie elsewhere.
        let (root, (lost_found, blocks)) = (g.root_block, g.lost_found);
        let first = g.first_block;
        let mut fixed = made.used.clone();
        bits::fill(&mut fixed, root - first, root - first + 1, false);
        bits::fill(
            &mut fixed,
            lost_found - first,
            lost_found - first + blocks,
            false,
        );
        made.used.clone_from(&fixed);
        let mut fs = Ext4::new(params).map_err(unfit)?;
        fs.inodes.clear();
        fs.dirs.clear();
        fs.geometry = made.geometry.clone();
        Ok(Builder {
            found,
            fs,
            fixed,
            nobodys: (Vec::new(), 0),
            made,
            parts: Vec::new(),
            places: FxHashMap::default(),
            dirs: FxHashMap::default(),
        })
    }

    /// Gives every inode its slot, and converts its extents.
    fn find_parts(&mut self) -> Result<()> {
        let found = self.found;
        for ino in [ROOT_INO, LOST_FOUND_INO] {
            self.fs.keep_inode(ino, Kind::Directory);
        }
        let g = &self.made.geometry;
        let most = u64::from(g.inodes_per_group) * u64::from(g.groups);
        for (place, inode) in found.inodes.iter().enumerate() {
            let ino = inode.ino;
            if ino != u64::from(ROOT_INO) && ino <= RESERVED_INODES.into() || ino > most {
                return contradiction(format!("inode {ino}, which no file of it can have"));
            }
            let ino = ino as u32;
            if self.places.insert(ino, place).is_some() {
                return contradiction(format!("inode {ino} is there twice"));
            }
            let kind = match inode.kind {
                FileKind::Directory => Kind::Directory,
                FileKind::Symlink => Kind::Symlink,
                _ => Kind::File,
            };
            let slot = match ino {
                ROOT_INO => ROOT,
                LOST_FOUND_INO => LOST_FOUND,
                _ => self.fs.keep_inode(ino, kind),
            };
            if slot <= LOST_FOUND && kind != Kind::Directory {
                return foreign(format!("inode {ino} that is no directory"));
            }
            if inode.size_bytes > MOST_BLOCKS << self.fs.geometry.block_bits {
                return contradiction(format!("inode {ino} has {} bytes", inode.size_bytes));
            }
            self.fs.inodes[slot as usize].size = inode.size_bytes;
            let mut part = self.converted(inode)?;
            (part.ino, part.slot) = (ino, slot);
            self.parts.push(part);
        }
        if !self.places.contains_key(&ROOT_INO) {
            return foreign(
                "a snapshot of a part of a file system: inode 2, its root, is not in it",
            );
        }
        if !self.places.contains_key(&LOST_FOUND_INO) {
            self.places.insert(LOST_FOUND_INO, self.parts.len());
            let (ino, slot) = (LOST_FOUND_INO, LOST_FOUND);
            self.parts.push(Part {
                ino,
                slot,
                ..Part::default()
            });
        }
        // Where nobody says where the first directories lie, that is where they were made.
        let g = &self.made.geometry;
        for (ino, block, blocks) in [
            (ROOT_INO, g.root_block, 1),
            (LOST_FOUND_INO, g.lost_found.0, g.lost_found.1),
        ] {
            let part = &mut self.parts[self.places[&ino]];
            if part.extents.is_empty() {
                part.extents.push(Entry::new(0, block, blocks, false));
            }
        }
        Ok(())
    }

    /// The extents of an inode in blocks.
    fn converted(&self, inode: &Inode) -> Result<Part> {
        let g = &self.made.geometry;
        let ino = inode.ino;
        let bytes = g.block_bytes;
        let mut part = Part::default();
        let Some(extents) = &inode.extents else {
            let is_empty = inode.size_bytes == 0 || inode.alloc_bytes == Some(0);
            if inode.kind == FileKind::Regular && !is_empty {
                return foreign(format!("inode {ino}, whose extents were not collected"));
            }
            return Ok(part);
        };
        let mut end = 0;
        for extent in extents {
            let physical = extent.physical_bytes / bytes;
            let blocks = extent.length_bytes / bytes;
            let last = physical
                .checked_add(blocks)
                .filter(|last| *last <= g.blocks.into());
            let is_whole = (extent.physical_bytes | extent.length_bytes).is_multiple_of(bytes);
            if !is_whole || blocks == 0 || physical < g.first_block.into() || last.is_none() {
                return contradiction(format!("inode {ino} has an extent that lies outside"));
            }
            let (block, blocks) = (physical as u32, blocks as u32);
            if extent.is_pointers() {
                part.pointers.extend(block..block + blocks);
                continue;
            }
            if extent.flags & !Extent::UNWRITTEN != 0 {
                return foreign(format!(
                    "inode {ino}, with an extent of flags {:#x}",
                    extent.flags
                ));
            }
            let logical = extent.logical_bytes / bytes;
            let behind = logical + u64::from(blocks);
            if logical < end || behind > MOST_BLOCKS || !extent.logical_bytes.is_multiple_of(bytes)
            {
                return contradiction(format!("inode {ino} has extents that overlap in the file"));
            }
            end = behind;
            let is_unwritten = extent.flags & Extent::UNWRITTEN != 0;
            part.extents
                .extend(Entry::of_run(logical as u32, block, blocks, is_unwritten));
        }
        if inode.kind == FileKind::Directory {
            let mut next = 0;
            let is_plain = part.extents.iter().all(|entry| {
                let follows = entry.logical == next && !entry.is_unwritten();
                next = entry.end();
                follows
            });
            if !is_plain {
                return contradiction(format!("directory {ino} has a hole"));
            }
        }
        Ok(part)
    }

    /// Takes the blocks that the snapshot says inodes have.
    fn claim_extents(&mut self) -> Result<()> {
        let first = self.made.geometry.first_block;
        for part in &self.parts {
            let data = part
                .extents
                .iter()
                .map(|entry| (entry.block, entry.blocks()));
            let pointers = part.pointers.iter().map(|&block| (block, 1));
            for (block, blocks) in data.chain(pointers) {
                let (from, to) = (block - first, block - first + blocks);
                let taken = bits::next_set(&self.made.used, from, to);
                if taken < to {
                    let ino = part.ino;
                    let block = taken + first;
                    if !bits::is_set(&self.fixed, taken) {
                        return contradiction(format!(
                            "block {block} of inode {ino} belongs to two places"
                        ));
                    }
                    return contradiction(format!(
                        "block {block} of inode {ino} lies where `mkfs.ext4` puts tables or the journal; `flex` and \
                         `journal` say how they lie"
                    ));
                }
                bits::fill(&mut self.made.used, from, to, true);
            }
        }
        Ok(())
    }

    /// Compares with the free map what is in use by now, and finds what else is.
    fn compare_free(&mut self) -> Result<()> {
        let Some(free) = &self.found.free else {
            return Ok(());
        };
        let g = &self.made.geometry;
        let (first, bytes) = (u64::from(g.first_block), g.block_bytes);
        let blocks = u64::from(g.blocks) - first;
        let mut nobodys = vec![u64::MAX; self.made.used.len()];
        for run in free {
            let start = (run.start_bytes / bytes).max(first) - first;
            let end =
                (run.start_bytes.saturating_add(run.length_bytes) / bytes).min(first + blocks);
            let end = end.saturating_sub(first).max(start);
            bits::fill(&mut nobodys, start as u32, end as u32, false);
        }
        let mut count = 0;
        for (at, (nobodys, used)) in nobodys.iter_mut().zip(&self.made.used).enumerate() {
            let both = used & !*nobodys;
            if both != 0 {
                let bit = at as u32 * 64 + both.trailing_zeros();
                let block = bit + g.first_block;
                let whose = if bits::is_set(&self.fixed, bit) {
                    "tables or the journal, as `mkfs.ext4` puts them; `flex` and `journal` say how they lie"
                } else {
                    "a file"
                };
                return contradiction(format!("block {block} is free, and belongs to {whose}"));
            }
            *nobodys &= !used;
            count += nobodys.count_ones();
        }
        self.nobodys = (nobodys, count);
        Ok(())
    }

    /// Takes a block at or behind another one: of those that are nobody's, else a free one.
    fn take_near(&mut self, goal: u32) -> Result<u32> {
        let g = &self.made.geometry;
        let (first, end) = (g.first_block, g.blocks - g.first_block);
        let goal = goal.clamp(first, g.blocks - 1) - first;
        let used = &mut self.made.used;
        let (nobodys, left) = &mut self.nobodys;
        let found = if *left > 0 {
            *left -= 1;
            [goal..end, 0..goal].into_iter().find_map(|range| {
                let at = bits::next_set(nobodys, range.start, range.end);
                (at < range.end).then_some(at)
            })
        } else {
            let behind = bits::next_clear(used, goal, end);
            behind.or_else(|| bits::next_clear(used, 0, goal))
        };
        let Some(at) = found else {
            return contradiction("no block is free for what the snapshot leaves out");
        };
        bits::fill(used, at, at + 1, true);
        if !nobodys.is_empty() {
            bits::fill(nobodys, at, at + 1, false);
        }
        Ok(at + first)
    }

    /// Makes the directories, the root first, with nothing in them.
    fn make_directories(&mut self) {
        let found = self.found;
        let of_root = found
            .inodes
            .iter()
            .filter(|inode| inode.ino == ROOT_INO.into());
        let others = found
            .inodes
            .iter()
            .filter(|inode| inode.ino > LOST_FOUND_INO.into());
        let all = of_root
            .chain(others)
            .filter(|inode| inode.kind == FileKind::Directory);
        let name = self.fs.keys.names.give(b"lost+found".as_slice().into());
        for inode in all {
            let slot = self.parts[self.places[&(inode.ino as u32)]].slot;
            self.dirs.insert(slot, self.fs.dirs.len() as u32);
            let entries = Entries {
                blocks: Vec::new(),
                count: 0,
            };
            self.fs
                .dirs
                .push(Dir::found(inode.ino as u32, slot, name, entries));
        }
    }

    /// Names every inode in its directory. Gives directory, name and slot of each.
    fn name_all(&mut self) -> Result<Vec<Named>> {
        let found = self.found;
        let mut names = Vec::with_capacity(found.inodes.len());
        names.push((
            u64::from(ROOT_INO),
            b"lost+found".to_vec(),
            u64::from(LOST_FOUND_INO),
        ));
        let first = u64::from(LOST_FOUND_INO) + 1;
        for inode in found.inodes.iter().filter(|inode| inode.ino >= first) {
            let name = match inode.path.as_deref().map(|path| unescape(last_of(path))) {
                Some(Some(name)) => name.into_vec(),
                Some(None) => {
                    return contradiction(format!("inode {} has a path that is none", inode.ino));
                }
                None => format!("i{}", inode.ino).into_bytes(),
            };
            names.push((inode.parent_ino.unwrap_or(ROOT_INO.into()), name, inode.ino));
        }
        for further in &found.names {
            let Some(name) = unescape(&further.name) else {
                return contradiction(format!("inode {} has a name that is none", further.ino));
            };
            names.push((further.parent_ino, name.into_vec(), further.ino));
        }
        let mut sorted: Vec<(u64, &[u8])> = names
            .iter()
            .map(|(parent, name, _)| (*parent, &name[..]))
            .collect();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let (parent, name) = (twice[0].0, escape(twice[0].1));
            return contradiction(format!("directory {parent} has the name `{name}` twice"));
        }
        names.sort_by_key(|(_, _, ino)| *ino);
        let mut named = Vec::with_capacity(names.len());
        for (parent, name, ino) in names {
            if check_name(&name).is_err() || name.len() > NAME_MAX {
                return contradiction(format!("inode {ino} has a name that none has"));
            }
            if parent == LOST_FOUND_INO.into() {
                return foreign(format!("inode {ino} in `lost+found`"));
            }
            let part = |ino: u64| self.places.get(&u32::try_from(ino).ok()?).copied();
            let (Some(above), Some(below)) = (part(parent), part(ino)) else {
                return contradiction(format!(
                    "a name leads from inode {parent} to {ino}, and one is not there"
                ));
            };
            let Some(&dir) = self.dirs.get(&self.parts[above].slot) else {
                return contradiction(format!(
                    "inode {ino} lies in inode {parent}, which is no directory"
                ));
            };
            let slot = self.parts[below].slot;
            let name = self.fs.keys.names.give(name.into());
            self.parts[above].names.push((self.fs.keys.key(name), slot));
            if slot > LOST_FOUND {
                named.push((dir, name, slot));
            } else if slot != LOST_FOUND || dir != ROOT {
                return contradiction("the root or `lost+found` has a second name");
            }
        }
        Ok(named)
    }

    /// Gives directories what stands in them. Where the snapshot does not say where they lie, and where names are
    /// longer than they were, as hidden ones may be, they take blocks.
    fn fill_directories(&mut self) -> Result<()> {
        let bytes = self.fs.geometry.block_bytes;
        for at in 0..self.parts.len() {
            let part = &mut self.parts[at];
            let (ino, slot) = (part.ino, part.slot);
            let inode = &mut self.fs.inodes[slot as usize];
            if slot == LOST_FOUND {
                inode.size = u64::from(part.blocks()) * bytes;
                continue;
            }
            let Some(&dir) = self.dirs.get(&slot) else {
                continue;
            };
            let blocks = match part.blocks() {
                0 => inode.size.div_ceil(bytes),
                known => known.into(),
            };
            if blocks > MOST_DIRECTORY_BLOCKS {
                return contradiction(format!("directory {ino} has {blocks} blocks"));
            }
            let names = std::mem::take(&mut part.names);
            let Some(mut entries) = Entries::filled(self.fs.format, &names, blocks as usize) else {
                return contradiction(format!(
                    "the names in directory {ino} fit into no number of blocks"
                ));
            };
            entries.count -= u64::from(dir == ROOT);
            inode.size = entries.blocks.len() as u64 * bytes;
            for _ in self.parts[at].blocks()..entries.blocks.len() as u32 {
                self.append(at)?;
            }
            self.fs.dirs[dir as usize].entries = entries;
        }
        Ok(())
    }

    /// Gives an inode a block more: behind its last one, or else in its group.
    fn append(&mut self, at: usize) -> Result<()> {
        let part = &self.parts[at];
        let g = &self.made.geometry;
        let goal = match part.extents.last() {
            Some(last) => last.block + last.blocks(),
            None => g.start_of((part.ino - 1) / g.inodes_per_group),
        };
        let block = self.take_near(goal)?;
        self.parts[at].append(block);
        Ok(())
    }

    /// Gives every inode its tree.
    fn make_trees(&mut self) -> Result<()> {
        let capacity = self.fs.leaf_capacity();
        for at in 0..self.parts.len() {
            let slot = self.parts[at].slot as usize;
            let inode = &self.fs.inodes[slot];
            let is_long_link = inode.kind == Kind::Symlink && inode.size >= crate::FAST_SYMLINK;
            if is_long_link && self.parts[at].extents.is_empty() {
                self.append(at)?;
            }
            let part = &mut self.parts[at];
            let (ino, extents) = (part.ino, std::mem::take(&mut part.extents));
            let mut blocks = std::mem::take(&mut part.pointers);
            let goal = extents.first().map_or(0, |entry| entry.block);
            while blocks.len() < Tree::blocks_for(extents.len(), capacity) {
                blocks.push(self.take_near(goal)?);
            }
            let Some(tree) = Tree::over(extents, &blocks, capacity) else {
                let count = blocks.len();
                return contradiction(format!(
                    "inode {ino} has {count} blocks of an extent tree, more than it can use"
                ));
            };
            self.fs.inodes[slot].tree = tree;
        }
        Ok(())
    }

    /// The file system with its bitmaps.
    fn with_groups(self) -> Ext4 {
        let mut fs = self.fs;
        let per_group = fs.geometry.inodes_per_group;
        fs.groups = Groups::new(&self.made);
        let mut bitmaps = vec![vec![0_u8; per_group as usize / 8]; fs.geometry.groups as usize];
        let mut inos: Vec<u32> = (1..=RESERVED_INODES)
            .chain(self.parts.iter().map(|part| part.ino))
            .collect();
        inos.sort_unstable();
        for at in inos.iter().map(|ino| ino - 1) {
            let bit = at % per_group;
            bitmaps[(at / per_group) as usize][bit as usize / 8] |= 1 << (bit % 8);
        }
        for (group, bitmap) in (0..).zip(&bitmaps) {
            fs.groups.set_inodes(group, bitmap);
        }
        let directories = self
            .parts
            .iter()
            .filter(|part| fs.inodes[part.slot as usize].kind == Kind::Directory);
        for part in directories {
            fs.groups.note_directory((part.ino - 1) / per_group);
        }
        fs
    }
}

/// The last component of a path.
fn last_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
