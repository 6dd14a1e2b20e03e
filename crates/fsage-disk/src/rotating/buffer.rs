//! The buffer of a drive: the stream that is read ahead, and what older segments still hold.

use super::RotatingDisk;
use crate::device::Access;

/// The active segment: sectors `lo..next` are in it, and the idle disk goes on to `limit`.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    pub lo: u64,
    pub next: u64,
    pub limit: u64,
    /// When the sector before `next` was read.
    pub time_ns: u64,
}

impl Stream {
    /// Whether a read of this sector is a hit. The next sector is one too: it is about to be read.
    pub fn has(&self, lba: u64) -> bool {
        (self.lo..=self.next).contains(&lba)
    }
}

/// Segments whose stream was left; the one used last is the last of the list.
#[derive(Clone, Debug)]
pub struct OldSegments {
    segments: Vec<(u64, u64)>,
    room: usize,
}

impl OldSegments {
    pub fn new(room: usize) -> OldSegments {
        OldSegments {
            segments: Vec::with_capacity(room),
            room,
        }
    }

    /// The segment that holds all of `lba..end`.
    pub fn position(&self, lba: u64, end: u64) -> Option<usize> {
        self.segments
            .iter()
            .position(|&(lo, next)| lo <= lba && end <= next)
    }

    /// Makes a segment the one used last.
    pub fn use_again(&mut self, position: usize) {
        self.segments[position..].rotate_left(1);
    }

    /// Keeps what a stream leaves behind, in the place of the segment not used for the longest time.
    pub fn keep(&mut self, lo: u64, next: u64) {
        if self.room == 0 || lo >= next {
            return;
        }
        if self.segments.len() == self.room {
            self.segments[0] = (lo, next);
            self.segments.rotate_left(1);
        } else {
            self.segments.push((lo, next));
        }
    }

    /// A write makes what it overlaps invalid; the longer of the two rests stays.
    pub fn overwrite(&mut self, lba: u64, end: u64) {
        for segment in &mut self.segments {
            let (lo, next) = *segment;
            if lba < next && lo < end {
                let before = (lo, lba.max(lo));
                let after = (end.min(next), next);
                let longer = before.1 - before.0 >= after.1 - after.0;
                *segment = if longer { before } else { after };
            }
        }
        self.segments.retain(|&(lo, next)| lo < next);
    }
}

impl RotatingDisk {
    /// Lets the idle disk read ahead until `until_ns`: whole sectors; the arm follows.
    pub(super) fn read_ahead(&mut self, until_ns: u64) {
        let Some(mut stream) = self.stream else {
            return;
        };
        while stream.next < stream.limit {
            let place = self.map.locate(stream.next);
            let move_ns = self.move_ns(place, Access::Read);
            if move_ns > 0 && stream.time_ns >= until_ns {
                break;
            }
            let there_ns = stream.time_ns + move_ns;
            let wait_ns = self.spindle.wait_ns(there_ns, place.track, place.position);
            let start_ns = there_ns + wait_ns;
            if start_ns + place.track.sectors_ns(1) > until_ns {
                if move_ns > 0 {
                    self.arm = place.arm();
                    stream.time_ns = there_ns;
                }
                break;
            }
            self.arm = place.arm();
            let wanted = (stream.limit - stream.next).min(u64::from(place.run)) as u32;
            let wanted_ns = place.track.sectors_ns(wanted);
            if start_ns + wanted_ns > until_ns {
                let time_ns = until_ns - start_ns;
                let read = place.track.whole_sectors(time_ns);
                stream.next += u64::from(read);
                stream.time_ns = start_ns + place.track.sectors_ns(read);
                break;
            }
            stream.next += u64::from(wanted);
            stream.time_ns = start_ns + wanted_ns;
        }
        self.stream = Some(stream);
    }

    /// Ends the read-ahead where it is, and gives the time from which the disk is free to move: not before `ready_ns`,
    /// and not before the end of the sector in progress.
    pub(super) fn stop_read_ahead(&mut self, ready_ns: u64) -> u64 {
        let Some(stream) = self.stream.take() else {
            return ready_ns;
        };
        let held = stream.next.saturating_sub(self.segment_sectors);
        self.old.keep(stream.lo.max(held), stream.next);
        if stream.next >= stream.limit {
            return ready_ns;
        }
        let place = self.map.locate(stream.next);
        let there_ns = stream.time_ns + self.move_ns(place, Access::Read);
        let wait_ns = self.spindle.wait_ns(there_ns, place.track, place.position);
        self.arm = place.arm();
        let read_ns = there_ns + wait_ns + place.track.sectors_ns(1);
        ready_ns.max(read_ns)
    }
}
