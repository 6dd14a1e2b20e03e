//! The bytes of an image (docs/spec/cffs.md, section 2): superblock, inodes, names, entries of the directory map. All
//! numbers are little-endian.
//!
//! Names stand for ids: `f` and the number of a file's name, `d` and that of a directory. None has more than 21
//! characters, so that every entry has 32 bytes.

use super::super::geometry::{BLOCK, Geometry, SUPERBLOCK, TREE};
use super::super::inode::Kind;
use super::super::params::{DirSteal, InodeId, Params, Randomize, Start};
use crate::pointers::Array;

/// The bytes of a block.
pub type Block = [u8; BLOCK as usize];

/// Bytes of an inode.
pub(super) const INODE: usize = super::super::geometry::INODE as usize;
/// Bytes of a run of names, whose entries cover it exactly: a fourth of a sector.
pub(super) const NAMES: usize = 128;
/// Bytes of an entry.
const ENTRY: usize = 32;
/// Entries of a run of names.
pub(super) const PLACES: usize = NAMES / ENTRY;
/// Entries of the directory map.
pub(super) const MAP_ENTRY: usize = 8;
/// The directory map: its inode has this number, which no locator has.
pub(super) const MAP_NUMBER: u32 = 2;
/// The external inode file.
pub(super) const EXTERNAL_NUMBER: u32 = 3;

/// The name of a file system in its superblock, which tells an image from other files.
const NAME: &[u8; 32] = b"C-FFS image of fsage, version 1\0";
const CHECK: usize = BLOCK as usize - 4;
/// Where inodes lie in the superblock.
const INODES_AT: [usize; 4] = [128, 256, 384, 512];

/// Bits that say which of the switches are on.
const EMBED: u32 = 1;
const GROUP: u32 = 2;
const DIR_STEAL: u32 = 4;
const SOFTUPDATES: u32 = 8;
const PHYSICAL: u32 = 16;
const RANDOM_START: u32 = 32;
const RANDOMIZE_FIRST: u32 = 64;
const DIR_GROUP_READ: u32 = 128;
const RANDOMIZE_IN_BENCHMARKS: u32 = 256;
const DIR_STEAL_LAST: u32 = 512;
const GROUP_BEHIND: u32 = 1024;
const HINTS: u32 = 2048;
const NAME_DOES_NOT_WAIT: u32 = 4096;

/// What stands for 50 % of first blocks at random is 0, as in images that are older than the key.
const HALF: u64 = 0x32;

/// FNV-1a, which tells damage from what was written.
fn check_word(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |word, &byte| {
        (word ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Reads the little-endian numbers of `bytes`.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    fn array<const N: usize>(self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0[at..at + N]);
        bytes
    }

    pub fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }

    pub fn u32(self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    pub fn u64(self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }
}

/// Puts bytes at a place.
pub(super) fn put(to: &mut [u8], at: usize, bytes: &[u8]) {
    to[at..at + bytes.len()].copy_from_slice(bytes);
}

/// What is found where an inode may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// Its number is 0: free.
    Free,
    /// An inode.
    Used(DiskInode),
    /// Its check word, or a field, is not right.
    Damaged,
}

/// An inode as it lies on disk. Times, owner and permission are not modeled: they are 0, and what is usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DiskInode {
    /// Its own number.
    pub number: u32,
    pub size: u64,
    pub kind: Kind,
    /// How often it is open.
    pub opens: u16,
    pub links: u16,
    /// Direct pointers; 0 is a hole.
    pub direct: [u32; TREE.direct as usize],
    /// Single, double and triple indirect block.
    pub indirect: [u32; 3],
    /// The containing directory: its number, or that of its inode; 0: none, or several.
    pub dir: u32,
    pub group_start: u32,
    pub group_size: u32,
}

/// Type and permission of a kind.
fn mode(kind: Kind) -> u16 {
    match kind {
        Kind::File => 0o100_644,
        Kind::Directory => 0o040_755,
        Kind::Symlink => 0o120_777,
    }
}

