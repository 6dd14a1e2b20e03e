//! What is done to a device before the first request, so that it is not new: docs/spec/flash.md, section 5.9.

use super::{FlashDevice, PAGE_SECTORS};
use crate::device::{Access, Device, Request};

/// A step, in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Writes `sectors` from `first` on, `each` at a time; the last write may be shorter.
    Sequential {
        /// First sector.
        first: u64,
        /// Sectors in all.
        sectors: u64,
        /// Sectors of a write.
        each: u64,
    },
    /// Writes at random multiples of `each` behind `first`.
    Random {
        /// First sector of the range.
        first: u64,
        /// Sectors of the range.
        sectors: u64,
        /// Sectors of a write.
        each: u64,
        /// Writes.
        writes: u64,
        /// Where the random numbers begin.
        seed: u64,
    },
    /// Trims `sectors` from `first` on.
    Trim {
        /// First sector.
        first: u64,
        /// Sectors.
        sectors: u64,
    },
}

impl FlashDevice {
    /// Does a step. Follow the last one with [`FlashDevice::rest`], so that it takes no time.
    ///
    /// # Errors
    /// The step goes beyond the end of the device, or writes more at once than it takes.
    pub fn precondition(&mut self, step: &Precondition) -> Result<(), String> {
        match *step {
            Precondition::Sequential {
                first,
                sectors,
                each,
            } => {
                let mut done = 0;
                while done < sectors {
                    let length = each.min(sectors - done);
                    self.prepare(Access::Write, first.saturating_add(done), length)?;
                    done += length;
                }
                Ok(())
            }
            Precondition::Random {
                first,
                sectors,
                each,
                writes,
                seed,
            } => {
                let places = sectors / each;
                if places == 0 {
                    return Err(format!(
                        "{sectors} sectors have no room for a write of {each}"
                    ));
                }
                let mut random = SplitMix(seed);
                for _ in 0..writes {
                    let place = random.next() % places;
                    self.prepare(Access::Write, first.saturating_add(each * place), each)?;
                }
                Ok(())
            }
            Precondition::Trim { first, sectors } => self.prepare(Access::Trim, first, sectors),
        }
    }

    /// Writes the pages of a range that hold nothing, as an image that is copied to the device is written: one after
    /// the other. Pages that it touches in part count too; what lies behind the end of the device is left out. All of
    /// it takes no time, and is no request of the host.
    pub fn fill(&mut self, first: u64, sectors: u64) {
        /// Pages of a request.
        const TOGETHER: u64 = 32;
        let requests = self.counters.clone();
        let end = first.saturating_add(sectors).min(self.sectors());
        let end_page = end.div_ceil(PAGE_SECTORS);
        let most = TOGETHER.min(u64::from(self.longest_request()) / PAGE_SECTORS);
        let is_empty = |device: &FlashDevice, page: u64| device.map.find(page as u32).is_none();
        let mut page = first / PAGE_SECTORS;
        while page < end_page {
            let run = (page..end_page.min(page + most)).take_while(|&page| is_empty(self, page));
            let pages = run.count() as u64;
            if pages > 0 {
                let (lba, sectors) = (page * PAGE_SECTORS, (pages * PAGE_SECTORS) as u32);
                self.submit(self.now_ns, Request::new(Access::Write, lba, sectors));
            }
            page += pages.max(1);
        }
        self.counters = requests;
        self.rest();
    }

    fn prepare(&mut self, access: Access, lba: u64, sectors: u64) -> Result<(), String> {
        let request = u32::try_from(sectors).map(|sectors| Request::new(access, lba, sectors));
        match request {
            Ok(request) if self.takes(request) => {
                self.submit(self.now_ns, request);
                Ok(())
            }
            _ if sectors <= self.sectors() && lba <= self.sectors() - sectors => Err(format!(
                "{sectors} sectors from {lba} on: a request of this device has 1 to {}",
                self.longest_request()
            )),
            _ => Err(format!(
                "{sectors} sectors from {lba} on are not on this device of {} sectors",
                self.sectors()
            )),
        }
    }
}

/// The generator of the test vectors.
#[derive(Clone, Debug)]
pub(super) struct SplitMix(pub u64);

impl SplitMix {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
