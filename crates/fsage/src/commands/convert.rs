//! `fsage convert`: a workload from one form into another.

use super::inspect::for_each_event;
use crate::ui::Ui;
use anyhow::bail;
use fsage_data::{create_workload, open_workload};
use std::fs;
use std::path::PathBuf;

/// Converts a workload between Parquet and .ops text.
///
/// Text and back gives the same bytes, but for comments, blank lines, size suffixes and spacing. Probes (dump,
/// cgs, geom, check, layout) are not stored in Parquet.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The workload: Parquet or .ops text, which may be compressed; `-` is text from standard input.
    from: PathBuf,
    /// What to write: NAME.parquet, NAME.ops, NAME.ops.gz or NAME.ops.zst; `-` is text to standard output.
    to: PathBuf,
    /// Write over an existing file.
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    if let (Ok(from), Ok(to)) = (fs::canonicalize(&args.from), fs::canonicalize(&args.to))
        && from == to
    {
        bail!("{}: cannot be converted into itself", args.from.display());
    }
    let mut source = open_workload(&args.from)?;
    let mut output = create_workload(&args.to, source.header(), args.force)?;
    let mut last_t = None;
    let mut times_down = 0_u64;
    for_each_event(source.as_mut(), ui, "converting", |event| {
        times_down += u64::from(event.t_ns.is_some() && event.t_ns < last_t);
        last_t = event.t_ns.or(last_t);
        Ok(output.write(event)?)
    })?;
    let lost = output.finish()?;
    let name = args.from.display();
    if times_down > 0 {
        ui.warn(&format!(
            "{name}: {times_down} events are earlier than the one before them; their order is kept"
        ));
    }
    if lost.probes > 0 {
        ui.warn(&format!(
            "{name}: {} probes (dump, cgs, geom, check, layout) are left out: Parquet does not store them",
            lost.probes
        ));
    }
    if lost.times > 0 {
        ui.warn(&format!(
            "{name}: {} events of unknown time got the time of the event before them: text cannot say it",
            lost.times
        ));
    }
    Ok(())
}
