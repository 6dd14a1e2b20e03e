//! Room below an image, which is sparse and takes it as it is written to.
//!
//! When that room is used up, what the file system in the image believes to be written is lost: data that it was told
//! long ago, and its own metadata. So a run stops while there is room for all that it may still write.

use crate::RealError;
use crate::directory::{Directory, RoomBelow};
use fsage_core::{Event, Op};
use rustix::io::Errno;

/// What one operation writes beside data, at most: directories, inodes, maps of blocks, and what is copied to change
/// them.
const METADATA_BYTES: u64 = 16 << 10;

/// What is left for the journal of the file system and for tables that are first written to; of a small image, and the
/// share of a large one up to a limit.
const LEAST_BYTES: u64 = 16 << 20;
const SHARE: u64 = 32;
const MOST_BYTES: u64 = 256 << 20;

/// Bytes that may not have reached the image yet.
#[derive(Debug, Default)]
pub(super) struct Unwritten(u64);

impl Unwritten {
    /// All of it has.
    pub fn is_synced(&mut self) {
        self.0 = 0;
    }

    /// Makes sure that there is room for some events, and counts them. Syncs where it is short: what is written since
    /// is not counted twice then.
    pub fn make_sure(
        &mut self,
        directory: &mut Directory,
        events: &[Event],
    ) -> Result<(), RealError> {
        let Some(room) = room_below(directory)? else {
            return Ok(());
        };
        let bytes = events.iter().map(|event| may_write(event, directory));
        let bytes = bytes.fold(0, u64::saturating_add);
        if !is_enough(&room, self.0.saturating_add(bytes)) {
            directory.sync()?;
            self.0 = 0;
            if let Some(room) = room_below(directory)?
                && !is_enough(&room, bytes)
            {
                return Err(RealError::RoomBelow {
                    free_bytes: room.free_bytes,
                    needed_bytes: needed(&room, bytes),
                    source: Errno::NOSPC.into(),
                });
            }
        }
        self.0 = self.0.saturating_add(bytes);
        Ok(())
    }
}

fn room_below(directory: &Directory) -> Result<Option<RoomBelow>, RealError> {
    let room = directory.volume().room_below();
    room.map_err(|source| RealError::Room { source })
}

fn is_enough(room: &RoomBelow, bytes: u64) -> bool {
    room.free_bytes >= needed(room, bytes)
}

/// No more than what the image has not taken yet.
fn needed(room: &RoomBelow, bytes: u64) -> u64 {
    let reserve = (room.size_bytes / SHARE).clamp(LEAST_BYTES, MOST_BYTES);
    let growth_bytes = room.growth_bytes.unwrap_or(u64::MAX);
    bytes.saturating_add(reserve).min(growth_bytes)
}

fn may_write(event: &Event, directory: &Directory) -> u64 {
    let data = match event.op {
        Op::Overwrite { file, range: None } => directory.file_size(file).unwrap_or(0),
        Op::Fallocate { bytes, .. } => bytes,
        op => op.bytes_written(),
    };
    data.saturating_add(METADATA_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn room(free_bytes: u64, growth_bytes: Option<u64>) -> RoomBelow {
        RoomBelow {
            free_bytes,
            growth_bytes,
            size_bytes: 1 << 30,
        }
    }

    #[test]
    fn an_image_that_has_all_its_blocks_needs_no_room() {
        assert!(is_enough(&room(0, Some(0)), 100 * MIB));
        assert!(is_enough(&room(5 * MIB, Some(4 * MIB)), 100 * MIB));
        // What is written anew goes elsewhere on a file system that copies.
        assert!(!is_enough(&room(5 * MIB, None), 100 * MIB));
    }

    #[test]
    fn what_may_be_written_and_a_reserve_have_to_fit() {
        assert!(is_enough(&room(132 * MIB, Some(900 * MIB)), 100 * MIB));
        assert!(!is_enough(&room(131 * MIB, Some(900 * MIB)), 100 * MIB));
        assert!(!is_enough(&room(u64::MAX - 1, None), u64::MAX));
    }
}
