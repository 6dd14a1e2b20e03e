//! Where a future leads: which past day each of its days is, and how much is in use at its end.
//!
//! A course is drawn from what was observed, by a block bootstrap:
//!
//! 1. **How far back it looks** is drawn too: all of the past, its last half or its last quarter, but 28 days at least.
//!    So futures differ where the past has changed its ways, and agree where it has not.
//! 2. **Days** come in blocks of whole weeks that begin on the right weekday: as many weeks as the cube root of those
//!    that are looked at (Hall, Horowitz and Jing 1995), 8 at most. What hangs together over days stays together. Under
//!    three weeks single days of the right weekday are drawn.
//! 3. **Growth** is that of the days drawn, moved so that its mean is the one observed, plus a drift that is drawn once
//!    for the whole future: as many blocks as were observed are drawn with replacement, and their mean growth differs
//!    from the one observed by as much as that is unsure. Of n blocks the difference is stretched by
//!    sqrt(n / (n - 1)) and by Student's t with n - 1 degrees of freedom over the normal distribution, at 5 %.
//!
//! Bytes, names and directories are drawn together.

use super::RepeatError;
use super::past::{Kin, Past, PastDay, PastOp};
use crate::date::weekday;
use fsage_core::Rng;

/// A future that is other than what the past makes likely, to see what difference that makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instead {
    /// As the past makes likely.
    #[default]
    Nothing,
    /// What is in use stays as it is.
    NoGrowth,
    /// Half of the files that are made, changed or deleted on a day are left alone, and growth stays as it is.
    HalfChurn,
    /// No file under 64 KiB is made any more, and growth stays as it is.
    NoSmallFiles,
}

/// What is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Growth {
    bytes: f64,
    names: f64,
    dirs: f64,
}

impl Growth {
    fn map(self, other: Growth, of: impl Fn(f64, f64) -> f64) -> Growth {
        Growth {
            bytes: of(self.bytes, other.bytes),
            names: of(self.names, other.names),
            dirs: of(self.dirs, other.dirs),
        }
    }

    fn plus(self, other: Growth) -> Growth {
        self.map(other, |a, b| a + b)
    }

    fn minus(self, other: Growth) -> Growth {
        self.map(other, |a, b| a - b)
    }

    fn times(self, factor: f64) -> Growth {
        self.map(self, |a, _| a * factor)
    }

    fn mean(all: impl Iterator<Item = Growth>) -> Growth {
        let (mut sum, mut n) = (Growth::default(), 0_u32);
        for growth in all {
            sum = sum.plus(growth);
            n += 1;
        }
        sum.times(1.0 / f64::from(n.max(1)))
    }
}

/// A day of a future.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The past day that it is.
    pub day: usize,
    /// In use at its end.
    pub used_bytes: u128,
    pub names: u128,
    pub dirs: u128,
}

/// A future, day by day.
#[derive(Debug)]
pub(super) struct Course {
    pub steps: Vec<Step>,
    pub instead: Instead,
    /// Operations of the past that let what is in use grow for good, and those that let it shrink.
    growing: Vec<u32>,
    shrinking: Vec<u32>,
}

/// Days that are looked at, at least.
const LEAST_DAYS: usize = 28;
/// Under so many days there are no blocks of weeks.
const LEAST_FOR_WEEKS: usize = 21;
const MOST_WEEKS: usize = 8;

/// 95th percentiles of Student's t from 1 degree of freedom on; the last is that of the normal distribution.
const T95: [f64; 31] = [
    6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771,
    1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706,
    1.703, 1.701, 1.699, 1.697, 1.645,
];

/// Days that a future is drawn from, and how.
struct Seen<'a> {
    past: &'a Past,
    /// The first one.
    first: usize,
    growth: Vec<Growth>,
    block_days: usize,
}

