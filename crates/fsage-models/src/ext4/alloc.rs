//! Requests for blocks: what is set aside, how much is asked for, and the search over groups.
//!
//! Spec: `docs/spec/ext4.md`, sections 13 to 19.

use super::cache::Own;
use super::groups::average_class;
use super::pieces::{self, order_of};
use super::trace::{Criterion, Searched, Served};
use super::tree::Goal;
use super::{Ext4, Kind};
use std::cmp::Ordering;

/// Blocks that are set aside for small files at once.
const GROUP_PREALLOCATION: u32 = 512;
/// Lists of what is set aside for small files, by the order of its length.
pub(super) const LISTS: usize = 10;
/// A list that has more than the second number of entries is cut to the first; the one just used stays.
const KEPT: usize = 5;
const MOST: usize = 8;
/// Pieces that are measured before any that suffices is taken, and before the search ends.
const MIN_TO_SCAN: u32 = 10;
const MAX_TO_SCAN: u32 = 200;
/// The search tries lengths shorter by so many orders.
const MOST_TRIMMED: u32 = 3;
/// From so many groups on they are found by their classes.
const OPTIMIZED_GROUPS: u32 = 16;
/// On devices that rotate so many groups are tried first, one after the other.
const LINEAR_GROUPS: u32 = 4;
/// Flex groups of so many groups keep their first one for directories.
pub(super) const FLEX_SCHEME: u32 = 4;

/// Blocks set aside for small files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub block: u32,
    pub blocks: u32,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Request {
    /// Slot of the inode.
    pub inode: u32,
    /// First block in the file.
    pub logical: u32,
    /// How many.
    pub blocks: u32,
    pub goal: u32,
    /// The goal is tried before anything else.
    pub exactly: bool,
    /// The nearest allocated blocks: in the file, and on disk.
    pub left: Option<(u32, u32)>,
    pub right: Option<(u32, u32)>,
    /// Of a regular file.
    pub is_data: bool,
    /// Space for it was reserved when it was written.
    pub is_delayed: bool,
    /// It is asked for as it is.
    pub as_it_is: bool,
    /// Size of the file, in bytes, and whether it is open.
    pub size: u64,
    pub is_open: bool,
}

/// Who serves a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    /// What is set aside for all small files.
    Shared,
    /// What is set aside for this one.
    Stream,
    /// Nothing is set aside.
    Plain,
}

/// A run that was found.
#[derive(Clone, Copy, Debug)]
struct Found {
    group: u32,
    at: u32,
    blocks: u32,
}

/// What is searched for: more than is asked for, mostly. It is worked out once for a request, and tries that follow go
/// on with what the one before left.
#[derive(Clone, Copy, Debug)]
struct Aim {
    /// First block in the file.
    start: u32,
    wanted: u32,
    goal: u32,
    exactly: bool,
}

/// A search over groups.
struct Search<'a> {
    fs: &'a Ext4,
    is_data: bool,
    is_shared: bool,
    wanted: u32,
    asked: u32,
    best: Option<Found>,
    measured: u32,
}

/// The search is over, with the best that it has.
struct Over;

impl Ext4 {
    /// The address that a goal stands for; it may lie behind the end.
    pub(super) fn address_of(&self, goal: Goal, ino: u32, is_data: bool) -> u32 {
        let g = &self.geometry;
        match goal {
            Goal::Near(block) | Goal::Exactly(block) => block,
            Goal::Inode => {
                let mut group = (ino - 1) / g.inodes_per_group;
                if g.flex >= FLEX_SCHEME {
                    group = group / g.flex * g.flex;
                    // Where the last flex group has one group alone, that lies behind the end.
                    group += u32::from(is_data);
                }
                g.start_of(group)
            }
        }
    }

    /// Whether whole pieces of a group are for directories alone.
    pub(super) fn is_kept_for_directories(&self, group: u32) -> bool {
        let g = &self.geometry;
        g.flex >= FLEX_SCHEME && group.is_multiple_of(g.flex)
    }

    /// Whether so many blocks may be claimed. Where it is tight, exact counts decide.
    pub(super) fn has_free(&self, blocks: u32) -> bool {
        let counters = &self.counters;
        let blocks = i64::from(blocks);
        let (reserve, pool) = (self.geometry.reserve_blocks as i64, self.pool());
        let (mut free, mut delayed) = (counters.free_blocks.read(), counters.delayed.read());
        if free - (blocks + reserve + pool + delayed) < self.watermark {
            (free, delayed) = (counters.free_blocks.exact(), counters.delayed.exact());
        }
        let kept = if self.params.superuser { 0 } else { reserve };
        free >= blocks + delayed + pool + kept
    }

