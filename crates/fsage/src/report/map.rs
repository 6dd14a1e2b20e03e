//! The block map of a target: its frames day by day, and the last day in full.

use super::subject::{Group, Life};
use crate::days::DayRow;
use crate::map_file;
use fsage_core::{FileKind, Layout};
use fsage_data::SnapshotFile;
use fsage_metrics::Recording;
use fsage_metrics::block_map::{Frame, Grid};
use fsage_report::BlockMap;
use fsage_report::map::{DayFacts, Disk, File, Kind, LastDay, PAGE_BYTES, Piece};
use std::path::Path;

/// The maps of a page: of every target that has one, under the first workload and the first of its lives. Why there is
/// none, or not of all, is said in `missing`.
pub fn maps(groups: &[Group], missing: &mut Vec<String>) -> Vec<BlockMap> {
    let Some(group) = groups.first() else {
        return Vec::new();
    };
    let aged = group.subjects.iter().filter_map(|subject| {
        let life = subject.lives.first().filter(|life| life.last().is_some());
        life.map(|life| (subject, life))
    });
    let aged: Vec<_> = aged.filter(|(subject, _)| subject.spec != "null").collect();
    let max_bytes = PAGE_BYTES / aged.len().max(1);
    let mut maps = Vec::new();
    let mut without = Vec::new();
    for (subject, life) in &aged {
        let Life { folder, days, .. } = life;
        match block_map(folder, subject.place, days, max_bytes) {
            Ok(Some(map)) => maps.push(map),
            Ok(None) => without.push(subject.name.as_str()),
            Err(error) => missing.push(format!("{}: {error:#}.", subject.name)),
        }
    }
    if !without.is_empty() {
        missing.push(format!(
            "{}: no block map was kept; age again with this version and without --no-map.",
            without.join(", ")
        ));
    }
    maps
}

/// The map of the target whose results are in a folder, in about so many bytes of the page; `None` where none was
/// kept, as in older runs. `target` is the place of the target on the page, `days` are its days.
///
/// # Errors
/// A file is there and cannot be read.
fn block_map(
    folder: &Path,
    target: usize,
    days: &[DayRow],
    max_bytes: usize,
) -> anyhow::Result<Option<BlockMap>> {
    let path = folder.join(map_file::NAME);
    if !path.is_file() {
        return Ok(None);
    }
    let recording = map_file::read(&path)?;
    let snapshot = folder.join("final.parquet");
    let snapshot = snapshot
        .is_file()
        .then(|| SnapshotFile::open(&snapshot))
        .transpose()?;
    Ok(disk(recording, snapshot.as_ref(), target, days).map(|disk| BlockMap::new(disk, max_bytes)))
}

/// What a map is made of; `None` without a frame or without a disk.
fn disk(
    recording: Recording,
    snapshot: Option<&SnapshotFile>,
    target: usize,
    days: &[DayRow],
) -> Option<Disk> {
    let Recording { grid, frames, .. } = recording;
    let last_frame: Option<&Frame> = frames.last();
    last_frame.filter(|frame| !frame.cells.is_empty())?;
    let last = snapshot.map(|snapshot| last_day(snapshot, &grid));
    let fs_type = snapshot.map(|snapshot| snapshot.geometry().fs_type);
    let days = days.iter().map(|day| DayFacts {
        label: day.label.clone(),
        utilization: day.utilization,
        layout_score: (day.layout_scored > 0).then_some(day.layout_score),
    });
    Some(Disk {
        target,
        fs_type: fs_type.unwrap_or_default(),
        grid,
        frames,
        days: days.collect(),
        last,
    })
}

fn last_day(snapshot: &SnapshotFile, grid: &Grid) -> LastDay {
    let on_disk = |start: u64| start < grid.size_bytes;
    let free = snapshot.free_known().then(|| {
        let mut free = Vec::new();
        snapshot.visit_free(&mut |run| free.push((run.start_bytes, run.length_bytes)));
        free
    });
    let mut files = Vec::new();
    snapshot.visit_files(&mut |file| {
        let extents = file.extents.unwrap_or_default().iter();
        let extents = extents.filter(|e| {
            (e.is_placed_data() || e.is_pointers())
                && e.length_bytes > 0
                && on_disk(e.physical_bytes)
        });
        let extents: Vec<Piece> = extents
            .map(|e| Piece {
                physical_bytes: e.physical_bytes,
                length_bytes: e.length_bytes,
                logical_bytes: (!e.is_pointers()).then_some(e.logical_bytes),
            })
            .collect();
        if extents.is_empty() {
            return;
        }
        files.push(File {
            ino: file.ino,
            size_bytes: file.size_bytes,
            kind: match file.kind {
                FileKind::Regular => Kind::Regular,
                FileKind::Symlink => Kind::Link,
                FileKind::Directory => Kind::Directory,
                _ => Kind::Other,
            },
            path: file.path.map(str::to_owned),
            extents,
        });
    });
    LastDay { free, files }
}
