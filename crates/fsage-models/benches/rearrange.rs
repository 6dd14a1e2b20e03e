//! Operations per second of a layer over the Ext3 model, against the performance budget of `DESIGN.md`: 500,000.
//!
//! The operations are those of the vector `s50k`, parsed beforehand, on an empty disk of 1 GB, with files outside on
//! both sides of the reserved area. Where the vector is not there, `s2k` stands in for it, under its own name. The
//! second threshold makes files move often.

mod script;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fsage_models::ext3::{Ext3, Params};
use fsage_models::rearrange::{self, Period, Rearranged, Settings, Technique, Third};
use std::hint::black_box;
use std::time::Duration;

fn fresh(settings: &Settings) -> Box<dyn Rearranged> {
    let make = |_, size_bytes| {
        Ext3::new(Params {
            size_bytes,
            ..Params::default()
        })
    };
    rearrange::over(settings, 1 << 30, make).expect("a disk of 1 GB")
}

fn aging(c: &mut Criterion) {
    let (name, ops) = ["s50k", "s2k"]
        .into_iter()
        .find_map(|name| Some((name, script::vector("linux", &format!("{name}.ops.gz"))?)))
        .expect("s2k is part of the repository");
    let mut group = c.benchmark_group(format!("rearrange/{name}"));
    group.throughput(Throughput::Elements(ops.len() as u64));
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(4));
    for (label, technique, threshold) in [
        ("none", Technique::None, 8),
        ("files", Technique::Files, 8),
        ("files, threshold 1", Technique::Files, 1),
        ("blocks", Technique::Blocks, 8),
        ("organ-pipe", Technique::OrganPipe, 8),
    ] {
        let settings = Settings {
            threshold,
            third: Third::Files,
            period: Period::Accesses(10_000),
            ..Settings::new(technique)
        };
        group.bench_function(label, |b| {
            let replay = |mut fs: Box<dyn Rearranged>| {
                for op in &ops {
                    let _ = black_box(fs.apply(op));
                }
                fs
            };
            b.iter_batched(|| fresh(&settings), replay, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, aging);
criterion_main!(benches);
