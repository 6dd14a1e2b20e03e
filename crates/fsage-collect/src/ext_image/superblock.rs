//! The superblock: sizes and features of the file system.

use super::bytes::{u16_at, u32_at, u64_of};
use crate::error::CollectError;
use crate::image::{ReadAt, open, recognize, unknown_features};
use fsage_core::Geometry;
use fsage_linux::uuid::uuid_text;
use std::path::Path;

/// Where the superblock lies, whatever the block size.
const AT_BYTES: u64 = 1024;
const MAGIC: u16 = 0xEF53;
/// Features without which the file system cannot be read. Those that are known here:
mod incompat {
    pub const RECOVER: u32 = 0x4;
    pub const META_BG: u32 = 0x10;
    pub const EXTENTS: u32 = 0x40;
    pub const BITS_64: u32 = 0x80;
    pub const LARGE_DIR: u32 = 0x4000;
    pub const FILE_TYPE: u32 = 0x2;
    /// Besides those above: flexible groups, multiple mount protection, attributes in inodes, checksum seed, inline
    /// data, encryption, case folding. What they change is either told by inodes or nothing that is read here.
    pub const KNOWN: u32 = RECOVER
        | META_BG
        | EXTENTS
        | BITS_64
        | LARGE_DIR
        | FILE_TYPE
        | 0x100
        | 0x200
        | 0x400
        | 0x2000
        | 0x8000
        | 0x1_0000
        | 0x2_0000;
    /// An external journal, no file system.
    pub const JOURNAL_DEVICE: u32 = 0x8;
}
mod compat {
    pub const JOURNAL: u32 = 0x4;
    pub const SPARSE_SUPER2: u32 = 0x200;
    pub const ORPHAN_FILE: u32 = 0x1000;
}
/// Unknown ones do no harm to who only reads: this is their definition.
mod ro_compat {
    pub const SPARSE_SUPER: u32 = 0x1;
    pub const HUGE_FILE: u32 = 0x8;
    pub const GROUP_CHECKSUM: u32 = 0x10;
    pub const BIGALLOC: u32 = 0x200;
    pub const METADATA_CHECKSUM: u32 = 0x400;
}

/// The superblock of an ext2, ext3 or ext4 file system, all of it checked: no number in it leads out of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    pub(super) inodes: u32,
    pub(super) blocks: u64,
    pub(super) reserved_blocks: u64,
    pub(super) free_blocks: u64,
    pub(super) free_inodes: u32,
    pub(super) first_data_block: u32,
    pub(super) block_bytes: u32,
    /// Blocks of a bit in a block bitmap; 1 without the feature bigalloc.
    pub(super) cluster_blocks: u32,
    pub(super) blocks_per_group: u32,
    pub(super) inodes_per_group: u32,
    pub(super) groups: u32,
    pub(super) inode_bytes: u32,
    pub(super) first_ino: u32,
    pub(super) descriptor_bytes: u32,
    pub(super) reserved_descriptor_blocks: u32,
    pub(super) first_meta_group: u32,
    pub(super) written_s: i64,
    /// Blocks that are not for data, where the superblock says it.
    overhead_clusters: u32,
    /// Inodes of the file system itself that may have any number; 0 where there is none.
    own_inodes: [u32; 5],
    /// Groups with copies of the superblock, with the feature `sparse_super2`.
    copies: [u32; 2],
    state: u16,
    compat: u32,
    incompat: u32,
    ro_compat: u32,
    uuid: [u8; 16],
}

impl Superblock {
    /// Reads the superblock of an image or device, which may be in use.
    ///
    /// # Errors
    /// The file cannot be read, holds no such file system, one with features that are not known here, or one whose
    /// superblock is damaged.
    pub fn read(path: &Path) -> Result<Superblock, CollectError> {
        Superblock::read_from(&open(path)?, path)
    }

