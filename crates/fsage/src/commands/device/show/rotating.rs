//! What a drive with an arm is like.

use super::Shown;
use crate::summary;
use fsage_core::Rng;
use fsage_core::size::human;
use fsage_disk::{Access, Device, Drive, Request, RotatingDisk, SECTOR_BYTES};
use fsage_report::chart::Series;
use fsage_report::svg::{Axis, Panel};
use serde::Serialize;

/// Sizes of requests, in KB.
const SIZES_KB: [u32; 9] = [1, 4, 8, 16, 32, 64, 96, 128, 256];
/// Random requests of each size that are averaged.
const REQUESTS: u64 = 2000;
/// Points of the seek curve that are drawn.
const POINTS: u32 = 400;

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

/// The drive of that name.
pub fn shown(name: &str, drive: &Drive) -> anyhow::Result<Shown> {
    let facts = look_at(name, drive);
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
    let mut table = summary::table(&["size", "read ms", "write ms"]);
    for row in &facts.sizes {
        table.add_row(vec![
            format!("{} KB", row.kb),
            format!("{:.2}", row.read_ms),
            format!("{:.2}", row.write_ms),
        ]);
    }
    Ok(Shown {
        title: format!("{} ({} rpm)", facts.name, facts.rpm),
        lines: vec![
            format!("{}: {}, {}", facts.drive, facts.name, facts.used_in),
            format!(
                "{}, {} rpm, {} cylinders, {} heads, average seek {:.2} ms",
                human(facts.bytes),
                facts.rpm,
                facts.cylinders,
                facts.heads,
                facts.average_seek_ms
            ),
        ],
        panels: panels.into(),
        table: table.to_string(),
        sources: drive.source.clone(),
        json: serde_json::to_value(&facts)?,
    })
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
        let request = Request::new(access, rng.below(places), sectors);
        let service = disk.submit(now_ns + rng.below(20_000_000), request);
        total_ns += service.service_ns();
        now_ns = service.done_ns;
    }
    total_ns as f64 / REQUESTS as f64 / 1e6
}
