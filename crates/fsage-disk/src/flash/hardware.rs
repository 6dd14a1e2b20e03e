//! Dies, channels and the link: what an operation takes. docs/spec/flash.md, sections 5.2 and 5.3.
//!
//! A die does one operation after the other, in the order in which they are requested. It is busy while its data wait
//! for the channel; the link never holds a die.

use super::bandwidth::Bandwidth;
use super::counters::FlashCounters;
use super::drive::{FlashDrive, PAGE_BYTES};
use super::geometry::Geometry;
use std::collections::VecDeque;

/// When an operation is over, and where its time went.
#[expect(clippy::struct_field_names, reason = "units stand last in names")]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operation {
    pub done_ns: u64,
    /// Waiting for the die.
    pub die_ns: u64,
    /// Sensing or programming.
    pub cell_ns: u64,
    pub channel_ns: u64,
    pub link_ns: u64,
}

/// Pages of one flash page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub first: u32,
    pub pages: u32,
}

/// The flash page that is sensed.
#[derive(Clone, Copy, Debug)]
struct Cell {
    flash_page: u32,
    kind: usize,
}

/// An operation that a read may suspend.
#[derive(Clone, Copy, Debug)]
struct Suspendable {
    start_ns: u64,
    /// How long it takes to suspend.
    delay_ns: u64,
}

#[derive(Clone, Debug, Default)]
struct Die {
    free_ns: u64,
    /// The flash page that was sensed last, if nothing was programmed or erased since.
    register: Option<u32>,
    /// Program units on their way to flash, and when they are there.
    programs: VecDeque<(u32, u64)>,
    /// What it does last.
    last: Option<Suspendable>,
    /// Until when a read has suspended that.
    reading_ns: u64,
}

/// The hardware of a drive.
#[derive(Clone, Debug)]
pub(super) struct Hardware {
    /// No operation is requested before this time.
    pub now_ns: u64,
    dies: Vec<Die>,
    channels: Vec<Bandwidth>,
    pub link: Bandwidth,
    read_4k_ns: Vec<u64>,
    read_ns: Vec<u64>,
    program_ns: u64,
    erase_ns: u64,
    chunk_bytes: u64,
    page_register: bool,
    suspend_program_ns: u64,
    suspend_erase_ns: u64,
    pub counters: FlashCounters,
}

impl Hardware {
    /// Idle hardware at time 0.
    pub fn new(drive: &FlashDrive, geometry: &Geometry) -> Hardware {
        let extra_ns = drive.channel_extra_ns_per_4k * 128 / PAGE_BYTES;
        let channel = Bandwidth::new(drive.channel_mib_s, extra_ns);
        let dies = geometry.all_dies() as usize;
        Hardware {
            now_ns: 0,
            dies: vec![Die::default(); dies],
            channels: vec![channel; drive.channels as usize],
            link: Bandwidth::new(drive.link_mib_s, 0),
            read_4k_ns: drive.read_4k_ns.clone(),
            read_ns: drive.read_ns.clone(),
            program_ns: drive.program_ns,
            erase_ns: drive.erase_ns,
            chunk_bytes: drive.channel_chunk_bytes.into(),
            page_register: drive.extensions.page_register,
            suspend_program_ns: drive.extensions.suspend_program_ns,
            suspend_erase_ns: drive.extensions.suspend_erase_ns,
            counters: FlashCounters::new(dies),
        }
    }

    /// Idle again, at time 0. What was counted stays.
    pub fn rest(&mut self, drive: &FlashDrive, geometry: &Geometry) {
        let counters = std::mem::take(&mut self.counters);
        *self = Hardware::new(drive, geometry);
        self.counters = counters;
    }

    /// A die that has sensed a flash page need not sense it again for the next request, from now on.
    pub fn keep_sensed(&mut self) {
        self.page_register = true;
    }

    /// When the last die is free.
    pub fn all_free_ns(&self) -> u64 {
        self.dies.iter().map(|die| die.free_ns).max().unwrap_or(0)
    }

    /// The program unit of a page has been sent to its die, and is not on flash yet.
    pub fn is_programming(&mut self, geometry: &Geometry, physical: u32) -> bool {
        let now_ns = self.now_ns;
        let programs = &mut self.dies[geometry.die_of(physical) as usize].programs;
        while programs
            .front()
            .is_some_and(|&(_, done_ns)| done_ns <= now_ns)
        {
            programs.pop_front();
        }
        let unit = physical / geometry.unit;
        programs.iter().any(|&(sent, _)| sent == unit)
    }

