//! The write cache of a drive: what the host has been told is written, and the media have not got yet.
//!
//! A write is complete when its sectors are in the cache. Media that have nothing to read write them, in the order of
//! addresses from the last one on and then from the lowest again, while commands and the bus go on; reading ahead comes
//! first. A write that finds no room waits until the media have made some. A write to the media is not broken off.
//! Neighbors in the cache are written together, at most a segment at a time.

use super::{RotatingDisk, Transfer};
use crate::device::Access;
use std::collections::BTreeMap;

/// Sectors that wait for the media.
#[derive(Clone, Debug)]
pub struct WriteCache {
    /// First sector, and the one behind the last. No two overlap or touch.
    extents: BTreeMap<u64, u64>,
    used_sectors: u64,
    room_sectors: u64,
    /// The sector behind the last one that went to the media.
    last_end: u64,
}

impl WriteCache {
    /// An empty cache; without room there is none.
    pub fn new(room_sectors: u64) -> WriteCache {
        WriteCache {
            extents: BTreeMap::new(),
            used_sectors: 0,
            room_sectors,
            last_end: 0,
        }
    }

    /// Whether a write of so many sectors can ever be in it.
    pub fn takes(&self, sectors: u64) -> bool {
        sectors <= self.room_sectors
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// All of `lba..end` is in it.
    pub fn has(&self, lba: u64, end: u64) -> bool {
        let before = self.extents.range(..=lba).next_back();
        before.is_some_and(|(_, &last)| end <= last)
    }

    /// Sectors of `lba..end` that are not in it.
    fn missing(&self, lba: u64, end: u64) -> u64 {
        let before = self.extents.range(..=lba).next_back();
        let from = before.map_or(lba, |(_, &last)| last.max(lba)).min(end);
        let inside = self.extents.range(from..end);
        let held: u64 = inside.map(|(&lo, &last)| last.min(end) - lo).sum();
        end - from - held
    }

    /// Whether `lba..end` can be put into it now.
    fn has_room(&self, lba: u64, end: u64) -> bool {
        self.used_sectors + self.missing(lba, end) <= self.room_sectors
    }

    /// Puts `lba..end` into it, over what was there.
    fn put(&mut self, lba: u64, end: u64) {
        let (mut lo, mut last) = (lba, end);
        while let Some((&held, &held_end)) = self.extents.range(..=last).next_back() {
            if held_end < lo {
                break;
            }
            self.extents.remove(&held);
            self.used_sectors -= held_end - held;
            (lo, last) = (lo.min(held), last.max(held_end));
        }
        self.extents.insert(lo, last);
        self.used_sectors += last - lo;
    }

    /// Takes `lba..end` out of it, and leaves what lies beside.
    fn remove(&mut self, lba: u64, end: u64) {
        while let Some((&held, &held_end)) = self.extents.range(..end).next_back() {
            if held_end <= lba {
                break;
            }
            self.extents.remove(&held);
            self.used_sectors -= held_end - held;
            for (lo, last) in [(held, lba.min(held_end)), (end.max(held), held_end)] {
                if lo < last {
                    self.extents.insert(lo, last);
                    self.used_sectors += last - lo;
                }
            }
        }
    }

    /// What goes to the media next, at most so many sectors.
    fn next(&self, most_sectors: u64) -> Option<(u64, u64)> {
        let upward = self.extents.range(self.last_end..).next();
        let (&lba, &end) = upward.or_else(|| self.extents.first_key_value())?;
        Some((lba, end.min(lba + most_sectors)))
    }

    /// The part in it that `lba..end` needs first, at most so many sectors.
    fn first_of(&self, lba: u64, end: u64, most_sectors: u64) -> Option<(u64, u64)> {
        let before = self.extents.range(..=lba).next_back();
        let before = before.filter(|&(_, &last)| last > lba);
        let (&lo, &last) = before.or_else(|| self.extents.range(lba..end).next())?;
        Some((lo, last.min(lo + most_sectors)))
    }
}

impl RotatingDisk {
    /// Lets the media work on their own until `until_ns`: first they read ahead, then they write what is in the cache.
    pub(super) fn idle(&mut self, until_ns: u64) {
        self.read_ahead(until_ns);
        let reads = self.stream.is_some_and(|s| s.next < s.limit);
        if reads || self.cache.is_empty() {
            return;
        }
        let read_ns = self.stream.map_or(0, |stream| stream.time_ns);
        let mut start_ns = self.free_ns.max(self.media_ns).max(read_ns);
        while start_ns < until_ns {
            let Some((lba, end)) = self.cache.next(self.segment_sectors) else {
                break;
            };
            start_ns = self.destage(start_ns, lba, end);
        }
    }