    /// Whether a block can be claimed without an exact look at the counters, and without one for each write.
    pub(super) fn is_far_from_full(&self, free: i64, delayed: i64) -> bool {
        let reserve = self.geometry.reserve_blocks as i64;
        free - (1 + reserve + self.pool() + delayed) >= self.watermark
    }

    /// Blocks that only trees of files may take whose data was written before.
    fn pool(&self) -> i64 {
        i64::from((self.geometry.blocks / 50).min(4096))
    }

    /// Blocks for a request: the first, and how many; they are in use on disk then.
    pub(super) fn allocate(&mut self, mut request: Request) -> Option<(u32, u32)> {
        let mut claimed = 0;
        if !request.is_delayed {
            while request.blocks > 0 && !self.has_free(request.blocks) {
                request.blocks /= 2;
            }
            if request.blocks == 0 {
                return None;
            }
            claimed = i64::from(request.blocks);
            self.counters.delayed.add(claimed);
        }
        // The search looks for a group at most, whatever was asked for: a longer request could never be found whole.
        request.blocks = request.blocks.min(self.geometry.blocks_per_group);
        let asked_goal = request.goal;
        if !(self.geometry.first_block..self.geometry.blocks).contains(&request.goal) {
            request.goal = self.geometry.first_block;
        }
        let (found, searched) = self.serve(&request);
        self.record(&request, asked_goal, found, searched);
        if let Some((block, blocks)) = found {
            self.groups.use_on_disk(block, blocks);
            self.counters.free_blocks.add(-i64::from(blocks));
            self.changed_blocks(block, blocks);
        }
        if claimed > 0 {
            self.counters.delayed.add(-claimed);
        }
        found
    }

    fn service(&self, request: &Request) -> Service {
        let end = request.logical + request.blocks;
        let size = request.size.div_ceil(self.geometry.block_bytes) as u32;
        if end.max(size) <= self.params.stream_request {
            Service::Shared
        } else if end != size || request.is_open {
            Service::Stream
        } else {
            Service::Plain
        }
    }

    /// Serves a request; says what was searched for, if anything was.
    fn serve(&mut self, request: &Request) -> (Option<(u32, u32)>, Option<Searched>) {
        let mut service = Service::Plain;
        if request.is_data {
            service = self.service(request);
            let mut kept = self.take_own(request.inode, request.logical, request.blocks);
            if kept.is_none() && service == Service::Shared {
                let block = self.take_shared(request.goal, request.blocks);
                kept = block.map(|block| (block, request.blocks));
            }
            if kept.is_some() {
                return (kept, None);
            }
        }
        let (found, searched) = self.search_with_retries(request, service);
        (found, Some(searched))
    }

    /// Takes from what is set aside for an inode.
    fn take_own(&mut self, inode: u32, logical: u32, blocks: u32) -> Option<(u32, u32)> {
        let cache = self.cache_of(inode)?;
        let at = cache.own.partition_point(|own| own.logical <= logical);
        let at = at.checked_sub(1)?;
        let own = cache.own[at];
        if own.logical + own.blocks <= logical {
            return None;
        }
        let taken = blocks.min(own.logical + own.blocks - logical);
        let cache = self.cache_mut(inode);
        cache.own[at].unused -= taken;
        if cache.own[at].unused == 0 {
            cache.own.remove(at);
        }
        Some((own.block + (logical - own.logical), taken))
    }

    /// Takes from what is set aside for small files: the run nearest to the goal.
    fn take_shared(&mut self, goal: u32, blocks: u32) -> Option<u32> {
        let lists = order_of(blocks).min(LISTS as u32 - 1) as usize..LISTS;
        let mut nearest: Option<(u32, usize, usize)> = None;
        for list in lists {
            for (at, shared) in self.shared[self.cpu][list].iter().enumerate() {
                let distance = goal.abs_diff(shared.block);
                if shared.blocks >= blocks && nearest.is_none_or(|(least, ..)| distance < least) {
                    nearest = Some((distance, list, at));
                }
            }
        }
        let (_, list, at) = nearest?;
        let mut shared = self.shared[self.cpu][list][at];
        let block = shared.block;
        shared.block += blocks;
        shared.blocks -= blocks;
        self.shared[self.cpu][list].remove(at);
        self.keep_shared(shared);
        Some(block)
    }

