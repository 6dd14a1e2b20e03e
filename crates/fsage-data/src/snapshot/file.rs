//! A stored snapshot as a layout.

use super::form::Form;
use super::inode_reader::{InodeReader, snapshot_range};
use super::names::NamesReader;
use super::{beside, read_free_map, read_snapshot_table};
use crate::error::DataError;
use fsage_core::snapshot::{FurtherName, Inode, SnapshotInfo, SnapshotRow};
use fsage_core::{Extent, FileKind, FileView, Geometry, Layout, Run, Space};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// One snapshot of an inode table, in memory: about 100 bytes an inode, 32 an extent, and the bytes of the paths.
///
/// Sizes come from the snapshot table beside it, free space from the free map beside it. Without a snapshot
/// table the block size is the largest power of two, up to 4096, that divides every extent, the file system
/// ends where the last extent ends, and everything else is 0. Without a free map
/// [`visit_free`](Layout::visit_free) visits nothing, and [`SnapshotFile::free_known`] says so: what is not in
/// a file may be metadata.
#[derive(Debug)]
pub struct SnapshotFile {
    snap_id: u32,
    info: Option<SnapshotInfo>,
    geometry: Geometry,
    space: Option<Space>,
    files: Vec<File>,
    extents: Vec<Extent>,
    /// All paths, one behind the other.
    paths: String,
    names: Vec<FurtherName>,
    free: Option<Vec<Run>>,
}

#[derive(Debug)]
struct File {
    ino: u64,
    generation: Option<u32>,
    parent_ino: Option<u64>,
    kind: FileKind,
    links: u32,
    size_bytes: u64,
    alloc_bytes: Option<u64>,
    extents: Option<Range<usize>>,
    path: Option<Range<usize>>,
    source_flags: u32,
}

impl SnapshotFile {
    /// Reads the last snapshot of an inode table, in full or delta form.
    ///
    /// # Errors
    /// A file cannot be read, is no such table, or a row cannot be right.
    pub fn open(path: impl AsRef<Path>) -> Result<SnapshotFile, DataError> {
        let path = path.as_ref();
        let (_, range) = snapshot_range(path)?;
        let (_, last) =
            range.ok_or_else(|| DataError::unsuitable(path, "the table has no rows"))?;
        SnapshotFile::open_snapshot(path, last)
    }

    /// Reads one snapshot of an inode table.
    ///
    /// # Errors
    /// There is no such snapshot; or as for [`SnapshotFile::open`].
    pub fn open_snapshot(path: impl AsRef<Path>, snap_id: u32) -> Result<SnapshotFile, DataError> {
        let path = path.as_ref();
        let mut snapshot = SnapshotFile::empty(snap_id);
        snapshot.read_inodes(path)?;
        if let Some(table) = beside(path, ".snapshots.parquet") {
            let rows = read_snapshot_table(&table)?;
            snapshot.info = rows.into_iter().find(|row| row.snap_id == snap_id);
        }
        if let Some(names) = beside(path, ".names.parquet") {
            snapshot.names = NamesReader::open(names)?.names_of(snap_id)?;
        }
        if let Some(map) = beside(path, ".free.parquet") {
            snapshot.free = Some(read_free_map(&map, snap_id)?);
        }
        snapshot.set_sizes();
        Ok(snapshot)
    }

    fn empty(snap_id: u32) -> SnapshotFile {
        SnapshotFile {
            snap_id,
            info: None,
            geometry: SnapshotInfo::default().geometry(),
            space: None,
            files: Vec::new(),
            extents: Vec::new(),
            paths: String::new(),
            names: Vec::new(),
            free: None,
        }
    }

    /// Number of the snapshot.
    pub fn snap_id(&self) -> u32 {
        self.snap_id
    }

    /// Its row of the snapshot table, where there is one.
    pub fn info(&self) -> Option<&SnapshotInfo> {
        self.info.as_ref()
    }

    /// Inodes in use.
    pub fn inode_count(&self) -> usize {
        self.files.len()
    }

    /// Whether free space is known run by run.
    pub fn free_known(&self) -> bool {
        self.free.is_some()
    }

    fn read_inodes(&mut self, path: &Path) -> Result<(), DataError> {
        let mut reader = InodeReader::open_layout(path, Some(self.snap_id))?;
        each_inode(&mut reader, self.snap_id, &mut |inode| self.push(&inode))
    }

    fn push(&mut self, inode: &Inode) {
        let start = self.extents.len();
        self.extents
            .extend_from_slice(inode.extents.as_deref().unwrap_or_default());
        let end = self.extents.len();
        let path = inode.path.as_deref().map(|path| {
            let start = self.paths.len();
            self.paths.push_str(path);
            start..self.paths.len()
        });
        self.files.push(File {
            ino: inode.ino,
            generation: inode.generation,
            parent_ino: inode.parent_ino,
            kind: inode.kind,
            links: inode.links.unwrap_or(1),
            size_bytes: inode.size_bytes,
            alloc_bytes: inode.alloc_bytes,
            extents: inode.extents.as_ref().map(|_| start..end),
            path,
            source_flags: inode.source_flags,
        });
    }

