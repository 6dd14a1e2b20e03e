//! What the papers on allocators of FFS need: their file systems, aged and empty, and a laboratory to measure them in.

use super::aged::{self, Aged, State};
use super::comparison::Measured;
use super::figure::{Exhibit, Sheet};
use super::lab::Lab;
use super::paper::{Allocators, Paper};
use super::remade::Truth;
use super::sizes::Sizes;
use anyhow::Context;
use fsage_bench::Measurement;
use fsage_bench::benchmarks::hot_files::HOT_FILES;
use fsage_bench::benchmarks::sequential::SEQUENTIAL;
use fsage_bench::benchmarks::{FileCount, Sequential};
use fsage_lab::Watch;
use fsage_lab::table::percent;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Index;
use std::path::Path;

/// A paper, its workload, and where its benchmarks run.
pub struct Bench<'a> {
    /// The paper.
    pub paper: &'a Paper,
    /// What it does with its file systems.
    pub plan: &'a Allocators,
    /// Its disk and its host.
    pub lab: Lab<'a>,
    /// The file system of whose snapshots the workload was made, if it was.
    pub truth: Option<Truth>,
    /// The aging workload.
    pub workload: &'a Path,
    /// Threads that share the work.
    pub threads: usize,
    /// What is shown meanwhile.
    pub ui: &'a dyn Watch,
}

/// Aged file systems by name.
pub struct AgedSet(BTreeMap<String, Aged>);

impl Index<&str> for AgedSet {
    type Output = Aged;

    fn index(&self, name: &str) -> &Aged {
        &self.0[name]
    }
}

impl AgedSet {
    /// The twin of a file system that does not read whole blocks before it overwrites them.
    pub fn unread(&self, name: &str) -> &Aged {
        &self[unread(name).as_str()]
    }
}

fn unread(name: &str) -> String {
    format!("{name}, unread")
}

impl<'a> Bench<'a> {
    /// The same on another host.
    ///
    /// # Errors
    /// There is no such host.
    pub fn on_host(&self, host: &str) -> anyhow::Result<Bench<'a>> {
        let run = &self.paper.run;
        Ok(Bench {
            lab: Lab::with(run, &run.device, host, self.threads, self.ui)?,
            truth: None,
            ..*self
        })
    }
}

impl Bench<'_> {
    /// Ages targets of the paper, and of some a twin that does not read whole blocks before it overwrites them.
    ///
    /// # Errors
    /// The workload cannot be read, a specification is wrong, an interrupt.
    pub fn age(&self, names: &[&str], twins: &[&str]) -> anyhow::Result<AgedSet> {
        let mut targets = Vec::new();
        for name in names {
            targets.push(((*name).to_owned(), self.spec(name)?.to_owned()));
        }
        for name in twins {
            let spec = format!("{},overwrite_reads=false", self.spec(name)?);
            targets.push((unread(name), spec));
        }
        let hot = self.plan.hot_files;
        let aged = aged::age(self.workload, &targets, hot, self.threads, self.ui)?;
        let names = targets.into_iter().map(|(name, _)| name);
        Ok(AgedSet(names.zip(aged).collect()))
    }

    /// An empty file system of a target.
    ///
    /// # Errors
    /// A specification is wrong.
    pub fn empty(&self, name: &str) -> anyhow::Result<State> {
        aged::empty(name, self.spec(name)?)
    }

    /// Throughput of creating and reading by size of file.
    ///
    /// # Errors
    /// The file system is larger than the disk; an interrupt.
    pub fn sizes(&self, state: &State) -> anyhow::Result<Sizes> {
        let sizes = self.plan.sequential.sizes.iter().map(|size| size.0);
        self.sequential(state, sizes.collect(), self.paper.run.repetitions)
    }

    /// The same at many small sizes; nothing if the paper has none.
    ///
    /// # Errors
    /// The file system is larger than the disk; an interrupt.
    pub fn small_sizes(&self, state: &State) -> anyhow::Result<Sizes> {
        match &self.plan.small_sizes {
            Some(small) => {
                let repetitions = small.repetitions.min(self.paper.run.repetitions);
                self.sequential(state, small.sizes(), repetitions)
            }
            None => Ok(Sizes::default()),
        }
    }

    fn sequential(
        &self,
        state: &State,
        sizes: Vec<u64>,
        repetitions: u32,
    ) -> anyhow::Result<Sizes> {
        let parameters = &self.plan.sequential;
        let benchmark = Sequential {
            sizes: Cow::Owned(sizes),
            files: FileCount::Holding {
                total_bytes: parameters.total.0,
                at_least: 1,
            },
            files_per_directory: parameters.files_per_directory,
            ..SEQUENTIAL
        };
        Ok(Sizes::of(&self.lab.run(&benchmark, state, repetitions)?))
    }

    /// Reading and overwriting the hot files; nothing where there are none.
    ///
    /// # Errors
    /// The file system is larger than the disk; an interrupt.
    pub fn hot_files(&self, state: &State) -> anyhow::Result<Vec<Measurement>> {
        self.lab.run(&HOT_FILES, state, self.paper.run.repetitions)
    }

    /// The specification of a target.
    ///
    /// # Errors
    /// The paper has no such target.
    pub fn spec(&self, name: &str) -> anyhow::Result<&str> {
        let spec = self.paper.run.targets.get(name);
        let spec = spec.with_context(|| {
            format!(
                "papers/{}/run.toml: targets: expected `{name}`",
                self.paper.name
            )
        })?;
        Ok(spec)
    }

    /// The inputs of the workload, as it came out on one file system: rows `<id>.operations`, `<id>.bytes` and
    /// `<id>.files`.
    pub fn measure_inputs(id: &str, aged: &Aged, measured: &mut Measured) {
        for (what, ours) in [
            ("operations", aged.operations as f64),
            ("bytes", aged.bytes_written as f64 / 1e9),
            ("files", aged.measures.sums.files.regular as f64),
        ] {
            measured.figure(&format!("{id}.{what}"), Some(ours));
        }
    }

    /// What the workload left on each file system.
    pub fn file_systems(&self, aged: &[&Aged]) -> Exhibit {
        let header = [
            "file system",
            "operations",
            "skipped",
            "files",
            "used",
            "layout, day 1",
            "layout, end",
            "split files",
            "free space in fragments",
        ];
        let rows = aged.iter().map(|aged| {
            let m = &aged.measures;
            let free = m.free.as_ref().map(|free| free.fragment_share(&m.geometry));
            let score = |score: Option<&f64>| score.map_or("-".to_owned(), |s| format!("{s:.3}"));
            vec![
                aged.state.name.clone(),
                aged.operations.to_string(),
                aged.skipped.to_string(),
                m.sums.files.regular.to_string(),
                percent(m.utilization()),
                score(aged.scores.first()),
                score(aged.scores.last()),
                m.sums.split_files.split.to_string(),
                percent(free),
            ]
        });
        Exhibit::Sheet(Sheet {
            slug: "file-systems",
            title: "The aged file systems".to_owned(),
            text: format!(
                "After the workload `{}` with seed {}. It is synthetic: it meets the published statistics of the \
                 authors' workload, and no event of it ever happened.",
                self.plan.workload.preset, self.paper.run.seed
            ),
            header: header.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        })
    }
}
