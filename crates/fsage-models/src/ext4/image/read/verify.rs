//! What an image says twice: what an inode tells of itself against what was found, the counters of groups, the blocks
//! that are kept for descriptors, and the head of the journal.
//!
//! The rules are those of `e2fsck`: what it lets pass is let pass.

use super::{LOST_FOUND, Raw, Reader, Result, damage, damaged, foreign};
use crate::FAST_SYMLINK;
use crate::ext4::MOST_LINKS;
use crate::ext4::geometry::RESERVED_INODES;
use crate::ext4::image::fields::{put32, u16_at, u32_at};
use crate::ext4::image::inode::{AREA, EXTENTS, INDEXED};
use crate::ext4::image::own::{self, DOUBLE_INDIRECT, JOURNAL_INO, RESIZE_INO};
use crate::ext4::tree::Tree;
use crate::image::{DIRECTORY, REGULAR, SYMLINK};

/// Pipes, devices and sockets.
const SPECIAL: [u16; 4] = [0o1_0000, 0o2_0000, 0o6_0000, 0o14_0000];
const KIND: u16 = 0o17_0000;

/// The inode counts its blocks, not its sectors.
const COUNTS_BLOCKS: u32 = 0x4_0000;
/// Neither written to nor removed.
const FIXED: u32 = 0x10 | 0x20;
/// What a user may set, `DAX` and what older drivers left.
const OF_USERS: u32 = 0xff | 0x3_c000 | 0x40_0000 | 0x200_0000 | 0x2000_0000;
const KNOWN_FLAGS: u32 = OF_USERS | EXTENTS | INDEXED | COUNTS_BLOCKS;

const BOOT_LOADER_INO: u32 = 5;

const JOURNAL_SUPERBLOCKS: [u32; 2] = [3, 4];

/// What a descriptor says of its group.
pub(super) struct SaidOfGroup {
    /// Inodes at the end of its table that were never used.
    pub unused: u32,
    pub free_blocks: u32,
    pub free_inodes: u32,
    pub directories: u32,
}

/// What an inode says of names, and which were found.
#[derive(Default)]
pub(super) struct Links {
    said: u32,
    /// As it should stand in entries that lead there.
    kind: u8,
    is_directory: bool,
    is_indexed: bool,
    names: u32,
    subdirectories: u32,
    /// Inodes: what `..` leads to, and what names it.
    above: u32,
    named_by: u32,
}

/// Blocks of a file: all, with those of the tree; the end of all, and of those that were written to.
struct Extent {
    blocks: u64,
    end: u64,
    written_end: u64,
}

fn extent_of(tree: &Tree) -> Extent {
    let (mut blocks, mut end, mut written_end) = (0, 0, 0);
    tree.visit(&mut |entry| {
        blocks += u64::from(entry.blocks());
        end = u64::from(entry.end());
        if !entry.is_unwritten() {
            written_end = end;
        }
    });
    tree.visit_blocks(&mut |_| blocks += 1);
    Extent {
        blocks,
        end,
        written_end,
    }
}

/// The kind of an inode as it stands in directories.
fn entry_type(mode: u16) -> Option<u8> {
    let types = [
        (REGULAR, 1),
        (DIRECTORY, 2),
        (SPECIAL[1], 3),
        (SPECIAL[2], 4),
        (SPECIAL[0], 5),
        (SPECIAL[3], 6),
        (SYMLINK, 7),
    ];
    let found = types.iter().find(|(kind, _)| *kind == mode & KIND);
    found.map(|(_, entry_type)| *entry_type)
}

/// Bytes up to the first zero.
fn text_bytes(b: &[u8]) -> u64 {
    b.iter().take_while(|byte| **byte != 0).count() as u64
}

/// That the mode, the flags and what must be zero in an inode are such as an inode in use has.
pub(super) fn inode(raw: &Raw, b: &[u8]) -> Result<()> {
    let (ino, mode, flags) = (raw.ino, raw.mode, raw.flags);
    if entry_type(mode).is_none() {
        return damaged(format!(
            "inode {ino} is in use, and its mode {mode:#o} is of no kind of file"
        ));
    }
    let odd = flags & !KNOWN_FLAGS;
    if odd != 0 {
        return foreign(format!("inode {ino}, with the flags {odd:#x}"));
    }
    let is_special = SPECIAL.contains(&(mode & KIND));
    let is_directory = mode & KIND == DIRECTORY;
    let is_link = mode & KIND == SYMLINK;
    let wrong = [
        (!is_directory, INDEXED),
        (is_special, EXTENTS),
        (is_special || is_link, FIXED),
    ];
    for (is_wrong, of) in wrong {
        if is_wrong && flags & of != 0 {
            return damaged(format!(
                "inode {ino}, of mode {mode:#o}, has the flags {:#x}, which its kind never has",
                flags & of
            ));
        }
    }
    if is_special && (raw.size != 0 || raw.area[16..].iter().any(|byte| *byte != 0)) {
        return damaged(format!(
            "inode {ino}, of mode {mode:#o}, has data, which its kind never has"
        ));
    }
    for (name, at) in [("time of deletion", 20), ("fragment", 112)] {
        let found = u32_at(b, at);
        if found != 0 {
            return damaged(format!(
                "inode {ino} is in use, and has the {name} {found}, expected 0"
            ));
        }
    }
    let extra = u16_at(b, 128);
    if extra != 0 && (!(4..=128).contains(&extra) || !extra.is_multiple_of(4)) {
        return damaged(format!(
            "inode {ino} has {extra} bytes of further fields, expected 4 to 128"
        ));
    }
    Ok(())
}

