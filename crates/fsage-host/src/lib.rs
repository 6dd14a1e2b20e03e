//! The host between a simulated file system and a simulated disk: buffer cache, write clustering, read-ahead, syncer,
//! queue, and the time of the processor.
