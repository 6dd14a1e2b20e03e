//! How fast workloads are read and written. Budget: 3,000,000 simple lines a second from text.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::{DirId, Event, FileId, Op, WorkloadHeader};
use fsage_data::{OpsReader, OpsWriter, WorkloadReader, WorkloadWriter};

const EVENTS: u64 = 1_000_000;

/// Creates and deletes with a `day` now and then, as generators make them.
fn events() -> Vec<Event> {
    (0..EVENTS)
        .map(|i| match i % 4 {
            _ if i % 5000 == 4999 => Event::day("1"),
            0 | 1 => Event::new(Op::Create {
                file: FileId(i),
                dir: DirId(i % 500),
                bytes: (i * 7919) % 100_000,
            }),
            2 => Event::new(Op::Rewrite {
                file: FileId(i - 2),
                bytes: (i * 104_729) % 100_000,
            }),
            _ => Event::new(Op::Delete {
                file: FileId(i - 3),
            }),
        })
        .enumerate()
        .map(|(i, event)| event.at(i as i64 / 3 * 1_000_000_000))
        .collect()
}

fn workloads(c: &mut Criterion) {
    let header = WorkloadHeader::default();
    let events = events();
    let mut text = OpsWriter::new(Vec::new(), &header).unwrap();
    for e in &events {
        text.write(e).unwrap();
    }
    let text = text.finish().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.parquet");
    let write = || {
        let mut writer = WorkloadWriter::create(&path, &header, true).unwrap();
        for e in &events {
            writer.write(e).unwrap();
        }
        writer.finish().unwrap();
    };
    write();

    let mut group = c.benchmark_group("workloads");
    group
        .throughput(Throughput::Elements(EVENTS))
        .sample_size(10);
    group.bench_function("read text", |b| {
        b.iter(|| {
            let mut reader = OpsReader::new(&text[..], "t.ops").unwrap();
            let mut n = 0;
            while let Some(event) = reader.next_event().unwrap() {
                n += event.op.bytes_written();
            }
            n
        });
    });
    group.bench_function("write text", |b| {
        b.iter_batched(
            || Vec::with_capacity(text.len() + 64),
            |buffer| {
                let mut writer = OpsWriter::new(buffer, &header).unwrap();
                for e in &events {
                    writer.write(e).unwrap();
                }
                writer.finish().unwrap()
            },
            BatchSize::LargeInput,
        );
    });
    group.bench_function("read parquet", |b| {
        b.iter(|| {
            let mut reader = WorkloadReader::open(&path).unwrap();
            let mut n = 0;
            while let Some(event) = reader.next_event().unwrap() {
                n += event.op.bytes_written();
            }
            n
        });
    });
    group.bench_function("write parquet", |b| b.iter(write));
    group.finish();
}

criterion_group!(benches, workloads);
criterion_main!(benches);
