//! What a frame of a block map changes: few cells as a rule, so that a run may keep it with every day.

use super::{Cell, Frame, Grid, Tallies};

/// Bytes before the cells, and of each of them.
const HEADER: usize = 5 * 8 + 4;
const CELL: usize = 4 + 2 + 4;

/// What a frame has that the one before it had not. With those of all frames before it, a
/// [`Recorder`](super::Recorder) can go on after an interruption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameChanges {
    pub(super) grid: Grid,
    pub(super) day: u32,
    cells: Vec<CellChange>,
}

/// A cell that is not what it was, with the hash of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CellChange {
    at: u32,
    cell: Cell,
    signature: u32,
}

/// The bits of a cell in the frame before one, of which none says that it has changed.
fn before(frame: Option<&Frame>, at: usize) -> Cell {
    let cell = frame.and_then(|frame| frame.cells.get(at));
    cell.map_or(Cell::default(), |cell| Cell(cell.0 & !Cell::CHANGED))
}

impl FrameChanges {
    /// The changes since the frame before, whose data had these hashes, by what was counted.
    pub(super) fn of(
        day: u32,
        tallies: &mut Tallies,
        last: Option<&Frame>,
        signatures: &[u32],
    ) -> FrameChanges {
        let mut cells = Vec::new();
        tallies.take_changed(|at, cell, signature| {
            let known = signatures.get(at).copied().unwrap_or(0);
            let has_changed = signature != known && signature != 0;
            let cell = Cell(cell.0 | if has_changed { Cell::CHANGED } else { 0 });
            if cell != before(last, at) || signature != known {
                cells.push(CellChange {
                    at: at as u32,
                    cell,
                    signature,
                });
            }
        });
        FrameChanges {
            grid: tallies.grid().clone(),
            day,
            cells,
        }
    }

    /// The frame, by the one before it and the hashes of what lay there, which become those of this one.
    pub(super) fn after(&self, last: Option<&Frame>, signatures: &mut [u32]) -> Frame {
        let mut cells: Vec<Cell> = (0..self.grid.cells).map(|at| before(last, at)).collect();
        for change in &self.cells {
            cells[change.at as usize] = change.cell;
            signatures[change.at as usize] = change.signature;
        }
        Frame {
            day: self.day,
            cells,
        }
    }

    /// As bytes, numbers in little-endian: how the disk is cut (sizes of disk, block, cell and band, groups of a band,
    /// 8 bytes each), the day (4), and of each cell its number (4), its bits (2) and its hash (4).
    pub fn to_bytes(&self) -> Vec<u8> {
        let grid = &self.grid;
        let mut bytes = Vec::with_capacity(HEADER + self.cells.len() * CELL);
        for number in [
            grid.size_bytes,
            grid.block_bytes,
            grid.cell_bytes,
            grid.band_bytes,
            grid.groups_per_band,
        ] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.day.to_le_bytes());
        for change in &self.cells {
            bytes.extend(change.at.to_le_bytes());
            bytes.extend(change.cell.0.to_le_bytes());
            bytes.extend(change.signature.to_le_bytes());
        }
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) gave; `None` for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<FrameChanges> {
        let (header, cells) = bytes.split_at_checked(HEADER)?;
        let (sizes, day) = header.split_last_chunk::<4>()?;
        let mut sizes = sizes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|n| u64::from_le_bytes(*n));
        let mut next = || sizes.next();
        let cut = Grid::cut(next()?, next()?, next()?, next()?);
        let grid = Grid {
            groups_per_band: next()?,
            ..cut
        };
        let (cells, rest) = cells.as_chunks::<CELL>();
        let cells = cells.iter().map(|&[a, b, c, d, e, f, g, h, i, j]| {
            let change = CellChange {
                at: u32::from_le_bytes([a, b, c, d]),
                cell: Cell(u16::from_le_bytes([e, f])),
                signature: u32::from_le_bytes([g, h, i, j]),
            };
            ((change.at as usize) < grid.cells).then_some(change)
        });
        let cells = cells.collect::<Option<Vec<_>>>()?;
        let is_whole = rest.is_empty() && grid.cells <= Grid::MAX_CELLS;
        is_whole.then_some(FrameChanges {
            day: u32::from_le_bytes(*day),
            cells,
            grid,
        })
    }
}
