//! All metrics of a layout in one pass over its files.

use crate::{FreeSpace, LayoutBySize, LayoutScore, SplitFiles};
use fsage_core::{FileKind, Geometry, Layout};

/// What a layout is worth at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    /// Sizes of the file system.
    pub geometry: Geometry,
    /// Regular files.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Their lengths, added up (regular files only).
    pub file_bytes: u64,
    /// Regular files whose blocks are known.
    pub files_with_extents: u64,
    /// Files in more than one piece, among those.
    pub fragmented_files: u64,
    /// Pieces of all of them.
    pub extents: u64,
    /// Aggregate layout score.
    pub layout: LayoutScore,
    /// The same by file size.
    pub layout_by_size: LayoutBySize,
    /// Files whose data begin in another group than their inode.
    pub split: SplitFiles,
    /// Free space.
    pub free: FreeSpace,
}

impl Measures {
    /// Share of the data space in use, the reserve counted as free; `None` where the data space is unknown.
    pub fn utilization(&self) -> Option<f64> {
        self.free.utilization(&self.geometry)
    }
}

/// Measures a layout.
pub fn measure(layout: &(impl Layout + ?Sized)) -> Measures {
    let geometry = layout.geometry();
    let mut m = Measures {
        free: FreeSpace::of(layout, &geometry),
        geometry,
        files: 0,
        directories: 0,
        file_bytes: 0,
        files_with_extents: 0,
        fragmented_files: 0,
        extents: 0,
        layout: LayoutScore::default(),
        layout_by_size: LayoutBySize::new(),
        split: SplitFiles::default(),
    };
    layout.visit_files(&mut |file| {
        match file.kind {
            FileKind::Regular => {}
            FileKind::Directory => {
                m.directories += 1;
                return;
            }
            _ => return,
        }
        m.files += 1;
        m.file_bytes += file.size_bytes;
        let Some(extents) = file.extents else {
            return;
        };
        let pieces = extents.iter().filter(|e| !e.is_pointers()).count() as u64;
        m.files_with_extents += 1;
        m.extents += pieces;
        m.fragmented_files += u64::from(pieces > 1);
        let score = LayoutScore::of_file(file, &m.geometry);
        if score.scored > 0 {
            m.layout += score;
            m.layout_by_size.add(file.size_bytes, score);
        }
        m.split.add(file, &m.geometry);
    });
    m
}
