//! What the flash of a device did. docs/spec/flash.md, section 15.

use serde::Serialize;

/// Sums over the operations of all dies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlashCounters {
    /// Flash pages sensed, for the host and for collection.
    pub senses: u64,
    /// Pages of 4 KB that were wanted of these.
    pub sensed_pages: u64,
    /// Senses that found their flash page in the page register.
    pub register_hits: u64,
    /// Pages read from the write buffer.
    pub buffer_hit_pages: u64,
    /// Program units of the host's pages.
    pub host_programs: u64,
    /// Program units of collected pages.
    pub collected_programs: u64,
    /// Dead pages with which units were filled so that they could be programmed.
    pub padded_pages: u64,
    /// Block erases.
    pub erases: u64,
    /// Superblocks collected.
    pub collections: u64,
    /// Valid pages that collection moved.
    pub collected_pages: u64,
    /// Pages that the host wrote.
    pub written_pages: u64,
    /// Pages that the host trimmed and that were mapped.
    pub trimmed_pages: u64,
    /// Writes that waited for room in the buffer.
    pub blocked_writes: u64,
    /// Segments of the map that had to be read.
    pub map_misses: u64,
    /// Operations.
    pub operations: u64,
    /// Operations that waited for their die: collisions.
    pub collisions: u64,
    /// How long these waited, in nanoseconds.
    pub collision_ns: u64,
    /// How long each die was busy, in nanoseconds.
    pub busy_ns: Vec<u64>,
}

impl FlashCounters {
    pub(super) fn new(dies: usize) -> FlashCounters {
        FlashCounters {
            busy_ns: vec![0; dies],
            ..FlashCounters::default()
        }
    }

    pub(super) fn operation(&mut self, die: usize, waited_ns: u64, busy_ns: u64) {
        self.operations += 1;
        self.collisions += u64::from(waited_ns > 0);
        self.collision_ns += waited_ns;
        self.busy_ns[die] += busy_ns;
    }

    /// Pages programmed for each page that the host wrote. `None` if it wrote nothing.
    pub fn write_amplification(&self) -> Option<f64> {
        let all = self.written_pages + self.collected_pages + self.padded_pages;
        (self.written_pages > 0).then(|| all as f64 / self.written_pages as f64)
    }
}
