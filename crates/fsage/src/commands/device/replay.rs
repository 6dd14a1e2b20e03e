//! `fsage device replay`: how long the requests of a file take on a drive.

use crate::summary;
use crate::ui::{self, Ui};
use anyhow::Context;
use clap::ValueEnum;
use flate2::read::MultiGzDecoder;
use fsage_disk::replay::{self, Agreement};
use fsage_disk::requests::{RequestFile, read_measured, read_vector};
use fsage_disk::{Components, Counters, FlashCounters, FlashDevice, Scheduler, Service, scheduler};
use fsage_durable::PartialFile;
use serde::Serialize;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// Says how long the requests of a file take on a drive, and where the time goes.
///
/// Prints a line for each request: issue, completion, and the time by component, in milliseconds. Where the file has
/// times of its own, how the two compare is printed to stderr.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A drive or flash device that comes with fsage (see `fsage device list`), a TOML file, or `null`, which takes no
    /// time.
    drive: String,
    /// Requests: text, also compressed with gzip; `-` is stdin.
    requests: PathBuf,
    /// Form of the file.
    #[arg(long, value_enum, default_value = "vector")]
    format: Format,
    /// Which of the waiting requests is next: fcfs, clook, disksort, sstf or sptf [default: what the file says, or
    /// fcfs].
    #[arg(long, visible_alias = "policy", value_name = "NAME")]
    scheduler: Option<String>,
    /// How the times of the file are meant: closed, open or think [default: what the file says].
    #[arg(long)]
    mode: Option<String>,
    /// Write to this file instead of stdout.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output if it exists.
    #[arg(long)]
    force: bool,
    /// Print as JSON, with sums and the comparison.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A header, named columns, a line each.
    Vector,
    /// The trace of a real drive: op, class, sector, sectors, service and think time in microseconds.
    Measured,
}

#[derive(Serialize)]
struct Json<'a> {
    drive: &'a str,
    set: &'a str,
    mode: &'a str,
    scheduler: &'a str,
    counters: &'a Counters,
    /// Operations of dies, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    flash: Option<&'a FlashCounters>,
    agreement: Option<Agreement>,
    requests: Vec<JsonRequest>,
}

#[derive(Serialize)]
struct JsonRequest {
    idx: u64,
    access: fsage_disk::Access,
    lba: u64,
    sectors: u32,
    issue_ns: u64,
    done_ns: u64,
    #[serde(flatten)]
    components: Components,
    hit: fsage_disk::Hit,
}

/// Runs the command.
pub fn run(args: &Args, ui: Ui) -> anyhow::Result<()> {
    let mut device = fsage_lab::device::disk(&args.drive)?.device(0);
    // An output that may not be written is refused before the work.
    let output = match &args.output {
        Some(path) => Some(PartialFile::create(path, args.force)?),
        None => None,
    };
    let file = read(args, device.sectors())?;
    let scheduler = choose(args.scheduler.as_deref(), &file)?;
    let services = replay::replay(&file, device.as_mut(), scheduler)
        .with_context(|| args.requests.display().to_string())?;
    let agreement = Agreement::of(&file.requests, &services);
    let mut text = Vec::new();
    if args.json {
        let json = Json {
            drive: &args.drive,
            set: &file.set,
            mode: file.mode.as_str(),
            scheduler: scheduler.name(),
            counters: device.counters(),
            flash: device.flash().map(FlashDevice::flash_counters),
            agreement,
            requests: json_requests(&file, &services),
        };
        summary::print_json(&mut text, &json)?;
    } else {
        let name = Path::new(&args.drive).file_stem().unwrap_or_default();
        let name = name.to_string_lossy().replace(' ', "_");
        replay::write(
            &mut text,
            &*device,
            &name,
            scheduler.name(),
            &file,
            &services,
        )?;
    }
    if let Some(mut output) = output {
        output.write_all(&text)?;
        output.finish()?;
    } else {
        let mut out = ui::stdout();
        out.write_all(&text)?;
        out.flush()?;
    }
    if let Some(found) = agreement {
        ui.note(&format!(
            "{} requests, mean {:.4} ms against {:.4} ms in the file ({:+.2} %); {:.1} % within 0.005 ms, {:.1} % \
             within 0.5 ms; demerit {:.1} %",
            found.requests,
            found.mean_ms,
            found.file_mean_ms,
            found.mean_error() * 100.0,
            found.within_5_us * 100.0,
            found.within_500_us * 100.0,
            found.demerit() * 100.0
        ));
    }
    Ok(())
}

/// The scheduler of the command line, or of the file.
fn choose(wanted: Option<&str>, file: &RequestFile) -> anyhow::Result<&'static dyn Scheduler> {
    let name = match wanted.unwrap_or(&file.policy) {
        "" => "fcfs",
        name => name,
    };
    scheduler::by_name(name).with_context(|| {
        let known: Vec<&str> = scheduler::ALL.iter().map(|s| s.name()).collect();
        format!(
            "no scheduler is called {name}; expected one of {}",
            known.join(", ")
        )
    })
}

fn read(args: &Args, sectors: u64) -> anyhow::Result<RequestFile> {
    let name = args.requests.display().to_string();
    let raw = if name == "-" {
        fsage_input::stdin()
    } else {
        fsage_input::stream(&args.requests)
    };
    let raw = raw.with_context(|| format!("{name}: cannot open"))?;
    let mut input: Box<dyn BufRead> = Box::new(BufReader::new(raw));
    let is_gzip = input
        .fill_buf()
        .with_context(|| name.clone())?
        .starts_with(&[0x1f, 0x8b]);
    if is_gzip {
        input = Box::new(BufReader::new(MultiGzDecoder::new(input)));
    }
    Ok(match args.format {
        Format::Vector => read_vector(&name, &mut input, args.mode.as_deref())?,
        Format::Measured => read_measured(&name, &mut input, sectors)?,
    })
}

fn json_requests(file: &RequestFile, services: &[Service]) -> Vec<JsonRequest> {
    let pairs = file.requests.iter().zip(services);
    pairs
        .map(|(recorded, service)| JsonRequest {
            idx: recorded.idx,
            access: recorded.request.access,
            lba: recorded.request.lba,
            sectors: recorded.request.sectors,
            issue_ns: service.issue_ns,
            done_ns: service.done_ns,
            components: service.components,
            hit: service.hit,
        })
        .collect()
}
