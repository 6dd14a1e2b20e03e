//! `fsage umount`: unmounts an image of a run.

use crate::ui::Ui;
use fsage_lab::mounting;
use std::path::PathBuf;

/// Unmounts what `fsage mount` mounted on a directory, and nothing else.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  fsage umount mnt")]
pub struct Args {
    /// The directory.
    dir: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let image = mounting::unmount(&args.dir)?;
    ui.note(&format!("{} is unmounted.", image.display()));
    Ok(())
}
