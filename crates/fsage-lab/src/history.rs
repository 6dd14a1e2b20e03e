//! How a file of an aged model came to lie as it does: its operations, and its pieces at the end of each day.

use crate::aging::{self, aged_by};
use crate::days::{self, DayRow};
use crate::error::{Context, bail, error};
use crate::report::words::shell;
use crate::run_folder::OneTarget;
use crate::watch::Watch;
use fsage_core::snapshot::Inode;
use fsage_core::{Extent, FileId, FileKind, Geometry, Layout, Op, Verb};
use fsage_data::snapshot::SnapshotFile;
use fsage_metrics::{files, free_space};
use fsage_target::TargetSpec;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

mod paths;
mod served;
mod short;
pub use paths::paths;
pub use served::{
    Asked, GOAL_LEN_SLOW, GroupThen, LongRuns, Mballoc, NO_CRITERION, PREALLOCATED, Served,
    XfsAlloc,
};

/// Which file of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one in the most pieces, the largest of several.
    MostPieces,
    /// The one with this inode at the end.
    Inode(u64),
    /// The one that has this path at the end, from the root of the file system.
    Path(String),
}

/// A file and its days.
#[derive(Clone, Debug, Serialize)]
pub struct History {
    /// Its path at the end, from the root.
    pub path: String,
    /// Its inode number.
    pub inode: u64,
    /// Its number in the workload; none where its inode holds no data that the workload wrote.
    pub file: Option<u64>,
    /// The image or snapshot that it came with, where the target began as one and the workload does not know the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub came_with: Option<String>,
    /// Its length, in bytes.
    pub size_bytes: u64,
    /// Where its data lie at the end: logical and physical offset, and length, in bytes.
    pub pieces: Vec<Piece>,
    /// In which groups of the disk they begin, and how many in each: the most first. Nothing without groups.
    pub by_group: Vec<(u64, usize)>,
    /// The days on which something was done to it, or its pieces changed.
    pub days: Vec<FileDay>,
    /// Why it lies in pieces, in a sentence; none of a file in one piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_short: Option<String>,
    /// The requests for its data on the day that made the most pieces, where the model names what served them.
    pub served: Option<Served>,
    /// The command that prints every request for its blocks, where the allocator of the model can be traced.
    pub trace: Option<String>,
}

/// A run of a file's data that is contiguous on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// Where it begins in the file, in bytes.
    pub logical_bytes: u64,
    /// Where it begins on the disk, in bytes.
    pub physical_bytes: u64,
    /// Its length, in bytes.
    pub length_bytes: u64,
}

/// A day of a file.
#[derive(Clone, Debug, Serialize)]
pub struct FileDay {
    /// Its number, as in `days.parquet`.
    pub day: u32,
    /// The same counted from 1, as in messages and rules.
    pub nth: u32,
    /// What was done to the file.
    pub operations: Vec<Done>,
    /// How often other files were written between the first and the last of these.
    pub others_between: u64,
    /// At the end of the day, in bytes.
    pub size_bytes: u64,
    /// At the end of the day.
    pub pieces: usize,
    /// Share of the data space that was taken at the end of the day.
    pub utilization: Option<f64>,
    /// The longest run of free space at the end of the day, in bytes.
    pub largest_free_bytes: Option<u64>,
    /// Share of the free space that lay in runs of 1 MiB or more.
    pub free_in_1m_runs: Option<f64>,
}

/// Operations of a kind on a file on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    /// The operation.
    pub operation: &'static str,
    /// How often.
    pub times: u64,
    /// What they wrote, allocated or freed, in bytes; 0 where that is not said.
    pub bytes: u64,
}

/// What the file was at the end of a day.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    day: u32,
    size_bytes: u64,
    pieces: Vec<Piece>,
}

/// The inode that is watched, from day to day.
#[derive(Debug)]
struct Watched {
    inode: u64,
    /// Its generation and its path.
    known: Option<(Option<u32>, String)>,
    seen: Vec<Seen>,
    /// Numbers of all days, in order.
    days: Vec<u32>,
}