    /// Puts what is left into the list of its length. A list that becomes too long is cut.
    fn keep_shared(&mut self, shared: Shared) {
        if shared.blocks == 0 {
            return;
        }
        let list = &mut self.shared[self.cpu][list_of(shared.blocks)];
        let place = list.partition_point(|other| other.blocks <= shared.blocks);
        list.insert(place, shared);
        let entries = list.len();
        if entries <= MOST {
            return;
        }
        let mut dropped = Vec::new();
        let mut at = 0;
        let mut place = place;
        for _ in KEPT..entries {
            if at == place {
                at += 1;
            }
            dropped.push(list.remove(at));
            if place > at {
                place -= 1;
            }
        }
        for gone in dropped {
            self.groups.give_back(gone.block, gone.blocks);
        }
    }

    /// What is set aside for an inode goes back.
    pub(super) fn drop_own(&mut self, inode: u32) {
        if self
            .cache_of(inode)
            .is_none_or(|cache| cache.own.is_empty())
        {
            return;
        }
        for own in std::mem::take(&mut self.cache_mut(inode).own) {
            self.give_back_unused(own.block, own.blocks);
        }
    }

    fn give_back_unused(&mut self, block: u32, blocks: u32) -> u32 {
        let runs = self.groups.unused_on_disk(block, blocks);
        let mut freed = 0;
        for (start, length) in runs {
            self.groups.give_back(start, length);
            freed += length;
        }
        freed
    }

    /// What is set aside for small files goes back.
    pub(super) fn drop_shared(&mut self) {
        for list in self.shared.iter_mut().flatten() {
            for shared in list.drain(..) {
                self.groups.give_back(shared.block, shared.blocks);
            }
        }
    }

    /// Gives back what is set aside, group by group, until so many blocks came free. Says how many did.
    fn drop_by_group(&mut self, needed: u32) -> u32 {
        let g = &self.geometry;
        let mut all: Vec<(u32, u32, u32, Option<u32>)> = Vec::new();
        for list in self.shared.iter().flatten() {
            all.extend(
                list.iter()
                    .map(|s| (g.group_of(s.block), s.block, s.blocks, None)),
            );
        }
        for (slot, cache) in self.caches() {
            let own = cache.own.iter();
            all.extend(own.map(|own| (g.group_of(own.block), own.block, own.blocks, Some(slot))));
        }
        all.sort_unstable();
        let mut freed = 0;
        for group in all.chunk_by(|a, b| a.0 == b.0) {
            for &(_, block, blocks, owner) in group {
                if let Some(slot) = owner {
                    self.cache_mut(slot).own.retain(|own| own.block != block);
                } else {
                    for list in self.shared.iter_mut().flatten() {
                        list.retain(|shared| shared.block != block);
                    }
                }
                freed += self.give_back_unused(block, blocks);
            }
            if freed >= needed {
                break;
            }
        }
        freed
    }

    fn search_with_retries(
        &mut self,
        request: &Request,
        service: Service,
    ) -> (Option<(u32, u32)>, Searched) {
        let mut aim = self.aim(request, service);
        let mut was_empty = false;
        for _ in 0..2 {
            let (found, searched) = self.search(request, service, &mut aim);
            if found.is_some() {
                return (found, searched);
            }
            if self.drop_by_group(request.blocks) == 0 {
                if was_empty {
                    return (None, searched);
                }
                was_empty = true;
            }
        }
        self.search(request, service, &mut aim)
    }

    /// Normalizes a request.
    fn aim(&self, request: &Request, service: Service) -> Aim {
        let (start, wanted) = match service {
            Service::Shared if !request.as_it_is => (request.logical, GROUP_PREALLOCATION),
            Service::Stream if !request.as_it_is => self.normalize(request),
            _ => (request.logical, request.blocks),
        };
        let mut aim = Aim {
            start,
            wanted,
            goal: request.goal,
            exactly: request.exactly,
        };
        if service == Service::Stream && !request.as_it_is {
            if let Some((logical, block)) = request.right
                && logical == start + wanted
                && block >= wanted
                && block - wanted >= self.geometry.first_block
            {
                (aim.goal, aim.exactly) = (block - wanted, true);
            }
            if let Some((logical, block)) = request.left
                && logical + 1 == start
                && block + 1 < self.geometry.blocks
            {
                (aim.goal, aim.exactly) = (block + 1, true);
            }
        }
        aim
    }

