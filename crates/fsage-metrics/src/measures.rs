//! All metrics of a layout.

use crate::sign::Sign;
use crate::{DirectoryOrder, FreeSpace, LayoutScore, Sums};
use fsage_core::{FileView, Geometry, Layout, LogUsage};

/// What a layout is worth at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    /// Sizes of the file system.
    pub geometry: Geometry,
    /// What is added up over inodes.
    pub sums: Sums,
    /// Files in directory order.
    pub order: DirectoryOrder,
    /// Free space; `None` where it is not known.
    pub free: Option<FreeSpace>,
    /// Segments and cleaner; `None` where there is no log.
    pub log: Option<LogUsage>,
}

impl Measures {
    /// No files, and nothing known of free space.
    pub(crate) fn new(geometry: Geometry) -> Measures {
        Measures {
            geometry,
            sums: Sums::default(),
            order: DirectoryOrder::default(),
            free: None,
            log: None,
        }
    }

    /// Counts an inode, or takes back what it counted, in all that is a sum over inodes.
    pub(crate) fn count(&mut self, file: &FileView<'_>, sign: Sign) {
        self.sums.count(file, &self.geometry, sign);
    }

    /// Aggregate layout score.
    pub fn layout(&self) -> LayoutScore {
        self.sums.layout_score.all
    }

    /// Share of the data space in use, the reserve counted as free; `None` where the data space is unknown.
    pub fn utilization(&self) -> Option<f64> {
        self.free.as_ref()?.utilization(&self.geometry)
    }

    /// The same without what is allocated behind the end of files; never less than their data need. A mounted XFS
    /// reports more behind ends than it has taken from its free space yet.
    pub fn lasting_utilization(&self) -> Option<f64> {
        let data = self.geometry.data_bytes? as f64;
        let pieces = &self.sums.pieces;
        let [behind, live] =
            [pieces.beyond_end_bytes, pieces.live_bytes].map(|bytes| bytes as f64 / data);
        let used = self.utilization()?;
        Some((used - behind).max(live).min(used))
    }
}

/// Measures a layout.
pub fn measure(layout: &(impl Layout + ?Sized)) -> Measures {
    measure_and(layout, &mut |_| {})
}

/// Measures a layout, and gives every inode to `also` on the way.
pub fn measure_and(
    layout: &(impl Layout + ?Sized),
    also: &mut dyn FnMut(&FileView<'_>),
) -> Measures {
    let mut m = Measures::new(layout.geometry());
    m.free = FreeSpace::of(layout, &m.geometry);
    m.log = layout.log_usage();
    m.order = DirectoryOrder::of(layout);
    layout.visit_files(&mut |file| {
        also(file);
        m.count(file, Sign::Add);
    });
    m
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout_score::tests::{extent, file, geometry};
    use fsage_core::{FileKind, Run, Space};

    /// Two files and a directory on 8 MiB: one file in two pieces over a hole and an unmerged neighbor, one in
    /// one piece; free runs of 4 KiB, 64 KiB and 1 MiB.
    struct Disk;

    impl Layout for Disk {
        fn geometry(&self) -> Geometry {
            geometry()
        }

        fn space(&self) -> Option<Space> {
            Some(Space {
                free_blocks: 136,
                free_frags: 4,
                free_inodes: 100,
            })
        }

        fn visit_files(&self, visit: &mut dyn FnMut(&FileView<'_>)) {
            const K: u64 = 1024;
            let holed = [
                extent(0, 1024 * K, 8 * K),
                extent(8 * K, 1032 * K, 8 * K),
                extent(32 * K, 1048 * K, 8 * K),
            ];
            visit(&file(40 * K, &holed));
            visit(&file(3 * K, &[extent(0, 1040 * K, 3 * K)]));
            let mut directory = file(512, &[]);
            directory.kind = FileKind::Directory;
            visit(&directory);
        }

        fn visit_free(&self, visit: &mut dyn FnMut(Run)) {
            for (start_bytes, length_bytes) in [(0, 4096), (1 << 16, 1 << 16), (1 << 20, 1 << 20)] {
                visit(Run {
                    start_bytes,
                    length_bytes,
                });
            }
        }
    }

    #[test]
    fn a_layout_is_measured() {
        let m = measure(&Disk);
        let (files, pieces) = (m.sums.files, m.sums.pieces);
        assert_eq!((files.regular, files.directories), (2, 1));
        assert_eq!(files.bytes, 43 << 10);
        assert_eq!(
            (
                pieces.files_with_extents,
                pieces.fragmented_files,
                pieces.pieces
            ),
            (2, 1, 3)
        );
        // Blocks 0, 1 and 4 of the first file.
        let score = LayoutScore {
            optimal: 1,
            scored: 2,
        };
        assert_eq!(m.layout(), score);
        assert_eq!(m.sums.layout_score.by_size.classes[2].files, 1);
        let space = m.free.clone().unwrap();
        assert_eq!((space.runs, space.largest_run_bytes), (3, 1 << 20));
        assert_eq!(space.bytes_in_64k_runs, (1 << 20) + (1 << 16));
        assert_eq!(space.bytes_in_1m_runs, 1 << 20);
        let free = 136 * 8192 + 4 * 1024;
        assert_eq!(space.bytes, free);
        let share = 4.0 * 1024.0 / free as f64;
        assert!((space.fragment_share(&m.geometry) - share).abs() < 1e-12);
        let used = 1.0 - free as f64 / f64::from(8 << 20);
        assert!((m.utilization().unwrap() - used).abs() < 1e-12);
    }

    /// By hand, of 1000 bytes: 900 used, of which 200 behind ends are given back; with 750 that files need, or 950,
    /// that is the least; all that is used is the most.
    #[test]
    fn what_lasts_lies_between_what_files_need_and_what_is_used() {
        let lasts = |live_bytes| {
            let mut measures = measure(&Disk);
            measures.geometry.data_bytes = Some(1000);
            measures.free.as_mut().unwrap().bytes = 100;
            measures.sums.pieces.beyond_end_bytes = 200;
            measures.sums.pieces.live_bytes = live_bytes;
            measures.lasting_utilization().unwrap()
        };
        for (live_bytes, expected) in [(600, 0.7), (750, 0.75), (950, 0.9)] {
            assert!((lasts(live_bytes) - expected).abs() < 1e-12, "{live_bytes}");
        }
    }
}
