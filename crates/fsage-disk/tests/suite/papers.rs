//! What the papers say of their disks, and the worked examples of docs/spec/disk.md.
//!
//! Expected values: printed in the papers, or computed from what they print; the comment beside each says which.

use fsage_disk::{Access, Device, Drive, Request, RotatingDisk};

fn preset(name: &str) -> Drive {
    Drive::preset(name).expect("a preset")
}

fn write(lba: u64, sectors: u32) -> Request {
    Request::new(Access::Write, lba, sectors)
}

fn read(lba: u64, sectors: u32) -> Request {
    Request {
        access: Access::Read,
        ..write(lba, sectors)
    }
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} for {expected}"
    );
}

/// Completion of requests, in milliseconds, each with its issue.
fn completions(drive: &str, requests: &[(f64, Request)]) -> Vec<f64> {
    let mut disk = RotatingDisk::new(&preset(drive));
    requests
        .iter()
        .map(|&(at_ms, request)| disk.submit((at_ms * 1e6) as u64, request).done_ns as f64 / 1e6)
        .collect()
}

#[test]
fn a_write_that_goes_on_loses_a_rotation() {
    // Worked examples 1 and 2: 30.926585 and 55.269 ms, 24.343 ms for 64 KB.
    let done = completions(
        "st32430n",
        &[(0.0, write(1_313_824, 128)), (0.0, write(1_313_952, 128))],
    );
    near(done[0], 30.926_585, 1e-4);
    near(done[1], 55.269, 1e-3);
}

#[test]
fn a_read_that_goes_on_does_not() {
    // Worked example 3: 30.977785, then 44.232035 ms.
    let done = completions(
        "st32430n",
        &[
            (0.0, read(1_313_824, 128)),
            (30.977_827, read(1_313_952, 128)),
        ],
    );
    near(done[0], 30.977_785, 1e-4);
    near(done[1], 44.232_035, 1e-4);
}

#[test]
fn writes_of_metadata_wait_for_the_disk_each_time() {
    // Worked example 4.
    let done = completions(
        "st32430n",
        &[
            (1.0, write(1_313_824, 16)),
            (19.558, write(1_314_336, 16)),
            (28.914, write(1_315_872, 16)),
        ],
    );
    near(done[0], 19.058, 1e-3);
    near(done[1], 28.414, 1e-3);
    near(done[2], 44.008, 1e-3);
}

#[test]
fn a_slow_bus_begins_anew_on_the_next_track() {
    // Worked example 5: the request in a state that a read before it has left behind is at 61.490331 ms. From rest the
    // same two pieces lie 28.374 ms apart in a stream of 64 KB reads (DiskSim: 28.373888).
    let done = completions(
        "dsp3105",
        &[(0.0, read(101_248, 128)), (37.363_092, read(101_376, 128))],
    );
    near(done[0], 37.363_092, 0.005);
    near(done[1], 65.736_980, 0.005);
}

/// Average seek and half a revolution, in milliseconds.
fn access_ms(average_seek_ms: f64, drive: &Drive) -> f64 {
    average_seek_ms + drive.revolution_ms() / 2.0
}

#[test]
fn seltzer_1995_counts_accesses_and_bandwidth() {
    let (dsp, wren) = (preset("dsp3105"), preset("wren4"));
    // Table 2: 67 and 39 accesses a second.
    near(1000.0 / access_ms(9.5, &dsp), 66.4, 0.1);
    near(1000.0 / access_ms(17.5, &wren), 38.7, 0.1);
    // 4 KB in 1.6 ms; 2.5 MB/s, which are of 2^20 bytes.
    let track = f64::from(dsp.zones[0].sectors_per_track);
    near(8.0 * dsp.revolution_ms() / track, 1.559, 0.001);
    let media = track * 512.0 * 1000.0 / dsp.revolution_ms();
    near(media / f64::from(1 << 20), 2.505, 0.001);
    let wren_media =
        f64::from(wren.zones[0].sectors_per_track) * 512.0 * 1000.0 / wren.revolution_ms();
    near(media / wren_media, 1.90, 0.01);
    // A segment of 1 MB: read in 450 ms, written in 603 ms, cleaned (two reads, one write) in 1.5 s. The rates are the
    // paper's 2.3 and 1.7 MB/s; its half revolution is 5.5 ms.
    let read_ms = 9.5 + 5.5 + 1000.0 / 2.3;
    let write_ms = 9.5 + 5.5 + 1000.0 / 1.7;
    near(read_ms, 449.8, 0.05);
    near(write_ms, 603.2, 0.05);
    near(2.0 * read_ms + write_ms, 1502.8, 0.1);
    // 18.4 ms a transaction; 115 of them and half a second of cleaning; FFS, two accesses of 17.5 ms.
    near(1000.0 / 18.4, 54.3, 0.1);
    near(115_000.0 / (115.0 * 18.4 + 500.0), 43.96, 0.01);
    near(1000.0 / (2.0 * 17.5), 28.57, 0.01);
}

