//! Closing the loop: how well a workload made from snapshots stands for the one that made the snapshots.
//!
//! A known workload, the truth, ages a model; nightly snapshots are taken; a workload is made from these alone
//! and ages a fresh model. Then the two are compared: layout score day by day, and operation by operation.

mod ablation;
mod judged;
mod lives;
mod matching;
mod method;

pub use ablation::{Loss, without};
pub use judged::{Against, set_against};
pub use matching::{Matches, Operations};
pub use method::{
    Attempt, BySeed, DEFAULT_WAY, LEAST_DECAY, Life, Lost, MOST_LIVES, Request, UNEXPLAINED,
    Verdict, verify_method,
};

use crate::error::{Context, bail};
use fsage_core::short_lived::Profile;
use fsage_core::snapshot::{SnapshotInfo, SnapshotsInMemory};
use fsage_core::{Event, EventSource, EventsInMemory, Op, Outcome};
use fsage_metrics::{Measures, measure};
use fsage_models::AnyModel;
use fsage_target::{Aging, ReplayError, Stamps, Target, TargetSpec, replay};
use fsage_workload::from_snapshots::{FromSnapshots, Options, ShortLived};
use fsage_workload::short_lived::{Extractor, ExtractorOptions, Window};

/// The truth: a workload, what it did to a model, and the snapshots of it.
pub struct Truth {
    /// Measures at the end of every day.
    pub days: Vec<Measures>,
    /// One snapshot a day.
    pub snapshots: SnapshotsInMemory,
    /// What was done, by day and inode.
    pub operations: Operations,
    /// Every operation that was done, with the inode it was done to.
    pub events: Vec<Event>,
}

/// Ages a model with the truth and takes a snapshot at the end of every day.
///
/// # Errors
/// The workload cannot be read; what `go_on` says.
pub fn observe(
    source: &mut dyn EventSource,
    mut fs: Box<dyn AnyModel>,
    go_on: &mut dyn FnMut() -> crate::Result<()>,
) -> crate::Result<Truth> {
    let epoch_s = source.header().epoch_unix_s.unwrap_or(0);
    let epoch_ns = epoch_s.saturating_mul(1_000_000_000);
    let mut stamps = Stamps::new(&*fs, epoch_ns);
    let mut truth = Truth {
        days: Vec::new(),
        snapshots: SnapshotsInMemory::default(),
        operations: Operations::default(),
        events: Vec::new(),
    };
    let mut open = false;
    while let Some(mut event) = source.next_event().map_err(crate::error::boxed)? {
        // What writes back by time goes by the same clock as wherever a workload is aged.
        if let Some(t_ns) = event.t_ns.filter(|_| event.op != Op::Day) {
            fs.set_time(t_ns);
        }
        event.t_ns = event.t_ns.map(|t| stamps.time_of(t));
        match event.op {
            Op::Day => {
                go_on()?;
                fs.end_day();
                truth.end_day(&*fs, &stamps, event.t_ns);
                fs.begin_day();
                truth.events.push(event);
                open = false;
                continue;
            }
            op if op.verb().is_probe() => continue,
            _ => open = true,
        }
        let before = inode_of(&*fs, &stamps, &event.op);
        let outcome = fs
            .apply(&event.op)
            .with_context(|| format!("line {}: {}", event.line, event.op.verb()))?;
        let in_epoch = Event {
            t_ns: event.t_ns.map(|t| t - epoch_ns),
            ..event.clone()
        };
        stamps.applied(&in_epoch, outcome, &*fs);
        if outcome == Outcome::Done {
            let inode = inode_of(&*fs, &stamps, &event.op).or(before);
            event.t_ns = event.t_ns.or(Some(stamps.now_ns()));
            event.src_ino = inode.map(|i| i.0);
            event.src_gen = inode.map(|i| i.1);
            truth.operations.add(&event);
            truth.events.push(event);
        }
    }
    if open {
        fs.end_day();
        truth.end_day(&*fs, &stamps, None);
        truth.events.push(Event::day("end").at(stamps.now_ns()));
    }
    if truth.days.is_empty() {
        bail!("the workload has no day: there is nothing to take a snapshot of");
    }
    Ok(truth)
}

/// Number and generation of the inode that an operation is done to, if it is a file that is there.
fn inode_of(fs: &dyn AnyModel, stamps: &Stamps, op: &Op) -> Option<(u64, u32)> {
    let (Op::Create { file, .. }
    | Op::Append { file, .. }
    | Op::Write { file, .. }
    | Op::Overwrite { file, .. }
    | Op::Rewrite { file, .. }
    | Op::Truncate { file, .. }
    | Op::Delete { file }
    | Op::Symlink { file, .. }) = *op
    else {
        return None;
    };
    let ino = fs.inode(file)?;
    Some((ino, stamps.generation(ino)?))
}

impl Truth {
    fn end_day(&mut self, fs: &dyn AnyModel, stamps: &Stamps, t_ns: Option<i64>) {
        let (inodes, names) = stamps.snapshot(fs);
        let info = SnapshotInfo {
            snap_id: self.days.len() as u32,
            taken_at_ns: t_ns.unwrap_or(i64::MIN).max(stamps.now_ns()),
            source: "model".to_owned(),
            ..SnapshotInfo::default()
        };
        let info = info.with_layout(&fs.geometry(), fs.space().as_ref());
        self.snapshots.push(info, inodes, Some(names));
        self.days.push(measure(fs));
        self.operations.end_day();
    }
}

