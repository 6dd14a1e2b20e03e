//! Jun and others 2024: a file whose pieces were written among others, on flash.
//!
//! The programs of the artifact are played twice: as bare requests to the device in the order of writing, and as system
//! calls on a simulated ext4 over a host and the device.

mod bare;
mod glibc;
pub mod plan;
mod results;
mod through;
mod writing;

use super::Reproduction;
use super::paper::Paper;
use anyhow::{Context, bail};
use bare::{Written, costing, probe};
use fsage_disk::{Disk, FlashDrive};
use fsage_host::HostParams;
use fsage_lab::Watch;
use fsage_lab::benching::host_params;
use fsage_lab::interrupt;
use plan::Pieces;
use results::{Drive, Pattern, Rates, Results};
use through::Through;
use writing::{Between, Step};

/// Degrees and alignments are those of a host that costs nothing.
const FREE_NS: u64 = 0;

/// The paper, and what is shown meanwhile.
pub struct Bench<'a> {
    /// The paper.
    pub paper: &'a Paper,
    /// What it does.
    pub plan: &'a Pieces,
    /// What is shown meanwhile.
    pub ui: &'a dyn Watch,
}

/// Everything that is shown of the paper.
///
/// # Errors
/// A preset is unknown, or no flash device; a file system runs out of space; an interrupt.
pub fn reproduce(bench: &Bench<'_>) -> anyhow::Result<Reproduction> {
    let results = bench.run()?;
    Ok(Reproduction {
        lines: results.measured().compare(bench.paper),
        exhibits: results.exhibits(bench.paper),
        terminal: vec!["degrees"],
    })
}

impl Bench<'_> {
    fn run(&self) -> anyhow::Result<Results> {
        let run = &self.paper.run;
        let (plain, hinted) = (flash(&run.device)?, flash(&self.plan.hinted)?);
        let host = host_params(&run.host)?;
        let drives = self.plan.drives.iter();
        let total = Pattern::ALL.len() + self.plan.drives.len() + 1;
        let bar = self.ui.bar_count(Some(total as u64), "flash");
        let mut done = 0;
        let mut step = || {
            done += 1;
            bar.set_position(done);
            interrupt::go_on()
        };
        let mut rates = Vec::new();
        for pattern in Pattern::ALL {
            rates.push(self.rates(pattern, &plain, &hinted, &host)?);
            step()?;
        }
        let direct = costing(&host, self.plan.call_ns);
        let whole = Written::new(&plain, &writing::contiguous(self.plan));
        let split = whole.read_split(&direct, self.plan.call.0, self.plan.piece.0 as u32);
        let database = |drive: &FlashDrive, beside| {
            let steps = writing::database(self.plan.rows, beside);
            let mut params = costing(&host, FREE_NS);
            params.cpu.copy_ns_per_4k = self.plan.page_ns;
            Written::new(drive, &steps).scan(&params)
        };
        let beside = self.plan.beside.0;
        let databases = [
            database(&plain, 0),
            database(&plain, beside),
            database(&hinted, beside),
        ];
        step()?;
        let mut of_drives = Vec::new();
        for (name, stripe) in drives {
            of_drives.push(self.drive(name, stripe.0, &host)?);
            step()?;
        }
        Ok(Results {
            rates,
            split,
            databases,
            drives: of_drives,
        })
    }

    /// The steps of a pattern.
    fn steps(&self, pattern: Pattern, between: Between) -> Vec<Step> {
        match pattern {
            Pattern::Contiguous => writing::contiguous(self.plan),
            Pattern::AppendWorst | Pattern::AppendRandom => writing::append(self.plan, between),
            Pattern::OverwriteWorst | Pattern::OverwriteRandom => {
                writing::overwrite(self.plan, between)
            }
        }
    }

    /// A pattern on the drive, on that with hints, and through each file system.
    fn rates(
        &self,
        pattern: Pattern,
        plain: &FlashDrive,
        hinted: &FlashDrive,
        host: &HostParams,
    ) -> anyhow::Result<Rates> {
        let run = &self.paper.run;
        let params = costing(host, self.plan.call_ns);
        let read = |drive: &FlashDrive, steps: &[Step]| {
            Written::new(drive, steps).read(&params, self.plan.call.0)
        };
        let between = if pattern.is_random() {
            Between::AsDrawn
        } else {
            Between::Worst
        };
        let steps = self.steps(pattern, between);
        let drawn = if pattern.is_random() {
            let seeds = run.seed..run.seed + u64::from(run.repetitions);
            let rates = seeds.map(|seed| read(plain, &self.steps(pattern, Between::Drawn(seed))));
            rates.collect()
        } else {
            Vec::new()
        };
        let mut file_systems = Vec::new();
        for (name, spec) in &run.targets {
            let through = through::play(spec, plain, &params, self.plan, &steps);
            let through: Through =
                through.with_context(|| format!("{name}, {}", pattern.text()))?;
            file_systems.push((name.clone(), through));
        }
        Ok(Rates {
            pattern,
            plain: read(plain, &steps),
            hinted: read(hinted, &steps),
            drawn,
            file_systems,
        })
    }

    /// A model of a real drive: the worst pattern on its stripe, pieces by their number, the alignment probe.
    fn drive(&self, name: &str, stripe_bytes: u64, host: &HostParams) -> anyhow::Result<Drive> {
        let drive = flash(name)?;
        let params = costing(host, FREE_NS);
        let mut plan = self.plan.clone();
        plan.stripe.0 = stripe_bytes;
        let read = |steps: &[Step]| Written::new(&drive, steps).read(&params, self.plan.call.0);
        let worst = writing::append(&plan, Between::Worst);
        let left = read(&worst) / read(&writing::contiguous(&plan));
        let degrees = self.plan.degrees.iter().map(|&pieces| {
            let steps = writing::of_degree(&plan, pieces);
            let rate = Written::new(&drive, &steps).read(&params, plan.file.0);
            (pieces, rate)
        });
        let seed = self.paper.run.seed;
        let probes = self.plan.alignments.iter();
        let probes = probes.map(|at| (at.0, probe(&params, &drive, at.0, seed)));
        Ok(Drive {
            name: name.to_owned(),
            stripe_bytes,
            left,
            degrees: degrees.collect(),
            probes: probes.collect(),
        })
    }
}

