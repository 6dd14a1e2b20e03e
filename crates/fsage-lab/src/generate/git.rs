//! `fsage generate git`: a workload from the history of a git repository.

use super::copies::write_copies;
use super::output::{Generated, Output, Row, row, write};
use crate::error::bail;
use crate::watch::Watch;
use clap::ValueEnum;
use fsage_core::EventSink;
use fsage_import::git::{self, GitOptions, GitSummary, View};
use fsage_workload::clones::{Clones, ClonesSummary};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::PathBuf;

/// The history of a git repository: real creates, changes and deletes, with exact sizes and times.
#[derive(Clone, Debug, clap::Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Git {
    /// Folder of the repository.
    pub repo: PathBuf,
    /// Branch, tag or commit [default: HEAD].
    #[arg(long)]
    #[serde(default)]
    pub branch: Option<String>,
    /// A step for every commit, with files rewritten in place; or one a day, with new files for changed ones.
    #[arg(long, value_enum, default_value = "commit")]
    #[serde(default)]
    pub view: ViewName,
    /// Remove directories when they become empty.
    #[arg(long)]
    #[serde(default)]
    pub rmdir: bool,
    /// So many copies side by side, each in its own directory.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=MOST_CLONES))]
    #[serde(default = "one")]
    pub clones: u64,
    /// Move each copy but the first by 0 to this many days, at random.
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    #[serde(default)]
    pub stagger: u64,
    /// Seed of the days by which copies are moved [default: 1].
    #[arg(long, value_name = "SEED")]
    #[serde(default)]
    pub seed: Option<u64>,
}

fn one() -> u64 {
    1
}

/// What a step of the workload is.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum ViewName {
    // No more to say of them: what it would be, `--view` says in its help.
    #[default]
    Commit,
    Day,
}

/// Copies side by side, at most.
pub(super) const MOST_CLONES: u64 = 100_000;

/// That the options make sense.
pub fn check(args: &Git) -> crate::Result<()> {
    if !(1..=MOST_CLONES).contains(&args.clones) {
        bail!("clones: expected 1 to {MOST_CLONES}");
    }
    Ok(())
}

/// Makes the workload.
///
/// # Errors
/// The input is not what it should be, or cannot be read; the output cannot be written.
pub fn run(args: &Git, output: &Output, ui: &dyn Watch) -> crate::Result<Generated> {
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
        drop(bar);
        summary
    };
    if args.clones == 1 {
        single.generator = Some(generator.to_string());
        let (summary, tally) = write(output, &single, ui, None, |sink| Ok(read(sink)?))?;
        return Ok(Generated::new(git_rows(&summary), tally));
    }
    generator["clones"] = args.clones.into();
    generator["stagger_days"] = args.stagger.into();
    let clones = Clones::new(args.clones, args.stagger, args.seed.unwrap_or(1));
    let generator = generator.to_string();
    let (summary, copies, tally) = write_copies(output, &single, generator, &clones, ui, |sink| {
        Ok(read(sink)?)
    })?;
    let rows = [git_rows(&summary), clones_rows(&summary, &copies)].concat();
    Ok(Generated::new(rows, tally))
}

fn git_rows(s: &GitSummary) -> Vec<Row> {
    vec![
        row("commits (first parents)", "commits", s.commits),
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
