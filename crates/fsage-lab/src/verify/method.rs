//! The whole of `verify-method`: every way to make a workload from the snapshots of a known one, compared with it.

use super::judged::{Against, set_beside_default};
use super::lives::{attempts_over, losses_over};
use super::{
    Distance, Loss, Matches, Operations, Truth, compare, observe, remake, week_of_profiles, without,
};

use crate::aging::sized;
use crate::clock::{is_drawn, with_clock_of};
use crate::compare::Workload;
use crate::error::{Context, bail};
use crate::generate::{GrowthName, Output, Source, generate, read_pool};
use crate::interrupt;
use crate::watch::Watch;
use crate::workload::is_there;
use fsage_bench::Summary;
use fsage_core::short_lived::Profile;
use fsage_data::open_workload;
use fsage_durable::TemporaryFolder;
use fsage_metrics::Measures;
use fsage_target::{Target, TargetSpec};
use fsage_workload::from_snapshots::{DeleteTimes, Draws, Options, ShortLived};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What is verified, and how.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The truths, which are lives of one kind: workloads with times and days, Parquet or `.ops` text, or to be made.
    pub truths: &'a [Workload<'a>],
    /// The model that they age; without a size it takes that of the first truth.
    pub target: &'a TargetSpec,
    /// Pools of profiles of short-lived files; those of a week in the middle of the truth if there are none.
    pub profiles: &'a [PathBuf],
    /// Profiles a day; as many as that week has, of a pool one for each 40 MB, if none.
    pub profiles_a_day: Option<u64>,
    /// How a large new file is written.
    pub growth: GrowthName,
    /// The first seed of what is guessed; of a model with a clock that is drawn, also that of the first truth's.
    pub seed: u64,
    /// How many seeds, one after another; differences of a life are means over them.
    pub seeds: u64,
}

impl<'a> Request<'a> {
    /// With profiles of the truth itself, and three seeds.
    pub fn new(truths: &'a [Workload<'a>], target: &'a TargetSpec) -> Request<'a> {
        Request {
            truths,
            target,
            profiles: &[],
            profiles_a_day: None,
            growth: GrowthName::Stretched,
            seed: 1,
            seeds: 3,
        }
    }
}

/// One way to make a workload, and how far from the truth it is: of one life means over the seeds, of several means
/// over the lives, each of which counts once.
#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    /// The rule by which times of deletion are guessed.
    pub delete_times: &'static str,
    /// How short-lived files are drawn.
    pub short_lived: &'static str,
    /// Layout score at the end, less that of the truth.
    pub end_difference: f64,
    /// Half of Student's 95 % interval of that mean; `None` of fewer than three.
    pub end_half_interval: Option<f64>,
    /// The same without its sign.
    pub end_distance: f64,
    /// The difference at the end as a share of what the truth lost, negative where the remade workload loses more;
    /// `None` where the truth lost too little to judge by. Of several lives the mean over those that have one.
    pub missed: Option<f64>,
    /// Half of Student's 95 % interval of that; `None` of fewer than three.
    pub missed_half_interval: Option<f64>,
    /// By how much it ends nearer to the truth than the default way, in each life by itself: the mean over lives,
    /// negative where it ends farther; `None` of the default way, and of fewer than three lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearer_by: Option<f64>,
    /// Half of Student's 95 % interval of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearer_half_interval: Option<f64>,
    /// Each seed by itself; of several lives it stands with each of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_seed: Vec<BySeed>,
    /// The largest difference of a day, of the seed and the life with the largest.
    pub largest_difference: f64,
    /// Which day that is, from 0.
    pub largest_day: usize,
    /// Mean of the differences of all days, without their signs.
    pub mean_distance: f64,
    /// By how many hours times of deletion are wrong, on the average.
    pub delete_error_hours: f64,
    /// Of the operations that were made, the share that the truth has.
    pub precision: f64,
    /// Of the operations of the truth, the share that was made.
    pub recall: f64,
    /// Operations that were not done for lack of space, over all seeds and lives.
    pub skipped: u64,
    /// Layout scores by day, of the first seed; of several lives they stand with each of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<f64>,
}

impl Attempt {
    /// The command that makes a workload this way, with names for the files.
    #[must_use]
    pub fn remade_by(&self) -> String {
        let files = match self.short_lived {
            "none" => "",
            "profiles" => " --profiles POOL --short-lived smith97",
            "days" => " --profiles POOL --short-lived smith96",
            _ => " --profiles POOL --short-lived matched",
        };
        format!(
            "fsage generate snapshots NIGHTS --delete-times {}{files}",
            self.delete_times
        )
    }
}

