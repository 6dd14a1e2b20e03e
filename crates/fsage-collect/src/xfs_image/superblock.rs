//! The superblock: sizes and features of the file system.

use super::bytes::{is_sound, u16_at, u32_at, u64_at};
use crate::error::CollectError;
use crate::image::{ReadAt, unknown_features};
use fsage_core::Geometry;
use fsage_linux::uuid::uuid_text;
use std::path::Path;

/// The first bytes of an XFS.
pub const MAGIC: &[u8] = b"XFSB";
/// Length of what is read here; sectors are as long at least.
const LEAST_SECTOR: usize = 512;
/// Features without which the file system cannot be read. Those that are known here: types in directories, sparse
/// chunks of inodes, a UUID of metadata, long times, large counts of extents, exchanged ranges, parent pointers.
mod incompat {
    pub const SPARSE: u32 = 0x2;
    pub const META_UUID: u32 = 0x4;
    pub const LARGE_COUNTS: u32 = 0x20;
    pub const KNOWN: u32 = 0x1 | SPARSE | META_UUID | 0x8 | LARGE_COUNTS | 0x40 | 0x80;
    pub const NEEDS_REPAIR: u32 = 0x10;
}

/// The superblock of an XFS, all of it checked: no number in it leads out of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    pub block_bytes: u32,
    pub blocks: u64,
    pub sector_bytes: u32,
    pub inode_bytes: u32,
    pub ag_blocks: u32,
    pub ag_count: u32,
    /// Bits of a block in its AG.
    pub ag_log: u32,
    /// Bits of an inode in its block.
    inode_log: u32,
    /// The first block of the log by AG and block in AG bits, and its blocks. The log lies elsewhere if it is 0.
    pub log_start: u64,
    pub log_blocks: u32,
    /// The root directory.
    pub root: u64,
    /// Inodes of the file system itself: of the realtime section and of quotas.
    own_inodes: [u64; 5],
    /// Percent of space that inodes may take; 0: all.
    most_inode_percent: u8,
    inode_align: u32,
    incompat: u32,
    uuid: [u8; 16],
    /// That of structures.
    pub meta_uuid: [u8; 16],
}

impl Superblock {
    /// Reads and checks it; `path` is for messages.
    pub fn read(source: &dyn ReadAt, path: &Path) -> Result<Superblock, CollectError> {
        let unread = |e| CollectError::io(path, "cannot read the superblock", e);
        let len_bytes = source.len_bytes().map_err(unread)?;
        let mut sector = vec![0; LEAST_SECTOR];
        source.read_at(&mut sector, 0).map_err(unread)?;
        let sector_bytes = usize::from(u16_at(&sector, 102));
        if sector_bytes.is_power_of_two() && (LEAST_SECTOR..=1 << 15).contains(&sector_bytes) {
            sector.resize(sector_bytes, 0);
            source.read_at(&mut sector, 0).map_err(unread)?;
        }
        let parsed = Superblock::parse(&sector, len_bytes);
        parsed.map_err(|problem| CollectError::unsuitable(path, problem))
    }

