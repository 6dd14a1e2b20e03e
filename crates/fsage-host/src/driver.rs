//! The driver: as many requests at the device as it takes, the others in its queue, beside the clock of the process.
//!
//! Nothing happens while the process computes, as far as this code goes: the host catches up with the device when
//! the process next asks for something. The result is that of both at the same time, because the queue knows when
//! each request came, and no decision is made before all requests are there that it could see.

use fsage_disk::{Access, Device, Queue, Request, SECTOR_BYTES, Scheduler};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(crate) struct Driver<D> {
    pub device: D,
    pub now_ns: u64,
    start_sector: u64,
    queue: Queue,
    queue_depth: u32,
    /// Completion and label of requests that were decided upon, and are not yet seen to be complete; the earliest
    /// first.
    served: BinaryHeap<Reverse<(u64, u64)>>,
    requests: u32,
}

impl<D: Device> Driver<D> {
    pub fn new(
        device: D,
        start_sector: u64,
        scheduler: &'static dyn Scheduler,
        queue_depth: u32,
    ) -> Driver<D> {
        let queue_depth = queue_depth.min(device.queue_depth());
        Driver {
            device,
            now_ns: 0,
            start_sector,
            queue: Queue::new(scheduler, queue_depth),
            queue_depth,
            served: BinaryHeap::new(),
            requests: 0,
        }
    }

    /// More than one request may be at the device.
    pub fn takes_several(&self) -> bool {
        self.queue_depth > 1
    }

    /// Requests that are with the driver or the device, as far as the process knows.
    pub fn in_flight(&self) -> usize {
        self.queue.len() + self.served.len()
    }

    /// Puts a transfer into the queue, and gives its label. `first` is the first of its buffers.
    pub fn start(&mut self, access: Access, start_bytes: u64, bytes: u64, first: u32) -> u64 {
        let lba = self.start_sector + start_bytes / SECTOR_BYTES;
        let sectors = bytes.div_ceil(SECTOR_BYTES) as u32;
        self.arrive(Request::new(access, lba, sectors), first)
    }

    /// Puts a request into the queue, and gives its label.
    pub fn arrive(&mut self, request: Request, first: u32) -> u64 {
        self.requests = self.requests.wrapping_add(1);
        let tag = u64::from(self.requests) << 32 | u64::from(first);
        self.queue.arrive(self.now_ns, tag, request);
        tag
    }

    /// The device decides upon the next request.
    fn serve(&mut self) -> bool {
        let served = self.queue.serve(&mut self.device);
        let done = served.map(|served| Reverse((served.service.done_ns, served.tag)));
        self.served.extend(done);
        done.is_some()
    }

    /// The first buffer of a request, by its label.
    pub fn first_buffer(tag: u64) -> u32 {
        tag as u32
    }

    /// The label of a request that is complete by now; the oldest first. The device decides first what it had to decide
    /// before now.
    pub fn completed(&mut self) -> Option<u64> {
        while self
            .queue
            .next_start_ns()
            .is_some_and(|start| start < self.now_ns)
        {
            self.serve();
        }
        let &Reverse((done_ns, tag)) = self.served.peek()?;
        if done_ns > self.now_ns {
            return None;
        }
        self.served.pop();
        Some(tag)
    }

    /// Waits for a request that is in flight, and tells how long, in nanoseconds.
    pub fn wait(&mut self, tag: u64) -> u64 {
        loop {
            let found = self.served.iter().find(|Reverse(done)| done.1 == tag);
            if let Some(&Reverse((done_ns, _))) = found {
                return self.wait_until(done_ns);
            }
            if !self.serve() {
                return 0;
            }
        }
    }

    /// Waits for the next completion, and tells how long, in nanoseconds; `None` if nothing is in flight.
    pub fn wait_for_any(&mut self) -> Option<u64> {
        loop {
            let next = self.served.peek().map(|Reverse(done)| done.0);
            // What the device takes before that may be complete earlier.
            let start = self.queue.next_start_ns();
            match (next, start) {
                (None, None) => return None,
                (Some(done_ns), None) => return Some(self.wait_until(done_ns)),
                (Some(done_ns), Some(start_ns)) if start_ns >= done_ns => {
                    return Some(self.wait_until(done_ns));
                }
                _ => {
                    self.serve();
                }
            }
        }
    }

    fn wait_until(&mut self, done_ns: u64) -> u64 {
        let waited_ns = done_ns.saturating_sub(self.now_ns);
        self.now_ns += waited_ns;
        waited_ns
    }
}
