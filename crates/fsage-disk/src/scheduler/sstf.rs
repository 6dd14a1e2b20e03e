//! `sstf`: shortest seek time first.

use super::{Scheduler, Site, cheapest};
use crate::device::Request;

/// The smallest distance in cylinders from the last request. Then the oldest.
#[derive(Clone, Copy, Debug)]
pub struct Sstf;

impl Scheduler for Sstf {
    fn name(&self) -> &'static str {
        "sstf"
    }

    fn summary(&self) -> &'static str {
        "the nearest cylinder"
    }

    fn next(&self, waiting: &[Request], site: Site) -> usize {
        let last = site.device.cylinder_of(site.last_lba);
        cheapest(waiting, |request| {
            site.device.cylinder_of(request.lba).abs_diff(last)
        })
    }
}
