//! Aging and benchmarking in one run. What is done already is not done again, so that an interrupted run goes on.

use super::manifest::write_json;
use crate::after;
use crate::aging;
use crate::benching::{self, Existing};
use crate::build::Build;
use crate::error::{Context, bail, error};
use crate::images;
use crate::run_folder::{Manifest, State};
use crate::watch::Watch;
use fsage_target::TargetSpec;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::Path;

/// What makes a run what it is: the same gives the same results, on models byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeOf {
    /// Who makes it.
    #[serde(flatten)]
    pub build: Build,
    /// BLAKE3 hash of the workload.
    pub workload: String,
    /// Specifications of the targets.
    pub targets: Vec<String>,
    /// Which repetition it is, from 1.
    pub repetition: u32,
    /// How its targets are aged.
    #[serde(flatten)]
    pub age: aging::Options,
    /// What is benchmarked.
    pub bench: Option<Bench>,
    /// What is done to what was aged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<after::Options>,
}

/// The file in the folder of a run that says what it is made of.
const KEPT: &str = "made-of.json";

/// What is benchmarked, and on what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bench {
    /// As it was asked for, with every suite and size by its own name. Older ones do not say so: they are of others.
    #[serde(default)]
    pub options: benching::Options,
    /// BLAKE3 hashes of the drive and the machine, where they are files.
    pub files: Vec<String>,
    /// Seed of where the spindle stands.
    pub seed: u64,
}

impl MadeOf {
    /// Aging by a workload that is there, once.
    ///
    /// # Errors
    /// The workload cannot be read.
    pub fn new(
        workload: &Path,
        targets: &[TargetSpec],
        age: &aging::Options,
        bench: Option<Bench>,
    ) -> crate::Result<MadeOf> {
        let workload = fsage_data::hash_file(workload)?;
        Ok(MadeOf::of(workload, targets, 1, age, bench))
    }

    /// The same of a workload that is known by its hash.
    pub(super) fn of(
        workload: String,
        targets: &[TargetSpec],
        repetition: u32,
        age: &aging::Options,
        bench: Option<Bench>,
    ) -> MadeOf {
        MadeOf {
            build: Build::this(),
            workload,
            targets: targets.iter().map(ToString::to_string).collect(),
            repetition,
            age: *age,
            bench,
            after: None,
        }
    }

    /// What is not as it was, in a few words; none if all is.
    pub fn differs_from(&self, earlier: &MadeOf) -> Option<String> {
        // Whether images are kept is no difference of results, and of the build it is said apart.
        let mut as_kept = earlier.clone();
        as_kept.age.discard_images = self.age.discard_images;
        as_kept.build = self.build.clone();
        let reasons = [
            // With other sources, nothing else need be the same.
            (
                self.build.differs_from(&earlier.build),
                format!("it was made by {}", earlier.build),
            ),
            (
                self.workload != earlier.workload,
                "its workload has other content".to_owned(),
            ),
            (
                self.targets != earlier.targets,
                "its target is another one".to_owned(),
            ),
            (
                self.bench != earlier.bench,
                "its benchmarks are others".to_owned(),
            ),
            (
                self.after != earlier.after,
                "it is treated in another way".to_owned(),
            ),
            (*self != as_kept, "it is aged in another way".to_owned()),
        ];
        let mut reasons = reasons.into_iter();
        reasons.find_map(|(differs, why)| differs.then_some(why))
    }
}

impl MadeOf {
    /// What was kept of a run; none of one that `fsage age` made, or whose file is damaged.
    pub fn kept(run: &Path) -> Option<MadeOf> {
        let kept = fsage_input::bytes(&run.join(KEPT), fsage_input::TEXT_BYTES);
        serde_json::from_slice(&kept.ok()?).ok()
    }

    /// Keeps it in the folder of a run that is aged, for when that goes on. One that is there is of the same kind, or
    /// this is an error.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, run: &Path) -> crate::Result<()> {
        let path = run.join(KEPT);
        let failed = || format!("{}: cannot be read", path.display());
        match fsage_input::bytes(&path, fsage_input::TEXT_BYTES) {
            Err(error) if error.kind() == ErrorKind::NotFound => write_json(&path, self),
            Err(error) => Err(error).with_context(failed),
            Ok(earlier) => match self.differs_from(
                &serde_json::from_slice(&earlier)
                    .with_context(|| format!("{}: damaged; age the run again", path.display()))?,
            ) {
                Some(why) => bail!(
                    "{}: cannot resume it: {why}; give the same command again, or start again with --force",
                    run.display()
                ),
                None => Ok(()),
            },
        }
    }
}

