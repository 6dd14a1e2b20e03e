//! The superblock: sizes and features, as `mkfs.ext4` of e2fsprogs 1.47.0 writes them.

use super::Options;
use super::fields::{crc, is_sum, put, put16, put32, u16_at, u32_at};
use super::read::{damaged, foreign};
use crate::ext4::Ext4;
use crate::ext4::geometry::{DESCRIPTOR_BYTES, INODE_BYTES, RESERVED_INODES};
use crate::ext4::params::Checksums;
use crate::image::ReadError;

/// Where it lies in the first block of the disk.
pub(super) const AT: u64 = 1024;
pub(super) const BYTES: usize = 1024;
pub(super) const MAGIC: u16 = 0xef53;

/// Features that do no harm to a driver that does not know them.
pub(super) mod compat {
    pub const JOURNAL: u32 = 0x4;
    pub const ATTRIBUTES: u32 = 0x8;
    /// Room for descriptors.
    pub const RESIZE: u32 = 0x10;
    pub const INDEXES: u32 = 0x20;
}

/// Features without which nothing can be read.
pub(super) mod incompat {
    /// Types in directory entries, extents.
    pub const ALWAYS: u32 = 0x2 | 0x40;
    pub const WIDE: u32 = 0x80;
    pub const FLEX_BG: u32 = 0x200;
    /// Checksums go on from a number in the superblock.
    pub const SEED: u32 = 0x2000;
}

/// Features without which nothing can be written.
pub(super) mod ro_compat {
    /// Few copies of the superblock.
    pub const ALWAYS: u32 = 0x1;
    /// Large and huge files, many directories in one, large inodes.
    pub const USUAL: u32 = 0x2 | 0x8 | 0x20 | 0x40;
    pub const DESCRIPTOR_SUMS: u32 = 0x10;
    pub const SUMS: u32 = 0x400;
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
    let wide = g.descriptor_bytes == DESCRIPTOR_BYTES[0];
    let checksums = fs.params.checksums;
    put32(
        &mut b,
        0x5c,
        compat::ATTRIBUTES
            | compat::INDEXES
            | with(journal, compat::JOURNAL)
            | with(g.resize_block.is_some(), compat::RESIZE),
    );
    put32(
        &mut b,
        0x60,
        incompat::ALWAYS | with(wide, incompat::WIDE) | with(flex, incompat::FLEX_BG),
    );
    put32(
        &mut b,
        0x64,
        ro_compat::ALWAYS
            | ro_compat::USUAL
            | with(checksums == Checksums::All, ro_compat::SUMS)
            | with(
                checksums == Checksums::Descriptors,
                ro_compat::DESCRIPTOR_SUMS,
            ),
    );
    put(&mut b, 0x68, options.uuid);
    put16(&mut b, 0xce, g.reserved_descriptor_blocks as u16);
    put(&mut b, 0xec, fs.params.hash_seed);
    b[0xfc] = HALF_MD4;
    put16(
        &mut b,
        0xfe,
        if wide { g.descriptor_bytes as u16 } else { 0 },
    );
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
    b[0x175] = if fs.format.has_sums { CRC32C } else { 0 };
    put32(&mut b, 0x248, overhead(fs));
    b[0x274] = (options.written_s >> 32) as u8;
    b[0x276] = (options.made_s >> 32) as u8;
    b[0x277] = (options.made_s >> 32) as u8;
    b
}

/// The same as it lies in a group. Only that of the first one says that all is clean.
pub(super) fn in_group(superblock: &[u8; BYTES], group: u32, has_sum: bool) -> [u8; BYTES] {
    let mut b = *superblock;
    put16(&mut b, 0x3a, if group == 0 { CLEAN } else { 0 });
    put16(&mut b, 0x5a, group as u16);
    if has_sum {
        let sum = crc(!0, &b[..0x3fc]);
        put32(&mut b, 0x3fc, sum);
    }
    b
}

/// What a superblock says of sizes and features.
pub(super) struct Found {
    pub blocks: u32,
    pub block_bytes: u64,
    pub inodes: u32,
    pub blocks_per_group: u32,
    pub inodes_per_group: u32,
    pub flex: u32,
    pub descriptor_bytes: u32,
    pub can_grow: bool,
    pub reserved_descriptor_blocks: u32,
    pub reserve_blocks: u64,
    pub has_journal: bool,
    pub checksums: Checksums,
    pub hash_seed: [u8; 16],
    pub uuid: [u8; 16],
    /// From here checksums of metadata go on, if it has them.
    pub seed: Option<u32>,
}

