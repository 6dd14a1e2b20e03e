//! `fsage demo`: the whole pipeline on two workloads, what the papers found beside it, and its report.

use crate::summary;
use crate::ui::{self, Interruptible, Ui, file_url};
use anyhow::bail;
use fsage_core::WorkloadHeader;
use fsage_core::size::human;
use fsage_durable::{FolderLock, make_folders};
use fsage_import::git::{self, GitOptions, GitSummary};
use fsage_lab::aging::{Options, Start};
use fsage_lab::benching;
use fsage_lab::days;
use fsage_lab::experiment::{Bench, MadeOf, Steps, Verdict, print_verdict};
use fsage_lab::report;
use fsage_lab::run_folder::Manifest;
use fsage_metrics::Numbers;
use fsage_papers::Papers;
use fsage_target::TargetSpec;
use fsage_workload::home::Home;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Shows ten months of file activity decay one file system and barely touch another.
///
/// Ages a simulated 4.4BSD file system without and with cluster reallocation by two workloads: ten months of
/// home directories (synthetic, calibrated on published statistics) and the history of a git repository
/// (real). Benchmarks the first, and ends in a report of each to look at with a browser.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Repository whose history is replayed [default: the one that the current directory is in].
    #[arg(long, value_name = "REPO")]
    git: Option<PathBuf>,
    /// Folder for the workloads and the runs; a demo that is there is replaced.
    #[arg(short, long, value_name = "DIR", default_value = "demo-run")]
    output: PathBuf,
    /// Seed of the synthetic workload.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Names the folder of a demo, so that only a demo is ever replaced.
const MARK: &str = "fsage-demo.txt";

/// Layout scores that Smith and Seltzer 1996 report for this comparison: policy, first day, end.
const SMITH96: [(&str, f64, f64); 2] = [("orig", 0.924, 0.766), ("realloc", 0.950, 0.899)];

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let start = Instant::now();
    let _alone = prepare(&args.output)?;
    let mut out = ui::stdout();
    let mut pages = vec![("home directories", home_directories(args, ui, &mut out)?)];
    out.flush()?;
    match repository(args.git.as_deref()) {
        Some(repo) => pages.push(("git history", git_history(&repo, args, ui, &mut out)?)),
        None => writeln!(
            out,
            "\n2. No git repository at hand for a real workload: name one with --git REPO."
        )?,
    }
    writeln!(
        out,
        "\nDone in {:.1} s. Your own: `fsage generate git REPO -o w.parquet`, then\n\
         `fsage compare w.parquet --on ffs --on ffs:policy=realloc -o run`.\n\n\
         Look at the reports with a browser:",
        start.elapsed().as_secs_f64()
    )?;
    for (what, page) in pages {
        writeln!(out, "  {what:18}{}", page.display())?;
        writeln!(out, "{:20}{}", "", file_url(&page))?;
    }
    Ok(out.flush()?)
}

fn prepare(folder: &Path) -> anyhow::Result<FolderLock> {
    let mark = folder.join(MARK);
    let empty = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    if folder.exists() && !empty && !mark.is_file() {
        bail!(
            "{}: exists and is no demo, so it is left alone; name another folder with -o",
            folder.display()
        );
    }
    make_folders(folder)?;
    let alone = FolderLock::alone(folder)?;
    fsage_durable::write(&mark, "Made by `fsage demo`, which replaces it.\n", true)?;
    Ok(alone)
}

/// The repository to replay: the one given, else the one that the current directory is in.
fn repository(given: Option<&Path>) -> Option<PathBuf> {
    if let Some(given) = given {
        return Some(given.to_owned());
    }
    let here = std::env::current_dir().ok()?;
    let found = here.ancestors().find(|above| above.join(".git").exists());
    found.map(Path::to_owned)
}

const POLICIES: [&str; 2] = ["orig", "realloc"];

/// Ages both policies, with benchmarks where they are asked for, and writes the report; gives its page and what the
/// run says.
fn compare(
    workload: &Path,
    target: &str,
    run: &Path,
    bench: Option<benching::Options>,
    ui: Ui,
) -> anyhow::Result<(PathBuf, Vec<Verdict>)> {
    let specs = POLICIES
        .iter()
        .map(|policy| TargetSpec::parse(&format!("{target},policy={policy}")))
        .collect::<Result<Vec<_>, _>>()?;
    let bench = bench.map(|bench| Bench::new(&bench, &specs, 1));
    let age = Options::default();
    let made_of = MadeOf::new(workload, &specs, &age, bench.transpose()?)?;
    let steps = Steps {
        workload,
        specs: &specs,
        run,
        made_of: &made_of,
        start: Start {
            force: true,
            ..Start::default()
        },
    };
    ui.note("  replaying");
    steps.age(&ui)?;
    if made_of.bench.is_some() {
        ui.note("  benchmarking, aged and unaged");
    }
    steps.measure(&ui)?;
    ui.note("  writing the report\n");
    let page = run.join(report::PAGE);
    // What is missing stands on the page.
    let request = report::Request::new(run, &page).beside(&Papers);
    report::report(&request, &Ui { quiet: true })?;
    let suites = made_of
        .bench
        .map(|bench| bench.options.suites)
        .unwrap_or_default();
    let verdicts = Verdict::of_run(run, &suites)?.into_iter().zip(POLICIES);
    // The policy tells the targets apart: all else is the same for both.
    let short = verdicts.map(|(verdict, policy)| Verdict {
        target: policy.to_owned(),
        ..verdict
    });
    Ok((page, short.collect()))
}

