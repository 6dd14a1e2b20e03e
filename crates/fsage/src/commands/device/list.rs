//! `fsage device list`: the drives that come with fsage.

use crate::summary;
use crate::ui;
use fsage_core::size::human;
use fsage_disk::{Disk, Drive, SECTOR_BYTES, presets};
use serde::Serialize;
use std::io::Write;

/// Lists the drives that come with fsage.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print as JSON.
    #[arg(long)]
    json: bool,
}

/// Devices that are no drives: name, what they are, what they are for.
const WITHOUT_ARM: [(&str, &str, &str); 2] = [
    (
        Disk::FLASH,
        "a constant time a request and a byte: an idealization",
        "what is left where distance costs nothing",
    ),
    (
        Disk::NULL,
        "takes no time",
        "what is left is the cost of everything above the disk",
    ),
];

#[derive(Serialize)]
struct Row {
    drive: &'static str,
    name: String,
    used_in: String,
    rpm: u32,
    bytes: u64,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let rows: Vec<Row> = presets::PRESETS
        .iter()
        .filter_map(|(name, _)| {
            let drive = Drive::preset(name)?;
            let bytes = drive.usable_sectors() * SECTOR_BYTES;
            Some(Row {
                drive: name,
                name: drive.name,
                used_in: drive.used_in,
                rpm: drive.rpm,
                bytes,
            })
        })
        .collect();
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
            row.rpm.to_string(),
            human(row.bytes),
            row.name,
            row.used_in,
        ]);
    }
    for (name, what, why) in WITHOUT_ARM {
        let row = [name, "", "", what, why];
        table.add_row(row.map(str::to_owned).to_vec());
    }
    writeln!(out, "{table}")?;
    Ok(out.flush()?)
}