/// What one seed of what is guessed came to.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BySeed {
    /// The seed.
    pub seed: u64,
    /// Layout score at the end, less that of the truth.
    pub end_difference: f64,
    /// Mean of the differences of all days, without their signs.
    pub mean_distance: f64,
}

/// What the truth itself loses if only one thing is guessed or unseen; after these what they leave unexplained, and the
/// remade workload, which is the sum of "all of these" and that.
#[derive(Clone, Debug, Serialize)]
pub struct Lost {
    /// What is lost.
    pub loss: String,
    /// Layout score at the end, less that of the truth: the mean over the seeds of a life, or over lives.
    pub end_difference: f64,
    /// Half of Student's 95 % interval of that mean; `None` of fewer than three, and of a life where nothing is drawn.
    pub end_half_interval: Option<f64>,
    /// Layout score at the end of each seed, less that of the truth; one where nothing is drawn. Of several lives it
    /// stands with each of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub end_by_seed: Vec<f64>,
    /// The largest difference of a day, of the seed and the life with the largest.
    pub largest_difference: f64,
    /// Mean of the differences of all days, without their signs.
    pub mean_distance: f64,
}

/// One truth, and what can be made of its snapshots.
#[derive(Clone, Debug, Serialize)]
pub struct Life {
    /// The workload: a file, or a preset and its seed.
    pub workload: String,
    /// Days of the truth.
    pub days: usize,
    /// Operations on files in it.
    pub operations: u64,
    /// Of these, those that nightly snapshots cannot show.
    pub hidden_operations: u64,
    /// Profiles of short-lived files that were drawn from.
    pub profiles: usize,
    /// How many were drawn a day; one for each 40 MB if none.
    pub profiles_a_day: Option<u64>,
    /// The largest share of the data space that is in use at the end of a day; `None` where that is not known.
    pub most_used: Option<f64>,
    /// Layout scores of the truth by day.
    pub truth: Vec<f64>,
    /// What it loses from its first day to its last.
    pub decay: f64,
    /// Every way that was tried.
    pub attempts: Vec<Attempt>,
    /// What is lost by one thing alone.
    pub losses: Vec<Lost>,
}

/// All that is known of one model.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Its specification.
    pub target: String,
    /// How large it is.
    pub size_bytes: u64,
    /// Whether it draws its own clock, so that it is drawn anew for each life and each seed.
    pub has_drawn_clock: bool,
    /// Seeds of what is guessed, in each life.
    pub seeds: u64,
    /// The truths.
    pub lives: Vec<Life>,
    /// Every way that was tried: of several lives, means over them.
    pub attempts: Vec<Attempt>,
    /// What is lost by one thing alone: of several lives, means over them.
    pub losses: Vec<Lost>,
    /// Which of two targets has the higher layout score, in the truth and remade; see [`set_against`].
    ///
    /// [`set_against`]: super::set_against
    pub against: Vec<Against>,
    /// Why it says less than it seems to.
    pub doubts: Vec<String>,
}

/// The most truths that are lived.
pub const MOST_LIVES: u32 = 1000;

/// A loss of layout score by less is no measure of what is missed.
pub const LEAST_DECAY: f64 = 0.005;

/// How `fsage generate snapshots` makes a workload if nothing else is asked for: its rule of delete times, and no
/// short-lived files.
pub const DEFAULT_WAY: (&str, &str) = ("reuse", "none");

/// What is not lost by all causes together, but by remaking.
pub const UNEXPLAINED: &str = "not explained by these";

/// Values under which an interval says nothing.
const LEAST_VALUES: usize = 3;

/// Layout scores from which nothing is fragmented to speak of.
const WHOLE: f64 = 0.9995;

/// Why the truths show less of what snapshots lose than others would.
fn doubts(spec: &TargetSpec, lives: &[Life]) -> Vec<String> {
    let mut doubts = Vec::new();
    if lives.iter().all(|life| life.hidden_operations == 0) {
        doubts.push(
            "no file of this workload comes and goes between two snapshots, as in one that was made of snapshots: what \
             they miss cannot be seen here; take a trace or a git history of such files"
                .to_owned(),
        );
    }
    let ends = lives.iter().filter_map(|life| life.truth.last().copied());
    if let Some(score) = ends.min_by(f64::total_cmp).filter(|score| *score > WHOLE) {
        doubts.push(format!(
            "{spec} is hardly fragmented (layout score {score:.4}), so that all workloads look alike on it; a smaller \
             size= shows more"
        ));
    }
    doubts
}

