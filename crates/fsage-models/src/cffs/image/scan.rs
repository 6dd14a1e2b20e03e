//! Directories and inodes of an image, as far as they can be found: the walk through the hierarchy
//! (docs/spec/cffs.md, section 9).
//!
//! Directories get their blocks before files do, so that no damaged pointer of a file takes one away. What does not fit
//! is left out, and told.

use super::super::directory::{FIRST_EXTERNAL, LOST, MOST_SECTORS, ROOT};
use super::super::geometry::{BLOCK, INODES_PER_BLOCK, SECTOR, SECTORS};
use super::super::inode::{Home, Kind as InodeKind};
use super::super::own_file::OwnFile;
use super::claims::{Claims, Mapped, Walk};
use super::format::{
    Block, DiskEntry, DiskInode, INODE, Id, NAMES, PLACES, Slot, Superblock, Way, decode_names,
};
use super::{Finding, Kind, ReadBlocks};
use crate::pointers::Array;
use std::collections::{BTreeMap, BTreeSet};

/// Places for inodes in a sector.
const INODES: u32 = 3;

/// Blocks of a directory that may be missing: two blocks of pointers lead to them.
const MOST_HOLES: u32 = 2048;

/// Where the name of a directory stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// In its parent, at this place.
    At(u32),
    /// Nowhere: it gets a new name in its parent.
    Anew,
}

/// A directory.
#[derive(Clone, Debug)]
pub(super) struct FoundDir {
    pub id: u64,
    /// Directory number; 0 where there are none, or nothing tells it.
    pub number: u32,
    pub inode: DiskInode,
    pub parent: u32,
    pub named: Named,
    /// Addresses of its blocks; 0: missing.
    pub blocks: Vec<u32>,
    pub arrays: Vec<(Array, u32)>,
    /// By place.
    pub names: Vec<Option<DiskEntry>>,
    /// By sector and place.
    pub inodes: Vec<Slot>,
    /// Blocks whose names have not been followed yet.
    todo: Vec<u32>,
}

/// A file, or symbolic link.
#[derive(Clone, Debug)]
pub(super) struct FoundFile {
    pub inode: DiskInode,
    /// Its names: id, directory, place. None if all were lost: it gets a new one.
    pub names: Vec<(u64, u32, u32)>,
    pub mapped: Mapped,
}

/// An entry of the directory map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MapEntry {
    /// Number of the inode of the directory; 0: there is none.
    pub inode: u32,
    /// The sector that has it.
    pub sector: u32,
}

/// What was found so far.
pub(super) struct Scan<'a> {
    pub image: &'a dyn ReadBlocks,
    pub superblock: Superblock,
    pub findings: Vec<Finding>,
    pub claims: Claims,
    pub directory_map: OwnFile,
    pub external_file: OwnFile,
    /// By directory number.
    pub map: Vec<MapEntry>,
    /// The external inodes, or without embedded ones all of them.
    pub table: Vec<Slot>,
    pub dirs: Vec<FoundDir>,
    /// Slot of each directory number.
    pub numbers: BTreeMap<u32, u32>,
    /// Slot and number in the directory of each block of one.
    pub block_of: BTreeMap<u32, (u32, u32)>,
    pub files: Vec<FoundFile>,
    /// Which file has an inode of this number.
    file_of: BTreeMap<u32, usize>,
    /// Which directory has.
    pub dir_of: BTreeMap<u32, u32>,
    /// Inodes that an interrupted operation has left twice: the other one has the names.
    pub twice: BTreeSet<u32>,
    /// Names or inodes were lost with a sector.
    pub damaged: bool,
}