/// What is measured on home directories: enough for bars with a spread, in a few seconds.
fn quick_bench() -> benching::Options {
    benching::Options {
        sizes: ["16K", "1M"].map(str::to_owned).to_vec(),
        repetitions: Some(6),
        ..benching::Options::default()
    }
}

fn home_directories(args: &Args, ui: Ui, out: &mut impl Write) -> anyhow::Result<PathBuf> {
    ui.note("Step 1 of 2: ten months of home directories\n  generating");
    let preset = Home::smith96();
    let path = args.output.join("home.parquet");
    let header = WorkloadHeader {
        generator: Some(format!(r#"{{"profile":"home-1996","seed":{}}}"#, args.seed)),
        ..preset.header(args.seed)
    };
    let mut workload = fsage_data::create_workload(&path, &header, true)?;
    let made = preset
        .generate(args.seed, &mut Interruptible(&mut workload))
        .map_err(fsage_lab::error::boxed)?;
    workload.finish()?;
    writeln!(
        out,
        "1. Ten months of home directories on a 502 MB file system\n\n\
         Synthetic: generated to meet the statistics that Smith and Seltzer published in 1996\n\
         ({} operations, {} written, {} days, {} files at the end); no event of it\n\
         ever happened.\n",
        made.operations,
        human(made.bytes_written),
        made.days,
        made.final_files
    )?;
    out.flush()?;
    let run = args.output.join("home");
    let (page, verdicts) = compare(&path, "ffs:preset=g502", &run, Some(quick_bench()), ui)?;
    print_verdict(out, &verdicts)?;
    let targets = Manifest::read(&run)?.targets.into_iter();
    let decay = targets.zip(POLICIES).map(|(target, policy)| {
        let mut days = days::read(&run.join(target.folder).join("days.parquet"))?;
        // The control has one day, which a curve in letters cannot show; it stands in the table above.
        for day in &mut days {
            day.control = Numbers::default();
        }
        Ok((policy.to_owned(), days))
    });
    summary::print_decay(out, &decay.collect::<anyhow::Result<Vec<_>>>()?)?;
    writeln!(
        out,
        "\nBeside the paper (its workload was real, ours is not: compare directions)"
    )?;
    let mut table = summary::table(&["policy", "day 1", "paper", "end", "paper"]);
    for ((policy, paper_first, paper_end), verdict) in SMITH96.into_iter().zip(&verdicts) {
        table.add_row(vec![
            policy.to_owned(),
            summary::digits(verdict.layout_first_day),
            format!("{paper_first:.3}"),
            summary::digits(verdict.layout_end),
            format!("{paper_end:.3}"),
        ]);
    }
    writeln!(out, "{table}")?;
    Ok(page)
}

fn git_history(repo: &Path, args: &Args, ui: Ui, out: &mut impl Write) -> anyhow::Result<PathBuf> {
    ui.note("\nStep 2 of 2: a git history\n  reading");
    let path = args.output.join("git.parquet");
    let options = GitOptions::default();
    let bar = ui.bar_count(git::count_commits(repo, &options).ok(), "reading git");
    let header = git::header(repo, &options);
    let mut workload = fsage_data::create_workload(&path, &header, true)?;
    let made = git::import(
        repo,
        &options,
        &mut Interruptible(&mut workload),
        &mut |n| {
            bar.set_position(n);
        },
    )?;
    bar.finish_and_clear();
    workload.finish()?;
    let name = repo.canonicalize().unwrap_or_else(|_| repo.to_owned());
    let name = name.file_name().unwrap_or(repo.as_os_str());
    let target = file_system_for(&made);
    writeln!(
        out,
        "\n2. The git history of {}\n\n\
         Real: {} commits, days: {}; {} written, {} files and\n\
         {} alive at the end; on {target}.\n",
        name.to_string_lossy(),
        made.commits,
        made.days,
        human(made.bytes_written),
        made.live_files,
        human(made.live_bytes)
    )?;
    out.flush()?;
    let (page, verdicts) = compare(&path, &target, &args.output.join("git"), None, ui)?;
    print_verdict(out, &verdicts)?;
    if made.days < 30 {
        writeln!(
            out,
            "\nA history this short says little of years: name a repository with more of them by --git REPO."
        )?;
    }
    Ok(page)
}

/// A file system of twice what lives on it at most, so that it is used but nothing is skipped.
fn file_system_for(made: &GitSummary) -> String {
    const GROUP: u64 = 4 << 20;
    // A fragment a file is lost on average, a block a directory at most.
    let live = made.most_live_bytes + 1024 * made.most_live_files + 8192 * made.mkdirs;
    let size = (2 * live).next_multiple_of(GROUP).max(8 << 20);
    format!("ffs:preset=small,size={}M,bytes_per_inode=2048", size >> 20)
}
