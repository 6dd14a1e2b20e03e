//! `fsage reproduce`: the experiments of a paper, its numbers beside ours.

use crate::exit::No;
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::bail;
use fsage_lab::build::Build;
use fsage_lab::table;
use fsage_papers::Reproduction;
use fsage_papers::by_figure;
use fsage_papers::comparison::{self, Line, Tally};
use fsage_papers::figure::{Exhibit, Figure};
use fsage_papers::folder::{Folder, Report};
use fsage_papers::over_readings::{ALL as EVERY, OverReadings, PRINTED};
use fsage_papers::over_seeds::OverSeeds;
use fsage_papers::paper::{Bytes, PAPERS, Paper};
use fsage_papers::together::{Done, Together};
use fsage_report::chart;
use fsage_report::svg::Axis;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs the experiments of a paper, and puts its numbers beside ours.
///
/// Ages the paper's simulated file systems with a workload that meets the published statistics, or fills them, and runs
/// its benchmarks over a simulated disk and host. FOLDER gets a page, and what it draws as charts and CSV. A verdict
/// says whether a figure agrees with the published one, or whether a statement holds for our curves. Verdicts
/// do not fail the command; `--check` does where a row is not met that is met today.
#[derive(Debug, clap::Args)]
// Every flag of the command line is one.
#[allow(clippy::struct_excessive_bools)]
#[command(
    after_help = "Examples:\n  fsage reproduce --list\n  fsage reproduce smith96\n  \
                        fsage reproduce smith97 -o smith97 --repetitions 3\n  fsage reproduce all --check"
)]
pub struct Args {
    /// The paper: see `--list`; `all` for all of them.
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
    /// Reproduces one paper with seeds 1 to N, and says which rows hang on the seed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000),
          conflicts_with_all = ["seed", "check"])]
    seeds: Option<u32>,
    /// Runs of every measurement.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: Option<u32>,
    /// Disk, by name: see `fsage device list`.
    #[arg(long, value_name = "DRIVE")]
    device: Option<String>,
    /// Host, by name; `NAME:key=value,...` with other values.
    #[arg(long)]
    host: Option<String>,
    /// Another reading of what the paper leaves open: a name of `papers/PAPER/readings.toml`, or a TOML file with keys
    /// of `run.toml`; `all` for every one of them, each beside the run as printed.
    #[arg(long, value_name = "NAME")]
    reading: Option<String>,
    /// Days of the workload, with as many operations a day; fewer are a quick look at another, shorter life.
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
    /// Operations of a benchmark, or rows of a database; fewer give a quick look.
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
    /// Exit with status 1 if a row is not met that is met today with these options.
    #[arg(long)]
    check: bool,
}

fn size(text: &str) -> Result<Bytes, String> {
    Bytes::try_from(text.to_owned())
}

/// The word for all papers.
const ALL: &str = "all";

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let Some(name) = args.paper.as_deref() else {
        return list(args.json);
    };
    let papers = papers(name, args)?;
    if args.seeds.is_some() && papers.len() > 1 {
        bail!("--seeds N reproduces one paper; name one instead of `{ALL}`");
    }
    if args.takes_every_reading() && (args.seeds.is_some() || args.check) {
        bail!("--reading {EVERY}: not beside --seeds or --check");
    }
    if args.check {
        for paper in &papers {
            paper.required()?;
        }
    }
    let to = match &args.output {
        Some(to) => to.clone(),
        None => PathBuf::from(format!("{name}-reproduced")),
    };
    let folder = Folder::begin(&to, args.force)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.map_or(cores, usize::from);
    if args.seeds.is_some() || args.takes_every_reading() {
        let variants = Variants::of(&papers[0], args)?;
        variants.reproduce(&papers[0], &folder, threads, args, ui)?;
        return published(folder, &to, ui);
    }
    let mut all = Vec::new();
    for paper in papers {
        let part = folder.part((name == ALL).then_some(paper.name.as_str()))?;
        let made = fsage_papers::reproduce(&paper, &part.workload(), threads, &ui)?;
        part.fill(&paper, &made)?;
        all.push(Done { paper, made });
    }
    let mut out = ui::stdout();
    match all.as_slice() {
        [one] => {
            if args.json {
                summary::print_json(&mut out, &Report::new(&one.paper, &one.made))?;
            } else {
                print(&mut out, &one.paper, &one.made)?;
            }
        }
        several => {
            let together = Together::of(several)?;
            let sheets = [together.tally(), together.differs()];
            folder.write_over(&together.report(&options_given(args)), &together, &sheets)?;
            if args.json {
                summary::print_json(&mut out, &together)?;
            } else {
                print_together(&mut out, &together)?;
            }
        }
    }
    out.flush()?;
    published(folder, &to, ui)?;
    if args.check {
        check(&all, ui)?;
    }
    Ok(())
}

