//! Why a file lies in pieces, in one sentence.

use super::{
    FileDay, GOAL_LEN_SLOW, Mballoc, NO_CRITERION, PREALLOCATED, Served, XfsAlloc, worst_day,
};
use crate::report::words::{counted, percent, thousands};
use fsage_core::Verb;
use fsage_core::size::human;

/// What there is to say it from.
pub(super) struct Known<'a> {
    /// Pieces at the end.
    pub pieces: usize,
    /// Those in the group that has the most of them, where there are several groups.
    pub in_group: Option<(u64, usize)>,
    pub days: &'a [FileDay],
    pub served: Option<&'a Served>,
}

/// Smaller files of XFS keep nothing behind their end when they grow.
const XFS_KEEPS: u64 = 64 << 10;
/// The criterion that takes whatever is free.
const ANY_FREE: &str = "CR_ANY_FREE";
/// From this share of the free space on, long runs are what most of it is.
const MOSTLY_LONG: f64 = 0.5;
/// A group that has this share of the pieces is where the file was kept.
const IN_ONE: f64 = 0.9;

/// The sentence; none of a file in one piece.
pub(super) fn sentence(known: &Known<'_>) -> Option<String> {
    let (worst, before) = worst_day(known.days).filter(|_| known.pieces > 1)?;
    let made = (worst.pieces - before).min(known.pieces);
    let growing = known.days.iter().zip(&known.days[1..]);
    let growing = 1 + growing
        .filter(|(one, next)| next.pieces > one.pieces)
        .count();
    if made * 2 <= known.pieces && growing > 1 {
        // Spec: `docs/spec/xfs.md`; what a file keeps behind its end, others cannot take.
        let largest = known.days.iter().map(|day| day.size_bytes).max();
        let is_small = largest.is_some_and(|largest| largest <= XFS_KEEPS);
        let xfs = match known.served {
            Some(Served::Xfs(_)) if is_small => {
                " XFS keeps room behind the end only of files that have 64 KiB when they grow."
            }
            _ => "",
        };
        return Some(format!(
            "In short: it came bit by bit, and no day made more than {made} of its {} pieces: they grew on {growing} \
             days, and others wrote between.{xfs}",
            known.pieces
        ));
    }
    let of_all = if made == known.pieces {
        format!("all {made} pieces")
    } else {
        format!("{made} of its {} pieces", known.pieces)
    };
    let cause = match known.served {
        Some(Served::Mballoc(served)) => by_criterion(served),
        Some(Served::Xfs(served)) => by_least(served),
        None => by_room(worst, made, known.in_group),
    };
    Some(format!(
        "In short: {of_all} came on day {}, {cause}.",
        worst.nth
    ))
}

/// What the requests of that day came to on XFS, by the least that would do.
fn by_least(served: &XfsAlloc) -> String {
    let requests = counted(served.requests as u64, "request");
    let (got, asked) = (
        counted(served.longest_got, "block"),
        counted(served.first.maxlen, "block"),
    );
    let shorter = served.any_length + served.longest_there_is;
    let why = if shorter * 2 < served.requests {
        match served.requests - served.at_target {
            0 => "each at its target".to_owned(),
            others => format!(
                "{others} of which were served in one run away from their target, where others lie"
            ),
        }
    } else if served.any_length >= served.longest_there_is {
        format!(
            "for {} of which any run near the target would do (minlen 1), as the longest free run could not be had: \
             {asked} asked for at first, {got} the most that any got",
            served.any_length
        )
    } else {
        format!(
            "for {} of which no AG had a free run as long as was asked for: {asked} at first, {got} the most that any \
             got",
            served.longest_there_is
        )
    };
    format!("by {requests}, {why}")
}

