//! `fsage age`: replays a workload on one or more targets and measures them day by day.

mod trace;

use super::targets;
use crate::summary;
use crate::ui::{self, Ui};
use fsage_lab::aging::{self, Options, Request, Start};
use fsage_lab::clusters;
use fsage_lab::images;
use fsage_lab::workload::is_there;
use fsage_metrics::log;
use fsage_target::{SpecError, TargetSpec};
use std::io::Write;
use std::path::PathBuf;

/// Replays a workload on targets and measures how their layout decays.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  fsage age w.parquet --on ffs --on ffs:policy=realloc -o run\n\n\
                        `--help` shows what a SPEC may say.", after_long_help = targets::help())]
pub struct Args {
    /// The workload: Parquet, or .ops text (plain, gzip or zstd); `-` is text from stdin.
    workload: PathBuf,
    /// A target, KIND[:KEY=VALUE|FLAG,...]; may be given several times. Without a size it takes the workload's.
    #[arg(long = "on", value_name = "SPEC", required = true)]
    on: Vec<String>,
    /// Folder to make for the results.
    #[arg(short, long, value_name = "RUN", required_unless_present = "trace")]
    output: Option<PathBuf>,
    /// Print what happens inside a model, and make no run: of ext4 and xfs every request for blocks, of an ffs what the
    /// original's driver prints, of an lfs everything written and cleaned.
    #[arg(long, conflicts_with_all = ["output", "json", "check", "lenient", "force",
        "threads", "snapshots", "resume", "control", "map"])]
    trace: bool,
    /// With --trace of ext4 or xfs, print the requests of this inode alone.
    #[arg(long, value_name = "N", requires = "trace")]
    inode: Option<u64>,
    #[command(flatten)]
    options: Options,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    start: Start,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let specs = args
        .on
        .iter()
        .map(|text| TargetSpec::parse(text))
        .collect::<Result<Vec<_>, SpecError>>()?;
    is_there(&args.workload)?;
    if args.trace {
        return trace::trace(&args.workload, &specs, args.inode, ui);
    }
    let Some(output) = &args.output else {
        anyhow::bail!("-o RUN is needed: the folder to make for the results");
    };
    let specs = aging::sized(&args.workload, &specs, &ui)?;
    let request = Request {
        options: args.options,
        start: args.start,
        ..Request::new(&args.workload, &specs, output)
    };
    let aged = aging::age(&request, &ui)?;
    let rows: Vec<summary::Row> = aged
        .iter()
        .map(|aged| summary::Row::new(&aged.spec, &aged.rows))
        .collect();
    for row in rows
        .iter()
        .filter(|row| row.last.count(&log::ENDED) == Some(1))
    {
        ui.warn(&format!(
            "{}: the log has come to its end, and nothing more could be written: its cleaner cannot progress",
            row.target
        ));
    }
    let targets = rows.iter().map(|row| row.target.as_str());
    if let Some(warning) = clusters::warning(targets.map(|target| (target, target))) {
        ui.warn(&warning);
    }
    let mut out = ui::stdout();
    if args.json {
        summary::print_json(&mut out, &rows)?;
    } else {
        summary::print_table(&mut out, &rows)?;
    }
    out.flush()?;
    images::say_room(output, [(output.to_owned(), &specs[..])], &ui);
    ui.note(&format!(
        "\nResults are in {0}. Next: fsage measure {0}",
        output.display()
    ));
    Ok(())
}
