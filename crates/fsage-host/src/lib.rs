//! The host between a simulated file system and a simulated disk: buffer cache, write clustering, read-ahead, syncer,
//! queue, and the time of the processor.
//!
//! A model says what each operation does to which buffer ([`fsage_core::Io`]); a [`Host`] does it. There is one
//! process, one processor and one device, and two clocks: the process computes and waits, the device works on its
//! queue. [`HostParams`] says how large the cache is and how the kernel behaves; [`presets`] has the machines of
//! the papers. Rule by rule: `docs/spec/host_io.md`, sections 1 to 8. It uses `fsage-core` and `fsage-disk`, and knows
//! no file system.
//!
//! ```
//! use fsage_core::{Buffer, BufferId, Flush, Io};
//! use fsage_disk::{Drive, RotatingDisk};
//! use fsage_host::{Host, HostParams};
//!
//! let params = HostParams::preset("pentium-120").expect("a preset");
//! let disk = RotatingDisk::new(&Drive::preset("st32430n").expect("a preset"));
//! let mut host = Host::new(&params, disk, 0, 8192);
//! let block = Buffer { id: BufferId::Data { ino: 3, lbn: 0 }, start_bytes: 65_536, bytes: 8192 };
//! host.execute(&[Io::Fill(block, Flush::Delayed)]);
//! assert_eq!(host.counters().async_writes, 0);
//! host.sync();
//! host.wait_idle();
//! assert_eq!(host.counters().written_bytes, 8192);
//! ```

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod cache;
mod counters;
mod driver;
mod flush;
mod host;
mod params;
pub mod presets;
mod raw;
mod read;
mod window;

pub use counters::HostCounters;
pub use host::{DirectRead, Host, IoRequest};
pub use params::{Cpu, FlushClustering, HostError, HostParams, Metadata, ReadAhead};
pub use presets::PRESETS;
pub use raw::{RawThroughput, raw_throughput};
