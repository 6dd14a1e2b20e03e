//! A snapshot of a series as a layout, without a copy of its inodes.

use super::file::sizes;
use super::series::InodeKey;
use fsage_core::snapshot::{FurtherName, Inode, SnapshotInfo};
use fsage_core::{FileView, Geometry, Layout, Run, Space};
use std::collections::BTreeMap;

/// The snapshot that a series is at. Sizes and free space are those of a [`SnapshotFile`](super::SnapshotFile).
#[derive(Debug)]
pub struct SnapshotView<'a> {
    info: &'a SnapshotInfo,
    geometry: Geometry,
    space: Option<Space>,
    inodes: &'a BTreeMap<InodeKey, Inode>,
    names: &'a [FurtherName],
    free: Option<Vec<Run>>,
}

impl<'a> SnapshotView<'a> {
    pub(super) fn new(
        info: &'a SnapshotInfo,
        inodes: &'a BTreeMap<InodeKey, Inode>,
        names: &'a [FurtherName],
        free: Option<Vec<Run>>,
    ) -> SnapshotView<'a> {
        let extents = inodes.values().filter_map(|inode| inode.extents.as_deref());
        let each =
            |visit: &mut dyn FnMut(&fsage_core::Extent)| extents.clone().flatten().for_each(visit);
        let (geometry, space) = sizes(Some(info), &each, free.as_deref());
        SnapshotView {
            info,
            geometry,
            space,
            inodes,
            names,
            free,
        }
    }

    /// Its row of the snapshot table, or what stands for it.
    pub fn info(&self) -> &'a SnapshotInfo {
        self.info
    }

    /// Inodes in use.
    pub fn inode_count(&self) -> usize {
        self.inodes.len()
    }
}

impl Layout for SnapshotView<'_> {
    fn geometry(&self) -> Geometry {
        self.geometry.clone()
    }

    /// Known only where the runs are known too, so that the two never contradict each other.
    fn space(&self) -> Option<Space> {
        self.space.filter(|_| self.free.is_some())
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        for inode in self.inodes.values() {
            visit(&inode.view());
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
