//! A snapshot into memory.

use crate::report::Report;
use fsage_core::names::unescape;
use fsage_core::snapshot::{FurtherName, Inode, SnapshotInfo, SnapshotSink};
use fsage_core::{FileKind, LayoutInMemory, SinkError};
use std::borrow::Cow;

/// Keeps the rows of a snapshot, to be measured at once.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    rows: Vec<Inode>,
}

impl Memory {
    /// The layout that the rows and the report of the same snapshot say. Of an inode with several names the row of the
    /// smallest path in byte order stays, and the others are further names.
    pub fn layout(self, report: &Report) -> LayoutInMemory {
        let mut rows = self.rows;
        rows.sort_by(|a, b| {
            let key = |inode: &Inode| (inode.ino, inode.generation);
            key(a)
                .cmp(&key(b))
                .then_with(|| path_bytes(a).cmp(&path_bytes(b)))
        });
        let mut inodes: Vec<Inode> = Vec::with_capacity(rows.len());
        let mut names = Vec::new();
        for row in rows {
            match inodes.last() {
                Some(first) if (first.ino, first.generation) == (row.ino, row.generation) => {
                    names.extend(further_name(first, &row));
                }
                _ => inodes.push(row),
            }
        }
        names.sort_unstable();
        names.dedup();
        LayoutInMemory {
            geometry: report.info.geometry(),
            space: report.info.space(),
            inodes,
            names,
            free: report.free.clone(),
        }
    }
}

/// The name that a further row of an inode gives; none for a directory, which has one name and was moved meanwhile.
fn further_name(first: &Inode, row: &Inode) -> Option<FurtherName> {
    let path = row
        .path
        .as_deref()
        .filter(|path| first.path.as_deref() != Some(*path))?;
    if row.kind != first.kind || row.kind == FileKind::Directory {
        return None;
    }
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    Some(FurtherName {
        ino: row.ino,
        generation: row.generation,
        parent_ino: row.parent_ino?,
        name: name.into(),
    })
}

/// The bytes of a path; an inode without one comes last.
fn path_bytes(inode: &Inode) -> (bool, Cow<'_, [u8]>) {
    match inode.path.as_deref() {
        Some(path) if path.contains('\\') => match unescape(path) {
            Some(bytes) => (false, Cow::Owned(bytes.into_vec())),
            None => (false, Cow::Borrowed(path.as_bytes())),
        },
        Some(path) => (false, Cow::Borrowed(path.as_bytes())),
        None => (true, Cow::Borrowed(&[])),
    }
}

impl SnapshotSink for Memory {
    /// Forgets the snapshot before.
    fn snapshot(&mut self, _: SnapshotInfo) -> Result<(), SinkError> {
        self.rows.clear();
        Ok(())
    }

    fn inode(&mut self, inode: Inode) -> Result<(), SinkError> {
        self.rows.push(inode);
        Ok(())
    }
}
