//! Requests of a file on a device, and how its times compare with those of the file.

use crate::device::{Access, Components, Device, Hint, Request, Service};
use crate::queue::{Queue, Served};
use crate::requests::{MAX_TIME_NS, Mode, Recorded, RequestFile};
use crate::scheduler::Scheduler;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use thiserror::Error;

/// A request of a file that this device cannot take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// It goes beyond the end.
    #[error(
        "request {idx}: {sectors} sectors from {lba} on are not on this drive of {capacity} sectors; choose the drive \
         that the file is for"
    )]
    NotOnTheDevice {
        /// Its number in the file.
        idx: u64,
        /// First sector.
        lba: u64,
        /// Sectors.
        sectors: u32,
        /// Sectors of the device.
        capacity: u64,
    },
    /// It has no sectors, or more than the device takes.
    #[error("request {idx}: {sectors} sectors; expected 1 to {longest} at once")]
    Length {
        /// Its number in the file.
        idx: u64,
        /// Sectors.
        sectors: u32,
        /// Sectors of the longest request that the device takes.
        longest: u32,
    },
    /// It is about what was written before, which only flash knows.
    #[error("lines of preconditioning are for flash devices; `fsage device list` names some")]
    NoFlash,
    /// A line of preconditioning writes what the device cannot take.
    #[error("preconditioning: {message}")]
    Precondition {
        /// What it cannot take.
        message: String,
    },
    /// Its time is too late for the simulation.
    #[error("request {idx}: the times of the file add up to more than 31 years; cut it in pieces")]
    TooLate {
        /// Its number in the file.
        idx: u64,
    },
}

/// Serves all requests, and gives what became of each, in the order of the file.
///
/// # Errors
/// A request that the device cannot take, before any is served; times that add up to more than [`MAX_TIME_NS`].
pub fn replay(
    file: &RequestFile,
    device: &mut dyn Device,
    scheduler: &'static dyn Scheduler,
) -> Result<Vec<Service>, ReplayError> {
    let strange = file.requests.iter().find(|r| !device.takes(r.request));
    if let Some(Recorded { idx, request, .. }) = strange {
        let (idx, capacity, sectors) = (*idx, device.sectors(), request.sectors);
        let is_there =
            u64::from(sectors) <= capacity && request.lba <= capacity - u64::from(sectors);
        return Err(if is_there {
            ReplayError::Length {
                idx,
                sectors,
                longest: device.longest_request(),
            }
        } else {
            ReplayError::NotOnTheDevice {
                idx,
                lba: request.lba,
                sectors,
                capacity,
            }
        });
    }
    if !file.preconditioning.is_empty() {
        let flash = device.flash_mut().ok_or(ReplayError::NoFlash)?;
        for step in &file.preconditioning {
            let done = flash.precondition(step);
            done.map_err(|message| ReplayError::Precondition { message })?;
        }
        flash.rest();
    }
    match file.mode {
        Mode::Closed => closed(&file.requests, device),
        Mode::Open => Ok(open(&file.requests, device, scheduler)),
    }
}

fn closed(requests: &[Recorded], device: &mut dyn Device) -> Result<Vec<Service>, ReplayError> {
    let mut services: Vec<Service> = Vec::with_capacity(requests.len());
    for recorded in requests {
        let done_ns = services.last().map_or(0, |service| service.done_ns);
        let issue_ns = done_ns + recorded.time_ns;
        if issue_ns > MAX_TIME_NS {
            return Err(ReplayError::TooLate { idx: recorded.idx });
        }
        services.push(device.submit(issue_ns, recorded.request));
    }
    Ok(services)
}

fn open(
    requests: &[Recorded],
    device: &mut dyn Device,
    scheduler: &'static dyn Scheduler,
) -> Vec<Service> {
    let mut services = vec![Service::default(); requests.len()];
    let mut queue = Queue::new(scheduler, device.queue_depth());
    let mut coming = requests.iter().enumerate().peekable();
    loop {
        // All that arrive before the device decides.
        while let Some((number, next)) = coming.peek() {
            if queue
                .next_start_ns()
                .is_some_and(|start| next.time_ns > start)
            {
                break;
            }
            queue.arrive(next.time_ns, *number as u64, next.request);
            coming.next();
        }
        let Some(Served { tag, service, .. }) = queue.serve(device) else {
            return services;
        };
        services[tag as usize] = service;
    }
}

/// Keeps so many requests in flight: the next one is issued when the earliest that is outstanding is complete, the
/// first at `start_ns`.
pub fn keep_in_flight(
    device: &mut dyn Device,
    depth: usize,
    start_ns: u64,
    requests: impl IntoIterator<Item = Request>,
) -> Vec<Service> {
    let mut outstanding = BinaryHeap::with_capacity(depth + 1);
    let mut now_ns = start_ns;
    let serve = |request| {
        if outstanding.len() >= depth.max(1)
            && let Some(Reverse(done_ns)) = outstanding.pop()
        {
            now_ns = now_ns.max(done_ns);
        }
        let service = device.submit(now_ns, request);
        outstanding.push(Reverse(service.done_ns));
        service
    };
    requests.into_iter().map(serve).collect()
}

