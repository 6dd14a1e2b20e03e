//! The life of a flash device below a model that is aged: every write of the workload goes through its page map.
//!
//! The model says what its operations do to buffers, a host does that at the times of the workload, and the device
//! decides where pages lie. What comes of it is the device as it is when the workload ends.

use fsage_disk::{FlashDevice, FlashDrive, SECTOR_BYTES};
use fsage_host::{Host, HostParams};
use fsage_target::Aging;
use std::sync::{Arc, Mutex, PoisonError};

/// A device and a host that follow an aging.
pub struct Life(Arc<Mutex<Option<Host<FlashDevice>>>>);

impl Life {
    /// Follows a model from its beginning; nothing if it is larger than the device, or no host runs it.
    pub fn begin(drive: &FlashDrive, params: &HostParams, aging: &mut Aging) -> Option<Life> {
        let mut life = None;
        aging.follow_io(|fs| {
            if fs.geometry().size_bytes > drive.sectors() * SECTOR_BYTES {
                return None;
            }
            let host = Host::new(params, FlashDevice::new(drive), 0, fs.block_bytes());
            let shared = Arc::new(Mutex::new(Some(host)));
            life = Some(Life(Arc::clone(&shared)));
            let mut first_ns = None;
            Some(Box::new(move |t_ns, io| {
                let mut host = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(host) = host.as_mut() {
                    if let Some(t_ns) = t_ns {
                        let since = t_ns.saturating_sub(*first_ns.get_or_insert(t_ns));
                        host.idle_until(u64::try_from(since).unwrap_or(0));
                    }
                    host.execute(io);
                }
                io.clear();
            }))
        });
        life
    }

    /// The device at the end, with everything written that was in memory.
    pub fn end(self) -> Option<FlashDevice> {
        let mut host = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        host.sync();
        let mut device = host.into_device();
        device.rest();
        Some(device)
    }
}
