//! Ten thousand files of 1 KB: created, read, deleted (section 2).

use super::rates::{Rates, Unit, over};
use super::{Bench, LOG_4K, Systems};
use crate::comparison::Measured;
use crate::figure::{Exhibit, Sheet};
use crate::paper::Paper;
use fsage_bench::benchmarks::small_file::SMALL_FILE;
use fsage_bench::benchmarks::{FileCount, Sequential};
use std::borrow::Cow;

/// The benchmark on all four file systems.
pub struct SmallFiles {
    systems: Systems,
    bytes: u64,
}

const PHASES: [&str; 3] = ["create", "read", "delete"];

impl SmallFiles {
    /// Runs it.
    ///
    /// # Errors
    /// It fails; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<SmallFiles> {
        Ok(SmallFiles {
            systems: bench.on_all(&SmallFiles::benchmark(bench), LOG_4K)?,
            bytes: bench.plan.small_files.size.0,
        })
    }

    /// What is run.
    pub fn benchmark(bench: &Bench<'_>) -> Sequential {
        let plan = bench.plan.small_files;
        Sequential {
            sizes: Cow::Owned(vec![plan.size.0]),
            files: FileCount::Exactly(plan.files),
            ..SMALL_FILE
        }
    }

    /// The log.
    pub fn log(&self) -> &Rates {
        &self.systems.lfs
    }

    fn files(&self, rates: &Rates, phase: &str) -> Option<f64> {
        rates.mean(Unit::Files, phase, self.bytes)
    }

    fn cpu(&self, rates: &Rates, phase: &str) -> Option<f64> {
        rates.at(phase, self.bytes)?.cpu
    }

    /// What the paper says of it.
    pub fn measure(&self, measured: &mut Measured) {
        let Systems { lfs, m1r2, .. } = &self.systems;
        for (row, phase) in [
            ("R95.1.create", "create"),
            ("R95.1.delete", "delete"),
            ("R95.3", "read"),
        ] {
            let ratio = over(self.files(lfs, phase), self.files(m1r2, phase));
            measured.figure(row, ratio);
        }
        for phase in ["create", "delete"] {
            measured.figure(&format!("R95.4.lfs.{phase}"), self.cpu(lfs, phase));
            measured.figure(&format!("R95.4.ffs.{phase}"), self.cpu(m1r2, phase));
        }
    }

    /// Files a second, and the share of the processor.
    pub fn exhibit(&self, paper: &Paper) -> Exhibit {
        let header = [
            "phase",
            "file system",
            "files/s",
            "processor",
            "processor, published",
        ];
        let mut rows = Vec::new();
        for phase in PHASES {
            for (name, rates) in self.systems.named() {
                let printed = phase != "read" && name == "lfs";
                let published = printed.then(|| paper.value(&format!("R95.4.lfs.{phase}")));
                let share = |share: Option<f64>| {
                    share.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share))
                };
                rows.push(vec![
                    phase.to_owned(),
                    name.to_owned(),
                    self.files(rates, phase)
                        .map_or("-".to_owned(), |rate| format!("{rate:.1}")),
                    share(self.cpu(rates, phase)),
                    share(published),
                ]);
            }
        }
        Exhibit::Sheet(Sheet {
            slug: "small-files",
            title: "Many small files (section 2)".to_owned(),
            text: "Created, read in the order of creation, deleted; on empty file systems. The paper gives the work of \
                   the processor for an FFS as 5 to 6 %."
                .to_owned(),
            header: header.map(str::to_owned).to_vec(),
            rows,
        })
    }
}
