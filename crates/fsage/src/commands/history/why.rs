//! How the requests of a day were served, in words.

use fsage_lab::history::{
    GOAL_LEN_SLOW, GroupThen, LongRuns, Mballoc, NO_CRITERION, Served, XfsAlloc,
};

/// How the requests of that day were served: each a sentence or two, from what was asked for to what was free.
pub fn sentences(served: &Served) -> Vec<String> {
    match served {
        Served::Mballoc(served) => by_mballoc(served),
        Served::Xfs(served) => by_xfs(served),
    }
}

/// By the criteria of ext4.
fn by_mballoc(served: &Mballoc) -> Vec<String> {
    let by: Vec<String> = served
        .by
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let requests = match served.requests {
        1 => "1 request".to_owned(),
        requests => format!("{requests} requests"),
    };
    let takes = match served.by.first() {
        Some((name, _)) if name == GOAL_LEN_SLOW => {
            "CR_GOAL_LEN_SLOW goes over groups with as many free blocks as are searched for, however scattered: for \
             files of more than stream_req blocks from the group that served such a file last, for others from the \
             group of the goal. It takes the best of the first 200 pieces (mb_max_to_scan), where none suffices, so \
             that a longer run farther on is not seen."
        }
        Some((name, _)) if name == NO_CRITERION => {
            "No criterion found a run as long as what was searched for: the longest that was seen on the way is \
             taken, which the kernel's trace shows as criterion 0x5."
        }
        Some((name, _)) if name == "CR_ANY_FREE" => {
            "CR_ANY_FREE takes any free blocks, where no group has as many as are asked for."
        }
        _ => "",
    };
    let freed = freed(served);
    let then = match &served.groups[..] {
        [] => String::new(),
        [goal] => format!(
            "When that day began, group {}, of its goal and of what it got, {}.",
            goal.group,
            room(goal)
        ),
        [goal, got, ..] => format!(
            "When that day began, group {} of the goal {}, and group {}, which served it, {}.",
            goal.group,
            room(goal),
            got.group,
            room(got)
        ),
    };
    let long = served.long_runs.as_ref().map_or_else(String::new, long);
    let searched = match served.first_searched {
        Some(searched) if searched != served.first_asked => format!(", searched for {searched}"),
        _ => String::new(),
    };
    let took = format!(
        "That day its data took {requests} to mballoc, served by: {}. The first asked for {} at block {}{searched} \
         and got {}; the longest run that any got was {}, and {} began at their goal.",
        by.join(", "),
        blocks(served.first_asked),
        served.first_goal,
        served.first_got,
        blocks(served.longest_got),
        served.at_goal
    );
    let mut all = vec![took, format!("{then}{freed}"), long, takes.to_owned()];
    all.retain(|sentence| !sentence.is_empty());
    all
}

/// That the group which served the first request cannot have been as it was when the day began; else nothing.
fn freed(served: &Mballoc) -> String {
    let (needed, got) = (served.needed(), served.groups.last());
    got.filter(|got| got.free < needed)
        .map_or_else(String::new, |got| {
            format!(
                " The request needed {needed} free blocks in group {}: the day freed more there before it.",
                got.group
            )
        })
}

/// Where runs lay as long as what was searched for, and why the criteria that look for such runs left out the group of
/// the longest.
fn long(runs: &LongRuns) -> String {
    let (wanted, longest) = (runs.blocks, &runs.longest);
    let what = format!(
        "a free run of {}, the most that was searched for",
        blocks(wanted)
    );
    if runs.have == 0 {
        let none = match runs.groups {
            1 => "The only group had no".to_owned(),
            groups => format!("None of the {groups} groups had a"),
        };
        return format!(
            "{none} {}; the longest, in group {}, had {}.",
            what.trim_start_matches("a "),
            longest.group,
            blocks(longest.longest)
        );
    }
    let aligned = match runs.by_aligned {
        Some(groups) => format!("{groups} an aligned piece as long, for CR_POWER2_ALIGNED"),
        None => "CR_POWER2_ALIGNED leaves out what is no power of two".to_owned(),
    };
    let mut why = Vec::new();
    if !longest.has_mean(wanted) {
        why.push(format!(
            "runs of {:.1} blocks on average are too short for CR_GOAL_LEN_FAST",
            longest.free as f64 / longest.runs as f64
        ));
    }
    if runs.by_aligned.is_some() && longest.aligned < wanted {
        why.push(match longest.aligned {
            0 => "CR_POWER2_ALIGNED takes no first group of a flex group".to_owned(),
            _ => "no piece is aligned for CR_POWER2_ALIGNED".to_owned(),
        });
    }
    let why = match &why[..] {
        [] => String::new(),
        why => format!(": {}", why.join(", and ")),
    };
    format!(
        "Of {} groups {} then had {what}; {} a mean run as long, for CR_GOAL_LEN_FAST; {aligned}. The longest run, of \
         {}, lay in group {}{why}.",
        runs.groups,
        runs.have,
        runs.by_mean,
        blocks(longest.longest),
        longest.group
    )
}

