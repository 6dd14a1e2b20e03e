//! The files of a series of snapshots, written night by night.

use super::form::Form;
use super::free::FreeMapWriter;
use super::names::NamesWriter;
use super::night::Repairs;
use super::table::complete_snapshot_table;
use super::{InodeWriter, stem, with_ending};
use crate::error::DataError;
use fsage_core::snapshot::{FurtherName, Inode, SnapshotInfo, SnapshotRow};
use fsage_core::{FileKind, Run};
use fsage_durable::{CompleteFile, PartialFile, refuse_existing};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotCounts {
    /// Snapshots.
    pub snapshots: u64,
    /// Rows of the inode table, tombstones included.
    pub rows: u64,
    /// Tombstones.
    pub tombstones: u64,
    /// Names beyond the first of an inode.
    pub further_names: u64,
    /// Regular files among the rows.
    pub regular: RegularFiles,
    /// What had to be repaired.
    pub repairs: Repairs,
}

/// How much is in regular files, and how they lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegularFiles {
    /// Sum of their sizes.
    pub bytes: u64,
    /// Those whose data lie somewhere on the disk.
    pub placed: u64,
    /// Extents of these.
    pub extents: u64,
    /// Those with more than one extent.
    pub in_pieces: u64,
}

impl RegularFiles {
    /// Of those that are placed; 0 where there are none.
    pub fn extents_per_file(&self) -> f64 {
        self.extents as f64 / self.placed.max(1) as f64
    }

    fn add(&mut self, inode: &Inode) {
        if inode.kind != FileKind::Regular {
            return;
        }
        let extents = inode.extents.iter().flatten();
        let extents = extents.filter(|e| e.is_placed_data()).count() as u64;
        self.bytes = self.bytes.saturating_add(inode.size_bytes);
        self.placed += u64::from(extents > 0);
        self.extents += extents;
        self.in_pieces += u64::from(extents > 1);
    }
}

/// Writes `STEM.parquet`, `STEM.snapshots.parquet`, `STEM.names.parquet` and `STEM.free.parquet`. The
/// inode table gets its name last, so that where it is, the others are.
pub(super) struct SeriesWriter {
    stem: PathBuf,
    form: Form,
    force: bool,
    target: Option<String>,
    inodes: InodeWriter,
    names: Option<NamesWriter>,
    infos: Vec<SnapshotInfo>,
    free: Option<FreeMapWriter>,
    /// A free map in a file that becomes that of this series.
    pub free_map: Option<PathBuf>,
    pub counts: SnapshotCounts,
}

impl SeriesWriter {
    pub fn create(
        path: &Path,
        form: Form,
        force: bool,
        target: Option<&str>,
    ) -> Result<SeriesWriter, DataError> {
        let stem = stem(path);
        for ending in [".snapshots.parquet", ".names.parquet", ".free.parquet"] {
            refuse_existing(&with_ending(&stem, ending), force)?;
        }
        let table = with_ending(&stem, ".parquet");
        Ok(SeriesWriter {
            form,
            force,
            target: target.map(str::to_owned),
            inodes: InodeWriter::of_target(&table, form, force, target)?,
            names: None,
            infos: Vec::new(),
            free: None,
            free_map: None,
            counts: SnapshotCounts::default(),
            stem,
        })
    }

    pub fn form(&self) -> Form {
        self.form
    }

    /// The inode table.
    pub fn path(&self) -> PathBuf {
        with_ending(&self.stem, ".parquet")
    }

    pub fn refused(&self, what: String) -> DataError {
        DataError::Refused {
            path: self.path(),
            what,
        }
    }

    /// The snapshot that was started last.
    pub fn last(&self) -> Option<&SnapshotInfo> {
        self.infos.last()
    }

    pub fn start(&mut self, info: SnapshotInfo) -> Result<(), DataError> {
        if let Some(last) = self.infos.last() {
            let next = info.snap_id;
            if next == last.snap_id {
                return Err(self.refused(format!(
                    "snapshot {next} a second time: the rows of a snapshot have to be together"
                )));
            }
            if next < last.snap_id {
                return Err(self.refused(format!(
                    "snapshot {next} after snapshot {}: numbers go up with time; sort the snapshots",
                    last.snap_id
                )));
            }
            self.counts.repairs.times_not_after += u64::from(info.taken_at_ns <= last.taken_at_ns);
        }
        self.counts.snapshots += 1;
        self.infos.push(info);
        Ok(())
    }