    fn set_sizes(&mut self) {
        let sizes = sizes(
            self.info.as_ref(),
            &|visit| self.extents.iter().for_each(visit),
            self.free.as_deref(),
        );
        (self.geometry, self.space) = sizes;
    }
}

/// Visits all extents of a snapshot.
pub(super) type Visited<'a> = dyn Fn(&mut dyn FnMut(&Extent)) + 'a;

/// Sizes of a file system, as far as its snapshot tells them; what its row of the snapshot table does not say follows
/// from its extents and free runs.
pub(super) fn sizes(
    info: Option<&SnapshotInfo>,
    extents: &Visited<'_>,
    free: Option<&[Run]>,
) -> (Geometry, Option<Space>) {
    let unknown = SnapshotInfo::default();
    let info = info.unwrap_or(&unknown);
    let (mut geometry, space) = (info.geometry(), info.space());
    if geometry.block_bytes == 0 {
        let mut all = 4096;
        extents(&mut |extent| all |= extent.physical_bytes | extent.length_bytes);
        geometry.block_bytes = 1 << all.trailing_zeros();
        geometry.frag_bytes = geometry.block_bytes;
    }
    if geometry.size_bytes == 0 {
        let free = free.unwrap_or_default().iter();
        let free = free.map(|run| run.start_bytes.saturating_add(run.length_bytes));
        let mut end = free.max().unwrap_or(0);
        extents(&mut |e| end = end.max(e.physical_bytes.saturating_add(e.length_bytes)));
        geometry.size_bytes = end;
    }
    (geometry, space)
}

/// Gives the inodes of one snapshot of a table in either form, ascending.
pub(super) fn each_inode(
    reader: &mut InodeReader,
    snap_id: u32,
    give: &mut dyn FnMut(Inode),
) -> Result<(), DataError> {
    let found = match reader.form() {
        Form::Full => of_full(reader, snap_id, give)?,
        Form::Delta => of_delta(reader, snap_id, give)?,
    };
    if !found {
        let problem = format!("there is no snapshot {snap_id} in it");
        return Err(DataError::unsuitable(reader.path(), problem));
    }
    Ok(())
}

fn of_full(
    reader: &mut InodeReader,
    snap_id: u32,
    give: &mut dyn FnMut(Inode),
) -> Result<bool, DataError> {
    let mut found = false;
    while let Some((of, row)) = reader.next_row()? {
        if of > snap_id {
            break;
        }
        if let (true, SnapshotRow::Present(inode)) = (of == snap_id, row) {
            found = true;
            give(inode);
        }
    }
    Ok(found)
}

/// Applies all changes up to the snapshot. One without changes of its own has no rows: it is there if a later one is.
fn of_delta(
    reader: &mut InodeReader,
    snap_id: u32,
    give: &mut dyn FnMut(Inode),
) -> Result<bool, DataError> {
    let mut inodes = BTreeMap::new();
    let (mut first, mut last) = (None, 0);
    while let Some((of, row)) = reader.next_row()? {
        first.get_or_insert(of);
        last = of;
        if of > snap_id {
            break;
        }
        let key = row.key();
        match row {
            SnapshotRow::Present(inode) => inodes.insert(key, inode),
            SnapshotRow::Gone { .. } => inodes.remove(&key),
        };
    }
    inodes.into_values().for_each(give);
    Ok(first.is_some_and(|first| (first..=last).contains(&snap_id)))
}

impl Layout for SnapshotFile {
    fn geometry(&self) -> Geometry {
        self.geometry.clone()
    }

    /// Known only where the runs are known too, so that the two never contradict each other.
    fn space(&self) -> Option<Space> {
        self.space.filter(|_| self.free_known())
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        for file in &self.files {
            visit(&FileView {
                ino: file.ino,
                generation: file.generation,
                parent_ino: file.parent_ino,
                kind: file.kind,
                links: file.links,
                size_bytes: file.size_bytes,
                alloc_bytes: file.alloc_bytes,
                extents: file.extents.clone().map(|range| &self.extents[range]),
                path: file.path.clone().map(|range| &self.paths[range]),
                source_flags: file.source_flags,
            });
        }
    }

    fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
        for run in self.free.iter().flatten() {
            visit(*run);
        }
    }

    fn visit_further_names(&self, visit: &mut dyn FnMut(&FurtherName)) {
        self.names.iter().for_each(visit);
    }
}
