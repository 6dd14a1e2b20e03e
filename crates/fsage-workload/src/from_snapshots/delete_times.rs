//! When files were deleted: the papers' two rules, and the one by evidence.

use super::evidence::{Evidence, Interval};
use super::options::DeleteTimes;
use fsage_core::{Rng, TQuality};

/// Draws the times of deletions in one interval.
pub(super) struct Draw<'a> {
    rule: DeleteTimes,
    interval: Interval,
    /// Times of the interval's creates and modifications, ascending.
    others: &'a [i64],
    rng: Rng,
}

impl<'a> Draw<'a> {
    pub fn new(rule: DeleteTimes, interval: Interval, others: &'a [i64], rng: Rng) -> Draw<'a> {
        Draw {
            rule,
            interval,
            others,
            rng,
        }
    }

    /// Time of a deletion, and how well it is known. `reused` is when its inode number was given out again.
    pub fn time(&mut self, evidence: &Evidence, reused: Option<i64>) -> (i64, TQuality) {
        match self.rule {
            DeleteTimes::Smith96 => match (self.others.first(), self.others.last()) {
                (Some(&first), Some(&last)) => (self.uniform(first, last), TQuality::Random),
                _ => self.anywhere(),
            },
            DeleteTimes::Smith97 => match reused {
                Some(t) => (t, TQuality::Inferred),
                None => self.anywhere(),
            },
            DeleteTimes::Reuse => self.by_evidence(evidence),
        }
    }

    /// A time of another operation, or any if there is none.
    pub fn time_of_another(&mut self) -> (i64, TQuality) {
        self.by_evidence(&Evidence {
            not_after: self.interval.end,
            exact: None,
            kinds: 0,
        })
    }

    fn by_evidence(&mut self, evidence: &Evidence) -> (i64, TQuality) {
        if let Some(t) = evidence.exact {
            let quality = if t <= evidence.not_after {
                TQuality::Inferred
            } else {
                TQuality::Bounded
            };
            return (t.min(evidence.not_after), quality);
        }
        let bounded = evidence.kinds != 0;
        let quality = if bounded {
            TQuality::Bounded
        } else {
            TQuality::Random
        };
        let possible = self.others.partition_point(|t| *t <= evidence.not_after);
        if possible > 0 {
            let at = self.rng.below(possible as u64) as usize;
            return (self.others[at], quality);
        }
        if bounded {
            return (evidence.not_after, quality);
        }
        self.anywhere()
    }

    fn anywhere(&mut self) -> (i64, TQuality) {
        let Interval { start, end } = self.interval;
        let first = start.saturating_add(1).min(end);
        (self.uniform(first, end), TQuality::Random)
    }

    fn uniform(&mut self, first: i64, last: i64) -> i64 {
        first.saturating_add_unsigned(self.rng.between(0, first.abs_diff(last)))
    }
}