    /// Writes sectors of the cache to the media, from `start_ns` or when these are free, and gives the time of its end.
    fn destage(&mut self, start_ns: u64, lba: u64, end: u64) -> u64 {
        let start_ns = self.stop_read_ahead(start_ns).max(self.media_ns);
        let mut transfer = Transfer {
            now_ns: start_ns,
            ..Transfer::default()
        };
        self.transfer(&mut transfer, Access::Write, lba, (end - lba) as u32, 0);
        self.cache.remove(lba, end);
        self.cache.last_end = end;
        self.media_ns = transfer.now_ns;
        self.counters.destages += 1;
        self.counters.destage_ns += self.media_ns - start_ns;
        self.counters.seeks += u64::from(transfer.seeks);
        self.counters.seek_cylinders += u64::from(transfer.seek_cylinders);
        self.media_ns
    }

    /// Takes a write into the cache when that has room, and gives the times when it had and when all was there.
    pub(super) fn admit(&mut self, ready_ns: u64, lba: u64, end: u64) -> (u64, u64) {
        self.idle(ready_ns);
        let mut room_ns = ready_ns;
        while !self.cache.has_room(lba, end)
            && let Some((lo, last)) = self.cache.next(self.segment_sectors)
        {
            room_ns = room_ns.max(self.destage(room_ns, lo, last));
        }
        let done_ns = room_ns + self.timing.write_bus_ns((end - lba) as u32);
        // What was there before may go to the media meanwhile.
        self.idle(done_ns);
        if self.stream.is_some_and(|s| lba < s.limit && s.lo < end) {
            self.stop_read_ahead(done_ns);
        }
        self.old.overwrite(lba, end);
        self.cache.put(lba, end);
        (room_ns, done_ns)
    }

    /// Writes all that waits in the cache, and gives the time when the media have it.
    pub(super) fn flush(&mut self, ready_ns: u64) -> u64 {
        self.idle(ready_ns);
        self.settle(ready_ns, 0, self.map.sectors(), true)
    }

    /// Sees to it that the media have `lba..end` as the host knows it, and gives the time when they are free for it.
    /// `keep` is whether what waits there must be written first; otherwise it is dropped.
    pub(super) fn settle(&mut self, ready_ns: u64, lba: u64, end: u64, keep: bool) -> u64 {
        if keep {
            while let Some((lo, last)) = self.cache.first_of(lba, end, self.segment_sectors) {
                self.destage(ready_ns, lo, last);
            }
        } else {
            self.cache.remove(lba, end);
        }
        self.media_ns.max(ready_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Extents and their sum.
    fn held(cache: &WriteCache) -> (Vec<(u64, u64)>, u64) {
        let extents = cache.extents.iter().map(|(&lo, &last)| (lo, last));
        (extents.collect(), cache.used_sectors)
    }

    #[test]
    fn neighbors_become_one_and_what_is_written_twice_is_there_once() {
        let mut cache = WriteCache::new(100);
        cache.put(10, 20);
        cache.put(30, 40);
        assert_eq!(held(&cache), (vec![(10, 20), (30, 40)], 20));
        cache.put(20, 30);
        assert_eq!(held(&cache), (vec![(10, 40)], 30));
        cache.put(5, 12);
        cache.put(39, 50);
        assert_eq!(held(&cache), (vec![(5, 50)], 45));
        assert!(cache.has(5, 50) && cache.has(20, 21));
        assert!(!cache.has(4, 6) && !cache.has(49, 51));
        // Of 40..60 the first ten are there.
        assert_eq!((cache.missing(40, 60), cache.missing(0, 60)), (10, 15));
        assert!(cache.has_room(0, 60) && !cache.has_room(50, 106));
        cache.remove(10, 20);
        assert_eq!(held(&cache), (vec![(5, 10), (20, 50)], 35));
        cache.remove(0, 100);
        assert_eq!(held(&cache), (vec![], 0));
    }

    #[test]
    fn the_next_is_the_one_behind_the_last_and_then_the_lowest() {
        let mut cache = WriteCache::new(100);
        for lba in [10, 30, 50] {
            cache.put(lba, lba + 8);
        }
        cache.last_end = 18;
        assert_eq!(cache.next(100), Some((30, 38)));
        assert_eq!(cache.next(5), Some((30, 35)));
        cache.last_end = 51;
        assert_eq!(cache.next(100), Some((10, 18)));
        assert_eq!(cache.first_of(35, 55, 100), Some((30, 38)));
        assert_eq!(cache.first_of(38, 55, 100), Some((50, 58)));
        assert_eq!(cache.first_of(38, 50, 100), None);
    }
}
