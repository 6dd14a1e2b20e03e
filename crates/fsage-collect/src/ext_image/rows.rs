//! The rows of all inodes, with their extents and names.

use super::device::Device;
use super::inode::RawInode;
use super::mapping::{Fault, Mapper};
use super::names::{Tree, Walk};
use super::superblock::ROOT;
use crate::error::CollectError;
use crate::report::{Progress, Report, Warnings};
use fsage_core::snapshot::{Inode, source_flags};
use fsage_core::{Extent, SnapshotSink};
use std::collections::BTreeSet;

/// Rows from one call of the progress to the next.
const TELL_ROWS: u64 = 4096;
/// What paths, and extents of further names, may take together: this, and so much a byte of all names. Trees that are
/// in use stay far below.
const BOUND_BYTES: u64 = 1 << 30;
const BOUND_PER_NAME_BYTE: u64 = 64;

/// Makes rows of inodes, and gives them to a sink.
pub struct Rows<'a> {
    device: &'a Device<'a>,
    mapper: Mapper<'a>,
    names: Walk<'a>,
    /// Bytes that paths, and extents of further names, may still take.
    bound: u64,
    damaged_directories: BTreeSet<u32>,
    stale: bool,
    sink: &'a mut dyn SnapshotSink,
    report: Report,
    /// Inodes seen, and those of which the progress was told.
    seen: u64,
    warnings: &'a mut Warnings,
}

impl<'a> Rows<'a> {
    pub fn new(
        device: &'a Device<'a>,
        tree: &'a Tree,
        damaged_directories: BTreeSet<u32>,
        stale: bool,
        sink: &'a mut dyn SnapshotSink,
        report: Report,
        warnings: &'a mut Warnings,
    ) -> Rows<'a> {
        let by_names = tree.name_bytes().saturating_mul(BOUND_PER_NAME_BYTE);
        Rows {
            device,
            mapper: Mapper::new(device),
            names: tree.walk(),
            bound: BOUND_BYTES.saturating_add(by_names),
            damaged_directories,
            stale,
            sink,
            report,
            seen: 0,
            warnings,
        }
    }

    /// Takes the next inode in use; inodes ascend.
    pub fn add(&mut self, raw: &RawInode) -> Result<(), CollectError> {
        self.seen += 1;
        let ino = raw.ino;
        if self.device.superblock.owns(ino) {
            return Ok(());
        }
        if raw.is_attribute() {
            let kind = "inodes hold extended attributes, are no files, and were left out";
            self.warnings.add(kind, format!("inode {ino}"));
            return Ok(());
        }
        let Some(mut inode) = raw.row() else {
            let kind = "inodes are in use, but have no type, and were left out";
            self.warnings
                .add(kind, format!("inode {ino} (mode {:o})", raw.mode()));
            self.report.unreadable += 1;
            return Ok(());
        };
        self.add_extents(raw, &mut inode);
        if self.stale {
            inode.source_flags |= source_flags::CHANGED_DURING_WALK;
        }
        self.report.unreadable += u64::from(inode.source_flags & source_flags::UNREADABLE != 0);
        self.give(inode)
    }

    fn add_extents(&mut self, raw: &RawInode, inode: &mut Inode) {
        let mut damaged = self.damaged_directories.contains(&raw.ino);
        let mut fault = None;
        match self.mapper.extents(raw) {
            Ok(extents) => {
                let unwritten = |extent: &Extent| extent.flags & Extent::UNWRITTEN != 0;
                if extents.iter().any(unwritten) {
                    inode.source_flags |= source_flags::UNWRITTEN;
                }
                inode.extents = Some(extents);
            }
            Err(Fault(what)) => fault = Some(what),
        }
        if !raw.extra_is_sound() {
            fault = Some("the length of its further fields leads out of it".to_owned());
        }
        if let Some(what) = fault {
            damaged = true;
            let kind = "inodes are damaged; what could not be read of them is missing";
            self.warnings
                .add(kind, format!("inode {} ({what})", raw.ino));
        }
        if damaged {
            inode.source_flags |= source_flags::UNREADABLE;
        }
    }

    /// One row a name.
    fn give(&mut self, mut inode: Inode) -> Result<(), CollectError> {
        if inode.ino == u64::from(ROOT) {
            inode.parent_ino = Some(u64::from(ROOT));
            inode.path = Some(".".into());
            return self.row(inode);
        }
        let found = self.names.paths(inode.ino as u32, self.bound);
        let example = format!("inode {}", inode.ino);
        if found.lost > 0 {
            let kind = "inodes have names to which no path leads, or a second name of a directory";
            self.warnings.add(kind, example.clone());
        }
        let path_bytes = found.paths.iter().map(|(_, path)| path.len() as u64);
        self.bound = self.bound.saturating_sub(path_bytes.sum());
        let mut left_out = found.too_long;
        if left_out > 0 {
            self.bound = 0;
        }
        let extents = inode.extents.as_deref().map_or(0, <[Extent]>::len);
        let extent_bytes = (extents * size_of::<Extent>()) as u64;
        let mut paths = found.paths.into_iter();
        let first = paths.next();
        if first.is_none() && found.too_long == 0 {
            let kind = "inodes are in use, but no path leads to them";
            self.warnings.add(kind, example.clone());
        }
        for (parent, path) in paths {
            match self.bound.checked_sub(extent_bytes) {
                Some(bound) => {
                    self.bound = bound;
                    self.row(named(inode.clone(), parent, path))?;
                }
                None => left_out += 1,
            }
        }
        if left_out > 0 {
            let kind = "inodes lack names: all paths together are longer than they can mean to be";
            self.warnings.add(kind, example);
        }
        match first {
            Some((parent, path)) => self.row(named(inode, parent, path)),
            None => self.row(inode),
        }
    }

    fn row(&mut self, inode: Inode) -> Result<(), CollectError> {
        self.report.rows += 1;
        self.sink.inode(inode).map_err(CollectError::Sink)
    }

    /// Tells the progress now and then; `total` inodes are in use.
    pub fn tell(&self, total: u64, progress: Progress) -> Result<(), CollectError> {
        if self.seen.is_multiple_of(TELL_ROWS) || self.seen == total {
            progress(self.seen, Some(total)).map_err(CollectError::Sink)?;
        }
        Ok(())
    }

    pub fn finish(self) -> Report {
        self.report
    }
}

fn named(mut inode: Inode, parent: u32, path: String) -> Inode {
    inode.parent_ino = Some(u64::from(parent));
    inode.path = Some(path.into());
    inode
}
