//! `fsage device show`: what a drive or flash device is like.

mod flash;
mod rotating;

use crate::summary;
use crate::ui;
use anyhow::bail;
use fsage_disk::Disk;
use fsage_durable::PartialFile;
use fsage_report::chart;
use fsage_report::svg::{self, Panel};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

/// Characters of a chart in the terminal.
const WIDTH: usize = 72;

/// Draws the seek curve of a drive and its service time by size of request; of a flash device its speed by requests in
/// flight, and by size.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A drive or flash device that comes with fsage (see `fsage device list`), or a TOML file.
    drive: String,
    /// Write both charts to this SVG file too.
    #[arg(long, short = 'o', value_name = "FILE")]
    chart: Option<PathBuf>,
    /// Replace the chart if it exists.
    #[arg(long)]
    force: bool,
    /// Print as JSON.
    #[arg(long)]
    json: bool,
}

/// What is shown of a device.
struct Shown {
    title: String,
    lines: Vec<String>,
    panels: Vec<Panel>,
    table: String,
    sources: BTreeMap<String, String>,
    json: serde_json::Value,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let disk = fsage_lab::device::disk(&args.drive)?;
    let chart = match &args.chart {
        Some(path) => Some(PartialFile::create(path, args.force)?),
        None => None,
    };
    let shown = match &disk {
        Disk::Rotating(drive) => rotating::shown(&args.drive, drive)?,
        Disk::Flash(drive) => flash::shown(&args.drive, drive)?,
        Disk::Null => bail!(
            "{} takes no time, and there is nothing to show of it; `fsage bench` and `fsage reproduce` take it",
            Disk::NULL
        ),
    };
    let mut out = ui::stdout();
    if args.json {
        summary::print_json(&mut out, &shown.json)?;
    } else {
        for line in &shown.lines {
            writeln!(out, "{line}")?;
        }
        for panel in &shown.panels {
            writeln!(out, "\n{}: {}", panel.title, panel.y_label)?;
            write!(
                out,
                "{}",
                chart::curves(&panel.series, WIDTH, &panel.x_label)
            )?;
        }
        writeln!(out, "\n{}", shown.table)?;
        if !shown.sources.is_empty() {
            writeln!(out, "\nWhere the values come from")?;
            for (group, source) in &shown.sources {
                writeln!(out, "  {group}: {source}")?;
            }
        }
    }
    out.flush()?;
    if let Some(mut chart) = chart {
        chart.write_all(svg::draw(&shown.title, &shown.panels).as_bytes())?;
        chart.finish()?;
    }
    Ok(())
}
