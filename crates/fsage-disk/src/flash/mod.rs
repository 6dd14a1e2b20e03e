//! A flash device: a link, a controller with a write buffer, a page map, dies behind channels, garbage collection.
//!
//! Each command is processed completely when it arrives: it takes reservations on dies, channels and the link, and its
//! completion time is the result. Where a page lies is decided by the order of writing alone, so that neighbors in a
//! file that were not written one after the other may lie on one die and wait for each other: what aging costs on
//! flash (Jun and others, FAST 2024). Rule by rule: docs/spec/flash.md.

mod bandwidth;
mod check;
mod counters;
mod drive;
mod geometry;
mod hardware;
mod map;
mod mapping_cache;
mod precondition;
mod read_ahead;
mod spared;
mod spread;
mod victims;

pub use counters::FlashCounters;
pub use drive::{Extensions, FlashDrive};
pub use precondition::Precondition;
pub use spared::Spared;
pub use spread::Spread;

use crate::counters::Counters;
use crate::device::{Access, Components, Device, Hint, Request, Service};

use drive::PAGE_BYTES;
use geometry::Geometry;
use hardware::{Hardware, Operation, Run};
use map::{Map, Writer};
use mapping_cache::MappingCache;
use precondition::SplitMix;
use read_ahead::ReadAhead;
use spared::InOrder;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sectors of a page.
const PAGE_SECTORS: u64 = 8;

/// A collection of a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// The superblock, counted through all partitions.
    pub superblock: u32,
    /// Its valid pages, which were moved.
    pub moved_pages: u32,
    /// Free superblocks of its partition before.
    pub free_superblocks: u32,
}

/// A flash device at work.
#[derive(Clone, Debug)]
pub struct FlashDevice {
    drive: FlashDrive,
    map: Map,
    hardware: Hardware,
    /// Free bytes of the write buffer.
    room: u64,
    /// When bytes of the write buffer become free.
    releases: BinaryHeap<Reverse<(u64, u64)>>,
    /// When the last command was taken; no other is taken before.
    now_ns: u64,
    /// The controller takes no command before this time.
    next_command_ns: u64,
    /// The die that is written next, with die affinity.
    current_die: u32,
    mapping_cache: Option<MappingCache>,
    read_ahead: ReadAhead,
    /// When the pages in the collector's open unit have been read, by pool.
    collected_ns: Vec<u64>,
    counters: Counters,
    collections: Option<Vec<Collection>>,
    /// What chooses superblocks that may be collected, where they are drawn.
    random: SplitMix,
    spared: Spared,
    /// Where pages lie as far as reading goes, if that is not where they are.
    in_order: Option<InOrder>,
}

/// What a command takes behind the wait for the controller.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    overhead_ns: u64,
    slowest: Operation,
}

impl Taken {
    /// One more operation of the command; the first of equals counts.
    fn add(&mut self, operation: Operation) {
        if operation.done_ns > self.slowest.done_ns {
            self.slowest = operation;
        }
    }
}

impl FlashDevice {
    /// A new drive: nothing was ever written.
    pub fn new(drive: &FlashDrive) -> FlashDevice {
        let geometry = Geometry::new(drive);
        let segments = drive.extensions.mapping_cache_segments;
        let of_pages = |room| MappingCache::new(room, geometry.logical_pages);
        FlashDevice {
            drive: drive.clone(),
            hardware: Hardware::new(drive, &geometry),
            room: drive.buffer_bytes,
            releases: BinaryHeap::new(),
            now_ns: 0,
            next_command_ns: 0,
            current_die: 0,
            mapping_cache: (segments > 0).then(|| of_pages(segments)),
            read_ahead: ReadAhead::default(),
            collected_ns: vec![0; geometry.pools as usize],
            counters: Counters::default(),
            collections: None,
            random: SplitMix(0),
            spared: Spared::default(),
            in_order: None,
            map: Map::new(geometry),
        }
    }

    /// The drive that this is.
    pub fn drive(&self) -> &FlashDrive {
        &self.drive
    }

    /// Sums over the operations of dies.
    pub fn flash_counters(&self) -> &FlashCounters {
        &self.hardware.counters
    }

    /// Keeps every collection from now on, or no longer.
    pub fn record_collections(&mut self, on: bool) {
        self.collections = on.then(Vec::new);
    }

