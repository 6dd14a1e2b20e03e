//! How a real file system is replayed on.

/// When data is brought to disk. File systems that delay allocation lay files out by this as much as by their
/// allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// The whole file system at the end of every day: the reference.
    #[default]
    Day,
    /// Every file before it is closed, and the whole file system at the end of every day.
    Each,
    /// Only before measuring at the very end.
    End,
}

/// What is written into files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// Bytes that can be verified: the reference.
    #[default]
    Write,
    /// Nothing; the blocks are allocated by `fallocate`.
    Fallocate,
    /// Nothing; files have their size and no blocks.
    Hole,
}

/// How a real file system is replayed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// When data is brought to disk.
    pub sync: Sync,
    /// What is written.
    pub data: Data,
    /// Threads, at least 1.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            sync: Sync::default(),
            data: Data::default(),
            threads: 1,
        }
    }
}
