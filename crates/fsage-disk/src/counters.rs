//! Sums over the requests of a device.

use crate::device::{Access, Components, Hit, Request, Service};
use serde::Serialize;

/// What a device did so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Requests that read.
    pub reads: u64,
    /// Requests that wrote.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Trims.
    pub trims: u64,
    /// Bytes trimmed.
    pub trimmed_bytes: u64,
    /// Reads of which all data came out of the buffer.
    pub full_hits: u64,
    /// Reads of which the first part came out of the buffer.
    pub part_hits: u64,
    /// Writes from the write cache to the media.
    pub destages: u64,
    /// Time that the media took for these, in nanoseconds.
    pub destage_ns: u64,
    /// Arm moves to another cylinder, for requests and from the write cache; those of a read-ahead are not counted.
    pub seeks: u64,
    /// Cylinders crossed in these moves.
    pub seek_cylinders: u64,
    /// Time of all requests by component.
    pub time: Components,
}

impl Counters {
    /// Reads and writes.
    pub fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    /// Adds one request.
    #[inline]
    pub(crate) fn add(&mut self, request: Request, service: &Service) {
        match request.access {
            Access::Read => {
                self.reads += 1;
                self.read_bytes += request.bytes();
            }
            Access::Write => {
                self.writes += 1;
                self.written_bytes += request.bytes();
            }
            Access::Flush => self.flushes += 1,
            Access::Trim => {
                self.trims += 1;
                self.trimmed_bytes += request.bytes();
            }
        }
        match service.hit {
            Hit::No => {}
            Hit::Full | Hit::Old => self.full_hits += 1,
            Hit::Part => self.part_hits += 1,
        }
        self.seeks += u64::from(service.seeks);
        self.seek_cylinders += u64::from(service.seek_cylinders);
        self.time += service.components;
    }
}
