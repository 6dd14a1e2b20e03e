//! Simulated file systems: exact models of how an allocator lays out files.
