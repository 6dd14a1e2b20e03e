//! A file of 100 MB in five passes (section 2).

use super::rates::{Rates, Unit};
use super::{Bench, LOG_4K, Systems};
use crate::comparison::Measured;
use crate::figure::{Exhibit, Sheet};
use fsage_bench::benchmarks::LargeFile;
use fsage_bench::benchmarks::large_file::LARGE_FILE;

/// The benchmark on all four file systems.
pub struct FivePasses {
    systems: Systems,
    bytes: u64,
}

/// Phases of the benchmark, and what they are.
pub const PASSES: [(&str, &str); 5] = [
    ("create", "write in order"),
    ("read", "read in order"),
    ("random-write", "write at random"),
    ("random-read", "read at random"),
    ("reread", "read in order again"),
];

impl FivePasses {
    /// Runs it.
    ///
    /// # Errors
    /// It fails; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<FivePasses> {
        Ok(FivePasses {
            systems: bench.on_all(&FivePasses::benchmark(bench), LOG_4K)?,
            bytes: bench.plan.large_file.size.0,
        })
    }

    /// What is run.
    pub fn benchmark(bench: &Bench<'_>) -> LargeFile {
        let plan = bench.plan.large_file;
        LargeFile {
            file_bytes: plan.size.0,
            unit_bytes: plan.unit.0,
            ..LARGE_FILE
        }
    }

    /// The log.
    pub fn log(&self) -> &Rates {
        &self.systems.lfs
    }

    /// The FFS without clusters.
    pub fn without_clusters(&self) -> &Rates {
        &self.systems.m1r2
    }

    fn rate(&self, rates: &Rates, pass: &str) -> Option<f64> {
        rates.mean(Unit::Megabytes, pass, self.bytes)
    }

    /// What the paper says of it; `bandwidth` of the disk in MB/s.
    pub fn measure(&self, bandwidth: f64, measured: &mut Measured) {
        let Systems { m1r2, .. } = &self.systems;
        let ffs = self.rate(m1r2, "create");
        measured.figure("L95.4", ffs.map(|rate| rate / bandwidth));
    }

    /// MB/s of each pass.
    pub fn exhibit(&self) -> Exhibit {
        let systems = self.systems.named();
        let header = ["pass".to_owned()]
            .into_iter()
            .chain(systems.iter().map(|(name, _)| format!("{name}, MB/s")));
        let rows = PASSES.iter().map(|(pass, what)| {
            let rates = systems.iter().map(|(_, rates)| {
                self.rate(rates, pass)
                    .map_or("-".to_owned(), |rate| format!("{rate:.2}"))
            });
            [(*what).to_owned()].into_iter().chain(rates).collect()
        });
        Exhibit::Sheet(Sheet {
            slug: "large-file",
            title: "One large file in five passes (section 2)".to_owned(),
            text: "100 MB in units of 8 KB. The paper prints 100 KB for the passes at random; here they move as much \
                   as the others, as Rosenblum and Ousterhout's do."
                .to_owned(),
            header: header.collect(),
            rows: rows.collect(),
        })
    }
}
