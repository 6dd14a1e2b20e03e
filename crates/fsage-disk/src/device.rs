//! What every simulated device is: it takes requests, and says how long each took and why.

use crate::counters::Counters;
use crate::flash::FlashDevice;
use serde::Serialize;
use std::ops::AddAssign;

/// Bytes of a sector. Addresses and lengths of requests are in sectors.
pub const SECTOR_BYTES: u64 = 512;

/// Longest request that a device takes, in sectors (512 MB). Drivers split theirs long before.
pub const MAX_REQUEST_SECTORS: u32 = 1 << 20;

/// What a request does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Data from the device to the host.
    #[default]
    Read,
    /// Data from the host to the device.
    Write,
    /// What was written is to be on the media; address and length mean nothing.
    Flush,
    /// The data of a range are no longer needed.
    Trim,
}

impl Access {
    /// Whether data go over the bus.
    pub fn is_transfer(self) -> bool {
        matches!(self, Access::Read | Access::Write)
    }
}

/// What a host tells a device about the file that it writes, so that neighbors can be placed on different dies
/// (Jun and others, FAST 2024). Only a flash device with `die_affinity` heeds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hint {
    /// Nothing.
    #[default]
    None,
    /// The write continues the file whose last page so far is at this sector.
    Append(u64),
    /// The write replaces data of the file.
    Overwrite,
}

/// What the host asks of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub access: Access,
    /// First sector, from 0.
    pub lba: u64,
    /// Sectors, at least 1.
    pub sectors: u32,
    /// A write is complete only when it is on the media (force unit access).
    pub fua: bool,
    /// What a write is for.
    pub hint: Hint,
}

impl Request {
    /// A request without FUA or hint.
    pub fn new(access: Access, lba: u64, sectors: u32) -> Request {
        Request {
            access,
            lba,
            sectors,
            ..Request::default()
        }
    }

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
/// to completion. A disk has an arm, and flash has dies: the parts of the other are 0. Flash works on several parts of
/// a request at once; its parts are those of the operation that ended last.
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
    /// Waiting for a die that is at work for others.
    pub die_ns: u64,
    /// Sensing or programming cells.
    pub cell_ns: u64,
    /// Transfer between die and controller, and waiting for it.
    pub channel_ns: u64,
    /// Transfer between controller and host, and waiting for it.
    pub link_ns: u64,
}

impl Components {
    /// Names and values of the parts.
    pub fn parts(&self) -> [(&'static str, u64); 10] {
        [
            ("queue", self.queue_ns),
            ("overhead", self.overhead_ns),
            ("seek", self.seek_ns),
            ("rotation", self.rotation_ns),
            ("media", self.media_ns),
            ("bus", self.bus_ns),
            ("die", self.die_ns),
            ("cell", self.cell_ns),
            ("channel", self.channel_ns),
            ("link", self.link_ns),
        ]
    }

    /// The sum of the parts.
    pub fn total_ns(&self) -> u64 {
        self.parts().iter().map(|(_, ns)| ns).sum()
    }
}

impl AddAssign for Components {
    #[inline]
    fn add_assign(&mut self, one: Components) {
        self.queue_ns += one.queue_ns;
        self.overhead_ns += one.overhead_ns;
        self.seek_ns += one.seek_ns;
        self.rotation_ns += one.rotation_ns;
        self.media_ns += one.media_ns;
        self.bus_ns += one.bus_ns;
        self.die_ns += one.die_ns;
        self.cell_ns += one.cell_ns;
        self.channel_ns += one.channel_ns;
        self.link_ns += one.link_ns;
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

/// A simulated device. [`Queue`](crate::Queue) holds requests of the host and decides which is next.
pub trait Device {
    /// Capacity in sectors.
    fn sectors(&self) -> u64;

    /// Serves a request that was issued at `at_ns`, and gives its completion at once. Requests come in the order of
    /// their issue. When the device has as much to do at that time as it takes, the request waits.
    ///
    /// # Panics
    /// If [`Device::takes`] says that the device does not take it.
    fn submit(&mut self, at_ns: u64, request: Request) -> Service;

    /// The cylinder of a sector, which schedulers order by. Sectors beyond the end are on the last one. Without an arm
    /// there is one cylinder.
    fn cylinder_of(&self, _lba: u64) -> u32 {
        0
    }

    /// Time that the arm and the rotation would take to the first sector of a request if the positioning began at
    /// `at_ns`, without the command's overhead. Without an arm it is none.
    fn positioning_ns(&self, _at_ns: u64, _request: Request) -> u64 {
        0
    }

    /// Sums over all requests so far.
    fn counters(&self) -> &Counters;

    /// Requests that it works on at once; others wait in the queue of the host.
    fn queue_depth(&self) -> u32 {
        1
    }

    /// Sectors of the longest read or write that it takes.
    fn longest_request(&self) -> u32 {
        MAX_REQUEST_SECTORS
    }

    /// The flash device that this is, if it is one.
    fn flash(&self) -> Option<&FlashDevice> {
        None
    }

    /// The same, to change what lies on it.
    fn flash_mut(&mut self) -> Option<&mut FlashDevice> {
        None
    }

    /// Whether [`Device::submit`] takes this request: it is on the device, and not too long.
    fn takes(&self, request: Request) -> bool {
        let longest = match request.access {
            Access::Flush => return true,
            Access::Trim => self.sectors(),
            Access::Read | Access::Write => self.sectors().min(self.longest_request().into()),
        };
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

    fn queue_depth(&self) -> u32 {
        (**self).queue_depth()
    }

    fn longest_request(&self) -> u32 {
        (**self).longest_request()
    }

    fn flash(&self) -> Option<&FlashDevice> {
        (**self).flash()
    }

    fn flash_mut(&mut self) -> Option<&mut FlashDevice> {
        (**self).flash_mut()
    }
}
