//! A rotating disk: one function a request, no events inside.
//!
//! The disk is an arm at a cylinder, a head, and the time. After the command's overhead the arm moves, the disk waits
//! for the first sector, transfers to the end of the track, and goes on with the next one. Three details decide whether
//! sequential access comes out right: skews cover a head switch and the settling of a write; a read of what is only
//! about to be read ahead is a hit; and a write does not begin so early that a slow bus runs out of data. With a write
//! cache a write is complete when it is there, and goes to the media while nothing else is to do.

mod address_map;
mod buffer;
mod divisor;
mod seek;
mod spindle;
mod write_cache;

pub(crate) use address_map::AddressMap;
pub(crate) use seek::table as seek_table_ns;

use crate::counters::Counters;
use crate::device::{Access, Components, Device, Hit, Request, Service};
use crate::drive::Drive;
use address_map::Place;
use buffer::{OldSegments, Stream};
use spindle::{REVOLUTION, Spindle, Track};
use write_cache::WriteCache;

/// Millionths, in which shares are counted.
const MILLION: u64 = 1_000_000;

/// Where the arm is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Arm {
    cylinder: u32,
    head: u32,
}

/// The times and shares of a drive as integers.
#[derive(Clone, Debug)]
struct Timing {
    head_switch_ns: u64,
    write_settle_ns: i64,
    read_hit_ns: u64,
    read_miss_ns: u64,
    write_ns: u64,
    /// Picoseconds a sector.
    read_bus_ps: u64,
    write_bus_ps: u64,
    /// Millionths of a request.
    write_gate: u64,
    write_watermark: u64,
    read_watermark: u64,
}

/// A drive at work.
#[derive(Clone, Debug)]
pub struct RotatingDisk {
    map: AddressMap,
    spindle: Spindle,
    /// Nanoseconds of a move by distance.
    seek_ns: Vec<u32>,
    timing: Timing,
    segment_sectors: u64,
    zero_latency_read: bool,
    zero_latency_write: bool,
    arm: Arm,
    stream: Option<Stream>,
    old: OldSegments,
    /// The sector behind the last write.
    last_write_end: u64,
    cache: WriteCache,
    /// When the media are through with what the write cache had for them.
    media_ns: u64,
    /// When the last request was complete.
    free_ns: u64,
    counters: Counters,
}

/// A transfer on its way through the tracks: what it took, and when the bus is through with it.
#[derive(Clone, Copy, Debug, Default)]
struct Transfer {
    /// Waiting for the write cache: for room in it, or for the media that it writes to.
    waited_ns: u64,
    /// Nothing before this time counts: a read-ahead may have begun earlier.
    counted_from_ns: u64,
    now_ns: u64,
    seek_ns: u64,
    rotation_ns: u64,
    media_ns: u64,
    seeks: u32,
    seek_cylinders: u32,
    /// When the bus has sent all sectors so far.
    bus_ns: u64,
    /// When so many more sectors are in the buffer, the bus may start.
    watermark_sectors: u32,
    watermark_ns: u64,
}

impl Transfer {
    /// The time from now to `until` goes to one component.
    #[inline]
    fn pass(&mut self, until_ns: u64, component: fn(&mut Transfer) -> &mut u64) {
        let counted = until_ns.saturating_sub(self.now_ns.max(self.counted_from_ns));
        *component(self) += counted;
        self.now_ns = until_ns;
    }
}

impl RotatingDisk {
    /// A disk at rest: arm at cylinder 0, head 0, angle 0, an empty buffer.
    pub fn new(drive: &Drive) -> RotatingDisk {
        let map = AddressMap::new(drive);
        let buffer = drive.buffer;
        let spindle = Spindle::new(drive.rpm);
        RotatingDisk {
            timing: Timing::new(drive, map.outer_track()),
            seek_ns: seek::table(&drive.seek, drive.cylinders),
            segment_sectors: u64::from(buffer.segment_sectors),
            zero_latency_read: buffer.zero_latency_read,
            zero_latency_write: buffer.zero_latency_write,
            arm: Arm::default(),
            stream: None,
            old: OldSegments::new(buffer.read_segments() as usize - 1),
            last_write_end: u64::MAX,
            cache: WriteCache::new(buffer.write_cache_sectors.into()),
            media_ns: 0,
            free_ns: 0,
            counters: Counters::default(),
            map,
            spindle,
        }
    }

