//! `fsage age`: replays a workload on one or more targets and measures them day by day.

use super::targets;
use crate::summary;
use crate::ui::{self, Ui};
use anyhow::{Context, bail};
use fsage_core::Op;
use fsage_data::{OpsReader, stream};
use fsage_lab::aging::{self, Options, Request, Start};
use fsage_metrics::log;
use fsage_models::microscope::{ScriptTrace, Trace, WorkloadTrace};
use fsage_target::{SpecError, Target, TargetSpec};
use std::io::{BufRead as _, Write};
use std::path::{Path, PathBuf};

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
    /// Print what the original's driver prints: of an ffs for every probe and every failure, of an lfs for everything
    /// written and cleaned; no run is made.
    #[arg(long, conflicts_with_all = ["output", "json", "check", "lenient", "force",
        "threads", "snapshots", "resume", "control", "map"])]
    trace: bool,
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
    if args.trace {
        return trace(&args.workload, &specs);
    }
    let Some(output) = &args.output else {
        bail!("-o RUN is needed: the folder to make for the results");
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
    let mut out = ui::stdout();
    if args.json {
        summary::print_json(&mut out, &rows)?;
    } else {
        summary::print_table(&mut out, &rows)?;
    }
    out.flush()?;
    ui.note(&format!(
        "\nResults are in {0}. Next: fsage measure {0}",
        output.display()
    ));
    Ok(())
}

/// Prints the microscope's lines to stdout.
fn trace(workload: &Path, specs: &[TargetSpec]) -> anyhow::Result<()> {
    let [spec] = specs else {
        bail!("--trace looks at one target: give --on once");
    };
    let Target::Model(fs) = Target::make(spec)? else {
        bail!("--trace looks at models, and `{spec}` is a real file system");
    };
    let microscope = spec.entry().and_then(|entry| entry.microscope);
    match microscope.and_then(|microscope| (microscope.over)(fs)) {
        Some(Trace::Workload(mut trace)) => trace_workload(workload, &mut *trace),
        Some(Trace::Script(mut trace)) => trace_script(workload, &mut *trace),
        None => bail!("--trace knows {}, not `{spec}`", targets::with_microscope()),
    }
}

fn trace_workload(workload: &Path, trace: &mut dyn WorkloadTrace) -> anyhow::Result<()> {
    if fsage_data::is_parquet(workload)? {
        bail!(
            "{}: --trace prints the lines of a script, so it needs .ops text; `fsage convert` makes it",
            workload.display()
        );
    }
    let mut reader = OpsReader::open(workload)?;
    let mut out = ui::stdout();
    loop {
        ui::go_on()?;
        match reader.next_event() {
            Ok(Some(event)) => {
                let label = match event.op {
                    Op::Day => event.name.as_deref().unwrap_or_default(),
                    _ => &[],
                };
                trace.step(&event.op, label, reader.line_text().as_bytes(), &mut out)?;
            }
            Ok(None) => break,
            Err(error) if error.is_unknown_operation() => {
                trace.bad_line(reader.line_text().as_bytes(), &mut out)?;
            }
            Err(error) => {
                out.flush()?;
                return Err(error).context("the trace ends here");
            }
        }
    }
    Ok(out.flush()?)
}

fn trace_script(workload: &Path, trace: &mut dyn ScriptTrace) -> anyhow::Result<()> {
    let cannot_read = || format!("cannot read {}", workload.display());
    let (script, _) = stream::open(workload).with_context(cannot_read)?;
    let mut out = ui::stdout();
    for (i, line) in script.lines().enumerate() {
        ui::go_on()?;
        if let Err(error) = trace.step(&line.with_context(cannot_read)?, &mut out, &ui::go_on) {
            out.flush()?;
            return Err(error).with_context(|| format!("{}:{}", workload.display(), i + 1));
        }
    }
    trace.finish(&mut out)?;
    Ok(out.flush()?)
}