/// The workload made from the snapshots of the truth alone.
///
/// # Errors
/// No workload can be made of the snapshots; what `go_on` says.
pub fn remake(
    truth: &mut Truth,
    options: &Options,
    short_lived: Option<ShortLived<'_>>,
) -> crate::Result<Vec<Event>> {
    truth.snapshots.rewind();
    let generator = FromSnapshots::begin(&mut truth.snapshots, options.clone(), short_lived)?;
    let mut events = Vec::new();
    generator.generate(&mut truth.snapshots, &mut events, &mut |_| {})?;
    Ok(events)
}

/// How far a remade workload is from the truth.
#[derive(Clone, Debug)]
pub struct Distance {
    /// Layout scores of the remade workload's days.
    pub scores: Vec<f64>,
    /// Layout score at the end, less that of the truth.
    pub at_end: f64,
    /// The largest difference of a day, with its sign.
    pub largest: f64,
    /// The day of it, from 0.
    pub largest_day: usize,
    /// Mean of the differences without their signs.
    pub mean: f64,
    /// Operations that were not done for lack of space.
    pub skipped: u64,
}

/// Ages a fresh model with events and compares it with the truth.
///
/// # Errors
/// A workload does not fit the state; what `go_on` says.
pub fn compare(
    truth: &Truth,
    events: Vec<Event>,
    spec: &TargetSpec,
    lenient: bool,
) -> crate::Result<Distance> {
    let mut agings = [Aging::new(Target::make(spec)?, lenient)];
    let mut source = EventsInMemory::new(events);
    match replay(&mut source, &mut agings, 1, |_| {
        crate::interrupt::go_on().is_ok()
    }) {
        Ok(()) => {}
        Err(ReplayError::Interrupted) => crate::interrupt::go_on()?,
        Err(error) => return Err(error).context("the workload made from the snapshots"),
    }
    let scores: Vec<f64> = agings[0]
        .days()
        .iter()
        .map(|day| day.measures.layout().value())
        .collect();
    let wanted: Vec<f64> = truth.days.iter().map(|day| day.layout().value()).collect();
    if scores.len() != wanted.len() {
        bail!(
            "{} days were made from {} snapshots; please report this",
            scores.len(),
            wanted.len()
        );
    }
    Ok(Distance::between(
        scores,
        &wanted,
        agings[0].total().skipped(),
    ))
}

impl Distance {
    /// Of a workload with these layout scores from one with those.
    fn between(scores: Vec<f64>, from: &[f64], skipped: u64) -> Distance {
        let differences: Vec<f64> = scores.iter().zip(from).map(|(a, b)| a - b).collect();
        let largest_day = (0..differences.len())
            .max_by(|a, b| differences[*a].abs().total_cmp(&differences[*b].abs()))
            .unwrap_or(0);
        Distance {
            at_end: differences.last().copied().unwrap_or(0.0),
            largest: differences.get(largest_day).copied().unwrap_or(0.0),
            largest_day,
            mean: differences.iter().map(|d| d.abs()).sum::<f64>()
                / differences.len().max(1) as f64,
            skipped,
            scores,
        }
    }

    /// What is left of this distance from the truth beside another one.
    fn less(&self, other: &Distance) -> Distance {
        Distance::between(self.scores.clone(), &other.scores, self.skipped)
    }
}

/// Profiles of the short-lived files in a week of the truth, from its middle: what a trace of a similar server
/// would give. With them, how many there are a day.
pub fn week_of_profiles(truth: &Truth) -> (Vec<Profile>, u64) {
    const WEEK: u32 = 7;
    let mut extractor = Extractor::new(ExtractorOptions {
        source: "a week of the truth".to_owned(),
        window: Window::Day { utc_offset_s: 0 },
        keep_appends: true,
    });
    for event in &truth.events {
        extractor.event(event);
    }
    let mut pool = extractor.finish();
    let days = pool
        .iter()
        .map(|profile| profile.day + 1)
        .max()
        .unwrap_or(0);
    let first = days.saturating_sub(WEEK) / 2;
    pool.retain(|profile| (first..first + WEEK).contains(&profile.day));
    let a_day = pool.len() as f64 / f64::from(WEEK.min(days).max(1));
    (pool, a_day.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsage_core::{DirId, FileId};

    /// Two files that grow in turn, so slowly that each piece is on disk before the next one comes, are in pieces; they
    /// would not be if all of a day were written back at once.
    #[test]
    fn the_truth_lives_by_the_clock_as_an_aging_does() {
        const MINUTE: i64 = 60_000_000_000;
        let dir = DirId::ROOT;
        let mut events: Vec<Event> = (1..=2)
            .map(|file| {
                Event::new(Op::Create {
                    file: FileId(file),
                    dir,
                    bytes: 4096,
                })
            })
            .collect();
        let grow = (0..200).map(|step| FileId(1 + step % 2));
        events.extend(grow.map(|file| {
            Event::new(Op::Append {
                file,
                bytes: 20_000,
            })
        }));
        for (event, minute) in events.iter_mut().zip(1..) {
            event.t_ns = Some(minute * MINUTE);
        }
        events.push(Event::day("1").at(300 * MINUTE));
        let spec = TargetSpec::parse("ext4:size=300M,regime=default").expect("a target");
        let Ok(Target::Model(fs)) = Target::make(&spec) else {
            panic!("a model");
        };
        let mut source = EventsInMemory::new(events.clone());
        let truth = observe(&mut source, fs, &mut || Ok(())).expect("a truth");
        let mut agings = [Aging::new(Target::make(&spec).expect("a model"), false)];
        replay(&mut EventsInMemory::new(events), &mut agings, 1, |_| true).expect("an aging");
        let aged = agings[0].days()[0].measures.layout();
        assert_eq!(truth.days[0].layout(), aged);
        assert!(aged.value() < 0.95, "{aged:?}");
    }
}
