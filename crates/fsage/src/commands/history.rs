//! `fsage history`: how a file came to lie as it does.

use crate::summary::print_json;
use crate::ui::{self, Ui};
use fsage_core::size::human;
use fsage_lab::history::{
    Done, FileDay, GOAL_LEN_SLOW, GroupThen, History, LongRuns, NO_CRITERION, Served, Which,
    history,
};
use fsage_lab::table;
use std::io::{self, Write};
use std::path::PathBuf;

/// Shows how a file of an aged model came to lie as it does.
///
/// The workload is lived again, and the file followed through its days: what was done to it, in how many pieces it lay
/// at the end of the day, and how much room the file system had then. It begins with the main cause, in one sentence.
/// Without a file it is the one in the most pieces.
/// On ext4 it says how mballoc served the requests of the day that made the most pieces, by criterion, and in what runs
/// the groups of the first one had their free blocks when that day began, and where runs lay as long as was searched
/// for.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage history run/ext4\n  fsage history run/ext4 --path /d26/f1583\n  \
                  fsage history run/ext4 --inode 1600"
)]
pub struct Args {
    /// A run with one model, or RUN/TARGET.
    run: PathBuf,
    /// The file with this path at the end.
    #[arg(long, conflicts_with = "inode")]
    path: Option<String>,
    /// The file with this inode number at the end.
    #[arg(long, value_name = "N")]
    inode: Option<u64>,
    /// Where the workload of the run is, if it has moved.
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// Print all pieces; otherwise the first 12.
    #[arg(long)]
    extents: bool,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

/// Pieces that are printed where not all are asked for.
const FEW: usize = 12;
/// Groups that are named.
const FEW_GROUPS: usize = 6;

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let which = match (&args.path, args.inode) {
        (Some(path), _) => Which::Path(path.clone()),
        (None, Some(inode)) => Which::Inode(inode),
        (None, None) => Which::MostPieces,
    };
    let history = history(&args.run, args.workload.as_deref(), &which, &ui)?;
    let mut out = ui::stdout();
    if args.json {
        print_json(&mut out, &history)?;
    } else {
        if matches!(which, Which::MostPieces) && history.pieces.len() < 2 {
            writeln!(
                out,
                "No file is in more than one piece at the end; the largest:\n"
            )?;
        }
        print(&mut out, &history, args.extents)?;
    }
    Ok(out.flush()?)
}

fn print(out: &mut impl Write, history: &History, all: bool) -> io::Result<()> {
    let count = |pieces: usize| match pieces {
        1 => "1 piece".to_owned(),
        pieces => format!("{pieces} pieces"),
    };
    writeln!(
        out,
        "{} (inode {}): {} in {}\n",
        history.path,
        history.inode,
        human(history.size_bytes),
        count(history.pieces.len())
    )?;
    if let Some(image) = &history.came_with {
        let sentence = format!(
            "It came with {image}, and lies as it lay there: the workload does nothing to the files that it finds."
        );
        writeln!(out, "{}\n", table::wrapped(&sentence, "", ""))?;
        return print_pieces(out, history, all);
    }
    if let Some(sentence) = &history.in_short {
        writeln!(out, "{}\n", table::wrapped(sentence, "", ""))?;
    }
    let mut days = table::table(&[
        "day",
        "operations",
        "size",
        "pieces",
        "full",
        "free in runs\nof 1 MiB",
        "longest\nfree run",
    ]);
    for day in &history.days {
        let percent = |share: Option<f64>| {
            share.map_or("-".to_owned(), |share| format!("{:.0} %", share * 100.0))
        };
        days.add_row([
            day.nth.to_string(),
            match words(day) {
                // Nobody asked for it: blocks behind the end were given back, or the file was moved.
                words if words.is_empty() => "(by the file system)".to_owned(),
                words => words,
            },
            human(day.size_bytes),
            day.pieces.to_string(),
            percent(day.utilization),
            percent(day.free_in_1m_runs),
            day.largest_free_bytes.map_or("-".to_owned(), human),
        ]);
    }
    writeln!(out, "{days}\n")?;
    if let Some((day, before)) = history.worst_day().filter(|(day, _)| day.pieces > 1) {
        let what = match words(day) {
            words if words.is_empty() => "what was done to others".to_owned(),
            words => words,
        };
        let before = match before {
            0 => String::new(),
            before => format!(", where it had {}", count(before)),
        };
        let anew = if day.is_written_anew() {
            ": a rewrite cuts it to nothing and writes it anew, so that no piece is older"
        } else {
            ""
        };
        let room = day.free_in_1m_runs.map_or_else(String::new, |share| {
            format!(
                " At the end of that day {:.0} % of the free space lay in runs of 1 MiB or more.",
                share * 100.0
            )
        });
        let sentence = format!(
            "It came to {} on day {}, by {what}{before}{anew}.{}{room}",
            count(day.pieces),
            day.nth,
            history.served.as_ref().map(why).unwrap_or_default()
        );
        writeln!(out, "{}\n", table::wrapped(&sentence, "", ""))?;
    }
    print_pieces(out, history, all)
}

