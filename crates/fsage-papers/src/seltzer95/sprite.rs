//! Sprite's log and the FFS of `SunOS` on the machine and the disk of Rosenblum and Ousterhout, whose speeds the paper
//! scales to its own machine (section 2, figures 1 and 2).
//!
//! Both systems are run here on a simulated disk and host of theirs, and what comes out is scaled by the paper's
//! factors of table 2: by which of them says the caption of each figure. Nothing of what Rosenblum and Ousterhout
//! measured is used.

use super::Bench;
use super::large_file::{FivePasses, PASSES};
use super::plan;
use super::rates::{Rates, Unit, over};
use super::small_files::SmallFiles;
use crate::comparison::Measured;
use crate::figure::{Exhibit, Sheet};
use crate::lab::Lab;
use crate::words::{comparable, nearly_the_same};

/// Phases of the small files.
const PHASES: [&str; 3] = ["create", "read", "delete"];

/// One of the two systems.
struct System {
    small: Rates,
    large: Rates,
}

/// Both systems, as they are on their own machine.
pub struct Sprite {
    plan: plan::Sprite,
    lfs: System,
    ffs: System,
    small_bytes: u64,
    large_bytes: u64,
}

impl Sprite {
    /// Runs both benchmarks of section 2 on both.
    ///
    /// # Errors
    /// A benchmark fails; there is no such disk or host; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<Sprite> {
        let plan = bench.plan.sprite.clone();
        let (small, large) = (SmallFiles::benchmark(bench), FivePasses::benchmark(bench));
        let system = |host: &str, target: &str| -> anyhow::Result<System> {
            let run = &bench.paper.run;
            let lab = Lab::with(run, &plan.device, host, bench.threads, bench.ui)?;
            Ok(System {
                small: bench.on(&lab, &small, target)?,
                large: bench.on(&lab, &large, target)?,
            })
        };
        Ok(Sprite {
            lfs: system(&plan.lfs_host, "sprite-lfs")?,
            ffs: system(&plan.ffs_host, "sun-ffs")?,
            plan,
            small_bytes: bench.plan.small_files.size.0,
            large_bytes: bench.plan.large_file.size.0,
        })
    }

    /// Files a second of a phase, in the order log, FFS; scaled as the caption of figure 1 says.
    fn files(&self, phase: &str) -> [Option<f64>; 2] {
        let scales = match phase {
            "read" => [self.plan.bandwidth; 2],
            _ => [self.plan.processor, self.plan.accesses],
        };
        let rate = |system: &System, scale: f64| {
            let files = system.small.mean(Unit::Files, phase, self.small_bytes)?;
            Some(files * scale)
        };
        [rate(&self.lfs, scales[0]), rate(&self.ffs, scales[1])]
    }

    /// MB/s of a pass, in the same order; scaled as the caption of figure 2 says.
    fn megabytes(&self, pass: &str) -> [Option<f64>; 2] {
        let scales = match pass {
            "random-read" => [self.plan.accesses; 2],
            "random-write" => [self.plan.bandwidth, self.plan.accesses],
            _ => [self.plan.bandwidth; 2],
        };
        let rate = |system: &System, scale: f64| {
            let megabytes = system.large.mean(Unit::Megabytes, pass, self.large_bytes)?;
            Some(megabytes * scale)
        };
        [rate(&self.lfs, scales[0]), rate(&self.ffs, scales[1])]
    }

    /// What the paper says of them beside its own log, and of the FFS beside its own one without clusters.
    pub fn measure(
        &self,
        small: &Rates,
        large: &Rates,
        without_clusters: &Rates,
        measured: &mut Measured,
    ) {
        measured.shape("L95.7", self.ffs_is_alike(without_clusters));
        let ours = |phase| small.mean(Unit::Files, phase, self.small_bytes);
        for phase in ["create", "delete"] {
            let [lfs, ffs] = self.files(phase);
            measured.figure(&format!("R95.1.sprite.{phase}"), over(lfs, ffs));
            let ratio = over(ours(phase), lfs);
            measured.figure(&format!("R95.2.{phase}"), ratio.map(as_printed(phase)));
        }
        let [lfs, ffs] = self.files("read");
        measured.figure("R95.3.sprite", over(lfs, ffs));
        measured.shape(
            "R95.2.read",
            beside(ours("read"), lfs, "files/s", |r| r > 1.0),
        );

        let ours = |pass| large.mean(Unit::Megabytes, pass, self.large_bytes);
        for (row, pass) in [("L95.1.order", "create"), ("L95.1.random", "random-write")] {
            let [lfs, _] = self.megabytes(pass);
            measured.shape(row, beside(ours(pass), lfs, "MB/s", nearly_the_same));
        }
        for (row, pass) in [("L95.2", "read"), ("L95.5", "reread")] {
            let [lfs, _] = self.megabytes(pass);
            measured.shape(row, beside(ours(pass), lfs, "MB/s", |r| r > 1.0));
        }
        let [lfs, _] = self.megabytes("random-read");
        measured.shape(
            "L95.3",
            beside(ours("random-read"), lfs, "MB/s", |r| r < 1.0),
        );
        let written = self
            .ffs
            .large
            .mean(Unit::Megabytes, "create", self.large_bytes);
        let share = written.map(|rate| rate / self.plan.bandwidth_mb_per_s);
        measured.figure("L95.6", share);
    }

    /// Passes of the large file on the scaled FFS over those of the paper's own: comparable but for writing in order.
    fn ffs_is_alike(&self, m1r2: &Rates) -> Option<(bool, String)> {
        let mut holds = true;
        let mut text = Vec::new();
        for (pass, what) in PASSES {
            let [_, ffs] = self.megabytes(pass);
            let ratio = over(ffs, m1r2.mean(Unit::Megabytes, pass, self.large_bytes))?;
            holds &= comparable(ratio) != (pass == "create");
            text.push(format!("{what} {ratio:.2}"));
        }
        Some((holds, format!("Sun-FFS over m1r2: {}", text.join(", "))))
    }

    /// Every phase and pass: as it is on Sprite's machine, scaled, and the paper's own log.
    pub fn exhibit(&self, small: &Rates, large: &Rates) -> Exhibit {
        let header = [
            "phase",
            "unit",
            "sprite-lfs",
            "scaled",
            "sun-ffs",
            "scaled",
            "lfs",
        ];
        let row = |what: &str, unit: &str, cells: [Option<f64>; 5]| {
            let cells = cells.map(|cell| cell.map_or("-".to_owned(), |rate| format!("{rate:.2}")));
            [what.to_owned(), unit.to_owned()]
                .into_iter()
                .chain(cells)
                .collect()
        };
        let of_small = PHASES.map(|phase| {
            let rate = |rates: &Rates| rates.mean(Unit::Files, phase, self.small_bytes);
            let (lfs, ffs) = (rate(&self.lfs.small), rate(&self.ffs.small));
            let [lfs_scaled, ffs_scaled] = self.files(phase);
            row(
                phase,
                "files/s",
                [lfs, lfs_scaled, ffs, ffs_scaled, rate(small)],
            )
        });
        let of_large = PASSES.map(|(pass, what)| {
            let rate = |rates: &Rates| rates.mean(Unit::Megabytes, pass, self.large_bytes);
            let (lfs, ffs) = (rate(&self.lfs.large), rate(&self.ffs.large));
            let [lfs_scaled, ffs_scaled] = self.megabytes(pass);
            row(
                what,
                "MB/s",
                [lfs, lfs_scaled, ffs, ffs_scaled, rate(large)],
            )
        });
        Exhibit::Sheet(Sheet {
            slug: "sprite",
            title: "Sprite's log and SunOS, scaled (section 2, figures 1 and 2)".to_owned(),
            text: format!(
                "Disk {}, host {} for the log and {} for the FFS. Scaled by {} where the processor is the limit, by {} \
                 where the bandwidth is, by {} where accesses are, as the captions say.",
                self.plan.device,
                self.plan.lfs_host,
                self.plan.ffs_host,
                self.plan.processor,
                self.plan.bandwidth,
                self.plan.accesses
            ),
            header: header.map(str::to_owned).to_vec(),
            rows: of_small.into_iter().chain(of_large).collect(),
        })
    }
}

