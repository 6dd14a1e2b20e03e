//! The driver: one request at the device, the others in its queue, beside the clock of the process.
//!
//! Nothing happens while the process computes, as far as this code goes: the host catches up with the device when
//! the process next asks for something. The result is that of both at the same time, because the queue knows when
//! each request came, and no decision is made before all requests are there that it could see.

use fsage_disk::{Access, Device, Queue, Request, SECTOR_BYTES, Scheduler};
use std::collections::VecDeque;

pub(crate) struct Driver<D> {
    pub device: D,
    pub now_ns: u64,
    start_sector: u64,
    queue: Queue,
    /// Completion and label of requests that were decided upon, and are not yet seen to be complete.
    served: VecDeque<(u64, u64)>,
    requests: u32,
}

impl<D: Device> Driver<D> {
    pub fn new(device: D, start_sector: u64, scheduler: &'static dyn Scheduler) -> Driver<D> {
        Driver {
            device,
            now_ns: 0,
            start_sector,
            queue: Queue::new(scheduler),
            served: VecDeque::new(),
            requests: 0,
        }
    }

    /// Puts a request into the queue, and gives its label. `first` is the first of its buffers.
    pub fn start(&mut self, access: Access, start_bytes: u64, bytes: u64, first: u32) -> u64 {
        let request = Request {
            access,
            lba: self.start_sector + start_bytes / SECTOR_BYTES,
            sectors: bytes.div_ceil(SECTOR_BYTES) as u32,
        };
        self.requests = self.requests.wrapping_add(1);
        let tag = u64::from(self.requests) << 32 | u64::from(first);
        self.queue.arrive(self.now_ns, tag, request);
        tag
    }

    fn serve(&mut self) -> Option<(u64, u64)> {
        let served = self.queue.serve(&mut self.device)?;
        let done = (served.service.done_ns, served.tag);
        self.served.push_back(done);
        Some(done)
    }

    /// The first buffer of a request that is complete by now; the oldest first. The device decides first what it
    /// had to decide before now.
    pub fn completed(&mut self) -> Option<u32> {
        while self
            .queue
            .next_start_ns()
            .is_some_and(|start| start < self.now_ns)
        {
            self.serve();
        }
        let &(done_ns, tag) = self.served.front()?;
        if done_ns > self.now_ns {
            return None;
        }
        self.served.pop_front();
        Some(tag as u32)
    }

    /// Waits for a request that is in flight, and tells how long, in nanoseconds.
    pub fn wait(&mut self, tag: u64) -> u64 {
        let served = self.served.iter().find(|done| done.1 == tag).copied();
        let mut next = served.or_else(|| self.serve());
        while let Some((done_ns, done)) = next {
            if done == tag {
                return self.wait_until(done_ns);
            }
            next = self.serve();
        }
        0
    }

    /// Waits for the next completion, and tells how long, in nanoseconds; `None` if nothing is in flight.
    pub fn wait_for_any(&mut self) -> Option<u64> {
        let next = self.served.front().copied().or_else(|| self.serve());
        next.map(|(done_ns, _)| self.wait_until(done_ns))
    }

    fn wait_until(&mut self, done_ns: u64) -> u64 {
        let waited_ns = done_ns.saturating_sub(self.now_ns);
        self.now_ns += waited_ns;
        waited_ns
    }
}
