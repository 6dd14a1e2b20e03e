//! Real file systems, which take turns: aged and control of every target, each repetition on all of them before the
//! next.

use super::Plan;
use super::grounds::Known;
use super::lane::{Lane, Outcome, Suited, failed};
use super::others::Others;
use super::results::State;
use crate::error::Context;
use crate::interrupt;
use crate::watch::Watch;
use fsage_bench::benchmarks::free_space::FREE_SPACE;
use fsage_bench::real::{ExistingFile, RealOptions, RealPlace, RealStand, WRITTEN_BYTES};
use fsage_bench::{
    BenchError, Benchmark, Case, Entrant, LeftOut, Progress, Results, Site, Subject,
};
use fsage_durable::make_folders;
use rustix::fs::statvfs;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// A real file system in a state.
struct Participant<'a> {
    /// Of which of the lanes.
    lane: usize,
    state: State,
    place: RealPlace,
    existing: &'a [ExistingFile],
    known: Known,
}

/// A participant that is mounted.
struct Ready {
    /// Of which of the lanes.
    lane: usize,
    stand: RealStand,
    site: Site,
    cases: Vec<Case>,
    left_out: Vec<LeftOut>,
    caches: &'static str,
    free_map_off_percent: Option<f64>,
}

/// Runs a suite on real file systems, in every state. What it gave stands in the order of the lanes, or why it failed
/// there; the others are measured to the end.
///
/// Each works on a copy of its image. Where there is no room for all copies at once, the targets are measured one after
/// another, the states of each in turn; where there is none for these, each state alone.
///
/// # Errors
/// A file system cannot be made ready; an interrupt.
pub fn run(
    lanes: &[&Lane],
    suite: &dyn Benchmark,
    plan: &Plan,
    ui: &dyn Watch,
) -> crate::Result<Vec<crate::Result<Suited>>> {
    let suited = lanes.iter().map(|_| Ok(Suited::default()));
    let mut suited: Vec<crate::Result<Suited>> = suited.collect();
    let take = |of_lane: &mut crate::Result<Suited>, lane, state, outcome| {
        if let Ok(suited) = of_lane {
            Suited::take(suited, lane, state, outcome, plan);
        }
    };
    let mut participants = Vec::new();
    for (at, lane) in lanes.iter().enumerate() {
        for (state, place, existing, known) in lane.places() {
            match suited_place(place, existing, suite) {
                Ok((place, existing)) => participants.push(Participant {
                    lane: at,
                    state,
                    place,
                    known: if existing.is_empty() {
                        Known::default()
                    } else {
                        known.clone()
                    },
                    existing,
                }),
                Err(why) => take(&mut suited[at], lane, state, Err(why)),
            }
        }
        make_folders(&lane.folder)?;
    }
    for group in groups(&participants, lanes, ui) {
        if group.iter().all(|of| suited[of.lane].is_err()) {
            continue;
        }
        let outcomes = run_group(group, lanes, suite, plan, ui)?;
        for (participant, outcome) in group.iter().zip(outcomes) {
            let (lane, of_lane) = (lanes[participant.lane], &mut suited[participant.lane]);
            match outcome {
                Ok(outcome) => take(of_lane, lane, participant.state, Ok(outcome)),
                Err(error) => *of_lane = Err(error),
            }
        }
    }
    Ok(suited)
}

/// Where a suite runs, with the files that are there; the reason if it cannot.
fn suited_place<'a>(
    place: &RealPlace,
    existing: &'a [ExistingFile],
    suite: &dyn Benchmark,
) -> Result<(RealPlace, &'a [ExistingFile]), String> {
    if suite.name() != FREE_SPACE.name {
        return Ok((place.clone(), existing));
    }
    match place {
        RealPlace::Directory(_) => Err(
            "the free map of a directory is that of its whole file system, and is not copied"
                .to_owned(),
        ),
        RealPlace::CopyOf { image, options } => {
            let image = image.clone();
            let options = options.clone();
            Ok((RealPlace::FreeMapOf { image, options }, &[]))
        }
        place => Ok((place.clone(), &[])),
    }
}

/// Those that are measured in turn: all of them, if there is room for their copies at once.
fn groups<'a, 'b>(
    all: &'a [Participant<'b>],
    lanes: &[&Lane],
    ui: &dyn Watch,
) -> Vec<&'a [Participant<'b>]> {
    if all.is_empty() {
        return Vec::new();
    }
    if is_room_for(all, lanes) {
        return vec![all];
    }
    let mut alone = false;
    let of_lanes = all.chunk_by(|a, b| a.lane == b.lane);
    let groups = of_lanes.flat_map(|of_lane| {
        if is_room_for(of_lane, lanes) {
            return vec![of_lane];
        }
        alone = true;
        of_lane.chunks(1).collect()
    });
    let groups: Vec<&[Participant]> = groups.collect();
    ui.warn(&format!(
        "there is no room for copies of all images at once: {}, and what disturbs this machine meanwhile may look like \
         a difference; make room there, or measure on an idle machine",
        if alone {
            "states of a target are measured one after another"
        } else {
            "targets are measured one after another"
        }
    ));
    groups
}

