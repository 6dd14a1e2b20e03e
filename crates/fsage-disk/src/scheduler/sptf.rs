//! `sptf`: shortest positioning time first.

use super::{Scheduler, Site, cheapest};
use crate::device::Request;

/// The least time of movement and rotation from where the arm is, without the command's overhead. Then the oldest.
#[derive(Clone, Copy, Debug)]
pub struct Sptf;

impl Scheduler for Sptf {
    fn name(&self) -> &'static str {
        "sptf"
    }

    fn summary(&self) -> &'static str {
        "the shortest movement and rotation together"
    }

    fn next(&self, waiting: &[Request], site: Site) -> usize {
        cheapest(waiting, |request| {
            site.device.positioning_ns(site.now_ns, request)
        })
    }
}
