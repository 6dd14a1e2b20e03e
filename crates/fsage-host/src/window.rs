//! Reading ahead in windows, as Linux does: `ondemand_readahead` in `mm/readahead.c`.
//!
//! A read of the start of a file, or of the block behind the last one, opens a window that is longer than what was
//! asked for. When the first block is read that nobody had asked for, the next window is started, twice or four times
//! as long, and nobody waits for it. Any other read is as long as it was asked for.

use crate::cache::Window;
use crate::host::Host;
use crate::read::{Reading, Run};
use fsage_core::BufferId;
use fsage_disk::Device;

impl<D: Device> Host<D> {
    /// A block, the first of `wanted` that the call wants.
    pub(crate) fn windowed_read(&mut self, reading: Reading, lbn: u32, wanted: u32) -> Option<u32> {
        let ino = reading.ino;
        if let Some(slot) = self.cache.find(BufferId::Data { ino, lbn }) {
            self.follow(reading, lbn);
            return Some(self.hit(slot));
        }
        let map = (reading.blocks)(lbn);
        map.buffer?;
        self.counters.misses += 1;
        let most = self.longest_window();
        let file = self.cache.file(reading.file);
        let sequential = lbn == 0 || lbn == file.last_read || lbn == file.last_read + 1;
        let wanted = wanted.min(most);
        let blocks = if sequential {
            first_window(wanted, most)
        } else {
            wanted
        };
        let ahead = match (sequential, blocks > wanted) {
            (false, _) => 0,
            (true, true) => blocks - wanted,
            (true, false) => blocks,
        };
        file.ahead = Window {
            first: lbn,
            blocks,
            ahead,
        };
        self.start_window(reading, lbn, blocks, Some(lbn));
        self.follow(reading, lbn);
        let slot = self.cache.find(BufferId::Data { ino, lbn })?;
        self.ready(slot);
        self.cache.take(slot);
        Some(slot)
    }

    /// Starts the next window if this block is the mark of the last one.
    fn follow(&mut self, reading: Reading, lbn: u32) {
        let most = self.longest_window();
        let window = &mut self.cache.file(reading.file).ahead;
        if window.ahead == 0 || lbn != window.first + window.blocks - window.ahead {
            return;
        }
        let blocks = next_window(window.blocks, most);
        *window = Window {
            first: window.first + window.blocks,
            blocks,
            ahead: blocks,
        };
        let first = window.first;
        self.start_window(reading, first, blocks, None);
    }

    /// Starts to read those blocks of a window that are not in the cache, as long runs as may be in one request. The
    /// process waits for the block that it has asked for.
    fn start_window(&mut self, reading: Reading, first: u32, blocks: u32, asked: Option<u32>) {
        let most = (self.params.max_transfer_bytes / self.block_bytes).max(1);
        let end = first.saturating_add(blocks);
        let mut lbn = first;
        // The block in which the file ends is read when it is asked for.
        while lbn < end && (asked == Some(lbn) || self.ends_inside(reading, lbn)) {
            let map = (reading.blocks)(lbn);
            let id = BufferId::Data {
                ino: reading.ino,
                lbn,
            };
            let (Some(buffer), None) = (map.buffer, self.cache.find(id)) else {
                lbn += 1;
                continue;
            };
            self.need_pointers(&map);
            let following = map.following.min(most - 1).min(end - lbn - 1);
            let run = Run {
                first: lbn,
                blocks: self.clip(reading, lbn, following),
                buffer,
            };
            self.start_read(run.buffer, run.blocks, asked == Some(lbn));
            lbn += run.blocks;
        }
    }

    fn longest_window(&self) -> u32 {
        (self.params.read_ahead_bytes / self.block_bytes).max(1)
    }
}

/// Blocks of the first window for a read of so many: `get_init_ra_size`.
fn first_window(wanted: u32, most: u32) -> u32 {
    let blocks = wanted.max(1).next_power_of_two();
    let longer = if blocks <= most / 32 {
        blocks * 4
    } else if blocks <= most / 4 {
        blocks * 2
    } else {
        most
    };
    longer.min(most)
}

/// Blocks of the window behind one of so many: `get_next_ra_size`.
fn next_window(blocks: u32, most: u32) -> u32 {
    if blocks < most / 16 {
        4 * blocks
    } else if blocks <= most / 2 {
        2 * blocks
    } else {
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_those_of_linux() {
        // Blocks of 4 KB, windows of at most 128 KB: a call of 4 KB, of 16 KB, of 128 KB.
        assert_eq!(
            [1, 4, 32].map(|wanted| first_window(wanted, 32)),
            [4, 8, 32]
        );
        assert_eq!(
            [1, 4, 16, 17, 32].map(|blocks| next_window(blocks, 32)),
            [4, 8, 32, 32, 32]
        );
    }
}
