//! `realloc`: 4.4BSD FFS as shipped, with cluster reallocation.
//!
//! **What it does.** Blocks are first chosen as under `orig`. When a file is written sequentially and a filled
//! block turns out not to be contiguous with the one before, the blocks since the last break (at most 7 of
//! 8 KB) move together to the first free run that is long enough, at or after where they were wanted.
//!
//! **Where it comes from.** `ffs_reallocblks` and `cluster_write` of 4.4BSD-Lite (McKusick 1993); "FFS +
//! Realloc" of Smith and Seltzer 1996, the baseline of Smith and Seltzer, "File System Aging", 1997.
//!
//! **What to expect.** New files of up to 56 KB are perfect as long as free runs exist; a break stays at the
//! thirteenth block, where the first indirect block usually sends the file to another cylinder group.
//!
//! **Limits.** Only filled blocks at the end of the file are looked at: a fragment at the end never moves a
//! window, so two-block files that end in a fragment gain nothing.

use super::Policy;

/// 4.4BSD FFS as shipped.
#[derive(Clone, Copy, Debug)]
pub struct Realloc;

impl Policy for Realloc {
    fn name(&self) -> &'static str {
        "realloc"
    }

    fn summary(&self) -> &'static str {
        "4.4BSD FFS as shipped: blocks just written in pieces move together into one free run (cluster reallocation)"
    }
}