impl<'a> Scan<'a> {
    pub fn new(
        image: &'a dyn ReadBlocks,
        superblock: Superblock,
        findings: Vec<Finding>,
    ) -> Scan<'a> {
        Scan {
            image,
            claims: Claims::new(&superblock.geometry),
            superblock,
            findings,
            directory_map: OwnFile::default(),
            external_file: OwnFile::default(),
            map: Vec::new(),
            table: Vec::new(),
            dirs: Vec::new(),
            numbers: BTreeMap::new(),
            block_of: BTreeMap::new(),
            files: Vec::new(),
            file_of: BTreeMap::new(),
            dir_of: BTreeMap::new(),
            twice: BTreeSet::new(),
            damaged: false,
        }
    }

    /// Finds everything that can be found.
    pub fn run(&mut self) {
        self.tables();
        self.root();
        self.follow();
        self.find_lost();
        self.adopt();
        self.same_names();
        for i in 0..self.files.len() {
            self.file_blocks(i);
        }
        self.keep_unnamed();
    }

    pub fn find(&mut self, kind: Kind, what: String) {
        self.findings.push(Finding { kind, what });
    }

    pub fn embed(&self) -> bool {
        self.superblock.params.embed
    }

    pub fn moves(&self) -> bool {
        self.superblock.params.inodes_move()
    }

    /// Places for names in a sector.
    pub fn per_sector(&self) -> u32 {
        PLACES as u32 * if self.embed() { 1 } else { SECTORS / 2 }
    }

    /// A block that is there and can be read.
    pub fn read(&mut self, block: u32) -> Option<Box<Block>> {
        read_into(self.image, block, &mut self.findings)
    }

    pub fn mapped(&mut self, inode: &DiskInode) -> Mapped {
        let (image, findings) = (self.image, &mut self.findings);
        let mut read = |block| read_into(image, block, findings);
        Walk::of(inode, &mut self.claims, &mut read)
    }

    /// The root, and the directory for lost blocks.
    fn root(&mut self) {
        let number = self.superblock.root;
        let slot = if self.embed() {
            self.superblock.inodes[0]
        } else {
            self.table
                .get(number as usize)
                .copied()
                .unwrap_or(Slot::Free)
        };
        let inode = match slot {
            Slot::Used(inode) if inode.kind == InodeKind::Directory && inode.number == number => {
                inode
            }
            _ => {
                self.damaged = true;
                self.find(Kind::Lost, "the inode of the root is damaged".to_owned());
                DiskInode::new(number, InodeKind::Directory, BLOCK)
            }
        };
        self.enter(0, inode, ROOT, Named::At(0));
        if self.embed() && !self.moves() {
            let inode = match self.superblock.inodes[1] {
                Slot::Used(inode) if inode.kind == InodeKind::Directory => inode,
                _ => DiskInode::new(number + 1, InodeKind::Directory, 0),
            };
            self.enter(u64::MAX, inode, ROOT, Named::At(0));
        }
    }

    /// Whether a slot is that of the directory for lost blocks.
    pub fn is_lost_dir(&self, slot: u32) -> bool {
        slot == LOST && self.embed() && !self.moves()
    }

    /// A directory is found: its blocks are read, and its names are to be followed.
    pub fn enter(&mut self, id: u64, inode: DiskInode, parent: u32, named: Named) -> u32 {
        let slot = self.dirs.len() as u32;
        self.dirs.push(FoundDir {
            id,
            number: 0,
            inode,
            parent,
            named,
            blocks: Vec::new(),
            arrays: Vec::new(),
            names: Vec::new(),
            inodes: Vec::new(),
            todo: Vec::new(),
        });
        self.dir_of.insert(inode.number, slot);
        self.read_directory(slot, &inode);
        slot
    }

    /// The blocks of a directory that it does not have yet.
    fn read_directory(&mut self, slot: u32, inode: &DiskInode) {
        let mapped = self.mapped(inode);
        let path = self.path(slot);
        if let Some(wrong) = mapped.wrong() {
            self.find(Kind::Lost, format!("{path}: {wrong}"));
        }
        // No size makes it longer than its blocks and the holes that one block of pointers can have.
        let most = if self.moves() {
            MOST_SECTORS / SECTORS
        } else {
            MOST_HOLES + 4 * mapped.blocks.len() as u32
        };
        let blocks = mapped.blocks.into_iter().filter(|&(lbn, _)| lbn < most);
        let blocks: Vec<(u32, u32)> = blocks.collect();
        let last = blocks.last().map_or(0, |&(lbn, _)| lbn + 1);
        let said = inode.size.div_ceil(BLOCK).min(most.into()) as u32;
        let least = u32::from(!self.is_lost_dir(slot));
        self.resize(slot, said.max(last).max(least));
        self.dirs[slot as usize].arrays.extend(mapped.arrays);
        for (lbn, block) in blocks {
            self.read_block(slot, lbn, block);
        }
        self.number(slot);
    }

    /// A directory has at least so many blocks.
    fn resize(&mut self, slot: u32, blocks: u32) {
        let per_sector = self.per_sector();
        let dir = &mut self.dirs[slot as usize];
        let blocks = blocks.max(dir.blocks.len() as u32);
        let sectors = (blocks * SECTORS) as usize;
        dir.blocks.resize(blocks as usize, 0);
        dir.names.resize(sectors * per_sector as usize, None);
        dir.inodes.resize(sectors * INODES as usize, Slot::Free);
    }

    /// One block of a directory, which is its own already.
    pub fn read_block(&mut self, slot: u32, lbn: u32, block: u32) {
        self.resize(slot, lbn + 1);
        self.block_of.insert(block, (slot, lbn));
        self.dirs[slot as usize].blocks[lbn as usize] = block;
        self.dirs[slot as usize].todo.push(lbn);
        let Some(bytes) = self.read(block) else {
            self.damaged = true;
            return;
        };
        for (i, bytes) in (0..).zip(bytes.chunks_exact(SECTOR as usize)) {
            self.read_sector(slot, lbn * SECTORS + i, bytes);
        }
    }

    fn read_sector(&mut self, slot: u32, sector: u32, bytes: &[u8]) {
        let runs = self.per_sector() as usize / PLACES;
        let first = (sector * self.per_sector()) as usize;
        let mut damaged = 0;
        for (i, run) in bytes.chunks_exact(NAMES).take(runs).enumerate() {
            let Some(run) = decode_names(run) else {
                damaged += 1;
                continue;
            };
            let at = first + i * PLACES;
            self.dirs[slot as usize].names[at..at + PLACES].copy_from_slice(&run);
        }
        let mut inodes = 0;
        if self.embed() {
            for k in 1..=INODES as usize {
                let read = DiskInode::decode(&bytes[k * INODE..(k + 1) * INODE]);
                let at = (sector * INODES) as usize + k - 1;
                inodes += u32::from(read == Slot::Damaged);
                self.dirs[slot as usize].inodes[at] = read;
            }
        }
        if damaged + inodes > 0 {
            self.damaged = true;
            let path = self.path(slot);
            self.find(
                Kind::Lost,
                format!(
                    "{path}: sector {sector} is damaged: {damaged} of its {runs} runs of names, {inodes} inodes"
                ),
            );
        }
    }

    /// The directory number, of which `.`, the map and the inodes in the directory tell.
    fn number(&mut self, slot: u32) {
        let dir = &self.dirs[slot as usize];
        if !self.moves() || dir.number != 0 {
            return;
        }
        let dot = dir.names.first().copied().flatten();
        let dot = dot
            .filter(|entry| entry.id == Id::Dot)
            .map(|entry| entry.pointer);
        let its = dir.inode.number;
        let mapped = || {
            self.map
                .iter()
                .position(|entry| entry.inode == its && its != 0)
        };
        let inside = || {
            dir.inodes.iter().find_map(|slot| match slot {
                Slot::Used(inode) => Some(inode.number >> 16),
                _ => None,
            })
        };
        let number = dot.or_else(|| mapped().map(|n| n as u32)).or_else(inside);
        let number = if slot == ROOT { Some(1) } else { number };
        let free = |n: &u32| (1..=u32::from(u16::MAX)).contains(n) && !self.numbers.contains_key(n);
        if let Some(number) = number.filter(free) {
            self.set_number(slot, number);
        }
    }

    /// A directory has a number that no other has.
    pub fn set_number(&mut self, slot: u32, number: u32) {
        self.dirs[slot as usize].number = number;
        self.numbers.insert(number, slot);
    }

    /// The path of a directory.
    pub fn path(&self, slot: u32) -> String {
        let mut names = Vec::new();
        let mut at = slot;
        while at != ROOT {
            let dir = &self.dirs[at as usize];
            names.push(match dir.named {
                Named::At(_) => format!("/d{}", dir.id),
                Named::Anew => format!("/(directory number {})", dir.number),
            });
            at = dir.parent;
        }
        names.reverse();
        if names.is_empty() {
            return "/".to_owned();
        }
        names.concat()
    }

    /// Follows the names of all directories that have any left to follow.
    pub fn follow(&mut self) {
        let mut open: Vec<u32> = (0..self.dirs.len() as u32).rev().collect();
        while let Some(slot) = open.pop() {
            let todo = std::mem::take(&mut self.dirs[slot as usize].todo);
            let before = self.dirs.len();
            for lbn in todo {
                let places = SECTORS * self.per_sector();
                for at in lbn * places..(lbn + 1) * places {
                    open.extend(self.follow_name(slot, at));
                }
            }
            // The first of them first.
            open.extend((before as u32..self.dirs.len() as u32).rev());
        }
    }

    /// Follows one name; gives a directory that is known already, and has got more blocks.
    fn follow_name(&mut self, slot: u32, at: u32) -> Option<u32> {
        let entry = self.dirs[slot as usize].names[at as usize]?;
        if let Id::Dot | Id::DotDot = entry.id {
            let dots = self.moves() || !self.embed();
            let place = u32::from(entry.id == Id::DotDot);
            if !dots || at != place {
                self.drop_name(slot, at, Kind::Fixed, "a name that does not belong there");
            }
            return None;
        }
        if at < 2 && (self.moves() || !self.embed()) {
            self.drop_name(
                slot,
                at,
                Kind::Lost,
                "it stands in the place of `.` or `..`",
            );
            return None;
        }
        let Some(inode) = self.inode_of(slot, at, &entry) else {
            self.drop_name(slot, at, Kind::Lost, "it leads to no inode");
            return None;
        };
        match (entry.id, inode.kind) {
            (Id::File(id), InodeKind::File | InodeKind::Symlink) => {
                let files = &mut self.files;
                let i = *self.file_of.entry(inode.number).or_insert_with(|| {
                    files.push(FoundFile {
                        inode,
                        names: Vec::new(),
                        mapped: Mapped::default(),
                    });
                    files.len() - 1
                });
                self.files[i].names.push((id, slot, at));
                None
            }
            (Id::Dir(id), InodeKind::Directory) => self.follow_directory(id, inode, slot, at),
            _ => {
                self.drop_name(slot, at, Kind::Lost, "its inode is of another kind");
                None
            }
        }
    }

    fn follow_directory(&mut self, id: u64, inode: DiskInode, slot: u32, at: u32) -> Option<u32> {
        let known = self.block_of.get(&inode.direct[0]).copied();
        let same = self.dir_of.get(&inode.number).copied();
        let Some(known) = known.map(|(slot, _)| slot).or(same) else {
            self.enter(id, inode, slot, Named::At(at));
            return None;
        };
        // Its move was interrupted; or it is a cycle.
        let path = self.path(known);
        let what = format!("it is {path}, which has a name already");
        self.drop_name(slot, at, Kind::Fixed, &what);
        let longer = inode.size > self.dirs[known as usize].inode.size;
        if !longer {
            return None;
        }
        let mut rest = inode;
        let have = self.dirs[known as usize].blocks.clone();
        for (pointer, _) in rest
            .direct
            .iter_mut()
            .zip(&have)
            .filter(|(_, have)| **have != 0)
        {
            *pointer = 0;
        }
        let before = self.dirs[known as usize].inode.indirect;
        for (pointer, _) in rest
            .indirect
            .iter_mut()
            .zip(before)
            .filter(|(p, b)| **p == *b)
        {
            *pointer = 0;
        }
        self.read_directory(known, &rest);
        Some(known)
    }

    /// Takes a name out.
    pub fn drop_name(&mut self, slot: u32, at: u32, kind: Kind, why: &str) {
        let entry = self.dirs[slot as usize].names[at as usize].take();
        let name = match entry.map(|entry| entry.id) {
            Some(Id::File(id)) => format!("f{id}"),
            Some(Id::Dir(id)) => format!("d{id}"),
            _ => "a name".to_owned(),
        };
        let path = self.path(slot);
        let pointer = entry.map_or(0, |entry| entry.pointer);
        self.find(kind, format!("{path}: {name}, inode {pointer}: {why}"));
    }

    /// The inode to which a name leads, if it is one of that number.
    fn inode_of(&self, slot: u32, at: u32, entry: &DiskEntry) -> Option<DiskInode> {
        let pointer = entry.pointer;
        let dir = &self.dirs[slot as usize];
        let found = match entry.way {
            Way::Embedded | Way::Internal if self.moves() => {
                let (number, sector, k) = locator(pointer);
                let here = number == dir.number && (1..=INODES).contains(&k);
                let beside = sector == at / self.per_sector();
                let right = here && beside == (entry.way == Way::Embedded);
                let index = right.then(|| (sector * INODES + k - 1) as usize);
                index.and_then(|index| dir.inodes.get(index)).copied()
            }
            Way::External if self.moves() => {
                let (number, sector, k) = locator(pointer);
                let n = sector * 4 + k;
                let right = number == 0 && k < 4 && n >= FIRST_EXTERNAL;
                right.then(|| self.table.get(n as usize)).flatten().copied()
            }
            Way::Number(kind) if !self.moves() => {
                let found = if self.embed() {
                    self.inode_at(pointer)
                } else {
                    self.table.get(pointer as usize).copied()
                };
                found.filter(|slot| matches!(slot, Slot::Used(inode) if inode.kind == kind))
            }
            _ => None,
        };
        match found {
            Some(Slot::Used(inode)) if inode.number == pointer => Some(inode),
            _ => None,
        }
    }

    /// The inode whose number is its address.
    fn inode_at(&self, number: u32) -> Option<Slot> {
        let (block, index) = (number / INODES_PER_BLOCK, number % INODES_PER_BLOCK);
        let there = block < self.superblock.geometry.blocks && index % 4 != 0;
        let mut none = Vec::new();
        let bytes = there
            .then(|| read_into(self.image, block, &mut none))
            .flatten()?;
        let at = index as usize * INODE;
        Some(DiskInode::decode(&bytes[at..at + INODE]))
    }

    pub fn file_blocks(&mut self, i: usize) {
        let inode = self.files[i].inode;
        let fast = inode.kind == InodeKind::Symlink && inode.size < crate::FAST_SYMLINK;
        let mapped = if fast {
            Mapped::default()
        } else {
            self.mapped(&inode)
        };
        if let Some(wrong) = mapped.wrong() {
            let what = self.file_name(i);
            self.find(
                Kind::Lost,
                format!("{what}: {wrong}; its data there are lost"),
            );
        }
        self.files[i].mapped = mapped;
    }

    /// The path of the first name of a file, or its inode if it has none.
    pub fn file_name(&self, i: usize) -> String {
        let file = &self.files[i];
        let Some(&(id, dir, _)) = file.names.first() else {
            return format!("inode {}", file.inode.number);
        };
        let path = self.path(dir);
        format!("{}/f{id}", path.trim_end_matches('/'))
    }

    /// Where the inode of this number lies.
    pub fn home_of(&self, number: u32) -> Option<Home> {
        if !self.embed() {
            return Some(Home::Table(number));
        }
        if number == self.superblock.root {
            return Some(Home::Superblock(1));
        }
        let (dir, sector, k) = if self.moves() {
            let (number, sector, k) = locator(number);
            if number == 0 {
                return Some(Home::Table(sector * 4 + k));
            }
            (*self.numbers.get(&number)?, sector, k)
        } else {
            let (block, index) = (number / INODES_PER_BLOCK, number % INODES_PER_BLOCK);
            let &(dir, lbn) = self.block_of.get(&block)?;
            (dir, lbn * SECTORS + index / 4, index % 4)
        };
        Some(Home::Sector {
            dir,
            at: 4 * sector + k,
        })
    }
}

/// Directory, sector and place of a locator.
pub(super) fn locator(number: u32) -> (u32, u32, u32) {
    (number >> 16, number >> 3 & 0x1fff, number & 7)
}

fn read_into(
    image: &dyn ReadBlocks,
    block: u32,
    findings: &mut Vec<Finding>,
) -> Option<Box<Block>> {
    let mut bytes = Box::new([0; BLOCK as usize]);
    if u64::from(block) >= image.blocks() {
        return None;
    }
    match image.read(block, &mut bytes) {
        Ok(()) => Some(bytes),
        Err(e) => {
            findings.push(Finding {
                kind: Kind::Lost,
                what: format!("block {block} cannot be read: {e}"),
            });
            None
        }
    }
}
