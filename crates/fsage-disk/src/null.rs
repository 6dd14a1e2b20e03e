//! A device that takes no time: what is left is the cost of everything above it.

use crate::counters::Counters;
use crate::device::{Device, Request, Service};

/// A device on which every request is complete when it is issued.
#[derive(Clone, Debug)]
pub struct Null {
    sectors: u64,
    counters: Counters,
}

impl Null {
    /// A device of so many sectors.
    pub fn new(sectors: u64) -> Null {
        Null {
            sectors,
            counters: Counters::default(),
        }
    }
}

impl Device for Null {
    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn submit(&mut self, at_ns: u64, request: Request) -> Service {
        assert!(self.takes(request), "a request on the device: {request:?}");
        let service = Service {
            issue_ns: at_ns,
            done_ns: at_ns,
            ..Service::default()
        };
        self.counters.add(request, &service);
        service
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Access;

    #[test]
    fn nothing_takes_time_and_everything_is_counted() {
        let mut null = Null::new(100);
        let request = Request::new(Access::Write, 84, 16);
        assert_eq!(null.submit(7, request).done_ns, 7);
        assert_eq!(null.counters().written_bytes, 8192);
        assert!(!null.takes(Request { lba: 85, ..request }));
    }
}