    /// Senses pages of one flash page at the request of `at_ns`. Data for the host go over the link; others end in the
    /// controller.
    pub fn sense(&mut self, geometry: &Geometry, at_ns: u64, run: Run, to_host: bool) -> Operation {
        let die = geometry.die_of(run.first);
        let cell = Cell {
            flash_page: run.first / geometry.flash_page,
            kind: geometry.kind_of(run.first),
        };
        self.sense_cell(geometry, at_ns, die, cell, run.pages, to_host)
    }

    /// Reads a segment of the page map from its die.
    pub fn sense_map(&mut self, geometry: &Geometry, at_ns: u64, segment: u32) -> Operation {
        let die = segment % geometry.all_dies();
        let cell = Cell {
            flash_page: u32::MAX - segment,
            kind: (segment % geometry.kinds) as usize,
        };
        self.sense_cell(geometry, at_ns, die, cell, 1, false)
    }

    fn sense_cell(
        &mut self,
        geometry: &Geometry,
        at_ns: u64,
        number: u32,
        Cell { flash_page, kind }: Cell,
        pages: u32,
        to_host: bool,
    ) -> Operation {
        let number = number as usize;
        let die = &mut self.dies[number];
        let mut start_ns = at_ns.max(die.free_ns);
        let mut resumed_ns = 0;
        if let Some(last) = die.last
            && last.delay_ns > 0
            && (last.start_ns..die.free_ns).contains(&at_ns)
        {
            let suspended_ns = (at_ns + last.delay_ns).max(die.reading_ns);
            if suspended_ns < start_ns {
                (start_ns, resumed_ns) = (suspended_ns, die.free_ns);
            }
        }
        let cell_ns = if self.page_register && die.register == Some(flash_page) {
            self.counters.register_hits += 1;
            0
        } else if pages == 1 {
            self.read_4k_ns[kind]
        } else {
            self.read_ns[kind]
        };
        let sensed_ns = start_ns + cell_ns;
        let channel = &mut self.channels[geometry.channel_of[number] as usize];
        let mut left = u64::from(pages) * PAGE_BYTES;
        let (mut free_ns, mut done_ns) = (sensed_ns, sensed_ns);
        while left > 0 {
            let bytes = left.min(self.chunk_bytes);
            free_ns = channel.transfer(self.now_ns, free_ns, bytes);
            done_ns = if to_host {
                self.link.transfer(self.now_ns, free_ns, bytes)
            } else {
                free_ns
            };
            left -= bytes;
        }
        die.register = Some(flash_page);
        if resumed_ns > 0 {
            die.reading_ns = free_ns;
            die.free_ns = resumed_ns + (free_ns - start_ns);
        } else {
            die.free_ns = free_ns;
            die.last = None;
        }
        self.counters.senses += 1;
        self.counters.sensed_pages += u64::from(pages);
        self.counters
            .operation(number, start_ns - at_ns, free_ns - start_ns);
        Operation {
            done_ns,
            die_ns: start_ns - at_ns,
            cell_ns,
            channel_ns: free_ns - sensed_ns,
            link_ns: done_ns - free_ns,
        }
    }

    /// Programs the unit of a page.
    pub fn program(&mut self, geometry: &Geometry, at_ns: u64, physical: u32) -> Operation {
        let number = geometry.die_of(physical) as usize;
        let die = &mut self.dies[number];
        let start_ns = at_ns.max(die.free_ns);
        let bytes = u64::from(geometry.unit) * PAGE_BYTES;
        let channel = &mut self.channels[geometry.channel_of[number] as usize];
        let there_ns = channel.transfer(self.now_ns, start_ns, bytes);
        let done_ns = there_ns + self.program_ns;
        die.free_ns = done_ns;
        die.register = None;
        die.last = Some(Suspendable {
            start_ns: there_ns,
            delay_ns: self.suspend_program_ns,
        });
        let now_ns = self.now_ns;
        while die
            .programs
            .front()
            .is_some_and(|&(_, done_ns)| done_ns <= now_ns)
        {
            die.programs.pop_front();
        }
        die.programs.push_back((physical / geometry.unit, done_ns));
        self.counters
            .operation(number, start_ns - at_ns, done_ns - start_ns);
        Operation {
            done_ns,
            die_ns: start_ns - at_ns,
            cell_ns: self.program_ns,
            channel_ns: there_ns - start_ns,
            link_ns: 0,
        }
    }

    /// Erases a block of a die.
    pub fn erase(&mut self, at_ns: u64, number: u32) {
        let die = &mut self.dies[number as usize];
        let start_ns = at_ns.max(die.free_ns);
        die.free_ns = start_ns + self.erase_ns;
        die.register = None;
        die.last = Some(Suspendable {
            start_ns,
            delay_ns: self.suspend_erase_ns,
        });
        self.counters.erases += 1;
        self.counters
            .operation(number as usize, start_ns - at_ns, self.erase_ns);
    }
}
