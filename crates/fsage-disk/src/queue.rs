//! The queue of the host: requests wait here, and the device gets as many at a time as it takes.

use crate::device::{Device, Request, Service};
use crate::scheduler::{Scheduler, Site};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// Requests on their way to a device.
#[derive(Debug)]
pub struct Queue {
    scheduler: &'static dyn Scheduler,
    /// In the order of their arrival. One that was served leaves a gap, and none at the front.
    line: VecDeque<Option<Waiting>>,
    /// The number of the request at the front of the line: requests are numbered as they arrive.
    front: u64,
    /// Requests that wait.
    waiting: usize,
    /// Place and number of those that a sweep may take: all before `swept` that wait.
    sweep: BTreeSet<(u64, u64)>,
    /// The number of the first request that is not in the sweep yet.
    swept: u64,
    last_lba: u64,
    /// Requests that the device works on at once.
    depth: usize,
    /// When the last `depth` requests are done, the earliest first.
    in_flight: BinaryHeap<Reverse<u64>>,
}

/// A request in the line.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: Request,
    arrival_ns: u64,
    tag: u64,
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
            line: VecDeque::new(),
            front: 0,
            waiting: 0,
            sweep: BTreeSet::new(),
            swept: 0,
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
        self.line.push_back(Some(Waiting {
            request,
            arrival_ns: at_ns,
            tag,
        }));
        self.waiting += 1;
    }

    /// Requests that wait.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// The oldest request that waits.
    fn oldest(&self) -> Option<Waiting> {
        self.line.front().copied().flatten()
    }

    /// When the device takes the next of the requests that are here; `None` if there are none.
    pub fn next_start_ns(&self) -> Option<u64> {
        self.oldest()
            .map(|oldest| oldest.arrival_ns.max(self.free_ns()))
    }

    /// Serves the next request: when the device had room for it at once the one that came first, otherwise what the
    /// scheduler picks of those that have arrived when it becomes free.
    pub fn serve(&mut self, device: &mut dyn Device) -> Option<Served> {
        let oldest = self.oldest()?;
        let free_ns = self.free_ns();
        let now_ns = oldest.arrival_ns.max(free_ns);
        let number = if oldest.arrival_ns >= free_ns {
            self.front
        } else {
            self.pick(device, now_ns)
        };
        let Waiting {
            request,
            arrival_ns,
            tag,
        } = self.take(device, number)?;
        self.last_lba = request.lba;
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

    /// The number of the request that the scheduler wants next, of those that have arrived.
    fn pick(&mut self, device: &dyn Device, now_ns: u64) -> u64 {
        let Some(place) = self.scheduler.sweep() else {
            let arrived = (self.front..).zip(&self.line);
            let arrived = arrived.filter_map(|(number, waiting)| Some((number, (*waiting)?)));
            let arrived = arrived.take_while(|(_, waiting)| waiting.arrival_ns <= now_ns);
            let (numbers, requests): (Vec<u64>, Vec<Request>) = arrived
                .map(|(number, waiting)| (number, waiting.request))
                .unzip();
            let site = Site {
                device,
                now_ns,
                last_lba: self.last_lba,
            };
            return numbers[self.scheduler.next(&requests, site)];
        };
        while let Some(&Some(waiting)) = self.line.get((self.swept - self.front) as usize)
            && waiting.arrival_ns <= now_ns
        {
            let place = place(device, waiting.request.lba);
            self.sweep.insert((place, self.swept));
            self.swept += 1;
        }
        let last = place(device, self.last_lba);
        let upward = self.sweep.range((last, 0)..).next();
        let next = upward.or_else(|| self.sweep.first());
        next.map_or(self.front, |&(_, number)| number)
    }

    /// Takes a request out of the line.
    fn take(&mut self, device: &dyn Device, number: u64) -> Option<Waiting> {
        let taken = self.line.get_mut((number - self.front) as usize)?.take()?;
        self.waiting -= 1;
        if number < self.swept
            && let Some(place) = self.scheduler.sweep()
        {
            self.sweep
                .remove(&(place(device, taken.request.lba), number));
        }
        while let Some(None) = self.line.front() {
            self.line.pop_front();
            self.front += 1;
        }
        self.swept = self.swept.max(self.front);
        Some(taken)
    }
}