/// What the requests of that day came to on ext4, by what served them.
fn by_criterion(served: &Mballoc) -> String {
    let requests = counted(served.requests as u64, "request");
    // What a preallocation gives lies where that was found: it is no cause, where a criterion served most of the rest.
    let searched = served.by.iter().find(|(name, count)| {
        name != PREALLOCATED && count * 2 >= served.requests.saturating_sub(served.at_goal)
    });
    let (by, count) = match searched.or(served.by.first()) {
        Some((name, count)) => (name.as_str(), *count),
        None => ("", 0),
    };
    let got = counted(served.longest_got, "block");
    let why = match by {
        ANY_FREE => format!(
            "for {count} of which no group had as many free blocks as were asked for: each took what it found, {got} \
             at most"
        ),
        GOAL_LEN_SLOW => {
            let long = match served.long_runs.map_or(0, |runs| runs.have) {
                0 => "no group had a run as long",
                _ => {
                    "a run as long was not among the first 200 pieces that it looks at (mb_max_to_scan)"
                }
            };
            format!(
                "for {count} of which a group had enough free blocks, but scattered: {long}, and {got} is the most \
                 that any got"
            )
        }
        NO_CRITERION => {
            format!(
                "for {count} of which no free run was found as long as asked for: {got} at most"
            )
        }
        _ => match served.requests - served.at_goal {
            0 => "each at its goal".to_owned(),
            others => {
                format!("{others} of which found no run at their goal as long as was asked for")
            }
        },
    };
    format!("by {requests}, {why}")
}

