//! What a layer counts.

/// What has happened since the file system was made.
///
/// An access is an operation that reads or writes a file, or a file that was read under a host; looking at names and
/// inodes is none. The center is the place of the reserved area, whatever the technique.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Accesses.
    pub accesses: u64,
    /// Bytes that they read or wrote.
    pub accessed_bytes: u64,
    /// Accesses of which the first block lies in the center.
    pub center_accesses: u64,
    /// Bytes of accesses that lie in the center.
    pub center_bytes: u64,
    /// Accesses to files of the reserved area, or of which the first block was found there.
    pub hot_hits: u64,
    /// Files that were made in the reserved area, because they were hinted.
    pub made_hot: u64,
    /// Files that moved into the reserved area.
    pub moved_in: u64,
    /// Files that moved out of it, for lack of room or because they cannot stay there.
    pub moved_out: u64,
    /// Times that a file was hot, and stayed because it was near.
    pub near_not_moved: u64,
    /// Times that a file was hot, and stayed because it is larger than the reserved area.
    pub too_large: u64,
    /// Times that a file was hot, and stayed because no room could be made for it.
    pub no_room: u64,
    /// Entries that were dropped from the cold table because it was full.
    pub dropped_cold: u64,
    /// Bytes of data that were copied by moving files, blocks and cylinders.
    pub copied_bytes: u64,
    /// Periods that have ended.
    pub periods: u64,
    /// Blocks that were copied to the reserved cylinders, or cylinders that changed their place.
    pub placed: u64,
    /// Copies that were written home.
    pub written_home: u64,
}
