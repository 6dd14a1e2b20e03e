//! Programs that are there, and what the machine has.

use super::Check;
use fsage_core::size;
use fsage_real::programs;
use std::fs;

/// A program: the names it may have, how it is asked for its version, its package, and what it is for.
struct Program {
    name: &'static str,
    others: &'static [&'static str],
    version: &'static str,
    package: &'static str,
    allows: &'static str,
}

const fn program(
    name: &'static str,
    version: &'static str,
    package: &'static str,
    allows: &'static str,
) -> Program {
    Program {
        name,
        others: &[],
        version,
        package,
        allows,
    }
}

const PROGRAMS: [Program; 9] = [
    program(
        "e2fsck",
        "-V",
        "e2fsprogs",
        "checking ext2, ext3 and ext4 images",
    ),
    program(
        "debugfs",
        "-V",
        "e2fsprogs",
        "looking into ext2, ext3 and ext4 images",
    ),
    program("xfs_repair", "-V", "xfsprogs", "checking XFS images"),
    Program {
        name: "btrfs-progs",
        others: &["btrfs"],
        version: "--version",
        package: "btrfs-progs",
        allows: "checking btrfs images",
    },
    program(
        "find",
        "--version",
        "findutils",
        "snapshots of machines without fsage",
    ),
    program("git", "--version", "git", "workloads from git histories"),
    program("strace", "-V", "strace", "workloads from system calls"),
    program(
        "linux.uml",
        "--version",
        "user-mode-linux",
        "file systems this kernel lacks",
    ),
    Program {
        name: "browser",
        others: &[
            "chromium",
            "chromium-browser",
            "google-chrome",
            "firefox",
            "xdg-open",
        ],
        version: "--version",
        package: "chromium",
        allows: "looking at reports, the block map with them",
    },
];

/// Smallest sensible memory.
const MEMORY: u64 = 1 << 30;
/// Smallest sensible number of open files.
const FILES: u64 = 1024;

/// Programs, memory, cores and limits.
pub fn checks() -> Vec<Check> {
    let mut checks: Vec<Check> = PROGRAMS.iter().map(of_program).collect();
    checks.extend([memory(), cores(), open_files()]);
    checks
}

fn of_program(program: &Program) -> Check {
    let check = Check::new(program.name, program.allows);
    let names = [program.name];
    let mut names = names.iter().chain(program.others);
    match names.find_map(|name| programs::find(name)) {
        Some(path) => match programs::version(&path, program.version) {
            Ok(version) if version.is_empty() => check.yes(path.display().to_string()),
            Ok(version) => check.yes(version),
            Err(why) => check.no(
                format!("{} cannot start: {why}", path.display()),
                format!("apt-get install --reinstall {}", program.package),
            ),
        },
        None => check.no("not there", format!("apt-get install {}", program.package)),
    }
}

fn memory() -> Check {
    let check = Check::new("memory", "large workloads and snapshots");
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    match kib.map(|kib| kib << 10) {
        Some(bytes) if bytes >= MEMORY => check.yes(format!("{} available", size::human(bytes))),
        Some(bytes) => check.no(
            format!("{} available", size::human(bytes)),
            "close other programs",
        ),
        None => check.no("/proc/meminfo does not say", "mount /proc"),
    }
}

fn cores() -> Check {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Check::new("cores", "several targets at a time").yes(cores.to_string())
}

fn open_files() -> Check {
    let check = Check::new("open-files", "deep and wide directory trees");
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let number = |limit: Option<u64>| limit.map_or_else(|| "no limit".into(), |n| n.to_string());
    let found = format!(
        "{}, may be raised to {}",
        number(limit.current),
        number(limit.maximum)
    );
    if limit.maximum.is_none_or(|maximum| maximum >= FILES) {
        check.yes(found)
    } else {
        check.no(
            found,
            format!("ulimit -Hn {FILES}, in limits.conf or the container"),
        )
    }
}
