//! Synthetic workloads, one file a generator.
