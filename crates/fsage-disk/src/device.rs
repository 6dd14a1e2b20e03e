//! What every simulated device is: it takes requests one after the other, and says how long each took and why.

use crate::counters::Counters;
use serde::Serialize;

/// Bytes of a sector. Addresses and lengths of requests are in sectors.
pub const SECTOR_BYTES: u64 = 512;

/// Longest request that a device takes, in sectors (512 MB). Drivers split theirs long before.
pub const MAX_REQUEST_SECTORS: u32 = 1 << 20;

/// The direction of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// From the device to the host.
    Read,
    /// From the host to the device.
    Write,
}

/// What the host asks of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Direction.
    pub access: Access,
    /// First sector, from 0.
    pub lba: u64,
    /// Sectors, at least 1.
    pub sectors: u32,
}

impl Request {
    /// Bytes of the request.
    pub fn bytes(&self) -> u64 {
        u64::from(self.sectors) * SECTOR_BYTES
    }

    /// The sector behind its last one.
    pub fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }
}

/// Where the data of a read came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hit {
    /// From the media, or the request is a write.
    #[default]
    #[serde(rename = "-")]
    No,
    /// All of it from what was read ahead.
    Full,
    /// The first part from what was read ahead, the rest from the media without interruption.
    Part,
    /// From an older segment of the buffer.
    Old,
}

impl Hit {
    /// One word, as request files have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Hit::No => "-",
            Hit::Full => "full",
            Hit::Part => "part",
            Hit::Old => "old",
        }
    }
}

/// Where the time of a request goes, in nanoseconds. The parts do not overlap, and their sum is the time from issue
/// to completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Components {
    /// Waiting for the device to become free.
    pub queue_ns: u64,
    /// Command processing.
    pub overhead_ns: u64,
    /// Arm moves, head switches and settling, wherever in the request they occur.
    pub seek_ns: u64,
    /// Waiting for a sector to come round.
    pub rotation_ns: u64,
    /// Sectors passing below the head.
    pub media_ns: u64,
    /// The rest: what the bus takes after the media, waiting for a slower bus, or for a read-ahead to stop.
    pub bus_ns: u64,
}

impl Components {
    /// The sum of the parts.
    pub fn total_ns(&self) -> u64 {
        self.queue_ns
            + self.overhead_ns
            + self.seek_ns
            + self.rotation_ns
            + self.media_ns
            + self.bus_ns
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// When the host issued it, in nanoseconds of simulated time.
    pub issue_ns: u64,
    /// When it was complete.
    pub done_ns: u64,
    /// Where the time between went.
    pub components: Components,
    /// Where its data came from.
    pub hit: Hit,
    /// Arm moves to another cylinder.
    pub seeks: u32,
    /// Cylinders that the arm crossed in these moves.
    pub seek_cylinders: u32,
}

impl Service {
    /// Time from issue to completion, in nanoseconds.
    pub fn service_ns(&self) -> u64 {
        self.done_ns - self.issue_ns
    }
}

/// A simulated device. It has no queue: it takes a request when the one before is complete.
/// [`Queue`](crate::Queue) holds several and decides which is next.
pub trait Device {
    /// Capacity in sectors.
    fn sectors(&self) -> u64;

    /// Serves a request that was issued at `at_ns`. When the device is still busy at that time, it waits.
    ///
    /// # Panics
    /// If the request is empty, longer than [`MAX_REQUEST_SECTORS`], or goes beyond the end of the device:
    /// [`Device::takes`] tells.
    fn submit(&mut self, at_ns: u64, request: Request) -> Service;

    /// The cylinder of a sector, which schedulers order by. Sectors beyond the end are on the last one.
    fn cylinder_of(&self, lba: u64) -> u32;

    /// Time that the arm and the rotation would take to the first sector of a request if the positioning began at
    /// `at_ns`, without the command's overhead.
    fn positioning_ns(&self, at_ns: u64, request: Request) -> u64;

    /// Sums over all requests so far.
    fn counters(&self) -> &Counters;

    /// Whether [`Device::submit`] takes this request.
    fn takes(&self, request: Request) -> bool {
        let longest = self.sectors().min(u64::from(MAX_REQUEST_SECTORS));
        let sectors = u64::from(request.sectors);
        (1..=longest).contains(&sectors) && request.lba <= self.sectors() - sectors
    }
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn sectors(&self) -> u64 {
        (**self).sectors()
    }

    fn submit(&mut self, at_ns: u64, request: Request) -> Service {
        (**self).submit(at_ns, request)
    }

    fn cylinder_of(&self, lba: u64) -> u32 {
        (**self).cylinder_of(lba)
    }

    fn positioning_ns(&self, at_ns: u64, request: Request) -> u64 {
        (**self).positioning_ns(at_ns, request)
    }

    fn counters(&self) -> &Counters {
        (**self).counters()
    }
}