impl Bench {
    /// What was asked for below these targets, with a seed.
    ///
    /// # Errors
    /// There is no such suite; a drive or a machine that is a file cannot be read.
    pub fn new(
        options: &benching::Options,
        targets: &[TargetSpec],
        seed: u64,
    ) -> crate::Result<Bench> {
        let options = options.below(targets)?;
        let suites = options.suites()?;
        let suites = suites.iter().map(|suite| suite.name().to_owned());
        let sizes = options.sizes()?;
        let names = options.device.iter().chain(&options.host);
        let files = names
            .filter(|name| Path::new(name).is_file())
            .map(|file| Ok(fsage_data::hash_file(file)?))
            .collect::<crate::Result<_>>()?;
        Ok(Bench {
            options: benching::Options {
                suites: suites.collect(),
                sizes: sizes.iter().map(ToString::to_string).collect(),
                ..options
            },
            files,
            seed,
        })
    }
}

/// The steps of a run.
pub struct Steps<'a> {
    /// The workload.
    pub workload: &'a Path,
    /// The targets.
    pub specs: &'a [TargetSpec],
    /// The folder of the run.
    pub run: &'a Path,
    /// What the run is made of.
    pub made_of: &'a MadeOf,
    /// Anew, instead of another, or going on.
    pub start: aging::Start,
}

impl Steps<'_> {
    /// Ages, if that is not done. A run that is there and is made of something else is refused.
    ///
    /// # Errors
    /// As [`age`](crate::aging::age).
    pub fn age(&self, ui: &dyn Watch) -> crate::Result<()> {
        let done = self.start.resume && Manifest::is_run(self.run) && !self.start.force;
        if done {
            let manifest = Manifest::read(self.run)?;
            if manifest.state == State::Complete {
                return manifest
                    .is_of(Some(&self.made_of.workload), &self.made_of.targets)
                    .map_err(|why| {
                        error!(
                            "{}: a run of another kind: {why}; give the command it was begun with, or name another \
                             folder",
                            self.run.display()
                        )
                    });
            }
        }
        let request = aging::Request {
            // Benchmarks and treatments come behind it.
            options: aging::Options {
                discard_images: false,
                ..self.made_of.age
            },
            start: self.start,
            ..aging::Request::new(self.workload, self.specs, self.run)
        };
        aging::age(&request, ui).map(drop)
    }

    /// Benchmarks what is not benchmarked yet; gives what was left out, and why.
    ///
    /// # Errors
    /// As [`bench`](crate::bench).
    pub fn measure(&self, ui: &dyn Watch) -> crate::Result<Vec<String>> {
        let Some(bench) = &self.made_of.bench else {
            return Ok(Vec::new());
        };
        self.measure_by(bench, ui)
    }

    /// Treats what was aged, in every way that suits it, unless that is done; gives commands that failed, and why.
    ///
    /// # Errors
    /// As [`after`](crate::after()).
    pub fn treat(
        &self,
        options: &after::Options,
        seed: u64,
        ui: &dyn Watch,
    ) -> crate::Result<after::Treated> {
        let plan = self.made_of.bench.as_ref().map(|bench| self.plan(bench));
        let mut plan = plan.transpose()?;
        if let Some(plan) = &mut plan {
            plan.existing = Existing::Replaced;
        }
        let request = after::Request {
            run: self.run,
            options,
            plan: plan.as_ref(),
            seed,
            is_resumed: self.start.resume,
        };
        after::after(&request, ui)
    }

    /// Discards images, where that is asked for: the last step.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn discard(&self, ui: &dyn Watch) -> crate::Result<()> {
        images::discard(self.made_of.age.discard_images, self.run, self.specs, ui)
    }

    /// How it is benchmarked.
    ///
    /// # Errors
    /// There is no such suite, disk or machine.
    pub fn plan(&self, bench: &Bench) -> crate::Result<benching::Plan> {
        let mut plan = benching::Plan::new(&bench.options, self.specs)?;
        plan.seed = bench.seed;
        plan.threads = self.start.threads.unwrap_or(plan.threads);
        if self.start.resume {
            plan.existing = Existing::Kept;
        }
        Ok(plan)
    }

    fn measure_by(&self, bench: &Bench, ui: &dyn Watch) -> crate::Result<Vec<String>> {
        let (fit, unfit): (Vec<TargetSpec>, Vec<TargetSpec>) = self
            .specs
            .iter()
            .cloned()
            .partition(|spec| benching::is_benchmarked(&spec.to_string()));
        let mut left_out: Vec<String> = unfit
            .iter()
            .map(|spec| format!("{spec}: there is nothing to benchmark"))
            .collect();
        for line in &left_out {
            ui.warn(line);
        }
        if fit.is_empty() {
            return Ok(left_out);
        }
        let plan = self.plan(bench)?;
        if plan.all_are_there(self.run, &fit) {
            return Ok(left_out);
        }
        let request = benching::Request {
            what: benching::What::Run(self.run),
            targets: &fit,
            plan: &plan,
        };
        let measured = benching::bench_and(&request, ui, &mut |_| Ok(()))?;
        left_out.extend(measured.left_out);
        Ok(left_out)
    }
}
