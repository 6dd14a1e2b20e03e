//! Smith and Seltzer 1996: the original allocator against reallocation of clusters, after ten months.

mod created_layout;
mod hot_files;
mod throughput;

use super::aged::Aged;
use super::by_blocks::{Blocks, ByBlocks};
use super::comparison::{Measured, other_reading};
use super::experiments::Bench;
use super::figure::{Exhibit, Figure};
use super::hot::{Hot, over};
use super::layout_by_day::{self, Score};
use super::paper::Paper;
use super::sizes::{What, change, ratios};
use super::{Reproduction, has_fewer_days};
use fsage_core::Layout;
use hot_files::HotFiles;
use throughput::Throughput;

/// Everything that is shown of the paper.
///
/// # Errors
/// A benchmark fails; an interrupt.
pub fn reproduce(bench: &Bench<'_>) -> anyhow::Result<Reproduction> {
    let paper = bench.paper;
    let names = ["orig", "realloc", "orig-nrpos-1"];
    let aged = bench.age(&names, &names)?;
    let (orig, realloc) = (&aged["orig"], &aged["realloc"]);
    let sizes_orig = bench.sizes(&orig.state)?;
    let sizes_realloc = bench.sizes(&realloc.state)?;
    let hot = |name| Hot::measure(bench, &aged[name].state, &aged.unread(name).state);
    let (hot_orig, hot_realloc) = (hot("orig")?, hot("realloc")?);
    let raw = bench.lab.raw(orig.state.fs.geometry().size_bytes);
    let all = |aged: &Aged| ByBlocks::of(&aged.state.fs, Blocks::Whole, |_| true);
    let (all_orig, all_realloc) = (all(orig), all(realloc));
    let pair = Pair {
        orig,
        realloc,
        throughput: Throughput {
            orig: &sizes_orig,
            realloc: &sizes_realloc,
            raw,
        },
        hot: HotFiles {
            orig: &hot_orig,
            realloc: &hot_realloc,
            aged: realloc,
            all_orig: &all_orig,
            all_realloc: &all_realloc,
            created_orig: &sizes_orig,
            created_realloc: &sizes_realloc,
        },
    };

    let one_position = &aged["orig-nrpos-1"];
    let sizes_one_position = bench.sizes(&one_position.state)?;
    let hot_one_position = hot("orig-nrpos-1")?;
    let all_one_position = all(one_position);
    let other = Pair {
        orig: one_position,
        realloc,
        throughput: Throughput {
            orig: &sizes_one_position,
            ..pair.throughput
        },
        hot: HotFiles {
            orig: &hot_one_position,
            all_orig: &all_one_position,
            created_orig: &sizes_one_position,
            ..pair.hot
        },
    };

    let mut exhibits = vec![
        Exhibit::Figure(by_day(paper, &[orig, realloc, one_position])),
        created_layout::exhibit(&sizes_orig, &sizes_realloc),
    ];
    exhibits.extend(pair.throughput.exhibits(paper));
    exhibits.extend(pair.hot.exhibits(paper));
    exhibits.push(bench.file_systems(&[orig, realloc, one_position]));
    exhibits.push(Exhibit::Sheet(other_reading(
        "without-rotational-positions",
        "The same without rotational positions",
        "The paper does not say whether the allocator looked for rotational positions (nrpos). Without, the original \
         one takes the next free block, not the one that comes under the head first.",
        &other.measured().compare(paper),
    )));
    let mut measured = pair.measured();
    Bench::measure_inputs("S96.0", orig, &mut measured);
    if let Some(truth) = &bench.truth {
        truth.measure("S96.F1", orig, &mut measured);
        measured.shape("S96.F1.contours", truth.contours(orig));
    }
    measured.shape("S96.F1.steady", layout_by_day::falls_steadily(&orig.scores));
    measured.shape("S96.0.directories", orig.directories_are_small());
    if let Some(host) = &bench.plan.slower_host {
        let slower = bench.on_host(host)?;
        let there = [&realloc.state, &orig.state].map(|state| slower.sizes(state));
        let [there_realloc, there_orig] = there;
        let there = [&there_realloc?, &there_orig?];
        let here = [&sizes_realloc, &sizes_orig];
        measured.shape("S96.12.host", throughput::gains_less_on(there, here));
    }
    Ok(Reproduction {
        lines: measured.compare(paper),
        exhibits,
        terminal: vec!["layout-by-day", "read-throughput", "write-throughput"],
    })
}

