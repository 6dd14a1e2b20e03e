//! Which page lies where: the page map, superblocks and cursors. docs/spec/flash.md, sections 5.1 and 5.6.
//!
//! Where a page lies is decided when it is written, by the order of writing alone. Nothing here knows of time.

use super::geometry::Geometry;
use super::precondition::SplitMix;
use super::victims::Victims;
use std::collections::VecDeque;

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    Host = 0,
    Collector = 1,
}

/// Where the next page of a writer goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    pub superblock: u32,
    /// Pages of it that were handed out.
    pub taken: u32,
}

/// Superblocks of the dies that are filled together.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    /// Valid pages by superblock.
    valid: Vec<u32>,
    /// Pages that were valid and are no more, or never were, by superblock.
    dead: Vec<u32>,
    pub free: VecDeque<u32>,
    victims: Victims,
    pub cursors: [Cursor; 2],
    /// Pages that the host may write until the collector looks again, and what is added then.
    pub credits: u32,
    pub refill: u32,
    /// All valid pages.
    pub in_use: u32,
}

/// The map in both directions, 4 bytes a page each.
#[derive(Clone, Debug)]
pub(super) struct Map {
    pub geometry: Geometry,
    /// Physical page by logical page, and one more; 0: none.
    forward: Vec<u32>,
    /// Logical page by physical page, and one more; 0: not valid.
    reverse: Vec<u32>,
    pub pools: Vec<Pool>,
}

impl Map {
    /// A map without pages. Memory is used as pages are.
    pub fn new(geometry: Geometry) -> Map {
        let superblocks = geometry.superblocks;
        let pool = Pool {
            valid: vec![0; superblocks as usize],
            dead: vec![0; superblocks as usize],
            free: (2..superblocks).collect(),
            victims: Victims::new(superblocks),
            cursors: [0, 1].map(|superblock| Cursor {
                superblock,
                taken: 0,
            }),
            credits: geometry.superblock,
            refill: geometry.superblock,
            in_use: 0,
        };
        Map {
            forward: vec![0; geometry.logical_pages as usize],
            reverse: vec![0; geometry.physical_pages() as usize],
            pools: vec![pool; geometry.pools as usize],
            geometry,
        }
    }

    /// Where a logical page lies.
    #[inline]
    pub fn find(&self, page: u32) -> Option<u32> {
        self.forward[page as usize].checked_sub(1)
    }

    /// What lies on a physical page.
    pub fn logical(&self, physical: u32) -> Option<u32> {
        self.reverse[physical as usize].checked_sub(1)
    }

    /// Valid pages of a run of physical pages.
    pub fn valid_in(&self, first: u32, pages: u32) -> u32 {
        let run = &self.reverse[first as usize..(first + pages) as usize];
        run.iter().filter(|&&logical| logical != 0).count() as u32
    }

    /// The page is no longer where it was.
    pub fn unmap(&mut self, page: u32) {
        let Some(physical) = self.find(page) else {
            return;
        };
        self.forward[page as usize] = 0;
        self.reverse[physical as usize] = 0;
        let superblock = physical / self.geometry.superblock;
        let pool = &mut self.pools[(superblock / self.geometry.superblocks) as usize];
        pool.lose(
            superblock % self.geometry.superblocks,
            self.geometry.superblock,
        );
    }

    /// Hands out the next page of a writer; `page` lies there now, or nothing does.
    pub fn place(&mut self, pool: u32, writer: Writer, page: Option<u32>) -> u32 {
        let geometry = &self.geometry;
        let of_pool = &mut self.pools[pool as usize];
        let Cursor { superblock, taken } = of_pool.cursors[writer as usize];
        let physical = geometry.dealt(pool, superblock, taken);
        let counts = match page {
            Some(page) => {
                self.forward[page as usize] = physical + 1;
                self.reverse[physical as usize] = page + 1;
                of_pool.in_use += 1;
                &mut of_pool.valid
            }
            None => &mut of_pool.dead,
        };
        counts[superblock as usize] += 1;
        of_pool.cursors[writer as usize].taken += 1;
        if taken + 1 == geometry.superblock {
            of_pool.close(writer, geometry.superblock);
        }
        physical
    }

    /// Takes the superblock with the fewest valid pages, of all or of so many that are drawn, and says how many of its
    /// pages were dead.
    pub fn take_victim(
        &mut self,
        pool: u32,
        drawn: u32,
        random: &mut SplitMix,
    ) -> Option<(u32, u32)> {
        let pool = &mut self.pools[pool as usize];
        let Pool { victims, valid, .. } = pool;
        let superblock = if drawn == 0 {
            victims.pop(valid)?
        } else {
            let candidates = (0..drawn).filter_map(|_| {
                let place = random.next().checked_rem(victims.len() as u64)?;
                Some(victims.at(place as usize))
            });
            let fewest = candidates.min_by_key(|&superblock| valid[superblock as usize])?;
            victims.remove(fewest, valid);
            fewest
        };
        Some((superblock, pool.dead[superblock as usize]))
    }

