//! Free space, from the block bitmaps.

use super::bitmap;
use super::device::Device;
use super::groups::{Descriptor, Groups, base_blocks, blocks_of, table_blocks};
use crate::error::CollectError;
use crate::image::pieces::Piece;
use fsage_core::Run;

/// Groups whose bitmaps are read in the order of the disk.
const BATCH: usize = 1024;

/// Maximal runs of free space, ascending.
pub fn runs(device: &Device) -> Result<Vec<Run>, CollectError> {
    let mut free = Free {
        device,
        runs: Vec::new(),
    };
    let mut groups = Groups::new(device);
    let mut bitmaps = Vec::new();
    for group in 0..device.superblock.groups {
        let descriptor = groups.get(group)?;
        if descriptor.only_metadata {
            free.add(group, &bitmap_of_metadata(device, group, &descriptor));
        } else {
            bitmaps.push(Piece {
                block: descriptor.block_bitmap,
                blocks: 1,
                tag: group,
            });
        }
        if bitmaps.len() == BATCH || group + 1 == device.superblock.groups {
            device.read_pieces(&mut bitmaps, &mut |piece, bytes| {
                let bytes = bytes.map_err(device.unread("cannot read a block bitmap"))?;
                free.add(piece.tag, bytes);
                Ok(())
            })?;
            bitmaps.clear();
        }
    }
    Ok(free.merged())
}

struct Free<'a> {
    device: &'a Device<'a>,
    /// In blocks.
    runs: Vec<Run>,
}

impl Free<'_> {
    fn add(&mut self, group: u32, bitmap: &[u8]) {
        let blocks = blocks_of(self.device, group);
        let cluster = u64::from(self.device.superblock.cluster_blocks);
        let size = self.device.block_bytes();
        let clusters = (blocks.end - blocks.start).div_ceil(cluster);
        bitmap::zero_runs(bitmap, clusters, &mut |start, length| {
            let start = blocks.start + start * cluster;
            let end = (start + length * cluster).min(blocks.end);
            self.runs.push(Run {
                start_bytes: start * size,
                length_bytes: (end - start) * size,
            });
        });
    }

    /// Groups of a batch came in the order of their bitmaps; runs may go on in the next group.
    fn merged(mut self) -> Vec<Run> {
        self.runs.sort_unstable_by_key(|run| run.start_bytes);
        self.runs.dedup_by(|next, run| {
            let adjacent = run.start_bytes + run.length_bytes == next.start_bytes;
            if adjacent {
                run.length_bytes += next.length_bytes;
            }
            adjacent
        });
        self.runs
    }
}

/// What the bitmap of a group would say that has none yet: that its own metadata are in use.
fn bitmap_of_metadata(device: &Device, group: u32, descriptor: &Descriptor) -> Vec<u8> {
    let blocks = blocks_of(device, group);
    let cluster = u64::from(device.superblock.cluster_blocks);
    let mut bitmap = vec![0; (blocks.end - blocks.start).div_ceil(cluster * 8) as usize];
    let used = [
        (blocks.start, base_blocks(device, group)),
        (descriptor.block_bitmap, 1),
        (descriptor.inode_bitmap, 1),
        (descriptor.inode_table, table_blocks(device)),
    ];
    for (start, length) in used {
        // Where groups are flexible, some of it lies in other groups.
        let end = start.saturating_add(length).clamp(blocks.start, blocks.end) - blocks.start;
        let start = start.clamp(blocks.start, blocks.end) - blocks.start;
        bitmap::set(&mut bitmap, start / cluster..end.div_ceil(cluster));
    }
    bitmap
}
