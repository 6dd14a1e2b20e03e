//! `fsage generate`: makes a workload from snapshots, a git history, traces, playback text or published statistics.

mod git;
mod nfsdump;
mod oplog;
pub mod output;
pub mod playback;
mod profile;
pub mod profile_pool;
pub mod snapshots;
mod strace;
mod tally;
mod trace;

pub use profile::again;

use crate::ui::Ui;
use anyhow::{anyhow, bail};
use clap::{Args as _, FromArgMatches as _, Subcommand};
use std::path::Path;

/// Makes a workload.
///
/// The ending of the output says its form: .parquet, or .ops, .ops.gz, .ops.zst; `-` is text to stdout.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage generate snapshots nightly/ -o mine.parquet\n  \
                  fsage generate profile home-1996 -o home.parquet\n  \
                  fsage generate git ~/src/redis --clones 20 --stagger 365 -o redis20.parquet\n  \
                  fsage generate strace build.strace.zst --window trace --profiles pool.parquet -o build.parquet"
)]
pub struct Args {
    #[command(subcommand)]
    source: Source,
}

#[derive(Debug, Subcommand)]
enum Source {
    Snapshots(snapshots::Args),
    Git(git::Args),
    Strace(strace::Args),
    Nfsdump(nfsdump::Args),
    Oplog(oplog::Args),
    Playback(playback::Args),
    Profile(profile::Args),
}

impl Source {
    /// The pool of profiles that it writes beside the workload.
    fn pool(&self) -> Option<&Path> {
        match self {
            Source::Strace(args) => args.trace.pool(),
            Source::Nfsdump(args) => args.trace.pool(),
            Source::Oplog(args) => args.trace.pool(),
            Source::Snapshots(_) | Source::Git(_) | Source::Playback(_) | Source::Profile(_) => {
                None
            }
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    match &args.source {
        Source::Snapshots(args) => snapshots::run(args, ui),
        Source::Git(args) => git::run(args, ui),
        Source::Strace(args) => strace::run(args, ui),
        Source::Nfsdump(args) => nfsdump::run(args, ui),
        Source::Oplog(args) => oplog::run(args, ui),
        Source::Playback(args) => playback::run(args, ui),
        Source::Profile(args) => profile::run(args, ui),
    }
}

/// Makes a workload file by a call of this command in words, without the output: `profile`, `home-1996`, `--days`,
/// `30`. Replaces a file of that name and prints no summary.
pub fn into_file(words: &[String], output: &Path, ui: Ui) -> anyhow::Result<()> {
    run(&parsed(words, output)?, ui)
}

/// That such a call is one: a known source, with options that it knows, and a profile that there is.
pub fn check(words: &[String]) -> anyhow::Result<()> {
    match parsed(words, Path::new("-"))?.source {
        Source::Profile(args) => profile::check(&args),
        _ => Ok(()),
    }
}

/// Whether a source draws at random, by the seed of `--seed`.
pub fn takes_seed(source: &str) -> bool {
    let command = Args::augment_args(clap::Command::new("generate"));
    let source = command.find_subcommand(source);
    source.is_some_and(|source| {
        source
            .get_arguments()
            .any(|arg| arg.get_long() == Some("seed"))
    })
}

fn parsed(words: &[String], output: &Path) -> anyhow::Result<Args> {
    let output = ["-o".as_ref(), output.as_os_str()];
    let own = ["--force", "--no-summary"].map(AsRef::as_ref);
    let words = words.iter().map(AsRef::as_ref).chain(output).chain(own);
    let command = Args::augment_args(clap::Command::new("generate").no_binary_name(true));
    let matches = command.try_get_matches_from(words);
    let args = matches.and_then(|matches| Args::from_arg_matches(&matches));
    let args = args.map_err(|error| {
        let text = error.to_string();
        // What follows is how to use it, which is long.
        let text = text.split("\n\n").next().unwrap_or_default();
        anyhow!(
            "{}",
            text.strip_prefix("error: ")
                .unwrap_or(text)
                .replace('\n', " ")
        )
    })?;
    // It may be there already, be it another's, and nobody said --force.
    if let Some(pool) = args.source.pool() {
        bail!(
            "--profiles {}: here a call makes a workload and no other file; make the pool first, with `fsage generate` \
             itself",
            pool.display()
        );
    }
    Ok(args)
}
