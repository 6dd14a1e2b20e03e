//! Seltzer, Smith, Balakrishnan, Chang, `McMains` and Padmanabhan 1995: a log beside an FFS, without and with its
//! cleaner, and what age does to an FFS.
//!
//! | where | what | section |
//! |---|---|---|
//! | [`small_files`] | 10,000 files of 1 KB | 2 |
//! | [`large_file`] | a file of 100 MB in five passes | 2 |
//! | [`sprite`] | both on the machine and the disk of Sprite, scaled | 2 |
//! | [`by_size`] | create, read, overwrite, delete by size of file | 3 |
//! | [`database`] | TPC-B by utilization | 4 |
//! | [`study`], [`fragmentation`] | aged free maps, and what they cost | 5 |
//! | [`groups`] | where free space lies in a group | 5.2 |
//! | [`plan`], [`rates`], [`share`] | what `run.toml` says; what benchmarks give; threads | |

mod by_size;
mod database;
mod fragmentation;
mod groups;
mod large_file;
pub mod plan;
mod rates;
mod share;
mod small_files;
mod sprite;
mod study;

use super::Reproduction;
use super::aged::State;
use super::comparison::Measured;
use super::lab::Lab;
use super::paper::{Paper, Sequential};
use anyhow::{Context, bail};
use by_size::BySize;
use database::TpcB;
use fragmentation::Fragmentation;
use fsage_bench::Benchmark;
use fsage_bench::benchmarks::FileCount;
use fsage_lab::Watch;
use fsage_models::ffs::Ffs;
use fsage_models::lfs::Lfs;
use fsage_target::{Target, TargetSpec};
use large_file::FivePasses;
use plan::Logging;
use rates::Rates;
use small_files::SmallFiles;
use sprite::Sprite;

/// The log of section 2, with blocks of 4 KB.
const LOG_4K: &str = "lfs";
/// The log of section 3, with blocks of 8 KB as the FFS.
const LOG_8K: &str = "lfs-8k";

/// The paper, and where its benchmarks run.
pub struct Bench<'a> {
    /// The paper.
    pub paper: &'a Paper,
    /// What it does with its file systems.
    pub plan: &'a Logging,
    /// The disk and the host of its sections 2 to 4.
    pub lab: Lab<'a>,
    /// Threads that share the work.
    pub threads: usize,
    /// What is shown meanwhile.
    pub ui: &'a dyn Watch,
}

/// What a benchmark gives on the four file systems of sections 2 and 3.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Systems {
    /// The log.
    pub lfs: Rates,
    /// An FFS that leaves a gap of two blocks behind every block.
    pub m1r2: Rates,
    /// An FFS with clusters of eight blocks and no gap.
    pub m8r0: Rates,
    /// An FFS with clusters of eight blocks and a gap of two behind each.
    pub m8r2: Rates,
}

impl Systems {
    /// With their names, in the order of the figures.
    pub fn named(&self) -> [(&'static str, &Rates); 4] {
        [
            ("lfs", &self.lfs),
            ("m1r2", &self.m1r2),
            ("m8r0", &self.m8r0),
            ("m8r2", &self.m8r2),
        ]
    }
}

/// Everything that is shown of the paper.
///
/// # Errors
/// A benchmark fails; a target of the paper is of another kind than it must be; an interrupt.
pub fn reproduce(bench: &Bench<'_>) -> anyhow::Result<Reproduction> {
    let paper = bench.paper;
    let mut measured = Measured::default();
    let mut exhibits = Vec::new();

    let small = SmallFiles::run(bench)?;
    small.measure(&mut measured);
    exhibits.push(small.exhibit(paper));
    let large = FivePasses::run(bench)?;
    large.measure(bench.plan.bandwidth_mb_per_s, &mut measured);
    exhibits.push(large.exhibit());
    let sprite = Sprite::run(bench)?;
    sprite.measure(
        small.log(),
        large.log(),
        large.without_clusters(),
        &mut measured,
    );
    exhibits.push(sprite.exhibit(small.log(), large.log()));
    let by_size = BySize::run(bench)?;
    by_size.measure(&mut measured);
    exhibits.extend(by_size.exhibits(paper));
    let database = TpcB::run(bench)?;
    database.measure(&mut measured);
    exhibits.extend(database.exhibits(paper));
    let fragmentation = Fragmentation::run(bench)?;
    fragmentation.measure(&mut measured);
    exhibits.extend(fragmentation.exhibits());
    Ok(Reproduction {
        lines: measured.compare(paper),
        exhibits,
        terminal: vec!["create", "tpc-b-by-constants", "fragmentation"],
    })
}

impl Bench<'_> {
    /// A benchmark on the four file systems, each empty; the log is the target of the section.
    ///
    /// # Errors
    /// A benchmark fails; a target is of another kind; an interrupt.
    pub fn on_all(&self, benchmark: &dyn Benchmark, log: &str) -> anyhow::Result<Systems> {
        Ok(Systems {
            lfs: self.on(&self.lab, benchmark, log)?,
            m1r2: self.on(&self.lab, benchmark, "m1r2")?,
            m8r0: self.on(&self.lab, benchmark, "m8r0")?,
            m8r2: self.on(&self.lab, benchmark, "m8r2")?,
        })
    }

    /// A benchmark on a target, empty, over the disk and the host of a laboratory.
    ///
    /// # Errors
    /// As [`Bench::on_all`].
    fn on(&self, lab: &Lab<'_>, benchmark: &dyn Benchmark, name: &str) -> anyhow::Result<Rates> {
        let spec = self.spec(name)?;
        let repetitions = self.paper.run.repetitions;
        let name = name.to_owned();
        let hot = Vec::new();
        let made = || Target::make(&spec);
        let measured = if let Some(fs) = made()?.into_model::<Ffs>() {
            let state = State { name, fs: *fs, hot };
            lab.run(benchmark, &state, repetitions)?
        } else if let Some(fs) = made()?.into_model::<Lfs>() {
            let state = State { name, fs: *fs, hot };
            lab.run(benchmark, &state, repetitions)?
        } else {
            bail!(
                "papers/{}/run.toml: targets: `{name}`: expected an ffs or lfs target",
                self.paper.name
            );
        };
        Ok(Rates::of(&measured))
    }

    /// How many files there are of a size: as many bytes as the plan says, or ten.
    pub fn file_count(plan: &Sequential) -> FileCount {
        FileCount::Holding {
            total_bytes: plan.total.0,
            at_least: 10,
        }
    }

    /// The specification of a target.
    ///
    /// # Errors
    /// The paper has no such target, or it is no specification.
    pub fn spec(&self, name: &str) -> anyhow::Result<TargetSpec> {
        let spec = self.paper.run.targets.get(name);
        let spec = spec.with_context(|| {
            format!(
                "papers/{}/run.toml: targets: expected `{name}`",
                self.paper.name
            )
        })?;
        Ok(TargetSpec::parse(spec)?)
    }
}
