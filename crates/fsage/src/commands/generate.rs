//! `fsage generate`: makes a workload from a git history or from published statistics.

mod tally;

use crate::exit;
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::{Context, bail};
use clap::{Subcommand, ValueEnum};
use fsage_core::{EventSink, WorkloadHeader};
use fsage_data::{WorkloadReader, create_workload};
use fsage_import::git::{self, GitOptions, GitSummary, View};
use fsage_workload::clones::{Clones, ClonesSummary};
use fsage_workload::home::{Home, HomeSummary};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use tally::Tally;

/// Makes a workload.
///
/// The ending of the output says its form: .parquet, or .ops, .ops.gz, .ops.zst; `-` is text to stdout.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage generate profile smith96 -o home.parquet\n  \
                  fsage generate git ~/src/redis --clones 20 --stagger 365 -o redis20.parquet"
)]
pub struct Args {
    #[command(subcommand)]
    source: Source,
}

#[derive(Debug, Subcommand)]
enum Source {
    Git(GitArgs),
    Profile(ProfileArgs),
}

/// The history of a git repository: real creates, changes and deletes, with exact sizes and times.
#[derive(Debug, clap::Args)]
struct GitArgs {
    /// Folder of the repository.
    repo: PathBuf,
    /// Branch, tag or commit [default: HEAD].
    #[arg(long)]
    branch: Option<String>,
    /// A step for every commit, with files rewritten in place; or one a day, with new files for changed ones.
    #[arg(long, value_enum, default_value = "commit")]
    view: ViewName,
    /// Remove directories when they become empty.
    #[arg(long)]
    rmdir: bool,
    /// So many copies side by side, each in its own directory.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    clones: u64,
    /// Move each copy but the first by 0 to this many days, at random.
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    stagger: u64,
    /// Seed of the days by which copies are moved.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ViewName {
    Commit,
    Day,
}

/// A synthetic workload after published statistics.
///
/// smith96: ten months of home directories on 502 MB, after Smith and Seltzer 1996.
#[derive(Debug, clap::Args)]
struct ProfileArgs {
    /// Which.
    #[arg(value_enum)]
    name: ProfileName,
    /// Seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The same curves over so many days, with the same activity a day [default: as published].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    days: Option<u64>,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProfileName {
    Smith96,
}

#[derive(Debug, clap::Args)]
struct Output {
    /// The workload to write.
    #[arg(short = 'o', long = "output", value_name = "W")]
    path: PathBuf,
    /// Replace a file of that name.
    #[arg(long)]
    force: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    match &args.source {
        Source::Git(args) => from_git(args, ui),
        Source::Profile(args) => from_profile(args, ui),
    }
}

fn from_git(args: &GitArgs, ui: Ui) -> anyhow::Result<()> {
    let mut options = GitOptions {
        branch: args.branch.clone(),
        view: match args.view {
            ViewName::Commit => View::Commit,
            ViewName::Day => View::Day,
        },
        remove_empty_dirs: args.rmdir,
        ..GitOptions::default()
    };
    let mut single = git::header(&args.repo, &options);
    let tip = git::tip(&args.repo, &options)?;
    let mut generator = json!({
        "name": "git",
        "version": env!("CARGO_PKG_VERSION"),
        "branch": args.branch,
        "tip": tip,
        "view": options.view.as_str(),
        "rmdir": args.rmdir,
    });
    // A commit that comes in meanwhile does not count.
    options.branch = Some(tip);
    let commits = git::count_commits(&args.repo, &options)?;
    let read = |sink: &mut dyn EventSink| {
        let bar = ui.bar_count(Some(commits), "reading commits");
        let summary = git::import(&args.repo, &options, sink, &mut |n| bar.set_position(n));
        bar.finish_and_clear();
        summary
    };
    if args.clones == 1 {
        single.generator = Some(generator.to_string());
        let (summary, tally) = write(&args.output, &single, ui, None, |sink| Ok(read(sink)?))?;
        return report(&args.output, &git_rows(&summary), &tally, ui);
    }
    generator["clones"] = args.clones.into();
    generator["stagger_days"] = args.stagger.into();
    let clones = Clones {
        count: args.clones,
        stagger_days: args.stagger,
        seed: args.seed,
    };
    let header = WorkloadHeader {
        generator: Some(generator.to_string()),
        ..clones.header(&single)
    };
    if args.output.path.exists() && !args.output.force {
        // Before the history is read, which may take long.
        bail!("{} exists: --force replaces it", args.output.path.display());
    }
    // The copies read the single history side by side, each at its own place: it must lie in a file.
    let file = Temporary::beside(&args.output.path);
    let mut once = create_workload(&file.0, &single, true)?;
    let summary = read(&mut once)?;
    once.finish()?;
    let total = (summary.operations() + 1) * args.clones;
    let (copies, tally) = write(&args.output, &header, ui, Some(total), |sink| {
        Ok(clones.interleave(|| Ok(WorkloadReader::open(&file.0)?), sink)?)
    })?;
    let rows = [git_rows(&summary), clones_rows(&summary, &copies)].concat();
    report(&args.output, &rows, &tally, ui)
}

