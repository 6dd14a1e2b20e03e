//! Operations per second of the XFS model, against the performance budget of `DESIGN.md`: 500,000.
//!
//! The operations are those of the vector `s50k`, parsed beforehand, on an empty file system of 1 GB, which they
//! fill to 96 %. The vector lies beside the repository. Where it is not there, `s2k` stands in for it, under its own
//! name.

mod script;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::FileSystem;
use fsage_models::xfs::{Features, Params, Xfs};
use std::hint::black_box;
use std::time::Duration;

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
    for features in [Features::Default, Features::Plain, Features::Rmapbt] {
        let fresh = Xfs::new(Params {
            features,
            ..Params::default()
        });
        let fresh = fresh.expect("the defaults are accepted");
        group.bench_function(features.as_str(), |b| {
            let replay = |mut fs: Xfs| {
                for op in &ops {
                    let _ = black_box(fs.apply(op));
                }
                fs
            };
            b.iter_batched(|| fresh.clone(), replay, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, allocation_only);
criterion_main!(benches);