    fn parse(b: &[u8], len_bytes: u64) -> Result<Superblock, String> {
        let version = u16_at(b, 100) & 0xF;
        if version != 5 {
            return Err(format!(
                "XFS of version {version}, which has no checksums: mount it and take the snapshot of the mount point"
            ));
        }
        if !is_sound(b, 224) {
            let what = "the checksum of the superblock is wrong; `xfs_repair -n` says more, and looks for a copy of it";
            return Err(what.to_owned());
        }
        if b[126] != 0 {
            return Err("`mkfs.xfs` did not finish this file system".to_owned());
        }
        let incompat = u32_at(b, 216);
        if incompat & incompat::NEEDS_REPAIR != 0 {
            return Err(
                "the file system says that it needs a repair: run `xfs_repair` first".to_owned(),
            );
        }
        let unknown = incompat & !incompat::KNOWN;
        if unknown != 0 {
            return Err(unknown_features(unknown));
        }
        let own_meta_uuid = incompat & incompat::META_UUID != 0;
        let uuid_at = |at: usize| b[at..].first_chunk().copied().unwrap_or_default();
        let superblock = Superblock {
            block_bytes: u32_at(b, 4),
            blocks: u64_at(b, 8),
            sector_bytes: u16_at(b, 102).into(),
            inode_bytes: u16_at(b, 104).into(),
            ag_blocks: u32_at(b, 84),
            ag_count: u32_at(b, 88),
            ag_log: b[124].into(),
            inode_log: b[123].into(),
            log_start: u64_at(b, 48),
            log_blocks: u32_at(b, 96),
            root: u64_at(b, 56),
            own_inodes: [64, 72, 160, 168, 232].map(|at| u64_at(b, at)),
            most_inode_percent: b[127],
            inode_align: u32_at(b, 180),
            incompat,
            uuid: uuid_at(32),
            meta_uuid: uuid_at(if own_meta_uuid { 248 } else { 32 }),
        };
        superblock.check(len_bytes)?;
        if b[192] != 0 {
            let bytes = u64::from(superblock.block_bytes) << b[192].min(16);
            return Err(format!(
                "directories have blocks of {bytes} bytes, and others than those of files are not known here: mount it \
                 and take the snapshot of the mount point"
            ));
        }
        Ok(superblock)
    }

    fn check(&self, len_bytes: u64) -> Result<(), String> {
        let wrong = |what: &str, is: u64| {
            Err(format!(
                "the superblock is damaged ({what}: {is}); `xfs_repair -n` says more"
            ))
        };
        let is_power =
            |n: u32, least: u32, most: u32| n.is_power_of_two() && (least..=most).contains(&n);
        if !is_power(self.block_bytes, 1 << 10, 1 << 16) {
            return wrong("block size", self.block_bytes.into());
        }
        if !is_power(self.sector_bytes, 1 << 9, self.block_bytes.min(1 << 15)) {
            return wrong("sector size", self.sector_bytes.into());
        }
        if !is_power(self.inode_bytes, 1 << 9, self.block_bytes.min(1 << 11)) {
            return wrong("inode size", self.inode_bytes.into());
        }
        if self.inode_log != (self.block_bytes / self.inode_bytes).ilog2() {
            return wrong("bits of an inode in its block", self.inode_log.into());
        }
        if self.ag_blocks < 4 || self.ag_log != (self.ag_blocks - 1).ilog2() + 1 || self.ag_log > 31
        {
            return wrong("blocks of an allocation group", self.ag_blocks.into());
        }
        let whole = u64::from(self.ag_blocks) * u64::from(self.ag_count);
        if self.ag_count == 0
            || self.blocks > whole
            || self.blocks + u64::from(self.ag_blocks) < whole + 4
        {
            return wrong("allocation groups", self.ag_count.into());
        }
        let bytes = self.blocks.checked_mul(self.block_bytes.into());
        let Some(bytes) = bytes.filter(|bytes| i64::try_from(*bytes).is_ok()) else {
            return wrong("blocks", self.blocks);
        };
        if bytes > len_bytes {
            return Err(format!(
                "the image is cut off: the file system has {bytes} bytes, and the image {len_bytes}"
            ));
        }
        if self.log_start != 0 && !self.contains(self.log_start, self.log_blocks.into()) {
            return wrong("place of the log", self.log_start);
        }
        if self.place_of_inode(self.root).is_none() {
            return wrong("inode of the root", self.root);
        }
        Ok(())
    }

    /// Blocks of an AG; the last one may have fewer.
    pub fn ag_length(&self, ag: u32) -> u32 {
        let before = u64::from(ag) * u64::from(self.ag_blocks);
        u64::from(self.ag_blocks).min(self.blocks.saturating_sub(before)) as u32
    }

    /// The AG of a block, and the block in it, if there is such a block.
    fn split(&self, block: u64) -> Option<(u32, u32)> {
        let ag = u32::try_from(block >> self.ag_log).ok()?;
        let in_ag = (block & ((1 << self.ag_log) - 1)) as u32;
        (ag < self.ag_count && in_ag < self.ag_length(ag)).then_some((ag, in_ag))
    }