/// That all bits of a bitmap that stand for nothing are set.
pub(super) fn end_of_bitmap(what: &str, group: u32, is_set: bool) -> Result<()> {
    if is_set {
        return Ok(());
    }
    damaged(format!(
        "the {what} bitmap of group {group} has {what}s behind the last one"
    ))
}

/// That an inode that is free in its bitmap was deleted, or never was.
pub(super) fn free_inode(ino: u32, b: &[u8]) -> Result<()> {
    let (mode, deleted, links) = (u16_at(b, 0), u32_at(b, 20), u16_at(b, 26));
    if links != 0 {
        return damaged(format!(
            "inode {ino} is free in its bitmap, and counts {links} links, expected 0"
        ));
    }
    if mode != 0 && deleted == 0 {
        return damaged(format!(
            "inode {ino} is free in its bitmap, and was never deleted"
        ));
    }
    Ok(())
}

/// That an inode that is kept for something that is not there has nothing.
pub(super) fn kept_for_nothing(raw: &Raw, b: &[u8]) -> Result<()> {
    let ino = raw.ino;
    if ino == BOOT_LOADER_INO || ino > RESERVED_INODES {
        return Ok(());
    }
    let attributes = u32_at(b, 104) | u32::from(u16_at(b, 118));
    let is_empty = raw.mode == 0
        && raw.size == 0
        && raw.links == 0
        && raw.sectors == 0
        && raw.flags == 0
        && raw.area == [0; AREA]
        && attributes == 0;
    if !is_empty {
        return damaged(format!("inode {ino}, which is kept, is not empty"));
    }
    Ok(())
}

