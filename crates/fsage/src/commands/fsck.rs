//! `fsage fsck`: checks an image, and repairs it.

use crate::exit::No;
use crate::summary::print_json;
use crate::ui::{self, Ui};
use anyhow::{Context, bail};
use fsage_lab::cffs_image::{self, FileSystem};
use fsage_models::cffs::image::{Kind, Recovery};
use serde_json::json;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Checks an image of a C-FFS: bitmaps, link counts and lost directories follow from what lies in its directories.
///
/// Directories to which no name leads any more are found through the directory map. Nothing is written without
/// --repair; then the image as it was stays, as IMAGE.damaged. Exit status 0: nothing is wrong; 1: something was, and
/// with --repair is no longer; 2: there is no such file system.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage fsck cffs disk.img\n  fsage fsck cffs disk.img --repair"
)]
pub struct Args {
    /// What kind of file system.
    #[arg(value_enum, value_name = "KIND")]
    kind: FileSystem,
    /// The image.
    image: PathBuf,
    /// Write the repaired image; the damaged one becomes IMAGE.damaged.
    #[arg(long)]
    repair: bool,
    /// Write nothing, which is what is done without --repair.
    #[arg(short = 'n', long, conflicts_with = "repair")]
    no_change: bool,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args, _ui: Ui) -> anyhow::Result<()> {
    let FileSystem::Cffs = args.kind;
    let image = &args.image;
    let recovery = cffs_image::read(image)?;
    let wrong = !recovery.findings.is_empty();
    if args.repair && wrong {
        repair(image, &recovery)?;
    }
    print(args, &recovery)?;
    if !wrong {
        return Ok(());
    }
    let findings = recovery.findings.len();
    let image = image.display();
    let what = if args.repair {
        format!("{image}: {findings} findings, repaired; as it was: {image}.damaged")
    } else {
        format!("{image}: {findings} findings; --repair makes it right")
    };
    Err(No(what).into())
}

/// The damaged image is kept under another name.
fn repair(image: &Path, recovery: &Recovery) -> anyhow::Result<()> {
    // A symbolic link stays, and leads to the repaired image.
    let image = &image
        .canonicalize()
        .with_context(|| format!("{}: cannot be read", image.display()))?;
    let mut kept = image.as_os_str().to_owned();
    kept.push(".damaged");
    let kept = PathBuf::from(kept);
    let failed = || {
        format!(
            "{}: the damaged image cannot be kept under this name",
            kept.display()
        )
    };
    if kept.symlink_metadata().is_ok() {
        bail!(
            "{}: exists already; move it away: the damaged image is kept under this name",
            kept.display()
        );
    }
    // A second name: until the repaired image has taken the first one, nothing has changed.
    fs::hard_link(image, &kept).with_context(failed)?;
    if let Err(e) = cffs_image::write(image, &recovery.fs, true) {
        fs::remove_file(&kept).with_context(failed)?;
        return Err(e.into());
    }
    Ok(())
}

fn print(args: &Args, recovery: &Recovery) -> anyhow::Result<()> {
    let (holds, image) = (&recovery.holds, args.image.display());
    let count = |kind| recovery.findings.iter().filter(|f| f.kind == kind).count();
    let kinds = [Kind::Lost, Kind::Found, Kind::Freed, Kind::Fixed];
    let repaired = args.repair && !recovery.findings.is_empty();
    let mut out = ui::stdout();
    if args.json {
        let findings = recovery.findings.iter();
        let findings: Vec<_> = findings
            .map(|finding| json!({"kind": finding.kind.name(), "what": finding.what}))
            .collect();
        let counts: serde_json::Map<_, _> = kinds
            .map(|kind| (kind.name().to_owned(), count(kind).into()))
            .into_iter()
            .collect();
        let value = json!({
            "image": image.to_string(),
            "clean": recovery.findings.is_empty(),
            "repaired": repaired,
            "counts": counts,
            "findings": findings,
            "directories": holds.directories,
            "files": holds.files,
        });
        print_json(&mut out, &value)?;
        return Ok(out.flush()?);
    }
    for finding in &recovery.findings {
        writeln!(out, "{finding}")?;
    }
    let state = match (recovery.findings.is_empty(), repaired) {
        (true, _) => "clean",
        (false, true) => "repaired",
        (false, false) => "damaged",
    };
    let (directories, files) = (holds.directories, holds.files);
    writeln!(
        out,
        "{image}: {state}, {directories} directories, {files} files"
    )?;
    Ok(out.flush()?)
}
