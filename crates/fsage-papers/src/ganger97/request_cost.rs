//! What a request costs by its size, with the shortest seeks: why grouping pays (section 2.1 of the paper).

use super::Bench;
use crate::comparison::Measured;
use crate::figure::{Exhibit, Sheet};
use fsage_core::Rng;
use fsage_disk::{Access, Disk, Request, SECTOR_BYTES};

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
                let request = Request {
                    access: Access::Read,
                    lba: (n * cylinder + rng.below(cylinder)) % (all - sectors),
                    sectors: sectors as u32,
                };
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

/// The drive that costs most in relation, as text, and whether it costs no more than `limit` times.
fn at_most(costs: &[Cost], limit: f64, of: impl Fn(&Cost) -> f64) -> Option<(bool, String)> {
    let most = costs.iter().max_by(|a, b| of(a).total_cmp(&of(b)))?;
    let text = format!("at most {:.2} times, {}", of(most), most.drive);
    Some((of(most) <= limit, text))
}

/// Measures drives of the paper's time, an older one, and that of the experiments; gives the table.
///
/// # Errors
/// A drive is unknown.
pub fn run(bench: &Bench<'_>, measured: &mut Measured) -> anyhow::Result<Exhibit> {
    let plan = &bench.plan.request_cost;
    let run = &bench.paper.run;
    let cost = |name: &String| {
        let disk = fsage_lab::device::disk(name)?;
        anyhow::Ok(Cost::of(name, &disk, run.seed))
    };
    let drives = plan.drives.iter().map(cost);
    let mut costs = drives.collect::<anyhow::Result<Vec<Cost>>>()?;
    measured.shape("G97.8.16K", at_most(&costs, 1.10, |cost| cost.over_8k(2)));
    measured.shape("G97.8.64K", at_most(&costs, 2.0, |cost| cost.over_8k(3)));
    measured.shape("G97.8.sector", at_most(&costs, 2.0, Cost::over_sector));
    let older = cost(&plan.older)?;
    measured.figure("G97.8.older", Some(older.over_8k(3)));
    costs.extend([older, cost(&run.device)?]);
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
             of the next cylinder."
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