/// Ages a model with known workloads, takes nightly snapshots, makes workloads from these alone by every rule, ages
/// fresh models with them, and compares.
///
/// # Errors
/// The target is no model that keeps files; a workload or a pool cannot be read, or does not fit; an interrupt.
pub fn verify_method(request: &Request<'_>, ui: &dyn Watch) -> crate::Result<Verdict> {
    if !matches!(Target::make(request.target)?, Target::Model(_)) {
        let spec = request.target;
        bail!("the method is verified on simulated file systems, not on `{spec}`");
    }
    if !request.target.keeps_files() {
        let spec = request.target;
        bail!("`{spec}` keeps no files: there is nothing to take a snapshot of");
    }
    let mut target = None;
    let mut lives = Vec::new();
    for (n, truth) in (0..).zip(request.truths) {
        let (path, _made) = lived(truth, ui)?;
        // All lives are lived on what the first one asks for.
        let spec = match &target {
            Some(spec) => spec,
            None => target.insert(with_size_of(&path, request.target, ui)?),
        };
        lives.push(verify_life(request, (n, &path), spec, ui)?);
    }
    let spec = target.context("a workload is needed")?;
    let Target::Model(fs) = Target::make(&spec)? else {
        bail!("`{spec}` is not simulated");
    };
    let mut attempts = attempts_over(&lives);
    set_beside_default(&mut attempts, &lives);
    Ok(Verdict {
        doubts: doubts(&spec, &lives),
        target: spec.to_string(),
        size_bytes: fs.geometry().size_bytes,
        has_drawn_clock: is_drawn(&spec),
        seeds: request.seeds,
        attempts,
        losses: losses_over(&lives),
        against: Vec::new(),
        lives,
    })
}

/// The file of a truth; one that is made is there as long as its folder.
fn lived(
    truth: &Workload<'_>,
    ui: &dyn Watch,
) -> crate::Result<(PathBuf, Option<TemporaryFolder>)> {
    match truth {
        Workload::File(path) => {
            is_there(path)?;
            Ok((path.to_path_buf(), None))
        }
        Workload::Made(source) => {
            let folder = TemporaryFolder::private(&std::env::temp_dir().join("fsage-truth"))?;
            let path = folder.path().join("truth.parquet");
            generate(source, &Output::replacing(&path), ui)?;
            Ok((path, Some(folder)))
        }
    }
}

/// The target in the size of the workload's file system, if it says none itself.
fn with_size_of(path: &Path, target: &TargetSpec, ui: &dyn Watch) -> crate::Result<TargetSpec> {
    let sized = sized(path, std::slice::from_ref(target), ui)?;
    sized.into_iter().next().context("one target is sized")
}

/// What a truth is called.
fn name_of(truth: &Workload<'_>) -> String {
    match truth {
        Workload::File(path) => path.display().to_string(),
        Workload::Made(Source::Profile(of)) => {
            format!("{} (seed {})", of.profile, of.seed.unwrap_or(1))
        }
        Workload::Made(_) => "made for this".to_owned(),
    }
}