/// Whether copies of their images fit the file systems in which they lie, together.
fn is_room_for(participants: &[Participant<'_>], lanes: &[&Lane]) -> bool {
    let needed = |participant: &Participant| {
        let copied = match &participant.place {
            RealPlace::Directory(_) => return 0,
            RealPlace::CopyOf { image, .. } | RealPlace::FreeMapOf { image, .. } => {
                fs::metadata(image).map_or(0, |meta| meta.blocks() * 512)
            }
            RealPlace::Empty { .. } => 0,
        };
        copied + WRITTEN_BYTES
    };
    // The folders of a run lie on one file system.
    let Some(folder) = participants.first().map(|p| lanes[p.lane].folder.as_path()) else {
        return true;
    };
    participants.iter().map(needed).sum::<u64>() <= free_bytes(folder)
}

fn free_bytes(folder: &Path) -> u64 {
    statvfs(folder).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn run_group(
    group: &[Participant<'_>],
    lanes: &[&Lane],
    suite: &dyn Benchmark,
    plan: &Plan,
    ui: &dyn Watch,
) -> crate::Result<Vec<crate::Result<Outcome>>> {
    let mut ready = Vec::new();
    for participant in group {
        let spec = || lanes[participant.lane].spec.clone();
        ready.push(Ready::new(participant, suite, plan).with_context(spec)?);
    }
    let results = run_ready(&mut ready, suite, plan, ui)?;
    let mut outcomes = Vec::new();
    for ((participant, ready), results) in group.iter().zip(ready).zip(results) {
        let closed = ready.stand.close();
        let outcome = match (results, closed) {
            (Err(error), _) | (Ok(_), Err(error)) => {
                let spec = || lanes[participant.lane].spec.clone();
                // Whoever stops all of it stops the commands that run.
                interrupt::go_on()?;
                Err(failed(error)).with_context(spec)
            }
            (Ok(results), Ok(())) => Ok(Outcome {
                results,
                left_out: ready.left_out,
                caches: Some(ready.caches),
                free_map_off_percent: ready.free_map_off_percent,
                ..Outcome::default()
            }),
        };
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn run_ready(
    ready: &mut [Ready],
    suite: &dyn Benchmark,
    plan: &Plan,
    ui: &dyn Watch,
) -> crate::Result<Vec<Result<Results, BenchError>>> {
    let repetitions = plan.real_repetitions();
    let mut entrants: Vec<Entrant> = ready
        .iter_mut()
        .map(|ready| Entrant {
            cases: &ready.cases,
            target: ready.lane,
            site: &ready.site,
            stand: &mut ready.stand,
        })
        .collect();
    let total = fsage_bench::turns(&entrants, repetitions);
    let bar = ui.bar_count(Some(total as u64), suite.name());
    let go_on = |progress: Progress| {
        bar.set_position(progress.done as u64);
        interrupt::go_on().is_ok()
    };
    let others = Others::watch();
    let results = fsage_bench::run_in_turn(suite, &mut entrants, repetitions, &go_on);
    drop(bar);
    if let Some(busy) = others.and_then(|others| others.busy()) {
        ui.warn(&format!(
            "{}: other programs kept {busy:.1} processors busy meanwhile: speeds differ more than they need; measure \
             on an idle machine",
            suite.name()
        ));
    }
    results.map_err(failed)
}

impl Ready {
    fn new(
        participant: &Participant<'_>,
        suite: &dyn Benchmark,
        plan: &Plan,
    ) -> crate::Result<Ready> {
        let options = RealOptions {
            existing: participant.existing.to_vec(),
            drop_all: plan.drop_caches,
            stop: Some(Arc::new(|| interrupt::go_on().is_err())),
        };
        let mut stand = RealStand::new(participant.place.clone(), options, false);
        let subject = stand.ready().map_err(failed)?;
        let site = Site {
            free_bytes: subject.free_bytes().map_err(failed)?,
            hot_files: participant.known.hot.clone(),
            tree: participant.known.tree.clone(),
        };
        let caches = subject.cache_method();
        let deviation = subject.deviation();
        let (cases, left_out) = plan.cases(suite, &site);
        Ok(Ready {
            lane: participant.lane,
            stand,
            site,
            cases,
            left_out,
            caches,
            free_map_off_percent: deviation.and_then(|deviation| deviation.percent()),
        })
    }
}
