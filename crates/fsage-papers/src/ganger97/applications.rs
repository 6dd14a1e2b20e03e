//! Programs that work on sources (figure 9): unpacking, removing, compiling, cleaning.

use super::phases::{Phases, faster, percent, saved};
use super::{Bench, OfEach};
use crate::comparison::Measured;
use crate::figure::{Bar, BarChart, Curve, Exhibit, Figure, Sheet};
use fsage_bench::benchmarks::Applications;
use fsage_bench::benchmarks::applications::APPLICATIONS;
use fsage_report::svg::Axis;

const PROGRAMS: [&str; 4] = ["pax", "rm", "gmake", "clean"];
/// What a compilation costs on the authors' system, in tenths of what it costs on a plain Pentium: "250 % greater" in
/// their use of the words.
const ON_AUTHORS_SYSTEM: u64 = 25;

/// The programs on fresh file systems.
pub struct Programs {
    each: OfEach<Phases>,
    /// Time of the processor for a compilation in seconds, and the share of gmake's time that both techniques save.
    by_processor: Vec<(f64, f64)>,
    /// The share where a compilation costs what it costs on the authors' system.
    on_authors_system: Option<f64>,
}

impl Programs {
    /// Runs them, without first blocks at random.
    ///
    /// # Errors
    /// A benchmark fails; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<Programs> {
        let repetitions = bench.paper.run.repetitions;
        let plan = &bench.plan.applications;
        let applications = Applications {
            compile_ns: plan
                .compilation_ms
                .map_or(APPLICATIONS.compile_ns, |ms| ms.saturating_mul(1_000_000)),
            unpack_ns_per_byte: plan
                .unpack_ns_per_byte
                .unwrap_or(APPLICATIONS.unpack_ns_per_byte),
            ..APPLICATIONS
        };
        let run = |name: &str, benchmark: &Applications, repetitions| {
            let state = bench.fresh(name, "")?;
            anyhow::Ok(Phases::of(&bench.lab.run(
                benchmark,
                &state,
                repetitions,
            )?))
        };
        let each = OfEach::try_new(|name| run(name, &applications, repetitions))?;
        let saved_by_gmake = |compile_ns| {
            let benchmark = Applications {
                compile_ns,
                ..applications
            };
            let (neither, both) = (run("neither", &benchmark, 1)?, run("both", &benchmark, 1)?);
            anyhow::Ok(saved(&both, &neither, "gmake"))
        };
        let mut by_processor = Vec::new();
        for &ms in &plan.compile_ms {
            let share = saved_by_gmake(ms * 1_000_000)?;
            by_processor.extend(share.map(|share| (ms as f64 / 1e3, share)));
        }
        Ok(Programs {
            each,
            by_processor,
            on_authors_system: saved_by_gmake(applications.compile_ns / 10 * ON_AUTHORS_SYSTEM)?,
        })
    }

    /// What the paper says of figure 9.
    pub fn measure(&self, measured: &mut Measured) {
        let (neither, both) = (self.each.neither(), self.each.both());
        for program in ["pax", "rm"] {
            measured.figure(&format!("G97.7.{program}"), saved(both, neither, program));
        }
        measured.figure("G97.7.gmake", self.on_authors_system);
        measured.figure("G97.7.gmake.plain", saved(both, neither, "gmake"));
        let gains = PROGRAMS.map(|program| match program {
            "gmake" => self.on_authors_system.map(|saved| 1.0 / (1.0 - saved)),
            _ => faster(both, neither, program),
        });
        let gains: Option<Vec<f64>> = gains.into_iter().map(|gain| Some(gain? - 1.0)).collect();
        let end = |least: fn(f64, f64) -> f64| gains.iter().flatten().copied().reduce(least);
        measured.figure("G97.7.least", end(f64::min));
        measured.figure("G97.7.most", end(f64::max));
        measured.figure("G97.7.most.times", end(f64::max));
    }

    /// The chart, what of it depends on the processor, and the table.
    pub fn exhibits(&self) -> Vec<Exhibit> {
        let mut bars = Vec::new();
        for program in PROGRAMS {
            for (name, phases) in self.each.named() {
                let measured = phases.get(program);
                bars.extend(measured.map(|measured| Bar {
                    group: program.to_owned(),
                    curve: name.to_owned(),
                    value: measured.seconds.mean,
                    deviation: measured.seconds.standard_deviation,
                }));
            }
        }
        let chart = BarChart {
            slug: "applications",
            title: "Programs that work on sources (figure 9)".to_owned(),
            text: "Shorter is faster. Writes of metadata wait; the make-up of each program is in the documentation of \
                   the benchmarks."
                .to_owned(),
            value_label: "seconds",
            bars,
        };
        let processor = Figure {
            slug: "gmake-processor",
            title: "Time of gmake that both techniques save, by the time of a compilation".to_owned(),
            text: "What a compilation costs the processor is an estimate, and decides what the disk can save."
                .to_owned(),
            axis: Axis::Linear,
            x_label: "processor, seconds a file",
            y_label: "share of the time",
            curves: vec![Curve::exact("both", self.by_processor.iter().copied())],
            published: Vec::new(),
        };
        vec![
            Exhibit::Bars(chart),
            Exhibit::Figure(processor),
            Exhibit::Sheet(self.table()),
        ]
    }

    fn table(&self) -> Sheet {
        let mut rows = Vec::new();
        for program in PROGRAMS {
            for (name, phases) in self.each.named() {
                let Some(measured) = phases.get(program) else {
                    continue;
                };
                let less = saved(phases, self.each.neither(), program).unwrap_or(0.0);
                rows.push(vec![
                    program.to_owned(),
                    name.to_owned(),
                    format!("{:.2}", measured.seconds.mean),
                    percent(less),
                    percent(measured.processor),
                    measured.requests.reads.to_string(),
                    measured.requests.writes.to_string(),
                    measured.requests.sync_writes.to_string(),
                ]);
            }
        }
        Sheet {
            slug: "applications-table",
            title: "Programs that work on sources: time and requests".to_owned(),
            text: "Less time is against neither technique.".to_owned(),
            header: [
                "program",
                "file system",
                "seconds",
                "less time",
                "processor",
                "reads",
                "writes",
                "of them waited for",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows,
        }
    }
}
