//! `disksort`: ascending sweeps over the addresses. The driver of 4.4BSD sorts its queue by cylinder, and inside a
//! cylinder by block number.

use super::{Scheduler, Site, cheapest};
use crate::device::Request;

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
        cheapest(waiting, |request| {
            (request.lba < site.last_lba, request.lba)
        })
    }
}