    /// Searches, and sets aside what was found beyond what is asked for.
    fn search(
        &mut self,
        request: &Request,
        service: Service,
        aim: &mut Aim,
    ) -> (Option<(u32, u32)>, Searched) {
        let group = match service {
            Service::Stream => self.stream_goals[self.stream_of(request.inode)],
            _ => self.geometry.group_of(aim.goal),
        };
        let search = Search {
            fs: self,
            is_data: request.is_data,
            is_shared: service == Service::Shared,
            wanted: aim.wanted,
            asked: request.blocks,
            best: None,
            measured: 0,
        };
        let (found, searched) = search.run(aim.exactly.then_some(aim.goal), group);
        let given = found.and_then(|found| self.claim(request, service, aim, found));
        if given.is_none() {
            aim.wanted = searched.blocks;
            aim.exactly &= service != Service::Stream;
        }
        (given, searched)
    }

    /// Takes what was found, and sets aside what nobody asked for.
    fn claim(
        &mut self,
        request: &Request,
        service: Service,
        aim: &Aim,
        found: Found,
    ) -> Option<(u32, u32)> {
        let block = self.geometry.start_of(found.group) + found.at;
        self.groups.take(block, found.blocks);
        if service == Service::Stream {
            let stream = self.stream_of(request.inode);
            self.stream_goals[stream] = found.group;
        }
        if found.blocks <= request.blocks {
            return Some((block, found.blocks));
        }
        if service == Service::Shared {
            self.keep_shared(Shared {
                block: block + request.blocks,
                blocks: found.blocks - request.blocks,
            });
            return Some((block, request.blocks));
        }
        let logical = place_of_own(request, aim.start, aim.wanted, found.blocks);
        let own = Own {
            logical,
            block,
            blocks: found.blocks,
            unused: found.blocks,
        };
        let cache = self.cache_mut(request.inode);
        let at = cache.own.partition_point(|other| other.logical < logical);
        cache.own.insert(at, own);
        self.take_own(request.inode, request.logical, request.blocks)
    }

    /// The goal that files of some inodes share.
    fn stream_of(&self, inode: u32) -> usize {
        self.inodes[inode as usize].ino as usize % self.stream_goals.len()
    }

    /// Notes how a request was served, where that is recorded.
    #[inline]
    fn record(
        &mut self,
        request: &Request,
        goal: u32,
        given: Option<(u32, u32)>,
        searched: Option<Searched>,
    ) {
        if let Some(served) = &mut self.served {
            let (block, got) = given.unwrap_or_default();
            served.push(Served {
                inode: self.inodes[request.inode as usize].ino,
                is_data: request.is_data,
                logical: request.logical,
                asked: request.blocks,
                goal,
                block,
                got,
                searched,
            });
        }
    }

    /// What a growing file asks for: the first block in the file, and how many.
    fn normalize(&self, request: &Request) -> (u32, u32) {
        let bits = self.geometry.block_bits;
        let per_group = self.geometry.blocks_per_group;
        let (logical, blocks) = (request.logical, request.blocks);
        let end = u64::from(logical + blocks) << bits;
        let bytes = end.max(request.size);
        let largest = 2 * self.geometry.block_bytes;
        let aligned = |log: u32| ((logical >> (log - bits)) << (log - bits), 1 << (log - bits));
        let (mut start, mut wanted) = if bytes <= 1 << 20 {
            (0, (bytes.next_power_of_two().max(16 << 10) >> bits) as u32)
        } else if bytes <= 4 << 20 || largest <= 2048 {
            aligned(21)
        } else if bytes <= 8 << 20 || largest <= 4096 {
            aligned(22)
        } else if u64::from(blocks) << bits <= 8 << 20 || largest <= 8192 {
            aligned(23)
        } else {
            (logical, blocks)
        };
        start = start.max(logical / per_group * per_group);
        wanted = wanted.min(u32::MAX - start);
        if let Some((left, _)) = request.left
            && start <= left
        {
            wanted = (start + wanted).saturating_sub(left + 1);
            start = left + 1;
        }
        if let Some((right, _)) = request.right
            && start + wanted > right
        {
            wanted = right - start;
        }
        wanted = wanted.min(per_group);
        // Nothing is asked for where something is set aside already.
        let mut stop = start + wanted;
        for own in self
            .cache_of(request.inode)
            .map_or(&[][..], |cache| &cache.own)
        {
            if own.logical <= logical {
                start = start.max(own.logical + own.blocks);
            } else {
                stop = stop.min(own.logical);
            }
        }
        (start, stop - start)
    }
}

