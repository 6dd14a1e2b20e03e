//! Memory of a 16 TiB FFS model: as `newfs` leaves it, and after five million operations.
//!
//! The bound of `DESIGN.md` is 1 bit a fragment, 64 bytes a file and 16 bytes an extent. Two file systems of
//! 16 TiB are measured, each in a process of its own, so that neither finds the other's memory in its heap:
//! 2^34 fragments of 1 KB in a million small groups, and 2^31 fragments of 8 KB in large ones, where the
//! bits are few and the files weigh more.
//!
//! The bench's own list of live files is made before the first measurement and taken off. Resident memory is
//! `VmRSS` of `/proc/self/status`; where there is none, the bench says so and measures nothing.

use fsage_core::{DirId, FileId, FileKind, FileSystem, Layout, Op, Outcome, Rng};
use fsage_models::ffs::{Ffs, Params};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Options of the file systems, as in `ffs:OPTIONS`.
const FILE_SYSTEMS: [&str; 2] = [
    "preset=g1024,size=16T",
    "preset=g1024,size=16T,bsize=64K,fsize=8K,tracks=64,sectors_per_track=1024,bytes_per_inode=32K",
];
const OPERATIONS: usize = 5_000_000;
const DIRECTORIES: u64 = 20_000;

/// Measures one file system in this process; without it, each in a process of its own.
const ONE: &str = "--file-system=";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(options) = arguments.iter().find_map(|a| a.strip_prefix(ONE)) {
        return match measure(options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("{options}: {e}");
                ExitCode::FAILURE
            }
        };
    }
    // `cargo bench NAME` names one of the benches of criterion, or this one.
    let mut names = arguments.iter().filter(|a| !a.starts_with("--"));
    if names.any(|name| !"memory".contains(name.as_str())) {
        return ExitCode::SUCCESS;
    }
    let this = std::env::current_exe().expect("the path of this program");
    for options in FILE_SYSTEMS {
        let status = Command::new(&this).arg(format!("{ONE}{options}")).status();
        if !status.is_ok_and(|s| s.success()) {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
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

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn measure(options: &str) -> Result<(), String> {
    let pairs: Vec<_> = options
        .split(',')
        .map(|o| o.split_once('=').map_or((o, None), |(k, v)| (k, Some(v))))
        .collect();
    let params = Params::from_options(pairs).map_err(|e| e.to_string())?;
    let mut live = Population::new();
    let before = resident()?;

    let started = Instant::now();
    let mut fs = Ffs::new(params).map_err(|e| e.to_string())?;
    let (newfs_time, newfs) = (started.elapsed(), resident()?.saturating_sub(before));
    let g = fs.sizes();
    println!("ffs:{options}");
    println!(
        "  {} fragments of {} bytes, {} groups of {:.0} MiB, {} inodes a group",
        g.size,
        g.fsize,
        g.ncg,
        mib(g.fpg * g.fsize),
        g.ipg
    );
    println!(
        "  after newfs: {:8.1} MiB resident, in {:.2} s",
        mib(newfs),
        newfs_time.as_secs_f64()
    );

    let started = Instant::now();
    let made = live.age(&mut fs)?;
    let elapsed = started.elapsed().as_secs_f64();
    let aged = resident()?.saturating_sub(before);

    let (mut files, mut extents, mut bytes) = (0_u64, 0, 0);
    fs.visit_files(&mut |file| {
        files += u64::from(file.kind == FileKind::Regular);
        extents += file.extents.map_or(0, |e| e.len() as u64);
        bytes += file.alloc_bytes.unwrap_or(0);
    });
    let (bits, of_files, of_extents) = (fs.sizes().size / 8, 64 * files, 16 * extents);
    let bound = bits + of_files + of_extents;
    println!(
        "  after aging: {:8.1} MiB resident; {files} files and {extents} extents live in {:.1} GiB",
        mib(aged),
        mib(bytes) / 1024.0
    );
    println!(
        "  bound:       {:8.1} MiB = {:.1} of bits, {:.1} of files, {:.1} of extents; measured / bound = {:.2}",
        mib(bound),
        mib(bits),
        mib(of_files),
        mib(of_extents),
        aged as f64 / bound as f64
    );
    let growth = aged.saturating_sub(newfs);
    println!(
        "  growth:      {:8.1} MiB = {:.1} bytes a file; over the bound of files and extents = {:.2}",
        mib(growth),
        growth as f64 / files as f64,
        growth as f64 / (of_files + of_extents) as f64
    );
    println!(
        "  {made} operations in {elapsed:.2} s: {:.0} op/s",
        made as f64 / elapsed
    );
    Ok(())
}

/// The files alive, and what happens to them.
struct Population {
    rng: Rng,
    files: Vec<u64>,
    next: u64,
}

impl Population {
    fn new() -> Population {
        let mut files = vec![1; OPERATIONS];
        files.clear();
        Population {
            rng: Rng::new(16),
            files,
            next: 0,
        }
    }

    /// Most files are small, few hold most of the bytes.
    fn bytes(&mut self) -> u64 {
        let magnitude = 8 + self.rng.below(7) + self.rng.below(7);
        self.rng.below(2 << magnitude)
    }

    fn pick(&mut self) -> usize {
        self.rng.below(self.files.len() as u64) as usize
    }

    /// Six creates to two deletes and two appends, so that files stay and grow in pieces.
    fn operation(&mut self) -> Op {
        match self.rng.below(10) {
            0 | 1 if !self.files.is_empty() => {
                let i = self.pick();
                let file = FileId(self.files.swap_remove(i));
                Op::Delete { file }
            }
            2 | 3 if !self.files.is_empty() => {
                let i = self.pick();
                let (file, bytes) = (FileId(self.files[i]), self.bytes());
                Op::Append { file, bytes }
            }
            _ => {
                self.next += 1;
                self.files.push(self.next);
                Op::Create {
                    file: FileId(self.next),
                    dir: DirId(1 + self.rng.below(DIRECTORIES)),
                    bytes: self.bytes(),
                }
            }
        }
    }

    /// Runs all operations; the disk must be large enough for them.
    fn age(&mut self, fs: &mut Ffs) -> Result<usize, String> {
        for dir in 1..=DIRECTORIES {
            let (dir, parent) = (DirId(dir), None);
            apply(fs, &Op::Mkdir { dir, parent })?;
        }
        for _ in DIRECTORIES as usize..OPERATIONS {
            let op = self.operation();
            apply(fs, &op)?;
        }
        Ok(OPERATIONS)
    }
}

fn apply(fs: &mut Ffs, op: &Op) -> Result<(), String> {
    match fs.apply(op) {
        Ok(Outcome::Done) => Ok(()),
        other => Err(format!("{op:?}: {other:?}")),
    }
}