/// Mean time of a 64 KB request, one after the other, each so many sectors behind the start of the one before.
fn stream_ms(name: &str, access: Access, step: u64) -> f64 {
    let mut disk = RotatingDisk::new(&preset(name));
    // In the zone in which the reference has its rates of this drive from.
    let base = if name == "st32430n" {
        1_313_824
    } else {
        disk.sectors() / 8 / 16 * 16
    };
    let mut done = Vec::new();
    for i in 0..200 {
        let request = Request::new(access, base + i * step, 128);
        let at = done.last().copied().unwrap_or(0);
        done.push(disk.submit(at, request).done_ns);
    }
    (done[199] - done[9]) as f64 / 190.0 / 1e6
}

/// Bytes a second of such a stream.
fn rate(name: &str, access: Access, step: u64) -> f64 {
    65_536.0 / stream_ms(name, access, step) * 1000.0
}

#[test]
fn a_segment_of_1995_takes_about_as_long_on_the_model() {
    // 450 and 603 ms: 16 requests of 64 KB and one access.
    let segment = |access| 16.0 * stream_ms("dsp3105", access, 128) + 15.0;
    near(segment(Access::Read), 450.0, 45.0);
    near(segment(Access::Write), 603.0, 60.0);
}

#[test]
fn a_lost_rotation_leaves_two_thirds_of_the_bandwidth() {
    // Seltzer et al. 1995, section 3.1: 67 % of the bandwidth, one rotation lost every 64 KB. 64 KB are 2.246
    // revolutions, which alone would give 69.2 %; with skews the model gives 63 % of the media's rate and 72 % of the
    // rate of reads.
    let media = 57.0 * 512.0 * 90.0;
    near(2.246 / 3.246, 0.692, 0.001);
    let (reads, writes) = (
        rate("dsp3105", Access::Read, 128),
        rate("dsp3105", Access::Write, 128),
    );
    near(writes / media, 0.63, 0.01);
    near(writes / reads, 0.72, 0.01);
    // A gap of two blocks avoids it: 75 % against 67 %, 1.12; the model says 1.11.
    near(rate("dsp3105", Access::Write, 160) / writes, 1.11, 0.01);
}

#[test]
fn a_small_gap_between_writes_beats_perfect_contiguity() {
    // Smith and Seltzer 1996, section 5.1, and the rates of the reference: share of the read rate with and without a
    // gap of 16 KB.
    for (name, gap, none) in [
        ("st32430n", 0.80, 0.55),
        ("m2694", 0.80, 0.58),
        ("barracuda9", 0.80, 0.46),
        ("c2247", 0.71, 0.79),
    ] {
        let reads = rate(name, Access::Read, 128);
        near(rate(name, Access::Write, 160) / reads, gap, 0.025);
        near(rate(name, Access::Write, 128) / reads, none, 0.025);
    }
    // Reads do not suffer from 64 KB requests, writes do.
    near(rate("st32430n", Access::Read, 128), 4.92e6, 0.1e6);
    near(rate("st32430n", Access::Write, 128), 2.68e6, 0.1e6);
}

/// Seek, half a revolution and the transfer of some KB from the outermost track, in milliseconds, as Ganger and
/// Kaashoek count.
fn ganger_ms(drive: &Drive, per_track: f64, seek_ms: f64, kb: f64) -> f64 {
    seek_ms + drive.revolution_ms() * (0.5 + kb * 2.0 / per_track)
}

