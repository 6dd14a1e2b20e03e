//! How fast workloads are generated. Budget: 1,000,000 operations a second from a profile.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::{Event, EventSink, SinkError};
use fsage_workload::preset::{Generator, PRESETS, Preset};

/// Counts and forgets.
struct Count(u64);

impl EventSink for Count {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        self.0 += event.op.bytes_written();
        Ok(())
    }
}

/// Makes it; gives the number of operations.
fn make(generator: &Generator) -> u64 {
    let mut sink = Count(0);
    let made = match generator {
        Generator::Home(g) => g.generate(1, &mut sink).map(|s| s.operations),
        Generator::Profile(g) => g.generate(1, &mut sink).map(|s| s.operations),
        Generator::Herrin(g) => g.generate(1, &mut sink).map(|s| s.operations),
        Generator::Server(g) => g.generate(1, &mut sink).map(|s| s.operations),
    };
    made.expect("a sink that never fails")
}

fn presets(c: &mut Criterion) {
    let mut group = c.benchmark_group("generate");
    group.sample_size(10);
    for (name, _) in PRESETS {
        let generator = Preset::named(name).expect("a preset").generator;
        group.throughput(Throughput::Elements(make(&generator)));
        group.bench_function(name, |b| b.iter(|| make(&generator)));
    }
    group.finish();
}

criterion_group!(benches, presets);
criterion_main!(benches);
