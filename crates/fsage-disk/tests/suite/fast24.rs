//! The emulated drive of Jun and others, FAST 2024, against the results of the paper's artifact: bare requests, and 60
//! us for each direct read of 1 MB. docs/spec/flash.md, sections 10.1 and 12.2.

use crate::common::say;
use fsage_core::Rng;
use fsage_disk::{Access, Device, FlashDevice, FlashDrive, Hint, Request};

/// Sectors of a piece of 32 KB.
const PIECE: u32 = 64;
const PIECES: u64 = 256;
/// Where files of others begin; addresses mean nothing to the drive.
const OTHERS: u64 = 1 << 21;
/// A system call, block layer, interrupt and copy: fitted by the specification to all nine figures together.
const CALL_NS: u64 = 60_000;
/// Seeds over which random workloads are averaged.
const SEEDS: u64 = 40;

/// How much others write after each piece.
#[derive(Clone, Copy)]
enum Between {
    /// The rest of the stripe, so that all pieces meet on one die.
    Worst,
    /// 1 to 32 pieces.
    Random,
}

struct Host {
    device: FlashDevice,
    now_ns: u64,
}

impl Host {
    /// Writes and waits, in requests of at most 256 KB.
    fn write(&mut self, lba: u64, sectors: u32, hint: Hint) {
        let end = lba + u64::from(sectors);
        let (mut at, mut hint) = (lba, hint);
        while at < end {
            let request = Request {
                hint,
                ..Request::new(Access::Write, at, (end - at).min(512) as u32)
            };
            self.now_ns = self.device.submit(self.now_ns, request).done_ns;
            if matches!(hint, Hint::Append(_)) {
                hint = Hint::Append(request.end() - 8);
            }
            at = request.end();
        }
    }

    /// Reads 8 MB in calls of 1 MB, which are split into requests of so many sectors that go together. MiB/s.
    fn read(&mut self, each: u32) -> f64 {
        self.device.rest();
        let mut now_ns = 0;
        for call in 0..8 {
            let requests = (0..2048 / each).map(|i| {
                let lba = call * 2048 + u64::from(i * each);
                Request::new(Access::Read, lba, each)
            });
            let done = requests.map(|request| self.device.submit(now_ns, request).done_ns);
            now_ns = done.max().expect("a call has requests") + CALL_NS;
        }
        8.0 * 1e9 / now_ns as f64
    }
}

fn host(drive: &str) -> Host {
    let drive = FlashDrive::preset(drive).expect("a preset");
    Host {
        device: FlashDevice::new(&drive.with_options("core").expect("an option")),
        now_ns: 0,
    }
}

fn contiguous() -> f64 {
    let mut host = host("emu24");
    host.write(0, PIECES as u32 * PIECE, Hint::None);
    host.read(512)
}

fn pieces(drive: &str, overwrite: bool, between: Between, seed: u64) -> f64 {
    let mut host = host(drive);
    let mut rng = Rng::new(seed);
    if overwrite {
        host.write(0, PIECES as u32 * PIECE, Hint::None);
    }
    let mut others = OTHERS;
    for i in 0..PIECES {
        let lba = i * u64::from(PIECE);
        let hint = match (overwrite, i) {
            (true, _) => Hint::Overwrite,
            (false, 0) => Hint::None,
            (false, _) => Hint::Append(lba - 8),
        };
        host.write(lba, PIECE, hint);
        let sectors = match between {
            Between::Worst => 7 * PIECE,
            Between::Random => (1 + rng.below(32) as u32) * PIECE,
        };
        host.write(others, sectors, Hint::None);
        others += u64::from(sectors);
    }
    // Appended pieces are extents; an overwritten file is one.
    host.read(if overwrite { 512 } else { PIECE })
}

fn mean(drive: &str, overwrite: bool, between: Between) -> f64 {
    let seeds = match between {
        Between::Worst => 1,
        Between::Random => SEEDS,
    };
    let all = (0..seeds).map(|seed| pieces(drive, overwrite, between, seed));
    all.sum::<f64>() / seeds as f64
}

#[test]
fn the_figures_of_the_artifact_come_out() {
    let (plain, hint) = ("emu24", "emu24_affinity");
    // What was measured, and how far off may be: 2 %, and 6 % with hints. The artifact measured one random layout, and
    // such layouts differ by 5 % (standard deviation of ours): 3 %. Appended ones are 2.3 % off over 200 seeds.
    let table = [
        ("contiguous", 2174.53, 0.02, contiguous()),
        (
            "append worst",
            397.26,
            0.02,
            mean(plain, false, Between::Worst),
        ),
        (
            "append random",
            1470.01,
            0.03,
            mean(plain, false, Between::Random),
        ),
        (
            "overwrite worst",
            398.79,
            0.02,
            mean(plain, true, Between::Worst),
        ),
        (
            "overwrite random",
            1487.34,
            0.03,
            mean(plain, true, Between::Random),
        ),
        (
            "append worst, hint",
            2126.48,
            0.06,
            mean(hint, false, Between::Worst),
        ),
        (
            "append random, hint",
            2063.64,
            0.06,
            mean(hint, false, Between::Random),
        ),
        (
            "overwrite worst, hint",
            2057.91,
            0.06,
            mean(hint, true, Between::Worst),
        ),
        (
            "overwrite random, hint",
            2069.28,
            0.06,
            mean(hint, true, Between::Random),
        ),
    ];
    for (what, measured, bound, found) in table {
        let off = found / measured - 1.0;
        say(&format!(
            "{what}: {found:.1} MiB/s, measured {measured:.1} ({:+.1} %)",
            off * 100.0
        ));
        assert!(off.abs() <= bound, "{what}: {found}, measured {measured}");
    }
}