/// By what XFS would take: the least and the most blocks.
fn by_xfs(served: &XfsAlloc) -> Vec<String> {
    let first = &served.first;
    let near = match first.target {
        Some(target) => format!("near block {target} of AG {}", first.ag),
        None => format!("by size, in AG {}", first.ag),
    };
    let which = if served.at_target == 0 || served.at_target == served.requests {
        "The first"
    } else {
        "The first of the others"
    };
    let at_target = match served.at_target {
        0 => "None".to_owned(),
        some => format!("{some} of them"),
    };
    let asked = if first.minlen == first.maxlen {
        blocks(first.maxlen)
    } else {
        format!("{} to {}", first.minlen, blocks(first.maxlen))
    };
    let by_size = match served.by_size {
        0 => String::new(),
        by_size => {
            format!(" {by_size} went by size alone, to another AG than that of their target.")
        }
    };
    let took = [
        (
            served.any_length,
            "took any run near their target, however short (minlen 1): the longest that an AG has could not be had, as \
             it was busy (freed, and the log not yet written) or the AG had too little beside it",
        ),
        (
            served.longest_there_is,
            "took the longest run that an AG had (minlen under maxlen)",
        ),
        (
            served.whole,
            "got all they asked for in one run (minlen is maxlen)",
        ),
    ];
    let took = took.iter().filter(|(count, _)| *count > 0);
    let took: Vec<String> = took
        .map(|(count, took)| format!("{count} {took}"))
        .collect();
    let requests = match served.requests {
        1 => "1 request".to_owned(),
        requests => format!("{requests} requests"),
    };
    let mut all = vec![
        format!(
            "That day its data took {requests} to xfs_bmap_btalloc: {}.",
            took.join("; ")
        ),
        format!(
            "{at_target} began at their target.{by_size} {which} asked for {asked} {near}, and got {} at block {}; the \
             longest run that any got was {}.",
            first.len,
            first.agbno,
            blocks(served.longest_got)
        ),
        ags(served),
    ];
    all.retain(|sentence| !sentence.is_empty());
    all
}

/// What the AG had free that served the first request, and where the longest run of all lay.
fn ags(served: &XfsAlloc) -> String {
    let (Some(ag), Some(longest)) = (&served.ag, &served.longest) else {
        return String::new();
    };
    let elsewhere = if longest.longest > ag.longest {
        format!(
            "; the longest run of all, of {}, lay in AG {}",
            blocks(longest.longest),
            longest.group
        )
    } else {
        String::new()
    };
    format!(
        "When that day began, AG {} {}{elsewhere}.",
        ag.group,
        room(ag)
    )
}

fn blocks(number: u64) -> String {
    match number {
        1 => "1 block".to_owned(),
        number => format!("{number} blocks"),
    }
}

