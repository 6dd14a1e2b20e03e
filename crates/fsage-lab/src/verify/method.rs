//! The whole of `verify-method`: every way to make a workload from the snapshots of a known one, compared with it.

use super::{
    Distance, Loss, Matches, Operations, Truth, compare, observe, remake, week_of_profiles, without,
};
use crate::error::bail;
use crate::generate::{GrowthName, read_pool};
use crate::interrupt;
use crate::watch::Watch;
use crate::workload::is_there;
use fsage_bench::Summary;
use fsage_core::short_lived::Profile;
use fsage_data::open_workload;
use fsage_target::{Target, TargetSpec};
use fsage_workload::from_snapshots::{DeleteTimes, Draws, Options, ShortLived};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What is verified, and how.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The truth: a workload with times and days, Parquet or `.ops` text.
    pub workload: &'a Path,
    /// The model that it ages.
    pub target: &'a TargetSpec,
    /// Pools of profiles of short-lived files; those of a week in the middle of the truth if there are none.
    pub profiles: &'a [PathBuf],
    /// Profiles a day; as many as that week has, of a pool one for each 40 MB, if none.
    pub profiles_a_day: Option<u64>,
    /// How a large new file is written.
    pub growth: GrowthName,
    /// The first seed of what is guessed.
    pub seed: u64,
    /// How many seeds, one after another; differences are means over them.
    pub seeds: u64,
}

impl<'a> Request<'a> {
    /// With profiles of the truth itself, and three seeds.
    pub fn new(workload: &'a Path, target: &'a TargetSpec) -> Request<'a> {
        Request {
            workload,
            target,
            profiles: &[],
            profiles_a_day: None,
            growth: GrowthName::Stretched,
            seed: 1,
            seeds: 3,
        }
    }
}

/// One way to make a workload, and how far from the truth it is: means over the seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    /// The rule by which times of deletion are guessed.
    pub delete_times: &'static str,
    /// How short-lived files are drawn.
    pub short_lived: &'static str,
    /// Layout score at the end, less that of the truth.
    pub end_difference: f64,
    /// Half of Student's 95 % interval of that mean; `None` of fewer than three seeds.
    pub end_half_interval: Option<f64>,
    /// The same without its sign.
    pub end_distance: f64,
    /// Each seed by itself.
    pub by_seed: Vec<BySeed>,
    /// The largest difference of a day, of the seed with the largest.
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
    /// Operations that were not done for lack of space, over all seeds.
    pub skipped: u64,
    /// Layout scores by day, of the first seed.
    pub scores: Vec<f64>,
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

/// What the truth itself loses if only one thing is guessed or unseen.
#[derive(Clone, Debug, Serialize)]
pub struct Lost {
    /// What is lost.
    pub loss: String,
    /// Layout score at the end, less that of the truth: the mean over the seeds.
    pub end_difference: f64,
    /// Half of Student's 95 % interval of that mean; `None` of fewer than three seeds, and where nothing is drawn.
    pub end_half_interval: Option<f64>,
    /// Layout score at the end of each seed, less that of the truth; one where nothing is drawn.
    pub end_by_seed: Vec<f64>,
    /// The largest difference of a day, of the seed with the largest.
    pub largest_difference: f64,
    /// Mean of the differences of all days, without their signs.
    pub mean_distance: f64,
}

/// All that is known of one model.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Its specification.
    pub target: String,
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
    /// Layout scores of the truth by day.
    pub truth: Vec<f64>,
    /// Every way that was tried.
    pub attempts: Vec<Attempt>,
    /// What is lost by one thing alone.
    pub losses: Vec<Lost>,
    /// Why it says less than it seems to.
    pub doubts: Vec<String>,
}

/// Seeds under which an interval says nothing.
const LEAST_SEEDS: usize = 3;

/// Layout scores from which nothing is fragmented to speak of.
const WHOLE: f64 = 0.9995;

/// Why a truth shows less of what snapshots lose than another one would.
fn doubts(spec: &TargetSpec, hidden: u64, scores: &[f64]) -> Vec<String> {
    let mut doubts = Vec::new();
    if hidden == 0 {
        doubts.push(
            "no file of this workload comes and goes between two snapshots, as in one that was made of snapshots: what \
             they miss cannot be seen here; take a trace or a git history of such files"
                .to_owned(),
        );
    }
    if let Some(score) = scores.last().filter(|score| **score > WHOLE) {
        doubts.push(format!(
            "{spec} is hardly fragmented (layout score {score:.4}), so that all workloads look alike on it; a smaller \
             size= shows more"
        ));
    }
    doubts
}

