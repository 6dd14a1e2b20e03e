//! `fsage verify`: whether the files of a run on a real file system hold what was written.

use crate::exit;
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::{Context, bail};
use fsage_core::size::human;
use fsage_lab::model_image::{self, tree_beside};
use fsage_lab::run_folder::{Manifest, State};
use fsage_lab::tree_table;
use fsage_real::Place;
use fsage_real::directory::{Data, PlainDirectory, Verification, Volume, verify};
use fsage_real::loop_image::{LoopImage, LoopOptions};
use fsage_target::TargetSpec;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Problems that are printed of each target.
const SHOWN: usize = 20;

/// Verifies that images and directories hold what was written: every name, size, link and byte, and nothing else.
///
/// They are the real file systems of a run, or the images of its models.
///
/// Images are mounted read-only, where nobody else sees them. Exit status 1 if something is wrong.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder that `fsage age -o` made; or an image with noise, of `fsage export --data noise`.
    run: PathBuf,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Found {
    target: String,
    files: u64,
    bytes: u64,
    problems: u64,
    examples: Vec<String>,
}

impl Found {
    fn new(target: String, verified: &Verification) -> Found {
        let examples = verified.problems.iter().take(SHOWN);
        Found {
            target,
            files: verified.files,
            bytes: verified.bytes,
            problems: verified.problem_count,
            examples: examples.map(ToString::to_string).collect(),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let all = if args.run.is_file() {
        vec![image(&args.run, args.run.display().to_string(), ui)?]
    } else {
        of_run(&args.run, ui)?
    };
    let mut out = ui::stdout();
    if args.json {
        summary::print_json(&mut out, &all)?;
    } else {
        let mut table = summary::table(&["target", "files", "bytes", "problems"]);
        for found in &all {
            table.add_row([
                found.target.clone(),
                found.files.to_string(),
                human(found.bytes),
                found.problems.to_string(),
            ]);
        }
        writeln!(out, "{table}")?;
        for found in &all {
            for problem in &found.examples {
                writeln!(out, "{}: {problem}", found.target)?;
            }
        }
    }
    out.flush()?;
    let problems: u64 = all.iter().map(|found| found.problems).sum();
    if problems > 0 {
        return Err(exit::No(format!("{problems} problems")).into());
    }
    Ok(())
}

/// The real file systems of a run, and the images of its models.
fn of_run(run: &Path, ui: Ui) -> anyhow::Result<Vec<Found>> {
    let manifest = Manifest::read(run)?;
    if manifest.state == State::Incomplete {
        bail!(
            "{}: the run was interrupted; `fsage age ... --resume` resumes it",
            run.display()
        );
    }
    let mut all = Vec::new();
    for target in &manifest.targets {
        let spec = TargetSpec::parse(&target.spec)?;
        let folder = run.join(&target.folder);
        if let Some(real) = spec.real()? {
            let tree = folder.join("tree.parquet");
            let verified = verify_place(&real.place, real.options.data, &folder, &tree, ui)
                .with_context(|| format!("`{spec}` cannot be verified"))?;
            all.push(Found::new(target.spec.clone(), &verified));
            continue;
        }
        for name in model_image::names(&spec).into_iter().flatten() {
            let path = folder.join(&name);
            if tree_beside(&path).exists() {
                all.push(image(&path, format!("{} {name}", target.spec), ui)?);
            }
        }
    }
    if all.is_empty() {
        bail!(
            "{}: none of its targets is a real file system, or has an image with noise; `fsage age --check` checks \
             models",
            run.display()
        );
    }
    Ok(all)
}

/// An image of a model.
fn image(path: &Path, target: String, ui: Ui) -> anyhow::Result<Found> {
    let options = LoopOptions::of_image(path).map_err(std::io::Error::from)?;
    let tree = tree_beside(path);
    if !tree.exists() {
        bail!(
            "{}: nothing says what its files should hold: `fsage export RUN/TARGET {} --data noise` writes that beside \
             an image, as {}",
            path.display(),
            path.display(),
            tree.display()
        );
    }
    let verified = verify_place(&Place::Loop(options), Data::Write, path, &tree, ui)
        .with_context(|| format!("{}: cannot be verified", path.display()))?;
    Ok(Found::new(target, &verified))
}

/// Compares what is there with what `tree` says. `folder` is where an image lies that has no place of its own.
fn verify_place(
    place: &Place,
    data: Data,
    folder: &Path,
    tree: &Path,
    ui: Ui,
) -> anyhow::Result<Verification> {
    let expected = tree_table::read(tree)?;
    let volume: Box<dyn Volume> = match place {
        Place::Dir(path) => Box::new(PlainDirectory::open_again(path)?),
        Place::Loop(options) => {
            let image = LoopImage::open(options, &options.image_in(folder), true);
            Box::new(image.map_err(std::io::Error::from)?)
        }
    };
    let bar = ui.bar_bytes(None, "verifying");
    let verified = verify(volume.root(), &expected, data, &mut |headway| {
        bar.set_position(headway.bytes);
        ui::go_on().is_ok()
    });
    bar.finish_and_clear();
    let closed = volume.close();
    let Some(verified) = verified else {
        ui::go_on()?;
        bail!("stopped");
    };
    closed.context("cannot unmount it")?;
    Ok(verified)
}
