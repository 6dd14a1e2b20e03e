//! Inodes as they lie in their chunks.

use super::Writer;
use super::fields::{put, put16, put32, put64, seal};
use crate::image::{Attributes, REGULAR};
use crate::xfs::directory::{ROOM, ROOT_ROOM};
use crate::xfs::params::Features;

/// Bytes of an inode, and of what stands in it before its data.
pub(super) const BYTES: usize = 512;
pub(super) const CORE: usize = 176;
pub(super) const SUM: usize = 100;
pub(super) const MAGIC: [u8; 2] = *b"IN";
pub(super) const VERSION: u8 = 3;

/// Where an inode has its data.
pub(super) const LOCAL: u8 = 1;
pub(super) const EXTENTS: u8 = 2;
pub(super) const TREE: u8 = 3;

/// Flags: what lies behind the end was asked for; of the bitmap of a realtime section, it is in a newer form.
pub(super) const PREALLOCATED: u16 = 2;
const NEW_BITMAP: u16 = 4;
/// Times have 64 bits, from 2^31 seconds before 1970 on.
pub(super) const LONG_TIMES: u64 = 8;

pub(super) type RawInode = [u8; BYTES];

/// What stands in an inode.
pub(super) struct Fields {
    /// Kind and permissions.
    pub mode: u16,
    pub attributes: Attributes,
    pub links: u32,
    pub size_bytes: u64,
    /// Blocks of data and of the tree of extents.
    pub blocks: u64,
    pub extents: u32,
    pub format: u8,
    pub flags: u16,
    /// What is for data; behind it there is room for attributes, unless it is all there is.
    pub data: Vec<u8>,
}

impl Writer<'_> {
    /// An inode in use.
    pub fn inode(&self, ino: u64, fields: &Fields) -> RawInode {
        let attributes = &fields.attributes;
        let mut b = self.free_inode(ino);
        put16(&mut b, 2, fields.mode);
        b[5] = fields.format;
        put32(&mut b, 8, attributes.uid);
        put32(&mut b, 12, attributes.gid);
        put32(&mut b, 16, fields.links);
        let features = self.fs.geometry.features;
        for (at, ns) in [
            (32, attributes.atime_ns),
            (40, attributes.mtime_ns),
            (48, attributes.ctime_ns),
            (144, attributes.btime_ns),
        ] {
            put64(&mut b, at, time(ns, features));
        }
        put64(&mut b, 56, fields.size_bytes);
        put64(&mut b, 64, fields.blocks);
        put32(&mut b, 76, fields.extents);
        if fields.data.len() < ROOT_ROOM {
            b[82] = (ROOM / 8) as u8;
        }
        b[83] = EXTENTS;
        put16(&mut b, 90, fields.flags);
        put32(&mut b, 92, attributes.generation);
        put64(&mut b, 104, 1);
        if !features.is_plain() {
            put64(&mut b, 120, LONG_TIMES);
        }
        b[CORE..CORE + fields.data.len()].copy_from_slice(&fields.data);
        seal(&mut b, SUM);
        b
    }

    /// An inode that is free.
    pub fn free_inode(&self, ino: u64) -> RawInode {
        let mut b = [0; BYTES];
        put(&mut b, 0, MAGIC);
        b[4] = VERSION;
        put32(&mut b, 96, u32::MAX);
        put64(&mut b, 152, ino);
        put(&mut b, 160, self.options.uuid);
        seal(&mut b, SUM);
        b
    }

    /// One of the two files for a realtime section, which is not there.
    pub fn realtime_inode(&self, ino: u64) -> RawInode {
        let is_bitmap = ino == self.fs.geometry.root_ino() + 1;
        let fields = Fields {
            mode: REGULAR,
            attributes: self.options.made(),
            links: 1,
            size_bytes: 0,
            blocks: 0,
            extents: 0,
            format: EXTENTS,
            flags: if is_bitmap { NEW_BITMAP } else { 0 },
            data: vec![0; ROOT_ROOM],
        };
        self.inode(ino, &fields)
    }
}

/// A time as it is stored: ns since 1901, or seconds since 1970 and ns, both in 32 bits. What lies outside is the
/// earliest or the latest that there is.
fn time(ns: i64, features: Features) -> u64 {
    const SECOND: i64 = 1_000_000_000;
    let first = i64::from(i32::MIN) * SECOND;
    if !features.is_plain() {
        return ns.max(first).wrapping_sub(first) as u64;
    }
    let ns = ns.clamp(first, i64::from(i32::MAX) * SECOND);
    let seconds = ns.div_euclid(SECOND) as i32;
    u64::from(seconds as u32) << 32 | ns.rem_euclid(SECOND) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_1901_or_have_32_bits_of_seconds() {
        let long = |ns| time(ns, Features::Default);
        assert_eq!(long(0), (1 << 31) * 1_000_000_000);
        assert_eq!(long(i64::MIN), 0);
        assert_eq!(long(i64::MAX) - long(0), i64::MAX as u64);
        let short = |ns| time(ns, Features::Plain);
        assert_eq!(short(1_000_000_005), 1 << 32 | 5);
        assert_eq!(short(-1), (0xffff_ffff << 32) + 999_999_999);
        assert_eq!(short(i64::MAX), 0x7fff_ffff << 32);
        assert_eq!(short(i64::MIN), 0x8000_0000 << 32);
    }
}
