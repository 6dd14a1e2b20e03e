//! `clook`: ascending sweeps over the cylinders, blind to the order inside one.

use super::{Place, Scheduler, Site, upward};
use crate::device::{Device, Request};

/// The lowest cylinder at or above that of the last request; if there is none, the lowest of all. Then the oldest.
#[derive(Clone, Copy, Debug)]
pub struct CLook;

impl Scheduler for CLook {
    fn name(&self) -> &'static str {
        "clook"
    }

    fn summary(&self) -> &'static str {
        "the next cylinder upward, and back to the lowest at the end"
    }

    fn next(&self, waiting: &[Request], site: Site) -> usize {
        upward(waiting, site, cylinder)
    }

    fn sweep(&self) -> Option<Place> {
        Some(cylinder)
    }
}

fn cylinder(device: &dyn Device, lba: u64) -> u64 {
    u64::from(device.cylinder_of(lba))
}
