//! The cleaner: which segments are cleaned, and how what lives in them moves. One file a policy, listed in [`ALL`].
//!
//! Source: `lfs_cleanerd` and `lfs_markv` of 4.4BSD-Lite2 (Seltzer et al. 1993), `lfs_markv` of NetBSD.

mod candidates;
mod cost_benefit;
mod declining_cost;
mod greedy;

pub(super) use candidates::Candidates;
pub use cost_benefit::{CostBenefit, NetBsdCostBenefit};
pub use declining_cost::DecliningCost;
pub use greedy::Greedy;

use super::checkpoint::Purpose;
use super::costs::{cleaner_write_ns, segment_read_ns};
use super::geometry::{INODE_BYTES, SECTOR};
use super::ifile::NO_SLOT;
use super::inode::{Block, Inode, Kind};
use super::params::{AgeRule, Variant};
use super::report::{CleanedReport, Event};
use super::usage::Usage;
use super::{End, IFILE, Lfs};
use std::fmt::Debug;

/// Every policy, in the order of documentation and tests.
pub const ALL: [&dyn Policy; 4] = [&CostBenefit, &NetBsdCostBenefit, &Greedy, &DecliningCost];

/// The policy of that name.
pub fn by_name(name: &str) -> Option<&'static dyn Policy> {
    ALL.into_iter().find(|p| p.name() == name)
}

/// A segment that may be cleaned.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Bytes of a segment.
    pub segment_bytes: u32,
    /// Live bytes by the usage table.
    pub live: u32,
    /// Operations since the last write into it, or what else the age rule says.
    pub age: u64,
}

/// In which order segments are cleaned.
///
/// - It sees sizes and ages and gives a rank; it moves nothing.
/// - It has no state: the same question has the same answer.
/// - It never ranks a segment lower for fewer live bytes or a higher age, so that whole groups can be left out.
/// - Segments of equal rank are cleaned in the order of their numbers.
pub trait Policy: Debug + Send + Sync {
    /// Its name in `policy=NAME`.
    fn name(&self) -> &'static str;

    /// One sentence for the documentation of targets.
    fn summary(&self) -> &'static str;

    /// The age that it goes by, unless another one is asked for.
    fn age_rule(&self) -> AgeRule {
        AgeRule::LastWrite
    }

    /// How much a segment should be cleaned; the highest rank first.
    fn rank(&self, candidate: &Candidate) -> f64;
}

/// NetBSD: tries of the cleaner before it gives up.
const MOST_TRIES: u32 = 300;
/// NetBSD: tries without a gain that are made all the same.
const VAIN_TRIES: u32 = 3;
/// NetBSD: a segment is left alone if cleaning it would gain less than this, with a summary apart.
const LEAST_GAIN: i64 = 2048;
/// Segments that user writes leave to the cleaner.
const CLEANERS_OWN: u32 = 2;

/// Share of the free space in clean segments, in percent, up to which `lite2`'s cleaner works in idle times.
const IDLE_PERCENT: i64 = 90;
/// When the load of the last five minutes is none.
const IDLE_ENDS_NS: i64 = 300_000_000_000;

/// What lives in a segment: (inode, 0 for the inode itself or 1 + name of the block without sign).
type Item = (u32, u64);

fn block_item(ino: u32, lbn: i32) -> Item {
    (ino, 1 + u64::from(lbn as u32))
}

/// The block of an item; `None` is the inode.
fn lbn_of(item: Item) -> Option<i32> {
    item.1.checked_sub(1).map(|name| name as u32 as i32)
}

impl Lfs {
    /// Brings up to date which segments may be cleaned, and which hold nothing live.
    fn refresh_candidates(&mut self) {
        let mut changed = self.usage.take_changed();
        for segment in changed.drain(..) {
            let usage = &self.usage[segment];
            if usage.is_empty() && segment != self.current {
                self.empty.insert(segment);
            } else {
                self.empty.remove(&segment);
            }
            match self.candidate(segment) {
                Some((live, time)) => self.candidates.put(segment, live, time),
                None => self.candidates.remove(segment),
            }
        }
        self.usage.give_room(changed);
    }

    /// Live bytes of a segment, and the time from which its age counts, if cleaning it is allowed, and with `netbsd` if
    /// that would gain enough.
    pub(super) fn candidate(&self, segment: u32) -> Option<(u32, u64)> {
        let usage = &self.usage[segment];
        let live = usage.counted_live();
        let summaries = i64::from(usage.summaries + 1) * i64::from(SECTOR);
        let gain = self.segment_bytes() as i64 - i64::from(live) - summaries;
        let netbsd = self.params.variant == Variant::NetBsd;
        let waits = usage.live == 0 && (netbsd || self.params.roll_forward);
        let in_vain = waits || netbsd && gain <= LEAST_GAIN;
        if !usage.dirty || usage.active || segment == self.current || in_vain {
            return None;
        }
        let time = match self.age_rule {
            AgeRule::LastWrite => usage.last_write,
            AgeRule::YoungestBlock => usage.youngest,
            AgeRule::MeanBlock => usage.mean_data_time(),
        };
        Some((live, time))
    }

