//! `declining-cost`: first the segment whose cost of cleaning would sink least by waiting.
//!
//! **What it does.** A segment of utilization `u` costs `2 / (1 - u)` to clean for what it gains, and the more is
//! overwritten in it the less. With `f` the rate at which its blocks are overwritten, the cost sinks as
//! `f * u / (1 - u)^2`; the segment with the smallest decline is cleaned first. `f` is one over the age of the data,
//! the time since owners wrote the blocks, on average. A block that the cleaner moves brings the age of the segment
//! that it leaves.
//!
//! **Where it comes from.** Lomet and Luo, "Efficiently Reclaiming Space in a Log Structured Store", 2021 (MDC), which
//! estimates `f` from the last but one update. That ages be kept through cleaning is in Rosenblum and Ousterhout 1992,
//! section 3.6.
//!
//! **What to expect.** With hot and cold data it cleans cold segments sooner than `cb` does, and leaves hot ones alone
//! that will empty themselves.
//!
//! **Limits.** A mean tells nothing of a segment where hot and cold blocks lie side by side.

use super::{AgeRule, Candidate, Policy};

/// The smallest decline of the cost of cleaning first.
#[derive(Clone, Copy, Debug)]
pub struct DecliningCost;

impl Policy for DecliningCost {
    fn name(&self) -> &'static str {
        "declining-cost"
    }

    fn summary(&self) -> &'static str {
        "(1 - u)^2 * age / u, the age of the data, kept through cleaning"
    }

    fn age_rule(&self) -> AgeRule {
        AgeRule::MeanBlock
    }

    fn rank(&self, candidate: &Candidate) -> f64 {
        if candidate.live == 0 {
            return f64::INFINITY;
        }
        let u = (f64::from(candidate.live) / f64::from(candidate.segment_bytes)).min(1.0);
        (1.0 - u) * (1.0 - u) * (candidate.age + 1) as f64 / u
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_segments_the_one_with_older_data_is_cleaned_first() {
        assert_eq!(DecliningCost.age_rule(), AgeRule::MeanBlock);
        let candidate = |age: u64, live: u32| Candidate {
            segment_bytes: 1 << 20,
            live,
            age,
        };
        // By hand: (1 - 0.75)^2 * 701 / 0.75.
        let rank = DecliningCost.rank(&candidate(700, 786_432));
        assert!((rank - 0.0625 * 701.0 / 0.75).abs() < 1e-9, "{rank}");
        assert!(rank > DecliningCost.rank(&candidate(10, 786_432)));
        assert!(DecliningCost.rank(&candidate(10, 0)) > rank);
    }
}