fn from_profile(args: &ProfileArgs, ui: Ui) -> anyhow::Result<()> {
    let (name, mut home) = match args.name {
        ProfileName::Smith96 => ("smith96", Home::smith96()),
    };
    if let Some(days) = args.days {
        home = home.with_days(days);
    }
    let header = WorkloadHeader {
        generator: Some(parameters(name, &home).to_string()),
        ..home.header(args.seed)
    };
    let total = Some(home.operations);
    let (summary, tally) = write(&args.output, &header, ui, total, |sink| {
        home.generate(args.seed, sink).map_err(exit::boxed)
    })?;
    report(&args.output, &home_rows(&home, &summary), &tally, ui)
}

/// Everything that makes this workload again, but the seed.
fn parameters(name: &str, home: &Home) -> Value {
    json!({
        "name": "profile",
        "profile": name,
        "version": env!("CARGO_PKG_VERSION"),
        "days": home.days,
        "data_space_kb": home.data_space_kb,
        "operations": home.operations,
        "bytes_written": home.bytes_written,
        "initial_files": home.initial_files,
        "final_files": home.final_files,
        "utilization_permille": home.utilization,
        "files_permille": home.files,
        "ceiling_permille": home.ceiling_permille,
        "short_lived_permille": home.short_lived_permille,
        "users": home.users,
        "bursts_a_day": home.bursts_a_day,
        "deletes_a_day": home.deletes_a_day,
        "changes_a_day": home.changes_a_day,
        "large_turnover_a_day": home.large_turnover_a_day,
        "days_on_a_project": home.days_on_a_project,
        "hot_days": home.hot_days,
    })
}

/// Writes a workload, counts it, and shows how many of `total` operations are done.
fn write<S>(
    output: &Output,
    header: &WorkloadHeader,
    ui: Ui,
    total: Option<u64>,
    make: impl FnOnce(&mut dyn EventSink) -> anyhow::Result<S>,
) -> anyhow::Result<(S, Tally)> {
    let mut file = create_workload(&output.path, header, output.force)?;
    let bar = total.map(|n| ui.bar_count(Some(n), "writing"));
    let mut counted = tally::Counted::new(&mut file, bar.as_ref());
    let summary = make(&mut counted)?;
    let tally = counted.tally;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    file.finish()
        .with_context(|| format!("cannot finish {}", output.path.display()))?;
    Ok((summary, tally))
}

