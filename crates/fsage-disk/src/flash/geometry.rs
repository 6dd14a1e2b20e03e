//! Numbers of pages, and where a physical page lies. docs/spec/flash.md, sections 4 and 5.1.
//!
//! Dies that are filled together are a pool: the dies of a partition, or, with die affinity, a die. A pool is cut into
//! superblocks, a block of each of its dies. The number of a physical page counts pool, superblock, die and page within
//! the block, in this order, so that flash pages and program units are runs of numbers.

use super::drive::{FlashDrive, PAGE_BYTES};

/// What follows from the description of a drive. Pages are of 4 KB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    pub logical_pages: u32,
    pub partitions: u32,
    pub pools: u32,
    /// Of a pool.
    pub dies: u32,
    /// Of a pool.
    pub superblocks: u32,
    /// Pages that go to one die before the next.
    pub deal: u32,
    /// Pages of a flash page, a program unit, a block, a superblock.
    pub flash_page: u32,
    pub unit: u32,
    pub block: u32,
    pub superblock: u32,
    pub kinds: u32,
    /// By number of the die.
    pub channel_of: Vec<u32>,
    /// Dies of a pool in the order in which collection goes through them: by channel.
    pub by_channel: Vec<u32>,
}

impl Geometry {
    /// The geometry of a drive that was checked.
    pub fn new(drive: &FlashDrive) -> Geometry {
        let channels = drive.channels;
        let all_dies = drive.dies() as u32;
        let pools = if drive.die_affinity {
            all_dies
        } else {
            drive.partitions
        };
        let dies = all_dies / pools;
        let unit = (drive.unit_bytes() / PAGE_BYTES) as u32;
        let block = drive.units_per_block() as u32 * unit;
        let of_pool = (channels * dies / all_dies).max(1);
        let local_channel = |die: u32| {
            if drive.extensions.dies_first {
                die / (dies / of_pool)
            } else {
                die % of_pool
            }
        };
        let mut by_channel: Vec<u32> = (0..dies).collect();
        by_channel.sort_by_key(|&die| (local_channel(die), die));
        let channel_of = |die: u32| {
            if drive.die_affinity {
                die % channels
            } else {
                die / dies * of_pool + local_channel(die % dies)
            }
        };
        Geometry {
            logical_pages: (drive.sectors() / 8) as u32,
            partitions: drive.partitions,
            pools,
            dies,
            superblocks: drive.blocks_per_die,
            deal: match drive.extensions.deal_bytes {
                0 => unit,
                bytes => bytes / PAGE_BYTES as u32,
            },
            flash_page: drive.flash_page_bytes
                / drive.extensions.independent_planes
                / PAGE_BYTES as u32,
            unit,
            block,
            superblock: block * dies,
            kinds: drive.read_ns.len() as u32,
            channel_of: (0..all_dies).map(channel_of).collect(),
            by_channel,
        }
    }

    pub fn pool_pages(&self) -> u32 {
        self.superblocks * self.superblock
    }

    pub fn physical_pages(&self) -> u32 {
        self.pools * self.pool_pages()
    }

    pub fn all_dies(&self) -> u32 {
        self.pools * self.dies
    }

    /// The die of a physical page.
    pub fn die_of(&self, physical: u32) -> u32 {
        let block = physical / self.block;
        let pool = block / (self.superblocks * self.dies);
        pool * self.dies + block % self.dies
    }

    /// The kind of the flash page that a physical page is in.
    pub fn kind_of(&self, physical: u32) -> usize {
        (physical % self.block / self.flash_page % self.kinds) as usize
    }

    /// The page that is dealt as number `k` of a superblock of a pool.
    pub fn dealt(&self, pool: u32, superblock: u32, k: u32) -> u32 {
        self.dealt_by(self.deal, pool, superblock, k)
    }

    /// The same if so many pages went to one die before the next.
    pub fn dealt_by(&self, deal: u32, pool: u32, superblock: u32, k: u32) -> u32 {
        let stripe = deal * self.dies;
        let (round, within) = (k / stripe, k % stripe);
        let block = (pool * self.superblocks + superblock) * self.dies + within / deal;
        block * self.block + round * deal + within % deal
    }

    /// Pages that a die of a superblock has when `k` have been dealt.
    pub fn dealt_to(&self, die: u32, k: u32) -> u32 {
        let stripe = self.deal * self.dies;
        let within = (k % stripe).saturating_sub(die * self.deal);
        k / stripe * self.deal + within.min(self.deal)
    }

    /// The page is the last one of its program unit.
    pub fn fills_unit(&self, physical: u32) -> bool {
        physical % self.unit == self.unit - 1
    }
}
