//! The inode tables, from one end to the other.

use super::bitmap;
use super::device::Device;
use super::groups::Groups;
use super::inode::RawInode;
use crate::error::CollectError;
use crate::image::pieces::READ_BYTES;

/// Visits every inode in use, ascending, the reserved ones included; returns how many there are.
pub fn visit_inodes(
    device: &Device,
    visit: &mut dyn FnMut(RawInode) -> Result<(), CollectError>,
) -> Result<u64, CollectError> {
    let superblock = device.superblock;
    let in_group = u64::from(superblock.inodes_per_group);
    let length = superblock.inode_bytes as usize;
    let at_once = READ_BYTES / length as u64;
    let mut groups = Groups::new(device);
    let mut table = Vec::new();
    let mut count = 0;
    for group in 0..superblock.groups {
        let descriptor = groups.get(group)?;
        if descriptor.no_inodes {
            continue;
        }
        let bitmap = device.read(descriptor.inode_bitmap, in_group.div_ceil(8) as usize);
        let bitmap = bitmap.map_err(device.unread("cannot read an inode bitmap"))?;
        let mut used = bitmap::ones(&bitmap, in_group).peekable();
        while let Some(&first) = used.peek() {
            // From an inode in use on, as much as is read at once; what is not in use at the end is read in vain.
            let inodes = at_once.min(in_group - first);
            table.resize(inodes as usize * length, 0);
            device
                .read_into(&mut table, descriptor.inode_table, first * length as u64)
                .map_err(device.unread("cannot read an inode table"))?;
            while let Some(index) = used.next_if(|index| *index < first + inodes) {
                let at = (index - first) as usize * length;
                let ino = u64::from(group) * in_group + index + 1;
                visit(RawInode::new(
                    ino as u32,
                    &table[at..at + length],
                    superblock,
                ))?;
                count += 1;
            }
        }
    }
    Ok(count)
}
