//! `fsage history`: how a file came to lie as it does.

mod why;

use crate::summary::print_json;
use crate::ui::{self, Ui};
use fsage_core::size::human;
use fsage_lab::history::{Done, FileDay, History, Which, history};
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
/// for. On XFS it says what each of them would have taken (minlen and maxlen), how far from its target it went, and
/// what the AG had free.
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
            "It came to {} on day {}, by {what}{before}{anew}.{room}",
            count(day.pieces),
            day.nth
        );
        writeln!(out, "{}\n", table::wrapped(&sentence, "", ""))?;
        for sentence in history.served.iter().flat_map(why::sentences) {
            writeln!(out, "{}", table::wrapped(&sentence, "- ", "  "))?;
        }
        if history.served.is_some() {
            writeln!(out)?;
        }
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
