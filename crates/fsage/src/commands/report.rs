//! `fsage report`: the page of a run or an experiment, of several runs, or of snapshots.

use crate::summary;
use crate::ui::{self, Ui};
use anyhow::bail;
use fsage_lab::{cffs_image, experiment, report};
use fsage_papers::Papers;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes the report of a run or an experiment: one HTML file that needs no network and no other file.
///
/// Several runs stand on one page, each beside the first: what differs is printed too, with the 99 % interval of each
/// ratio. Of two experiments the page has what both know of the same workload on the same target, with ratios over
/// lives and their 95 % intervals, and names what only one has. Snapshots alone, a folder or files of one file system,
/// have a page of their own: decay night by night, sizes, layout, free space, and a map of the disk. So has an
/// unmounted image of ext2, ext3, ext4 or XFS as it stands.
///
/// A run that failed or was interrupted has a report too: it shows what there is and says what is missing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  fsage report run\n  fsage report before after -o page.html\n  \
                  fsage report nights/ -o nights.html\n  fsage report disk.img -o disk.html\n  \
                  fsage report run --svg pictures"
)]
pub struct Args {
    /// Folders that `fsage age`, `fsage compare` or `fsage run` made; or snapshots, folders with snapshots, and images.
    #[arg(value_name = "RUN|EXP|NIGHTS|IMAGE", required = true)]
    paths: Vec<PathBuf>,
    /// The file to write [default: report.html in the folder; of several, and of files, it has to be said]. A report
    /// that fsage made is replaced, another file is not.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write every chart of a run or an experiment into this folder, as `ID.svg`.
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
    /// Print what differs between runs, or between two experiments, as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let several = args.paths.len() > 1;
    let to = match (&args.output, &args.paths[..]) {
        (Some(output), _) => output.clone(),
        (None, [one]) if one.is_dir() => one.join(report::PAGE),
        (None, [one]) if !report::is_of_nights(one) => of_a_file(one)?,
        (None, _) => bail!("-o FILE is needed: where the page goes"),
    };
    if args.json && !several {
        bail!("--json says what differs between runs; name two of them");
    }
    if args.svg.is_some() && (several || report::is_of_nights(&args.paths[0])) {
        bail!("--svg is for the charts of one run or experiment; name one");
    }
    let mut out = ui::stdout();
    if several || report::is_of_nights(&args.paths[0]) {
        let written = report::write_several(&args.paths, &to, Some(&Papers), &ui)?;
        match (&written.matched, args.json) {
            (Some(matched), true) => summary::print_json(&mut out, matched)?,
            (Some(matched), false) => experiment::print_matched(&mut out, matched)?,
            (None, true) => summary::print_json(&mut out, &written.sides)?,
            (None, false) => report::print_sides(&mut out, &written.sides)?,
        }
    } else {
        if args.paths[0].is_file() {
            of_a_file(&args.paths[0])?;
        }
        let request = report::Request::new(&args.paths[0], &to).beside(&Papers);
        report::print_findings(&mut out, &report::report(&request, &ui)?.verdict)?;
    }
    out.flush()?;
    if let Some(folder) = &args.svg {
        let charts = report::charts(&args.paths[0], Some(&Papers))?;
        let pictures = report::write_pictures(&charts, folder)?;
        ui.note(&format!(
            "{} charts are in {}.",
            pictures.len(),
            folder.display()
        ));
    }
    ui.note(&format!(
        "The report is {}; open it with a browser.",
        to.display()
    ));
    Ok(())
}

fn of_a_file(path: &Path) -> anyhow::Result<PathBuf> {
    if path.is_file() {
        if cffs_image::is_image(path)? {
            let path = path.display();
            bail!(
                "{path}: an image of a C-FFS, which has no page; `fsage inspect {path}` shows what it holds, with \
                 --worst and --groups where its files lie"
            );
        }
        bail!(
            "{}: a file, and no snapshot; name the folder of a run, which `fsage age ... -o RUN` makes",
            path.display()
        );
    }
    // What is not there is told by who reads it.
    Ok(path.join(report::PAGE))
}
