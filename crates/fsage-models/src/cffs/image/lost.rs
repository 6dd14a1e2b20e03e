//! Directories to which no name leads, and blocks of directories to which no pointer leads.
//!
//! The directory map says for each number where the inode of that directory lies. Where the inode itself is lost, the
//! blocks of the directory tell whose they are: inodes in them by their numbers, the first block by `.`. Without
//! embedded inodes there is no map, and the blocks of inodes take its place; where inodes never move there is neither.

use super::super::directory::ROOT;
use super::super::geometry::{BLOCK, SECTOR, SECTORS};
use super::super::inode::Kind as InodeKind;
use super::Kind;
use super::format::{Block, DiskInode, INODE, Id, NAMES, Slot, Way, decode_names};
use super::scan::{Named, Scan, locator};
use std::collections::{BTreeMap, BTreeSet};

/// A directory that no name leads to.
struct Candidate {
    /// Its number in the map, 0 where there is none.
    number: u32,
    inode: DiskInode,
}

impl Scan<'_> {
    /// Finds directories without a name, and all that lies in them.
    pub fn find_lost(&mut self) {
        if self.moves() {
            self.scan_blocks();
            let candidates = self.mapped_candidates();
            self.attach(candidates);
        } else if !self.embed() {
            let candidates = self.table_candidates();
            self.attach(candidates);
        }
    }

    /// Directories whose inode lies where the map says.
    fn mapped_candidates(&mut self) -> Vec<Candidate> {
        let mut found = Vec::new();
        for number in 1..self.map.len() as u32 {
            let entry = self.map[number as usize];
            if entry.inode == 0 || self.numbers.contains_key(&number) {
                continue;
            }
            if let Some(inode) = self.mapped_inode(entry.inode, entry.sector) {
                found.push(Candidate { number, inode });
            }
        }
        found
    }

    /// The inode of a directory, at the physical address that the map has.
    fn mapped_inode(&mut self, number: u32, sector: u32) -> Option<DiskInode> {
        let (block, in_block) = (sector / SECTORS, sector % SECTORS);
        let (_, _, k) = locator(number);
        if !(1..=3).contains(&k) || block >= self.superblock.geometry.blocks {
            return None;
        }
        let bytes = self.read(block)?;
        let at = in_block as usize * SECTOR as usize + k as usize * INODE;
        match DiskInode::decode(&bytes[at..at + INODE]) {
            Slot::Used(inode) if inode.number == number && inode.kind == InodeKind::Directory => {
                Some(inode)
            }
            _ => None,
        }
    }

    /// Directories in the blocks of inodes.
    fn table_candidates(&self) -> Vec<Candidate> {
        let reached: BTreeSet<u32> = self.dirs.iter().map(|dir| dir.inode.number).collect();
        let used = self.table.iter().filter_map(|slot| match slot {
            Slot::Used(inode) => Some(*inode),
            _ => None,
        });
        let lost = used.filter(|inode| {
            inode.kind == InodeKind::Directory
                && inode.links > 0
                && !reached.contains(&inode.number)
        });
        lost.map(|inode| Candidate { number: 0, inode }).collect()
    }

    /// The slot of the directory that an inode says it lies in.
    fn parent_of(&self, inode: &DiskInode) -> Option<u32> {
        if self.moves() {
            self.numbers.get(&inode.dir).copied()
        } else {
            let slot = self
                .dirs
                .iter()
                .position(|dir| dir.inode.number == inode.dir);
            slot.map(|slot| slot as u32)
        }
    }

    /// Takes candidates in, those first whose parent is not itself one of them: their names lead to the others.
    fn attach(&mut self, mut left: Vec<Candidate>) {
        while !left.is_empty() {
            let names: BTreeSet<u32> = left
                .iter()
                .map(|c| {
                    if c.number == 0 {
                        c.inode.number
                    } else {
                        c.number
                    }
                })
                .collect();
            // In a cycle the first one will do.
            let first = left
                .iter()
                .position(|c| !names.contains(&c.inode.dir))
                .unwrap_or(0);
            let Candidate { number, inode } = left.remove(first);
            let known = self.block_of.contains_key(&inode.direct[0]);
            let reached = self.dirs.iter().any(|dir| dir.inode.number == inode.number);
            if known || reached || (number != 0 && self.numbers.contains_key(&number)) {
                continue;
            }
            let parent = self.parent_of(&inode).unwrap_or(ROOT);
            let slot = self.enter(0, inode, parent, Named::Anew);
            self.found(slot);
        }
    }

    fn found(&mut self, slot: u32) {
        let path = self.path(slot);
        self.find(Kind::Found, format!("{path}: the name was lost"));
        self.follow();
    }

    /// Looks through all blocks without an owner for those of directories that miss some.
    fn scan_blocks(&mut self) {
        let mut wanted: BTreeSet<u32> = BTreeSet::new();
        for number in 1..self.map.len() as u32 {
            let entry = self.map[number as usize];
            let lost = entry.inode != 0
                && !self.numbers.contains_key(&number)
                && self.mapped_inode(entry.inode, entry.sector).is_none();
            if lost {
                wanted.insert(number);
            }
        }
        let short = self.dirs.iter().filter(|dir| dir.blocks.contains(&0));
        wanted.extend(short.map(|dir| dir.number));
        if wanted.is_empty() {
            return;
        }
        let mut found: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
        for block in 0..self.superblock.geometry.blocks {
            if self.claims.is_used(block) {
                continue;
            }
            let told = self.read(block).and_then(|bytes| whose(&bytes));
            if let Some((number, lbn)) = told.filter(|(number, _)| wanted.contains(number)) {
                found.entry(number).or_default().entry(lbn).or_insert(block);
            }
        }
        for (number, blocks) in found {
            self.take_blocks(number, &blocks);
        }
        self.follow();
    }

    /// A directory gets blocks that say that they are its.
    fn take_blocks(&mut self, number: u32, blocks: &BTreeMap<u32, u32>) {
        let known = self.numbers.get(&number).copied();
        let slot = match known {
            Some(slot) => slot,
            None if blocks.values().all(|&block| self.is_empty(block)) => return,
            None => {
                let inode = self.map[number as usize].inode;
                let parent = self.numbers.get(&(inode >> 16)).copied().unwrap_or(ROOT);
                let inode = DiskInode::new(0, InodeKind::Directory, BLOCK);
                let slot = self.enter(0, inode, parent, Named::Anew);
                self.set_number(slot, number);
                slot
            }
        };
        let mut taken = 0;
        for (&lbn, &block) in blocks {
            let missing = self.dirs[slot as usize]
                .blocks
                .get(lbn as usize)
                .is_none_or(|&b| b == 0);
            if missing && self.claims.take(block).is_ok() {
                self.read_block(slot, lbn, block);
                taken += 1;
            }
        }
        let path = self.path(slot);
        let what = if known.is_some() {
            "blocks"
        } else {
            "its inode and its name were lost; blocks"
        };
        self.find(
            Kind::Found,
            format!("{path}: {what} that say whose they are: {taken}"),
        );
    }

    /// Whether a block holds no inode and no name but `.` and `..`.
    fn is_empty(&mut self, block: u32) -> bool {
        self.read(block).is_none_or(|bytes| {
            bytes.chunks_exact(SECTOR as usize).all(|sector| {
                let names = decode_names(&sector[..NAMES]).unwrap_or_default();
                let dots = |id| matches!(id, Id::Dot | Id::DotDot);
                names.iter().flatten().all(|entry| dots(entry.id))
            })
        })
    }
}

/// Directory and number in it of a block that tells both.
fn whose(bytes: &Block) -> Option<(u32, u32)> {
    let mut told: Option<(u32, u32)> = None;
    for (i, sector) in (0..).zip(bytes.chunks_exact(SECTOR as usize)) {
        if i == 0
            && let Some(Some(entry)) = decode_names(&sector[..NAMES]).map(|run| run[0])
            && (entry.id, entry.way) == (Id::Dot, Way::Directory)
        {
            told = Some((entry.pointer, 0));
        }
        for k in 1..4 {
            let Slot::Used(inode) = DiskInode::decode(&sector[k * INODE..(k + 1) * INODE]) else {
                continue;
            };
            let (number, in_dir, place) = locator(inode.number);
            let this = (number, in_dir / SECTORS);
            if in_dir % SECTORS != i || place as usize != k || told.is_some_and(|t| t != this) {
                return None;
            }
            told = Some(this);
        }
    }
    told
}
