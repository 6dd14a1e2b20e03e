//! `cost-benefit` and `cb`: the segment that gains the most space for the longest time at the least cost.
//!
//! **What it does.** Benefit `(1 - u) * age` over cost `1 + u`, `u` the live share of the segment, its age the time
//! since the last write into it. `cost-benefit` has the integers of 4.4BSD: whole blocks, and segments without live
//! bytes first. `cb` has the floating point of NetBSD's driver, and an age of at least 1.
//!
//! **Where it comes from.** Rosenblum and Ousterhout 1992; `lfs_cleanerd` of 4.4BSD-Lite2; NetBSD.
//!
//! **What to expect.** A little worse than `greedy` when all blocks are equally hot, much better with hot and cold
//! data.
//!
//! **Limits.** Blocks that the cleaner moves are young again in their new segment, and are cleaned late.

use super::{Candidate, Policy};

/// The integer arithmetic of 4.4BSD.
#[derive(Clone, Copy, Debug)]
pub struct CostBenefit;

/// The unit in which 4.4BSD counts live bytes here.
const BLOCK: u64 = 4096;

impl Policy for CostBenefit {
    fn name(&self) -> &'static str {
        "cost-benefit"
    }

    fn summary(&self) -> &'static str {
        "(1 - u) * age / (1 + u), in whole blocks as 4.4BSD; empty segments first"
    }

    fn rank(&self, candidate: &Candidate) -> f64 {
        if candidate.live == 0 {
            return f64::INFINITY;
        }
        let (segment, live) = (
            u64::from(candidate.segment_bytes),
            u64::from(candidate.live),
        );
        let benefit = (segment.saturating_sub(live) / BLOCK).saturating_mul(candidate.age);
        (benefit / ((segment + live) / BLOCK)) as f64
    }
}

/// The floating point of NetBSD's driver.
#[derive(Clone, Copy, Debug)]
pub struct NetBsdCostBenefit;

impl Policy for NetBsdCostBenefit {
    fn name(&self) -> &'static str {
        "cb"
    }

    fn summary(&self) -> &'static str {
        "(1 - u) * age / (1 + u), exact, the age counted from 1"
    }

    fn rank(&self, candidate: &Candidate) -> f64 {
        let (segment, live) = (
            f64::from(candidate.segment_bytes),
            f64::from(candidate.live),
        );
        (segment - live).max(0.0) * (candidate.age + 1) as f64 / (segment + live)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_and_seconds_as_in_the_original() {
        // By hand from docs/spec/lfs.md, section 11.3 for 1 MB: ((256 - 128) * 10) / (256 + 128) = 1280 / 384 = 3
        // blocks; 4095 more live bytes round to (127 * 10) / 384 = 3; age 0 is worth nothing.
        let candidate = |live: u32, age: u64| Candidate {
            segment_bytes: 1 << 20,
            live,
            age,
        };
        let table = [
            (524_288, 10, 3.0),
            (524_288 + 4095, 10, 3.0),
            (524_288, 0, 0.0),
            (0, 0, f64::INFINITY),
        ];
        for (live, age, rank) in table {
            let got = CostBenefit.rank(&candidate(live, age));
            assert!(got.total_cmp(&rank).is_eq(), "{live} {age}: {got}");
        }
        // (1 MB - 512 KB) * 11 / (1 MB + 512 KB) = 11 / 3.
        let got = NetBsdCostBenefit.rank(&candidate(524_288, 10));
        assert!((got - 11.0 / 3.0).abs() < 1e-12, "{got}");
    }
}
