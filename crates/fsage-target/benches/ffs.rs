//! Operations per second of the FFS model, against the performance budget of `DESIGN.md`.
//!
//! - `l01_502_200k`: the operations of that vector, parsed beforehand, on an empty 502 MB file system; the
//!   allocator alone. Budget: 2,000,000 operations a second.
//! - `ten_months`: ten months of home directories (`smith96`) with all metrics at the end of every day, kept as files
//!   change, as in `fsage age`.
//!   Budget: one second.
//!
//! The vector lies beside the repository. Where it is not there, the first 100 days of `smith96` stand in for
//! it, under another name: the figures of the two do not compare.

#[path = "../../fsage-models/benches/script/mod.rs"]
mod script;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::{Event, FileSystem, Op};
use fsage_metrics::Kept;
use fsage_models::ffs::{Ffs, Params, policy};
use fsage_workload::home::Home;
use std::hint::black_box;
use std::time::Duration;

/// Seed of the generated workload.
const SEED: u64 = 1;

fn g502(policy: &str) -> Ffs {
    let params = Params {
        policy: policy::by_name(policy).expect("a policy"),
        ..Params::preset("g502").expect("a preset")
    };
    Ffs::new(params).expect("a preset is accepted")
}

fn smith96(days: u64) -> Vec<Event> {
    let mut events = Vec::new();
    Home::smith96()
        .with_days(days)
        .generate(SEED, &mut events)
        .expect("a Vec takes every event");
    events
}

fn is_operation(op: &Op) -> bool {
    !matches!(op, Op::Day)
}

fn allocation_only(c: &mut Criterion) {
    let (name, ops) = if let Some(ops) = script::vector("ffs", "l01_502_200k.ops.gz") {
        ("l01_502_200k", ops)
    } else {
        eprintln!("vector l01_502_200k is not here: 100 days of smith96 instead");
        let ops = smith96(100).into_iter().map(|event| event.op);
        ("smith96_100_days", ops.filter(is_operation).collect())
    };
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(ops.len() as u64));
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(6));
    for policy in ["orig", "realloc", "smartfrag"] {
        group.bench_function(policy, |b| {
            let replay = |mut fs: Ffs| {
                for op in &ops {
                    // Lack of space is part of the workload.
                    let _ = black_box(fs.apply(op));
                }
                fs
            };
            b.iter_batched(|| g502(policy), replay, BatchSize::LargeInput);
        });
    }
    group.finish();
}

fn ten_months(c: &mut Criterion) {
    let events = smith96(300);
    let operations = events.iter().filter(|e| is_operation(&e.op)).count();
    let mut group = c.benchmark_group("ten_months");
    group.throughput(Throughput::Elements(operations as u64));
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(8));
    for policy in ["orig", "realloc"] {
        group.bench_function(policy, |b| {
            let replay = |mut fs: Ffs| {
                let mut kept = Kept::begin(&mut fs, false).expect("an FFS says what changes");
                for event in &events {
                    if is_operation(&event.op) {
                        let _ = black_box(fs.apply(&event.op));
                    } else {
                        black_box(kept.update(&mut fs));
                    }
                }
                fs
            };
            b.iter_batched(|| g502(policy), replay, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, allocation_only, ten_months);
criterion_main!(benches);