impl Watched {
    fn new(inode: u64) -> Watched {
        Watched {
            inode,
            known: None,
            seen: Vec::new(),
            days: Vec::new(),
        }
    }

    /// Takes the file as it is at the end of a day. Another file in its inode begins anew.
    fn day(&mut self, day: u32, inodes: &[Inode]) {
        self.days.push(day);
        let found = inodes.iter().find(|inode| inode.ino == self.inode);
        let Some(inode) = found.filter(|inode| inode.kind == FileKind::Regular) else {
            return;
        };
        let known = self.known.as_ref();
        if known.is_none_or(|(generation, _)| *generation != inode.generation) {
            self.seen.clear();
        }
        let path = inode.path.as_deref().unwrap_or_default().to_owned();
        self.known = Some((inode.generation, path));
        self.seen.push(Seen {
            day,
            size_bytes: inode.size_bytes,
            pieces: pieces(inode.extents.as_deref().unwrap_or_default()),
        });
    }
}

/// The inode that has a path at the end, which only a life of its own says: a file has other paths before.
fn inode_of(path: &str, target: &OneTarget, workload: &Path, ui: &dyn Watch) -> crate::Result<u64> {
    let found = Arc::new(Mutex::new((None, None)));
    let (taken, wanted) = (Arc::clone(&found), path.to_owned());
    aged_by(target, workload, ui, move |_, inodes| {
        let with_path = |is_it: &dyn Fn(&str) -> bool| {
            let mut all = inodes.iter();
            all.find(|inode| inode.path.as_deref().is_some_and(is_it))
        };
        let name = wanted.rsplit('/').next();
        let file = with_path(&|path| path == wanted).map(|inode| inode.ino);
        let alike = with_path(&|path| path.rsplit('/').next() == name);
        let alike = alike.and_then(|inode| inode.path.clone());
        *taken.lock().unwrap_or_else(PoisonError::into_inner) = (file, alike);
    })?;
    let (inode, alike) = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    let hint = alike.map_or_else(String::new, |path| format!("; did you mean --path {path}?"));
    inode.ok_or_else(|| not_there(&format!("/{path}"), &hint, target))
}

fn not_there(what: &str, hint: &str, target: &OneTarget) -> crate::Error {
    let folder = target.run.join(&target.facts.folder);
    error!(
        "{}: no regular file {what} is there at the end{hint}; without --path and --inode the file in the most \
         pieces is taken, and `fsage inspect {} --extents` lists inodes",
        folder.display(),
        folder.join("final.parquet").display()
    )
}

/// The runs of a file's data that are contiguous on disk.
pub fn pieces(extents: &[Extent]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for extent in extents.iter().filter(|extent| extent.is_placed_data()) {
        match pieces.last_mut() {
            Some(last) if last.physical_bytes + last.length_bytes == extent.physical_bytes => {
                last.length_bytes += extent.length_bytes;
            }
            _ => pieces.push(Piece {
                logical_bytes: extent.logical_bytes,
                physical_bytes: extent.physical_bytes,
                length_bytes: extent.length_bytes,
            }),
        }
    }
    pieces
}

/// How many pieces begin in each group, the most first.
fn by_group(pieces: &[Piece], geometry: &Geometry) -> Vec<(u64, usize)> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    let groups = pieces.iter().map(|piece| piece.physical_bytes);
    for group in groups.filter_map(|address| geometry.group_of_address(address)) {
        *counts.entry(group).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(group, count)| (Reverse(count), group));
    counts
}

/// The regular file in the most pieces, and of several the largest.
fn most_pieces(snapshot: &Path) -> crate::Result<u64> {
    let layout = SnapshotFile::open(snapshot)?;
    let mut most: Option<(usize, u64, u64)> = None;
    layout.visit_files(&mut |file| {
        if file.kind == FileKind::Regular {
            let this = (
                pieces(file.extents.unwrap_or_default()).len(),
                file.size_bytes,
                file.ino,
            );
            most = most.max(Some(this));
        }
    });
    let (_, _, inode) = most.context("no file is left at the end")?;
    Ok(inode)
}

