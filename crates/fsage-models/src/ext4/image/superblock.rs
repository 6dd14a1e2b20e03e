//! The superblock: sizes and features, as `mkfs.ext4` of e2fsprogs 1.47.0 writes them.

use super::Options;
use super::fields::{crc, is_sum, put, put16, put32, u16_at, u32_at};
use super::read::{damaged, foreign};
use crate::ext4::Ext4;
use crate::ext4::geometry::{DESCRIPTOR_BYTES, INODE_BYTES, RESERVED_INODES};
use crate::image::ReadError;

/// Where it lies in the first block of the disk.
pub(super) const AT: u64 = 1024;
pub(super) const BYTES: usize = 1024;
pub(super) const MAGIC: u16 = 0xef53;

/// Features that do no harm to a driver that does not know them.
pub(super) mod compat {
    pub const JOURNAL: u32 = 0x4;
    /// Attributes, room for descriptors, indexed directories.
    pub const ALWAYS: u32 = 0x8 | 0x10 | 0x20;
}

/// Features without which nothing can be read.
pub(super) mod incompat {
    pub const FLEX_BG: u32 = 0x200;
    /// Types in directory entries, extents, numbers of 64 bits.
    pub const ALWAYS: u32 = 0x2 | 0x40 | 0x80;
}

/// Features without which nothing can be written.
pub(super) mod ro_compat {
    /// Few copies of the superblock, large and huge files, many directories in one, large inodes, checksums.
    pub const ALWAYS: u32 = 0x1 | 0x2 | 0x8 | 0x20 | 0x40 | 0x400;
}

const CLEAN: u16 = 1;
const GO_ON_AFTER_ERRORS: u16 = 1;
const NO_MOST_MOUNTS: u16 = 0xffff;
const DYNAMIC: u32 = 1;
const HALF_MD4: u8 = 1;
const SIGNED_HASH: u32 = 1;
const JOURNAL_IS_BACKED_UP: u8 = 1;
/// User attributes and access control lists.
const MOUNT_OPTIONS: u32 = 0x4 | 0x8;
const CRC32C: u8 = 1;

/// The superblock without its checksum and the group that it lies in.
pub(super) fn of(fs: &Ext4, options: &Options<'_>) -> [u8; BYTES] {
    let g = &fs.geometry;
    let mut b = [0; BYTES];
    let sums = &fs.groups.flex;
    let free_blocks: u32 = sums.iter().map(|sums| sums.free_blocks).sum();
    let free_inodes: u32 = sums.iter().map(|sums| sums.free_inodes).sum();
    put32(&mut b, 0x00, g.inodes_per_group * g.groups);
    put32(&mut b, 0x04, g.blocks);
    put32(&mut b, 0x08, g.reserve_blocks as u32);
    put32(&mut b, 0x0c, free_blocks);
    put32(&mut b, 0x10, free_inodes);
    put32(&mut b, 0x14, g.first_block);
    let shift = g.block_bits - 10;
    put32(&mut b, 0x18, shift);
    put32(&mut b, 0x1c, shift);
    put32(&mut b, 0x20, g.blocks_per_group);
    put32(&mut b, 0x24, g.blocks_per_group);
    put32(&mut b, 0x28, g.inodes_per_group);
    put32(&mut b, 0x30, options.written_s as u32);
    put16(&mut b, 0x36, NO_MOST_MOUNTS);
    put16(&mut b, 0x38, MAGIC);
    put16(&mut b, 0x3c, GO_ON_AFTER_ERRORS);
    put32(&mut b, 0x40, options.made_s as u32);
    put32(&mut b, 0x4c, DYNAMIC);
    put32(&mut b, 0x54, RESERVED_INODES + 1);
    put16(&mut b, 0x58, INODE_BYTES as u16);
    let (journal, flex) = (g.journal_blocks > 0, g.flex > 1);
    let with = |has: bool, flag: u32| if has { flag } else { 0 };
    put32(
        &mut b,
        0x5c,
        compat::ALWAYS | with(journal, compat::JOURNAL),
    );
    put32(
        &mut b,
        0x60,
        incompat::ALWAYS | with(flex, incompat::FLEX_BG),
    );
    put32(&mut b, 0x64, ro_compat::ALWAYS);
    put(&mut b, 0x68, options.uuid);
    put16(&mut b, 0xce, g.reserved_descriptor_blocks as u16);
    put(&mut b, 0xec, fs.params.hash_seed);
    b[0xfc] = HALF_MD4;
    put16(&mut b, 0xfe, DESCRIPTOR_BYTES as u16);
    put32(&mut b, 0x100, MOUNT_OPTIONS);
    put32(&mut b, 0x108, options.made_s as u32);
    if journal {
        put32(&mut b, 0xe0, super::own::JOURNAL_INO);
        b[0xfd] = JOURNAL_IS_BACKED_UP;
        let area = super::own::journal_area(fs);
        put(&mut b, 0x10c, area);
        let bytes = u64::from(g.journal_blocks) * g.block_bytes;
        put32(&mut b, 0x148, (bytes >> 32) as u32);
        put32(&mut b, 0x14c, bytes as u32);
    }
    put16(&mut b, 0x15c, super::inode::EXTRA_BYTES);
    put16(&mut b, 0x15e, super::inode::EXTRA_BYTES);
    put32(&mut b, 0x160, SIGNED_HASH);
    b[0x174] = if flex {
        g.flex.trailing_zeros() as u8
    } else {
        0
    };
    b[0x175] = CRC32C;
    put32(&mut b, 0x248, overhead(fs));
    b[0x274] = (options.written_s >> 32) as u8;
    b[0x276] = (options.made_s >> 32) as u8;
    b[0x277] = (options.made_s >> 32) as u8;
    b
}

