//! What the papers saw of curves, on simulated empty file systems: jumps, dips, and shares of a drive's bandwidth.
//!
//! Nothing here is tuned: host and drives are the presets, and what a statement says is computed from the measurements.

use fsage_bench::benchmarks::sequential::{SEQUENTIAL, SEQUENTIAL_1995};
use fsage_bench::{Benchmark, Case, SimulatedStand, Site, run};
use fsage_disk::Disk;
use fsage_host::{FlushClustering, HostParams};
use fsage_models::ffs::{Ffs, Params};
use std::collections::BTreeMap;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;

/// An empty file system on a drive below a host.
struct Bench {
    fs: Ffs,
    disk: Disk,
    host: HostParams,
}

impl Bench {
    /// The machine of 1996, and its file system with a policy.
    fn of_1996(policy: &str) -> Bench {
        Bench::new(&[("policy", policy)], "st32430n", "pentium-120")
    }

    /// The machine of 1995: clusters of 64 KB, and no gap between blocks.
    fn of_1995() -> Bench {
        Bench::new(&[("maxcontig", "8")], "dsp3105", "sparcstation-2")
    }

    fn new(options: &[(&str, &str)], drive: &str, host: &str) -> Bench {
        let options = options.iter().map(|&(key, value)| (key, Some(value)));
        Bench {
            fs: Ffs::new(Params::from_options(options).unwrap()).unwrap(),
            disk: Disk::preset(drive).unwrap(),
            host: HostParams::preset(host).unwrap(),
        }
    }

    /// Bytes a second, or files a second for a phase without bytes, by phase and size.
    fn rates(&self, benchmark: &dyn Benchmark, sizes: &[u64]) -> BTreeMap<(String, u64), f64> {
        let stand = SimulatedStand::new(&self.fs, 1 << 32, &self.host, &self.disk, 1).unwrap();
        let site = Site {
            free_bytes: stand.free_bytes(),
            hot_files: Vec::new(),
            ..Site::default()
        };
        let cases: Vec<Case> = sizes.iter().map(|&bytes| Case::of_size(bytes)).collect();
        let results = run(
            benchmark,
            &cases,
            &site,
            &mut [stand.clone(), stand],
            1,
            &|_| true,
        )
        .unwrap();
        assert!(results.left_out.is_empty());
        let measurements = results.measurements.into_iter();
        measurements
            .map(|m| {
                let rate = m.throughput().or(m.file_rate()).unwrap();
                ((m.phase, m.file_bytes.unwrap()), rate)
            })
            .collect()
    }
}

/// The rates of one phase, in the order of sizes.
fn phase(rates: &BTreeMap<(String, u64), f64>, phase: &str) -> Vec<f64> {
    let of_phase = rates.iter().filter(|((its, _), _)| its == phase);
    of_phase.map(|(_, &rate)| rate).collect()
}

#[test]
fn throughput_falls_at_the_first_indirect_block_and_recovers() {
    // 1996, section 4.1: a sharp dip of all curves at 104 KB. For writing it shows where neighbors are flushed
    // together: otherwise 96 KB leave four blocks that are written one by one, and at 104 KB a cluster takes them.
    for policy in ["orig", "realloc"] {
        let mut bench = Bench::of_1996(policy);
        bench.host.flush_clustering = FlushClustering::File;
        let rates = bench.rates(&SEQUENTIAL, &[96 * KB, 104 * KB, MB]);
        for name in ["create", "read"] {
            let [before, at, behind] = phase(&rates, name)[..] else {
                panic!("three sizes");
            };
            assert!(
                at < 0.85 * before && behind > at,
                "{policy} {name}: {rates:?}"
            );
        }
    }
}

#[test]
fn writes_jump_at_64_kb_unless_neighbors_are_flushed_together() {
    // 1997, section 4.2: the throughput of writes jumps at 64 KB, since below it each block is a request of its own.
    // From 56 to 64 KB the data of a file grow by a seventh, which is all that is left without that fault.
    let sizes = [48 * KB, 56 * KB, 64 * KB];
    let mut bench = Bench::of_1996("realloc");
    let off = phase(&bench.rates(&SEQUENTIAL, &sizes), "create");
    bench.host.flush_clustering = FlushClustering::File;
    let on = phase(&bench.rates(&SEQUENTIAL, &sizes), "create");
    let growth = |rates: &[f64]| rates[2] / rates[1];
    assert!(growth(&off) > 1.5, "{off:?}");
    assert!(growth(&on) < 8.0 / 7.0 * 1.1, "{on:?}");
    // Where all is one request, small files are written faster.
    assert!(on[0] > off[0] && on[1] > off[1], "{on:?} {off:?}");
}

#[test]
fn reallocated_writes_fall_behind_64_kb_and_reads_do_not() {
    // 1996, section 4.1: the second request of a file loses a rotation when written; reads fall at 104 KB only.
    let rates = Bench::of_1996("realloc").rates(&SEQUENTIAL, &[64 * KB, 72 * KB, 96 * KB]);
    let (create, read) = (phase(&rates, "create"), phase(&rates, "read"));
    assert!(create[1] < create[0] && create[2] < create[0], "{create:?}");
    assert!(read[1] > read[0] && read[2] > read[1], "{read:?}");
}

#[test]
fn policies_differ_little_on_an_empty_file_system() {
    // 1997, figure 2: the policies of 1996 are nearly identical there. Large files; "nearly": 10 %.
    let sizes = [MB, 4 * MB];
    let rates = |policy| Bench::of_1996(policy).rates(&SEQUENTIAL, &sizes);
    for (original, other) in rates("orig").values().zip(rates("realloc").values()) {
        assert!((original / other - 1.0).abs() < 0.1, "{original} {other}");
    }
}

#[test]
fn large_creates_lose_a_rotation_and_reads_reach_the_bus() {
    // 1995, section 3: large creates of FFS at about 67 % of the bandwidth of the drive, which is that of the media:
    // 57 sectors at 5400 rotations a minute. Large reads approach the 2.3 MB/s of the bus.
    let rates = Bench::of_1995().rates(&SEQUENTIAL_1995, &[8 * MB]);
    let media = 57.0 * 512.0 * 5400.0 / 60.0;
    let bus = 2.3 * MB as f64;
    let share = phase(&rates, "create")[0] / media;
    assert!((0.57..0.77).contains(&share), "{share}");
    let share = phase(&rates, "read")[0] / bus;
    assert!((0.85..1.0).contains(&share), "{share}");
}

#[test]
fn deleting_slows_down_when_indirect_blocks_appear() {
    // 1995, section 3: a sudden drop. Below it the size does not matter: directory and inode are written in any case.
    let rates = Bench::of_1995().rates(&SEQUENTIAL_1995, &[16 * KB, 64 * KB, 128 * KB]);
    let delete = phase(&rates, "delete");
    assert!((delete[0] / delete[1] - 1.0).abs() < 0.1, "{delete:?}");
    assert!(delete[2] < 0.67 * delete[1], "{delete:?}");
}