    /// The same disk, turned at time 0: `share` of a revolution, in 2^32nds. Benchmarks repeat their runs from angles
    /// drawn at random.
    #[must_use]
    pub fn turned(mut self, share: u32) -> RotatingDisk {
        let angle = (u128::from(share) * u128::from(REVOLUTION)) >> 32;
        self.spindle.set_start(angle as u64);
        self
    }

    /// Time of an arm move over so many cylinders, in nanoseconds. There are no longer moves than over the whole disk.
    pub fn seek_ns(&self, cylinders: u32) -> u64 {
        let distance = (cylinders as usize).min(self.seek_ns.len() - 1);
        u64::from(self.seek_ns[distance])
    }

    /// Time of a move to a place.
    #[inline]
    fn move_ns(&self, to: Place, access: Access) -> u64 {
        let distance = self.arm.cylinder.abs_diff(to.cylinder);
        let mut move_ns = u64::from(self.seek_ns[distance as usize]);
        if to.head != self.arm.head {
            move_ns = move_ns.max(self.timing.head_switch_ns);
        }
        if move_ns > 0 && access == Access::Write {
            move_ns = move_ns.saturating_add_signed(self.timing.write_settle_ns);
        }
        move_ns
    }

    /// Moves the arm to a place, and counts the move.
    #[inline]
    fn go(&mut self, to: Place, access: Access, transfer: &mut Transfer) {
        let until = transfer.now_ns + self.move_ns(to, access);
        transfer.pass(until, |t| &mut t.seek_ns);
        let distance = self.arm.cylinder.abs_diff(to.cylinder);
        transfer.seeks += u32::from(distance > 0);
        transfer.seek_cylinders += distance;
        self.arm = to.arm();
    }

    /// Reads or writes sectors from the transfer's present time on, track by track. A write does not begin before
    /// `gate_ns`.
    fn transfer(
        &mut self,
        transfer: &mut Transfer,
        access: Access,
        lba: u64,
        sectors: u32,
        gate_ns: u64,
    ) {
        let zero_latency = if access == Access::Write {
            self.zero_latency_write
        } else {
            self.zero_latency_read
        };
        let mut lba = lba;
        let mut left = sectors;
        // What waiting for the gate takes is the bus's.
        let mut gate_ns = gate_ns;
        while left > 0 {
            let place = self.map.locate(lba);
            self.go(place, access, transfer);
            transfer.now_ns = transfer.now_ns.max(gate_ns);
            gate_ns = 0;
            let sectors = left.min(place.run);
            if zero_latency {
                self.any_order(transfer, place, sectors);
            } else {
                self.in_order(transfer, place, sectors);
            }
            lba += u64::from(sectors);
            left -= sectors;
        }
    }

    /// Sectors of one track, from the first.
    #[inline]
    fn in_order(&self, transfer: &mut Transfer, place: Place, sectors: u32) {
        let wait = self
            .spindle
            .wait_ns(transfer.now_ns, place.track, place.position);
        let start = transfer.now_ns + wait;
        transfer.pass(start, |t| &mut t.rotation_ns);
        let end = start + place.track.sectors_ns(sectors);
        transfer.pass(end, |t| &mut t.media_ns);
        self.send(transfer, place.track, sectors, start, end);
    }

