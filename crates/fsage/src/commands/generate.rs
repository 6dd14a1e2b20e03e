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

use crate::ui::Ui;
use clap::Subcommand;

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
