//! Snapshots that are taken while a target ages.
//!
//! Those of a model are one series in delta form, `snapshots.parquet`. Those of a real file system are one file each in
//! the folder `snapshots`, so that those before an interruption stay; commands that take a series take the folder.

use super::real;
use fsage_core::SnapshotSink;
use fsage_core::snapshot::Inode;
use fsage_data::snapshot::{Form, SnapshotOutput};
use fsage_durable::make_folders;
use fsage_target::{Aging, TakeSnapshot, Target, TargetSpec};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const SERIES: &str = "snapshots.parquet";
const FOLDER: &str = "snapshots";

/// The snapshots that were taken of a target, by its folder in a run.
pub fn taken(target: &Path) -> Option<PathBuf> {
    let [series, folder] = [SERIES, FOLDER].map(|name| target.join(name));
    let is_target = target.join("days.parquet").is_file();
    if is_target && series.is_file() {
        return Some(series);
    }
    (is_target && folder.is_dir()).then_some(folder)
}

/// Has a target take snapshots at the end of every so many days. What is given back is to be finished.
pub fn take(
    aging: &mut Aging,
    spec: &TargetSpec,
    folder: &Path,
    every_days: u32,
    epoch_ns: i64,
) -> crate::Result<Option<Series>> {
    let Target::Real(_) = aging.target() else {
        let series = Series::create(&folder.join(SERIES), spec)?;
        aging.take_snapshots(every_days, epoch_ns, series.taker());
        return Ok(Some(series));
    };
    let (folder, target) = (folder.to_owned(), spec.clone());
    make_folders(&folder.join(FOLDER))?;
    let take = move |day: u32, taken_at_ns: i64, root: std::os::fd::BorrowedFd<'_>| {
        let path = folder.join(FOLDER).join(format!("day-{day:05}.parquet"));
        // Day by day: the image has its name and its superblock only once the target is at work.
        let known = real::known_sizes(root, &target, &folder)?;
        real::store_snapshot(root, &path, &target, (day, taken_at_ns), &known).map_err(Into::into)
    };
    aging.take_real_snapshots(every_days, epoch_ns, Box::new(take));
    Ok(None)
}

/// The snapshots of a model: a series in delta form.
pub struct Series(Arc<Mutex<Option<SnapshotOutput>>>);

impl Series {
    fn create(path: &Path, target: &TargetSpec) -> crate::Result<Series> {
        let output = SnapshotOutput::of_target(path, Form::Delta, &target.to_string())?;
        Ok(Series(Arc::new(Mutex::new(Some(output)))))
    }

    fn taker(&self) -> TakeSnapshot {
        let store = Arc::clone(&self.0);
        Box::new(move |info, inodes, names| {
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(output) = store.as_mut() else {
                return Ok(());
            };
            output.snapshot(info)?;
            // A further name comes as the inode once more, under the other path.
            for name in names {
                let find = |ino| {
                    let at = inodes.binary_search_by_key(&ino, |inode: &Inode| inode.ino);
                    at.ok().map(|at| &inodes[at])
                };
                if let (Some(inode), Some(dir)) = (find(name.ino), find(name.parent_ino)) {
                    let path = match dir.path.as_deref() {
                        Some(".") | None => name.name.to_string(),
                        Some(dir) => format!("{dir}/{}", name.name),
                    };
                    let mut inode = inode.clone();
                    inode.path = Some(path.into());
                    inode.parent_ino = Some(name.parent_ino);
                    output.inode(inode)?;
                }
            }
            for inode in inodes {
                output.inode(inode)?;
            }
            Ok(())
        })
    }

    /// Publishes the series.
    pub fn finish(self) -> crate::Result<()> {
        let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(output) = store.take() {
            output.finish()?;
        }
        Ok(())
    }
}
