//! What a file system takes in memory, part by part.

use super::Lfs;
use super::inode::Inode;
use std::mem::size_of;

/// Bytes that a list of so many items takes, as the allocator gives them: with a header, in steps of 16, 32 at least.
pub(super) fn heap<T>(capacity: usize) -> u64 {
    match (capacity * size_of::<T>()) as u64 {
        0 => 0,
        bytes => (bytes + 8).next_multiple_of(16).max(32),
    }
}

/// Bytes of a table of entries with so much room: seven of eight places are used, each with a byte of its own.
fn table<T>(capacity: usize) -> u64 {
    let places = (capacity * 8 / 7).next_power_of_two();
    (places * (size_of::<T>() + 1)) as u64
}

impl Lfs {
    /// Bytes that each part takes, by the room of its lists.
    pub fn memory(&self) -> Vec<(&'static str, u64)> {
        let blocks = self.inodes.iter().map(Inode::heap_bytes).sum();
        let names = table::<(u64, super::operations::Name)>(self.names.capacity());
        let directories = heap::<super::Directory>(self.dirs.capacity())
            + self
                .dirs
                .iter()
                .map(super::Directory::heap_bytes)
                .sum::<u64>();
        let logs = heap::<super::Log>(self.logs.capacity())
            + self.logs.iter().map(super::Log::heap_bytes).sum::<u64>();
        vec![
            ("inodes", heap::<Inode>(self.inodes.capacity())),
            ("their blocks", blocks),
            ("names", names),
            ("inode map", heap::<super::MapEntry>(self.map.capacity())),
            ("directories", directories),
            ("logs of the segments", logs),
            (
                "usage of the segments",
                self.usage.heap_bytes() + self.candidates.heap_bytes(),
            ),
        ]
    }
}
