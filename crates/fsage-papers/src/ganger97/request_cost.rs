//! What a request costs by its size, with the shortest seeks: why grouping pays (section 2.1 of the paper).

use super::Bench;
use crate::comparison::Measured;
use crate::figure::{Exhibit, Sheet};
use crate::words;
use anyhow::Context;
use fsage_core::Rng;
use fsage_disk::{Access, Disk, Request, RotatingDisk, SECTOR_BYTES};
use std::ops::RangeBounds;

/// Sizes of requests in bytes.
const SIZES: [u64; 4] = [512, 8 << 10, 16 << 10, 64 << 10];
/// Requests of each size.
const REQUESTS: u64 = 2000;

/// Means of the times of requests in milliseconds, by size.
struct Cost {
    drive: String,
    ms: [f64; 4],
}

impl Cost {
    /// Reads one after the other, each at a random place of the next cylinder, so that the seeks are the shortest and
    /// nothing is read twice.
    fn of(name: &str, disk: &Disk, seed: u64) -> Cost {
        let ms = SIZES.map(|bytes| {
            let mut device = disk.device(0);
            let mut rng = Rng::new(seed).stream("request cost", bytes);
            let all = device.sectors();
            let cylinder = all / (u64::from(device.cylinder_of(all - 1)) + 1);
            let sectors = bytes / SECTOR_BYTES;
            let mut now_ns = 0;
            for n in 0..REQUESTS {
                let request = Request::new(
                    Access::Read,
                    (n * cylinder + rng.below(cylinder)) % (all - sectors),
                    sectors as u32,
                );
                now_ns = device.submit(now_ns, request).done_ns;
            }
            now_ns as f64 / REQUESTS as f64 / 1e6
        });
        let drive = name.to_owned();
        Cost { drive, ms }
    }

    /// What so many bytes cost over 8 KB.
    fn over_8k(&self, at: usize) -> f64 {
        self.ms[at] / self.ms[1]
    }

    /// What 64 KB cost over a sector.
    fn over_sector(&self) -> f64 {
        self.ms[3] / self.ms[0]
    }
}

/// A drive as the paper computes with it: seek, half a rotation, and media of the outermost zone; no overhead.
struct Formula {
    drive: String,
    /// Shortest seek in milliseconds.
    shortest_ms: f64,
    /// Mean seek over random pairs of cylinders, in milliseconds.
    average_ms: f64,
    /// A revolution in milliseconds.
    revolution_ms: f64,
    /// Sectors of an outermost track.
    sectors: f64,
}

impl Formula {
    fn of(name: &str) -> anyhow::Result<Formula> {
        let drive = fsage_lab::device::drive(name)?;
        let disk = RotatingDisk::new(&drive);
        let outermost = drive.zones.first().context("a drive has a zone")?;
        // A distance of d is that of 2 (n - d) of n^2 pairs of cylinders.
        let cylinders = f64::from(drive.cylinders);
        let seeks = (1..drive.cylinders).map(|distance| {
            let pairs = 2.0 * (cylinders - f64::from(distance)) / (cylinders * cylinders);
            pairs * disk.seek_ns(distance) as f64
        });
        Ok(Formula {
            drive: name.to_owned(),
            shortest_ms: disk.seek_ns(1) as f64 / 1e6,
            average_ms: seeks.sum::<f64>() / 1e6,
            revolution_ms: 60e3 / f64::from(drive.rpm),
            sectors: f64::from(outermost.sectors_per_track),
        })
    }

    fn media_ms(&self, bytes: u64) -> f64 {
        self.revolution_ms * (bytes / SECTOR_BYTES) as f64 / self.sectors
    }

    fn ms(&self, seek_ms: f64, bytes: u64) -> f64 {
        seek_ms + self.revolution_ms / 2.0 + self.media_ms(bytes)
    }

    /// How many times a request costs another one with the shortest seeks.
    fn over(&self, bytes: u64, other: u64) -> f64 {
        self.ms(self.shortest_ms, bytes) / self.ms(self.shortest_ms, other)
    }

    /// The same where a drive begins with whichever sector of the request comes first: outside of it the wait is half
    /// of the rest of the track in the mean, inside of it a whole revolution is needed.
    fn over_with_zero_latency(&self, bytes: u64, other: u64) -> f64 {
        let ms = |bytes| {
            let share = (self.media_ms(bytes) / self.revolution_ms).min(1.0);
            let outside = (1.0 - share) * ((1.0 - share) / 2.0 + share);
            self.shortest_ms + self.revolution_ms * (outside + share)
        };
        ms(bytes) / ms(other)
    }

    /// Sectors that pass in a millisecond.
    fn sectors_per_ms(&self) -> f64 {
        self.sectors / self.revolution_ms
    }

    /// An average seek and half a rotation.
    fn access_ms(&self) -> f64 {
        self.average_ms + self.revolution_ms / 2.0
    }

    /// The share of a random request of 8 KB that is a seek, and the share that does not depend on its size.
    fn shares(&self) -> (f64, f64) {
        let all = self.ms(self.average_ms, 8 << 10);
        (self.average_ms / all, 1.0 - self.media_ms(8 << 10) / all)
    }
}

/// The drive with the largest figure, as text, and whether all are within `range`.
fn within(
    drives: &[Formula],
    range: impl RangeBounds<f64>,
    of: impl Fn(&Formula) -> f64,
) -> Option<(bool, String)> {
    let holds = drives.iter().all(|drive| range.contains(&of(drive)));
    let text = drives
        .iter()
        .map(|drive| format!("{} {:.2}", drive.drive, of(drive)));
    (!drives.is_empty()).then(|| (holds, text.collect::<Vec<String>>().join(", ")))
}

