//! A workload from 300 snapshots of 10,000 files, of which a few percent change every night.
//!
//! `cargo bench -p fsage-workload --bench from_snapshots`

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::snapshot::{Inode, SnapshotInfo, SnapshotsInMemory, source_flags};
use fsage_core::{Event, EventSink, Extent, FileKind, Rng, SinkError};
use fsage_workload::from_snapshots::{FromSnapshots, Options};

const NIGHTS: u32 = 300;
const FILES: usize = 10_000;
const DAY_NS: i64 = 86_400_000_000_000;

struct Counter(u64);

impl EventSink for Counter {
    fn event(&mut self, _: Event) -> Result<(), SinkError> {
        self.0 += 1;
        Ok(())
    }
}

fn inode(slot: usize, generation: u32, t: i64, rng: &mut Rng) -> Inode {
    let size = rng.below(100_000);
    let extent = Extent {
        logical_bytes: 0,
        physical_bytes: rng.below(1 << 18) * 4096,
        length_bytes: size.next_multiple_of(4096).max(4096),
        flags: 0,
    };
    Inode {
        ctime_ns: Some(t),
        mtime_ns: Some(t),
        parent_ino: Some(2),
        path: Some(format!("dir-{}/file-{slot}", slot % 100).into()),
        extents: Some([extent].into()),
        source_flags: source_flags::GEN_VALID,
        ..Inode::new(12 + slot as u64, Some(generation), FileKind::Regular, size)
    }
}

fn snapshots() -> SnapshotsInMemory {
    let mut rng = Rng::new(1);
    let mut series = SnapshotsInMemory::default();
    let mut files: Vec<Inode> = (0..FILES).map(|i| inode(i, 1, 0, &mut rng)).collect();
    for night in 0..NIGHTS {
        let midnight = DAY_NS * i64::from(night);
        for (slot, file) in files.iter_mut().enumerate() {
            let t = midnight + 1 + rng.below(DAY_NS as u64 - 2) as i64;
            let generation = file.generation.unwrap_or(0);
            match rng.below(100) {
                0 => *file = inode(slot, generation + 1, t, &mut rng),
                1 | 2 => *file = inode(slot, generation, t, &mut rng),
                _ => {}
            }
        }
        let info = SnapshotInfo {
            snap_id: night,
            taken_at_ns: midnight + DAY_NS,
            source: "bench".to_owned(),
            size_bytes: Some(1 << 30),
            ..SnapshotInfo::default()
        };
        series.push(info, files.clone(), None);
    }
    series
}

fn generation(c: &mut Criterion) {
    let mut series = snapshots();
    let mut group = c.benchmark_group("from snapshots");
    group.throughput(Throughput::Elements(u64::from(NIGHTS) * FILES as u64));
    group.sample_size(10);
    group.bench_function("300 of 10,000 files", |b| {
        b.iter(|| {
            series.rewind();
            let generator = FromSnapshots::begin(&mut series, Options::default(), None);
            let mut counter = Counter(0);
            let made = generator
                .unwrap()
                .generate(&mut series, &mut counter, &mut |_| {});
            assert!(made.unwrap().snapshots == u64::from(NIGHTS) && counter.0 > 0);
        });
    });
    group.finish();
}

criterion_group!(benches, generation);
criterion_main!(benches);
