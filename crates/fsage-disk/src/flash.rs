//! A device without an arm: every request takes a constant time and the time of its bytes, wherever it lies.
//!
//! It is an idealization of flash. Dies that work side by side, garbage collection, wear and the buffer of such a
//! device are not modeled: it answers one question only, what is left of an effect when distance costs nothing.

use crate::counters::Counters;
use crate::device::{Access, Components, Device, Request, Service};

/// What the device is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flash {
    /// Capacity in sectors.
    pub sectors: u64,
    /// Time of a read before its first byte, in nanoseconds.
    pub read_ns: u64,
    /// Time of a write before its first byte, in nanoseconds.
    pub write_ns: u64,
    /// Time of a sector, in nanoseconds.
    pub sector_ns: u64,
}

/// 40 GB behind a serial bus: 0.1 ms a request and 250 MB/s both ways, which are estimates for a drive of about 2010.
pub const FLASH: Flash = Flash {
    sectors: 40_000_000_000 / 512,
    read_ns: 100_000,
    write_ns: 100_000,
    sector_ns: 2048,
};

/// Such a device at work.
#[derive(Clone, Debug)]
pub struct FlashDevice {
    flash: Flash,
    free_ns: u64,
    counters: Counters,
}

impl FlashDevice {
    /// A device at rest.
    pub fn new(flash: Flash) -> FlashDevice {
        FlashDevice {
            flash,
            free_ns: 0,
            counters: Counters::default(),
        }
    }
}

impl Device for FlashDevice {
    fn sectors(&self) -> u64 {
        self.flash.sectors
    }

    fn submit(&mut self, at_ns: u64, request: Request) -> Service {
        assert!(self.takes(request), "a request on the device: {request:?}");
        let start_ns = at_ns.max(self.free_ns);
        let components = Components {
            queue_ns: start_ns - at_ns,
            overhead_ns: match request.access {
                Access::Read => self.flash.read_ns,
                Access::Write => self.flash.write_ns,
            },
            media_ns: u64::from(request.sectors) * self.flash.sector_ns,
            ..Components::default()
        };
        self.free_ns = at_ns + components.total_ns();
        let service = Service {
            issue_ns: at_ns,
            done_ns: self.free_ns,
            components,
            ..Service::default()
        };
        self.counters.add(request, &service);
        service
    }

    fn cylinder_of(&self, _lba: u64) -> u32 {
        0
    }

    fn positioning_ns(&self, _at_ns: u64, _request: Request) -> u64 {
        0
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_number_and_length_of_requests_count() {
        let mut flash = FlashDevice::new(FLASH);
        let read = |lba| Request {
            access: Access::Read,
            lba,
            sectors: 8,
        };
        // 0.1 ms and 8 sectors of 2.048 us; the second one waits for the first.
        assert_eq!(flash.submit(1000, read(0)).done_ns, 1000 + 116_384);
        let far = flash.submit(1000, read(70_000_000));
        assert_eq!(far.done_ns, 1000 + 2 * 116_384);
        assert_eq!(far.components.queue_ns, 116_384);
        assert_eq!(far.components.total_ns(), far.service_ns());
        assert!(!flash.takes(read(FLASH.sectors - 7)));
    }
}
