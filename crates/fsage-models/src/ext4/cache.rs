//! What memory holds of an inode: pages in folios, blocks that are written and not yet allocated, blocks that are set
//! aside for it.
//!
//! Most files have nothing of it: all their pages are cached and clean, and how they lie in folios moves no block. Only
//! a file that is open or dirty, that has holes, or of which some pages are cached and others are not, has a [`Cache`].
//!
//! Spec: `docs/spec/ext4.md`, sections 10 and 15.

/// Binary logarithm of the bytes of a page.
pub(super) const PAGE_BITS: u32 = 12;
const PAGE: u64 = 1 << PAGE_BITS;
/// A folio has at most so many pages, as a power of two.
const MOST_ORDER: u32 = 9;

/// Pages that are cached together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Folio {
    pub page: u32,
    pub order: u8,
    pub dirty: bool,
}

impl Folio {
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
    /// The first so many pages are cached and clean; how they lie in folios is of no importance.
    pub whole: u32,
    /// Further pages, in their order.
    pub folios: Vec<Folio>,
    /// Blocks that are written and not yet allocated: first block and the one behind, ascending, apart.
    pub delayed: Vec<(u32, u32)>,
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
        self.whole = 0;
        self.folios.clear();
        self.delayed.clear();
        self.own.clear();
        self.writers = 0;
        self.dirty = 0;
        self.emptied = false;
    }

    /// Place of the first folio that ends behind a page.
    fn folio_at(&self, page: u32) -> usize {
        self.folios.partition_point(|folio| folio.end() <= page)
    }

    /// Where the folio begins and ends, in pages, that holds a page, or that is made for a write of so many bytes at
    /// `from`.
    pub fn folio_for(&self, from: u64, bytes: u64) -> Folio {
        let page = (from >> PAGE_BITS) as u32;
        let clean = |page, order| Folio {
            page,
            order,
            dirty: false,
        };
        if page < self.whole {
            return clean(page, 0);
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
        clean(page, order as u8)
    }

    /// Puts a folio into the cache, or makes the one that is there dirty.
    pub fn put(&mut self, folio: Folio, dirty: bool) {
        if folio.page < self.whole {
            if !dirty {
                return;
            }
            // What is below it is still whole.
            let above = self.whole;
            self.whole = folio.page;
            for page in folio.end()..above {
                let at = self.folio_at(page);
                let order = 0;
                self.folios.insert(
                    at,
                    Folio {
                        page,
                        order,
                        dirty: false,
                    },
                );
            }
        }
        let at = self.folio_at(folio.page);
        match self.folios.get_mut(at) {
            Some(there) if there.page <= folio.page => there.dirty |= dirty,
            _ => self.folios.insert(at, Folio { dirty, ..folio }),
        }
    }

    /// Drops what lies behind the end of a file of so many bytes.
    pub fn cut(&mut self, bytes: u64) {
        let pages = bytes.div_ceil(PAGE) as u32;
        self.whole = self.whole.min(pages);
        while let Some(last) = self.folios.last_mut() {
            if last.page >= pages {
                self.folios.pop();
                continue;
            }
            if last.end() > pages && !last.dirty {
                let (mut page, mut order) = (last.page, last.order);
                self.folios.pop();
                // The half with the last page is halved again.
                while order > 0 {
                    order -= 1;
                    let half = page + (1 << order);
                    if half < pages {
                        let dirty = false;
                        self.folios.push(Folio { page, order, dirty });
                        page = half;
                    }
                }
                let dirty = false;
                self.folios.push(Folio { page, order, dirty });
            }
            return;
        }
    }

    /// Whether a block is written and not yet allocated.
    #[inline]
    pub fn is_delayed(&self, block: u32) -> bool {
        let at = self.delayed.partition_point(|run| run.1 <= block);
        self.delayed.get(at).is_some_and(|run| run.0 <= block)
    }

    /// The first block at or behind another that is written and not yet allocated, and the end of its run.
    #[inline]
    pub fn next_delayed(&self, block: u32) -> Option<(u32, u32)> {
        let at = self.delayed.partition_point(|run| run.1 <= block);
        let run = self.delayed.get(at)?;
        Some((run.0.max(block), run.1))
    }

    /// A block is written that is neither allocated nor delayed.
    #[inline]
    pub fn delay(&mut self, block: u32) {
        if let Some(last) = self.delayed.last_mut()
            && last.1 == block
        {
            last.1 += 1;
            return;
        }
        let at = self.delayed.partition_point(|run| run.1 < block);
        match self.delayed.get_mut(at) {
            Some(run) if run.1 == block => {
                run.1 += 1;
                let end = run.1;
                if let Some(next) = self.delayed.get(at + 1).copied()
                    && next.0 == end
                {
                    self.delayed[at].1 = next.1;
                    self.delayed.remove(at + 1);
                }
            }
            Some(run) if run.0 == block + 1 => run.0 = block,
            _ => self.delayed.insert(at, (block, block + 1)),
        }
    }

    /// These blocks are delayed no more. Says how many were.
    pub fn settle(&mut self, from: u32, to: u32) -> u32 {
        let mut gone = 0;
        let mut at = self.delayed.partition_point(|run| run.1 <= from);
        while let Some(run) = self.delayed.get(at).copied()
            && run.0 < to
        {
            let (start, end) = (run.0.max(from), run.1.min(to));
            gone += end - start;
            let keeps = [(run.0, start), (end, run.1)];
            let keeps = keeps.into_iter().filter(|keep| keep.0 < keep.1);
            let kept: Vec<(u32, u32)> = keeps.collect();
            let next = at + kept.len();
            self.delayed.splice(at..=at, kept);
            at = next;
        }
        gone
    }

    /// Blocks that are written and not yet allocated.
    pub fn delayed_blocks(&self) -> u32 {
        self.delayed.iter().map(|run| run.1 - run.0).sum()
    }

    /// Whether nothing has to be kept of it for a file without holes of so many bytes: then whether its pages are
    /// cached, all or none.
    pub fn is_plain(&self, bytes: u64) -> Option<bool> {
        let pages = bytes.div_ceil(PAGE) as u32;
        let idle = self.writers == 0 && self.dirty == 0 && !self.emptied;
        if !idle || !self.delayed.is_empty() || !self.own.is_empty() {
            return None;
        }
        if self.folios.is_empty() {
            return match self.whole {
                0 => Some(pages == 0),
                whole if whole == pages => Some(true),
                _ => None,
            };
        }
        let mut cached = self.whole;
        for folio in &self.folios {
            if folio.dirty || folio.page != cached {
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
            page,
            order,
            dirty: false,
        }
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
        let mut cache = Cache::default();
        cache.put(folio(0, 4), true);
        cache.cut(5 * 4096 + 1);
        assert_eq!(cache.folios.len(), 1);
    }

    #[test]
    fn delayed_blocks_are_runs() {
        let mut cache = Cache::default();
        for block in [5, 7, 6, 9, 8, 1, 0, 3] {
            cache.delay(block);
        }
        assert_eq!(cache.delayed, [(0, 2), (3, 4), (5, 10)]);
        assert_eq!(cache.settle(1, 7), 4);
        assert_eq!(cache.delayed, [(0, 1), (7, 10)]);
        assert_eq!(cache.next_delayed(1), Some((7, 10)));
        assert!(cache.is_delayed(0) && !cache.is_delayed(6));
        assert_eq!(cache.settle(0, 100), 4);
        assert_eq!(cache.next_delayed(0), None);
    }
}