    /// Whether collecting in a pool would make room: the superblock with the fewest valid pages has dead ones.
    pub fn may_collect(&self, pool: u32) -> bool {
        let pool = &self.pools[pool as usize];
        let top = (!pool.victims.is_empty()).then(|| pool.victims.at(0));
        top.is_some_and(|top| pool.dead[top as usize] > 0)
    }

    /// Valid pages of a superblock.
    pub fn valid_of(&self, pool: u32, superblock: u32) -> u32 {
        self.pools[pool as usize].valid[superblock as usize]
    }

    /// A page of a victim goes to the collector's cursor.
    pub fn move_page(&mut self, pool: u32, from: u32, page: u32) -> u32 {
        self.reverse[from as usize] = 0;
        self.pools[pool as usize].in_use -= 1;
        self.place(pool, Writer::Collector, Some(page))
    }

    /// A victim whose pages have all moved is free again.
    pub fn free(&mut self, pool: u32, superblock: u32) {
        let pool = &mut self.pools[pool as usize];
        pool.valid[superblock as usize] = 0;
        pool.dead[superblock as usize] = 0;
        pool.free.push_back(superblock);
    }

    /// The program unit of a page has not been sent to its die: it is one that a cursor is still filling.
    pub fn is_open(&self, physical: u32) -> bool {
        let geometry = &self.geometry;
        let superblock = physical / geometry.superblock;
        let pool = &self.pools[(superblock / geometry.superblocks) as usize];
        let number = superblock % geometry.superblocks;
        let unit_end = (physical % geometry.block / geometry.unit + 1) * geometry.unit;
        let die = physical / geometry.block % geometry.dies;
        pool.cursors
            .iter()
            .any(|c| c.superblock == number && geometry.dealt_to(die, c.taken) < unit_end)
    }

    /// Whether everything that is kept twice agrees, and no page is in two places.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn check(&self) -> Result<(), String> {
        let geometry = &self.geometry;
        for (page, &physical) in self.forward.iter().enumerate() {
            if physical != 0 && self.reverse[physical as usize - 1] as usize != page + 1 {
                return Err(format!(
                    "page {page} is not on the physical page that it is mapped to"
                ));
            }
        }
        let mapped = self.forward.iter().filter(|&&p| p != 0).count();
        if mapped != self.reverse.iter().filter(|&&p| p != 0).count() {
            return Err("a page is in two places".to_owned());
        }
        for (number, pool) in self.pools.iter().enumerate() {
            let at = |message: String| format!("pool {number}: {message}");
            pool.victims.check(&pool.valid).map_err(at)?;
            let mut in_use = 0;
            for superblock in 0..geometry.superblocks {
                let first =
                    (number as u32 * geometry.superblocks + superblock) * geometry.superblock;
                let found = self.valid_in(first, geometry.superblock);
                in_use += found;
                pool.check(superblock, found, geometry.superblock)
                    .map_err(at)?;
            }
            if in_use != pool.in_use {
                return Err(at(format!("{in_use} valid pages, {} counted", pool.in_use)));
            }
        }
        Ok(())
    }
}

impl Pool {
    /// A superblock loses a valid page.
    fn lose(&mut self, superblock: u32, pages: u32) {
        let valid = &mut self.valid[superblock as usize];
        let was_full = *valid == pages;
        *valid -= 1;
        self.dead[superblock as usize] += 1;
        self.in_use -= 1;
        if self.victims.has(superblock) {
            self.victims.rise(superblock, &self.valid);
        } else if was_full {
            self.victims.insert(superblock, &self.valid);
        }
    }

    /// All pages of the writer's superblock have been handed out: it may be collected, and the next one is opened.
    fn close(&mut self, writer: Writer, pages: u32) {
        let cursor = &mut self.cursors[writer as usize];
        let closed = cursor.superblock;
        let next = self.free.pop_front();
        *cursor = Cursor {
            superblock: next.expect("a drive that was checked keeps superblocks free"),
            taken: 0,
        };
        if self.valid[closed as usize] < pages {
            self.victims.insert(closed, &self.valid);
        }
    }

    /// Checks one superblock, which was found to have so many valid pages.
    fn check(&self, superblock: u32, found: u32, pages: u32) -> Result<(), String> {
        let valid = self.valid[superblock as usize];
        let used = valid + self.dead[superblock as usize];
        if found != valid {
            return Err(format!(
                "superblock {superblock}: {found} valid pages, {valid} counted"
            ));
        }
        let open = self.cursors.iter().find(|c| c.superblock == superblock);
        let is_free = self.free.contains(&superblock);
        let is_full = valid == pages && open.is_none();
        let is_victim = self.victims.has(superblock);
        let states = [open.is_some(), is_free, is_full, is_victim];
        if states.iter().filter(|&&state| state).count() != 1 {
            return Err(format!(
                "superblock {superblock}: expected one of open, free, full, victim; found {states:?}"
            ));
        }
        let expected = open.map_or(if is_free { 0 } else { pages }, |cursor| cursor.taken);
        if used != expected {
            return Err(format!(
                "superblock {superblock}: {used} used pages, expected {expected}"
            ));
        }
        Ok(())
    }
}