/// Gives the folder its name, and says where the page is.
fn published(folder: Folder, to: &Path, ui: Ui) -> anyhow::Result<()> {
    folder.publish()?;
    let page = to.join("index.html");
    ui.note(&format!(
        "\nThe page is {}; CSV files beside it have its data. To cite: the paper, and {}.",
        page.display(),
        Build::this()
    ));
    Ok(())
}

impl Args {
    /// Whether each reading of the paper is run beside the one as printed.
    fn takes_every_reading(&self) -> bool {
        self.reading.as_deref() == Some(EVERY)
    }
}

/// A paper run several times, with another seed each, or in another reading.
enum Variants {
    Seeds(Vec<(u64, Paper)>),
    Readings(Vec<(String, Paper)>),
}

impl Variants {
    /// Those that the command line asks for, of a paper that it has changed.
    fn of(paper: &Paper, args: &Args) -> anyhow::Result<Variants> {
        if let Some(seeds) = args.seeds {
            let with = |seed| {
                let mut paper = paper.clone();
                paper.run.seed = seed;
                (seed, paper)
            };
            return Ok(Variants::Seeds((1..=seeds.into()).map(with).collect()));
        }
        if paper.readings.is_empty() {
            bail!("{}: papers/{0}/readings.toml has no reading", paper.name);
        }
        let mut readings = vec![(PRINTED.to_owned(), paper.clone())];
        for name in paper.readings.keys() {
            let one = Paper::named(&paper.name)?.read_as(name)?;
            readings.push((name.clone(), changed(one, args, false)?));
        }
        Ok(Variants::Readings(readings))
    }

    /// Runs them one after the other, each in a folder of its own, and says what they give together.
    fn reproduce(
        self,
        paper: &Paper,
        folder: &Folder,
        threads: usize,
        args: &Args,
        ui: Ui,
    ) -> anyhow::Result<()> {
        let lines = |name: &str, paper: &Paper| -> anyhow::Result<Vec<Line>> {
            ui.note(name);
            let part = folder.part(Some(name))?;
            let made = fsage_papers::reproduce(paper, &part.workload(), threads, &ui)?;
            part.fill(paper, &made)?;
            Ok(made.lines)
        };
        let options = options_given(args);
        let mut out = ui::stdout();
        let (sheets, sentence) = match self {
            Variants::Seeds(seeds) => {
                let mut done = Vec::new();
                for (seed, paper) in &seeds {
                    done.push((*seed, lines(&format!("seed-{seed}"), paper)?));
                }
                let over = OverSeeds::of(paper, &done);
                folder.write_over(&over.report(&options), &over, &[over.sheet()])?;
                if args.json {
                    return Ok(summary::print_json(&mut out, &over)?);
                }
                (vec![over.sheet()], over.sentence())
            }
            Variants::Readings(readings) => {
                let mut done = Vec::new();
                for (name, paper) in &readings {
                    done.push((name.clone(), lines(name, paper)?));
                }
                let over = OverReadings::of(paper, &done);
                let sheets = [over.sheet(), over.rows()];
                folder.write_over(&over.report(&options), &over, &sheets)?;
                if args.json {
                    return Ok(summary::print_json(&mut out, &over)?);
                }
                (vec![over.tally(), over.gains()], over.sentence())
            }
        };
        writeln!(out, "{}", paper.run.title)?;
        for sheet in sheets {
            let mut table = summary::table_of_sentences(&sheet.header, 1);
            table.add_rows(&sheet.rows);
            writeln!(out, "{table}\n")?;
        }
        writeln!(out, "{sentence}")?;
        if let Some(quick) = fsage_papers::quick_look(paper) {
            writeln!(out, "{quick}")?;
        }
        Ok(out.flush()?)
    }
}

