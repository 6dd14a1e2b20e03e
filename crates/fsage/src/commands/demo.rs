//! `fsage demo`: the whole pipeline on two workloads, and what the papers found beside it.

use crate::aging::{self, Options};
use crate::days::DayRow;
use crate::exit;
use crate::summary;
use crate::ui::{self, Interruptible, Ui};
use anyhow::{Context, bail};
use fsage_core::WorkloadHeader;
use fsage_core::size::human;
use fsage_import::git::{self, GitOptions, GitSummary};
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
/// (real), and prints how their layout decays.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Repository whose history is replayed [default: the clone that fsage was built from].
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
    prepare(&args.output)?;
    let mut out = ui::stdout();
    home_directories(args, ui, &mut out)?;
    out.flush()?;
    match repository(args.git.as_deref()) {
        Some(repo) => git_history(&repo, args, ui, &mut out)?,
        None => writeln!(
            out,
            "\n2. No git repository at hand for a real workload: name one with --git REPO."
        )?,
    }
    writeln!(
        out,
        "\nDone in {:.1} s. Everything is in {1}: look closer with `fsage measure {1}/home`,\n\
         or age your own: `fsage generate git REPO -o w.parquet`, then\n\
         `fsage age w.parquet --on ffs --on ffs:policy=realloc -o run`.",
        start.elapsed().as_secs_f64(),
        args.output.display()
    )?;
    Ok(out.flush()?)
}

fn prepare(folder: &Path) -> anyhow::Result<()> {
    let mark = folder.join(MARK);
    let empty = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    if folder.exists() && !empty && !mark.is_file() {
        bail!(
            "{}: exists and is no demo, so it is left alone; name another folder with -o",
            folder.display()
        );
    }
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&mark, "Made by `fsage demo`, which replaces it.\n"))
        .with_context(|| format!("{}: cannot make the folder of the demo", folder.display()))
}

/// The repository to replay: the one given, else the clone that the program was built from.
fn repository(given: Option<&Path>) -> Option<PathBuf> {
    if let Some(given) = given {
        return Some(given.to_owned());
    }
    let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built_from = built_from.canonicalize().ok()?;
    built_from.join(".git").exists().then_some(built_from)
}

const POLICIES: [&str; 2] = ["orig", "realloc"];

/// Ages both policies and prints table and curves; gives the days of each.
fn age_both(
    workload: &Path,
    target: &str,
    run: &Path,
    ui: Ui,
    out: &mut impl Write,
) -> anyhow::Result<Vec<Vec<DayRow>>> {
    let specs = POLICIES
        .iter()
        .map(|policy| TargetSpec::parse(&format!("{target},policy={policy}")))
        .collect::<Result<Vec<_>, _>>()?;
    let options = Options {
        force: true,
        ..Options::default()
    };
    let aged = aging::age(workload, &specs, run, &options, ui)?;
    let targets: Vec<(String, Vec<DayRow>)> = specs
        .iter()
        .zip(aged)
        .map(|(spec, aged)| (short_name(spec), aged.rows))
        .collect();
    let rows: Vec<summary::Row> = targets
        .iter()
        .map(|(name, days)| summary::Row::new(name, days))
        .collect();
    summary::print_table(out, &rows)?;
    summary::print_decay(out, &targets)?;
    Ok(targets.into_iter().map(|(_, days)| days).collect())
}

/// The policy: all else is the same for both.
fn short_name(spec: &TargetSpec) -> String {
    let policy = spec.options.iter().find(|(key, _)| key == "policy");
    let policy = policy.and_then(|(_, value)| value.clone());
    policy.unwrap_or_else(|| spec.to_string())
}

fn home_directories(args: &Args, ui: Ui, out: &mut impl Write) -> anyhow::Result<()> {
    let preset = Home::smith96();
    let path = args.output.join("home.parquet");
    let header = WorkloadHeader {
        generator: Some(format!(r#"{{"profile":"smith96","seed":{}}}"#, args.seed)),
        ..preset.header(args.seed)
    };
    let mut workload = fsage_data::create_workload(&path, &header, true)?;
    let made = preset
        .generate(args.seed, &mut Interruptible(&mut workload))
        .map_err(exit::boxed)?;
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
    let run = args.output.join("home");
    let days = age_both(&path, "ffs:preset=g502", &run, ui, out)?;
    writeln!(
        out,
        "\nBeside the paper (its workload was real, ours is not: compare directions)"
    )?;
    let mut table = summary::table(&[
        "policy",
        "day 1",
        "paper",
        "end",
        "paper",
        "blocks out of place",
        "paper",
    ]);
    for ((policy, paper_first, paper_end), days) in SMITH96.into_iter().zip(&days) {
        let score = |day: Option<&DayRow>| day.map_or(1.0, |d| d.layout_score);
        let end = score(days.last());
        table.add_row(vec![
            policy.to_owned(),
            format!("{:.3}", score(days.first())),
            format!("{paper_first:.3}"),
            format!("{end:.3}"),
            format!("{paper_end:.3}"),
            summary::percent(Some(1.0 - end)),
            summary::percent(Some(1.0 - paper_end)),
        ]);
    }
    writeln!(out, "{table}")?;
    Ok(())
}

fn git_history(repo: &Path, args: &Args, ui: Ui, out: &mut impl Write) -> anyhow::Result<()> {
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
    age_both(&path, &target, &args.output.join("git"), ui, out)?;
    if made.days < 30 {
        writeln!(
            out,
            "\nSo short a history decays little: name a repository with years of it by --git REPO."
        )?;
    }
    Ok(())
}

/// A file system of twice what lives on it at most, so that it is used but nothing is skipped.
fn file_system_for(made: &GitSummary) -> String {
    const GROUP: u64 = 4 << 20;
    // A fragment a file is lost on average, a block a directory at most.
    let live = made.most_live_bytes + 1024 * made.most_live_files + 8192 * made.mkdirs;
    let size = (2 * live).next_multiple_of(GROUP).max(8 << 20);
    format!("ffs:preset=small,size={}M,bytes_per_inode=2048", size >> 20)
}
