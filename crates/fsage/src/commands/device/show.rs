//! `fsage device show`: what a drive is like.

use crate::summary;
use crate::ui;
use fsage_core::Rng;
use fsage_core::size::human;
use fsage_disk::{Access, Device, Drive, Request, RotatingDisk, SECTOR_BYTES};
use fsage_durable::PartialFile;
use fsage_report::chart::{self, Series};
use fsage_report::svg::{self, Axis, Panel};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Sizes of requests, in KB.
const SIZES_KB: [u32; 9] = [1, 4, 8, 16, 32, 64, 96, 128, 256];
/// Random requests of each size that are averaged.
const REQUESTS: u64 = 2000;
/// Characters of a chart in the terminal.
const WIDTH: usize = 72;
/// Points of the seek curve that are drawn.
const POINTS: u32 = 400;

/// Draws the seek curve of a drive, and its service time by size of request.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A drive that comes with fsage (see `fsage device list`), or a TOML file.
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

#[derive(Serialize)]
struct Facts {
    drive: String,
    name: String,
    used_in: String,
    rpm: u32,
    cylinders: u32,
    heads: u32,
    bytes: u64,
    average_seek_ms: f64,
    /// Distance in cylinders, milliseconds.
    seek_ms: Vec<(f64, f64)>,
    sizes: Vec<SizeRow>,
}

/// Requests of one size at random places, one after the other.
#[derive(Serialize)]
struct SizeRow {
    kb: u32,
    read_ms: f64,
    write_ms: f64,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let drive = fsage_lab::device::drive(&args.drive)?;
    let chart = match &args.chart {
        Some(path) => Some(PartialFile::create(path, args.force)?),
        None => None,
    };
    let facts = look_at(&args.drive, &drive);
    let by_size = |name: &str, of: fn(&SizeRow) -> f64| Series {
        name: name.into(),
        points: facts
            .sizes
            .iter()
            .map(|row| (f64::from(row.kb), of(row)))
            .collect(),
    };
    let panels = [
        Panel {
            title: "Arm moves".into(),
            x_label: "distance, cylinders".into(),
            y_label: "time, ms".into(),
            axis: Axis::Linear,
            series: vec![Series {
                name: "seek".into(),
                points: facts.seek_ms.clone(),
            }],
            marks: Vec::new(),
        },
        Panel {
            title: "Requests at random places".into(),
            x_label: "size, KB".into(),
            y_label: "service time, ms".into(),
            axis: Axis::Linear,
            series: vec![
                by_size("read", |row| row.read_ms),
                by_size("write", |row| row.write_ms),
            ],
            marks: Vec::new(),
        },
    ];
    let mut out = ui::stdout();
    if args.json {
        summary::print_json(&mut out, &facts)?;
    } else {
        writeln!(out, "{}: {}, {}", facts.drive, facts.name, facts.used_in)?;
        writeln!(
            out,
            "{}, {} rpm, {} cylinders, {} heads, average seek {:.2} ms",
            human(facts.bytes),
            facts.rpm,
            facts.cylinders,
            facts.heads,
            facts.average_seek_ms
        )?;
        for panel in &panels {
            writeln!(out, "\n{}: {}", panel.title, panel.y_label)?;
            write!(
                out,
                "{}",
                chart::curves(&panel.series, WIDTH, &panel.x_label)
            )?;
        }
        writeln!(out)?;
        let mut table = summary::table(&["size", "read ms", "write ms"]);
        for row in &facts.sizes {
            table.add_row(vec![
                format!("{} KB", row.kb),
                format!("{:.2}", row.read_ms),
                format!("{:.2}", row.write_ms),
            ]);
        }
        writeln!(out, "{table}")?;
        if !drive.source.is_empty() {
            writeln!(out, "\nWhere the values come from")?;
            for (group, source) in &drive.source {
                writeln!(out, "  {group}: {source}")?;
            }
        }
    }
    out.flush()?;
    if let Some(mut chart) = chart {
        let title = format!("{} ({} rpm)", facts.name, facts.rpm);
        chart.write_all(svg::draw(&title, &panels).as_bytes())?;
        chart.finish()?;
    }
    Ok(())
}

fn look_at(name: &str, drive: &Drive) -> Facts {
    let disk = RotatingDisk::new(drive);
    let cylinders = u64::from(drive.cylinders);
    let ms = |distance: u64| disk.seek_ns(distance as u32) as f64 / 1e6;
    let pairs = (cylinders * cylinders) as f64;
    let average_seek_ms = (0..cylinders)
        .map(|d| ms(d) * (2 * (cylinders - d)) as f64 / pairs)
        .sum();
    let points = POINTS.min(drive.cylinders - 1);
    let seek_ms = (1..=u64::from(points))
        .map(|i| (cylinders - 1) * i / u64::from(points))
        .map(|distance| (distance as f64, ms(distance)))
        .collect();
    let sizes = SIZES_KB
        .iter()
        .filter(|kb| u64::from(**kb) * 2 <= disk.sectors())
        .map(|&kb| SizeRow {
            kb,
            read_ms: random_ms(&disk, Access::Read, kb * 2),
            write_ms: random_ms(&disk, Access::Write, kb * 2),
        })
        .collect();
    Facts {
        drive: name.to_owned(),
        name: drive.name.clone(),
        used_in: drive.used_in.clone(),
        rpm: drive.rpm,
        cylinders: drive.cylinders,
        heads: drive.heads,
        bytes: drive.usable_sectors() * SECTOR_BYTES,
        average_seek_ms,
        seek_ms,
        sizes,
    }
}

/// Mean service time of random requests of one size. Think times are random too, so that no request meets the disk at
/// the angle at which the one before left it.
fn random_ms(disk: &RotatingDisk, access: Access, sectors: u32) -> f64 {
    let mut disk = disk.clone();
    let mut rng = Rng::new(u64::from(sectors));
    let places = disk.sectors() - u64::from(sectors) + 1;
    let mut now_ns = 0;
    let mut total_ns = 0;
    for _ in 0..REQUESTS {
        let request = Request {
            access,
            lba: rng.below(places),
            sectors,
        };
        let service = disk.submit(now_ns + rng.below(20_000_000), request);
        total_ns += service.service_ns();
        now_ns = service.done_ns;
    }
    total_ns as f64 / REQUESTS as f64 / 1e6
}
