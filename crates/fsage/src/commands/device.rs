//! `fsage device`: simulated disks, on their own.

mod list;
mod replay;
mod show;

use crate::ui::Ui;
use anyhow::{Context, bail};
use clap::Subcommand;
use fsage_disk::{Disk, Drive, presets};
use std::path::Path;

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

/// The disk to put a file system on: a drive with its options, `flash` or `null`.
pub fn disk(name: &str) -> anyhow::Result<Disk> {
    match Disk::without_arm(name) {
        Some(disk) => Ok(disk),
        None => drive(name).map(Disk::from),
    }
}

/// The drive of a preset's name, or of a TOML file, with options behind a colon.
pub fn drive(name: &str) -> anyhow::Result<Drive> {
    if Disk::without_arm(name).is_some() {
        bail!(
            "{name} has no arm, and there is nothing to show of it; `fsage bench` and `fsage reproduce` take it"
        );
    }
    match name.split_once(':') {
        Some((drive, options)) if !Path::new(name).is_file() => {
            let drive = plain_drive(drive)?;
            let with_options = drive.with_options(options);
            with_options.with_context(|| format!("drive {name}"))
        }
        _ => plain_drive(name),
    }
}

fn plain_drive(name: &str) -> anyhow::Result<Drive> {
    if let Some(drive) = Drive::preset(name) {
        return Ok(drive);
    }
    if Path::new(name).extension().is_none_or(|e| e != "toml") {
        let names: Vec<&str> = presets::PRESETS.iter().map(|(name, _)| *name).collect();
        bail!(
            "no drive is called {name}; expected one of {}, or a file that ends in .toml",
            names.join(", ")
        );
    }
    let text = fsage_input::text(Path::new(name), fsage_input::TEXT_BYTES)
        .with_context(|| name.to_owned())?;
    Ok(Drive::parse(name, &text)?)
}
