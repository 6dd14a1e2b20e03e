//! The block map: what lies where on the disk, day by day, in cells of equal size.
//!
//! **Cells.** The disk is cut into bands, a band a cylinder group, block group or segment, or several of them where
//! there are more than [`Grid::MAX_BANDS`]; where there are no groups the whole disk is one band. A band is cut into
//! cells of the same number of blocks; the last cell of a band may be shorter. See [`Grid`].
//!
//! **What is said of a cell.** All of it stands in 15 bits, see [`Cell`].
//!
//! - Used: the share that is not free; where free space is not known, the share that file data take.
//! - Metadata: the share that is neither free nor data of a file: fixed metadata, directories, blocks of pointers,
//!   in an LFS dead blocks too. None where free space is not known.
//! - Size class: of [`SIZE_CLASSES`], the one whose files have most bytes here; of equals the class of smaller files.
//! - Contiguity: of the blocks of files that begin here and have a predecessor in their file, the share that directly
//!   follows it on disk, over holes too. Blocks behind the end of a file are blocks of it.
//! - Changed: whether other data of files lie here than in the frame before, or the same data of the same inode at
//!   another place. The age of a cell is the days since the last frame in which it had changed. A file that was
//!   replaced by one of the same inode number in the same blocks has not changed a cell. Data that were overwritten in
//!   place have not.
//!
//! **Days.** Every day is offered. At most so many frames are kept: when there is no room, every second one goes and
//! from then on every second day is looked at only. What had changed in a frame that goes has changed in the next one.
//! Day 0 stays, and [`Recorder::last`] adds the last day.
//!
//! **Limits.** What lies behind the end of the file system by its own sizes is not on the map. Sizes are in sectors of
//! 512 bytes. Data shared by several files count for each, up to the length of the cell.

use fsage_core::{Extent, FileKind, FileView, Geometry, Layout};
use std::ops::Range;

/// Largest size of the files of each class but the last, which has no end; steps of the classes of
/// [`LayoutBySize`](crate::LayoutBySize).
pub const SIZE_CLASSES: [u64; 5] = [16 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20];

const CLASSES: usize = SIZE_CLASSES.len() + 1;
const SECTOR: u64 = 512;

/// How a disk is cut into cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Bytes of the disk.
    pub size_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Bytes of a cell.
    pub cell_bytes: u64,
    /// Bytes of a band; the last may be shorter.
    pub band_bytes: u64,
    /// Groups in a band; 0 where there are none.
    pub groups_per_band: u64,
    /// Cells of a band, but perhaps the last.
    pub cells_per_band: u64,
    /// Cells in all.
    pub cells: usize,
}

impl Grid {
    /// Most cells of a map, if nothing else is said.
    pub const MAX_CELLS: usize = 1 << 14;
    /// Most bands of a map.
    pub const MAX_BANDS: u64 = 1 << 10;

    /// The smallest cells of which there are no more than `max_cells` (at least 1, and twice as many as bands).
    pub fn of(geometry: &Geometry, max_cells: usize) -> Grid {
        // Every known file system has blocks of a power of two.
        let block_bytes = u64::from(geometry.block_bytes).next_power_of_two();
        let block_bytes = block_bytes.max(SECTOR);
        let size_bytes = geometry.size_bytes;
        let group_bytes = geometry.group_bytes.min(size_bytes);
        let max_cells = (max_cells as u64).max(1);
        let max_bands = (max_cells / 2).clamp(1, Self::MAX_BANDS);
        let (band_bytes, groups_per_band) =
            if geometry.group_count == 0 || group_bytes < block_bytes {
                (size_bytes, 0)
            } else {
                let groups = size_bytes.div_ceil(group_bytes).div_ceil(max_bands);
                (group_bytes.saturating_mul(groups), groups)
            };
        let band_bytes = band_bytes.max(block_bytes);
        let cut = |cell_bytes| Grid::cut(size_bytes, block_bytes, cell_bytes, band_bytes);
        // Cells by the size of the disk alone may be a few too many, one a band at most.
        let mut blocks = size_bytes.div_ceil(max_cells).div_ceil(block_bytes).max(1);
        let mut grid = cut(blocks * block_bytes);
        while grid.cells as u64 > max_cells {
            blocks += blocks.div_ceil(64);
            grid = cut(blocks * block_bytes);
        }
        Grid {
            groups_per_band,
            ..grid
        }
    }