    /// The same from any source; `path` is for messages.
    pub(super) fn read_from(source: &dyn ReadAt, path: &Path) -> Result<Superblock, CollectError> {
        let unread = |e| CollectError::io(path, "cannot read the superblock", e);
        let len_bytes = source.len_bytes().map_err(unread)?;
        let mut bytes = [0; 1024];
        if len_bytes >= AT_BYTES + bytes.len() as u64 {
            source.read_at(&mut bytes, AT_BYTES).map_err(unread)?;
        }
        if u16_at(&bytes, 0x38) != MAGIC {
            let what = recognize(source, len_bytes);
            return Err(CollectError::unsuitable(
                path,
                format!("no ext2, ext3, ext4 or XFS file system: {what}"),
            ));
        }
        let superblock = Superblock::parse(&bytes).and_then(|superblock| {
            superblock.check(len_bytes)?;
            Ok(superblock)
        });
        superblock.map_err(|problem| CollectError::unsuitable(path, problem))
    }

    fn parse(b: &[u8; 1024]) -> Result<Superblock, String> {
        let u16_of = |at| u16_at(b, at);
        let u32_of = |at| u32_at(b, at);
        let incompat = u32_of(0x60);
        if incompat & incompat::JOURNAL_DEVICE != 0 {
            return Err(
                "an external journal, not a file system: name the device of the file system".into(),
            );
        }
        let unknown = incompat & !incompat::KNOWN;
        if unknown != 0 {
            return Err(unknown_features(unknown));
        }
        let ro_compat = u32_of(0x64);
        let high = |at| {
            if incompat & incompat::BITS_64 == 0 {
                0
            } else {
                u32_of(at)
            }
        };
        let shift = |field: &str, at| match u32_of(at) {
            shift @ 0..=6 => Ok(shift),
            shift => Err(damage(field, shift, "at most 6 (64 KiB)")),
        };
        let block_shift = shift("the block size (as a power of two over 1024)", 0x18)?;
        let bigalloc = ro_compat & ro_compat::BIGALLOC != 0;
        let cluster_shift = match u32_of(0x1C) {
            _ if !bigalloc => 0,
            shift if (block_shift..=20).contains(&shift) => shift - block_shift,
            shift => {
                let expected = "no less than the block size's and at most 20";
                return Err(damage(
                    "the cluster size (as a power of two over 1024)",
                    shift,
                    expected,
                ));
            }
        };
        let revision = u32_of(0x4C);
        let inode_bytes = if revision == 0 {
            128
        } else {
            u32::from(u16_of(0x58))
        };
        let descriptor_bytes = if incompat & incompat::BITS_64 == 0 {
            32
        } else {
            u32::from(u16_of(0xFE))
        };
        let orphan_file = if u32_of(0x5C) & compat::ORPHAN_FILE == 0 {
            0
        } else {
            u32_of(0x280)
        };
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&b[0x68..0x78]);
        let mut superblock = Superblock {
            inodes: u32_of(0),
            blocks: u64_of(u32_of(4), high(0x150)),
            reserved_blocks: u64_of(u32_of(8), high(0x154)),
            free_blocks: u64_of(u32_of(0x0C), high(0x158)),
            free_inodes: u32_of(0x10),
            first_data_block: u32_of(0x14),
            block_bytes: 1024 << block_shift,
            cluster_blocks: 1 << cluster_shift,
            blocks_per_group: u32_of(0x20),
            inodes_per_group: u32_of(0x28),
            groups: 0,
            inode_bytes,
            first_ino: if revision == 0 { 11 } else { u32_of(0x54) },
            descriptor_bytes,
            reserved_descriptor_blocks: u32::from(u16_of(0xCE)),
            first_meta_group: u32_of(0x104),
            written_s: i64::from(b[0x274]) << 32 | i64::from(u32_of(0x30)),
            overhead_clusters: u32_of(0x248),
            own_inodes: [
                u32_of(0xE0),
                u32_of(0x240),
                u32_of(0x244),
                u32_of(0x26C),
                orphan_file,
            ],
            copies: [u32_of(0x24C), u32_of(0x250)],
            state: u16_of(0x3A),
            compat: u32_of(0x5C),
            incompat,
            ro_compat,
            uuid,
        };
        superblock.groups = superblock.count_groups()?;
        Ok(superblock)
    }

    fn count_groups(&self) -> Result<u32, String> {
        let first = u64::from(self.first_data_block);
        let in_groups = self.blocks.checked_sub(first).filter(|n| *n > 0);
        let in_groups = in_groups.ok_or_else(|| {
            let expected = format!("more than the first data block, {first}");
            damage("the number of blocks", self.blocks, &expected)
        })?;
        let per_group = u64::from(self.blocks_per_group);
        let most = 8 * u64::from(self.block_bytes) * u64::from(self.cluster_blocks);
        let whole_bytes = 8 * u64::from(self.cluster_blocks);
        if per_group == 0 || per_group > most || per_group % whole_bytes != 0 {
            let expected = format!("a multiple of {whole_bytes}, at most {most}");
            return Err(damage("blocks per group", per_group, &expected));
        }
        let groups = in_groups.div_ceil(per_group);
        u32::try_from(groups).map_err(|_| damage("the number of groups", groups, "below 2^32"))
    }

    fn check(&self, len_bytes: u64) -> Result<(), String> {
        let block = self.block_bytes;
        let size_bytes = self.blocks.saturating_mul(u64::from(block));
        if size_bytes > len_bytes {
            return Err(format!(
                "the file system has {} blocks of {block} bytes, but the image ends after {len_bytes} of these \
                 {size_bytes} bytes: it was cut off; copy it again",
                self.blocks
            ));
        }
        let expected_first = u32::from(block == 1024 && self.cluster_blocks == 1);
        if self.first_data_block != expected_first {
            let expected = format!("{expected_first} with blocks of {block} bytes");
            return Err(damage(
                "the first data block",
                self.first_data_block,
                &expected,
            ));
        }
        if !self.inode_bytes.is_power_of_two() || !(128..=block).contains(&self.inode_bytes) {
            let expected = format!("a power of two from 128 to {block}");
            return Err(damage("the inode size", self.inode_bytes, &expected));
        }
        if !(1..=8 * block).contains(&self.inodes_per_group) {
            let expected = format!("1 to {}", 8 * block);
            return Err(damage("inodes per group", self.inodes_per_group, &expected));
        }
        let inodes = u64::from(self.inodes_per_group) * u64::from(self.groups);
        if u64::from(self.inodes) != inodes {
            let expected = format!("{inodes}, inodes per group times groups");
            return Err(damage("the number of inodes", self.inodes, &expected));
        }
        if u64::from(self.inodes) * u64::from(self.inode_bytes) > size_bytes {
            let expected = format!("what fits {size_bytes} bytes");
            return Err(damage("the number of inodes", self.inodes, &expected));
        }
        if self.first_ino < 11 || self.first_ino > self.inodes {
            let expected = format!("11 to {}", self.inodes);
            return Err(damage("the first inode", self.first_ino, &expected));
        }
        let wide = self.incompat & incompat::BITS_64 != 0;
        let descriptor = self.descriptor_bytes;
        if !descriptor.is_power_of_two() || (wide && !(64..=1024).contains(&descriptor)) {
            let expected = "a power of two from 64 to 1024";
            return Err(damage(
                "the size of group descriptors",
                descriptor,
                expected,
            ));
        }
        Ok(())
    }

    /// Sizes of the file system.
    pub fn geometry(&self) -> Geometry {
        let block = u64::from(self.block_bytes);
        Geometry {
            fs_type: self.fs_type().to_owned(),
            size_bytes: self.blocks * block,
            data_bytes: None,
            reserved_bytes: self.reserved_blocks.saturating_mul(block),
            block_bytes: self.block_bytes,
            frag_bytes: self.block_bytes,
            inodes_total: u64::from(self.inodes),
            group_count: self.groups,
            group_bytes: u64::from(self.blocks_per_group) * block,
            inodes_per_group: self.inodes_per_group,
            first_ino: 1,
            inode_chunk_bytes: 0,
        }
    }

    /// `ext4` if files may have extents, else `ext3` if there is a journal, else `ext2`.
    pub fn fs_type(&self) -> &'static str {
        if self.incompat & incompat::EXTENTS != 0 {
            "ext4"
        } else if self.compat & compat::JOURNAL != 0 {
            "ext3"
        } else {
            "ext2"
        }
    }

    /// UUID of the file system, in the usual form of 8-4-4-4-12 hexadecimal digits.
    pub fn uuid(&self) -> String {
        uuid_text(&self.uuid)
    }

    /// Whether a journal waits to be replayed: the file system was not unmounted, or still is mounted.
    pub fn needs_recovery(&self) -> bool {
        self.incompat & incompat::RECOVER != 0
    }

    /// Whether the kernel or a check has found errors, or a file system without a journal was not unmounted.
    pub(super) fn is_unclean(&self) -> bool {
        const CLEAN: u16 = 1;
        const ERRORS: u16 = 2;
        self.state & ERRORS != 0 || (self.compat & compat::JOURNAL == 0 && self.state & CLEAN == 0)
    }

    pub(super) fn has_file_types(&self) -> bool {
        self.incompat & incompat::FILE_TYPE != 0
    }

    pub(super) fn has_huge_files(&self) -> bool {
        self.ro_compat & ro_compat::HUGE_FILE != 0
    }

    pub(super) fn has_large_directories(&self) -> bool {
        self.incompat & incompat::LARGE_DIR != 0
    }

    pub(super) fn has_meta_groups(&self) -> bool {
        self.incompat & incompat::META_BG != 0
    }

    /// Whether the flags of group descriptors count.
    pub(super) fn has_group_flags(&self) -> bool {
        self.ro_compat & (ro_compat::GROUP_CHECKSUM | ro_compat::METADATA_CHECKSUM) != 0
    }

    /// Whether an inode is the file system's own: reserved, or quota, journal or orphan file under another number.
    pub(super) fn owns(&self, ino: u32) -> bool {
        ino != ROOT && (ino < self.first_ino || self.own_inodes.contains(&ino))
    }

    /// Whether a copy of the superblock lies at the start of a group.
    pub(super) fn has_copy(&self, group: u32) -> bool {
        if group == 0 {
            return true;
        }
        if self.compat & compat::SPARSE_SUPER2 != 0 {
            return self.copies.contains(&group);
        }
        let power_of = |base: u32| {
            let powers = std::iter::successors(Some(base), |n| n.checked_mul(base));
            powers.take_while(|n| *n <= group).any(|n| n == group)
        };
        group == 1
            || self.ro_compat & ro_compat::SPARSE_SUPER == 0
            || [3, 5, 7].into_iter().any(power_of)
    }

    /// Blocks that are not for data, as the superblock says; `None` if it does not.
    pub(super) fn overhead_blocks(&self) -> Option<u64> {
        let blocks = u64::from(self.overhead_clusters) * u64::from(self.cluster_blocks);
        (blocks > 0 && blocks <= self.blocks).then_some(blocks)
    }

    /// Whether blocks, of which there is at least one, lie where data or metadata of the file system can lie.
    pub(super) fn contains(&self, block: u64, count: u64) -> bool {
        block > u64::from(self.first_data_block)
            && block
                .checked_add(count)
                .is_some_and(|end| end <= self.blocks)
    }
}

/// Inode of the root.
pub const ROOT: u32 = 2;

fn damage(field: &str, value: impl std::fmt::Display, expected: &str) -> String {
    format!(
        "superblock: {field} is {value}, expected {expected}; try a copy of the superblock with `e2fsck -fn -b 32768`"
    )
}
