//! What a microscope may look at: partial segments as they are written, segments as they are cleaned, counters.

use super::Lfs;
use super::geometry::SECTOR;
use super::segments::Partial;

/// Something that happened in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A partial segment was written.
    Partial(PartialReport),
    /// A segment was chosen to be cleaned.
    Cleaned(CleanedReport),
}

/// A partial segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialReport {
    /// Number, rising by 1.
    pub serial: u64,
    /// Segment.
    pub segment: u32,
    /// Sector of its summary.
    pub address: u32,
    /// Sectors, with the summary.
    pub sectors: u32,
    /// It contains a directory operation.
    pub directory_operation: bool,
    /// The directory operation goes on in the next partial segment.
    pub continued: bool,
    /// The cleaner wrote it.
    pub cleaning: bool,
    /// What it describes, in the order of addresses.
    pub parts: Vec<Part>,
}

/// Blocks of a file, or a block of inodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// An FINFO.
    File {
        /// Sector of its first block.
        address: u32,
        /// Inode number.
        ino: u32,
        /// Version of the inode number.
        version: u32,
        /// Bytes of the last block.
        last_bytes: u32,
        /// Blocks by name.
        lbns: Vec<i32>,
    },
    /// An inode block.
    Inodes {
        /// Its sector.
        address: u32,
        /// Inode numbers, in order.
        inos: Vec<u32>,
    },
}

impl Part {
    fn address(&self) -> u32 {
        match *self {
            Part::File { address, .. } | Part::Inodes { address, .. } => address,
        }
    }
}

/// A segment that the cleaner has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanedReport {
    /// Operations so far.
    pub operation: u64,
    /// The segment.
    pub segment: u32,
    /// Live bytes by the usage table.
    pub live: u32,
    /// Operations since the last write into it.
    pub age: u64,
    /// Live bytes found by asking for current addresses.
    pub live_found: u32,
    /// Blocks that are moved.
    pub blocks: u32,
    /// Inodes that are moved.
    pub inodes: u32,
}

/// What was transferred and cleaned since the counters were reset. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// All writes to the device.
    pub written_bytes: u64,
    /// The same, as transfers.
    pub writes: u64,
    /// Writes while cleaning.
    pub cleaner_written_bytes: u64,
    /// Segments cleaned.
    pub cleaned_segments: u64,
    /// Segments that the cleaner read: those with live bytes.
    pub read_segments: u64,
    /// Calls of the cleaner.
    pub cleaner_calls: u64,
    /// Of the segments cleaned, those that were in idle times.
    pub idle_cleaned_segments: u64,
    /// Live bytes of cleaned segments.
    pub cleaned_live_bytes: u64,
    /// Segments, and groups of them, that were ranked to choose those to clean.
    pub ranked_nodes: u64,
}

impl Lfs {
    /// The parameters it was made with.
    pub fn params(&self) -> &super::Params {
        &self.params
    }

    /// Sizes that do not change.
    pub fn sizes(&self) -> &super::Geometry {
        &self.geometry
    }

    /// Why the run has ended, if it has.
    pub fn ended(&self) -> Option<super::End> {
        self.ended
    }

    /// Bytes of a segment.
    pub fn segment_bytes(&self) -> u64 {
        u64::from(self.geometry.segment_sectors) * u64::from(SECTOR)
    }

    /// Everything goes to disk, between two operations.
    pub fn sync(&mut self) {
        self.checkpoint();
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.now
    }

    /// Clean and dirty segments.
    pub fn segment_counts(&self) -> (u32, u32) {
        (self.usage.clean(), self.geometry.nseg - self.usage.clean())
    }

    /// Sectors that hold nothing useful, and sectors that can be written now.
    pub fn free_sectors(&self) -> (i64, i64) {
        (self.bfree, self.avail())
    }

    /// Live bytes of all segments.
    pub fn live_bytes(&self) -> u64 {
        self.usage.iter().map(|s| u64::from(s.live)).sum()
    }

    /// What was transferred and cleaned since the last reset.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Resets the counters.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    /// Lists events from now on, the writing of the empty file system among them if nothing was done yet.
    pub fn record_events(&mut self) {
        self.events = Some(Vec::new());
        if self.serial == 1 {
            let first = self.logs[0].partials[0];
            self.report_partial_of(&first, 0);
        }
    }

    /// Events since the last time, while they are listed.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.events.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A partial segment was written.
    pub(super) fn report_partial(&mut self, partial: &Partial) {
        self.count_write(partial);
        self.report_partial_of(partial, self.current);
    }

    fn report_partial_of(&mut self, partial: &Partial, segment: u32) {
        let Some(events) = &mut self.events else {
            return;
        };
        let log = &self.logs[segment as usize];
        let mut parts: Vec<Part> = Vec::new();
        // The list of a segment goes on from partial to partial.
        let own =
            |address: u32| (partial.address..partial.address + partial.sectors).contains(&address);
        for (finfo, lbns) in log.files().filter(|(f, _)| own(f.address)) {
            parts.push(Part::File {
                address: finfo.address,
                ino: finfo.ino,
                version: finfo.version,
                last_bytes: finfo.last_bytes,
                lbns: lbns.to_vec(),
            });
        }
        for (block, inos) in log.inodes().filter(|(b, _)| own(b.address)) {
            parts.push(Part::Inodes {
                address: block.address,
                inos: inos.to_vec(),
            });
        }
        parts.sort_by_key(Part::address);
        events.push(Event::Partial(PartialReport {
            serial: partial.serial,
            segment,
            address: partial.address,
            sectors: partial.sectors,
            directory_operation: partial.flags & Partial::DIROP != 0,
            continued: partial.flags & Partial::CONT != 0,
            cleaning: partial.flags & Partial::CLEAN != 0,
            parts,
        }));
    }

    /// A transfer packs up to 64 KB of whole blocks, the summary with the first of them.
    fn count_write(&mut self, partial: &Partial) {
        let bytes = u64::from(partial.sectors) * u64::from(SECTOR);
        self.count_bytes(bytes, bytes.div_ceil(65536));
    }

    /// Bytes go to the device.
    pub(super) fn count_bytes(&mut self, bytes: u64, transfers: u64) {
        self.counters.written_bytes += bytes;
        self.counters.writes += transfers;
        if self.cleaning {
            self.counters.cleaner_written_bytes += bytes;
        }
    }
}
