//! What memory holds of an inode: pages in folios, blocks that are written and not yet allocated, blocks that are set
//! aside for it.
//!
//! Most files have nothing of it: all their pages are cached and clean, in the folios of a file that was written from
//! its beginning to its end. Only a file that is open or dirty, that has holes, or whose pages lie otherwise has a
//! [`Cache`].
//!
//! Spec: `docs/spec/ext4.md`, sections 10, 15 and 31.

use super::runs::Runs;

/// Binary logarithm of the bytes of a page.
pub(super) const PAGE_BITS: u32 = 12;
const PAGE: u64 = 1 << PAGE_BITS;
/// A folio has at most so many pages, as a power of two.
const MOST_ORDER: u32 = 9;
/// The same of the folios of a file that is written from its beginning to its end, by calls of 64 KiB.
const CALL_ORDER: u32 = 4;

/// The folio with a page of a file that was written from its beginning to its end, so many bytes.
fn written_at_once(bytes: u64, page: u32) -> Folio {
    let mut at = page >> CALL_ORDER << CALL_ORDER;
    let mut left = bytes
        .saturating_sub(u64::from(at) << PAGE_BITS)
        .clamp(1, PAGE << CALL_ORDER);
    loop {
        let order = left.ilog2().saturating_sub(PAGE_BITS);
        let folio = Folio {
            order: order as u8,
            ..Folio::of_page(at)
        };
        if page < folio.end() {
            return folio;
        }
        at = folio.end();
        left = left.saturating_sub(PAGE << order).max(1);
    }
}

/// Pages that are cached together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Folio {
    pub page: u32,
    pub order: u8,
    pub dirty: bool,
    /// It is clean, and still listed as dirty: it was split out of a folio that lost its last dirty block to a hole or
    /// to a cut. As long as it is cached and not written to, its inode stays on the dirty list.
    pub listed: bool,
}

/// What a block needs before its data can go to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unmapped {
    /// A place.
    Delayed,
    /// Its extent has to become a written one.
    Filled,
}

impl Folio {
    /// A page that is cached by itself, clean.
    fn of_page(page: u32) -> Folio {
        Folio {
            page,
            order: 0,
            dirty: false,
            listed: false,
        }
    }

    /// The halves of halves into which it falls when it is split at one of its pages.
    fn halved(self, border: u32) -> Vec<Folio> {
        let mut pieces = vec![self];
        while let Some(at) = pieces
            .iter()
            .position(|piece| piece.order > 0 && (piece.page..piece.end()).contains(&border))
        {
            let whole = pieces[at];
            let order = whole.order - 1;
            let second = whole.page + (1 << order);
            let halves = [whole.page, second].map(|page| Folio {
                page,
                order,
                ..whole
            });
            pieces.splice(at..=at, halves);
        }
        pieces
    }

    /// The page behind it.
    pub fn end(self) -> u32 {
        self.page.saturating_add(1 << self.order)
    }
}

/// Blocks that are set aside for an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Own {
    pub logical: u32,
    pub block: u32,
    pub blocks: u32,
    pub unused: u32,
}

/// What memory holds of an inode.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    /// The first so many bytes lie in the folios of a file that was written from its beginning to its end.
    pub whole_bytes: u64,
    /// Further pages, in their order.
    pub folios: Vec<Folio>,
    /// Blocks that are written and not yet allocated.
    pub delayed: Runs,
    /// Blocks that were, until `fallocate` allocated them: they are still written back with those that are.
    pub overtaken: Runs,
    /// Blocks that are written to and lie in an extent that is not written yet.
    pub filled: Runs,
    /// Blocks whose data is to be written back, wherever they lie: these, and others that have their place.
    pub changed: Runs,
    /// Holes that the kernel remembers (its extent status tree): that it made, or met where it looked for a block.
    pub holes: Runs,
    /// Binary logarithm of blocks in a page.
    pub page_bits: u32,
    /// Blocks set aside, by their place in the file.
    pub own: Vec<Own>,
    /// Times that it is open for writing.
    pub writers: u32,
    /// Its place in the list of dirty inodes; 0 if it is not on it.
    pub dirty: u64,
    /// It was emptied, and is written to by those who did that.
    pub emptied: bool,
}

