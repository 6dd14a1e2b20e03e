//! Runs: one benchmark on one file system each, and what came out.

use super::popular::Popular;
use crate::paper::{Paper, Rearrangement};
use anyhow::{Context, anyhow, bail};
use fsage_bench::benchmarks::Bbs;
use fsage_bench::benchmarks::bbs::{ARTICLE_BYTES, BBS, BBS_WRITES};
use fsage_bench::{Benchmark, Case, Measurement, Simulated, Site};
use fsage_core::{Layout, Rng};
use fsage_disk::{Device, Disk, SECTOR_BYTES};
use fsage_host::{Host, HostParams};
use fsage_lab::Watch;
use fsage_lab::benching::host_params;
use fsage_lab::interrupt;
use fsage_models::ext3::{Ext3, Params};
use fsage_models::rearrange::{self, Part, Rearranged, Settings, Technique};
use fsage_target::TargetSpec;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The width of the reserved area, of the disk: key `ra` of the targets.
pub const AREA: f64 = 0.025;
/// Files and directories of the benchmark have numbers from here on.
const FIRST_OWN_ID: u64 = 1 << 48;

/// What the boards are used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mix {
    /// 75 % reads: figure 5.
    Reads,
    /// 65 % reads: figure 6.
    Writes,
    /// 85 % reads: the text has mixes with 10 % writes as well.
    FewWrites,
    /// 75 % reads, all of it on hot boards.
    HotReads,
}

impl Mix {
    /// Those of the figures.
    pub const OF_FIGURES: [Mix; 2] = [Mix::Reads, Mix::Writes];

    /// Share of reads, in words.
    pub fn text(self) -> &'static str {
        match self {
            Mix::Reads => "75 % reads",
            Mix::Writes => "65 % reads",
            Mix::FewWrites => "85 % reads",
            Mix::HotReads => "75 % reads, hot boards alone",
        }
    }

    fn benchmark(self) -> Bbs {
        match self {
            Mix::Reads => BBS,
            Mix::Writes => BBS_WRITES,
            Mix::FewWrites => Bbs {
                write_percent: 10,
                ..BBS
            },
            Mix::HotReads => Bbs {
                hot_percent: 100,
                ..BBS
            },
        }
    }
}

/// How old articles are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reading {
    /// Each file system is filled to the same share of its own size; old articles are read and removed as new ones.
    Printed,
    /// Each gets as many articles as fill the part of the disk outside of the reserved area.
    SameArticles,
    /// Old articles are neither read nor removed.
    OldUnread,
    /// The file system has room for the reserved area too, which is empty before.
    AreaEmpty,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// Specification of the file system, without its size: that is the device's.
    pub spec: String,
    /// The disk.
    pub device: String,
    /// What the boards are used for.
    pub mix: Mix,
    /// How full the file system is before, in percent.
    pub filled_percent: u64,
    /// How the old articles are read.
    pub reading: Reading,
    /// Articles that are read again and again, instead of hot boards.
    pub popular: Option<Popular>,
}

/// What came out of a run, over all repetitions.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Seconds of every repetition.
    pub seconds: Vec<f64>,
    /// Operations.
    pub operations: u64,
    /// Of the first repetition, those on articles in the center, and their bytes.
    pub center: (u64, u64),
    /// The same on hot boards.
    pub hot_center: u64,
    /// What the device did.
    pub device: fsage_disk::Counters,
    /// Cylinders of the device; 1 where it has no arm.
    pub cylinders: u32,
    /// What the layer did while the clock ran.
    pub layer: rearrange::Counters,
}

impl Outcome {
    /// Mean of the repetitions.
    pub fn mean_s(&self) -> f64 {
        self.seconds.iter().sum::<f64>() / self.seconds.len() as f64
    }

    /// The mean length of a seek, as a share of the disk.
    pub fn mean_seek(&self) -> f64 {
        let cylinders = self.device.seek_cylinders as f64 / self.device.seeks.max(1) as f64;
        cylinders / f64::from(self.cylinders)
    }

    /// Standard deviation, where there are several repetitions.
    pub fn deviation_s(&self) -> Option<f64> {
        let others = self.seconds.len().checked_sub(1).filter(|&n| n > 0)?;
        let mean = self.mean_s();
        let squares: f64 = self.seconds.iter().map(|s| (s - mean).powi(2)).sum();
        Some((squares / others as f64).sqrt())
    }
}

/// The outcomes of all runs.
pub struct Outcomes(BTreeMap<Run, Outcome>);

impl Outcomes {
    /// Does runs on threads, each of them once.
    ///
    /// # Errors
    /// A file system cannot be made or runs out of space; an interrupt.
    pub fn of(
        runs: Vec<Run>,
        paper: &Paper,
        plan: &Rearrangement,
        threads: usize,
        ui: &dyn Watch,
    ) -> anyhow::Result<Outcomes> {
        let mut runs = runs;
        runs.sort_unstable();
        runs.dedup();
        let host = host_params(&paper.run.host)?;
        let bar = ui.bar_count(Some(runs.len() as u64), &paper.name);
        let next = AtomicUsize::new(0);
        let done = Mutex::new(BTreeMap::new());
        let lock = || {
            done.lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        let work = || {
            while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let outcome = match interrupt::go_on() {
                    Ok(()) => run.outcome(paper, plan, &host),
                    Err(interrupt) => Err(interrupt.into()),
                };
                if outcome.is_err() {
                    // No further run begins.
                    next.store(runs.len(), Ordering::Relaxed);
                }
                lock().insert(run.clone(), outcome);
                bar.inc(1);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.max(1) {
                scope.spawn(work);
            }
            work();
        });
        drop(bar);
        interrupt::go_on()?;
        let done = done
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let all: anyhow::Result<BTreeMap<Run, Outcome>> = done
            .into_iter()
            .map(|(run, outcome)| {
                let named = || format!("{} on {}", run.spec, run.device);
                Ok((run.clone(), outcome.with_context(named)?))
            })
            .collect();
        all.map(Outcomes)
    }

