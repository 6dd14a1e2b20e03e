//! `disksort`: ascending sweeps over the addresses. The driver of 4.4BSD sorts its queue by cylinder, and inside a
//! cylinder by block number.

use super::{Place, Scheduler, Site, upward};
use crate::device::{Device, Request};

/// The lowest address at or above that of the last request; if there is none, the lowest of all. Then the oldest.
#[derive(Clone, Copy, Debug)]
pub struct DiskSort;

impl Scheduler for DiskSort {
    fn name(&self) -> &'static str {
        "disksort"
    }

    fn summary(&self) -> &'static str {
        "the next address upward, and back to the lowest at the end"
    }

    fn next(&self, waiting: &[Request], site: Site) -> usize {
        upward(waiting, site, address)
    }

    fn sweep(&self) -> Option<Place> {
        Some(address)
    }
}

fn address(_device: &dyn Device, lba: u64) -> u64 {
    lba
}