/// Where in the file blocks stand that are set aside for it.
fn place_of_own(request: &Request, start: u32, wanted: u32, found: u32) -> u32 {
    if found == wanted {
        return start;
    }
    let at_the_end = start + wanted - found;
    if at_the_end <= request.logical {
        at_the_end
    } else if request.logical + request.blocks <= start + found {
        start
    } else {
        request.logical
    }
}

/// The list of what is set aside for small files where so many blocks belong.
fn list_of(blocks: u32) -> usize {
    (order_of(blocks) as usize).min(LISTS - 1)
}

impl Search<'_> {
    fn orders(&self) -> u32 {
        self.fs.geometry.orders()
    }

    /// What was found, how much was wanted in the end, and the criterion that ended the search.
    fn run(mut self, exactly: Option<u32>, start: u32) -> (Option<Found>, Searched) {
        if let Some(goal) = exactly
            && let Some(found) = self.at_goal(goal)
        {
            let searched = Searched {
                blocks: self.wanted,
                criterion: Some(Criterion::Power2),
            };
            return (Some(found), searched);
        }
        let order = order_of(self.wanted);
        let is_power = self.wanted.is_power_of_two() && order >= 1 && order < self.orders();
        let criteria = [
            Criterion::Power2,
            Criterion::Fast,
            Criterion::BestAvailable,
            Criterion::Slow,
            Criterion::Any,
        ];
        let is_optimized = self.fs.geometry.groups >= OPTIMIZED_GROUPS;
        let mut last = None;
        for criterion in criteria {
            let is_left_out = match criterion {
                Criterion::Power2 => !is_power,
                Criterion::BestAvailable => is_optimized && !self.is_data,
                _ => false,
            };
            if is_left_out {
                continue;
            }
            let by_class =
                is_optimized && criterion != Criterion::Slow && criterion != Criterion::Any;
            let over = if by_class {
                self.by_class(criterion, start)
            } else {
                self.one_by_one(criterion, start, self.fs.geometry.groups)
            };
            if let Err(Over) = over {
                last = Some(criterion);
                break;
            }
        }
        let found = self.best.map(|best| Found {
            blocks: best.blocks.min(self.wanted),
            ..best
        });
        let searched = Searched {
            blocks: self.wanted,
            criterion: last,
        };
        (found, searched)
    }

    fn at_goal(&self, goal: u32) -> Option<Found> {
        let g = &self.fs.geometry;
        let group = g.group_of(goal);
        let at = goal - g.start_of(group);
        let run = self.fs.groups.run_at(group, at)?;
        let enough = pieces::length(run, at, self.wanted, self.orders()) >= self.wanted;
        enough.then_some(Found {
            group,
            at,
            blocks: self.wanted,
        })
    }

    fn one_by_one(&mut self, criterion: Criterion, start: u32, count: u32) -> Result<(), Over> {
        let groups = self.fs.geometry.groups;
        for i in 0..count {
            let group = (start + i) % groups;
            self.try_group(criterion, group)?;
        }
        Ok(())
    }

    /// Groups in ordered sets: from the start to the last one, then those before it.
    fn by_class(&mut self, criterion: Criterion, mut start: u32) -> Result<(), Over> {
        let groups = self.fs.geometry.groups;
        if self.fs.params.rotational {
            self.one_by_one(criterion, start, LINEAR_GROUPS)?;
            start = (start + LINEAR_GROUPS) % groups;
        }
        let full = self.wanted;
        for (from, to) in [(start, groups), (0, start)] {
            match criterion {
                Criterion::Power2 => {
                    for order in order_of(full)..self.orders() {
                        self.in_set(criterion, true, order, from, to)?;
                    }
                }
                Criterion::BestAvailable => {
                    let order = order_of(full);
                    let mut least = order.saturating_sub(MOST_TRIMMED);
                    if 1 << least < self.asked {
                        least = order_of(self.asked) + 1;
                    }
                    for order in (least..=order).rev() {
                        self.wanted = 1 << order;
                        let class = average_class(self.wanted, self.orders());
                        self.in_set(criterion, false, class, from, to)?;
                    }
                }
                _ => {
                    for class in average_class(full, self.orders())..self.orders() {
                        self.in_set(criterion, false, class, from, to)?;
                    }
                }
            }
        }
        // For what small files share the driver forgets how much was wanted, and goes on with what is asked for.
        self.wanted = if criterion == Criterion::BestAvailable && self.is_shared {
            self.asked
        } else {
            full
        };
        Ok(())
    }

    fn in_set(
        &mut self,
        criterion: Criterion,
        by_largest: bool,
        class: u32,
        from: u32,
        to: u32,
    ) -> Result<(), Over> {
        let sets = if by_largest {
            &self.fs.groups.by_largest
        } else {
            &self.fs.groups.by_average
        };
        let set = &sets[class as usize];
        let mut at = from;
        while let Some(group) = set.next(at)
            && group < to
        {
            self.try_group(criterion, group)?;
            at = group + 1;
        }
        Ok(())
    }

    fn try_group(&mut self, criterion: Criterion, group: u32) -> Result<(), Over> {
        let info = &self.fs.groups.all[group as usize].info;
        let enough = match criterion {
            Criterion::Any => info.free > 0,
            _ => info.free >= self.wanted,
        };
        if !enough {
            return Ok(());
        }
        match criterion {
            Criterion::Power2 => {
                let is_kept = self.is_data && self.fs.is_kept_for_directories(group);
                let order = order_of(self.wanted);
                if is_kept
                    || self
                        .fs
                        .groups
                        .largest(group)
                        .is_none_or(|largest| largest < order)
                {
                    return Ok(());
                }
                let found = (order..self.orders()).find(|&order| info.pieces[order as usize] > 0);
                let Some(found) = found else {
                    return Ok(());
                };
                self.best = Some(Found {
                    group,
                    at: self.fs.groups.lowest_piece(group, found),
                    blocks: 1 << found,
                });
                Err(Over)
            }
            Criterion::Fast | Criterion::BestAvailable => {
                if info.free / info.runs < self.wanted {
                    return Ok(());
                }
                self.measure(group, true)
            }
            Criterion::Slow | Criterion::Any => self.measure(group, false),
        }
    }

    /// Measures pieces of a group, from its lowest free block on.
    fn measure(&mut self, group: u32, skips_short: bool) -> Result<(), Over> {
        let mut from = 0;
        while let Some(run) = self.fs.groups.next_run(group, from) {
            from = run.1;
            let mut at = run.0;
            while at < run.1 {
                if skips_short && run.1 - at < self.wanted {
                    break;
                }
                let blocks = pieces::length(run, at, self.wanted, self.orders());
                self.measure_one(Found { group, at, blocks })?;
                at += blocks;
            }
        }
        match self.best {
            Some(best) if best.blocks >= self.wanted => Err(Over),
            _ => Ok(()),
        }
    }

    fn measure_one(&mut self, found: Found) -> Result<(), Over> {
        self.measured += 1;
        if found.blocks == self.wanted {
            self.best = Some(found);
            return Err(Over);
        }
        let Some(best) = &mut self.best else {
            self.best = Some(found);
            return Ok(());
        };
        let better = match best.blocks.cmp(&self.wanted) {
            Ordering::Less => found.blocks > best.blocks,
            _ => found.blocks > self.wanted && found.blocks < best.blocks,
        };
        if better {
            *best = found;
        }
        let suffices = best.blocks >= self.wanted;
        if self.measured > MAX_TO_SCAN || (suffices && self.measured > MIN_TO_SCAN) {
            return Err(Over);
        }
        Ok(())
    }
}

impl Request {
    /// A block of a directory, of a symbolic link or of a tree.
    pub(super) fn single(inode: u32, logical: u32, goal: u32, exactly: bool) -> Request {
        Request {
            inode,
            logical,
            blocks: 1,
            goal,
            exactly,
            left: None,
            right: None,
            is_data: false,
            is_delayed: false,
            as_it_is: true,
            size: 0,
            is_open: false,
        }
    }
}

impl Kind {
    /// Whether its blocks are data to the allocator.
    pub(super) fn is_data(self) -> bool {
        self == Kind::File
    }
}
