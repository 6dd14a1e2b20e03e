//! An inode as it lies in its table.

use super::bytes::{u16_at, u32_at, u64_of};
use super::superblock::Superblock;
use fsage_core::FileKind;
use fsage_core::snapshot::{Inode, source_flags};

/// What every inode has, whatever the revision.
const OLD_BYTES: usize = 128;
/// Bits of the inode's flags.
mod flags {
    pub const ENCRYPTED: u32 = 0x800;
    pub const HUGE_FILE: u32 = 0x4_0000;
    pub const EXTENTS: u32 = 0x8_0000;
    pub const ATTRIBUTE: u32 = 0x20_0000;
    pub const INLINE: u32 = 0x1000_0000;
}

/// How an inode says where its data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapped {
    /// There are no blocks: a device, a FIFO, a socket, a short symbolic link, or inline data.
    Nowhere,
    /// By an extent tree.
    Extents,
    /// By block pointers and indirect blocks.
    Pointers,
}

/// An inode in use.
#[derive(Clone, Copy)]
pub struct RawInode<'a> {
    pub ino: u32,
    bytes: &'a [u8],
    superblock: &'a Superblock,
}

impl<'a> RawInode<'a> {
    /// `bytes` are those of the inode in its table, at least 128.
    pub fn new(ino: u32, bytes: &'a [u8], superblock: &'a Superblock) -> RawInode<'a> {
        RawInode {
            ino,
            bytes,
            superblock,
        }
    }

    fn u16_at(&self, at: usize) -> u16 {
        u16_at(self.bytes, at)
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32_at(self.bytes, at)
    }

    pub fn mode(&self) -> u16 {
        self.u16_at(0)
    }

    /// `None` where the mode has a type that there is none of.
    pub fn kind(&self) -> Option<FileKind> {
        FileKind::of_mode(self.mode().into())
    }

    fn has(&self, flag: u32) -> bool {
        self.u32_at(0x20) & flag != 0
    }

    /// Whether it holds the value of an extended attribute, and is no file.
    pub fn is_attribute(&self) -> bool {
        self.has(flags::ATTRIBUTE)
    }

    /// Whether names in this directory are encrypted, and may have any byte.
    pub fn is_encrypted(&self) -> bool {
        self.has(flags::ENCRYPTED)
    }

    pub fn is_inline(&self) -> bool {
        self.has(flags::INLINE)
    }

    /// Length of the file. As in the kernel, the high half counts for directories only where they may be large.
    pub fn size_bytes(&self) -> u64 {
        let wide =
            self.kind() == Some(FileKind::Regular) || self.superblock.has_large_directories();
        let high = if wide { self.u32_at(0x6C) } else { 0 };
        u64_of(self.u32_at(4), high)
    }

    /// 512 times what the kernel gives as `st_blocks`: for inline data of a file it counts what they would take.
    fn alloc_bytes(&self) -> u64 {
        let low = self.u32_at(0x1C);
        if !self.superblock.has_huge_files() {
            return u64::from(low) * 512;
        }
        let blocks = u64_of(low, u32::from(self.u16_at(0x74)));
        if self.has(flags::HUGE_FILE) {
            return blocks * u64::from(self.superblock.block_bytes);
        }
        let inline = self.is_inline() && self.kind() == Some(FileKind::Regular);
        let inline_sectors = if inline {
            self.size_bytes().div_ceil(512)
        } else {
            0
        };
        blocks.saturating_add(inline_sectors).saturating_mul(512)
    }

    pub fn mapped(&self) -> Mapped {
        // A symbolic link whose target fits lies where block pointers would be.
        let blocks = match self.kind() {
            Some(FileKind::Regular | FileKind::Directory) => true,
            Some(FileKind::Symlink) => self.size_bytes() >= self.block_area().len() as u64,
            _ => false,
        };
        if !blocks || self.is_inline() {
            Mapped::Nowhere
        } else if self.has(flags::EXTENTS) {
            Mapped::Extents
        } else {
            Mapped::Pointers
        }
    }

    /// The 60 bytes that hold block pointers, the root of the extent tree, or inline data.
    pub fn block_area(&self) -> &'a [u8] {
        &self.bytes[0x28..0x64]
    }

    /// Length of the fields behind the first 128 bytes; `None` where it leads out of the inode.
    fn extra_bytes(&self) -> Option<usize> {
        if self.bytes.len() == OLD_BYTES {
            return Some(0);
        }
        let extra = usize::from(self.u16_at(0x80));
        (OLD_BYTES + extra <= self.bytes.len() && extra % 4 == 0).then_some(extra)
    }

    /// Whether the fields behind the first 128 bytes are where they can be.
    pub fn extra_is_sound(&self) -> bool {
        self.extra_bytes().is_some()
    }

    /// A u32 behind the first 128 bytes.
    fn extra_field(&self, at: usize) -> Option<u32> {
        let end = OLD_BYTES + self.extra_bytes()?;
        (at + 4 <= end).then(|| self.u32_at(at))
    }

    /// Seconds, and a field with two more bits of them and the nanoseconds. A time that 64 bits of nanoseconds do not
    /// reach (after the year 2262) is the last that they do.
    fn time_ns(&self, seconds: u32, extra: usize) -> i64 {
        let extra = self.extra_field(extra).unwrap_or(0);
        let seconds = i64::from(seconds as i32) + (i64::from(extra & 3) << 32);
        let ns = seconds.saturating_mul(1_000_000_000);
        ns.saturating_add(i64::from(extra >> 2))
    }

    /// The row of the inode, without name and extents; `None` where its type is none.
    pub fn row(&self) -> Option<Inode> {
        let generation = self.u32_at(0x64);
        let birth = self.extra_field(0x90);
        let id = |low, high| u32::from(self.u16_at(high)) << 16 | u32::from(self.u16_at(low));
        let mut flags = 0;
        if generation != 0 {
            flags |= source_flags::GEN_VALID;
        }
        if self.is_inline() {
            flags |= source_flags::INLINE;
        }
        let ino = u64::from(self.ino);
        Some(Inode {
            alloc_bytes: Some(self.alloc_bytes()),
            ctime_ns: Some(self.time_ns(self.u32_at(0x0C), 0x84)),
            mtime_ns: Some(self.time_ns(self.u32_at(0x10), 0x88)),
            btime_ns: birth.map(|seconds| self.time_ns(seconds, 0x94)),
            links: Some(u32::from(self.u16_at(0x1A))),
            mode: Some(u32::from(self.mode())),
            uid: Some(id(0x02, 0x78)),
            gid: Some(id(0x18, 0x7A)),
            source_flags: flags,
            ..Inode::new(ino, Some(generation), self.kind()?, self.size_bytes())
        })
    }

    /// Data that lie inside the inode, in order: in place of block pointers, and in the attribute `system.data`.
    pub fn inline_parts(&self) -> [&'a [u8]; 2] {
        [
            self.block_area(),
            self.inline_attribute().unwrap_or_default(),
        ]
    }

    fn inline_attribute(&self) -> Option<&'a [u8]> {
        const MAGIC: u32 = 0xEA02_0000;
        const SYSTEM: u8 = 7;
        let attributes = self.bytes.get(OLD_BYTES + self.extra_bytes()?..)?;
        if u32_at(attributes, 0) != MAGIC {
            return None;
        }
        // Places of values are counted from the first entry on.
        let entries = attributes.get(4..)?;
        let mut at = 0;
        loop {
            let [name_bytes, index, _, _] = *entries.get(at..)?.first_chunk()?;
            if u32_at(entries, at) == 0 {
                return None;
            }
            let name = entries.get(at + 16..)?.get(..usize::from(name_bytes))?;
            if index == SYSTEM && name == b"data" {
                let start = usize::from(u16_at(entries, at + 2));
                let length = u32_at(entries, at + 8) as usize;
                return entries.get(start..)?.get(..length);
            }
            at += 16 + usize::from(name_bytes).next_multiple_of(4);
        }
    }
}
