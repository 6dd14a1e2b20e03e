//! Speed and memory of the LFS model.
//!
//! - Overwriting: random 4 KB blocks of a file that fills 70 % of 512 segments, with the cleaner in a steady state;
//!   `cost-benefit`, 8 segments at once. Budget: 1,000,000 overwrites a second.
//! - Memory: 1.5 million files on 100 GB. Budget: 4 GiB for ten million, that is 429 bytes a file.
//!
//! Times are those of the processor, from `/proc/self/schedstat`; resident memory is `VmRSS` of `/proc/self/status`.
//! Where there is none, the bench says so.

use fsage_core::{DirId, FileId, FileSystem, Op, Outcome, Rng};
use fsage_models::lfs::{Lfs, Params, Variant};
use std::process::ExitCode;

const SEGMENTS: u64 = 512;
const BLOCK: u64 = 4096;
const FILES: u64 = 1_500_000;
const DIRECTORIES: u64 = 20_000;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    // `cargo bench NAME` names one of the benches of criterion, or this one.
    if arguments.any(|name| !name.starts_with("--") && !"lfs".contains(name.as_str())) {
        return ExitCode::SUCCESS;
    }
    match overwriting().and_then(|()| many_files()) {
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

/// Resident memory in bytes.
fn resident() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|e| format!("no resident memory to be read here: {e}"))?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|l| l.trim().strip_suffix("kB"));
    let parsed = kilobytes.and_then(|n| n.trim().parse::<u64>().ok());
    Ok(parsed.ok_or("no VmRSS in /proc/self/status")? * 1024)
}

/// Seven of eight files have a block, the others up to 16.
fn many_files() -> Result<(), String> {
    let before = resident()?;
    let mut fs = lfs(Params {
        size_bytes: 100 << 30,
        // Nothing is dead, so that the cleaner would only move what lives.
        busy_percent: 0,
        ..Params::of_variant(Variant::Lite2)
    })?;
    let mut rng = Rng::new(2);
    for dir in 1..=DIRECTORIES {
        let (dir, parent) = (DirId(dir), None);
        apply(&mut fs, &Op::Mkdir { dir, parent })?;
    }
    let started = processor_seconds()?;
    let mut bytes_in_all = 0;
    for file in 1..=FILES {
        let most = if file % 8 == 0 { 16 * BLOCK } else { BLOCK };
        let bytes = 1 + rng.below(most);
        bytes_in_all += bytes;
        let (file, dir) = (FileId(file), DirId(1 + rng.below(DIRECTORIES)));
        apply(&mut fs, &Op::Create { file, dir, bytes })?;
    }
    apply(&mut fs, &Op::Sync)?;
    let seconds = processor_seconds()? - started;
    let used = resident()?.saturating_sub(before);
    println!(
        "memory: {FILES} files of {:.1} GiB in 100 GiB take {:.2} GiB, {:.0} bytes a file; made in {seconds:.1} s",
        bytes_in_all as f64 / f64::from(1 << 30),
        used as f64 / f64::from(1 << 30),
        used as f64 / FILES as f64
    );
    Ok(())
}
