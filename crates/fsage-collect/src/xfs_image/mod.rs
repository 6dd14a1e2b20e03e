//! Snapshots of unmounted XFS file systems, straight from the image or the block device.
//!
//! Needs no privilege but to read the file. Source: the layout on disk of version 5 as `XFS Algorithms & Data
//! Structures` describes it. Passes:
//!
//! ```text
//! headers and trees of allocation groups  ->  free space, chunks of inodes
//! chunks, only directories                ->  blocks of directories  ->  names of all inodes
//! chunks, all inodes                      ->  rows, with extents and paths
//! ```
//!
//! An image may be hostile: all that the reader of ext images says of that holds here as well. Besides, every
//! structure has a checksum, its own place, its owner and the UUID of the file system, and all are compared. Damage to
//! an inode, or to a directory, is told and marks this inode. Damage to the superblock, or to a header or a tree of an
//! allocation group, is an error.

mod bytes;
mod device;
mod directory;
mod groups;
mod inode;
mod log;
mod mapping;
mod superblock;
mod tree;

pub(crate) use superblock::MAGIC;

use crate::error::CollectError;
use crate::image::directories::DirectoryBlocks;
use crate::image::rows::{Rows, set_extents};
use crate::image::{Fault, ImageOptions, ReadAt};
use crate::report::{Progress, Report, Warnings};
use device::Device;
use fsage_core::snapshot::SnapshotInfo;
use fsage_core::{FileKind, SnapshotSink, Space};
use groups::{CHUNK, Chunk, Groups};
use inode::{Format, RawInode};
use mapping::Mapper;
use std::path::Path;
use superblock::Superblock;

/// Reads an XFS from any source of bytes, which is taken as not mounted; `path` is for messages.
pub(crate) fn read(
    source: &dyn ReadAt,
    path: &Path,
    options: &ImageOptions,
    sink: &mut dyn SnapshotSink,
    progress: Progress<'_>,
) -> Result<Report, CollectError> {
    let superblock = Superblock::read(source, path)?;
    let device = Device {
        source,
        path,
        superblock: &superblock,
    };
    if !options.stale {
        refuse_unclean(&device)?;
    }
    let groups = Groups::read(&device)?;
    let (inodes, used) = groups.inodes();
    progress(0, Some(used)).map_err(CollectError::Sink)?;

    let mut warnings = Warnings::default();
    let mut blocks = DirectoryBlocks::default();
    let mut mapper = Mapper::new(device);
    let mut written_ns = 0;
    visit_inodes(&device, &groups.chunks, &mut |_, inode| {
        // What is no inode is told of when rows are made.
        let Ok(inode) = inode else {
            return Ok(());
        };
        written_ns = written_ns.max(inode.changed_ns());
        if inode.kind() == Some(FileKind::Directory) {
            let added = add_directory(&device, &mut blocks, &mut mapper, &inode);
            blocks.found(inode.ino, added.err(), &mut warnings);
        }
        Ok(())
    })?;
    blocks.read(
        source,
        device.block_bytes(),
        &mut warnings,
        &mut |ino, block, bytes, push| directory::visit_block(&device, ino, block, bytes, push),
    )?;
    let (tree, damaged) = blocks.into_tree(superblock.root);

    let free_bytes: u64 = groups.free.iter().map(|run| run.length_bytes).sum();
    let free_blocks = free_bytes / device.block_bytes();
    let more = superblock.most_inodes().saturating_sub(inodes);
    let space = Space {
        free_blocks,
        free_frags: 0,
        free_inodes: inodes - used
            + more.min(free_blocks * u64::from(superblock.inodes_per_block())),
    };
    let info = SnapshotInfo {
        snap_id: options.snap_id,
        taken_at_ns: options.taken_at_ns.unwrap_or(written_ns),
        source: "xfs-image".to_owned(),
        fs_uuid: Some(superblock.uuid()),
        tool_version: Some(concat!("fsage ", env!("CARGO_PKG_VERSION")).to_owned()),
        ..SnapshotInfo::default()
    };
    let info = info.with_layout(&superblock.geometry(), Some(&space));
    sink.snapshot(info.clone()).map_err(CollectError::Sink)?;
    let report = Report {
        info,
        free: Some(groups.free),
        ..Report::default()
    };
    let mut rows = Rows::new(
        superblock.root,
        &tree,
        damaged,
        options.stale,
        sink,
        report,
        &mut warnings,
    );
    let mut mapper = Mapper::new(device);
    visit_inodes(&device, &groups.chunks, &mut |ino, inode| {
        rows.see();
        if !superblock.owns(ino) {
            match inode {
                Ok(inode) => add_row(&mut rows, &mut mapper, &inode)?,
                Err(what) => rows.left_out("inodes are damaged, and were left out", ino, &what),
            }
        }
        rows.report(used, progress)
    })?;
    let mut report = rows.finish();
    report.warnings = warnings.lines();
    Ok(report)
}

