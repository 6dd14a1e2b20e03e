//! Which of the waiting requests is next: one file a policy, and the list of them.

mod clook;
mod disksort;
mod fcfs;
mod sptf;
mod sstf;

use crate::device::{Device, Request};
use std::fmt::Debug;

pub use clook::CLook;
pub use disksort::DiskSort;
pub use fcfs::Fcfs;
pub use sptf::Sptf;
pub use sstf::Sstf;

/// Every scheduler.
pub const ALL: [&dyn Scheduler; 5] = [&Fcfs, &CLook, &DiskSort, &Sstf, &Sptf];

/// What a scheduler may look at.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The device, which has just become free.
    pub device: &'a dyn Device,
    /// The time, in nanoseconds.
    pub now_ns: u64,
    /// First sector of the request that was started last; 0 at first.
    pub last_lba: u64,
}

/// Decides which request is next. It has no state.
pub trait Scheduler: Debug + Sync {
    /// Name, as on the command line.
    fn name(&self) -> &'static str;

    /// What it does, in one line.
    fn summary(&self) -> &'static str;

    /// The position of the next request among the waiting ones, of which there is at least one. The oldest come first.
    fn next(&self, waiting: &[Request], site: Site) -> usize;

    /// For a policy that goes upward from place to place and then back to the lowest, the oldest first in each: the
    /// place of a sector. A queue then need not look at all that waits, and takes what [`next`](Scheduler::next) does.
    fn sweep(&self) -> Option<Place> {
        None
    }
}

/// Where a sector is, as a sweep sees it.
pub type Place = fn(&dyn Device, u64) -> u64;

/// The next request of a sweep: the lowest place at or above that of the last request; if there is none, the lowest of
/// all. Then the oldest.
fn upward(waiting: &[Request], site: Site, place: Place) -> usize {
    let last = place(site.device, site.last_lba);
    cheapest(waiting, |request| {
        let place = place(site.device, request.lba);
        (place < last, place)
    })
}

/// The scheduler of that name.
pub fn by_name(name: &str) -> Option<&'static dyn Scheduler> {
    ALL.into_iter().find(|scheduler| scheduler.name() == name)
}

/// The oldest of the requests that cost least.
fn cheapest<K: Ord>(waiting: &[Request], cost: impl Fn(Request) -> K) -> usize {
    let cheapest = waiting.iter().enumerate().min_by_key(|(_, r)| cost(**r));
    cheapest.map_or(0, |(position, _)| position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Access;
    use crate::drive::Drive;
    use crate::rotating::RotatingDisk;

    /// The order in which requests to the given cylinders are served, from cylinder 20.
    fn order(scheduler: &dyn Scheduler, cylinders: &[u64]) -> Vec<u64> {
        let drive = Drive::preset("dsp3105").expect("a preset");
        let disk = RotatingDisk::new(&drive);
        // 14 heads, 57 sectors a track.
        let mut waiting: Vec<Request> = cylinders
            .iter()
            .map(|cylinder| Request::new(Access::Read, cylinder * 14 * 57, 1))
            .collect();
        let mut last_cylinder = 20;
        let mut order = Vec::new();
        while !waiting.is_empty() {
            let site = Site {
                device: &disk,
                now_ns: 0,
                last_lba: u64::from(last_cylinder) * 14 * 57,
            };
            let next = waiting.remove(scheduler.next(&waiting, site));
            last_cylinder = disk.cylinder_of(next.lba);
            order.push(u64::from(last_cylinder));
        }
        order
    }

    #[test]
    fn the_order_is_that_of_the_policy() {
        let cylinders = [50, 10, 25, 90, 19, 20];
        assert_eq!(order(&Fcfs, &cylinders), cylinders);
        assert_eq!(order(&CLook, &cylinders), [20, 25, 50, 90, 10, 19]);
        assert_eq!(order(&DiskSort, &cylinders), [20, 25, 50, 90, 10, 19]);
        assert_eq!(order(&Sstf, &cylinders), [20, 19, 25, 10, 50, 90]);
    }

    #[test]
    fn inside_a_cylinder_only_disksort_goes_by_address() {
        let disk = RotatingDisk::new(&Drive::preset("dsp3105").expect("a preset"));
        // All within the 14 tracks of 57 sectors of cylinder 0.
        let waiting = [600, 300, 400, 100].map(|lba| Request::new(Access::Write, lba, 16));
        let site = Site {
            device: &disk,
            now_ns: 0,
            last_lba: 350,
        };
        assert_eq!(CLook.next(&waiting, site), 0);
        assert_eq!(DiskSort.next(&waiting, site), 2);
        // Nothing is left above: back to the lowest.
        let site = Site {
            last_lba: 700,
            ..site
        };
        assert_eq!(DiskSort.next(&waiting, site), 3);
    }

    #[test]
    fn the_shortest_positioning_counts_rotation_too() {
        let drive = Drive::preset("dsp3105").expect("a preset");
        let disk = RotatingDisk::new(&drive);
        let read = |lba| Request::new(Access::Read, lba, 8);
        // On the first track at time 0, sector 50 is most of a revolution away; the neighbor cylinder is nearer.
        let waiting = [read(50), read(14 * 57 + 15)];
        let site = Site {
            device: &disk,
            now_ns: 0,
            last_lba: 0,
        };
        assert_eq!(Sstf.next(&waiting, site), 0);
        assert_eq!(Sptf.next(&waiting, site), 1);
    }

    #[test]
    fn every_scheduler_is_found_by_its_name() {
        for scheduler in ALL {
            let found = by_name(scheduler.name()).expect("its name");
            assert_eq!(found.summary(), scheduler.summary());
        }
        assert!(by_name("elevator").is_none());
    }
}
