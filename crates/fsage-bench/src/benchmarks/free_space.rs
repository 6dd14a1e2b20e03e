//! What the free space of an aged file system is worth, without its files: create and read, in three sizes.
//!
//! **State.** A file system that holds no file, but on which only that space is free that is free on the aged one. The
//! caller makes it; against an empty file system of the same parameters the phases show what the free map alone costs.
//!
//! **Source.** The fragmentation study of Seltzer et al. 1995, section 5: the create and read phases of its section 3
//! with 25 files a directory, and files of 8 KB, 64 KB and 1 MB.

use super::sequential::{SEQUENTIAL_1995, Sequential, Step};
use std::borrow::Cow;

/// The benchmark.
pub const FREE_SPACE: Sequential = Sequential {
    name: "free-space",
    summary: "creates and reads files of 8 KB, 64 KB and 1 MB where only the free map is aged (Seltzer et al. 1995)",
    sizes: Cow::Borrowed(&[8 << 10, 64 << 10, 1 << 20]),
    files_per_directory: 25,
    steps: &[Step::Create, Step::Read],
    ..SEQUENTIAL_1995
};
