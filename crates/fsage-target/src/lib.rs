//! What a workload is replayed on, and the replay loop.