const ERRORS: u16 = 2;
/// A journal is to be replayed.
const RECOVER: u32 = 0x4;

/// A set of features of an image.
struct Features {
    name: &'static str,
    at: usize,
    needed: u32,
    /// What it may have besides.
    may_have: u32,
    /// Names of features by their bits: of those that are needed, and of those that the model does not have.
    names: &'static [(u32, &'static str)],
}

const FEATURES: [Features; 3] = [
    Features {
        name: "compat",
        at: 0x5c,
        needed: compat::INDEXES,
        may_have: compat::JOURNAL | compat::ATTRIBUTES | compat::RESIZE,
        names: &[
            (0x20, "dir_index"),
            (0x200, "sparse_super2"),
            (0x400, "fast_commit"),
            (0x800, "stable_inodes"),
            (0x1000, "orphan_file"),
        ],
    },
    Features {
        name: "incompat",
        at: 0x60,
        needed: incompat::ALWAYS,
        may_have: incompat::WIDE | incompat::FLEX_BG | incompat::SEED,
        names: &[
            (0x2, "filetype"),
            (0x10, "meta_bg"),
            (0x40, "extent"),
            (0x100, "mmp"),
            (0x400, "ea_inode"),
            (0x4000, "large_dir"),
            (0x8000, "inline_data"),
            (0x1_0000, "encrypt"),
            (0x2_0000, "casefold"),
        ],
    },
    Features {
        name: "ro_compat",
        at: 0x64,
        needed: ro_compat::ALWAYS,
        may_have: ro_compat::USUAL | ro_compat::DESCRIPTOR_SUMS | ro_compat::SUMS,
        names: &[
            (0x1, "sparse_super"),
            (0x100, "quota"),
            (0x200, "bigalloc"),
            (0x1000, "read-only"),
            (0x2000, "project"),
            (0x8000, "verity"),
            (0x1_0000, "orphan_present"),
        ],
    },
];

/// Those that `tune2fs` takes away from a file system that has them.
const REMOVABLE: [&str; 6] = [
    "fast_commit",
    "stable_inodes",
    "orphan_file",
    "mmp",
    "quota",
    "project",
];

impl Features {
    /// That an image has what is needed, and nothing that the model does not have.
    fn check(&self, has: u32) -> Result<(), ReadError> {
        let name_of = |wrong: u32| {
            let bit = 1 << wrong.trailing_zeros();
            let named = self.names.iter().find(|(of, _)| *of == bit);
            named.map_or_else(
                || format!("the {} feature {bit:#x}", self.name),
                |(_, name)| (*name).to_owned(),
            )
        };
        let missing = self.needed & !has;
        if missing != 0 {
            return foreign(format!("a file system without {}", name_of(missing)));
        }
        let more = has & !(self.needed | self.may_have);
        if more == 0 {
            return Ok(());
        }
        let name = name_of(more);
        if REMOVABLE.contains(&&*name) {
            return foreign(format!("{name}, which `tune2fs -O ^{name}` takes away"));
        }
        foreign(name)
    }
}

/// That it was unmounted, and that numbers of which none says where something lies can be.
fn check_numbers(b: &[u8; BYTES]) -> Result<(), ReadError> {
    if u16_at(b, 0x3a) & (CLEAN | ERRORS) != CLEAN {
        return damaged("it was not unmounted, or has errors, as its superblock says");
    }
    if u32_at(b, 0x4c) != DYNAMIC {
        return foreign(format!("revision {}, expected {DYNAMIC}", u32_at(b, 0x4c)));
    }
    let reserve = u64::from(u32_at(b, 0x08)) | u64::from(u32_at(b, 0x154)) << 32;
    let blocks = u64::from(u32_at(b, 0x04));
    if reserve > blocks / 2 {
        return damaged(format!(
            "its superblock keeps {reserve} blocks of {blocks} for the superuser, more than half"
        ));
    }
    if b[0x174] >= 32 {
        return damaged(format!(
            "the superblock has 2^{} groups in a flex group",
            b[0x174]
        ));
    }
    if u32_at(b, 0xe8) != 0 {
        return Err(ReadError::Unclean {
            what: "list of orphans",
            tool: "e2fsck -p",
        });
    }
    Ok(())
}

