//! What a device would do without one of the things that slow an aged file system down. Not a drive that could be built:
//! an experiment, in which one cause after the other is taken away and the time that goes with it is its share.

use super::FlashDevice;
use super::geometry::Geometry;

/// What a device is spared.
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches, of which any may be on"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spared {
    /// Collection moves and erases in no time; what lies where changes as ever.
    pub collection: bool,
    /// Flash pages hold nothing but what is read one after the other. A flash page is where the first page of it really
    /// is, so that dies have as much to wait for each other as their data lie unevenly.
    pub shared_pages: bool,
    /// What is read one after the other lies on the dies as if it had been written in this order. Flash pages are not
    /// shared then either.
    pub collisions: bool,
    /// A command takes the controller no time, whatever it moves.
    pub commands: bool,
}

/// Pages as they would lie if they had been written in the order in which they are read.
#[derive(Clone, Debug, Default)]
pub(super) struct InOrder {
    /// Pages read so far, by partition.
    read: Vec<u64>,
    /// The flash page on which the last ones lie, by partition.
    homes: Vec<u32>,
}

impl InOrder {
    pub fn new(geometry: &Geometry) -> InOrder {
        InOrder {
            read: vec![0; geometry.partitions as usize],
            homes: vec![0; geometry.partitions as usize],
        }
    }

    /// Where a page lies that is read next and is really at `physical`.
    pub fn place(&mut self, geometry: &Geometry, spared: Spared, page: u32, physical: u32) -> u32 {
        let partition = page % geometry.partitions;
        let read = &mut self.read[partition as usize];
        let k = *read;
        *read += 1;
        if !spared.collisions {
            let within = (k % u64::from(geometry.flash_page)) as u32;
            let home = &mut self.homes[partition as usize];
            if within == 0 {
                *home = physical / geometry.flash_page;
            }
            return *home * geometry.flash_page + within;
        }
        // With die affinity every die is a pool of its own, and the units go round them.
        let around = u64::from(geometry.pools / geometry.partitions);
        let (unit, within) = (k / u64::from(geometry.unit), k % u64::from(geometry.unit));
        let pool = partition + (unit % around) as u32;
        let k = unit / around * u64::from(geometry.unit) + within;
        geometry.dealt(pool, 0, (k % u64::from(geometry.superblock)) as u32)
    }
}

impl FlashDevice {
    /// Is spared that from now on. What lies where is not changed by it, and neither is what is counted but times.
    pub fn spare(&mut self, spared: Spared) {
        self.spared = spared;
        let in_order = spared.shared_pages || spared.collisions;
        self.in_order = in_order.then(|| InOrder::new(&self.map.geometry));
        if spared.commands {
            let drive = &mut self.drive;
            drive.overhead_4k_read_ns = 0;
            drive.overhead_read_ns = 0;
            drive.buffer_fixed_ns = 0;
            drive.extensions.command_read_ns = 0;
            drive.extensions.command_write_ns = 0;
        }
    }
}
