//! Whether the log holds anything that is to be replayed.
//!
//! The log is written round and round, and each of its sectors begins with the number of the round. It was closed
//! properly if the last thing in it says that the file system was unmounted. Source: `xfs_log_recover.c`.

use super::bytes::u32_at;
use super::device::Device;
use crate::error::CollectError;

/// What the log is counted in.
const SECTOR: u64 = 512;
/// What the header of a record begins with; the number of the round follows.
const RECORD: u32 = 0xFEED_BABE;
/// Most sectors from one header to the next: 256 KB and headers for them.
const MOST_SECTORS: u64 = 520;
/// Bytes of a record that one header tells of.
const OF_HEADER: u64 = 32 << 10;
/// Flag of an operation: the file system was unmounted.
const UNMOUNT: u8 = 0x20;

/// Whether the file system was unmounted.
pub fn is_clean(device: &Device<'_>) -> Result<bool, CollectError> {
    let superblock = device.superblock;
    let Some(start) = superblock.absolute(superblock.log_start) else {
        return Err(device.damaged("the log leads out of the file system"));
    };
    let log = Log {
        device,
        start_bytes: start * device.block_bytes(),
        sectors: u64::from(superblock.log_blocks) * (device.block_bytes() / SECTOR),
    };
    let found = log.is_clean();
    found.map_err(device.unread("cannot read the log"))
}

struct Log<'a> {
    device: &'a Device<'a>,
    start_bytes: u64,
    sectors: u64,
}

impl Log<'_> {
    fn sector(&self, sector: u64) -> std::io::Result<[u8; SECTOR as usize]> {
        let mut bytes = [0; SECTOR as usize];
        let at = self.start_bytes + sector % self.sectors * SECTOR;
        self.device.source.read_at(&mut bytes, at)?;
        Ok(bytes)
    }

    /// The round in which a sector was written.
    fn round(&self, sector: u64) -> std::io::Result<u32> {
        let bytes = self.sector(sector)?;
        let first = u32_at(&bytes, 0);
        Ok(if first == RECORD {
            u32_at(&bytes, 4)
        } else {
            first
        })
    }

    /// The sector that is written next: there a round ends, and what follows is of the one before, or of none.
    fn head(&self) -> std::io::Result<u64> {
        let first = self.round(0)?;
        let (mut same, mut other) = (0, self.sectors);
        while other - same > 1 {
            let middle = same + (other - same) / 2;
            if self.round(middle)? == first {
                same = middle;
            } else {
                other = middle;
            }
        }
        Ok(other)
    }

    fn is_clean(&self) -> std::io::Result<bool> {
        if self.sectors == 0 || self.round(0)? == 0 {
            return Ok(true);
        }
        let head = self.head()?;
        for back in 1..=MOST_SECTORS.min(self.sectors) {
            let at = head + self.sectors - back;
            let header = self.sector(at)?;
            if u32_at(&header, 0) == RECORD {
                return self.ends_by_unmount(at, &header, back);
            }
        }
        Ok(false)
    }

    /// Whether a record that lies so many sectors before the head is the last one, and says so.
    fn ends_by_unmount(&self, at: u64, header: &[u8], back: u64) -> std::io::Result<bool> {
        let (length, operations, record_bytes) =
            (u32_at(header, 12), u32_at(header, 40), u32_at(header, 320));
        let is_long = u32_at(header, 8) & 2 != 0 && u64::from(record_bytes) > OF_HEADER;
        let headers = if is_long {
            u64::from(record_bytes).div_ceil(OF_HEADER)
        } else {
            1
        };
        if operations != 1 || headers + u64::from(length).div_ceil(SECTOR) != back {
            return Ok(false);
        }
        Ok(self.sector(at + headers)?[9] & UNMOUNT != 0)
    }
}
