//! What a day costs, over the number of files and of days: measures that are kept as files change beside the
//! measurement of the whole layout.
//!
//! - `a_day/FILES`: a day in which 100 files of an FFS are written anew, `kept` and `whole`, and `idle` one in which
//!   nothing happens. 10^7 files take 3 GB and minutes to make; `FSAGE_BENCH_FILES=10000000` asks for them.
//! - `days/DAYS`: 100,000 operations on 10,000 files, in so many days; operations a second, days included.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::{DirId, FileId, FileSystem, Op, Rng};
use fsage_metrics::{Kept, measure};
use fsage_models::ffs::{Ffs, Params};
use std::hint::black_box;
use std::time::Duration;

const FILES: [u64; 3] = [10_000, 100_000, 1_000_000];
const DAYS: [u64; 4] = [10, 100, 1000, 10_000];
/// Files of a directory.
const IN_DIRECTORY: u64 = 100;
const CHANGES: u64 = 100;
const OPERATIONS: u64 = 100_000;
const BYTES: u64 = 20_000;

fn apply(fs: &mut Ffs, op: Op) {
    black_box(fs.apply(&op).expect("an operation that fits"));
}

/// A file system with so many files, numbered from 0, and twice the room for them.
fn with_files(files: u64) -> Ffs {
    let params = Params {
        sectors: (files * 2 * BYTES / 512).max(1 << 20),
        ..Params::preset("g1024").expect("a preset")
    };
    let mut fs = Ffs::new(params).expect("a size that newfs accepts");
    for file in 0..files {
        let dir = DirId(1 + file / IN_DIRECTORY);
        if file % IN_DIRECTORY == 0 {
            apply(&mut fs, Op::Mkdir { dir, parent: None });
        }
        let (file, bytes) = (FileId(file), BYTES);
        apply(&mut fs, Op::Create { file, dir, bytes });
    }
    fs
}

fn write_anew(fs: &mut Ffs, files: u64, rng: &mut Rng) {
    let (file, bytes) = (FileId(rng.below(files)), 1 + rng.below(2 * BYTES));
    apply(fs, Op::Rewrite { file, bytes });
}

fn a_day(c: &mut Criterion) {
    let more = std::env::var("FSAGE_BENCH_FILES").ok();
    let more = more.map(|files| files.parse().expect("FSAGE_BENCH_FILES is a number"));
    for files in FILES.into_iter().chain(more) {
        let mut group = c.benchmark_group("a_day");
        group
            .sample_size(10)
            .measurement_time(Duration::from_secs(3));
        let mut fs = with_files(files);
        let mut rng = Rng::new(1);
        group.bench_function(BenchmarkId::new("whole", files), |b| {
            b.iter(|| black_box(measure(&fs)));
        });
        let mut kept = Kept::begin(&mut fs, true).expect("an FFS says what changes");
        group.bench_function(BenchmarkId::new("kept", files), |b| {
            b.iter(|| {
                for _ in 0..CHANGES {
                    write_anew(&mut fs, files, &mut rng);
                }
                black_box(kept.update(&mut fs));
            });
        });
        group.bench_function(BenchmarkId::new("idle", files), |b| {
            b.iter(|| {
                black_box(kept.update(&mut fs));
            });
        });
        group.finish();
    }
}

fn days(c: &mut Criterion) {
    const FILES: u64 = 10_000;
    let mut group = c.benchmark_group("days");
    group.throughput(Throughput::Elements(OPERATIONS));
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5));
    let mut fs = with_files(FILES);
    let mut rng = Rng::new(1);
    let mut kept = Kept::begin(&mut fs, true).expect("an FFS says what changes");
    for days in DAYS {
        group.bench_function(BenchmarkId::from_parameter(days), |b| {
            b.iter(|| {
                for _ in 0..days {
                    for _ in 0..OPERATIONS / days {
                        write_anew(&mut fs, FILES, &mut rng);
                    }
                    black_box(kept.update(&mut fs));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, a_day, days);
criterion_main!(benches);
