//! What a file system is put on: a drive with its partition, flash, or a disk that takes no time.

use crate::device::Device;
use crate::drive::{Drive, Partition};
use crate::flash::{FLASH, Flash, FlashDevice};
use crate::null::Null;
use crate::rotating::RotatingDisk;

/// Sectors of the disk that takes no time.
const NULL_SECTORS: u64 = 1 << 40;

/// A disk to simulate.
#[derive(Clone, Debug)]
pub enum Disk {
    /// A drive with seek and rotation.
    Rotating(Box<Drive>),
    /// A device without an arm.
    Flash(Flash),
    /// Every request is complete when it is issued.
    Null,
}

impl Disk {
    /// Name of the disk that takes no time.
    pub const NULL: &str = "null";
    /// Name of the device without an arm.
    pub const FLASH: &str = "flash";

    /// The disk of a preset's name, or one without an arm.
    pub fn preset(name: &str) -> Option<Disk> {
        Disk::without_arm(name).or_else(|| Drive::preset(name).map(Disk::from))
    }

    /// `flash` or `null`.
    pub fn without_arm(name: &str) -> Option<Disk> {
        match name {
            Disk::FLASH => Some(Disk::Flash(FLASH)),
            Disk::NULL => Some(Disk::Null),
            _ => None,
        }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Disk::Rotating(drive) => &drive.name,
            Disk::Flash(_) => Disk::FLASH,
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
            Disk::Flash(Flash { sectors, .. }) => Partition {
                first_sector: 0,
                sectors: *sectors,
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
            Disk::Flash(flash) => Box::new(FlashDevice::new(*flash)),
            Disk::Null => Box::new(Null::new(NULL_SECTORS)),
        }
    }
}

impl From<Drive> for Disk {
    fn from(drive: Drive) -> Disk {
        Disk::Rotating(Box::new(drive))
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
        let flash = Disk::preset("flash").unwrap();
        assert_eq!(flash.partition().sectors, flash.device(0).sectors());
    }
}
