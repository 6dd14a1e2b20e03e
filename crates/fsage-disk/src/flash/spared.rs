//! What a device would do without one of the things that slow an aged file system down. Not a drive that could be
//! built: an experiment, in which one cause after the other is taken away and the time that goes with it is its share.

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
    /// Flash pages that are read one after the other lie on the dies as if they had been written in this order, with
    /// whatever else is on them.
    pub collisions: bool,
    /// Flash pages hold nothing but what is read one after the other, and are sensed once for two requests that follow
    /// each other. Each is where the first page of it really is, or, without collisions, where it would be if all had
    /// been written in this order.
    pub shared_pages: bool,
    /// A command takes the controller no time, whatever it moves.
    pub commands: bool,
}

/// Where pages would lie if what is spared were not.
#[derive(Clone, Debug, Default)]
pub(super) struct InOrder {
    /// Pages read so far, or flash pages where these stay as they are; by partition.
    read: Vec<u64>,
    /// The flash page on which the last pages lie, by partition.
    homes: Vec<u32>,
    /// The flash page that a die sensed last, and the one that stands for it; by die.
    sensed: Vec<Option<(u32, u32)>>,
}

impl InOrder {
    pub fn new(geometry: &Geometry) -> InOrder {
        InOrder {
            read: vec![0; geometry.partitions as usize],
            homes: vec![0; geometry.partitions as usize],
            sensed: vec![None; geometry.all_dies() as usize],
        }
    }

    /// Where a page lies that is read next and is really at `physical`.
    pub fn place(&mut self, geometry: &Geometry, spared: Spared, page: u32, physical: u32) -> u32 {
        let partition = page % geometry.partitions;
        let of_flash_page = u64::from(geometry.flash_page);
        let flash_page = physical / geometry.flash_page;
        if !spared.shared_pages {
            let die = geometry.die_of(physical) as usize;
            let home = match self.sensed[die] {
                Some((sensed, home)) if sensed == flash_page => home,
                _ => {
                    let k = self.next(partition) * of_flash_page;
                    // A flash page is on one die, whatever is dealt.
                    let deal = geometry.deal.max(geometry.flash_page);
                    dealt(geometry, deal, partition, k) / geometry.flash_page
                }
            };
            self.sensed[die] = Some((flash_page, home));
            return home * geometry.flash_page + physical % geometry.flash_page;
        }
        let k = self.next(partition);
        if spared.collisions {
            return dealt(geometry, geometry.deal, partition, k);
        }
        let within = (k % of_flash_page) as u32;
        let home = &mut self.homes[partition as usize];
        if within == 0 {
            *home = flash_page;
        }
        *home * geometry.flash_page + within
    }

    /// So many pages of a partition are read together. They begin a flash page unless the last has room for all.
    pub fn begin(&mut self, geometry: &Geometry, spared: Spared, partition: u32, pages: u32) {
        let of_flash_page = u64::from(geometry.flash_page);
        let read = &mut self.read[partition as usize];
        if spared.shared_pages && *read % of_flash_page + u64::from(pages) > of_flash_page {
            *read = read.next_multiple_of(of_flash_page);
        }
    }

    /// What has been read of a partition before this.
    fn next(&mut self, partition: u32) -> u64 {
        let read = &mut self.read[partition as usize];
        *read += 1;
        *read - 1
    }
}

/// The page that a drive deals as number `k` of all that it ever writes to a partition, if it were never full and
/// `deal` pages went to one die before the next.
fn dealt(geometry: &Geometry, deal: u32, partition: u32, k: u64) -> u32 {
    // With die affinity every die is a pool of its own, and the units go round them.
    let around = u64::from(geometry.pools / geometry.partitions);
    let (unit, within) = (k / u64::from(geometry.unit), k % u64::from(geometry.unit));
    let pool = partition + (unit % around) as u32;
    let k = unit / around * u64::from(geometry.unit) + within;
    geometry.dealt_by(deal, pool, 0, (k % u64::from(geometry.superblock)) as u32)
}

impl FlashDevice {
    /// Is spared that from now on. What lies where is not changed by it, and neither is what is counted but times.
    pub fn spare(&mut self, spared: Spared) {
        self.spared = spared;
        let in_order = spared.shared_pages || spared.collisions;
        self.in_order = in_order.then(|| InOrder::new(&self.map.geometry));
        if spared.shared_pages {
            self.drive.extensions.page_register = true;
            self.hardware.keep_sensed();
        }
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
