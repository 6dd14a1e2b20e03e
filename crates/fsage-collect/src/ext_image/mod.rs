//! Snapshots of unmounted ext2, ext3 and ext4 file systems, straight from the image or the block device.
//!
//! Needs no privilege but to read the file. Sources: the snapshot format, section 3.7, and the layout on disk as the
//! kernel's documentation of ext4 describes it. Three passes, all in the order of the disk:
//!
//! ```text
//! block bitmaps                  ->  free space
//! inode tables, only directories ->  blocks of directories  ->  names of all inodes
//! inode tables, all inodes       ->  rows, with extents and paths
//! ```
//!
//! An image may be hostile. No number in it is believed: places are compared with the size of the file system, this
//! with the length of the file; a block of pointers, or of a directory, is read for one inode only, so that neither
//! loops nor sharing make more work than there are blocks; what a few bytes could blow up (a long path for each of many
//! names, many extents for each of many hard links) has a bound together. Damage to an inode is told and marks this
//! inode. Damage to the superblock, or to a group descriptor, is an error.

mod bitmap;
mod bytes;
mod device;
mod directories;
mod directory;
mod extents;
mod free;
mod groups;
mod indirect;
mod inode;
mod mapping;
mod rows;
mod superblock;
mod tables;

pub use superblock::Superblock;

use crate::error::CollectError;
use crate::image::directories::{DirectoryBlocks, Push};
use crate::image::rows::Rows;
use crate::image::{ImageOptions, ReadAt};
use crate::report::{Progress, Report, Warnings};
use device::Device;
use directory::visit_entries;
use fsage_core::snapshot::SnapshotInfo;
use fsage_core::{SnapshotSink, Space};
use mapping::Mapper;
use std::path::Path;
use tables::visit_inodes;

/// Reads an ext2, ext3 or ext4 from any source of bytes, which is taken as not mounted; `path` is for messages.
pub(crate) fn read(
    source: &dyn ReadAt,
    path: &Path,
    options: &ImageOptions,
    sink: &mut dyn SnapshotSink,
    progress: Progress<'_>,
) -> Result<Report, CollectError> {
    let superblock = Superblock::read_from(source, path)?;
    if superblock.needs_recovery() && !options.stale {
        let problem = "the journal is to be replayed first, as after a crash or while the file system is mounted: \
                       mount and unmount it, run `e2fsck -p`, or read it all the same as a stale image";
        return Err(CollectError::unsuitable(path, problem));
    }
    let device = Device::new(source, path, &superblock);
    let mut warnings = Warnings::default();
    let free = free::runs(&device)?;
    progress(0, None).map_err(CollectError::Sink)?;

    let mut blocks = DirectoryBlocks::default();
    let mut mapper = Mapper::new(&device);
    let used = visit_inodes(&device, &mut |inode| {
        directories::add_inode(&mut blocks, &mut mapper, &device, &inode, &mut warnings);
        Ok(())
    })?;
    progress(0, Some(used)).map_err(CollectError::Sink)?;
    let typed = superblock.has_file_types();
    let read_block = &mut |_, _, bytes: &[u8], push: Push<'_>| {
        let mut bad = None;
        let read = visit_entries(bytes, typed, &mut |child, name| {
            bad = bad.take().or(push(child.into(), name).err());
        });
        read.and(bad.map_or(Ok(()), Err))
    };
    blocks.read(source, device.block_bytes(), &mut warnings, read_block)?;
    let root = u64::from(superblock::ROOT);
    let (tree, damaged) = blocks.into_tree(root);

    let free_bytes: u64 = free.iter().map(|run| run.length_bytes).sum();
    let space = Space {
        free_blocks: free_bytes / device.block_bytes(),
        free_frags: 0,
        free_inodes: u64::from(superblock.inodes).saturating_sub(used),
    };
    warn_of_superblock(&superblock, &space, &mut warnings);
    let info = info(&superblock, &space, options);
    sink.snapshot(info.clone()).map_err(CollectError::Sink)?;
    let report = Report {
        info,
        free: Some(free),
        ..Report::default()
    };
    let mut rows = Rows::new(
        root,
        &tree,
        damaged,
        options.stale,
        sink,
        report,
        &mut warnings,
    );
    let mut mapper = Mapper::new(&device);
    visit_inodes(&device, &mut |inode| {
        rows::add_inode(&mut rows, &mut mapper, &superblock, &inode)?;
        rows.report(used, progress)
    })?;
    let mut report = rows.finish();
    report.warnings = warnings.lines();
    Ok(report)
}

fn info(superblock: &Superblock, space: &Space, options: &ImageOptions) -> SnapshotInfo {
    let mut geometry = superblock.geometry();
    let block = u64::from(geometry.block_bytes);
    geometry.data_bytes = superblock
        .overhead_blocks()
        .map(|overhead| geometry.size_bytes - overhead * block);
    let info = SnapshotInfo {
        snap_id: options.snap_id,
        taken_at_ns: options
            .taken_at_ns
            .unwrap_or(superblock.written_s.saturating_mul(1_000_000_000)),
        source: "ext-image".to_owned(),
        fs_uuid: Some(superblock.uuid()),
        tool_version: Some(concat!("fsage ", env!("CARGO_PKG_VERSION")).to_owned()),
        ..SnapshotInfo::default()
    };
    info.with_layout(&geometry, Some(space))
}

fn warn_of_superblock(superblock: &Superblock, space: &Space, warnings: &mut Warnings) {
    let kind = "things about the superblock are not as they should be; `e2fsck -fn` says more";
    if superblock.is_unclean() {
        let what = "it was not unmounted, or has errors, as its state says";
        warnings.add(kind, what.to_owned());
    }
    let counts = [
        ("blocks", superblock.free_blocks, space.free_blocks),
        (
            "inodes",
            u64::from(superblock.free_inodes),
            space.free_inodes,
        ),
    ];
    for (what, said, counted) in counts {
        if said != counted {
            let what = format!("it says {said} free {what}, the bitmaps {counted}");
            warnings.add(kind, what);
        }
    }
}
