//! The steps as bare requests to a flash device, and direct reads of the file by a host.
//!
//! Space is taken in the order of writing, as an empty file system without preallocation gives it.

use super::writing::Step;
use fsage_core::{BlockMap, Buffer, BufferId};
use fsage_disk::{Access, Device, FlashDevice, FlashDrive, Hint, Request, SECTOR_BYTES};
use fsage_host::{Cpu, DirectRead, Host, HostParams};

/// A page: the last one of what was written is named by hints.
const PAGE_BYTES: u64 = 4096;

/// A device on which a file was written beside others.
pub struct Written {
    device: FlashDevice,
    file: Extents,
}

/// Where a file lies: first byte and length of each extent, in the order of the file.
#[derive(Clone, Debug, Default)]
struct Extents(Vec<(u64, u64)>);

impl Extents {
    fn bytes(&self) -> u64 {
        self.0.iter().map(|(_, bytes)| bytes).sum()
    }

    fn push(&mut self, start: u64, bytes: u64) {
        match self.0.last_mut() {
            Some((last, length)) if *last + *length == start => *length += bytes,
            _ => self.0.push((start, bytes)),
        }
    }

    /// Where a range of the file lies.
    fn ranges(&self, offset: u64, bytes: u64) -> Vec<(u64, u64)> {
        let mut ranges = Vec::new();
        let mut at = 0;
        for &(start, length) in &self.0 {
            let (from, to) = (offset.max(at), (offset + bytes).min(at + length));
            if from < to {
                ranges.push((start + from - at, to - from));
            }
            at += length;
            if at >= offset + bytes {
                break;
            }
        }
        ranges
    }

    /// Where each page lies, for a host.
    fn blocks(&self) -> Vec<BlockMap> {
        let mut blocks = Vec::new();
        for &(start, bytes) in &self.0 {
            for at in (0..bytes).step_by(PAGE_BYTES as usize) {
                let id = BufferId::Data {
                    ino: 0,
                    lbn: blocks.len() as u32,
                };
                blocks.push(BlockMap {
                    buffer: Some(Buffer {
                        id,
                        start_bytes: start + at,
                        bytes: PAGE_BYTES as u32,
                    }),
                    following: ((bytes - at) / PAGE_BYTES - 1) as u32,
                    ..BlockMap::default()
                });
            }
        }
        blocks
    }

    /// Calls that read all of it, one after the other.
    fn calls(&self, call_bytes: u64) -> Vec<DirectRead> {
        let mut calls: Vec<DirectRead> = Vec::new();
        let (mut room, mut ranges) = (call_bytes, Vec::new());
        for &(mut start, mut length) in &self.0 {
            while length > 0 {
                let bytes = length.min(room);
                ranges.push((start, bytes));
                (start, length, room) = (start + bytes, length - bytes, room - bytes);
                if room == 0 {
                    room = call_bytes;
                    calls.push(call(std::mem::take(&mut ranges)));
                }
            }
        }
        if !ranges.is_empty() {
            calls.push(call(ranges));
        }
        calls
    }
}

fn call(ranges: Vec<(u64, u64)>) -> DirectRead {
    DirectRead {
        needs: Vec::new(),
        ranges,
    }
}

impl Written {
    /// Plays steps on a new device; what is written to the file carries hints, which a drive may heed.
    pub fn new(drive: &FlashDrive, steps: &[Step]) -> Written {
        let mut written = Written {
            device: FlashDevice::new(drive),
            file: Extents::default(),
        };
        let mut end = 0;
        for step in steps {
            match *step {
                Step::Append(bytes) => {
                    let last = written.file.bytes().checked_sub(PAGE_BYTES);
                    let last = last.map(|at| written.file.ranges(at, PAGE_BYTES)[0].0);
                    let hint = last.map_or(Hint::None, |at| Hint::Append(at / SECTOR_BYTES));
                    written.write(end, bytes, hint);
                    written.file.push(end, bytes);
                    end += bytes;
                }
                Step::Overwrite(offset, bytes) => {
                    for (start, bytes) in written.file.ranges(offset, bytes) {
                        written.write(start, bytes, Hint::Overwrite);
                    }
                }
                Step::Other(bytes) => {
                    written.write(end, bytes, Hint::None);
                    end += bytes;
                }
            }
        }
        written.device.rest();
        written
    }

