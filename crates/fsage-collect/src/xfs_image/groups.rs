//! The headers of allocation groups: what is free in them, and where their inodes lie.

use super::bytes::{is_sound, u16_at, u32_at, u64_at};
use super::device::Device;
use super::tree::{self, visit_records};
use crate::error::CollectError;
use fsage_core::Run;

/// Inodes of a chunk.
pub const CHUNK: u32 = 64;

/// A chunk of inodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub ag: u32,
    /// Its first inode in the AG.
    pub first: u32,
    /// A bit for each inode that it has.
    pub has: u64,
    /// A bit for each of these that is free.
    pub free: u64,
}

impl Chunk {
    /// Inodes in use.
    pub fn used(&self) -> u64 {
        self.has & !self.free
    }
}

/// What all groups tell.
#[derive(Debug, Default)]
pub struct Groups {
    /// Runs of free space, ascending.
    pub free: Vec<Run>,
    /// Ascending.
    pub chunks: Vec<Chunk>,
}

impl Groups {
    pub fn read(device: &Device<'_>) -> Result<Groups, CollectError> {
        let mut groups = Groups::default();
        for ag in 0..device.superblock.ag_count {
            groups.read_free(device, ag)?;
            groups.read_chunks(device, ag)?;
        }
        Ok(groups)
    }

    /// Inodes that there are, and those of them that are in use.
    pub fn inodes(&self) -> (u64, u64) {
        let ones = |of: fn(&Chunk) -> u64| {
            let ones = self
                .chunks
                .iter()
                .map(|chunk| u64::from(of(chunk).count_ones()));
            ones.sum()
        };
        (ones(|chunk| chunk.has), ones(Chunk::used))
    }

    fn read_free(&mut self, device: &Device<'_>, ag: u32) -> Result<(), CollectError> {
        let header = header(device, ag, 1, *b"XAGF", (216, 64))?;
        let (length, block_bytes) = (device.superblock.ag_length(ag), device.block_bytes());
        let start = device.superblock.absolute_in(ag, 0);
        let mut end = 0;
        let root = (u32_at(&header, 16), u32_at(&header, 28));
        visit_records(device, tree::FREE, ag, root, &mut |record| {
            let (block, blocks) = (u32_at(record, 0), u32_at(record, 4));
            if block < end || blocks == 0 || blocks > length.saturating_sub(block) {
                return Err(format!("{blocks} free blocks at {block}"));
            }
            end = block + blocks;
            self.free.push(Run {
                start_bytes: (start + u64::from(block)) * block_bytes,
                length_bytes: u64::from(blocks) * block_bytes,
            });
            Ok(())
        })
    }

    fn read_chunks(&mut self, device: &Device<'_>, ag: u32) -> Result<(), CollectError> {
        let header = header(device, ag, 2, *b"XAGI", (312, 296))?;
        let superblock = device.superblock;
        let mut end = 0;
        let root = (u32_at(&header, 20), u32_at(&header, 24));
        visit_records(device, tree::INODES, ag, root, &mut |record| {
            let first = u32_at(record, 0);
            let holes = if superblock.is_sparse() {
                u16_at(record, 4)
            } else {
                0
            };
            // Each bit stands for four inodes that are missing.
            let has = (0..16)
                .filter(|bit| holes >> bit & 1 == 0)
                .fold(0, |has, bit| has | 0xF << (4 * bit));
            let last = u64::from(first) + u64::from(63 - u64::leading_zeros(has | 1));
            if u64::from(first) < end || has == 0 || last >= superblock.inodes_of(ag) {
                return Err(format!("inodes from {first} on"));
            }
            end = u64::from(first) + u64::from(CHUNK);
            let free = u64_at(record, 8) & has;
            self.chunks.push(Chunk {
                ag,
                first,
                has,
                free,
            });
            Ok(())
        })
    }
}

/// A header of an AG, which is a sector: its number, what it begins with, and where checksum and UUID stand in it.
fn header(
    device: &Device<'_>,
    ag: u32,
    number: u64,
    magic: [u8; 4],
    (sum, uuid): (usize, usize),
) -> Result<Vec<u8>, CollectError> {
    let superblock = device.superblock;
    let mut bytes = vec![0; superblock.sector_bytes as usize];
    let start = superblock.absolute_in(ag, 0) * device.block_bytes();
    let at = start + number * u64::from(superblock.sector_bytes);
    let read = device.source.read_at(&mut bytes, at);
    read.map_err(device.unread("cannot read the header of an allocation group"))?;
    let is_it = bytes[..4] == magic
        && is_sound(&bytes, sum)
        && u32_at(&bytes, 4) == 1
        && u32_at(&bytes, 8) == ag
        && u32_at(&bytes, 12) == superblock.ag_length(ag)
        && bytes[uuid..uuid + 16] == superblock.meta_uuid;
    if is_it {
        return Ok(bytes);
    }
    let name = String::from_utf8_lossy(&magic[1..]).into_owned();
    Err(device.damaged(&format!(
        "allocation group {ag}: its header {name} is not what it should be"
    )))
}
