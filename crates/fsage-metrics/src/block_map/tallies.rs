//! What lies in each cell of the disk, counted as files come and go.

use super::{Cell, Grid, SECTOR, SIZE_CLASSES, size_class};
use crate::sign::Sign;
use fsage_core::{Extent, FileKind, FileView, Layout};
use std::ops::Range;

const CLASSES: usize = SIZE_CLASSES.len() + 1;

/// What each cell holds.
#[derive(Clone, Debug)]
pub(crate) struct Tallies {
    grid: Grid,
    pub(super) free_is_known: bool,
    pub(super) cells: Vec<Tally>,
    /// Cells that were counted in since a frame was made of them.
    changed: Vec<bool>,
}

/// What a cell holds. Sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Of what lies here and where; independent of the order of the parts and of how they are cut.
    signature: u64,
    pub free: u32,
    pub by_class: [u32; CLASSES],
    /// Blocks that begin here and have a predecessor, and how many do not follow it.
    pub scored: u32,
    pub broken: u32,
}

impl Tallies {
    /// Nothing counted so far.
    pub fn new(grid: Grid, free_is_known: bool) -> Tallies {
        Tallies {
            free_is_known,
            cells: vec![Tally::default(); grid.cells],
            changed: vec![true; grid.cells],
            grid,
        }
    }

    /// What is free, and no file so far.
    pub fn of_free(grid: Grid, layout: &dyn Layout) -> Tallies {
        let mut tallies = Tallies::new(grid, layout.space().is_some());
        layout.visit_free(&mut |run| {
            let end = run.start_bytes.saturating_add(run.length_bytes);
            tallies.add_free(run.start_bytes..end);
        });
        tallies
    }

    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Counts free space of a frame that is made of all cells, or between [`take_free`](Self::take_free) and
    /// [`compare_free`](Self::compare_free).
    pub fn add_free(&mut self, range: Range<u64>) {
        self.grid.visit(range.start, range.end, |cell, from, to| {
            let sectors = to / SECTOR - from / SECTOR;
            Sign::Add.apply_u32(&mut self.cells[cell].free, sectors);
        });
    }

    /// Takes back all free space of some cells, which is then counted anew.
    pub fn take_free(&mut self, cells: Range<usize>) -> Vec<u32> {
        let cells = self.cells[cells].iter_mut();
        cells.map(|cell| std::mem::take(&mut cell.free)).collect()
    }

    /// Notes of which cells the free space, counted anew, is other than before.
    pub fn compare_free(&mut self, cells: Range<usize>, before: &[u32]) {
        for (at, before) in cells.zip(before) {
            self.changed[at] |= self.cells[at].free != *before;
        }
    }

    /// Counts a file, or takes back what it counted.
    pub fn count(&mut self, file: &FileView<'_>, sign: Sign) {
        if !matches!(file.kind, FileKind::Regular | FileKind::Symlink) {
            return;
        }
        let class = size_class(file.size_bytes);
        let block_log2 = self.grid.block_bytes.ilog2();
        let mut end_before = None;
        for extent in file.extents.unwrap_or_default() {
            if !extent.is_placed_data() || extent.length_bytes == 0 {
                continue;
            }
            let start = extent.physical_bytes;
            let end = start.saturating_add(extent.length_bytes);
            let identity = identity(file.ino, extent);
            // Blocks are counted from the start of the extent.
            let begun = |at: u64| (at - start).saturating_add((1 << block_log2) - 1) >> block_log2;
            self.grid.visit(start, end, |cell, from, to| {
                self.changed[cell] = true;
                let tally = &mut self.cells[cell];
                sign.apply_u32(&mut tally.by_class[class], to / SECTOR - from / SECTOR);
                let part = identity.wrapping_mul(position(to).wrapping_sub(position(from)));
                tally.signature = match sign {
                    Sign::Add => tally.signature.wrapping_add(part),
                    Sign::TakeBack => tally.signature.wrapping_sub(part),
                };
                let mut scored = begun(to) - begun(from);
                if from == start {
                    match end_before {
                        // The first block of a file has no predecessor.
                        None => scored = scored.saturating_sub(1),
                        Some(before) if before != start => sign.apply_u32(&mut tally.broken, 1),
                        Some(_) => {}
                    }
                }
                sign.apply_u32(&mut tally.scored, scored);
            });
            end_before = Some(end);
        }
    }

    /// Visits the cells that were counted in since the last call: their number, what they show, and the hash of their
    /// data.
    pub fn take_changed(&mut self, mut visit: impl FnMut(usize, Cell, u32)) {
        for (at, changed) in self.changed.iter_mut().enumerate() {
            if std::mem::take(changed) {
                let sectors = self.grid.sectors(at);
                let (cell, signature) = self.cells[at].cell(sectors, self.free_is_known);
                visit(at, cell, signature);
            }
        }
    }

    /// Whether another count came to the same.
    pub fn same(&self, other: &Tallies) -> bool {
        self.cells == other.cells
    }
}

impl Tally {
    /// What is kept of it, and the hash of its data.
    pub fn cell(&self, sectors: u64, free_is_known: bool) -> (Cell, u32) {
        if free_is_known && u64::from(self.free) == sectors && self.signature == 0 {
            return (Cell::default(), 0);
        }
        let mut data = 0;
        let (mut class, mut most) = (0, 0);
        for (at, &sectors) in self.by_class.iter().enumerate() {
            data += u64::from(sectors);
            if sectors > most {
                (class, most) = (at as u16 + 1, sectors);
            }
        }
        let data = data.min(sectors);
        let used = if free_is_known {
            sectors.saturating_sub(u64::from(self.free))
        } else {
            data
        };
        let metadata = used.saturating_sub(data);
        let contiguity = match self.scored {
            0 => 0,
            scored => {
                let optimal = scored.saturating_sub(self.broken);
                1 + quantized(optimal.into(), scored.into(), 5)
            }
        };
        let bits = quantized(used, sectors, 14)
            | quantized(metadata, sectors, 14) << 4
            | class << 8
            | contiguity << 11;
        let signature = if most == 0 {
            0
        } else {
            // 0 is kept for no data.
            ((self.signature >> 32) as u32).max(1)
        };
        (Cell(bits), signature)
    }
}

/// A part of a whole in `steps` steps: 0 for none, `steps` + 1 for all.
fn quantized(part: u64, whole: u64, steps: u64) -> u16 {
    if part == 0 {
        0
    } else if part >= whole {
        steps as u16 + 1
    } else {
        // Sectors and blocks of any disk leave room for the steps.
        (1 + part.saturating_mul(steps) / whole) as u16
    }
}

/// Which data of which inode an extent holds: the same for all parts of it, and for a longer one.
fn identity(ino: u64, extent: &Extent) -> u64 {
    let shift = extent.logical_bytes.wrapping_sub(extent.physical_bytes);
    let x = ino.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ shift.wrapping_mul(0xff51_afd7_ed55_8ccd);
    let x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (x ^ x >> 29) | 1
}

/// A curve: the difference of its values at the ends of a part is the sum of those of any parts of it.
fn position(at: u64) -> u64 {
    let at = at.wrapping_add(0x2545_f491_4f6c_dd1d);
    at.wrapping_mul(at).wrapping_mul(at)
}