impl Reader<'_> {
    /// That the counter of blocks and the size of an inode go with its tree.
    pub(super) fn blocks_and_size(&self, raw: &Raw, tree: &Tree) -> Result<()> {
        let g = &self.fs.geometry;
        let (ino, size) = (raw.ino, raw.size);
        let found = extent_of(tree);
        self.sectors(raw, found.blocks)?;
        let wrong = |what: &str| damaged(format!("inode {ino} has {size} bytes, and {what}"));
        match raw.mode & KIND {
            REGULAR => {
                // What is written to goes to the end of a page of memory, the size to any byte of it.
                let last = found.written_end.saturating_sub(1);
                let per_page = (4096 / g.block_bytes).max(1);
                let page = last / per_page * per_page;
                let fills = found.written_end.is_multiple_of(per_page);
                if size < last * g.block_bytes && (!fills || size < page * g.block_bytes) {
                    return wrong("was written to behind them");
                }
            }
            DIRECTORY if found.end > size.div_ceil(g.block_bytes) => {
                return wrong("blocks behind them");
            }
            SYMLINK if raw.flags & EXTENTS != 0 => {
                let block = tree.find(0).filter(|entry| !entry.is_unwritten());
                let (Some(entry), 1) = (block, found.end) else {
                    return wrong("no block, or several, where its target would be");
                };
                let target = text_bytes(&self.block(entry.block)?);
                if target != size || size == g.block_bytes {
                    return wrong(&format!("its target has {target}"));
                }
            }
            SYMLINK if size >= FAST_SYMLINK => {
                return foreign(format!("inode {ino}, a symbolic link with block pointers"));
            }
            SYMLINK if text_bytes(&raw.area) != size || size == 0 => {
                let target = text_bytes(&raw.area);
                return wrong(&format!("its target has {target}"));
            }
            _ => {}
        }
        Ok(())
    }

    /// That an inode has counted so many blocks.
    fn sectors(&self, raw: &Raw, blocks: u64) -> Result<()> {
        let (what, each) = if raw.flags & COUNTS_BLOCKS != 0 {
            ("blocks", 1)
        } else {
            ("sectors", self.fs.geometry.block_bytes / 512)
        };
        let (ino, said, expected) = (raw.ino, raw.sectors, blocks * each);
        if said == expected {
            return Ok(());
        }
        damaged(format!(
            "inode {ino} counts {said} {what}, expected {expected}"
        ))
    }

    /// Notes what an inode says of its names.
    pub(super) fn note_links(&mut self, slot: u32, raw: &Raw) {
        let slot = slot as usize;
        if self.links.len() <= slot {
            self.links.resize_with(slot + 1, Links::default);
        }
        self.links[slot] = Links {
            said: raw.links,
            kind: entry_type(raw.mode).unwrap_or_default(),
            is_directory: raw.mode & KIND == DIRECTORY,
            is_indexed: raw.flags & INDEXED != 0,
            ..Links::default()
        };
    }

    /// A directory, of this inode, has an entry that leads to the inode in a slot.
    pub(super) fn note_name(&mut self, dir: u32, slot: u32, kind: u8) -> Result<()> {
        let named = &mut self.links[slot as usize];
        if named.kind != kind {
            let ino = self.fs.inodes[slot as usize].ino;
            return damaged(format!(
                "directory {dir}: a name of inode {ino} says kind {kind}, expected {}",
                named.kind
            ));
        }
        named.names += 1;
        named.named_by = dir;
        if named.is_directory {
            let dir = self.slots[&dir];
            self.links[dir as usize].subdirectories += 1;
        }
        Ok(())
    }

    /// `.` leads to its directory; where `..` should is known when all was read.
    pub(super) fn note_dot(&mut self, dir: u32, child: u32, name: &[u8], kind: u8) -> Result<()> {
        if kind != 2 {
            return damaged(format!(
                "directory {dir}: `.` or `..` says kind {kind}, expected 2"
            ));
        }
        if name == b".." {
            let slot = self.slots[&dir];
            self.links[slot as usize].above = child;
        } else if child != dir {
            return damaged(format!(
                "directory {dir}: `.` leads to inode {child}, expected {dir}"
            ));
        }
        Ok(())
    }

    /// The two entries before an index.
    pub(super) fn dots_of_index(&mut self, dir: u32, b: &[u8]) -> Result<()> {
        let lengths = [u16_at(b, 4), u16_at(b, 16)].map(usize::from);
        let is_text = b[6] == 1 && &b[8..10] == b".\0" && b[18] == 2 && &b[20..23] == b"..\0";
        if lengths != [12, b.len() - 12] || !is_text {
            return damaged(format!(
                "directory {dir}, block 0: `.` and `..` are not where they should be"
            ));
        }
        self.note_dot(dir, u32_at(b, 0), b".", b[7])?;
        self.note_dot(dir, u32_at(b, 12), b"..", b[19])
    }

    /// That nothing is in `lost+found`.
    pub(super) fn lost_and_found(&mut self, raw: &Raw) -> Result<()> {
        let bytes = self.fs.geometry.block_bytes;
        if raw.flags & INDEXED != 0 {
            return foreign("a `lost+found` with an index");
        }
        let wrong = |what: &str| damage(format!("`lost+found`: {what}"));
        if raw.size == 0 || !raw.size.is_multiple_of(bytes) {
            return Err(wrong("a length that none has"));
        }
        for logical in 0..(raw.size / bytes) as u32 {
            let tree = &self.fs.inodes[LOST_FOUND as usize].tree;
            let entry = tree.find(logical).filter(|entry| !entry.is_unwritten());
            let entry = entry.ok_or_else(|| wrong("a hole"))?;
            let b = self.block(entry.block + (logical - entry.logical))?;
            let raw_entries = crate::ext4::image::directory::read_leaf(&b, raw.seed);
            let entries = raw_entries.ok_or_else(|| wrong("no leaf"))?;
            for (at, entry) in entries.iter().enumerate() {
                let is_dot = logical == 0 && entry.name == [&b"."[..], b".."][at.min(1)] && at < 2;
                if is_dot {
                    self.note_dot(raw.ino, entry.ino, entry.name, entry.kind)?;
                } else if logical == 0 && at < 2 {
                    return Err(wrong("`.` and `..` are not where they should be"));
                } else if entry.ino != 0 {
                    return foreign("something in `lost+found`");
                }
            }
        }
        Ok(())
    }

    /// That every inode has the names that it counts, and every directory is where its `..` says.
    pub(super) fn all_links(&self) -> Result<()> {
        for (inode, links) in self.fs.inodes.iter().zip(&self.links) {
            let ino = inode.ino;
            let is_root = ino == crate::ext4::directory::ROOT_INO;
            if links.names == 0 && !is_root {
                return damaged(format!("inode {ino} is in use, and no directory names it"));
            }
            let expected = if links.is_directory {
                2 + links.subdirectories
            } else {
                links.names
            };
            // A driver that has once lost count stays with 1.
            let may_be_one = links.is_directory && (links.is_indexed || expected > MOST_LINKS);
            let is_right = links.said == expected && expected <= MOST_LINKS;
            if !(is_right || may_be_one && links.said == 1) {
                return damaged(format!(
                    "inode {ino} counts {} links, expected {expected}",
                    links.said
                ));
            }
            let above = if is_root { ino } else { links.named_by };
            if links.is_directory && links.above != above {
                return damaged(format!(
                    "directory {ino}: `..` leads to inode {}, expected {above}",
                    links.above
                ));
            }
        }
        Ok(())
    }

    /// That descriptors count what bitmaps and inodes have.
    pub(super) fn counters(&self, said: &[SaidOfGroup]) -> Result<()> {
        for ((group, said), found) in (0..).zip(said).zip(&self.fs.groups.all) {
            for (what, said, expected) in [
                ("free blocks", said.free_blocks, found.free_blocks),
                ("free inodes", said.free_inodes, found.free_inodes),
                ("directories", said.directories, found.directories),
            ] {
                if said != expected {
                    return damaged(format!(
                        "the descriptor of group {group} counts {said} {what}, expected {expected}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// That the journal is one, and empty.
    pub(super) fn journal(&self, raw: &Raw, tree: &Tree) -> Result<()> {
        let g = &self.fs.geometry;
        let found = extent_of(tree);
        if raw.mode & KIND != REGULAR || raw.links != 1 {
            return damaged(format!(
                "inode {JOURNAL_INO}, the journal, has mode {:#o} and {} links",
                raw.mode, raw.links
            ));
        }
        self.sectors(raw, found.blocks)?;
        let Some(first) = tree.find(0) else {
            return damaged("its journal has no blocks");
        };
        let b = self.block(first.block)?;
        let field = |at: usize| u32::from_be_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        let is_one = field(0) == own::JOURNAL_MAGIC
            && JOURNAL_SUPERBLOCKS.contains(&field(4))
            && u64::from(field(0x0c)) == g.block_bytes
            && u64::from(field(0x10)) <= found.end;
        if !is_one {
            return damaged(format!(
                "the journal, at block {}, has no head",
                first.block
            ));
        }
        if raw.size != found.end * g.block_bytes {
            return damaged(format!(
                "inode {JOURNAL_INO}, the journal, has {} bytes, expected {}",
                raw.size,
                found.end * g.block_bytes
            ));
        }
        if field(0x1c) != 0 || field(0x20) != 0 {
            return damaged("its journal is not empty, or has an error");
        }
        Ok(())
    }

    /// That blocks kept for descriptors are all where they should be: every one in the first group points to those in
    /// the copies.
    pub(super) fn kept_blocks(&self, raw: &Raw) -> Result<()> {
        let g = &self.fs.geometry;
        if raw.mode & KIND != REGULAR || raw.links != 1 {
            return damaged(format!(
                "inode {RESIZE_INO}, which keeps blocks for descriptors, has mode {:#o} and {} links",
                raw.mode, raw.links
            ));
        }
        let top = u32_at(&raw.area, 4 * DOUBLE_INDIRECT);
        let mut area = [0; AREA];
        put32(&mut area, 4 * DOUBLE_INDIRECT, top);
        if raw.area != area {
            return damaged(format!(
                "inode {RESIZE_INO} has pointers besides that to its double indirect block"
            ));
        }
        if top == 0 {
            return self.sectors(raw, 0);
        }
        let most = (g.block_bytes / 4) as u32;
        if g.reserved_descriptor_blocks > most {
            return damaged(format!(
                "its superblock keeps {} blocks for descriptors, expected at most {most}",
                g.reserved_descriptor_blocks
            ));
        }
        let compare = |block: u32, expected: &[u8]| {
            let found = self.block(block)?;
            let differs = (0..found.len())
                .step_by(4)
                .find(|&at| found[at..at + 4] != expected[at..at + 4]);
            differs.map_or(Ok(()), |at| {
                damaged(format!(
                    "inode {RESIZE_INO}: block {block} points to block {} in place {}, expected {}",
                    u32_at(&found, at),
                    at / 4,
                    u32_at(expected, at)
                ))
            })
        };
        compare(top, &own::double_indirect(g))?;
        let copies = own::copies(g);
        for kept in 0..g.reserved_descriptor_blocks {
            compare(own::kept_block(g, kept), &own::indirect(g, kept, &copies))?;
        }
        let kept = u64::from(g.reserved_descriptor_blocks);
        self.sectors(raw, 1 + kept * (1 + copies.len() as u64))
    }
}