/// Name and value, once for people and once for JSON.
type Row = (String, String, &'static str, Value);

fn row(text: &str, key: &'static str, value: u64) -> Row {
    (text.to_owned(), value.to_string(), key, value.into())
}

fn git_rows(s: &GitSummary) -> Vec<Row> {
    vec![
        row("commits", "commits", s.commits),
        row(
            "days with commits",
            "days_with_commits",
            s.days_with_commits,
        ),
        row("days from the first to the last", "days", s.days),
        row("files at the end", "live_files", s.live_files),
        row("bytes at the end", "live_bytes", s.live_bytes),
        row(
            "of the deletions, replacements",
            "replacements",
            s.replacements,
        ),
        row(
            "symbolic links skipped",
            "symlink_changes",
            s.symlink_changes,
        ),
        row(
            "submodules skipped",
            "submodule_changes",
            s.submodule_changes,
        ),
        row(
            "changes of mode only, ignored",
            "mode_only_changes",
            s.mode_only_changes,
        ),
        row("times that go down", "times_going_down", s.times_going_down),
    ]
}

fn clones_rows(single: &GitSummary, s: &ClonesSummary) -> Vec<Row> {
    let copies = s.shifts_days.len() as u64;
    vec![
        row("clones", "clones", copies),
        row("days of all clones", "clones_days", s.days),
        row(
            "files of all clones at the end",
            "clones_live_files",
            single.live_files * copies,
        ),
        row(
            "bytes of all clones at the end",
            "clones_live_bytes",
            single.live_bytes * copies,
        ),
    ]
}

fn home_rows(home: &Home, s: &HomeSummary) -> Vec<Row> {
    let percent = |text: &str, key, permille: u64| {
        let value = permille as f64 / 10.0;
        (text.to_owned(), format!("{value:.1} %"), key, value.into())
    };
    let megabytes = |text: &str, key, kb: u64| {
        let value = kb as f64 / 1024.0;
        (text.to_owned(), format!("{value:.1} MB"), key, value.into())
    };
    let hot = format!("files modified in the last {} days", home.hot_days);
    vec![
        row("days", "days", s.days),
        percent(
            "utilization at the start",
            "initial_percent",
            s.initial_permille,
        ),
        row(
            "days over 70 %",
            "days_over_70_percent",
            s.days_over_70_percent,
        ),
        percent("utilization at most", "peak_percent", s.peak_permille),
        percent("utilization at the end", "final_percent", s.final_permille),
        row("files at the end", "live_files", s.final_files),
        row(
            "directories at the end",
            "live_directories",
            s.final_directories,
        ),
        megabytes("space of these files", "live_mb", s.final_kb),
        row(&hot, "hot_files", s.hot_files),
        megabytes("space of these", "hot_mb", s.hot_kb),
        row("writes left out for lack of space", "left_out", s.left_out),
    ]
}

/// The summary on stdout; on stderr when the workload itself went to stdout.
fn report(output: &Output, rows: &[Row], tally: &Tally, ui: Ui) -> anyhow::Result<()> {
    let mut text = Vec::new();
    if output.json {
        let facts: serde_json::Map<String, Value> = rows
            .iter()
            .map(|(_, _, key, value)| ((*key).to_owned(), value.clone()))
            .collect();
        let all = json!({
            "workload": output.path.to_string_lossy(),
            "summary": facts,
            "counts": tally.json(),
        });
        summary::print_json(&mut text, &all)?;
    } else {
        let mut table = summary::table(&["", ""]);
        for (name, value, _, _) in rows {
            table.add_row([name, value]);
        }
        writeln!(text, "{table}\n")?;
        tally.print(&mut text)?;
    }
    if output.path.as_os_str() == "-" {
        ui.note(String::from_utf8_lossy(&text).trim_end());
    } else {
        let mut out = ui::stdout();
        out.write_all(&text)?;
        out.flush()?;
    }
    Ok(())
}

/// A workload that is removed when it has been read.
struct Temporary(PathBuf);

impl Temporary {
    /// Beside the output, so that it lies where there is room for that; for stdout where the system says.
    fn beside(output: &Path) -> Temporary {
        let name = format!(".fsage-single-{}.parquet", std::process::id());
        let folder = match output.parent() {
            _ if output.as_os_str() == "-" => std::env::temp_dir(),
            Some(parent) => parent.to_path_buf(),
            None => PathBuf::new(),
        };
        Temporary(folder.join(name))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // It is not there if it was never completed.
        let _ = std::fs::remove_file(&self.0);
    }
}
