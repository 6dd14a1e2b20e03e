//! Small files on aged file systems, by how full these are (figure 7).

use super::phases::{Phases, faster, percent};
use super::{AS_USED, Bench, NAMES, OfEach, state};
use crate::aged::{self, State};
use crate::comparison::Measured;
use crate::figure::{Curve, Exhibit, Figure, Point, Sheet};
use crate::words;
use anyhow::{Context, bail};
use fsage_core::{Layout, WorkloadHeader};
use fsage_lab::error;
use fsage_lab::interrupt::Interruptible;
use fsage_models::cffs::Cffs;
use fsage_report::svg::Axis;
use fsage_workload::herrin::Herrin;
use fsage_workload::preset::{self, Preset};
use std::path::PathBuf;

/// The fullness of which the paper gives figures, in percent.
const PUBLISHED_PERCENT: u64 = 70;
/// Phases of which it gives them.
const FIRST_THREE: [&str; 3] = ["create", "read", "overwrite"];

/// What a target has beside its own keys where first blocks are at random while it is aged, too.
const ALWAYS: &str = ",randomize_first";

/// File systems that were filled so far, and what was measured there.
struct At {
    /// Target of the aging; 0 of a fresh file system.
    percent: u64,
    phases: OfEach<Phases>,
    /// Share of the blocks in use.
    used: OfEach<f64>,
}

/// The benchmark by fullness, fresh ones first.
pub struct Fullness(Vec<At>);

impl Fullness {
    /// Ages the file systems and runs the benchmark on all.
    ///
    /// # Errors
    /// A preset is unknown, a workload cannot be written, a benchmark fails; an interrupt.
    pub fn run(bench: &Bench<'_>) -> anyhow::Result<Fullness> {
        let plan = &bench.plan.aged;
        let at_random = if plan.aged_at_random { ALWAYS } else { AS_USED };
        let keys = format!(",size={}{at_random}", plan.partition.0);
        let mut all = vec![measure(
            bench,
            0,
            &OfEach::try_new(|name| bench.fresh(name, &keys))?,
        )?];
        for preset in &plan.presets {
            let (workload, percent) = generate(bench, preset)?;
            let mut targets = Vec::new();
            for name in NAMES {
                targets.push((name.to_owned(), bench.spec(name, &keys)?));
            }
            let agings = aged::replayed(&workload, &targets, bench.threads, bench.ui)?;
            let mut agings = agings.into_iter();
            let states = OfEach::try_new(|name| {
                let aging = agings.next().context("one aging a target")?;
                state(&format!("{name}, {preset}"), aging.into_target())
            })?;
            all.push(measure(bench, percent, &states)?);
        }
        Ok(Fullness(all))
    }

    fn at(&self, percent: u64) -> Option<&At> {
        self.0.iter().find(|at| at.percent == percent)
    }

    /// What the paper says of figure 7.
    pub fn measure(&self, measured: &mut Measured) {
        let (Some(fresh), Some(aged)) = (self.at(0), self.at(PUBLISHED_PERCENT)) else {
            return;
        };
        let (fresh, aged) = (&fresh.phases, &aged.phases);
        let gain = |phase| faster(fresh.both(), aged.both(), phase);
        for phase in FIRST_THREE {
            let slower = gain(phase).map(|gain| 1.0 - 1.0 / gain);
            measured.figure(&format!("G97.5.{phase}.slower"), slower);
            let over = faster(aged.both(), fresh.neither(), phase);
            measured.figure(&format!("G97.5.{phase}.conventional"), over);
        }
        let better: Option<Vec<f64>> = FIRST_THREE.map(gain).into_iter().collect();
        measured.shape(
            "G97.5.better",
            better.map(|better| {
                let text: Vec<String> = better.iter().map(|gain| percent(gain - 1.0)).collect();
                let range = words::round_range(0.4, 0.6);
                let holds = better.iter().all(|gain| range.contains(&(gain - 1.0)));
                (
                    holds,
                    format!("create, read, overwrite: {}", text.join(", ")),
                )
            }),
        );
    }

    /// A chart a phase, and the table.
    pub fn exhibits(&self) -> Vec<Exhibit> {
        let charts = [
            ("aged-create", "create"),
            ("aged-read", "read"),
            ("aged-overwrite", "overwrite"),
            ("aged-delete", "delete"),
        ];
        let charts = charts.map(|(slug, phase)| Exhibit::Figure(self.figure(slug, phase)));
        let mut exhibits = Vec::from(charts);
        exhibits.push(Exhibit::Sheet(self.table()));
        exhibits
    }

