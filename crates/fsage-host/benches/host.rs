//! Events per second of the host over a device that takes no time, against the performance budget of `DESIGN.md`: at
//! least 2,000,000 on one core.
//!
//! The lists are what FFS tells when it makes and removes small files, and when it writes a large one, in a cache
//! that is much smaller than the data.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::{Buffer, BufferId, Flush, Io, Work};
use fsage_disk::Null;
use fsage_host::{Host, HostParams};
use std::hint::black_box;

const BLOCK: u64 = 8192;
const FILES: u64 = 2000;

fn data(ino: u64, lbn: u32) -> Buffer {
    Buffer {
        id: BufferId::Data { ino, lbn },
        start_bytes: (100_000 + ino * 16 + u64::from(lbn)) * BLOCK,
        bytes: BLOCK as u32,
    }
}

fn device(number: u64) -> Buffer {
    Buffer {
        id: BufferId::Device {
            start_bytes: number * BLOCK,
        },
        start_bytes: number * BLOCK,
        bytes: BLOCK as u32,
    }
}

/// Files of two blocks are made, and each is removed when ten more have come.
fn small_files() -> Vec<Io> {
    let mut io = Vec::new();
    for ino in 10..10 + FILES {
        let (inode, directory, map) = (
            device(ino / 64),
            data(1, (ino / 128 % 16) as u32),
            device(5000),
        );
        io.push(Io::Work(Work::Create));
        io.push(Io::Modify(inode, Flush::Sync));
        io.push(Io::Modify(directory, Flush::Sync));
        for lbn in 0..2 {
            io.push(Io::Fill(data(ino, lbn), Flush::Delayed));
            io.push(Io::Copy { bytes: 8192 });
        }
        io.push(Io::Modify(inode, Flush::Delayed));
        io.push(Io::Modify(map, Flush::Delayed));
        if let Some(old) = ino.checked_sub(20) {
            io.push(Io::Work(Work::Delete));
            io.push(Io::Modify(directory, Flush::Sync));
            io.push(Io::Modify(device(old / 64), Flush::Sync));
            io.push(Io::Discard { ino: old, from: 0 });
            io.push(Io::Modify(map, Flush::Delayed));
        }
    }
    io
}

/// A file is written in clusters of 64 KB.
fn large_file() -> Vec<Io> {
    let mut io = Vec::new();
    for first in (0..8 * FILES as u32).step_by(8) {
        for lbn in first..first + 8 {
            io.push(Io::Fill(data(10, lbn), Flush::Delayed));
            io.push(Io::Copy { bytes: 8192 });
        }
        io.push(Io::Push {
            ino: 10,
            first,
            last: first + 7,
        });
    }
    io
}

fn events(c: &mut Criterion) {
    let mut group = c.benchmark_group("events");
    let params = HostParams::preset("pentium-120").expect("a preset");
    for (name, io) in [("small files", small_files()), ("large file", large_file())] {
        let mut host = Host::new(&params, Null::new(1 << 24), 0, BLOCK as u32);
        group.throughput(Throughput::Elements(io.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| {
                host.execute(&io);
                black_box(host.now_ns())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, events);
criterion_main!(benches);
