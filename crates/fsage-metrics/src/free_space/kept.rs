//! Free space that is kept as it changes.
//!
//! The disk is cut into regions. Of each the runs of free space are known that lie within it, and how much is free at
//! its two ends; a region in which something was taken or freed is looked at again. Runs that cross from region to
//! region are put together once a day.

use super::FreeSpace;
use crate::block_map::{Grid, Tallies};
use crate::sign::Sign;
use fsage_core::{Geometry, Layout};
use std::ops::Range;

/// Cells of the block map in a region. As many regions, over this, as there are cells are passed over once a day.
const CELLS: usize = 16;

/// Free space by region.
#[derive(Clone, Debug)]
pub(crate) struct KeptFree {
    grid: Grid,
    regions: Vec<Region>,
    /// Regions that are to be looked at again.
    changed: Vec<u32>,
    /// Sums over the runs within regions.
    within: Runs,
    geometry: Geometry,
}

/// Sums over runs of free space.
#[derive(Clone, Debug, Default)]
struct Runs {
    sums: FreeSpace,
    /// Chunks of inodes that fit.
    chunks: u64,
}

impl Runs {
    fn count(&mut self, length: u64, sign: Sign, geometry: &Geometry) {
        self.sums.count(length, sign);
        sign.apply(&mut self.chunks, geometry.inode_chunks_in(length));
    }
}

/// A part of the disk.
#[derive(Clone, Debug, Default)]
struct Region {
    is_changed: bool,
    is_all_free: bool,
    /// Free bytes at the start and at the end, up to what is in use.
    start_bytes: u64,
    end_bytes: u64,
    /// The longest of `runs`.
    largest_bytes: u64,
    /// Lengths of the runs that touch neither end.
    runs: Vec<u64>,
}

impl KeptFree {
    /// Nothing looked at so far.
    pub fn new(grid: Grid, geometry: Geometry) -> KeptFree {
        let regions = grid.cells.div_ceil(CELLS).max(1);
        let mut free = KeptFree {
            grid,
            regions: vec![Region::default(); regions],
            changed: Vec::new(),
            within: Runs::default(),
            geometry,
        };
        free.touch(0..u64::MAX);
        free
    }

    /// Between these addresses space was taken or freed.
    pub fn touch(&mut self, range: Range<u64>) {
        let of = |at| self.grid.cell_at(at) / CELLS;
        for at in of(range.start)..=of(range.end.saturating_sub(1)) {
            let region = &mut self.regions[at];
            if !region.is_changed {
                region.is_changed = true;
                self.changed.push(at as u32);
            }
        }
    }

    /// Looks again at what has changed, for the block map too.
    pub fn update(&mut self, layout: &dyn Layout, mut tallies: Option<&mut Tallies>) {
        for at in std::mem::take(&mut self.changed) {
            let first = at as usize * CELLS;
            let cells = first..(first + CELLS).min(self.grid.cells);
            let end = if cells.end == self.grid.cells {
                u64::MAX
            } else {
                self.grid.range(cells.end).start
            };
            let range = self.grid.range(first).start..end;
            let before = tallies.as_mut().map(|t| t.take_free(cells.clone()));
            let region = &mut self.regions[at as usize];
            for length in region.runs.drain(..) {
                self.within.count(length, Sign::TakeBack, &self.geometry);
            }
            region.look(range, layout, (&mut self.within, &self.geometry), |cut| {
                if let Some(tallies) = &mut tallies {
                    tallies.add_free(cut);
                }
            });
            if let (Some(tallies), Some(before)) = (&mut tallies, before) {
                tallies.compare_free(cells, &before);
            }
        }
    }

    /// As [`FreeSpace::of`].
    pub fn measure(&self, layout: &dyn Layout, geometry: &Geometry) -> Option<FreeSpace> {
        let mut runs = self.within.clone();
        let mut largest = 0;
        let mut open = 0;
        let mut close = |length: u64, largest: &mut u64| {
            if length > 0 {
                runs.count(length, Sign::Add, geometry);
                *largest = length.max(*largest);
            }
        };
        for region in &self.regions {
            open += region.start_bytes;
            if !region.is_all_free {
                close(open, &mut largest);
                open = region.end_bytes;
                largest = largest.max(region.largest_bytes);
            }
        }
        close(open, &mut largest);
        let mut free = runs.sums;
        free.largest_run_bytes = largest;
        free.set_space(layout.space()?, geometry);
        if geometry.inode_chunk_bytes > 0 {
            free.inode_room = Some(runs.chunks);
        }
        Some(free)
    }
}

impl Region {
    fn look(
        &mut self,
        range: Range<u64>,
        layout: &dyn Layout,
        (within, geometry): (&mut Runs, &Geometry),
        mut also: impl FnMut(Range<u64>),
    ) {
        *self = Region {
            runs: std::mem::take(&mut self.runs),
            ..Region::default()
        };
        layout.visit_free_within(range.clone(), &mut |run| {
            let end = run.start_bytes + run.length_bytes;
            also(run.start_bytes..end);
            match (run.start_bytes == range.start, end == range.end) {
                (true, is_all) => {
                    self.start_bytes = run.length_bytes;
                    self.is_all_free = is_all;
                }
                (false, true) => self.end_bytes = run.length_bytes,
                (false, false) => {
                    self.runs.push(run.length_bytes);
                    self.largest_bytes = self.largest_bytes.max(run.length_bytes);
                    within.count(run.length_bytes, Sign::Add, geometry);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout_score::tests::geometry;
    use fsage_core::{LayoutInMemory, Rng, Run, Space};

    const BLOCK: u64 = 1024;

    /// A disk of which one block in so many is in use.
    fn disk(rng: &mut Rng, one_in: u64) -> LayoutInMemory {
        let geometry = Geometry {
            inode_chunk_bytes: 3 * BLOCK as u32,
            ..geometry()
        };
        let mut free: Vec<Run> = Vec::new();
        for block in 0..geometry.size_bytes / BLOCK {
            let start_bytes = block * BLOCK;
            if rng.below(one_in) == 0 {
                continue;
            }
            match free.last_mut() {
                Some(run) if run.start_bytes + run.length_bytes == start_bytes => {
                    run.length_bytes += BLOCK;
                }
                _ => free.push(Run {
                    start_bytes,
                    length_bytes: BLOCK,
                }),
            }
        }
        LayoutInMemory {
            space: Some(Space::default()),
            inodes: Vec::new(),
            names: Vec::new(),
            free: Some(free),
            geometry,
        }
    }

    /// Over disks on which runs cross from region to region, or end within one; chunks of inodes are counted too.
    #[test]
    fn free_space_by_region_is_that_of_the_whole_disk() {
        let mut rng = Rng::new(3);
        let first = disk(&mut rng, 2);
        let grid = Grid::of(&first.geometry, Grid::MAX_CELLS);
        let mut kept = KeptFree::new(grid, first.geometry.clone());
        for one_in in [2, 5, 100, 9000, 1 << 40] {
            let disk = disk(&mut rng, one_in);
            kept.touch(0..u64::MAX);
            kept.update(&disk, None);
            let whole = FreeSpace::of(&disk, &disk.geometry);
            assert_eq!(kept.measure(&disk, &disk.geometry), whole, "{one_in}");
            assert!(one_in < 100 || whole.is_some_and(|free| free.inode_room > Some(0)));
        }
    }
}
