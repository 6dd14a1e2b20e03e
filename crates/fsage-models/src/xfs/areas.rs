//! A data block of a directory: its free areas, and the table of the three largest.
//!
//! Spec: `docs/spec/xfs.md`, section 17. Source: `xfs_dir2_data.c`.

use super::geometry::BLOCK;

/// Bytes of a block.
pub(super) const BYTES: u16 = BLOCK as u16;
/// Where entries begin.
pub(super) const HEADER: u16 = 64;
/// What is free in an empty block.
pub(super) const EMPTY: u16 = BYTES - HEADER;

/// A free area; none in the table has no length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Area {
    pub start: u16,
    pub bytes: u16,
}

/// The free areas of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Areas {
    /// Ascending.
    all: Vec<Area>,
    best: [Area; 3],
}

impl Areas {
    /// A block in which nothing stands.
    pub fn empty() -> Areas {
        Areas::of(vec![Area {
            start: HEADER,
            bytes: EMPTY,
        }])
    }

    /// A block in which this is free.
    pub fn of(all: Vec<Area>) -> Areas {
        let best = [Area::default(); 3];
        let mut areas = Areas { all, best };
        areas.scan();
        areas
    }

    /// A block in which this is free, with this table; nothing if that is none of it.
    pub fn stored(all: Vec<Area>, best: [Area; 3]) -> Option<Areas> {
        let largest = Areas::of(all.clone()).best;
        let lengths = |best: &[Area; 3]| best.map(|area| area.bytes);
        let is_there = |area: &Area| area.bytes == 0 || all.contains(area);
        let fits = lengths(&best) == lengths(&largest) && best.iter().all(is_there);
        fits.then_some(Areas { all, best })
    }

    /// The largest areas.
    pub fn best(&self) -> [Area; 3] {
        self.best
    }

    /// Every area.
    pub fn all(&self) -> &[Area] {
        &self.all
    }

    /// The area that ends where something begins.
    pub fn before(&self, end: u16) -> Option<Area> {
        let at = self.all.partition_point(|area| area.start < end);
        let area = *self.all.get(at.checked_sub(1)?)?;
        (area.start + area.bytes == end).then_some(area)
    }

    /// The table anew, from the start of the block.
    fn scan(&mut self) {
        self.best = [Area::default(); 3];
        for at in 0..self.all.len() {
            self.enter(self.all[at]);
        }
    }

    /// Puts an area into the table, if it is large enough. Says where.
    fn enter(&mut self, area: Area) -> Option<usize> {
        let at = self.best.iter().position(|best| area.bytes > best.bytes)?;
        self.best[at..].rotate_right(1);
        self.best[at] = area;
        Some(at)
    }

    /// Takes an area out of the table. Says whether it stood there.
    fn leave(&mut self, start: u16) -> bool {
        let Some(at) = self.find_best(start) else {
            return false;
        };
        self.best[at..].rotate_left(1);
        self.best[2] = Area::default();
        true
    }

    fn find_best(&self, start: u16) -> Option<usize> {
        self.best
            .iter()
            .position(|best| best.bytes > 0 && best.start == start)
    }

    /// Bytes of a free area are put to use.
    pub fn take(&mut self, start: u16, bytes: u16) {
        let at = self.all.partition_point(|area| area.start <= start) - 1;
        let area = self.all[at];
        let (end, area_end) = (start + bytes, area.start + area.bytes);
        debug_assert!(end <= area_end);
        let front = Area {
            start: area.start,
            bytes: start - area.start,
        };
        let back = Area {
            start: end,
            bytes: area_end - end,
        };
        let rests: Vec<Area> = [front, back]
            .into_iter()
            .filter(|rest| rest.bytes > 0)
            .collect();
        self.all.splice(at..=at, rests.iter().copied());
        let is_full = self.best[2].bytes > 0;
        if self.find_best(area.start).is_none() {
            return;
        }
        if rests.len() != 1 && is_full {
            self.scan();
            return;
        }
        self.leave(area.start);
        let mut last = None;
        for rest in &rests {
            last = self.enter(*rest);
        }
        if rests.len() == 1 && last == Some(2) {
            self.scan();
        }
    }

    /// Bytes are free again.
    pub fn free(&mut self, start: u16, bytes: u16) {
        let at = self.all.partition_point(|area| area.start < start);
        let before = at.checked_sub(1).map(|at| self.all[at]);
        let before = before.filter(|area| area.start + area.bytes == start);
        let behind = self
            .all
            .get(at)
            .copied()
            .filter(|area| start + bytes == area.start);
        let merged = Area {
            start: before.map_or(start, |area| area.start),
            bytes: bytes
                + before.map_or(0, |area| area.bytes)
                + behind.map_or(0, |area| area.bytes),
        };
        let from = at - usize::from(before.is_some());
        let to = at + usize::from(behind.is_some());
        self.all.splice(from..to, [merged]);
        match (before, behind) {
            (Some(_), Some(_)) if self.best[2].bytes > 0 => self.scan(),
            (Some(_), Some(_)) => {
                self.best = [merged, Area::default(), Area::default()];
            }
            (Some(area), None) | (None, Some(area)) => {
                if self.leave(area.start) {
                    self.enter(merged);
                } else if merged.bytes > self.best[2].bytes {
                    self.scan();
                }
            }
            (None, None) => {
                self.enter(merged);
            }
        }
    }
}
