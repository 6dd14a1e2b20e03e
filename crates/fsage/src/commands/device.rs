//! `fsage device`: simulated disks, on their own.

mod list;
mod replay;
mod show;

use crate::ui::Ui;
use clap::Subcommand;

/// Looks at simulated disks: what there is, what one is like, how long requests take on it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage device list\n  fsage device show st32430n --chart st32430n.svg\n  \
                  fsage device replay st32430n requests.txt -o times.txt\n  \
                  fsage device replay my-drive.toml queue.txt --scheduler sptf"
)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::Args),
    Show(show::Args),
    Replay(replay::Args),
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    match &args.action {
        Action::List(args) => list::run(args),
        Action::Show(args) => show::run(args),
        Action::Replay(args) => replay::run(args, ui),
    }
}