fn refuse_unclean(device: &Device<'_>) -> Result<(), CollectError> {
    let problem = if device.superblock.log_start == 0 {
        "its log lies on another device, so that whether it must be replayed is unknown here: mount it and take \
         the snapshot of the mount point, or read it all the same as a stale image"
    } else if log::is_clean(device)? {
        return Ok(());
    } else {
        "the log is to be replayed first, as after a crash or while the file system is mounted: mount and unmount it, \
         or read it all the same as a stale image"
    };
    Err(CollectError::unsuitable(device.path, problem))
}

/// Called with the number of an inode, and with it or why it is none.
type VisitInode<'v> =
    &'v mut dyn FnMut(u64, Result<RawInode<'_>, String>) -> Result<(), CollectError>;

/// Visits every inode in use, ascending, with its number; what is in use and is no inode says why.
fn visit_inodes(
    device: &Device<'_>,
    chunks: &[Chunk],
    visit: VisitInode<'_>,
) -> Result<(), CollectError> {
    let superblock = device.superblock;
    let length = superblock.inode_bytes as usize;
    let mut bytes = vec![0; CHUNK as usize * length];
    for chunk in chunks.iter().filter(|chunk| chunk.used() != 0) {
        // From the first inode in use to the last one.
        let first = chunk.used().trailing_zeros();
        let last = chunk.used().ilog2();
        let bytes = &mut bytes[first as usize * length..(last as usize + 1) * length];
        let start = superblock.absolute_in(chunk.ag, 0) * device.block_bytes();
        let at = start + u64::from(chunk.first + first) * length as u64;
        let read = device.source.read_at(bytes, at);
        read.map_err(device.unread("cannot read a chunk of inodes"))?;
        for (slot, bytes) in (first..).zip(bytes.chunks_exact(length)) {
            if chunk.used() >> slot & 1 == 1 {
                let ino = superblock.inode(chunk.ag, chunk.first + slot);
                visit(ino, RawInode::new(ino, bytes, superblock))?;
            }
        }
    }
    Ok(())
}

fn add_directory(
    device: &Device<'_>,
    blocks: &mut DirectoryBlocks,
    mapper: &mut Mapper<'_>,
    inode: &RawInode<'_>,
) -> Result<(), Fault> {
    let owner = (inode.ino, false);
    blocks.add_directory(inode.ino);
    if inode.format() == Some(Format::Inside) {
        let area = inode.data().unwrap_or_default();
        return directory::visit_inside(area, &mut |child, name| blocks.push(owner, child, name));
    }
    for extent in mapper.extents(inode)? {
        let is_of_names = !extent.is_pointers() && extent.logical_bytes < directory::TABLES_BYTES;
        if is_of_names {
            blocks.add_extent(owner, &extent, device.block_bytes());
        }
    }
    Ok(())
}

fn add_row(
    rows: &mut Rows<'_>,
    mapper: &mut Mapper<'_>,
    raw: &RawInode<'_>,
) -> Result<(), CollectError> {
    let Some(mut inode) = raw.row() else {
        let what = format!("mode {:o}", raw.mode());
        rows.left_out(
            "inodes are in use, but have no type, and were left out",
            raw.ino,
            &what,
        );
        return Ok(());
    };
    if raw.is_realtime() {
        let kind = "files lie in the realtime section; where is not reported";
        rows.warn(kind, format!("inode {}", raw.ino));
        return rows.add(inode, None);
    }
    if raw.may_share() {
        let kind = "files may share blocks with others; which is not reported";
        rows.warn(kind, format!("inode {}", raw.ino));
    }
    let fault = match mapper.extents(raw) {
        Ok(extents) => {
            set_extents(&mut inode, extents);
            None
        }
        Err(fault) => Some(fault),
    };
    rows.add(inode, fault)
}
