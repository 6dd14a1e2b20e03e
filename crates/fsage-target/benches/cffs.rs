//! Operations per second of the C-FFS model, aging without a host: at least 1,000,000 on one core.
//!
//! The operations are 100 days of home directories (`smith96`), made beforehand, on an empty file system of the default
//! size.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::{FileSystem, Op};
use fsage_models::cffs::{Cffs, Params};
use fsage_workload::home::Home;
use std::hint::black_box;
use std::time::Duration;

fn allocation_only(c: &mut Criterion) {
    let mut events = Vec::new();
    Home::smith96()
        .with_days(100)
        .generate(1, &mut events)
        .expect("a Vec takes every event");
    let ops: Vec<Op> = events.into_iter().map(|event| event.op).collect();
    let mut group = c.benchmark_group("smith96_100_days");
    group.throughput(Throughput::Elements(ops.len() as u64));
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(6));
    for (name, embed, grouped) in [("both", true, true), ("neither", false, false)] {
        let params = Params {
            embed,
            group: grouped,
            ..Params::default()
        };
        let empty = Cffs::new(params).expect("the defaults are accepted");
        group.bench_function(name, |b| {
            let replay = |mut fs: Cffs| {
                for op in &ops {
                    let _ = black_box(fs.apply(op));
                }
                fs
            };
            b.iter_batched(|| empty.clone(), replay, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, allocation_only);
criterion_main!(benches);
