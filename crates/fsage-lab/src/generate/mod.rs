//! Making a workload: from snapshots, a git history, traces, playback text or published statistics.

mod git;
mod nfsdump;
mod oplog;
mod output;
mod playback;
mod profile;
mod profile_pool;
mod snapshots;
mod strace;
mod tally;
mod trace;

pub use output::{Generated, Output, Row, may_write, row};
pub use playback::{GroupOptions, import as import_playback};
pub use profile::{Question, again, text_of};
pub use profile_pool::{check as pool_may_be_written, read as read_pool, write as write_pool};
pub use snapshots::GrowthName;
pub use tally::Tally;

use crate::Result;
use crate::error::{bail, error};
use crate::watch::Watch;
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
    /// Where it comes from.
    pub source: Source,
}

/// Where the workload comes from.
#[derive(Debug, Subcommand)]
#[allow(missing_docs)] // Each is documented by its arguments, and here would become their help.
pub enum Source {
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

impl Args {
    /// What is asked for instead of a workload.
    pub fn question(&self) -> Option<Question<'_>> {
        match &self.source {
            Source::Profile(args) => args.question(),
            _ => None,
        }
    }

    /// The workload to write; `None` where a question is asked.
    pub fn output(&self) -> Option<&Path> {
        Some(match &self.source {
            Source::Snapshots(args) => &args.output.path,
            Source::Git(args) => &args.output.path,
            Source::Strace(args) => &args.trace.output.path,
            Source::Nfsdump(args) => &args.trace.output.path,
            Source::Oplog(args) => &args.trace.output.path,
            Source::Playback(args) => &args.output.path,
            Source::Profile(args) => args.output.as_ref()?,
        })
    }

    /// Whether the summary is wanted as JSON.
    pub fn json(&self) -> bool {
        match &self.source {
            Source::Snapshots(args) => args.output.json,
            Source::Git(args) => args.output.json,
            Source::Strace(args) => args.trace.output.json,
            Source::Nfsdump(args) => args.trace.output.json,
            Source::Oplog(args) => args.trace.output.json,
            Source::Playback(args) => args.output.json,
            Source::Profile(args) => args.json,
        }
    }
}

/// Makes the workload.
///
/// # Errors
/// The input is not what it should be, or cannot be read; the output is there, or cannot be written.
pub fn generate(args: &Args, ui: &dyn Watch) -> Result<Generated> {
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
/// `30`. Replaces a file of that name.
///
/// # Errors
/// The words are no call; as [`generate`].
pub fn into_file(words: &[String], output: &Path, ui: &dyn Watch) -> crate::Result<()> {
    generate(&parsed(words, output)?, ui).map(drop)
}

/// That such a call is one: a known source, with options that it knows, and a profile that there is.
///
/// # Errors
/// It is none; the message says what is wrong with it.
pub fn check(words: &[String]) -> crate::Result<()> {
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

fn parsed(words: &[String], output: &Path) -> crate::Result<Args> {
    let output = ["-o".as_ref(), output.as_os_str()];
    let own = ["--force".as_ref()];
    let words = words.iter().map(AsRef::as_ref).chain(output).chain(own);
    let command = Args::augment_args(clap::Command::new("generate").no_binary_name(true));
    let matches = command.try_get_matches_from(words);
    let args = matches.and_then(|matches| Args::from_arg_matches(&matches));
    let args = args.map_err(|error| {
        let text = error.to_string();
        // What follows is how to use it, which is long.
        let text = text.split("\n\n").next().unwrap_or_default();
        error!(
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
