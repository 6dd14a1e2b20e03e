//! A layout that lies in memory: what a walk of a file system, or a reader of an image, found.

use crate::layout::{FileView, Geometry, Layout, Run, Space};
use crate::snapshot::{FurtherName, Inode};

/// Inodes with their extents, and free space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutInMemory {
    /// Sizes.
    pub geometry: Geometry,
    /// Free space by kind; `None` where it is not known.
    pub space: Option<Space>,
    /// Inodes, ascending by (number, generation).
    pub inodes: Vec<Inode>,
    /// Names beyond the first of inodes that have several, sorted.
    pub names: Vec<FurtherName>,
    /// Maximal runs of free space, ascending; `None` where they are not known.
    pub free: Option<Vec<Run>>,
}

impl Layout for LayoutInMemory {
    fn geometry(&self) -> Geometry {
        self.geometry.clone()
    }

    /// Known only where the runs are known too, so that the two never contradict each other.
    fn space(&self) -> Option<Space> {
        self.space.filter(|_| self.free.is_some())
    }

    fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
        for inode in &self.inodes {
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
