//! Smith and Seltzer 1996: the original allocator against reallocation of clusters, after ten months.

mod created_layout;
mod hot_files;
mod throughput;

use super::Reproduction;
use super::by_blocks::ByBlocks;
use super::comparison::Measured;
use super::experiments::Bench;
use super::figure::Exhibit;
use super::hot::Hot;
use super::layout_by_day::{self, Score};
use fsage_core::Layout;
use hot_files::HotFiles;
use throughput::Throughput;

/// Everything that is shown of the paper.
///
/// # Errors
/// A benchmark fails; an interrupt.
pub fn reproduce(bench: &Bench<'_>) -> anyhow::Result<Reproduction> {
    let paper = bench.paper;
    let aged = bench.age(&["orig", "realloc"], &["orig", "realloc"])?;
    let (orig, realloc) = (&aged["orig"], &aged["realloc"]);
    let throughput = [orig, realloc].map(|aged| bench.lab.sizes(&aged.state));
    let [sizes_orig, sizes_realloc] = throughput;
    let (sizes_orig, sizes_realloc) = (sizes_orig?, sizes_realloc?);
    let raw = bench.lab.raw(orig.state.fs.geometry().size_bytes);
    let hot_orig = Hot::measure(&bench.lab, &orig.state, &aged.unread("orig").state)?;
    let hot_realloc = Hot::measure(&bench.lab, &realloc.state, &aged.unread("realloc").state)?;
    let all_realloc = ByBlocks::of(&realloc.state.fs, |_| true);

    let mut measured = Measured::default();
    for (name, aged) in [("orig", orig), ("realloc", realloc)] {
        measured.figure(
            &format!("S96.10.{name}.day-1"),
            aged.scores.first().copied(),
        );
        measured.figure(&format!("S96.10.{name}.end"), aged.scores.last().copied());
    }
    let broken = [orig, realloc].map(|aged| 1.0 - aged.scores.last().copied().unwrap_or(1.0));
    measured.figure("S96.10.fewer", Some(broken[1] / broken[0]));
    let throughput = Throughput {
        orig: &sizes_orig,
        realloc: &sizes_realloc,
        raw,
    };
    throughput.measure(&mut measured);
    created_layout::measure(&sizes_realloc, &mut measured);
    let hot = HotFiles {
        orig: &hot_orig,
        realloc: &hot_realloc,
        all_realloc: &all_realloc,
        created_realloc: &sizes_realloc,
    };
    hot.measure(&mut measured);

    let score = |target, day, id: &str| Score {
        target,
        day,
        score: paper.value(id),
    };
    let by_day = layout_by_day::figure(
        "Layout score by day (figures 1 and 2)",
        &[orig, realloc],
        &[
            score("orig", Some(1), "S96.10.orig.day-1"),
            score("realloc", Some(1), "S96.10.realloc.day-1"),
            score("orig", None, "S96.10.orig.end"),
            score("realloc", None, "S96.10.realloc.end"),
        ],
    );
    let mut exhibits = vec![
        Exhibit::Figure(by_day),
        created_layout::exhibit(&sizes_orig, &sizes_realloc),
    ];
    exhibits.extend(throughput.exhibits(paper));
    exhibits.extend(hot.exhibits(paper));
    exhibits.push(bench.file_systems(&[orig, realloc]));
    Ok(Reproduction {
        lines: measured.compare(paper),
        exhibits,
        terminal: vec!["layout-by-day", "read-throughput", "write-throughput"],
    })
}