/// What the paper says of an older drive beside the first one, and of that of the experiments beside all.
fn compare_drives(
    bench: &Bench<'_>,
    drives: &[Formula],
    measured: &mut Measured,
) -> anyhow::Result<()> {
    let older = Formula::of(&bench.plan.request_cost.older)?;
    let first = drives.first();
    let sectors = first.map(|first| older.sectors / first.sectors);
    measured.figure("G97.8.older.sectors", sectors);
    let access = first.map(|first| older.access_ms() / first.access_ms() - 1.0);
    measured.figure("G97.8.older.access", access);
    let Ok(own) = Formula::of(&bench.paper.run.device) else {
        return Ok(());
    };
    let share = |drive: &Formula| own.sectors_per_ms() / drive.sectors_per_ms();
    // A third to half, as shares of tens.
    let range = words::round_range(0.3, 0.5);
    measured.shape("G97.M.bandwidth", within(drives, range, share));
    Ok(())
}

/// Measures drives of the paper's time, an older one, and that of the experiments; gives the table.
///
/// # Errors
/// A drive is unknown.
pub fn run(bench: &Bench<'_>, measured: &mut Measured) -> anyhow::Result<Exhibit> {
    let plan = &bench.plan.request_cost;
    let run = &bench.paper.run;
    let drives = plan.drives.iter().map(|name| Formula::of(name));
    let drives = drives.collect::<anyhow::Result<Vec<Formula>>>()?;
    let [sector, eight, sixteen, most] = SIZES;
    measured.shape(
        "G97.8.16K",
        within(&drives, ..=1.10, |drive| drive.over(sixteen, eight)),
    );
    measured.shape(
        "G97.8.64K",
        within(&drives, ..2.0, |drive| drive.over(most, eight)),
    );
    measured.shape(
        "G97.8.sector",
        within(&drives, ..2.0, |drive| drive.over(most, sector)),
    );
    measured.shape(
        "G97.8.fixed",
        within(&drives, 0.90.., |drive| drive.shares().1),
    );
    measured.shape(
        "G97.8.seek",
        within(&drives, 0.50..=0.60, |drive| drive.shares().0),
    );
    let gain =
        |drive: &Formula| drive.over_with_zero_latency(most, eight) / drive.over(most, eight);
    measured.shape("G97.8.zero-latency", within(&drives, ..1.0, gain));
    compare_drives(bench, &drives, measured)?;
    let older = Formula::of(&plan.older)?;
    measured.figure("G97.8.older", Some(older.over(most, eight)));
    let cost = |name: &String| {
        let disk = fsage_lab::device::disk(name)?;
        anyhow::Ok(Cost::of(name, &disk, run.seed))
    };
    let measured_drives = plan.drives.iter().chain([&plan.older, &run.device]);
    let costs = measured_drives
        .map(cost)
        .collect::<anyhow::Result<Vec<Cost>>>()?;
    let older = costs.get(plan.drives.len()).map(|cost| cost.over_8k(3));
    measured.figure("G97.8.older.measured", older);
    let rows = costs.iter().map(|cost| {
        let ms = cost.ms.iter().map(|ms| format!("{ms:.2}"));
        let over = [2, 3].map(|at| format!("{:.2}", cost.over_8k(at)));
        let sector = format!("{:.2}", cost.over_sector());
        let name = [cost.drive.clone()].into_iter();
        name.chain(ms).chain(over).chain([sector]).collect()
    });
    Ok(Exhibit::Sheet(Sheet {
        slug: "request-cost",
        title: "What a request costs by its size (section 2.1)".to_owned(),
        text: format!(
            "Mean times in milliseconds of {REQUESTS} reads of each size, one after the other, each at a random place \
             of the next cylinder: with overhead, and in all zones. The rows of figure 2 are computed as in the paper: \
             without overhead, in the outermost zone."
        ),
        header: [
            "drive",
            "512 B",
            "8 KB",
            "16 KB",
            "64 KB",
            "16 KB over 8 KB",
            "64 KB over 8 KB",
            "64 KB over 512 B",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: rows.collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, for 7,200 revolutions a minute, 173 sectors and a shortest seek of 1 ms: 8 KB take 1 + 4.167 + 0.771
    /// ms, 64 KB 1 + 4.167 + 6.166 ms, which is 1.91 times; any sector first, 64 KB take 1 + 8.05 ms and 8 KB 1 + 4.90
    /// ms, which is 1.53 times.
    #[test]
    fn the_formula_of_the_paper_by_hand() {
        let drive = Formula {
            drive: "hpc3653".to_owned(),
            shortest_ms: 1.0,
            average_ms: 8.7,
            revolution_ms: 60e3 / 7200.0,
            sectors: 173.0,
        };
        assert!((drive.over(64 << 10, 8 << 10) - 1.909).abs() < 1e-3);
        assert!((drive.over_with_zero_latency(64 << 10, 8 << 10) - 1.534).abs() < 1e-3);
        let (seek, fixed) = drive.shares();
        assert!((seek - 0.638).abs() < 1e-3 && (fixed - 0.943).abs() < 1e-3);
        let drives = [drive];
        assert_eq!(
            within(&drives, ..2.0, |d| d.over(64 << 10, 8 << 10)),
            Some((true, "hpc3653 1.91".to_owned()))
        );
        assert_eq!(
            within(&drives, ..1.9, |d| d.over(64 << 10, 8 << 10)).map(|w| w.0),
            Some(false)
        );
    }
}
