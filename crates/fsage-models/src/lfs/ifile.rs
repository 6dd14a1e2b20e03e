//! The inode map of the ifile: which numbers are free, and the numbers' versions.

use super::params::Variant;
use super::{IFILE, Lfs, NoSpace};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of the ifile's inode.
pub(super) const IFILE_INO: u32 = 1;
/// Number of the root's inode.
pub(super) const ROOT_INO: u32 = 2;

/// An entry of the inode map.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MapEntry {
    /// Rises when the number is used anew; blocks of older versions are dead.
    pub version: u32,
    /// Sector of the inode block; 0 is "none".
    pub address: u32,
    /// The inode in memory; [`NO_SLOT`] of a free number.
    pub slot: u32,
}

/// Slot of a number that is free.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// Free inode numbers.
#[derive(Clone, Debug)]
pub(super) enum FreeInodes {
    /// 4.4BSD: what was freed last is used first.
    LastFreed(Vec<u32>),
    /// NetBSD: the lowest one.
    Lowest(BinaryHeap<Reverse<u32>>),
}

impl FreeInodes {
    pub fn new(variant: Variant) -> FreeInodes {
        match variant {
            Variant::Lite2 => FreeInodes::LastFreed(Vec::new()),
            Variant::NetBsd => FreeInodes::Lowest(BinaryHeap::new()),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            FreeInodes::LastFreed(list) => list.len(),
            FreeInodes::Lowest(heap) => heap.len(),
        }
    }

    pub fn free(&mut self, ino: u32) {
        match self {
            FreeInodes::LastFreed(list) => list.push(ino),
            FreeInodes::Lowest(heap) => heap.push(Reverse(ino)),
        }
    }

    fn take(&mut self) -> Option<u32> {
        match self {
            FreeInodes::LastFreed(list) => list.pop(),
            FreeInodes::Lowest(heap) => heap.pop().map(|Reverse(ino)| ino),
        }
    }

    /// Every free number, in no particular order.
    pub fn iter(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match self {
            FreeInodes::LastFreed(list) => Box::new(list.iter().copied()),
            FreeInodes::Lowest(heap) => Box::new(heap.iter().map(|&Reverse(ino)| ino)),
        }
    }
}

impl Lfs {
    /// Adds a block to the inode map; its numbers are free, the lowest first. Numbers below `first` are in use.
    pub(super) fn extend_map(&mut self, first: u32) {
        let from = self.map.len() as u32;
        let to = from + self.geometry.map_entries_per_block;
        self.map.resize(
            to as usize,
            MapEntry {
                version: 1,
                address: 0,
                slot: NO_SLOT,
            },
        );
        for ino in (from.max(first)..to).rev() {
            self.free_inodes.free(ino);
        }
        self.inodes[IFILE as usize].size += u64::from(self.geometry.block_bytes);
    }

    /// Takes a free number. When the last one is taken the map grows by a block.
    pub(super) fn take_ino(&mut self) -> Result<u32, NoSpace> {
        if self.free_inodes.len() == 1 {
            let lbn = self.geometry.map_block(self.map.len() as u32);
            self.charge_new_block(IFILE, lbn, self.geometry.block_sectors())?;
            self.extend_map(0);
            self.dirty(IFILE, lbn);
        }
        let ino = self.free_inodes.take().ok_or(NoSpace)?;
        self.dirty(IFILE, 0);
        Ok(ino)
    }

    /// Gives a number back.
    pub(super) fn free_ino(&mut self, ino: u32) {
        let entry = &mut self.map[ino as usize];
        entry.version += 1;
        entry.slot = NO_SLOT;
        let old = std::mem::take(&mut entry.address);
        self.free_inodes.free(ino);
        self.dirty(IFILE, self.geometry.map_block(ino));
        self.dirty(IFILE, 0);
        if old != 0 {
            let segment = self.geometry.segment_of(old);
            self.lose(segment, super::geometry::INODE_BYTES);
        }
    }
}