fn print_pieces(out: &mut impl Write, history: &History, all: bool) -> io::Result<()> {
    let mut pieces = table::table(&["offset", "on disk", "bytes"]);
    let shown = if all { history.pieces.len() } else { FEW };
    for piece in history.pieces.iter().take(shown) {
        pieces.add_row([
            piece.logical_bytes.to_string(),
            piece.physical_bytes.to_string(),
            piece.length_bytes.to_string(),
        ]);
    }
    writeln!(out, "{pieces}")?;
    if let more @ 1.. = history.pieces.len().saturating_sub(shown) {
        writeln!(out, "and {more} more: --extents")?;
    }
    if history.pieces.len() > 1 && !history.by_group.is_empty() {
        writeln!(out, "{}", where_they_lie(&history.by_group))?;
    }
    if let Some(trace) = &history.trace {
        writeln!(
            out,
            "\nEach request for its blocks, and what served it:\n  {trace}"
        )?;
    }
    Ok(())
}

/// In which groups pieces lie, those with the most first.
fn where_they_lie(by_group: &[(u64, usize)]) -> String {
    let (named, others) = by_group.split_at(by_group.len().min(FEW_GROUPS));
    let mut words: Vec<String> = named
        .iter()
        .map(|(group, pieces)| format!("{pieces} in group {group}"))
        .collect();
    if !others.is_empty() {
        let pieces: usize = others.iter().map(|(_, pieces)| pieces).sum();
        words.push(format!("{pieces} in {} others", others.len()));
    }
    table::wrapped(&format!("By group: {}.", words.join(", ")), "", "")
}

/// How the requests of that day were served.
fn why(served: &Served) -> String {
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
            " CR_GOAL_LEN_SLOW goes over groups with as many free blocks as are searched for, however scattered: for \
             files of more than stream_req blocks from the group that served such a file last, for others from the \
             group of the goal. It takes the best of the first 200 pieces (mb_max_to_scan), where none suffices, so \
             that a longer run farther on is not seen."
        }
        Some((name, _)) if name == NO_CRITERION => {
            " No criterion found a run as long as what was searched for: the longest that was seen on the way is \
             taken, which the kernel's trace shows as criterion 0x5."
        }
        Some((name, _)) if name == "CR_ANY_FREE" => {
            " CR_ANY_FREE takes any free blocks, where no group has as many as are asked for."
        }
        _ => "",
    };
    let freed = freed(served);
    let then = match &served.groups[..] {
        [] => String::new(),
        [goal] => format!(
            " When that day began, group {}, of its goal and of what it got, {}.",
            goal.group,
            room(goal)
        ),
        [goal, got, ..] => format!(
            " When that day began, group {} of the goal {}, and group {}, which served it, {}.",
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
    format!(
        " That day its data took {requests} to mballoc, served by: {}. The first asked for {} at block {}{searched} \
         and got {}; the longest run that any got was {}, and {} began at their goal.{then}{freed}{long}{takes}",
        by.join(", "),
        blocks(served.first_asked),
        served.first_goal,
        served.first_got,
        blocks(served.longest_got),
        served.at_goal
    )
}

/// That the group which served the first request cannot have been as it was when the day began; else nothing.
fn freed(served: &Served) -> String {
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
            " {none} {}; the longest, in group {}, had {}.",
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
        " Of {} groups {} then had {what}; {} a mean run as long, for CR_GOAL_LEN_FAST; {aligned}. The longest run, of \
         {}, lay in group {}{why}.",
        runs.groups,
        runs.have,
        runs.by_mean,
        blocks(longest.longest),
        longest.group
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

/// What was done on a day.
fn words(day: &FileDay) -> String {
    let words = |done: &Done| {
        let times = match done.times {
            1 => String::new(),
            times => format!("{times} x "),
        };
        match done.bytes {
            0 => format!("{times}{}", done.operation),
            bytes => format!("{times}{} {}", done.operation, human(bytes)),
        }
    };
    let all: Vec<String> = day.operations.iter().map(words).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 515 free blocks are fewer than the 1024 that the criterion asks for, and enough for the one that was got.
    #[test]
    fn a_group_that_was_too_full_when_the_day_began_was_freed_in_it() {
        let mut served = Served {
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
        assert!(why(&served).contains(said), "{}", why(&served));
        served.groups[0].free = 1024;
        assert!(!why(&served).contains("freed more"));
        served.groups[0].free = 515;
        // Any free block suffices for this one, and those that were set aside are free for nobody.
        for by in ["CR_ANY_FREE", "preallocated"] {
            by.clone_into(&mut served.first_by);
            assert!(!why(&served).contains("freed more"), "{by}");
        }
        (served.first_by, served.first_got) = ("CR_GOAL_LEN_FAST".to_owned(), 516);
        assert!(why(&served).contains("freed more there"));
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
}