    fn figure(&self, slug: &'static str, phase: &str) -> Figure {
        let curves = NAMES.iter().enumerate().map(|(i, name)| Curve {
            name: (*name).to_owned(),
            points: self
                .0
                .iter()
                .filter_map(|at| {
                    let rate = at.phases.0[i].get(phase)?.files_per_s;
                    Some(Point {
                        x: at.percent as f64,
                        y: rate.mean,
                        deviation: rate.standard_deviation,
                    })
                })
                .collect(),
        });
        Figure {
            slug,
            title: format!("Small files on aged file systems: {phase} (figure 7)"),
            text: "By how full the aging leaves the file system, in percent; 0 is a fresh one. Writes of metadata \
                   wait."
                .to_owned(),
            axis: Axis::Linear,
            x_label: "full, percent",
            y_label: "files/s",
            curves: curves.collect(),
            published: Vec::new(),
        }
    }

    fn table(&self) -> Sheet {
        let mut rows = Vec::new();
        for at in &self.0 {
            for (i, (name, phases)) in at.phases.named().enumerate() {
                for (phase, measured) in &phases.0 {
                    let fresh = self.0.first().map(|fresh| &fresh.phases.0[i]);
                    let of_fresh = fresh.and_then(|fresh| faster(phases, fresh, phase));
                    rows.push(vec![
                        at.percent.to_string(),
                        name.to_owned(),
                        percent(at.used.0[i]),
                        phase.clone(),
                        format!("{:.0}", measured.files_per_s.mean),
                        of_fresh.map_or_else(|| "-".to_owned(), |of| format!("{of:.2}")),
                        measured.requests.all().to_string(),
                        measured.requests.sync_writes.to_string(),
                    ]);
                }
            }
        }
        Sheet {
            slug: "aged-table",
            title: "Small files on aged file systems: time and requests".to_owned(),
            text: "Used is the share of blocks in use before the benchmark, with all metadata."
                .to_owned(),
            header: [
                "aged to, percent",
                "file system",
                "used",
                "phase",
                "files/s",
                "of fresh",
                "requests",
                "waited for",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows,
        }
    }
}

fn measure(bench: &Bench<'_>, percent: u64, states: &OfEach<State<Cffs>>) -> anyhow::Result<At> {
    let directories = bench.plan.aged.directories;
    let mut states_in_order = states.0.iter();
    let phases = OfEach::try_new(|_| {
        let state = states_in_order.next().context("a state a name")?;
        bench.small_files(state, directories)
    })?;
    let mut used = states.0.iter().map(|state| {
        let geometry = state.fs.geometry();
        let blocks = (geometry.size_bytes / u64::from(geometry.block_bytes)).max(1);
        1.0 - state.fs.free_blocks() as f64 / blocks as f64
    });
    Ok(At {
        percent,
        phases,
        used: OfEach::try_new(|_| used.next().context("a state a name"))?,
    })
}

/// Makes an aging workload; gives its file, and how full it leaves a file system, in percent.
fn generate(bench: &Bench<'_>, name: &str) -> anyhow::Result<(PathBuf, u64)> {
    let preset = Preset::named(name).with_context(|| format!("no workload preset `{name}`"))?;
    let preset::Generator::Herrin(herrin) = preset.generator else {
        bail!("preset `{name}` is not made after Herrin and Finkel");
    };
    let herrin = Herrin {
        generations: bench.plan.aged.generations.unwrap_or(herrin.generations),
        ..herrin
    }
    .with_capacity(bench.plan.aged.partition.0);
    let seed = bench.paper.run.seed;
    let header = WorkloadHeader {
        source: Some(preset.source),
        generator: Some(format!(
            "fsage reproduce {} {}",
            bench.paper.name,
            env!("CARGO_PKG_VERSION")
        )),
        ..herrin.header(seed)
    };
    let path = workload(bench, name);
    let mut workload = fsage_data::create_workload(&path, &header, false)?;
    herrin
        .generate(seed, &mut Interruptible(&mut workload))
        .map_err(error::boxed)?;
    workload.finish()?;
    Ok((path, herrin.target_percent))
}

/// The file of an aging workload, which [`Fullness::run`] makes.
pub fn workload(bench: &Bench<'_>, preset: &str) -> PathBuf {
    bench.workload.with_file_name(format!("{preset}.parquet"))
}
