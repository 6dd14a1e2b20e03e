//! `data-age`: cost-benefit with the age of the data, which cleaning does not make younger.
//!
//! **What it does.** As [`cb`](super::NetBsdCostBenefit), but the age of a segment is that of its blocks since their
//! owner wrote them, on average; a block that the cleaner moves brings the age of the segment that it leaves.
//!
//! **Where it comes from.** Rosenblum and Ousterhout 1992, section 3.6: Sprite LFS kept the modification time of blocks
//! through cleaning. 4.4BSD and NetBSD do not.
//!
//! **What to expect.** With hot and cold data, cold segments are known as cold right after they were cleaned, and are
//! cleaned again earlier than hot ones that will empty themselves.
//!
//! **Limits.** A mean tells nothing of a segment where hot and cold blocks lie side by side.

use super::cost_benefit::benefit_over_cost;
use super::{Candidate, Policy};

/// Cost-benefit with the age of the data.
#[derive(Clone, Copy, Debug)]
pub struct DataAge;

impl Policy for DataAge {
    fn name(&self) -> &'static str {
        "data-age"
    }

    fn summary(&self) -> &'static str {
        "(1 - u) * age / (1 + u), the age of the data, kept through cleaning"
    }

    fn rank(&self, candidate: &Candidate) -> f64 {
        benefit_over_cost(candidate, candidate.data_age + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_segments_just_written_the_one_with_older_data_is_cleaned_first() {
        let candidate = |data_age: u64| Candidate {
            segment_bytes: 1 << 20,
            live: 786_432,
            age: 0,
            data_age,
        };
        // By hand: (1 - 0.75) * 701 / (1 + 0.75) = 100.14...
        let rank = DataAge.rank(&candidate(700));
        assert!((rank - 0.25 * 701.0 / 1.75).abs() < 1e-9, "{rank}");
        assert!(rank > DataAge.rank(&candidate(10)));
    }
}