    /// Sectors of one track, from whichever comes next.
    fn any_order(&self, transfer: &mut Transfer, place: Place, sectors: u32) {
        let track = place.track;
        let per_track = track.sectors;
        let (next, wait) = self.spindle.next_sector(transfer.now_ns, track);
        let skipped = (next + per_track - place.position) % per_track;
        if skipped == 0 || skipped >= sectors {
            return self.in_order(transfer, place, sectors);
        }
        // The head is inside: the rest first, then the sectors that it missed, one revolution in all.
        let begin = transfer.now_ns + wait;
        let first_comes = begin + track.sectors_ns(per_track - skipped);
        transfer.pass(begin, |t| &mut t.rotation_ns);
        let rest_read = begin + track.sectors_ns(sectors - skipped);
        transfer.pass(rest_read, |t| &mut t.media_ns);
        transfer.pass(first_comes, |t| &mut t.rotation_ns);
        let end = begin + track.sectors_ns(per_track);
        transfer.pass(end, |t| &mut t.media_ns);
        self.send(transfer, track, sectors, first_comes, end);
    }

    /// The bus sends sectors of a track, of which the first was there at `start_ns` and the last at `end_ns`: each
    /// when it is in the buffer, and after the ones before it.
    #[inline]
    fn send(
        &self,
        transfer: &mut Transfer,
        track: Track,
        sectors: u32,
        start_ns: u64,
        end_ns: u64,
    ) {
        let first_there = start_ns + track.sectors_ns(1);
        let from_first = transfer.bus_ns.max(first_there) + self.timing.read_bus_ns(sectors);
        transfer.bus_ns = from_first.max(end_ns + self.timing.read_bus_ns(1));
        let marked = transfer.watermark_sectors;
        if marked > 0 && marked <= sectors {
            transfer.watermark_ns = start_ns + track.sectors_ns(marked);
        }
        transfer.watermark_sectors = marked.saturating_sub(sectors);
    }

    fn read(&mut self, issue_ns: u64, request: Request) -> (Transfer, u64, u64, Hit) {
        let (lba, sectors) = (request.lba, request.sectors);
        // A hit is what is there when the command comes; the disk catches up with its own work only now.
        let in_stream = self.stream.is_some_and(|stream| stream.has(lba));
        self.idle(issue_ns);
        let in_old = self.old.position(lba, request.end());
        let in_cache = self.cache.has(lba, request.end());
        let overhead_ns = if in_stream || in_old.is_some() || in_cache {
            self.timing.read_hit_ns
        } else {
            self.timing.read_miss_ns
        };
        let ready_ns = issue_ns + overhead_ns;
        let (transfer, done_ns, hit) = if in_cache {
            let done_ns = ready_ns + self.timing.read_bus_ns(sectors);
            (Transfer::default(), done_ns, Hit::Old)
        } else if self.stream.is_some_and(|stream| stream.has(lba)) {
            self.read_ahead(ready_ns);
            self.read_from_stream(ready_ns, lba, sectors)
        } else if let Some(segment) = in_old {
            self.old.use_again(segment);
            let done_ns = ready_ns + self.timing.read_bus_ns(sectors);
            (Transfer::default(), done_ns, Hit::Old)
        } else {
            let (transfer, done_ns) = self.read_from_media(ready_ns, lba, sectors);
            (transfer, done_ns, Hit::No)
        };
        (transfer, overhead_ns, done_ns, hit)
    }

    /// A miss: all sectors from the media; then the disk reads ahead.
    fn read_from_media(&mut self, ready_ns: u64, lba: u64, sectors: u32) -> (Transfer, u64) {
        let free_ns = self.stop_read_ahead(ready_ns);
        let settled_ns = self.settle(free_ns, lba, lba + u64::from(sectors), true);
        let mut transfer = Transfer {
            now_ns: settled_ns,
            waited_ns: settled_ns - free_ns,
            watermark_sectors: share_of(sectors, self.timing.read_watermark),
            ..Transfer::default()
        };
        self.transfer(&mut transfer, Access::Read, lba, sectors, 0);
        let marked = transfer.watermark_ns + self.timing.read_bus_ns(sectors);
        let next = lba + u64::from(sectors);
        self.stream = Some(Stream {
            lo: lba,
            next,
            limit: self.limit_after(lba, next),
            time_ns: transfer.now_ns,
        });
        let done_ns = if self.timing.read_watermark > 0 {
            transfer.bus_ns.max(marked)
        } else {
            transfer.bus_ns
        };
        (transfer, done_ns)
    }

