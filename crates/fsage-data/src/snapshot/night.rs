//! One night of sorted rows, repaired: one row an inode.

use super::sort::Sorted;
use crate::error::DataError;
use fsage_core::snapshot::{FurtherName, Inode};
use fsage_core::{Extent, FileKind};
use rustc_hash::FxHashMap;

/// What was repaired in the rows of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Rows that came twice, equal in every column: written once.
    pub duplicates: u64,
    /// Rows of an inode that has another type in a row before, in order of paths, or second paths of a
    /// directory: left out.
    pub contradictions: u64,
    /// Rows of an inode (its further names, or the same name again) whose sizes, times or other columns differ
    /// from those of its first path: the first path's are kept.
    pub disagreements: u64,
    /// Lists of extents that overlap or end beyond 64 bits: taken as not collected.
    pub bad_extents: u64,
    /// Further names whose directory is not known: left out.
    pub lost_names: u64,
    /// Snapshots whose time is not after the one before: kept in the order of their numbers.
    pub times_not_after: u64,
}

impl Repairs {
    /// What was repaired, one line a kind, for people; nothing if nothing was.
    pub fn lines(&self) -> Vec<String> {
        let kinds = [
            (self.duplicates, "rows came twice and were written once"),
            (
                self.contradictions,
                "rows gave an inode a second type, or a directory a second path, and were left out",
            ),
            (
                self.disagreements,
                "rows differed from another row of the same inode: that of the smallest path was kept",
            ),
            (
                self.bad_extents,
                "inodes had overlapping extents, which were taken as not collected",
            ),
            (
                self.lost_names,
                "further names lay in unknown directories and were left out",
            ),
            (
                self.times_not_after,
                "snapshots were taken no later than the one before; they stay in the order of their numbers",
            ),
        ];
        let found = kinds.into_iter().filter(|(count, _)| *count > 0);
        found
            .map(|(count, what)| format!("{count} {what}"))
            .collect()
    }
}

/// Gives the inodes of one night, one row each, in order.
pub(super) struct Night {
    rows: Sorted,
    /// The first row of the next inode.
    ahead: Option<Inode>,
    started: bool,
    repairs: Repairs,
    names: Vec<FurtherName>,
    /// Further names whose row does not say the directory's inode: number, generation, path.
    unplaced: Vec<(u64, Option<u32>, Box<str>)>,
    /// Directories by path, where rows do not say their parents.
    directories: FxHashMap<Box<str>, u64>,
}

impl Night {
    pub fn new(rows: Sorted) -> Night {
        Night {
            rows,
            ahead: None,
            started: false,
            repairs: Repairs::default(),
            names: Vec::new(),
            unplaced: Vec::new(),
            directories: FxHashMap::default(),
        }
    }

    pub fn next(&mut self) -> Result<Option<Inode>, DataError> {
        if !self.started {
            self.started = true;
            self.ahead = self.rows.next()?;
        }
        let Some(mut inode) = self.ahead.take() else {
            return Ok(None);
        };
        while let Some(row) = self.rows.next()? {
            if (row.ino, row.generation) != (inode.ino, inode.generation) {
                self.ahead = Some(row);
                break;
            }
            self.add_row(&inode, row);
        }
        if let Some(extents) = &mut inode.extents
            && !tidy_extents(extents)
        {
            self.repairs.bad_extents += 1;
            inode.extents = None;
        }
        if let (FileKind::Directory, None, Some(path)) = (inode.kind, inode.parent_ino, &inode.path)
        {
            self.directories.insert(path.clone(), inode.ino);
        }
        Ok(Some(inode))
    }

    /// A further row of `inode`.
    fn add_row(&mut self, inode: &Inode, mut row: Inode) {
        if row == *inode {
            self.repairs.duplicates += 1;
            return;
        }
        let named_again = row.path.is_none() || row.path == inode.path;
        if row.kind != inode.kind || (row.kind == FileKind::Directory && !named_again) {
            self.repairs.contradictions += 1;
            return;
        }
        let parent = row.parent_ino;
        let path = row.path.take();
        row.path.clone_from(&inode.path);
        row.parent_ino = inode.parent_ino;
        self.repairs.disagreements += u64::from(row != *inode);
        let Some(path) = path.filter(|_| !named_again) else {
            // Equal but for a path that is missing, or for the parent.
            self.repairs.duplicates += u64::from(row == *inode);
            return;
        };
        match parent {
            Some(parent_ino) => self.push_name(row.ino, row.generation, parent_ino, &path),
            None => self.unplaced.push((row.ino, row.generation, path)),
        }
    }

    fn push_name(&mut self, ino: u64, generation: Option<u32>, parent_ino: u64, path: &str) {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        self.names.push(FurtherName {
            ino,
            generation,
            parent_ino,
            name: name.into(),
        });
    }

    /// The further names of the inodes that were given since the last call, sorted. None as soon as one waits for its
    /// directory, which may come late: then all that follow wait for [`Night::finish`].
    pub fn names(&mut self) -> Vec<FurtherName> {
        if !self.unplaced.is_empty() {
            return Vec::new();
        }
        self.names.sort_unstable();
        // A name that came twice.
        let names = self.names.len();
        self.names.dedup();
        self.repairs.duplicates += (names - self.names.len()) as u64;
        std::mem::take(&mut self.names)
    }

    /// All other further names, sorted; adds to the repairs.
    pub fn finish(mut self, repairs: &mut Repairs) -> Vec<FurtherName> {
        for (ino, generation, path) in std::mem::take(&mut self.unplaced) {
            let parent = path.rsplit_once('/').map_or(".", |(parent, _)| parent);
            match self.directories.get(parent) {
                Some(parent_ino) => self.push_name(ino, generation, *parent_ino, &path),
                None => self.repairs.lost_names += 1,
            }
        }
        let names = self.names();
        repairs.duplicates += self.repairs.duplicates;
        repairs.contradictions += self.repairs.contradictions;
        repairs.disagreements += self.repairs.disagreements;
        repairs.bad_extents += self.repairs.bad_extents;
        repairs.lost_names += self.repairs.lost_names;
        names
    }
}

/// Sorts extents by their place in the file, pointer blocks last, and merges neighbors; `false` if they overlap
/// or end beyond 64 bits.
fn tidy_extents(extents: &mut Box<[Extent]>) -> bool {
    extents.sort_by_key(|e| {
        (
            e.is_pointers(),
            if e.is_pointers() { 0 } else { e.logical_bytes },
        )
    });
    let mut merged: Vec<Extent> = Vec::with_capacity(extents.len());
    for extent in &**extents {
        let ends = |e: &Extent| {
            let logical = if e.is_pointers() { 0 } else { e.logical_bytes };
            let logical = logical.checked_add(e.length_bytes);
            logical.zip(e.physical_bytes.checked_add(e.length_bytes))
        };
        if ends(extent).is_none() {
            return false;
        }
        if extent.is_pointers() {
            merged.push(*extent);
            continue;
        }
        if let Some(last) = merged.last_mut() {
            let (logical, physical) = ends(last).unwrap_or_default();
            if extent.logical_bytes < logical {
                return false;
            }
            if (extent.logical_bytes, extent.physical_bytes) == (logical, physical)
                && extent.flags == last.flags
            {
                last.length_bytes += extent.length_bytes;
                continue;
            }
        }
        merged.push(*extent);
    }
    if merged.len() < extents.len() {
        *extents = merged.into();
    }
    true
}