    fn write(&mut self, start: u64, bytes: u64, mut hint: Hint) {
        let mut lba = start / SECTOR_BYTES;
        let end = (start + bytes) / SECTOR_BYTES;
        while lba < end {
            let sectors = (end - lba).min(self.device.longest_request().into()) as u32;
            let request = Request {
                hint,
                ..Request::new(Access::Write, lba, sectors)
            };
            self.device.submit(0, request);
            lba = request.end();
            if matches!(hint, Hint::Append(_)) {
                hint = Hint::Append(lba - PAGE_BYTES / SECTOR_BYTES);
            }
        }
    }

    /// Reads the file from end to end in direct calls of so many bytes, one at a time. MiB/s.
    pub fn read(self, params: &HostParams, call_bytes: u64) -> f64 {
        let calls = self.file.calls(call_bytes);
        rate(params, self.device, self.file.bytes(), calls, 1)
    }

    /// Reads the file page by page through the cache of the host, which reads ahead. MiB/s.
    pub fn scan(self, params: &HostParams) -> f64 {
        let bytes = self.file.bytes();
        let blocks = self.file.blocks();
        let mut host = Host::new(params, self.device, 0, PAGE_BYTES as u32);
        for at in (0..bytes).step_by(PAGE_BYTES as usize) {
            host.read(&|lbn| blocks[lbn as usize], 0, bytes, at, PAGE_BYTES);
        }
        mib_a_second(bytes, host.now_ns())
    }

    /// The same in requests of at most so many bytes, however the file lies.
    pub fn read_split(self, params: &HostParams, call_bytes: u64, request_bytes: u32) -> f64 {
        let params = HostParams {
            max_transfer_bytes: request_bytes,
            ..params.clone()
        };
        self.read(&params, call_bytes)
    }
}

/// Reads of 4 KB at random multiples of `alignment` in 2 GB that were written in order, 32 at a time. MB/s.
pub fn probe(params: &HostParams, drive: &FlashDrive, alignment: u64, seed: u64) -> f64 {
    const WRITTEN_BYTES: u64 = 2 << 30;
    const READS: u64 = 20_000;
    const AT_ONCE: usize = 32;
    let written = Written::new(drive, &[Step::Append(WRITTEN_BYTES)]);
    let mut rng = fsage_core::Rng::new(seed).stream("alignment", alignment);
    let calls = (0..READS).map(|_| {
        let at = alignment * rng.below(WRITTEN_BYTES / alignment);
        call(vec![(at, PAGE_BYTES)])
    });
    let bytes = READS * PAGE_BYTES;
    rate(params, written.device, bytes, calls, AT_ONCE) * f64::from(1 << 20) / 1e6
}

/// MiB/s of direct reads.
fn rate(
    params: &HostParams,
    device: FlashDevice,
    bytes: u64,
    calls: impl IntoIterator<Item = DirectRead>,
    depth: usize,
) -> f64 {
    let mut host = Host::new(params, device, 0, PAGE_BYTES as u32);
    host.read_direct(calls, depth);
    mib_a_second(bytes, host.now_ns())
}

/// MiB/s of so many bytes in so many nanoseconds.
pub fn mib_a_second(bytes: u64, ns: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20) * 1e9 / ns as f64
}

/// A host of which nothing costs but a call.
pub fn costing(params: &HostParams, call_ns: u64) -> HostParams {
    HostParams {
        cpu: Cpu {
            call_ns,
            ..Cpu::default()
        },
        sync_interval_ns: 0,
        ..params.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: two extents of 32 KB with 64 KB of others between, read in calls of 48 KB.
    #[test]
    fn calls_follow_the_file_over_its_extents() {
        let mut file = Extents::default();
        file.push(0, 16 << 10);
        file.push(16 << 10, 16 << 10);
        file.push(96 << 10, 32 << 10);
        assert_eq!(file.0.len(), 2);
        assert_eq!(
            file.ranges(28 << 10, 8 << 10),
            [(28 << 10, 4 << 10), (96 << 10, 4 << 10)]
        );
        let calls: Vec<_> = file.calls(48 << 10).into_iter().map(|c| c.ranges).collect();
        assert_eq!(
            calls,
            [
                vec![(0, 32 << 10), (96 << 10, 16 << 10)],
                vec![(112 << 10, 16 << 10)]
            ]
        );
    }
}
