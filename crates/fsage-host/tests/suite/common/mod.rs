//! Hosts, files and a notation for requests, for the tests of this crate.

use fsage_core::{BlockMap, Buffer, BufferId};
use fsage_disk::{Access, Device, Null};
use fsage_host::{Cpu, Host, HostParams, IoRequest};

/// 4.4BSD without processor time and syncer, and a cache of 1 MB.
pub fn params() -> HostParams {
    HostParams {
        cache_bytes: 1 << 20,
        sync_interval_ns: 0,
        cpu: Cpu::default(),
        ..HostParams::preset("pentium-120").expect("a preset")
    }
}

/// A host over a device that takes no time, with blocks of 8 KB, that keeps its requests.
pub fn null_host(params: &HostParams) -> Host<Null> {
    recording(params, Null::new(1 << 24), 8192)
}

pub fn recording<D: Device>(params: &HostParams, device: D, block_bytes: u32) -> Host<D> {
    let mut host = Host::new(params, device, 0, block_bytes);
    host.record(true);
    host
}

/// A block of file `ino`, at its logical address.
pub fn data(ino: u64, lbn: u32) -> Buffer {
    Buffer {
        id: BufferId::Data { ino, lbn },
        start_bytes: ino * (1 << 24) + u64::from(lbn) * 8192,
        bytes: 8192,
    }
}

/// A block of the file system itself.
pub fn device(start_bytes: u64) -> Buffer {
    Buffer {
        id: BufferId::Device { start_bytes },
        start_bytes,
        bytes: 8192,
    }
}

/// The first block of pointers of file `ino`.
pub fn pointers(ino: u64) -> Buffer {
    Buffer {
        id: BufferId::Pointers { ino, index: 0 },
        start_bytes: ino * (1 << 24) + (1 << 23),
        bytes: 8192,
    }
}

/// A file: its blocks, its end, and what lies next to what.
#[derive(Clone, Copy)]
pub struct TestFile {
    pub block_bytes: u32,
    pub size_bytes: u64,
    /// Blocks 0 to 11 lie one after the other, and so do those from 12 on, elsewhere. Otherwise none does.
    pub contiguous: bool,
}

pub const INO: u64 = 3;

impl TestFile {
    fn last(self) -> u32 {
        ((self.size_bytes - 1) / u64::from(self.block_bytes)) as u32
    }

    pub fn map(self, lbn: u32) -> BlockMap {
        let block = u64::from(self.block_bytes);
        let last = self.last();
        let bytes = if lbn == last {
            (self.size_bytes - u64::from(lbn) * block).next_multiple_of(1024) as u32
        } else {
            self.block_bytes
        };
        // What is not contiguous has a hole of one block behind each block; block 12 is far behind block 11.
        let step = if self.contiguous { block } else { 2 * block };
        let gap = if lbn < 12 { 0 } else { 1 << 20 };
        let end_of_array = if lbn < 12 {
            11
        } else {
            12 + self.block_bytes / 4 - 1
        };
        BlockMap {
            buffer: Some(Buffer {
                id: BufferId::Data { ino: INO, lbn },
                start_bytes: (1 << 20) + gap + u64::from(lbn) * step,
                bytes,
            }),
            following: if self.contiguous {
                last.min(end_of_array) - lbn
            } else {
                0
            },
            pointers: [
                (lbn >= 12).then_some(Buffer {
                    id: BufferId::Pointers { ino: INO, index: 0 },
                    start_bytes: 1 << 19,
                    bytes: self.block_bytes,
                }),
                None,
                None,
            ],
            group: None,
        }
    }

    pub fn read<D: Device>(self, host: &mut Host<D>, offset: u64, bytes: u64) {
        host.read(&|lbn| self.map(lbn), INO, self.size_bytes, offset, bytes);
    }
}

/// Requests as `docs/spec/host_io.md` writes them: `S[0] A@2[3-5]` is a synchronous request for block 0 and an
/// asynchronous one for the blocks 3 to 5, issued when block 2 is asked for.
pub fn notation(requests: &[IoRequest]) -> String {
    let one = |request: &IoRequest| {
        let what = match request.first {
            Some(BufferId::Data { lbn, .. }) if request.buffers == 1 => lbn.to_string(),
            Some(BufferId::Data { lbn, .. }) => format!("{lbn}-{}", lbn + request.buffers - 1),
            Some(BufferId::Pointers { .. }) => "indirect".to_owned(),
            Some(BufferId::Device { start_bytes }) => format!("device {start_bytes}"),
            None => format!("{} of {} bytes", request.start_bytes, request.bytes),
        };
        match (request.access, request.wait, request.asked) {
            (_, true, _) => format!("S[{what}]"),
            (Access::Read, false, Some(asked)) => format!("A@{asked}[{what}]"),
            (_, false, _) => format!("A[{what}]"),
        }
    };
    let all: Vec<String> = requests.iter().map(one).collect();
    all.join(" ")
}
