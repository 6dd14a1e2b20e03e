//! What a mounted file system says of itself, without privilege.

use crate::handle::{BTRFS_MAGIC, EXT_MAGIC, TMPFS_MAGIC, XFS_MAGIC};
use crate::mounts::mounts;
use crate::uuid::{fs_uuid, uuid_text};
use crate::xfs_geometry::{XfsGeometry, xfs_geometry};
use rustix::fs::{AtFlags, Statx, StatxFlags, fstatfs, fstatvfs, statx};
use std::io;
use std::os::fd::AsFd;

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Type, as `mount -t` names it; guessed from the magic number where the mount is not in the table of mounts.
    pub fs_type: String,
    /// `f_type` of `statfs`.
    pub magic: u64,
    /// Major and minor number of the device: `st_dev`.
    pub device: (u32, u32),
    /// What is mounted, mostly the path of a device; `None` where the mount is not in the table of mounts.
    pub source: Option<String>,
    /// Options of the mount and of the file system, separated by commas; as `source`.
    pub mount_options: Option<String>,
    /// Block size.
    pub block_bytes: u32,
    /// Space for data and what data needs, as `statfs` counts it: without fixed metadata on ext2/3/4, without the log
    /// on XFS.
    pub total_bytes: u64,
    /// Free space, the reserve included.
    pub free_bytes: u64,
    /// Held back for the superuser; on ext4 also what the driver holds back for itself, at most 2 %.
    pub reserved_bytes: u64,
    /// Inodes in all; 0 where they have no fixed number.
    pub inodes_total: u64,
    /// Free inodes.
    pub inodes_free: u64,
    /// UUID as text, where the kernel tells it.
    pub uuid: Option<String>,
    /// Of XFS, its sizes.
    pub xfs: Option<XfsGeometry>,
}

/// What is known of the file system that `file` is on.
///
/// # Errors
/// `statx` or `statfs` fails, as when the device is gone.
pub fn facts(file: impl AsFd) -> io::Result<Facts> {
    let flags = AtFlags::EMPTY_PATH;
    let stat = statx(
        &file,
        c"",
        flags,
        StatxFlags::BASIC_STATS | StatxFlags::MNT_ID,
    )?;
    let sizes = fstatvfs(&file)?;
    let magic = magic(&file)?;
    let device = (stat.stx_dev_major, stat.stx_dev_minor);
    let mount = mounts()
        .unwrap_or_default()
        .into_iter()
        .rev()
        .find(|mount| is_on(&stat, mount.id, mount.device));
    let xfs = if magic == XFS_MAGIC {
        xfs_geometry(&file).ok()
    } else {
        None
    };
    let uuid = fs_uuid(&file).ok().or(xfs.map(|xfs| xfs.uuid));
    let bytes = |blocks: u64| blocks.saturating_mul(sizes.f_frsize);
    let (fs_type, source, mount_options) = match mount {
        Some(mount) => (mount.fs_type, Some(mount.source), Some(mount.options)),
        None => (name_of(magic), None, None),
    };
    Ok(Facts {
        fs_type,
        magic,
        device,
        source,
        mount_options,
        block_bytes: u32::try_from(sizes.f_frsize).unwrap_or(0),
        total_bytes: bytes(sizes.f_blocks),
        free_bytes: bytes(sizes.f_bfree),
        reserved_bytes: bytes(sizes.f_bfree.saturating_sub(sizes.f_bavail)),
        inodes_total: sizes.f_files,
        inodes_free: sizes.f_ffree,
        uuid: uuid.as_ref().map(uuid_text),
        xfs,
    })
}

/// `f_type` of `statfs`.
///
/// # Errors
/// As for [`facts`].
pub fn magic(file: impl AsFd) -> io::Result<u64> {
    // Some are 32-bit numbers with the highest bit set.
    Ok(fstatfs(&file)?.f_type as u64 & 0xffff_ffff)
}

/// Whether a file is on that mount: by its number, where the kernel tells it, or else by device.
fn is_on(stat: &Statx, id: u64, device: (u32, u32)) -> bool {
    if stat.stx_mask & StatxFlags::MNT_ID.bits() != 0 {
        id == stat.stx_mnt_id
    } else {
        device == (stat.stx_dev_major, stat.stx_dev_minor)
    }
}

/// A file system of that magic number. ext2, ext3 and ext4 have one: the driver of ext4 serves them all.
fn name_of(magic: u64) -> String {
    let known = match magic {
        EXT_MAGIC => "ext4",
        XFS_MAGIC => "xfs",
        BTRFS_MAGIC => "btrfs",
        TMPFS_MAGIC => "tmpfs",
        0x794C_7630 => "overlay",
        0xF2F5_2010 => "f2fs",
        0x3434 => "nilfs2",
        0x6969 => "nfs",
        0x6573_5546 => "fuse",
        _ => return format!("{magic:#x}"),
    };
    known.to_owned()
}