/// The papers of a name, as the command line changes them. Of all together each takes the options that it knows.
fn papers(name: &str, args: &Args) -> anyhow::Result<Vec<Paper>> {
    if name != ALL {
        return Ok(vec![changed(Paper::named(name)?, args, false)?]);
    }
    if args.device.is_some() || args.host.is_some() || args.reading.is_some() {
        bail!("--device, --host, --reading: each paper has its own; name one paper");
    }
    let papers = PAPERS
        .iter()
        .map(|files| changed(Paper::named(files.name)?, args, true));
    papers.collect()
}

/// The paper as the command line changes it; `lenient` leaves out options that it has not.
fn changed(mut paper: Paper, args: &Args, lenient: bool) -> anyhow::Result<Paper> {
    if let Some(reading) = args
        .reading
        .as_ref()
        .filter(|_| !args.takes_every_reading())
    {
        paper = paper.read_as(reading)?;
    }
    let run = &mut paper.run;
    let known = |result: anyhow::Result<()>| if lenient { Ok(()) } else { result };
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
        known(run.experiments.set_days(days))?;
    }
    if let Some(sizes) = &args.sizes {
        known(run.experiments.set_sizes(sizes.clone()))?;
    }
    if let Some(scale) = args.scale {
        let plan = run.experiments.rearrangement("--scale");
        known(plan.map(|plan| plan.scale = scale))?;
    }
    if let Some(percents) = &args.utilization {
        let plan = run.experiments.rearrangement("--utilization");
        known(plan.map(|plan| plan.set_utilization(percents.clone())))?;
    }
    if let Some(operations) = args.operations {
        known(run.experiments.set_operations(operations))?;
    }
    Ok(paper)
}

/// The options that change what is run, each behind a blank.
fn options_given(args: &Args) -> String {
    let list = |list: &[String]| list.join(",");
    let sizes = args.sizes.as_ref().map(|sizes| {
        let sizes: Vec<String> = sizes.iter().map(|size| String::from(*size)).collect();
        list(&sizes)
    });
    let percents = args.utilization.as_ref().map(|percents| {
        let percents: Vec<String> = percents.iter().map(u64::to_string).collect();
        list(&percents)
    });
    let given = [
        ("reading", args.reading.clone()),
        ("device", args.device.clone()),
        ("host", args.host.clone()),
        ("seed", args.seed.map(|n| n.to_string())),
        ("repetitions", args.repetitions.map(|n| n.to_string())),
        ("days", args.days.map(|n| n.to_string())),
        ("sizes", sizes),
        ("scale", args.scale.map(|n| n.to_string())),
        ("utilization", percents),
        ("operations", args.operations.map(|n| n.to_string())),
    ];
    let given = given
        .into_iter()
        .filter_map(|(name, value)| Some(format!(" --{name} {}", value?)));
    given.collect()
}

fn check(all: &[Done], ui: Ui) -> anyhow::Result<()> {
    let (mut failed, mut gained) = (Vec::new(), Vec::new());
    for Done { paper, made } in all {
        let name = |line: &Line| format!("{} {}", paper.name, line.expected.id);
        failed.extend(
            comparison::failed(paper, &made.lines)?
                .into_iter()
                .map(name),
        );
        gained.extend(
            comparison::gained(paper, &made.lines)?
                .into_iter()
                .map(name),
        );
    }
    if !gained.is_empty() {
        ui.note(&format!(
            "met, and not in papers/*/met.toml: {}",
            gained.join(", ")
        ));
    }
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
    rows: usize,
}