    /// Whether so many blocks lie in one AG from one on, which is given by AG and block in AG bits.
    pub fn contains(&self, block: u64, count: u64) -> bool {
        self.split(block)
            .is_some_and(|(ag, in_ag)| count > 0 && count <= u64::from(self.ag_length(ag) - in_ag))
    }

    /// The block counted from the start of the device, of one by AG and block in AG bits.
    pub fn absolute(&self, block: u64) -> Option<u64> {
        let (ag, in_ag) = self.split(block)?;
        Some(self.absolute_in(ag, in_ag))
    }

    /// The same of a block of an AG.
    pub fn absolute_in(&self, ag: u32, block: u32) -> u64 {
        u64::from(ag) * u64::from(self.ag_blocks) + u64::from(block)
    }

    /// The number of an inode of an AG.
    pub fn inode(&self, ag: u32, in_ag: u32) -> u64 {
        u64::from(ag) << (self.ag_log + self.inode_log) | u64::from(in_ag)
    }

    /// The AG of an inode, and its number there, if there can be such an inode.
    pub fn place_of_inode(&self, ino: u64) -> Option<(u32, u32)> {
        let (ag, block) = self.split(ino >> self.inode_log)?;
        let slot = (ino & ((1 << self.inode_log) - 1)) as u32;
        let in_ag = u64::from(block) << self.inode_log | u64::from(slot);
        Some((ag, u32::try_from(in_ag).ok()?))
    }

    /// Inodes that an AG has room for.
    pub fn inodes_of(&self, ag: u32) -> u64 {
        u64::from(self.ag_length(ag)) << self.inode_log
    }

    /// Inodes of a block.
    pub fn inodes_per_block(&self) -> u32 {
        1 << self.inode_log
    }

    /// Whether an inode belongs to the file system itself. Some that there is none of have the number 0, or the
    /// highest.
    pub fn owns(&self, ino: u64) -> bool {
        self.own_inodes.contains(&ino)
    }

    /// Chunks of inodes may lack some.
    pub fn is_sparse(&self) -> bool {
        self.incompat & incompat::SPARSE != 0
    }

    /// Inodes count their extents in 64 bits.
    pub fn has_large_counts(&self) -> bool {
        self.incompat & incompat::LARGE_COUNTS != 0
    }

    /// The UUID of the file system, as text.
    pub fn uuid(&self) -> String {
        uuid_text(&self.uuid)
    }

    /// Most inodes that there may be.
    pub fn most_inodes(&self) -> u64 {
        let whole = self.blocks.saturating_mul(self.inodes_per_block().into());
        if self.most_inode_percent == 0 {
            return whole;
        }
        let percent = u64::from(self.most_inode_percent);
        // Whole chunks of the least alignment.
        let blocks = self.blocks / 100 * percent + self.blocks % 100 * percent / 100;
        let align = u64::from(self.inode_align.max(1));
        (blocks / align * align).saturating_mul(self.inodes_per_block().into())
    }

    /// The sizes as metrics know them. What the log takes is not for data.
    pub fn geometry(&self) -> Geometry {
        let block = u64::from(self.block_bytes);
        let log = if self.log_start == 0 {
            0
        } else {
            u64::from(self.log_blocks)
        };
        let inodes_per_group = 1_u32.checked_shl(self.ag_log + self.inode_log);
        Geometry {
            fs_type: "xfs".to_owned(),
            size_bytes: self.blocks * block,
            data_bytes: Some(self.blocks.saturating_sub(log) * block),
            reserved_bytes: 0,
            block_bytes: self.block_bytes,
            frag_bytes: self.block_bytes,
            inodes_total: self.most_inodes(),
            group_count: self.ag_count,
            group_bytes: u64::from(self.ag_blocks) * block,
            inodes_per_group: inodes_per_group.unwrap_or(u32::MAX),
            first_ino: 0,
            inode_chunk_bytes: if self.is_sparse() {
                super::groups::CHUNK / 2 * self.inode_bytes
            } else {
                super::groups::CHUNK * self.inode_bytes
            },
        }
    }
}