/// Writes what became of the requests of a file: a header, the names of the columns, and a line each. The parts of the
/// time are those that the device has.
///
/// # Errors
/// Those of the output.
pub fn write(
    out: &mut dyn Write,
    device: &dyn Device,
    disk: &str,
    policy: &str,
    file: &RequestFile,
    services: &[Service],
) -> io::Result<()> {
    let (set, mode) = (&file.set, file.mode);
    let is_flash = device.flash().is_some();
    let has = |part: &str| match part {
        "queue" | "overhead" => true,
        "seek" | "rotation" | "media" | "bus" => !is_flash,
        _ => is_flash,
    };
    writeln!(out, "# disk={disk} set={set} mode={mode} policy={policy}")?;
    write!(out, "# idx issue_ms op lba nsect done_ms service_ms")?;
    for (part, _) in Components::default().parts() {
        if has(part) {
            write!(out, " {part}_ms")?;
        }
    }
    writeln!(out, "{}", if is_flash { "" } else { " hit" })?;
    for (recorded, service) in file.requests.iter().zip(services) {
        let op = letter(recorded.request);
        let (lba, sectors) = (recorded.request.lba, recorded.request.sectors);
        let (issue, done) = (Ms(service.issue_ns), Ms(service.done_ns));
        let whole = Ms(service.service_ns());
        write!(
            out,
            "{} {issue} {op} {lba} {sectors} {done} {whole}",
            recorded.idx
        )?;
        for (part, ns) in service.components.parts() {
            if has(part) {
                write!(out, " {}", Ms(ns))?;
            }
        }
        if !is_flash {
            write!(out, " {}", service.hit.as_str())?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// What a request is called in the column `op`.
fn letter(request: Request) -> char {
    match (request.access, request.hint) {
        (Access::Read, _) => 'R',
        (Access::Write, Hint::Append(_)) => 'A',
        (Access::Write, Hint::Overwrite) => 'O',
        (Access::Write, Hint::None) if request.fua => 'U',
        (Access::Write, Hint::None) => 'W',
        (Access::Flush, _) => 'F',
        (Access::Trim, _) => 'T',
    }
}

/// Nanoseconds, printed in milliseconds with six digits.
struct Ms(u64);

impl std::fmt::Display for Ms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// How times compare with those of the file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Requests that the file has a time for.
    pub requests: usize,
    /// Mean time of the file, in milliseconds.
    pub file_mean_ms: f64,
    /// Mean time here, in milliseconds.
    pub mean_ms: f64,
    /// Share of requests within 0.005 ms of the file.
    pub within_5_us: f64,
    /// Share of requests within 0.5 ms of the file.
    pub within_500_us: f64,
    /// Share of positions in the order of completion at which the same request stands.
    pub same_order: f64,
    /// Root mean square of the distances between the two sorted lists of times, in milliseconds (Ruemmler and Wilkes).
    pub demerit_ms: f64,
    /// Mean distance between the two times of a request, in milliseconds.
    pub mean_distance_ms: f64,
}

impl Agreement {
    /// Compares. `None` if the file has no times.
    pub fn of(recorded: &[Recorded], services: &[Service]) -> Option<Agreement> {
        let pairs: Vec<(u64, u64)> = recorded
            .iter()
            .zip(services)
            .filter_map(|(r, s)| Some((r.service_ns?, s.service_ns())))
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let count = pairs.len() as f64;
        let share = |holds: &dyn Fn(&(u64, u64)) -> bool| {
            pairs.iter().filter(|pair| holds(pair)).count() as f64 / count
        };
        let within = |ns: u64| share(&|(a, b)| a.abs_diff(*b) <= ns);
        let mean = |of: &dyn Fn(&(u64, u64)) -> u64| {
            pairs.iter().map(|pair| of(pair) as f64).sum::<f64>() / count / 1e6
        };
        let (mut theirs, mut ours): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
        theirs.sort_unstable();
        ours.sort_unstable();
        let squares: f64 = theirs
            .iter()
            .zip(&ours)
            .map(|(a, b)| (a.abs_diff(*b) as f64 / 1e6).powi(2))
            .sum();
        Some(Agreement {
            requests: pairs.len(),
            file_mean_ms: mean(&|pair| pair.0),
            mean_ms: mean(&|pair| pair.1),
            within_5_us: within(5_000),
            within_500_us: within(500_000),
            same_order: same_order(recorded, services),
            demerit_ms: (squares / count).sqrt(),
            mean_distance_ms: mean(&|(a, b)| a.abs_diff(*b)),
        })
    }

    /// Mean time here against that of the file: 0.01 is one percent more.
    pub fn mean_error(&self) -> f64 {
        self.mean_ms / self.file_mean_ms - 1.0
    }

    /// The demerit as a share of the mean time of the file.
    pub fn demerit(&self) -> f64 {
        self.demerit_ms / self.file_mean_ms
    }
}

/// Share of positions in the order of completion at which both have the same request. Open files have issue times, so
/// that theirs is known; in closed ones the order is that of the file.
fn same_order(recorded: &[Recorded], services: &[Service]) -> f64 {
    let order = |done: &dyn Fn(usize) -> u64| {
        let mut order: Vec<usize> = (0..services.len()).collect();
        order.sort_by_key(|&i| done(i));
        order
    };
    let ours = order(&|i| services[i].done_ns);
    let theirs = order(&|i| services[i].issue_ns + recorded[i].service_ns.unwrap_or(0));
    let same = ours.iter().zip(&theirs).filter(|(a, b)| a == b).count();
    same as f64 / services.len() as f64
}
