//! The queue of the host: requests wait here, and the device gets as many at a time as it takes.

use crate::device::{Device, Request, Service};
use crate::scheduler::{Scheduler, Site};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Requests on their way to a device.
#[derive(Debug)]
pub struct Queue {
    scheduler: &'static dyn Scheduler,
    /// In the order of their arrival.
    requests: Vec<Request>,
    /// Arrival and tag of each.
    labels: Vec<(u64, u64)>,
    last_cylinder: u32,
    last_lba: u64,
    /// Requests that the device works on at once.
    depth: usize,
    /// When the last `depth` requests are done, the earliest first.
    in_flight: BinaryHeap<Reverse<u64>>,
}

/// A request that was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// What the caller called it.
    pub tag: u64,
    /// The request.
    pub request: Request,
    /// What became of it; its issue is the arrival in the queue.
    pub service: Service,
}

impl Queue {
    /// An empty queue before a device that works on so many requests at once.
    pub fn new(scheduler: &'static dyn Scheduler, depth: u32) -> Queue {
        Queue {
            scheduler,
            requests: Vec::new(),
            labels: Vec::new(),
            last_cylinder: 0,
            last_lba: 0,
            depth: depth.max(1) as usize,
            in_flight: BinaryHeap::new(),
        }
    }

    /// When the device takes another request.
    fn free_ns(&self) -> u64 {
        match self.in_flight.peek() {
            Some(&Reverse(done_ns)) if self.in_flight.len() == self.depth => done_ns,
            _ => 0,
        }
    }

    /// Puts a request into the queue. Requests come in the order of their arrival, and all that arrive before
    /// [`Queue::next_start_ns`] must be there before [`Queue::serve`] decides.
    pub fn arrive(&mut self, at_ns: u64, tag: u64, request: Request) {
        self.requests.push(request);
        self.labels.push((at_ns, tag));
    }

    /// Requests that wait.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// When the device takes the next of the requests that are here; `None` if there are none.
    pub fn next_start_ns(&self) -> Option<u64> {
        self.labels
            .first()
            .map(|&(arrival, _)| arrival.max(self.free_ns()))
    }

    /// Serves the next request: when the device had room for it at once the one that came first, otherwise what the
    /// scheduler picks of those that have arrived when it becomes free.
    pub fn serve(&mut self, device: &mut dyn Device) -> Option<Served> {
        let now_ns = self.next_start_ns()?;
        let next = if self.labels[0].0 >= self.free_ns() {
            0
        } else {
            let arrived = self.labels.partition_point(|&(at, _)| at <= now_ns);
            let site = Site {
                device,
                now_ns,
                last_cylinder: self.last_cylinder,
                last_lba: self.last_lba,
            };
            self.scheduler.next(&self.requests[..arrived], site)
        };
        let request = self.requests.remove(next);
        let (arrival_ns, tag) = self.labels.remove(next);
        self.last_lba = request.lba;
        self.last_cylinder = device.cylinder_of(request.lba);
        let mut service = device.submit(now_ns, request);
        service.components.queue_ns += now_ns - arrival_ns;
        service.issue_ns = arrival_ns;
        if self.in_flight.len() == self.depth {
            self.in_flight.pop();
        }
        self.in_flight.push(Reverse(service.done_ns));
        Some(Served {
            tag,
            request,
            service,
        })
    }
}
