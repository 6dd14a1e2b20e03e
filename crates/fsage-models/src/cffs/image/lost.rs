//! Directories and files to which no name leads, and blocks of directories to which no pointer leads.
//!
//! The directory map says for each number where the inode of that directory lies. Where the inode itself is lost, the
//! blocks of the directory tell whose they are: inodes in them by their numbers, the first block by `.`. Without
//! embedded inodes there is no map, and the blocks of inodes take its place; where inodes never move there is neither.

use super::super::directory::{FIRST_EXTERNAL, ROOT};
use super::super::geometry::{BLOCK, SECTOR, SECTORS};
use super::super::inode::{Home, Kind as InodeKind};
use super::super::inode_area;
use super::Kind;
use super::claims::Mapped;
use super::format::{Block, DiskInode, INODE, Id, NAMES, Slot, Way, decode_names};
use super::scan::{FoundFile, MapEntry, Named, Scan, locator};
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
            self.report_missing();
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
            let of = self.read(block).and_then(|bytes| whose(&bytes));
            if let Some((number, lbn)) = of.filter(|(number, _)| wanted.contains(number)) {
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
            // It is being made or removed, unless something is lost.
            None if !self.damaged && blocks.values().all(|&b| self.is_empty(b)) => return,
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
                let free = |inode: &[u8]| DiskInode::decode(inode) == Slot::Free;
                names.iter().flatten().all(|entry| dots(entry.id))
                    && sector[INODE..].chunks_exact(INODE).all(free)
            })
        })
    }

    /// Tells of directories that the map has and that were not found. Where nothing else is lost, the map is older or
    /// newer than the rest, as after a crash.
    fn report_missing(&mut self) {
        let lost = self.damaged;
        let mut damaged = 0;
        for number in 1..self.map.len() as u32 {
            let MapEntry { inode, sector } = self.map[number as usize];
            if inode == 0 || self.numbers.contains_key(&number) {
                continue;
            }
            let (_, _, k) = locator(inode);
            if !(1..=3).contains(&k) || sector / SECTORS >= self.superblock.geometry.blocks {
                damaged += 1;
            } else if lost {
                let what = format!("directory number {number}: it is in the directory map alone");
                self.find(Kind::Lost, what);
            }
        }
        if damaged > 0 {
            let what = format!("the directory map: {damaged} entries are damaged");
            self.find(Kind::Lost, what);
        }
    }

    /// Inodes that no name leads to, with the slot of the directory that each lies in.
    pub fn unnamed(&self) -> Vec<(Option<u32>, DiskInode)> {
        let files = self.files.iter().map(|file| file.inode.number);
        let dirs = self.dirs.iter().map(|dir| dir.inode.number);
        let named: BTreeSet<u32> = files.chain(dirs).collect();
        let in_dirs = (0..)
            .zip(&self.dirs)
            .flat_map(|(slot, dir)| dir.inodes.iter().map(move |inode| (Some(slot), inode)));
        let first = if self.embed() {
            FIRST_EXTERNAL
        } else {
            inode_area::FIRST
        };
        let in_tables = self.table.iter().skip(first as usize);
        let all = in_dirs.chain(in_tables.map(|inode| (None, inode)));
        let used = all.filter_map(|(slot, inode)| match inode {
            Slot::Used(inode) => Some((slot, *inode)),
            _ => None,
        });
        used.filter(|(_, inode)| !named.contains(&inode.number))
            .collect()
    }

    /// Where something was lost, inodes without a name may have lost it: those of files are kept.
    pub fn keep_unnamed(&mut self) {
        if !self.damaged {
            return;
        }
        let mut seen = self.twice.clone();
        for (slot, inode) in self.unnamed() {
            let file = inode.kind != InodeKind::Directory && inode.links > 0;
            let there = match self.home_of(inode.number) {
                Some(Home::Sector { dir, at }) => {
                    let index = (at / 4 * 3 + at % 4).wrapping_sub(1) as usize;
                    let here = self.dirs[dir as usize].inodes.get(index);
                    slot == Some(dir) && at % 4 > 0 && here == Some(&Slot::Used(inode))
                }
                Some(Home::Table(_)) => slot.is_none(),
                _ => false,
            };
            // If its first block is another's, it is an inode that was being moved.
            let mut pointers = inode.direct.iter().chain(&inode.indirect);
            let first = pointers.find(|&&block| block != 0);
            let moved = first.is_some_and(|&block| {
                block < self.superblock.geometry.blocks && self.claims.is_used(block)
            });
            if file && there && !moved && seen.insert(inode.number) {
                self.files.push(FoundFile {
                    inode,
                    names: Vec::new(),
                    mapped: Mapped::default(),
                });
                self.file_blocks(self.files.len() - 1);
            }
        }
    }

    /// The slot of the directory that gets the new name of a file: its own, if that is known, or else the root.
    pub fn directory_for(&self, inode: &DiskInode, home: Home) -> u32 {
        match home {
            Home::Sector { dir, .. } if self.moves() => dir,
            _ if self.moves() || inode.dir == 0 => ROOT,
            _ => self.dir_of.get(&inode.dir).copied().unwrap_or(ROOT),
        }
    }
}

/// Directory and number in it of a block that tells both.
fn whose(bytes: &Block) -> Option<(u32, u32)> {
    let mut whose: Option<(u32, u32)> = None;
    for (i, sector) in (0..).zip(bytes.chunks_exact(SECTOR as usize)) {
        if i == 0
            && let Some(Some(entry)) = decode_names(&sector[..NAMES]).map(|run| run[0])
            && (entry.id, entry.way) == (Id::Dot, Way::Directory)
        {
            whose = Some((entry.pointer, 0));
        }
        for k in 1..4 {
            let Slot::Used(inode) = DiskInode::decode(&sector[k * INODE..(k + 1) * INODE]) else {
                continue;
            };
            let (number, in_dir, place) = locator(inode.number);
            let this = (number, in_dir / SECTORS);
            if in_dir % SECTORS != i || place as usize != k || whose.is_some_and(|t| t != this) {
                return None;
            }
            whose = Some(this);
        }
    }
    whose
}