/// Everything of one life, the `n`th from 0.
fn verify_life(
    request: &Request<'_>,
    (n, path): (u64, &Path),
    spec: &TargetSpec,
    ui: &dyn Watch,
) -> crate::Result<Life> {
    let of = match request.truths.len() {
        1 => String::new(),
        all => format!("life {} of {all}: ", n + 1),
    };
    let clock = with_clock_of(spec, request.seed.wrapping_add(n));
    let Target::Model(fs) = Target::make(&clock)? else {
        bail!("`{spec}` is not simulated");
    };
    let mut source = open_workload(path)?;
    let bar = ui.bar_count(None, &format!("{of}aging with the truth"));
    let mut truth = observe(source.as_mut(), fs, &mut || {
        bar.inc(1);
        Ok(interrupt::go_on()?)
    })?;
    drop(bar);
    let (pool, a_day) = pool(request, &truth)?;
    let ways = ways(&pool, a_day);
    let losses = Loss::ALL.map(|loss| (loss.as_str(), vec![loss]));
    let losses = losses
        .into_iter()
        .chain([("all of these", Loss::ALL.to_vec())]);
    let losses: Vec<(&str, Vec<Loss>)> = losses.collect();
    let tries = losses.iter().map(|(_, lost)| seeds_of(request, lost));
    let total = ways.len() as u64 * DeleteTimes::ALL.len() as u64 * request.seeds;
    let total = total + tries.sum::<u64>();
    let bar = ui.bar_count(
        Some(total),
        &format!("{of}making workloads and aging with them"),
    );
    let scores: Vec<f64> = truth.days.iter().map(|day| day.layout().value()).collect();
    let decay = scores.first().copied().unwrap_or(1.0) - scores.last().copied().unwrap_or(1.0);
    let mut attempts = Vec::new();
    let mut by_default = Vec::new();
    for (name, short_lived) in &ways {
        for rule in DeleteTimes::ALL {
            let mut tries = Vec::new();
            for n in 0..request.seeds {
                let options = options(request, rule, n);
                let remade = remake(&mut truth, &options, *short_lived)?;
                let matches = truth.operations.match_with(&Operations::of(&remade));
                let distance = compare(&truth, remade, &remade_on(request, spec, n), false)?;
                tries.push((matches, distance));
                bar.inc(1);
            }
            let way = (rule.as_str(), *name);
            if way == DEFAULT_WAY {
                by_default = tries.iter().map(|(_, distance)| distance.clone()).collect();
            }
            attempts.push(attempt(way, request.seed, decay, tries));
        }
    }
    let losses = all_lost(
        request,
        (&mut truth, spec),
        (&losses, &by_default),
        &mut || {
            bar.inc(1);
        },
    )?;
    drop(bar);
    let matches = truth.operations.match_with(&Operations::default());
    let used = truth.days.iter().filter_map(Measures::utilization);
    Ok(Life {
        workload: name_of(&request.truths[n as usize]),
        days: truth.days.len(),
        operations: matches.truth,
        hidden_operations: matches.hidden,
        profiles: pool.len(),
        profiles_a_day: a_day,
        most_used: used.max_by(f64::total_cmp),
        truth: scores,
        decay,
        attempts,
        losses,
    })
}

/// Every way to draw short-lived files that the pool allows, by its name.
fn ways(pool: &[Profile], a_day: Option<u64>) -> Vec<(&'static str, Option<ShortLived<'_>>)> {
    let draws = |draws| Some(ShortLived { pool, draws });
    let mut ways = vec![("none", None)];
    if !pool.is_empty() {
        ways.extend([
            ("profiles", draws(Draws::Profiles { a_day })),
            ("days", draws(Draws::Days)),
            ("matched", draws(Draws::Matched)),
        ]);
    }
    ways
}

/// What a remade workload ages: a model with a clock that is drawn has one for each seed, and never that of a truth.
fn remade_on(request: &Request<'_>, spec: &TargetSpec, n: u64) -> TargetSpec {
    let behind_truths = request.seed.wrapping_add(u64::from(MOST_LIVES));
    with_clock_of(spec, behind_truths.wrapping_add(n))
}

/// What the truth loses by each of these alone, with the seeds that it is tried with; then what the last, which is all
/// of them, leaves of the distance of the workload that is remade by default.
fn all_lost(
    request: &Request<'_>,
    (truth, spec): (&mut Truth, &TargetSpec),
    (losses, by_default): (&[(&str, Vec<Loss>)], &[Distance]),
    done: &mut dyn FnMut(),
) -> crate::Result<Vec<Lost>> {
    let mut tries: Vec<Vec<Distance>> = losses.iter().map(|_| Vec::new()).collect();
    for n in 0..request.seeds.max(1) {
        // What a seed guesses is the same for all of them.
        let remade = remake(truth, &options(request, DeleteTimes::Reuse, n), None)?;
        for ((_, lost), of_loss) in losses.iter().zip(&mut tries) {
            if n < seeds_of(request, lost) {
                let events = without(truth, &remade, lost);
                of_loss.push(compare(truth, events, &remade_on(request, spec, n), true)?);
                done();
            }
        }
    }
    let explained = tries.last().map_or(&[][..], |all| all);
    let of_both = by_default.iter().zip(explained);
    tries.push(of_both.map(|(remade, all)| remade.less(all)).collect());
    tries.push(by_default.to_vec());
    let names = losses.iter().map(|(name, _)| *name);
    Ok(names
        .chain([UNEXPLAINED, "the remade workload"])
        .zip(tries)
        .map(|(name, tries)| lost(name, &tries))
        .collect())
}