    /// Writes an inode of the last snapshot.
    pub fn write(&mut self, inode: &Inode) -> Result<(), DataError> {
        let snap_id = self.infos.last().map_or(0, |info| info.snap_id);
        self.counts.rows += 1;
        self.counts.regular.add(inode);
        self.inodes.write(snap_id, inode)
    }

    /// Writes a tombstone of the last snapshot.
    pub fn write_gone(&mut self, ino: u64, generation: Option<u32>) -> Result<(), DataError> {
        let snap_id = self.infos.last().map_or(0, |info| info.snap_id);
        self.counts.rows += 1;
        self.counts.tombstones += 1;
        let row = SnapshotRow::Gone { ino, generation };
        self.inodes.write_row(snap_id, &row)
    }

    /// Writes further names of the last snapshot, sorted after those before. With the first there is a table of names.
    pub fn write_names(&mut self, names: Vec<FurtherName>) -> Result<(), DataError> {
        if names.is_empty() {
            return Ok(());
        }
        let snap_id = self.infos.last().map_or(0, |info| info.snap_id);
        self.counts.further_names += names.len() as u64;
        if self.names.is_none() {
            let path = with_ending(&self.stem, ".names.parquet");
            self.names = Some(NamesWriter::of_target(
                &path,
                self.force,
                self.target.as_deref(),
            )?);
        }
        match &mut self.names {
            Some(writer) => writer.write(snap_id, names),
            None => Ok(()),
        }
    }

    /// Writes the runs of free space of the last snapshot. From now on there is a free map.
    pub fn write_free(&mut self, runs: &[Run]) -> Result<(), DataError> {
        let snap_id = self.infos.last().map_or(0, |info| info.snap_id);
        let mut end = 0;
        for run in runs {
            let after = run.start_bytes.checked_add(run.length_bytes);
            end = after.filter(|_| run.start_bytes >= end).ok_or_else(|| {
                self.refused(format!(
                    "the run of free space at {} of snapshot {snap_id}: it does not lie after the one before",
                    run.start_bytes
                ))
            })?;
        }
        let mut free = if let Some(free) = self.free.take() {
            free
        } else {
            let path = with_ending(&self.stem, ".free.parquet");
            FreeMapWriter::create(&path, self.force, self.target.as_deref())?
        };
        free.write(snap_id, runs)?;
        self.free = Some(free);
        Ok(())
    }

    /// Says anew what is known of the last snapshot.
    pub fn complete_info(&mut self, info: SnapshotInfo) -> Result<(), DataError> {
        match self.infos.last_mut() {
            Some(last) if last.snap_id == info.snap_id => {
                *last = info;
                Ok(())
            }
            _ => Err(self.refused(format!(
                "what is known of snapshot {}: it is not the one that was started last",
                info.snap_id
            ))),
        }
    }

    /// Completes the files; a table of names or a free map of a series that was written over goes.
    pub fn finish(self) -> Result<SnapshotCounts, DataError> {
        // All of them are written before the first gets its name: a full disk leaves the files of before.
        let table = with_ending(&self.stem, ".snapshots.parquet");
        let table =
            complete_snapshot_table(&table, &self.infos, self.force, self.target.as_deref())?;
        let names = self.names.map(NamesWriter::complete).transpose()?;
        let free_map = with_ending(&self.stem, ".free.parquet");
        let free = match (self.free, &self.free_map) {
            (Some(free), _) => Some(free.complete()?),
            (None, Some(old)) => Some(copy(old, &free_map, self.force)?),
            (None, None) => None,
        };
        let inodes = self.inodes.complete()?;
        table.publish()?;
        match names {
            Some(names) => names.publish()?,
            None => remove_old(&with_ending(&self.stem, ".names.parquet"))?,
        }
        match free {
            Some(free) => free.publish()?,
            None => remove_old(&free_map)?,
        }
        inodes.publish()?;
        Ok(self.counts)
    }
}

fn remove_old(path: &Path) -> Result<(), DataError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            Err(DataError::io(path, "cannot remove the old file", e))
        }
        _ => Ok(()),
    }
}

/// A copy that gets its name later.
fn copy(from: &Path, to: &Path, force: bool) -> Result<CompleteFile, DataError> {
    let failed = |e| DataError::io(from, "cannot copy", e);
    let mut input = fsage_input::file(from).map_err(failed)?;
    let mut output = PartialFile::create(to, force)?;
    io::copy(&mut input, &mut output).map_err(failed)?;
    Ok(output.complete()?)
}