fn kind_of(mode: u16) -> Option<Kind> {
    let all = [Kind::File, Kind::Directory, Kind::Symlink];
    all.into_iter().find(|&kind| self::mode(kind) == mode)
}

impl DiskInode {
    /// An inode without blocks.
    pub fn new(number: u32, kind: Kind, size: u64) -> DiskInode {
        DiskInode {
            number,
            size,
            kind,
            opens: 0,
            links: 1,
            direct: [0; TREE.direct as usize],
            indirect: [0; 3],
            dir: 0,
            group_start: 0,
            group_size: 0,
        }
    }

    pub fn encode(&self) -> [u8; INODE] {
        let mut out = [0; INODE];
        put(&mut out, 0, &self.number.to_le_bytes());
        put(&mut out, 4, &self.size.to_le_bytes());
        put(&mut out, 12, &(mode(self.kind) >> 12).to_le_bytes());
        put(&mut out, 14, &self.opens.to_le_bytes());
        put(&mut out, 24, &self.links.to_le_bytes());
        put(&mut out, 26, &mode(self.kind).to_le_bytes());
        for (i, pointer) in self.direct.iter().chain(&self.indirect).enumerate() {
            put(&mut out, 40 + 4 * i, &pointer.to_le_bytes());
        }
        put(&mut out, 112, &self.dir.to_le_bytes());
        put(&mut out, 116, &self.group_start.to_le_bytes());
        put(&mut out, 120, &self.group_size.to_le_bytes());
        let check = check_word(&out[..124]);
        put(&mut out, 124, &check.to_le_bytes());
        out
    }

    pub fn decode(bytes: &[u8]) -> Slot {
        let b = Bytes(bytes);
        if b.u32(0) == 0 {
            return Slot::Free;
        }
        let kind = kind_of(b.u16(26));
        let Some(kind) = kind.filter(|_| b.u32(124) == check_word(&bytes[..124])) else {
            return Slot::Damaged;
        };
        let pointer = |i: usize| b.u32(40 + 4 * i);
        Slot::Used(DiskInode {
            number: b.u32(0),
            size: b.u64(4),
            kind,
            opens: b.u16(14),
            links: b.u16(24),
            direct: std::array::from_fn(pointer),
            indirect: std::array::from_fn(|i| pointer(i + TREE.direct as usize)),
            dir: b.u32(112),
            group_start: b.u32(116),
            group_size: b.u32(120),
        })
    }

    /// Puts the pointer to a block of pointers where it stands if that is the inode.
    pub fn set_array(&mut self, array: Array, block: u32) {
        match array {
            Array::Leaf(0) => self.indirect[0] = block,
            Array::Upper(j @ (0 | 1)) => self.indirect[1 + j as usize] = block,
            _ => {}
        }
    }
}

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    File(u64),
    Dir(u64),
    /// `.` and `..`.
    Dot,
    DotDot,
}

impl Id {
    fn text(self) -> String {
        match self {
            Id::File(id) => format!("f{id}"),
            Id::Dir(id) => format!("d{id}"),
            Id::Dot => ".".to_owned(),
            Id::DotDot => "..".to_owned(),
        }
    }

    fn parse(name: &[u8]) -> Option<Id> {
        let name = std::str::from_utf8(name).ok()?;
        let id = match (name, name.split_at_checked(1)?) {
            (".", _) => Id::Dot,
            ("..", _) => Id::DotDot,
            (_, ("f", id)) => Id::File(id.parse().ok()?),
            (_, ("d", id)) => Id::Dir(id.parse().ok()?),
            _ => return None,
        };
        (id.text() == name).then_some(id)
    }
}

/// What an entry leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// An inode in the same sector, by its number.
    Embedded,
    /// A directory, by its number.
    Directory,
    /// An inode elsewhere in the same directory, by its number.
    Internal,
    /// An inode in the external inode file, by its number.
    External,
    /// Any inode, by its number: where inodes never move, or are not embedded. With what it is.
    Number(Kind),
}

