//! Cheng et al.: a bulletin board on Ext3, whose hot files lie in the middle of the disk or do not.

mod figures;
mod popular;
mod runs;
mod statements;
mod tables;

pub use popular::Plan as PopularArticles;

use super::Reproduction;
use super::figure::Exhibit;
use super::paper::{Paper, Rearrangement};
use anyhow::{Context, bail};
use fsage_disk::Disk;
use fsage_lab::Watch;
use runs::{Mix, Outcome, Outcomes, Reading, Run};

/// The file systems of the paper.
const ORIGINAL: &str = "original";
const MODIFIED: &str = "modified";
/// The original one on as much of the disk as the articles of the modified one have: the first partition and the
/// reserved area, without the partition of the bulletin board system itself.
const ORIGINAL_FIRST: &str = "original-without-third";
/// How much of the disk that is: half of what is not the reserved area, and the area.
const FIRST_PARTITIONS: &str = "partition=51%";
/// The modified one without its near rule.
const WITHOUT_NEAR: &str = "modified-without-near";
/// The techniques of others.
const BLOCKS: &str = "blocks";
const ORGAN_PIPE: &str = "organ-pipe";
const STEF: &str = "stef";

/// Everything that is shown of the paper.
///
/// # Errors
/// A file system runs out of space; an interrupt.
pub fn reproduce(
    paper: &Paper,
    plan: &Rearrangement,
    threads: usize,
    ui: &dyn Watch,
) -> anyhow::Result<Reproduction> {
    for name in [ORIGINAL, MODIFIED, WITHOUT_NEAR, BLOCKS, ORGAN_PIPE, STEF] {
        let expected = || format!("papers/{}/run.toml: targets: expected `{name}`", paper.name);
        paper.run.targets.get(name).with_context(expected)?;
    }
    if paper.run.device.contains("write-cache") {
        bail!(
            "--device {}: both are run, with a write cache and without; leave it out",
            paper.run.device
        );
    }
    let study = Study { paper, plan };
    let mut runs = study.curves();
    runs.extend(study.of_tables());
    let outcomes = Outcomes::of(runs, paper, plan, threads, ui)?;
    let results = Results { study, outcomes };
    let mut exhibits: Vec<Exhibit> = figures::all(&results)
        .into_iter()
        .map(Exhibit::Figure)
        .collect();
    exhibits.extend(tables::all(&results).into_iter().map(Exhibit::Sheet));
    Ok(Reproduction {
        lines: statements::measure(&results).compare(paper),
        exhibits,
        terminal: vec!["elapsed-75-reads", "elapsed-65-reads"],
    })
}

/// What is run.
struct Study<'a> {
    paper: &'a Paper,
    plan: &'a Rearrangement,
}

/// What is run, and what came out.
struct Results<'a> {
    study: Study<'a>,
    outcomes: Outcomes,
}

impl Study<'_> {
    /// The disk of the figures, with its write cache or without.
    fn device(&self, cached: bool) -> String {
        let device = &self.paper.run.device;
        if device == Disk::NULL {
            return device.clone();
        }
        let joint = if device.contains(':') { ',' } else { ':' };
        let cache = if cached { "on" } else { "off" };
        format!(
            "{device}{joint}scale={},write-cache={cache}",
            self.plan.scale
        )
    }

    /// A run of a target as printed.
    fn run(&self, target: &str, mix: Mix, filled_percent: u64, cached: bool) -> Run {
        let mut device = self.device(cached);
        let (mut name, mut reading) = (target, Reading::Printed);
        if target == ORIGINAL_FIRST {
            (name, reading) = (ORIGINAL, Reading::AreaEmpty);
            if device != Disk::NULL {
                device = format!("{device},{FIRST_PARTITIONS}");
            }
        }
        Run {
            spec: self.paper.run.targets[name].clone(),
            device,
            mix,
            filled_percent,
            reading,
            popular: None,
        }
    }

    /// Targets of a chart: all of them with 75 % reads and no write cache, otherwise those of the paper, the original
    /// one in both readings of its partitions.
    fn targets(&self, mix: Mix, cached: bool) -> Vec<&str> {
        let all = self.paper.run.targets.keys().map(String::as_str);
        let chosen = all
            .filter(|name| (mix == Mix::Reads && !cached) || [ORIGINAL, MODIFIED].contains(name));
        chosen.chain([ORIGINAL_FIRST]).collect()
    }

    /// Runs of the curves.
    fn curves(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        for mix in Mix::OF_FIGURES {
            for cached in [false, true] {
                for target in self.targets(mix, cached) {
                    let filled = self.plan.utilization.iter();
                    runs.extend(filled.map(|&percent| self.run(target, mix, percent, cached)));
                }
            }
        }
        for target in [ORIGINAL, MODIFIED] {
            let filled = self.plan.utilization.iter();
            runs.extend(filled.map(|&percent| self.run(target, Mix::FewWrites, percent, false)));
        }
        let filled = self.plan.utilization.iter();
        runs.extend(filled.map(|&percent| self.run(MODIFIED, Mix::HotReads, percent, false)));
        runs
    }

    /// Runs of the tables.
    fn of_tables(&self) -> Vec<Run> {
        let settings = tables::settings(self).into_iter();
        let rows = tables::devices(self)
            .into_iter()
            .chain(tables::readings(self));
        let pairs = rows.flat_map(|row| row.pairs).flatten();
        let popular = popular::settings(self).into_iter();
        let popular = popular.flat_map(|setting| setting.runs);
        let runs = settings.map(|setting| setting.run).chain(pairs);
        runs.chain(popular).collect()
    }
}

impl Results<'_> {
    /// What came of a target as printed.
    fn of(&self, target: &str, mix: Mix, filled_percent: u64, cached: bool) -> &Outcome {
        let run = self.study.run(target, mix, filled_percent, cached);
        self.outcomes.get(&run)
    }
}
