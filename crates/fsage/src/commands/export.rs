//! `fsage export`: an aged model as an image.

use crate::ui::{self, Ui};
use anyhow::{Context, bail};
use fsage_core::Layout as _;
use fsage_core::size::human;
use fsage_lab::aging;
use fsage_lab::cffs_image::{self, FileSystem};
use fsage_lab::run_folder::{Manifest, State, TargetFacts};
use fsage_models::cffs::{self, Cffs};
use fsage_target::{Target, TargetSpec};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes an aged C-FFS as an image: its metadata as they lie on disk, in a sparse file of the size of the partition.
///
/// A run keeps no state of a model; the workload makes it again, to the last block. Data are holes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage export cffs disk.img run\n  fsage export cffs disk.img run/cffs\n  \
                        fsage export cffs disk.img w.parquet --on cffs:size=128M"
)]
pub struct Args {
    /// What kind of file system.
    #[arg(value_enum, value_name = "KIND")]
    kind: FileSystem,
    /// The image to write.
    image: PathBuf,
    /// A run, RUN or RUN/TARGET; with --on a workload.
    from: PathBuf,
    /// The target that the workload ages.
    #[arg(long = "on", value_name = "SPEC")]
    on: Option<String>,
    /// Where the workload of the run is, if it has moved.
    #[arg(long, value_name = "FILE", conflicts_with = "on")]
    workload: Option<PathBuf>,
    /// Write over an existing file.
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
    let FileSystem::Cffs = args.kind;
    let target = match &args.on {
        Some(spec) => {
            let spec = TargetSpec::parse(spec)?;
            is_cffs(&spec.to_string())?;
            aging::aged(&spec, &args.from, false, &ui)?.into_target()
        }
        None => of_run(&args.from, args.workload.as_deref(), ui)?,
    };
    let fs = cffs(target)?;
    cffs_image::write(&args.image, &fs, args.force)?;
    let holds = fs.holds();
    let mut out = ui::stdout();
    writeln!(
        out,
        "{}: {}, {} directories, {} files",
        args.image.display(),
        human(fs.geometry().size_bytes),
        holds.directories,
        holds.files
    )?;
    Ok(out.flush()?)
}

fn is_cffs(spec: &str) -> anyhow::Result<()> {
    let kind = cffs::ENTRY.name;
    if spec.split(':').next() == Some(kind) {
        return Ok(());
    }
    bail!("`{spec}`: there are images of C-FFS alone; expected {kind}, or {kind}:KEY=VALUE,...")
}

fn cffs(target: Target) -> anyhow::Result<Box<Cffs>> {
    let fs = target.into_model();
    fs.context("there are images of C-FFS alone")
}

/// The model of a run, or of one target of it.
fn of_run(path: &Path, workload: Option<&Path>, ui: Ui) -> anyhow::Result<Target> {
    let above = path.parent().filter(|above| Manifest::is_run(above));
    let (run, folder) = match (Manifest::is_run(path), above, path.file_name()) {
        (false, Some(above), Some(name)) => (above, Some(name.to_string_lossy())),
        _ => (path, None),
    };
    if path.is_file() {
        bail!(
            "{}: a file, and no run; a workload needs --on SPEC",
            path.display()
        );
    }
    let manifest = Manifest::read(run)?;
    if manifest.state == State::Incomplete {
        bail!(
            "{}: an interrupted run; `fsage age ... --resume` ends it",
            run.display()
        );
    }
    let chosen = |target: &&TargetFacts| match &folder {
        Some(folder) => target.folder == **folder,
        None => is_cffs(&target.spec).is_ok(),
    };
    let targets: Vec<&TargetFacts> = manifest.targets.iter().filter(chosen).collect();
    let [target] = targets[..] else {
        let folders = manifest.targets.iter().map(|target| target.folder.as_str());
        let folders: Vec<&str> = folders.collect();
        bail!(
            "{}: {} of its targets fit; expected RUN/TARGET, with one of {}",
            path.display(),
            targets.len(),
            folders.join(", ")
        );
    };
    is_cffs(&target.spec)?;
    let workload = manifest.workload.find(run, workload)?;
    Ok(aging::model_of(run, &manifest, target, &workload, &ui)?)
}
