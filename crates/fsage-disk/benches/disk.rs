//! Requests per second of the device models, against the performance budget of `DESIGN.md`: at least 5,000,000 on one
//! core for a random mix on a disk, 2,000,000 random reads of 4 KB on `nvme_mlc_p1`, 1,000,000 on other flash.
//! Writes over all that is there have no budget: each moves up to twenty pages more.
//!
//! The mix is that of the set `rndmix` of the test vectors: 60 % reads, addresses uniform and even, sizes of 1 to 64
//! KB, think times up to 30 ms, in which the drive reads ahead.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fsage_core::Rng;
use fsage_disk::presets::FLASH_PRESETS;
use fsage_disk::{
    Access, Device, Drive, FlashDevice, FlashDrive, Precondition, Request, RotatingDisk,
};
use std::hint::black_box;

/// Requests of the mix: more than a branch predictor learns by heart.
const REQUESTS: usize = 400_000;
/// Requests that are timed at once: about half a millisecond, so that a busy machine spoils few samples.
const TIMED: usize = 4000;
const SIZES: [u32; 6] = [2, 8, 16, 32, 64, 128];

/// Requests, each with the think time before it.
fn random_mix(sectors: u64) -> Vec<(u64, Request)> {
    let mut rng = Rng::new(1);
    let mut one = || {
        let size = SIZES[rng.below(SIZES.len() as u64) as usize];
        let access = if rng.chance(0.6) {
            Access::Read
        } else {
            Access::Write
        };
        let request = Request::new(access, 2 * rng.below((sectors - u64::from(size)) / 2), size);
        (rng.below(30_000_000), request)
    };
    (0..REQUESTS).map(|_| one()).collect()
}

fn random(c: &mut Criterion) {
    let mut group = c.benchmark_group("random_mix");
    group.throughput(Throughput::Elements(TIMED as u64));
    for name in ["st32430n", "dsp3105", "hp_c2247a"] {
        let drive = Drive::preset(name).expect("a preset");
        let mut disk = RotatingDisk::new(&drive);
        let requests = random_mix(disk.sectors());
        let mut pieces = requests.chunks_exact(TIMED).cycle();
        let mut now_ns = 0;
        group.bench_function(name, |b| {
            b.iter(|| {
                for &(think_ns, request) in pieces.next().expect("a cycle has no end") {
                    now_ns = disk.submit(now_ns + think_ns, request).done_ns;
                }
                black_box(now_ns)
            });
        });
    }
    group.finish();
}

/// Requests of 4 KB on flash, 32 in flight, over a GB that was written before; reads, and writes with collection.
fn flash(c: &mut Criterion) {
    let mut group = c.benchmark_group("flash_4k");
    group.throughput(Throughput::Elements(TIMED as u64));
    for (name, _) in FLASH_PRESETS {
        let drive = FlashDrive::preset(name).expect("a preset");
        for options in ["core", "size=1G"] {
            let drive = drive.clone().with_options(options).expect("an option");
            let mut filled = FlashDevice::new(&drive);
            let pages = (1 << 18).min(filled.sectors() / 8);
            let all = Precondition::Sequential {
                first: 0,
                sectors: pages * 8,
                each: 64,
            };
            filled.precondition(&all).expect("on the device");
            filled.rest();
            for access in [Access::Read, Access::Write] {
                let mut device = filled.clone();
                let mut rng = Rng::new(1);
                let requests: Vec<Request> = (0..REQUESTS)
                    .map(|_| Request::new(access, 8 * rng.below(pages), 8))
                    .collect();
                let mut pieces = requests.chunks_exact(TIMED).cycle();
                let mut in_flight = [0_u64; 32];
                let mut at = 0;
                let kind = if options == "core" {
                    "core"
                } else {
                    "extensions"
                };
                let label = format!("{name}/{kind}/{access:?}");
                group.bench_function(label, |b| {
                    b.iter(|| {
                        for &request in pieces.next().expect("a cycle has no end") {
                            // The oldest of 32 in flight is done, or the device takes it later.
                            at = (at + 1) % in_flight.len();
                            in_flight[at] = device.submit(in_flight[at], request).done_ns;
                        }
                        black_box(in_flight[at])
                    });
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, random, flash);
criterion_main!(benches);