    /// The collections since [`FlashDevice::record_collections`].
    pub fn collections(&self) -> &[Collection] {
        self.collections.as_deref().unwrap_or_default()
    }

    /// Rests until everything is idle; this is time 0 then. What lies where stays, and so do counters.
    pub fn rest(&mut self) {
        self.hardware.rest(&self.drive, &self.map.geometry);
        self.room += self
            .releases
            .drain()
            .map(|Reverse((_, bytes))| bytes)
            .sum::<u64>();
        (self.now_ns, self.next_command_ns) = (0, 0);
        self.read_ahead = ReadAhead::default();
        self.collected_ns.fill(0);
    }

    /// Whether map, superblocks and counts fit together, and no page is in two places.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn check(&self) -> Result<(), String> {
        self.map.check()?;
        let released: u64 = self.releases.iter().map(|Reverse((_, bytes))| bytes).sum();
        if self.room + released > self.drive.buffer_bytes {
            return Err("the write buffer has more room than it is large".to_owned());
        }
        Ok(())
    }

    /// Takes note of the room in the buffer that has become free by now.
    fn apply_releases(&mut self) {
        while let Some(&Reverse((at_ns, bytes))) = self.releases.peek()
            && at_ns <= self.now_ns
        {
            self.room += bytes;
            self.releases.pop();
        }
    }

    /// Waits for room in the buffer.
    fn wait_for_room(&mut self, bytes: u64) {
        if self.room >= bytes {
            return;
        }
        self.hardware.counters.blocked_writes += 1;
        while self.room < bytes {
            let release = self.releases.pop();
            let Reverse((at_ns, freed)) =
                release.expect("a drive that was checked has room for it");
            self.now_ns = self.now_ns.max(at_ns);
            self.room += freed;
        }
        self.hardware.now_ns = self.now_ns;
        self.apply_releases();
    }

    /// Reads the segments of the map that a command needs and the controller does not hold. Gives the time from which
    /// on the command goes on.
    fn load_map(&mut self, at_ns: u64, first: u32, last: u32, change: bool) -> u64 {
        let mut ready_ns = at_ns;
        for segment in MappingCache::segments(first, last) {
            let Some(cache) = &mut self.mapping_cache else {
                break;
            };
            let Some(miss) = cache.touch(segment, change) else {
                continue;
            };
            self.hardware.counters.map_misses += 1;
            if let Some(written) = miss.written {
                let pool = written % self.map.geometry.pools;
                self.collect_page(pool, at_ns, None);
                self.spend_credit(pool);
            }
            let sensed = self
                .hardware
                .sense_map(&self.map.geometry, at_ns, miss.segment);
            ready_ns = ready_ns.max(sensed.done_ns);
        }
        ready_ns
    }

    fn read(&mut self, request: Request) -> Taken {
        let (first, last) = pages_of(request);
        let pages = last - first + 1;
        let partitions = self.map.geometry.partitions;
        let overhead_ns = if pages <= partitions {
            self.drive.overhead_4k_read_ns
        } else {
            self.drive.overhead_read_ns
        };
        let at_ns = self.load_map(self.now_ns + overhead_ns, first, last, false);
        let mut taken = Taken {
            overhead_ns: at_ns - self.now_ns,
            ..Taken::default()
        };
        let mut unmapped = 0;
        for begin in first..first + partitions.min(pages) {
            let mut run: Option<Run> = None;
            if let Some(in_order) = &mut self.in_order {
                let together = (last - begin) / partitions + 1;
                let geometry = &self.map.geometry;
                in_order.begin(geometry, self.spared, begin % partitions, together);
            }
            for page in (begin..=last).step_by(partitions as usize) {
                if let Some(ready_ns) = self.read_ahead.ready_ns(page) {
                    taken.add(self.send_buffered(at_ns, ready_ns, 1));
                    continue;
                }
                let Some(mut physical) = self.map.find(page) else {
                    unmapped += 1;
                    continue;
                };
                if self.in_order.is_some() && self.is_buffered(physical) {
                    taken.add(self.read_buffered(at_ns, 1));
                    continue;
                }
                if let Some(in_order) = &mut self.in_order {
                    physical = in_order.place(&self.map.geometry, self.spared, page, physical);
                }
                let flash_page = self.map.geometry.flash_page;
                match &mut run {
                    Some(run) if run.first / flash_page == physical / flash_page => run.pages += 1,
                    _ => {
                        let next = Run {
                            first: physical,
                            pages: 1,
                        };
                        if let Some(run) = run.replace(next) {
                            taken.add(self.read_run(at_ns, run));
                        }
                    }
                }
            }
            if let Some(run) = run {
                taken.add(self.read_run(at_ns, run));
            }
        }
        if unmapped > 0 && self.drive.extensions.unmapped_reads_cost {
            taken.add(self.send_buffered(at_ns, at_ns, unmapped));
        }
        self.prefetch(at_ns, first, last + 1);
        taken
    }

    /// Pages of one flash page go to the host, from the die or from the write buffer.
    fn read_run(&mut self, at_ns: u64, run: Run) -> Operation {
        if self.in_order.is_none() && self.is_buffered(run.first) {
            return self.read_buffered(at_ns, run.pages);
        }
        self.hardware.sense(&self.map.geometry, at_ns, run, true)
    }

    /// Pages go to the host from the write buffer.
    fn read_buffered(&mut self, at_ns: u64, pages: u32) -> Operation {
        self.hardware.counters.buffer_hit_pages += u64::from(pages);
        self.send_buffered(at_ns, at_ns, pages)
    }

    /// A page is read from the write buffer: it is not on flash yet.
    fn is_buffered(&mut self, physical: u32) -> bool {
        let geometry = &self.map.geometry;
        self.drive.extensions.buffer_hits
            && (self.map.is_open(physical) || self.hardware.is_programming(geometry, physical))
    }

    /// Pages that are in memory at `ready_ns` go over the link.
    fn send_buffered(&mut self, at_ns: u64, ready_ns: u64, pages: u32) -> Operation {
        let bytes = u64::from(pages) * PAGE_BYTES;
        let start_ns = at_ns.max(ready_ns);
        let done_ns = self.hardware.link.transfer(self.now_ns, start_ns, bytes);
        Operation {
            done_ns,
            die_ns: start_ns - at_ns,
            link_ns: done_ns - start_ns,
            ..Operation::default()
        }
    }

    /// Senses what is likely to be read next.
    fn prefetch(&mut self, at_ns: u64, first: u32, end: u32) {
        let pages = self.drive.extensions.read_ahead_bytes / PAGE_BYTES as u32;
        if pages == 0 {
            return;
        }
        let mut wanted = self.read_ahead.wanted(first, end, pages);
        wanted.end = wanted.end.min(self.map.geometry.logical_pages);
        let flash_page = self.map.geometry.flash_page;
        let mut at = wanted.start;
        while at < wanted.end {
            let Some(physical) = self.map.find(at) else {
                return;
            };
            let same = |page: &u32| {
                let found = self.map.find(*page);
                found.is_some_and(|p| p / flash_page == physical / flash_page)
            };
            let pages = (at..wanted.end).take_while(same).count() as u32;
            let run = Run {
                first: physical,
                pages,
            };
            let sensed = self.hardware.sense(&self.map.geometry, at_ns, run, false);
            at += pages;
            self.read_ahead.hold(at, sensed.done_ns);
        }
    }

    fn write(&mut self, request: Request) -> Taken {
        let (first, last) = pages_of(request);
        let pages = u64::from(last - first) + 1;
        let bytes = pages * PAGE_BYTES;
        self.wait_for_room(bytes);
        self.room -= bytes;
        self.read_ahead.forget(first, last + 1);
        let costs_ns = self.drive.buffer_fixed_ns + self.drive.buffer_per_4k_ns * pages;
        let at_ns = self.load_map(self.now_ns + costs_ns, first, last, true);
        let mut taken = Taken {
            overhead_ns: at_ns - self.now_ns,
            slowest: self.receive(at_ns, bytes),
        };
        if self.drive.extensions.partial_page_reads {
            self.read_partial_pages(at_ns, request, &mut taken);
        }
        let buffered = taken.slowest;
        self.heed(request.hint, first);
        for page in first..=last {
            self.map.unmap(page);
            let pool = self.pool_of(page);
            let physical = self.map.place(pool, Writer::Host, Some(page));
            self.hardware.counters.written_pages += 1;
            if self.map.geometry.fills_unit(physical) {
                let mut programmed = self.send_unit(buffered.done_ns, physical, 0);
                // The program begins when the data are there.
                programmed.link_ns = buffered.done_ns - at_ns;
                taken.add(programmed);
            } else if self.drive.die_affinity {
                self.room += PAGE_BYTES;
            }
            self.spend_credit(pool);
        }
        let through = request.fua && self.drive.extensions.flush_ns == 0;
        if through && self.drive.extensions.flush_pads {
            let mut padded = self.pad(buffered.done_ns);
            padded.link_ns = buffered.done_ns - at_ns;
            taken.add(padded);
        } else if self.drive.early_completion && !through {
            taken.slowest = buffered;
        }
        taken
    }

    /// Data of a write come over the link.
    fn receive(&mut self, at_ns: u64, bytes: u64) -> Operation {
        let done_ns = self.hardware.link.transfer(self.now_ns, at_ns, bytes);
        Operation {
            done_ns,
            link_ns: done_ns - at_ns,
            ..Operation::default()
        }
    }

    /// Senses the pages of which a write changes a part only.
    fn read_partial_pages(&mut self, at_ns: u64, request: Request, taken: &mut Taken) {
        let (first, last) = pages_of(request);
        let head = (!request.lba.is_multiple_of(PAGE_SECTORS)).then_some(first);
        let tail = (!request.end().is_multiple_of(PAGE_SECTORS)).then_some(last);
        let same = head == tail;
        for page in [head, tail.filter(|_| !same)].into_iter().flatten() {
            let Some(physical) = self.map.find(page) else {
                continue;
            };
            if !self.is_buffered(physical) {
                let run = Run {
                    first: physical,
                    pages: 1,
                };
                taken.add(self.hardware.sense(&self.map.geometry, at_ns, run, false));
            }
        }
    }

    /// Programs a unit that is full, `padded` pages of it with nothing. Its room in the buffer is free when that is
    /// done.
    fn send_unit(&mut self, at_ns: u64, physical: u32, padded: u32) -> Operation {
        let programmed = self.hardware.program(&self.map.geometry, at_ns, physical);
        let pages = if self.drive.die_affinity {
            1
        } else {
            self.map.geometry.unit
        };
        let bytes = u64::from(pages.saturating_sub(padded)) * PAGE_BYTES;
        self.releases.push(Reverse((programmed.done_ns, bytes)));
        self.hardware.counters.host_programs += 1;
        if self.drive.die_affinity {
            self.current_die = (self.current_die + 1) % self.map.geometry.all_dies();
        }
        programmed
    }

    /// Fills the host's open units with dead pages and programs them. Gives the program that is done last.
    fn pad(&mut self, at_ns: u64) -> Operation {
        let mut taken = Taken::default();
        for pool in 0..self.map.geometry.pools {
            let geometry = &self.map.geometry;
            // With units dealt in smaller parts, all dies of the pool have an open one.
            let stride = if geometry.deal == geometry.unit {
                geometry.unit
            } else {
                geometry.unit * geometry.dies
            };
            let mut padded = vec![0; geometry.dies as usize];
            while !self.map.pools[pool as usize].cursors[Writer::Host as usize]
                .taken
                .is_multiple_of(stride)
            {
                let physical = self.map.place(pool, Writer::Host, None);
                self.hardware.counters.padded_pages += 1;
                let dies = self.map.geometry.dies;
                let of_unit = &mut padded[(self.map.geometry.die_of(physical) % dies) as usize];
                *of_unit += 1;
                if self.map.geometry.fills_unit(physical) {
                    let padded = std::mem::take(of_unit);
                    taken.add(self.send_unit(at_ns, physical, padded));
                }
                self.spend_credit(pool);
            }
        }
        taken.slowest
    }

    fn flush(&mut self) -> Taken {
        let extensions = &self.drive.extensions;
        if extensions.flush_ns > 0 {
            let done_ns = self.now_ns + extensions.flush_ns;
            return Taken {
                overhead_ns: extensions.flush_ns,
                slowest: Operation {
                    done_ns,
                    ..Operation::default()
                },
            };
        }
        if extensions.flush_pads {
            self.pad(self.now_ns);
        }
        let done_ns = self.now_ns.max(self.hardware.all_free_ns());
        Taken {
            overhead_ns: 0,
            slowest: Operation {
                done_ns,
                die_ns: done_ns - self.now_ns,
                ..Operation::default()
            },
        }
    }

    fn trim(&mut self, request: Request) -> Taken {
        let first = request.lba.div_ceil(PAGE_SECTORS) as u32;
        let end = (request.end() / PAGE_SECTORS) as u32;
        for page in first..end {
            self.hardware.counters.trimmed_pages += u64::from(self.map.find(page).is_some());
            self.map.unmap(page);
        }
        self.read_ahead.forget(first, end);
        let extensions = &self.drive.extensions;
        let costs_ns = extensions.trim_ns + extensions.trim_ns_per_mb * request.bytes() / 1_000_000;
        Taken {
            overhead_ns: costs_ns,
            slowest: Operation {
                done_ns: self.now_ns + costs_ns,
                ..Operation::default()
            },
        }
    }

    /// A hint says which die the write begins with.
    fn heed(&mut self, hint: Hint, first: u32) {
        if !self.drive.die_affinity {
            return;
        }
        let geometry = &self.map.geometry;
        let found = match hint {
            Hint::None => None,
            Hint::Append(last_lba) => {
                let page = u32::try_from(last_lba / PAGE_SECTORS).ok();
                let page = page.filter(|&page| page < geometry.logical_pages);
                let last = page.and_then(|page| self.map.find(page));
                last.map(|physical| geometry.die_of(physical) + 1)
            }
            Hint::Overwrite => self
                .map
                .find(first)
                .map(|physical| geometry.die_of(physical)),
        };
        if let Some(die) = found {
            self.current_die = die % geometry.all_dies();
        }
    }

    /// The pool in which the next copy of a page lies.
    fn pool_of(&mut self, page: u32) -> u32 {
        if !self.drive.die_affinity {
            return page % self.map.geometry.partitions;
        }
        let geometry = &self.map.geometry;
        let kept = 2 + self.drive.gc_free_superblocks;
        let most = (geometry.superblocks - kept) * geometry.superblock - 1;
        // A die that is full is passed over.
        while self.map.pools[self.current_die as usize].in_use >= most {
            self.current_die = (self.current_die + 1) % geometry.all_dies();
        }
        self.current_die
    }

    /// The host wrote a page: it may be time to collect.
    fn spend_credit(&mut self, pool: u32) {
        let of_pool = &mut self.map.pools[pool as usize];
        of_pool.credits -= 1;
        if of_pool.credits == 0 {
            if of_pool.free.len() <= self.drive.gc_free_superblocks as usize {
                self.collect(pool);
            }
            let of_pool = &mut self.map.pools[pool as usize];
            of_pool.credits += of_pool.refill;
        }
    }

    /// What an idle drive does until a command comes: it collects, one superblock after another, until enough are free.
    fn collect_until(&mut self, at_ns: u64) {
        let Extensions {
            gc_idle_ns,
            gc_idle_free_superblocks: enough,
            ..
        } = self.drive.extensions;
        let idle_from_ns = self.now_ns.max(self.hardware.all_free_ns());
        let mut begin_ns = idle_from_ns.saturating_add(gc_idle_ns);
        for pool in 0..self.map.geometry.pools {
            while begin_ns < at_ns
                && self.map.pools[pool as usize].free.len() < enough as usize
                && self.map.may_collect(pool)
            {
                self.now_ns = begin_ns;
                self.hardware.now_ns = begin_ns;
                self.apply_releases();
                let refill = self.map.pools[pool as usize].refill;
                self.collect(pool);
                self.map.pools[pool as usize].refill = refill;
                begin_ns = begin_ns.max(self.hardware.all_free_ns());
            }
        }
    }

    /// Moves the valid pages of the superblock that has the fewest, and erases it. All of it is requested now: the way
    /// through the controller takes no time, and a die keeps the order.
    fn collect(&mut self, pool: u32) {
        let free_superblocks = self.map.pools[pool as usize].free.len() as u32;
        let drawn = self.drive.extensions.gc_candidates;
        let Some((victim, dead)) = self.map.take_victim(pool, drawn, &mut self.random) else {
            return;
        };
        self.map.pools[pool as usize].refill = dead;
        let at_ns = self.now_ns;
        let moved_pages = self.map.valid_of(pool, victim);
        let Geometry {
            block,
            flash_page,
            dies,
            superblocks,
            ..
        } = self.map.geometry;
        let superblock = pool * superblocks + victim;
        for offset in (0..block).step_by(flash_page as usize) {
            for nth in 0..dies {
                let die = self.map.geometry.by_channel[nth as usize];
                let first = (superblock * dies + die) * block + offset;
                let pages = self.map.valid_in(first, flash_page);
                if pages > 0 {
                    let run = Run { first, pages };
                    let sensed_ns = if self.spared.collection {
                        at_ns
                    } else {
                        let geometry = &self.map.geometry;
                        self.hardware.sense(geometry, at_ns, run, false).done_ns
                    };
                    for from in first..first + flash_page {
                        if let Some(page) = self.map.logical(from) {
                            self.collect_page(pool, sensed_ns, Some((from, page)));
                        }
                    }
                }
                if offset + flash_page == block && !self.spared.collection {
                    let number = self.map.geometry.die_of(first);
                    self.hardware.erase(at_ns, number);
                }
            }
        }
        self.map.free(pool, victim);
        let counters = &mut self.hardware.counters;
        counters.collections += 1;
        counters.collected_pages += u64::from(moved_pages);
        if let Some(collections) = &mut self.collections {
            collections.push(Collection {
                at_ns,
                superblock,
                moved_pages,
                free_superblocks,
            });
        }
    }

    /// The collector writes a page that was read at `read_ns`: one that it moves, or a segment of the map, which is
    /// found without this map.
    fn collect_page(&mut self, pool: u32, read_ns: u64, moved: Option<(u32, u32)>) {
        let physical = match moved {
            Some((from, page)) => self.map.move_page(pool, from, page),
            None => self.map.place(pool, Writer::Collector, None),
        };
        let ready_ns = &mut self.collected_ns[pool as usize];
        *ready_ns = read_ns.max(*ready_ns);
        if self.map.geometry.fills_unit(physical) {
            let read_ns = std::mem::take(ready_ns);
            let at_ns = if self.drive.extensions.gc_waits_for_reads {
                read_ns.max(self.now_ns)
            } else {
                self.now_ns
            };
            if !self.spared.collection {
                self.hardware.program(&self.map.geometry, at_ns, physical);
            }
            self.hardware.counters.collected_programs += 1;
        }
    }
}

