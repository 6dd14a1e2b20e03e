//! The block map of a target: its frames day by day, and the last day in full.

use super::names;
use super::subject::{Group, Life, Subject};
use crate::aging::real;
use crate::days::DayRow;
use crate::map_file;
use fsage_core::{FileKind, Layout};
use fsage_data::SnapshotFile;
use fsage_metrics::Recording;
use fsage_metrics::block_map::{Grid, Recorder};
use fsage_metrics::files;
use fsage_report::BlockMap;
use fsage_report::map::{DayFacts, Disk, File, Kind, LastDay, PAGE_BYTES, Piece, fit};
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
    let aged: Vec<_> = aged
        .filter(|(subject, _)| names::keeps_files(&subject.spec))
        .collect();
    let mut disks = Vec::new();
    let mut without = Vec::new();
    for (subject, life) in &aged {
        let Life { folder, days, .. } = life;
        match disk(subject, folder, days) {
            Ok(Some(disk)) => disks.push(disk),
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
    fit(disks, PAGE_BYTES)
}

/// The disk of the target whose results are in a folder; `None` where no map was kept, as in older runs.
fn disk(subject: &Subject, folder: &Path, days: &[DayRow]) -> crate::Result<Option<Disk>> {
    let path = folder.join(map_file::NAME);
    let recording = if path.is_file() {
        Some(map_file::read(&path)?)
    } else {
        // A run that goes on, or was interrupted, has it in its journal.
        real::map_so_far(folder)?
    };
    let Some(Recording { grid, frames, .. }) = recording else {
        return Ok(None);
    };
    let snapshot = folder.join("final.parquet");
    let snapshot = snapshot
        .is_file()
        .then(|| SnapshotFile::open(&snapshot))
        .transpose()?;
    if frames.is_empty() || grid.cells == 0 {
        return Ok(None);
    }
    let last = snapshot
        .as_ref()
        .map(|snapshot| last_day(snapshot, snapshot.free_known(), &grid));
    let fs_type = snapshot.map(|snapshot| snapshot.geometry().fs_type);
    let days = days.iter().map(|day| DayFacts {
        label: day.label.clone(),
        utilization: day.value(&files::UTILIZATION),
        layout_score: day.score(),
    });
    Ok(Some(Disk {
        target: subject.place,
        group: names::group(&subject.spec, fs_type.as_deref()),
        is_log: names::is_log(&subject.spec),
        grid,
        frames,
        days: days.collect(),
        last,
    }))
}

/// The map of a file system by its snapshots.
#[derive(Default)]
pub struct OfSnapshots {
    recorder: Recorder,
    fs_type: String,
    last: Option<LastDay>,
}

impl OfSnapshots {
    /// Takes the next snapshot; the last one once more.
    pub fn see(&mut self, number: u32, layout: &dyn Layout, is_last: bool) {
        if !is_last {
            self.recorder.offer(number, layout);
            return;
        }
        self.recorder.last(number, layout);
        self.fs_type = layout.geometry().fs_type;
        if let Some(recording) = self.recorder.recording() {
            let free_is_known = layout.space().is_some();
            self.last = Some(last_day(layout, free_is_known, &recording.grid));
        }
    }

    /// The disk of a subject; `None` where snapshots do not say where blocks lie.
    pub fn disk(self, target: usize, days: Vec<DayFacts>) -> Option<Disk> {
        let last = self.last.filter(|last| !last.files.is_empty())?;
        let Recording { grid, frames, .. } = self.recorder.into_recording()?;
        (grid.cells > 0).then(|| Disk {
            target,
            group: names::group("", Some(&self.fs_type)),
            is_log: names::is_log(&self.fs_type),
            grid,
            frames,
            days,
            last: Some(last),
        })
    }
}

fn last_day(snapshot: &dyn Layout, free_is_known: bool, grid: &Grid) -> LastDay {
    let on_disk = |start: u64| start < grid.size_bytes;
    let free = free_is_known.then(|| {
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