/// What one loss comes to over its tries.
fn lost(name: &str, distances: &[Distance]) -> Lost {
    let ends: Vec<f64> = distances.iter().map(|distance| distance.at_end).collect();
    let mean = |of: fn(&Distance) -> f64| {
        distances.iter().map(of).sum::<f64>() / distances.len().max(1) as f64
    };
    Lost {
        loss: name.to_owned(),
        end_difference: mean(|distance| distance.at_end),
        end_half_interval: half_interval(&ends),
        end_by_seed: ends,
        largest_difference: largest(distances).0,
        mean_distance: mean(|distance| distance.mean),
    }
}

/// How often these losses are tried: with every seed where times of deletion are guessed or the model draws its clock;
/// nothing else is drawn.
fn seeds_of(request: &Request<'_>, losses: &[Loss]) -> u64 {
    if losses.contains(&Loss::DeleteTimes) || is_drawn(request.target) {
        request.seeds
    } else {
        1
    }
}

/// Half of Student's 95 % interval of the mean of values; `None` of fewer than three.
pub(super) fn half_interval(ends: &[f64]) -> Option<f64> {
    let summary = Summary::of(ends).filter(|summary| summary.count >= LEAST_VALUES);
    let interval = summary?.mean_interval()?;
    Some((interval.high - interval.low) / 2.0)
}

/// The largest difference of a day, and which day that is.
fn largest<'a>(distances: impl IntoIterator<Item = &'a Distance>) -> (f64, usize) {
    let days = distances.into_iter().map(|d| (d.largest, d.largest_day));
    days.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))
        .unwrap_or_default()
}

fn options(request: &Request<'_>, rule: DeleteTimes, n: u64) -> Options {
    Options {
        seed: request.seed.wrapping_add(n),
        delete_times: rule,
        growth: request.growth.growth(),
        ..Options::default()
    }
}

/// The profiles to draw from, and how many a day.
fn pool(request: &Request<'_>, truth: &Truth) -> crate::Result<(Vec<Profile>, Option<u64>)> {
    if request.profiles.is_empty() {
        let (pool, a_day) = week_of_profiles(truth);
        return Ok((pool, request.profiles_a_day.or(Some(a_day))));
    }
    Ok((read_pool(request.profiles)?, request.profiles_a_day))
}

fn attempt(
    (delete_times, short_lived): (&'static str, &'static str),
    first_seed: u64,
    decay: f64,
    tries: Vec<(Matches, Distance)>,
) -> Attempt {
    let n = tries.len().max(1) as f64;
    let mean = |f: &dyn Fn(&(Matches, Distance)) -> f64| tries.iter().map(f).sum::<f64>() / n;
    let largest = largest(tries.iter().map(|(_, distance)| distance));
    let ends: Vec<f64> = tries.iter().map(|t| t.1.at_end).collect();
    let by_seed = (first_seed..)
        .zip(&tries)
        .map(|(seed, (_, distance))| BySeed {
            seed,
            end_difference: distance.at_end,
            mean_distance: distance.mean,
        });
    let end_difference = mean(&|t| t.1.at_end);
    let end_half_interval = half_interval(&ends);
    let share = |of: f64| (decay >= LEAST_DECAY).then(|| of / decay);
    Attempt {
        delete_times,
        short_lived,
        end_difference,
        end_half_interval,
        missed: share(end_difference),
        missed_half_interval: end_half_interval.and_then(share),
        nearer_by: None,
        nearer_half_interval: None,
        by_seed: by_seed.collect(),
        end_distance: mean(&|t| t.1.at_end.abs()),
        largest_difference: largest.0,
        largest_day: largest.1,
        mean_distance: mean(&|t| t.1.mean),
        delete_error_hours: mean(&|t| t.0.delete_error_hours),
        precision: mean(&|t| t.0.precision()),
        recall: mean(&|t| t.0.recall()),
        skipped: tries.iter().map(|t| t.1.skipped).sum(),
        scores: tries
            .into_iter()
            .next()
            .map(|t| t.1.scores)
            .unwrap_or_default(),
    }
}
