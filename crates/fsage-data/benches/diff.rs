//! How fast snapshots are compared and read as a series. Budget: 10,000,000 inode records a second on one core, in
//! 256 MiB; a series of 300 snapshots of 10,000 files in less than 4 seconds.
//!
//! `FSAGE_BENCH_INODES` sets the size of the large pair, 20,000,000 by default. At its end the bench prints the
//! peak memory of the process, as Linux knows it; the tables are written as streams, too.

use criterion::{Criterion, Throughput, criterion_group};
use fsage_core::snapshot::SnapshotSource;
use fsage_data::snapshot::diff::{Identity, SnapshotRef, diff_snapshots};
use fsage_data::snapshot::{Form, InodeWriter, SnapshotSeries};
use made_up::{inode, number, summarize};
use std::path::{Path, PathBuf};

mod made_up;

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
        let path = dir.join(format!("{inodes}-{epoch}-{details}.parquet"));
        write(&path, inodes, epoch..epoch + 1, details);
        SnapshotRef {
            path,
            snap_id: None,
        }
    })
}

fn snapshots(c: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let inodes = number("FSAGE_BENCH_INODES", 20_000_000);
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
    summarize();
}
