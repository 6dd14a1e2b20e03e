//! Speed and memory of the LFS model.
//!
//! - Overwriting: random 4 KB blocks of a file that fills 70 % of 512 segments, with the cleaner in a steady state;
//!   `cost-benefit`, 8 segments at once. Budget: 1,000,000 overwrites a second.
//! - Many files: ten million on 100 GB, of about 8.6 KB each, made directory by directory; then a million deletions,
//!   creations and overwrites of files at random, with the cleaner at work. Budget: 4 GiB of memory. `--files=N` has
//!   so many on a disk as full, and does not measure overwriting.
//!
//! Times are those of the processor, from `/proc/self/schedstat`; resident memory is `VmHWM` of `/proc/self/status`,
//! the most there was. Where there is none, the bench says so.

use fsage_core::{DirId, FileId, FileSystem, Op, Outcome, Rng};
use fsage_models::lfs::report::Counters;
use fsage_models::lfs::{Lfs, Params, Variant};
use std::process::ExitCode;

const SEGMENTS: u64 = 512;
const BLOCK: u64 = 4096;
const FILES: u64 = 10_000_000;
const FILES_OF_A_DIRECTORY: u64 = 100;
/// Bytes of the disk for each file.
const ROOM_OF_A_FILE: u64 = (100 << 30) / FILES;
const OPERATIONS: u64 = 1_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let files = arguments.iter().find_map(|a| a.strip_prefix("--files="));
    // `cargo bench NAME` names one of the benches of criterion, or this one.
    let mut names = arguments.iter().filter(|a| !a.starts_with("--"));
    if names.any(|name| !"lfs".contains(name.as_str())) {
        return ExitCode::SUCCESS;
    }
    let done = match files.map(str::parse) {
        None => overwriting().and_then(|()| many_files(FILES)),
        Some(Ok(files)) => many_files(files),
        Some(Err(error)) => Err(format!("--files: {error}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn lfs(params: Params) -> Result<Lfs, String> {
    Lfs::new(params).map_err(|e| e.to_string())
}

fn apply(fs: &mut Lfs, op: &Op) -> Result<(), String> {
    match fs.apply(op) {
        Ok(Outcome::Done) => Ok(()),
        other => Err(format!("{op:?}: {other:?}, {:?}", fs.ended())),
    }
}

fn overwriting() -> Result<(), String> {
    let mut fs = lfs(Params {
        size_bytes: SEGMENTS * (1 << 20) + 8192,
        segs_per_clean: 8,
        superuser: true,
        ..Params::of_variant(Variant::Lite2)
    })?;
    let blocks = SEGMENTS * 256 * 7 / 10;
    let file = FileId(1);
    let (dir, bytes) = (DirId::ROOT, blocks * BLOCK);
    apply(&mut fs, &Op::Create { file, dir, bytes })?;
    apply(&mut fs, &Op::Sync)?;
    let mut rng = Rng::new(1);
    for (round, writes) in [("until steady", 4 * blocks), ("steady", 40 * blocks)] {
        fs.reset_counters();
        let started = processor_seconds()?;
        for _ in 0..writes {
            let offset = rng.below(blocks) * BLOCK;
            let bytes = BLOCK;
            apply(
                &mut fs,
                &Op::Write {
                    file,
                    offset,
                    bytes,
                },
            )?;
        }
        let seconds = processor_seconds()? - started;
        let c = fs.counters();
        println!(
            "overwriting, {round}: {writes} in {seconds:.2} s, {:.0} a second; {} segments cleaned, {:.3} of them live",
            writes as f64 / seconds,
            c.cleaned_segments,
            c.cleaned_live_bytes as f64 / (c.cleaned_segments.max(1) << 20) as f64
        );
    }
    Ok(())
}

/// Time that the processor has spent on this program.
fn processor_seconds() -> Result<f64, String> {
    let times = std::fs::read_to_string("/proc/self/schedstat")
        .map_err(|e| format!("no time of the processor to be read here: {e}"))?;
    let ns = times
        .split(' ')
        .next()
        .and_then(|ns| ns.parse::<u64>().ok());
    Ok(ns.ok_or("no time in /proc/self/schedstat")? as f64 / 1e9)
}

/// The most memory that was resident so far, in bytes.
fn most_resident() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|e| format!("no resident memory to be read here: {e}"))?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|l| l.trim().strip_suffix("kB"));
    let parsed = kilobytes.and_then(|n| n.trim().parse::<u64>().ok());
    Ok(parsed.ok_or("no VmHWM in /proc/self/status")? * 1024)
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

