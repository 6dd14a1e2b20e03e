//! `fsage reproduce`: the experiments of a paper, its numbers beside ours.

use crate::exit::No;
use crate::summary;
use crate::ui::{self, Ui};
use fsage_papers::Reproduction;
use fsage_papers::comparison::{self, Line};
use fsage_papers::figure::{Exhibit, Figure};
use fsage_papers::folder::{Folder, Report};
use fsage_papers::paper::{Bytes, PAPERS, Paper};
use fsage_report::chart;
use fsage_report::svg::Axis;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Runs the experiments of a paper, and puts its numbers beside ours.
///
/// Ages the paper's simulated file systems with a workload that meets the published statistics, or fills them, and runs
/// its benchmarks over a simulated disk and host. FOLDER gets a page, and every figure as chart and CSV. A verdict says
/// whether a figure lies within a band around the published one, or whether a statement holds for our curves. Verdicts
/// do not fail the command; `--check` does where a required one is not met.
#[derive(Debug, clap::Args)]
// Every flag of the command line is one.
#[allow(clippy::struct_excessive_bools)]
#[command(
    after_help = "Examples:\n  fsage reproduce --list\n  fsage reproduce smith96\n  \
                        fsage reproduce smith97 -o smith97 --repetitions 3"
)]
pub struct Args {
    /// The paper: see `--list`.
    #[arg(value_name = "PAPER", required_unless_present = "list")]
    paper: Option<String>,
    /// Lists the papers.
    #[arg(long, conflicts_with = "paper")]
    list: bool,
    /// Folder to make for the results [default: PAPER-reproduced].
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Seed of the workload and of the angles of the spindle.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Runs of every measurement.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: Option<u32>,
    /// Disk, by name: see `fsage device list`.
    #[arg(long, value_name = "DRIVE")]
    device: Option<String>,
    /// Host, by name.
    #[arg(long)]
    host: Option<String>,
    /// Days of the workload, with as many operations a day; fewer give a quick look.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    days: Option<u64>,
    /// Sizes of files, such as 16K,96K,104K; fewer give a quick look.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size)]
    sizes: Option<Vec<Bytes>>,
    /// Times that the disk of the paper is made smaller; more give a quick look.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    scale: Option<u32>,
    /// How full the file systems are before, in percent, such as 0,60; fewer give a quick look.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(0..=95))]
    utilization: Option<Vec<u64>>,
    /// Operations of a benchmark; fewer give a quick look.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    operations: Option<u64>,
    /// Threads [default: one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Print what was run and the comparison as JSON.
    #[arg(long)]
    json: bool,
    /// Replace a reproduction of that name.
    #[arg(long)]
    force: bool,
    /// Exit with status 1 if a required statement is not met.
    #[arg(long)]
    check: bool,
}

fn size(text: &str) -> Result<Bytes, String> {
    Bytes::try_from(text.to_owned())
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let Some(name) = &args.paper else {
        return list(args.json);
    };
    let paper = changed(Paper::named(name)?, args)?;
    let to = match &args.output {
        Some(to) => to.clone(),
        None => PathBuf::from(format!("{name}-reproduced")),
    };
    let folder = Folder::begin(&to, args.force)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.map_or(cores, usize::from);
    let made = fsage_papers::reproduce(&paper, &folder.workload(), threads, &ui)?;
    folder.finish(&paper, &made)?;
    let mut out = ui::stdout();
    if args.json {
        summary::print_json(&mut out, &Report::new(&paper, &made))?;
    } else {
        print(&mut out, &paper, &made)?;
    }
    out.flush()?;
    ui.note(&format!(
        "\nThe page is {}.",
        to.join("index.html").display()
    ));
    if args.check {
        check(&made.lines)?;
    }
    Ok(())
}

/// The paper as the command line changes it.
fn changed(mut paper: Paper, args: &Args) -> anyhow::Result<Paper> {
    let run = &mut paper.run;
    if let Some(seed) = args.seed {
        run.seed = seed;
    }
    if let Some(repetitions) = args.repetitions {
        run.repetitions = repetitions;
    }
    if let Some(device) = &args.device {
        run.device.clone_from(device);
    }
    if let Some(host) = &args.host {
        run.host.clone_from(host);
    }
    if let Some(days) = args.days {
        run.experiments.set_days(days)?;
    }
    if let Some(sizes) = &args.sizes {
        run.experiments.set_sizes(sizes.clone())?;
    }
    if let Some(scale) = args.scale {
        run.experiments.rearrangement("--scale")?.scale = scale;
    }
    if let Some(percents) = &args.utilization {
        let plan = run.experiments.rearrangement("--utilization")?;
        plan.set_utilization(percents.clone());
    }
    if let Some(operations) = args.operations {
        run.experiments.rearrangement("--operations")?.operations = operations;
    }
    Ok(paper)
}

fn check(lines: &[Line]) -> anyhow::Result<()> {
    let failed: Vec<&str> = comparison::failed(lines)
        .iter()
        .map(|line| line.expected.id.as_str())
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(No(format!("required and not met: {}", failed.join(", "))).into())
}

#[derive(Serialize)]
struct Listed {
    paper: String,
    title: String,
    authors: String,
    published: String,
    figures: usize,
}

fn list(json: bool) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for (name, ..) in PAPERS {
        let paper = Paper::named(name)?;
        rows.push(Listed {
            paper: paper.name,
            title: paper.run.title,
            authors: paper.run.authors,
            published: paper.run.published,
            figures: paper.expected.len(),
        });
    }
    let mut out = ui::stdout();
    if json {
        summary::print_json(&mut out, &rows)?;
    } else {
        for row in rows {
            writeln!(
                out,
                "{:10} {}\n{:10} {}, {}; {} figures and statements",
                row.paper, row.title, "", row.authors, row.published, row.figures
            )?;
        }
    }
    Ok(out.flush()?)
}

fn print(out: &mut impl Write, paper: &Paper, made: &Reproduction) -> anyhow::Result<()> {
    writeln!(
        out,
        "{}\n{}\n\n{}",
        paper.run.title,
        paper.run.question,
        fsage_papers::facts(paper)
    )?;
    for slug in &made.terminal {
        let figure = made.exhibits.iter().find_map(|exhibit| match exhibit {
            Exhibit::Figure(figure) if figure.slug == *slug => Some(figure),
            _ => None,
        });
        if let Some(figure) = figure {
            writeln!(out, "\n{}, {}", figure.title, figure.y_label)?;
            write!(out, "{}", terminal_chart(figure))?;
        }
    }
    writeln!(out, "\nBeside the paper")?;
    let mut table = summary::table(&["id"]);
    table.set_header(vec!["id", "statement", "published", "ours", "verdict"]);
    for line in &made.lines {
        table.add_row(line.cells());
    }
    writeln!(out, "{table}\n\n{}", fsage_papers::tally(&made.lines))?;
    Ok(())
}

fn terminal_chart(figure: &Figure) -> String {
    let series = figure.series();
    match figure.axis {
        Axis::Linear => chart::curves(&series, 72, figure.x_label),
        Axis::Bytes => chart::curves_by_size(&series, 72),
    }
}
