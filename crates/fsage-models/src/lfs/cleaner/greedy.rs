//! `greedy`: the segment with the fewest live bytes first.
//!
//! **What it does.** It gains the most free space for the least copying now.
//!
//! **Where it comes from.** Rosenblum and Ousterhout, "The Design and Implementation of a Log-Structured File System",
//! 1992.
//!
//! **What to expect.** The best there is when all blocks are equally likely to be overwritten. With hot and cold data
//! cold segments keep free space for long, and it is worse than with none.
//!
//! **Limits.** It knows no ages.

use super::{Candidate, Policy};

/// Fewest live bytes first.
#[derive(Clone, Copy, Debug)]
pub struct Greedy;

impl Policy for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn summary(&self) -> &'static str {
        "the segment with the fewest live bytes first"
    }

    fn rank(&self, candidate: &Candidate) -> f64 {
        -f64::from(candidate.live)
    }
}
