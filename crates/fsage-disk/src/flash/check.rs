//! What a flash device must be. A violation names the key, with the table that it stands in, and what was expected.

use super::bandwidth::capacity_of;
use super::drive::{FlashDrive, PAGE_BYTES};

/// Key and message.
type Wrong = (String, String);

fn wrong(key: &str, message: impl Into<String>) -> Result<(), Wrong> {
    Err((key.to_owned(), message.into()))
}

fn within(key: &str, value: u64, low: u64, high: u64) -> Result<(), Wrong> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    wrong(key, format!("expected {low} to {high}, found {value}"))
}

impl FlashDrive {
    /// Key and message of the first thing that cannot be.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        for (key, text) in [("name", &self.name), ("used_in", &self.used_in)] {
            if text.lines().count() != 1 {
                return wrong(key, "expected one line");
            }
        }
        self.check_dies()?;
        self.check_times()?;
        self.check_bytes()?;
        self.check_room()
    }

    fn check_dies(&self) -> Result<(), Wrong> {
        let extensions = &self.extensions;
        within("physical_bytes", self.physical_bytes, 1 << 20, 1 << 43)?;
        within("channels", self.channels.into(), 1, 64)?;
        within("dies_per_channel", self.dies_per_channel.into(), 1, 64)?;
        within(
            "partitions",
            self.partitions.into(),
            1,
            self.channels.into(),
        )?;
        if !self.channels.is_multiple_of(self.partitions) {
            let message = format!("expected a divisor of the {} channels", self.channels);
            return wrong("partitions", message);
        }
        if self.die_affinity && self.partitions > 1 {
            return wrong("die_affinity", "expected one partition");
        }
        let planes = extensions.independent_planes;
        within("extensions.independent_planes", planes.into(), 1, 8)?;
        let pages = self.flash_page_bytes / PAGE_BYTES as u32;
        if planes > 1 && pages > 0 && !pages.is_multiple_of(planes) {
            let message = format!(
                "expected a divisor of the {pages} pages of 4 KB of a flash page, found {planes}"
            );
            return wrong("extensions.independent_planes", message);
        }
        for (key, bytes, part) in [
            (
                "flash_page_bytes",
                self.flash_page_bytes,
                planes * PAGE_BYTES as u32,
            ),
            ("program_bytes", self.program_bytes, self.flash_page_bytes),
        ] {
            if bytes == 0 || !bytes.is_multiple_of(part) || bytes > 1 << 24 {
                let message =
                    format!("expected a multiple of {part}, at most 16777216; found {bytes}");
                return wrong(key, message);
            }
        }
        let deal = extensions.deal_bytes;
        let unit = self.program_bytes / planes;
        if deal > 0 && !(deal.is_multiple_of(PAGE_BYTES as u32) && unit.is_multiple_of(deal)) {
            let message = format!("expected a multiple of 4096 that divides {unit}, found {deal}");
            return wrong("extensions.deal_bytes", message);
        }
        if deal > 0 && self.die_affinity {
            return wrong("extensions.deal_bytes", "expected 0 with die affinity");
        }
        within("blocks_per_die", self.blocks_per_die.into(), 8, 1 << 20)
    }

    fn check_times(&self) -> Result<(), Wrong> {
        within("read_ns", self.read_ns.len() as u64, 1, 16)?;
        if self.read_4k_ns.len() != self.read_ns.len() {
            return wrong("read_4k_ns", "expected as many kinds as in read_ns");
        }
        let extensions = &self.extensions;
        let longest = |times: &[u64]| times.iter().max().copied().unwrap_or(0);
        let times = [
            ("read_4k_ns", longest(&self.read_4k_ns)),
            ("read_ns", longest(&self.read_ns)),
            ("program_ns", self.program_ns),
            ("erase_ns", self.erase_ns),
            ("channel_extra_ns_per_4k", self.channel_extra_ns_per_4k),
            ("overhead_4k_read_ns", self.overhead_4k_read_ns),
            ("overhead_read_ns", self.overhead_read_ns),
            ("buffer_fixed_ns", self.buffer_fixed_ns),
            ("buffer_per_4k_ns", self.buffer_per_4k_ns),
            ("extensions.command_read_ns", extensions.command_read_ns),
            ("extensions.command_write_ns", extensions.command_write_ns),
            (
                "extensions.suspend_program_ns",
                extensions.suspend_program_ns,
            ),
            ("extensions.suspend_erase_ns", extensions.suspend_erase_ns),
            ("extensions.flush_ns", extensions.flush_ns),
            ("extensions.trim_ns", extensions.trim_ns),
            ("extensions.trim_ns_per_mb", extensions.trim_ns_per_mb),
        ];
        for (key, ns) in times {
            within(key, ns, 0, 1_000_000_000)?;
        }
        let longest_idle = 1_000_000_000_000;
        within(
            "extensions.gc_idle_ns",
            extensions.gc_idle_ns,
            0,
            longest_idle,
        )?;
        if extensions.gc_idle_ns > 0 && extensions.gc_idle_free_superblocks == 0 {
            let message =
                "expected gc_idle_free_superblocks beside it: with 0 nothing is collected";
            return wrong("extensions.gc_idle_ns", message);
        }
        let candidates = extensions.gc_candidates.into();
        within("extensions.gc_candidates", candidates, 0, 1024)?;
        let enough = extensions.gc_idle_free_superblocks.into();
        let key = "extensions.gc_idle_free_superblocks";
        within(key, enough, 0, self.blocks_per_die.into())
    }

    fn check_bytes(&self) -> Result<(), Wrong> {
        let extensions = &self.extensions;
        for (key, mib_s) in [
            ("channel_mib_s", self.channel_mib_s),
            ("link_mib_s", self.link_mib_s),
        ] {
            // A slot has at least one unit and at most 255.
            if !(1..=255).contains(&capacity_of(mib_s)) {
                return wrong(key, format!("expected 31 to 7812, found {mib_s}"));
            }
        }
        within(
            "channel_chunk_bytes",
            self.channel_chunk_bytes.into(),
            PAGE_BYTES,
            1 << 24,
        )?;
        within("buffer_bytes", self.buffer_bytes, PAGE_BYTES, 1 << 32)?;
        within("queue_depth", self.queue_depth.into(), 1, 65_536)?;
        let transfer = u64::from(self.max_transfer_bytes);
        within("max_transfer_bytes", transfer, 8 * PAGE_BYTES, 1 << 24)?;
        if self.longest_bytes() < 8 * PAGE_BYTES {
            return wrong(
                "buffer_bytes",
                "expected room for 40 KB beside program units that are not full",
            );
        }
        if extensions.flush_pads && extensions.flush_ns > 0 {
            return wrong(
                "extensions.flush_ns",
                "expected 0 where a flush pads: only one of the two can be",
            );
        }
        within(
            "extensions.read_ahead_bytes",
            extensions.read_ahead_bytes.into(),
            0,
            1 << 24,
        )?;
        if !extensions
            .read_ahead_bytes
            .is_multiple_of(PAGE_BYTES as u32)
        {
            let message = format!(
                "expected a multiple of 4096, found {}",
                extensions.read_ahead_bytes
            );
            return wrong("extensions.read_ahead_bytes", message);
        }
        Ok(())
    }

    /// The map never runs out of free superblocks.
    fn check_room(&self) -> Result<(), Wrong> {
        let sectors = self.sectors();
        if sectors < 8 || !sectors.is_multiple_of(8) {
            let message = format!("expected a multiple of 8, found {sectors}");
            return wrong("logical_sectors", message);
        }
        let superblocks = u64::from(self.blocks_per_die);
        let block = self.units_per_block() * (self.unit_bytes() / PAGE_BYTES);
        if block * superblocks * self.dies() >= u64::from(u32::MAX) {
            return wrong("physical_bytes", "expected less than 16 TB of pages");
        }
        let superblock = block * PAGE_BYTES * self.dies();
        let shown = sectors * 512;
        if shown < superblock {
            let message = format!(
                "expected a superblock at least, a block of each of the {} dies, which is {superblock} bytes; \
                 {shown} are shown",
                self.dies()
            );
            return wrong("physical_bytes", message);
        }
        // Two superblocks are open, and what collection leaves free must last until it is called again.
        let kept = 2 + u64::from(self.gc_free_superblocks);
        let room = superblocks.saturating_sub(kept) * block * self.dies();
        let room = room.saturating_sub(self.dies()) * 8;
        if self.gc_free_superblocks < 2 || sectors > room {
            let message = format!(
                "expected at least 2, and room for {sectors} sectors beside so many superblocks and two open ones; \
                 there is room for {room}"
            );
            return wrong("gc_free_superblocks", message);
        }
        Ok(())
    }
}