/// What was written that day, and what room there was.
fn by_room(day: &FileDay, made: usize, in_group: Option<(u64, usize)>) -> String {
    let writes = [Verb::Create, Verb::Append, Verb::Write, Verb::Rewrite].map(Verb::as_str);
    let of_writes = day
        .operations
        .iter()
        .filter(|done| writes.contains(&done.operation));
    let steps: u64 = of_writes.map(|done| done.times).sum();
    if steps == 0 {
        return "on which nothing was written to it: the file system moved it".to_owned();
    }
    if steps > 1 && made as u64 <= steps * 2 && day.others_between > 0 {
        return format!(
            "by {steps} writes, between which others wrote {}",
            counted(day.others_between, "time")
        );
    }
    let steps = counted(steps, "write");
    let longest = day
        .largest_free_bytes
        .filter(|&longest| longest < day.size_bytes);
    if let Some(longest) = longest {
        return format!(
            "by {steps}: no free run was as long as it, the longest at the end of that day had {}",
            human(longest)
        );
    }
    let group = in_group.filter(|(_, pieces)| *pieces as f64 >= made as f64 * IN_ONE);
    let group = group.map_or_else(String::new, |(group, _)| {
        format!(" of group {}", thousands(group))
    });
    match day.free_in_1m_runs {
        Some(share) if share >= MOSTLY_LONG => format!(
            "by {steps}: it took short runs{group}, though {} of the free space lay in runs of 1 MiB or more at the \
             end of that day",
            percent(share)
        ),
        Some(share) => format!(
            "by {steps}: the free space was scattered, with {} of it in runs of 1 MiB or more at the end of that day",
            percent(share)
        ),
        None => format!("by {steps}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Asked, Done, GroupThen, LongRuns};
    use super::*;

    fn day(day: u32, operation: &'static str, times: u64, pieces: usize) -> FileDay {
        FileDay {
            day,
            nth: day + 1,
            operations: vec![Done {
                operation,
                times,
                bytes: 4096,
            }],
            others_between: 0,
            size_bytes: 659 << 10,
            pieces,
            utilization: None,
            largest_free_bytes: Some(5 << 20),
            free_in_1m_runs: Some(0.81),
        }
    }

    fn said(pieces: usize, days: &[FileDay], served: Option<&Served>) -> String {
        let known = Known {
            pieces,
            in_group: Some((9, pieces)),
            days,
            served,
        };
        sentence(&known).expect("several pieces")
    }

    #[test]
    fn the_main_cause_is_named_by_what_was_written_and_what_room_there_was() {
        let mut one = day(19, "create", 1, 70);
        let of_group = "In short: all 70 pieces came on day 20, by 1 write: it took short runs of group 9, though 81 % \
                        of the free space lay in runs of 1 MiB or more at the end of that day.";
        assert_eq!(said(70, &[one.clone()], None), of_group);
        one.free_in_1m_runs = Some(0.41);
        assert!(
            said(70, &[one.clone()], None)
                .contains("the free space was scattered, with 41 % of it")
        );
        one.largest_free_bytes = Some(620 << 10);
        assert!(said(70, &[one.clone()], None).contains(
            "no free run was as long as it, the longest at the end of that day had 620 KiB"
        ));
        one.operations.clear();
        assert!(
            said(70, &[one], None)
                .ends_with("nothing was written to it: the file system moved it.")
        );
        let mut shared = day(19, "append", 6, 4);
        shared.others_between = 1234;
        assert_eq!(
            said(4, &[shared], None),
            "In short: all 4 pieces came on day 20, by 6 writes, between which others wrote 1,234 times."
        );
    }

    #[test]
    fn appends_that_lie_days_apart_are_the_cause_where_no_day_made_half_of_the_pieces() {
        let days: Vec<FileDay> = (0..9)
            .map(|at| day(at, "append", 1, at as usize + 1))
            .collect();
        assert_eq!(
            said(9, &days, None),
            "In short: it came bit by bit, and no day made more than 1 of its 9 pieces: they grew on 9 days, and \
             others wrote between."
        );
        let known = Known {
            pieces: 1,
            in_group: None,
            days: &days[..1],
            served: None,
        };
        assert_eq!(sentence(&known), None);
        // Files of 659 KiB have room behind their end on XFS.
        let on_xfs = Served::Xfs(XfsAlloc {
            requests: 1,
            whole: 1,
            longest_there_is: 0,
            any_length: 0,
            by_size: 0,
            at_target: 0,
            first: Asked {
                ag: 1,
                target: Some(7),
                minlen: 1,
                maxlen: 1,
                agbno: 9,
                len: 1,
            },
            longest_got: 1,
            ag: None,
            longest: None,
        });
        assert_eq!(said(9, &days, Some(&on_xfs)), said(9, &days, None));
        let mut small = days.clone();
        for day in &mut small {
            day.size_bytes = 60 << 10;
        }
        assert!(said(9, &small, Some(&on_xfs)).ends_with(
            " XFS keeps room behind the end only of files that have 64 KiB when they grow."
        ));
    }

    #[test]
    fn on_ext4_the_criterion_that_served_most_requests_says_why() {
        let mut served = Mballoc {
            requests: 40,
            by: vec![
                (ANY_FREE.to_owned(), 33),
                ("CR_GOAL_LEN_FAST".to_owned(), 7),
            ],
            first_asked: 114,
            first_searched: None,
            first_goal: 32_768,
            first_by: ANY_FREE.to_owned(),
            first_got: 4,
            first_block: 40_000,
            groups: Vec::new(),
            long_runs: None,
            at_goal: 3,
            longest_got: 5,
        };
        let days = [day(18, "create", 1, 2), day(19, "append", 4, 37)];
        assert_eq!(
            said(37, &days, Some(&Served::Mballoc(served.clone()))),
            "In short: 35 of its 37 pieces came on day 20, by 40 requests, for 33 of which no group had as many free \
             blocks as were asked for: each took what it found, 5 blocks at most."
        );
        GOAL_LEN_SLOW.clone_into(&mut served.by[0].0);
        assert!(
            said(37, &days, Some(&Served::Mballoc(served.clone())))
                .contains("but scattered: no group had a run as long, and 5 blocks")
        );
        let longest = GroupThen {
            group: 0,
            free: 20_000,
            runs: 1,
            longest: 20_000,
            aligned: 0,
        };
        served.long_runs = Some(LongRuns {
            blocks: 512,
            groups: 4,
            have: 1,
            by_mean: 0,
            by_aligned: None,
            longest,
        });
        assert!(
            said(37, &days, Some(&Served::Mballoc(served.clone())))
                .contains("was not among the first 200 pieces")
        );
        served.by.insert(0, (PREALLOCATED.to_owned(), 33));
        assert!(
            said(37, &days, Some(&Served::Mballoc(served.clone())))
                .contains("was not among the first 200 pieces")
        );
        served.by.remove(0);
        NO_CRITERION.clone_into(&mut served.by[0].0);
        assert!(
            said(37, &days, Some(&Served::Mballoc(served.clone())))
                .ends_with("no free run was found as long as asked for: 5 blocks at most.")
        );
        "CR_GOAL_LEN_FAST".clone_into(&mut served.by[0].0);
        assert!(
            said(37, &days, Some(&Served::Mballoc(served.clone())))
                .contains("by 40 requests, 37 of which found no run at their goal")
        );
    }
}