/// Ages a model with a known workload, takes nightly snapshots, makes workloads from these alone by every rule, ages
/// fresh models with them, and compares.
///
/// # Errors
/// The target is no model that keeps files; the workload or a pool cannot be read, or does not fit; an interrupt.
pub fn verify_method(request: &Request<'_>, ui: &dyn Watch) -> crate::Result<Verdict> {
    let spec = request.target;
    let Target::Model(fs) = Target::make(spec)? else {
        bail!("the method is verified on simulated file systems, not on `{spec}`");
    };
    if !spec.keeps_files() {
        bail!("`{spec}` keeps no files: there is nothing to take a snapshot of");
    }
    is_there(request.workload)?;
    let mut source = open_workload(request.workload)?;
    let bar = ui.bar_count(None, "aging with the truth");
    let mut truth = observe(source.as_mut(), fs, &mut || {
        bar.inc(1);
        Ok(interrupt::go_on()?)
    })?;
    drop(bar);
    let (pool, a_day) = pool(request, &truth)?;
    let draws = |draws| (!pool.is_empty()).then_some(ShortLived { pool: &pool, draws });
    let ways = [
        ("none", None),
        ("profiles", draws(Draws::Profiles { a_day })),
        ("days", draws(Draws::Days)),
        ("matched", draws(Draws::Matched)),
    ];
    let ways = ways
        .into_iter()
        .filter(|way| way.0 == "none" || way.1.is_some());
    let ways: Vec<_> = ways.collect();
    let losses = Loss::ALL.map(|loss| (loss.as_str(), vec![loss]));
    let losses = losses
        .into_iter()
        .chain([("all of these", Loss::ALL.to_vec())]);
    let losses: Vec<(&str, Vec<Loss>)> = losses.collect();
    let tries = losses.iter().map(|(_, lost)| seeds_of(request, lost));
    let total = ways.len() as u64 * DeleteTimes::ALL.len() as u64 * request.seeds;
    let total = total + tries.sum::<u64>();
    let bar = ui.bar_count(Some(total), "making workloads and aging with them");
    let mut attempts = Vec::new();
    for (name, short_lived) in &ways {
        for rule in DeleteTimes::ALL {
            let mut tries = Vec::new();
            for n in 0..request.seeds {
                let options = options(request, rule, n);
                let remade = remake(&mut truth, &options, *short_lived)?;
                let matches = truth.operations.match_with(&Operations::of(&remade));
                let distance = compare(&truth, remade, spec, false)?;
                tries.push((matches, distance));
                bar.inc(1);
            }
            attempts.push(attempt((rule.as_str(), name), request.seed, tries));
        }
    }
    let losses = all_lost(request, &mut truth, &losses, &mut || bar.inc(1))?;
    drop(bar);
    let matches = truth.operations.match_with(&Operations::default());
    let scores: Vec<f64> = truth.days.iter().map(|day| day.layout().value()).collect();
    Ok(Verdict {
        doubts: doubts(spec, matches.hidden, &scores),
        target: spec.to_string(),
        days: truth.days.len(),
        operations: matches.truth,
        hidden_operations: matches.hidden,
        profiles: pool.len(),
        profiles_a_day: a_day,
        truth: scores,
        attempts,
        losses,
    })
}

/// What the truth loses by each of these alone, with the seeds that it is tried with.
fn all_lost(
    request: &Request<'_>,
    truth: &mut Truth,
    losses: &[(&str, Vec<Loss>)],
    done: &mut dyn FnMut(),
) -> crate::Result<Vec<Lost>> {
    let mut tries: Vec<Vec<Distance>> = losses.iter().map(|_| Vec::new()).collect();
    for n in 0..request.seeds.max(1) {
        // What a seed guesses is the same for all of them.
        let remade = remake(truth, &options(request, DeleteTimes::Reuse, n), None)?;
        for ((_, lost), of_loss) in losses.iter().zip(&mut tries) {
            if n < seeds_of(request, lost) {
                let events = without(truth, &remade, lost);
                of_loss.push(compare(truth, events, request.target, true)?);
                done();
            }
        }
    }
    let names = losses.iter().map(|(name, _)| *name);
    Ok(names
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

/// How often these losses are tried: where times of deletion are guessed, with every seed; nothing else is drawn.
fn seeds_of(request: &Request<'_>, losses: &[Loss]) -> u64 {
    if losses.contains(&Loss::DeleteTimes) {
        request.seeds
    } else {
        1
    }
}

/// Half of Student's 95 % interval of the mean of values of seeds; `None` of fewer than three.
fn half_interval(ends: &[f64]) -> Option<f64> {
    let summary = Summary::of(ends).filter(|summary| summary.count >= LEAST_SEEDS);
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
    Attempt {
        delete_times,
        short_lived,
        end_half_interval: half_interval(&ends),
        by_seed: by_seed.collect(),
        end_difference: mean(&|t| t.1.at_end),
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