/// The same as it lies in a group. Only that of the first one says that all is clean.
pub(super) fn in_group(superblock: &[u8; BYTES], group: u32) -> [u8; BYTES] {
    let mut b = *superblock;
    put16(&mut b, 0x3a, if group == 0 { CLEAN } else { 0 });
    put16(&mut b, 0x5a, group as u16);
    let sum = crc(!0, &b[..0x3fc]);
    put32(&mut b, 0x3fc, sum);
    b
}

/// What a superblock says of sizes.
pub(super) struct Found {
    pub blocks: u32,
    pub block_bytes: u64,
    pub inodes: u32,
    pub inodes_per_group: u32,
    pub flex: u32,
    pub reserved_descriptor_blocks: u32,
    pub reserve_blocks: u64,
    pub journal_bytes: u64,
    pub hash_seed: [u8; 16],
    pub uuid: [u8; 16],
}

const ERRORS: u16 = 2;
/// A journal is to be replayed.
const RECOVER: u32 = 0x4;

/// Reads a superblock of a file system that the model could have made.
pub(super) fn read(b: &[u8; BYTES]) -> Result<Found, ReadError> {
    if u16_at(b, 0x38) != MAGIC {
        return Err(ReadError::NoSuch("ext4"));
    }
    let [compat, incompat, ro_compat] = [0x5c, 0x60, 0x64].map(|at| u32_at(b, at));
    if incompat & RECOVER != 0 {
        return Err(ReadError::Unclean {
            what: "journal",
            tool: "e2fsck -p",
        });
    }
    let features = [
        ("compat", compat, compat::ALWAYS, compat::JOURNAL),
        ("incompat", incompat, incompat::ALWAYS, incompat::FLEX_BG),
        ("ro_compat", ro_compat, ro_compat::ALWAYS, 0),
    ];
    for (name, has, needed, may_have) in features {
        if has & !may_have != needed {
            return foreign(format!(
                "{name} features {has:#x}, expected {needed:#x}, and perhaps {may_have:#x}"
            ));
        }
    }
    if !is_sum(u32_at(b, 0x3fc), crc(!0, &b[..0x3fc])) {
        return damaged("the superblock has a wrong checksum");
    }
    if u16_at(b, 0x3a) & (CLEAN | ERRORS) != CLEAN {
        return damaged("it was not unmounted, or has errors, as its superblock says");
    }
    let shift = u32_at(b, 0x18);
    let block_bytes = 1024_u64 << shift.min(6);
    let sizes = [
        ("block size", block_bytes, block_bytes.min(4096)),
        ("cluster size", u32_at(b, 0x1c).into(), shift.into()),
        ("first block", u32_at(b, 0x14).into(), u64::from(shift == 0)),
        ("blocks per group", u32_at(b, 0x20).into(), 8 * block_bytes),
        ("inode size", u16_at(b, 0x58).into(), INODE_BYTES),
        ("descriptor size", u16_at(b, 0xfe).into(), DESCRIPTOR_BYTES),
        (
            "first inode",
            u32_at(b, 0x54).into(),
            u64::from(RESERVED_INODES) + 1,
        ),
        ("high half of blocks", u32_at(b, 0x150).into(), 0),
        ("hash", b[0xfc].into(), HALF_MD4.into()),
        ("flags", u64::from(u32_at(b, 0x160) & 3), SIGNED_HASH.into()),
    ];
    for (name, is, expected) in sizes {
        if is != expected {
            return foreign(format!("{name} {is}, expected {expected}"));
        }
    }
    let has_flex = incompat & incompat::FLEX_BG != 0;
    let uuid_at = |at: usize| {
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&b[at..at + 16]);
        uuid
    };
    let has_journal = compat & compat::JOURNAL != 0;
    Ok(Found {
        blocks: u32_at(b, 0x04),
        block_bytes,
        inodes: u32_at(b, 0x00),
        inodes_per_group: u32_at(b, 0x28),
        flex: if has_flex { 1 << b[0x174].min(16) } else { 1 },
        reserved_descriptor_blocks: u16_at(b, 0xce).into(),
        reserve_blocks: u32_at(b, 0x08).into(),
        journal_bytes: if has_journal {
            u64::from(u32_at(b, 0x148)) << 32 | u64::from(u32_at(b, 0x14c))
        } else {
            0
        },
        hash_seed: uuid_at(0xec),
        uuid: uuid_at(0x68),
    })
}

/// Blocks that are not for files.
fn overhead(fs: &Ext4) -> u32 {
    let g = &fs.geometry;
    let copies: u32 = (0..g.groups).map(|group| g.copy_blocks(group)).sum();
    g.first_block + copies + g.groups * (2 + g.table_blocks()) + g.journal_blocks
}
