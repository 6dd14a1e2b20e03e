//! A made-up file system of any size, and what a process took.

use criterion::Criterion;
use fsage_core::snapshot::{Inode, source_flags};
use fsage_core::{Extent, FileKind, Rng};

/// An inode of a made-up file system, as `epoch` finds it: 1 in 100 changes from one epoch to the next, 1 in 400
/// is replaced, 1 in 400 comes or goes.
pub fn inode(ino: u64, epoch: u64, details: bool) -> Option<Inode> {
    let mut rng = Rng::new(ino);
    let mut changes = (0..=epoch).filter(|e| *e > 0 && (ino * 31 + e * 7919).is_multiple_of(100));
    let replaced = epoch > 0 && ino % 400 == 1;
    if ino % 400 == 2 + epoch % 2 {
        return None;
    }
    let size_bytes = rng.below(1 << 17) + changes.clone().count() as u64;
    let born = 1_500_000_000_000_000_000 + rng.below(200_000_000) as i64 * 1_000_000_000;
    let changed = changes
        .next_back()
        .map_or(born, |e| born + e as i64 * 86_400_000_000_000);
    let extent = Extent {
        logical_bytes: 0,
        physical_bytes: ino << 17,
        length_bytes: size_bytes.next_multiple_of(4096),
        flags: 0,
    };
    Some(Inode {
        alloc_bytes: Some(size_bytes.next_multiple_of(4096)),
        ctime_ns: Some(if replaced {
            changed + 1_000_000_000
        } else {
            changed
        }),
        mtime_ns: Some(changed),
        btime_ns: Some(born),
        links: Some(1),
        mode: Some(0o100_644),
        uid: Some(1000),
        gid: Some(1000),
        parent_ino: Some(ino / 64),
        path: details.then(|| format!("home/user{}/project/file{ino}.c", ino / 6400).into()),
        extents: details.then(|| [extent].into()),
        source_flags: source_flags::GEN_VALID,
        ..Inode::new(
            ino,
            Some(rng.next_u64() as u32 | u32::from(replaced)),
            if ino.is_multiple_of(64) {
                FileKind::Directory
            } else {
                FileKind::Regular
            },
            size_bytes,
        )
    })
}

/// A number from the environment.
pub fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"))
}

/// Ends a bench: prints its summary, and the peak memory of this process, as Linux knows it.
pub fn summarize() {
    Criterion::default().configure_from_args().final_summary();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
        println!("peak memory: {line}");
    }
}
