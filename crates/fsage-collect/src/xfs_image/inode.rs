//! An inode as it lies in its chunk.

use super::bytes::{is_sound, u16_at, u32_at, u64_at};
use super::superblock::Superblock;
use fsage_core::FileKind;
use fsage_core::snapshot::{Inode, source_flags};

/// Length of what stands before the data.
const CORE: usize = 176;
/// Bit of the flags: the data lie in the realtime section.
const REALTIME: u16 = 1;
/// Bits of the further flags.
const SHARES: u64 = 1 << 1;
const LONG_TIMES: u64 = 1 << 3;
/// Long times count from here, in seconds before 1970.
const LONG_EPOCH_S: i128 = 1 << 31;

/// How an inode says where its data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A device or the like.
    Nowhere,
    /// In the inode.
    Inside,
    /// By a list of extents.
    Extents,
    /// By a tree of extents.
    Tree,
}

/// An inode in use.
#[derive(Clone, Copy)]
pub struct RawInode<'a> {
    pub ino: u64,
    bytes: &'a [u8],
    superblock: &'a Superblock,
}

impl<'a> RawInode<'a> {
    /// An inode of this number, if these bytes are one.
    pub fn new(
        ino: u64,
        bytes: &'a [u8],
        superblock: &'a Superblock,
    ) -> Result<RawInode<'a>, String> {
        let problem = if bytes[..2] != *b"IN" || bytes[4] != 3 {
            "it begins as none does"
        } else if !is_sound(bytes, 100) {
            "its checksum is wrong"
        } else if u64_at(bytes, 152) != ino || bytes[160..176] != superblock.meta_uuid {
            "it belongs elsewhere"
        } else {
            return Ok(RawInode {
                ino,
                bytes,
                superblock,
            });
        };
        Err(problem.to_owned())
    }

    pub fn mode(&self) -> u16 {
        u16_at(self.bytes, 2)
    }

    /// `None` where the mode has a type that there is none of.
    pub fn kind(&self) -> Option<FileKind> {
        FileKind::of_mode(self.mode().into())
    }

    pub fn size_bytes(&self) -> u64 {
        u64_at(self.bytes, 56)
    }

    /// `None` where there is no such format.
    pub fn format(&self) -> Option<Format> {
        Some(match self.bytes[5] {
            0 => Format::Nowhere,
            1 => Format::Inside,
            2 => Format::Extents,
            3 => Format::Tree,
            _ => return None,
        })
    }

    /// Extents of its data.
    pub fn extents(&self) -> u64 {
        if self.superblock.has_large_counts() && self.flags() & (1 << 4) != 0 {
            u64_at(self.bytes, 24)
        } else {
            u32_at(self.bytes, 76).into()
        }
    }

    fn flags(&self) -> u64 {
        u64_at(self.bytes, 120)
    }

    /// Whether its data lie in the realtime section.
    pub fn is_realtime(&self) -> bool {
        u16_at(self.bytes, 90) & REALTIME != 0
    }

    /// Whether it may share blocks with another one.
    pub fn may_share(&self) -> bool {
        self.flags() & SHARES != 0
    }

    /// What is for data in the inode; attributes have what is behind it. `None` where that leads out of the inode.
    pub fn data(&self) -> Option<&'a [u8]> {
        let all = &self.bytes[CORE..];
        match usize::from(self.bytes[82]) * 8 {
            0 => Some(all),
            bytes => all.get(..bytes),
        }
    }

    /// A time in ns since 1970. One that 64 bits do not reach is the last that they do.
    fn time_ns(&self, at: usize) -> i64 {
        let time = u64_at(self.bytes, at);
        let ns = if self.flags() & LONG_TIMES != 0 {
            i128::from(time) - LONG_EPOCH_S * 1_000_000_000
        } else {
            i128::from((time >> 32) as i32) * 1_000_000_000 + i128::from(time as u32)
        };
        i64::try_from(ns).unwrap_or(i64::MAX)
    }

    /// When it was changed last.
    pub fn changed_ns(&self) -> i64 {
        self.time_ns(48)
    }

    /// The row of the inode, without name and extents; `None` where its type is none.
    pub fn row(&self) -> Option<Inode> {
        let field = |at| u32_at(self.bytes, at);
        let blocks = u64_at(self.bytes, 64);
        let is_inside = self.format() == Some(Format::Inside) && self.size_bytes() > 0;
        let generation = field(92);
        let mut flags = 0;
        if generation != 0 {
            flags |= source_flags::GEN_VALID;
        }
        if is_inside {
            flags |= source_flags::INLINE;
        }
        Some(Inode {
            alloc_bytes: Some(blocks.saturating_mul(self.superblock.block_bytes.into())),
            ctime_ns: Some(self.changed_ns()),
            mtime_ns: Some(self.time_ns(40)),
            btime_ns: Some(self.time_ns(144)),
            links: Some(field(16)),
            mode: Some(self.mode().into()),
            uid: Some(field(8)),
            gid: Some(field(12)),
            source_flags: flags,
            ..Inode::new(self.ino, Some(generation), self.kind()?, self.size_bytes())
        })
    }
}
