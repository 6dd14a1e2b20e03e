//! The life of a flash device below a model that is aged: every write of the workload goes through its page map.
//!
//! The model says what its operations do to buffers, a host does that at the times of the workload, and the device
//! decides where pages lie. What is synced by the workload is written then, and free space is trimmed as often as the
//! host does so. What comes of it is the device as it is when the workload ends, and what was to be seen of it every
//! day.

use crate::benching::flash::FlashDay;
use fsage_bench::FlashFacts;
use fsage_core::Op;
use fsage_core::io::Hosted;
use fsage_disk::{Device as _, FlashDevice, FlashDrive, SECTOR_BYTES};
use fsage_host::{Host, HostParams};
use fsage_target::{Aging, Followed};
use std::sync::{Arc, Mutex, PoisonError};

/// A device and a host that follow an aging.
pub struct Life(Arc<Mutex<Option<Living>>>);

/// What came of a life.
pub struct Lived {
    /// The device at the end, with everything written that was in memory.
    pub device: FlashDevice,
    /// Where pages of files lay at the end of every day with files.
    pub days: Vec<FlashDay>,
}

impl Lived {
    /// A device as it is now.
    pub fn now(device: FlashDevice) -> Lived {
        let days = Vec::new();
        Lived { device, days }
    }
}

struct Living {
    host: Host<FlashDevice>,
    days: Vec<FlashDay>,
    /// Days that are over.
    day: u32,
    first_ns: Option<i64>,
    trim_interval_ns: u64,
    next_trim_ns: u64,
}

impl Living {
    fn follow(&mut self, followed: Followed<'_>) {
        let Followed { t_ns, op, fs } = followed;
        if let Some(t_ns) = t_ns {
            let since = t_ns.saturating_sub(*self.first_ns.get_or_insert(t_ns));
            self.host.idle_until(u64::try_from(since).unwrap_or(0));
        }
        let synced = match op {
            Some(&Op::Fsync { file }) => fs.buffers_of(file),
            _ => None,
        };
        match synced {
            Some(ino) => self.host.fsync(ino, fs.emitted()),
            None => self.host.execute(fs.emitted()),
        }
        match op {
            Some(Op::Sync) => self.host.sync(),
            Some(_) => {}
            None => self.end_day(fs),
        }
        fs.emitted().clear();
    }

    fn end_day(&mut self, fs: &dyn Hosted) {
        if self.trim_interval_ns > 0 && self.host.now_ns() >= self.next_trim_ns {
            self.next_trim_ns = self.host.now_ns() + self.trim_interval_ns;
            let mut free = Vec::new();
            fs.visit_free(&mut |run| free.push((run.start_bytes, run.length_bytes)));
            self.host.trim(free);
        }
        self.day += 1;
        let facts = FlashFacts::of(fs, self.host.device(), 0);
        self.days.extend(facts.map(|facts| FlashDay {
            day: self.day,
            facts,
        }));
    }
}

impl Life {
    /// Follows a model from its beginning; nothing if it is larger than the device, or no host runs it.
    pub fn begin(drive: &FlashDrive, params: &HostParams, aging: &mut Aging) -> Option<Life> {
        Life::go_on(FlashDevice::new(drive), params, aging)
    }

    /// Follows a model that has lived on this device, from here on.
    pub fn go_on(device: FlashDevice, params: &HostParams, aging: &mut Aging) -> Option<Life> {
        let mut life = None;
        aging.follow_io(|fs| {
            if fs.geometry().size_bytes > device.sectors() * SECTOR_BYTES {
                return None;
            }
            let living = Living {
                host: Host::new(params, device, 0, fs.block_bytes()),
                days: Vec::new(),
                day: 0,
                first_ns: None,
                trim_interval_ns: params.trim_interval_ns,
                next_trim_ns: params.trim_interval_ns,
            };
            let shared = Arc::new(Mutex::new(Some(living)));
            life = Some(Life(Arc::clone(&shared)));
            Some(Box::new(move |followed| {
                let mut living = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(living) = living.as_mut() {
                    living.follow(followed);
                }
            }))
        });
        life
    }

    /// What came of it.
    pub fn end(self) -> Option<Lived> {
        let living = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Living { mut host, days, .. } = living?;
        host.sync();
        let mut device = host.into_device();
        device.rest();
        Some(Lived { device, days })
    }
}