    /// Segments that hold nothing live, ascending.
    pub(super) fn empty_segments(&mut self) -> Vec<u32> {
        self.refresh_candidates();
        self.empty.iter().copied().collect()
    }

    /// Segments to clean, the best first, until what they cost has used up the budget.
    fn choose(&mut self, budget: u64, cost: impl Fn(&Usage) -> u64) -> Vec<u32> {
        self.refresh_candidates();
        let (policy, now) = (self.params.policy, self.now);
        let segment_bytes = self.segment_bytes() as u32;
        let room = self.candidates.take_room();
        let mut search = self.candidates.best_first(room, |live, time| {
            policy.rank(&Candidate {
                segment_bytes,
                live,
                age: now.saturating_sub(time),
            })
        });
        let (mut chosen, mut left) = (Vec::new(), budget);
        while left > 0
            && let Some(segment) = search.next()
        {
            left = left.saturating_sub(cost(&self.usage[segment]));
            chosen.push(segment);
        }
        self.counters.ranked_nodes += search.ranked;
        let room = search.into_room();
        self.candidates.give_room(room);
        chosen
    }

    /// What lives in a segment, sorted by inode, the inode itself first, then its blocks by name without sign.
    fn live_items(&mut self, segment: u32) -> Vec<Item> {
        let log = &self.logs[segment as usize];
        let mut items: Vec<Item> = Vec::with_capacity(log.lbns.len() + log.inos.len());
        let mut live_found = 0;
        for (finfo, lbns) in log.files() {
            let entry = self.map[finfo.ino as usize];
            if entry.slot == NO_SLOT || entry.version != finfo.version {
                continue;
            }
            let inode = &self.inodes[entry.slot as usize];
            for (lbn, address, bytes) in finfo.blocks(lbns, &self.geometry) {
                if inode.block(&self.geometry, lbn).address == address {
                    items.push(block_item(finfo.ino, lbn));
                    live_found += bytes;
                }
            }
        }
        let blocks = items.len() as u32;
        for (block, inos) in log.inodes() {
            let here = inos
                .iter()
                .filter(|&&ino| self.map[ino as usize].address == block.address);
            items.extend(here.map(|&ino| (ino, 0)));
        }
        items.sort_unstable();
        items.dedup();
        let inodes = items.len() as u32 - blocks;
        live_found += inodes * INODE_BYTES;
        if let Some(events) = &mut self.events {
            let seg = &self.usage[segment];
            events.push(Event::Cleaned(CleanedReport {
                operation: self.now,
                segment,
                live: seg.counted_live(),
                age: self.now.saturating_sub(seg.last_write),
                live_found,
                blocks,
                inodes,
            }));
        }
        items
    }

    fn count_cleaned(&mut self, segment: u32) {
        self.counters.cleaned_segments += 1;
        let live = self.usage[segment].counted_live();
        self.counters.cleaned_live_bytes += u64::from(live);
    }

    /// The cleaner reads a segment as a whole.
    fn read_segment(&mut self, segment: u32) {
        self.counters.read_segments += 1;
        let start_bytes = u64::from(self.geometry.segment_start(segment)) * u64::from(SECTOR);
        self.emit_raw(false, start_bytes, self.segment_bytes(), true);
    }

    /// The cleaner of `netbsd` looks whether it has to work, and works.
    pub fn poll_cleaner(&mut self) {
        self.read_ifile();
        let mut tries = 0;
        while self.usage.clean() < self.params.min_clean
            && tries < MOST_TRIES
            && self.ended.is_none()
        {
            let before = self.usage.clean();
            let found = self.clean_once();
            tries += 1;
            if !found && self.usage.clean() <= before && tries > VAIN_TRIES {
                break;
            }
        }
    }

    /// The ifile is read, which changes its time of access.
    pub fn read_ifile(&mut self) {
        self.flag(IFILE, Inode::ACCESSED);
    }

    /// One call of the cleaner of `netbsd`. Whether there was anything to clean.
    fn clean_once(&mut self) -> bool {
        let most = self.usage.clean().saturating_sub(CLEANERS_OWN).max(1);
        let chosen = self.choose(self.params.segs_per_clean.min(most).into(), |_| 1);
        self.cleaning = true;
        let found = !chosen.is_empty();
        if found {
            self.counters.cleaner_calls += 1;
            let mut items = Vec::new();
            for &segment in &chosen {
                self.count_cleaned(segment);
                self.read_segment(segment);
                items.extend(self.live_items(segment));
            }
            items.sort_unstable();
            for item in items {
                self.hand_over(item);
            }
            self.checkpoint_for(Purpose::Clean);
        }
        let every = self.params.reclaim_every.max(1);
        if !found || self.counters.cleaner_calls.is_multiple_of(every) {
            self.checkpoint_for(Purpose::Reclaim);
        }
        self.cleaning = false;
        found
    }