#[test]
fn ganger_1997_compares_request_sizes() {
    // Sectors of the outermost track as printed, one-cylinder and average seek; then 16 KB and 64 KB against 8 KB for
    // both, and the share of a random 8 KB request that does not depend on its size.
    let table = [
        (
            "hpc3653",
            173.0,
            1.0,
            8.7,
            [1.130, 1.057, 1.91, 1.40],
            0.943,
        ),
        (
            "barracuda9",
            239.0,
            0.6,
            8.0,
            [1.105, 1.044, 1.73, 1.31],
            0.956,
        ),
        ("atlas2", 180.0, 1.0, 7.9, [1.125, 1.058, 1.88, 1.41], 0.942),
    ];
    for (name, per_track, one, average, [near16, far16, near64, far64], fixed) in table {
        let drive = preset(name);
        let ms = |seek, kb| ganger_ms(&drive, per_track, seek, kb);
        near(ms(one, 16.0) / ms(one, 8.0), near16, 0.0011);
        near(ms(average, 16.0) / ms(average, 8.0), far16, 0.0011);
        near(ms(one, 64.0) / ms(one, 8.0), near64, 0.011);
        near(ms(average, 64.0) / ms(average, 8.0), far64, 0.011);
        near(ms(average, 0.0) / ms(average, 8.0), fixed, 0.001);
        // "The seek is a little over half of a random access": 62 to 64 %.
        let seek = average / ms(average, 8.0);
        assert!((0.60..=0.65).contains(&seek), "{seek}");
    }
}

#[test]
fn ganger_1997_looks_back_at_the_old_drive() {
    let drive = preset("hp_c2247a");
    let disk = RotatingDisk::new(&drive);
    // One cylinder 2.89 ms: 64 KB took nearly 3 times as long as 8 KB, on the outer and the inner tracks.
    let one_ms = disk.seek_ns(1) as f64 / 1e6;
    let ratio =
        |track| ganger_ms(&drive, track, one_ms, 64.0) / ganger_ms(&drive, track, one_ms, 8.0);
    near(ratio(96.0), 2.26, 0.005);
    near(ratio(56.0), 2.91, 0.005);
    // Its average over the measured curve is 11.50 ms; its access takes only a third longer than the HP C3653's.
    let n = u64::from(drive.cylinders);
    let pairs: u64 = (0..n).map(|d| disk.seek_ns(d as u32) * 2 * (n - d)).sum();
    let average_ms = pairs as f64 / (n * n) as f64 / 1e6;
    near(average_ms, 11.50, 0.02);
    near(
        access_ms(average_ms, &drive) / access_ms(8.7, &preset("hpc3653")),
        1.326,
        0.003,
    );
    near(96.0 / 173.0, 0.55, 0.01);
}

#[test]
fn sectors_in_any_order_take_the_expected_time() {
    // Of a fraction f of a track, from a random angle: f*rev + (1-f)*((1-f)*rev/2 + f*rev).
    let mut drive = preset("st32430n");
    drive.buffer.zero_latency_write = true;
    drive.overhead_ms.write = 0.0;
    let (per_track, revolution) = (138_u32, drive.revolution_ms());
    for sectors in [1, 35, 69, 103, 138] {
        let f = f64::from(sectors) / f64::from(per_track);
        let expected = f * revolution + (1.0 - f) * revolution * ((1.0 - f) / 2.0 + f);
        let runs = 2000_u32;
        let total: f64 = (0..runs)
            .map(|run| {
                let mut disk = RotatingDisk::new(&drive).turned(run * (u32::MAX / runs));
                disk.submit(0, write(0, sectors)).service_ns() as f64 / 1e6
            })
            .sum();
        // A head between two sectors waits for the next one: up to a sector more.
        let sector = revolution / f64::from(per_track);
        let mean = total / f64::from(runs);
        assert!(
            (expected - 0.01..=expected + sector).contains(&mean),
            "{sectors}: {mean}"
        );
    }
}
