//! Ten thousand files of 1 KB: created, read in the order of creation, deleted.
//!
//! **Source.** Rosenblum and Ousterhout's benchmark, as Seltzer et al. 1995, section 2, run it.
//!
//! **What the papers do not say.** The directories: 100 files each here, as in section 3 of the same paper. Caches are
//! emptied between phases, and the clock of the phases that write stops when all is on disk.

use super::sequential::{FileCount, SEQUENTIAL_1995, Sequential, Step};
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
