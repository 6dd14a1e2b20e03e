//! Simulated disks and flash devices: how long a request takes, and why.
//!
//! A [`Drive`] is the description of a disk, read from TOML; [`presets`] has the drives of the papers, and some that
//! were measured. A [`RotatingDisk`] is such a drive at work: an address map, a seek curve, rotation, and a buffer
//! that reads ahead. A [`FlashDrive`] and a [`FlashDevice`] are the same without an arm: dies, a page map, garbage
//! collection. [`Queue`] holds requests of the host, and a [`scheduler`] decides which is next. Rule by rule:
//! `docs/spec/disk.md` and `docs/spec/flash.md`.
//!
//! Simulated time is in nanoseconds, integers throughout: the same requests take the same time on every machine. It
//! uses `fsage-core` alone, and knows no file system.
//!
//! ```
//! use fsage_disk::{Access, Device, Drive, Request, RotatingDisk};
//!
//! let drive = Drive::preset("st32430n").expect("a preset");
//! let mut disk = RotatingDisk::new(&drive);
//! let write = Request::new(Access::Write, 1_313_824, 128);
//! let service = disk.submit(0, write);
//! // One of the worked examples that the model was built from: 30.93 ms, of which 11.27 are the seek.
//! assert_eq!(service.done_ns / 10_000, 3092);
//! ```

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod counters;
mod device;
mod disk;
mod drive;
mod flash;
mod null;
pub mod presets;
mod queue;
pub mod replay;
pub mod requests;
mod rotating;
pub mod scheduler;

pub use counters::Counters;
pub use device::{
    Access, Components, Device, Hint, Hit, MAX_REQUEST_SECTORS, Request, SECTOR_BYTES, Service,
};
pub use disk::Disk;
pub use drive::{
    Buffer, Bus, Drive, DriveError, OPTIONS, OptionError, Overheads, Partition, Seek, Sparing, Zone,
};
pub use flash::{
    Collection, Extensions, FlashCounters, FlashDevice, FlashDrive, Precondition, Spared, Spread,
};
pub use null::Null;
pub use queue::{Queue, Served};
pub use rotating::RotatingDisk;
pub use scheduler::Scheduler;
