//! Operations a second of workloads that are made longer and larger, in memory: ten months of home directories
//! (`smith96`) repeated for another ten months, and two and a half copies of them.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::{Event, EventSink, EventSource, SinkError, WorkloadHeader};
use fsage_workload::clones::Clones;
use fsage_workload::home::Home;
use fsage_workload::repeat::Repeat;
use std::slice::Iter;

struct Recorded<'a>(WorkloadHeader, Iter<'a, Event>);

impl EventSource for Recorded<'_> {
    fn header(&self) -> &WorkloadHeader {
        &self.0
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        Ok(self.1.next().cloned())
    }
}

/// Counts, and forgets.
struct Count(u64);

impl EventSink for Count {
    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        self.0 += u64::from(event.t_ns.is_some());
        Ok(())
    }
}

fn repeat(header: &WorkloadHeader, events: &[Event]) -> u64 {
    let mut out = Count(0);
    let mut repeat = Repeat::new(header, 1, &mut out);
    for event in events {
        repeat.event(event.clone()).expect("it has times");
    }
    repeat.finish(300, &mut |_| {}).expect("it has days");
    out.0
}

fn scale(header: &WorkloadHeader, events: &[Event]) -> u64 {
    let mut out = Count(0);
    let clones = Clones::scaled(2.5, 1).expect("a factor");
    let open = || Ok(Recorded(header.clone(), events.iter()));
    clones.interleave(open, &mut out).expect("it has times");
    out.0
}

fn transform(c: &mut Criterion) {
    let home = Home::smith96();
    let mut events = Vec::new();
    home.generate(1, &mut events).expect("memory takes events");
    let header = home.header(1);
    let mut group = c.benchmark_group("transform");
    group.sample_size(10);
    group.throughput(Throughput::Elements(repeat(&header, &events)));
    group.bench_function("repeat", |b| b.iter(|| repeat(&header, &events)));
    group.throughput(Throughput::Elements(scale(&header, &events)));
    group.bench_function("scale", |b| b.iter(|| scale(&header, &events)));
    group.finish();
}

criterion_group!(benches, transform);
criterion_main!(benches);