    /// Something that lives is to be moved by the next writing of `netbsd`'s cleaner.
    fn hand_over(&mut self, item: Item) {
        let slot = self.map[item.0 as usize].slot;
        let inode = &mut self.inodes[slot as usize];
        if inode.kind == Kind::Directory && inode.is(Inode::MARKED) {
            return;
        }
        match lbn_of(item) {
            None if slot == IFILE => {}
            None => self.flag(slot, Inode::CLEANING),
            Some(lbn) if slot == IFILE => self.dirty(slot, lbn),
            Some(lbn) => {
                self.flag(slot, Inode::CLEANING);
                if lbn < 0 {
                    self.dirty_for(slot, lbn, Inode::CLEANING);
                } else {
                    self.move_block(slot, lbn);
                }
            }
        }
    }

    /// A block keeps its contents and gets a new address.
    fn move_block(&mut self, slot: u32, lbn: i32) {
        let inode = &mut self.inodes[slot as usize];
        inode.block_mut(&self.geometry, lbn).set(Block::MOVED, true);
        inode.pending_mut().moved.push(lbn);
    }

    /// Whether the cleaner of `lite2` has to work.
    fn cleaner_wanted(&mut self) -> bool {
        let segment = i64::from(self.geometry.segment_sectors);
        let emptied = self.emptied_segments();
        let clean = self.usage.clean() + emptied;
        if self.params.min_clean > 0 {
            return clean < self.params.min_clean;
        }
        let avail = self.avail() + i64::from(emptied) * (segment - 1);
        let bfree = self.bfree;
        let most = bfree / segment;
        let clean = i64::from(clean);
        let few = clean <= i64::from(self.params.min_segments);
        let busy = clean * 100 < self.params.busy_percent as i64 * most;
        bfree - avail > segment && avail < segment || clean < most && (few || busy)
    }

    /// The cleaner of `lite2` works as long as its rule says, and as it gains anything.
    pub(super) fn run_cleaner(&mut self) {
        self.clean_while(Lfs::cleaner_wanted);
    }

    /// An operation comes at `t_ns`: before it the system was idle, and the cleaner of `lite2` works as long as it
    /// keeps up with the clock, until most of the free space is in clean segments.
    pub(super) fn clean_until(&mut self, t_ns: i64) {
        let idle_ns = (self.params.idle_s * 1_000_000_000) as i64;
        let before = self.idle_since_ns.replace(t_ns);
        let (Some(before), true) = (before, idle_ns > 0) else {
            return;
        };
        // The load of the last five minutes is gone by then, and the cleaner rests.
        let end = t_ns.min(before.saturating_add(IDLE_ENDS_NS));
        let mut now = before.saturating_add(idle_ns);
        let cleaned = self.counters.cleaned_segments;
        while now < end && self.ended.is_none() && self.idle_cleaner_wanted() {
            let (written, read) = (
                self.counters.cleaner_written_bytes,
                self.counters.read_segments,
            );
            if !self.clean_next() {
                break;
            }
            let read = self.counters.read_segments - read;
            let written = self.counters.cleaner_written_bytes - written;
            let takes_ns = read * segment_read_ns(self.segment_bytes()) + cleaner_write_ns(written);
            now = now.saturating_add(takes_ns as i64);
        }
        self.counters.idle_cleaned_segments += self.counters.cleaned_segments - cleaned;
    }

    /// Whether the cleaner of `lite2` has to work while the system is idle.
    fn idle_cleaner_wanted(&mut self) -> bool {
        let most = self.bfree / i64::from(self.geometry.segment_sectors);
        let clean = self.usage.clean() + self.emptied_segments();
        i64::from(clean) * 100 < IDLE_PERCENT * most
    }

    /// `lite2` with roll-forward: segments that the next checkpoint frees.
    fn emptied_segments(&mut self) -> u32 {
        if !self.params.roll_forward {
            return 0;
        }
        self.refresh_candidates();
        self.empty.len() as u32
    }

    /// `lite2` with roll-forward: what a call of the cleaner needs before it. Where clean segments are no more than
    /// emptied ones a checkpoint frees these; directory operations that wait are written, so that no inode is moved
    /// which tells of them. Whether segments were freed.
    fn prepare_cleaning(&mut self) -> bool {
        if !self.params.roll_forward {
            return false;
        }
        let (clean, emptied) = (self.usage.clean(), self.emptied_segments());
        if emptied > 0 && emptied >= clean {
            self.checkpoint_at_once();
        } else if !self.marked.is_empty() {
            self.write_segments(false, false);
        }
        self.usage.clean() > clean
    }