/// Whether this is a superblock.
pub(super) fn is_one(b: &[u8; BYTES]) -> bool {
    u16_at(b, 0x38) == MAGIC
}

/// Reads a superblock of a file system that the model could have made.
pub(super) fn read(b: &[u8; BYTES]) -> Result<Found, ReadError> {
    let [compat, incompat, ro_compat] = FEATURES.each_ref().map(|features| u32_at(b, features.at));
    if incompat & RECOVER != 0 {
        return Err(ReadError::Unclean {
            what: "journal",
            tool: "e2fsck -p",
        });
    }
    for features in &FEATURES {
        features.check(u32_at(b, features.at))?;
    }
    let checksums = match (
        ro_compat & ro_compat::SUMS,
        ro_compat & ro_compat::DESCRIPTOR_SUMS,
    ) {
        (0, 0) => Checksums::None,
        (0, _) => Checksums::Descriptors,
        _ => Checksums::All,
    };
    let has_sums = checksums == Checksums::All;
    if has_sums && !is_sum(u32_at(b, 0x3fc), crc(!0, &b[..0x3fc])) {
        return damaged("the superblock has a wrong checksum");
    }
    check_numbers(b)?;
    let has_journal = compat & compat::JOURNAL != 0;
    let is_wide = incompat & incompat::WIDE != 0;
    let descriptor_bytes = DESCRIPTOR_BYTES[usize::from(!is_wide)];
    let shift = u32_at(b, 0x18);
    let block_bytes = 1024_u64 << shift.min(6);
    let sizes = [
        ("block size", block_bytes, block_bytes.min(4096)),
        ("cluster size", u32_at(b, 0x1c).into(), shift.into()),
        ("first block", u32_at(b, 0x14).into(), u64::from(shift == 0)),
        (
            "clusters per group",
            u32_at(b, 0x24).into(),
            u32_at(b, 0x20).into(),
        ),
        ("inode size", u16_at(b, 0x58).into(), INODE_BYTES),
        (
            "first inode",
            u32_at(b, 0x54).into(),
            u64::from(RESERVED_INODES) + 1,
        ),
        ("hash", b[0xfc].into(), HALF_MD4.into()),
        ("flags", u64::from(u32_at(b, 0x160) & 3), SIGNED_HASH.into()),
    ];
    let of_wide = [
        (
            "descriptor size",
            u16_at(b, 0xfe).into(),
            descriptor_bytes.into(),
        ),
        ("high half of blocks", u32_at(b, 0x150).into(), 0),
    ];
    let of_journal = [(
        "inode of the journal",
        u32_at(b, 0xe0).into(),
        super::own::JOURNAL_INO.into(),
    )];
    let sizes = sizes
        .into_iter()
        .chain(of_wide.into_iter().filter(|_| is_wide))
        .chain(of_journal.into_iter().filter(|_| has_journal));
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
    let uuid = uuid_at(0x68);
    let seed = if incompat & incompat::SEED != 0 {
        u32_at(b, 0x270)
    } else {
        crc(!0, &uuid)
    };
    Ok(Found {
        blocks: u32_at(b, 0x04),
        block_bytes,
        inodes: u32_at(b, 0x00),
        blocks_per_group: u32_at(b, 0x20),
        inodes_per_group: u32_at(b, 0x28),
        flex: if has_flex { 1 << b[0x174].min(16) } else { 1 },
        descriptor_bytes,
        can_grow: compat & compat::RESIZE != 0,
        reserved_descriptor_blocks: u16_at(b, 0xce).into(),
        reserve_blocks: u32_at(b, 0x08).into(),
        has_journal,
        checksums,
        hash_seed: uuid_at(0xec),
        uuid,
        seed: has_sums.then_some(seed),
    })
}

/// Blocks that are not for files.
fn overhead(fs: &Ext4) -> u32 {
    let g = &fs.geometry;
    let copies: u32 = (0..g.groups).map(|group| g.copy_blocks(group)).sum();
    g.first_block + copies + g.groups * (2 + g.table_blocks()) + g.journal_blocks
}
