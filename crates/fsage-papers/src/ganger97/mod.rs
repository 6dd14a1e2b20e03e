//! Ganger and Kaashoek 1997: embedded inodes and explicit grouping, each alone and together, against neither.

mod applications;
mod beyond;
mod fullness;
mod large_file;
mod log;
mod openbsd;
mod phases;
pub mod plan;
mod random_names;
mod request_cost;
mod small_files;

use super::Reproduction;
use super::aged::State;
use super::comparison::Measured;
use super::lab::Lab;
use super::paper::Paper;
use anyhow::{Context, bail};
use applications::Programs;
use beyond::Beyond;
use fsage_bench::benchmarks::small_file::SMALL_FILE_1997;
use fsage_bench::benchmarks::{FileCount, Order, Sequential};
use fsage_lab::Watch;
use fsage_models::cffs::Cffs;
use fsage_target::{Target, TargetSpec};
use fullness::Fullness;
use large_file::LargeFile;
use log::BesideLog;
use openbsd::OpenBsd;
use phases::Phases;
use plan::Grouping;
use random_names::RandomNames;
use small_files::SmallFiles;
use std::borrow::Cow;
use std::path::Path;

/// The file systems of the paper, in the order in which they are shown.
const NAMES: [&str; 4] = ["neither", "embed", "group", "both"];
/// Files of a directory in the small-file benchmark.
const FILES_OF_A_DIRECTORY: u64 = 100;
/// What a target has beside its own keys where small or large files are measured: first blocks as on a used disk.
const AS_USED: &str = ",randomize_first=bench";

/// The paper, and where its benchmarks run.
pub struct Bench<'a> {
    /// The paper.
    pub paper: &'a Paper,
    /// What it does with its file systems.
    pub plan: &'a Grouping,
    /// Its disk and its host.
    pub lab: Lab<'a>,
    /// Where an aging workload would lie; those of this paper lie beside it.
    pub workload: &'a Path,
    /// Threads that share the work.
    pub threads: usize,
    /// What is shown meanwhile.
    pub ui: &'a dyn Watch,
}

/// Everything that is shown of the paper.
///
/// # Errors
/// A benchmark fails; an interrupt.
pub fn reproduce(bench: &Bench<'_>) -> anyhow::Result<Reproduction> {
    let mut measured = Measured::default();
    let mut exhibits = Vec::new();

    let small = SmallFiles::run(bench)?;
    small.measure(&mut measured);
    exhibits.extend(small.exhibits(bench));

    let random = RandomNames::run(bench)?;
    random.measure(&mut measured);
    exhibits.push(random.exhibit());

    let fullness = Fullness::run(bench)?;
    fullness.measure(&mut measured);
    exhibits.extend(fullness.exhibits());

    let large = LargeFile::run(bench)?;
    large.measure(&mut measured);
    exhibits.push(large.exhibit());

    let programs = Programs::run(bench)?;
    programs.measure(&mut measured);
    exhibits.extend(programs.exhibits());

    let openbsd = OpenBsd::run(bench)?;
    openbsd.measure(&mut measured);
    exhibits.push(openbsd.exhibit());

    let beyond = Beyond::run(bench)?;
    beyond.measure(&mut measured);
    exhibits.extend(beyond.exhibits(bench));

    let log = BesideLog::run(bench)?;
    log.measure(&mut measured);
    exhibits.push(log.exhibit());

    exhibits.push(request_cost::run(bench, &mut measured)?);
    Ok(Reproduction {
        lines: measured.compare(bench.paper),
        exhibits,
        terminal: vec!["aged-create", "gmake-processor"],
    })
}

/// What was measured on each of the four file systems.
#[derive(Debug)]
struct OfEach<T>([T; 4]);

impl<T> OfEach<T> {
    /// Of each in turn.
    fn try_new(mut of: impl FnMut(&'static str) -> anyhow::Result<T>) -> anyhow::Result<OfEach<T>> {
        let [neither, embed, group, both] = NAMES;
        Ok(OfEach([of(neither)?, of(embed)?, of(group)?, of(both)?]))
    }

    fn neither(&self) -> &T {
        &self.0[0]
    }

    fn embed(&self) -> &T {
        &self.0[1]
    }

    fn group(&self) -> &T {
        &self.0[2]
    }

    fn both(&self) -> &T {
        &self.0[3]
    }

    /// With their names.
    fn named(&self) -> impl Iterator<Item = (&'static str, &T)> {
        NAMES.into_iter().zip(&self.0)
    }
}

impl Bench<'_> {
    /// Specification of a target with further keys, which begin with a comma.
    fn spec(&self, name: &str, keys: &str) -> anyhow::Result<String> {
        let spec = self.paper.run.targets.get(name);
        let spec =
            spec.with_context(|| format!("papers/ganger97/run.toml: targets: expected `{name}`"))?;
        Ok(format!("{spec}{keys}"))
    }

    /// A fresh file system of a target with further keys.
    fn fresh(&self, name: &str, keys: &str) -> anyhow::Result<State<Cffs>> {
        let spec = TargetSpec::parse(&self.spec(name, keys)?)?;
        state(name, Target::make(&spec)?)
    }

    /// The small-file benchmark in so many directories.
    fn small_files(&self, state: &State<Cffs>, directories: u64) -> anyhow::Result<Phases> {
        self.small_files_in(Order::OfCreation, state, directories)
    }

    /// The same, with files used in one order or the other.
    fn small_files_in(
        &self,
        order: Order,
        state: &State<Cffs>,
        directories: u64,
    ) -> anyhow::Result<Phases> {
        self.files_of(self.plan.small_files.size.0, order, state, directories)
    }

    /// The same with files of another size.
    fn files_of(
        &self,
        bytes: u64,
        order: Order,
        state: &State<Cffs>,
        directories: u64,
    ) -> anyhow::Result<Phases> {
        let benchmark = Sequential {
            sizes: Cow::Owned(vec![bytes]),
            files: FileCount::Exactly(directories * FILES_OF_A_DIRECTORY),
            files_per_directory: FILES_OF_A_DIRECTORY,
            order,
            ..SMALL_FILE_1997
        };
        let repetitions = self.paper.run.repetitions;
        Ok(Phases::of(&self.lab.run(&benchmark, state, repetitions)?))
    }
}

fn state(name: &str, target: Target) -> anyhow::Result<State<Cffs>> {
    let Some(fs) = target.into_model::<Cffs>() else {
        bail!("papers/ganger97/run.toml: targets: {name}: expected a cffs target");
    };
    Ok(State {
        name: name.to_owned(),
        fs: *fs,
        hot: Vec::new(),
    })
}