/// Ages a model of a run again, and follows one file of it.
///
/// # Errors
/// It is no run, or its target no model; the workload is not there; there is no such file at the end; an interrupt.
pub fn history(
    of: &Path,
    workload: Option<&Path>,
    which: &Which,
    ui: &dyn Watch,
) -> crate::Result<History> {
    let model = OneTarget::find(of, |spec| matches!(spec.real(), Ok(None)));
    let target = model.or_else(|why| OneTarget::find(of, |_| true).map_err(|_| why))?;
    if target.spec.real()?.is_some() {
        bail!(
            "`{}`: a real file system cannot be aged again; `fsage age --snapshots 1` keeps its days, which `fsage \
             diff` and `fsage inspect --extents` look into",
            target.spec
        );
    }
    let folder = target.run.join(&target.facts.folder);
    let workload = target.manifest.workload.find(&target.run, workload)?;
    let begun_with = paths::begun_with(&target.spec, ui)?;
    let inode = match which {
        Which::MostPieces => most_pieces(&folder.join("final.parquet"))?,
        Which::Path(path) => {
            let path = path.trim_start_matches('/');
            let of_image = || begun_with.iter().find(|(_, of_image)| *of_image == path);
            match inode_of(path, &target, &workload, ui) {
                Ok(inode) => inode,
                Err(error) => of_image().map(|(inode, _)| *inode).ok_or(error)?,
            }
        }
        Which::Inode(number) => *number,
    };
    let watched = Arc::new(Mutex::new(Watched::new(inode)));
    let taken = Arc::clone(&watched);
    let (aged, alive) = aged_by(&target, &workload, ui, move |day, inodes| {
        taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .day(day, inodes);
    })?;
    let watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
    let last_day = watched.days.last();
    let at_end = watched
        .seen
        .last()
        .filter(|seen| last_day == Some(&seen.day));
    let (Some(end), Some((_, path))) = (at_end, &watched.known) else {
        return Err(not_there(&format!("with inode {inode}"), "", &target));
    };
    let file = alive
        .into_iter()
        .find(|file| aged.inode(file.file) == Some(inode));
    let done = match file {
        Some(file) => operations(&workload, [file.file, file.made_as], &watched.days, ui)?,
        None => BTreeMap::new(),
    };
    let rows = days::read(&folder.join("days.parquet"))?;
    let from = target.spec.value("from");
    let came_with = from.filter(|_| file.is_none() && !end.pieces.is_empty());
    let came_with = came_with.map(str::to_owned);
    let (days, trace) = if came_with.is_some() {
        (Vec::new(), None)
    } else {
        let days = file_days(&watched.seen, &done, &rows);
        (days, trace_command(&target.spec, &workload, inode))
    };
    let of_image = begun_with.get(&inode).filter(|_| came_with.is_some());
    let path = of_image.unwrap_or(path);
    let worst =
        worst_day(&days).and_then(|(day, _)| watched.days.iter().position(|&n| n == day.day));
    let served = match worst {
        Some(day) => {
            let number = watched.days[day];
            let seen = watched.seen.iter().find(|seen| seen.day == number);
            let pieces = seen.map_or(&[][..], |seen| &seen.pieces);
            served::on_day(&target.spec, &workload, inode, (day, pieces), ui)?
        }
        None => None,
    };
    let geometry = aged.geometry();
    let by_group = by_group(&end.pieces, &geometry);
    let in_short = short::sentence(&short::Known {
        pieces: end.pieces.len(),
        in_group: by_group
            .first()
            .copied()
            .filter(|_| geometry.group_count > 1),
        days: &days,
        served: served.as_ref(),
    });
    Ok(History {
        path: format!("/{path}"),
        inode,
        file: file.map(|file| file.file.0),
        came_with,
        size_bytes: end.size_bytes,
        pieces: end.pieces.clone(),
        by_group,
        days,
        in_short,
        served,
        trace,
    })
}

fn trace_command(spec: &TargetSpec, workload: &Path, inode: u64) -> Option<String> {
    let microscope = spec.entry().and_then(|entry| entry.microscope)?;
    microscope.over_inode.map(|_| {
        format!(
            "fsage age {} --on {} --trace --inode {inode}",
            shell(&straight(workload).display().to_string()),
            shell(&spec.to_string())
        )
    })
}

