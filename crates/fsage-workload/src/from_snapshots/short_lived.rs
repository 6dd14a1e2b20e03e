//! Short-lived files: profiles of a trace put into the days of a workload.

use super::evidence::Interval;
use fsage_core::short_lived::Profile;
use fsage_core::{DirId, Rng};
use std::collections::BTreeMap;

const DAY_NS: i64 = 86_400_000_000_000;
const HOUR_NS: i64 = 3_600_000_000_000;
/// One profile a day for so many bytes of the file system (Smith and Seltzer 1997: 25 for 1 GB).
pub const BYTES_PER_PROFILE: u64 = 40 << 20;

/// How profiles are chosen and placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draws {
    /// 1997: so many profiles a day at random; each goes to one of the most active directories.
    Profiles {
        /// Profiles a day; `None`: one for each 40 MB of the file system.
        a_day: Option<u64>,
    },
    /// 1996: all profiles of one traced day at random; the busiest goes to the most active directory.
    Days,
    /// As 1996, but a busy day gets a busy traced day: the one whose rank by operations among the traced days
    /// is the day's rank by visible operations among the days before it.
    Matched,
}

/// How active the days so far were: their numbers of visible operations, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct History(Vec<usize>);

impl History {
    /// Takes in a day; gives the share of days that were less active, the middle of equal ones.
    fn rank(&mut self, operations: usize) -> f64 {
        let below = self.0.partition_point(|n| *n < operations);
        let to = self.0.partition_point(|n| *n <= operations);
        self.0.insert(to, operations);
        (below + to + 1) as f64 / (2 * self.0.len()) as f64
    }
}

/// A pool of profiles and how it is used.
#[derive(Clone, Copy, Debug)]
pub struct ShortLived<'a> {
    /// The pool.
    pub pool: &'a [Profile],
    /// How profiles are chosen.
    pub draws: Draws,
}

/// A profile that was put somewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    /// Which of the pool.
    pub profile: usize,
    /// Where.
    pub dir: DirId,
    /// Time of its first operation.
    pub start: i64,
}

/// The visible operations of a directory: their times, ascending.
pub(super) type Activity = BTreeMap<DirId, Vec<i64>>;

impl ShortLived<'_> {
    /// Draws the profiles of an interval. `busy` is what happens in it; `idle` are directories for an interval
    /// in which nothing does, the fullest first.
    pub(super) fn place(
        &self,
        interval: Interval,
        size_bytes: u64,
        busy: &Activity,
        idle: &[DirId],
        history: &mut History,
        rng: &mut Rng,
    ) -> Vec<Placed> {
        let mut placed = Vec::new();
        if self.pool.is_empty() {
            return placed;
        }
        let length = interval.end.saturating_sub(interval.start).max(1);
        // A night that comes an hour early or late is a day all the same.
        let days = ((length + DAY_NS / 2) / DAY_NS).max(1);
        let part = (length as f64 / DAY_NS as f64).min(1.0);
        for day in 0..days {
            let edge = |n: i64| {
                let share = i128::from(length) * i128::from(n) / i128::from(days);
                interval.start.saturating_add(share as i64)
            };
            let day = Interval {
                start: edge(day),
                end: edge(day + 1),
            };
            let whole = if days == 1 && part < 0.75 { part } else { 1.0 };
            self.place_day(
                day,
                whole,
                size_bytes,
                busy,
                idle,
                history,
                rng,
                &mut placed,
            );
        }
        placed
    }

    #[allow(clippy::too_many_arguments)]
    fn place_day(
        &self,
        day: Interval,
        part: f64,
        size_bytes: u64,
        busy: &Activity,
        idle: &[DirId],
        history: &mut History,
        rng: &mut Rng,
        placed: &mut Vec<Placed>,
    ) {
        let chosen = match self.draws {
            Draws::Profiles { a_day } => {
                let whole = a_day.unwrap_or(size_bytes / BYTES_PER_PROFILE) as f64 * part;
                let count = whole as u64 + u64::from(rng.chance(whole.fract()));
                self.some_profiles(count, rng)
            }
            Draws::Days if rng.chance(part) => self.some_day(|n| rng.below(n)),
            Draws::Matched if rng.chance(part) => {
                let times = busy.values().flatten();
                let operations = times.filter(|t| day.contains(**t)).count();
                let rank = history.rank(operations);
                self.some_day(|n| ((rank * n as f64) as u64).min(n - 1))
            }
            Draws::Days | Draws::Matched => Vec::new(),
        };
        let mut dirs = ranked(busy, Some(day));
        if dirs.is_empty() {
            dirs = ranked(busy, None);
        }
        if dirs.is_empty() {
            let middle = day.start + (day.end - day.start) / 2;
            dirs = idle.iter().map(|dir| (*dir, middle)).collect();
        }
        if dirs.is_empty() {
            return;
        }
        let most = dirs.len().min(chosen.len());
        for (rank, profile) in chosen.into_iter().enumerate() {
            let at = match self.draws {
                Draws::Profiles { .. } => rng.below(most as u64) as usize,
                Draws::Days | Draws::Matched => rank % dirs.len(),
            };
            let (dir, peak) = dirs[at];
            placed.push(Placed {
                profile,
                dir,
                start: shifted(&self.pool[profile], peak, day),
            });
        }
    }

    /// Without replacement while the pool lasts.
    fn some_profiles(&self, count: u64, rng: &mut Rng) -> Vec<usize> {
        let mut chosen = Vec::new();
        let mut left: Vec<usize> = Vec::new();
        for _ in 0..count {
            if left.is_empty() {
                left = (0..self.pool.len()).collect();
            }
            let at = rng.below(left.len() as u64) as usize;
            chosen.push(left.swap_remove(at));
        }
        chosen
    }

    /// All profiles of one traced day, that with the most files first. Which day of so many, the least active
    /// first, `choose` says.
    fn some_day(&self, choose: impl FnOnce(u64) -> u64) -> Vec<usize> {
        let mut days: BTreeMap<(&str, u32), Vec<usize>> = BTreeMap::new();
        for (at, profile) in self.pool.iter().enumerate() {
            let day = (profile.source.as_str(), profile.day);
            days.entry(day).or_default().push(at);
        }
        let mut days: Vec<Vec<usize>> = days.into_values().collect();
        let operations =
            |day: &Vec<usize>| -> usize { day.iter().map(|at| self.pool[*at].ops.len()).sum() };
        days.sort_by_cached_key(operations);
        let at = choose(days.len() as u64) as usize;
        let mut chosen = days.swap_remove(at);
        chosen.sort_by_key(|at| (std::cmp::Reverse(self.pool[*at].files()), *at));
        chosen
    }
}

