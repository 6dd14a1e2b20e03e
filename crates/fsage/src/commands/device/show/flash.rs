//! What a flash device is like.

use super::Shown;
use crate::summary;
use fsage_core::Rng;
use fsage_core::size::human;
use fsage_disk::replay::keep_in_flight;
use fsage_disk::{Access, Device, FlashDevice, FlashDrive, Precondition, Request, SECTOR_BYTES};
use fsage_report::chart::Series;
use fsage_report::svg::{Axis, Panel};
use serde::Serialize;

/// What is written before anything is measured, on a device of at least twice the size.
const FILLED_BYTES: u64 = 1 << 30;
/// A larger device is measured at this size: as fast over what is filled, and with a smaller map to copy.
const MEASURED_BYTES: u64 = 8 << 30;
/// What is written at most while it is measured, so that nothing is collected.
const WRITTEN_BYTES: u64 = 256 << 20;
/// Requests in flight.
const DEPTHS: [usize; 6] = [1, 4, 8, 16, 32, 128];
/// Sizes of requests, in KB.
const SIZES_KB: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];
/// Requests in flight where sizes are compared.
const DEPTH: usize = 32;
/// Random requests of each size and depth that are averaged.
const REQUESTS: u64 = 20_000;

#[derive(Serialize)]
struct Facts {
    drive: String,
    name: String,
    used_in: String,
    bytes: u64,
    partitions: u32,
    channels: u32,
    dies_per_channel: u32,
    flash_page_bytes: u32,
    program_bytes: u32,
    /// Requests of 4 KB at random places, a second.
    depths: Vec<DepthRow>,
    /// Requests at random places, MB/s.
    sizes: Vec<SizeRow>,
}

#[derive(Serialize)]
struct DepthRow {
    depth: usize,
    reads_per_s: f64,
    writes_per_s: f64,
}

#[derive(Serialize)]
struct SizeRow {
    kb: u32,
    read_mb_s: f64,
    write_mb_s: f64,
}

/// The flash device of that name.
pub fn shown(name: &str, drive: &FlashDrive) -> anyhow::Result<Shown> {
    let facts = look_at(name, drive)?;
    let by_depth = |name: &str, of: fn(&DepthRow) -> f64| Series {
        name: name.into(),
        points: facts
            .depths
            .iter()
            .map(|row| (row.depth as f64, of(row)))
            .collect(),
    };
    let by_size = |name: &str, of: fn(&SizeRow) -> f64| Series {
        name: name.into(),
        points: facts
            .sizes
            .iter()
            .map(|row| (f64::from(row.kb), of(row)))
            .collect(),
    };
    let panel = |title: &str, x_label: &str, y_label: &str, series| Panel {
        title: title.into(),
        x_label: x_label.into(),
        y_label: y_label.into(),
        axis: Axis::Linear,
        series,
        marks: Vec::new(),
    };
    let panels = vec![
        panel(
            "Requests of 4 KB at random places",
            "requests in flight",
            "thousands a second",
            vec![
                by_depth("read", |row| row.reads_per_s / 1000.0),
                by_depth("write", |row| row.writes_per_s / 1000.0),
            ],
        ),
        panel(
            "Requests at random places, up to 32 in flight",
            "size, KB",
            "MB/s",
            vec![
                by_size("read", |row| row.read_mb_s),
                by_size("write", |row| row.write_mb_s),
            ],
        ),
    ];
    let mut depths = summary::table(&["in flight", "reads/s", "writes/s"]);
    for row in &facts.depths {
        depths.add_row(vec![
            row.depth.to_string(),
            format!("{:.0}", row.reads_per_s),
            format!("{:.0}", row.writes_per_s),
        ]);
    }
    let mut sizes = summary::table(&["size", "read MB/s", "write MB/s"]);
    for row in &facts.sizes {
        sizes.add_row(vec![
            format!("{} KB", row.kb),
            format!("{:.0}", row.read_mb_s),
            format!("{:.0}", row.write_mb_s),
        ]);
    }
    let partitions = match facts.partitions {
        1 => String::new(),
        n => format!("{n} partitions, "),
    };
    Ok(Shown {
        title: facts.name.clone(),
        lines: vec![
            format!("{}: {}, {}", facts.drive, facts.name, facts.used_in),
            format!(
                "{}, {partitions}{} channels, {} dies each, flash pages of {}, {} to a die at once",
                human(facts.bytes),
                facts.channels,
                facts.dies_per_channel,
                human(facts.flash_page_bytes.into()),
                human(facts.program_bytes.into())
            ),
        ],
        panels,
        table: format!("{depths}\n\n{sizes}"),
        sources: drive.source.clone(),
        json: serde_json::to_value(&facts)?,
    })
}

fn look_at(name: &str, drive: &FlashDrive) -> anyhow::Result<Facts> {
    let bytes = drive.sectors() * SECTOR_BYTES;
    let mut device = if bytes > MEASURED_BYTES {
        let option = format!("size={MEASURED_BYTES}");
        FlashDevice::new(&drive.clone().with_options(&option)?)
    } else {
        FlashDevice::new(drive)
    };
    let longest = u64::from(device.longest_request());
    let filled = Precondition::Sequential {
        first: 0,
        sectors: filled_sectors(&device),
        each: longest.min(128),
    };
    device.precondition(&filled).map_err(anyhow::Error::msg)?;
    device.rest();
    let per_s = |access, depth, kb| per_second(&device, access, depth, kb);
    Ok(Facts {
        drive: name.to_owned(),
        name: drive.name.clone(),
        used_in: drive.used_in.clone(),
        bytes,
        partitions: drive.partitions,
        channels: drive.channels,
        dies_per_channel: drive.dies_per_channel,
        flash_page_bytes: drive.flash_page_bytes,
        program_bytes: drive.program_bytes,
        depths: DEPTHS
            .into_iter()
            .filter(|&depth| depth <= drive.queue_depth as usize)
            .map(|depth| DepthRow {
                depth,
                reads_per_s: per_s(Access::Read, depth, 4),
                writes_per_s: per_s(Access::Write, depth, 4),
            })
            .collect(),
        sizes: SIZES_KB
            .into_iter()
            .filter(|&kb| u64::from(kb) * 2 <= longest)
            .map(|kb| {
                let mb_s = |access| per_s(access, DEPTH, kb) * f64::from(kb) * 1024.0 / 1e6;
                SizeRow {
                    kb,
                    read_mb_s: mb_s(Access::Read),
                    write_mb_s: mb_s(Access::Write),
                }
            })
            .collect(),
    })
}

fn filled_sectors(device: &FlashDevice) -> u64 {
    (device.sectors() / 2).min(FILLED_BYTES / SECTOR_BYTES)
}

/// Random requests of one size, aligned to it, over what was written.
fn per_second(device: &FlashDevice, access: Access, depth: usize, kb: u32) -> f64 {
    let mut device = device.clone();
    let depth = depth.min(device.queue_depth() as usize);
    let mut rng = Rng::new(u64::from(kb));
    let sectors = kb * 2;
    let places = filled_sectors(&device) / u64::from(sectors);
    let count = REQUESTS.min(WRITTEN_BYTES / (u64::from(sectors) * SECTOR_BYTES));
    let requests: Vec<Request> = (0..count)
        .map(|_| Request::new(access, rng.below(places) * u64::from(sectors), sectors))
        .collect();
    let services = keep_in_flight(&mut device, depth, 0, requests);
    let end_ns = services.iter().map(|service| service.done_ns).max();
    count as f64 * 1e9 / end_ns.unwrap_or(1).max(1) as f64
}
