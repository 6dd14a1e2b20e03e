//! `XFS_IOC_FSGEOMETRY`: the sizes of a mounted XFS. Works without privilege.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// `_IOR('X', 124, struct xfs_fsop_geom_v4)`: the form that every kernel knows.
const XFS_IOC_FSGEOMETRY_V4: libc::c_ulong = 0x8070_587C;

/// `XFS_FSOP_GEOM_FLAGS_SPINODES`.
const SPARSE_INODES: u32 = 1 << 18;

/// `struct xfs_fsop_geom_v4`.
#[repr(C)]
#[derive(Default)]
struct Raw {
    block_size: u32,
    rt_extent_size: u32,
    ag_blocks: u32,
    ag_count: u32,
    log_blocks: u32,
    sector_size: u32,
    inode_size: u32,
    inode_max_percent: u32,
    data_blocks: u64,
    rt_blocks: u64,
    rt_extents: u64,
    log_start: u64,
    uuid: [u8; 16],
    stripe_unit: u32,
    stripe_width: u32,
    version: i32,
    flags: u32,
    log_sector_size: u32,
    rt_sector_size: u32,
    directory_block_size: u32,
    log_stripe_unit: u32,
}

/// Sizes of an XFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XfsGeometry {
    /// Block size.
    pub block_bytes: u32,
    /// Blocks of the data device.
    pub blocks: u64,
    /// Allocation groups.
    pub group_count: u32,
    /// Blocks of an allocation group.
    pub blocks_per_group: u32,
    /// Size of an inode.
    pub inode_bytes: u32,
    /// Chunks of inodes may lack some.
    pub sparse_inodes: bool,
    /// UUID.
    pub uuid: [u8; 16],
}

impl XfsGeometry {
    /// Inode numbers from one group to the next: a number is group, block in it and place in the block, each in a whole
    /// number of bits. `None` if that is no number of 32 bits, or makes no sense.
    pub fn inodes_per_group(&self) -> Option<u32> {
        let per_block = self.block_bytes.checked_div(self.inode_bytes)?;
        let blocks = self.blocks_per_group.checked_next_power_of_two()?;
        (per_block.is_power_of_two() && self.blocks_per_group > 0)
            .then(|| blocks.checked_mul(per_block))?
    }

    /// Length of the shortest run of free space that new inodes take: 64 inodes, or half of them where chunks may be
    /// sparse.
    pub fn inode_chunk_bytes(&self) -> u32 {
        let inodes = if self.sparse_inodes { 32 } else { 64 };
        self.inode_bytes.saturating_mul(inodes)
    }
}

/// The sizes of the XFS that `file` is on.
///
/// # Errors
/// `ENOTTY` where it is on no XFS.
pub fn xfs_geometry(file: impl AsFd) -> io::Result<XfsGeometry> {
    let raw = call(&file)?;
    Ok(XfsGeometry {
        block_bytes: raw.block_size,
        blocks: raw.data_blocks,
        group_count: raw.ag_count,
        blocks_per_group: raw.ag_blocks,
        inode_bytes: raw.inode_size,
        sparse_inodes: raw.flags & SPARSE_INODES != 0,
        uuid: raw.uuid,
    })
}

#[allow(unsafe_code)]
fn call(file: &impl AsFd) -> io::Result<Raw> {
    let fd = file.as_fd().as_raw_fd();
    let mut raw = Raw::default();
    // SAFETY: `raw` is a live `struct xfs_fsop_geom_v4`, whose size the request names, and any bytes that the kernel
    // writes there are valid integers.
    let result =
        unsafe { libc::ioctl(fd, XFS_IOC_FSGEOMETRY_V4 as _, std::ptr::from_mut(&mut raw)) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inode_numbers_of_a_group_are_a_whole_number_of_bits() {
        // xfs_info of a 300 MB file system: agsize 19200 blocks of 4096 bytes, isize 512: 15 bits of block, 3 of inode.
        let geometry = XfsGeometry {
            block_bytes: 4096,
            blocks: 76800,
            group_count: 4,
            blocks_per_group: 19200,
            inode_bytes: 512,
            sparse_inodes: false,
            uuid: [0; 16],
        };
        assert_eq!(geometry.inodes_per_group(), Some(1 << 18));
        assert_eq!(geometry.inode_chunk_bytes(), 32768);
        let sparse = XfsGeometry {
            sparse_inodes: true,
            ..geometry
        };
        assert_eq!(sparse.inode_chunk_bytes(), 16384);
        let none = [(0, 512, 1), (4096, 0, 1), (4096, 512, u32::MAX)];
        for (block_bytes, inode_bytes, blocks_per_group) in none {
            let strange = XfsGeometry {
                block_bytes,
                blocks_per_group,
                inode_bytes,
                ..geometry
            };
            assert_eq!(strange.inodes_per_group(), None);
        }
    }
}