/// What was free in a group.
fn room(group: &GroupThen) -> String {
    match group.runs {
        0 => "had nothing free".to_owned(),
        runs => format!(
            "had {} free blocks in {runs} runs, {:.1} blocks a run on average and {} in the longest",
            group.free,
            group.free as f64 / runs as f64,
            group.longest
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_lab::history::Asked;

    /// 515 free blocks are fewer than the 1024 that the criterion asks for, and enough for the one that was got.
    #[test]
    fn a_group_that_was_too_full_when_the_day_began_was_freed_in_it() {
        let mut served = Mballoc {
            requests: 1,
            by: vec![("CR_GOAL_LEN_SLOW".to_owned(), 1)],
            first_asked: 1024,
            first_searched: Some(1024),
            first_goal: 8193,
            first_by: "CR_GOAL_LEN_SLOW".to_owned(),
            first_got: 1,
            first_block: 16_400,
            groups: vec![GroupThen {
                group: 2,
                free: 515,
                runs: 50,
                longest: 100,
                aligned: 64,
            }],
            long_runs: None,
            at_goal: 0,
            longest_got: 1,
        };
        let said =
            "The request needed 1024 free blocks in group 2: the day freed more there before it.";
        assert!(
            by_mballoc(&served).join(" ").contains(said),
            "{}",
            by_mballoc(&served).join(" ")
        );
        served.groups[0].free = 1024;
        assert!(!by_mballoc(&served).join(" ").contains("freed more"));
        served.groups[0].free = 515;
        // Any free block suffices for this one, and those that were set aside are free for nobody.
        for by in ["CR_ANY_FREE", "preallocated"] {
            by.clone_into(&mut served.first_by);
            assert!(
                !by_mballoc(&served).join(" ").contains("freed more"),
                "{by}"
            );
        }
        (served.first_by, served.first_got) = ("CR_GOAL_LEN_FAST".to_owned(), 516);
        assert!(by_mballoc(&served).join(" ").contains("freed more there"));
    }

    /// A group of 12429 blocks in 653 runs has 19.03 a run; 512 is a power of two, 643 is not.
    #[test]
    fn it_is_said_why_the_group_with_the_longest_run_is_left_out() {
        let mut runs = LongRuns {
            blocks: 512,
            groups: 4,
            have: 1,
            by_mean: 0,
            by_aligned: Some(0),
            longest: GroupThen {
                group: 0,
                free: 12_429,
                runs: 653,
                longest: 5984,
                aligned: 0,
            },
        };
        let said = long(&runs);
        assert!(
            said.contains("Of 4 groups 1 then had a free run of 512 blocks"),
            "{said}"
        );
        assert!(
            said.contains("of 5984 blocks, lay in group 0: runs of 19.0 blocks"),
            "{said}"
        );
        assert!(said.contains("no first group of a flex group"), "{said}");
        runs.longest.aligned = 256;
        assert!(long(&runs).contains("no piece is aligned"));
        (runs.blocks, runs.by_aligned) = (643, None);
        let said = long(&runs);
        assert!(
            said.contains("is no power of two") && !said.contains("aligned for"),
            "{said}"
        );
        // One that both criteria may take: that they did not is not in the record.
        (runs.longest.runs, runs.blocks, runs.by_aligned) = (2, 512, Some(1));
        runs.longest.aligned = 4096;
        assert!(long(&runs).ends_with("lay in group 0."));
        (runs.have, runs.blocks) = (0, 8192);
        assert!(long(&runs).contains("None of the 4 groups had a free run of 8192 blocks"));
    }

    #[test]
    fn on_xfs_it_is_said_what_each_request_would_take() {
        let ag = |group, longest| {
            Some(GroupThen {
                group,
                free: 90,
                runs: 10,
                longest,
                aligned: 0,
            })
        };
        let mut served = XfsAlloc {
            requests: 4,
            whole: 1,
            longest_there_is: 0,
            any_length: 3,
            by_size: 1,
            at_target: 2,
            first: Asked {
                ag: 3,
                target: Some(19_402),
                minlen: 1,
                maxlen: 240,
                agbno: 19_396,
                len: 2,
            },
            longest_got: 11,
            ag: ag(3, 28),
            longest: ag(0, 28),
        };
        let said = by_xfs(&served).join(" ");
        assert!(said.starts_with(
            "That day its data took 4 requests to xfs_bmap_btalloc: 3 took any run near their target, however short \
             (minlen 1): "
        ));
        assert!(said.ends_with(
            "; 1 got all they asked for in one run (minlen is maxlen). 2 of them began at their target. 1 went by \
             size alone, to another AG than that of their target. The first of the others asked for 1 to 240 blocks \
             near block 19402 of AG 3, and got 2 at block 19396; the longest run that any got was 11 blocks. When that \
             day began, AG 3 had 90 free blocks in 10 runs, 9.0 blocks a run on average and 28 in the longest."
        ));
        served.longest = ag(0, 61);
        assert!(
            by_xfs(&served)
                .join(" ")
                .ends_with("; the longest run of all, of 61 blocks, lay in AG 0.")
        );
        served.at_target = 4;
        assert!(by_xfs(&served).join(" ").contains(" The first asked for"));
    }
}
