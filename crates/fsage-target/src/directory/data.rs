//! How data gets into files, and what reads back.

/// What a replay does for data that a workload writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// Writes it.
    #[default]
    Write,
    /// Allocates it (`fallocate`): it reads as zeros.
    Fallocate,
    /// Sets the size alone: it reads as zeros and takes no space.
    Hole,
}