impl Way {
    fn code(self) -> u8 {
        match self {
            Way::Embedded => 1,
            Way::Directory => 2,
            Way::Internal => 3,
            Way::External => 4,
            Way::Number(kind) => (mode(kind) >> 8) as u8 & 0xf0,
        }
    }

    fn decode(code: u8) -> Option<Way> {
        let all = [
            Way::Embedded,
            Way::Directory,
            Way::Internal,
            Way::External,
            Way::Number(Kind::File),
            Way::Number(Kind::Directory),
            Way::Number(Kind::Symlink),
        ];
        all.into_iter().find(|way| way.code() == code)
    }
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DiskEntry {
    pub way: Way,
    /// Number of an inode or directory.
    pub pointer: u32,
    pub id: Id,
}

/// The entries of a run of names, by their places.
pub(super) type Run = [Option<DiskEntry>; PLACES];

/// Writes a run of names. An entry has the slack up to the next one; only the first one may be invalid.
pub(super) fn encode_names(run: &Run, out: &mut [u8]) {
    let mut before = 0;
    let mut at = 0;
    while at < PLACES {
        let next = (at + 1..PLACES).find(|&next| run[next].is_some());
        let length = (next.unwrap_or(PLACES) - at) * ENTRY;
        let entry = &mut out[at * ENTRY..at * ENTRY + ENTRY];
        entry[..2].copy_from_slice(&[length as u8, before]);
        if let Some(its) = &run[at] {
            let name = its.id.text();
            entry[2..4].copy_from_slice(&[its.way.code(), name.len() as u8]);
            put(entry, 4, &its.pointer.to_le_bytes());
            put(entry, 8, name.as_bytes());
        }
        before = length as u8;
        at += length / ENTRY;
    }
}

/// Reads a run of names; nothing if its entries do not cover it exactly, or one of them cannot be.
pub(super) fn decode_names(bytes: &[u8]) -> Option<Run> {
    let mut run = Run::default();
    let mut before = 0;
    let mut at = 0;
    while at < NAMES {
        let entry = &bytes[at..at + ENTRY];
        let length = usize::from(entry[0]);
        let whole = length > 0 && length.is_multiple_of(ENTRY) && at + length <= NAMES;
        if !whole || usize::from(entry[1]) != before {
            return None;
        }
        if entry[2] != 0 {
            run[at / ENTRY] = Some(DiskEntry {
                way: Way::decode(entry[2])?,
                pointer: Bytes(entry).u32(4),
                id: Id::parse(entry[8..].get(..usize::from(entry[3]))?)?,
            });
        } else if at > 0 {
            return None;
        }
        before = length;
        at += length;
    }
    Some(run)
}

/// The superblock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    pub params: Params,
    pub geometry: Geometry,
    /// Blocks in use.
    pub allocated: u32,
    /// Of the root, as far as it is embedded; of the directory for lost blocks; of the directory map; of the external
    /// inode file.
    pub inodes: [Slot; 4],
    pub root: u32,
}