/// Directories with operations on a day, the most active first, each with the peak of its activity.
fn ranked(busy: &Activity, day: Option<Interval>) -> Vec<(DirId, i64)> {
    let mut dirs: Vec<(usize, DirId, i64)> = busy
        .iter()
        .filter_map(|(dir, times)| {
            let times = match day {
                Some(day) => {
                    let from = times.partition_point(|t| *t <= day.start);
                    let to = times.partition_point(|t| *t <= day.end);
                    &times[from..to]
                }
                None => times,
            };
            Some((times.len(), *dir, peak(times)?))
        })
        .collect();
    dirs.sort_by_key(|(count, dir, _)| (std::cmp::Reverse(*count), *dir));
    dirs.into_iter().map(|(_, dir, peak)| (dir, peak)).collect()
}

/// Center of the earliest hour with the most of these times; `None` of none.
fn peak(times: &[i64]) -> Option<i64> {
    let mut best = (0, *times.first()?);
    let mut end = 0;
    for (at, &t) in times.iter().enumerate() {
        while times
            .get(end)
            .is_some_and(|x| x.saturating_sub(t) < HOUR_NS)
        {
            end += 1;
        }
        if end - at > best.0 {
            best = (end - at, t);
        }
    }
    Some(best.1.saturating_add(HOUR_NS / 2))
}

/// Start of a profile whose peak meets another, moved back into the day where it sticks out.
fn shifted(profile: &Profile, to: i64, day: Interval) -> i64 {
    let times: Vec<i64> = profile.ops.iter().map(|op| op.t_rel_ns).collect();
    let own = peak(&times).unwrap_or(0).min(profile.length_ns());
    let latest = day.end.saturating_sub(profile.length_ns());
    let first = day.start.saturating_add(1);
    to.saturating_sub(own).min(latest).max(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::short_lived::{ProfileOp, ProfileVerb};

    fn profile(times: &[i64]) -> Profile {
        let ops = times.iter().enumerate().map(|(i, t)| ProfileOp {
            t_rel_ns: *t,
            verb: ProfileVerb::Create,
            local_id: i as u64,
            bytes: 1,
        });
        Profile {
            ops: ops.collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn the_peak_is_the_center_of_the_busiest_hour() {
        let h = HOUR_NS;
        assert_eq!(peak(&[]), None);
        assert_eq!(peak(&[5 * h]), Some(5 * h + h / 2));
        assert_eq!(
            peak(&[0, 3 * h, 3 * h + 1, 4 * h - 1, 4 * h]),
            Some(3 * h + h / 2)
        );
    }

    #[test]
    fn a_profile_stays_inside_the_day() {
        let day = Interval {
            start: 0,
            end: DAY_NS,
        };
        let p = profile(&[0, HOUR_NS]);
        assert_eq!(shifted(&p, 12 * HOUR_NS, day), 12 * HOUR_NS - HOUR_NS / 2);
        assert_eq!(shifted(&p, DAY_NS, day), DAY_NS - HOUR_NS);
        assert_eq!(shifted(&p, 0, day), 1);
    }

    #[test]
    fn busy_days_rank_high_among_those_before() {
        let mut history = History::default();
        let ranks = [10, 20, 5, 10].map(|n| (history.rank(n) * 24.0).round() as u32);
        assert_eq!(ranks, [12, 18, 4, 12]);
    }

    #[test]
    fn a_pool_is_used_up_before_a_profile_comes_again() {
        let pool = vec![profile(&[0]), profile(&[0]), profile(&[0])];
        let short = ShortLived {
            pool: &pool,
            draws: Draws::Profiles { a_day: Some(6) },
        };
        let mut busy = Activity::new();
        busy.insert(DirId(4), vec![HOUR_NS]);
        let day = Interval {
            start: 0,
            end: DAY_NS,
        };
        let placed = short.place(
            day,
            0,
            &busy,
            &[],
            &mut History::default(),
            &mut Rng::new(1),
        );
        let mut seen: Vec<usize> = placed.iter().map(|p| p.profile).collect();
        assert!(placed.iter().all(|p| p.dir == DirId(4)));
        seen[..3].sort_unstable();
        seen[3..].sort_unstable();
        assert_eq!(seen, [0, 1, 2, 0, 1, 2]);
    }
}