    /// The cells of this size in bands of this size; both, and the block, take at least a byte.
    pub fn cut(size_bytes: u64, block_bytes: u64, cell_bytes: u64, band_bytes: u64) -> Grid {
        let (block_bytes, cell_bytes) = (block_bytes.max(1), cell_bytes.max(1));
        let band_bytes = band_bytes.max(1);
        let cells_per_band = band_bytes.div_ceil(cell_bytes);
        let rest_bytes = size_bytes % band_bytes;
        let cells = (size_bytes / band_bytes).saturating_mul(cells_per_band);
        Grid {
            size_bytes,
            block_bytes,
            cell_bytes,
            band_bytes,
            groups_per_band: 0,
            cells_per_band,
            cells: cells.saturating_add(rest_bytes.div_ceil(cell_bytes)) as usize,
        }
    }

    /// Addresses of a cell in bytes.
    pub fn range(&self, cell: usize) -> Range<u64> {
        let (band, cell) = (
            cell as u64 / self.cells_per_band,
            cell as u64 % self.cells_per_band,
        );
        let band_end = (band + 1).saturating_mul(self.band_bytes);
        let start = band * self.band_bytes + cell * self.cell_bytes;
        start..(start + self.cell_bytes).min(band_end).min(self.size_bytes)
    }

    /// Sectors of every cell.
    fn sectors(&self) -> impl Iterator<Item = u64> {
        let (mut at, mut band_end) = (0_u64, self.band_bytes);
        (0..self.cells).map(move |_| {
            let end = at.saturating_add(self.cell_bytes);
            let end = end.min(band_end).min(self.size_bytes);
            let sectors = end / SECTOR - at / SECTOR;
            at = end;
            if end == band_end {
                band_end = band_end.saturating_add(self.band_bytes);
            }
            sectors
        })
    }

    /// Visits the cells between two addresses, and from where to where in each; what is not on the disk is left out.
    fn visit(&self, from: u64, to: u64, mut visit: impl FnMut(usize, u64, u64)) {
        let to = to.min(self.size_bytes);
        if from >= to {
            return;
        }
        let band = from / self.band_bytes;
        let within = (from - band * self.band_bytes) / self.cell_bytes;
        let mut cell = (band * self.cells_per_band + within) as usize;
        let mut band_end = (band + 1).saturating_mul(self.band_bytes);
        let mut end = (band * self.band_bytes + (within + 1) * self.cell_bytes).min(band_end);
        let mut at = from;
        while at < to {
            visit(cell, at, end.min(to));
            at = end;
            if end == band_end {
                band_end = band_end.saturating_add(self.band_bytes);
            }
            end = (end + self.cell_bytes).min(band_end);
            cell += 1;
        }
    }
}

/// What is known of a cell, in 15 bits: used share (4 bits from the lowest on), metadata share (4), size class (3),
/// contiguity (3), changed (1).
///
/// A share of 4 bits is 0 for none and 15 for all, and in between 1 + the share in fourteenths, rounded down.
/// Contiguity is 0 where nothing could be contiguous, else 1 for none, 7 for all, and in between 2 + the share in
/// fifths, rounded down. A size class is 0 where there are no data, else 1 + its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell(pub u16);

impl Cell {
    /// The bit that says that it has changed.
    pub const CHANGED: u16 = 1 << 14;

    /// Quantized share in use, 0 to 15.
    pub fn used(self) -> u16 {
        self.0 & 15
    }

    /// Quantized share of metadata, 0 to 15.
    pub fn metadata(self) -> u16 {
        self.0 >> 4 & 15
    }

    /// Size class, by its place in [`SIZE_CLASSES`]; `None` without file data.
    pub fn size_class(self) -> Option<usize> {
        usize::from(self.0 >> 8 & 7).checked_sub(1)
    }

    /// Quantized contiguity, 1 to 7; 0 where nothing could be contiguous.
    pub fn contiguity(self) -> u16 {
        self.0 >> 11 & 7
    }

