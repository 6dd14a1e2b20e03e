//! Ten thousand files of 1 KB: created, read in the order of creation, deleted; in 1997 also written over.
//!
//! **Source.** [`SMALL_FILE`] is Rosenblum and Ousterhout's benchmark, as Seltzer et al. 1995, section 2, run it.
//! [`SMALL_FILE_1997`] is that of Ganger and Kaashoek 1997, section 4: 100 directories of 100 files, which are made
//! first, and a sync within every phase.
//!
//! **What the papers do not say.** In 1995 the directories: 100 files each here, as in section 3 of the same paper.
//! Caches are emptied between phases, and the clock of the phases that write stops when all is on disk.

use super::sequential::{Directories, FileCount, Forced, SEQUENTIAL_1995, Sequential, Step};
use std::borrow::Cow;

/// The benchmark. Its files may have any size.
pub const SMALL_FILE: Sequential = Sequential {
    name: "small-file",
    summary: "creates, reads and deletes 10,000 files of 1 KB (Rosenblum and Ousterhout 1992; Seltzer et al. 1995)",
    sizes: Cow::Borrowed(&[1 << 10]),
    files: FileCount::Exactly(10_000),
    steps: &[Step::Create, Step::Read, Step::Delete],
    ..SEQUENTIAL_1995
};

/// The benchmark of 1997.
pub const SMALL_FILE_1997: Sequential = Sequential {
    name: "small-file-1997",
    summary: "creates, reads, overwrites and deletes 10,000 files of 1 KB (Ganger and Kaashoek 1997)",
    directories: Directories::First,
    steps: &[Step::Create, Step::Read, Step::Overwrite, Step::Delete],
    forced: Forced::Everything,
    ..SMALL_FILE
};
