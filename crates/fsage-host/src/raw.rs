//! The device without a file system: the "raw disk" lines of the papers.

use crate::host::Host;
use crate::params::HostParams;
use fsage_core::Io;
use fsage_disk::Device;

/// What was transferred past the cache, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawThroughput {
    /// Bytes.
    pub bytes: u64,
    /// Time in nanoseconds.
    pub elapsed_ns: u64,
}

impl RawThroughput {
    /// Bytes per second; 0 if it took no time.
    pub fn bytes_per_s(self) -> f64 {
        if self.elapsed_ns == 0 {
            return 0.0;
        }
        self.bytes as f64 * 1e9 / self.elapsed_ns as f64
    }
}

/// Reads or writes `bytes` from a sector on, one after the other, in requests as long as the host's may be, and
/// waits for each. The processor costs nothing.
///
/// # Panics
/// If the device is shorter.
pub fn raw_throughput<D: Device>(
    params: &HostParams,
    device: D,
    start_sector: u64,
    bytes: u64,
    write: bool,
) -> RawThroughput {
    let mut host = Host::new(params, device, start_sector, params.max_transfer_bytes);
    host.execute(&[Io::Raw {
        write,
        start_bytes: 0,
        bytes,
        wait: true,
    }]);
    RawThroughput {
        bytes,
        elapsed_ns: host.now_ns(),
    }
}