/// The path without going into a folder and out again: the workload of a run lies beside it.
fn straight(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in path.components() {
        let is_folder = straight.file_name().is_some() && !straight.is_symlink();
        if part == Component::ParentDir && is_folder {
            straight.pop();
        } else {
            straight.push(part);
        }
    }
    straight
}

/// The days on which there is something to say.
fn file_days(seen: &[Seen], done: &BTreeMap<u32, DoneOn>, rows: &[DayRow]) -> Vec<FileDay> {
    let mut before: Option<&Seen> = None;
    let mut days = Vec::new();
    for seen in seen {
        let done = done.get(&seen.day).cloned().unwrap_or_default();
        let changed = before.is_none_or(|before| before.pieces != seen.pieces);
        before = Some(seen);
        if done.operations.is_empty() && !changed {
            continue;
        }
        let row = rows.iter().find(|row| row.day == u64::from(seen.day));
        days.push(FileDay {
            day: seen.day,
            nth: seen.day + 1,
            operations: done.operations,
            others_between: done.others_between,
            size_bytes: seen.size_bytes,
            pieces: seen.pieces.len(),
            utilization: row.and_then(|row| row.value(&files::UTILIZATION)),
            largest_free_bytes: row.and_then(|row| row.count(&free_space::LARGEST_RUN_BYTES)),
            free_in_1m_runs: row.and_then(DayRow::free_in_1m_runs),
        });
    }
    days
}

/// What is done on a day.
#[derive(Clone, Debug, Default)]
struct DoneOn {
    operations: Vec<Done>,
    /// See [`FileDay::others_between`].
    others_between: u64,
    /// Writes to other files since the last of the operations.
    others_since: u64,
}

impl DoneOn {
    fn add(&mut self, operation: &'static str, bytes: u64) {
        self.others_between += std::mem::take(&mut self.others_since);
        let same = |done: &&mut Done| done.operation == operation;
        match self.operations.iter_mut().find(same) {
            Some(done) => {
                done.times += 1;
                done.bytes = done.bytes.saturating_add(bytes);
            }
            None => self.operations.push(Done {
                operation,
                times: 1,
                bytes,
            }),
        }
    }
}

/// What a workload does to a file, under any of its names, by the number of the day.
fn operations(
    workload: &Path,
    names: [FileId; 2],
    days: &[u32],
    ui: &dyn Watch,
) -> crate::Result<BTreeMap<u32, DoneOn>> {
    let (mut ended, mut all) = (0, BTreeMap::<u32, DoneOn>::new());
    aging::each_event(workload, "operations", ui, |event| {
        if event.op == Op::Day {
            ended += 1;
            return;
        }
        let Some(&day) = days.get(ended).or(days.last()) else {
            return;
        };
        match changes(&event.op) {
            Some((file, bytes)) if names.contains(&file) => {
                all.entry(day)
                    .or_default()
                    .add(event.op.verb().as_str(), bytes);
            }
            // What comes before its first operation of the day is not between any.
            Some((_, 1..)) => {
                if let Some(done) = all.get_mut(&day) {
                    done.others_since += 1;
                }
            }
            _ => {}
        }
    })?;
    Ok(all)
}

/// The file that an operation changes, and how many bytes of it.
fn changes(op: &Op) -> Option<(FileId, u64)> {
    Some(match *op {
        Op::Create { file, bytes, .. }
        | Op::Append { file, bytes }
        | Op::Write { file, bytes, .. }
        | Op::Rewrite { file, bytes }
        | Op::Truncate { file, bytes }
        | Op::Fallocate { file, bytes, .. }
        | Op::Punch { file, bytes, .. } => (file, bytes),
        Op::Overwrite { file, range } => (file, range.map_or(0, |(_, bytes)| bytes)),
        Op::Rename { file, .. } => (file, 0),
        Op::Link { existing, .. } => (existing, 0),
        _ => return None,
    })
}