    /// Whether its data are other than in the frame before.
    pub fn changed(self) -> bool {
        self.0 & Self::CHANGED != 0
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

/// The disk at the end of a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its day.
    pub day: u32,
    /// What lies in each cell.
    pub cells: Vec<Cell>,
}

/// Frames as bytes: of each the lower byte of every cell, then the upper one, as exclusive or with the frame before,
/// but for [`Cell::CHANGED`], which stands as it is. Most of them are 0, so that they are to be compressed.
pub fn encode(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut before: &[Cell] = &[];
    for frame in frames {
        let differences = frame.cells.iter().enumerate().map(|(at, cell)| {
            let before = before.get(at).map_or(0, |cell| cell.0 & !Cell::CHANGED);
            cell.0 ^ before
        });
        let differences: Vec<u16> = differences.collect();
        bytes.extend(differences.iter().map(|bits| *bits as u8));
        bytes.extend(differences.iter().map(|bits| (bits >> 8) as u8));
        before = &frame.cells;
    }
    bytes
}

/// The frames of these days, of so many cells each; `None` if the bytes are not as many as they need.
pub fn decode(bytes: &[u8], cells: usize, days: &[u32]) -> Option<Vec<Frame>> {
    if cells.checked_mul(2)?.checked_mul(days.len())? != bytes.len() {
        return None;
    }
    let mut frames: Vec<Frame> = Vec::with_capacity(days.len());
    for (at, &day) in days.iter().enumerate() {
        let (low, high) = bytes[at * 2 * cells..][..2 * cells].split_at(cells);
        let before = frames.last();
        let cells = low.iter().zip(high).enumerate().map(|(at, (&low, &high))| {
            let before = before.map_or(0, |frame| frame.cells[at].0 & !Cell::CHANGED);
            Cell((u16::from(low) | u16::from(high) << 8) ^ before)
        });
        let cells = cells.collect();
        frames.push(Frame { day, cells });
    }
    Some(frames)
}

/// What a cell holds, while a frame is made. Sectors.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Of what lies here and where; independent of the order of the parts and of how they are cut.
    signature: u64,
    free: u32,
    by_class: [u32; CLASSES],
    /// Blocks that begin here and have a predecessor, and how many do not follow it.
    scored: u32,
    broken: u32,
}

/// Keeps frames of a target while it ages.
#[derive(Clone, Debug)]
pub struct Recorder {
    max_frames: usize,
    recording: Option<Recording>,
    tallies: Vec<Tally>,
    /// Free space is known in the frame that is being made.
    free_is_known: bool,
}

/// What a recorder keeps: all that it needs to go on after an interruption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// How the disk is cut.
    pub grid: Grid,
    /// Days from one frame to the next.
    pub stride_days: u32,
    /// The frames, ascending by day.
    pub frames: Vec<Frame>,
    /// What lies in each cell of the last frame, as a hash; 0 without file data.
    pub signatures: Vec<u32>,
}

impl Recorder {
    /// Most frames of a map, if nothing else is said; the last day may be one more.
    pub const MAX_FRAMES: usize = 96;

    /// Nothing seen so far.
    pub fn new() -> Recorder {
        Recorder::with_frames(Self::MAX_FRAMES)
    }

    /// The same with another bound of frames, at least 2.
    pub fn with_frames(max_frames: usize) -> Recorder {
        Recorder {
            max_frames: max_frames.max(2),
            recording: None,
            tallies: Vec::new(),
            free_is_known: false,
        }
    }

    /// Goes on with what was recorded before.
    pub fn resume(recording: Recording) -> Recorder {
        Recorder {
            recording: Some(recording),
            ..Recorder::new()
        }
    }

    /// What was recorded so far; `None` before the first day.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// What was recorded.
    pub fn into_recording(self) -> Option<Recording> {
        self.recording
    }

    /// Offers a day, later than those before. Where it says yes, all files are to be given to [`file`](Self::file), and
    /// [`end`](Self::end) keeps the day: one walk of the files serves the map and whatever else looks at them.
    pub fn begin(&mut self, day: u32, layout: &dyn Layout) -> bool {
        let wanted = self.recording.as_ref().is_none_or(|r| r.wants(day));
        if wanted {
            self.clear(layout);
        }
        wanted
    }

    /// Takes a file of the day that has begun.
    pub fn file(&mut self, file: &FileView<'_>) {
        if let Some(recording) = &self.recording {
            tally_file(&recording.grid, file, &mut self.tallies);
        }
    }

    /// Keeps the day that has begun.
    pub fn end(&mut self, day: u32) {
        let max_frames = self.max_frames;
        if let Some(recording) = &mut self.recording {
            recording.add(day, &self.tallies, self.free_is_known);
            if recording.frames.len() > max_frames {
                recording.thin();
            }
        }
    }

    /// Offers a day and walks its files, if it is wanted.
    pub fn offer(&mut self, day: u32, layout: &dyn Layout) -> bool {
        let wanted = self.begin(day, layout);
        if wanted {
            layout.visit_files(&mut |file| self.file(file));
            self.end(day);
        }
        wanted
    }

    /// Adds the last day, unless it is there.
    pub fn last(&mut self, day: u32, layout: &dyn Layout) {
        let known = self.recording.as_ref().and_then(|r| r.frames.last());
        if known.is_none_or(|frame| frame.day < day) {
            self.clear(layout);
            layout.visit_files(&mut |file| self.file(file));
            if let Some(recording) = &mut self.recording {
                recording.add(day, &self.tallies, self.free_is_known);
            }
        }
    }