impl Cache {
    /// Forgets everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.whole_bytes = 0;
        self.folios.clear();
        self.delayed.clear();
        self.overtaken.clear();
        self.filled.clear();
        self.changed.clear();
        self.holes.clear();
        self.own.clear();
        self.writers = 0;
        self.dirty = 0;
        self.emptied = false;
    }

    /// Place of the first folio that ends behind a page.
    #[inline]
    fn folio_at(&self, page: u32) -> usize {
        // Most files are written from their beginning to their end.
        let before_last = self.folios.len().saturating_sub(1);
        match self.folios.last() {
            Some(last) if last.end() <= page => return before_last + 1,
            Some(last) if last.page <= page => return before_last,
            _ => {}
        }
        self.folios.partition_point(|folio| folio.end() <= page)
    }

    /// Where the folio begins and ends, in pages, that holds a page, or that is made for a write of so many bytes at
    /// `from`.
    pub fn folio_for(&self, from: u64, bytes: u64) -> Folio {
        let page = (from >> PAGE_BITS) as u32;
        if page < self.whole() {
            return written_at_once(self.whole_bytes, page);
        }
        let next = self.folios.get(self.folio_at(page)).copied();
        if let Some(folio) = next.filter(|folio| folio.page <= page) {
            return folio;
        }
        // It does not reach beyond the next multiple of the largest folio.
        let largest = PAGE << MOST_ORDER;
        let bytes = bytes.min(largest - from % largest);
        let mut order = bytes.ilog2().saturating_sub(PAGE_BITS).min(MOST_ORDER);
        order = order.min(page.trailing_zeros());
        if let Some(next) = next {
            while order > 0 && page + (1 << order) > next.page {
                order -= 1;
            }
        }
        Folio {
            order: order as u8,
            ..Folio::of_page(page)
        }
    }

    /// Pages of those bytes.
    pub fn whole(&self) -> u32 {
        self.whole_bytes.div_ceil(PAGE) as u32
    }

    /// Whether there is nothing at or behind a page, but the folio that it is in.
    pub fn ends_at(&self, page: u32) -> bool {
        self.whole() <= page && self.folios.last().is_none_or(|last| last.page <= page)
    }

    /// Puts a folio into the cache, or makes the one that is there dirty.
    pub fn put(&mut self, folio: Folio, dirty: bool) {
        if folio.page < self.whole() {
            if !dirty {
                return;
            }
            self.take_apart(folio.page);
        }
        let at = self.folio_at(folio.page);
        match self.folios.get_mut(at) {
            Some(there) if there.page <= folio.page => there.dirty |= dirty,
            _ => self.folios.insert(at, Folio { dirty, ..folio }),
        }
    }

    /// Keeps the folios from that of a page on one by one.
    fn take_apart(&mut self, from: u32) {
        let end = self.whole();
        let mut page = written_at_once(self.whole_bytes, from).page;
        let keep = page;
        let mut apart = Vec::new();
        while page < end {
            let folio = written_at_once(self.whole_bytes, page);
            let dirty = self.is_changed(folio);
            apart.push(Folio { dirty, ..folio });
            page = folio.end();
        }
        self.folios.splice(..0, apart);
        self.whole_bytes = u64::from(keep) << PAGE_BITS;
    }

    /// Whether a folio has a block whose data is to be written back.
    fn is_changed(&self, folio: Folio) -> bool {
        let next = self.changed.next(folio.page << self.page_bits);
        next.is_some_and(|run| run.0 >> self.page_bits < folio.end())
    }

    /// A folio after some of its blocks went. Without a dirty one it can be split, and is clean then; a single page is
    /// not split, and goes to disk as it is.
    fn without_gone(&self, folio: Folio) -> Folio {
        if folio.dirty && folio.order > 0 && !self.is_changed(folio) {
            let (dirty, listed) = (false, true);
            Folio {
                dirty,
                listed,
                ..folio
            }
        } else {
            folio
        }
    }

    /// All that is dirty was written back, and is listed as dirty no longer.
    pub fn written_back(&mut self) {
        for folio in self.folios.iter_mut().filter(|folio| folio.dirty) {
            (folio.dirty, folio.listed) = (false, false);
        }
        self.changed.clear();
    }

    /// Whether something is left of it for which the inode is listed as dirty.
    pub fn is_listed(&self) -> bool {
        self.folios.iter().any(|folio| folio.listed)
    }

    /// Drops what lies behind the end of a file of so many bytes.
    pub fn cut(&mut self, bytes: u64) {
        let pages = bytes.div_ceil(PAGE) as u32;
        let first_gone = bytes.div_ceil(PAGE >> self.page_bits) as u32;
        match pages {
            0 => self.whole_bytes = 0,
            _ if pages <= self.whole() => self.take_apart(pages - 1),
            _ => {}
        }
        self.changed.take(first_gone, u32::MAX);
        while let Some(&last) = self.folios.last() {
            if last.page >= pages {
                self.folios.pop();
                continue;
            }
            // It is touched where the file ends within it, if only within its last page.
            let is_touched = last.end() > pages || !bytes.is_multiple_of(PAGE);
            let last = if is_touched {
                self.without_gone(last)
            } else {
                last
            };
            self.folios.pop();
            if is_touched && !last.dirty {
                let (mut page, mut order) = (last.page, last.order);
                // The half with the last page is halved again.
                while order > 0 {
                    order -= 1;
                    let half = page + (1 << order);
                    if half < pages {
                        self.folios.push(Folio {
                            page,
                            order,
                            ..last
                        });
                        page = half;
                    }
                }
                self.folios.push(Folio {
                    page,
                    order,
                    ..last
                });
            } else {
                self.folios.push(last);
            }
            return;
        }
    }

    /// Blocks that go to disk together: the next run at or behind a block that needs to be mapped, all of them of one
    /// kind. Says of which.
    #[inline]
    pub fn next_unmapped(&self, block: u32) -> Option<(u32, u32, Unmapped)> {
        let delayed = [self.delayed.next(block), self.overtaken.next(block)];
        let first = delayed.iter().flatten().min().copied();
        let filled = self.filled.next(block);
        match (first, filled) {
            (Some(first), filled) if filled.is_none_or(|filled| first.0 < filled.0) => {
                let (start, mut end) = first;
                // Those that were overtaken look alike.
                while let Some(more) = [&self.delayed, &self.overtaken]
                    .into_iter()
                    .find_map(|runs| runs.next(end).filter(|run| run.0 == end))
                {
                    end = more.1;
                }
                Some((start, end, Unmapped::Delayed))
            }
            (_, filled) => filled.map(|(start, end)| (start, end, Unmapped::Filled)),
        }
    }

    /// These blocks are dropped, or have their place. Says how many had none.
    pub fn settle(&mut self, from: u32, to: u32) -> u32 {
        self.overtaken.take(from, to);
        self.filled.take(from, to);
        self.delayed.take(from, to)
    }

    /// A block was looked for that lies in a gap between extents, and is not delayed. Unless a hole that is remembered
    /// has it, the gap is one from now on: up to what is delayed behind the block, and only from it on if anything is
    /// delayed before it.
    pub fn looked_up(&mut self, block: u32, gap: (u32, u32)) {
        if self.holes.has(block) {
            return;
        }
        let (mut from, mut to) = gap;
        while let Some((start, end)) = self.delayed.next(from).filter(|run| run.0 < to) {
            if end <= block {
                from = block;
            } else {
                to = start;
            }
        }
        if from < to {
            self.holes.add(from, to);
        }
    }

    /// `fallocate` gave delayed blocks their place. Says how many there were.
    pub fn overtake(&mut self, from: u32, to: u32) -> u32 {
        let mut at = from;
        while let Some((start, end)) = self.delayed.next(at).filter(|run| run.0 < to) {
            self.overtaken.add(start, end.min(to));
            at = end;
        }
        self.delayed.take(from, to)
    }

    /// Drops the pages of a range of bytes that is punched out of a file of `size` bytes. A dirty folio that reaches
    /// beyond it stays whole; of one that is split the pieces behind the end of the file go too.
    pub fn punch(&mut self, from: u64, to: u64, size: u64) {
        let pages = size.div_ceil(PAGE) as u32;
        let (first, end) = (from.div_ceil(PAGE) as u32, (to / PAGE) as u32);
        let (touched, touched_end) = ((from / PAGE) as u32, to.div_ceil(PAGE) as u32);
        if self.whole() > touched {
            self.take_apart(touched);
        }
        let block = PAGE >> self.page_bits;
        let (first_gone, end_gone) = (from.div_ceil(block) as u32, (to / block) as u32);
        if first_gone < end_gone {
            self.changed.take(first_gone, end_gone);
        }
        let mut kept = Vec::with_capacity(self.folios.len());
        for folio in std::mem::take(&mut self.folios) {
            let is_apart = folio.end() <= touched || folio.page >= touched_end;
            let is_inside = folio.page >= first && folio.end() <= end;
            if is_inside {
                continue;
            }
            let folio = if is_apart {
                folio
            } else {
                self.without_gone(folio)
            };
            if is_apart || folio.dirty {
                kept.push(folio);
                continue;
            }
            let mut pieces = vec![folio];
            for border in [touched, end] {
                pieces = pieces
                    .into_iter()
                    .flat_map(|piece| piece.halved(border))
                    .collect();
            }
            kept.extend(
                pieces
                    .into_iter()
                    .filter(|piece| piece.page < first || piece.end() > end)
                    .filter(|piece| piece.order == folio.order || piece.page < pages),
            );
        }
        self.folios = kept;
    }

    /// Whether nothing has to be kept of it for a file without holes of so many bytes: then whether its pages are
    /// cached, all or none. Of a file that is, the kernel remembers that there is nothing behind its end.
    pub fn is_plain(&self, bytes: u64) -> Option<bool> {
        let end = bytes.div_ceil(PAGE >> self.page_bits) as u32;
        if end > 0 && !self.holes.is(end, u32::MAX) {
            return None;
        }
        let pages = bytes.div_ceil(PAGE) as u32;
        let idle = self.writers == 0 && self.dirty == 0 && !self.emptied;
        let is_mapped =
            self.delayed.is_empty() && self.overtaken.is_empty() && self.filled.is_empty();
        let is_mapped = is_mapped && self.changed.is_empty();
        if !idle || !is_mapped || !self.own.is_empty() {
            return None;
        }
        if self.folios.is_empty() && self.whole_bytes == 0 {
            return Some(pages == 0);
        }
        // The folios of the last call of what is whole, and those behind it.
        let whole = self.whole();
        let mut cached = whole.saturating_sub(1) >> CALL_ORDER << CALL_ORDER;
        while cached < whole {
            let folio = written_at_once(self.whole_bytes, cached);
            if folio != written_at_once(bytes, cached) {
                return None;
            }
            cached = folio.end();
        }
        for folio in &self.folios {
            if folio.page != cached || *folio != written_at_once(bytes, cached) {
                return None;
            }
            cached = folio.end();
        }
        (cached == pages).then_some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folio(page: u32, order: u8) -> Folio {
        Folio {
            order,
            ..Folio::of_page(page)
        }
    }

    /// A dirty folio, of whose blocks the first was written to.
    fn written(page: u32, order: u8) -> Cache {
        let mut cache = Cache::default();
        cache.put(folio(page, order), true);
        cache.changed.add(page, page + 1);
        cache
    }

    #[test]
    fn folios_are_as_large_as_a_write_and_their_place_allow() {
        let cache = Cache::default();
        let made = |from, bytes| cache.folio_for(from, bytes);
        assert_eq!(made(0, 65_536), folio(0, 4));
        assert_eq!(made(0, 10_000), folio(0, 1));
        assert_eq!(made(4096, 65_536), folio(1, 0));
        assert_eq!(made(8192, 40_000), folio(2, 1));
        assert_eq!(made(100, 10), folio(0, 0));
        assert_eq!(made((2 << 20) - 8192, 65_536), folio(510, 1));
    }

    #[test]
    fn a_folio_does_not_reach_into_the_next_one() {
        let mut cache = Cache::default();
        cache.put(folio(3, 0), true);
        assert_eq!(cache.folio_for(0, 65_536), folio(0, 1));
        assert_eq!(cache.folio_for(8192, 65_536), folio(2, 0));
        assert!(cache.folio_for(12_288, 65_536).dirty);
    }

    #[test]
    fn a_clean_folio_over_the_new_end_is_halved_and_a_dirty_one_stays() {
        let mut cache = Cache::default();
        cache.put(folio(0, 4), false);
        cache.cut(5 * 4096 + 1);
        assert_eq!(cache.folios, [folio(0, 2), folio(4, 0), folio(5, 0)]);
        let mut cache = written(0, 4);
        cache.cut(5 * 4096 + 1);
        assert_eq!(cache.folios.len(), 1);
    }

    #[test]
    fn what_lost_its_last_dirty_block_is_clean_and_stays_listed() {
        let mut cache = written(0, 4);
        cache.changed.take(0, 1);
        cache.changed.add(7, 9);
        cache.punch(7 * 4096, 8 * 4096, 1 << 30);
        assert_eq!((cache.folios.len(), cache.is_listed()), (1, false));
        cache.cut(6 * 4096);
        let listed = |page, order| Folio {
            listed: true,
            ..folio(page, order)
        };
        assert_eq!(cache.folios, [listed(0, 2), listed(4, 0), listed(5, 0)]);
        cache.written_back();
        assert!(cache.is_listed());
        // What is written of it is listed no longer.
        cache.put(folio(4, 0), true);
        cache.changed.add(4, 5);
        cache.written_back();
        assert_eq!(cache.folios, [listed(0, 2), folio(4, 0), listed(5, 0)]);
        cache.cut(0);
        assert!(!cache.is_listed());
        // A page by itself is written, even if nothing is left in it.
        let mut cache = written(0, 0);
        cache.changed.take(0, 1);
        cache.cut(1);
        assert!(cache.folios[0].dirty && !cache.is_listed());
    }

    #[test]
    fn what_is_written_back_together_is_of_one_kind() {
        let mut cache = Cache::default();
        cache.delayed.add(0, 10);
        cache.filled.add(10, 12);
        assert_eq!(cache.overtake(4, 6), 2);
        assert_eq!(cache.next_unmapped(0), Some((0, 10, Unmapped::Delayed)));
        assert_eq!(cache.next_unmapped(5), Some((5, 10, Unmapped::Delayed)));
        assert_eq!(cache.next_unmapped(10), Some((10, 12, Unmapped::Filled)));
        assert_eq!(cache.settle(0, 100), 8);
        assert_eq!(cache.next_unmapped(0), None);
    }

    #[test]
    fn a_hole_is_remembered_where_a_block_was_looked_for() {
        let known = |delayed: &[(u32, u32)], holes: &[(u32, u32)], block, gap| {
            let mut cache = Cache::default();
            for run in delayed {
                cache.delayed.add(run.0, run.1);
            }
            for run in holes {
                cache.holes.add(run.0, run.1);
            }
            cache.looked_up(block, gap);
            let mut all = Vec::new();
            while let Some(run) = cache
                .holes
                .next(all.last().map_or(0, |run: &(u32, u32)| run.1))
            {
                all.push(run);
            }
            all
        };
        assert_eq!(known(&[], &[], 5, (2, u32::MAX)), [(2, u32::MAX)]);
        // Up to what is delayed behind it, and from itself on where something is before it.
        assert_eq!(known(&[(8, 9)], &[], 5, (2, 20)), [(2, 8)]);
        assert_eq!(known(&[(3, 4), (8, 9)], &[], 5, (2, 20)), [(5, 8)]);
        // One that is known stays as it is where it has the block, else it is a part of the gap.
        assert_eq!(known(&[], &[(4, 6)], 5, (2, 20)), [(4, 6)]);
        assert_eq!(known(&[], &[(4, 6)], 7, (2, 20)), [(2, 20)]);
        assert_eq!(known(&[(6, 7)], &[(4, 6)], 7, (2, 20)), [(4, 6), (7, 20)]);
    }

    /// Folios of files that were written at once, as `folio_for` makes them call by call.
    #[test]
    fn folios_of_a_file_that_was_written_at_once_are_those_of_its_calls() {
        for bytes in [
            1, 4096, 4097, 13_000, 16_383, 16_384, 27_148, 65_535, 65_536, 77_907, 200_000,
        ] {
            let mut cache = Cache::default();
            let mut from = 0;
            while from < bytes {
                let call_end = bytes.min((from / 65_536 + 1) * 65_536);
                let folio = cache.folio_for(from, call_end - from);
                cache.put(folio, true);
                from = (u64::from(folio.end()) * 4096).min(call_end);
            }
            cache.written_back();
            let behind = bytes.div_ceil(PAGE) as u32;
            assert_eq!(
                cache.is_plain(bytes),
                None,
                "nothing is known behind {bytes}"
            );
            cache.holes.add(behind, u32::MAX);
            assert_eq!(cache.is_plain(bytes), Some(true), "{bytes}");
            let mut whole = Cache {
                whole_bytes: bytes,
                holes: cache.holes.clone(),
                ..Cache::default()
            };
            assert_eq!(whole.is_plain(bytes), Some(true), "{bytes}");
            whole.take_apart(0);
            assert_eq!(
                (whole.whole(), &whole.folios),
                (0, &cache.folios),
                "{bytes}"
            );
        }
        // Two pages that were written one after the other are not the folio of one call.
        let mut cache = Cache::default();
        cache.put(folio(0, 0), false);
        cache.put(folio(1, 0), false);
        assert_eq!(cache.is_plain(8192), None);
    }

    #[test]
    fn a_hole_halves_clean_folios_and_leaves_dirty_ones() {
        let mut cache = Cache::default();
        cache.put(folio(0, 4), false);
        cache.punch(5 * 4096, 8 * 4096, 1 << 30);
        let pieces = [(0, 2), (4, 0), (8, 0), (9, 0), (10, 1), (12, 2)];
        assert_eq!(cache.folios, pieces.map(|(page, order)| folio(page, order)));
        let mut cache = written(0, 4);
        cache.punch(5 * 4096, 8 * 4096, 1 << 30);
        assert_eq!(cache.folios.len(), 1);
        cache.punch(0, 16 * 4096, 1 << 30);
        assert!(cache.folios.is_empty());
    }
}
