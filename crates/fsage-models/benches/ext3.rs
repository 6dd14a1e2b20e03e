//! Operations per second of the Ext3 model, against the performance budget of `DESIGN.md`: 1,000,000 in mode ext2.
//!
//! The operations are those of the vector `s50k`, parsed beforehand, on an empty file system of 1 GB, which they
//! fill to 78 %. The vector lies beside the repository. Where it is not there, `s2k` stands in for it, under its own
//! name.

mod script;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::FileSystem;
use fsage_models::ext3::{Ext3, Mode, Params};
use std::hint::black_box;
use std::time::Duration;

fn fresh(mode: Mode) -> Ext3 {
    let params = Params {
        mode,
        ..Params::default()
    };
    Ext3::new(params).expect("the defaults are accepted")
}

fn allocation_only(c: &mut Criterion) {
    let (name, ops) = ["s50k", "s2k"]
        .into_iter()
        .find_map(|name| Some((name, script::vector("linux", &format!("{name}.ops.gz"))?)))
        .expect("s2k is part of the repository");
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(ops.len() as u64));
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(6));
    for mode in [Mode::Ext2, Mode::Ext3] {
        group.bench_function(mode.as_str(), |b| {
            let replay = |mut fs: Ext3| {
                for op in &ops {
                    let _ = black_box(fs.apply(op));
                }
                fs
            };
            b.iter_batched(|| fresh(mode), replay, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, allocation_only);
criterion_main!(benches);