    /// Counts what is free, and no file so far.
    fn clear(&mut self, layout: &dyn Layout) {
        let recording = self.recording.get_or_insert_with(|| {
            let grid = Grid::of(&layout.geometry(), Grid::MAX_CELLS);
            Recording {
                signatures: vec![0; grid.cells],
                stride_days: 1,
                frames: Vec::new(),
                grid,
            }
        });
        self.free_is_known = tally_free(&recording.grid, layout, &mut self.tallies);
    }
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder::new()
    }
}

impl Recording {
    fn wants(&self, day: u32) -> bool {
        day.is_multiple_of(self.stride_days) && self.frames.last().is_none_or(|f| f.day < day)
    }

    /// Every second frame goes, but not the last: what has changed since is not known yet.
    fn thin(&mut self) {
        self.stride_days = self.stride_days.saturating_mul(2);
        let stride = self.stride_days;
        let last = self.frames.last().map(|frame| frame.day);
        thin(&mut self.frames, |frame| {
            frame.day.is_multiple_of(stride) || Some(frame.day) == last
        });
    }

    fn add(&mut self, day: u32, tallies: &[Tally], free_is_known: bool) {
        let cells = tallies.iter().zip(&mut self.signatures);
        let cells = cells.zip(self.grid.sectors());
        let cells = cells.map(|((tally, signature), sectors)| {
            let (cell, now) = tally.cell(sectors, free_is_known);
            let changed = now != *signature && now != 0;
            *signature = now;
            Cell(cell.0 | if changed { Cell::CHANGED } else { 0 })
        });
        let cells = cells.collect();
        self.frames.push(Frame { day, cells });
    }
}

/// Drops the frames that `keep` does not want. What had changed in one of them has changed in the next that stays.
pub fn thin(frames: &mut Vec<Frame>, keep: impl Fn(&Frame) -> bool) {
    let mut dropped: Option<Vec<Cell>> = None;
    frames.retain_mut(|frame| {
        if let Some(before) = dropped.take() {
            for (cell, before) in frame.cells.iter_mut().zip(&before) {
                // A cell without data has no age.
                if cell.size_class().is_some() {
                    cell.0 |= before.0 & Cell::CHANGED;
                }
            }
        }
        let stays = keep(frame);
        if !stays {
            dropped = Some(std::mem::take(&mut frame.cells));
        }
        stays
    });
}

impl Tally {
    /// What is kept of it, and the hash of its data.
    fn cell(&self, sectors: u64, free_is_known: bool) -> (Cell, u32) {
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

/// Counts what is free in each cell. Says whether free space is known.
fn tally_free(grid: &Grid, layout: &dyn Layout, tallies: &mut Vec<Tally>) -> bool {
    tallies.clear();
    tallies.resize(grid.cells, Tally::default());
    layout.visit_free(&mut |run| {
        let end = run.start_bytes.saturating_add(run.length_bytes);
        grid.visit(run.start_bytes, end, |cell, from, to| {
            add(&mut tallies[cell].free, to / SECTOR - from / SECTOR);
        });
    });
    layout.space().is_some()
}

fn tally_file(grid: &Grid, file: &FileView<'_>, tallies: &mut [Tally]) {
    if !matches!(file.kind, FileKind::Regular | FileKind::Symlink) {
        return;
    }
    let class = size_class(file.size_bytes);
    let block_log2 = grid.block_bytes.ilog2();
    let mut end_before = None;
    for extent in file.extents.unwrap_or_default() {
        if !extent.is_placed_data() || extent.length_bytes == 0 {
            continue;
        }
        let start = extent.physical_bytes;
        let end = start.saturating_add(extent.length_bytes);
        let identity = identity(file.ino, extent);
        grid.visit(start, end, |cell, from, to| {
            let tally = &mut tallies[cell];
            add(&mut tally.by_class[class], to / SECTOR - from / SECTOR);
            let part = identity.wrapping_mul(position(to).wrapping_sub(position(from)));
            tally.signature = tally.signature.wrapping_add(part);
            // Blocks are counted from the start of the extent.
            let begun = |at: u64| (at - start).saturating_add((1 << block_log2) - 1) >> block_log2;
            add(&mut tally.scored, begun(to) - begun(from));
            if from == start {
                match end_before {
                    // The first block of a file has no predecessor.
                    None => tally.scored = tally.scored.saturating_sub(1),
                    Some(before) if before != start => add(&mut tally.broken, 1),
                    Some(_) => {}
                }
            }
        });
        end_before = Some(end);
    }
}

/// The class of a file by its place.
pub fn size_class(size_bytes: u64) -> usize {
    SIZE_CLASSES.partition_point(|&max_bytes| max_bytes < size_bytes)
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

/// A layout may say anything.
fn add(sum: &mut u32, n: u64) {
    *sum = u32::try_from(u64::from(*sum).saturating_add(n)).unwrap_or(u32::MAX);
}

#[cfg(test)]
mod tests;
