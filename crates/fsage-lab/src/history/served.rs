//! The requests for the data of a file on one day, and what served them: what its pieces come from.

mod mballoc;
mod xfs;

pub use mballoc::{GOAL_LEN_SLOW, LongRuns, Mballoc, NO_CRITERION, PREALLOCATED};
pub use xfs::{Asked, XfsAlloc};

use super::Piece;
use crate::aging;
use crate::watch::Watch;
use fsage_core::{Geometry, Op};
use fsage_models::microscope::{FreeGroup, Trace};
use fsage_target::{Target, TargetSpec};
use serde::Serialize;
use std::path::Path;

/// What an allocator made of the requests for a file's data on a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "allocator", rename_all = "lowercase")]
pub enum Served {
    /// That of ext4.
    Mballoc(Mballoc),
    /// That of XFS.
    Xfs(XfsAlloc),
}

/// What was free in a group of ext4 or an AG of XFS, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GroupThen {
    /// Its number, from 0.
    pub group: u64,
    /// Its free blocks.
    pub free: u64,
    /// The runs in which they lie.
    pub runs: u64,
    /// The longest of these.
    pub longest: u64,
    /// On ext4 the longest power of two that lies free at a multiple of itself and that data may take as such, as
    /// `CR_POWER2_ALIGNED` does; else 0.
    pub aligned: u64,
}

impl GroupThen {
    fn of(group: usize, free: &FreeGroup) -> GroupThen {
        GroupThen {
            group: group as u64,
            free: free.free,
            runs: free.runs,
            longest: free.longest,
            aligned: free.aligned,
        }
    }

    /// Whether its free runs are so long on average, in whole blocks, as mballoc has it.
    pub fn has_mean(&self, blocks: u64) -> bool {
        self.free
            .checked_div(self.runs)
            .is_some_and(|mean| mean >= blocks)
    }

    /// The group with the longest free run, the first of several.
    fn with_longest(free: &[FreeGroup]) -> Option<GroupThen> {
        let groups = free.iter().enumerate().rev();
        groups
            .map(|(at, free)| GroupThen::of(at, free))
            .max_by_key(|group| group.longest)
    }

    /// Those with these numbers, each once, of all.
    fn of_numbers(mut numbers: Vec<u64>, free: &[FreeGroup]) -> Vec<GroupThen> {
        numbers.dedup();
        let groups = numbers.into_iter().filter_map(|group| {
            let group = usize::try_from(group).ok()?;
            Some(GroupThen::of(group, free.get(group)?))
        });
        groups.collect()
    }
}

/// What there is to say it from.
struct OnDay<'a> {
    /// The lines of the trace.
    trace: &'a str,
    geometry: &'a Geometry,
    /// What was free in each group when the day began.
    free: &'a [FreeGroup],
    /// The file's data when the day had ended.
    pieces: &'a [Piece],
}

/// Those of an inode on a day, the first of which has the number 0, with where its data lay when that had ended; none
/// of a model whose allocator is not known here, and where the day had none.
pub(super) fn on_day(
    spec: &TargetSpec,
    workload: &Path,
    inode: u64,
    (day, pieces): (usize, &[Piece]),
    ui: &dyn Watch,
) -> crate::Result<Option<Served>> {
    let microscope = spec.entry().and_then(|entry| entry.microscope);
    let over_inode = microscope.and_then(|microscope| microscope.over_inode);
    let (Some(over_inode), Target::Model(model)) = (over_inode, Target::make(spec)?) else {
        return Ok(None);
    };
    let geometry = model.geometry();
    let Some(Trace::Workload(mut trace)) = over_inode(model, inode) else {
        return Ok(None);
    };
    let (mut ended, mut lines, mut of_day) = (0, Vec::new(), Vec::new());
    let (mut failed, mut then) = (None, None);
    aging::each_event(workload, "requests", ui, |event| {
        if ended == day && then.is_none() {
            then = Some(trace.free_groups());
        }
        failed = failed.take().or(trace.step(event, b"", &mut lines).err());
        // The names of the columns come first, whatever day it is.
        if ended == day || of_day.is_empty() {
            of_day.append(&mut lines);
        }
        lines.clear();
        ended += usize::from(event.op == Op::Day);
    })?;
    if ended == day {
        failed = failed.or(trace.finish(&mut of_day).err());
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    let on_day = OnDay {
        trace: &String::from_utf8_lossy(&of_day),
        geometry: &geometry,
        free: &then.unwrap_or_default(),
        pieces,
    };
    Ok(Mballoc::of(&on_day)
        .map(Served::Mballoc)
        .or_else(|| XfsAlloc::of(&on_day).map(Served::Xfs)))
}

/// The lines of a trace for the data of files, by the names of their columns.
struct Rows<'a> {
    columns: Vec<&'a str>,
    rows: Vec<Vec<&'a str>>,
}

impl<'a> Rows<'a> {
    /// None of a trace without names of columns, or without a kind of request.
    fn of_data(trace: &'a str) -> Option<Rows<'a>> {
        let columns: Vec<&str> = trace
            .lines()
            .next()?
            .strip_prefix('#')?
            .split('\t')
            .collect();
        let kind = columns.iter().position(|column| *column == "kind")?;
        let rows = trace.lines().filter(|line| !line.starts_with('#'));
        let rows = rows.map(|line| line.split('\t').collect::<Vec<&str>>());
        let rows = rows.filter(|row| row.get(kind) == Some(&"D")).collect();
        Some(Rows { columns, rows })
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| *column == name)
    }
}
