//! How fast a snapshot is stored whose rows come as a walk gives them, and in how much memory: directory by directory,
//! each at a random place among the inodes, one file in sixteen with a second name.
//!
//! `FSAGE_BENCH_INODES` sets the size, 1,000,000 by default. At its end the bench prints the peak memory of the
//! process, as Linux knows it: it must not depend on the size.

use criterion::{Criterion, Throughput, criterion_group};
use fsage_core::SnapshotSink;
use fsage_core::snapshot::SnapshotInfo;
use fsage_data::snapshot::{Form, SnapshotCounts, SnapshotOutput};
use made_up::{inode, number, summarize};
use std::path::Path;

mod made_up;

/// Inodes of a directory.
const TOGETHER: u64 = 64;
/// Odd, so that it leads to every directory of a power of two.
const STRIDE: u64 = 0x9E37_79B9;

fn store(path: &Path, inodes: u64) -> SnapshotCounts {
    let mut output = SnapshotOutput::create(path, Form::Full, true).unwrap();
    output.snapshot(SnapshotInfo::default()).unwrap();
    let directories = inodes.div_ceil(TOGETHER);
    let places = directories.next_power_of_two();
    for place in 0..places {
        let directory = place.wrapping_mul(STRIDE) % places;
        let first = directory * TOGETHER;
        for ino in first..(first + TOGETHER).min(inodes).max(first) {
            let Some(row) = inode(ino, 0, true) else {
                continue;
            };
            if ino % 16 == 5 {
                let mut again = row.clone();
                again.path = Some(format!("elsewhere/{ino}").into());
                again.parent_ino = Some(7);
                output.inode(again).unwrap();
            }
            output.inode(row).unwrap();
        }
    }
    output.finish().unwrap()
}

fn snapshots(c: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    let inodes = number("FSAGE_BENCH_INODES", 1_000_000);
    let mut group = c.benchmark_group("snapshots");
    group.sample_size(10);
    group.throughput(Throughput::Elements(inodes));
    group.bench_function("store rows in any order", |bench| {
        bench.iter(|| {
            let counts = store(&path, inodes);
            assert!(counts.rows > inodes / 2 && counts.further_names > inodes / 32);
        });
    });
    group.finish();
}

criterion_group!(benches, snapshots);

fn main() {
    benches();
    summarize();
}
