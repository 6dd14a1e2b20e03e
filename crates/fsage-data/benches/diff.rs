//! How fast snapshots are compared and read as a series. Budget: 10,000,000 inode records a second on one core, in
//! 256 MiB; a series of 300 snapshots of 10,000 files in less than 4 seconds.
//!
//! `FSAGE_BENCH_INODES` sets the size of the large pair, 20,000,000 by default. At its end the bench prints the
//! peak memory of the process, as Linux knows it; the tables are written as streams, too.

use criterion::{Criterion, Throughput, criterion_group};
use fsage_core::snapshot::{Inode, SnapshotSource, source_flags};
use fsage_core::{Extent, FileKind, Rng};
use fsage_data::snapshot::diff::{Identity, SnapshotRef, diff_snapshots};
use fsage_data::snapshot::{Form, InodeWriter, SnapshotSeries};
use std::path::{Path, PathBuf};

/// An inode of a made-up file system, as `epoch` finds it: 1 in 100 changes from one epoch to the next, 1 in 400
/// is replaced, 1 in 400 comes or goes.
fn inode(ino: u64, epoch: u64, details: bool) -> Option<Inode> {
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

fn write(path: &Path, inodes: u64, epochs: std::ops::Range<u64>, details: bool) {
    let mut writer = InodeWriter::create(path, Form::Full, true).unwrap();
    for epoch in epochs {
        for ino in 0..inodes {
            if let Some(inode) = inode(ino, epoch, details) {
                writer.write(epoch as u32, &inode).unwrap();
            }
        }
    }
    writer.finish().unwrap();
}

fn pair(dir: &Path, inodes: u64, details: bool) -> [SnapshotRef; 2] {
    [0, 1].map(|epoch| {
        let path = dir.join(format!("{inodes}-{epoch}.parquet"));
        write(&path, inodes, epoch..epoch + 1, details);
        SnapshotRef {
            path,
            snap_id: None,
        }
    })
}

fn snapshots(c: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let inodes = std::env::var("FSAGE_BENCH_INODES").ok();
    let inodes = inodes.map_or(20_000_000, |n| n.parse().expect("a number of inodes"));
    let large = pair(dir.path(), inodes, false);
    let detailed = pair(dir.path(), 2_000_000, true);
    let series: PathBuf = dir.path().join("series.parquet");
    write(&series, 10_000, 0..300, true);

    let mut group = c.benchmark_group("snapshots");
    group.sample_size(10);
    for (name, [a, b], inodes) in [
        ("diff", large, inodes),
        ("diff with paths and extents", detailed, 2_000_000),
    ] {
        group.throughput(Throughput::Elements(2 * inodes));
        group.bench_function(name, |bench| {
            bench.iter(|| {
                let report = diff_snapshots(&a, &b, Identity::Auto, &mut |_| Ok(())).unwrap();
                assert!(report.all.modify > inodes / 200 && report.all.replace > 0);
                report
            });
        });
    }
    group.throughput(Throughput::Elements(300 * 10_000));
    group.bench_function("series of 300 nights", |bench| {
        bench.iter(|| {
            let mut series = SnapshotSeries::open(std::slice::from_ref(&series)).unwrap();
            let mut rows = 0;
            while let Some(changes) = series.next_changes().unwrap() {
                rows += changes.rows.len();
            }
            rows
        });
    });
    group.finish();
}

criterion_group!(benches, snapshots);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
        println!("peak memory: {line}");
    }
}
