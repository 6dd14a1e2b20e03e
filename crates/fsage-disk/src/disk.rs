//! What a file system is put on: a drive with its partition, or a disk that takes no time.

use crate::device::Device;
use crate::drive::{Drive, Partition};
use crate::null::Null;
use crate::rotating::RotatingDisk;

/// Sectors of the disk that takes no time.
const NULL_SECTORS: u64 = 1 << 40;

/// A disk to simulate.
#[derive(Clone, Debug)]
pub enum Disk {
    /// A drive with seek and rotation.
    Rotating(Box<Drive>),
    /// Every request is complete when it is issued.
    Null,
}

impl Disk {
    /// Name of the disk that takes no time.
    pub const NULL: &str = "null";

    /// The disk of a preset's name, or `null`.
    pub fn preset(name: &str) -> Option<Disk> {
        if name == Disk::NULL {
            return Some(Disk::Null);
        }
        Drive::preset(name).map(Disk::from)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Disk::Rotating(drive) => &drive.name,
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
    }
}
