//! The experiments of papers: what is run, what came out, and how it stands to what was published.
//!
//! | where | what |
//! |---|---|
//! | `paper` | `papers/*/run.toml` and `expected.toml` |
//! | `lab` | benchmarks over a disk and a host |
//! | `aged`, `experiments` | of the papers on allocators of FFS: file systems, aged and empty |
//! | `sizes`, `by_blocks`, `hot`, `layout_by_day` | what is measured of them |
//! | `remade` | the papers' way to a workload, from snapshots of a truth of ours |
//! | `cheng` | a bulletin board on disks that are rearranged: runs, figures, tables, statements |
//! | `jun24` | a file in pieces on flash: what is written, bare and through a file system |
//! | `smith96`, `smith97`, `seltzer95`, `ganger97` | the figures and tables of a paper, one file each |
//! | `comparison` | published, ours, verdict; the tally |
//! | `by_figure` | the same counted by figure and table, with how far ours are off |
//! | `words` | what words such as "comparable" mean here |
//! | `together` | all papers on one page |
//! | `figure`, `page`, `folder` | CSV, charts, the page, and the folder with all of it |
//!
//! It stands on `fsage-lab` and what that uses, and prints nothing. [`Papers`] puts the papers beside a run that
//! repeats one of their comparisons.
//!
//! Published numbers are compared with, and drawn as rings. What of ours is made from them says so: a row that is
//! calibrated or true by construction is no result.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod aged;
mod beside;
mod by_blocks;
pub mod by_figure;
mod cheng;
pub mod comparison;
mod experiments;
pub mod figure;
pub mod folder;
mod ganger97;
mod hot;
mod jun24;
mod lab;
mod layout_by_day;
pub mod over_readings;
pub mod over_seeds;
mod page;
pub mod paper;
mod remade;
mod seltzer95;
mod sizes;
mod smith96;
mod smith97;
pub mod together;
pub mod words;

use anyhow::bail;
use comparison::Line;
use experiments::Bench;
use figure::Exhibit;
use fsage_lab::Watch;
use lab::Lab;
use paper::{Experiments, Paper};
use std::path::Path;

pub use beside::Papers;

/// What came out.
#[derive(Debug)]
pub struct Reproduction {
    /// Everything that the paper reports, with ours beside it.
    pub lines: Vec<Line>,
    /// Figures and tables.
    pub exhibits: Vec<Exhibit>,
    /// The figures that are also drawn in the terminal, by their slugs.
    pub terminal: Vec<&'static str>,
}

/// Makes the workload of a paper, ages its file systems and runs its benchmarks. The workload, where there is one,
/// stays at `workload`.
///
/// # Errors
/// A preset of the paper is unknown; the workload cannot be written; an interrupt.
pub fn reproduce(
    paper: &Paper,
    workload: &Path,
    threads: usize,
    ui: &dyn Watch,
) -> anyhow::Result<Reproduction> {
    match &paper.run.experiments {
        Experiments::Rearrangement(plan) => cheng::reproduce(paper, plan, threads, ui),
        Experiments::Allocators(plan) => {
            let bench = Bench {
                paper,
                plan,
                lab: Lab::new(&paper.run, threads, ui)?,
                truth: aged::generate(paper, &plan.workload, workload, ui)?,
                workload,
                threads,
                ui,
            };
            match paper.name.as_str() {
                "smith96" => smith96::reproduce(&bench),
                "smith97" => smith97::reproduce(&bench),
                name => bail!("no experiments are known of `{name}`"),
            }
        }
        Experiments::Pieces(plan) => jun24::reproduce(&jun24::Bench { paper, plan, ui }),
        Experiments::Logging(plan) => {
            let bench = seltzer95::Bench {
                paper,
                plan,
                lab: Lab::new(&paper.run, threads, ui)?,
                threads,
                ui,
            };
            seltzer95::reproduce(&bench)
        }
        Experiments::Grouping(plan) => ganger97::reproduce(&ganger97::Bench {
            paper,
            plan,
            lab: Lab::new(&paper.run, threads, ui)?,
            workload,
            threads,
            ui,
        }),
    }
}

/// The options by which a run is smaller than the paper's; `None` where it is not.
fn cut(paper: &Paper) -> Option<String> {
    let printed = paper.printed().ok()?;
    let experiments = &paper.run.experiments;
    let options = experiments.options_from(&printed.run.experiments);
    Some(options).filter(|options| !options.is_empty())
}

/// Whether a run has fewer days than the paper's, so that their ends are not the same day.
pub(crate) fn has_fewer_days(paper: &Paper) -> bool {
    cut(paper).is_some_and(|options| options.contains("--days"))
}

/// That a run is smaller than the paper's, by which options; `None` where it is not.
pub fn quick_look(paper: &Paper) -> Option<String> {
    cut(paper).map(|options| {
        let end = if options.contains("--days") {
            " the paper's end is the last day here,"
        } else {
            ""
        };
        format!(
            "A quick look, by{options}: what that leaves out is not measured,{end} and rows may be met or differ for \
             that reason."
        )
    })
}

/// What ours was run on, in a sentence or two.
pub fn facts(paper: &Paper) -> String {
    let run = &paper.run;
    let quick = quick_look(paper).map_or_else(String::new, |quick| format!(" {quick}"));
    format!(
        "Simulated: disk {}, host {}, {} runs of every measurement with the spindle at a random angle. {}{quick}",
        run.device,
        run.host,
        run.repetitions,
        run.experiments.workload_text(run.seed)
    )
}
