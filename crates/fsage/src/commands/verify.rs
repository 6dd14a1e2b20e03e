//! `fsage verify`: whether the files of a run on a real file system hold what was written.

use crate::exit;
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::{Context, bail};
use fsage_core::size::human;
use fsage_lab::run_folder::{Manifest, State};
use fsage_lab::tree_table;
use fsage_real::Place;
use fsage_real::directory::{PlainDirectory, Verification, Volume, verify};
use fsage_real::loop_image::LoopImage;
use fsage_target::TargetSpec;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Problems that are printed of each target.
const SHOWN: usize = 20;

/// Verifies that the real file systems of a run hold what was written: every name, size, link and byte, and nothing
/// else.
///
/// Images are mounted read-only, where nobody else sees them. Exit status 1 if something is wrong.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder that `fsage age -o` made.
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

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let manifest = Manifest::read(&args.run)?;
    if manifest.state == State::Incomplete {
        bail!(
            "{}: the run was interrupted; `fsage age ... --resume` goes on with it",
            args.run.display()
        );
    }
    let mut all = Vec::new();
    for target in &manifest.targets {
        let spec = TargetSpec::parse(&target.spec)?;
        let Some(real) = spec.real()? else {
            continue;
        };
        let folder = args.run.join(&target.folder);
        let verified = verify_target(&real.place, real.options.data, &folder, ui)
            .with_context(|| format!("`{spec}` cannot be verified"))?;
        let examples = verified.problems.iter().take(SHOWN);
        all.push(Found {
            target: target.spec.clone(),
            files: verified.files,
            bytes: verified.bytes,
            problems: verified.problem_count,
            examples: examples.map(ToString::to_string).collect(),
        });
    }
    if all.is_empty() {
        bail!(
            "{}: none of its targets is a real file system; `fsage age --check` checks models",
            args.run.display()
        );
    }
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

fn verify_target(
    place: &Place,
    data: fsage_real::directory::Data,
    folder: &Path,
    ui: Ui,
) -> anyhow::Result<Verification> {
    let expected = tree_table::read(&folder.join("tree.parquet"))?;
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