/// What the paper prints of a ratio: the loss of creating in percent, and the factor of deleting.
fn as_printed(phase: &str) -> fn(f64) -> f64 {
    match phase {
        "create" => |ratio| 1.0 - ratio,
        _ => |ratio| ratio,
    }
}

/// The paper's log beside the scaled one of Sprite, and whether their ratio is as the paper says.
fn beside(
    ours: Option<f64>,
    sprite: Option<f64>,
    unit: &str,
    holds: impl Fn(f64) -> bool,
) -> Option<(bool, String)> {
    let (ours, sprite) = ours.zip(sprite)?;
    let text = format!("{ours:.2} beside {sprite:.2} {unit} of scaled Sprite-LFS");
    Some((holds(ours / sprite), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Line, Verdict};
    use crate::paper::{Experiments, Paper};
    use crate::seltzer95::rates::tests::rates;

    /// Small files create, read and delete at these rates; large ones at the same for every pass.
    fn system(create: f64, read: f64, delete: f64, pass: f64) -> System {
        let passes = PASSES.map(|(name, _)| (name, 1, pass));
        System {
            small: rates(&[
                ("create", 1, create),
                ("read", 1, read),
                ("delete", 1, delete),
            ]),
            large: rates(&passes),
        }
    }

    /// Expected values by hand, from the factors of table 2: 2.5, 1.8 and 1.7.
    #[test]
    fn speeds_are_scaled_as_the_captions_say() {
        let paper = Paper::named("seltzer95").unwrap();
        let Experiments::Logging(plan) = &paper.run.experiments else {
            panic!("another kind of experiments");
        };
        let sprite = Sprite {
            plan: plan.sprite.clone(),
            lfs: system(170.0, 80.0, 200.0, 0.5),
            ffs: system(25.0, 80.0, 20.0, 0.56),
            small_bytes: 1 << 10,
            large_bytes: 1 << 10,
        };
        let small = rates(&[
            ("create", 1, 340.0),
            ("read", 1, 140.0),
            ("delete", 1, 1000.0),
        ]);
        let large = rates(&PASSES.map(|(name, _)| (name, 1, 0.9)));
        let mut measured = Measured::default();
        let m1r2 = rates(&PASSES.map(|(name, _)| (name, 1, 1.0)));
        sprite.measure(&small, &large, &m1r2, &mut measured);
        let lines = measured.compare(&paper);
        let line = |id: &str| -> &Line { lines.iter().find(|l| l.expected.id == id).unwrap() };
        // 170 x 2.5 = 425 over 25 x 1.7 = 42.5; 340 over 425.
        let close = |id: &str, value: f64| (line(id).ours.unwrap() - value).abs() < 1e-9;
        assert!(close("R95.1.sprite.create", 10.0));
        assert!(close("R95.2.create", 0.2), "a fifth less");
        // 1000 over 200 x 2.5.
        assert!(close("R95.2.delete", 2.0));
        assert!(close("R95.3.sprite", 1.0));
        // 140 files a second are less than 80 x 1.8; 0.9 MB/s are 0.5 x 1.8, and more than 0.5 x 1.7.
        assert_eq!(line("R95.2.read").verdict, Verdict::Differs);
        assert_eq!(line("L95.1.order").verdict, Verdict::Met);
        assert_eq!(line("L95.1.random").verdict, Verdict::Met);
        assert_eq!(line("L95.2").verdict, Verdict::Differs, "not more");
        assert_eq!(
            line("L95.3").verdict,
            Verdict::Calibrated,
            "what a reading was taken from"
        );
        assert!(close("L95.6", 0.4), "0.56 of 1.4 MB/s");
        assert_eq!(
            line("L95.7").verdict,
            Verdict::Differs,
            "writing in order too"
        );
        let Exhibit::Sheet(sheet) = sprite.exhibit(&small, &large) else {
            panic!("a sheet");
        };
        assert_eq!(sheet.rows.len(), PHASES.len() + PASSES.len());
        assert_eq!(
            sheet.rows[0][2..],
            ["170.00", "425.00", "25.00", "42.50", "340.00"]
        );
    }
}
