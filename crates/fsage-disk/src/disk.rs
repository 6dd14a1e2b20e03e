//! What a file system is put on: a drive with its partition, a flash device, or a disk that takes no time.

use crate::device::Device;
use crate::drive::{Drive, DriveError, OptionError, Partition};
use crate::flash::{FlashDevice, FlashDrive};
use crate::null::Null;
use crate::rotating::RotatingDisk;

/// Sectors of the disk that takes no time.
const NULL_SECTORS: u64 = 1 << 40;

/// A disk to simulate.
#[derive(Clone, Debug)]
pub enum Disk {
    /// A drive with seek and rotation.
    Rotating(Box<Drive>),
    /// A device with dies.
    Flash(Box<FlashDrive>),
    /// Every request is complete when it is issued.
    Null,
}

impl Disk {
    /// Name of the disk that takes no time.
    pub const NULL: &str = "null";

    /// The disk of a preset's name.
    pub fn preset(name: &str) -> Option<Disk> {
        if name == Disk::NULL {
            return Some(Disk::Null);
        }
        let flash = || FlashDrive::preset(name).map(Disk::from);
        Drive::preset(name).map(Disk::from).or_else(flash)
    }

    /// Reads TOML; `file` is its name in messages. A file with `flash_page_bytes` is a flash device.
    ///
    /// # Errors
    /// Those of [`Drive::parse`] and [`FlashDrive::parse`].
    pub fn parse(file: &str, text: &str) -> Result<Disk, DriveError> {
        let is_flash = text
            .lines()
            .any(|line| line.starts_with("flash_page_bytes"));
        if is_flash {
            FlashDrive::parse(file, text).map(Disk::from)
        } else {
            Drive::parse(file, text).map(Disk::from)
        }
    }

    /// The same with options, such as `write-cache=on` of a disk or `size=64G` of a flash device.
    ///
    /// # Errors
    /// An option that is unknown, or a value that cannot be.
    pub fn with_options(self, options: &str) -> Result<Disk, OptionError> {
        match self {
            Disk::Rotating(drive) => drive.with_options(options).map(Disk::from),
            Disk::Flash(drive) => drive.with_options(options).map(Disk::from),
            Disk::Null => Err(OptionError {
                option: options.to_owned(),
                message: "a disk that takes no time has no options".to_owned(),
            }),
        }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Disk::Rotating(drive) => &drive.name,
            Disk::Flash(drive) => &drive.name,
            Disk::Null => Disk::NULL,
        }
    }

    /// The part that file systems have: all of it, unless the drive says otherwise.
    pub fn partition(&self) -> Partition {
        match self {
            Disk::Rotating(drive) => drive.partition.unwrap_or(Partition {
                first_sector: 0,
                sectors: drive.usable_sectors(),
            }),
            Disk::Flash(drive) => Partition {
                first_sector: 0,
                sectors: drive.sectors(),
            },
            Disk::Null => Partition {
                first_sector: 0,
                sectors: NULL_SECTORS,
            },
        }
    }

    /// The disk at time 0, turned by `share` of a revolution, in 2^32nds: see [`RotatingDisk::turned`].
    pub fn device(&self, share: u32) -> Box<dyn Device + Send> {
        match self {
            Disk::Rotating(drive) => Box::new(RotatingDisk::new(drive).turned(share)),
            Disk::Flash(drive) => Box::new(FlashDevice::new(drive)),
            Disk::Null => Box::new(Null::new(NULL_SECTORS)),
        }
    }
}

impl From<Drive> for Disk {
    fn from(drive: Drive) -> Disk {
        Disk::Rotating(Box::new(drive))
    }
}

impl From<FlashDrive> for Disk {
    fn from(drive: FlashDrive) -> Disk {
        Disk::Flash(Box::new(drive))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_what_the_drive_says_or_all_of_it() {
        // Fujitsu M2694 as in 1994 to 1997: 1080 MB, of 2,109,375 sectors, have the file systems.
        let disk = Disk::preset("m2694").unwrap();
        assert_eq!(disk.partition().sectors, 2_109_375);
        let disk = Disk::preset("dsp3105").unwrap();
        let partition = disk.partition();
        assert_eq!(
            (partition.first_sector, partition.sectors),
            (0, disk.device(0).sectors())
        );
    }

    #[test]
    fn null_is_a_disk_and_others_are_not() {
        let null = Disk::preset("null").unwrap();
        assert_eq!(
            (null.name(), null.partition().sectors),
            ("null", NULL_SECTORS)
        );
        assert_eq!(null.device(7).sectors(), NULL_SECTORS);
        assert!(Disk::preset("floppy").is_none());
        let flash = Disk::preset("nvme_mlc_p1").unwrap();
        assert_eq!(flash.partition().sectors, flash.device(0).sectors());
    }
}
