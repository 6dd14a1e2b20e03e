//! Why a target fails beside its baseline: where the layout of the one differs from that of the other.

use super::judge::Pair;
use super::number;
use super::outcome::Verdict;
use crate::days::DayRow;
use crate::report::verdict::between;
use serde::Serialize;
use std::fmt::Write as _;

/// Why a target fails beside its baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// Specification of the target.
    pub target: String,
    /// Where its layout is worse than the baseline's, in sentences.
    pub text: String,
}

/// None of a target of which nothing failed, of lives, and where the layout is no worse than the baseline's.
pub fn of(pair: &Pair<'_>, verdicts: &[Verdict]) -> Option<Cause> {
    let (new, old) = (pair.new, pair.old?);
    let has_failed = verdicts.iter().any(|verdict| !verdict.failures.is_empty());
    if !has_failed || new.cell.is_some() {
        return None;
    }
    let differs = between(old.days.last()?, new.days.last()?);
    if differs.is_empty() {
        return None;
    }
    let mut text = format!("at the end, beside the baseline: {}.", differs.join("; "));
    if let Some((of_old, of_new)) = half_lost(&old.days, &new.days) {
        let score = |of: &DayRow| of.score().map(number).unwrap_or_default();
        let _ = write!(
            text,
            " Half of what its layout score lacks then it lacked by day {}: {}, baseline {}.",
            of_new.day + 1,
            score(of_new),
            score(of_old)
        );
    }
    Some(Cause {
        target: new.spec.clone(),
        text,
    })
}

/// The first day from which on a score lacks at least half of what it lacks on the last one beside another; none where
/// it lacks nothing, or on the last day alone.
fn half_lost<'a>(old: &'a [DayRow], new: &'a [DayRow]) -> Option<(&'a DayRow, &'a DayRow)> {
    let days: Vec<(&DayRow, &DayRow)> = old.iter().zip(new).collect();
    let lacks = |(old, new): &(&DayRow, &DayRow)| Some(old.score()? - new.score()?);
    let half = lacks(days.last()?).filter(|lacks| *lacks > 0.0)? / 2.0;
    let behind = |day: &(&DayRow, &DayRow)| lacks(day).is_some_and(|lacks| lacks >= half);
    let first = days
        .iter()
        .rposition(|day| !behind(day))
        .map_or(0, |at| at + 1);
    days.get(first).filter(|_| first + 1 < days.len()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_metrics::layout_score;

    fn days(scores: &[f64]) -> Vec<DayRow> {
        let day = |(at, score): (usize, &f64)| {
            let day = DayRow {
                day: at as u64,
                ..DayRow::default()
            };
            day.with(&layout_score::SCORE, *score)
                .with(&layout_score::SCORED, 1000)
        };
        scores.iter().enumerate().map(day).collect()
    }

    /// By hand: at the end 0.08 are lacking; 0.04 or more were on the second day, not on the third, and then always.
    #[test]
    fn the_day_is_the_first_from_which_on_half_is_lacking() {
        let old = days(&[1.0, 0.99, 0.98, 0.98, 0.97, 0.97]);
        let new = days(&[1.0, 0.94, 0.96, 0.94, 0.91, 0.89]);
        let (_, day) = half_lost(&old, &new).expect("a day");
        assert_eq!(day.day, 3);
        assert!(half_lost(&new, &old).is_none(), "it is better");
        let late = days(&[1.0, 0.99, 0.98, 0.98, 0.97, 0.89]);
        assert!(half_lost(&old, &late).is_none(), "that is the end itself");
        assert!(half_lost(&old, &[]).is_none());
    }
}
