//! Descriptors of groups and their bitmaps.
//!
//! What was never used stays as it is: a group whose blocks hold nothing but its own tables has no block bitmap yet,
//! one without an inode in use no inode bitmap and no inode table, and of other tables only the part up to the last
//! inode in use is there.
//!
//! Spec: `docs/spec/ext4.md`, section 29.

use super::fields::{crc, crc16, put_halves, put16, put32};
use super::{WriteAt, Writer};
use crate::ext4::params::Checksums;
use std::io;

/// No inode of the group was ever in use: there is no bitmap of them.
pub(super) const INODE_UNINIT: u16 = 1;
/// Nothing but tables was ever in the group: there is no bitmap of blocks.
pub(super) const BLOCK_UNINIT: u16 = 2;
/// The inode table holds zeros where nothing was written.
const INODE_ZEROED: u16 = 4;

/// Bytes that a descriptor has at most. One with addresses of 32 bits ends half way.
const MOST_BYTES: usize = 64;
const CHECKSUM: usize = 30;

/// The checksum of the descriptor of a group, with the seed where all metadata has one.
pub(super) fn checksum(seed: Option<u32>, uuid: &[u8; 16], group: u32, descriptor: &[u8]) -> u16 {
    let group = group.to_le_bytes();
    if let Some(seed) = seed {
        let mut plain = descriptor.to_vec();
        plain[CHECKSUM..CHECKSUM + 2].fill(0);
        return crc(crc(seed, &group), &plain) as u16;
    }
    let sum = crc16(crc16(!0, uuid), &group);
    let sum = crc16(sum, &descriptor[..CHECKSUM]);
    crc16(sum, &descriptor[CHECKSUM + 2..])
}

impl Writer<'_> {
    /// Groups that hold tables of other groups.
    fn hosts(&self) -> Vec<bool> {
        let g = &self.fs.geometry;
        let mut hosts = vec![false; g.groups as usize];
        for (group, tables) in (0..g.groups).zip(&g.tables) {
            let last = tables.inode_table + g.table_blocks() - 1;
            let mut mark = |first: u32, last: u32| {
                for host in g.group_of(first)..=g.group_of(last) {
                    hosts[host as usize] |= host != group;
                }
            };
            mark(tables.block_bitmap, tables.block_bitmap);
            mark(tables.inode_bitmap, tables.inode_bitmap);
            mark(tables.inode_table, last);
        }
        hosts
    }

    /// Blocks of a group that its own copies and tables take in it.
    fn own_blocks(&self, group: u32) -> u32 {
        let g = &self.fs.geometry;
        let tables = &g.tables[group as usize];
        let start = u64::from(g.start_of(group));
        let end = start + u64::from(g.blocks_in(group));
        let inside = |first: u32, blocks: u32| {
            let first = u64::from(first);
            let last = (first + u64::from(blocks)).min(end);
            last.saturating_sub(first.max(start)) as u32
        };
        g.copy_blocks(group)
            + inside(tables.block_bitmap, 1)
            + inside(tables.inode_bitmap, 1)
            + inside(tables.inode_table, g.table_blocks())
    }

    /// Writes the bitmaps of all groups. Gives their descriptors.
    pub fn bitmaps(&self, to: &mut dyn WriteAt) -> io::Result<Vec<u8>> {
        let hosts = self.hosts();
        let mut all = Vec::with_capacity(hosts.len() * self.fs.geometry.descriptor_bytes as usize);
        for (group, hosts) in (0..self.fs.geometry.groups).zip(hosts) {
            all.extend(self.group(group, hosts, to)?);
        }
        Ok(all)
    }

    fn group(&self, group: u32, hosts: bool, to: &mut dyn WriteAt) -> io::Result<Vec<u8>> {
        let (fs, g) = (self.fs, &self.fs.geometry);
        let (one, tables) = (&fs.groups.all[group as usize], &g.tables[group as usize]);
        // Without any checksum a descriptor says nothing of what was never used, and all of it is there.
        let may_lack = fs.params.checksums != Checksums::None;
        let mut flags = INODE_ZEROED;
        let mut d = [0; MOST_BYTES];
        let is_last = group == g.groups - 1;
        let used = g.blocks_in(group) - one.free_blocks;
        if may_lack && !hosts && !is_last && group > 0 && used == self.own_blocks(group) {
            flags |= BLOCK_UNINIT;
        } else {
            let bitmap = fs.groups.block_bitmap(group, g.block_bytes as usize);
            let bytes = g.blocks_per_group as usize / 8;
            if let Some(seed) = self.seed {
                put_halves(&mut d, 24, 56, crc(seed, &bitmap[..bytes]));
            }
            self.block(to, tables.block_bitmap, &bitmap)?;
        }
        let mut unused = g.inodes_per_group;
        if may_lack && one.free_inodes == g.inodes_per_group {
            flags |= INODE_UNINIT;
        } else {
            unused -= fs.groups.inodes_up_to_last(group);
            let bitmap = fs.groups.inode_bitmap(group, g.block_bytes as usize);
            let bytes = g.inodes_per_group as usize / 8;
            if let Some(seed) = self.seed {
                put_halves(&mut d, 26, 58, crc(seed, &bitmap[..bytes]));
            }
            self.block(to, tables.inode_bitmap, &bitmap)?;
        }
        put32(&mut d, 0, tables.block_bitmap);
        put32(&mut d, 4, tables.inode_bitmap);
        put32(&mut d, 8, tables.inode_table);
        put_halves(&mut d, 12, 44, one.free_blocks);
        put_halves(&mut d, 14, 46, one.free_inodes);
        put_halves(&mut d, 16, 48, one.directories);
        put16(&mut d, 18, flags);
        if may_lack {
            put_halves(&mut d, 28, 50, unused);
        }
        let mut d = d[..g.descriptor_bytes as usize].to_vec();
        if may_lack {
            let sum = checksum(self.seed, &self.options.uuid, group, &d);
            put16(&mut d, CHECKSUM, sum);
        }
        Ok(d)
    }
}