    /// A writer waits until there are clean segments to write to.
    pub(super) fn wait_for_clean_segments(&mut self) {
        let scarce = |fs: &mut Lfs| fs.usage.clean() <= CLEANERS_OWN || fs.avail() <= 0;
        if let Some(end) = self.clean_while(scarce) {
            self.ended.get_or_insert(end);
        }
    }

    /// A writer of a block waits until there is room for it. The units are mixed as in the original, which exempts the
    /// first block of every file.
    pub(super) fn wait_for_room(&mut self, lbn: i32, need: i64) {
        let end = match self.params.variant {
            Variant::Lite2 if lbn == 0 => None,
            Variant::Lite2 => {
                let inodes = self.listed.len() as i64;
                let own = 8 + 1 + i64::from(self.geometry.usage_blocks);
                let most = need + (inodes + 32) / 32 + own;
                self.clean_while(|fs| most >= fs.avail())
            }
            Variant::NetBsd => {
                let least = self.params.reserve_segments / 2;
                self.clean_while(|fs| fs.usage.clean() < least)
            }
        };
        if let Some(end) = end {
            self.ended.get_or_insert(end);
        }
    }

    /// Cleans while a condition holds. What kept it from ending the condition, if anything did.
    pub(super) fn clean_while(&mut self, wanted: impl Fn(&mut Lfs) -> bool) -> Option<End> {
        let patience = (2 * self.geometry.nseg).max(64);
        let (mut most, mut vain) = (self.usage.clean(), 0);
        while self.ended.is_none() && wanted(self) {
            let before = self.counters.cleaned_segments;
            if !self.clean_next() {
                return Some(End::NoCandidate);
            }
            vain += (self.counters.cleaned_segments - before) as u32;
            if self.usage.clean() > most {
                (most, vain) = (self.usage.clean(), 0);
            } else if vain >= patience {
                return Some(End::NoProgress);
            }
        }
        None
    }

    /// Cleans as often as a call of this variant does. `false` if no segment qualifies, even after a checkpoint.
    fn clean_next(&mut self) -> bool {
        if self.params.variant == Variant::NetBsd {
            let before = self.usage.clean();
            return self.clean_once() || self.usage.clean() > before;
        }
        if self.prepare_cleaning() {
            return true;
        }
        let clean = self.usage.clean();
        for checkpoint_first in [false, true] {
            if checkpoint_first {
                self.checkpoint_at_once();
            }
            let at_once = u64::from(self.params.segs_per_clean.max(1));
            let mut chosen = if self.params.by_bytes {
                self.choose(at_once * self.segment_bytes(), |usage| usage.live.into())
            } else {
                self.choose(at_once, |_| 1)
            };
            if self.params.roll_forward {
                // None of them is of use before the next checkpoint.
                chosen.truncate(self.usage.clean().saturating_sub(CLEANERS_OWN).max(1) as usize);
            }
            if !chosen.is_empty() {
                self.cleaning = true;
                self.counters.cleaner_calls += 1;
                for segment in chosen {
                    self.clean_segment(segment);
                }
                self.cleaning = false;
                return true;
            }
        }
        self.usage.clean() > clean
    }

    /// Cleans one segment as `lite2` does: what lives in it is written behind the log, file by file.
    fn clean_segment(&mut self, segment: u32) {
        self.count_cleaned(segment);
        let items = self.live_items(segment);
        if !items.is_empty() {
            self.read_segment(segment);
            self.lock(true);
            let mut rest = &items[..];
            while let Some(&(ino, _)) = rest.first() {
                let (file, others) = rest.split_at(rest.partition_point(|item| item.0 == ino));
                rest = others;
                self.write_moved(file);
            }
            self.close();
            self.unlock();
        }
        let seg = &self.usage[segment];
        if seg.live == 0 && !seg.active && !self.params.roll_forward {
            self.free_segment(segment);
        }
    }

    /// The blocks of a file that live in the cleaned segment, and its inode.
    fn write_moved(&mut self, items: &[Item]) {
        let slot = self.map[items[0].0 as usize].slot;
        for lbn in items.iter().filter_map(|&item| lbn_of(item)) {
            if lbn < 0 {
                self.dirty(slot, lbn);
            } else {
                self.move_block(slot, lbn);
            }
        }
        let pointers = items
            .iter()
            .filter_map(|&item| lbn_of(item))
            .filter(|&lbn| lbn < 0);
        self.write_file_moved(slot, &pointers.collect::<Vec<i32>>());
        self.inode_changed(slot);
        self.write_inode(slot);
    }
}
