//! The rows of all inodes, with their names.

use super::Fault;
use super::names::{Tree, Walk};
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

/// Gives rows of inodes to a sink.
pub struct Rows<'a> {
    root: u64,
    names: Walk<'a>,
    /// Bytes that paths, and extents of further names, may still take.
    bound: u64,
    damaged_directories: BTreeSet<u64>,
    stale: bool,
    sink: &'a mut dyn SnapshotSink,
    report: Report,
    /// Inodes seen, and those of which the progress was told.
    seen: u64,
    warnings: &'a mut Warnings,
}

impl<'a> Rows<'a> {
    pub fn new(
        root: u64,
        tree: &'a Tree,
        damaged_directories: BTreeSet<u64>,
        stale: bool,
        sink: &'a mut dyn SnapshotSink,
        report: Report,
        warnings: &'a mut Warnings,
    ) -> Rows<'a> {
        let by_names = tree.name_bytes().saturating_mul(BOUND_PER_NAME_BYTE);
        Rows {
            root,
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

    /// The next inode in use is looked at; inodes ascend.
    pub fn see(&mut self) {
        self.seen += 1;
    }

    /// Warns of something; `kind` reads as in `files lie elsewhere`.
    pub fn warn(&mut self, kind: &'static str, example: String) {
        self.warnings.add(kind, example);
    }

    /// An inode has no row, as it cannot be read.
    pub fn left_out(&mut self, kind: &'static str, ino: u64, what: &str) {
        self.warn(kind, format!("inode {ino} ({what})"));
        self.report.unreadable += 1;
    }

    /// Takes an inode, with its extents and without its names, and what of it could not be read.
    pub fn add(&mut self, mut inode: Inode, fault: Option<Fault>) -> Result<(), CollectError> {
        let is_damaged = fault.is_some() || self.damaged_directories.contains(&inode.ino);
        if let Some(Fault(what)) = fault {
            let kind = "inodes are damaged; what could not be read of them is missing";
            self.warn(kind, format!("inode {} ({what})", inode.ino));
        }
        if is_damaged {
            inode.source_flags |= source_flags::UNREADABLE;
            self.report.unreadable += 1;
        }
        if self.stale {
            inode.source_flags |= source_flags::CHANGED_DURING_WALK;
        }
        self.give(inode)
    }

    /// One row a name.
    fn give(&mut self, mut inode: Inode) -> Result<(), CollectError> {
        if inode.ino == self.root {
            inode.parent_ino = Some(self.root);
            inode.path = Some(".".into());
            return self.row(inode);
        }
        let found = self.names.paths(inode.ino, self.bound);
        let example = format!("inode {}", inode.ino);
        if found.lost > 0 {
            let kind = "inodes have names to which no path leads, or a second name of a directory";
            self.warn(kind, example.clone());
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
            self.warn(kind, example.clone());
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
            self.warn(kind, example);
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
    pub fn report(&self, total: u64, progress: Progress<'_>) -> Result<(), CollectError> {
        if self.seen.is_multiple_of(TELL_ROWS) || self.seen == total {
            progress(self.seen, Some(total)).map_err(CollectError::Sink)?;
        }
        Ok(())
    }

    pub fn finish(self) -> Report {
        self.report
    }
}

/// What an inode says of where its data lie.
pub fn set_extents(inode: &mut Inode, extents: Box<[Extent]>) {
    let is_unwritten = |extent: &Extent| extent.flags & Extent::UNWRITTEN != 0;
    if extents.iter().any(is_unwritten) {
        inode.source_flags |= source_flags::UNWRITTEN;
    }
    inode.extents = Some(extents);
}

fn named(mut inode: Inode, parent: u64, path: String) -> Inode {
    inode.parent_ino = Some(parent);
    inode.path = Some(path.into());
    inode
}
