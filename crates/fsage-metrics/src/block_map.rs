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

mod changes;
mod tallies;

pub use changes::FrameChanges;
pub(crate) use tallies::Tallies;

use crate::sign::Sign;
use fsage_core::{FileView, Geometry, Layout};
use std::ops::Range;

/// Largest size of the files of each class but the last, which has no end; steps of the classes of
/// [`LayoutBySize`](crate::LayoutBySize).
pub const SIZE_CLASSES: [u64; 5] = [16 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20];

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

    /// The cell of an address; of one behind the end the last cell.
    pub(crate) fn cell_at(&self, at: u64) -> usize {
        let (band, within) = (at / self.band_bytes, at % self.band_bytes);
        let first = band.saturating_mul(self.cells_per_band);
        let cell = first.saturating_add(within / self.cell_bytes);
        usize::try_from(cell).map_or(usize::MAX, |cell| cell.min(self.cells.saturating_sub(1)))
    }

    /// Sectors of a cell.
    fn sectors(&self, cell: usize) -> u64 {
        let range = self.range(cell);
        range.end / SECTOR - range.start / SECTOR
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

/// Keeps frames of a target while it ages.
#[derive(Clone, Debug)]
pub struct Recorder {
    max_frames: usize,
    recording: Option<Recording>,
    /// What lies in each cell of the last frame, as a hash; 0 without file data.
    signatures: Vec<u32>,
    latest: Option<FrameChanges>,
    /// Of the walk that makes a frame.
    tallies: Option<Tallies>,
}

/// The block map of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// How the disk is cut.
    pub grid: Grid,
    /// Days from one frame to the next.
    pub stride_days: u32,
    /// The frames, ascending by day.
    pub frames: Vec<Frame>,
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
            signatures: Vec::new(),
            latest: None,
            tallies: None,
        }
    }

    /// Goes on behind frames that were kept before, by what [`latest`](Self::latest) said of each, in order. What is of
    /// another disk than the first of them is left out.
    pub fn resume(frames: impl IntoIterator<Item = FrameChanges>) -> Recorder {
        let mut recorder = Recorder::new();
        for frame in frames {
            let known = recorder.recording.as_ref();
            if known.is_none_or(|known| known.grid == frame.grid) {
                recorder.add(frame);
                recorder.make_room();
            }
        }
        recorder
    }

    /// What the frame that was kept last changed.
    pub fn latest(&self) -> Option<&FrameChanges> {
        self.latest.as_ref()
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
        let wanted = self.wants(day);
        if wanted {
            self.clear(layout);
        }
        wanted
    }

    /// Takes a file of the day that has begun.
    pub fn file(&mut self, file: &FileView<'_>) {
        if let Some(tallies) = &mut self.tallies {
            tallies.count(file, Sign::Add);
        }
    }

    /// Keeps the day that has begun.
    pub fn end(&mut self, day: u32) {
        if let Some(mut tallies) = self.tallies.take() {
            self.keep(day, &mut tallies);
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
            if let Some(mut tallies) = self.tallies.take() {
                self.push(day, &mut tallies);
            }
        }
    }

    /// Whether a day is kept if it is offered.
    pub(crate) fn wants(&self, day: u32) -> bool {
        self.recording.as_ref().is_none_or(|r| r.wants(day))
    }

    /// Keeps a day by what has been counted.
    pub(crate) fn keep(&mut self, day: u32, tallies: &mut Tallies) {
        self.push(day, tallies);
        self.make_room();
    }

    fn push(&mut self, day: u32, tallies: &mut Tallies) {
        let last = self.recording.as_ref().and_then(|r| r.frames.last());
        let changes = FrameChanges::of(day, tallies, last, &self.signatures);
        self.add(changes);
    }

    /// Adds a frame: that before it, and what has changed since.
    fn add(&mut self, changes: FrameChanges) {
        let grid = &changes.grid;
        let recording = self
            .recording
            .get_or_insert_with(|| Recording::new(grid.clone()));
        self.signatures.resize(grid.cells, 0);
        let frame = changes.after(recording.frames.last(), &mut self.signatures);
        recording.frames.push(frame);
        self.latest = Some(changes);
    }

    fn make_room(&mut self) {
        if let Some(recording) = &mut self.recording
            && recording.frames.len() > self.max_frames
        {
            recording.thin();
        }
    }

    /// Counts what is free, and no file so far.
    fn clear(&mut self, layout: &dyn Layout) {
        let recording = self
            .recording
            .get_or_insert_with(|| Recording::new(Grid::of(&layout.geometry(), Grid::MAX_CELLS)));
        self.tallies = Some(Tallies::of_free(recording.grid.clone(), layout));
    }
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder::new()
    }
}

impl Recording {
    fn new(grid: Grid) -> Recording {
        Recording {
            stride_days: 1,
            frames: Vec::new(),
            grid,
        }
    }

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

/// The class of a file by its place.
pub fn size_class(size_bytes: u64) -> usize {
    SIZE_CLASSES.partition_point(|&max_bytes| max_bytes < size_bytes)
}

#[cfg(test)]
mod tests;
