//! `fcfs`: first come, first served.

use super::{Place, Scheduler, Site};
use crate::device::Request;

/// The oldest request.
#[derive(Clone, Copy, Debug)]
pub struct Fcfs;

impl Scheduler for Fcfs {
    fn name(&self) -> &'static str {
        "fcfs"
    }

    fn summary(&self) -> &'static str {
        "first come, first served"
    }

    fn next(&self, _waiting: &[Request], _site: Site) -> usize {
        0
    }
    fn sweep(&self) -> Option<Place> {
        // One place for all: the oldest of them.
        Some(|_, _| 0)
    }
}