    /// What came of a run.
    ///
    /// # Panics
    /// It was not among those that were done: a mistake in the program.
    pub fn get(&self, run: &Run) -> &Outcome {
        &self.0[run]
    }
}

impl Run {
    /// Does the repetitions.
    fn outcome(
        &self,
        paper: &Paper,
        plan: &Rearrangement,
        host: &HostParams,
    ) -> anyhow::Result<Outcome> {
        let disk = fsage_lab::device::disk(&self.device)?;
        let mut outcome: Option<Outcome> = None;
        for repetition in 0..paper.run.repetitions {
            let one = self.once(&disk, host, paper.run.seed, repetition, plan)?;
            match &mut outcome {
                Some(outcome) => outcome.seconds.extend(one.seconds),
                None => outcome = Some(one),
            }
        }
        outcome.context("expected at least one repetition")
    }

    fn once(
        &self,
        disk: &Disk,
        params: &HostParams,
        seed: u64,
        repetition: u32,
        plan: &Rearrangement,
    ) -> anyhow::Result<Outcome> {
        let made = Made::of(&self.spec, disk, plan.scale)?;
        let room_bytes = match self.reading {
            Reading::SameArticles => made.half_free_bytes,
            Reading::Printed | Reading::OldUnread => made.outside_free_bytes,
            Reading::AreaEmpty => {
                let disk_bytes = disk.device(0).sectors() * SECTOR_BYTES;
                made.outside_free_bytes
                    .saturating_sub((disk_bytes as f64 * AREA) as u64)
            }
        };
        let mut bbs = Bbs {
            operations: plan.operations,
            filled: room_bytes / ARTICLE_BYTES * self.filled_percent / 100,
            reads_old: self.reading != Reading::OldUnread,
            center: Some(made.fs.center()),
            ..self.mix.benchmark()
        };
        let mut params = params.clone();
        if let Some(popular) = &self.popular {
            popular.set(&mut bbs, &mut params);
        }
        let angle = Rng::new(seed)
            .stream("spindle", repetition.into())
            .next_u64()
            >> 32;
        let device = disk.device(angle as u32);
        let (start, block_bytes) = (disk.partition().first_sector, made.fs.block_bytes());
        let host = Host::new(&params, device, start, block_bytes);
        let mut subject = Simulated::over(made.fs, host, FIRST_OWN_ID);
        let site = Site::default();
        let measured = bbs.run(Case::default(), repetition, &site, &mut subject)?;
        let phase = |name: &str| {
            let found = measured.iter().find(|m| m.phase == name);
            found.with_context(|| format!("no phase `{name}` was measured"))
        };
        let operations: &Measurement = phase("operations")?;
        let center = phase("center")?;
        Ok(Outcome {
            seconds: vec![operations.elapsed_ns as f64 / 1e9],
            operations: operations.files,
            center: (center.files, center.bytes),
            hot_center: phase("hot-center")?.files,
            device: subject.host().device().counters().clone(),
            cylinders: 1 + disk.device(0).cylinder_of(u64::MAX),
            layer: *subject.model().counters(),
        })
    }
}

/// A file system that takes all of a disk.
struct Made {
    fs: Box<dyn Rearranged>,
    /// What articles outside of the reserved area can take.
    outside_free_bytes: u64,
    /// What they could take on the part of the disk before its center.
    half_free_bytes: u64,
}

impl Made {
    fn of(spec: &str, disk: &Disk, scale: u32) -> anyhow::Result<Made> {
        let spec = TargetSpec::parse(spec)?;
        if spec.kind != "ext3" {
            bail!("{spec}: expected an ext3 target");
        }
        let params = spec.params(Params::from_options)?;
        let settings = spec.rearrangement()?;
        let settings = settings.unwrap_or_else(|| Settings::new(Technique::None));
        let mut disk_bytes = disk.partition().sectors * SECTOR_BYTES;
        if !matches!(disk, Disk::Rotating(_)) {
            // It has no cylinders of which there could be fewer.
            disk_bytes /= u64::from(scale);
        }
        let inodes = settings.reserved_bytes_per_inode;
        let outside = Cell::new(0);
        let make = |part, size_bytes| {
            let mut params = Params {
                size_bytes,
                ..params.clone()
            };
            if let (Part::Reserved, Some(bytes)) = (part, inodes) {
                params.bytes_per_inode = bytes;
            }
            let fs = Ext3::new(params)?;
            if part == Part::Outside {
                outside.set(free_bytes(&fs));
            }
            Ok(fs)
        };
        let made = rearrange::over(&settings, disk_bytes, make);
        let fs = made.map_err(|e: rearrange::LayerError<fsage_models::ext3::MkfsError>| {
            anyhow!("{spec}: {e}")
        })?;
        let half = Params {
            size_bytes: fs.center().start,
            ..params.clone()
        };
        let half = Ext3::new(half).map_err(|e| anyhow!("{spec}: {e}"))?;
        Ok(Made {
            outside_free_bytes: outside.get(),
            half_free_bytes: free_bytes(&half),
            fs,
        })
    }
}

/// Bytes that files can take, without the superuser's reserve.
fn free_bytes(fs: &Ext3) -> u64 {
    let geometry = fs.geometry();
    let free = fs.space().unwrap_or_default().free_blocks * u64::from(geometry.block_bytes);
    free.saturating_sub(geometry.reserved_bytes)
}
