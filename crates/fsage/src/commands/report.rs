//! `fsage report`: the page of a run or an experiment.

use crate::ui::Ui;
use anyhow::bail;
use fsage_lab::report;
use fsage_papers::Papers;
use std::path::PathBuf;

/// Writes the report of a run or an experiment: one HTML file that needs no network and no other file.
///
/// A run that failed or was interrupted has a report too: it shows what there is and says what is missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  fsage report run")]
pub struct Args {
    /// The folder that `fsage age`, `fsage compare` or `fsage run` made.
    #[arg(value_name = "RUN|EXP")]
    folder: PathBuf,
    /// The file to write [default: report.html in the folder]. A report that fsage made is replaced, another file is
    /// not.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    if args.folder.is_file() {
        bail!(
            "{}: a file; name the folder of a run, which `fsage age ... -o RUN` makes",
            args.folder.display()
        );
    }
    let default = || args.folder.join(report::PAGE);
    let to = args.output.clone().unwrap_or_else(default);
    let request = report::Request::new(&args.folder, &to).beside(&Papers);
    report::report(&request, &ui)?;
    ui.note(&format!(
        "The report is {}; open it with a browser.",
        to.display()
    ));
    Ok(())
}
