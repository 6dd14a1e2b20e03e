//! Closing the loop: how well a workload made from snapshots stands for the one that made the snapshots.
//!
//! A known workload, the truth, ages a model; nightly snapshots are taken; a workload is made from these alone
//! and ages a fresh model. Then the two are compared: layout score day by day, and operation by operation.

mod ablation;
mod matching;

pub use ablation::{Loss, without};
pub use matching::{Matches, Operations};

use anyhow::{Context, bail};
use fsage_core::short_lived::Profile;
use fsage_core::snapshot::{SnapshotInfo, SnapshotsInMemory};
use fsage_core::{Event, EventSource, FileSystem, Layout, Op, Outcome, SinkError, WorkloadHeader};
use fsage_metrics::{Measures, measure};
use fsage_models::ffs::Ffs;
use fsage_target::{Aging, ReplayError, Stamps, Target, TargetSpec, replay};
use fsage_workload::from_snapshots::{FromSnapshots, FromSnapshotsSummary, Options, ShortLived};

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
pub fn observe(
    source: &mut dyn EventSource,
    mut fs: Ffs,
    go_on: &mut dyn FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Truth> {
    let epoch_s = source.header().epoch_unix_s.unwrap_or(0);
    let epoch_ns = epoch_s.saturating_mul(1_000_000_000);
    let mut stamps = Stamps::new(&fs, epoch_ns);
    let mut truth = Truth {
        days: Vec::new(),
        snapshots: SnapshotsInMemory::default(),
        operations: Operations::default(),
        events: Vec::new(),
    };
    let mut open = false;
    while let Some(mut event) = source.next_event().map_err(crate::exit::boxed)? {
        event.t_ns = event.t_ns.map(|t| stamps.time_of(t));
        match event.op {
            Op::Day => {
                go_on()?;
                truth.end_day(&fs, &stamps, event.t_ns);
                truth.events.push(event);
                open = false;
                continue;
            }
            op if op.verb().is_probe() => continue,
            _ => open = true,
        }
        let before = inode_of(&fs, &stamps, &event.op);
        let outcome = fs
            .apply(&event.op)
            .with_context(|| format!("line {}: {}", event.line, event.op.verb()))?;
        let in_epoch = Event {
            t_ns: event.t_ns.map(|t| t - epoch_ns),
            ..event.clone()
        };
        stamps.applied(&in_epoch, outcome, &fs);
        if outcome == Outcome::Done {
            let inode = inode_of(&fs, &stamps, &event.op).or(before);
            event.t_ns = event.t_ns.or(Some(stamps.now_ns()));
            event.src_ino = inode.map(|i| i.0);
            event.src_gen = inode.map(|i| i.1);
            truth.operations.add(&event);
            truth.events.push(event);
        }
    }
    if open {
        truth.end_day(&fs, &stamps, None);
        truth.events.push(Event::day("end").at(stamps.now_ns()));
    }
    if truth.days.is_empty() {
        bail!("the workload has no day: there is nothing to take a snapshot of");
    }
    Ok(truth)
}

/// Number and generation of the inode that an operation is done to, if it is a file that is there.
fn inode_of(fs: &Ffs, stamps: &Stamps, op: &Op) -> Option<(u64, u32)> {
    let file = match *op {
        Op::Create { file, .. }
        | Op::Append { file, .. }
        | Op::Write { file, .. }
        | Op::Overwrite { file, .. }
        | Op::Rewrite { file, .. }
        | Op::Truncate { file, .. }
        | Op::Delete { file }
        | Op::Symlink { file, .. } => file,
        _ => return None,
    };
    let ino = fs.inode(file)?;
    Some((ino, stamps.generation(ino)?))
}

impl Truth {
    fn end_day(&mut self, fs: &Ffs, stamps: &Stamps, t_ns: Option<i64>) {
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

/// A workload made from the snapshots of the truth.
pub struct Remade {
    /// The workload.
    pub events: Vec<Event>,
    /// What the generator says.
    pub summary: FromSnapshotsSummary,
}

/// Makes a workload from the snapshots alone.
pub fn remake(
    truth: &mut Truth,
    options: &Options,
    short_lived: Option<ShortLived<'_>>,
) -> anyhow::Result<Remade> {
    truth.snapshots.rewind();
    let generator = FromSnapshots::begin(&mut truth.snapshots, options.clone(), short_lived)?;
    let mut events = Vec::new();
    let summary = generator.generate(&mut truth.snapshots, &mut events, &mut |_| {})?;
    Ok(Remade { events, summary })
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
pub fn compare(
    truth: &Truth,
    events: Vec<Event>,
    spec: &TargetSpec,
    lenient: bool,
) -> anyhow::Result<Distance> {
    let mut agings = [Aging::new(Target::make(spec)?, lenient)];
    let mut source = InMemory {
        header: WorkloadHeader::default(),
        events: events.into_iter(),
    };
    match replay(&mut source, &mut agings, 1, |_| crate::ui::go_on().is_ok()) {
        Ok(()) => {}
        Err(ReplayError::Interrupted) => crate::ui::go_on()?,
        Err(error) => return Err(error).context("the workload made from the snapshots"),
    }
    let scores: Vec<f64> = agings[0]
        .days()
        .iter()
        .map(|day| day.measures.layout.value())
        .collect();
    let wanted: Vec<f64> = truth.days.iter().map(|day| day.layout.value()).collect();
    if scores.len() != wanted.len() {
        bail!(
            "{} days were made from {} snapshots; please report this",
            scores.len(),
            wanted.len()
        );
    }
    let differences: Vec<f64> = scores.iter().zip(&wanted).map(|(a, b)| a - b).collect();
    let largest_day = (0..differences.len())
        .max_by(|a, b| differences[*a].abs().total_cmp(&differences[*b].abs()))
        .unwrap_or(0);
    Ok(Distance {
        at_end: differences.last().copied().unwrap_or(0.0),
        largest: differences.get(largest_day).copied().unwrap_or(0.0),
        largest_day,
        mean: differences.iter().map(|d| d.abs()).sum::<f64>() / differences.len().max(1) as f64,
        skipped: agings[0].total().skipped(),
        scores,
    })
}

/// Events in memory as a source.
struct InMemory {
    header: WorkloadHeader,
    events: std::vec::IntoIter<Event>,
}

impl EventSource for InMemory {
    fn header(&self) -> &WorkloadHeader {
        &self.header
    }

    fn next_event(&mut self) -> Result<Option<Event>, SinkError> {
        Ok(self.events.next())
    }
}

/// A week of the truth's own short-lived files, from its middle: what a trace of a similar server, or of a few
/// days, would give.
pub fn week_of(truth: &Truth) -> Vec<Event> {
    const WEEK: usize = 7;
    let days = truth.days.len();
    let first = days.saturating_sub(WEEK) / 2;
    let mut day = 0;
    let mut week = Vec::new();
    for event in &truth.events {
        if (first..first + WEEK).contains(&day) {
            week.push(event.clone());
        }
        day += usize::from(event.op == Op::Day);
    }
    week
}

/// What a pool holds.
pub fn pool_bytes(pool: &[Profile]) -> u64 {
    pool.iter().map(Profile::bytes).sum()
}

/// Experimental.
pub fn quick_pool(events: &[Event]) -> Vec<Profile> {
    use fsage_core::short_lived::{ProfileOp, ProfileVerb};
    use std::collections::{BTreeMap, HashMap};
    let mut pool = Vec::new();
    for (n, day) in events.split(|e| e.op == Op::Day).enumerate() {
        let mut size: HashMap<u64, (u64, u64)> = HashMap::new();
        let mut gone: HashMap<u64, u64> = HashMap::new();
        for e in day {
            match e.op {
                Op::Create { file, dir, bytes } => {
                    size.insert(file.0, (dir.0, bytes));
                }
                Op::Append { file, bytes } => {
                    if let Some(s) = size.get_mut(&file.0) {
                        s.1 += bytes;
                    }
                }
                Op::Rewrite { file, bytes } => {
                    if let Some(s) = size.get_mut(&file.0) {
                        s.1 = bytes;
                    }
                }
                Op::Delete { file } if size.contains_key(&file.0) => {
                    gone.insert(file.0, size[&file.0].1);
                }
                _ => {}
            }
        }
        let mut dirs: BTreeMap<u64, Vec<ProfileOp>> = BTreeMap::new();
        for e in day {
            let (verb, file) = match e.op {
                Op::Create { file, .. } => (ProfileVerb::Create, file.0),
                Op::Delete { file } => (ProfileVerb::Delete, file.0),
                _ => continue,
            };
            let Some(bytes) = gone.get(&file) else {
                continue;
            };
            dirs.entry(size[&file].0).or_default().push(ProfileOp {
                t_rel_ns: e.t_ns.unwrap(),
                verb,
                local_id: file,
                bytes: if verb == ProfileVerb::Create {
                    *bytes
                } else {
                    0
                },
            });
        }
        for (dir, mut ops) in dirs {
            let t0 = ops[0].t_rel_ns;
            for op in &mut ops {
                op.t_rel_ns -= t0;
            }
            pool.push(Profile {
                source: "truth".into(),
                dir: dir.to_string(),
                day: n as u32,
                start_ns: t0,
                ops,
                names: vec![],
            });
        }
    }
    pool
}