/// First and last page of a request.
fn pages_of(request: Request) -> (u32, u32) {
    let (first, last) = (
        request.lba / PAGE_SECTORS,
        (request.end() - 1) / PAGE_SECTORS,
    );
    (first as u32, last as u32)
}

impl Device for FlashDevice {
    fn sectors(&self) -> u64 {
        self.drive.sectors()
    }

    fn submit(&mut self, at_ns: u64, request: Request) -> Service {
        assert!(self.takes(request), "a request on the device: {request:?}");
        if self.drive.extensions.gc_idle_ns > 0 {
            self.collect_until(at_ns);
        }
        self.now_ns = self.now_ns.max(at_ns).max(self.next_command_ns);
        self.hardware.now_ns = self.now_ns;
        self.apply_releases();
        let taken = match request.access {
            Access::Read => self.read(request),
            Access::Write => self.write(request),
            Access::Flush => self.flush(),
            Access::Trim => self.trim(request),
        };
        let command_ns = match request.access {
            Access::Read => self.drive.extensions.command_read_ns,
            Access::Write => self.drive.extensions.command_write_ns,
            Access::Flush | Access::Trim => 0,
        };
        if command_ns > 0 {
            self.next_command_ns = self.now_ns + command_ns;
        }
        let queue_ns = self.now_ns - at_ns;
        let slowest = taken.slowest;
        // Nothing was mapped, and nothing took any time.
        let is_idle = slowest.done_ns == 0;
        let service = Service {
            issue_ns: at_ns,
            done_ns: slowest.done_ns.max(self.now_ns),
            components: Components {
                queue_ns,
                overhead_ns: if is_idle { 0 } else { taken.overhead_ns },
                die_ns: slowest.die_ns,
                cell_ns: slowest.cell_ns,
                channel_ns: slowest.channel_ns,
                link_ns: slowest.link_ns,
                ..Components::default()
            },
            ..Service::default()
        };
        self.counters.add(request, &service);
        service
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn queue_depth(&self) -> u32 {
        self.drive.queue_depth
    }

    fn longest_request(&self) -> u32 {
        (self.drive.longest_bytes() / crate::SECTOR_BYTES) as u32
    }

    fn flash(&self) -> Option<&FlashDevice> {
        Some(self)
    }

    fn flash_mut(&mut self) -> Option<&mut FlashDevice> {
        Some(self)
    }
}