/// The two allocators that the paper compares.
struct Pair<'a> {
    orig: &'a Aged,
    realloc: &'a Aged,
    throughput: Throughput<'a>,
    hot: HotFiles<'a>,
}

impl Pair<'_> {
    fn measured(&self) -> Measured {
        let mut measured = Measured::default();
        for (name, aged) in [("orig", self.orig), ("realloc", self.realloc)] {
            measured.figure(
                &format!("S96.10.{name}.day-1"),
                aged.scores.first().copied(),
            );
            measured.figure(&format!("S96.10.{name}.end"), aged.scores.last().copied());
        }
        let broken = |aged: &Aged| aged.scores.last().map(|score| 1.0 - score);
        let fewer = broken(self.realloc).zip(broken(self.orig));
        measured.figure("S96.10.fewer", fewer.map(|(realloc, orig)| realloc / orig));
        let fewer = broken(self.realloc).zip(broken(self.orig));
        measured.shape(
            "S96.10.half",
            fewer.map(|(realloc, orig)| {
                (
                    realloc < 0.5 * orig,
                    format!("{:.0} % fewer", 100.0 * (1.0 - realloc / orig)),
                )
            }),
        );
        measured.shape("S96.10.always", self.always_less_fragmented());
        measured.shape("S96.9.all", self.always_faster());
        measured.shape("S96.10.grows", self.difference_grows());
        self.throughput.measure(&mut measured);
        created_layout::measure(self.throughput.orig, self.throughput.realloc, &mut measured);
        self.hot.measure(&mut measured);
        measured
    }
}

impl Pair<'_> {
    /// How much less fragmented realloc is, by day.
    fn differences(&self) -> Vec<f64> {
        let days = self.realloc.scores.iter().zip(&self.orig.scores);
        days.map(|(realloc, orig)| realloc - orig).collect()
    }

    /// In the mean of sizes, and of the hot files.
    fn always_faster(&self) -> Option<(bool, String)> {
        let by_size = |what| {
            let gains = ratios(self.throughput.realloc, self.throughput.orig, what);
            throughput::of_sizes(&gains, |_| true)
        };
        let (realloc, orig) = (self.hot.realloc, self.hot.orig);
        let gains = [
            by_size(What::Read)?,
            by_size(What::Create)?,
            over(realloc.read, orig.read)?,
            over(realloc.overwrite, orig.overwrite)?,
        ];
        let text: Vec<String> = gains.iter().map(|gain| change(*gain)).collect();
        Some((gains.iter().all(|gain| *gain > 1.0), text.join(", ")))
    }

    fn always_less_fragmented(&self) -> Option<(bool, String)> {
        let least = self.differences().into_iter().reduce(f64::min)?;
        Some((least > 0.0, format!("by at least {least:.3}")))
    }

    fn difference_grows(&self) -> Option<(bool, String)> {
        let differences = self.differences();
        let (first, last) = (differences.first()?, differences.last()?);
        Some((last > first, format!("from {first:.3} to {last:.3}")))
    }
}

fn by_day(paper: &Paper, aged: &[&Aged]) -> Figure {
    let score = |target, day, id: &str| Score {
        target,
        day,
        value: paper.value(id),
    };
    layout_by_day::figure(
        "Layout score by day (figure 2)",
        aged,
        &[
            score("orig", Some(1), "S96.10.orig.day-1"),
            score("realloc", Some(1), "S96.10.realloc.day-1"),
            score("orig", None, "S96.10.orig.end"),
            score("realloc", None, "S96.10.realloc.end"),
        ],
        has_fewer_days(paper),
    )
}
