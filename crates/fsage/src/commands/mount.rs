//! `fsage mount`: an image of a run, where everybody sees it.

use crate::ui::Ui;
use fsage_lab::mounting::{self, Request};
use std::path::PathBuf;

/// Mounts the aged image of a run, or its control, on a directory (root).
///
/// It is mounted read-only, so that the run stays as it is; `fsage umount DIR` unmounts it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage mount run mnt\n  fsage mount run/loop_ext4 mnt --control"
)]
pub struct Args {
    /// RUN/TARGET, or RUN where one target alone is an image.
    target: PathBuf,
    /// An empty directory.
    dir: PathBuf,
    /// The unaged control instead: the same files, copied to a fresh file system.
    #[arg(long)]
    control: bool,
    /// So that it can be written to. The image is no longer what the run measured then.
    #[arg(long)]
    write: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let image = mounting::mount(&Request {
        target: &args.target,
        control: args.control,
        write: args.write,
        at: &args.dir,
    })?;
    let dir = args.dir.display();
    let how = if args.write { "" } else { " read-only" };
    ui.note(&format!(
        "{} is mounted{how} on {dir}. Next: fsage umount {dir}",
        image.display()
    ));
    if args.write {
        ui.warn(
            "what is written stays in the image, and the results of the run are not of it any more",
        );
    }
    Ok(())
}
