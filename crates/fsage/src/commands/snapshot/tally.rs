//! How the files of a snapshot lie, counted as their rows pass by.

use fsage_core::snapshot::{Inode, SnapshotInfo, SnapshotSink};
use fsage_core::{FileKind, SinkError};
use std::collections::HashSet;

/// Counts regular files that have blocks, and gives all rows on.
pub struct Counting<'a> {
    sink: &'a mut dyn SnapshotSink,
    tally: Tally,
    /// Inodes with several names, which count once.
    linked: HashSet<u64>,
}

/// How regular files lie.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Files that have blocks.
    pub files: u64,
    /// Their extents.
    pub extents: u64,
    /// Those with more than one extent.
    pub in_pieces: u64,
}

impl Tally {
    /// In front of `sink`.
    pub fn new(sink: &mut dyn SnapshotSink) -> Counting<'_> {
        Counting {
            sink,
            tally: Tally::default(),
            linked: HashSet::new(),
        }
    }

    /// 0 where no file has blocks.
    pub fn extents_per_file(&self) -> f64 {
        self.extents as f64 / self.files.max(1) as f64
    }
}

impl Counting<'_> {
    /// What was counted.
    pub fn done(self) -> Tally {
        self.tally
    }
}

impl SnapshotSink for Counting<'_> {
    fn snapshot(&mut self, info: SnapshotInfo) -> Result<(), SinkError> {
        self.sink.snapshot(info)
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        let extents = inode.extents.iter().flatten();
        let extents = extents.filter(|extent| extent.is_placed_data()).count() as u64;
        let is_file = inode.kind == FileKind::Regular && extents > 0;
        if is_file && (inode.links == Some(1) || self.linked.insert(inode.ino)) {
            self.tally.files += 1;
            self.tally.extents += extents;
            self.tally.in_pieces += u64::from(extents > 1);
        }
        self.sink.inode(inode)
    }
}