    /// How far the disk reads ahead after a read of `lba..end`: to the end of the segment that begins with the read. A
    /// read that needs all of the segment leaves it empty, since its sectors make room as they go over the bus.
    fn limit_after(&self, lba: u64, end: u64) -> u64 {
        let begin = if end - lba < self.segment_sectors {
            lba
        } else {
            end
        };
        self.map.sectors().min(begin + self.segment_sectors)
    }

    /// A hit: what is in the buffer goes over the bus, while the media go on with the rest.
    fn read_from_stream(&mut self, ready_ns: u64, lba: u64, sectors: u32) -> (Transfer, u64, Hit) {
        let mut stream = self.stream.expect("a hit has a stream");
        if stream.next == stream.limit {
            // The read-ahead had stopped; this read is what sets it going again.
            stream.time_ns = stream.time_ns.max(ready_ns);
        }
        let end = lba + u64::from(sectors);
        let mut transfer = Transfer {
            counted_from_ns: ready_ns,
            now_ns: stream.time_ns,
            ..Transfer::default()
        };
        let all_sent_ns = ready_ns + self.timing.read_bus_ns(sectors);
        let (done_ns, hit) = if end <= stream.next {
            (all_sent_ns, Hit::Full)
        } else {
            let buffered = (stream.next - lba) as u32;
            transfer.bus_ns = ready_ns + self.timing.read_bus_ns(buffered);
            let rest = sectors - buffered;
            self.transfer(&mut transfer, Access::Read, stream.next, rest, 0);
            stream.next = end;
            stream.time_ns = transfer.now_ns;
            (transfer.bus_ns.max(all_sent_ns), Hit::Part)
        };
        stream.limit = stream.limit.max(self.limit_after(lba, end));
        stream.lo = stream
            .lo
            .max(stream.next.saturating_sub(self.segment_sectors));
        self.stream = Some(stream);
        (transfer, done_ns, hit)
    }

    fn write(&mut self, issue_ns: u64, request: Request) -> (Transfer, u64, u64) {
        let overhead_ns = self.timing.write_ns;
        let ready_ns = issue_ns + overhead_ns;
        self.idle(issue_ns);
        if self.cache.takes(request.sectors.into()) && !request.fua {
            let (room_ns, done_ns) = self.admit(ready_ns, request.lba, request.end());
            let waited = Transfer {
                waited_ns: room_ns - ready_ns,
                ..Transfer::default()
            };
            return (waited, overhead_ns, done_ns);
        }
        let free_ns = self.stop_read_ahead(ready_ns);
        let settled_ns = self.settle(free_ns, request.lba, request.end(), false);
        let mut transfer = Transfer {
            now_ns: settled_ns,
            waited_ns: settled_ns - free_ns,
            ..Transfer::default()
        };
        self.old.overwrite(request.lba, request.end());
        let goes_on = request.lba == self.last_write_end;
        let watermark = if goes_on {
            0
        } else {
            self.timing.write_watermark
        };
        let gate = share_of(request.sectors, self.timing.write_gate.max(watermark));
        let gate_ns = ready_ns + self.timing.write_bus_ns(gate);
        self.transfer(
            &mut transfer,
            Access::Write,
            request.lba,
            request.sectors,
            gate_ns,
        );
        self.last_write_end = request.end();
        (transfer, overhead_ns, transfer.now_ns)
    }
}

/// A share of some sectors, rounded up.
fn share_of(sectors: u32, millionths: u64) -> u32 {
    (u64::from(sectors) * millionths).div_ceil(MILLION) as u32
}

