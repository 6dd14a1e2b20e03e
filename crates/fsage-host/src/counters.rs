//! Sums over everything that a host did.

use serde::Serialize;

/// What a host did so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostCounters {
    /// Buffers that were needed and in the cache, or on their way into it.
    pub hits: u64,
    /// Buffers that were needed and not in the cache.
    pub misses: u64,
    /// Hits on buffers that came with a group and had no identity.
    pub adopted: u64,
    /// Requests to read that the process waited for.
    pub sync_reads: u64,
    /// Requests to read ahead.
    pub async_reads: u64,
    /// Requests to write that the process waited for.
    pub sync_writes: u64,
    /// Requests to write that it did not wait for at once.
    pub async_writes: u64,
    /// Flushes of the device.
    pub flushes: u64,
    /// Bytes of all requests to read.
    pub read_bytes: u64,
    /// Bytes of all requests to write.
    pub written_bytes: u64,
    /// Buffers that were reused for others.
    pub reused: u64,
    /// Buffers that were due for reuse and dirty, and were written first.
    pub reused_dirty: u64,
    /// Calls of sync, those of the syncer included.
    pub syncs: u64,
    /// Time that the process waited for the device, in nanoseconds.
    pub wait_ns: u64,
}
