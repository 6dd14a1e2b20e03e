//! `fsage export`: an aged model as an image.

use crate::ui::{self, Ui};
use anyhow::{Context, bail};
use fsage_core::Layout as _;
use fsage_core::size::human;
use fsage_data::snapshot;
use fsage_lab::aging;
use fsage_lab::cffs_image;
use fsage_lab::model_image::{self, Beside, Contents, How};
use fsage_lab::run_folder::OneTarget;
use fsage_models::cffs::Cffs;
use fsage_models::registry::Image;
use fsage_target::{Aging, TargetSpec};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Exports an aged ext4, XFS or C-FFS, or the file system of a snapshot, as an image: a sparse file of the size of the
/// partition.
///
/// A run keeps no state of a model; the workload makes it again, to the last block. Images of ext4 and XFS can be
/// mounted. Files have the names, times and permissions of the workload or the snapshot, and those of a snapshot lie
/// where they lay; contents are holes, unless --data says otherwise.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage export run/ext4 disk.img\n  fsage export run/ext4 fresh.img --control\n  \
                        fsage export w.parquet disk.img --on ext4:size=1T --data noise\n  \
                        fsage export snapshot.parquet like-it.img"
)]
pub struct Args {
    /// A run, RUN or RUN/TARGET; a snapshot; with --on a workload.
    from: PathBuf,
    /// The image to write; of ext4 and XFS, also a block device.
    image: PathBuf,
    /// The target that the workload ages; of a snapshot its model, with keys for what it does not say.
    #[arg(long = "on", value_name = "SPEC")]
    on: Option<String>,
    /// Where the workload of the run is, if it has moved.
    #[arg(long, value_name = "FILE", conflicts_with = "on")]
    workload: Option<PathBuf>,
    /// The unaged control instead: the same files, copied to a fresh file system.
    #[arg(long)]
    control: bool,
    /// What the blocks of files hold, of ext4 and XFS. `fsage verify IMAGE` knows noise again.
    #[arg(long, value_enum, value_name = "CONTENTS", default_value_t)]
    data: Contents,
    /// Write over an existing file, or over a block device that is not in use.
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    if !args.force && args.image.symlink_metadata().is_ok() {
        bail!(
            "{}: exists already (--force replaces it)",
            args.image.display()
        );
    }
    let is_snapshot = args.from.is_file() && snapshot::is_snapshot(&args.from)?;
    let (mut stamps, mut snapshot) = (None, None);
    let (spec, mut target) = if is_snapshot {
        let sizes = snapshot::read_sizes(&args.from)?;
        let spec = args.on.as_deref().unwrap_or(&sizes.geometry.fs_type);
        let spec = TargetSpec::parse(spec)?;
        let (spec, target, found) = model_image::of_snapshot(&spec, &args.from)?;
        snapshot = Some(found);
        (spec, target)
    } else {
        let (spec, mut aging) = aged(args, ui)?;
        stamps = aging.take_stamps();
        (spec, aging.into_target())
    };
    let mut copied_from = None;
    if args.control {
        let (control, copied) = aging::model_control(&spec, &target, &ui)?;
        copied_from = Some(model_image::copied_from(&control, &copied));
        target = control;
    }
    if let Some(fs) = target.as_mountable() {
        let how = How {
            contents: args.data,
            force: args.force,
            beside: Beside {
                stamps: stamps.as_deref(),
                copied_from: copied_from.as_ref(),
                snapshot: snapshot.as_ref(),
            },
            is_control: args.control,
        };
        model_image::write(&args.image, fs, &how, &ui)?;
        let (mut directories, mut files) = (0, 0);
        fs.visit_files(&mut |file| match file.kind {
            fsage_core::FileKind::Directory => directories += 1,
            _ => files += 1,
        });
        return say(args, fs.geometry().size_bytes, directories, files);
    }
    if args.data != Contents::None {
        let with = Image::models(|image| image == Image::Mountable).join(", ");
        bail!("--data: an image of `{spec}` holds no contents of files; those of {with} do");
    }
    let fs: Option<Box<Cffs>> = target.into_model();
    let fs = fs.with_context(no_image)?;
    cffs_image::write(&args.image, &fs, args.force)?;
    let holds = fs.holds();
    say(
        args,
        fs.geometry().size_bytes,
        holds.directories,
        holds.files,
    )
}

/// The aged model of a workload or a run.
fn aged(args: &Args, ui: Ui) -> anyhow::Result<(TargetSpec, Aging)> {
    let Some(spec) = &args.on else {
        return of_run(&args.from, args.workload.as_deref(), ui);
    };
    let spec = TargetSpec::parse(spec)?;
    has_image(&spec)?;
    let aging = aging::aged(&spec, &args.from, false, &ui)?;
    Ok((spec, aging))
}

fn say(args: &Args, bytes: u64, directories: u64, files: u64) -> anyhow::Result<()> {
    let mut out = ui::stdout();
    writeln!(
        out,
        "{}: {}, {directories} directories, {files} files",
        args.image.display(),
        human(bytes),
    )?;
    Ok(out.flush()?)
}

fn no_image() -> String {
    let models = Image::models(|_| true).join(", ");
    format!("there are images of these models alone: {models}")
}

fn has_image(spec: &TargetSpec) -> anyhow::Result<()> {
    if spec.entry().is_some_and(|entry| entry.image.is_some()) {
        return Ok(());
    }
    bail!("`{spec}`: {}", no_image())
}

/// The model of a run, or of one target of it.
fn of_run(path: &Path, workload: Option<&Path>, ui: Ui) -> anyhow::Result<(TargetSpec, Aging)> {
    if path.is_file() {
        bail!(
            "{}: a file, and no run; a workload needs --on SPEC",
            path.display()
        );
    }
    let OneTarget {
        run,
        manifest,
        facts,
        spec,
    } = OneTarget::find(path, |spec| has_image(spec).is_ok())
        .or_else(|why| OneTarget::find(path, |_| true).map_err(|_| why))?;
    if spec.real()?.is_some() {
        bail!(
            "`{spec}`: a real file system, which needs no export: `fsage mount {} DIR` mounts it, and its image is in \
             that folder",
            run.join(&facts.folder).display()
        );
    }
    has_image(&spec)?;
    let workload = manifest.workload.find(&run, workload)?;
    let aging = aging::model_of(&run, &manifest, &facts, &workload, &ui)?;
    Ok((spec, aging))
}