fn list(json: bool) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for files in PAPERS {
        let paper = Paper::named(files.name)?;
        rows.push(Listed {
            paper: paper.name,
            title: paper.run.title,
            authors: paper.run.authors,
            published: paper.run.published,
            rows: paper.expected.len(),
        });
    }
    let mut out = ui::stdout();
    if json {
        summary::print_json(&mut out, &rows)?;
    } else {
        for row in rows {
            writeln!(
                out,
                "{:10} {}\n{:10} {}, {}; {} rows",
                row.paper, row.title, "", row.authors, row.published, row.rows
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
    print_beside(out, &made.lines)?;
    if let Some(sheet) = by_figure::sheet(&made.lines) {
        let mut table = summary::table(&[""]);
        table.set_header(&sheet.header);
        table.add_rows(&sheet.rows);
        writeln!(out, "\n{}\n{table}", sheet.title)?;
    }
    let quick = fsage_papers::quick_look(paper);
    writeln!(out)?;
    if let Some(quick) = &quick {
        writeln!(out, "{}", table::wrapped(quick, "", ""))?;
    }
    let tally = Tally::of(&made.lines);
    let rows = made.lines.iter().filter(|line| line.verdict.is_result());
    let (rows, claims) = (
        rows.count(),
        tally.met + tally.differs + tally.open + tally.of_others,
    );
    let said = match &quick {
        Some(_) => tally.of_quick_look(),
        None => tally.to_string(),
    };
    let several = if rows > claims {
        format!(" The {rows} rows above read some claims in several ways; a claim counts once.")
    } else {
        String::new()
    };
    writeln!(
        out,
        "{}",
        table::wrapped(&format!("{said}{several}"), "", "")
    )?;
    let mut verdicts = made.lines.iter().map(|line| line.verdict);
    if quick.is_none() && verdicts.any(|verdict| verdict == comparison::Verdict::Differs) {
        writeln!(
            out,
            "The page has why, row by row, with the run or the table that shows it."
        )?;
    }
    Ok(())
}

/// Row by row what came of the runs, by how it ended; of rows that do not count their names.
fn print_beside(out: &mut impl Write, lines: &[Line]) -> anyhow::Result<()> {
    writeln!(out, "\nBeside the paper")?;
    for verdict in comparison::Verdict::RESULTS_FIRST {
        let rows: Vec<&Line> = lines.iter().filter(|l| l.verdict == verdict).collect();
        if rows.is_empty() {
            continue;
        }
        let plural = if rows.len() == 1 { "" } else { "s" };
        writeln!(out, "\n{}: {} row{plural}", verdict.as_str(), rows.len())?;
        if verdict.is_result() {
            for line in rows {
                let ours = line.ours_text();
                let both = match line.published_text().as_str() {
                    comparison::SHAPE => ours,
                    published => format!("{published} published, {ours} here"),
                };
                let text = format!("{}  {}: {both}", line.expected.id, line.expected.statement);
                writeln!(out, "{}", table::wrapped(&text, " ", "     "))?;
            }
        } else {
            let ids: Vec<&str> = rows.iter().map(|line| line.expected.id.as_str()).collect();
            writeln!(out, "{}", table::wrapped(&ids.join(", "), " ", " "))?;
        }
    }
    Ok(())
}

fn print_together(out: &mut impl Write, together: &Together) -> anyhow::Result<()> {
    let (tally, differs) = (together.tally(), together.differs());
    let mut counts = summary::table(&[""]);
    counts.set_header(&tally.header);
    let names = ["paper", "id"].len();
    let reasons = summary::table_of_sentences(&differs.header, names);
    for (sheet, mut table) in [(tally, counts), (differs, reasons)] {
        table.add_rows(&sheet.rows);
        writeln!(out, "{}\n{table}\n", sheet.title)?;
    }
    Ok(())
}

fn terminal_chart(figure: &Figure) -> String {
    let series = figure.series();
    match figure.axis {
        Axis::Linear => chart::curves(&series, 72, figure.x_label),
        Axis::Bytes => chart::curves_by_size(&series, 72),
    }
}