impl Place {
    fn arm(self) -> Arm {
        Arm {
            cylinder: self.cylinder,
            head: self.head,
        }
    }
}

impl Timing {
    fn new(drive: &Drive, outer_track: u32) -> Timing {
        let ns = |ms: f64| seek::ns(ms).max(0) as u64;
        let share = |share: f64| (share * MILLION as f64).round() as u64;
        let (bus, buffer) = (drive.bus, drive.buffer);
        // So much must be there that a bus slower than the media stays ahead of them.
        let sector_ms = drive.revolution_ms() / f64::from(outer_track);
        let needed = 1.0 - sector_ms / bus.write_ms_per_sector;
        let needed = if needed > 0.0 { needed + 0.05 } else { 0.0 };
        Timing {
            head_switch_ns: ns(drive.head_switch_ms),
            write_settle_ns: seek::ns(drive.write_settle_ms),
            read_hit_ns: ns(drive.overhead_ms.read_hit),
            read_miss_ns: ns(drive.overhead_ms.read_miss),
            write_ns: ns(drive.overhead_ms.write),
            read_bus_ps: (bus.read_ms_per_sector * 1e9).round() as u64,
            write_bus_ps: (bus.write_ms_per_sector * 1e9).round() as u64,
            write_gate: share(bus.write_gate.unwrap_or(needed).min(1.0)),
            write_watermark: share(buffer.write_watermark),
            read_watermark: share(buffer.read_watermark),
        }
    }

    #[inline]
    fn read_bus_ns(&self, sectors: u32) -> u64 {
        u64::from(sectors) * self.read_bus_ps / 1000
    }

    #[inline]
    fn write_bus_ns(&self, sectors: u32) -> u64 {
        u64::from(sectors) * self.write_bus_ps / 1000
    }
}

impl Device for RotatingDisk {
    fn sectors(&self) -> u64 {
        self.map.sectors()
    }

    fn submit(&mut self, at_ns: u64, request: Request) -> Service {
        assert!(self.takes(request), "a request on the disk: {request:?}");
        let start_ns = at_ns.max(self.free_ns);
        let (transfer, overhead_ns, done_ns, hit) = match request.access {
            Access::Read => self.read(start_ns, request),
            Access::Write => {
                let (transfer, overhead_ns, done_ns) = self.write(start_ns, request);
                (transfer, overhead_ns, done_ns, Hit::No)
            }
            Access::Flush => {
                let done_ns = self.flush(start_ns);
                let transfer = Transfer {
                    waited_ns: done_ns - start_ns,
                    ..Transfer::default()
                };
                (transfer, 0, done_ns, Hit::No)
            }
            // It means nothing to a disk.
            Access::Trim => (Transfer::default(), 0, start_ns, Hit::No),
        };
        let waited_ns = transfer.waited_ns;
        let named =
            overhead_ns + waited_ns + transfer.seek_ns + transfer.rotation_ns + transfer.media_ns;
        let service = Service {
            issue_ns: at_ns,
            done_ns,
            components: Components {
                queue_ns: start_ns - at_ns + waited_ns,
                overhead_ns,
                seek_ns: transfer.seek_ns,
                rotation_ns: transfer.rotation_ns,
                media_ns: transfer.media_ns,
                bus_ns: done_ns - start_ns - named,
                ..Components::default()
            },
            hit,
            seeks: transfer.seeks,
            seek_cylinders: transfer.seek_cylinders,
        };
        self.free_ns = done_ns;
        self.counters.add(request, &service);
        service
    }

    fn cylinder_of(&self, lba: u64) -> u32 {
        self.map.locate(lba.min(self.map.sectors() - 1)).cylinder
    }

    fn positioning_ns(&self, at_ns: u64, request: Request) -> u64 {
        let place = self.map.locate(request.lba.min(self.map.sectors() - 1));
        let move_ns = self.move_ns(place, request.access);
        let there_ns = at_ns + move_ns;
        move_ns + self.spindle.wait_ns(there_ns, place.track, place.position)
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}
