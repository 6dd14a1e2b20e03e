//! `orig`: 4.4BSD FFS without cluster reallocation.
//!
//! **What it does.** Each block goes to the block after its predecessor if that is free, else to a rotationally
//! close one, else to the next free block of the group's map. Nothing is ever moved, but fragments that grow.
//!
//! **Where it comes from.** McKusick et al. 1984; "FFS" in Smith and Seltzer, "A Comparison of FFS Disk
//! Allocation Policies", USENIX 1996.
//!
//! **What to expect.** The layout decays steadily: free blocks are taken one at a time from wherever the last
//! search ended, so a file of several blocks is scattered over the holes of its group.
//!
//! **Limits.** Sensitive to the rotational tables: with `nrpos=8` and a cylinder that is no whole number of
//! blocks it hops to the same angle on another track, and scores clearly lower than with `nrpos=1`.

use super::Policy;

/// 4.4BSD FFS without cluster reallocation.
#[derive(Clone, Copy, Debug)]
pub struct Orig;

impl Policy for Orig {
    fn name(&self) -> &'static str {
        "orig"
    }

    fn summary(&self) -> &'static str {
        "4.4BSD FFS without cluster reallocation: blocks stay where they were first put (Smith and Seltzer 1996)"
    }

    fn reallocates_clusters(&self) -> bool {
        false
    }
}
