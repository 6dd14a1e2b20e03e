//! One large file: written, read, written over (figure 8).

use super::phases::{Phases, percent};
use super::{AS_USED, Bench, NAMES, OfEach};
use crate::comparison::Measured;
use crate::figure::{Bar, BarChart, Exhibit};
use crate::lab::Raw;
use crate::words;
use fsage_bench::benchmarks::Sequential;
use fsage_bench::benchmarks::large_file::LARGE_FILE_1997;
use fsage_core::Layout;
use std::borrow::Cow;

/// The phases of the benchmark, and whether they write.
const PHASES: [(&str, bool); 3] = [("create", true), ("read", false), ("overwrite", true)];
/// The benchmark, and the disk without a file system.
pub struct LargeFile {
    each: OfEach<Phases>,
    raw: Raw,
}

impl LargeFile {
    /// Runs it on fresh file systems.
    ///
    /// # Errors
    /// A benchmark fails; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<LargeFile> {
        let benchmark = Sequential {
            sizes: Cow::Owned(vec![bench.plan.large_file.0]),
            ..LARGE_FILE_1997
        };
        let repetitions = bench.paper.run.repetitions;
        let mut bytes = 0;
        let each = OfEach::try_new(|name| {
            let state = bench.fresh(name, AS_USED)?;
            bytes = state.fs.geometry().size_bytes;
            Ok(Phases::of(&bench.lab.run(
                &benchmark,
                &state,
                repetitions,
            )?))
        })?;
        Ok(LargeFile {
            each,
            raw: bench.lab.raw(bytes),
        })
    }

    fn rate(phases: &Phases, phase: &str) -> Option<f64> {
        Some(phases.get(phase)?.mb_per_s?.mean)
    }

    fn raw(&self, writes: bool) -> f64 {
        if writes {
            self.raw.write
        } else {
            self.raw.read
        }
    }

    /// What the paper says of figure 8.
    pub fn measure(&self, measured: &mut Measured) {
        let shares = PHASES.iter().flat_map(|&(phase, _)| {
            let neither = Self::rate(self.each.neither(), phase);
            let others = self.each.0.iter();
            others.filter_map(move |of| Some(Self::rate(of, phase)? / neither?))
        });
        let farthest = shares.max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()));
        measured.shape(
            "G97.6.same",
            farthest.map(|share| {
                let text = format!("at most {:.1} % apart", 100.0 * (share - 1.0).abs());
                (words::nearly_the_same(share), text)
            }),
        );
        let shares = PHASES.iter().flat_map(|&(phase, writes)| {
            let rates = self
                .each
                .0
                .iter()
                .filter_map(move |of| Self::rate(of, phase));
            rates.map(move |rate| rate / self.raw(writes))
        });
        let least = shares.reduce(f64::min);
        measured.shape(
            "G97.6.bandwidth",
            least.map(|least| {
                (
                    words::is_most(least),
                    format!("at least {} of the raw disk", percent(least)),
                )
            }),
        );
    }

    /// The chart.
    pub fn exhibit(&self) -> Exhibit {
        let mut bars = Vec::new();
        for (phase, writes) in PHASES {
            let bar = |curve: &str, value, deviation| Bar {
                group: phase.to_owned(),
                curve: curve.to_owned(),
                value,
                deviation,
            };
            for (name, of) in NAMES.into_iter().zip(&self.each.0) {
                let rate = of.get(phase).and_then(|phase| phase.mb_per_s);
                bars.extend(rate.map(|rate| bar(name, rate.mean, rate.standard_deviation)));
            }
            bars.push(bar("raw disk", self.raw(writes), None));
        }
        Exhibit::Bars(BarChart {
            slug: "large-file",
            title: "A large file (figure 8)".to_owned(),
            text: "Written, read and written over in calls of 4 KB, with an fsync where it is written. The raw disk \
                   moves 64 KB at a time, one request after the other, over the whole partition; the file lies in \
                   its fastest zone."
                .to_owned(),
            value_label: "MB/s (10^6)",
            bars,
        })
    }
}