impl History {
    /// Of the days since the file was written anew for the last time, of which its pieces are, the one that made the
    /// most: it, and how many pieces the file had before.
    pub fn worst_day(&self) -> Option<(&FileDay, usize)> {
        worst_day(&self.days)
    }
}

fn worst_day(days: &[FileDay]) -> Option<(&FileDay, usize)> {
    // What was there before a rewrite is gone.
    let last_rewrite = days.iter().rposition(FileDay::is_written_anew);
    let days = &days[last_rewrite.unwrap_or(0)..];
    let before = std::iter::once(0).chain(days.iter().map(|day| day.pieces));
    let days = days.iter().zip(before);
    let days = days.filter(|(day, before)| day.pieces > *before);
    // Of a file in pieces the day that made its first one says nothing.
    days.max_by_key(|(day, before)| {
        let made = day.pieces - before;
        (day.pieces > 1, made, std::cmp::Reverse(day.day))
    })
}

impl FileDay {
    /// Whether the file was cut to nothing and written again on this day.
    pub fn is_written_anew(&self) -> bool {
        let rewrite = Verb::Rewrite.as_str();
        self.operations.iter().any(|done| done.operation == rewrite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of 166 pieces on day 1 nothing is left after the rewrite of day 3; the append of day 4 made fewer.
    #[test]
    fn the_day_that_counts_is_one_since_the_last_rewrite() {
        let day = |day, operation, pieces| FileDay {
            day,
            nth: day + 1,
            operations: vec![Done {
                operation,
                times: 1,
                bytes: 4096,
            }],
            others_between: 0,
            size_bytes: 4096,
            pieces,
            utilization: None,
            largest_free_bytes: None,
            free_in_1m_runs: None,
        };
        let mut days = vec![
            day(0, "create", 1),
            day(1, "append", 166),
            day(2, "rewrite", 20),
            day(3, "rewrite", 150),
            day(4, "append", 170),
        ];
        let worst = |days: &[FileDay]| worst_day(days).map(|(day, before)| (day.day, before));
        assert_eq!(worst(&days), Some((3, 0)));
        days[4].pieces = 400;
        assert_eq!(worst(&days), Some((4, 150)));
        assert_eq!(worst(&days[..2]), Some((1, 1)));
        let slowly = [
            day(0, "create", 1),
            day(1, "append", 2),
            day(2, "append", 3),
        ];
        assert_eq!(worst(&slowly), Some((1, 1)));
        assert_eq!(worst(&slowly[..1]), Some((0, 0)));
    }

    fn extent(logical_bytes: u64, physical_bytes: u64, length_bytes: u64) -> Extent {
        Extent {
            logical_bytes,
            physical_bytes,
            length_bytes,
            flags: 0,
        }
    }

    #[test]
    fn extents_that_follow_each_other_on_disk_are_a_single_one() {
        let found = pieces(&[
            extent(0, 4096, 8192),
            extent(8192, 12_288, 4096),
            extent(12_288, 40_960, 4096),
        ]);
        let lengths: Vec<u64> = found.iter().map(|piece| piece.length_bytes).collect();
        assert_eq!(lengths, [12_288, 4096]);
    }

    #[test]
    fn a_day_without_operations_and_without_change_is_left_out() {
        let piece = |physical_bytes| Piece {
            logical_bytes: 0,
            physical_bytes,
            length_bytes: 4096,
        };
        let seen = |day, places: &[u64]| Seen {
            day,
            size_bytes: 4096,
            pieces: places.iter().map(|&place| piece(place)).collect(),
        };
        let seen = [
            seen(1, &[0]),
            seen(2, &[0]),
            seen(3, &[0, 8192]),
            seen(4, &[0, 8192]),
        ];
        let mut done = DoneOn::default();
        done.add("append", 5);
        done.add("append", 5);
        let days = file_days(&seen, &BTreeMap::from([(4, done)]), &[]);
        let told: Vec<(u32, usize, usize)> = days
            .iter()
            .map(|day| (day.day, day.pieces, day.operations.len()))
            .collect();
        assert_eq!(told, [(1, 1, 0), (3, 2, 0), (4, 2, 1)]);
    }
}
