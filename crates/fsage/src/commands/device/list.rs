//! `fsage device list`: the drives and flash devices that come with fsage.

use crate::summary;
use crate::ui;
use fsage_core::size::human;
use fsage_disk::{Disk, SECTOR_BYTES, presets};
use serde::Serialize;
use std::io::Write;

/// Lists the drives and flash devices that come with fsage.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    drive: &'static str,
    name: String,
    used_in: String,
    /// Revolutions a minute; none where nothing turns.
    rpm: Option<u32>,
    bytes: u64,
}

impl Row {
    fn of(drive: &'static str) -> Option<Row> {
        let disk = Disk::preset(drive)?;
        let bytes = disk.device(0).sectors() * SECTOR_BYTES;
        let (name, used_in, rpm) = match disk {
            Disk::Rotating(drive) => (drive.name, drive.used_in, Some(drive.rpm)),
            Disk::Flash(drive) => (drive.name, drive.used_in, None),
            Disk::Null => return None,
        };
        Some(Row {
            drive,
            name,
            used_in,
            rpm,
            bytes,
        })
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let all = presets::PRESETS.iter().chain(&presets::FLASH_PRESETS);
    let rows: Vec<Row> = all.filter_map(|(name, _)| Row::of(name)).collect();
    let mut out = ui::stdout();
    if args.json {
        summary::print_json(&mut out, &rows)?;
        return Ok(out.flush()?);
    }
    // Numbers stand right, and the text behind them left.
    let mut table = summary::table(&["drive", "rpm", "size"]);
    table.set_header(vec!["drive", "rpm", "size", "name", "used in"]);
    for row in rows {
        table.add_row(vec![
            row.drive.to_owned(),
            row.rpm.map_or("flash".to_owned(), |rpm| rpm.to_string()),
            human(row.bytes),
            row.name,
            row.used_in,
        ]);
    }
    let null = [
        Disk::NULL,
        "",
        "",
        "takes no time",
        "what is left is the cost of everything above the disk",
    ];
    table.add_row(null.map(str::to_owned).to_vec());
    writeln!(out, "{table}")?;
    Ok(out.flush()?)
}
