//! The baseline beside the FFS of `OpenBSD` on the same disk (section 4.1).
//!
//! The paper compares both as they are, so that no first block is put at random here. Its reasons are the system, whose
//! calls cost what calls of a kernel cost, and the writes, which `OpenBSD` clusters by file and not by place; the host
//! of the FFS has these, and the static file cache.

use super::phases::{Phases, faster, times};
use super::small_files::PHASES;
use super::{AS_USED, Bench, FILES_OF_A_DIRECTORY};
use crate::aged::{self, State};
use crate::comparison::Measured;
use crate::figure::{Exhibit, Sheet};
use crate::lab::Lab;
use crate::words;
use anyhow::Context;
use fsage_bench::benchmarks::small_file::SMALL_FILE_1997;
use fsage_bench::benchmarks::{FileCount, Sequential, Step};
use fsage_core::io::AnyHosted;
use std::borrow::Cow;

/// Small files in one cache and not in the other: written, then read from it.
const CACHED: &[Step] = &[Step::Create, Step::Read];
/// Their size.
const CACHED_BYTES: u64 = 8 << 10;

/// Both file systems.
#[derive(Debug)]
pub struct OpenBsd {
    neither: System,
    openbsd: System,
    host: String,
    /// First blocks of the baseline were put at random.
    at_random: bool,
}

#[derive(Debug)]
struct System {
    small: Phases,
    cached: Phases,
}

impl System {
    fn of<F: AnyHosted>(
        bench: &Bench<'_>,
        lab: &Lab<'_>,
        state: &State<F>,
    ) -> anyhow::Result<System> {
        let plan = &bench.plan.openbsd;
        let repetitions = bench.paper.run.repetitions;
        let small = Sequential {
            sizes: Cow::Owned(vec![bench.plan.small_files.size.0]),
            files: FileCount::Exactly(bench.plan.small_files.directories * FILES_OF_A_DIRECTORY),
            files_per_directory: FILES_OF_A_DIRECTORY,
            ..SMALL_FILE_1997
        };
        let cached = Sequential {
            sizes: Cow::Owned(vec![CACHED_BYTES]),
            files: FileCount::Exactly(plan.cached.0 / CACHED_BYTES),
            steps: CACHED,
            empty_caches: false,
            ..small.clone()
        };
        Ok(System {
            small: Phases::of(&lab.run(&small, state, repetitions)?),
            cached: Phases::of(&lab.run(&cached, state, repetitions)?),
        })
    }
}