fn flash(name: &str) -> anyhow::Result<FlashDrive> {
    match fsage_lab::device::disk(name)? {
        Disk::Flash(drive) => Ok(*drive),
        Disk::Rotating(_) | Disk::Null => {
            bail!("--device {name}: this paper is about flash; expected a flash device")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Verdict, failed, gained};
    use crate::paper::Experiments;
    use fsage_lab::Unwatched;

    /// As printed and in the quick look every row is met that was, and no other. With the layout that the artifact drew
    /// each of its results comes out within 1.5 % as bare requests, and within 2.5 % through the file system.
    #[test]
    fn the_results_of_the_artifact_come_out() {
        for quick in [false, true] {
            let mut paper = Paper::named("jun24").expect("the paper");
            if quick {
                paper.run.repetitions = 1;
                paper.run.experiments.set_operations(2000).expect("rows");
            }
            let Experiments::Pieces(plan) = &paper.run.experiments else {
                panic!("another kind of experiments");
            };
            let bench = Bench {
                paper: &paper,
                plan,
                ui: &Unwatched,
            };
            let made = reproduce(&bench).expect("it runs");
            let missing = made
                .lines
                .iter()
                .filter(|l| l.verdict == Verdict::NotMeasured);
            assert_eq!(missing.count(), 0);
            let ids = |lines: anyhow::Result<Vec<&crate::comparison::Line>>| {
                let lines = lines.expect("a look of met.toml").into_iter();
                lines
                    .map(|line| line.expected.id.clone())
                    .collect::<Vec<String>>()
            };
            let changed = (
                ids(failed(&paper, &made.lines)),
                ids(gained(&paper, &made.lines)),
            );
            assert_eq!(changed, (Vec::new(), Vec::new()), "lost, gained");
            for pattern in Pattern::ALL {
                let row = format!("J24.{}", pattern.text().replace(' ', "."));
                for (id, bound) in [(row.clone(), 0.015), (format!("{row}.ext4"), 0.025)] {
                    let line = made.lines.iter().find(|line| line.expected.id == id);
                    let ours = line.and_then(|line| line.ours).expect("measured");
                    let off = ours / paper.value(&id) - 1.0;
                    assert!(off.abs() < bound, "{id}: {off}");
                }
            }
        }
    }
}
