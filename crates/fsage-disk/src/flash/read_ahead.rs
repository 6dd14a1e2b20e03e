//! Reading ahead inside the device, into a buffer of its own.

use std::collections::VecDeque;

/// Pages that were read ahead, and the reads in a row that led to them.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadAhead {
    /// The page behind the last read.
    next: u32,
    /// Reads in a row so far.
    in_a_row: u32,
    /// First page that is held.
    first: u32,
    /// Behind the last page of each piece, and when it is there.
    pieces: VecDeque<(u32, u64)>,
}

impl ReadAhead {
    /// When a page is there, if it is held.
    pub fn ready_ns(&self, page: u32) -> Option<u64> {
        if page < self.first {
            return None;
        }
        let piece = self.pieces.iter().find(|&&(end, _)| page < end);
        piece.map(|&(_, ready_ns)| ready_ns)
    }

    /// After a read of `first..end`: the pages to read ahead, so that `pages` are held behind it.
    pub fn wanted(&mut self, first: u32, end: u32, pages: u32) -> std::ops::Range<u32> {
        self.in_a_row = if first == self.next {
            self.in_a_row + 1
        } else {
            0
        };
        self.next = end;
        if self.in_a_row == 0 {
            self.pieces.clear();
        }
        while self
            .pieces
            .front()
            .is_some_and(|&(behind, _)| behind <= end)
        {
            self.pieces.pop_front();
        }
        self.first = end;
        let held = self.pieces.back().map_or(end, |&(behind, _)| behind);
        if self.in_a_row == 0 {
            return end..end;
        }
        held..end.saturating_add(pages).max(held)
    }

    /// A piece that was read ahead ends before this page, and is there at that time.
    pub fn hold(&mut self, end: u32, ready_ns: u64) {
        self.pieces.push_back((end, ready_ns));
    }

    /// Pages change: none of them may be held.
    pub fn forget(&mut self, first: u32, end: u32) {
        let held = self.pieces.back().map_or(self.first, |&(behind, _)| behind);
        if first < held && end > self.first {
            self.pieces.clear();
        }
    }
}