impl Course {
    /// Draws a future of so many days.
    pub fn draw(
        past: &Past,
        seed: u64,
        days: usize,
        instead: Instead,
    ) -> Result<Course, RepeatError> {
        let mut rng = Rng::new(seed).stream("course", 0);
        let seen = Seen::new(past, &mut rng)?;
        let last = past.days.last().ok_or(RepeatError::NoDays)?;
        let trend = if instead == Instead::NoGrowth {
            Growth::default()
        } else {
            seen.trend(&mut rng, last.date + 1)
        };
        let mut level = Growth {
            bytes: last.level.used_bytes as f64,
            names: last.level.names as f64,
            dirs: last.level.dirs as f64,
        };
        let mut steps = Vec::with_capacity(days);
        while steps.len() < days {
            let date = last.date + 1 + steps.len() as i64;
            let candidates = seen.starts(weekday(date));
            let start = candidates[rng.below(candidates.len() as u64) as usize];
            for at in start..start + seen.block_days {
                if instead != Instead::NoGrowth {
                    level = level.plus(seen.growth[at]).plus(trend);
                    level = level.map(level, |a, _| a.max(0.0));
                }
                steps.push(Step {
                    day: seen.first + at,
                    used_bytes: level.bytes as u128,
                    names: level.names as u128,
                    dirs: (level.dirs as u128).max(1),
                });
            }
        }
        steps.truncate(days);
        let ops = |is: fn(&PastOp) -> bool| {
            let ops = past.ops.iter().enumerate().filter(|(_, op)| is(op));
            ops.map(|(at, _)| at as u32).collect()
        };
        Ok(Course {
            steps,
            instead,
            growing: ops(|op| {
                matches!(op.kin, Kin::Create | Kin::Append) && !op.dies && op.bytes > 0
            }),
            shrinking: ops(|op| op.kin == Kin::Delete),
        })
    }

    /// An operation like one of the day that lets what is in use grow, or shrink; where the day has none, one of any
    /// day; `None` where there is none at all.
    pub fn drawn(&self, grows: bool, day: &PastDay, rng: &mut Rng) -> Option<usize> {
        let all = if grows {
            &self.growing
        } else {
            &self.shrinking
        };
        let at = |op: usize| all.partition_point(|&found| (found as usize) < op);
        let of_day = &all[at(day.ops.start)..at(day.ops.end)];
        let from = if of_day.is_empty() { all } else { of_day };
        if from.is_empty() {
            return None;
        }
        Some(from[rng.below(from.len() as u64) as usize] as usize)
    }
}

impl<'a> Seen<'a> {
    fn new(past: &'a Past, rng: &mut Rng) -> Result<Seen<'a>, RepeatError> {
        let days = &past.days;
        // How the first day began is not known: its growth may be all that was there before.
        let first = days.iter().skip(1).position(|day| day.counts);
        let first = first.ok_or(RepeatError::OneDay)? + 1;
        let known = days.len() - first;
        let part = [1, 2, 4][rng.below(3) as usize];
        let len = (known / part).max(LEAST_DAYS.min(known));
        let first = days.len() - len;
        let growth = (first..days.len()).map(|at| {
            let (is, was) = (days[at].level, days[at - 1].level);
            Growth {
                bytes: is.used_bytes as f64 - was.used_bytes as f64,
                names: is.names as f64 - was.names as f64,
                dirs: is.dirs as f64 - was.dirs as f64,
            }
        });
        let weeks = (libm::round(libm::cbrt(len as f64 / 7.0)) as usize).clamp(1, MOST_WEEKS);
        let block_days = if len < LEAST_FOR_WEEKS { 1 } else { 7 * weeks };
        Ok(Seen {
            past,
            first,
            growth: growth.collect(),
            block_days,
        })
    }

    /// Where blocks begin that begin on this weekday; where there is none, on any.
    fn starts(&self, on: usize) -> Vec<usize> {
        let all = 0..=self.growth.len() - self.block_days;
        let days = &self.past.days[self.first..];
        let right: Vec<usize> = all
            .clone()
            .filter(|&at| weekday(days[at].date) == on)
            .collect();
        if right.is_empty() {
            all.collect()
        } else {
            right
        }
    }

    fn block(&self, start: usize) -> Growth {
        let days = &self.growth[start..start + self.block_days];
        Growth::mean(days.iter().copied())
    }

    /// What is added to the growth of every day drawn: what moves its mean to the one observed, and the drift.
    fn trend(&self, rng: &mut Rng, first_date: i64) -> Growth {
        let observed = Growth::mean(self.growth.iter().copied());
        let of_weekday = |on: usize| {
            let starts = self.starts(on);
            Growth::mean(starts.into_iter().map(|start| self.block(start)))
        };
        let drawn = if self.block_days == 1 {
            Growth::mean((0..7).map(of_weekday))
        } else {
            of_weekday(weekday(first_date))
        };
        let moved = observed.minus(drawn);
        let starts = self.growth.len() - self.block_days + 1;
        let blocks = self.growth.len() / self.block_days;
        if blocks < 2 {
            return moved;
        }
        let center = Growth::mean((0..starts).map(|start| self.block(start)));
        let again = (0..blocks).map(|_| self.block(rng.below(starts as u64) as usize));
        let again = Growth::mean(again);
        let t = T95[(blocks - 2).min(T95.len() - 1)] / T95[T95.len() - 1];
        let stretch = (blocks as f64 / (blocks - 1) as f64).sqrt() * t;
        moved.plus(again.minus(center).times(stretch))
    }
}