impl OpenBsd {
    /// Runs the small files on both.
    ///
    /// # Errors
    /// A benchmark fails; there is no such host; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<OpenBsd> {
        let run = &bench.paper.run;
        let spec = run.targets.get("openbsd");
        let spec = spec.context("papers/ganger97/run.toml: targets: expected `openbsd`")?;
        let host = bench.plan.openbsd.host.clone();
        let lab = Lab::with(run, &run.device, &host, bench.threads, bench.ui)?;
        let at_random = bench.plan.openbsd.baseline_at_random;
        let keys = if at_random { AS_USED } else { "" };
        Ok(OpenBsd {
            at_random,
            neither: System::of(bench, &bench.lab, &bench.fresh("neither", keys)?)?,
            openbsd: System::of(bench, &lab, &aged::empty("openbsd", spec)?)?,
            host,
        })
    }

    /// What the paper says of its baseline.
    pub fn measure(&self, measured: &mut Measured) {
        let gain = |phase| faster(&self.neither.small, &self.openbsd.small, phase);
        for phase in PHASES {
            measured.figure(&format!("G97.10.{phase}"), gain(phase));
        }
        let gains: Option<Vec<f64>> = PHASES.map(gain).into_iter().collect();
        measured.shape("G97.10", gains.map(|gains| as_fast_for_most(&gains)));
        let cached = faster(&self.neither.cached, &self.openbsd.cached, "read");
        measured.shape(
            "G97.10.cache",
            cached.map(|gain| (gain >= 2.0, times(gain))),
        );
    }

    /// Both, phase by phase.
    pub fn exhibit(&self) -> Exhibit {
        let row = |what: &str, phase: &str, neither: &Phases, openbsd: &Phases| {
            let cells = |of: &Phases| {
                let Some(measured) = of.get(phase) else {
                    return ["-".to_owned(), "-".to_owned(), "-".to_owned()];
                };
                [
                    format!("{:.0}", measured.files_per_s.mean),
                    measured.requests.all().to_string(),
                    measured.requests.sync_writes.to_string(),
                ]
            };
            let gain = faster(neither, openbsd, phase).map_or("-".to_owned(), times);
            let mut row = vec![what.to_owned()];
            row.extend(cells(neither));
            row.extend(cells(openbsd));
            row.push(gain);
            row
        };
        let (neither, openbsd) = (&self.neither, &self.openbsd);
        let small = PHASES
            .iter()
            .map(|phase| row(phase, phase, &neither.small, &openbsd.small));
        let mut rows: Vec<Vec<String>> = small.collect();
        rows.push(row(
            "read from the cache",
            "read",
            &neither.cached,
            &openbsd.cached,
        ));
        Exhibit::Sheet(Sheet {
            slug: "openbsd",
            title: "The baseline beside the FFS of OpenBSD (section 4.1)".to_owned(),
            text: format!(
                "Files a second, requests, and writes that wait. The FFS runs on host {}, the baseline on that of the \
                 other experiments; {} put at random.",
                self.host,
                if self.at_random {
                    "half of the first blocks of the baseline are"
                } else {
                    "no first block is"
                }
            ),
            header: [
                "phase",
                "neither",
                "requests",
                "waited for",
                "FFS",
                "requests",
                "waited for",
                "neither over FFS",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows,
        })
    }
}

/// Whether most phases are as fast or faster, within what is nearly the same.
fn as_fast_for_most(gains: &[f64]) -> (bool, String) {
    let as_fast = gains
        .iter()
        .filter(|&&gain| gain >= 1.0 || words::nearly_the_same(gain));
    let share = as_fast.count() as f64 / gains.len() as f64;
    let text: Vec<String> = gains.iter().map(|&gain| format!("{gain:.2}")).collect();
    (words::is_most(share), format!("{} times", text.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::phases::tests::phases;
    use super::*;
    use crate::comparison::Verdict;
    use crate::paper::Paper;

    /// Three of four phases are most of them; 0.96 is nearly the same, 0.94 is not.
    #[test]
    fn most_phases_are_as_fast() {
        assert!(as_fast_for_most(&[2.0, 0.96, 1.0, 0.5]).0);
        assert!(!as_fast_for_most(&[2.0, 0.94, 1.0, 0.5]).0);
    }

    #[test]
    fn creating_is_twice_as_fast_and_the_rest_alike_as_the_paper_has_it() {
        let system = |create: f64, read: f64| System {
            small: phases(&[
                ("create", create, 1, 0),
                ("read", 10.0, 1, 0),
                ("overwrite", create, 1, 0),
                ("delete", 10.0, 1, 0),
            ]),
            cached: phases(&[("create", 1.0, 1, 0), ("read", read, 1, 0)]),
        };
        let verdicts = |openbsd| {
            let mut measured = Measured::default();
            let both = OpenBsd {
                at_random: false,
                neither: system(10.0, 1.0),
                openbsd,
                host: String::new(),
            };
            both.measure(&mut measured);
            let lines = measured.compare(&Paper::named("ganger97").unwrap());
            let ids = ["G97.10", "G97.10.create", "G97.10.delete"];
            ids.map(|id| lines.iter().find(|l| l.expected.id == id).unwrap().verdict)
        };
        assert_eq!(verdicts(system(20.0, 2.0)), [Verdict::Met; 3]);
        let slower = verdicts(system(5.0, 1.5));
        assert_eq!(slower[0], Verdict::Differs);
        assert_eq!(slower[1], Verdict::Differs);
    }
}
