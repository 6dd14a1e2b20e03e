//! Cutting a chain of commits into the steps of a workload.

use super::View;
use super::error::{GitError, corrupt, shown};
use super::records::Oid;

pub(super) const DAY_S: i64 = 86_400;
pub(super) const NS_PER_S: i64 = 1_000_000_000;

/// A commit that is compared with the step before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub commit: Oid,
    /// Time of its events, Unix seconds.
    pub seconds: i64,
    /// UTC days since the first commit; never goes down.
    pub day: u64,
    /// Commits that it stands for.
    pub commits: u64,
}

/// Takes commits in order and gives steps.
#[derive(Debug)]
pub(super) struct Cutter {
    view: View,
    /// Day since 1970 of the first commit.
    first_day: Option<i64>,
    /// The step that the next commit may still replace ([`View::Day`]) or follow.
    open: Option<Step>,
}

impl Cutter {
    pub fn new(view: View) -> Cutter {
        Cutter {
            view,
            first_day: None,
            open: None,
        }
    }

    /// The next commit, with its committer time in Unix seconds; gives the step that is complete by now.
    pub fn commit(&mut self, commit: Oid, seconds: i64) -> Option<Step> {
        let this_day = seconds.div_euclid(DAY_S);
        let first_day = *self.first_day.get_or_insert(this_day);
        let day_before = self.open.as_ref().map_or(0, |s| s.day);
        // Clocks go back, even before the first commit: days do not.
        let day = u64::try_from(this_day - first_day).map_or(day_before, |d| d.max(day_before));
        let mut step = Step {
            commit,
            seconds,
            day,
            commits: 1,
        };
        if self.view == View::Day {
            step.seconds = (first_day + day as i64 + 1) * DAY_S - 1;
            if let Some(open) = self.open.as_mut().filter(|s| s.day == day) {
                step.commits += open.commits;
                *open = step;
                return None;
            }
        }
        self.open.replace(step)
    }

    /// The last step, when there are no more commits.
    pub fn end(self) -> Option<Step> {
        self.open
    }
}

/// A line of `git log --format='%H %ct'`.
pub(super) fn parse_log_line(line: &[u8]) -> Result<(Oid, i64), GitError> {
    let bad = || corrupt("log", format!("the line {}", shown(line)));
    let space = line.iter().position(|&b| b == b' ').ok_or_else(bad)?;
    let commit = Oid::parse(&line[..space]).ok_or_else(bad)?;
    let seconds: i64 = std::str::from_utf8(&line[space + 1..])
        .ok()
        .and_then(|s| s.parse().ok())
        .ok_or_else(bad)?;
    // Nanoseconds must fit 64 bits, to the end of the day: years 1678 to 2261.
    let last = i64::MAX / NS_PER_S - DAY_S;
    if !(-last..=last).contains(&seconds) {
        let what = format!("committer time {seconds} of {}", commit.as_str());
        return Err(corrupt("log", what));
    }
    Ok((commit, seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(view: View, times: &[i64]) -> Vec<(i64, u64, u64)> {
        let oid = Oid::parse(&[b'1'; 40]).unwrap();
        let mut cutter = Cutter::new(view);
        let mut steps: Vec<Step> = times
            .iter()
            .filter_map(|&t| cutter.commit(oid, t))
            .collect();
        steps.extend(cutter.end());
        steps
            .iter()
            .map(|s| (s.seconds, s.day, s.commits))
            .collect()
    }

    #[test]
    fn every_commit_is_a_step_and_days_do_not_go_back() {
        let times = [DAY_S + 5, DAY_S - 7, 4 * DAY_S, 3 * DAY_S, 5 * DAY_S];
        assert_eq!(
            cut(View::Commit, &times),
            [
                (DAY_S + 5, 0, 1),
                (DAY_S - 7, 0, 1),
                (4 * DAY_S, 3, 1),
                (3 * DAY_S, 3, 1),
                (5 * DAY_S, 4, 1)
            ]
        );
    }

    #[test]
    fn a_day_is_a_step_at_its_last_second() {
        let times = [DAY_S + 5, DAY_S - 7, 4 * DAY_S, 3 * DAY_S, 5 * DAY_S];
        assert_eq!(
            cut(View::Day, &times),
            [
                (2 * DAY_S - 1, 0, 2),
                (5 * DAY_S - 1, 3, 2),
                (6 * DAY_S - 1, 4, 1)
            ]
        );
    }

    #[test]
    fn times_before_1970_fall_into_days_too() {
        assert_eq!(cut(View::Day, &[-1]), [(-1, 0, 1)]);
        assert_eq!(
            cut(View::Day, &[-DAY_S - 1, -1]),
            [(-DAY_S - 1, 0, 1), (-1, 1, 1)]
        );
    }

    #[test]
    fn times_that_do_not_fit_nanoseconds_are_refused() {
        let line = |t: i64| format!("{} {t}", "a".repeat(40)).into_bytes();
        assert_eq!(
            parse_log_line(&line(1_237_714_200)).unwrap().1,
            1_237_714_200
        );
        assert!(parse_log_line(&line(i64::MAX)).is_err());
        assert!(parse_log_line(&line(i64::MIN)).is_err());
        assert!(parse_log_line(b"abc 12").is_err());
        assert!(parse_log_line(b"").is_err());
    }
}