/// Many small files, few that hold most of the bytes.
fn file_bytes(rng: &mut Rng) -> u64 {
    rng.log_normal(2300.0, 1.6) as u64 + 1
}

fn many_files(files: u64) -> Result<(), String> {
    let mut fs = lfs(Params {
        size_bytes: files * ROOM_OF_A_FILE,
        frag_bytes: 1024,
        ..Params::of_variant(Variant::Lite2)
    })?;
    let mut rng = Rng::new(2);
    let mut live: Vec<u32> = Vec::with_capacity(files as usize);
    let started = processor_seconds()?;
    for file in 0..files {
        let dir = DirId(1 + file / FILES_OF_A_DIRECTORY);
        if file % FILES_OF_A_DIRECTORY == 0 {
            apply(&mut fs, &Op::Mkdir { dir, parent: None })?;
        }
        let (id, bytes) = (FileId(file), file_bytes(&mut rng));
        apply(
            &mut fs,
            &Op::Create {
                file: id,
                dir,
                bytes,
            },
        )?;
        live.push(file as u32);
    }
    apply(&mut fs, &Op::Sync)?;
    let seconds = processor_seconds()? - started;
    println!(
        "many files: {files} on {:.1} GiB, {:.1} % live, made in {seconds:.1} s, {:.0} a second",
        gib(fs.params().size_bytes),
        fs.live_bytes() as f64 * 100.0 / fs.params().size_bytes as f64,
        files as f64 / seconds
    );
    println!("{}", cleaning(&fs.counters()));
    memory(&fs, files)?;
    fs.reset_counters();
    let started = processor_seconds()?;
    for i in 0..OPERATIONS {
        let at = rng.below(live.len() as u64) as usize;
        let op = match i % 3 {
            0 => Op::Delete {
                file: FileId(live.swap_remove(at).into()),
            },
            1 => {
                let file = files + i;
                live.push(file as u32);
                Op::Create {
                    file: FileId(file),
                    dir: DirId(1 + rng.below(files / FILES_OF_A_DIRECTORY)),
                    bytes: file_bytes(&mut rng),
                }
            }
            _ => Op::Overwrite {
                file: FileId(live[at].into()),
                range: None,
            },
        };
        apply(&mut fs, &op)?;
    }
    let seconds = processor_seconds()? - started;
    println!(
        "many files: {OPERATIONS} deletions, creations and overwrites in {seconds:.1} s, {:.0} a second",
        OPERATIONS as f64 / seconds
    );
    println!("{}", cleaning(&fs.counters()));
    memory(&fs, files)
}

fn cleaning(c: &Counters) -> String {
    let cleaned = c.cleaned_segments.max(1);
    format!(
        "  {} segments cleaned, {:.3} of them live, {} of segments and groups ranked for each; {:.1} GiB written",
        c.cleaned_segments,
        c.cleaned_live_bytes as f64 / (cleaned << 20) as f64,
        c.ranked_nodes / cleaned,
        gib(c.written_bytes)
    )
}

fn memory(fs: &Lfs, files: u64) -> Result<(), String> {
    let most = most_resident()?;
    println!(
        "  memory: at most {:.2} GiB resident, {:.0} bytes a file; by the room of lists",
        gib(most),
        most as f64 / files as f64
    );
    for (part, bytes) in fs.memory() {
        println!(
            "    {part:24} {:6.1} bytes a file",
            bytes as f64 / files as f64
        );
    }
    Ok(())
}