impl Superblock {
    pub fn encode(&self) -> Block {
        let mut out = [0; BLOCK as usize];
        let (p, g) = (&self.params, &self.geometry);
        put(&mut out, 0, NAME);
        let flags = [
            (p.embed, EMBED),
            (p.group, GROUP),
            (p.dir_steal == DirSteal::First, DIR_STEAL),
            (p.dir_steal == DirSteal::Last, DIR_STEAL_LAST),
            (p.group_behind, GROUP_BEHIND),
            (p.hints, HINTS),
            (p.softupdates, SOFTUPDATES),
            (!p.name_waits, NAME_DOES_NOT_WAIT),
            (p.inode_id == InodeId::Physical, PHYSICAL),
            (p.start == Start::Random, RANDOM_START),
            (p.randomize_first == Randomize::Always, RANDOMIZE_FIRST),
            (
                p.randomize_first == Randomize::Benchmarks,
                RANDOMIZE_IN_BENCHMARKS,
            ),
            (p.dir_group_read, DIR_GROUP_READ),
        ];
        let flags = flags.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum();
        let words: [(usize, u32); 9] = [
            (68, self.root),
            (84, g.blocks),
            (88, self.allocated),
            (96, g.bitmap(0)),
            (100, SUPERBLOCK),
            (104, g.cg_blocks),
            (108, g.inodes_per_group),
            (112, p.group_blocks as u32),
            (116, flags),
        ];
        for (at, word) in words {
            put(&mut out, at, &word.to_le_bytes());
        }
        let long = [
            (72, p.size_bytes),
            (120, p.maxbpg),
            (640, p.seed),
            (648, p.bytes_per_inode),
            (656, p.grouped_blocks - 1),
            (664, p.random_percent ^ HALF),
        ];
        for (at, word) in long {
            put(&mut out, at, &word.to_le_bytes());
        }
        for (at, slot) in INODES_AT.into_iter().zip(&self.inodes) {
            if let Slot::Used(inode) = slot {
                put(&mut out, at, &inode.encode());
            }
        }
        let check = check_word(&out[..CHECK]);
        put(&mut out, CHECK, &check.to_le_bytes());
        out
    }

    /// Whether a block begins as a superblock does, whatever state it is in.
    pub fn has_name(block: &[u8]) -> bool {
        block.starts_with(NAME)
    }

    /// Nothing if the block is none, or damaged.
    pub fn decode(block: &Block) -> Option<Superblock> {
        let b = Bytes(block);
        if !Self::has_name(block) || b.u32(CHECK) != check_word(&block[..CHECK]) {
            return None;
        }
        let flags = b.u32(116);
        let is = |bit: u32| flags & bit != 0;
        let params = Params {
            size_bytes: b.u64(72),
            cg_blocks: b.u32(104).into(),
            embed: is(EMBED),
            group: is(GROUP),
            dir_steal: if is(DIR_STEAL) {
                DirSteal::First
            } else if is(DIR_STEAL_LAST) {
                DirSteal::Last
            } else {
                DirSteal::Off
            },
            group_behind: is(GROUP_BEHIND),
            hints: is(HINTS),
            softupdates: is(SOFTUPDATES),
            name_waits: !is(NAME_DOES_NOT_WAIT),
            inode_id: if is(PHYSICAL) {
                InodeId::Physical
            } else {
                InodeId::Locator
            },
            start: if is(RANDOM_START) {
                Start::Random
            } else {
                Start::CylinderGroup
            },
            randomize_first: if is(RANDOMIZE_FIRST) {
                Randomize::Always
            } else if is(RANDOMIZE_IN_BENCHMARKS) {
                Randomize::Benchmarks
            } else {
                Randomize::Never
            },
            random_percent: b.u64(664) ^ HALF,
            dir_group_read: is(DIR_GROUP_READ),
            group_blocks: u64::from(b.u32(112)),
            grouped_blocks: b.u64(656).saturating_add(1),
            maxbpg: b.u64(120),
            bytes_per_inode: b.u64(648),
            seed: b.u64(640),
        };
        let geometry = Geometry::new(&params).ok()?;
        let same = (geometry.blocks, geometry.inodes_per_group) == (b.u32(84), b.u32(108));
        let window = (1..=64).contains(&params.group_blocks)
            && (1..=15).contains(&params.grouped_blocks)
            && params.random_percent <= 100;
        (same && window).then(|| Superblock {
            params,
            geometry,
            allocated: b.u32(88),
            inodes: INODES_AT.map(|at| DiskInode::decode(&block[at..at + INODE])),
            root: b.u32(68),
        })
    }
}

#[cfg(test)]
mod tests;
