//! Statistics of directories: what they hold, and how their files lie to each other.

use crate::summary::{percent, table};
use fsage_core::size::human;
use fsage_metrics::directory_statistics::EMBEDDED_ENTRIES;
use fsage_metrics::{Adjacency, DirectoryStatistics, LayoutScore};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Sizes below which shares of files are told.
const SIZES: [u64; 5] = [1 << 10, 4 << 10, 8 << 10, 64 << 10, 1 << 20];

/// The statistics as JSON has them. Shares are from 0 to 1; `null` is unknown, or of nothing.
#[derive(Serialize)]
pub struct Summary {
    inodes_per_block: u64,
    files: u64,
    directories: u64,
    /// Files by the smallest power of two that is above their size in bytes.
    files_by_size_below: BTreeMap<u64, u64>,
    share_below_8k: f64,
    directories_by_entries: BTreeMap<u64, u64>,
    directories_by_inode_blocks: BTreeMap<u64, u64>,
    names_per_inode_block: Option<f64>,
    share_that_fits_one_block: f64,
    share_linked_across_directories: f64,
    listed: Option<Order>,
    by_name: Option<Order>,
    by_inode: Order,
    by_address: Order,
}

#[derive(Serialize)]
struct Order {
    directories_adjacent: Option<f64>,
    files_adjacent: Option<f64>,
}

impl Order {
    fn of(adjacency: &Adjacency) -> Order {
        Order {
            directories_adjacent: share(adjacency.to_directory),
            files_adjacent: share(adjacency.to_predecessor),
        }
    }
}

fn share(score: LayoutScore) -> Option<f64> {
    (score.scored > 0).then(|| score.value())
}

impl Summary {
    /// The statistics of a layout, with the inodes of a block that they were made for.
    pub fn new(statistics: &DirectoryStatistics, inodes_per_block: u64) -> Summary {
        Summary {
            inodes_per_block,
            files: statistics.files,
            directories: statistics.directories,
            files_by_size_below: statistics.by_size.clone(),
            share_below_8k: statistics.share_below(8 << 10),
            directories_by_entries: statistics.by_entries.clone(),
            directories_by_inode_blocks: statistics.by_inode_blocks.clone(),
            names_per_inode_block: statistics.names_per_inode_block(),
            share_that_fits_one_block: statistics.share_with_entries(EMBEDDED_ENTRIES),
            share_linked_across_directories: statistics.share_linked_across(),
            listed: statistics.listed.as_ref().map(Order::of),
            by_name: statistics.by_name.as_ref().map(Order::of),
            by_inode: Order::of(&statistics.by_inode),
            by_address: Order {
                directories_adjacent: None,
                files_adjacent: share(statistics.by_address),
            },
        }
    }
}

/// Prints the statistics of a layout beside those of the paper.
pub fn print(
    out: &mut impl Write,
    name: &str,
    statistics: &DirectoryStatistics,
    inodes_per_block: u64,
) -> io::Result<()> {
    let of = Summary::new(statistics, inodes_per_block);
    let mut rows = table(&["", name, "servers of 1996"]);
    let mut row = |what: &str, ours: String, published: &str| {
        rows.add_row([what.to_owned(), ours, published.to_owned()]);
    };
    row("files", of.files.to_string(), "466,271");
    for bytes in SIZES {
        let published = if bytes == 8 << 10 { "79 %" } else { "" };
        let below = percent(Some(statistics.share_below(bytes)));
        row(&format!("  below {}", human(bytes)), below, published);
    }
    let across = of.share_linked_across_directories * 100.0;
    row(
        "  with names in several directories",
        format!("{across:.3} %"),
        "below 0.1 %",
    );
    row("directories", of.directories.to_string(), "");
    let entries = &statistics.by_entries;
    for (what, share) in [("half of them", 0.5), ("nine of ten", 0.9)] {
        let most = quantile(entries, share).to_string();
        row(&format!("  entries of {what}, at most"), most, "");
    }
    let most = entries.keys().next_back().copied().unwrap_or(0);
    row("  entries of the largest", most.to_string(), "9,000");
    let fits = percent(Some(of.share_that_fits_one_block));
    let what = format!("  with at most {EMBEDDED_ENTRIES} entries: one block if inodes lie in it");
    row(&what, fits, "94 %");
    let blocks = &statistics.by_inode_blocks;
    for (what, share) in [("half of them", 0.5), ("nine of ten", 0.9)] {
        let most = quantile(blocks, share).to_string();
        row(&format!("  inode blocks of {what}, at most"), most, "");
    }
    let names = of.names_per_inode_block;
    let names = names.map_or("-".to_owned(), |names| format!("{names:.2}"));
    row("names to an inode block", names, "6");
    for (what, order, directories, files) in [
        (
            "as the file system lists them",
            &of.listed,
            "30 %",
            "below 45 %",
        ),
        ("by name", &of.by_name, "16 %", "30 %"),
        ("by inode number", &Some(of.by_inode), "", ""),
        ("by address", &Some(of.by_address), "", "64 %"),
    ] {
        let Some(order) = order else { continue };
        row(&format!("files of a directory, {what}"), String::new(), "");
        if order.directories_adjacent.is_some() {
            let share = percent(order.directories_adjacent);
            row("  first one right behind the directory", share, directories);
        }
        row(
            "  right behind the one before",
            percent(order.files_adjacent),
            files,
        );
    }
    writeln!(out, "{}", rows.trim_fmt())?;
    let note = "The last column: Ganger and Kaashoek 1997, section 2.";
    let unknown = "The order in which directories list their entries is in no snapshot; a path of a mounted file \
                   system has it.";
    match of.listed {
        Some(_) => writeln!(out, "\n{note}"),
        None => writeln!(out, "\n{note} {unknown}"),
    }
}

/// The least value that so large a share of a histogram does not exceed.
fn quantile(histogram: &BTreeMap<u64, u64>, share: f64) -> u64 {
    let all: u64 = histogram.values().sum();
    let wanted = (share * all as f64).ceil() as u64;
    let mut below = 0;
    let found = histogram.iter().find(|&(_, count)| {
        below += count;
        below >= wanted
    });
    found.map_or(0, |(&value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_value_of_the_histogram() {
        let histogram = BTreeMap::from([(1, 5), (3, 4), (100, 1)]);
        assert_eq!(quantile(&histogram, 0.5), 1);
        assert_eq!(quantile(&histogram, 0.9), 3);
        assert_eq!(quantile(&histogram, 1.0), 100);
        assert_eq!(quantile(&BTreeMap::new(), 0.5), 0);
    }
}
